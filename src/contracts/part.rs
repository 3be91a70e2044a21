//! What a job leaves that reviewed one part of a change; another job merges the parts and posts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::{AgentRun, Validation};
use super::context::ContextTotals;
use super::prior::SkipReason;
use super::review::ReviewOutput;

/// The review of one part. It counts only for the job that posts, and only where everything in it is as that job
/// computes it by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartReview {
    /// Version of diffsan.
    pub version: String,
    /// Which part it is; counts from 1.
    pub part: u32,
    /// How many parts there are.
    pub of: u32,
    /// Commit it compared with.
    pub base: String,
    /// Commit it reviewed.
    pub head: String,
    /// Hash of the change: paths, modes, object ids and lines.
    pub change: String,
    /// Hash of what shapes a review.
    pub policy: String,
    /// The passes of this part; counted from 1 over all parts.
    pub passes: Vec<u32>,
    /// Those that have no answer.
    pub lost: Vec<u32>,
    /// Why nothing was reviewed.
    #[serde(default)]
    pub skip_reasons: Vec<SkipReason>,
    /// What was found; null when nothing was reviewed.
    #[serde(default)]
    pub outcome: Option<Box<PartOutcome>>,
    /// Signs the document as it is with an empty signature; empty where there was no token.
    #[serde(default)]
    pub signature: String,
}

/// What the review of a part found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartOutcome {
    pub review: ReviewOutput,
    pub validation: Validation,
    pub run: AgentRun,
    /// Discussions of the merge request whose fault the agent calls fixed.
    #[serde(default)]
    pub fixed: Vec<String>,
    /// What the agent read beyond the change.
    #[serde(default)]
    pub context: Option<ContextTotals>,
}
