//! A whole run on a change of a repository, and `git diff` of the same change.

use std::path::Path;
use std::process::Command;

const DIFF: [&str; 5] = ["diff", "--no-ext-diff", "--no-color", "HEAD~1", "HEAD"];
pub(crate) const UNLIMITED: &[(&str, &str)] = &[
    ("DIFFSAN_LIMITS__MAX_DIFF_CHARS", "1000000000"),
    ("DIFFSAN_LIMITS__MAX_FILES", "1000000"),
    ("DIFFSAN_LIMITS__MAX_HUNKS_PER_FILE", "1000000"),
];

/// Writes what git prints to `.git/change.patch`; its size.
pub(crate) fn write_diff(folder: &Path) -> usize {
    let diff = git(folder).output().expect("git starts").stdout;
    std::fs::write(folder.join(".git/change.patch"), &diff).expect("the diff is written");
    diff.len()
}

pub(crate) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(DIFF).current_dir(folder);
    command
}

/// A review without an agent, of the last commit or of the diff in the file.
pub(crate) fn review(folder: &Path, by_git: bool, limits: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diffsan"));
    command.args(["review", "-q", "--agent", "builtin"]).current_dir(folder).env_remove("DIFFSAN_WORKDIR");
    match by_git {
        true => command.args(["--base", "HEAD~1"]),
        false => command.args(["--diff-file", ".git/change.patch"]),
    };
    command.envs(limits.iter().copied());
    command
}

/// The size of what the run left, in MB.
pub(crate) fn artifact(folder: &Path, name: &str) -> f64 {
    std::fs::metadata(folder.join(".diffsan").join(name)).map_or(0.0, |data| data.len() as f64 / 1e6)
}
