//! The second look: what an agent answers that checks the findings of another, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::AgentKind;
use super::review::Severity;

/// The answer to a second look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLookOutput {
    /// One for each claim.
    pub verdicts: Vec<AgentVerdict>,
    /// One for each earlier comment; an empty list where there are none.
    #[serde(default)]
    pub threads: Vec<AgentThreadVerdict>,
}

/// What the second reviewer says of one claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentVerdict {
    /// Number of the claim.
    pub claim: u32,
    /// Whether it holds.
    pub verdict: LookVerdict,
    /// How much harm it does, as the second reviewer sees it.
    pub severity: Severity,
    /// What proves the verdict, in one sentence.
    pub evidence: String,
    /// File of the line that proves it.
    #[serde(default)]
    pub path: Option<String>,
    /// The line that proves it.
    #[serde(default)]
    pub line: Option<i64>,
}

/// What the second reviewer says of one earlier comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentThreadVerdict {
    /// Number of the comment.
    pub thread: u32,
    /// The change has put right what it is about.
    pub fixed: bool,
    /// What shows it, in one sentence.
    pub evidence: String,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LookVerdict {
    /// It could not be refuted.
    Holds,
    /// It is not so.
    Refuted,
    /// It is so, and nobody would act on it.
    Trivial,
}

/// What the second look says of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Looked {
    /// Severity that the first reviewer gave it.
    pub first_severity: Severity,
    /// What proves the verdict.
    pub evidence: String,
    /// File of the line that proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line that proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// How the second look went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecondLook {
    pub status: LookStatus,
    /// Agent that took it; null when none was asked.
    #[serde(default)]
    pub agent: Option<AgentKind>,
    /// Findings it was shown.
    #[serde(default)]
    pub claims: u64,
    /// Findings that hold.
    #[serde(default)]
    pub holds: u64,
    /// Findings that are not so.
    #[serde(default)]
    pub refuted: u64,
    /// Findings that nobody would act on.
    #[serde(default)]
    pub trivial: u64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl SecondLook {
    /// A second look that ended so, before anything was counted.
    pub fn new(status: LookStatus) -> Self {
        Self { status, agent: None, claims: 0, holds: 0, refuted: 0, trivial: 0, problem: None }
    }
}

/// Whether there was a second look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LookStatus {
    /// No finding was severe enough to ask for one.
    NotNeeded,
    /// The findings shown are those that hold.
    Done,
    /// It gave no answer that holds: the findings are not confirmed.
    Failed,
}
