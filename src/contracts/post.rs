//! What is to be written to GitLab, and what became of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conversation::Claim;
use super::review::{Category, Severity};
use super::run::ErrorInfo;

/// The exact list of what will be written to the merge request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PostPlan {
    /// Project the merge request belongs to; null when there is none.
    #[serde(default)]
    pub project_id: Option<String>,
    /// Number of the merge request; null when there is none.
    #[serde(default)]
    pub mr_iid: Option<u64>,
    /// Commit that was reviewed.
    #[serde(default)]
    pub head_sha: Option<String>,
    /// Result line, agent's summary and unplaced findings.
    pub summary_markdown: String,
    /// The folded metadata block.
    pub summary_meta_collapsible: String,
    /// The whole body of the summary note, markers included.
    #[serde(default)]
    pub summary_body: String,
    /// Discussions, worst first.
    pub discussions: Vec<PlannedDiscussion>,
    /// The newest own tagged note is updated instead of writing a new one.
    pub idempotent_summary: bool,
    /// That note's id.
    pub prior_summary_note_id: Option<u64>,
    /// Findings that an own discussion carries already.
    #[serde(default)]
    pub repeated: Vec<String>,
    /// Findings below `review.min_severity`, kept out of the merge request.
    #[serde(default)]
    pub withheld: Vec<String>,
    /// What was neutralised in text that others wrote, with counts.
    #[serde(default)]
    pub sanitized: BTreeMap<String, u64>,
    /// What the summary will say for machines; null in plans of 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Commit that the review compared with: its positions fit no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_sha: Option<String>,
    /// Comments appear together, with one notification.
    #[serde(default)]
    pub drafts: bool,
    /// Own threads whose fault is gone, to be resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolve: Vec<PlannedResolve>,
    /// Own threads that diffsan resolved and whose fault is back, to be opened again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopen: Vec<PlannedResolve>,
}

/// An own thread that is to be resolved, or opened again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedResolve {
    /// Id of its finding.
    pub finding_id: String,
    /// GitLab's id of the discussion.
    pub discussion_id: String,
    /// GitLab's id of its first note.
    pub note_id: u64,
}

/// One discussion to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedDiscussion {
    /// Id of the finding; the body ends with its marker.
    #[serde(default)]
    pub finding_id: String,
    /// File it stands on.
    pub path: String,
    /// First line of the finding.
    pub line_start: u32,
    /// Last line of the finding.
    pub line_end: u32,
    /// The whole body.
    pub body_markdown: String,
    /// The best position; what is tried first.
    pub position: Position,
    /// Positions to try when GitLab refuses the one before: line, then file.
    #[serde(default)]
    pub fallbacks: Vec<Position>,
    /// Severity of the finding.
    pub severity: Severity,
    /// Category of the finding.
    pub category: Category,
    /// Key of the finding's line, by which a later review knows it again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub line_key: String,
    /// Key of the block of changed lines it stands in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub block_key: String,
}

/// Where a discussion stands, in GitLab's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    /// `text` or `file`.
    pub position_type: PositionType,
    /// Merge base.
    pub base_sha: String,
    /// Source head.
    pub head_sha: String,
    /// Target head when this version was made.
    pub start_sha: String,
    /// Path before the change, as GitLab names it.
    pub old_path: String,
    /// Path after the change, as GitLab names it.
    pub new_path: String,
    /// Line before the change: removed and context lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_line: Option<u32>,
    /// Line after the change: added and context lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_line: Option<u32>,
    /// The lines of a range; the line above is its last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_range: Option<LineRange>,
}

/// Kind of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PositionType {
    /// A line of the diff.
    Text,
    /// The whole file.
    File,
}

/// First and last line of a range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineRange {
    pub start: LineRangeEnd,
    pub end: LineRangeEnd,
}

/// One end of a range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineRangeEnd {
    /// `sha1(path)_old_new`, as GitLab computes it.
    pub line_code: String,
    /// `new` for an added line, else `old`.
    #[serde(rename = "type")]
    pub line_type: String,
}

/// What became of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PostResults {
    /// Everything was posted.
    pub ok: bool,
    /// Each thing that was to be posted; the summary first.
    pub items: Vec<PostItem>,
    /// The note of another review that holds instead: of a newer version, or of this one by another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<u64>,
    /// Copies that overlapping runs left and this one removed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: u32,
    /// Own threads that were resolved because their fault is gone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resolved: u32,
    /// Own threads that were opened again because their fault is back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reopened: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What became of one thing that was to be posted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PostItem {
    /// What it is.
    pub kind: PostKind,
    /// It is in the merge request.
    pub ok: bool,
    /// Last HTTP status; null when no answer came or none was asked for.
    pub http_status: Option<u16>,
    /// Id of the note, or of the discussion's first note.
    pub gitlab_id: Option<u64>,
    /// Attempts beyond the first.
    pub retry_count: u32,
    /// Id of the discussion.
    #[serde(default)]
    pub discussion_id: Option<String>,
    /// Finding it carries.
    #[serde(default)]
    pub finding_id: Option<String>,
    /// Where it ended: `range`, `line`, `file` or `summary`.
    #[serde(default)]
    pub rung: Option<String>,
    /// It was there already, from this run or an earlier one.
    #[serde(default)]
    pub already_there: bool,
    /// Why it is not there, or why it fell down the ladder.
    #[serde(default)]
    pub error: Option<ErrorInfo>,
}

/// What a posted thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PostKind {
    /// The summary note.
    SummaryNote,
    /// A discussion on a line or file.
    Discussion,
}

/// One line of `post_ledger.jsonl`: intent before a request, result after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerEntry {
    /// Marker of the item: `summary` or the finding's id.
    pub item: String,
    /// `intent`, `done` or `failed`.
    pub state: LedgerState,
    /// Id that GitLab gave.
    #[serde(default)]
    pub gitlab_id: Option<u64>,
    /// Last HTTP status.
    #[serde(default)]
    pub http_status: Option<u16>,
    /// Names the request; the note's marker has the same word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
    /// When the request was sent: seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
}

/// State of an item in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LedgerState {
    /// A request is about to be sent.
    Intent,
    /// GitLab has it.
    Done,
    /// GitLab refused it.
    Failed,
}
