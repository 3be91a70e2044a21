//! What is in the merge request already: own comments, known by their markers.

use crate::contracts::PostPlan;
use crate::error::Result;
use crate::gitlab::{Client, Discussion, MergeRequest, Note, NotePosition, Posted, User};
use crate::post::render::marker_id;
use crate::prior::{MARKER, finding_marker};

/// How one item of the plan is recognised.
#[derive(Debug, Clone)]
pub(super) enum Key {
    Finding {
        marker: String,
    },
    Summary {
        /// The tag's and the fingerprint's.
        markers: Vec<String>,
        /// Notes up to this one are of earlier reviews, unless they say the same.
        after: u64,
        text: String,
    },
}

/// A comment that is there.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) note_id: Option<u64>,
    pub(super) discussion_id: Option<String>,
    pub(super) rung: Option<&'static str>,
    pub(super) kind: Option<String>,
    pub(super) body: String,
}

/// What was there before anything was written.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) user: User,
    pub(super) merge_request: MergeRequest,
    notes: Vec<Note>,
    discussions: Vec<Discussion>,
}

impl Seen {
    pub(super) async fn read(client: &Client) -> Result<Self> {
        let snapshot = client.snapshot().await;
        Ok(Self {
            user: snapshot.user?,
            merge_request: snapshot.merge_request?,
            notes: snapshot.notes?,
            discussions: snapshot.discussions?,
        })
    }

    pub(super) fn find(&self, key: &Key) -> Option<Found> {
        match key {
            Key::Finding { .. } => key.in_discussions(&self.discussions, self.user.id),
            Key::Summary { .. } => key.in_notes(&self.notes, self.user.id),
        }
    }

    /// The newest own note with the summary's tag, of whatever review.
    pub(super) fn newest_summary(&self, key: &Key) -> Option<Found> {
        let Key::Summary { markers, .. } = key else { return None };
        let tag = markers.first()?;
        let own = self.notes.iter().filter(|note| is_own(note, self.user.id) && has_line(&note.body, tag));
        own.max_by_key(|note| note.id).map(|note| Found::of(note, None))
    }
}

impl Key {
    pub(super) fn finding(finding_id: &str) -> Self {
        Self::Finding { marker: finding_marker(&marker_id(finding_id)) }
    }

    /// The tag's marker has no further colon; the fingerprint's says so.
    pub(super) fn summary(plan: &PostPlan) -> Self {
        let all = plan.summary_body.lines().map(str::trim).filter(|line| line.starts_with(MARKER));
        let value = |marker: &str| marker[MARKER.len()..].trim_end_matches("-->").trim().to_owned();
        let (tags, others): (Vec<_>, Vec<_>) = all.map(str::to_owned).partition(|marker| !value(marker).contains(':'));
        let fingerprints = others.into_iter().filter(|marker| value(marker).starts_with("fingerprint:"));
        Self::Summary {
            markers: tags.into_iter().take(1).chain(fingerprints).collect(),
            after: plan.prior_summary_note_id.unwrap_or(0),
            text: plan.summary_markdown.trim().to_owned(),
        }
    }

    /// Where a write of this kind goes.
    pub(super) fn path(&self) -> &'static str {
        match self {
            Self::Finding { .. } => "/discussions",
            Self::Summary { .. } => "/notes",
        }
    }

    /// Looks in GitLab itself.
    pub(super) async fn look(&self, client: &Client, user: u64) -> Result<Option<Found>> {
        Ok(match self {
            Self::Finding { .. } => self.in_discussions(&client.discussions().await?, user),
            Self::Summary { .. } => self.in_notes(&client.notes().await?, user),
        })
    }

    fn in_discussions(&self, discussions: &[Discussion], user: u64) -> Option<Found> {
        discussions.iter().find_map(|discussion| {
            let note = discussion.notes.iter().find(|note| self.matches(note, user))?;
            Some(Found::of(note, Some(&discussion.id)))
        })
    }

    fn in_notes(&self, notes: &[Note], user: u64) -> Option<Found> {
        notes.iter().rev().find(|note| self.matches(note, user)).map(|note| Found::of(note, None))
    }

    fn matches(&self, note: &Note, user: u64) -> bool {
        is_own(note, user)
            && match self {
                // A plain note can only be a summary, which may show a finding's marker too.
                Self::Finding { marker } => note.kind.is_some() && has_line(&note.body, marker),
                Self::Summary { markers, after, text } => {
                    markers.len() > 1
                        && markers.iter().all(|marker| has_line(&note.body, marker))
                        && (note.id > *after || note.body.contains(text.as_str()))
                }
            }
    }
}

impl Found {
    fn of(note: &Note, discussion_id: Option<&String>) -> Self {
        Self {
            note_id: Some(note.id),
            discussion_id: discussion_id.cloned(),
            rung: note.position.as_ref().map(rung),
            kind: note.kind.clone(),
            body: note.body.clone(),
        }
    }

    /// A write whose answer was lost, as if it had come.
    pub(super) fn posted(self, status: Option<u16>) -> Posted {
        Posted { status, note_id: self.note_id, discussion_id: self.discussion_id, kind: self.kind }
    }

    /// Whether it says the same; GitLab trims the end and drops carriage returns.
    pub(super) fn says(&self, body: &str) -> bool {
        self.body.trim_end() == body.replace('\r', "").trim_end()
    }
}

/// Only the token's own user is believed: anyone can write a marker.
fn is_own(note: &Note, user: u64) -> bool {
    note.author_id == user && !note.system
}

fn has_line(body: &str, marker: &str) -> bool {
    body.lines().any(|line| line.trim() == marker)
}

fn rung(position: &NotePosition) -> &'static str {
    match (position.position_type.as_str(), position.range) {
        ("file", _) => "file",
        (_, true) => "range",
        (_, false) => "line",
    }
}
