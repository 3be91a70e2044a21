//! The ratios of every speed goal in one short run, each beside that of the last release (`last-release.txt`): smaller is better.
//! Times are processor times, which other work on the machine does not add to. A figure that grew is said so and fails nothing.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints, and stops when it cannot go on")]
#![expect(clippy::disallowed_methods, reason = "a benchmark prepares its own folder")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use common::{generate, peak_of, processor_time, repository, time_of};
use diffsan::contracts::{LimitsConfig, TruncationConfig};
use diffsan::diff::Diff;
use diffsan::prepare::{Rules, prepare};
use diffsan::redact::{Engine, Settings};

mod common;
mod shapes;
mod whole_run;

const MEGABYTE: usize = 1_000_000;
/// A figure that is so much larger than that of the last release is worth a word.
const WORSE: f64 = 1.25;

fn main() {
    let last = last_release();
    let mut worse = Vec::new();
    println!("{:<24} {:>9} {:>13}  unit", "figure", "now", "last release");
    let mut show = |name: &str, figure: f64, unit: &str| {
        let before = last.get(name).copied();
        let text = before.map_or_else(|| "-".to_owned(), |before| format!("{before:.2}"));
        println!("{name:<24} {figure:>9.2} {text:>13}  {unit}");
        if before.is_some_and(|before| figure > before * WORSE) {
            worse.push(name.to_owned());
        }
    };
    show("first_diff", first_diff(), "ms for tables, patterns and 20 KB");
    let diff = generate(10 * MEGABYTE);
    let yardstick = measured(|| fnv(diff.as_bytes()));
    let one = measured(|| redaction(&diff));
    show("redaction", ratio(one, yardstick), "x a plain hash of the same bytes");
    println!("    {:.0} MB/s on one thread", diff.len() as f64 / 1e6 / one.as_secs_f64());
    show("prepare", ratio(measured(|| parsed_and_prepared(&diff)), yardstick), "x, parsed and prepared");
    let folder = tempfile::tempdir().expect("a temporary folder");
    repository(folder.path(), 10 * MEGABYTE);
    let size = whole_run::write_diff(folder.path());
    let git = time_of(ROUNDS, || whole_run::git(folder.path()));
    for (name, limits) in [("whole_run", &[][..]), ("unlimited_run", whole_run::UNLIMITED)] {
        let run = || whole_run::review(folder.path(), false, limits);
        show(name, ratio(time_of(ROUNDS, run), git), "x git diff's time, without git's");
        show(&format!("{name}_memory"), peak_of(run()) as f64 / size as f64, "x the diff at its peak");
    }
    show("anchors", whole_run::artifact(folder.path(), "anchors.json") * 1e6 / size as f64, "x the diff, unlimited");
    let (slowest, shape) = shapes::slowest(SHAPES, 1).into_iter().next().expect("there are shapes");
    show("slowest_line", slowest, "s for each MB of one line");
    println!("    {shape}");
    for name in worse {
        println!("{name} is more than {WORSE} times that of the last release");
    }
}

const ROUNDS: u32 = 3;
const SHAPES: usize = 150;

/// What the last release had, by name.
fn last_release() -> BTreeMap<&'static str, f64> {
    let lines = include_str!("last-release.txt").lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?.parse().ok()?))
        })
        .collect()
}

/// The first use of the engine, in milliseconds.
fn first_diff() -> f64 {
    let diff = generate(20_000);
    let before = processor_time();
    black_box(redaction(&diff));
    (processor_time() - before).as_secs_f64() * 1_000.0
}

fn redaction(diff: &str) -> usize {
    let engine = Engine::new(&Settings::default(), ["not-a-real-token-0001".to_owned()]).expect("an engine");
    engine.redact_diff_with(diff.as_bytes(), 1).matches.len()
}

fn parsed_and_prepared(text: &str) -> usize {
    let rules = Rules::new(&LimitsConfig::default(), &TruncationConfig::default(), BTreeMap::new());
    let diff = Diff::parse(text.as_bytes()).expect("it parses");
    prepare(text, &diff, &rules).expect("it prepares").text.len()
}

/// The yardstick: one multiplication for each byte, whatever the processor.
fn fnv(bytes: &[u8]) -> usize {
    let hash = bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3));
    hash as usize
}

/// The least of a few rounds in processor time.
fn measured(mut once: impl FnMut() -> usize) -> Duration {
    let round = |_| {
        let before = processor_time();
        black_box(once());
        processor_time() - before
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

fn ratio(time: Duration, base: Duration) -> f64 {
    time.as_secs_f64() / base.as_secs_f64().max(1e-6)
}
