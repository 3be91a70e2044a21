//! The diff as a user of the program sees it: sources, bad input, and what was left out.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::forge::Forge;
use crate::sandbox::{Finished, Sandbox};

const DRY: [&str; 4] = ["--dry-run", "-q", "--agent", "builtin"];

/// Reviews a text as a diff, up to the prompt.
fn review(sandbox: &Sandbox, text: &[u8]) -> Finished {
    let path = sandbox.write("../change.patch", text);
    sandbox.run(DRY.into_iter().chain(["--diff-file", path.to_str().unwrap()]))
}

#[test]
fn input_that_is_no_diff_fails_with_its_line_and_never_reviews_nothing() {
    let head = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n";
    let cases: Vec<(&str, Vec<u8>, u64, &str)> = vec![
        ("truncated", format!("{head}@@ -1,3 +1,3 @@\n-a\n+b\n").into(), 8, "ends early"),
        ("cut in a header", b"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n".to_vec(), 4, "without `+++`"),
        ("counts too small", format!("{head}@@ -1 +1 @@\n-a\n+b\n+c\n").into(), 8, "belongs to no hunk"),
        ("counts too large", format!("{head}@@ -1,9 +1,9 @@\n-a\n+b\n").into(), 8, "ends early"),
        ("impossible counts", format!("{head}@@ -1,99999999999 +1 @@\n").into(), 5, "hunk header"),
        (
            "combined",
            b"diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n".to_vec(),
            1,
            "combined diff",
        ),
        ("garbage", b"this is not a diff\nat all\n".to_vec(), 1, "no file change"),
        ("NUL bytes", vec![0; 5_000], 1, "no file change"),
        ("random bytes", (0..=255u8).cycle().take(9_000).collect(), 1, "no file change"),
    ];
    for (name, text, line, said) in cases {
        let sandbox = Sandbox::bare();
        let finished = review(&sandbox, &text).expect_code(1);
        let run = sandbox.artifact("run.json");
        assert_eq!(run["error"]["error_code"], "DIFF_PARSE_FAILED", "{name}: {run:#}");
        assert_eq!(run["error"]["context"]["line"], line, "{name}: {run:#}");
        assert!(run["error"]["message"].as_str().unwrap().contains(said), "{name}: {run:#}");
        assert!(finished.stderr.contains(said), "{name}: {}", finished.stderr);
        assert!(!sandbox.workdir().join("prompt.txt").exists(), "{name}");
    }
}

#[test]
fn a_line_of_a_million_characters_and_bytes_that_are_no_text_are_reviewed_or_counted() {
    let long = "x".repeat(1_000_000);
    let mut text = format!("--- a/long.py\n+++ b/long.py\n@@ -1 +1 @@\n-a\n+{long}\n").into_bytes();
    text.extend_from_slice(b"--- a/odd.py\n+++ b/odd.py\n@@ -1 +1 @@\n-\0\xff\n+plain\n");
    let sandbox = Sandbox::bare();
    review(&sandbox, &text).expect_code(0);
    let report = sandbox.artifact("truncation.json");
    assert_eq!(report["included_paths"], json!(["odd.py"]));
    assert_eq!(report["coverage"]["hunks_total"], 2);
    assert_eq!(report["coverage"]["hunks_dropped"], 1);
    assert_eq!(report["truncated"], true);
    assert!(sandbox.artifact_text("prompt.txt").contains("+plain\n"));
}

#[test]
fn a_diff_from_stdin_needs_no_repository() {
    let sandbox = Sandbox::bare();
    let mut command = sandbox.command(DRY.into_iter().chain(["--diff-file", "-"]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
    Finished::of(child.wait_with_output().unwrap()).expect_code(0);
    let bundle = sandbox.artifact("diff.json");
    assert_eq!(bundle["source"]["kind"], "diff-file");
    assert_eq!(bundle["files"][0]["path"], "x.py");
    assert!(bundle.get("raw_diff").is_none());
}

#[test]
fn a_shallow_job_of_a_merge_request_reviews_the_merge_request_s_own_diff() {
    let forge = Forge::new();
    let job = forge.job(Some(1));
    let mut command = forge.sandbox.command(DRY.into_iter().chain(["--ci", "--workdir", "../out"]));
    command.current_dir(&job).env("DIFFSAN_GITLAB__ENABLED", "false").env("GITLAB_CI", "true");
    command.env("CI_COMMIT_SHA", &forge.head).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &forge.base);
    command.env("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "topic").env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main");
    Finished::of(command.output().unwrap()).expect_code(0);
    let out = forge.sandbox.root().join("out");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(read("diff.raw.patch"), forge.truth());
    let bundle: Value = serde_json::from_str(&read("diff.json")).unwrap();
    let want =
        json!({"target_branch": "main", "source_branch": "topic", "base_sha": forge.base, "head_sha": forge.head});
    assert_eq!(bundle["source"], json!({"kind": "git-diff", "ref": want}));
    assert_eq!(bundle["files"][0]["additions"], 2);
}

#[test]
fn a_job_whose_clone_cannot_give_the_change_fails_with_what_would_fix_it() {
    let forge = Forge::new();
    let job = forge.job(Some(1));
    forge.sandbox.git_in(&job, &["remote", "remove", "origin"]);
    let mut command = forge.sandbox.command(DRY.into_iter().chain(["--ci", "--workdir", "../out"]));
    command.current_dir(&job).env("DIFFSAN_GITLAB__ENABLED", "false");
    command.env("CI_COMMIT_SHA", &forge.head).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &forge.base);
    let finished = Finished::of(command.output().unwrap()).expect_code(1);
    assert!(finished.stderr.contains("DIFF_FETCH_FAILED"), "{}", finished.stderr);
    assert!(finished.stderr.contains("GIT_STRATEGY: clone"), "{}", finished.stderr);
}

#[test]
fn what_was_left_out_is_reported_by_rank_reason_and_count() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "topic"]);
    for name in ["a.py", "b.py", "notes.md", "Cargo.lock", "docs/guide.md", "x.generated.py", "own.py"] {
        sandbox.write(name, "one\ntwo\n");
    }
    sandbox.commit("files");
    sandbox.write(".diffsan.toml", "[limits]\nmax_files = 2\n");
    sandbox.run(DRY).expect_code(0);
    let report = sandbox.artifact("truncation.json");
    assert_eq!(report["included_paths"], json!(["a.py", "b.py"]));
    assert_eq!(report["ignored_paths"], json!(["docs/guide.md", "x.generated.py"]));
    assert_eq!((&report["original_files"], &report["final_files"]), (&json!(7), &json!(2)));
    let items: Vec<(&str, &str)> = report["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["path"].as_str().unwrap(), item["details"].as_str().unwrap()))
        .collect();
    assert_eq!(
        items,
        [
            ("Cargo.lock", "Dropped (lock file), max_files=2"),
            ("notes.md", "Dropped (deprioritized extension), max_files=2"),
            ("own.py", "Dropped (max_files=2)"),
        ]
    );
    let coverage = &report["coverage"];
    assert_eq!(coverage["reasons"], json!({"ignore_globs": 2, "max_files": 3}));
    let part = |name: &str| coverage[name].as_u64().unwrap();
    let parts = part("hunks_sent") + part("hunks_cut") + part("hunks_ignored") + part("hunks_dropped");
    assert_eq!(part("hunks_total"), parts + part("hunks_unavailable"));
    let anchors = sandbox.artifact("anchors.json");
    let shown: Vec<_> = anchors["anchors"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|anchor| anchor["in_prompt"] == true)
        .map(|anchor| anchor["file"].as_str().unwrap())
        .collect();
    assert_eq!(shown, ["a.py", "b.py"]);
}
