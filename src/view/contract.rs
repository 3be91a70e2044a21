//! `diffsan contract`: the machine contract, made from the types themselves.

use schemars::schema_for;
use serde_json::Value;

use super::explain::{self, Explanation};
use crate::contracts::{
    AppConfig, CheckCode, ContractArgument, ContractArtifact, ContractCode, ContractCommand, ContractEvent,
    ContractExitCode, ContractKey, Document, ErrorCode, MachineContract, SCHEMAS, SkipCode,
};
use crate::error::EXIT_CODES;
use crate::policy::guarded;
use crate::run::events::Event;
use crate::run::workdir::Artifact;

/// The whole contract of this build.
pub fn contract(cli: &clap::Command) -> MachineContract {
    MachineContract {
        version: crate::VERSION.into(),
        commands: commands(cli),
        exit_codes: EXIT_CODES
            .iter()
            .map(|(code, meaning)| ContractExitCode { code: *code, meaning: (*meaning).to_owned() })
            .collect(),
        artifacts: Artifact::ALL.iter().map(|artifact| artifact_of(artifact.file_name())).collect(),
        events: events(),
        error_codes: codes(ErrorCode::ALL.iter().map(|code| code.name())),
        skip_codes: codes(SkipCode::ALL.iter().map(|code| code.name())),
        rejection_codes: codes(CheckCode::ALL.iter().map(|code| code.name())),
        config_keys: keys(),
        schemas: SCHEMAS.iter().map(|known| (known.name.to_owned(), (known.schema)().to_value())).collect(),
    }
}

/// The contract as it is printed.
pub fn contract_text(cli: &clap::Command) -> String {
    let document = Document::new(contract(cli));
    format!("{:#}\n", serde_json::to_value(&document).unwrap_or_default())
}

fn commands(cli: &clap::Command) -> Vec<ContractCommand> {
    let visible = cli.get_subcommands().filter(|command| !command.is_hide_set());
    visible
        .map(|command| ContractCommand {
            name: command.get_name().to_owned(),
            about: command.get_about().map(ToString::to_string).unwrap_or_default(),
            arguments: command.get_arguments().filter(|argument| !argument.is_hide_set()).map(argument).collect(),
        })
        .collect()
}

fn argument(argument: &clap::Arg) -> ContractArgument {
    let takes_value = argument.get_action().takes_values();
    let names = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    ContractArgument {
        name: match argument.get_long() {
            Some(long) => format!("--{long}"),
            None => names.clone().unwrap_or_else(|| argument.get_id().to_string().to_uppercase()),
        },
        short: argument.get_short().map(|short| format!("-{short}")),
        value: takes_value.then(|| names.unwrap_or_else(|| argument.get_id().to_string().to_uppercase())),
        values: match takes_value {
            true => argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
            false => Vec::new(),
        },
        required: argument.is_required_set(),
        many: matches!(argument.get_action(), clap::ArgAction::Append)
            || argument.get_num_args().is_some_and(|range| range.max_values() > 1),
        about: argument.get_help().map(ToString::to_string).unwrap_or_default(),
    }
}

fn artifact_of(file: String) -> ContractArtifact {
    let describes = |known: &&crate::contracts::NamedSchema| known.describes.split(',').next() == Some(file.as_str());
    let schema = SCHEMAS.iter().find(describes).map(|known| known.name.to_owned());
    ContractArtifact { file, schema }
}

/// The events by the schema of their type: each variant has a constant name and the keys of its data.
fn events() -> Vec<ContractEvent> {
    let schema = schema_for!(Event).to_value();
    let variants = schema["oneOf"].as_array().cloned().unwrap_or_default();
    variants
        .iter()
        .filter_map(|variant| {
            let name = variant["properties"]["event"]["const"].as_str()?.to_owned();
            let data = variant["properties"]["data"]["properties"].as_object();
            Some(ContractEvent { name, keys: data.map(|data| data.keys().cloned().collect()).unwrap_or_default() })
        })
        .collect()
}

fn codes<'a>(names: impl Iterator<Item = &'a str>) -> Vec<ContractCode> {
    let explained = |Explanation { code, meaning, what_to_do, .. }: Explanation| ContractCode {
        code: code.to_owned(),
        meaning: meaning.to_owned(),
        what_to_do: what_to_do.to_owned(),
    };
    names.filter_map(explain::code).map(explained).collect()
}

fn keys() -> Vec<ContractKey> {
    let defaults = serde_json::to_value(AppConfig::default()).unwrap_or_default();
    let schema = schema_for!(AppConfig).to_value();
    let mut keys = Vec::new();
    crate::config::walk(&defaults, &mut Vec::new(), &mut |path, default| {
        let key = path.join(".");
        keys.push(ContractKey {
            variable: format!("DIFFSAN_{}", path.join("__").to_uppercase()),
            default: default.clone(),
            about: about(&schema, path),
            guarded: guarded::is_guarded(&key),
            key,
        });
    });
    keys
}

/// What the schema says about a key.
fn about(schema: &Value, path: &[String]) -> String {
    let mut place = schema.clone();
    for part in path {
        let inner = match place["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
            Some(pointer) => schema.pointer(pointer).cloned().unwrap_or_default(),
            None => place,
        };
        place = inner["properties"][part.as_str()].clone();
    }
    place["description"].as_str().unwrap_or_default().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn made() -> MachineContract {
        contract(&crate::cli::Cli::command())
    }

    #[test]
    fn the_contract_fits_its_own_schema_and_lists_everything_there_is() {
        let contract = made();
        let value = serde_json::to_value(Document::new(&contract)).expect("json");
        let schema = crate::contracts::schema("contract").expect("a schema").to_value();
        let validator = jsonschema::validator_for(&schema).expect("a validator");
        let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(contract.artifacts.len(), Artifact::ALL.len());
        assert_eq!(contract.error_codes.len(), ErrorCode::ALL.len());
        assert_eq!(contract.skip_codes.len(), SkipCode::ALL.len());
        assert_eq!(contract.rejection_codes.len(), CheckCode::ALL.len());
        assert_eq!(contract.schemas.len(), SCHEMAS.len());
    }

    #[test]
    fn commands_events_keys_and_artifacts_are_told_in_full() {
        let contract = made();
        let review = contract.commands.iter().find(|command| command.name == "review").expect("review");
        let fail_on = review.arguments.iter().find(|argument| argument.name == "--fail-on").expect("--fail-on");
        assert!(fail_on.values.contains(&"critical".to_owned()) && !fail_on.about.is_empty());
        assert!(contract.commands.iter().any(|command| command.name == "contract"));
        let finished = contract.events.iter().find(|event| event.name == "run.finished").expect("run.finished");
        assert_eq!(finished.keys, ["ok", "skipped", "duration_ms", "exit_code"]);
        for key in &contract.config_keys {
            assert!(!key.about.is_empty(), "{} says nothing", key.key);
        }
        let command = contract.config_keys.iter().find(|key| key.key == "agent.command").expect("agent.command");
        assert!(command.guarded && command.variable == "DIFFSAN_AGENT__COMMAND");
        let run = contract.artifacts.iter().find(|artifact| artifact.file == "run.json").expect("run.json");
        assert_eq!(run.schema.as_deref(), Some("run"));
        let events = contract.artifacts.iter().find(|artifact| artifact.file == "events.jsonl").expect("events");
        assert_eq!(events.schema.as_deref(), Some("event"));
    }
}
