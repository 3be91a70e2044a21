//! A failure that is in the user's hands, from the real programs in their own words: the first sentence of the error says
//! what it is, and its help what to do.

use std::net::TcpListener;

use diffsan::contracts::AgentKind;

use super::model::{Model, Turn};
use super::real;
use crate::sandbox::Sandbox;

/// Runs the program against a server of this address; the first sentence and the help of the run's error.
async fn failure(kind: AgentKind, url: &str, without_key: bool) -> Option<(String, String)> {
    let sandbox = Sandbox::with_change();
    let mut command = real::review(kind, &sandbox, url)?;
    let model = if kind == AgentKind::Opencode { "loopback/test-model" } else { "no-such-model" };
    command.env("DIFFSAN_AGENT__MODEL", model).env("DIFFSAN_AGENT__MAX_JSON_RETRIES", "1");
    if without_key {
        for key in ["CODEX_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"] {
            command.env_remove(key);
        }
    }
    let finished = real::run(command).await;
    assert_eq!(finished.code, 1, "{kind:?}: {}", finished.stderr);
    let error = &sandbox.artifact("run.json")["error"];
    assert_eq!(error["error_code"], "AGENT_EXEC_FAILED", "{error}");
    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    Some((text("message"), text("help")))
}

async fn turned_away(kind: AgentKind, status: u16, without_key: bool) -> Option<(String, String)> {
    let model = Model::always(Turn::Fail(status)).await;
    failure(kind, model.url(), without_key).await
}

async fn unreachable(kind: AgentKind) -> Option<(String, String)> {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    failure(kind, &format!("http://{closed}"), false).await
}

async fn assert_told(kind: AgentKind, keys: &str, refused_with: u16) {
    let (refused, model, quota, no_key, closed) = tokio::join!(
        turned_away(kind, refused_with, false),
        turned_away(kind, 404, false),
        turned_away(kind, 429, false),
        turned_away(kind, 401, true),
        unreachable(kind),
    );
    let name = if kind == AgentKind::Opencode { "loopback/test-model" } else { "no-such-model" };
    let model_sentence = format!("cannot use the model `{name}`: its server does not have it");
    for (told, sentence, help) in [
        (refused, "was turned away by its model server: the key or the login is not valid", keys),
        (model, model_sentence.as_str(), "agent.model"),
        (quota, "was turned away by its model server: the quota or the credit is used up", "raise the limit"),
        (no_key, "is not logged in", keys),
        (closed, "cannot reach its model server", "HTTPS_PROXY"),
    ] {
        let Some((said, advice)) = told else { return };
        assert!(said.starts_with(&format!("agent `{}` {sentence}", kind.name())), "{kind:?}: {said}");
        assert!(advice.contains(help), "{kind:?}: {said}: {advice}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_says_first_what_its_user_can_do_something_about() {
    assert_told(AgentKind::Codex, "CODEX_API_KEY or OPENAI_API_KEY", 401).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_says_first_what_its_user_can_do_something_about() {
    assert_told(AgentKind::Claude, "ANTHROPIC_API_KEY", 401).await;
    let credit = turned_away(AgentKind::Claude, 400, false).await;
    assert!(credit.is_none_or(|(said, _)| said.contains("the quota or the credit is used up")));
}

#[tokio::test(flavor = "multi_thread")]
async fn gemini_says_first_what_its_user_can_do_something_about() {
    assert_told(AgentKind::Gemini, "GEMINI_API_KEY", 400).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opencode_says_first_what_its_user_can_do_something_about() {
    assert_told(AgentKind::Opencode, "OPENAI_API_KEY", 401).await;
}
