//! How the agent was asked, how it ran, and what held of its answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{AgentKind, Anchoring, Verbosity};
use super::diff::TruncationReport;
use super::review::{Finding, Fingerprint, TokenUsage};

/// Facts about the prompt; its text is `prompt.txt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRequest {
    pub meta: AgentRequestMeta,
}

/// Facts about the prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRequestMeta {
    /// Fingerprint of the diff in it.
    pub fingerprint: Fingerprint,
    /// What was left out of it.
    pub truncation: TruncationReport,
    /// A secret was removed from it.
    pub redaction_found: bool,
    /// Agent it was written for.
    pub agent: AgentKind,
    /// How much the review should say.
    pub verbosity: Verbosity,
    /// Review lenses.
    pub skills: Vec<String>,
    /// Model the agent is asked to use.
    pub model: Option<String>,
    /// It has project guidance.
    pub custom_instructions_present: bool,
    /// File the project guidance came from.
    pub custom_instructions_file: Option<String>,
    /// Which wording the prompt has; 0.1.0's was 1.
    #[serde(default = "first_prompt")]
    pub prompt_version: u32,
}

fn first_prompt() -> u32 {
    1
}

/// How the agent ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRun {
    /// Agent that ran.
    pub agent: AgentKind,
    /// Version it reported.
    #[serde(default)]
    pub version: Option<String>,
    /// Model it was asked to use.
    pub model: Option<String>,
    /// Its command line, secrets removed.
    pub argv: Vec<String>,
    /// Names of the variables it could see.
    pub env_names: Vec<String>,
    /// Each time it was started.
    pub attempts: Vec<AgentAttempt>,
    /// What it reported it used, over all attempts.
    pub token_usage: TokenUsage,
    /// Each pass and look by itself.
    #[serde(default)]
    pub calls: Vec<AgentCall>,
}

/// One question to an agent, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCall {
    /// `review`, `pass 2` or `second look`.
    pub part: String,
    /// Agent that was asked.
    pub agent: AgentKind,
    /// Model it was asked to use.
    #[serde(default)]
    pub model: Option<String>,
    /// How often it was started.
    pub attempts: u64,
    /// Requests it made to its model, where it tells them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Milliseconds.
    pub duration_ms: u64,
    /// What it reported it used.
    pub token_usage: TokenUsage,
    /// Why there is no answer; absent when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One time the agent was started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentAttempt {
    /// Counts from 1.
    pub attempt: u32,
    /// Its exit code; null after a signal or a deadline.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// A deadline ended it.
    pub timed_out: bool,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    pub ended_at: String,
    /// Milliseconds.
    pub duration_ms: u64,
    /// Bytes it wrote to stdout.
    pub stdout_bytes: u64,
    /// Bytes it wrote to stderr.
    pub stderr_bytes: u64,
    /// Its answer was valid.
    pub valid: bool,
    /// How the answer was found in the output: `strict`, `envelope`, `extracted`, `repaired`.
    #[serde(default)]
    pub rung: Option<String>,
    /// Why there is no valid answer.
    pub error: Option<String>,
    /// What it reported it used.
    #[serde(default)]
    pub token_usage: TokenUsage,
    /// The same for each request it made to its model, where it tells them apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<TokenUsage>,
}

/// What held of the agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// How strictly quotes and anchors were taken.
    pub anchoring: Anchoring,
    /// Findings that hold.
    pub accepted: Vec<AcceptedFinding>,
    /// Findings that do not, with the reason.
    pub rejected: Vec<RejectedFinding>,
}

/// A finding that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedFinding {
    /// Its place in the agent's list, from 0.
    pub index: u32,
    /// Its id.
    pub finding_id: String,
    /// File and lines as accepted.
    pub path: String,
    pub line_start: u32,
    pub line_end: u32,
    /// It stands on lines of the diff.
    pub placed: bool,
    /// What was corrected, and what it could not cite.
    pub notes: Vec<CheckNote>,
}

/// A finding that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectedFinding {
    /// Its place in the agent's list, from 0.
    pub index: u32,
    /// File as the agent named it, clipped.
    pub path: String,
    /// Why it was rejected.
    pub reason: CheckNote,
    /// The finding itself, where the second look dropped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Box<Finding>>,
}

/// One thing the checks saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckNote {
    /// Stable name.
    pub code: CheckCode,
    /// In words.
    pub message: String,
}

/// Stable names of what the checks see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CheckCode {
    /// The same finding stands in the answer twice.
    Duplicate,
    /// The finding says nothing.
    EmptyBody,
    /// The path leaves the repository.
    PathOutside,
    /// The path was normalised.
    PathNormalised,
    /// The diff does not touch this file.
    FileNotInDiff,
    /// The diff does not contain these lines.
    LineNotInDiff,
    /// The line numbers cannot be.
    LineImpossible,
    /// The range was reversed or cut down.
    RangeAdjusted,
    /// The quoted line stands elsewhere; the numbers were corrected.
    LineCorrected,
    /// The quoted line stands nowhere in the diff.
    QuoteNotFound,
    /// The quoted line stands in several places.
    QuoteAmbiguous,
    /// The cited anchor does not exist.
    AnchorNotFound,
    /// The cited anchor belongs to another file or place.
    AnchorMismatch,
    /// It cites and quotes nothing in the diff.
    NotAnchored,
    /// Of 0.1.0, which took ids that an agent gave: this one was malformed or taken.
    IdDerived,
    /// The second look disproved it.
    Refuted,
    /// The second look found that nobody would act on it.
    Trivial,
    /// The second look neither confirmed nor disproved it.
    NotConfirmed,
}

impl CheckCode {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Duplicate,
        Self::EmptyBody,
        Self::PathOutside,
        Self::PathNormalised,
        Self::FileNotInDiff,
        Self::LineNotInDiff,
        Self::LineImpossible,
        Self::RangeAdjusted,
        Self::LineCorrected,
        Self::QuoteNotFound,
        Self::QuoteAmbiguous,
        Self::AnchorNotFound,
        Self::AnchorMismatch,
        Self::NotAnchored,
        Self::IdDerived,
        Self::Refuted,
        Self::Trivial,
        Self::NotConfirmed,
    ];

    /// The name as the contract spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "DUPLICATE",
            Self::EmptyBody => "EMPTY_BODY",
            Self::PathOutside => "PATH_OUTSIDE",
            Self::PathNormalised => "PATH_NORMALISED",
            Self::FileNotInDiff => "FILE_NOT_IN_DIFF",
            Self::LineNotInDiff => "LINE_NOT_IN_DIFF",
            Self::LineImpossible => "LINE_IMPOSSIBLE",
            Self::RangeAdjusted => "RANGE_ADJUSTED",
            Self::LineCorrected => "LINE_CORRECTED",
            Self::QuoteNotFound => "QUOTE_NOT_FOUND",
            Self::QuoteAmbiguous => "QUOTE_AMBIGUOUS",
            Self::AnchorNotFound => "ANCHOR_NOT_FOUND",
            Self::AnchorMismatch => "ANCHOR_MISMATCH",
            Self::NotAnchored => "NOT_ANCHORED",
            Self::IdDerived => "ID_DERIVED",
            Self::Refuted => "REFUTED",
            Self::Trivial => "TRIVIAL",
            Self::NotConfirmed => "NOT_CONFIRMED",
        }
    }
}
