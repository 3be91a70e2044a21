//! GitLab's JSON, as far as it is read. What versions may leave out has a default; the rest is required.

use serde::{Deserialize, Deserializer};

use crate::threads::NoteView;

/// `null` where GitLab has nothing to say.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Deserialize)]
pub(super) struct User {
    id: u64,
    username: String,
    #[serde(default, deserialize_with = "or_default")]
    bot: bool,
}

/// A member of the project, as far as diffsan reads it.
#[derive(Debug, Deserialize)]
pub(super) struct Member {
    pub(super) access_level: u32,
}

impl From<User> for super::User {
    fn from(wire: User) -> Self {
        Self { id: wire.id, username: wire.username, bot: wire.bot }
    }
}

#[derive(Deserialize)]
pub(super) struct TokenInfo {
    #[serde(default, deserialize_with = "or_default")]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    scopes: Vec<String>,
    active: bool,
    #[serde(default)]
    expires_at: Option<String>,
}

impl From<TokenInfo> for super::TokenInfo {
    fn from(wire: TokenInfo) -> Self {
        Self { name: wire.name, scopes: wire.scopes, active: wire.active, expires_at: wire.expires_at }
    }
}

#[derive(Deserialize)]
pub(super) struct MergeRequest {
    iid: u64,
    project_id: u64,
    #[serde(default, deserialize_with = "or_default")]
    title: String,
    #[serde(default, deserialize_with = "or_default")]
    description: String,
    state: String,
    #[serde(default)]
    draft: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    work_in_progress: bool,
    #[serde(default, deserialize_with = "or_default")]
    labels: Vec<Label>,
    #[serde(default)]
    diff_refs: Option<DiffRefs>,
    #[serde(default)]
    sha: Option<String>,
    #[serde(default)]
    merge_when_pipeline_succeeds: Option<bool>,
    #[serde(default)]
    auto_merge_enabled: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    discussion_locked: bool,
    #[serde(default, deserialize_with = "or_default")]
    web_url: String,
    #[serde(default, deserialize_with = "or_default")]
    changes_count: String,
    #[serde(default)]
    author: Option<Person>,
    #[serde(default, deserialize_with = "or_default")]
    source_branch: String,
    #[serde(default, deserialize_with = "or_default")]
    target_branch: String,
}

#[derive(Deserialize)]
struct Person {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    username: String,
}

/// A title, or an object when details were asked for.
#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Title(String),
    Details { name: String },
}

/// Each may still be missing while GitLab computes them.
#[derive(Deserialize)]
struct DiffRefs {
    base_sha: Option<String>,
    head_sha: Option<String>,
    start_sha: Option<String>,
}

impl DiffRefs {
    fn complete(self) -> Option<super::DiffRefs> {
        let known = |sha: Option<String>| sha.filter(|sha| !sha.is_empty());
        Some(super::DiffRefs {
            base_sha: known(self.base_sha)?,
            head_sha: known(self.head_sha)?,
            start_sha: known(self.start_sha)?,
        })
    }
}

impl From<MergeRequest> for super::MergeRequest {
    fn from(wire: MergeRequest) -> Self {
        let label = |label| match label {
            Label::Title(title) => title,
            Label::Details { name } => name,
        };
        let auto_merge = match (wire.merge_when_pipeline_succeeds, wire.auto_merge_enabled) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(false) || other.unwrap_or(false)),
        };
        Self {
            iid: wire.iid,
            project_id: wire.project_id,
            title: wire.title,
            description: wire.description,
            state: wire.state,
            draft: wire.draft.unwrap_or(wire.work_in_progress),
            labels: wire.labels.into_iter().map(label).collect(),
            diff_refs: wire.diff_refs.and_then(DiffRefs::complete),
            sha: wire.sha,
            auto_merge,
            discussion_locked: wire.discussion_locked,
            web_url: wire.web_url,
            changes_count: Some(wire.changes_count).filter(|count| !count.is_empty()),
            author_id: wire.author.as_ref().and_then(|author| author.id),
            author: wire.author.map(|author| author.username).unwrap_or_default(),
            source_branch: wire.source_branch,
            target_branch: wire.target_branch,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Version {
    id: u64,
    base_commit_sha: String,
    head_commit_sha: String,
    start_commit_sha: String,
    #[serde(default, deserialize_with = "or_default")]
    state: String,
}

impl From<Version> for super::Version {
    fn from(wire: Version) -> Self {
        let refs = super::DiffRefs {
            base_sha: wire.base_commit_sha,
            head_sha: wire.head_commit_sha,
            start_sha: wire.start_commit_sha,
        };
        Self { id: wire.id, refs, state: wire.state }
    }
}

#[derive(Deserialize)]
pub(super) struct Note {
    id: u64,
    #[serde(default, deserialize_with = "or_default")]
    body: String,
    #[serde(default)]
    author: Option<Author>,
    #[serde(default, deserialize_with = "or_default")]
    system: bool,
    #[serde(default, deserialize_with = "or_default")]
    created_at: String,
    #[serde(default, deserialize_with = "or_default")]
    resolved: bool,
    #[serde(default)]
    resolved_by: Option<Author>,
    #[serde(default)]
    position: Option<NotePosition>,
    #[serde(default, deserialize_with = "or_default")]
    internal: bool,
    /// What older versions call it.
    #[serde(default, deserialize_with = "or_default")]
    confidential: bool,
}

#[derive(Deserialize)]
struct Author {
    #[serde(default)]
    id: Option<u64>,
}

#[derive(Default, Deserialize)]
pub(super) struct NotePosition {
    #[serde(default, deserialize_with = "or_default")]
    position_type: String,
    #[serde(default)]
    head_sha: Option<String>,
    #[serde(default)]
    old_path: Option<String>,
    #[serde(default)]
    new_path: Option<String>,
    #[serde(default)]
    old_line: Option<u32>,
    #[serde(default)]
    new_line: Option<u32>,
}

impl From<Note> for NoteView {
    fn from(wire: Note) -> Self {
        let position = wire.position.unwrap_or_default();
        Self {
            id: wire.id,
            body: wire.body,
            author_id: wire.author.and_then(|author| author.id),
            system: wire.system,
            internal: wire.internal || wire.confidential,
            created_at: wire.created_at,
            discussion_id: None,
            path: position.new_path.or(position.old_path),
            line: position.new_line.or(position.old_line),
            head_sha: position.head_sha,
            resolved: wire.resolved,
            resolved_by: wire.resolved_by.and_then(|user| user.id),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Discussion {
    id: String,
    #[serde(default, deserialize_with = "or_default")]
    notes: Vec<Note>,
}

impl Discussion {
    /// Its notes, internal ones too: an answer is an answer, whoever may read it.
    pub(super) fn notes(self) -> Vec<NoteView> {
        let id = self.id;
        let inside = |note| NoteView { discussion_id: Some(id.clone()), ..NoteView::from(note) };
        self.notes.into_iter().map(inside).collect()
    }
}

/// A row that can be read as `T`, or not: one broken row must not hide the others.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Row<T> {
    Read(T),
    Broken(serde::de::IgnoredAny),
}

impl<T> Row<T> {
    pub(super) fn read(self) -> Option<T> {
        match self {
            Self::Read(row) => Some(row),
            Self::Broken(_) => None,
        }
    }
}

/// A comment that nobody else sees yet.
#[derive(Deserialize)]
pub(super) struct Draft {
    pub(super) id: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) note: String,
    #[serde(default)]
    pub(super) line_code: Option<String>,
    #[serde(default)]
    pub(super) position: Option<NotePosition>,
}

impl Draft {
    /// GitLab found the place: a draft without one is dropped without a word when it is published.
    pub(super) fn is_placed(&self) -> bool {
        let file = self.position.as_ref().is_some_and(|position| position.position_type == "file");
        file || self.line_code.as_ref().is_some_and(|code| !code.is_empty())
    }
}

/// The answer to a new discussion; without an id when GitLab took the text for a command.
#[derive(Deserialize)]
pub(super) struct StoredDiscussion {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) notes: Vec<DiscussionNote>,
}

#[derive(Deserialize)]
pub(super) struct DiscussionNote {
    pub(super) id: u64,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
}

/// The answer to a new or changed note; without an id when GitLab took the text for a command.
#[derive(Deserialize)]
pub(super) struct StoredNote {
    #[serde(default)]
    pub(super) id: Option<u64>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
}

/// One file of `/diffs`.
#[derive(Deserialize)]
pub(super) struct DiffEntry {
    pub(super) old_path: String,
    pub(super) new_path: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) a_mode: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) b_mode: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) diff: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) new_file: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) renamed_file: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) deleted_file: bool,
    /// Both flags are absent in older versions.
    #[serde(default)]
    pub(super) collapsed: Option<bool>,
    #[serde(default)]
    pub(super) too_large: Option<bool>,
}

/// A project, as far as diffsan reads it.
#[derive(Deserialize)]
pub(super) struct Project {
    #[serde(default)]
    pub(super) default_branch: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Branch {
    pub(super) commit: BranchTip,
    pub(super) protected: bool,
}

#[derive(Deserialize)]
pub(super) struct BranchTip {
    pub(super) id: String,
}

/// One entry of `/repository/tree`.
#[derive(Deserialize)]
pub(super) struct TreeEntry {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) mode: String,
}
