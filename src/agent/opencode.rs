//! opencode.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::login::{self, Handed, Login, Own};
use super::{Agent, Left, Reading, Start, Tested, Trouble, system};
use crate::contracts::{AgentKind, TokenUsage};
use crate::error::{Error, Failure, Result};

pub(super) const AGENT: Agent = Agent {
    kind: AgentKind::Opencode,
    programs: &["opencode"],
    install: "install opencode (npm install -g opencode-ai) and set its provider's key, or choose another agent with agent.agent",
    custom: |config| config.opencode_command.as_deref(),
    tested: Some(Tested { package: "opencode-ai", oldest: "1.18.33", newest: "1.18.33" }),
    keys: &[
        "ANTHROPIC_API_KEY",
        "DEEPSEEK_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "OPENAI_API_KEY",
        "OPENCODE_API_KEY",
        "OPENROUTER_API_KEY",
        "XAI_API_KEY",
    ],
    variables: &["OPENCODE_AUTH_CONTENT"],
    login,
    max_prompt: None,
    structured: false,
    repairs: true,
    reports_progress: true,
    prepare,
    answer_file: None,
    done: Some(is_done),
    sealed: true,
    own_tools: &[],
    own_with_eyes: &[],
    read,
};

/// Where its user's own settings can stand in the environment.
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";

/// No settings, plugins, skills or rules of a project, no downloads that can be avoided.
const VARIABLES: &[&str] = &[
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_PURE",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_CLAUDE_CODE_PROMPT",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_SHARE",
    "OPENCODE_DISABLE_TERMINAL_TITLE",
];

/// The agent of ours that it starts with.
const REVIEWER: &str = "diffsan";

fn prepare(start: &mut Start<'_>) -> Result<()> {
    let argv = &mut start.argv;
    if !argv.has_word(&["run"]) {
        argv.add("run");
    }
    argv.drop_flags(&["--auto", "--continue", "-c", "--share", "--interactive", "-i"]);
    argv.drop_options(&["--dir", "--attach", "--session", "-s", "--file", "-f", "--command", "--port"]);
    argv.set(&["--agent"], REVIEWER);
    argv.set(&["--format"], "json");
    // Without a title it asks the model for one.
    argv.set(&["--title"], "review");
    start.set_model(&["--model", "-m"]);
    keep_one_login(start);
    let config = config(start)?;
    start.set(CONFIG, config.to_string());
    for name in VARIABLES {
        start.set(name, "1");
    }
    // It would fetch a package for plugins into each new home.
    start.set("npm_config_offline", "true");
    if let Some(effort) = start.config.effort.name() {
        start.argv.set(&["--variant"], effort);
    }
    Ok(())
}

/// What its login left, which it takes from a variable as well.
fn login(own: &Own) -> Option<(Login, Handed)> {
    let path = own.path(Some(("XDG_DATA_HOME", "opencode/auth.json")), ".local/share/opencode/auth.json");
    let text = login::json(&path)?.to_string();
    Some((Login::File(path), Handed::variable("OPENCODE_AUTH_CONTENT", &text)))
}

/// Of a user's own logins only the one of the model's provider is handed over.
fn keep_one_login(start: &mut Start<'_>) {
    let Some(model) = start.argv.value(&["--model", "-m"]) else { return };
    let provider = model.split('/').next().unwrap_or_default();
    for (_, value) in start.set.iter_mut().filter(|(name, _)| *name == "OPENCODE_AUTH_CONTENT") {
        let logins: Option<Map<String, Value>> = value.to_str().and_then(|text| serde_json::from_str(text).ok());
        let kept: Map<_, _> = logins.into_iter().flatten().filter(|(name, _)| name == provider).collect();
        *value = Value::from(kept).to_string().into();
    }
}

/// The last step ended, and not to call a tool.
fn is_done(stdout: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stdout);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    match last.and_then(|line| serde_json::from_str(line).ok()) {
        Some(Line::StepFinish { part }) => part.reason != "tool-calls",
        _ => false,
    }
}

/// The user's settings with every tool denied: without that it runs commands unasked.
fn config(start: &Start<'_>) -> Result<Value> {
    let mut config: Map<String, Value> = match start.env.get(CONFIG) {
        None => Map::new(),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| Error::Config(Failure::new(format!("{CONFIG} is not a JSON object")).caused_by(&error)))?,
    };
    const ACTING: [&str; 14] = [
        "agent",
        "command",
        "default_agent",
        "experimental",
        "hooks",
        "instructions",
        "lsp",
        "formatter",
        "mcp",
        "mode",
        "plugin",
        "skills",
        "tools",
        "watcher",
    ];
    config.retain(|name, _| !ACTING.contains(&name.as_str()));
    let permission = match start.eyes_command() {
        None => json!({"*": "deny"}),
        Some((command, args)) => {
            let command: Vec<_> = std::iter::once(command.as_str()).chain(args.iter().map(String::as_str)).collect();
            let server = json!({"type": "local", "command": command, "environment": start.eyes_env(), "enabled": true});
            config.insert("mcp".into(), json!({"repo": server}));
            json!({"*": "deny", "repo_*": "allow"})
        }
    };
    let reviewer = json!({"mode": "primary", "prompt": system::prompt(start), "permission": permission});
    config.insert("agent".into(), json!({REVIEWER: reviewer}));
    config.insert("permission".into(), permission);
    config.insert("share".into(), "disabled".into());
    config.insert("autoupdate".into(), false.into());
    Ok(config.into())
}

/// A line of its output, as far as it is read.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Text {
        part: Text,
    },
    StepFinish {
        part: Step,
    },
    Error {
        error: Failed,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    tokens: Tokens,
    #[serde(default)]
    cost: f64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input: u64,
    output: u64,
    reasoning: u64,
    cache: Cache,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cache {
    read: u64,
    write: u64,
}

#[derive(Deserialize)]
struct Failed {
    #[serde(default)]
    name: String,
    #[serde(default)]
    data: FailedData,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FailedData {
    message: String,
}

fn read(left: &Left<'_>) -> Reading {
    let (mut usage, mut requests) = (TokenUsage::default(), Vec::new());
    let (mut texts, mut reason, mut failed) = (Vec::new(), String::new(), None);
    for line in left.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Text { part } => texts.push(part.text),
            Line::StepFinish { part } => {
                usage.add(&part.usage());
                requests.push(part.usage());
                reason = part.reason;
            }
            Line::Error { error } if error.data.message.is_empty() => failed = Some(error.name),
            Line::Error { error } if error.data.message.starts_with("Unexpected server error") => {
                failed =
                    Some(format!("{} (it says so of a model or provider that it does not know)", error.data.message));
            }
            Line::Error { error } => failed = Some(error.data.message),
            Line::Other => {}
        }
    }
    let answer = match (left.exit_code, failed) {
        (Some(0), None) if reason == "length" => {
            Err(Trouble::Unusable("the answer was cut off at the model's output limit".into()))
        }
        (Some(0), None) if texts.is_empty() => Err(Trouble::Unusable(left.with_said("the answer is empty"))),
        (Some(0), None) => Ok(texts.join("\n")),
        (_, failed) => Err(Trouble::Failed(failed.unwrap_or_else(|| left.said()))),
    };
    Reading { answer, enveloped: true, usage, requests }
}

impl Step {
    fn usage(&self) -> TokenUsage {
        let Tokens { input, output, reasoning, cache } = &self.tokens;
        TokenUsage {
            input_tokens: Some(input + cache.read + cache.write),
            cached_input_tokens: Some(cache.read),
            output_tokens: Some(*output),
            reasoning_tokens: Some(*reasoning),
            // Nothing is known of the price of a model outside its catalogue.
            cost_usd: Some(self.cost).filter(|cost| *cost > 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use crate::contracts::AgentConfig;

    #[test]
    fn what_opencode_left_is_read() {
        let text = r#"{"type":"text","part":{"text":"words"}}"#;
        let step =
            |reason: &str| format!(r#"{{"type":"step_finish","part":{{"reason":"{reason}","tokens":{{"input":2}}}}}}"#);
        let error = r#"{"type":"error","error":{"name":"APIError","data":{"message":"bad key"}}}"#;
        let cut = "the answer was cut off at the model's output limit";
        let cases = [
            (0, format!("{text}\n{}", step("stop")), Ok("words")),
            (0, format!("{text}\n{}", step("length")), Err(Trouble::Unusable(cut.into()))),
            (0, step("stop"), Err(Trouble::Unusable("the answer is empty; it said: why".into()))),
            (1, error.to_owned(), Err(Trouble::Failed("bad key".into()))),
            (0, format!("{text}\n{error}"), Err(Trouble::Failed("bad key".into()))),
            (1, String::new(), Err(Trouble::Failed("why".into()))),
        ];
        for (code, stdout, want) in cases {
            let got =
                read(&Left { exit_code: Some(code), lingered: false, stdout: &stdout, stderr: "why", file: None });
            assert_eq!(got.answer, want.map(str::to_owned), "{stdout}");
        }
    }

    #[test]
    fn the_users_providers_stay_and_everything_that_acts_goes() {
        let own = r#"{"provider":{"p":{}},"mcp":{"m":{}},"plugin":["x"],"permission":{"bash":"allow"}}"#;
        let variables = [(CONFIG, own)];
        let config = Fixture::new(&AGENT).variable(&AgentConfig::default(), &variables, CONFIG);
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["provider"], json!({"p": {}}));
        assert_eq!(config["permission"], json!({"*": "deny"}));
        assert_eq!(config["agent"]["diffsan"]["permission"], json!({"*": "deny"}));
        assert!(config.get("mcp").is_none() && config.get("plugin").is_none(), "{config}");
    }
}
