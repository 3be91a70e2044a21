//! The commands around a review: inspect, explain, doctor, init, report, completions.

use serde_json::{Value, json};

use crate::gitlab::{FakeGitLab, MR, PROJECT, TOKEN};
use crate::sandbox::{Finished, Sandbox};

/// A way to fail, and what `inspect` must say about it.
struct Case {
    name: &'static str,
    prepare: fn(&Sandbox),
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    code: &'static str,
    says: &'static str,
    next: Option<&'static str>,
}

const CASES: &[Case] = &[
    Case {
        name: "bad config",
        prepare: |sandbox| {
            sandbox.write(".diffsan.toml", "[limits]\nmax_fils = 1\n");
        },
        args: &[],
        env: &[],
        code: "CONFIG_PARSE_ERROR",
        says: "did you mean `limits.max_files`?",
        next: None,
    },
    Case {
        name: "no git",
        prepare: |_| {},
        args: &["--agent", "builtin"],
        env: &[("PATH", "/nonexistent")],
        code: "DIFF_FETCH_FAILED",
        says: "git",
        next: Some("diffsan doctor"),
    },
    Case {
        name: "not a diff",
        prepare: |sandbox| {
            sandbox.write("x.patch", "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n one\n");
        },
        args: &["--agent", "builtin", "--diff-file", "x.patch"],
        env: &[],
        code: "DIFF_PARSE_FAILED",
        says: "does not add up",
        next: None,
    },
    Case {
        name: "bad pattern",
        prepare: |_| {},
        args: &["--agent", "builtin"],
        env: &[("DIFFSAN_SECRETS__EXTRA_PATTERNS", "[\"(\"]")],
        code: "REDACTION_ENGINE_FAILED",
        says: "extra_patterns",
        next: None,
    },
    Case {
        name: "missing agent",
        prepare: |_| {},
        args: &["--agent", "command"],
        env: &[("DIFFSAN_AGENT__COMMAND", "no-such-program-here")],
        code: "AGENT_EXEC_FAILED",
        says: "no-such-program-here",
        next: Some("diffsan doctor"),
    },
    Case {
        name: "an answer that is none",
        prepare: |sandbox| {
            sandbox.script("agent.sh", "#!/bin/sh\ncat > /dev/null\necho I refuse\n");
        },
        args: &["--agent", "command"],
        env: &[("DIFFSAN_AGENT__COMMAND", "../agent.sh")],
        code: "AGENT_OUTPUT_INVALID",
        says: "after 3 attempts",
        next: None,
    },
    Case {
        name: "a crash",
        prepare: |_| {},
        args: &["--agent", "builtin"],
        env: &[("DIFFSAN_FAULT", "panic:prepare")],
        code: "FORMAT_FAILED",
        says: "in stage prepare",
        next: None,
    },
    Case {
        name: "no token",
        prepare: |_| {},
        args: &["--ci", "--agent", "builtin"],
        env: &[("CI_MERGE_REQUEST_IID", "7"), ("CI_PROJECT_ID", "1")],
        code: "GITLAB_AUTH_ERROR",
        says: "GITLAB_TOKEN",
        next: Some("diffsan doctor"),
    },
];

#[test]
fn inspect_names_the_true_cause_of_each_failure_and_a_command_that_helps() {
    for case in CASES {
        let sandbox = Sandbox::with_change();
        (case.prepare)(&sandbox);
        let run = Finished::of(sandbox.command(case.args).envs(case.env.iter().copied()).output().unwrap());
        assert_ne!(run.code, 0, "{}", case.name);
        let _ = std::fs::remove_file(sandbox.repo().join(".diffsan.toml"));
        let text = sandbox.run(["inspect", ".diffsan"]).expect_code(0).stdout;
        assert!(text.contains(case.code), "{}:\n{text}", case.name);
        assert!(text.contains(case.says), "{}:\n{text}", case.name);
        let next = text.lines().find_map(|line| line.strip_prefix("Next:  "));
        assert_eq!(next.is_some(), case.next.is_some(), "{}:\n{text}", case.name);
        assert!(next.unwrap_or_default().starts_with(case.next.unwrap_or_default()), "{}:\n{text}", case.name);
        let document: Value =
            serde_json::from_str(&sandbox.run(["inspect", ".diffsan", "--format", "json"]).stdout).unwrap();
        assert_eq!(document["error_code"], case.code);
        assert_eq!(document["state"], "failed");
    }
}

#[test]
fn inspect_shows_a_finished_run_with_a_bar_for_each_stage() {
    let sandbox = Sandbox::with_change();
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    let text = sandbox.run(["inspect"]).expect_code(0).stdout;
    assert!(text.contains("state    done, exit code 0"), "{text}");
    for stage in ["fetch", "prepare", "agent", "validate"] {
        assert!(
            text.lines().any(|line| line.trim_start().starts_with(stage) && line.contains('█')),
            "{stage}:\n{text}"
        );
    }
}

#[test]
fn inspect_of_a_killed_run_says_where_it_stood() {
    let sandbox = Sandbox::with_change();
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    let events = sandbox.artifact_text("events.jsonl");
    let cut = events.find("\"stage\":\"agent\"").unwrap();
    let end = events[cut..].find('\n').unwrap() + cut + 1;
    std::fs::write(sandbox.workdir().join("events.jsonl"), &events[..end + 20]).unwrap();
    let text = sandbox.run(["inspect"]).expect_code(0).stdout;
    assert!(text.contains("unfinished") && text.contains("in stage agent"), "{text}");
}

#[test]
fn inspect_of_a_folder_that_is_not_there_is_a_clear_error() {
    let sandbox = Sandbox::with_change();
    let finished = sandbox.run(["inspect", "nowhere"]).expect_code(2);
    assert!(finished.stderr.contains("nowhere") && finished.stderr.contains("help:"), "{}", finished.stderr);
}

#[test]
fn explain_knows_codes_and_findings() {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", "breakpoint()\n");
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    let id = sandbox.artifact("review.json")["findings"][0]["finding_id"].as_str().unwrap().to_owned();
    let finding = sandbox.run(["explain", &id]).expect_code(0).stdout;
    assert!(finding.contains("src/app.py:1") && finding.contains("breakpoint"), "{finding}");
    for beginning in [&id[..6], &id[2..7]] {
        assert_eq!(sandbox.run(["explain", beginning]).expect_code(0).stdout, finding, "{beginning}");
    }
    let code = sandbox.run(["explain", "agent_exec_failed"]).expect_code(0).stdout;
    assert!(code.starts_with("AGENT_EXEC_FAILED (error)"), "{code}");
    assert!(sandbox.run(["explain"]).expect_code(0).stdout.contains("SAME_FINGERPRINT"));
    assert!(sandbox.run(["explain", "NOTHING"]).expect_code(2).stderr.contains("NOTHING"));
}

#[test]
fn init_writes_a_file_that_loads_and_never_over_another() {
    let sandbox = Sandbox::new();
    let printed = sandbox.run(["init", "--agent", "claude"]).expect_code(0).stdout;
    assert!(printed.contains("agent: claude") && printed.contains("ANTHROPIC_API_KEY"), "{printed}");
    let config: Value =
        serde_json::from_str(&sandbox.run(["config", "--format", "json"]).expect_code(0).stdout).unwrap();
    assert_eq!(config["agent.agent"]["value"], "claude");
    let again = sandbox.run(["init"]).expect_code(2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    sandbox.run(["init", "--force"]).expect_code(0);
}

#[test]
fn doctor_is_content_with_a_plain_local_repository() {
    let sandbox = Sandbox::with_change();
    let text = sandbox.run(["doctor", "--agent", "builtin"]).expect_code(0).stdout;
    assert!(text.contains("A run would work."), "{text}");
    assert!(!sandbox.workdir().exists(), "doctor leaves nothing behind");
    let document: Value =
        serde_json::from_str(&sandbox.run(["doctor", "--agent", "builtin", "--format", "json"]).stdout).unwrap();
    assert_eq!(document["ok"], true);
}

#[test]
fn doctor_has_a_fix_for_every_failing_row() {
    let sandbox = Sandbox::bare();
    let finished = sandbox.run(["doctor", "--agent", "codex", "--workdir", ".", "--format", "json"]).expect_code(2);
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let failing: Vec<_> = document["checks"].as_array().unwrap().iter().filter(|row| row["state"] == "fail").collect();
    let names: Vec<_> = failing.iter().map(|row| row["check"].as_str().unwrap()).collect();
    for check in ["workdir", "change"] {
        assert!(names.contains(&check), "{names:?}");
    }
    assert!(failing.iter().all(|row| row["fix"].as_str().is_some_and(|fix| !fix.is_empty())), "{failing:?}");
}

#[test]
fn doctor_shows_the_agents_program_and_its_version() {
    let sandbox = Sandbox::with_change();
    let agent = sandbox.script("agent.sh", "#!/bin/sh\n[ \"$1\" = --version ] && echo reviewer 4.2\n");
    let mut command = sandbox.command(["doctor", "--agent", "command"]);
    let finished = Finished::of(command.env("DIFFSAN_AGENT__COMMAND", &agent).output().unwrap()).expect_code(0);
    assert!(finished.stdout.contains("command reviewer 4.2: "), "{}", finished.stdout);
}

#[test]
fn doctor_checks_token_and_merge_request_in_ci() {
    let sandbox = Sandbox::with_change();
    let base = sandbox.git(&["rev-parse", "main"]).trim().to_owned();
    let head = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let gitlab = FakeGitLab::start(&sandbox.repo(), &base, &head);
    let doctor = |token: &str| {
        let mut command = sandbox.command(["doctor", "--ci", "--agent", "builtin"]);
        command
            .env("CI_API_V4_URL", format!("{}/api/v4", gitlab.url()))
            .env("CI_MERGE_REQUEST_PROJECT_ID", PROJECT.to_string())
            .env("CI_MERGE_REQUEST_IID", MR.to_string())
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base)
            .env("CI_COMMIT_SHA", &head)
            .env("GITLAB_TOKEN", token);
        Finished::of(command.output().unwrap())
    };
    let good = doctor(TOKEN).expect_code(0);
    assert!(good.stdout.contains("scopes api") && good.stdout.contains("Developer"), "{}", good.stdout);
    gitlab.change(|store| store.access_level = 10);
    let guest = doctor(TOKEN).expect_code(0);
    assert!(guest.stdout.contains("below Reporter"), "{}", guest.stdout);
    let bad = doctor("glpat-wrongwrongwrongwrong").expect_code(1);
    assert!(
        bad.stdout.contains("FAIL  change") && bad.stdout.contains("FAIL  token") && bad.stdout.contains("fix:"),
        "{}",
        bad.stdout
    );
    assert!(gitlab.requests().iter().all(|request| request.method == "GET"), "doctor writes nothing");
}

#[test]
fn report_writes_the_reports_of_a_workdir_again() {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", "breakpoint()\n");
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    let names = ["gl-code-quality-report.json", "report.sarif", "report.html"];
    let before: Vec<_> = names.iter().map(|name| sandbox.artifact_text(name)).collect();
    for name in names {
        std::fs::remove_file(sandbox.workdir().join(name)).unwrap();
    }
    sandbox.run(["report"]).expect_code(0);
    assert_eq!(sandbox.artifact_text(names[0]), before[0]);
    assert!(names.iter().all(|name| sandbox.workdir().join(name).exists()));
}

#[test]
fn a_failed_run_has_no_code_quality_report_and_report_says_why() {
    let sandbox = Sandbox::with_change();
    let mut command = sandbox.command(["--agent", "command"]);
    Finished::of(command.env("DIFFSAN_AGENT__COMMAND", "no-such-program-here").output().unwrap()).expect_code(1);
    assert!(!sandbox.workdir().join("gl-code-quality-report.json").exists());
    let finished = sandbox.run(["report"]).expect_code(0);
    assert!(
        finished.stdout.contains("report.html") && !finished.stdout.contains("code-quality"),
        "{}",
        finished.stdout
    );
    assert!(sandbox.artifact_text("report.html").contains("AGENT_EXEC_FAILED"));
}

#[test]
fn the_default_branch_gets_the_baseline_of_the_widget() {
    let sandbox = Sandbox::new();
    sandbox.run(["report", "--baseline"]).expect_code(0);
    assert_eq!(sandbox.artifact("gl-code-quality-report.json"), json!([]));
    let mut command = sandbox.command(["--ci", "--agent", "builtin"]);
    command.env("CI_COMMIT_BRANCH", "main").env("CI_DEFAULT_BRANCH", "main").env("CI_COMMIT_SHA", "0".repeat(40));
    Finished::of(command.output().unwrap()).expect_code(0);
    assert_eq!(sandbox.artifact("gl-code-quality-report.json"), json!([]));
    assert_eq!(sandbox.artifact("run.json")["skipped"], true);
}

#[test]
fn completions_and_the_manual_page_name_the_commands() {
    let sandbox = Sandbox::bare();
    for shell in ["bash", "zsh", "fish"] {
        assert!(sandbox.run(["completions", shell]).expect_code(0).stdout.contains("inspect"), "{shell}");
    }
    let page = sandbox.run(["man"]).expect_code(0).stdout;
    assert!(page.starts_with(".ie") || page.contains(".TH diffsan"), "{}", &page[..200.min(page.len())]);
    assert!(page.contains("inspect"));
}
