//! `post_ledger.jsonl`: intent before each write, its result after it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::look::Found;
use crate::contracts::{LedgerEntry, LedgerState};
use crate::gitlab::Posted;
use crate::run::events::{Event, Events};
use crate::run::workdir::{Artifact, Workdir};

/// The ledger of a workdir, with what earlier runs on it have finished.
pub(super) struct Ledger<'a> {
    workdir: &'a Workdir,
    events: &'a Events,
    done: HashMap<String, Option<u64>>,
    complained: AtomicBool,
}

impl<'a> Ledger<'a> {
    /// A line that cannot be read is one that was being written when a run was killed.
    pub(super) fn open(workdir: &'a Workdir, events: &'a Events) -> Self {
        let bytes = workdir.read(&Artifact::PostLedger.file_name()).unwrap_or_default();
        let entries = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        let done = entries
            .filter(|entry: &LedgerEntry| entry.state == LedgerState::Done)
            .map(|entry| (entry.item, entry.gitlab_id))
            .collect();
        Self { workdir, events, done, complained: AtomicBool::new(false) }
    }

    /// What an earlier run posted. It is not posted again even when it is gone: then someone deleted it.
    pub(super) fn done(&self, item: &str) -> Option<Found> {
        self.done.get(item).map(|note_id| Found { note_id: *note_id, ..Found::default() })
    }

    pub(super) fn intent(&self, item: &str) {
        self.write(item, LedgerState::Intent, None, None);
    }

    pub(super) fn settled(&self, item: &str, posted: &Posted) {
        let state = if posted.note_id.is_some() { LedgerState::Done } else { LedgerState::Failed };
        self.write(item, state, posted.note_id, posted.status);
    }

    pub(super) fn failed(&self, item: &str, status: Option<u16>) {
        self.write(item, LedgerState::Failed, None, status);
    }

    /// The markers in GitLab are the proof; a ledger that cannot be written must not cost the review.
    fn write(&self, item: &str, state: LedgerState, gitlab_id: Option<u64>, http_status: Option<u16>) {
        let entry = LedgerEntry { item: item.to_owned(), state, gitlab_id, http_status };
        if let Err(error) = self.workdir.append_line(Artifact::PostLedger, &entry)
            && !self.complained.swap(true, Ordering::Relaxed)
        {
            self.events.emit(Event::Warning { message: error.to_string() });
        }
    }
}
