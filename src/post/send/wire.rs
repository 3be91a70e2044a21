//! The protocol's door to GitLab: each write goes down its ladder of places, and what was said to it is kept.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::ledger::Ledger;
use super::threads::Threads;
use crate::contracts::{PlannedDiscussion, Position};
use crate::gitlab::{Client, Posted, Trouble};
use crate::post::links::Links;
use crate::post::position::rung;
use crate::post::protocol::Forge;
use crate::post::sanitize::Sanitised;
use crate::post::wire;
use crate::redact::Engine;
use crate::run::clock;
use crate::run::events::{Event, Events};
use crate::run::record::hex;
use crate::threads::{Claim, ItemMark, NoteView, Seal, marker};

/// What GitLab said to the writes of one thing.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) status: Option<u16>,
    pub(super) retries: u32,
    pub(super) tries: u32,
    pub(super) rung: Option<&'static str>,
    /// The place that was refused last.
    pub(super) refused: Option<Trouble>,
    /// GitLab stored it as a plain thread, not on its line.
    pub(super) plain: bool,
}

/// GitLab as the protocol sees it.
pub(super) struct Wire<'a> {
    client: &'a Client,
    engine: &'a Engine,
    events: &'a Events,
    ledger: &'a Ledger<'a>,
    seal: &'a Seal,
    links: &'a Links,
    /// Values of the markers that the summary is to have.
    markers: &'a [String],
    threads: &'a Threads<'a>,
    planned: Vec<&'a PlannedDiscussion>,
    summary: Mutex<Said>,
    items: Vec<Mutex<Said>>,
    serial: AtomicU64,
    seed: String,
}

impl<'a> Wire<'a> {
    pub(super) fn new(
        client: &'a Client,
        (engine, events): (&'a Engine, &'a Events),
        ledger: &'a Ledger<'a>,
        seal: &'a Seal,
        (links, markers): (&'a Links, &'a [String]),
        threads: &'a Threads<'a>,
        planned: Vec<&'a PlannedDiscussion>,
    ) -> Self {
        let seed = format!("{} {}", clock::now().unix_timestamp_nanos(), std::process::id());
        let items = planned.iter().map(|_| Mutex::default()).collect();
        let (summary, serial) = (Mutex::default(), AtomicU64::new(0));
        Self { client, engine, events, ledger, seal, links, markers, threads, planned, summary, items, serial, seed }
    }

    /// The body as it is sent. Its text went this way before it was signed, so that nothing changes any more. Own are
    /// the markers it was signed with, at its end, and those that the summary is to have; a body that was read back from
    /// GitLab may hold others.
    fn sanitised(&self, body: &str) -> Sanitised {
        let last = marker::last(body);
        let body_of_item = body.trim_end().rsplit_once('\n').map(|(above, _)| above);
        let above =
            body_of_item.filter(|_| last.is_some_and(|last| last.starts_with("finding:"))).and_then(marker::last);
        let above = above.filter(|above| above.starts_with("item:"));
        let is_own = |value: &str| {
            Some(value) == last || Some(value) == above || self.markers.iter().any(|marker| marker == value)
        };
        wire::body(self.engine, body, &self.links.own(body, is_own))
    }

    pub(super) fn summary(&self) -> Said {
        lock(&self.summary).clone()
    }

    pub(super) fn item(&self, item: usize) -> Said {
        lock(&self.items[item]).clone()
    }

    /// Range, line, file: each only when GitLab refused the place before it.
    async fn climb_down(&self, item: usize, body: &str, drafting: bool) -> Result<Placed, Trouble> {
        let planned = self.planned[item];
        let write = ItemMark::read(body).map(|mark| mark.write).unwrap_or_default();
        let body = &self.sanitised(body);
        let places = std::iter::once(&planned.position).chain(&planned.fallbacks);
        let mut last = Trouble::no_place();
        for position in places {
            let mut attempts = self.client.attempts();
            self.ledger.intent(&planned.finding_id, &write);
            let result = match drafting {
                true => self.draft(body, position, &mut attempts).await,
                false => self.client.create_discussion(body, position, &mut attempts).await.map(Placed::Posted),
            };
            let mut said = lock(&self.items[item]);
            said.tries += attempts.used;
            said.retries = said.tries.saturating_sub(1);
            match result {
                Ok(placed) => {
                    said.rung = Some(rung(position));
                    if let Placed::Posted(posted) = &placed {
                        said.status = posted.status;
                        said.plain = posted.kind.as_deref() != Some("DiffNote");
                        self.ledger.settled(&planned.finding_id, &write, posted.note_id, posted.status);
                    }
                    return Ok(placed);
                }
                Err(trouble) => {
                    said.status = trouble.status;
                    if !trouble.uncertain() {
                        self.ledger.settled(&planned.finding_id, &write, None, trouble.status);
                    }
                    if !trouble.is_position() {
                        return Err(trouble);
                    }
                    // A place that was refused does not count as a try of the next one.
                    said.tries = said.tries.saturating_sub(1);
                    said.refused = Some(trouble.clone());
                    last = trouble;
                }
            }
        }
        Err(last)
    }

    /// A draft that GitLab cannot place would be lost without a word: it goes, and the next place is tried.
    async fn draft(
        &self,
        body: &Sanitised,
        position: &Position,
        attempts: &mut crate::gitlab::Attempts,
    ) -> Result<Placed, Trouble> {
        let draft = self.client.create_draft(body, position, attempts).await?;
        if draft.placed {
            return Ok(Placed::Drafted);
        }
        self.client.delete_draft(draft.id).await?;
        Err(Trouble::no_place())
    }

    fn took(&self, result: Result<Posted, Trouble>, write: &str, attempts: u32) -> Result<u64, Trouble> {
        let mut said = lock(&self.summary);
        said.tries += attempts;
        said.retries = said.tries.saturating_sub(1);
        said.status = match &result {
            Ok(posted) => posted.status,
            Err(trouble) => trouble.status,
        };
        match result {
            Ok(posted) => {
                self.ledger.settled(SUMMARY, write, posted.note_id, posted.status);
                stored(&posted)
            }
            Err(trouble) => {
                if !trouble.uncertain() {
                    self.ledger.settled(SUMMARY, write, None, trouble.status);
                }
                Err(trouble)
            }
        }
    }

    fn claim_write(&self, body: &str) -> String {
        Claim::read(body, self.seal).map(|read| read.claim.write).unwrap_or_default()
    }
}

/// The summary's name in the ledger.
const SUMMARY: &str = "summary";

enum Placed {
    Posted(Posted),
    Drafted,
}

/// An answer without an id means that GitLab took the text for a command.
fn stored(posted: &Posted) -> Result<u64, Trouble> {
    posted.note_id.ok_or_else(|| Trouble::refused(202, "GitLab took the text for a quick action and stored nothing"))
}

impl Forge for Wire<'_> {
    async fn list(&self) -> Result<Vec<NoteView>, Trouble> {
        self.client.listing().await.map(|listing| listing.notes)
    }

    async fn thread(&self, discussion: &str) -> Result<Option<Vec<NoteView>>, Trouble> {
        self.client.discussion(discussion).await
    }

    async fn create_note(&self, body: &str) -> Result<u64, Trouble> {
        let write = self.claim_write(body);
        self.ledger.intent(SUMMARY, &write);
        let mut attempts = self.client.attempts();
        let result = self.client.create_note(&self.sanitised(body), &mut attempts).await;
        self.took(result, &write, attempts.used)
    }

    async fn update_note(&self, id: u64, body: &str) -> Result<(), Trouble> {
        let mut attempts = self.client.attempts();
        let result = self.client.update_note(id, &self.sanitised(body), &mut attempts).await;
        let mut said = lock(&self.summary);
        said.retries += attempts.retries();
        if said.status.is_none() || result.is_err() {
            said.status = result.as_ref().map_or_else(|trouble| trouble.status, |posted| posted.status);
        }
        stored(&result?).map(|_| ())
    }

    async fn delete_note(&self, id: u64) -> Result<(), Trouble> {
        self.client.delete_note(id).await
    }

    async fn create_item(&self, item: usize, body: &str) -> Result<u64, Trouble> {
        match self.climb_down(item, body, false).await? {
            Placed::Posted(posted) => stored(&posted),
            Placed::Drafted => Err(Trouble::no_place()),
        }
    }

    async fn reply(&self, discussion: &str, body: &str) -> Result<(), Trouble> {
        self.client.reply(discussion, &self.sanitised(body)).await
    }

    async fn settle_threads(&self) {
        self.threads.settle(self.client, self.events).await;
    }

    async fn drafts(&self) -> Result<Vec<(u64, String)>, Trouble> {
        Ok(self.client.drafts().await?.into_iter().map(|draft| (draft.id, draft.body)).collect())
    }

    async fn create_draft(&self, item: usize, body: &str) -> Result<bool, Trouble> {
        match self.climb_down(item, body, true).await {
            Ok(_) => Ok(true),
            Err(trouble) if trouble.is_position() => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }

    async fn delete_draft(&self, id: u64) -> Result<(), Trouble> {
        self.client.delete_draft(id).await
    }

    async fn publish(&self) -> Result<(), Trouble> {
        self.client.publish_drafts().await
    }

    fn unique(&self) -> String {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        hex(&Sha256::digest(format!("{} {serial}", self.seed)))[..12].to_owned()
    }

    fn now(&self) -> Duration {
        self.client.now()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn warn(&self, message: String) {
        self.events.emit(Event::Warning { message });
    }
}

fn lock(said: &Mutex<Said>) -> MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}
