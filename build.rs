//! Names the target, and in release builds the commit, for `diffsan --version`.
#![expect(clippy::disallowed_methods, reason = "cargo speaks to build scripts through the environment")]

use std::env::var;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DIFFSAN_COMMIT");
    println!("cargo:rustc-env=DIFFSAN_TARGET={}", var("TARGET").unwrap_or_default());
    // While developing, a commit must not cost a rebuild.
    let is_release = var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_release { given().or_else(checked_out) } else { Some("development build".into()) };
    println!("cargo:rustc-env=DIFFSAN_BUILD={}", commit.unwrap_or_else(|| "unknown commit".into()));
}

fn given() -> Option<String> {
    var("DIFFSAN_COMMIT").ok().filter(|commit| !commit.is_empty())
}

fn checked_out() -> Option<String> {
    let head = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo:rerun-if-changed={head}");
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
