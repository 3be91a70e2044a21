//! Anthropic's Claude Code: `claude -p`, with the schema on its command line.

use serde::Deserialize;
use serde_json::{Value, json};

use super::login::{self, Handed, Login, Own};
use super::{Agent, Left, Limit, Reading, Start, Tested, Trouble, last_object, system};
use crate::contracts::{AgentKind, TokenUsage};
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    kind: AgentKind::Claude,
    programs: &["claude"],
    install: "install Claude Code (npm install -g @anthropic-ai/claude-code) and set ANTHROPIC_API_KEY, or choose another agent with agent.agent",
    custom: |config| config.claude_command.as_deref(),
    tested: Some(Tested { package: "@anthropic-ai/claude-code", oldest: "2.1.197", newest: "2.1.325" }),
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    variables: &[
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_CUSTOM_HEADERS",
        "ANTHROPIC_MODEL",
        "API_TIMEOUT_MS",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    ],
    login,
    max_prompt: Some(Limit::Bytes(9_900_000)),
    structured: true,
    repairs: true,
    reports_progress: false,
    prepare,
    answer_file: None,
    done: Some(is_done),
    sealed: true,
    own_tools: &["StructuredOutput"],
    own_with_eyes: &[],
    read,
};

/// Quiet, and an end to its retries: the default keeps a wrong key waiting for minutes.
const VARIABLES: &[(&str, &str)] = &[
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    // Each is a whole request; diffsan asks again itself, with the reasons.
    ("MAX_STRUCTURED_OUTPUT_RETRIES", "2"),
    ("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1"),
    ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
];

fn prepare(start: &mut Start<'_>) -> Result<()> {
    let (schema, system) = (start.schema.to_string(), system::prompt(start));
    let servers = servers(start)?;
    let argv = &mut start.argv;
    argv.drop_flags(&[
        "--dangerously-skip-permissions",
        "--allow-dangerously-skip-permissions",
        "--continue",
        "-c",
        "--ide",
        "--chrome",
    ]);
    argv.drop_options(&[
        "--add-dir",
        "--agent",
        "--agents",
        "--append-system-prompt",
        "--append-system-prompt-file",
        "--permission-mode",
        "--plugin-dir",
        "--resume",
        "-r",
        "--settings",
        "--system-prompt-file",
    ]);
    if !argv.has(&["--print", "-p"]) {
        argv.add("--print");
    }
    argv.set(&["--output-format"], "json");
    argv.set(&["--json-schema"], schema);
    // A project's settings can run commands and send the key elsewhere.
    argv.set(&["--setting-sources"], "user");
    argv.set(&["--system-prompt"], system);
    argv.set(&["--tools"], "");
    argv.drop_options(&["--mcp-config", "--allowedTools", "--allowed-tools"]);
    argv.flag("--strict-mcp-config");
    if let Some((file, tools)) = servers {
        argv.option("--mcp-config", file);
        argv.option("--allowedTools", tools);
    }
    argv.flag("--disable-slash-commands");
    argv.flag("--no-session-persistence");
    start.set_model(&["--model"]);
    for (name, value) in VARIABLES {
        start.set(name, *value);
    }
    if let Some(effort) = start.config.effort.name() {
        start.argv.set(&["--effort"], effort);
    }
    if let Some(left) = start.budget {
        start.argv.set(&["--max-budget-usd"], format!("{:.4}", left.max(0.0001)));
    }
    Ok(())
}

/// The file with diffsan's server, and the names of its tools. The server's variables stay out of the command line.
fn servers(start: &Start<'_>) -> Result<Option<(String, String)>> {
    let (Some(eyes), Some((command, args))) = (start.eyes, start.eyes_command()) else { return Ok(None) };
    let server = json!({"mcpServers": {"repo": {"command": command, "args": args, "env": start.eyes_env()}}});
    let file = start.write("mcp.json", &server.to_string())?;
    let tools: Vec<_> = eyes.tools.iter().map(|tool| format!("mcp__repo__{tool}")).collect();
    Ok(Some((file.to_string_lossy().into_owned(), tools.join(","))))
}

/// The access token of a login, or the key that a console login made. Neither can renew itself: a renewed login would be
/// lost, and the user logged out.
fn login(own: &Own) -> Option<(Login, Handed)> {
    let path = own.path(Some(("CLAUDE_CONFIG_DIR", ".credentials.json")), ".claude/.credentials.json");
    if let Some(login) = login::json(&path).and_then(|mut file| file.get_mut("claudeAiOauth").map(Value::take)) {
        let now = crate::run::clock::now().unix_timestamp() * 1_000;
        if login["expiresAt"].as_i64().is_some_and(|end| end <= now) {
            return Some((Login::Expired(path), Handed::default()));
        }
        let token = login["accessToken"].as_str()?;
        return Some((Login::File(path), Handed::variable("CLAUDE_CODE_OAUTH_TOKEN", token)));
    }
    let path = own.path(Some(("CLAUDE_CONFIG_DIR", ".claude.json")), ".claude.json");
    let file = login::json(&path)?;
    Some((Login::File(path), Handed::variable("ANTHROPIC_API_KEY", file["primaryApiKey"].as_str()?)))
}

/// The result object is the last thing it prints.
fn is_done(stdout: &[u8]) -> bool {
    stdout.trim_ascii_end().ends_with(b"}")
        && std::str::from_utf8(stdout).is_ok_and(|text| last_object::<Envelope>(text).is_some())
}

/// The result object. Neither the exit code nor `subtype` says whether there is an answer.
#[derive(Deserialize)]
struct Envelope {
    is_error: bool,
    #[serde(default)]
    subtype: String,
    #[serde(default)]
    result: String,
    stop_reason: Option<String>,
    structured_output: Option<Value>,
    #[serde(default)]
    errors: Vec<Value>,
    total_cost_usd: Option<f64>,
    #[serde(default)]
    usage: Usage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

fn read(left: &Left<'_>) -> Reading {
    let Some(envelope) = last_object::<Envelope>(left.stdout) else {
        let answer = match left.exit_code {
            Some(0) => Ok(left.stdout.to_owned()),
            _ => Err(Trouble::Failed(left.said())),
        };
        return Reading { answer, enveloped: false, usage: TokenUsage::default(), requests: Vec::new() };
    };
    let used = &envelope.usage;
    let usage = TokenUsage {
        input_tokens: Some(used.input_tokens + used.cache_creation_input_tokens + used.cache_read_input_tokens),
        cached_input_tokens: Some(used.cache_read_input_tokens),
        output_tokens: Some(used.output_tokens),
        reasoning_tokens: None,
        cost_usd: envelope.total_cost_usd,
    };
    Reading { answer: answer(left, envelope), enveloped: true, usage, requests: Vec::new() }
}

fn answer(left: &Left<'_>, envelope: Envelope) -> Result<String, Trouble> {
    if envelope.is_error {
        let said = said(&envelope);
        let refused = envelope.stop_reason.as_deref() == Some("refusal");
        return Err(if refused || envelope.subtype == "error_max_structured_output_retries" {
            Trouble::Refused(said)
        } else {
            Trouble::Failed(said)
        });
    }
    match (left.exit_code, envelope.structured_output) {
        (Some(0), Some(output)) => Ok(output.to_string()),
        (Some(0), None) if envelope.result.trim().is_empty() => Err(Trouble::Unusable("the answer is empty".into())),
        (Some(0), None) => Ok(envelope.result),
        _ => Err(Trouble::Failed(left.with_said("it reported success and failed"))),
    }
}

fn said(envelope: &Envelope) -> String {
    let errors = envelope.errors.iter().map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
    let words: Vec<String> =
        [envelope.result.clone()].into_iter().filter(|text| !text.is_empty()).chain(errors).collect();
    if words.is_empty() { envelope.subtype.clone() } else { words.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_exit_code_nor_subtype_decides() {
        let ok = r#"{"is_error":false,"subtype":"success","result":"text","structured_output":{"a":1}}"#;
        let cases: &[(i32, &str, Result<&str, Trouble>)] = &[
            (0, ok, Ok(r#"{"a":1}"#)),
            (1, ok, Err(Trouble::Failed("it reported success and failed; it said: why".into()))),
            (0, r#"{"is_error":false,"subtype":"success","result":"text"}"#, Ok("text")),
            (0, r#"{"is_error":false,"result":" "}"#, Err(Trouble::Unusable("the answer is empty".into()))),
            (
                1,
                r#"{"is_error":true,"subtype":"success","result":"no","stop_reason":"refusal"}"#,
                Err(Trouble::Refused("no".into())),
            ),
            (
                1,
                r#"{"is_error":true,"subtype":"error_max_structured_output_retries","errors":["a: bad","b: bad"]}"#,
                Err(Trouble::Refused("a: bad; b: bad".into())),
            ),
            (
                0,
                r#"{"is_error":true,"subtype":"error_during_execution"}"#,
                Err(Trouble::Failed("error_during_execution".into())),
            ),
            (0, "no envelope", Ok("no envelope")),
            (1, "", Err(Trouble::Failed("why".into()))),
        ];
        for (code, stdout, want) in cases {
            let got = read(&Left { exit_code: Some(*code), lingered: false, stdout, stderr: "why", file: None }).answer;
            assert_eq!(got, want.clone().map(str::to_owned), "{stdout}");
        }
    }
}
