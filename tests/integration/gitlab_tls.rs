//! A GitLab behind a private certificate authority. The keys of `fixtures/tls` guard nothing: they were made for these
//! tests and are good for loopback only.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use diffsan::contracts::ErrorCode;
use diffsan::error::Error;
use diffsan::gitlab::Client;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::gitlab::FakeGitLab;
use crate::gitlab_client::Site;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls").join(name)
}

/// Speaks TLS with that certificate in front of the fake; its address.
pub(crate) async fn in_front_of(gitlab: &FakeGitLab, certificate: &str) -> SocketAddr {
    let chain = CertificateDer::pem_file_iter(fixture(&format!("{certificate}.pem"))).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture(&format!("{certificate}.key"))).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let behind = gitlab.url().trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                if let (Ok(mut outside), Ok(mut inside)) =
                    (acceptor.accept(stream).await, TcpStream::connect(behind).await)
                {
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                }
            });
        }
    });
    address
}

async fn url_of(site: &Site, certificate: &str) -> String {
    format!("https://{}", in_front_of(&site.gitlab, certificate).await)
}

fn client(site: &Site, base_url: &str, ca_files: &[&str]) -> Client {
    site.client_with(|config| {
        config.base_url = base_url.into();
        config.ca_files = ca_files.iter().map(|name| fixture(name)).collect();
    })
}

async fn refused(client: Client, site: &Site) -> (String, String) {
    let error: Error = client.current_user().await.expect_err("refused");
    assert_eq!(error.code(), ErrorCode::GitlabFetchPriorFailed);
    (error.to_string(), error.info(&site.engine).help.unwrap_or_default())
}

#[tokio::test]
async fn a_private_authority_is_trusted_when_its_file_is_given() {
    let site = Site::new();
    let url = url_of(&site, "server").await;
    client(&site, &url, &["ca.pem"]).current_user().await.expect("trusted");
    // The file a runner provides has the server's own certificate in it too.
    client(&site, &url, &["server.pem", "ca.pem"]).current_user().await.expect("trusted");
}

#[tokio::test]
async fn an_unknown_authority_is_refused_at_once_and_the_help_says_which_file_is_needed() {
    let site = Site::new();
    let url = url_of(&site, "server").await;
    for ca_files in [&["self.pem"][..], &["server.pem"]] {
        let (message, help) = refused(client(&site, &url, ca_files), &site).await;
        assert!(message.contains("UnknownIssuer"), "{message}");
        assert!(help.contains("gitlab.ca_file") && help.contains("leaf"), "{help}");
    }
    assert!(site.gitlab.requests().is_empty() && site.events_named("gitlab.retry").is_empty());
}

#[tokio::test]
async fn a_self_signed_authority_used_as_a_server_is_explained() {
    let site = Site::new();
    let url = url_of(&site, "self").await;
    let (message, help) = refused(client(&site, &url, &["self.pem"]), &site).await;
    assert!(message.contains("CaUsedAsEndEntity"), "{message}");
    assert!(help.contains("CA:FALSE"), "{help}");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_explained() {
    let site = Site::new();
    let url = url_of(&site, "server").await.replace("127.0.0.1", "localhost");
    let (_, help) = refused(client(&site, &url, &["ca.pem"]), &site).await;
    assert!(help.contains("another host name"), "{help}");
}

#[tokio::test]
async fn https_to_a_server_that_speaks_http_is_explained() {
    let site = Site::new();
    let url = site.gitlab.url().replace("http://", "https://");
    let (_, help) = refused(client(&site, &url, &["ca.pem"]), &site).await;
    assert!(help.contains("http://"), "{help}");
}
