//! What was reviewed: the change, what was cut from it, what was hidden in it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::review::Side;

/// Where the change came from and which files it touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffBundle {
    pub source: DiffSource,
    /// Files of the change, in diff order.
    pub files: Vec<FileEntry>,
}

/// Where the change came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffSource {
    /// `git-diff`, `gitlab-api` or `diff-file`.
    pub kind: String,
    /// The two ends of the change.
    #[serde(rename = "ref")]
    pub reference: DiffRef,
}

/// The two ends of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffRef {
    /// Branch the change goes to.
    pub target_branch: Option<String>,
    /// Branch the change comes from.
    pub source_branch: Option<String>,
    /// Commit before the change.
    pub base_sha: Option<String>,
    /// Commit after the change; null for a working tree.
    pub head_sha: Option<String>,
}

/// One file of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Path after the change, or before it where the file was deleted.
    pub path: String,
    /// Path before a rename or copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// `added`, `deleted`, `modified`, `renamed`, `copied`, `mode_changed`.
    pub status: String,
    /// Added lines.
    pub additions: u64,
    /// Removed lines.
    pub deletions: u64,
    /// Git treats it as binary.
    pub is_binary: bool,
}

/// What was left out of the prompt, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TruncationReport {
    /// A limit cut something.
    pub truncated: bool,
    /// Unicode scalar values of the whole diff.
    pub original_chars: u64,
    /// Unicode scalar values of the prepared diff.
    pub final_chars: u64,
    /// Files of the whole diff.
    pub original_files: u64,
    /// Files of the prepared diff.
    pub final_files: u64,
    /// What the limits cut; at most 500, see `items_total`.
    pub items: Vec<TruncationItem>,
    /// How many items there are in all.
    #[serde(default)]
    pub items_total: u64,
    /// Files that globs or extension filters set aside; at most 500, see `ignored_total`.
    #[serde(default)]
    pub ignored_paths: Vec<String>,
    /// How many files are ignored in all.
    #[serde(default)]
    pub ignored_total: u64,
    /// Files of the prepared diff; at most 500, see `included_total`.
    #[serde(default)]
    pub included_paths: Vec<String>,
    /// How many files are included in all.
    #[serde(default)]
    pub included_total: u64,
    /// Every hunk of the whole diff, by what became of it.
    #[serde(default)]
    pub coverage: Coverage,
}

/// One thing that a limit cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TruncationItem {
    /// `file`, `hunk` or `chars`.
    pub kind: String,
    /// File it concerns; null for `chars`.
    pub path: Option<String>,
    /// What was cut and why.
    pub details: String,
}

/// Every hunk of the whole diff, by what became of it: `hunks_total` is the sum of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Coverage {
    /// Hunks of the whole diff; a file without any (binary, mode, rename) counts as one.
    pub hunks_total: u64,
    /// Shown to the agent in full.
    pub hunks_sent: u64,
    /// Shown to the agent in part.
    pub hunks_cut: u64,
    /// Set aside by configuration.
    pub hunks_ignored: u64,
    /// Left out by a limit.
    pub hunks_dropped: u64,
    /// GitLab did not hand them out.
    pub hunks_unavailable: u64,
    /// Binary files: the agent is told that they changed, and sees nothing of their content.
    pub hunks_binary: u64,
    /// Why hunks were ignored, dropped, binary or unavailable, with counts.
    pub reasons: BTreeMap<String, u64>,
    /// Files of which something was not reviewed; at most 50, see `not_reviewed_total`.
    pub not_reviewed: Vec<NotReviewed>,
    /// How many such files there are in all.
    pub not_reviewed_total: u64,
}

/// A file of which something was not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotReviewed {
    /// Path after the change.
    pub path: String,
    /// What kept it from the agent.
    pub why: LeftOut,
}

/// What keeps a file, or part of it, from the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// Set aside by configuration.
    Ignored,
    /// Not a text.
    Binary,
    /// Cut, or left out in part or whole, by a limit.
    Limit,
    /// The pass that held it failed.
    FailedPass,
    /// The part that held it is missing, or does not fit.
    LostPart,
    /// GitLab did not hand it out.
    Unavailable,
}

impl LeftOut {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ignored => "ignored by configuration",
            Self::Binary => "binary",
            Self::Limit => "beyond the limits",
            Self::FailedPass => "its pass failed",
            Self::LostPart => "its part is missing",
            Self::Unavailable => "not handed out by GitLab",
        }
    }
}

impl Coverage {
    /// Most files that `not_reviewed` lists.
    pub const MOST_LISTED: usize = 50;

    /// One more file of which something was not reviewed.
    pub fn leave_out(&mut self, path: &str, why: LeftOut) {
        self.not_reviewed_total += 1;
        if self.not_reviewed.len() < Self::MOST_LISTED {
            self.not_reviewed.push(NotReviewed { path: path.to_owned(), why });
        }
    }

    /// Every hunk was shown to the agent in full.
    pub fn is_whole(&self) -> bool {
        self.hunks_sent == self.hunks_total
    }
}

/// Which secrets were found; never what they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RedactionReport {
    /// The rules were on.
    pub enabled: bool,
    /// At least one secret was found.
    pub found: bool,
    /// What was found, in diff order.
    pub matches: Vec<RedactionMatch>,
    /// The text that stands where a secret was.
    pub redaction_token: String,
}

/// One secret that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RedactionMatch {
    /// Name of the rule.
    pub pattern_name: String,
    /// File it stands in.
    pub path: Option<String>,
    /// 1-based line in the new file, in the old file for removed lines.
    pub line_hint: Option<u32>,
    /// Which file `line_hint` counts in.
    pub side: Side,
    /// SHA-256 of the secret; null below 12 characters, which could be guessed from it.
    pub match_sha256: Option<String>,
    /// Unicode scalar values of the secret.
    pub match_length: u64,
}

/// The change blocks of the diff and their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Anchors {
    /// Id of what was sent: `snap:` and 16 hex digits.
    pub snapshot: String,
    /// The change blocks in diff order.
    pub anchors: Vec<AnchorEntry>,
}

/// One change block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnchorEntry {
    /// `chg:` and 16 hex digits; the same wherever the block moves.
    pub change_anchor: String,
    /// File it stands in.
    pub file: String,
    /// What the block does.
    pub kind: ChangeKind,
    /// First line in the new file.
    pub start_line: u32,
    /// Lines in the new file.
    pub line_count: u32,
    /// First line in the old file.
    pub old_start_line: u32,
    /// Lines in the old file.
    pub old_line_count: u32,
    /// The agent was shown the whole block.
    pub in_prompt: bool,
    /// The id under the file's old name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_change_anchor: Option<String>,
}

/// What a change block does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Only adds lines.
    Add,
    /// Replaces lines.
    Modify,
    /// Only removes lines.
    Delete,
}
