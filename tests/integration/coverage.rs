//! What was not reviewed is said wherever the result is said, and every agent is shown the same files.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// A change to a text, a binary file and an ignored one; both of the latter would be worth a finding.
fn change() -> Sandbox {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", "def one():\n    return 1\n\n\ndef two():\n    return 3\n");
    sandbox.write("logo.bin", b"\0\x01\x02");
    sandbox.write("gen/data.py", "<<<<<<< mine\nbreakpoint()\n");
    sandbox.git(&["add", "-A"]);
    sandbox
}

fn run(sandbox: &Sandbox, settings: &[(&str, &str)], args: &[&str]) -> (i32, String) {
    let output = sandbox.command(args).envs(settings.iter().copied()).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

const IGNORE: (&str, &str) = ("DIFFSAN_TRUNCATION__IGNORE_GLOBS", "[\"gen/**\"]");

#[test]
fn ignored_and_binary_files_are_counted_and_named_everywhere() {
    let sandbox = change();
    let (code, said) = run(&sandbox, &[IGNORE], &["--agent", "builtin"]);
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("the whole change was reviewed"), "{said}");
    let record = sandbox.artifact("run.json");
    let verdict = &record["verdict"];
    let headline = verdict["headline"].as_str().unwrap();
    assert!(headline.contains("1 binary file") && headline.contains("1 ignored file"), "{headline}");
    assert_eq!(verdict["decision"], "insufficient_evidence");
    let named: Vec<_> = verdict["coverage"]["not_reviewed"].as_array().unwrap().iter().map(pair).collect();
    assert_eq!(named, [("gen/data.py", "ignored"), ("logo.bin", "binary")]);

    let note = sandbox.artifact("post_plan.json")["summary_body"].as_str().unwrap().to_owned();
    assert!(note.contains("- `gen/data.py`: ignored by configuration"), "{note}");
    assert!(note.contains("- `logo.bin`: binary") && !note.contains("the whole change"), "{note}");

    let widget = sandbox.artifact("gl-code-quality-report.json");
    let told = widget.as_array().unwrap().iter().find(|entry| entry["check_name"] == "diffsan/coverage").unwrap();
    let told = told["description"].as_str().unwrap();
    assert!(told.contains("gen/data.py (ignored by configuration)") && told.contains("logo.bin (binary)"), "{told}");

    let page = sandbox.artifact_text("report.html");
    assert!(page.contains("gen/data.py") && page.contains("logo.bin"), "the page names them");
}

fn pair(file: &Value) -> (&str, &str) {
    (file["path"].as_str().unwrap(), file["why"].as_str().unwrap())
}

#[test]
fn a_change_that_was_sent_whole_says_so_and_only_that_one() {
    let sandbox = Sandbox::with_change();
    let (_, said) = run(&sandbox, &[], &["--agent", "builtin"]);
    assert!(said.contains("the whole change was reviewed"), "{said}");
    assert_eq!(sandbox.artifact("gl-code-quality-report.json"), serde_json::json!([]));
    sandbox.write("gen/data.py", "x = 1\n");
    sandbox.git(&["add", "-A"]);
    let (code, said) = run(&sandbox, &[IGNORE], &["--agent", "builtin", "--fail-on", "low"]);
    assert_eq!(code, 0, "what policy ignores does not close the gate: {said}");
    assert!(said.contains("not reviewed: 1 ignored file"), "{said}");
    assert_eq!(sandbox.artifact("run.json")["verdict"]["decision"], "passed");
}

#[test]
fn the_offline_checks_look_at_what_any_other_agent_is_shown() {
    let sandbox = change();
    run(&sandbox, &[IGNORE], &["--agent", "builtin"]);
    assert_eq!(sandbox.artifact("review.json")["findings"], serde_json::json!([]));
    run(&sandbox, &[], &["--agent", "builtin"]);
    assert_ne!(sandbox.artifact("review.json")["findings"], serde_json::json!([]));

    sandbox.write("a.py", "x = 1\n");
    sandbox.git(&["add", "-A"]);
    let one = [("DIFFSAN_LIMITS__MAX_FILES", "1")];
    let (code, said) = run(&sandbox, &one, &["--agent", "builtin", "--fail-on", "low"]);
    let shown = sandbox.artifact("truncation.json")["included_paths"].clone();
    let findings = sandbox.artifact("review.json")["findings"].as_array().unwrap().clone();
    assert!(findings.iter().all(|finding| shown.as_array().unwrap().contains(&finding["path"])), "{said}");
    assert_eq!(code, 3, "what was dropped closes the gate: {said}");
}

#[test]
fn a_nul_byte_hides_nothing_from_the_gate() {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", b"import os\n# \0\nos.system(input())\n");
    let (code, said) = run(&sandbox, &[], &["--agent", "builtin", "--fail-on", "critical"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("1 binary file"), "{said}");
}
