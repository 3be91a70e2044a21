//! The released program needs nothing of the machine: it runs in a root folder that holds nothing else.
//!
//! `.ci/release` builds it and `.ci/release --prove` runs these tests on it; without it they say that they did not run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::gitlab::{FakeGitLab, MR, PROJECT, TOKEN};
use crate::gitlab_tls::in_front_of;
use crate::sandbox::{Sandbox, read_json};

/// What a released program may weigh.
const MOST_BYTES: u64 = 14 * 1024 * 1024;

fn project(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[expect(clippy::print_stdout, reason = "a test that does not run says so")]
fn released() -> Option<PathBuf> {
    let name = format!("diffsan-{}-x86_64-unknown-linux-gnu", env!("CARGO_PKG_VERSION"));
    let program = project("target/dist").join(name);
    if program.exists() {
        return Some(program);
    }
    assert!(std::env::var_os("DIFFSAN_RELEASED").is_none(), "{} is not there", program.display());
    println!("not run: {} is not there", program.display());
    None
}

/// An empty root folder with the program, and what a container's engine puts into every root: /etc/hosts.
fn empty_root(program: &Path) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for folder in ["etc", "work"] {
        std::fs::create_dir(root.path().join(folder)).unwrap();
    }
    std::fs::copy(program, root.path().join("diffsan")).unwrap();
    std::fs::write(root.path().join("etc/hosts"), "127.0.0.1 gitlab.test\n").unwrap();
    root
}

/// Runs the program with that folder as its root.
fn inside(root: &Path, args: &[&str], env: &[(&str, String)]) -> Output {
    let mut command = Command::new("unshare");
    // As root no user namespace is needed; many machines do not let others make one without it.
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.arg(format!("--root={}", root.display())).arg("--wd=/work").arg("/diffsan").args(args);
    command.env_clear().envs(env.iter().map(|(name, value)| (*name, value))).output().unwrap()
}

#[test]
fn it_asks_for_no_shared_library_and_is_small() {
    let Some(program) = released() else { return };
    let bytes = std::fs::read(&program).unwrap();
    assert!((bytes.len() as u64) < MOST_BYTES, "{} bytes", bytes.len());
    // The program headers of a 64-bit ELF file: neither an interpreter (3) nor anything to link at start.
    let number = |at: usize, width: usize| {
        bytes[at..at + width].iter().rev().fold(0_u64, |value, byte| (value << 8) | u64::from(*byte))
    };
    assert_eq!(&bytes[..5], b"\x7fELF\x02");
    let (start, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let kinds: Vec<u64> = (0..count).map(|index| number((start + index * size) as usize, 4)).collect();
    assert!(kinds.contains(&1) && !kinds.contains(&3), "program headers {kinds:?}");
}

#[test]
fn it_reviews_a_change_in_an_empty_root_folder() {
    let Some(program) = released() else { return };
    let root = empty_root(&program);
    std::fs::copy(project("fixtures/demo/change.patch"), root.path().join("work/change.patch")).unwrap();
    let version = inside(root.path(), &["--version"], &[]);
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    assert!(version.starts_with(&format!("diffsan {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(version.trim_end().ends_with("x86_64-unknown-linux-gnu)"), "{version}");
    let zone = ("DIFFSAN_NOTE_TIMEZONE", "Europe/Berlin".to_owned());
    let output = inside(root.path(), &["--diff-file", "change.patch", "--agent", "builtin"], &[zone]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record = read_json(&root.path().join("work/.diffsan/run.json"));
    assert_eq!((record["ok"].as_bool(), record["skipped"].as_bool()), (Some(true), Some(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_speaks_tls_to_a_host_by_its_name_without_a_certificate_store() {
    let Some(program) = released() else { return };
    let sandbox = Sandbox::with_change();
    let (base, head) = (sandbox.git(&["rev-parse", "main"]), sandbox.git(&["rev-parse", "HEAD"]));
    let diff = sandbox.git(&["diff", "main", "HEAD"]);
    let gitlab = FakeGitLab::start(&sandbox.repo(), base.trim(), head.trim());
    let port = in_front_of(&gitlab, "named").await.port();
    let root = empty_root(&program);
    std::fs::write(root.path().join("work/change.patch"), diff).unwrap();
    std::fs::copy(project("fixtures/tls/named-ca.pem"), root.path().join("etc/ca.pem")).unwrap();
    let env = [
        ("CI_API_V4_URL", format!("https://gitlab.test:{port}/api/v4")),
        ("CI_MERGE_REQUEST_PROJECT_ID", PROJECT.to_string()),
        ("CI_MERGE_REQUEST_IID", MR.to_string()),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.trim().to_owned()),
        ("CI_COMMIT_SHA", head.trim().to_owned()),
        ("CI_SERVER_TLS_CA_FILE", "/etc/ca.pem".to_owned()),
        ("GITLAB_TOKEN", TOKEN.to_owned()),
    ];
    let args = ["--ci", "--diff-file", "change.patch", "--agent", "builtin", "--no-post"];
    let output = tokio::task::spawn_blocking(move || inside(root.path(), &args, &env)).await.unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words}");
    assert!(words.contains("the bundled list of Mozilla's is used"), "{words}");
    assert!(gitlab.requests().iter().any(|request| request.status == 200), "no request arrived: {words}");
}
