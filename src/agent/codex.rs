//! OpenAI's Codex CLI: `codex exec`, with the schema in a file and the answer in another.

use serde::Deserialize;
use serde_json::{Value, json};

use super::login::{self, Handed, Login, Own};
use super::{Agent, Left, Limit, Reading, Start, Tested, Trouble, system};
use crate::contracts::{AgentKind, TokenUsage};
use crate::error::{Error, Failure, Result};

pub(super) const AGENT: Agent = Agent {
    kind: AgentKind::Codex,
    programs: &["codex"],
    install: "install Codex (npm install -g @openai/codex) and set OPENAI_API_KEY, or choose another agent with agent.agent",
    custom: |config| config.codex_command.as_deref(),
    tested: Some(Tested { package: "@openai/codex", oldest: "0.166.0", newest: "0.166.0" }),
    keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    variables: &[],
    login,
    max_prompt: Some(Limit::Chars(1_048_576)),
    structured: true,
    repairs: false,
    reports_progress: true,
    prepare,
    answer_file: Some(ANSWER_FILE),
    done: Some(is_done),
    sealed: true,
    own_tools: &[],
    // They ask diffsan's server, which has no resources.
    own_with_eyes: &["list_mcp_resource_templates", "list_mcp_resources", "read_mcp_resource"],
    read,
};

const CATALOGUE_FILE: &str = "codex-models.json";
const SCHEMA_FILE: &str = "codex-output-schema.json";
const ANSWER_FILE: &str = "codex-output.json";
/// Key for `agent.proxy_url`.
pub(super) const PROXY_KEY: &str = "DIFFSAN_OPENAI_API_KEY";

/// No tools, no project files, no plugins, no telemetry; versions that do not know one of these only warn.
const SETTINGS: &[&str] = &[
    "features.shell_tool=false",
    "features.unified_exec=false",
    "features.view_image=false",
    "features.multi_agent=false",
    "features.goals=false",
    "features.apps=false",
    "features.plugins=false",
    // Else it waits for a server that cannot be reached for as long as it lives.
    "features.unbounded_connection_retries=false",
    "web_search=\"disabled\"",
    "project_doc_max_bytes=0",
    "skills.include_instructions=false",
    "skills.bundled.enabled=false",
    "shell_environment_policy.inherit=\"none\"",
    "history.persistence=\"none\"",
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
    "include_permissions_instructions=false",
    "include_environment_context=false",
    "tools.experimental_request_user_input={enabled=false}",
];

fn prepare(start: &mut Start<'_>) -> Result<()> {
    let schema_file = start.write(SCHEMA_FILE, &start.schema.to_string())?;
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
    let catalogue = start.write(CATALOGUE_FILE, &catalogue(start)?.to_string())?;
    start.argv.option("-c", format!("model_catalog_json={}", quoted(&catalogue.to_string_lossy())));
    if let Some(effort) = start.config.effort.name() {
        // Its highest step has a name of its own.
        let effort = if effort == "max" { "xhigh" } else { effort };
        start.argv.option("-c", format!("model_reasoning_effort={}", quoted(effort)));
    }
    hand_over_keys(start);
    start.make_folder("home/.codex")?;
    start.set("CODEX_HOME", start.home().join(".codex"));
    if let Some(server) = server(start) {
        start.write("home/.codex/config.toml", &server)?;
    }
    Ok(())
}

/// Every model that the program knows, and the one that is asked for, without tools and with our words. A model of the
/// program's own catalogue is offered a shell, a patch tool, sub-agents; no switch takes them away.
fn catalogue(start: &Start<'_>) -> Result<Value> {
    let system = system::prompt(start);
    let known = start.catalogue.and_then(|list| list.get("models")).and_then(Value::as_array);
    let mut models = known.cloned().unwrap_or_default();
    let asked = start.argv.value(&["--model", "-m"]);
    if let Some(model) = &asked
        && !models.iter().any(|known| known["slug"] == model.as_str())
    {
        models.push(unknown_model(model));
    }
    if models.is_empty() {
        return Err(Error::Config(
            Failure::new("codex does not list its models, so the one it would use cannot be kept from acting")
                .help("name one with agent.model"),
        ));
    }
    for model in models.iter_mut().filter_map(Value::as_object_mut) {
        for (key, value) in [
            ("tool_mode", json!("direct")),
            ("shell_type", json!("disabled")),
            ("apply_patch_tool_type", Value::Null),
            ("multi_agent_version", Value::Null),
            ("experimental_supported_tools", json!([])),
            ("model_messages", Value::Null),
            ("supports_search_tool", json!(false)),
            ("node_repl_disabled", json!(true)),
            ("include_skills_usage_instructions", json!(false)),
            ("include_plugin_usage_instructions", json!(false)),
            ("include_apps_usage_instructions", json!(false)),
            ("base_instructions", json!(system)),
            ("truncation_policy", json!({"mode": "tokens", "limit": 16_000})),
        ] {
            model.insert(key.into(), value);
        }
    }
    Ok(json!({"models": models}))
}

/// A model that codex has never heard of: one behind a gateway, or newer than the program.
fn unknown_model(name: &str) -> Value {
    let levels = ["minimal", "low", "medium", "high", "xhigh"];
    let levels: Vec<_> = levels.iter().map(|level| json!({"effort": level, "description": level})).collect();
    json!({
        "slug": name, "display_name": name, "description": name,
        "default_reasoning_level": null, "supported_reasoning_levels": levels,
        "visibility": "list", "supported_in_api": true, "priority": 99,
        "additional_speed_tiers": [], "service_tiers": [], "availability_nux": null, "upgrade": null,
        "supports_reasoning_summaries": false, "default_reasoning_summary": "none",
        "support_verbosity": false, "default_verbosity": null, "web_search_tool_type": "text",
        "supports_parallel_tool_calls": true, "supports_image_detail_original": false,
        "context_window": 272_000, "max_context_window": 872_000, "effective_context_window_percent": 95,
        "input_modalities": ["text"], "use_responses_lite": false,
        "supports_reasoning_effort_updates": false, "supports_experimental_context": false,
        "node_repl_auto_review_required": false,
    })
}

/// diffsan's server in codex's own file: what it tells the server stays out of the command line.
fn server(start: &Start<'_>) -> Option<String> {
    let (command, args) = start.eyes_command()?;
    let words = |words: Vec<&str>| words.into_iter().map(quoted).collect::<Vec<_>>().join(",");
    let env = start.eyes.into_iter().flat_map(|eyes| &eyes.env);
    let env: Vec<_> = env.map(|(name, value)| format!("{}={}", quoted(name), quoted(value))).collect();
    Some(format!(
        "[mcp_servers.repo]\ncommand = {}\nargs = [{}]\nenv = {{{}}}\nenabled_tools = [{}]\n\
         default_tools_approval_mode = \"approve\"\nrequired = true\n",
        quoted(&command),
        words(args.iter().map(String::as_str).collect()),
        env.join(","),
        words(start.eyes?.tools.to_vec()),
    ))
}

/// The tokens of a login without the one that renews them: a renewed login would be lost, and the user logged out.
fn login(own: &Own) -> Option<(Login, Handed)> {
    let path = own.path(Some(("CODEX_HOME", "auth.json")), ".codex/auth.json");
    let mut file = login::json(&path)?;
    if let Some(key) = file["OPENAI_API_KEY"].as_str().filter(|key| !key.is_empty()) {
        let handed = Handed::variable("CODEX_API_KEY", key);
        return Some((Login::File(path), handed));
    }
    let tokens = file.get_mut("tokens").and_then(Value::as_object_mut)?;
    tokens.insert("refresh_token".into(), "".into());
    // It renews by the age of the last time, not by the age of the token.
    file["last_refresh"] = crate::run::clock::text(crate::run::clock::now()).into();
    Some((Login::File(path), Handed::file(".codex/auth.json", file.to_string())))
}

/// The turn is over.
fn is_done(stdout: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stdout);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    matches!(last.and_then(|line| serde_json::from_str(line).ok()), Some(Line::Completed { .. } | Line::Failed { .. }))
}

/// `codex exec` reads neither OPENAI_API_KEY nor OPENAI_BASE_URL, so they reach it in the form it does read.
fn hand_over_keys(start: &mut Start<'_>) {
    let openai_key = start.env.get("OPENAI_API_KEY").filter(|_| start.env.get("CODEX_API_KEY").is_none());
    if let Some(key) = openai_key {
        start.set("CODEX_API_KEY", key);
    }
    let has_key =
        start.env.get("CODEX_API_KEY").is_some() || start.set.iter().any(|(name, _)| *name == "CODEX_API_KEY");
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
    #[serde(rename = "item.completed")]
    Item { item: Item },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    AgentMessage {
        text: String,
    },
    #[serde(other)]
    Other,
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
    let (mut failed, mut warned, mut message) = (None, None, None);
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
            Line::Item { item: Item::AgentMessage { text } } => message = Some(text),
            Line::Item { .. } | Line::Other => {}
        }
    }
    // It writes the file at its very end, which may be what it never came to.
    let file = left.file.or(message.as_deref().filter(|_| left.lingered));
    let answer = match (left.exit_code, failed, file) {
        (Some(0), None, Some(text)) if !text.trim().is_empty() => Ok(text.to_owned()),
        (Some(0), None, Some(_)) => {
            Err(Trouble::Failed("its output file is empty: the model refused or said nothing".into()))
        }
        (Some(0), None, None) => Err(Trouble::Failed(left.with_said("it wrote no output file"))),
        (_, failed, _) => Err(Trouble::Failed(failed.or(warned).unwrap_or_else(|| left.said()))),
    };
    Reading { answer, enveloped: false, usage, requests: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use crate::contracts::AgentConfig;

    fn read_lines(exit_code: i32, stdout: &str, file: Option<&str>) -> Reading {
        read(&Left { exit_code: Some(exit_code), lingered: false, stdout, stderr: "WARNING: harmless", file })
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
