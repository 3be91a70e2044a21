//! The documentation lists what the program has: tables are rendered from the same types and compared.
//!
//! `DIFFSAN_UPDATE_DOCS=1 cargo test --test integration docs` writes them anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use diffsan::contracts::SCHEMAS;
use serde_json::{Map, Value};

/// Where a schema's definitions are.
type Definitions = Map<String, Value>;

#[test]
fn the_contract_tables_are_those_of_the_types() {
    let mut text = String::new();
    let mut known = BTreeSet::new();
    for schema in SCHEMAS {
        let root = (schema.schema)().to_value();
        let empty = Map::new();
        let definitions = root["$defs"].as_object().unwrap_or(&empty);
        let _ = writeln!(text, "## `{}`: {}\n", schema.name, schema.describes);
        text.push_str(&paragraph(&root));
        text.push_str(&table(&root, definitions));
        for (name, definition) in definitions {
            if known.insert(name.clone()) {
                let _ = writeln!(text, "### {name}\n");
                text.push_str(&paragraph(definition));
                text.push_str(&table(definition, definitions));
            }
        }
    }
    assert_generated("docs/contracts.md", "schemas", &text);
}

#[test]
fn every_configuration_key_is_documented_with_its_default() {
    let root = (SCHEMAS[0].schema)().to_value();
    let defaults = serde_json::to_value(diffsan::contracts::AppConfig::default()).unwrap();
    let mut text = "| key | default | type | meaning |\n| --- | --- | --- | --- |\n".to_owned();
    config_rows(&root, &root["$defs"], &defaults, "", &mut text);
    assert_generated("docs/configuration.md", "keys", &text);
}

#[test]
fn every_code_is_documented_in_the_words_of_explain() {
    let mut text = String::new();
    let all = diffsan::view::explain::all();
    for (kind, title) in [("error", "Errors"), ("skip", "Skips"), ("check", "Checks")] {
        let _ = writeln!(text, "## {title}\n");
        for known in all.iter().filter(|known| known.kind == kind) {
            let _ = writeln!(text, "### `{}`\n\n{}\n\nWhat to do: {}\n", known.code, known.meaning, known.what_to_do);
        }
    }
    assert_generated("docs/codes.md", "codes", &text);
}

#[test]
fn every_artifact_is_documented() {
    let text = document("docs/contracts.md");
    for artifact in diffsan::run::workdir::Artifact::ALL {
        let name = artifact.file_name().replace("attempt1", "attemptN");
        assert!(text.contains(&format!("`{name}`")), "{name} is not in docs/contracts.md");
    }
}

#[test]
fn every_event_and_its_keys_are_documented() {
    let text = document("docs/events.md");
    let source = document("src/run/events.rs");
    let names: Vec<_> = source.split("#[serde(rename = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(names.len() >= 13, "{names:?}");
    for name in names {
        assert!(text.contains(&format!("| `{name}` |")), "{name} is not in docs/events.md");
    }
}

#[test]
fn every_flag_of_every_command_is_in_the_help_and_the_documentation() {
    use clap::CommandFactory as _;
    let text = document("docs/configuration.md");
    let mut commands = vec![diffsan::cli::Cli::command()];
    commands.extend(diffsan::cli::Cli::command().get_subcommands().cloned());
    for command in commands {
        for argument in command.get_arguments() {
            if let Some(flag) = argument.get_long().filter(|flag| !["help", "version"].contains(flag)) {
                assert!(argument.get_help().is_some(), "--{flag} has no help");
                assert!(text.contains(&format!("`--{flag}")), "--{flag} is not in docs/configuration.md");
            }
        }
    }
}

#[test]
fn every_ci_example_is_a_complete_job() {
    let mut examples: Vec<String> = document("docs/gitlab-ci.md")
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect();
    examples.extend(
        document("README.md").split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()),
    );
    assert!(examples.len() >= 4);
    for kind in ["codex", "claude", "gemini", "cursor", "opencode", "builtin"] {
        let kind = <diffsan::contracts::AgentKind as clap::ValueEnum>::from_str(kind, true).unwrap();
        examples.push(diffsan::view::init::ci_job(kind));
    }
    for example in examples {
        let jobs: Value = serde_saphyr::from_str(&example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        for (name, job) in jobs.as_object().expect("jobs by name") {
            let script = job["script"].to_string();
            assert!(script.contains("diffsan "), "{name} does not run diffsan: {job}");
            assert!(job["rules"].is_array() && job["image"].is_string(), "{name}: {job}");
            let paths = job["artifacts"]["paths"].as_array().cloned().unwrap_or_default();
            for path in paths {
                let path = path.as_str().unwrap();
                assert!(!path.contains(['*', '$']) && !path.starts_with("./"), "{name}: {path} cannot be exposed");
            }
        }
    }
}

fn document(path: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn config_rows(schema: &Value, definitions: &Value, defaults: &Value, prefix: &str, text: &mut String) {
    for (name, property) in schema["properties"].as_object().expect("a table of keys") {
        let key = format!("{prefix}{name}");
        let default = &defaults[name];
        if default.is_object() {
            let section = property["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")).expect("a section");
            config_rows(&definitions[section], definitions, default, &format!("{key}."), text);
        } else {
            let kind = config_kind(property, definitions.as_object().unwrap());
            let _ = writeln!(text, "| `{key}` | `{default}` | {kind} | {} |", cell(&description(property)));
        }
    }
}

/// What a key takes: the values themselves where they are few, and no word for "unset".
fn config_kind(property: &Value, definitions: &Definitions) -> String {
    let options = property.get("anyOf").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![property.clone()]);
    let words = options.iter().filter(|option| option["type"] != "null").map(|option| {
        let path = option.get("$ref").and_then(Value::as_str);
        let named = path.map(|path| target(path, definitions)).filter(|named| named.get("oneOf").is_some());
        match named {
            Some(named) => values(named).iter().map(|(value, _)| format!("`{value}`")).collect::<Vec<_>>().join(", "),
            None => kind(option, definitions).replace(" or null", ""),
        }
    });
    words.collect::<Vec<_>>().join(" or ")
}

/// The rows of an object, or the values of an enumeration.
fn table(schema: &Value, definitions: &Definitions) -> String {
    let mut text = String::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        text.push_str("| field | type | always there | meaning |\n| --- | --- | --- | --- |\n");
        for (name, property) in properties {
            let always = if required.contains(&name.as_str()) { "yes" } else { "no" };
            let meaning = if description(property).is_empty() {
                property["$ref"].as_str().map(|path| description(target(path, definitions))).unwrap_or_default()
            } else {
                description(property)
            };
            let _ = writeln!(text, "| `{name}` | {} | {always} | {} |", kind(property, definitions), cell(&meaning));
        }
    } else {
        text.push_str("| value | meaning |\n| --- | --- |\n");
        for (value, meaning) in values(schema) {
            let _ = writeln!(text, "| `{value}` | {} |", cell(&meaning));
        }
    }
    text.push('\n');
    text
}

/// The values of an enumeration, documented or not.
fn values(schema: &Value) -> Vec<(String, String)> {
    if let Some(options) = schema.get("oneOf").and_then(Value::as_array) {
        return options
            .iter()
            .flat_map(|option| match (option.get("const"), option.get("enum")) {
                (Some(value), _) => vec![(plain(value), description(option))],
                (None, Some(_)) => values(option),
                _ => panic!("an option that is neither const nor enum: {option}"),
            })
            .collect();
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        return list.iter().map(|value| (plain(value), String::new())).collect();
    }
    if let Some(value) = schema.get("const") {
        return vec![(plain(value), description(schema))];
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        return options.iter().map(|option| (kind(option, &Map::new()), description(option))).collect();
    }
    panic!("a definition of an unknown shape: {schema:#}")
}

/// The type of a field in a few words; a shape that is not known here must be taught.
fn kind(schema: &Value, definitions: &Definitions) -> String {
    let Some(object) = schema.as_object() else {
        return match schema {
            Value::Bool(true) => "anything".into(),
            other => panic!("a schema of an unknown shape: {other}"),
        };
    };
    if let Some(path) = object.get("$ref").and_then(Value::as_str) {
        target(path, definitions);
        return path.trim_start_matches("#/$defs/").to_owned();
    }
    for combinator in ["anyOf", "oneOf"] {
        if let Some(options) = object.get(combinator).and_then(Value::as_array) {
            let words: Vec<_> = options.iter().map(|option| kind(option, definitions)).collect();
            return words.join(" or ");
        }
    }
    if object.contains_key("const") || object.contains_key("enum") {
        return values(schema).into_iter().map(|(value, _)| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    match object.get("type") {
        Some(Value::String(name)) => simple(name, object, definitions),
        Some(Value::Array(names)) => {
            let words: Vec<_> =
                names.iter().filter_map(Value::as_str).map(|name| simple(name, object, definitions)).collect();
            words.join(" or ")
        }
        None if object.keys().all(|key| key == "description" || key == "default") => "anything".into(),
        _ => panic!("a schema of an unknown shape: {schema:#}"),
    }
}

fn simple(name: &str, object: &Map<String, Value>, definitions: &Definitions) -> String {
    match name {
        "array" => format!("list of {}", kind(&object["items"], definitions)),
        "object" => match object.get("additionalProperties") {
            Some(Value::Bool(true)) => "map of anything".into(),
            Some(values) => format!("map of {}", kind(values, definitions)),
            None => panic!("an inline object: {object:?}"),
        },
        "string" => "text".into(),
        "integer" => "integer".into(),
        "number" => "number".into(),
        "boolean" => "yes/no".into(),
        "null" => "null".into(),
        other => panic!("an unknown type {other}"),
    }
}

fn target<'a>(path: &str, definitions: &'a Definitions) -> &'a Value {
    let name = path.strip_prefix("#/$defs/").unwrap_or_else(|| panic!("a reference elsewhere: {path}"));
    definitions.get(name).unwrap_or_else(|| panic!("no definition {name}"))
}

fn description(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn paragraph(schema: &Value) -> String {
    let text = description(schema);
    if text.is_empty() { text } else { format!("{text}\n\n") }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

/// Compares, or on request writes, the part of a document between its two marks.
#[track_caller]
pub(crate) fn assert_generated(document: &str, name: &str, expected: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(document);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{document}: {error}"));
    let (start, end) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end: {name} -->"));
    let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{document} lacks {start}"));
    let (found, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{document} lacks {end}"));
    if std::env::var_os("DIFFSAN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{start}\n{}\n\n{end}{after}", expected.trim())).unwrap();
    } else {
        assert!(
            found.trim() == expected.trim(),
            "{document} is not what the program says; DIFFSAN_UPDATE_DOCS=1 writes it anew"
        );
    }
}
