//! What the agent answers, and the review that diffsan makes of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::AgentCall;
use super::config::AgentKind;
use super::look::{Looked, SecondLook};

/// The answer an agent must give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReviewOutput {
    /// The review in a few sentences of Markdown.
    pub summary_markdown: String,
    /// What was found; an empty list is a good answer.
    pub findings: Vec<AgentFinding>,
}

/// One finding as the agent wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentFinding {
    /// Read and not used: diffsan derives its own ids.
    #[serde(default)]
    pub finding_id: Option<String>,
    /// How much harm it does.
    pub severity: Severity,
    /// What kind of problem it is.
    pub category: Category,
    /// File the finding is about, as the diff names it.
    pub path: String,
    /// First line, in the new file.
    pub line_start: i64,
    /// Last line, in the new file.
    pub line_end: i64,
    /// What is wrong, what triggers it and what to do, in Markdown.
    pub body_markdown: String,
    /// The code line the finding is about, copied exactly.
    #[serde(default)]
    pub quote: Option<String>,
    /// The `chg:` id of the change block the finding is about.
    #[serde(default)]
    pub change_anchor: Option<String>,
    /// A change that would fix it.
    #[serde(default)]
    pub suggested_patch: Option<SuggestedPatch>,
}

/// A change that would fix a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestedPatch {
    /// Always `unified-diff`.
    pub format: PatchFormat,
    /// The patch text.
    pub content: String,
}

/// Form of a suggested patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PatchFormat {
    /// A unified diff.
    #[serde(rename = "unified-diff")]
    UnifiedDiff,
}

/// How much harm a finding does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing has to change.
    Info,
    /// A small flaw.
    Low,
    /// A real flaw in uncommon circumstances.
    Medium,
    /// Wrong behaviour that users will meet.
    High,
    /// Data loss, a security hole or an outage.
    Critical,
}

impl Severity {
    /// All of them, mildest first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The name as the contract spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// What kind of problem a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// It computes the wrong thing.
    Correctness,
    /// It can be abused.
    Security,
    /// It is slower or larger than it needs to be.
    Performance,
    /// It will be hard to change.
    Maintainability,
    /// It reads unlike its surroundings.
    Style,
    /// It is not tested, or the test proves nothing.
    Testing,
    /// Its documentation is wrong or missing.
    Docs,
    /// Anything else.
    Other,
}

impl Category {
    /// The name as the contract spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Correctness => "correctness",
            Self::Security => "security",
            Self::Performance => "performance",
            Self::Maintainability => "maintainability",
            Self::Style => "style",
            Self::Testing => "testing",
            Self::Docs => "docs",
            Self::Other => "other",
        }
    }
}

/// The validated review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewOutput {
    /// The agent's summary, secrets removed.
    pub summary_markdown: String,
    /// The findings that hold, worst first.
    pub findings: Vec<Finding>,
    /// Facts about the review, from diffsan and never from the agent.
    pub meta: ReviewMeta,
}

/// One finding that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable id: `f-` and 12 hex digits, derived from file, category and the line's words, without line numbers.
    pub finding_id: String,
    /// How much harm it does.
    pub severity: Severity,
    /// What kind of problem it is.
    pub category: Category,
    /// File, relative to the repository's top.
    pub path: String,
    /// First line; 1-based.
    pub line_start: u32,
    /// Last line; not before `line_start`.
    pub line_end: u32,
    /// Which side of the diff the lines count on.
    pub side: Side,
    /// What is wrong, in Markdown.
    pub body_markdown: String,
    /// The code line the agent quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The change block it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_anchor: Option<String>,
    /// A change that would fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_patch: Option<SuggestedPatch>,
    /// Why it has no place in the diff; null when it has one.
    #[serde(default)]
    pub unplaced: Option<String>,
    /// What the second look says of it, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<Looked>,
}

/// Which side of a diff a line stands on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The file after the change.
    #[default]
    New,
    /// The file before the change.
    Old,
}

/// Facts about a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewMeta {
    /// Fingerprint of the reviewed diff.
    pub fingerprint: Fingerprint,
    /// Agent that reviewed.
    pub agent: AgentKind,
    /// Model the agent was asked to use.
    pub model: Option<String>,
    /// When the agent ran.
    pub timings: Timings,
    /// What the agent reported it used; empty when it reported nothing.
    pub token_usage: TokenUsage,
    /// Some of the change was not shown to the agent.
    pub truncated: bool,
    /// The diff held at least one secret.
    pub redaction_found: bool,
    /// How the second look went; absent where none is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_look: Option<SecondLook>,
    /// Each call of an agent and what it cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<AgentCall>,
}

/// A digest of the reviewed diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fingerprint {
    /// Always `sha256`.
    pub algo: String,
    /// Lower-case hex digits.
    pub value: String,
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.algo, self.value)
    }
}

/// When something ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timings {
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    pub ended_at: String,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// What an agent reported it used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TokenUsage {
    /// Tokens read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl TokenUsage {
    /// Adds what another attempt used.
    pub fn add(&mut self, other: &Self) {
        fn sum(into: &mut Option<u64>, more: Option<u64>) {
            if let Some(more) = more {
                *into = Some(into.unwrap_or(0).saturating_add(more));
            }
        }
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.cached_input_tokens, other.cached_input_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.reasoning_tokens, other.reasoning_tokens);
        if let Some(cost) = other.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }
}
