//! A whole run, without an agent of its own, beside `git diff` of the same change: processor time and peak memory, with the default
//! limits and with none. `DIFFSAN_BENCH_MB` picks other sizes than 10 and 50 MB.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints, and stops when it cannot go on")]
#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark takes its sizes from variables and prepares its own folder"
)]

use std::path::Path;
use std::time::Duration;

use common::{peak_of, repository, time_of};
use whole_run::{UNLIMITED, artifact, git, review, write_diff};

mod common;
mod whole_run;

const ROUNDS: u32 = 5;

fn main() {
    let sizes = std::env::var("DIFFSAN_BENCH_MB").unwrap_or_else(|_| "10,50".to_owned());
    for megabytes in sizes.split(',').filter_map(|size| size.parse::<usize>().ok()) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        repository(folder.path(), megabytes * 1_000_000);
        let size = write_diff(folder.path());
        let git = time_of(ROUNDS, || git(folder.path()));
        println!("{:.1} MB, {} lines: git diff {:.0} ms", size as f64 / 1e6, lines(folder.path()), ms(git));
        for (name, limits) in [("default limits", &[][..]), ("no limits", UNLIMITED)] {
            for (from, by_git) in [("git", true), ("a file", false)] {
                let run = || review(folder.path(), by_git, limits);
                let took = time_of(ROUNDS, run);
                let own = if by_git { took.saturating_sub(git) } else { took };
                println!(
                    "  {name}, from {from}: {:.0} ms, {:.2} x git ({:.2} x without git's own), peak {:.2} x the diff, anchors.json {:.2} MB, report.html {:.2} MB",
                    ms(took),
                    ratio(took, git),
                    ratio(own, git),
                    peak_of(run()) as f64 / size as f64,
                    artifact(folder.path(), "anchors.json"),
                    artifact(folder.path(), "report.html"),
                );
            }
        }
    }
}

fn lines(folder: &Path) -> usize {
    let patch = std::fs::read(folder.join(".git/change.patch")).expect("the diff is there");
    memchr::memchr_iter(b'\n', &patch).count()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn ratio(time: Duration, base: Duration) -> f64 {
    time.as_secs_f64() / base.as_secs_f64().max(0.001)
}
