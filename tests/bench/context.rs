//! The reading tools on a generated tree of 20,000 files and 200 MB: listing it, a read, and searches of every kind, as objects
//! of git and as files of a working tree. Each figure stands beside a plain look at the same bytes in the same run:
//! `git grep` for the searches, `git cat-file` for the reading. `DIFFSAN_BENCH_FILES` picks another number of files.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints figures and prepares its own folder"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use diffsan::config::Environment;
use diffsan::context::{Question, Tree, answer};
use diffsan::diff::git::Git;
use diffsan::redact::{Engine, Settings};
use serde_json::{Value, json};

const BYTES: usize = 10_000;
const ROUNDS: usize = 3;

/// What is searched for, and why.
const PATTERNS: &[(&str, &str)] = &[
    ("a rare word", "needle_in_the_hay"),
    ("a word that is nowhere", "thiswordisnowhere"),
    ("a common word", "return"),
    ("a definition", r"fn\s+compute_total_\d+_7\b"),
    ("in any case", "(?i)needle_IN"),
    ("what stands for secrets", "REDACTED"),
    ("no word at all", r"[0-9]{6}[a-f]{3}x"),
];

fn main() {
    let files = std::env::var("DIFFSAN_BENCH_FILES").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bytes = generate(folder.path(), files);
    println!(
        "{files} files, {:.0} MB, {} cores",
        bytes as f64 / 1e6,
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let git = Git::new(folder.path(), &Environment::from_pairs(std::env::vars()));
    let known = (0..20).map(|n| format!("known-secret-value-{n:04}"));
    let engine = Arc::new(Engine::new(&Settings::default(), known).expect("an engine"));
    let plain = best(|| raw(folder.path()));
    println!("git cat-file of every object, one process       {:>9.1} ms", ms(plain));
    for commit in [true, false] {
        println!("{}", if commit { "objects of git" } else { "a working tree" });
        let open = || {
            runtime.block_on(async {
                let engine = Arc::clone(&engine);
                if commit {
                    Tree::of_commit(&git, "HEAD", engine).await
                } else {
                    Tree::of_working_tree(&git, engine).await
                }
            })
        };
        let begun = Instant::now();
        let tree = open().expect("the tree is listed");
        println!("  listing the tree                              {:>9.1} ms", ms(begun.elapsed()));
        let first = timed(|| ask(&tree, "read_file", json!({"path": "src/12/part_12.rs"})));
        let read = best(|| timed(|| ask(&tree, "read_file", json!({"path": "src/13/part_13.rs"}))));
        let large = best(|| timed(|| ask(&tree, "read_file", json!({"path": "large.rs"}))));
        println!("  the first read                                {:>9.1} ms", ms(first));
        println!("  a read of 10 kB                               {:>9.1} ms", ms(read));
        println!("  a read of 1.9 MB                              {:>9.1} ms", ms(large));
        for (name, pattern) in PATTERNS {
            let before = peak();
            let first = timed(|| ask(&tree, "search", json!({"pattern": pattern})));
            let again = best(|| timed(|| ask(&tree, "search", json!({"pattern": pattern}))));
            println!(
                "  {name:<32} first {:>9.1} ms, then {:>9.1} ms, {:>5.2}x reading, memory {} -> {} MB",
                ms(first),
                ms(again),
                again.as_secs_f64() / plain.as_secs_f64(),
                before / 1024,
                peak() / 1024
            );
        }
    }
}

fn ask(tree: &Tree, tool: &str, arguments: Value) {
    let question = Question::parse(tool, &arguments).expect("a question");
    let answered = answer(tree, &question, 600_000, &AtomicBool::new(false));
    assert!(!answered.is_error, "{}", answered.text);
}

/// Code of several kinds, a secret in every hundredth file, packed as a clone has it.
fn generate(folder: &Path, files: usize) -> usize {
    let mut bytes = 0;
    for file in 0..files {
        let mut text = format!("//! Part {file} of a generated tree.\n\nuse std::collections::BTreeMap;\n\n");
        let mut n = 0;
        while text.len() < BYTES {
            let _ = writeln!(text, "/// Adds what step {n} of part {file} weighs; nothing is rounded before the end.");
            let _ = writeln!(
                text,
                "fn compute_total_{n}_{}(weights: &BTreeMap<String, f64>, step: usize) -> f64 {{",
                file % 97
            );
            let _ = writeln!(
                text,
                "    let start = weights.get(\"step-{n}\").copied().unwrap_or({}.{});",
                n * 7 % 13,
                file % 10
            );
            let _ = writeln!(text, "    if step > {n} {{ return start * {file}.0; }}\n    start + {n}.5\n}}\n");
            n += 1;
        }
        if file % 100 == 7 {
            let _ = writeln!(text, "const PASSWORD: &str = \"k9{file:05}Zq8vXw7Lr2Tn9\";");
        }
        if file % 1_000 == 3 {
            text.push_str("// needle_in_the_hay\n");
        }
        write(folder, &format!("src/{}/part_{file}.rs", file % 200), &text);
        bytes += text.len();
    }
    write(folder, "large.rs", &"let total = compute(step, weight); // nothing to hide here\n".repeat(32_000));
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "-m", "all"],
        &["gc", "-q"],
    ] {
        let status = Command::new("git").args(args).current_dir(folder).status().expect("git runs");
        assert!(status.success(), "git {args:?}");
    }
    bytes
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
    std::fs::write(path, text).expect("the file is written");
}

/// Everything once through git, by one process.
fn raw(folder: &Path) -> Duration {
    timed(|| {
        let script = "git ls-tree -r HEAD | cut -d' ' -f3 | cut -f1 | git cat-file --batch --buffer > /dev/null";
        let status = Command::new("sh").args(["-c", script]).current_dir(folder).status().expect("git runs");
        assert!(status.success());
    })
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn best(mut work: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| work()).min().unwrap_or_default()
}

/// Most memory so far, in kB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
