//! `post_ledger.jsonl`: intent before each write, its result after it. A hint to a later run of the same workdir, never
//! a proof: only what GitLab shows counts as posted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::contracts::{LedgerEntry, LedgerState};
use crate::run::clock;
use crate::run::events::{Event, Events};
use crate::run::workdir::{Artifact, Workdir};

/// The ledger of a workdir.
#[derive(Debug)]
pub(super) struct Ledger<'a> {
    workdir: &'a Workdir,
    events: &'a Events,
    /// Requests of earlier runs that got no answer, with the seconds since 1970 at which they were sent.
    open: BTreeMap<String, u64>,
    complained: AtomicBool,
}

impl<'a> Ledger<'a> {
    /// A line that cannot be read is one that was being written when a run was killed.
    pub(super) fn open(workdir: &'a Workdir, events: &'a Events) -> Self {
        let bytes = workdir.read(&Artifact::PostLedger.file_name()).unwrap_or_default();
        let entries = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        let mut open = BTreeMap::new();
        for LedgerEntry { state, write, at, .. } in entries {
            let Some(write) = write else { continue };
            match (state, at) {
                (LedgerState::Intent, Some(at)) => drop(open.insert(write, at)),
                _ => drop(open.remove(&write)),
            }
        }
        Self { workdir, events, open, complained: AtomicBool::new(false) }
    }

    /// Writes that a killed run left without an answer, and for how long from now each may still be carried out.
    pub(super) fn late(&self, settle: Duration) -> Vec<(String, Duration)> {
        let now = seconds();
        let left = |at: &u64| (Duration::from_secs(*at) + settle).checked_sub(Duration::from_secs(now));
        self.open.iter().filter_map(|(write, at)| Some((write.clone(), left(at)?.min(settle)))).collect()
    }

    pub(super) fn intent(&self, item: &str, write: &str) {
        self.write(item, LedgerState::Intent, None, None, write);
    }

    /// What came of it: an id, or a refusal.
    pub(super) fn settled(&self, item: &str, write: &str, gitlab_id: Option<u64>, http_status: Option<u16>) {
        let state = if gitlab_id.is_some() { LedgerState::Done } else { LedgerState::Failed };
        self.write(item, state, gitlab_id, http_status, write);
    }

    /// The markers in GitLab are the proof; a ledger that cannot be written must not cost the review.
    fn write(&self, item: &str, state: LedgerState, gitlab_id: Option<u64>, http_status: Option<u16>, write: &str) {
        let at = (state == LedgerState::Intent).then(seconds);
        let write = Some(write.to_owned()).filter(|write| !write.is_empty());
        let entry = LedgerEntry { item: item.to_owned(), state, gitlab_id, http_status, write, at };
        if let Err(error) = self.workdir.append_line(Artifact::PostLedger, &entry)
            && !self.complained.swap(true, Ordering::Relaxed)
        {
            self.events.emit(Event::Warning { message: error.to_string() });
        }
    }
}

fn seconds() -> u64 {
    u64::try_from(clock::now().unix_timestamp()).unwrap_or(0)
}
