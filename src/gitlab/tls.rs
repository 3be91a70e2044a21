//! The HTTP client: deadlines, certificate authorities, and what a failed handshake means.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, Failure, Result};

/// How long a request may take.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Until there is a connection.
    pub connect: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// From the first byte sent to the last one read.
    pub total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(30), total: Duration::from_secs(90) }
    }
}

/// Where the certificate authorities come from that are trusted beside those of `gitlab.ca_file`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Authorities {
    /// The machine's own store (or SSL_CERT_FILE, SSL_CERT_DIR).
    System,
    /// The machine has none: Mozilla's list, as it was when this program was built.
    Bundled,
}

/// A client that trusts the machine's authorities, or the bundled ones where it has none, and those of the given
/// files, and follows no redirect.
pub(super) fn client(deadlines: &Deadlines, ca_files: &[PathBuf]) -> Result<(reqwest::Client, Authorities)> {
    let (mut roots, authorities) = authorities();
    for file in ca_files {
        add_bundle(&mut roots, file)?;
    }
    let broken = |error: &dyn std::error::Error| {
        Error::Config(Failure::new("could not set up HTTPS for GitLab").caused_by(error))
    };
    let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| broken(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .user_agent(concat!("diffsan/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(deadlines.connect)
        .read_timeout(deadlines.idle)
        .timeout(deadlines.total)
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|error| broken(&error))?;
    Ok((client, authorities))
}

fn authorities() -> (RootCertStore, Authorities) {
    let mut roots = RootCertStore::empty();
    // What cannot be read or parsed of the machine's store is as good as not there.
    let (known, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if known > 0 {
        return (roots, Authorities::System);
    }
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    (roots, Authorities::Bundled)
}

/// Trusts the certificates of a PEM file; a file without any is an error, not an empty list.
fn add_bundle(roots: &mut RootCertStore, file: &Path) -> Result<()> {
    let bad = |why: &str| {
        let help = "Point `gitlab.ca_file` (or CI_SERVER_TLS_CA_FILE) at a PEM file that starts with \
                    `-----BEGIN CERTIFICATE-----`. The variable holds a path, not the certificate itself.";
        Failure::new(format!("the certificate file {} {why}", file.display()))
            .help(help)
            .with("ca_file", file.display().to_string())
    };
    let bytes = std::fs::read(file).map_err(|error| Error::Config(bad("cannot be read").caused_by(&error)))?;
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|error| Error::Config(bad("is not a PEM bundle").caused_by(&error)))?;
        roots
            .add(certificate)
            .map_err(|error| Error::Config(bad("holds a certificate that cannot be used").caused_by(&error)))?;
    }
    if roots.len() == before {
        return Err(Error::Config(bad("has no certificate in it")));
    }
    Ok(())
}

/// What to do about a handshake that failed; `None` when the trouble was another one.
pub(super) fn handshake_help(chain: &str) -> Option<&'static str> {
    const CASES: [(&str, &str); 7] = [
        (
            "CaUsedAsEndEntity",
            "GitLab's certificate is a certificate authority itself (self-signed with CA:TRUE), which cannot be \
             trusted as a server's. Issue the server a certificate of its own, signed by that authority, or a \
             self-signed one with CA:FALSE.",
        ),
        (
            "UnknownIssuer",
            "The authority that signed GitLab's certificate is not known here. Set `gitlab.ca_file` to a PEM file \
             with the authority's certificate: the server's own (leaf) certificate alone is not enough, and \
             CI_SERVER_TLS_CA_FILE describes the address the runner uses, which may be another one.",
        ),
        ("Expired", "GitLab's certificate has expired, or the clock of this machine is wrong."),
        ("NotValidYet", "GitLab's certificate is not valid yet, or the clock of this machine is wrong."),
        (
            "NotValidForName",
            "GitLab's certificate is for another host name. Use the name in the certificate as `gitlab.base_url`; \
             a certificate with a common name only, without subject alternative names, is not accepted.",
        ),
        (
            "invalid peer certificate",
            "GitLab's certificate is not accepted here. Set `gitlab.ca_file` to the authority that signed it.",
        ),
        (
            "InvalidContentType",
            "The server does not speak TLS on this port: is `gitlab.base_url` meant to start with `http://`?",
        ),
    ];
    let flat = |text: &str| text.replace(' ', "").to_ascii_lowercase();
    let chain = flat(chain);
    CASES.iter().find(|(mark, _)| chain.contains(&flat(mark))).map(|(_, help)| *help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(content: Option<&str>) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ca.pem");
        if let Some(content) = content {
            std::io::Write::write_all(&mut std::fs::File::create_new(&file).expect("a file"), content.as_bytes())
                .expect("written");
        }
        let error = client(&Deadlines::default(), &[file]).expect_err("refused");
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    }

    #[test]
    fn a_certificate_file_that_cannot_be_used_is_a_clear_error() {
        assert!(refusal(None).contains("cannot be read"));
        assert!(refusal(Some("")).contains("no certificate"));
        assert!(refusal(Some("not a certificate")).contains("no certificate"));
        let broken = "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n";
        assert!(refusal(Some(broken)).contains("ca.pem"));
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(!refusal(Some(garbage)).is_empty());
    }

    #[test]
    fn every_common_handshake_failure_has_its_advice() {
        let table = [
            ("invalid peer certificate: UnknownIssuer", "gitlab.ca_file"),
            ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "CA:TRUE"),
            ("invalid peer certificate: certificate expired: verification time 9 (UNIX)", "clock"),
            ("invalid peer certificate: certificate not valid for name \"x\"", "another host"),
            ("invalid peer certificate: BadSignature", "gitlab.ca_file"),
            ("received corrupt message of type InvalidContentType", "http://"),
        ];
        for (chain, words) in table {
            let help = handshake_help(chain).unwrap_or_default();
            assert!(help.contains(words), "{chain}: {help}");
        }
        assert_eq!(handshake_help("connection refused"), None);
    }
}
