//! What the agent asked to read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the agent read beyond the change, all passes together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextTotals {
    /// Calls that were answered.
    pub calls: u64,
    /// Calls after the budget was used up.
    pub refused: u64,
    /// Files that were read.
    pub files: u64,
    /// Bytes of all answers.
    pub bytes: u64,
    /// Secrets that were replaced in them.
    pub redactions: u64,
}

/// One call of a reading tool: a line of `context.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextCall {
    /// When it was answered.
    pub ts: String,
    /// The pass that asked: its number from 1, or `look` for the second look.
    pub pass: String,
    /// The tool's name as the agent wrote it.
    pub tool: String,
    /// Its arguments, clipped, without secrets.
    pub arguments: Map<String, Value>,
    /// Lines, hits or paths in the answer.
    pub lines: u64,
    /// Bytes of the answer.
    pub bytes: u64,
    /// Secrets that were replaced in it.
    pub redactions: u64,
    /// Milliseconds until it was there.
    pub duration_ms: u64,
    /// What the agent was told instead of an answer.
    #[serde(default)]
    pub error: Option<String>,
}
