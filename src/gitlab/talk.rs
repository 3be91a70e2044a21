//! What is said in a merge request: read, written, answered, drafted and removed.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde_json::json;

use super::http::{Answer, Fate, Request};
use super::{Attempts, Client, PER_PAGE, Posted, SWALLOWED, Trouble, wire};
use crate::contracts::Position;
use crate::error::Result;
use crate::post::sanitize::Sanitised;
use crate::threads::NoteView;

/// Every note of a merge request, as far as it could be read.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub notes: Vec<NoteView>,
    /// What could not be read, in words.
    pub unread: Vec<String>,
}

/// A comment that nobody else sees yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftNote {
    pub id: u64,
    pub body: String,
    /// GitLab found the place: a draft without one is dropped without a word when it is published.
    pub placed: bool,
}

impl Client {
    /// Every note, oldest first, system notes included.
    pub async fn notes(&self) -> Result<Vec<NoteView>> {
        let what = format!("read the notes of {}", self.name());
        self.all_notes().await.map(|(notes, _)| notes).map_err(|trouble| self.read_error(&what, &trouble))
    }

    /// Every note with its discussion, oldest discussion first.
    pub async fn discussions(&self) -> Result<Vec<NoteView>> {
        let what = format!("read the discussions of {}", self.name());
        self.all_discussions().await.map(|(rows, _)| rows).map_err(|trouble| self.read_error(&what, &trouble))
    }

    /// Everything that was said. The discussions have it all; where they cannot be listed the notes do, without saying
    /// which belong together.
    pub async fn listing(&self) -> Result<Listing, Trouble> {
        let trouble = match self.all_discussions().await {
            Ok((notes, broken)) => return Ok(Listing { notes, unread: unread(broken, "discussion") }),
            Err(trouble) => trouble,
        };
        if matches!(trouble.status, Some(401 | 403)) || trouble.fate == Fate::Unreachable {
            return Err(trouble);
        }
        let why = trouble.reason();
        let (notes, broken) = self.all_notes().await.map_err(|other| trouble.and(&other.reason()))?;
        let mut unread = unread(broken, "note");
        unread.push(format!("the discussions could not be listed ({why}), so that answers cannot be told"));
        Ok(Listing { notes, unread })
    }

    /// One discussion; `None` when it is gone.
    pub async fn discussion(&self, id: &str) -> Result<Option<Vec<NoteView>>, Trouble> {
        match self.http.send(&Request::get(self.discussion_path(id)), &mut self.attempts()).await {
            Ok(answer) => Ok(Some(answer.json::<wire::Discussion>()?.notes())),
            Err(trouble) if trouble.status == Some(404) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Opens a discussion.
    pub async fn create_discussion(
        &self,
        body: &Sanitised,
        position: &Position,
        attempts: &mut Attempts,
    ) -> Result<Posted, Trouble> {
        let body = json!({ "body": body.as_str(), "position": position });
        let request = Request::write(Method::POST, self.path("/discussions"), body);
        let answer = self.http.send(&request, attempts).await?;
        let stored: wire::StoredDiscussion = answer.json()?;
        let note = stored.notes.into_iter().next();
        if note.is_none() && answer.status != SWALLOWED {
            return Err(Trouble::unreadable("GitLab's answer has no note in it"));
        }
        Ok(Posted {
            status: Some(answer.status),
            note_id: note.as_ref().map(|note| note.id),
            discussion_id: stored.id,
            kind: note.and_then(|note| note.kind),
        })
    }

    /// Writes a plain note.
    pub async fn create_note(&self, body: &Sanitised, attempts: &mut Attempts) -> Result<Posted, Trouble> {
        let request = Request::write(Method::POST, self.path("/notes"), json!({ "body": body.as_str() }));
        stored_note(&self.http.send(&request, attempts).await?)
    }

    /// Replaces a note's text.
    pub async fn update_note(&self, id: u64, body: &Sanitised, attempts: &mut Attempts) -> Result<Posted, Trouble> {
        let request = Request::write(Method::PUT, self.path(&format!("/notes/{id}")), json!({ "body": body.as_str() }));
        stored_note(&self.http.send(&request, attempts).await?)
    }

    /// Writes into a discussion that is there.
    pub async fn reply(&self, discussion: &str, body: &Sanitised) -> Result<(), Trouble> {
        let path = format!("{}/notes", self.discussion_path(discussion));
        let request = Request::write(Method::POST, path, json!({ "body": body.as_str() }));
        self.http.send(&request, &mut self.attempts()).await.map(|_| ())
    }

    /// Deletes a note; one that is gone already is deleted.
    pub async fn delete_note(&self, id: u64) -> Result<(), Trouble> {
        self.delete(&self.path(&format!("/notes/{id}"))).await
    }

    /// Resolves an own thread by its note: its author may, whatever the role.
    pub async fn resolve(&self, discussion: &str, note: u64, resolved: bool) -> Result<(), Trouble> {
        let path = format!("{}/notes/{note}", self.discussion_path(discussion));
        let request = Request::write(Method::PUT, path, json!({ "resolved": resolved }));
        self.http.send(&request, &mut self.attempts()).await.map(|_| ())
    }

    /// The user's drafts.
    pub async fn drafts(&self) -> Result<Vec<DraftNote>, Trouble> {
        let answer = self.http.send(&Request::get(self.path("/draft_notes")), &mut self.attempts()).await?;
        let rows: Vec<wire::Draft> = answer.json()?;
        Ok(rows.into_iter().map(draft).collect())
    }

    /// Drafts a discussion.
    pub async fn create_draft(
        &self,
        body: &Sanitised,
        position: &Position,
        attempts: &mut Attempts,
    ) -> Result<DraftNote, Trouble> {
        let body = json!({ "note": body.as_str(), "position": position });
        let request = Request::write(Method::POST, self.path("/draft_notes"), body);
        self.http.send(&request, attempts).await?.json().map(draft)
    }

    pub async fn delete_draft(&self, id: u64) -> Result<(), Trouble> {
        self.delete(&self.path(&format!("/draft_notes/{id}"))).await
    }

    /// Publishes all drafts of the user, with one notification.
    pub async fn publish_drafts(&self) -> Result<(), Trouble> {
        let request = Request::write(Method::POST, self.path("/draft_notes/bulk_publish"), json!({}));
        self.http.send(&request, &mut Attempts::new(1)).await.map(|_| ())
    }

    async fn delete(&self, path: &str) -> Result<(), Trouble> {
        let mut request = Request::get(path);
        request.method = Method::DELETE;
        match self.http.send(&request, &mut self.attempts()).await {
            Err(trouble) if trouble.status != Some(404) => Err(trouble),
            _ => Ok(()),
        }
    }

    fn discussion_path(&self, id: &str) -> String {
        self.path(&format!("/discussions/{}", utf8_percent_encode(id, NON_ALPHANUMERIC)))
    }

    async fn all_notes(&self) -> Result<(Vec<NoteView>, usize), Trouble> {
        let mut request = Request::get(self.path("/notes"));
        request.query = vec![("sort", "asc".into()), ("order_by", "created_at".into())];
        let (rows, broken) = self.whole::<wire::Note>(&request).await?;
        Ok((rows.into_iter().map(NoteView::from).collect(), broken))
    }

    async fn all_discussions(&self) -> Result<(Vec<NoteView>, usize), Trouble> {
        let (rows, broken) = self.whole::<wire::Discussion>(&Request::get(self.path("/discussions"))).await?;
        Ok((rows.into_iter().flat_map(wire::Discussion::notes).collect(), broken))
    }

    /// Every row that can be read, and how many cannot. Pages shift while others write, so a list that changed while it
    /// was read is read once more. That it has fewer rows than GitLab counts says nothing: this user may not see all.
    async fn whole<T: serde::de::DeserializeOwned>(&self, request: &Request) -> Result<(Vec<T>, usize), Trouble> {
        let mut pages = self.all_pages::<wire::Row<T>>(request.clone(), PER_PAGE).await?;
        if pages.shifted {
            pages = self.all_pages::<wire::Row<T>>(request.clone(), PER_PAGE).await?;
        }
        let all = pages.rows.len();
        let rows: Vec<T> = pages.rows.into_iter().filter_map(wire::Row::read).collect();
        let broken = all - rows.len();
        Ok((rows, broken))
    }
}

fn unread(broken: usize, what: &str) -> Vec<String> {
    match broken {
        0 => Vec::new(),
        1 => vec![format!("1 {what} of the merge request is not as the API describes it, and was passed over")],
        _ => vec![format!(
            "{broken} {what}s of the merge request are not as the API describes them, and were passed over"
        )],
    }
}

fn draft(wire: wire::Draft) -> DraftNote {
    DraftNote { id: wire.id, placed: wire.is_placed(), body: wire.note }
}

fn stored_note(answer: &Answer) -> Result<Posted, Trouble> {
    let note: wire::StoredNote = answer.json()?;
    if note.id.is_none() && answer.status != SWALLOWED {
        return Err(Trouble::unreadable("GitLab's answer has no note in it"));
    }
    Ok(Posted { status: Some(answer.status), note_id: note.id, discussion_id: None, kind: note.kind })
}
