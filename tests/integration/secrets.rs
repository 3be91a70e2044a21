//! Canaries: a secret planted wherever text can come from appears nowhere that text can go to.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::json;

use crate::gitlab::{Failure, FakeGitLab, MR, On, PROJECT, TOKEN};
use crate::sandbox::{Finished, Sandbox};

/// Where each canary is planted, and what it is. All of them are made up.
const CANARIES: &[(&str, &str)] = &[
    ("diff: gitlab token", "glpat-Zk3vN8qWx2Lr7TyPb4Mc"),
    ("diff: github token", "ghp_q7Vn2XkLr9TzBw4MsPc8YdHf3JgAe61RtUo5"),
    ("diff: aws secret", "wJx7Kp2mQ9vL4wR8tZ3nBsYd6HfGcAe1RuTo5Xi0"),
    ("diff: password", "Tq8#vLm2!zRw9pXc"),
    ("diff: url password", "s3cr3tPa55w0rdXyz"),
    ("diff: key body", "MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY1PuoAoGCCqGSM49"),
    ("file name", "glpat-Fn5xQ2wKz8Lr3TyNb7Mc"),
    ("branch name", "glpat-Br9vW4kXz6Lq2TyPn8Mc"),
    ("title", "glpat-Ti2nV7qKx9Lr5TyWb3Mc"),
    ("instructions", "glpat-In6rX3wKz9Lq8TyNb2Mc"),
    ("agent's answer", "glpat-An4qV8kXz2Lr6TyPb9Mc"),
    ("agent's stderr", "glpat-St7wN3qKx5Lr9TyMb2Xc"),
    ("error body", "glpat-Er8kV2nXz4Lq7TyWb5Mc"),
    ("environment", "env-9f8e7d6c5b4a39281706"),
    ("remote url", "glcbt-64_Kz8vN3qWx2Lr7TyPb4M"),
];

fn canary(place: &str) -> &'static str {
    CANARIES.iter().find(|(name, _)| *name == place).map(|(_, value)| *value).expect(place)
}

/// The forms a value could hide in.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let percent: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let partly: String =
        value
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_.~".contains(c) {
                    c.to_string()
                } else {
                    format!("%{:02X}", c as u32)
                }
            })
            .collect();
    let escaped = serde_json::to_string(value).unwrap();
    let unicode: String = value.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    forms.extend([percent, partly, escaped.trim_matches('"').to_owned(), unicode]);
    for offset in 0..3 {
        // The characters at the ends mix with what stands beside the value; those in between do not.
        let bytes = [&b"xx"[..offset], value.as_bytes()].concat();
        let text = STANDARD_NO_PAD.encode(bytes);
        forms.push(text[(offset * 8).div_ceil(6)..text.len() - 2].to_owned());
    }
    forms
}

fn assert_absent(place: &str, text: &str) {
    for (name, value) in CANARIES {
        for form in forms(value) {
            assert!(!text.contains(&form), "the canary `{name}` is in {place}, as {form}");
        }
    }
}

fn assert_workdir_clean(workdir: &Path) {
    let mut files = 0;
    for entry in std::fs::read_dir(workdir).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert_absent(&path.file_name().unwrap().to_string_lossy(), &text);
        assert_absent("a file name", &path.to_string_lossy());
        files += 1;
    }
    assert!(files >= 15, "only {files} artifacts");
}

/// A merge request with a canary everywhere.
fn planted() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    let base = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.git(&["checkout", "-q", "-b", &format!("fix-{}", canary("branch name"))]);
    let code = format!(
        "TOKEN = \"{}\"\nGITHUB = '{}'\naws_secret_access_key = {}\npassword = \"{}\"\nDB = \"postgres://app:{}@db.internal/prod\"\n",
        canary("diff: gitlab token"),
        canary("diff: github token"),
        canary("diff: aws secret"),
        canary("diff: password"),
        canary("diff: url password"),
    );
    sandbox.write("src/settings.py", code);
    let key = format!("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n", canary("diff: key body"));
    sandbox.write("deploy/id.pem", key);
    sandbox.write(&format!("notes/{}.txt", canary("file name")), "a file with a name\n");
    sandbox.write("src/app.py", "def one():\n    return 1\n\n\ndef two():\n    return 22\n");
    let head = sandbox.commit("change");
    let remote = format!("http://gitlab-ci-token:{}@127.0.0.1:1/group/project.git", canary("remote url"));
    sandbox.git(&["remote", "add", "origin", &remote]);
    (sandbox, base, head)
}

fn agent(sandbox: &Sandbox, answer: &str, exit: u8) -> std::path::PathBuf {
    let stderr = format!("debug: {} and {}", canary("agent's stderr"), canary("environment"));
    let script = format!("#!/bin/sh\ncat > /dev/null\necho '{stderr}' >&2\ncat <<'END'\n{answer}\nEND\nexit {exit}\n");
    sandbox.script("agent.sh", &script)
}

fn run(sandbox: &Sandbox, gitlab: &FakeGitLab, base: &str, head: &str, agent: &Path) -> Finished {
    let mut command = sandbox.command(["--ci", "-v"]);
    command
        .env("CI_API_V4_URL", format!("{}/api/v4", gitlab.url()))
        .env("CI_MERGE_REQUEST_PROJECT_ID", PROJECT.to_string())
        .env("CI_MERGE_REQUEST_IID", MR.to_string())
        .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", base)
        .env("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", format!("fix-{}", canary("branch name")))
        .env("CI_COMMIT_SHA", head)
        .env("CI_REPOSITORY_URL", format!("http://gitlab-ci-token:{}@127.0.0.1:1/g/p.git", canary("remote url")))
        .env("GITLAB_TOKEN", TOKEN)
        .env("DEPLOY_TOKEN", canary("environment"))
        .env("DIFFSAN_AGENT__AGENT", "command")
        .env("DIFFSAN_AGENT__COMMAND", agent)
        .env("DIFFSAN_AGENT__CUSTOM_INSTRUCTIONS", format!("Our staging token is {}.", canary("instructions")));
    Finished::of(command.output().unwrap())
}

fn assert_nothing_out(sandbox: &Sandbox, gitlab: &FakeGitLab, finished: &Finished) {
    assert_absent("stdout", &finished.stdout);
    assert_absent("stderr", &finished.stderr);
    assert_workdir_clean(&sandbox.workdir());
    for request in gitlab.requests() {
        assert_absent("a request", &request.path);
        assert_absent("a request's body", &request.body.to_string());
    }
}

#[test]
fn no_canary_leaves_a_run_that_posts() {
    let (sandbox, base, head) = planted();
    let gitlab = FakeGitLab::start(&sandbox.repo(), &base, &head);
    gitlab.change(|store| store.title = format!("Use {}", canary("title")));
    let answer = json!({
        "summary_markdown": format!("The change commits {} and {}.", canary("agent's answer"), canary("diff: password")),
        "findings": [{
            "severity": "high", "category": "security", "path": "src/settings.py", "line_start": 1, "line_end": 1,
            "body_markdown": format!("`{}` is committed; base64: {}", canary("diff: gitlab token"), STANDARD_NO_PAD.encode(canary("diff: aws secret"))),
        }, {
            "severity": "low", "category": "style", "path": format!("notes/{}.txt", canary("file name")),
            "line_start": 1, "line_end": 1, "body_markdown": format!("The environment has {}.", canary("environment")),
        }],
    });
    let agent = agent(&sandbox, &answer.to_string(), 0);
    let finished = run(&sandbox, &gitlab, &base, &head, &agent).expect_code(0);
    assert_nothing_out(&sandbox, &gitlab, &finished);
    assert!(sandbox.artifact_text("prompt.txt").contains("[REDACTED]"));
    assert!(sandbox.artifact_text("agent.stderr.txt").contains("[REDACTED]"));
    let report = sandbox.artifact("redaction.json");
    assert!(report["matches"].as_array().unwrap().len() >= 6, "{report:#}");
    let audit = &sandbox.artifact("run.json")["privacy_audit"]["outputs"];
    for output in ["prompt", "agent_output", "gitlab", "artifacts", "events", "console"] {
        assert!(audit.get(output).is_some(), "{output} is not in {audit:#}");
    }
}

#[test]
fn no_canary_leaves_a_run_whose_agent_fails() {
    let (sandbox, base, head) = planted();
    let gitlab = FakeGitLab::start(&sandbox.repo(), &base, &head);
    let agent = agent(&sandbox, canary("agent's answer"), 7);
    let finished = run(&sandbox, &gitlab, &base, &head, &agent).expect_code(1);
    assert_eq!(sandbox.artifact("run.json")["error"]["error_code"], "AGENT_EXEC_FAILED");
    assert_nothing_out(&sandbox, &gitlab, &finished);
}

#[test]
fn no_canary_leaves_a_run_that_gitlab_refuses_with_one_in_its_words() {
    let (sandbox, base, head) = planted();
    let gitlab = FakeGitLab::start(&sandbox.repo(), &base, &head);
    let body = json!({ "message": format!("403 Forbidden: token {} may not", canary("error body")) }).to_string();
    gitlab.fail_times(100, On::post("/notes"), Failure::json(403, &body));
    let agent = agent(&sandbox, &json!({ "summary_markdown": "Fine.", "findings": [] }).to_string(), 0);
    let finished = run(&sandbox, &gitlab, &base, &head, &agent).expect_code(1);
    assert_nothing_out(&sandbox, &gitlab, &finished);
    assert!(finished.stderr.contains("[REDACTED]"), "{}", finished.stderr);
}

#[test]
fn no_canary_is_in_the_message_of_a_bad_configuration() {
    let sandbox = Sandbox::with_change();
    sandbox.write(".diffsan.toml", format!("[agent]\nverbosity = \"{}\"\n", canary("diff: gitlab token")));
    let finished = sandbox.run(["review"]).expect_code(2);
    assert_absent("stderr", &finished.stderr);
    assert_absent("run.json", &sandbox.artifact_text("run.json"));
}

#[test]
fn a_secret_cut_anywhere_leaves_no_fragment() {
    let engine = diffsan::redact::Engine::builtin([]);
    let secret = canary("diff: github token");
    let line = format!("+token = \"{secret}\"\n");
    let diff = format!("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,1 @@\n{line}");
    let text = engine.redact_diff(diff.as_bytes()).bytes.to_text();
    for cut in 0..=text.as_str().len() {
        let shown = &text.as_str()[..cut];
        for start in 0..secret.len() - 6 {
            assert!(!shown.contains(&secret[start..start + 6]), "{shown}");
        }
    }
}

/// Read as prose, the line below `"password",` would be a value, sign and all.
#[test]
fn the_diff_reaches_the_prompt_with_every_sign_in_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("form.py", "fields = [\n]\n");
    sandbox.commit("A form");
    sandbox.write("form.py", "fields = [\n    \"name\", \"password\",\n    \"correct9horse9battery9staple\",\n]\n");
    sandbox.run(["review", "--dry-run", "--agent", "builtin"]).expect_code(0);
    for artifact in ["diff.prepared.patch", "prompt.txt"] {
        let text = sandbox.artifact_text(artifact);
        let added: Vec<&str> = text.lines().filter(|line| line.starts_with("+    ")).collect();
        assert_eq!(added.len(), 2, "{artifact}: {text}");
        assert_eq!(added[0], "+    \"name\", \"password\",", "{artifact}");
    }
}
