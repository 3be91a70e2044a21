//! What earlier runs said, and whether a review is due.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diff::Coverage;
use super::review::{Fingerprint, Severity};

/// What earlier runs said in this merge request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PriorDigest {
    /// Fingerprint of the change that the newest own summary reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prior_fingerprint: Option<Fingerprint>,
    /// Findings of earlier runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<PriorFinding>,
    /// The newest summary in one line of at most 240 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_hint: Option<String>,
    /// Own tagged notes, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<PriorSummary>,
    /// Comments on lines of the diff, resolved or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inline_comments: Vec<PriorComment>,
}

/// A finding of an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorFinding {
    /// Its id.
    pub finding_id: String,
    /// Its file.
    pub path: String,
    /// Its lines: `88` or `88-106`.
    pub line_range: String,
    /// Its first sentence.
    pub title: String,
    /// Its severity.
    pub severity: Severity,
}

/// An earlier summary note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorSummary {
    /// GitLab's id of the note.
    pub note_id: u64,
    /// Its text without markers.
    pub text: String,
}

/// A comment on a line of the diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriorComment {
    /// GitLab's id of the discussion.
    pub discussion_id: String,
    /// GitLab's id of its first note.
    pub note_id: u64,
    /// File it stands on.
    pub path: Option<String>,
    /// Line it stands on.
    pub line: Option<u32>,
    /// Someone resolved it.
    pub resolved: bool,
    /// diffsan wrote it.
    #[serde(default)]
    pub own: bool,
    /// Its text without markers.
    pub body: String,
}

/// Whether a review is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkipDecision {
    /// No review is due.
    pub should_skip: bool,
    /// Why not.
    pub reasons: Vec<SkipReason>,
    /// Fingerprint of the change.
    pub fingerprint: Fingerprint,
    /// What earlier runs said.
    pub prior_digest: PriorDigest,
    /// The review whose verdict this skip carries; null when it is skipped for another reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<CarriedReview>,
}

/// A review of the same change, whose verdict still holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CarriedReview {
    /// GitLab's id of its summary note.
    pub note_id: u64,
    /// The note's address.
    #[serde(default)]
    pub url: Option<String>,
    /// Commit it reviewed.
    #[serde(default)]
    pub head_sha: Option<String>,
    /// Its findings that still count, by severity.
    pub by_severity: BTreeMap<String, u64>,
    /// What it was shown of the change.
    pub coverage: Coverage,
}

/// Why no review is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkipReason {
    /// Stable name of the reason.
    pub code: SkipCode,
    /// The reason in words.
    pub message: String,
}

/// Stable names of the reasons to skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SkipCode {
    /// The merge request merges by itself.
    AutoMerge,
    /// This change was reviewed already.
    SameFingerprint,
    /// There is no change.
    NoDiff,
    /// Every file is ignored by configuration.
    AllIgnored,
    /// The merge request is a draft.
    Draft,
    /// The merge request carries a label that says so.
    Label,
    /// The same change was reviewed at another place of the history: a rebase.
    SameChanges,
    /// Merge requests of this author are not reviewed.
    Author,
    /// Merge requests with such a title are not reviewed.
    Title,
    /// Merge requests from such a branch are not reviewed.
    Branch,
    /// The change has fewer passes than there are parts; this part has none.
    EmptyPart,
}

impl SkipCode {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::AutoMerge,
        Self::SameFingerprint,
        Self::SameChanges,
        Self::NoDiff,
        Self::AllIgnored,
        Self::Draft,
        Self::Label,
        Self::Author,
        Self::Title,
        Self::Branch,
        Self::EmptyPart,
    ];

    /// The name as the contract spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AutoMerge => "AUTO_MERGE",
            Self::SameFingerprint => "SAME_FINGERPRINT",
            Self::NoDiff => "NO_DIFF",
            Self::AllIgnored => "ALL_IGNORED",
            Self::Draft => "DRAFT",
            Self::Label => "LABEL",
            Self::SameChanges => "SAME_CHANGES",
            Self::Author => "AUTHOR",
            Self::Title => "TITLE",
            Self::Branch => "BRANCH",
            Self::EmptyPart => "EMPTY_PART",
        }
    }
}
