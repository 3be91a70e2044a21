//! The hooks this repository offers, run by the real pre-commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{Finished, Sandbox};

/// The real program; none, and a loud word, where it is not installed. In CI that is a failure.
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
fn pre_commit() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pre-commit/bin/pre-commit");
    if program.is_file() {
        return Some(program);
    }
    let words = "NOT RUN: this test needs pre-commit and found none; .ci/setup installs it";
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{words}");
    eprintln!("\n*** {words} ***\n");
    None
}

/// A repository with the hook's definition, as a user's configuration names it.
fn hooks(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.root().join("hooks");
    std::fs::create_dir(&folder).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(".pre-commit-hooks.yaml");
    std::fs::copy(source, folder.join(".pre-commit-hooks.yaml")).unwrap();
    sandbox.git_in(&folder, &["init", "-q", "-b", "main"]);
    sandbox.git_in(&folder, &["add", "-A"]);
    sandbox.git_in(&folder, &["commit", "-q", "-m", "hooks"]);
    folder
}

fn with_program(sandbox: &Sandbox, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let folder = Path::new(env!("CARGO_BIN_EXE_diffsan")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = sandbox.hermetic(program);
    command.env("PATH", path).current_dir(sandbox.repo());
    command
}

#[test]
fn the_hook_stops_a_commit_with_a_leftover_and_lets_others_pass() {
    let Some(program) = pre_commit() else { return };
    let sandbox = Sandbox::new();
    let hooks = hooks(&sandbox);
    let revision = sandbox.git_in(&hooks, &["rev-parse", "HEAD"]).trim().to_owned();
    let config = format!("repos:\n- repo: {}\n  rev: {revision}\n  hooks:\n  - id: diffsan\n", hooks.display());
    sandbox.write(".pre-commit-config.yaml", config);
    sandbox.commit("use the hook");
    let installed = with_program(&sandbox, &program).args(["install"]).output().unwrap();
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let commit = |message: &str| {
        sandbox.git(&["add", "-A"]);
        Finished::of(with_program(&sandbox, "git").args(["commit", "-m", message]).output().unwrap())
    };
    sandbox.write("src/app.py", "def one():\n    return 1\n");
    sandbox.write("logo.png", "\0PNG\0");
    commit("harmless, with an image").expect_code(0);
    sandbox.write("src/app.py", "def one():\n    breakpoint()\n    return 1\n");
    let stopped = commit("leftover").expect_code(1);
    let said = format!("{}{}", stopped.stdout, stopped.stderr);
    assert!(said.contains("src/app.py") && said.contains("breakpoint()"), "{said}");
    // Only what is staged counts: the leftover is in the working tree, not in the commit.
    sandbox.git(&["reset", "-q"]);
    sandbox.write("src/other.py", "x = 1\n");
    sandbox.git(&["add", "src/other.py"]);
    Finished::of(with_program(&sandbox, "git").args(["commit", "-m", "other"]).output().unwrap()).expect_code(0);
}
