//! How a review gets into a merge request so that one copy of it stays, whatever other runs, GitLab and the network do.
//!
//! The summary goes first, as a claim that holds every finding. Then the comments, then the claim again with what became
//! of them. Every write is looked for before it is repeated; what overlapping runs doubled is removed by whoever sees a
//! better copy. Nothing here knows of HTTP, files or clocks: [`Forge`] is the door, and the simulation of the tests has
//! another behind it.

mod items;
mod join;
mod sweep;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

pub use crate::gitlab::Trouble;
use crate::threads::{Claim, ItemMark, NoteView, Own, Seal, Seen, SeenClaim, marker};

/// What the protocol asks of GitLab.
pub trait Forge {
    /// Every note of the merge request.
    fn list(&self) -> impl Future<Output = Result<Vec<NoteView>, Trouble>>;
    /// The notes of one discussion; none when it is gone.
    fn thread(&self, discussion: &str) -> impl Future<Output = Result<Option<Vec<NoteView>>, Trouble>>;
    /// Writes a plain note; its id.
    fn create_note(&self, body: &str) -> impl Future<Output = Result<u64, Trouble>>;
    /// Replaces a note's text.
    fn update_note(&self, id: u64, body: &str) -> impl Future<Output = Result<(), Trouble>>;
    /// Deletes a note; one that is gone already is deleted.
    fn delete_note(&self, id: u64) -> impl Future<Output = Result<(), Trouble>>;
    /// Opens the discussion of an item of the mission; its first note's id.
    fn create_item(&self, item: usize, body: &str) -> impl Future<Output = Result<u64, Trouble>>;
    /// Writes into a discussion that is there.
    fn reply(&self, discussion: &str, body: &str) -> impl Future<Output = Result<(), Trouble>>;
    /// Resolves and opens again what the review wants so, in the threads of earlier ones. Asked for once, when it is
    /// certain that the review holds and before the summary tells of it.
    fn settle_threads(&self) -> impl Future<Output = ()>;
    /// The user's drafts: their ids and texts.
    fn drafts(&self) -> impl Future<Output = Result<Vec<(u64, String)>, Trouble>>;
    /// Drafts the discussion of an item; false when GitLab would not place it.
    fn create_draft(&self, item: usize, body: &str) -> impl Future<Output = Result<bool, Trouble>>;
    fn delete_draft(&self, id: u64) -> impl Future<Output = Result<(), Trouble>>;
    /// Publishes all drafts of the user.
    fn publish(&self) -> impl Future<Output = Result<(), Trouble>>;
    /// A word that no other request of any run has.
    fn unique(&self) -> String;
    /// A clock that only goes forward.
    fn now(&self) -> Duration;
    fn sleep(&self, time: Duration) -> impl Future<Output = ()>;
    /// Something a person should know.
    fn warn(&self, message: String);
}

/// What one review wants in the merge request.
pub struct Mission<'a> {
    pub claim: &'a Claim,
    pub items: &'a [Item],
    /// What the merge request showed a moment ago; read anew where that is nothing.
    pub notes: Option<Vec<NoteView>>,
    /// The token's user, where GitLab tells.
    pub author: Option<u64>,
    pub seal: &'a Seal,
    /// The claim with what became of the items, and the text of its note.
    pub render: &'a dyn Fn(&[State]) -> (Claim, String),
    /// Writes of an earlier run of this plan without an answer, and until when each may still arrive.
    pub late: Vec<(String, Duration)>,
    /// One summary is kept and rewritten.
    pub idempotent: bool,
    /// Comments are drafted and published together.
    pub drafts: bool,
}

impl std::fmt::Debug for Mission<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mission").field("nonce", &self.claim.nonce).field("items", &self.items.len()).finish()
    }
}

/// A comment on a line that is to be there.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// How it is known again; its tag and nonce are the claim's.
    pub mark: ItemMark,
    /// Its text, without markers.
    pub text: String,
    /// A note of an earlier review that says it already.
    pub adopted: Option<u64>,
}

/// What became of an item.
#[derive(Debug, Clone, Default)]
pub enum State {
    #[default]
    Missing,
    /// It is in the merge request.
    There {
        note: u64,
        discussion: Option<String>,
        /// Nothing was written for it in this run.
        already: bool,
    },
    /// It has no place of its own; the summary has it.
    Refused(Trouble),
    /// Nobody knows; the next run looks again.
    Unknown(Trouble),
}

impl State {
    pub fn is_there(&self) -> bool {
        matches!(self, Self::There { .. })
    }

    pub fn note(&self) -> Option<u64> {
        match self {
            Self::There { note, .. } => Some(*note),
            _ => None,
        }
    }
}

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// How long after it was sent GitLab may still carry out a write that it did not answer.
    pub settle: Duration,
    /// When the job ends, on the forge's clock.
    pub deadline: Option<Duration>,
    /// How often one write is tried.
    pub attempts: u32,
    /// How far apart two looks for the same thing are at first; it doubles.
    pub step: Duration,
    /// Writes at the same time.
    pub width: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(150),
            deadline: None,
            attempts: 3,
            step: Duration::from_millis(250),
            width: 16,
        }
    }
}

/// What became of the mission.
#[derive(Debug)]
pub struct Delivered {
    pub end: End,
    /// The summary's note.
    pub note: Option<u64>,
    /// The summary was there already, word for word.
    pub unchanged: bool,
    pub items: Vec<State>,
    /// Copies that were removed.
    pub removed: u32,
    /// A write of this run may still arrive; the next run looks for it.
    pub unsettled: bool,
}

/// How it ended.
#[derive(Debug)]
pub enum End {
    /// The claim stands. Items may have failed on their own.
    Done,
    /// Another review holds: of a newer version, or of the same one.
    Superseded { note: u64, newer: bool },
    /// What is there could not be read, so nothing was written.
    Unread(Trouble),
    /// The claim could not be written.
    NotClaimed(Trouble),
}

/// Brings a review into the merge request.
pub async fn deliver<F: Forge>(forge: &F, mission: &Mission<'_>, pace: &Pace) -> Delivered {
    let delivery = Delivery {
        forge,
        mission,
        pace,
        confirmed: RefCell::default(),
        states: RefCell::new(mission.items.iter().map(|_| State::Missing).collect()),
        expected: RefCell::default(),
        late: RefCell::new(
            mission.late.iter().map(|(write, until)| Late { write: write.clone(), until: *until }).collect(),
        ),
        removed: Cell::default(),
        stopped: RefCell::default(),
    };
    delivery.run().await
}

/// Removes what overlapping runs left double, and nothing else. For a run that has nothing to say.
pub async fn tidy<F: Forge>(forge: &F, own: &Own<'_>, idempotent: bool) -> Result<u32, Trouble> {
    let notes = forge.list().await?;
    let seen = Seen::read(&notes, own);
    Ok(sweep::sweep(forge, &seen, idempotent, None).await)
}

/// Whether there is anything to remove.
pub fn is_doubled(seen: &Seen, idempotent: bool) -> bool {
    sweep::is_doubled(seen, idempotent)
}

struct Delivery<'a, F> {
    forge: &'a F,
    mission: &'a Mission<'a>,
    pace: &'a Pace,
    /// Notes that GitLab said are there: a list without them is too old.
    confirmed: RefCell<BTreeSet<u64>>,
    states: RefCell<Vec<State>>,
    /// Items that were published and have no id yet: a list without them is too old.
    expected: RefCell<BTreeSet<usize>>,
    /// Writes without an answer.
    late: RefCell<Vec<Late>>,
    removed: Cell<u32>,
    /// Why no further write makes sense.
    stopped: RefCell<Option<Trouble>>,
}

/// A write without an answer, and until when it may still be carried out.
struct Late {
    write: String,
    until: Duration,
}

/// A claim, or why there is none.
enum Claimed {
    Note { id: u64, posted: bool },
    Lost(Box<SeenClaim>),
    Failed(Trouble),
}

impl<F: Forge> Delivery<'_, F> {
    async fn run(&self) -> Delivered {
        let seen = match &self.mission.notes {
            Some(notes) => Ok(self.seen(notes)),
            None => self.look().await,
        };
        let mut seen = match seen {
            Ok(seen) => seen,
            Err(trouble) => return self.end(End::Unread(trouble), None),
        };
        if let Some(better) = self.better(&seen) {
            return self.lose(&seen, &better).await;
        }
        let (id, posted) = match self.claim(&mut seen).await {
            Claimed::Note { id, posted } => (id, posted),
            Claimed::Lost(better) => return self.lose(&seen, &better).await,
            Claimed::Failed(trouble) => {
                self.settle().await;
                return self.end(End::NotClaimed(trouble), None);
            }
        };
        self.items(&mut seen).await;
        if let Some(better) = self.better(&seen) {
            return self.lose(&seen, &better).await;
        }
        if self.stopped.borrow().is_none() {
            self.forge.settle_threads().await;
        }
        let unchanged = self.complete(&seen, id).await && !posted;
        self.sweep(&seen).await;
        self.settle().await;
        let mut delivered = self.end(End::Done, Some(id));
        delivered.unchanged = unchanged;
        delivered
    }

    fn end(&self, end: End, note: Option<u64>) -> Delivered {
        Delivered {
            end,
            note,
            unchanged: false,
            items: self.states.borrow().clone(),
            removed: self.removed.get(),
            unsettled: !self.late.borrow().is_empty(),
        }
    }

    /// Another review holds: what this one wrote goes, unless somebody took it up.
    async fn lose(&self, seen: &Seen, better: &SeenClaim) -> Delivered {
        self.sweep(seen).await;
        self.settle().await;
        let newer = better.claim.version > self.mission.claim.version;
        self.end(End::Superseded { note: better.note, newer }, None)
    }

    /// Reads until everything that GitLab confirmed is in the list; for as long as a list may lag.
    async fn look(&self) -> Result<Seen, Trouble> {
        let mut wait = self.pace.step;
        for _ in 0..LAG_LOOKS {
            let seen = self.read().await?;
            self.arrived(&seen);
            let behind = self.confirmed.borrow().iter().any(|id| !seen.has(*id)) || self.awaits(&seen);
            if !behind || self.is_over(wait) {
                return Ok(seen);
            }
            self.forge.sleep(wait).await;
            wait *= 2;
        }
        // What is still not there was deleted by somebody.
        let seen = self.read().await?;
        self.arrived(&seen);
        self.confirmed.borrow_mut().retain(|id| seen.has(*id));
        self.expected.borrow_mut().clear();
        Ok(seen)
    }

    /// Whether something that was published does not show yet.
    fn awaits(&self, seen: &Seen) -> bool {
        let nonce = &self.mission.claim.nonce;
        let shows = |item: &usize| seen.items_of(nonce, &self.mission.items[*item].mark.finding).next().is_some();
        self.expected.borrow_mut().retain(|item| !shows(item));
        !self.expected.borrow().is_empty()
    }

    async fn read(&self) -> Result<Seen, Trouble> {
        Ok(self.seen(&self.forge.list().await?))
    }

    fn seen(&self, notes: &[NoteView]) -> Seen {
        let Mission { claim, seal, author, .. } = self.mission;
        Seen::read(notes, &Own { author: *author, tag: &claim.tag, seal })
    }

    /// A claim of another review that holds against this one.
    fn better(&self, seen: &Seen) -> Option<SeenClaim> {
        let claim = self.mission.claim;
        let own = seen.claims_of(&claim.nonce).map(SeenClaim::rank).max();
        let own = own.unwrap_or_else(|| claim.rank(u64::MAX));
        seen.winner().filter(|winner| winner.claim.nonce != claim.nonce && winner.rank() > own).cloned()
    }

    /// Writes the claim, and reads until it shows.
    async fn claim(&self, seen: &mut Seen) -> Claimed {
        let states = self.states.borrow().clone();
        let claim = (self.mission.render)(&states);
        if let Some(known) = first(seen.claims_of(&claim.0.nonce)) {
            return Claimed::Note { id: known.note, posted: false };
        }
        let slot = self.mission.idempotent.then(|| slot(seen)).flatten();
        let written = match slot {
            Some(id) => self.rewrite(seen, id, &claim).await,
            None => self.write(seen, &claim).await,
        };
        match written {
            Ok(id) => {
                self.confirmed.borrow_mut().insert(id);
                match self.look().await {
                    Ok(now) => *seen = now,
                    Err(trouble) => {
                        // It is there; whether it holds is not known, so nothing is added to it.
                        *self.stopped.borrow_mut() = Some(trouble);
                        return Claimed::Note { id, posted: true };
                    }
                }
                match self.better(seen) {
                    Some(better) => Claimed::Lost(Box::new(better)),
                    None => Claimed::Note { id, posted: true },
                }
            }
            Err(trouble) => match self.better(seen) {
                Some(better) => Claimed::Lost(Box::new(better)),
                None => Claimed::Failed(trouble),
            },
        }
    }

    /// Posts the claim. Without an answer its nonce is looked for, until it cannot come any more, before it is repeated.
    async fn write(&self, seen: &mut Seen, claim: &(Claim, String)) -> Result<u64, Trouble> {
        let nonce = &self.mission.claim.nonce;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let sent = self.forge.now();
            let (write, body) = self.body_of(claim);
            let trouble = match self.forge.create_note(&body).await {
                Ok(id) => return Ok(id),
                Err(trouble) => trouble,
            };
            if !trouble.uncertain() {
                return Err(trouble);
            }
            let until = if trouble.lands_late() { sent + self.pace.settle } else { self.forge.now() };
            if trouble.lands_late() {
                self.late.borrow_mut().push(Late { write, until });
            }
            let mut wait = self.pace.step;
            loop {
                // A list may lag behind even an answered write, so there is always a second look.
                self.forge.sleep(wait.min(until.saturating_sub(self.forge.now()).max(self.pace.step))).await;
                if let Ok(now) = self.look().await {
                    *seen = now;
                }
                if let Some(found) = first(seen.claims_of(nonce)) {
                    return Ok(found.note);
                }
                if self.better(seen).is_some() {
                    return Err(trouble);
                }
                wait = (wait * 2).min(LONGEST_STEP);
                if self.forge.now() >= until || self.is_over(wait) {
                    break;
                }
            }
            if attempt >= self.pace.attempts || trouble.is_final() || self.is_over(self.pace.step) {
                return Err(trouble);
            }
        }
    }

    /// The body of a claim's note, and the name of the request that is about to write it.
    fn body_of(&self, (claim, text): &(Claim, String)) -> (String, String) {
        let write = self.forge.unique();
        let body = Claim { write: write.clone(), ..claim.clone() }.body(text, self.mission.seal);
        (write, body)
    }

    /// Puts the claim into the summary that is kept. Of two that do so the better one insists.
    async fn rewrite(&self, seen: &mut Seen, id: u64, claim: &(Claim, String)) -> Result<u64, Trouble> {
        for _ in 0..self.pace.attempts {
            match self.forge.update_note(id, &self.body_of(claim).1).await {
                Ok(()) => {}
                // Somebody deleted it in the meantime.
                Err(trouble) if trouble.status == Some(404) => return self.write(seen, claim).await,
                Err(trouble) => return Err(trouble),
            }
            *seen = self.look().await?;
            let kept = seen.claims.iter().find(|known| known.note == id);
            if kept.is_none_or(|kept| kept.claim.nonce == claim.0.nonce) || self.better(seen).is_some() {
                break;
            }
        }
        Ok(id)
    }

    /// The claim again, with what became of the items. True when it says so already.
    async fn complete(&self, seen: &Seen, id: u64) -> bool {
        let states = self.states.borrow().clone();
        let (claim, text) = (self.mission.render)(&states);
        let Some(kept) = seen.claims.iter().find(|known| known.note == id) else {
            // Somebody deleted it, or what is there could not be read.
            return false;
        };
        if kept.claim.nonce != claim.nonce || kept.edited {
            // Another run rewrote the kept summary, or a person did: theirs stands.
            return false;
        }
        if kept.claim == (Claim { sum: marker::sum(&text), write: kept.claim.write.clone(), ..claim.clone() }) {
            return true;
        }
        if self.stopped.borrow().as_ref().is_some_and(|trouble| !trouble.is_note_limit()) {
            return false;
        }
        let claim = Claim { write: kept.claim.write.clone(), ..claim };
        if let Err(trouble) = self.forge.update_note(id, &claim.body(&text, self.mission.seal)).await {
            let reason = trouble.reason();
            self.forge.warn(format!("the summary could not be completed with what became of its findings: {reason}"));
        }
        false
    }

    async fn sweep(&self, seen: &Seen) {
        let removed = sweep::sweep(self.forge, seen, self.mission.idempotent, Some(&self.mission.claim.nonce)).await;
        self.removed.set(self.removed.get() + removed);
    }

    /// Waits until no write of this run can arrive any more, where the job's time allows it, and sweeps again.
    async fn settle(&self) {
        self.late.borrow_mut().retain(|late| late.until > self.forge.now());
        let Some(until) = self.late.borrow().iter().map(|late| late.until).max() else { return };
        if self.pace.deadline.is_some_and(|end| until >= end) {
            self.forge.warn(
                "GitLab may still carry out a write that it did not answer, after this job has ended; \
                 the next run removes what it doubles"
                    .to_owned(),
            );
            return;
        }
        self.forge.sleep(until.saturating_sub(self.forge.now())).await;
        if let Ok(seen) = self.look().await {
            self.late.borrow_mut().clear();
            self.sweep(&seen).await;
        }
    }

    /// Whether the job ends before so much time has passed.
    fn is_over(&self, time: Duration) -> bool {
        self.pace.deadline.is_some_and(|end| self.forge.now() + time >= end)
    }

    /// Writes that the merge request shows are not awaited any more.
    fn arrived(&self, seen: &Seen) {
        let items = seen.threads.iter().map(|thread| thread.mark.write.as_str());
        let shown: BTreeSet<&str> = items.chain(seen.claims.iter().map(|claim| claim.claim.write.as_str())).collect();
        self.late.borrow_mut().retain(|late| !shown.contains(late.write.as_str()));
    }
}

/// Looks for something that was written and is not in the list yet.
const LAG_LOOKS: u32 = 5;
/// Longest time between two looks.
const LONGEST_STEP: Duration = Duration::from_secs(10);

fn first<'a>(claims: impl Iterator<Item = &'a SeenClaim>) -> Option<&'a SeenClaim> {
    claims.min_by_key(|claim| claim.note)
}

/// The summary that is kept: the one that holds, else the newest of an earlier version of diffsan.
fn slot(seen: &Seen) -> Option<u64> {
    seen.winner().map(|winner| winner.note).or_else(|| seen.old_summaries.last().copied())
}
