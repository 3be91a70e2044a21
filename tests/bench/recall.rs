//! Recall and precision of the redaction engine on a corpus of small diffs.
//!
//! `DIFFSAN_CORPUS` names a folder with `positives.jsonl` (`id`, `class`, `format`, `diff`, `secrets`) and `negatives.jsonl`
//! (`id`, `class`, `diff`). Without it the families of `fixtures/secrets/` are used, each in two halves: the odd lines are those that
//! rules are written by, the even ones are held back until that is done. `DIFFSAN_VERBOSE` shows every miss of the odd lines.
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
        None => families(),
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

/// The corpus; the first file has something of every family.
const FAMILIES: [&str; 5] = [
    include_str!("../../fixtures/secrets/families.txt"),
    include_str!("../../fixtures/secrets/rotated.txt"),
    include_str!("../../fixtures/secrets/prose.txt"),
    include_str!("../../fixtures/secrets/literals.txt"),
    include_str!("../../fixtures/secrets/commands.txt"),
];

/// Values drawn for each template.
const DRAWS: u64 = 20;

/// The families of the corpus: every template with several drawn values.
fn families() -> (Vec<Positive>, Vec<Negative>) {
    let (mut found, mut harmless) = (Vec::new(), Vec::new());
    let (mut family, mut number) = (String::new(), 0);
    for line in FAMILIES.iter().flat_map(|text| text.lines()) {
        if let Some(name) = line.strip_prefix('[') {
            (family, number) = (name.trim_end_matches(']').to_owned(), 0);
            let again = found.iter().any(|row: &Positive| row.class.starts_with(&family));
            family.push_str(if again { " (fresh)" } else { "" });
        } else if let Some((path, template)) = line.split_once(" | ").filter(|_| !line.starts_with('#')) {
            number += 1;
            let half = if number % 2 == 1 { "odd" } else { "even" };
            let class = format!("{family}, {half}");
            if let Some(text) = template.strip_prefix("! ") {
                let diff = change(path, &text.replace("\\n", "\n"));
                harmless.push(Negative { id: format!("{family}-{number}"), class, diff });
                continue;
            }
            for seed in 0..DRAWS {
                let (text, secrets) = drawn(template, seed * 1000 + number);
                let id = format!("{family}-{number}-{seed}");
                found.push(Positive {
                    id,
                    class: class.clone(),
                    format: template.to_owned(),
                    diff: change(path, &text),
                    secrets,
                });
            }
        }
    }
    (found, harmless)
}

/// The template with its values, and the values.
fn drawn(template: &str, seed: u64) -> (String, Vec<String>) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (mut text, mut secrets) = (String::new(), Vec::new());
    let template = template.replace("\\n", "\n");
    let mut rest = template.as_str();
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        let close = rest[open..].find('}').map_or(rest.len(), |at| open + at);
        match random.value(&rest[open + 1..close]) {
            Some(value) => {
                text.push_str(&value);
                secrets.push(value);
                rest = &rest[(close + 1).min(rest.len())..];
            }
            None => {
                text.push('{');
                rest = &rest[open + 1..];
            }
        }
    }
    text.push_str(rest);
    (text, secrets)
}

/// Lines as a change; those that bring no sign are added.
fn change(path: &str, text: &str) -> String {
    let signed = text.starts_with('\n');
    let lines: Vec<String> = text
        .trim_start_matches('\n')
        .lines()
        .map(|line| if signed { line.to_owned() } else { format!("+{line}") })
        .collect();
    let count = |signs: [char; 2]| lines.iter().filter(|line| line.starts_with(signs)).count();
    let (old, new) = (count([' ', '-']), count([' ', '+']));
    let body = lines.join("\n");
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{old} +1,{new} @@\n{body}\n")
}

/// A small generator, so that every run measures the same values.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pick(&mut self, length: usize, alphabet: &[u8]) -> String {
        (0..length).map(|_| char::from(alphabet[(self.next() % alphabet.len() as u64) as usize])).collect()
    }

    /// What people choose as a password.
    fn password(&mut self, alnum: &[u8]) -> String {
        const WORDS: [&str; 8] = ["Autumn", "Harbor", "Pepper", "Rocket", "Silver", "Tiger", "Violet", "Winter"];
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let word = WORDS[(self.next() % 8) as usize];
        let number = self.next() % 9000 + 1000;
        match self.next() % 7 {
            0 => format!("{word}{number}!"),
            1 => format!("{}{}{}", word.to_lowercase(), self.pick(1, b"@#$_-"), number % 1000),
            2 => format!("{}{}{}", self.pick(6, LETTERS), self.pick(1, b"-_.!"), self.pick(5, LETTERS)),
            3 => word.replace(['e', 'i', 'o'], "3").replace('a', "@") + &number.to_string(),
            4 => format!("{}{}", self.pick(3, alnum), self.pick(13, alnum)),
            5 => format!("{}-{}-{}", word.to_lowercase(), WORDS[(number % 8) as usize].to_lowercase(), number % 100),
            _ => format!("{}{}{}", self.pick(4, alnum), self.pick(1, b"!*+^=?~"), self.pick(6, alnum)),
        }
    }

    /// A value of the kind that a template asks for.
    fn value(&mut self, kind: &str) -> Option<String> {
        const ALNUM: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let (kind, length) =
            kind.split_once(':').map_or((kind, 0), |(kind, length)| (kind, length.parse().unwrap_or(0)));
        Some(match kind {
            "pw" => format!("{}{}{}", self.pick(5, ALNUM), self.pick(1, b"!-_."), self.pick(5, ALNUM)),
            "pwurl" => format!("{}-{}", self.pick(6, ALNUM), self.pick(5, ALNUM)),
            "words" => {
                const WORDS: [&str; 8] = ["river", "candle", "orbit", "velvet", "tunnel", "magnet", "fossil", "anchor"];
                let word = |random: &mut Self| WORDS[(random.next() % 8) as usize];
                format!("{}-{}-{}", word(self), word(self), self.next() % 90 + 10)
            }
            "any" => self.password(ALNUM),
            "hex" => self.pick(length, b"0123456789abcdef"),
            "tok" => self.pick(length, ALNUM),
            "dig" => self.pick(length, b"0123456789"),
            "upper" => self.pick(length, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
            "b64" => self.pick(length, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
            "b64text" => {
                use base64::Engine as _;
                base64::engine::general_purpose::STANDARD.encode(self.pick(12, ALNUM))
            }
            _ => return None,
        })
    }
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
    // What is held back is not looked at, only counted.
    let shown = |class: &str| !class.ends_with("even");
    let mut worst: Vec<_> =
        formats.iter().filter(|((class, _), (score, _))| score.caught < score.rows && shown(class)).collect();
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
                if row.class.ends_with("even") {
                    continue;
                }
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
