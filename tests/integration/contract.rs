//! The artifacts, read as a consumer reads them: by the test's own types, and against the published schemas.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::sandbox::{Finished, Sandbox};

#[derive(Debug, Deserialize)]
struct Fingerprint {
    algo: String,
    value: String,
}

#[derive(Debug, Deserialize)]
struct Run {
    schema_version: u32,
    ok: bool,
    skipped: bool,
    skip_reasons: Vec<Reason>,
    fingerprint: Option<Fingerprint>,
    error: Option<Value>,
    artifacts: BTreeMap<String, Value>,
    exit_code: i32,
    verdict: Verdict,
    privacy_audit: Audit,
}

#[derive(Debug, Deserialize)]
struct Reason {
    code: String,
    message: String,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    decision: String,
    headline: String,
    would_fail_ci: bool,
    gate: Gate,
}

#[derive(Debug, Deserialize)]
struct Gate {
    fail_on: Option<String>,
    status: String,
}

#[derive(Debug, Deserialize)]
struct Audit {
    outputs: BTreeMap<String, BTreeMap<String, u64>>,
}

#[derive(Debug, Deserialize)]
struct Event {
    ts: String,
    level: String,
    event: String,
    data: serde_json::Map<String, Value>,
    run_id: String,
    seq: u64,
}

#[derive(Debug, Deserialize)]
struct Review {
    summary_markdown: String,
    findings: Vec<Finding>,
    meta: Meta,
}

#[derive(Debug, Deserialize)]
struct Finding {
    finding_id: String,
    severity: String,
    category: String,
    path: String,
    line_start: u32,
    line_end: u32,
    body_markdown: String,
}

#[derive(Debug, Deserialize)]
struct Meta {
    fingerprint: Fingerprint,
    agent: String,
    timings: BTreeMap<String, Value>,
    token_usage: BTreeMap<String, Value>,
    truncated: bool,
    redaction_found: bool,
}

/// A branch with a debugger call, a secret and an ignored file.
fn reviewed() -> (Sandbox, Finished) {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", "def one():\n    return 1\n\n\ndef two():\n    breakpoint()\n    return 2\n");
    sandbox.write("src/settings.py", format!("GITLAB = \"glpat-{}\"\n", "x7Kp2mQ9vL4wR8tZ3nBs"));
    sandbox.write("docs/guide.md", "ignored\n");
    sandbox.commit("change");
    let finished = sandbox.run(["--agent", "builtin"]).expect_code(0);
    (sandbox, finished)
}

#[test]
fn a_review_leaves_every_artifact_of_the_contract() {
    let (sandbox, _) = reviewed();
    for name in [
        "run.json",
        "events.jsonl",
        ".gitignore",
        "diff.raw.patch",
        "diff.json",
        "diff.prepared.patch",
        "truncation.json",
        "redaction.json",
        "anchors.json",
        "prior_digest.json",
        "skip.json",
        "prompt.txt",
        "agent.request.json",
        "agent.raw.txt",
        "agent.raw.attempt1.txt",
        "agent.run.json",
        "validation.json",
        "review.json",
        "post_plan.json",
        "report.html",
        "gl-code-quality-report.json",
        "report.sarif",
    ] {
        assert!(sandbox.workdir().join(name).is_file(), "{name} is missing");
    }
    assert!(!sandbox.workdir().join(".reserve").exists());
    assert_eq!(sandbox.artifact_text("prior_digest.json"), "{}\n");
}

#[test]
fn run_json_says_what_a_consumer_needs() {
    let (sandbox, _) = reviewed();
    let run: Run = serde_json::from_value(sandbox.artifact("run.json")).unwrap();
    assert_eq!((run.schema_version, run.ok, run.skipped, run.exit_code), (1, true, false, 0));
    assert!(run.skip_reasons.is_empty() && run.error.is_none());
    let fingerprint = run.fingerprint.unwrap();
    assert_eq!((fingerprint.algo.as_str(), fingerprint.value.len()), ("sha256", 64));
    for (key, value) in
        [("workdir", ".diffsan"), ("prompt", "prompt.txt"), ("raw_output", "agent.raw.txt"), ("review", "review.json")]
    {
        assert_eq!(run.artifacts[key], value);
    }
    assert_eq!(run.verdict.decision, "review_required");
    assert!(!run.verdict.would_fail_ci && run.verdict.gate.fail_on.is_none());
    assert_eq!(run.verdict.gate.status, "off");
    assert!(run.verdict.headline.contains("finding"), "{}", run.verdict.headline);
    assert!(run.privacy_audit.outputs["prompt"].values().sum::<u64>() >= 1);
}

#[test]
fn events_come_in_the_order_of_the_stages_with_their_keys() {
    let (sandbox, finished) = reviewed();
    let events: Vec<Event> = sandbox.events().into_iter().map(|event| serde_json::from_value(event).unwrap()).collect();
    let names: Vec<_> =
        events.iter().filter(|event| event.level != "debug").map(|event| event.event.as_str()).collect();
    assert_eq!(
        names,
        [
            "run.started",
            "config.loaded",
            "diff.fetched",
            "diff.prepared",
            "skip.decided",
            "prompt.written",
            "agent.attempt",
            "review.validated",
            "post.plan_built",
            "run.finished",
        ]
    );
    let keys: &[(&str, &[&str])] = &[
        ("run.started", &["version", "ci", "workdir"]),
        ("config.loaded", &["ci", "agent", "verbosity", "config_file", "model", "agent_source"]),
        ("diff.fetched", &["chars", "files", "base_sha", "head_sha"]),
        ("diff.prepared", &["final_chars", "truncated", "redaction_found"]),
        ("skip.decided", &["should_skip", "reasons", "fingerprint"]),
        ("prompt.written", &["path", "chars"]),
        ("agent.attempt", &["attempt", "exit_code", "duration_ms"]),
        ("review.validated", &["findings", "truncated"]),
        ("post.plan_built", &["discussions", "idempotent_summary"]),
        ("run.finished", &["ok", "skipped", "duration_ms"]),
    ];
    for (name, keys) in keys {
        let event = events.iter().find(|event| event.event == *name).unwrap();
        for key in *keys {
            assert!(event.data.contains_key(*key), "{name} lacks {key}");
        }
    }
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.seq, index as u64);
        assert!(event.ts.ends_with('Z') && event.run_id == events[0].run_id);
    }
    for name in names {
        assert!(finished.stdout.contains(&format!("[diffsan] {name} |")), "{name} is not on stdout");
    }
    assert!(finished.stderr.is_empty(), "{}", finished.stderr);
    assert!(!finished.stdout.contains("diff --git"));
}

#[test]
fn every_json_artifact_validates_against_its_published_schema() {
    let (sandbox, _) = reviewed();
    for (schema, file) in [
        ("run", "run.json"),
        ("diff", "diff.json"),
        ("truncation", "truncation.json"),
        ("redaction", "redaction.json"),
        ("anchors", "anchors.json"),
        ("prior_digest", "prior_digest.json"),
        ("skip", "skip.json"),
        ("agent_request", "agent.request.json"),
        ("answer", "agent.raw.txt"),
        ("agent_run", "agent.run.json"),
        ("validation", "validation.json"),
        ("review", "review.json"),
        ("post_plan", "post_plan.json"),
    ] {
        let printed = sandbox.run(["schema", schema]).expect_code(0).stdout;
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(printed["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let validator = jsonschema::validator_for(&printed).unwrap();
        let artifact = sandbox.artifact(file);
        let errors: Vec<_> = validator.iter_errors(&artifact).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{file}: {errors:?}");
    }
    let schema: Value = serde_json::from_str(&sandbox.run(["schema", "event"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(sandbox.events().iter().all(|event| validator.is_valid(event)));
}

#[test]
fn the_schema_list_names_every_schema_and_an_unknown_name_is_an_error() {
    let sandbox = Sandbox::bare();
    let list = sandbox.run(["schema"]).expect_code(0).stdout;
    assert!(list.lines().count() >= 17, "{list}");
    let finished = sandbox.run(["schema", "nothing"]).expect_code(2);
    assert!(finished.stderr.contains("there is no schema named nothing"), "{}", finished.stderr);
}

#[test]
fn the_review_is_the_agents_with_facts_from_diffsan() {
    let (sandbox, _) = reviewed();
    let review: Review = serde_json::from_value(sandbox.artifact("review.json")).unwrap();
    assert!(!review.summary_markdown.is_empty());
    let found = review.findings.iter().find(|finding| finding.path == "src/app.py").unwrap();
    assert_eq!((found.line_start, found.line_end), (6, 6));
    assert!(found.finding_id.starts_with("f-") && !found.body_markdown.is_empty());
    assert!(["info", "low", "medium", "high", "critical"].contains(&found.severity.as_str()));
    assert!(!found.category.is_empty());
    assert_eq!(review.meta.agent, "builtin");
    assert_eq!(sandbox.artifact("run.json")["fingerprint"]["value"], review.meta.fingerprint.value.as_str());
    assert_eq!(review.meta.fingerprint.algo, "sha256");
    assert!(review.meta.timings.contains_key("duration_ms") && review.meta.token_usage.is_empty());
    assert!(!review.meta.truncated && review.meta.redaction_found);
}

#[test]
fn the_prepared_diff_is_what_the_prompt_holds() {
    let (sandbox, _) = reviewed();
    let prompt = sandbox.artifact_text("prompt.txt");
    assert!(prompt.contains(&sandbox.artifact_text("diff.prepared.patch")));
    assert!(prompt.starts_with("You are diffsan, an AI code reviewer"));
    let truncation = sandbox.artifact("truncation.json");
    assert_eq!(truncation["truncated"], false);
    assert_eq!(truncation["ignored_paths"], serde_json::json!(["docs/guide.md"]));
    assert!(!prompt.contains("docs/guide.md"));
}

#[test]
fn the_fingerprint_is_that_of_the_bytes_git_gave() {
    use sha2::Digest as _;
    let sandbox = Sandbox::with_change();
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    let raw = std::fs::read(sandbox.workdir().join("diff.raw.patch")).unwrap();
    let digest: String = sha2::Sha256::digest(&raw).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(sandbox.artifact("run.json")["fingerprint"]["value"], digest.as_str());
}

#[test]
fn an_empty_diff_is_a_clean_skip_that_says_why() {
    let sandbox = Sandbox::new();
    let finished = sandbox.run(["--agent", "builtin"]).expect_code(0);
    let run: Run = serde_json::from_value(sandbox.artifact("run.json")).unwrap();
    assert!(run.ok && run.skipped);
    assert_eq!((run.skip_reasons[0].code.as_str(), run.verdict.decision.as_str()), ("NO_DIFF", "skipped"));
    assert!(finished.stdout.contains("NO_DIFF"), "{}", finished.stdout);
    assert!(!run.skip_reasons[0].message.is_empty());
    assert!(!sandbox.workdir().join("prompt.txt").exists());
    assert_eq!(sandbox.artifact("skip.json")["should_skip"], true);
}

#[test]
fn a_change_of_ignored_files_only_is_skipped_as_such() {
    let sandbox = Sandbox::new();
    sandbox.write("docs/guide.md", "text\n");
    sandbox.commit("docs");
    sandbox.run(["--base", "HEAD~1"]).expect_code(0);
    assert_eq!(sandbox.artifact("run.json")["skip_reasons"][0]["code"], "ALL_IGNORED");
}

#[test]
fn the_gate_exits_3_and_everything_agrees() {
    let (sandbox, _) = reviewed();
    let finished = sandbox.run(["--agent", "builtin", "--fail-on", "low"]).expect_code(3);
    let run: Run = serde_json::from_value(sandbox.artifact("run.json")).unwrap();
    assert!(run.ok && run.verdict.would_fail_ci);
    assert_eq!((run.exit_code, run.verdict.decision.as_str()), (3, "blocked"));
    assert_eq!((run.verdict.gate.status.as_str(), run.verdict.gate.fail_on.as_deref()), ("closed", Some("low")));
    assert!(finished.stdout.contains("Blocked"), "{}", finished.stdout);
}

#[test]
fn with_format_json_stdout_is_one_document_and_events_go_to_stderr() {
    let (sandbox, _) = reviewed();
    let finished = sandbox.run(["--agent", "builtin", "--format", "json"]).expect_code(0);
    let document: Value = serde_json::from_str(&finished.stdout).expect("one JSON document");
    assert_eq!(document["ok"], true);
    assert!(document["review"]["findings"].as_array().is_some_and(|findings| !findings.is_empty()));
    assert!(finished.stderr.contains("[diffsan] run.finished |"));
}

#[test]
fn quiet_prints_no_event_and_verbose_prints_stages() {
    let (sandbox, _) = reviewed();
    let quiet = sandbox.run(["--agent", "builtin", "-q"]).expect_code(0);
    assert!(!quiet.stdout.contains("[diffsan]"), "{}", quiet.stdout);
    let verbose = sandbox.run(["--agent", "builtin", "-v"]).expect_code(0);
    assert!(verbose.stdout.contains("[diffsan] stage.started | stage=fetch"), "{}", verbose.stdout);
    assert!(verbose.stderr.contains("git starts"), "{}", verbose.stderr);
    assert!(quiet.stderr.is_empty(), "{}", quiet.stderr);
    let sentences = Finished::of(
        sandbox.command(["--agent", "builtin"]).env("DIFFSAN_LOGGING__STRUCTURED", "false").output().unwrap(),
    );
    assert!(sentences.stdout.contains("[diffsan] a review is due"), "{}", sentences.stdout);
}

#[test]
fn raw_diff_can_be_kept_redacted_raw_or_not_at_all() {
    let secret = "x7Kp2mQ9vL4wR8tZ3nBs";
    for (setting, there, raw) in [("redacted", true, false), ("raw", true, true), ("off", false, false)] {
        let (sandbox, _) = reviewed();
        let mut command = sandbox.command(["--agent", "builtin"]);
        Finished::of(command.env("DIFFSAN_ARTIFACTS__RAW_DIFF", setting).output().unwrap()).expect_code(0);
        let path = sandbox.workdir().join("diff.raw.patch");
        assert_eq!(path.exists(), there, "{setting}");
        assert_eq!(there && std::fs::read_to_string(path).unwrap().contains(secret), raw, "{setting}");
    }
}

#[test]
fn a_dry_run_ends_with_the_prompt() {
    let sandbox = Sandbox::with_change();
    sandbox.run(["--dry-run"]).expect_code(0);
    assert!(sandbox.workdir().join("prompt.txt").exists());
    assert!(!sandbox.workdir().join("agent.raw.txt").exists());
    let run = sandbox.artifact("run.json");
    assert_eq!(run["verdict"]["decision"], "unknown");
    assert_eq!(run["ok"], true);
}
