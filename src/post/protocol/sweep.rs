//! Removes what overlapping runs left double: only own notes, only with a better copy in sight, never what somebody
//! answered or edited.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::Forge;
use crate::threads::{Seen, SeenClaim, Thread};

/// Sweeps; how many notes went. `own` is the review that this run is about, whose comments it may always judge.
pub(super) async fn sweep<F: Forge>(forge: &F, seen: &Seen, idempotent: bool, own: Option<&str>) -> u32 {
    // Without threads an answer is invisible: enough to post and to recognise, never to delete.
    if !seen.threaded {
        return 0;
    }
    let mut removed = 0;
    let doomed = doomed(seen, idempotent, own);
    for thread in doomed.threads {
        removed += u32::from(remove_thread(forge, thread).await);
    }
    for claim in doomed.claims {
        removed += u32::from(remove_claim(forge, claim).await);
    }
    removed
}

/// Whether a sweep would remove anything.
pub(super) fn is_doubled(seen: &Seen, idempotent: bool) -> bool {
    let doomed = doomed(seen, idempotent, None);
    seen.threaded && (!doomed.threads.is_empty() || !doomed.claims.is_empty())
}

struct Doomed<'a> {
    threads: Vec<&'a Thread>,
    claims: Vec<&'a SeenClaim>,
}

/// What has a better copy. Only facts that were fixed when a note was written decide, so that two sweepers never delete
/// each other's copy.
fn doomed<'a>(seen: &'a Seen, idempotent: bool, own: Option<&str>) -> Doomed<'a> {
    let trusted = || seen.claims.iter().filter(|claim| claim.trusted);
    let loses = |claim: &SeenClaim| {
        trusted().any(|better| {
            let same = better.claim.version == claim.claim.version && better.claim.change == claim.claim.change;
            (idempotent || same) && better.rank() > claim.rank()
        })
    };
    let (losers, holders): (Vec<_>, Vec<_>) = trusted().partition(|claim| loses(claim));
    let held: BTreeSet<&str> = holders.iter().map(|claim| claim.claim.nonce.as_str()).collect();
    let adopted: BTreeSet<u64> = holders
        .iter()
        .flat_map(|claim| &claim.claim.findings)
        .filter(|finding| finding.adopted)
        .filter_map(|finding| finding.note)
        .collect();
    // A kept summary forgets the reviews it told before; their comments stay.
    let lost: BTreeSet<&str> = losers
        .iter()
        .filter(|loser| !idempotent || holders.iter().any(|holder| holder.claim.version == loser.claim.version))
        .map(|claim| claim.claim.nonce.as_str())
        .filter(|nonce| !held.contains(nonce))
        .collect();
    let known: BTreeSet<&str> = seen.claims.iter().map(|claim| claim.claim.nonce.as_str()).collect();
    let goes = |thread: &&Thread| {
        let mark = &thread.mark;
        if mark.is_old() || thread.answered() || thread.resolved || adopted.contains(&thread.note) {
            return false;
        }
        // The run that asks lost, and its claim is gone already.
        let given_up = own == Some(mark.nonce.as_str()) && !known.contains(mark.nonce.as_str());
        lost.contains(mark.nonce.as_str())
            || is_twin(seen, thread)
            || (!known.contains(mark.nonce.as_str())
                && (given_up && !holders.is_empty() || has_holder(seen, thread, &held)))
    };
    Doomed {
        threads: seen.threads.iter().filter(goes).collect(),
        claims: losers.into_iter().filter(|claim| !claim.answered).collect(),
    }
}

/// Which of several copies stays: the one that somebody took up, else the first.
pub(super) fn worth(copy: &Thread) -> (bool, Reverse<u64>) {
    (copy.answered() || copy.resolved, Reverse(copy.note))
}

/// The same finding of the same review twice, and this is not the copy that stays.
fn is_twin(seen: &Seen, thread: &Thread) -> bool {
    seen.items_of(&thread.mark.nonce, &thread.mark.finding).any(|other| worth(other) > worth(thread))
}

/// A comment whose claim is gone, on a line where a review that holds has said something too.
fn has_holder(seen: &Seen, thread: &Thread, held: &BTreeSet<&str>) -> bool {
    seen.threads.iter().any(|other| {
        other.note != thread.note && held.contains(other.mark.nonce.as_str()) && other.mark.line == thread.mark.line
    })
}

/// Looks once more, immediately before, and puts the text back where a reply came in between.
async fn remove_thread<F: Forge>(forge: &F, thread: &Thread) -> bool {
    let Some(discussion) = &thread.discussion else { return false };
    let Ok(Some(notes)) = forge.thread(discussion).await else { return false };
    let is_alone = notes.iter().filter(|note| !note.system).all(|note| note.id == thread.note);
    let is_same = notes.iter().any(|note| note.id == thread.note && note.body == thread.body && !note.resolved);
    if !is_alone || !is_same || forge.delete_note(thread.note).await.is_err() {
        return false;
    }
    if let Ok(Some(left)) = forge.thread(discussion).await
        && left.iter().any(|note| !note.system && note.id != thread.note)
    {
        let _ = forge.reply(discussion, &thread.body).await;
    }
    true
}

async fn remove_claim<F: Forge>(forge: &F, claim: &SeenClaim) -> bool {
    let Some(discussion) = &claim.discussion else { return false };
    let Ok(Some(notes)) = forge.thread(discussion).await else { return false };
    let is_alone = notes.iter().filter(|note| !note.system).all(|note| note.id == claim.note);
    is_alone && forge.delete_note(claim.note).await.is_ok()
}
