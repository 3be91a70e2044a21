//! The agents' real programs with diffsan's tools, and a model that tries everything.

use std::os::unix::fs::symlink;

use diffsan::contracts::AgentKind;
use serde_json::{Value, json};

use super::support::TOKEN;
use crate::agents::model::{Model, Turn};
use crate::agents::real;
use crate::agents::support::REPLY;
use crate::sandbox::{Finished, Sandbox};

/// A value that is a secret of the job.
const JOB_TOKEN: &str = "synthetic-job-token-8812-zz";

/// A branch with a change, and around it what a model must not get.
fn checkout() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("src/helper.py", "def helper():\n    return 'what-the-model-may-see'\n");
    sandbox.write("config/prod.env", format!("HOST=db\nGITLAB_TOKEN={TOKEN}\nJOB={JOB_TOKEN}\n"));
    symlink("/etc/passwd", sandbox.repo().join("passwd")).unwrap();
    sandbox.commit("the code around it");
    sandbox.git(&["checkout", "-q", "-b", "topic"]);
    sandbox.write(
        "src/app.py",
        "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n",
    );
    sandbox.commit("add three");
    sandbox.write(".env", "UNTRACKED=untracked-content\n");
    std::fs::write(sandbox.root().join("outside.txt"), "outside-content\n").unwrap();
    sandbox
}

/// Everything a model may come up with.
fn script() -> Vec<(&'static str, Value)> {
    let read = |path: &str| ("read_file", json!({"path": path}));
    vec![
        ("list_files", json!({})),
        read("src/helper.py"),
        read("config/prod.env"),
        ("search", json!({"pattern": "glpat|synthetic-job"})),
        ("search", json!({"pattern": "def (one|two)"})),
        read("../outside.txt"),
        read("/proc/self/environ"),
        read(".git/config"),
        read("passwd"),
        read(".env"),
        ("bash", json!({"command": "cat /etc/passwd"})),
        ("mcp__repo__write_file", json!({"path": "src/helper.py", "content": "x"})),
        ("search", json!({"pattern": "("})),
    ]
}

/// Runs the binary with the real program against the model; `None` when it is not installed.
async fn review(kind: AgentKind, sandbox: &Sandbox, model: &Model, variables: &[(&str, &str)]) -> Option<Finished> {
    let mut command = real::review(kind, sandbox, model.url())?;
    command.env("GITLAB_TOKEN", JOB_TOKEN).envs(variables.iter().copied());
    Some(real::run(command).await)
}

fn record(sandbox: &Sandbox) -> Vec<Value> {
    let text = sandbox.artifact_text("context.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Tools that a program keeps beside diffsan's and that read, write and start nothing.
fn is_harmless(name: &str) -> bool {
    const OWN: &[&str] = &[
        "StructuredOutput",
        "request_user_input",
        "list_mcp_resources",
        "list_mcp_resource_templates",
        "read_mcp_resource",
    ];
    OWN.contains(&name)
}

async fn assert_reads(kind: AgentKind) {
    let sandbox = checkout();
    let model = Model::calling(script(), REPLY).await;
    let Some(finished) = review(kind, &sandbox, &model, &[]).await else { return };
    finished.expect_code(0);
    let questions = model.questions();
    for question in &questions {
        let names: Vec<String> = question.tools().into_iter().filter(|name| !is_harmless(name)).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        for tool in ["read_file", "search", "list_files"] {
            assert!(names.iter().any(|name| name.ends_with(tool)), "{names:?}");
        }
    }
    let heard = model.heard();
    assert!(heard.contains("what-the-model-may-see"), "the model can read");
    assert!(heard.contains("GITLAB_TOKEN=[REDACTED]") && heard.contains("def two"), "without secrets");
    for (secret, what) in [
        (TOKEN, "a secret in a file"),
        (JOB_TOKEN, "a secret of the job"),
        ("outside-content", "a file outside"),
        ("untracked-content", "an untracked file"),
        ("root:x:", "a file behind a link"),
        ("repositoryformatversion", "git's own files"),
    ] {
        assert!(!heard.contains(secret), "{what} reached the model");
    }
    let calls = record(&sandbox);
    let asked: Vec<&str> = calls.iter().filter_map(|call| call["arguments"]["path"].as_str()).collect();
    assert_eq!(
        asked,
        ["src/helper.py", "config/prod.env", "../outside.txt", "/proc/self/environ", ".git/config", "passwd", ".env"]
    );
    assert_eq!(calls[2]["redactions"], 2);
    assert_eq!(calls[3]["lines"], 0, "a search is no oracle");
    let run = sandbox.artifact("run.json");
    let audit = &run["privacy_audit"];
    assert_eq!(audit["context"]["calls"], calls.len());
    assert_eq!(audit["context"]["files"], 2);
    assert_eq!(audit["outputs"]["context"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(), 2);
    assert!(!sandbox.artifact_text("agent.run.json").contains("DIFFSAN_CONTEXT_NONCE="), "no argv has the nonce");
    let left: Vec<_> =
        std::fs::read_dir(sandbox.root().join("tmp")).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn codex_reads_through_diffsan_and_nothing_else() {
    assert_reads(AgentKind::Codex).await;
}

#[tokio::test]
async fn claude_reads_through_diffsan_and_nothing_else() {
    assert_reads(AgentKind::Claude).await;
}

#[tokio::test]
async fn gemini_reads_through_diffsan_and_nothing_else() {
    assert_reads(AgentKind::Gemini).await;
}

#[tokio::test]
async fn opencode_reads_through_diffsan_and_nothing_else() {
    assert_reads(AgentKind::Opencode).await;
}

#[tokio::test]
async fn a_model_that_does_not_stop_calling_is_told_to_write_and_then_ended() {
    let sandbox = checkout();
    let model = Model::always(Turn::Call("read_file", json!({"path": "src/helper.py"}))).await;
    let limits = [("DIFFSAN_CONTEXT__MAX_CALLS", "4"), ("DIFFSAN_AGENT__TIMEOUT_SECONDS", "45")];
    let Some(finished) = review(AgentKind::Codex, &sandbox, &model, &limits).await else { return };
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(model.heard().contains("write the review now"));
    let totals = &sandbox.artifact("run.json")["privacy_audit"]["context"];
    assert_eq!(totals["calls"], 4);
    assert!(totals["refused"].as_u64().unwrap() >= 1);
    assert!(record(&sandbox).len() <= 104);
}

#[tokio::test]
async fn with_the_tools_off_there_are_none() {
    for variables in
        [("DIFFSAN_CONTEXT__TOOLS", "off"), ("DIFFSAN_CONTEXT__MAX_CALLS", "0"), ("DIFFSAN_CONTEXT__MAX_BYTES", "0")]
    {
        let sandbox = checkout();
        let model = Model::calling(script(), REPLY).await;
        let Some(finished) = review(AgentKind::Codex, &sandbox, &model, &[variables]).await else { return };
        finished.expect_code(0);
        assert!(model.questions()[0].tools().iter().all(|name| is_harmless(name)));
        assert!(!model.heard().contains("what-the-model-may-see"));
        assert!(!sandbox.workdir().join("context.jsonl").exists());
        assert!(sandbox.artifact("run.json")["privacy_audit"]["context"].is_null());
    }
}
