//! Own threads of earlier reviews: resolved where their fault is gone, opened again where it is back.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::contracts::PlannedResolve;
use crate::gitlab::Client;
use crate::run::events::{Event, Events};
use crate::threads::NoteView;

/// What is wanted of them, and what became of it.
#[derive(Debug, Default)]
pub(super) struct Threads<'a> {
    resolve: &'a [PlannedResolve],
    reopen: &'a [PlannedResolve],
    /// The token's user: no other's thread is touched.
    author: Option<u64>,
    done: Mutex<Done>,
}

/// Notes whose threads were settled.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    pub(super) resolved: Vec<u64>,
    pub(super) reopened: Vec<u64>,
}

impl<'a> Threads<'a> {
    pub(super) fn new(resolve: &'a [PlannedResolve], reopen: &'a [PlannedResolve], author: Option<u64>) -> Self {
        Self { resolve, reopen, author, done: Mutex::default() }
    }

    pub(super) fn done(&self) -> Done {
        self.lock().clone()
    }

    /// Does it; without the right to it that is a warning and nothing else.
    pub(super) async fn settle(&self, client: &Client, events: &Events) {
        let wanted = self.resolve.iter().map(|thread| (thread, true));
        for (planned, resolved) in wanted.chain(self.reopen.iter().map(|thread| (thread, false))) {
            let notes = client.discussion(&planned.discussion_id).await.ok().flatten().unwrap_or_default();
            match self.judge(planned, resolved, &notes) {
                Judged::Leave => continue,
                Judged::Done => {
                    self.record(planned, resolved);
                    continue;
                }
                Judged::Do => {}
            }
            match client.resolve(&planned.discussion_id, planned.note_id, resolved).await {
                Ok(()) => self.record(planned, resolved),
                Err(trouble) => {
                    let what = if resolved { "resolved" } else { "opened again" };
                    let message = format!("an own thread could not be {what}: {}", trouble.reason());
                    events.emit(Event::Warning { message });
                    // Without the right to one there is no right to the others.
                    return;
                }
            }
        }
    }

    /// Only diffsan's own are touched, and none that somebody answered is resolved.
    fn judge(&self, planned: &PlannedResolve, resolved: bool, notes: &[NoteView]) -> Judged {
        let said: Vec<_> = notes.iter().filter(|note| !note.system).collect();
        let is_own =
            |note: &&&NoteView| note.id == planned.note_id && note.author_id.is_some() && note.author_id == self.author;
        match said.iter().find(is_own) {
            Some(own) if own.resolved && resolved && own.resolved_by == self.author => Judged::Done,
            Some(own) if !own.resolved && !resolved => Judged::Done,
            Some(own) if own.resolved != resolved && (said.len() == 1 || !resolved) => Judged::Do,
            _ => Judged::Leave,
        }
    }

    fn record(&self, planned: &PlannedResolve, resolved: bool) {
        let mut done = self.lock();
        if resolved { done.resolved.push(planned.note_id) } else { done.reopened.push(planned.note_id) }
    }

    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is to be done with a thread.
enum Judged {
    Do,
    /// An earlier run of this plan did it.
    Done,
    Leave,
}
