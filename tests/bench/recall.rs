//! Recall and precision of the redaction engine on a corpus of small diffs.
//!
//! `DIFFSAN_CORPUS` names a folder with `positives.jsonl` (`id`, `class`, `format`, `diff`, `secrets`) and `negatives.jsonl`
//! (`id`, `class`, `diff`). Without it the rules' own samples are used.
#![expect(clippy::disallowed_methods, reason = "the corpus is named by a variable")]
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use diffsan::redact::{Engine, Settings};
use serde::Deserialize;

/// So many characters of a secret in a row count as a leak.
const FRAGMENT: usize = 12;

#[derive(Deserialize)]
struct Positive {
    id: String,
    class: String,
    #[serde(default)]
    format: String,
    diff: String,
    secrets: Vec<String>,
}

#[derive(Deserialize)]
struct Negative {
    id: String,
    class: String,
    diff: String,
}

#[derive(Default)]
struct Score {
    rows: usize,
    caught: usize,
    partial: usize,
}

fn main() {
    let verbose = env::var_os("DIFFSAN_VERBOSE").is_some();
    let (found, harmless) = match env::var_os("DIFFSAN_CORPUS").map(PathBuf::from) {
        Some(folder) => (read(&folder.join("positives.jsonl")), read(&folder.join("negatives.jsonl"))),
        None => own_samples(),
    };
    positives(found, verbose);
    negatives(harmless, verbose);
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Vec<T> {
    let Ok(text) = fs::read_to_string(path) else {
        println!("no {}", path.display());
        return Vec::new();
    };
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The samples of the rules, each as a new file.
fn own_samples() -> (Vec<Positive>, Vec<Negative>) {
    let (mut found, mut harmless) = (Vec::new(), Vec::new());
    for samples in diffsan::redact::samples() {
        let class = samples.rule.split('_').next().unwrap_or_default().to_lowercase();
        for (line, secret) in samples.hits {
            let (id, format) = (samples.rule.to_owned(), samples.rule.to_owned());
            let secrets = vec![(*secret).to_owned()];
            found.push(Positive { id, class: class.clone(), format, diff: new_file(line), secrets });
        }
        for line in samples.misses {
            let id = samples.rule.to_owned();
            harmless.push(Negative { id, class: class.clone(), diff: new_file(line) });
        }
    }
    (found, harmless)
}

fn new_file(text: &str) -> String {
    let count = text.lines().count();
    let body: String = text.lines().map(|line| format!("+{line}\n")).collect();
    format!("diff --git a/sample b/sample\n--- /dev/null\n+++ b/sample\n@@ -0,0 +1,{count} @@\n{body}")
}

/// Every row is a run of its own: nothing learned from one helps another.
fn redact(diff: &str) -> String {
    match Engine::new(&Settings::default(), []) {
        Ok(engine) => engine.redact_diff(diff.as_bytes()).bytes.to_text().into_string(),
        Err(_) => String::new(),
    }
}

fn leaks(redacted: &str, secret: &str) -> bool {
    let secret = secret.as_bytes();
    let text = redacted.as_bytes();
    let fragment = secret.len().min(FRAGMENT);
    secret.windows(fragment.max(1)).any(|part| memchr::memmem::find(text, part).is_some())
}

fn positives(rows: Vec<Positive>, verbose: bool) {
    let mut classes: BTreeMap<String, Score> = BTreeMap::new();
    let mut formats: BTreeMap<(String, String), (Score, String)> = BTreeMap::new();
    for row in rows {
        let redacted = redact(&row.diff);
        let caught = !row.secrets.iter().any(|secret| leaks(&redacted, secret));
        let changed = row.secrets.iter().any(|secret| !redacted.contains(secret.as_str()));
        let (format, sample) = formats.entry((row.class.clone(), row.format.clone())).or_default();
        for score in [classes.entry(row.class.clone()).or_default(), format] {
            score.rows += 1;
            score.caught += usize::from(caught);
            score.partial += usize::from(!caught && changed);
        }
        if !caught {
            let line =
                redacted.lines().find(|line| row.secrets.iter().any(|secret| leaks(line, secret))).unwrap_or_default();
            *sample = format!(
                "{} {}{}",
                row.id,
                if changed { "PARTIAL " } else { "" },
                line.chars().take(220).collect::<String>()
            );
        }
    }
    println!("{:<24} {:>6} {:>7} {:>8}", "class", "rows", "recall", "partial");
    let mut total = Score::default();
    for (class, score) in &classes {
        print_score(class, score);
        total.rows += score.rows;
        total.caught += score.caught;
        total.partial += score.partial;
    }
    print_score("all", &total);
    let mut worst: Vec<_> = formats.iter().filter(|(_, (score, _))| score.caught < score.rows).collect();
    worst.sort_by_key(|(_, (score, _))| std::cmp::Reverse(score.rows - score.caught));
    for ((class, format), (score, sample)) in worst.iter().take(if verbose { usize::MAX } else { 20 }) {
        println!("{class}/{format}: {} of {} missed\n    {sample}", score.rows - score.caught, score.rows);
    }
}

fn print_score(name: &str, score: &Score) {
    println!(
        "{:<24} {:>6} {:>6.1}% {:>8}",
        name,
        score.rows,
        100.0 * score.caught as f64 / score.rows.max(1) as f64,
        score.partial
    );
}

fn negatives(rows: Vec<Negative>, verbose: bool) {
    let mut classes: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut altered = Vec::new();
    for row in rows {
        let redacted = redact(&row.diff);
        let entry = classes.entry(row.class.clone()).or_default();
        for (before, after) in row.diff.lines().zip(redacted.lines()) {
            entry.0 += 1;
            if before != after {
                entry.1 += 1;
                altered.push(format!("{} {}\n    {}\n    {}", row.class, row.id, clip(before), clip(after)));
            }
        }
    }
    println!("\n{:<24} {:>8} {:>8}", "harmless", "lines", "altered");
    for (class, (lines, changed)) in &classes {
        println!("{:<24} {:>8} {:>7.2}%", class, lines, 100.0 * *changed as f64 / (*lines).max(1) as f64);
    }
    let (lines, changed) = classes.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{:<24} {:>8} {:>7.2}%", "all", lines, 100.0 * changed as f64 / lines.max(1) as f64);
    for line in altered.iter().take(if verbose { usize::MAX } else { 20 }) {
        println!("{line}");
    }
}

fn clip(line: &str) -> String {
    line.chars().take(220).collect()
}
