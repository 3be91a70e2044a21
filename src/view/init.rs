//! `diffsan init`: a commented configuration file, and the CI job to paste.

use std::fmt::Write as _;

use serde_json::Value;

use crate::contracts::{AgentKind, AppConfig};

/// A configuration file with every key commented out at its default.
pub fn config_file(agent: Option<AgentKind>) -> String {
    let schema = schemars::schema_for!(AppConfig).to_value();
    let defaults = serde_json::to_value(AppConfig::default()).unwrap_or_default();
    let mut text = "# diffsan's configuration; every key is at its default until you uncomment it.\n\
        # `diffsan config` shows what is in force and where each value comes from.\n"
        .to_owned();
    let sections = sections(&schema, &defaults);
    for section in &sections {
        if !section.name.is_empty() {
            let _ = write!(text, "\n[{}]\n", section.name);
        }
        for (key, meaning, default) in &section.keys {
            let chosen = agent.filter(|_| section.name == "agent" && key == "agent");
            let _ = writeln!(text, "# {meaning}");
            match chosen {
                Some(agent) => {
                    let _ = writeln!(text, "agent = \"{}\"", agent.name());
                }
                None => {
                    let _ = writeln!(text, "# {key} = {}", toml_value(default));
                }
            }
        }
    }
    text
}

/// The GitLab job that runs diffsan with this agent.
pub fn ci_job(agent: AgentKind) -> String {
    let (image, install, key) = match agent {
        AgentKind::Codex => ("node:22-bookworm", Some("npm install -g @openai/codex"), Some("OPENAI_API_KEY")),
        AgentKind::Claude => {
            ("node:22-bookworm", Some("npm install -g @anthropic-ai/claude-code"), Some("ANTHROPIC_API_KEY"))
        }
        AgentKind::Gemini => ("node:22-bookworm", Some("npm install -g @google/gemini-cli"), Some("GEMINI_API_KEY")),
        AgentKind::Opencode => ("node:22-bookworm", Some("npm install -g opencode-ai"), Some("your provider's key")),
        AgentKind::Cursor => {
            ("buildpack-deps:bookworm", Some("curl https://cursor.com/install -fsS | bash"), Some("CURSOR_API_KEY"))
        }
        AgentKind::Command | AgentKind::Builtin => ("buildpack-deps:bookworm", None, None),
    };
    let mut text = String::new();
    let variables = match key {
        Some(key) => format!("GITLAB_TOKEN (scope api) and {key}"),
        None => "GITLAB_TOKEN (scope api)".to_owned(),
    };
    let _ = writeln!(text, "# Add {variables} as masked CI/CD variables.");
    let _ = writeln!(
        text,
        "# The merge request's \"diffsan report\" link opens the job's artifacts; report.html is among them."
    );
    let _ = writeln!(text, "diffsan:\n  stage: test\n  image: {image}\n  variables:");
    let _ = writeln!(
        text,
        "    DIFFSAN_BINARY: tools/diffsan  # where the runner finds the program; or fetch it in before_script"
    );
    let _ = writeln!(text, "  before_script:");
    if let Some(install) = install {
        let _ = writeln!(text, "    - {install}");
    }
    let _ = write!(
        text,
        "    - install -m 755 \"$DIFFSAN_BINARY\" /usr/local/bin/diffsan\n  \
         script:\n    - diffsan --ci --agent {}\n  \
         rules:\n    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"\n  \
         allow_failure:\n    exit_codes: [1]\n  \
         artifacts:\n    when: always\n    expire_in: 1 week\n    expose_as: diffsan report\n    \
         paths:\n      - .diffsan/\n    \
         reports:\n      codequality: .diffsan/gl-code-quality-report.json\n",
        agent.name()
    );
    text
}

struct Section {
    name: String,
    keys: Vec<(String, String, Value)>,
}

fn sections(schema: &Value, defaults: &Value) -> Vec<Section> {
    let mut top = Section { name: String::new(), keys: Vec::new() };
    let mut rest = Vec::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let default = &defaults[name];
        if default.is_object() {
            let definition =
                property["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")).unwrap_or_default();
            let keys = schema["$defs"][definition]["properties"].as_object().into_iter().flatten();
            let keys = keys.map(|(key, property)| {
                let meaning = format!("{}{}", meaning(property), values(property, schema));
                (key.clone(), meaning, default[key].clone())
            });
            rest.push(Section { name: name.clone(), keys: keys.collect() });
        } else {
            top.keys.push((name.clone(), meaning(property), default.clone()));
        }
    }
    rest.insert(0, top);
    rest
}

fn meaning(property: &Value) -> String {
    property["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// TOML has no null: an empty text leaves a key unset.
fn toml_value(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".into(),
        other => other.to_string(),
    }
}

/// The values of a key that takes one of several words.
fn values(property: &Value, schema: &Value) -> String {
    let options = property["anyOf"].as_array().into_iter().flatten().chain([property]);
    let named = options.filter_map(|option| option["$ref"].as_str()?.strip_prefix("#/$defs/"));
    let words: Vec<_> = named
        .flat_map(|name| schema["$defs"][name]["oneOf"].as_array().into_iter().flatten())
        .filter_map(|option| option["const"].as_str())
        .collect();
    if words.is_empty() { String::new() } else { format!(" One of: {}.", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_valid_with_every_key_commented_out_and_with_every_key_set() {
        let text = config_file(Some(AgentKind::Codex));
        let config: AppConfig = toml::from_str(&text).unwrap();
        assert_eq!(config.agent.agent, Some(AgentKind::Codex));
        let all: String = text
            .lines()
            .map(|line| match line.strip_prefix("# ") {
                Some(rest)
                    if rest
                        .split_once(" = ")
                        .is_some_and(|(key, _)| key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')) =>
                {
                    format!("{rest}\n")
                }
                _ => format!("{line}\n"),
            })
            .collect();
        let table: toml::Table = toml::from_str(&all).unwrap();
        assert!(table.len() > 10, "{all}");
    }
}
