//! What the real programs cannot be made to do on demand, by stand-ins that print as they do: staying around after the
//! answer, and being of another version.

use std::path::PathBuf;

use diffsan::contracts::{AgentKind, ErrorCode};
use serde_json::{Value, json};

use super::support::{REPLY, Stage, installed, is_gone};
use crate::sandbox::{Finished, Sandbox};

/// A program of that name and version in the stage: it keeps its number and then goes on with `then`.
fn stand_in(stage: &mut Stage, kind: AgentKind, version: &str, then: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let name = if kind == AgentKind::Cursor { "cursor-agent" } else { kind.name() };
    let models = r#"{"models": [{"slug": "known"}]}"#;
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in --version) echo 'x {version}'; exit ;; 'debug models') echo '{models}'; exit ;; esac\n\
         echo $$ > {}\ncat > /dev/null\n{then}\n",
        stage.path("pid")
    );
    let path: PathBuf = stage.write(&format!("bin/{name}"), &text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (agent, path) = (&mut stage.config.agent, Some(path.to_string_lossy().into_owned()));
    match kind {
        AgentKind::Cursor => agent.cursor_command = path,
        AgentKind::Codex => agent.codex_command = path,
        AgentKind::Claude => agent.claude_command = path,
        AgentKind::Gemini => agent.gemini_command = path,
        AgentKind::Opencode => agent.opencode_command = path,
        _ => agent.command = path,
    }
}

/// The last that each program prints when it has its answer, and its newest tested version.
fn printed(kind: AgentKind) -> (Vec<Value>, &'static str) {
    let review: Value = serde_json::from_str(REPLY).unwrap();
    let text = review.to_string();
    match kind {
        AgentKind::Cursor => (vec![json!({"type": "result", "is_error": false, "result": text})], "1.0"),
        AgentKind::Codex => (
            vec![
                json!({"type": "item.completed", "item": {"type": "agent_message", "text": text}}),
                json!({"type": "turn.completed", "usage": {"input_tokens": 1}}),
            ],
            "0.166.0",
        ),
        AgentKind::Claude => (vec![json!({"is_error": false, "result": "", "structured_output": review})], "2.1.325"),
        AgentKind::Gemini => (vec![json!({"response": text, "stats": {}})], "0.61.0"),
        AgentKind::Opencode => (
            vec![
                json!({"type": "text", "part": {"text": text}}),
                json!({"type": "step_finish", "part": {"reason": "stop", "tokens": {}}}),
            ],
            "1.18.33",
        ),
        _ => (vec![review], "1.0"),
    }
}

async fn assert_is_not_waited_for(kind: AgentKind) {
    let (lines, version) = printed(kind);
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut stage = Stage::new(kind);
    let answer = stage.write("answer", &lines);
    stand_in(&mut stage, kind, version, &format!("cat {}\nexec sleep 600", answer.display()));
    let answered = stage.review().await.unwrap_or_else(|error| panic!("{kind:?}: {error:?}"));
    assert_eq!(answered.output.findings.len(), 1, "{kind:?}");
    let pid = std::fs::read_to_string(stage.path("pid")).unwrap();
    assert!(is_gone(pid.trim()), "{kind:?}");
    stage.assert_no_folder_left();
}

#[tokio::test]
async fn no_agent_that_has_answered_is_waited_for() {
    tokio::join!(
        assert_is_not_waited_for(AgentKind::Cursor),
        assert_is_not_waited_for(AgentKind::Codex),
        assert_is_not_waited_for(AgentKind::Claude),
        assert_is_not_waited_for(AgentKind::Gemini),
        assert_is_not_waited_for(AgentKind::Opencode),
        assert_is_not_waited_for(AgentKind::Command),
    );
}

#[tokio::test]
async fn a_version_below_the_tested_ones_is_refused_and_one_above_them_is_told() {
    for (kind, old) in [
        (AgentKind::Codex, "0.165.9"),
        (AgentKind::Claude, "2.1.196"),
        (AgentKind::Gemini, "0.60.0"),
        (AgentKind::Opencode, "1.18.32"),
    ] {
        let (lines, newest) = printed(kind);
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut stage = Stage::new(kind);
        stand_in(&mut stage, kind, old, "exit 9");
        let error = stage.review().await.unwrap_err();
        assert_eq!(error.error_code, ErrorCode::AgentExecFailed);
        let sentence = format!("agent `{}` is too old: version {old} is installed", kind.name());
        assert!(error.message.starts_with(&sentence), "{error:?}");
        assert!(error.help.unwrap().starts_with("install it anew: npm install -g "));
        assert!(!stage.root.path().join("pid").exists(), "{kind:?} was started");

        let mut stage = Stage::new(kind);
        let answer = stage.write("answer", &lines);
        let file = "while [ $# -gt 0 ]; do [ \"$1\" = --output-last-message ] && cp $0.reply \"$2\"; shift; done";
        stage.write(&format!("bin/{}.reply", kind.name()), REPLY);
        stand_in(&mut stage, kind, "99.0.0", &format!("{file}\ncat {}", answer.display()));
        stage.review().await.unwrap_or_else(|error| panic!("{kind:?}: {error:?}"));
        let events = stage.artifact("events.jsonl");
        let sentence = format!("{} 99.0.0 is newer than {newest}, the newest that was tested", kind.name());
        assert!(events.contains(&sentence), "{events}");
    }
}

#[test]
fn doctor_shows_of_every_installed_program_its_version_its_login_and_its_tools() {
    let Some(codex) = installed("codex") else { return };
    let sandbox = Sandbox::with_change();
    let path = format!("{}:{}", codex.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = sandbox.command(["doctor", "--agent", "codex", "--format", "json"]);
    command.env("PATH", path).env("ANTHROPIC_API_KEY", "synthetic-anthropic-key").env("CODEX_API_KEY", "synthetic-key");
    let finished = Finished::of(command.output().unwrap()).expect_code(0);
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let rows: Vec<(&str, &str)> = document["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["check"].as_str().unwrap(), row["detail"].as_str().unwrap()))
        .collect();
    let has = |check: &str, words: &[&str]| {
        rows.iter().any(|(known, detail)| *known == check && words.iter().all(|word| detail.contains(word)))
    };
    assert!(has("agent", &["codex 0.166.0 (tested: 0.166.0 to 0.166.0): ", "/codex"]), "{rows:?}");
    assert!(has("agent login", &["CODEX_API_KEY is set"]), "{rows:?}");
    assert!(has("agent tools", &["repo.read_file, repo.search, repo.list_files, list_mcp_resource"]), "{rows:?}");
    assert!(has("other agent", &["claude 2.1.197 (tested: 2.1.197", "ANTHROPIC_API_KEY is set", "StructuredOutput"]));
    assert!(has("other agent", &["gemini 0.61.0", "no key and no login was found", "repo.read_file"]), "{rows:?}");
    assert!(has("other agent", &["opencode 1.18.33", "repo.search"]), "{rows:?}");
}
