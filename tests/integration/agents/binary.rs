//! Agents as the binary runs them.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::model::{Model, Turn};
use super::support::{eventually, installed, is_gone};
use crate::sandbox::{Finished, Sandbox};

/// A finding on the line that the sandbox's branch adds.
fn reply() -> String {
    json!({"summary_markdown": "One problem.", "findings": [{
        "finding_id": null, "severity": "high", "category": "correctness", "path": "src/app.py",
        "line_start": 10, "line_end": 10, "body_markdown": "Three is not enough.", "quote": "    return 3",
        "change_anchor": null, "suggested_patch": null
    }]})
    .to_string()
}

/// Runs the binary while the model server goes on.
async fn run(command: &mut Command) -> Finished {
    tokio::task::block_in_place(|| Finished::of(command.output().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_codex_reviews_a_branch() {
    let Some(codex) = installed("codex") else { return };
    let sandbox = Sandbox::with_change();
    let model = Model::says(&reply()).await;
    let mut command = sandbox.command(["review", "--agent", "codex", "--model", "test-model", "--proxy-url"]);
    command.arg(format!("{}/v1", model.url()));
    command.env("DIFFSAN_AGENT__CODEX_COMMAND", codex).env("DIFFSAN_OPENAI_API_KEY", "synthetic-openai-key");
    run(command.env("DIFFSAN_REVIEW__SECOND_LOOK", "off")).await.expect_code(0);

    let review = sandbox.artifact("review.json");
    assert_eq!(review["findings"][0]["path"], "src/app.py");
    assert_eq!(review["findings"][0]["line_start"], 10);
    assert_eq!(review["meta"]["agent"], "codex");
    assert_eq!(review["meta"]["token_usage"]["input_tokens"], 1234);
    let asked = &model.questions()[0].body["input"];
    let prompt = asked.as_array().unwrap().last().unwrap()["content"][0]["text"].as_str().unwrap();
    assert_eq!(prompt, sandbox.artifact_text("prompt.txt"), "the agent reads prompt.txt and nothing else");
    assert_eq!(sandbox.artifact("run.json")["ok"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_codex_that_cannot_answer_fails_the_run() {
    let Some(codex) = installed("codex") else { return };
    for (turn, code, says) in [
        (Turn::Fail(401), "AGENT_EXEC_FAILED", "401"),
        (Turn::Refuse, "AGENT_EXEC_FAILED", "output file is empty"),
        (Turn::CutOff(reply()), "AGENT_EXEC_FAILED", "max_output_tokens"),
    ] {
        let sandbox = Sandbox::with_change();
        let model = Model::always(turn.clone()).await;
        let mut command = sandbox.command(["review", "--agent", "codex", "--model", "test-model", "--proxy-url"]);
        command.arg(format!("{}/v1", model.url()));
        command.env("DIFFSAN_AGENT__CODEX_COMMAND", &codex).env("DIFFSAN_OPENAI_API_KEY", "synthetic-openai-key");
        let finished = run(&mut command).await.expect_code(1);
        let record = sandbox.artifact("run.json");
        assert_eq!(record["error"]["error_code"], code, "{turn:?}");
        assert!(record["error"].to_string().contains(says), "{turn:?}: {}", record["error"]);
        assert!(finished.stderr.contains(code), "{}", finished.stderr);
        assert!(!sandbox.workdir().join("review.json").exists(), "{turn:?}");
        assert!(!finished.stdout.contains("def three"), "the change is not printed");
    }
}

#[test]
fn an_agent_that_never_answers_well_fails_the_run_after_three_attempts() {
    let sandbox = Sandbox::with_change();
    let desk = sandbox.root().join("desk");
    std::fs::create_dir(&desk).unwrap();
    std::fs::write(desk.join("plan"), "prose\nprose\nprose\n").unwrap();
    std::fs::write(desk.join("reply"), reply()).unwrap();
    let stand_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/agents/cursor_stand_in.sh");
    let mut command = sandbox.command(["review"]);
    command.env("DIFFSAN_AGENT__CURSOR_COMMAND", format!("{} --desk {}", stand_in.display(), desk.display()));
    Finished::of(command.output().unwrap()).expect_code(1);
    let error = &sandbox.artifact("run.json")["error"];
    assert_eq!(error["error_code"], "AGENT_OUTPUT_INVALID");
    assert_eq!(error["message"], "Failed to obtain valid JSON output after 3 attempts");
    assert_eq!(error["context"], json!({"attempts": 3, "agent": "cursor"}));
    let events = sandbox.events();
    assert_eq!(events.iter().filter(|event| event["event"] == "agent.attempt").count(), 3);
    let loaded = events.iter().find(|event| event["event"] == "config.loaded").unwrap();
    assert_eq!(loaded["data"]["agent_source"], "inferred");
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_agent_and_no_folder() {
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let sandbox = Sandbox::with_change();
        let agent = sandbox.script(
            "agent.sh",
            &format!(
                "#!/bin/sh\ntrap '' TERM INT\ncd {}\necho $$ > leader\nsetsid sleep 600 &\necho $! > daemon\nsleep 600\n",
                sandbox.root().display()
            ),
        );
        let mut command = sandbox.command(["review", "--agent", "command"]);
        command.env("DIFFSAN_AGENT__COMMAND", agent).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let pid = |name: &str| std::fs::read_to_string(sandbox.root().join(name)).unwrap_or_default();
        eventually("the agent works", || pid("daemon").ends_with('\n')).await;
        assert!(
            Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap().success()
        );
        Finished::of(child.wait_with_output().unwrap()).expect_code(code);
        for name in ["leader", "daemon"] {
            eventually(name, || is_gone(pid(name).trim())).await;
        }
        assert_eq!(sandbox.artifact("run.json")["error"]["error_code"], "INTERRUPTED");
        let left: Vec<_> =
            std::fs::read_dir(sandbox.root().join("tmp")).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
