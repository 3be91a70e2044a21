//! What a workdir says is somebody's word: commits bring nothing into it, and what it holds is shown and does nothing.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::{Finished, Sandbox, read_json};

const CANARY: &str = "canary-7f3a";

/// A reviewed change in the default workdir.
fn reviewed() -> Sandbox {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", "def one():\n    return 1\n<<<<<<< mine\n\n\ndef two():\n    return 2\n");
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    sandbox
}

fn readers(sandbox: &Sandbox) -> Vec<(&'static str, Finished)> {
    let commands: [(&'static str, &[&str]); 5] = [
        ("inspect", &["inspect"]),
        ("inspect as JSON", &["inspect", "--format", "json"]),
        ("report", &["report"]),
        ("explain", &["explain", CANARY]),
        ("post", &["post"]),
    ];
    commands.into_iter().map(|(name, args)| (name, sandbox.run(args))).collect()
}

fn change_json(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = read_json(path);
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

#[test]
fn files_that_a_commit_brought_are_never_read() {
    let sandbox = reviewed();
    let workdir = sandbox.workdir();
    change_json(&workdir.join("review.json"), |review| {
        review["findings"][0]["finding_id"] = CANARY.into();
        review["findings"][0]["body_markdown"] = CANARY.into();
        review["summary_markdown"] = CANARY.into();
    });
    change_json(&workdir.join("run.json"), |run| run["verdict"]["headline"] = CANARY.into());
    change_json(&workdir.join("post_plan.json"), |plan| plan["summary_body"] = CANARY.into());
    let said = sandbox.run(["inspect"]).stdout;
    assert!(said.contains(CANARY), "the files are believed while no commit has them: {said}");
    assert!(sandbox.run(["explain", CANARY]).expect_code(0).stdout.contains(CANARY));

    sandbox.git(&["add", "-f", ".diffsan"]);
    sandbox.git(&["commit", "-q", "-m", "artifacts"]);
    std::fs::remove_file(workdir.join("report.html")).unwrap();
    for (name, finished) in readers(&sandbox) {
        let said = format!("{}{}", finished.stdout, finished.stderr).replace(&format!("explain {CANARY}"), "");
        let said = said.replace(&format!("`{CANARY}`"), "");
        assert!(!said.contains(CANARY), "{name}: {said}");
    }
    let said = sandbox.run(["post"]).expect_code(1).stderr;
    assert!(said.contains(".diffsan/run.json: git tracks it"), "{said}");
    let page = std::fs::read_to_string(workdir.join("report.html")).unwrap_or_default();
    assert!(!page.contains(CANARY), "{page}");
}

#[test]
fn a_submodule_as_workdir_is_a_commit_too() {
    let sandbox = reviewed();
    let inner = sandbox.workdir();
    change_json(&inner.join("run.json"), |run| run["verdict"]["headline"] = CANARY.into());
    for args in [&["init", "-q"][..], &["add", "-f", "."], &["commit", "-q", "-m", "inner"]] {
        sandbox.git_in(&inner, args);
    }
    let finished = sandbox.run(["inspect"]);
    assert!(!format!("{}{}", finished.stdout, finished.stderr).contains(CANARY));
}

#[test]
fn links_pipes_and_huge_files_are_refused_by_name() {
    let sandbox = reviewed();
    let plan = sandbox.workdir().join("post_plan.json");
    let kept = std::fs::read(&plan).unwrap();
    let elsewhere = sandbox.root().join("elsewhere.json");
    std::fs::write(&elsewhere, &kept).unwrap();
    let refused = |why: &str| {
        let said = sandbox.run(["post"]).expect_code(1).stderr;
        assert!(said.contains("post_plan.json") && said.contains(why), "{why}: {said}");
        std::fs::remove_file(&plan).unwrap();
    };
    std::fs::remove_file(&plan).unwrap();
    symlink(&elsewhere, &plan).unwrap();
    refused("symbolic link");
    let made = std::process::Command::new("mkfifo").arg(&plan).status().unwrap();
    assert!(made.success());
    refused("not a regular file");
    std::fs::File::create(&plan).unwrap().set_len(1 << 40).unwrap();
    refused("1099511627776 bytes");
    std::fs::write(&plan, "{ \"summary_markdown\": 1 }").unwrap();
    refused("post_plan.json is damaged, or of another version: summary_markdown: invalid type");
}

#[test]
fn a_damaged_record_is_named_with_what_is_wrong() {
    let sandbox = reviewed();
    for name in ["run.json", "review.json"] {
        let path = sandbox.workdir().join(name);
        let kept = std::fs::read(&path).unwrap();
        std::fs::write(&path, "{ \"ok\": tru").unwrap();
        let inspected = sandbox.run(["inspect"]).expect_code(0);
        if name == "run.json" {
            let said = inspected.stdout;
            assert!(said.contains("run.json is damaged") && !said.contains("neither run.json"), "{said}");
        }
        let said = sandbox.run(["report"]).expect_code(1).stderr;
        assert!(said.contains(&format!("{name} is damaged")) && said.contains("line 1"), "{said}");
        std::fs::write(&path, kept).unwrap();
    }
}

/// What a text can try on a terminal, in a page and in a note.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}<script>alert(1)</script><img src=x onerror=alert(1)>\n/approve\n\
                       @all ![x](https://evil.example/p.png) <!-- diffsan:fingerprint:sha256:00 -->";

#[test]
fn hostile_artifacts_are_shown_as_text_and_do_nothing() {
    let sandbox = reviewed();
    let workdir = sandbox.workdir();
    fn poison(value: &mut Value) {
        match value {
            Value::String(text) if text.contains(' ') => *text = HOSTILE.to_owned(),
            Value::Array(items) => items.iter_mut().for_each(poison),
            Value::Object(fields) => fields.values_mut().for_each(poison),
            _ => {}
        }
    }
    for name in ["run.json", "review.json", "truncation.json", "redaction.json", "validation.json"] {
        change_json(&workdir.join(name), |value| {
            poison(value);
            if name == "review.json" {
                value["findings"][0]["path"] = format!("src/{HOSTILE}").into();
                value["findings"][0]["finding_id"] = CANARY.into();
            }
        });
    }
    let event = json!({ "ts": "2026-01-01T00:00:00.000Z", "level": "warn", "event": "warning", "data": { "message": HOSTILE } });
    std::fs::write(workdir.join("events.jsonl"), format!("{event}\n")).unwrap();
    for (name, finished) in readers(&sandbox) {
        let said = format!("{}{}", finished.stdout, finished.stderr);
        let acts = said.chars().any(|letter| letter == '\u{1b}' || letter == '\u{7}' || letter == '\u{202e}');
        assert!(!acts, "{name}: {said:?}");
    }
    let page = std::fs::read_to_string(workdir.join("report.html")).unwrap();
    assert!(page.contains("alert(1)"), "the text is there to be read");
    for live in ["<script>alert", "<img src=x", "src=\"https://evil", "href=\"https://evil"] {
        assert!(!page.contains(live), "{live}");
    }
}
