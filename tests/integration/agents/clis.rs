//! The agents' real programs, against a loopback model server.

use std::time::Duration;

use diffsan::contracts::{AgentKind, ErrorCode};
use serde_json::Value;

use super::model::{Model, Turn};
use super::real;
use super::support::{JOB_SECRET, REPLY, Stage, installed};

/// A stage on which the real program runs against the server; `None` when it is not installed.
pub(crate) fn stage(kind: AgentKind, model: &Model) -> Option<Stage> {
    let program = installed(kind.name())?.to_string_lossy().into_owned();
    let mut stage = Stage::new(kind);
    stage.config.agent.timeout_seconds = std::num::NonZeroUsize::new(600).unwrap();
    let agent = &mut stage.config.agent;
    match kind {
        AgentKind::Codex => {
            agent.codex_command = Some(program);
            agent.proxy_url = Some(format!("{}/v1", model.url()));
            stage.set("DIFFSAN_OPENAI_API_KEY", "synthetic-openai-key");
        }
        AgentKind::Claude => {
            agent.claude_command = Some(program);
            stage.set("ANTHROPIC_BASE_URL", model.url());
            stage.set("ANTHROPIC_API_KEY", "synthetic-anthropic-key");
        }
        AgentKind::Gemini => {
            agent.gemini_command = Some(program);
            stage.set("GOOGLE_GEMINI_BASE_URL", model.url());
            stage.set("GEMINI_API_KEY", "synthetic-gemini-key");
        }
        AgentKind::Opencode => {
            agent.opencode_command = Some(program);
            agent.model = Some("loopback/test-model".into());
            stage.set("OPENAI_API_KEY", "synthetic-openai-key");
            stage.set("OPENCODE_CONFIG_CONTENT", &real::opencode_config(model.url()));
        }
        other => panic!("{other:?} is no program from npm"),
    }
    Some(stage)
}

/// A review that holds came out, the key arrived at the server and nothing of the job did.
async fn assert_reviews(kind: AgentKind, key: (&str, &str), usage: Value) {
    let model = Model::says(REPLY).await;
    let Some(stage) = stage(kind, &model) else { return };
    let answer = stage.review().await.unwrap();
    assert_eq!(answer.output.findings.len(), 1);
    assert_eq!(answer.output.findings[0].path, "src/app.py");
    let run = stage.json("agent.run.json");
    assert_eq!(run["agent"], kind.name());
    assert_eq!(run["attempts"][0]["valid"], true);
    assert!(run["version"].as_str().is_some_and(|version| version.contains('.')), "{run}");
    assert_eq!(run["token_usage"], usage);
    assert!(!run["env_names"].as_array().unwrap().iter().any(|name| name.as_str().unwrap().starts_with("CI")));
    let asked = model.questions();
    assert!(
        asked[0].headers.iter().any(|(name, value)| (name.as_str(), value.as_str()) == key),
        "{:?}",
        asked[0].headers
    );
    assert!(asked[0].text().contains("return a / b"), "the change reached the model");
    for request in model.received() {
        assert!(!request.text().contains(JOB_SECRET));
    }
    assert_eq!(asked[0].tools(), Vec::<String>::new());
    assert_eq!(stage.attempts().len(), 1);
    stage.assert_no_process_left();
    stage.assert_no_folder_left();
}

/// The run failed with this code; its cause says why.
async fn assert_fails(kind: AgentKind, turn: Turn, code: ErrorCode, why: &str) -> Option<(Stage, Model)> {
    let model = Model::always(turn).await;
    let stage = stage(kind, &model)?;
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, code, "{error:?}");
    assert!(format!("{error:?}").contains(why), "{error:?}");
    let attempts = stage.attempts();
    assert!(attempts.iter().all(|attempt| attempt["valid"] == false), "{attempts:?}");
    assert_eq!(stage.json("agent.run.json")["attempts"].as_array().unwrap().len(), attempts.len());
    stage.assert_no_process_left();
    stage.assert_no_folder_left();
    Some((stage, model))
}

#[tokio::test]
async fn codex_reviews() {
    let usage = serde_json::json!({
        "input_tokens": 1234, "cached_input_tokens": 1000, "output_tokens": 56, "reasoning_tokens": 7
    });
    assert_reviews(AgentKind::Codex, ("authorization", "Bearer synthetic-openai-key"), usage).await;
}

#[tokio::test]
async fn codex_gets_the_strict_schema() {
    let model = Model::says(REPLY).await;
    let Some(stage) = stage(AgentKind::Codex, &model) else { return };
    stage.review().await.unwrap();
    let asked = &model.questions()[0].body;
    assert_eq!(asked["text"]["format"]["schema"], stage.json("codex-output-schema.json"));
    assert_eq!(asked["text"]["format"]["strict"], true);
    assert_eq!(asked["model"], "test-model");
    assert_eq!(stage.artifact("codex-output.json"), stage.artifact("agent.raw.txt"));
    assert_eq!(stage.artifact("agent.raw.attempt1.txt"), stage.artifact("agent.raw.txt"));
    assert!(stage.artifact("agent.stdout.attempt1.txt").contains("turn.completed"));
}

#[tokio::test]
async fn codex_that_is_refused_is_no_review_though_it_exits_0() {
    let failed = assert_fails(AgentKind::Codex, Turn::Refuse, ErrorCode::AgentExecFailed, "output file is empty").await;
    if let Some((stage, _)) = failed {
        assert_eq!(stage.attempts()[0]["exit_code"], 0);
    }
}

#[tokio::test]
async fn codex_asks_a_failing_server_only_a_few_times() {
    let failed = assert_fails(AgentKind::Codex, Turn::Fail(500), ErrorCode::AgentExecFailed, "high demand").await;
    let Some((stage, model)) = failed else { return };
    assert_eq!(stage.attempts()[0]["exit_code"], 1);
    let asked = model.questions().len();
    assert!((1..=9).contains(&asked), "it asks {asked} times");
}

#[tokio::test]
async fn codex_whose_stream_stalls_is_ended_by_silence() {
    let model = Model::always(Turn::Stall).await;
    let Some(mut stage) = stage(AgentKind::Codex, &model) else { return };
    stage.config.agent.idle_seconds = std::num::NonZeroUsize::new(3).unwrap();
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentExecFailed, "{error:?}");
    stage.assert_no_process_left();
}

#[tokio::test]
async fn codex_that_waits_for_a_silent_server_is_ended_by_the_deadline() {
    let model = Model::always(Turn::Silent).await;
    let Some(mut stage) = stage(AgentKind::Codex, &model) else { return };
    stage.config.agent.timeout_seconds = std::num::NonZeroUsize::new(4).unwrap();
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentExecFailed);
    assert!(error.message.contains("did not finish within 4 s"), "{error:?}");
    assert!(error.retryable);
    let run = stage.json("agent.run.json");
    assert_eq!(run["attempts"][0]["timed_out"], true);
    assert!(run["attempts"][0]["exit_code"].is_null());
    stage.assert_no_process_left();
    stage.assert_no_folder_left();
}

#[tokio::test]
async fn codex_respects_the_end_of_the_job() {
    let model = Model::always(Turn::Silent).await;
    let Some(mut stage) = stage(AgentKind::Codex, &model) else { return };
    stage.time_left = Some(Duration::from_secs(3));
    let error = stage.review().await.unwrap_err();
    assert!(error.message.contains("the CI job's own time is nearly over"), "{error:?}");
    stage.assert_no_process_left();
}

#[tokio::test]
async fn codex_that_answers_garbage_is_asked_once() {
    let model = Model::says("Looks good to me!").await;
    let Some(stage) = stage(AgentKind::Codex, &model) else { return };
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentOutputInvalid);
    assert_eq!(error.message, "Failed to obtain valid JSON output after 1 attempts");
    assert!(error.cause.unwrap().contains("Looks good to me!"));
    assert_eq!(stage.artifact("agent.raw.txt"), "Looks good to me!");
    assert_eq!(model.questions().len(), 1);
}

#[tokio::test]
async fn codex_takes_the_openai_key_and_base_url_that_it_does_not_read_itself() {
    let model = Model::says(REPLY).await;
    let Some(mut stage) = stage(AgentKind::Codex, &model) else { return };
    stage.config.agent.proxy_url = None;
    stage.set("OPENAI_API_KEY", "synthetic-direct-key");
    stage.set("OPENAI_BASE_URL", &format!("{}/v1", model.url()));
    stage.review().await.unwrap();
    let asked = &model.questions()[0];
    assert!(
        asked.headers.contains(&("authorization".into(), "Bearer synthetic-direct-key".into())),
        "{:?}",
        asked.headers
    );
}

#[tokio::test]
async fn claude_reviews() {
    let usage = serde_json::json!({
        "input_tokens": 1234, "cached_input_tokens": 900, "output_tokens": 56, "cost_usd": 0.003645
    });
    let model = Model::says(REPLY).await;
    let Some(stage) = stage(AgentKind::Claude, &model) else { return };
    stage.review().await.unwrap();
    let reported = &stage.json("agent.run.json")["token_usage"];
    for key in ["input_tokens", "cached_input_tokens", "output_tokens"] {
        assert_eq!(reported[key], usage[key]);
    }
    assert!(reported["cost_usd"].as_f64().unwrap() > 0.0);
    let asked = &model.questions()[0];
    assert!(asked.headers.contains(&("x-api-key".into(), "synthetic-anthropic-key".into())));
    assert_eq!(asked.tools(), ["StructuredOutput"]);
    assert_eq!(stage.json("agent.run.json")["attempts"][0]["rung"], "envelope");
    stage.assert_no_process_left();
    stage.assert_no_folder_left();
}

#[tokio::test]
async fn claude_that_is_refused_has_no_valid_answer() {
    let failed = assert_fails(AgentKind::Claude, Turn::Refuse, ErrorCode::AgentOutputInvalid, "Usage Policy").await;
    if let Some((stage, _)) = failed {
        assert_eq!(stage.attempts().len(), 1, "asking again is in vain");
    }
}

#[tokio::test]
async fn gemini_reviews() {
    let usage = serde_json::json!({
        "input_tokens": 1234, "cached_input_tokens": 1000, "output_tokens": 56, "reasoning_tokens": 7
    });
    assert_reviews(AgentKind::Gemini, ("x-goog-api-key", "synthetic-gemini-key"), usage).await;
}

#[tokio::test]
async fn gemini_that_is_cut_off_is_asked_again_and_never_half_read() {
    let model = Model::always(Turn::CutOff(REPLY.into())).await;
    let Some(mut stage) = stage(AgentKind::Gemini, &model) else { return };
    stage.config.agent.max_json_retries = std::num::NonZeroUsize::new(2).unwrap();
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentOutputInvalid);
    assert_eq!(error.message, "Failed to obtain valid JSON output after 2 attempts");
    assert!(stage.attempts().iter().all(|attempt| attempt["exit_code"] == 0 && attempt["valid"] == false));
    assert!(stage.artifact("prompt.attempt2.txt").contains("Return ONLY valid JSON"));
}

#[tokio::test]
async fn opencode_reviews() {
    let usage = serde_json::json!({
        "input_tokens": 1234, "cached_input_tokens": 1000, "output_tokens": 56, "reasoning_tokens": 0
    });
    assert_reviews(AgentKind::Opencode, ("authorization", "Bearer synthetic-openai-key"), usage).await;
}

#[tokio::test]
async fn opencode_that_is_cut_off_is_no_review_though_it_exits_0() {
    let model = Model::always(Turn::CutOff(REPLY.into())).await;
    let Some(mut stage) = stage(AgentKind::Opencode, &model) else { return };
    stage.config.agent.max_json_retries = std::num::NonZeroUsize::MIN;
    let error = stage.review().await.unwrap_err();
    assert_eq!(error.error_code, ErrorCode::AgentOutputInvalid);
    assert!(error.cause.unwrap().contains("cut off"));
}
