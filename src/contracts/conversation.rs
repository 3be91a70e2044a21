//! What is new in a merge request since the last review, and what became of what was said before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diff::Coverage;
use super::review::{Category, ReviewOutput, Severity, Side};

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

/// One review of one version of the merge request. What decides between claims is fixed when it is first written.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Claim {
    /// Which reviewer: `gitlab.summary_note_tag`.
    pub tag: String,
    /// Names this review; each run makes its own.
    pub nonce: String,
    /// One more than the highest that the run saw.
    pub generation: u32,
    /// The merge request's diff version, which orders heads; 0 where GitLab did not tell.
    pub version: u64,
    /// Target branch.
    pub target: String,
    /// Commit it compared with.
    pub base: String,
    /// Commit it reviewed.
    pub head: String,
    /// Fingerprint of the diff.
    pub fingerprint: String,
    /// Hash of the change, however it is numbered.
    pub change: String,
    /// Hash of what shapes a review.
    pub policy: String,
    /// The whole change was at hand, and each part of the review.
    pub complete: bool,
    /// The parts that it was made of, where not all were there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<u32>,
    /// What was shown to the agent.
    pub coverage: Coverage,
    /// Files of the change that guard the project, so that nothing passes on this review alone.
    pub guards: bool,
    /// Digests of the blocks of changed lines that were reviewed as they stand in the change.
    pub blocks: Vec<String>,
    /// What was found, and what earlier reviews found and still stands.
    pub findings: Vec<ClaimFinding>,
    /// Everything is where it belongs.
    pub delivered: bool,
    /// Reviews of the merge request so far, this one included.
    pub reviews: u64,
    /// What they cost so far, as far as agents say.
    pub cost_usd: Option<f64>,
    /// The review in full, until everything is delivered: another run can finish it without an agent.
    pub review: Option<Box<ReviewOutput>>,
    /// Digest of the note's text, by which an edit is seen.
    pub sum: String,
    /// Names the request that wrote it.
    pub write: String,
}

/// One finding of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimFinding {
    /// Its id.
    pub id: String,
    /// Key of its line.
    #[serde(default)]
    pub line: String,
    /// Key of its block of changed lines.
    #[serde(default)]
    pub block: String,
    /// Key of its line without the path.
    #[serde(default)]
    pub moved: String,
    /// Its file.
    pub path: String,
    /// Its first line.
    pub start: u32,
    /// Its last line.
    pub end: u32,
    /// Which side of the diff the lines count on.
    #[serde(default)]
    pub side: Side,
    /// Its severity.
    pub severity: Severity,
    /// Its category.
    pub category: Category,
    /// Its first sentence.
    pub title: String,
    /// The note that carries it; none when the summary alone does.
    #[serde(default)]
    pub note: Option<u64>,
    /// An earlier review wrote that note.
    #[serde(default)]
    pub adopted: bool,
    /// A person refused it; the gate does not count it.
    #[serde(default)]
    pub dismissed: bool,
}
