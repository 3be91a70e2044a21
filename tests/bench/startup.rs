//! Whole-process times: `diffsan --version`, and a `--dry-run` on a 10 KB diff.
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![expect(clippy::expect_used, clippy::disallowed_methods, reason = "a benchmark that cannot go on stops")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let diff = folder.path().join("change.patch");
    std::fs::write(&diff, ten_kilobytes()).expect("the diff is written");
    let nothing = median(50, || run("true", &[], folder.path()));
    let version = median(50, || run(env!("CARGO_BIN_EXE_diffsan"), &["--version"], folder.path()));
    let dry = median(30, || {
        let args = ["--dry-run", "-q", "--agent", "builtin", "--diff-file", "change.patch"];
        run(env!("CARGO_BIN_EXE_diffsan"), &args, folder.path())
    });
    println!("process that does nothing (true)     {:>8.2} ms", ms(nothing));
    println!("diffsan --version                    {:>8.2} ms  {:.1} x", ms(version), ratio(version, nothing));
    println!("diffsan --dry-run, 10 KB diff        {:>8.2} ms  {:.1} x", ms(dry), ratio(dry, nothing));
}

fn ten_kilobytes() -> String {
    let body: String = (0..250).map(|n| format!("+    total_{n} = compute(step={n}, weight=0.5)\n")).collect();
    format!(
        "diff --git a/app.py b/app.py\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/app.py\n@@ -0,0 +1,250 @@\n{body}"
    )
}

fn run(program: &str, args: &[&str], folder: &Path) -> Duration {
    let start = Instant::now();
    let status = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env_remove("DIFFSAN_WORKDIR")
        .stdout(Stdio::null())
        .status()
        .expect("it starts");
    let took = start.elapsed();
    assert!(status.success(), "{program} {args:?} failed");
    took
}

fn median(times: usize, mut once: impl FnMut() -> Duration) -> Duration {
    once();
    let mut all: Vec<_> = (0..times).map(|_| once()).collect();
    all.sort();
    all[times / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn ratio(time: Duration, base: Duration) -> f64 {
    time.as_secs_f64() / base.as_secs_f64()
}
