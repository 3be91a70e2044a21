//! The comments on lines: posted in rounds, each looked for before it is repeated.

use super::{Delivery, Forge, Item, Late, State, Trouble, join, sweep};
use crate::threads::{Claim, ItemMark, Seen};

impl<F: Forge> Delivery<'_, F> {
    /// Brings every item there, or finds out why not. `seen` is the newest look afterwards.
    pub(super) async fn items(&self, seen: &mut Seen) {
        self.find(seen);
        for _ in 0..self.pace.attempts {
            let missing = self.missing();
            if missing.is_empty() || self.stopped.borrow().is_some() || self.better(seen).is_some() {
                break;
            }
            let drafted = self.mission.drafts && self.draft(&missing).await;
            if !drafted {
                let posts = missing.iter().map(|item| Box::pin(self.post(*item)) as _);
                join::each(self.pace.width, posts).await;
            }
            match self.look().await {
                Ok(now) => *seen = now,
                Err(trouble) => {
                    *self.stopped.borrow_mut() = Some(trouble);
                    break;
                }
            }
            self.find(seen);
            if !self.missing().is_empty() {
                self.forge.sleep(self.pace.step).await;
            }
        }
        self.give_up();
    }

    /// Items that are to be written: nobody has refused them, and they are not there.
    fn missing(&self) -> Vec<usize> {
        let states = self.states.borrow();
        let missing = |state: &State| matches!(state, State::Missing | State::Unknown(_));
        states.iter().enumerate().filter(|(_, state)| missing(state)).map(|(item, _)| item).collect()
    }

    /// Takes note of what the merge request shows.
    fn find(&self, seen: &Seen) {
        for (at, item) in self.mission.items.iter().enumerate() {
            let adopted = item.adopted.and_then(|note| seen.thread(note));
            // Of several copies the one that no sweep will remove.
            let copies = seen.items_of(&self.mission.claim.nonce, &item.mark.finding);
            let Some(found) = adopted.or_else(|| copies.max_by_key(|copy| sweep::worth(copy))) else {
                self.respect(seen, at);
                continue;
            };
            let state = &mut self.states.borrow_mut()[at];
            let discussion = found.discussion.clone();
            match state {
                State::There { note, discussion: known, .. } => (*note, *known) = (found.note, discussion),
                State::Unknown(_) => *state = State::There { note: found.note, discussion, already: false },
                _ => *state = State::There { note: found.note, discussion, already: true },
            }
        }
    }

    /// What the claim says was posted and is gone was deleted by somebody: it is not posted again.
    fn respect(&self, seen: &Seen, at: usize) {
        let item = &self.mission.items[at];
        let told = seen.claims_of(&self.mission.claim.nonce).find_map(|claim| {
            let known = claim.claim.findings.iter().find(|finding| finding.id == item.mark.finding)?;
            known.note.filter(|_| claim.claim.delivered || !known.adopted)
        });
        if let Some(note) = told
            && !self.states.borrow()[at].is_there()
        {
            self.states.borrow_mut()[at] = State::There { note, discussion: None, already: true };
        }
    }

    async fn post(&self, at: usize) {
        if self.stopped.borrow().is_some() {
            return;
        }
        let until = self.forge.now() + self.pace.settle;
        let (write, body) = self.body(at);
        let result = self.forge.create_item(at, &body).await;
        let state = match result {
            Ok(note) => {
                self.confirmed.borrow_mut().insert(note);
                State::There { note, discussion: None, already: false }
            }
            Err(trouble) if trouble.uncertain() => {
                if trouble.lands_late() {
                    self.late.borrow_mut().push(Late { write, until });
                }
                State::Unknown(trouble)
            }
            Err(trouble) => {
                if trouble.is_final() {
                    self.stopped.borrow_mut().get_or_insert(trouble.clone());
                }
                State::Refused(trouble)
            }
        };
        self.states.borrow_mut()[at] = state;
    }

    /// Drafts the items and publishes them together; false when they have to be posted one by one.
    ///
    /// Publishing takes all drafts of the user and silently drops those without a place, so leftovers of a killed run go
    /// first, somebody's own draft is left alone, and what GitLab cannot place is never published.
    async fn draft(&self, missing: &[usize]) -> bool {
        let Ok(drafts) = self.forge.drafts().await else { return false };
        let own = |text: &str| ItemMark::read(text).is_some_and(|mark| mark.tag == self.mission.claim.tag);
        if drafts.iter().any(|(_, text)| !own(text)) {
            return false;
        }
        for (id, _) in drafts {
            if self.forge.delete_draft(id).await.is_err() {
                return false;
            }
        }
        let writes = missing.iter().map(|at| Box::pin(self.draft_one(*at)) as _);
        join::each(self.pace.width, writes).await;
        // Read back what is really there: a draft without an answer may have come, one with an answer may be gone.
        let Ok(drafts) = self.forge.drafts().await else { return true };
        if drafts.iter().any(|(_, text)| !own(text)) {
            for (id, _) in drafts.iter().filter(|(_, text)| own(text)) {
                let _ = self.forge.delete_draft(*id).await;
            }
            return false;
        }
        if drafts.is_empty() {
            return true;
        }
        // What was published has no id until a list shows it.
        let drafted = |at: &usize| drafts.iter().any(|(_, text)| self.is_of(*at, text));
        self.expected.borrow_mut().extend(missing.iter().copied().filter(drafted));
        let until = self.forge.now() + self.pace.settle;
        if let Err(trouble) = self.forge.publish().await {
            self.expected.borrow_mut().clear();
            let writes = drafts.iter().filter_map(|(_, text)| ItemMark::read(text)).map(|mark| mark.write);
            if trouble.lands_late() {
                self.late.borrow_mut().extend(writes.map(|write| Late { write, until }));
            }
            for at in missing.iter().filter(|at| drafted(at)) {
                self.states.borrow_mut()[*at] = State::Unknown(trouble.clone().as_uncertain());
            }
        }
        true
    }

    fn is_of(&self, at: usize, text: &str) -> bool {
        ItemMark::read(text).is_some_and(|mark| mark.finding == self.mission.items[at].mark.finding)
    }

    async fn draft_one(&self, at: usize) {
        match self.forge.create_draft(at, &self.body(at).1).await {
            Ok(true) => {}
            Ok(false) => self.states.borrow_mut()[at] = State::Refused(Trouble::no_place()),
            Err(trouble) => {
                if trouble.is_final() {
                    self.stopped.borrow_mut().get_or_insert(trouble.clone());
                }
                self.states.borrow_mut()[at] =
                    if trouble.uncertain() { State::Unknown(trouble) } else { State::Refused(trouble) };
            }
        }
    }

    /// What was never asked for, because of what happened to another write.
    fn give_up(&self) {
        let Some(trouble) = self.stopped.borrow().clone() else { return };
        for state in self.states.borrow_mut().iter_mut().filter(|state| matches!(state, State::Missing)) {
            *state = State::Unknown(trouble.clone());
        }
    }

    /// The body of an item, and the name of the request that is about to write it.
    fn body(&self, at: usize) -> (String, String) {
        let Item { mark, text, .. } = &self.mission.items[at];
        let Claim { tag, nonce, .. } = self.mission.claim.clone();
        let write = self.forge.unique();
        let body = ItemMark { tag, nonce, write: write.clone(), ..mark.clone() }.sign(text);
        (write, body)
    }
}
