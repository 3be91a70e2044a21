//! Throughput of the redaction engine on generated diffs of real-looking code, with one secret in 2,000 lines.
//!
//! Each figure stands beside a plain newline count of the same bytes in the same run, and is given by the clock and by processor
//! time, which a busy machine does not blur. `DIFFSAN_BENCH_MB` picks other sizes, `DIFFSAN_BENCH_FILE` adds a diff of your own;
//! `throughput`, `hostile` or `shapes` as an argument, one part. `shapes` repeats what the rules react to in long lines and shows the slowest
//! (`DIFFSAN_BENCH_SHAPES` says how many, `DIFFSAN_BENCH_SEED` which).

#![expect(clippy::disallowed_methods, reason = "a benchmark takes its sizes from variables")]
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use common::{generate, peak, processor_time};
use diffsan::redact::{Engine, Output, Settings};

mod common;
mod shapes;

const ROUNDS: usize = 5;

fn main() {
    let wanted: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|name| name == part);
    start_up();
    if wants("throughput") {
        let sizes: Vec<usize> = env::var("DIFFSAN_BENCH_MB")
            .map_or_else(|_| vec![10, 100], |list| list.split(',').filter_map(|size| size.parse().ok()).collect());
        for megabytes in sizes {
            throughput(&format!("{megabytes} MB"), generate(megabytes * 1_000_000).as_bytes());
        }
        if let Some(diff) = env::var_os("DIFFSAN_BENCH_FILE").and_then(|path| fs::read(path).ok()) {
            throughput("file", &diff);
        }
    }
    if wants("hostile") {
        hostile();
    }
    if wants("shapes") {
        shapes();
    }
}

/// Long lines of every shape: none may take more than a second for each megabyte.
fn shapes() {
    let number = |name: &str, usual: usize| env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (count, seed) = (number("DIFFSAN_BENCH_SHAPES", 200), number("DIFFSAN_BENCH_SEED", 1));
    for (seconds, shape) in shapes::slowest(count, seed) {
        println!("shapes, slowest of {count}: {seconds:.2} s/MB, {shape}");
    }
}

/// The first use of the engine on a small diff: tables and the patterns it needs.
fn start_up() {
    let diff = generate(20_000);
    let (begun, worked) = (Instant::now(), processor_time());
    let Ok(engine) = Engine::new(&Settings::default(), ["not-a-real-token-0001".to_owned()]) else {
        return;
    };
    let built = begun.elapsed();
    let first = begun.elapsed();
    let matches = engine.redact_diff(diff.as_bytes()).matches.len();
    let redacted = begun.elapsed() - first;
    let worked = processor_time() - worked;
    println!(
        "start-up: engine {built:?}, first diff of {} bytes {redacted:?}, {worked:?} of processor time in all ({matches} secrets)",
        diff.len()
    );
}

fn throughput(name: &str, bytes: &[u8]) {
    let floor = best(|| {
        black_box(memchr::memchr_iter(b'\n', bytes).count());
    });
    let cores = thread::available_parallelism().map_or(1, usize::from);
    println!("{name}: newline pass {:.0} MB/s", rate(bytes.len(), floor));
    for threads in [1, cores] {
        let before = peak();
        let mut found = 0;
        let worked = processor_time();
        let took = best(|| {
            if let Ok(engine) = Engine::new(&Settings::default(), ["not-a-real-token-0001".to_owned()]) {
                found = black_box(engine.redact_diff_with(bytes, threads)).matches.len();
            }
        });
        let worked = (processor_time() - worked) / ROUNDS as u32;
        let worked = if threads == 1 { worked } else { took };
        println!(
            "{name}, {threads} thread(s): {:.0} MB/s, {:.0} MB/s of processor time, {:.1}x the newline pass, {found} secrets, peak memory {} -> {} MB",
            rate(bytes.len(), took),
            rate(bytes.len(), worked),
            took.as_secs_f64() / floor.as_secs_f64(),
            before / 1024,
            peak() / 1024,
        );
    }
}

/// Inputs made to be slow: one endless line, and near-misses of everything.
fn hostile() {
    let cases: [(&str, String); 8] = [
        ("one line of code", "let token = fetch(\"https://example.com/a?b=1\", key_value);".repeat(170_000)),
        ("one line of key=", "key=".repeat(2_500_000)),
        ("one line of password=\"", "password=\"".repeat(1_000_000)),
        ("one line of ://", "https://a:".repeat(1_000_000)),
        ("prefixes", "glpat- ghp_ sk- AKIA xoxb- eyJ ".repeat(320_000)),
        ("keywords", "authorization bearer curl mysql login( cookie ".repeat(220_000)),
        ("one base64 line", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo".repeat(290_000)),
        ("begin markers", "-----BEGIN RSA PRIVATE KEY-----\n".repeat(310_000)),
    ];
    let Ok(engine) = Engine::new(&Settings::default(), []) else {
        return;
    };
    for (name, text) in cases {
        let worked = processor_time();
        black_box(engine.redact(Output::Artifact, &text));
        println!(
            "hostile, {name}: {} MB, {:.0} MB per second of processor time",
            text.len() / 1_000_000,
            rate(text.len(), processor_time() - worked)
        );
    }
}

fn best(mut work: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn rate(bytes: usize, took: Duration) -> f64 {
    bytes as f64 / 1e6 / took.as_secs_f64()
}
