//! Parse and prepare on generated diffs of 1, 10 and 100 MB: throughput, how often a plain newline
//! count over the same bytes fits in that time, whether time grows linearly, and peak memory.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints, and stops when it cannot go on")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use diffsan::contracts::{LimitsConfig, TruncationConfig};
use diffsan::diff::{Diff, anchor};
use diffsan::prepare::{Rules, prepare};

const MEGABYTE: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, megabytes] = arguments.as_slice()
        && flag == "--peak"
    {
        return peak(megabytes.parse().expect("a number of megabytes"));
    }
    println!(
        "{:>8}  {:>14}  {:>14}  {:>8}  {:>14}  {:>14}  {:>12}",
        "size", "newlines", "parse", "ratio", "+ prepare", "anchors", "peak memory"
    );
    let mut per_megabyte = Vec::new();
    for megabytes in [1, 10, 100] {
        let text = generate(megabytes * MEGABYTE);
        let rounds = u32::try_from(1_000 / megabytes).unwrap_or(10);
        let newlines = mean(rounds, || memchr::memchr_iter(b'\n', black_box(text.as_bytes())).count());
        let parse = mean(rounds, || Diff::parse(black_box(text.as_bytes())).expect("it parses").files.len());
        let rules = Rules::new(&LimitsConfig::default(), &TruncationConfig::default(), BTreeMap::new());
        let both = mean(rounds, || {
            let diff = Diff::parse(black_box(text.as_bytes())).expect("it parses");
            prepare(&text, &diff, &rules).expect("it prepares").text.len()
        });
        let diff = Diff::parse(text.as_bytes()).expect("it parses");
        let anchors = mean(rounds, || anchor::anchors(black_box(&diff)).len());
        let speed = |time: Duration| format!("{:.0} MB/s", text.len() as f64 / 1e6 / time.as_secs_f64());
        println!(
            "{megabytes:>5} MB  {:>14}  {:>14}  {:>7.1}x  {:>14}  {:>14}  {:>12}",
            speed(newlines),
            speed(parse),
            parse.as_secs_f64() / newlines.as_secs_f64(),
            speed(both),
            speed(anchors),
            peak_of(megabytes),
        );
        per_megabyte.push(both.as_secs_f64() / text.len() as f64);
    }
    println!("time per byte at 100 MB is {:.2} x that at 10 MB (1.00 is linear)", per_megabyte[2] / per_megabyte[1]);
}

/// Edits of a few lines with context around them, 40 hunks to a file, as branches have them.
fn generate(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 4_096);
    let mut file = 0;
    while text.len() < bytes {
        file += 1;
        let end = ["py", "rs", "yaml", "md", "lock"][file % 5];
        let path = format!("src/module_{}/file_{file}.{end}", file % 97);
        let _ = write!(
            text,
            "diff --git a/{path} b/{path}\nindex {file:040x}..{:040x} 100644\n--- a/{path}\n+++ b/{path}\n",
            file + 1
        );
        for hunk in 0..40 {
            let start = 1 + hunk * 50;
            let _ = writeln!(text, "@@ -{start},8 +{start},10 @@ def function_{hunk}(argument, other):");
            for line in 0..3 {
                let _ = writeln!(text, "     unchanged_{line} = call(hunk={hunk}, file={file})");
            }
            let _ = writeln!(text, "-    old_value = compute(step={hunk}, weight=0.5)\n-    return old_value");
            for line in 0..4 {
                let _ = writeln!(text, "+    new_value_{line} = compute(step={hunk}, weight=0.25, mode=\"exact\")");
            }
            for line in 0..3 {
                let _ = writeln!(text, "     unchanged_{line} = call(file={file}, hunk={hunk})");
            }
        }
    }
    text
}

/// The mean of several rounds in time on the processor, which other work on the machine does not
/// add to; in time on the clock where the system does not tell.
fn mean<T>(rounds: u32, mut once: impl FnMut() -> T) -> Duration {
    black_box(once());
    let (start, before) = (Instant::now(), processor_time());
    for _ in 0..rounds {
        black_box(once());
    }
    let took = match (before, processor_time()) {
        (Some(before), Some(after)) if after > before => after - before,
        _ => start.elapsed(),
    };
    took / rounds
}

fn processor_time() -> Option<Duration> {
    // The scheduler brings its account up to date when a thread gives way.
    std::thread::yield_now();
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    account.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Peak memory of a process of its own that parses and prepares, as a multiple of the diff's size.
fn peak_of(megabytes: usize) -> String {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program).arg("--peak").arg(megabytes.to_string()).output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn peak(megabytes: usize) {
    let text = generate(megabytes * MEGABYTE);
    let diff = Diff::parse(text.as_bytes()).expect("it parses");
    let rules = Rules::new(&LimitsConfig::default(), &TruncationConfig::default(), BTreeMap::new());
    black_box(prepare(&text, &diff, &rules).expect("it prepares"));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    match peak {
        Some(kilobytes) => {
            let megabytes_used = kilobytes * 1_024.0 / 1e6;
            println!("{megabytes_used:.0} MB {:.2}x", megabytes_used / (text.len() as f64 / 1e6));
        }
        None => println!("unknown"),
    }
}
