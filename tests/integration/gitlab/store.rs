//! What the fake GitLab holds: one project, one merge request, its versions and its discussions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::markdown::{self, Effects};
use super::positions::{self, FileDiff};
use super::{ALICE, BOT, MR, PROJECT, TOKEN};

/// The three commits of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refs {
    pub(crate) base: String,
    pub(crate) start: String,
    pub(crate) head: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Discussion {
    pub(crate) id: String,
    pub(crate) notes: Vec<Note>,
}

impl Discussion {
    /// Opened as a discussion, not as a plain note.
    pub(crate) fn is_thread(&self) -> bool {
        self.notes.first().is_some_and(|note| note.kind.is_some())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) id: u64,
    pub(crate) kind: Option<&'static str>,
    pub(crate) body: String,
    pub(crate) author: u64,
    pub(crate) system: bool,
    pub(crate) resolved: bool,
    /// As GitLab gives it back.
    pub(crate) position: Option<Value>,
    /// The reader may not see it: it is filtered after the pages are cut.
    pub(crate) hidden: bool,
    /// For members only.
    pub(crate) internal: bool,
    pub(crate) serial: u64,
    pub(crate) resolved_by: Option<u64>,
}

/// A comment that only its author sees.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) id: u64,
    pub(crate) body: String,
    pub(crate) position: Option<Value>,
    /// GitLab found its line.
    pub(crate) placed: bool,
}

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) repo: PathBuf,
    pub(crate) token: String,
    pub(crate) token_error: Option<&'static str>,
    pub(crate) scopes: Vec<String>,
    pub(crate) token_active: bool,
    pub(crate) may_comment: bool,
    pub(crate) project_visible: bool,
    /// Newest last.
    pub(crate) versions: Vec<Refs>,
    /// So many reads of the merge request have no SHAs yet.
    pub(crate) diff_refs_null: u32,
    /// The head moves to this version after the next read of the merge request.
    pub(crate) push_after_read: Option<Refs>,
    pub(crate) title: String,
    /// The token's role.
    pub(crate) access_level: u32,
    pub(crate) description: String,
    pub(crate) state: String,
    pub(crate) draft: bool,
    pub(crate) labels: Vec<String>,
    pub(crate) auto_merge: bool,
    pub(crate) locked: bool,
    pub(crate) max_notes: usize,
    pub(crate) discussions: Vec<Discussion>,
    pub(crate) drafts: Vec<Draft>,
    /// Roles of people in the project.
    pub(crate) roles: HashMap<u64, u32>,
    /// Lists do not show the newest so many notes yet; each read shows one more.
    pub(crate) lag: usize,
    /// The token may not resolve threads.
    pub(crate) may_resolve: bool,
    /// The next publication of drafts breaks off in the middle.
    pub(crate) publish_breaks: bool,
    /// Reviews that were announced with one notification.
    pub(crate) announced: u32,
    pub(crate) effects: Effects,
    /// An old version without `raw_diffs`.
    pub(crate) raw_diffs: bool,
    /// Files that `/diffs` lists without their content.
    pub(crate) collapsed: Vec<String>,
    /// Pages without `X-Next-Page` and its relatives.
    pub(crate) paging_headers: bool,
    /// Branches that GitLab protects.
    pub(crate) protected: Vec<String>,
    /// The issues that the merge request closes, as GitLab lists them.
    pub(crate) closes: Value,
    serial: u64,
    commits: HashMap<String, bool>,
    diffs: HashMap<(String, String, Vec<String>), Arc<Vec<FileDiff>>>,
}

impl Store {
    pub(crate) fn new(repo: &Path, refs: Refs) -> Self {
        Self {
            repo: repo.into(),
            token: TOKEN.into(),
            token_error: None,
            scopes: vec!["api".into()],
            token_active: true,
            may_comment: true,
            project_visible: true,
            versions: vec![refs],
            diff_refs_null: 0,
            push_after_read: None,
            title: "Make it better".into(),
            access_level: 30,
            description: String::new(),
            state: "opened".into(),
            draft: false,
            labels: Vec::new(),
            auto_merge: false,
            locked: false,
            max_notes: 5_000,
            discussions: Vec::new(),
            drafts: Vec::new(),
            roles: HashMap::new(),
            lag: 0,
            may_resolve: true,
            publish_breaks: false,
            announced: 0,
            effects: Effects::default(),
            raw_diffs: true,
            collapsed: Vec::new(),
            paging_headers: true,
            protected: vec!["main".into()],
            closes: Value::Array(Vec::new()),
            serial: 0,
            commits: HashMap::new(),
            diffs: HashMap::new(),
        }
    }

    pub(crate) fn latest(&self) -> Refs {
        self.versions.last().expect("a version").clone()
    }

    pub(crate) fn push(&mut self, refs: Refs) {
        self.versions.push(refs);
    }

    pub(crate) fn add_plain(&mut self, author: u64, body: &str) -> u64 {
        let note = self.note(author, body, None, None);
        self.add(note).1
    }

    /// Somebody opens a discussion without a position.
    pub(crate) fn add_thread(&mut self, author: u64, body: &str) -> u64 {
        let note = self.note(author, body, Some("DiscussionNote"), None);
        self.add(note).1
    }

    pub(crate) fn add_system(&mut self, body: &str) {
        let note = Note { system: true, ..self.note(ALICE, body, None, None) };
        self.add(note);
    }

    /// Notes the token's user may not read: they make pages short that are not the last.
    pub(crate) fn add_hidden(&mut self, count: usize) {
        for _ in 0..count {
            let note = Note { hidden: true, ..self.note(ALICE, "internal", None, None) };
            self.add(note);
        }
    }

    pub(crate) fn note(
        &mut self,
        author: u64,
        body: &str,
        kind: Option<&'static str>,
        position: Option<Value>,
    ) -> Note {
        self.serial += 1;
        let id = 9_000 + self.serial * 3;
        Note {
            id,
            kind,
            body: body.into(),
            author,
            system: false,
            resolved: false,
            position,
            hidden: false,
            internal: false,
            serial: self.serial,
            resolved_by: None,
        }
    }

    /// Stores a note as a discussion of its own.
    pub(crate) fn add(&mut self, note: Note) -> (String, u64) {
        let (id, note_id) = (format!("{:040x}", 0xd15c_0000 + note.id), note.id);
        self.discussions.push(Discussion { id: id.clone(), notes: vec![note] });
        (id, note_id)
    }

    /// A draft that is there already.
    pub(crate) fn add_draft(&mut self, body: &str) {
        let id = self.note(BOT, body, None, None).id;
        self.drafts.push(Draft { id, body: body.into(), position: None, placed: true });
    }

    /// Somebody answers in the thread of a note.
    pub(crate) fn reply_to(&mut self, note: u64, author: u64, body: &str) -> u64 {
        let reply = self.note(author, body, Some("DiscussionNote"), None);
        let id = reply.id;
        let thread = self.discussions.iter_mut().find(|thread| thread.notes.iter().any(|known| known.id == note));
        thread.expect("a thread").notes.push(reply);
        id
    }

    /// Somebody resolves the thread of a note.
    pub(crate) fn resolve(&mut self, note: u64, by: u64) {
        let note = self.find_note(note).expect("a note");
        (note.resolved, note.resolved_by) = (true, Some(by));
    }

    pub(crate) fn all_notes(&self) -> Vec<&Note> {
        let mut notes: Vec<_> = self.discussions.iter().flat_map(|discussion| &discussion.notes).collect();
        notes.sort_by_key(|note| note.serial);
        notes
    }

    pub(crate) fn find_note(&mut self, id: u64) -> Option<&mut Note> {
        self.discussions.iter_mut().flat_map(|discussion| &mut discussion.notes).find(|note| note.id == id)
    }

    pub(crate) fn remove_note(&mut self, id: u64) {
        for discussion in &mut self.discussions {
            discussion.notes.retain(|note| note.id != id);
        }
        self.discussions.retain(|discussion| !discussion.notes.is_empty());
    }

    /// Serial of the newest note that a list shows: a replica may lag behind, and catches up with each read.
    pub(crate) fn newest_shown(&mut self) -> u64 {
        let newest = self.serial.saturating_sub(self.lag as u64);
        self.lag = self.lag.saturating_sub(1);
        newest
    }

    /// Takes a text in: its commands run, and what is left is what would be stored.
    pub(crate) fn take_text(&mut self, text: &str) -> Effects {
        let effects = markdown::take(text);
        for command in &effects.commands {
            self.execute(command);
        }
        let all = &mut self.effects;
        all.commands.extend(effects.commands.clone());
        all.mentions.extend(effects.mentions.clone());
        all.references.extend(effects.references.clone());
        all.images.extend(effects.images.clone());
        effects
    }

    fn execute(&mut self, command: &str) {
        let (name, argument) = command[1..].split_once(' ').unwrap_or((&command[1..], ""));
        match name.to_ascii_lowercase().as_str() {
            "close" => self.state = "closed".into(),
            "reopen" => self.state = "opened".into(),
            "title" => self.title = argument.into(),
            "draft" => self.draft = true,
            "ready" => self.draft = false,
            "lock" => self.locked = true,
            "unlock" => self.locked = false,
            "label" | "labels" => self.labels.push(argument.trim_start_matches('~').into()),
            _ => {}
        }
    }

    /// The diff between two commits, limited to paths; computed once.
    pub(crate) fn diff(&mut self, from: &str, to: &str, paths: &[&str]) -> Arc<Vec<FileDiff>> {
        let key = (from.to_owned(), to.to_owned(), paths.iter().map(|path| (*path).to_owned()).collect());
        let repo = self.repo.clone();
        let computed = self.diffs.entry(key).or_insert_with(|| Arc::new(positions::diff(&repo, from, to, paths)));
        Arc::clone(computed)
    }

    /// Whether the repository has this commit; asked once.
    pub(crate) fn has_commit(&mut self, sha: &str) -> bool {
        let repo = self.repo.clone();
        *self.commits.entry(sha.to_owned()).or_insert_with(|| positions::commit_exists(&repo, sha))
    }

    /// What GitLab compares for a position: from the merge base to the head.
    pub(crate) fn compared_from(&self, refs: &Refs) -> Option<String> {
        match refs.start == refs.base || self.versions.contains(refs) {
            true => Some(refs.base.clone()),
            false => positions::merge_base(&self.repo, &refs.start, &refs.head),
        }
    }

    pub(crate) fn merge_request(&mut self) -> Value {
        let refs = self.latest();
        let ready = self.diff_refs_null == 0;
        self.diff_refs_null = self.diff_refs_null.saturating_sub(1);
        let changes = self.diff(&refs.base, &refs.head, &[]).len();
        if let Some(next) = self.push_after_read.take() {
            self.push(next);
        }
        json!({
            "id": 900_067, "iid": MR, "project_id": PROJECT, "source_project_id": PROJECT, "target_project_id": PROJECT,
            "title": self.title, "description": self.description, "state": self.state, "draft": self.draft,
            "work_in_progress": self.draft, "labels": self.labels, "author": user(ALICE),
            "source_branch": "feature", "target_branch": "main",
            "sha": ready.then(|| refs.head.clone()), "merge_when_pipeline_succeeds": self.auto_merge,
            "detailed_merge_status": "mergeable", "discussion_locked": self.locked.then_some(true),
            "blocking_discussions_resolved": true, "has_conflicts": false,
            "changes_count": ready.then(|| changes.to_string()),
            "diff_refs": ready.then(|| json!({
                "base_sha": refs.base, "head_sha": refs.head, "start_sha": refs.start,
            })),
            "web_url": format!("https://gitlab.example/group/project/-/merge_requests/{MR}"),
        })
    }
}

/// A user as notes show it.
pub(crate) fn user(id: u64) -> Value {
    let username = if id == BOT { "project_12345_bot_ab12".to_owned() } else { format!("user{id}") };
    json!({
        "id": id, "username": username, "name": "****", "state": "active", "locked": false,
        "avatar_url": null, "web_url": format!("https://gitlab.example/{username}"),
    })
}
