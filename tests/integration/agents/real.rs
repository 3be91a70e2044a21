//! The binary with an agent's real program behind it and a loopback server as its model.

use std::process::{Command, Stdio};
use std::time::Duration;

use diffsan::contracts::AgentKind;
use serde_json::json;

use super::support::installed;
use crate::sandbox::{Finished, Sandbox};

/// The programs that are installed for the tests.
pub(crate) const PROGRAMS: [AgentKind; 4] =
    [AgentKind::Codex, AgentKind::Claude, AgentKind::Gemini, AgentKind::Opencode];

/// A review of the sandbox's branch, logged in by a key, with a model that the program does not know; `None` when the
/// program is not installed. There is no second look unless the test asks for one.
pub(crate) fn review(kind: AgentKind, sandbox: &Sandbox, url: &str) -> Option<Command> {
    let mut command = sandbox.command(["review", "--base", "main"]);
    command.env("DIFFSAN_REVIEW__SECOND_LOOK", "off");
    with(kind, command, url)
}

/// Makes the program the one that reviews.
pub(crate) fn with(kind: AgentKind, mut command: Command, url: &str) -> Option<Command> {
    command.env("DIFFSAN_AGENT__AGENT", kind.name()).env("DIFFSAN_AGENT__TIMEOUT_SECONDS", "500");
    command.env("DIFFSAN_AGENT__MODEL", if kind == AgentKind::Opencode { "loopback/test-model" } else { "test-model" });
    point(kind, &mut command, url).then_some(command)
}

/// Tells where the program is, where its model is, and its key; false when it is not installed.
pub(crate) fn point(kind: AgentKind, command: &mut Command, url: &str) -> bool {
    let Some(program) = installed(kind.name()) else { return false };
    command.env(format!("DIFFSAN_AGENT__{}_COMMAND", kind.name().to_uppercase()), program);
    let pairs = match kind {
        AgentKind::Codex => {
            [("OPENAI_BASE_URL", format!("{url}/v1")), ("CODEX_API_KEY", "synthetic-openai-key".into())]
        }
        AgentKind::Claude => {
            [("ANTHROPIC_BASE_URL", url.into()), ("ANTHROPIC_API_KEY", "synthetic-anthropic-key".into())]
        }
        AgentKind::Gemini => {
            [("GOOGLE_GEMINI_BASE_URL", url.into()), ("GEMINI_API_KEY", "synthetic-gemini-key".into())]
        }
        AgentKind::Opencode => {
            [("OPENCODE_CONFIG_CONTENT", opencode_config(url)), ("OPENAI_API_KEY", "synthetic-openai-key".into())]
        }
        other => panic!("{other:?} is no program from npm"),
    };
    command.envs(pairs);
    true
}

/// A provider that opencode does not know, and one of its own catalogue, both at the server.
pub(crate) fn opencode_config(url: &str) -> String {
    let options = json!({"baseURL": format!("{url}/v1"), "apiKey": "{env:OPENAI_API_KEY}"});
    json!({"provider": {
        "loopback": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"test-model": {}}},
        "openai": {"options": options},
    }})
    .to_string()
}

/// Runs a command to its end while the servers of the test go on.
pub(crate) async fn run(command: Command) -> Finished {
    let child = tokio::process::Command::from(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = tokio::time::timeout(Duration::from_secs(580), child.wait_with_output()).await;
    Finished::of(output.expect("the run ends").unwrap())
}
