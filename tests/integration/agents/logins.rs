//! The user's own login: of each program the smallest part that logs it in, for the length of one run.

use std::path::Path;
use std::process::{Command, Stdio};

use diffsan::contracts::AgentKind;
use serde_json::{Value, json};

use super::model::Model;
use super::real;
use super::support::{eventually, installed, is_gone};
use crate::sandbox::{Finished, Sandbox};

const ANSWER: &str = r#"{"summary_markdown": "Nothing is wrong.", "findings": []}"#;
/// What renews a login: it must stay where it is.
const RENEWS: &str = "synthetic-renewing-secret";

/// A login as a program leaves it, and the header by which the server knows its user.
struct Login {
    kind: AgentKind,
    file: &'static str,
    text: String,
    header: (&'static str, String),
    /// The rest of the set-up that points the program at the server.
    more: fn(&mut Command, &str),
}

fn logins() -> Vec<Login> {
    let token = jwt();
    let bearer = |token: &str| ("authorization", format!("Bearer {token}"));
    let openai = |command: &mut Command, url: &str| {
        command.env("OPENAI_BASE_URL", format!("{url}/v1"));
    };
    let chatgpt = |command: &mut Command, url: &str| {
        let program = installed("codex").unwrap();
        command.env("DIFFSAN_AGENT__CODEX_COMMAND", format!("{} exec -c openai_base_url={url}/v1", program.display()));
    };
    let anthropic = |command: &mut Command, url: &str| {
        command.env("ANTHROPIC_BASE_URL", url);
    };
    let login = |kind, file, text: Value, header, more| Login { kind, file, text: text.to_string(), header, more };
    vec![
        login(
            AgentKind::Codex,
            ".codex/auth.json",
            json!({"OPENAI_API_KEY": "synthetic-file-key"}),
            bearer("synthetic-file-key"),
            openai,
        ),
        login(
            AgentKind::Codex,
            ".codex/auth.json",
            json!({"auth_mode": "chatgpt", "OPENAI_API_KEY": null, "last_refresh": "2026-01-01T00:00:00Z", "tokens": {
                "id_token": token, "access_token": token, "refresh_token": RENEWS, "account_id": "account"
            }}),
            bearer(&token),
            chatgpt,
        ),
        login(
            AgentKind::Claude,
            ".claude/.credentials.json",
            json!({"claudeAiOauth": {
                "accessToken": "synthetic-access", "refreshToken": RENEWS, "expiresAt": 4_102_444_800_000_i64,
                "scopes": ["user:inference"]
            }}),
            bearer("synthetic-access"),
            anthropic,
        ),
        login(
            AgentKind::Claude,
            ".claude.json",
            json!({"primaryApiKey": "synthetic-file-key", "mcpServers": {}}),
            ("x-api-key", "synthetic-file-key".into()),
            anthropic,
        ),
        Login {
            text: "OTHER=synthetic-other-secret\nexport GEMINI_API_KEY='synthetic-file-key'\n".into(),
            ..login(
                AgentKind::Gemini,
                ".gemini/.env",
                Value::Null,
                ("x-goog-api-key", "synthetic-file-key".into()),
                |command, url| {
                    command.env("GOOGLE_GEMINI_BASE_URL", url);
                },
            )
        },
        login(
            AgentKind::Opencode,
            ".local/share/opencode/auth.json",
            json!({
                "loopback": {"type": "api", "key": "synthetic-file-key"},
                "other": {"type": "oauth", "access": "synthetic-other-secret", "refresh": RENEWS, "expires": 1},
            }),
            bearer("synthetic-file-key"),
            |command, url| {
                let config = real::opencode_config(url).replace("{env:OPENAI_API_KEY}", "");
                let config = config.replace(r#","apiKey":"""#, "").replace(r#""apiKey":"","#, "");
                command.env("OPENCODE_CONFIG_CONTENT", config);
            },
        ),
    ]
}

/// A token that codex can read: nobody signed it.
fn jwt() -> String {
    let auth = json!({"chatgpt_account_id": "account", "chatgpt_plan_type": "plus", "chatgpt_user_id": "user"});
    let claims = json!({"exp": 4_102_444_800_i64, "email": "a@example.invalid", "https://api.openai.com/auth": auth});
    let parts = [json!({"alg": "none"}).to_string(), claims.to_string(), "unsigned".into()];
    parts.map(|part| base64(part.as_bytes())).join(".")
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().chain([&0, &0]).take(3).fold(0, |number, byte| number << 8 | u32::from(*byte));
        for at in 0..=chunk.len() {
            text.push(LETTERS[(number >> (18 - 6 * at) & 63) as usize].into());
        }
    }
    text
}

/// How many private folders are there.
fn rooms(sandbox: &Sandbox) -> usize {
    let entries = std::fs::read_dir(sandbox.root().join("tmp")).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("diffsan-agent-")).count()
}

async fn assert_logs_in(login: Login) {
    let Some(program) = installed(login.kind.name()) else { return };
    let sandbox = Sandbox::with_change();
    let model = Model::says(ANSWER).await;
    let file = sandbox.home().join(login.file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, &login.text).unwrap();
    let mut command = sandbox.command(["review", "--base", "main", "--agent", login.kind.name()]);
    command
        .env(format!("DIFFSAN_AGENT__{}_COMMAND", login.kind.name().to_uppercase()), program)
        .env("DIFFSAN_AGENT__MODEL", if login.kind == AgentKind::Opencode { "loopback/test-model" } else { "gpt-5.5" });
    (login.more)(&mut command, model.url());
    let finished = real::run(command).await;
    assert_eq!(finished.code, 0, "{}: {}", login.file, finished.stderr);
    let asked = &model.questions()[0];
    let (name, value) = &login.header;
    assert!(asked.headers.contains(&((*name).to_owned(), value.clone())), "{}: {:?}", login.file, asked.headers);
    for secret in [RENEWS, "synthetic-other-secret"] {
        assert!(!model.heard().contains(secret), "{}: {secret} left the machine", login.file);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), login.text, "the user's own login is as it was");
    assert_eq!(rooms(&sandbox), 0, "{}: nothing stays behind", login.file);
    for entry in std::fs::read_dir(sandbox.workdir()).unwrap().flatten() {
        let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
        let value = value.trim_start_matches("Bearer ");
        assert!(!text.contains(value), "{}: {} has the login", login.file, entry.path().display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_of_the_users_own_logs_the_program_in_without_what_renews_it() {
    for login in logins() {
        assert_logs_in(login).await;
    }
}

/// A login that only a file can hand over, and a program that looks at it and then does as it is told.
fn sandbox_with_a_file(then: &str) -> (Sandbox, Command) {
    let sandbox = Sandbox::with_change();
    let file = sandbox.home().join(".gemini/oauth_creds.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, json!({"access_token": "synthetic-access", "refresh_token": RENEWS}).to_string()).unwrap();
    let root = sandbox.root().display();
    let program = sandbox.script(
        "gemini",
        &format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 0.61.0; exit; }}\ncat > {root}/prompt\ncd \"$HOME/.gemini\"\n\
             cp oauth_creds.json {root}/copy\nstat -c '%a %A' oauth_creds.json . > {root}/rights\necho $$ > {root}/pid\n{then}\n"
        ),
    );
    let mut command = sandbox.command(["review", "--base", "main", "--agent", "gemini"]);
    command.env("DIFFSAN_AGENT__GEMINI_COMMAND", program).stdout(Stdio::piped()).stderr(Stdio::piped());
    (sandbox, command)
}

fn assert_was_handed(sandbox: &Sandbox) {
    let read = |name: &str| std::fs::read_to_string(sandbox.root().join(name)).unwrap();
    assert!(read("copy").contains("synthetic-access"));
    assert_eq!(read("rights"), "600 -rw-------\n700 drwx------\n");
}

#[test]
fn a_login_that_was_copied_is_removed_after_success_and_after_failure() {
    let answer = json!({"response": ANSWER, "stats": {}});
    for (then, code) in [(format!("cat <<'END'\n{answer}\nEND"), 0), ("exit 3".into(), 1)] {
        let (sandbox, mut command) = sandbox_with_a_file(&then);
        Finished::of(command.output().unwrap()).expect_code(code);
        assert_was_handed(&sandbox);
        assert_eq!(rooms(&sandbox), 0, "{then}");
    }
}

#[tokio::test]
async fn a_login_that_was_copied_is_removed_when_a_signal_ends_the_run_and_by_the_next_run_when_it_was_killed() {
    for (signal, left) in [("TERM", 0), ("INT", 0), ("HUP", 0), ("KILL", 1)] {
        let (sandbox, mut command) = sandbox_with_a_file("exec sleep 600");
        let child = command.spawn().unwrap();
        let pid = || std::fs::read_to_string(sandbox.root().join("pid")).unwrap_or_default();
        eventually("the program works", || pid().ends_with('\n')).await;
        let status = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(status.success());
        child.wait_with_output().unwrap();
        assert_was_handed(&sandbox);
        assert_eq!(rooms(&sandbox), left, "{signal}");
        if left > 0 {
            // Nobody was left to end it.
            Command::new("kill").args(["-KILL", pid().trim()]).status().unwrap();
            sandbox.script("gemini", "#!/bin/sh\n[ \"$1\" = --version ] && echo 0.61.0\nexit 3\n");
            Finished::of(command.output().unwrap()).expect_code(1);
            assert_eq!(rooms(&sandbox), 0, "{signal}");
        }
        eventually("the program is gone", || is_gone(pid().trim())).await;
    }
}

#[test]
fn a_login_that_does_not_work_names_the_key_to_set() {
    let words = "Manual authorization is required but the current session is non-interactive.";
    let (sandbox, mut command) = sandbox_with_a_file(&format!("echo '{words}' >&2; exit 41"));
    Finished::of(command.output().unwrap()).expect_code(1);
    let error = sandbox.artifact("run.json")["error"].clone();
    assert!(error["message"].as_str().unwrap().starts_with("agent `gemini` is not logged in: "), "{error}");
    assert!(error["help"].as_str().unwrap().starts_with("set GEMINI_API_KEY or GOOGLE_API_KEY"), "{error}");

    let expired = json!({"claudeAiOauth": {"accessToken": "synthetic-access", "expiresAt": 1, "refreshToken": RENEWS}});
    let sandbox = Sandbox::with_change();
    std::fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    std::fs::write(sandbox.home().join(".claude/.credentials.json"), expired.to_string()).unwrap();
    let text = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 2.1.197; exit; }\nenv > \"$0.env\"\n\
                echo 'Not logged in · Please run /login'; exit 1\n";
    let program = sandbox.script("claude", text);
    let mut command = sandbox.command(["review", "--base", "main", "--agent", "claude"]);
    Finished::of(command.env("DIFFSAN_AGENT__CLAUDE_COMMAND", &program).output().unwrap()).expect_code(1);
    let error = sandbox.artifact("run.json")["error"].clone();
    assert!(error["message"].as_str().unwrap().starts_with("agent `claude` is not logged in"), "{error}");
    let help = error["help"].as_str().unwrap();
    assert!(help.contains("has expired: start `claude` once to renew it, or set ANTHROPIC_API_KEY"), "{help}");
    let seen = std::fs::read_to_string(Path::new(&format!("{}.env", program.display()))).unwrap();
    assert!(!seen.contains("synthetic-access") && !seen.contains(RENEWS), "{seen}");
}
