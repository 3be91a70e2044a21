//! OpenAI's Codex CLI: `codex exec`, with the schema in a file and the answer in another.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::room::Home;
use super::{Agent, Left, Limit, Reading, Start, Trouble};
use crate::contracts::{AgentKind, TokenUsage};
use crate::error::Result;
use crate::validate::schema;

pub(super) const AGENT: Agent = Agent {
    kind: AgentKind::Codex,
    programs: &["codex"],
    install: "install Codex (npm install -g @openai/codex) and set OPENAI_API_KEY, or choose another agent with agent.agent",
    custom: |config| config.codex_command.as_deref(),
    keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    variables: &[],
    max_prompt: Some(Limit::Chars(1_048_576)),
    structured: true,
    repairs: false,
    reports_progress: true,
    prepare,
    answer_file: Some(ANSWER_FILE),
    done: None,
    read,
};

const SCHEMA_FILE: &str = "codex-output-schema.json";
const ANSWER_FILE: &str = "codex-output.json";
/// Key for `agent.proxy_url`.
const PROXY_KEY: &str = "DIFFSAN_OPENAI_API_KEY";

/// No tools, no project files, no plugins, no telemetry; versions that do not know one of these only warn.
const SETTINGS: &[&str] = &[
    "features.shell_tool=false",
    "features.unified_exec=false",
    "features.view_image=false",
    "features.multi_agent=false",
    "features.goals=false",
    "features.apps=false",
    "features.plugins=false",
    "web_search=\"disabled\"",
    "project_doc_max_bytes=0",
    "skills.include_instructions=false",
    "skills.bundled.enabled=false",
    "shell_environment_policy.inherit=\"none\"",
    "history.persistence=\"none\"",
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
];

fn prepare(start: &mut Start<'_>) -> Result<()> {
    let schema_file = start.write(SCHEMA_FILE, &schema::strict_text())?;
    let answer_file = start.room.path(ANSWER_FILE);
    let argv = &mut start.argv;
    if !argv.has_word(&["exec", "e"]) {
        argv.add("exec");
    }
    // These would contradict the sandbox, or take codex back to the checkout.
    argv.drop_flags(&[
        "--full-auto",
        "--yolo",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
    ]);
    argv.drop_options(&["--cd", "-C", "--add-dir"]);
    argv.set(&["--sandbox", "-s"], "read-only");
    argv.set(&["--color"], "never");
    argv.flag("--skip-git-repo-check");
    argv.flag("--json");
    argv.set(&["--output-schema"], schema_file.to_string_lossy());
    argv.set(&["--output-last-message", "-o"], answer_file.to_string_lossy());
    for setting in SETTINGS {
        argv.option("-c", *setting);
    }
    start.set_model(&["--model", "-m"]);
    hand_over_keys(start);
    set_home(start)
}

/// `codex exec` reads neither OPENAI_API_KEY nor OPENAI_BASE_URL, so they reach it in the form it does read.
fn hand_over_keys(start: &mut Start<'_>) {
    let openai_key = start.env.get("OPENAI_API_KEY").filter(|_| start.env.get("CODEX_API_KEY").is_none());
    if let Some(key) = openai_key {
        start.set("CODEX_API_KEY", key);
    }
    let has_key = openai_key.is_some() || start.env.get("CODEX_API_KEY").is_some();
    let provider = match (&start.config.proxy_url, start.env.get("OPENAI_BASE_URL")) {
        (Some(url), _) => Some((url.clone(), start.env.get(PROXY_KEY).map(|_| PROXY_KEY))),
        (None, Some(url)) => Some((url.to_owned(), has_key.then_some("CODEX_API_KEY"))),
        (None, None) => None,
    };
    let Some((url, key)) = provider else { return };
    if let Some(value) = start.env.get(PROXY_KEY).filter(|_| key == Some(PROXY_KEY)) {
        start.set(PROXY_KEY, value);
    }
    let key = key.map(|name| format!(",env_key={}", quoted(name))).unwrap_or_default();
    let silence = start.config.idle_seconds.get().saturating_mul(1_000);
    start.argv.option("-c", "model_provider=\"diffsan\"");
    start.argv.option(
        "-c",
        format!(
            "model_providers.diffsan={{name=\"diffsan\",base_url={}{key},wire_api=\"responses\",\
             request_max_retries=2,stream_max_retries=2,stream_idle_timeout_ms={silence}}}",
            quoted(&url)
        ),
    );
}

/// With a key at hand codex starts from nothing, else where someone logged it in.
fn set_home(start: &mut Start<'_>) -> Result<()> {
    if start.config.proxy_url.is_some() {
        start.home = Home::Private;
    }
    if start.home == Home::Private {
        let folder = start.make_folder("home/.codex")?;
        start.set("CODEX_HOME", folder);
        return Ok(());
    }
    let named = start.env.get("CODEX_HOME").filter(|folder| start.room.is_outside(folder)).map(PathBuf::from);
    if let Some(folder) = &named {
        start.set("CODEX_HOME", folder);
    }
    let folder = named.or_else(|| start.env.home().map(|home| home.join(".codex")));
    switch_off_servers(start, folder.as_deref());
    Ok(())
}

/// A user's own MCP servers are commands too; they can only be switched off one by one.
fn switch_off_servers(start: &mut Start<'_>, folder: Option<&Path>) {
    let config = folder.and_then(|folder| std::fs::read_to_string(folder.join("config.toml")).ok());
    let config: Option<toml::Table> = config.and_then(|text| text.parse().ok());
    let servers = config.as_ref().and_then(|config| config.get("mcp_servers")).and_then(|servers| servers.as_table());
    let off: Vec<String> = servers
        .into_iter()
        .flat_map(|servers| servers.keys())
        .map(|name| format!("{}={{enabled=false}}", quoted(name)))
        .collect();
    if !off.is_empty() {
        start.argv.option("-c", format!("mcp_servers={{{}}}", off.join(",")));
    }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A line of `--json`, as far as it is read. Items of type `error` are warnings, and so is an `error` line that is
/// followed by an answer; only `turn.failed` is an end.
#[derive(Deserialize)]
#[serde(tag = "type")]
enum Line {
    #[serde(rename = "turn.completed")]
    Completed {
        #[serde(default)]
        usage: Usage,
    },
    #[serde(rename = "turn.failed")]
    Failed { error: Message },
    #[serde(rename = "error")]
    Error(Message),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    reasoning_output_tokens: Option<u64>,
}

fn read(left: &Left<'_>) -> Reading {
    let mut usage = TokenUsage::default();
    let mut failed = None;
    let mut warned = None;
    for line in left.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Completed { usage: used } => {
                usage = TokenUsage {
                    input_tokens: used.input_tokens,
                    cached_input_tokens: used.cached_input_tokens,
                    output_tokens: used.output_tokens,
                    reasoning_tokens: used.reasoning_output_tokens,
                    cost_usd: None,
                }
            }
            Line::Failed { error } => failed = Some(error.message),
            Line::Error(error) => warned = Some(error.message),
            Line::Other => {}
        }
    }
    let answer = match (left.exit_code, failed, left.file) {
        (Some(0), None, Some(text)) if !text.trim().is_empty() => Ok(text.to_owned()),
        (Some(0), None, Some(_)) => {
            Err(Trouble::Failed("its output file is empty: the model refused or said nothing".into()))
        }
        (Some(0), None, None) => Err(Trouble::Failed(left.with_said("it wrote no output file"))),
        (_, failed, _) => Err(Trouble::Failed(failed.or(warned).unwrap_or_else(|| left.said()))),
    };
    Reading { answer, enveloped: false, usage }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test prepares its own folder")]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use crate::contracts::AgentConfig;

    fn read_lines(exit_code: i32, stdout: &str, file: Option<&str>) -> Reading {
        read(&Left { exit_code: Some(exit_code), stdout, stderr: "WARNING: harmless", file })
    }

    #[test]
    fn a_custom_command_keeps_its_own_words_and_gets_the_flags_that_matter() {
        let fixture = Fixture::new(&AGENT);
        let cases = [
            ("codex", "codex exec"),
            ("codex exec", "codex exec"),
            ("npx @openai/codex e --profile ci", "npx @openai/codex e --profile ci"),
            ("codex exec --sandbox danger-full-access --yolo -C /checkout --full-auto", "codex exec"),
            ("codex exec --output-schema old.json -o old.txt --color always", "codex exec"),
        ];
        for (command, want) in cases {
            let config = AgentConfig { codex_command: Some(command.into()), ..AgentConfig::default() };
            let words = fixture.words(&config, &[]);
            let (own, added) = words.split_once(" --sandbox ").unwrap();
            assert_eq!(own, want, "{command}");
            for flag in
                ["read-only", "--color never", "--skip-git-repo-check", "--json", "-c features.shell_tool=false"]
            {
                assert!(added.contains(flag), "{command}: {added}");
            }
            assert_eq!(added.matches("--output-schema ").count(), 1);
            assert_eq!(added.matches("--output-last-message ").count(), 1);
            assert!(!words.contains("old."), "{words}");
        }
    }

    #[test]
    fn the_proxy_and_the_model_are_passed_per_invocation() {
        let fixture = Fixture::new(&AGENT);
        let config = AgentConfig {
            codex_command: Some("codex exec -m old".into()),
            model: Some("new".into()),
            proxy_url: Some("http://127.0.0.1:1/v\"1".into()),
            ..AgentConfig::default()
        };
        let words = fixture.words(&config, &[("DIFFSAN_OPENAI_API_KEY", "k")]);
        assert!(words.contains("--model new") && !words.contains("old"), "{words}");
        assert!(words.contains(r#"base_url="http://127.0.0.1:1/v\"1",env_key="DIFFSAN_OPENAI_API_KEY","#), "{words}");
        let without_key = fixture.words(&config, &[("OPENAI_API_KEY", "k")]);
        assert!(!without_key.contains("env_key"), "another key is not sent to the proxy: {without_key}");
    }

    #[test]
    fn a_logged_in_users_servers_are_switched_off() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("codex");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), "model = \"m\"\n[mcp_servers.one]\n[mcp_servers.\"t.wo\"]\n")
            .unwrap();
        let env = [("HOME", home.path().to_str().unwrap()), ("CODEX_HOME", folder.to_str().unwrap())];
        let words = Fixture::at_home(&AGENT).words(&AgentConfig::default(), &env);
        assert!(words.contains(r#"-c mcp_servers={"one"={enabled=false},"t.wo"={enabled=false}}"#), "{words}");
    }

    #[test]
    fn what_codex_left_is_read() {
        let done = r#"{"type":"turn.completed","usage":{"input_tokens":2,"output_tokens":1}}"#;
        let warned = r#"{"type":"error","message":"Reconnecting... 1/5"}"#;
        let failed = r#"{"type":"turn.failed","error":{"message":"unexpected status 401"}}"#;
        let cases = [
            (0, done.to_owned(), Some("{}"), Ok("{}")),
            (0, format!("{warned}\n{done}"), Some("{}"), Ok("{}")),
            (0, done.to_owned(), Some(" \n"), Err("its output file is empty")),
            (0, done.to_owned(), None, Err("it wrote no output file")),
            (0, failed.to_owned(), Some("{}"), Err("unexpected status 401")),
            (1, format!("{warned}\n{failed}"), None, Err("unexpected status 401")),
            (1, warned.to_owned(), None, Err("Reconnecting")),
            (2, String::new(), None, Err("WARNING: harmless")),
        ];
        for (code, stdout, file, want) in cases {
            let reading = read_lines(code, &stdout, file);
            match (reading.answer, want) {
                (Ok(text), Ok(want)) => assert_eq!(text, want),
                (Err(Trouble::Failed(said)), Err(want)) => assert!(said.starts_with(want), "{said}"),
                (got, want) => panic!("{stdout}: {got:?}, not {want:?}"),
            }
        }
        assert_eq!(read_lines(0, done, Some("{}")).usage.input_tokens, Some(2));
    }
}
