//! What is new in a merge request since the last review, and what became of what was said before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::review::{Category, Severity};

/// The story of the merge request up to this review.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conversation {
    /// Commit that this review compared with.
    pub base_sha: Option<String>,
    /// Commit that this review is of.
    pub head_sha: Option<String>,
    /// The review before this one; null when this is the first.
    pub since: Option<EarlierReview>,
    /// Findings that nobody was told before.
    pub new: Vec<ConversationItem>,
    /// Findings of earlier reviews that still stand.
    pub still_open: Vec<ConversationItem>,
    /// Findings of earlier reviews that are settled: their lines changed, or their threads were resolved.
    pub resolved: Vec<ConversationItem>,
    /// Findings that a person refused.
    pub dismissed: Vec<ConversationItem>,
    /// Reviews of this merge request so far, this one included.
    pub reviews: u64,
    /// What the agents of all of them reported as their cost, in US dollars; null when none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What of the merge request's notes could not be read, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
}

/// An earlier review, as its summary note tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierReview {
    /// GitLab's id of the summary note.
    pub note_id: u64,
    /// The note's address.
    #[serde(default)]
    pub url: Option<String>,
    /// Commit it reviewed.
    #[serde(default)]
    pub head_sha: Option<String>,
}

/// One finding of the story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationItem {
    /// Its id.
    pub finding_id: String,
    /// Its first sentence.
    pub title: String,
    /// Its file.
    pub path: String,
    /// Its first line; null where it has none any more.
    #[serde(default)]
    pub line: Option<u32>,
    /// Its severity.
    pub severity: Severity,
    /// Its category; null where an older note does not say.
    #[serde(default)]
    pub category: Option<Category>,
    /// GitLab's id of the note that carries it.
    #[serde(default)]
    pub note_id: Option<u64>,
    /// That note's address.
    #[serde(default)]
    pub url: Option<String>,
    /// The gate counts it.
    #[serde(default)]
    pub counted: bool,
    /// Why it is where it is: what a person answered, or what happened to its line.
    #[serde(default)]
    pub reason: Option<String>,
}
