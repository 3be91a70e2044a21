//! The machine contract: everything a script or an agent needs to drive diffsan, as one document.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything a script needs to drive diffsan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineContract {
    /// Version of diffsan.
    pub version: String,
    /// The commands; `review` is the one that runs without a name.
    pub commands: Vec<ContractCommand>,
    pub exit_codes: Vec<ContractExitCode>,
    /// Files of a workdir.
    pub artifacts: Vec<ContractArtifact>,
    /// Events of `events.jsonl`.
    pub events: Vec<ContractEvent>,
    /// Why a run fails.
    pub error_codes: Vec<ContractCode>,
    /// Why no review is due.
    pub skip_codes: Vec<ContractCode>,
    /// Why a finding was rejected, or lost its place.
    pub rejection_codes: Vec<ContractCode>,
    /// Every configuration key.
    pub config_keys: Vec<ContractKey>,
    /// JSON Schemas by name, draft 2020-12.
    pub schemas: BTreeMap<String, Value>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContractCommand {
    pub name: String,
    pub about: String,
    pub arguments: Vec<ContractArgument>,
}

/// One argument of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContractArgument {
    /// `--name`, or the name of a positional argument.
    pub name: String,
    /// `-n`, where there is a short form.
    pub short: Option<String>,
    /// What stands for its value in the help; null for a switch.
    pub value: Option<String>,
    /// The values that it takes, where they are few.
    pub values: Vec<String>,
    pub required: bool,
    /// It may be given several times, or takes several values.
    pub many: bool,
    pub about: String,
}

/// One exit code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContractExitCode {
    pub code: u8,
    pub meaning: String,
}

/// One file of a workdir.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContractArtifact {
    /// File name; numbered files by their first.
    pub file: String,
    /// Name of its schema in `schemas`; null for texts and foreign formats.
    pub schema: Option<String>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContractEvent {
    pub name: String,
    /// Keys of its `data`.
    pub keys: Vec<String>,
}

/// One stable code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContractCode {
    pub code: String,
    pub meaning: String,
    pub what_to_do: String,
}

/// One configuration key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContractKey {
    /// Dotted.
    pub key: String,
    /// The variable that sets it.
    pub variable: String,
    pub default: Value,
    pub about: String,
    /// It starts a program or says where keys, tokens and text go: see `diffsan trust`.
    pub guarded: bool,
}
