//! Cursor, by a stand-in with its documented behaviour: the repair loop, the record, and what the child can see.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use diffsan::contracts::{AgentKind, ErrorCode};

use super::support::{JOB_SECRET, REPLY, SOON, Stage, is_gone};

fn stand_in() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/agents/cursor_stand_in.sh")
}

/// A stage whose agent behaves as planned, one behaviour per call.
fn planned(kind: AgentKind, plan: &[&str]) -> Stage {
    let mut stage = Stage::new(kind);
    stage.write("desk/plan", &plan.join("\n"));
    stage.write("desk/reply", REPLY.trim());
    let command = format!("{} --desk {}", stand_in().display(), stage.path("desk"));
    match kind {
        AgentKind::Cursor => stage.config.agent.cursor_command = Some(command),
        _ => stage.config.agent.command = Some(command),
    }
    stage
}

/// What the stand-in saw in a call.
fn seen(stage: &Stage, name: &str) -> String {
    std::fs::read_to_string(stage.root.path().join("desk").join(name)).unwrap()
}

fn calls(stage: &Stage) -> usize {
    (1..).take_while(|call| stage.root.path().join(format!("desk/{call}.argv")).exists()).count()
}

#[tokio::test]
async fn an_answer_in_the_envelope_is_a_review() {
    let stage = planned(AgentKind::Cursor, &["good"]);
    let answer = stage.review().await.unwrap();
    assert_eq!(answer.output.findings.len(), 1);
    let run = stage.json("agent.run.json");
    assert_eq!(run["attempts"][0]["rung"], "envelope");
    assert_eq!(run["attempts"][0]["exit_code"], 0);
    assert_eq!(run["model"], "test-model");
    assert_eq!(
        run["token_usage"],
        serde_json::json!({"input_tokens": 1234, "cached_input_tokens": 1000, "output_tokens": 56})
    );
    assert_eq!(stage.artifact("agent.raw.txt"), stage.artifact("agent.raw.attempt1.txt"));
    assert!(stage.artifact("agent.raw.txt").starts_with(r#"{"type":"result""#));
    stage.assert_no_folder_left();
}

#[tokio::test]
async fn an_answer_without_an_envelope_is_a_review_too() {
    let stage = planned(AgentKind::Cursor, &["bare"]);
    assert_eq!(stage.review().await.unwrap().output.findings.len(), 1);
    assert_eq!(stage.json("agent.run.json")["attempts"][0]["rung"], "strict");
}

#[tokio::test]
async fn a_bad_answer_is_repaired_on_the_second_attempt() {
    let stage = planned(AgentKind::Cursor, &["prose", "glued"]);
    let answer = stage.review().await.unwrap();
    assert_eq!(answer.output.findings[0].path, "src/app.py");
    let attempts = stage.attempts();
    assert_eq!(attempts.iter().map(|attempt| attempt["valid"].clone()).collect::<Vec<_>>(), [false, true]);
    assert_eq!(stage.json("agent.run.json")["attempts"][1]["rung"], "extracted");
    let repair = stage.artifact("prompt.attempt2.txt");
    assert_eq!(repair, seen(&stage, "2.stdin"), "the repair prompt is what the agent read");
    assert!(repair.contains("Return ONLY valid JSON that matches the schema."));
    assert!(repair.contains("Looks good to me!"), "the bad answer is shown");
    assert!(repair.contains("return a / b"), "the change is shown again");
    assert!(stage.artifact("agent.raw.attempt1.txt").contains("Looks good to me!"));
    assert_eq!(stage.artifact("agent.raw.attempt2.txt"), stage.artifact("agent.raw.txt"));
    assert_eq!(answer.run.token_usage.input_tokens, Some(2468), "both attempts are counted");
    assert!(!stage.has_artifact("prompt.attempt1.txt"));
    assert!(stage.has_artifact("agent.stderr.attempt2.txt"));
}

#[tokio::test]
async fn three_bad_answers_end_the_run_with_the_last_reason() {
    let stage = planned(AgentKind::Cursor, &["cut", "empty", "prose", "good"]);
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentOutputInvalid);
    assert_eq!(error.message, "Failed to obtain valid JSON output after 3 attempts");
    assert_eq!(error.context["attempts"], 3);
    assert_eq!(error.context["agent"], "cursor");
    assert!(!error.retryable);
    assert!(error.cause.unwrap().contains("Looks good to me!"));
    assert_eq!(calls(&stage), 3);
    assert_eq!(stage.attempts().len(), 3);
    assert!(stage.has_artifact("agent.raw.attempt3.txt") && !stage.has_artifact("agent.raw.attempt4.txt"));
}

#[tokio::test]
async fn max_json_retries_counts_all_attempts() {
    let mut stage = planned(AgentKind::Cursor, &["prose", "good"]);
    stage.config.agent.max_json_retries = NonZeroUsize::MIN;
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.message, "Failed to obtain valid JSON output after 1 attempts");
    assert_eq!(calls(&stage), 1);
}

#[tokio::test]
async fn a_program_that_stays_after_its_result_is_not_waited_for() {
    let stage = planned(AgentKind::Cursor, &["linger"]);
    let answer = stage.review().await.unwrap();
    assert_eq!(answer.output.findings.len(), 1);
    assert!(answer.timings.duration_ms < u64::try_from(SOON.as_millis()).unwrap());
    assert!(is_gone(seen(&stage, "1.pid").trim()));
}

#[tokio::test]
async fn a_folder_that_is_not_trusted_gives_no_review_though_it_exits_0() {
    // As `command` the stand-in gets no flag from diffsan.
    let mut stage = planned(AgentKind::Command, &["good"]);
    stage.config.agent.max_json_retries = NonZeroUsize::MIN;
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentOutputInvalid);
    assert!(error.cause.unwrap().contains("Workspace Trust Required"));
    assert_eq!(stage.attempts()[0]["exit_code"], 0);
}

#[tokio::test]
async fn a_custom_command_gets_trust_once_and_the_configured_model() {
    for (own, want) in [("", "--trust --model test-model"), (" --force --model old", "--force --model test-model")] {
        let mut stage = planned(AgentKind::Cursor, &["good"]);
        let command = stage.config.agent.cursor_command.clone().unwrap();
        stage.config.agent.cursor_command = Some(format!("{command}{own}"));
        stage.review().await.unwrap();
        let argv = seen(&stage, "1.argv");
        assert!(argv.trim().ends_with(want), "{argv}");
    }
}

#[tokio::test]
async fn a_failed_program_ends_the_run_with_what_it_said() {
    for (behaviour, message, cause) in [
        ("crash", "agent `cursor` exited with code 1: Error: [internal] something broke", "something broke"),
        (
            "error",
            "agent `cursor` was turned away by its model server: the quota or the credit is used up: usage limit reached",
            "usage limit reached",
        ),
    ] {
        let stage = planned(AgentKind::Cursor, &[behaviour, "good"]);
        let error = stage.review().await.unwrap_err();
        assert_eq!(error.error_code, ErrorCode::AgentExecFailed, "{behaviour}");
        assert_eq!(error.message, message);
        assert!(error.cause.unwrap().contains(cause));
        assert_eq!(calls(&stage), 1, "{behaviour} is not asked again");
        assert_eq!(stage.attempts()[0]["valid"], false);
    }
}

#[tokio::test]
async fn a_flood_and_a_hang_end_the_run() {
    let mut stage = planned(AgentKind::Cursor, &["flood"]);
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentExecFailed);
    assert!(error.message.contains("wrote more than 8 MiB"), "{error:?}");

    stage = planned(AgentKind::Cursor, &["hang"]);
    stage.config.agent.timeout_seconds = NonZeroUsize::MIN;
    let error = stage.review().await.unwrap_err();
    assert!(error.message.contains("did not finish within 1 s"), "{error:?}");
    assert!(is_gone(seen(&stage, "1.pid").trim()));
    assert_eq!(stage.json("agent.run.json")["attempts"][0]["timed_out"], true);
    assert!(stage.attempts()[0]["exit_code"].is_null());
}

#[tokio::test]
async fn the_child_sees_an_empty_folder_and_only_what_it_may() {
    let mut stage = planned(AgentKind::Cursor, &["good"]);
    stage.config.agent.pass_env = vec!["TEAM".into(), "GITLAB_TOKEN".into()];
    for (name, value) in [("TEAM", "blue"), ("HTTPS_PROXY", "http://proxy.invalid:3128"), ("OPENAI_API_KEY", "other")] {
        stage.set(name, value);
    }
    stage.review().await.unwrap();
    let cwd = seen(&stage, "1.cwd");
    let lines: Vec<&str> = cwd.lines().collect();
    assert_eq!(lines[1..], [".git"], "only an empty repository lies in the working directory");
    assert!(!Path::new(lines[0]).starts_with(stage.path("repo")));
    let env = seen(&stage, "1.env");
    assert!(!env.contains(JOB_SECRET), "{env}");
    let mut names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["DIFFSAN_CHILD", "HOME", "HTTPS_PROXY", "LC_ALL", "NO_COLOR", "PATH", "TEAM", "TMPDIR"]);
    assert!(!env.contains(&format!("HOME={}\n", stage.path("home"))), "the user's own home is never seen");
    assert!(stage.artifact("events.jsonl").contains("agent.pass_env names GITLAB_TOKEN"));
    let recorded = stage.json("agent.run.json")["env_names"].to_string();
    assert!(recorded.contains("TEAM") && !recorded.contains("GITLAB_TOKEN"), "{recorded}");
}

#[tokio::test]
async fn no_folder_of_the_users_own_is_seen() {
    let mut stage = planned(AgentKind::Cursor, &["good"]);
    stage.set("CURSOR_API_KEY", "synthetic-cursor-key");
    stage.set("XDG_CONFIG_HOME", &stage.path("home/.config"));
    stage.review().await.unwrap();
    let env = seen(&stage, "1.env");
    assert!(env.contains("CURSOR_API_KEY=synthetic-cursor-key"));
    assert!(!env.contains(&format!("{}\n", stage.path("home"))) && !env.contains("XDG_CONFIG_HOME"), "{env}");
}

#[tokio::test]
async fn a_home_or_temporary_folder_inside_the_checkout_is_not_used() {
    let mut stage = planned(AgentKind::Cursor, &["good"]);
    stage.write("repo/home/.cursor/hooks.json", "{}");
    stage.write("repo/tmp/.env", "");
    stage.set("HOME", &stage.path("repo/home"));
    stage.set("TMPDIR", &stage.path("repo/tmp"));
    stage.review().await.unwrap();
    let env = seen(&stage, "1.env");
    assert!(!env.contains(&stage.path("repo")), "{env}");
    assert!(!seen(&stage, "1.cwd").contains(&stage.path("repo")));
}

#[tokio::test]
async fn secrets_in_what_the_program_says_are_redacted_everywhere() {
    let stage = planned(AgentKind::Cursor, &["leak"]);
    let secret = concat!("ghp", "_", "syntheticSyntheticSynthetic000000ABCD");
    stage.write("desk/secret", secret);
    stage.review().await.unwrap();
    assert!(stage.artifact("agent.stderr.txt").contains("[REDACTED]"));
    for entry in std::fs::read_dir(stage.root.path().join("repo/.diffsan")).unwrap().flatten() {
        let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
        assert!(!text.contains(secret), "{}", entry.path().display());
    }
}

#[tokio::test]
async fn both_names_of_the_program_are_known() {
    for name in ["cursor-agent", "agent"] {
        let mut stage = planned(AgentKind::Cursor, &["good"]);
        stage.config.agent.cursor_command = None;
        let wrapper = format!("#!/bin/sh\nexec {} --desk {} \"$@\"\n", stand_in().display(), stage.path("desk"));
        executable(&stage.write(&format!("bin/{name}"), &wrapper));
        stage.set("PATH", &format!("{}:{}", stage.path("bin"), std::env::var("PATH").unwrap()));
        stage.review().await.unwrap();
        let argv = seen(&stage, "1.argv");
        assert!(argv.ends_with("--print --output-format json --mode ask --trust --model test-model\n"), "{argv}");
        assert_eq!(stage.json("agent.run.json")["argv"][0], name);
    }
}

#[tokio::test]
async fn a_relative_program_is_found_from_where_diffsan_was_started() {
    let mut stage = planned(AgentKind::Command, &[]);
    executable(
        &stage
            .write("repo/tools/reviewer", &format!("#!/bin/sh\ncat > /dev/null\ncat '{}'\n", stage.path("desk/reply"))),
    );
    stage.config.agent.command = Some("./tools/reviewer".into());
    assert_eq!(stage.review().await.unwrap().output.findings.len(), 1);
}

#[tokio::test]
async fn a_missing_program_says_what_to_install() {
    let mut stage = Stage::new(AgentKind::Cursor);
    stage.set("PATH", &stage.path("empty"));
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentExecFailed);
    assert_eq!(error.message, "agent `cursor` cannot start: `cursor-agent` is not on PATH");
    assert!(error.help.unwrap().contains("cursor.com/install"));
    assert!(stage.attempts().is_empty());
}

#[tokio::test]
async fn a_job_without_time_left_starts_nothing() {
    let mut stage = planned(AgentKind::Cursor, &["good"]);
    stage.time_left = Some(Duration::ZERO);
    let error = stage.review().await.unwrap_err();
    assert!(error.message.contains("was not started: the CI job's own time is nearly over"), "{error:?}");
    assert!(error.retryable);
    assert_eq!(calls(&stage), 0);
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
