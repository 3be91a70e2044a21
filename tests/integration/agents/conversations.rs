//! Whole reviews through the real programs, against models that go by a script: one that reads, one that never reads, one
//! that reads for ever, a second look that drops half, one that fails, three passes of which one dies.

use diffsan::contracts::AgentKind;
use serde_json::{Value, json};

use super::model::{Model, Received, Turn};
use super::real;
use crate::reviews::{LOOK, finding, four, half, review, severities, three_files};
use crate::sandbox::Sandbox;
use crate::scene::{Scene, WICKED};

fn is_look(request: &Received) -> bool {
    request.text().contains(LOOK)
}

fn read(path: &str) -> Turn {
    Turn::Call("read_file", json!({"path": path}))
}

/// What the tools were asked, by pass.
fn asked(sandbox: &Sandbox) -> Vec<(Value, String)> {
    let text = sandbox.artifact_text("context.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| (line["pass"].clone(), line["arguments"]["path"].as_str().unwrap_or_default().to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_reads_and_its_second_look_reads_too_and_drops_half() {
    let sandbox = three_files();
    let model = Model::scripted(|request, done| match (is_look(request), done) {
        (false, 0) => read("README.md"),
        (true, 0) => read("api/pay.py"),
        (false, _) => Turn::Say(four().to_string()),
        (true, _) => Turn::Say(half().to_string()),
    })
    .await;
    let Some(mut command) = real::review(AgentKind::Codex, &sandbox, model.url()) else { return };
    real::run({
        command.env("DIFFSAN_REVIEW__SECOND_LOOK", "medium");
        command
    })
    .await
    .expect_code(0);
    assert_eq!(severities(&sandbox), [("api/pay.py".into(), "medium".into()), ("web/form.py".into(), "low".into())]);
    assert_eq!(asked(&sandbox), [(json!("1"), "README.md".into()), (json!("look"), "api/pay.py".into())]);
    let meta = &sandbox.artifact("review.json")["meta"];
    assert_eq!(meta["second_look"]["status"], "done");
    // Two calls of two requests each.
    assert_eq!(meta["token_usage"]["input_tokens"], 4 * 1234);
    let run = sandbox.artifact("agent.run.json");
    let parts: Vec<_> = run["calls"].as_array().unwrap().iter().map(|call| call["part"].clone()).collect();
    assert_eq!(parts, ["review", "second look"]);
    assert!(model.heard().contains("# a project"), "what was read reached the model");
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_never_reads_and_its_second_look_fails() {
    let sandbox = three_files();
    let model =
        Model::scripted(|request, _| if is_look(request) { Turn::Fail(400) } else { Turn::Say(four().to_string()) })
            .await;
    let Some(mut command) = real::review(AgentKind::Claude, &sandbox, model.url()) else { return };
    real::run({
        command.env("DIFFSAN_REVIEW__SECOND_LOOK", "medium");
        command
    })
    .await
    .expect_code(0);
    assert_eq!(severities(&sandbox).len(), 4, "the findings stay as they were");
    let look = sandbox.artifact("review.json")["meta"]["second_look"].clone();
    assert_eq!(look["status"], "failed");
    assert!(look["problem"].as_str().unwrap().contains("the quota or the credit is used up"), "{look}");
    assert!(sandbox.artifact("post_plan.json")["summary_body"].as_str().unwrap().contains("were not confirmed"));
    assert_eq!(sandbox.artifact("run.json")["privacy_audit"]["context"]["calls"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn gemini_reviews_in_three_passes_of_which_one_dies() {
    let sandbox = three_files();
    let model = Model::scripted(|request, _| {
        let of = |path: &str| Turn::Say(review(&[finding(path, 2, "high", "Wrong.")]).to_string());
        let text = request.text();
        match ["api/pay.py", "jobs/night.py", "web/form.py"].iter().find(|path| text.contains(&format!("+++ b/{path}")))
        {
            Some(&"jobs/night.py") | None => Turn::Fail(400),
            Some(path) => of(path),
        }
    })
    .await;
    let Some(mut command) = real::review(AgentKind::Gemini, &sandbox, model.url()) else { return };
    command.env("DIFFSAN_LIMITS__MAX_FILES", "1").env("DIFFSAN_LIMITS__MAX_PASSES", "3");
    real::run(command).await.expect_code(0);
    assert_eq!(severities(&sandbox), [("api/pay.py".into(), "high".into()), ("web/form.py".into(), "high".into())]);
    let truncation = sandbox.artifact("truncation.json");
    assert_eq!(truncation["coverage"]["reasons"], json!({"failed_pass": 1}));
    assert_eq!(truncation["items"][0]["path"], "jobs/night.py");
    let calls = sandbox.artifact("agent.run.json")["calls"].clone();
    assert_eq!(calls.as_array().unwrap().len(), 3);
    assert!(calls[1]["error"].as_str().unwrap().contains("the key or the login is not valid"), "{calls}");
}

#[tokio::test(flavor = "multi_thread")]
async fn opencode_reads_until_its_budget_is_used_up_and_then_writes() {
    let sandbox = three_files();
    let model = Model::scripted(|request, _| match request.text().contains("write the review now") {
        true => Turn::Say(four().to_string()),
        false => read("README.md"),
    })
    .await;
    let Some(mut command) = real::review(AgentKind::Opencode, &sandbox, model.url()) else { return };
    command.env("DIFFSAN_CONTEXT__MAX_CALLS", "3");
    real::run(command).await.expect_code(0);
    assert_eq!(severities(&sandbox).len(), 4);
    let read = sandbox.artifact("run.json")["privacy_audit"]["context"].clone();
    assert_eq!((&read["calls"], &read["refused"]), (&json!(3), &json!(1)), "{read}");
    // One request a call, the one that was refused, and the answer.
    assert_eq!(model.questions().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_program_takes_the_second_look() {
    let sandbox = three_files();
    let first = Model::scripted(|_, _| Turn::Say(four().to_string())).await;
    let second =
        Model::scripted(|_, done| if done == 0 { read("api/pay.py") } else { Turn::Say(half().to_string()) }).await;
    let Some(mut command) = real::review(AgentKind::Codex, &sandbox, first.url()) else { return };
    assert!(real::point(AgentKind::Claude, &mut command, second.url()));
    // The second program has a model of its own.
    command.env_remove("DIFFSAN_AGENT__MODEL");
    command.env("DIFFSAN_REVIEW__SECOND_LOOK", "medium").env("DIFFSAN_REVIEW__SECOND_AGENT", "claude");
    real::run(command).await.expect_code(0);
    assert_eq!(severities(&sandbox).len(), 2);
    assert!(first.questions().iter().all(|question| !is_look(question)));
    assert!(second.questions().iter().all(is_look) && !second.questions().is_empty());
    assert_eq!(asked(&sandbox), [(json!("look"), "api/pay.py".into())]);
    let keys = |model: &Model, key: &str| model.received().iter().any(|request| request.text().contains(key));
    assert!(!keys(&first, "synthetic-anthropic-key") && !keys(&second, "synthetic-openai-key"), "each has its own key");
    assert_eq!(sandbox.artifact("review.json")["meta"]["second_look"]["agent"], "claude");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_job_the_agent_reads_the_tree_of_the_reviewed_commit() {
    let scene = Scene::new(&[], |sandbox| {
        sandbox.write("src/helper.py", "def helper():\n    return 'what-the-branch-has'\n");
    });
    // Only the runner's checkout has these.
    std::fs::write(scene.job().join("src/helper.py"), "changed-after-the-checkout\n").unwrap();
    std::fs::write(scene.job().join("untracked.py"), "untracked-content\n").unwrap();
    let found = json!({"summary_markdown": "One thing.", "findings": [{
        "finding_id": null, "severity": "high", "category": "security", "path": "src/app.py", "line_start": 10,
        "line_end": 10, "body_markdown": "The input is executed.", "quote": WICKED.trim(), "change_anchor": null,
        "suggested_patch": null
    }]});
    let calls = ["src/helper.py", "untracked.py"].map(|path| ("read_file", json!({"path": path}))).to_vec();
    let model = Model::calling(calls, &found.to_string()).await;
    let mut command = scene.plain_command(&["--ci"]);
    command.env("DIFFSAN_REVIEW__SECOND_LOOK", "off");
    let Some(command) = real::with(AgentKind::Codex, command, model.url()) else { return };
    real::run(command).await.expect_code(0);
    let heard = model.heard();
    assert!(heard.contains("return 'what-the-branch-has'"), "the model can read");
    assert!(!heard.contains("changed-after-the-checkout") && !heard.contains("untracked-content"));
    assert!(!heard.contains(&scene.job().display().to_string()), "no path of the checkout is seen");
    assert_eq!(scene.record()["privacy_audit"]["context"]["calls"], 2);
    assert!(scene.record()["ok"].as_bool().unwrap());
}
