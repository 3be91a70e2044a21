//! Google's Gemini CLI.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::login::{self, Handed, Login, Own};
use super::{Agent, Left, Limit, Reading, Start, Tested, Trouble, system};
use crate::contracts::{AgentKind, TokenUsage};
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    kind: AgentKind::Gemini,
    programs: &["gemini"],
    install: "install the Gemini CLI (npm install -g @google/gemini-cli) and set GEMINI_API_KEY, or choose another agent with agent.agent",
    custom: |config| config.gemini_command.as_deref(),
    tested: Some(Tested { package: "@google/gemini-cli", oldest: "0.61.0", newest: "0.61.0" }),
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    variables: &[
        "GEMINI_MODEL",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_VERTEX_BASE_URL",
    ],
    login,
    // It silently cuts what is longer.
    max_prompt: Some(Limit::Bytes(8 * 1024 * 1024)),
    structured: false,
    repairs: true,
    reports_progress: false,
    prepare,
    answer_file: None,
    done: Some(is_done),
    sealed: true,
    own_tools: &[],
    own_with_eyes: &[],
    read,
};

fn prepare(start: &mut Start<'_>) -> Result<()> {
    let argv = &mut start.argv;
    argv.drop_flags(&["--yolo", "-y"]);
    argv.drop_options(&[
        "--approval-mode",
        "--include-directories",
        "--policy",
        "--admin-policy",
        "--allowed-tools",
        "--resume",
        "-r",
        "--session-file",
        "--worktree",
        "-w",
    ]);
    // The folder is empty and private: there is nothing in it to distrust.
    argv.flag("--skip-trust");
    argv.set(&["--output-format", "-o"], "json");
    argv.set(&["--extensions", "-e"], "none");
    argv.set(&["--allowed-mcp-server-names"], if start.eyes.is_some() { "repo" } else { "none" });
    start.set_model(&["--model", "-m"]);
    start.make_folder("home/.gemini")?;
    start.write("home/.gemini/settings.json", &settings(start).to_string())?;
    let system = start.write("system.md", &system::prompt(start))?;
    start.set("GEMINI_SYSTEM_MD", system);
    start.set("GEMINI_CLI_HOME", start.home());
    Ok(())
}

/// The key in the user's own `.env`, or the login with Google: its token renews itself without a new secret.
fn login(own: &Own) -> Option<(Login, Handed)> {
    let below =
        |file: &str| own.path(Some(("GEMINI_CLI_HOME", &format!(".gemini/{file}"))), &format!(".gemini/{file}"));
    for path in [below(".env"), own.path(None, ".env")] {
        let key = login::text(&path).and_then(|text| login::assigned(&text, "GEMINI_API_KEY"));
        if let Some(key) = key {
            return Some((Login::File(path), Handed::variable("GEMINI_API_KEY", &key)));
        }
    }
    let path = below("oauth_creds.json");
    let text = login::text(&path)?;
    Some((Login::File(path), Handed::file(LOGIN_FILE, text)))
}

/// The result is one object and nothing else.
fn is_done(stdout: &[u8]) -> bool {
    stdout.trim_ascii_end().ends_with(b"}")
        && serde_json::from_slice::<Envelope>(stdout)
            .is_ok_and(|envelope| envelope.response.is_some() || envelope.error.is_some())
}

/// Variables of those who use it through Google's cloud.
const CLOUD: [&str; 4] =
    ["GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"];

/// Where the login with Google stands below the home.
const LOGIN_FILE: &str = ".gemini/oauth_creds.json";

/// The way to log in (with a base URL set it would pick one that it then refuses), no tools, no context files.
fn settings(start: &Start<'_>) -> serde_json::Value {
    let has = |name: &str| start.env.get(name).is_some() || start.set.iter().any(|(known, _)| *known == name);
    let login = match &start.login {
        _ if has("GEMINI_API_KEY") => "gemini-api-key",
        Login::File(_) => "oauth-personal",
        _ if CLOUD.iter().any(|name| has(name)) => "vertex-ai",
        _ => "gemini-api-key",
    };
    let tools: Vec<_> = start.eyes.into_iter().flat_map(|eyes| eyes.tools).collect();
    let core = match tools.is_empty() {
        true => vec!["__none__".to_owned()],
        false => tools.iter().map(|tool| format!("mcp_repo_{tool}")).collect(),
    };
    let servers = match start.eyes_command() {
        None => json!({}),
        Some((command, args)) => json!({"repo": {
            "command": command, "args": args, "env": start.eyes_env(), "trust": true, "includeTools": tools,
        }}),
    };
    json!({
        "security": {"auth": {"selectedType": login}},
        "tools": {"core": core},
        "mcpServers": servers,
        "context": {"memoryBoundaryMarkers": []},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 3},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "skills": {"enabled": false},
        "hooksConfig": {"enabled": false},
    })
}

/// The result object.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    response: Option<String>,
    #[serde(default)]
    error: Option<Message>,
    #[serde(default)]
    stats: Stats,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stats {
    models: BTreeMap<String, Model>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Model {
    tokens: Tokens,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    prompt: Option<u64>,
    candidates: Option<u64>,
    cached: Option<u64>,
    thoughts: Option<u64>,
}

fn read(left: &Left<'_>) -> Reading {
    let envelope: Option<Envelope> = serde_json::from_str(left.stdout.trim()).ok();
    let (mut usage, mut requests) = (TokenUsage::default(), Vec::new());
    for model in envelope.iter().flat_map(|envelope| envelope.stats.models.values()) {
        let used = TokenUsage {
            input_tokens: model.tokens.prompt,
            cached_input_tokens: model.tokens.cached,
            output_tokens: model.tokens.candidates,
            reasoning_tokens: model.tokens.thoughts,
            cost_usd: None,
        };
        usage.add(&used);
        requests.push(used);
    }
    let enveloped = envelope.is_some();
    let answer = match (left.exit_code, envelope) {
        (Some(0), Some(Envelope { error: Some(error), .. })) => Err(Trouble::Failed(error.message)),
        (Some(0), Some(Envelope { response: Some(text), .. })) if !text.trim().is_empty() => Ok(text),
        (Some(0), Some(_)) => {
            Err(Trouble::Unusable("the answer is empty: the model said nothing, or a safety filter stopped it".into()))
        }
        (Some(0), None) => Ok(left.stdout.to_owned()),
        _ => Err(Trouble::Failed(error_in(left.stderr).unwrap_or_else(|| left.said()))),
    };
    Reading { answer, enveloped, usage, requests }
}

/// Its last words are a JSON object after a stack trace.
fn error_in(stderr: &str) -> Option<String> {
    let at = stderr.rfind("\n{").or_else(|| stderr.starts_with('{').then_some(0))?;
    let envelope: Envelope = serde_json::from_str(stderr.get(at..)?.trim()).ok()?;
    envelope.error.map(|error| error.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gemini_left_is_read() {
        let trace =
            "Error: x\n    at y {\n  status: 401\n}\n{\n  \"error\": {\"message\": \"bad key\", \"code\": 401}\n}\n";
        let empty = "the answer is empty: the model said nothing, or a safety filter stopped it";
        let cases: &[(i32, &str, &str, Result<&str, Trouble>)] = &[
            (0, r#"{"response":"text","stats":{}}"#, "", Ok("text")),
            (0, r#"{"response":"","stats":{}}"#, "", Err(Trouble::Unusable(empty.into()))),
            (0, r#"{"session_id":"1","stats":{}}"#, "", Err(Trouble::Unusable(empty.into()))),
            (0, r#"{"error":{"message":"bad"}}"#, "", Err(Trouble::Failed("bad".into()))),
            (145, "", trace, Err(Trouble::Failed("bad key".into()))),
            (42, "", "no input", Err(Trouble::Failed("no input".into()))),
            (41, "", "{\n  \"error\": {\"message\": \"no key\"}\n}\n", Err(Trouble::Failed("no key".into()))),
        ];
        for (code, stdout, stderr, want) in cases {
            let got = read(&Left { exit_code: Some(*code), lingered: false, stdout, stderr, file: None }).answer;
            assert_eq!(got, want.clone().map(str::to_owned), "{stdout}{stderr}");
        }
    }
}
