//! What diffsan costs around the agent: everything but the child's own time, on a diff of 200,000 characters with an
//! agent that answers at once.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints figures and prepares its own folder"
)]

use std::fmt::Write as _;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 20;
const REPLY: &str = include_str!("../../fixtures/agents/answers/one_finding.json");

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path();
    let diff = change(200_000);
    std::fs::write(place.join("change.patch"), &diff).expect("the diff is written");
    std::fs::write(place.join("reply.json"), REPLY).expect("the reply is written");
    let agent = place.join("agent.sh");
    let script = format!("#!/bin/sh\ncat > /dev/null\ncat '{}'\n", place.join("reply.json").display());
    std::fs::write(&agent, script).expect("the agent is written");
    std::fs::set_permissions(&agent, Permissions::from_mode(0o755)).expect("the agent can run");

    review(place, &agent);
    let mut all: Vec<(Duration, Duration)> = (0..RUNS).map(|_| review(place, &agent)).collect();
    all.sort_by_key(|(whole, child)| *whole - *child);
    let (whole, child) = all[RUNS / 2];
    let alone = median(|| alone(place, &agent));
    println!("diff                                  {:>8} characters", diff.chars().count());
    println!("the agent alone, fed the same prompt  {:>8.2} ms", ms(alone));
    println!("diffsan review, whole process         {:>8.2} ms", ms(whole));
    println!("  of it the agent                     {:>8.2} ms", ms(child));
    println!("  of it diffsan                       {:>8.2} ms", ms(whole - child));
}

/// A whole review, and the time of the agent in it.
fn review(place: &Path, agent: &Path) -> (Duration, Duration) {
    let start = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_diffsan"))
        .args(["review", "-q", "--agent", "command", "--diff-file", "change.patch"])
        .env("DIFFSAN_AGENT__COMMAND", agent)
        .env_remove("DIFFSAN_WORKDIR")
        .current_dir(place)
        .stdout(Stdio::null())
        .status()
        .expect("it starts");
    let whole = start.elapsed();
    assert!(status.success(), "the review failed");
    let run = std::fs::read(place.join(".diffsan/agent.run.json")).expect("the agent's record is there");
    let run: serde_json::Value = serde_json::from_slice(&run).expect("the agent's record is JSON");
    let child = run["attempts"][0]["duration_ms"].as_u64().expect("the agent's time is recorded");
    (whole, Duration::from_millis(child))
}

fn alone(place: &Path, agent: &Path) -> Duration {
    let prompt = File::open(place.join(".diffsan/prompt.txt")).expect("the prompt is there");
    let start = Instant::now();
    let status = Command::new(agent).stdin(prompt).stdout(Stdio::null()).status().expect("it starts");
    let took = start.elapsed();
    assert!(status.success(), "the agent failed");
    took
}

/// A diff of about so many characters: twenty files, each with several hunks.
fn change(chars: usize) -> String {
    let mut text = String::new();
    for file in 0..20 {
        let _ = write!(
            text,
            "diff --git a/src/part_{file}.py b/src/part_{file}.py\nindex 1111111..2222222 100644\n--- a/src/part_{file}.py\n+++ b/src/part_{file}.py\n"
        );
        let mut line = 1;
        while text.len() < chars * (file + 1) / 20 {
            let _ = writeln!(text, "@@ -{line},4 +{line},6 @@ def step():");
            for n in 0..3 {
                let _ = writeln!(text, "     before_{n} = load(\"{file}/{line}\")");
            }
            let _ = writeln!(text, "-    total = weight * {line}");
            for n in 0..3 {
                let _ = writeln!(text, "+    total_{n} = compute(step={line}, weight=0.{n})");
            }
            line += 40;
        }
    }
    text
}

fn median(mut once: impl FnMut() -> Duration) -> Duration {
    once();
    let mut all: Vec<_> = (0..RUNS).map(|_| once()).collect();
    all.sort();
    all[RUNS / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
