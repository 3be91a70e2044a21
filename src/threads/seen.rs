//! The notes of a merge request, read for what is diffsan's own in them: claims, and comments on lines with whoever
//! answered them. Whatever else stands there, in whatever shape, is passed over.

use std::collections::{BTreeMap, HashMap};

use super::claim::{Rank, Seal};
use super::marker::{self, ItemMark};
use crate::contracts::Claim;

/// A note of the merge request, alone or in a discussion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoteView {
    pub id: u64,
    pub body: String,
    /// None where GitLab does not say: a deleted user.
    pub author_id: Option<u64>,
    /// GitLab wrote it.
    pub system: bool,
    /// Only members see it: it must not reach a prompt.
    pub internal: bool,
    pub created_at: String,
    /// None where the listing does not say.
    pub discussion_id: Option<String>,
    /// File it stands on.
    pub path: Option<String>,
    /// Line it stands on.
    pub line: Option<u32>,
    /// Head of the version that its position is of.
    pub head_sha: Option<String>,
    pub resolved: bool,
    pub resolved_by: Option<u64>,
}

/// Whose notes count, and under which tag.
#[derive(Debug, Clone)]
pub struct Own<'a> {
    /// The token's user; none where GitLab does not tell. Then only what the seal proves is own.
    pub author: Option<u64>,
    /// `gitlab.summary_note_tag`.
    pub tag: &'a str,
    pub seal: &'a Seal,
}

/// What is diffsan's own in a merge request.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Summaries with a claim, by note id.
    pub claims: Vec<SeenClaim>,
    /// Own comments on lines, by note id.
    pub threads: Vec<Thread>,
    /// Own summaries of earlier versions, which have no claim; by note id.
    pub old_summaries: Vec<u64>,
    /// The token's user, as far as it is known by now.
    pub author: Option<u64>,
    /// The listing says which notes belong together, so that an answer can be seen.
    pub threaded: bool,
}

/// A summary note with its claim.
#[derive(Debug, Clone)]
pub struct SeenClaim {
    pub note: u64,
    pub discussion: Option<String>,
    pub claim: Claim,
    /// This token signed it.
    pub trusted: bool,
    /// Somebody answered it, or edited it.
    pub answered: bool,
    /// Somebody changed its text.
    pub edited: bool,
}

impl SeenClaim {
    pub fn rank(&self) -> Rank {
        self.claim.rank(self.note)
    }
}

/// An own comment on a line, and what became of it.
#[derive(Debug, Clone)]
pub struct Thread {
    pub note: u64,
    pub discussion: Option<String>,
    pub mark: ItemMark,
    pub body: String,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub head_sha: Option<String>,
    pub resolved: bool,
    pub resolved_by: Option<u64>,
    /// What others wrote in the thread, oldest first.
    pub replies: Vec<Reply>,
    pub edited: bool,
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub author: Option<u64>,
    pub body: String,
    /// For members only: it counts, and is never repeated.
    pub internal: bool,
}

impl Thread {
    /// Somebody took it up: it is not diffsan's alone any more.
    pub fn answered(&self) -> bool {
        self.edited || !self.replies.is_empty()
    }
}

impl Seen {
    /// Reads notes in any order; one that is listed twice, alone and in its discussion, counts once.
    pub fn read<'a>(notes: impl IntoIterator<Item = &'a NoteView>, own: &Own<'_>) -> Self {
        let notes = unique(notes);
        let read: Vec<_> = notes.iter().map(|note| (*note, Claim::read(&note.body, own.seal))).collect();
        let proven = |(note, read): &(&NoteView, Option<super::claim::Read>)| {
            read.as_ref().filter(|read| read.trusted && !note.system).and(note.author_id)
        };
        let author = own.author.or_else(|| read.iter().find_map(proven));
        let mut seen =
            Self { author, threaded: notes.iter().any(|note| note.discussion_id.is_some()), ..Self::default() };
        let mut discussions: HashMap<&str, Vec<&NoteView>> = HashMap::new();
        for note in notes.iter().filter(|note| !note.system) {
            if let Some(id) = &note.discussion_id {
                discussions.entry(id).or_default().push(note);
            }
        }
        for (note, claim) in read {
            // Anybody can copy a signed claim into a note of theirs.
            let is_own = note.author_id.is_some() && note.author_id == author;
            if note.system || !is_own {
                continue;
            }
            let replies = || replies(note, &discussions, author);
            match (claim, ItemMark::read(&note.body)) {
                (Some(read), _) if read.claim.tag == own.tag => seen.claims.push(SeenClaim {
                    note: note.id,
                    discussion: note.discussion_id.clone(),
                    answered: read.edited || !replies().is_empty(),
                    edited: read.edited,
                    trusted: read.trusted,
                    claim: read.claim,
                }),
                (None, Some(mark)) if mark.is_old() || mark.tag == own.tag => seen.threads.push(Thread {
                    note: note.id,
                    discussion: note.discussion_id.clone(),
                    edited: mark.edited(&note.body),
                    mark,
                    body: note.body.clone(),
                    path: note.path.clone(),
                    line: note.line,
                    head_sha: note.head_sha.clone(),
                    resolved: note.resolved,
                    resolved_by: note.resolved_by,
                    replies: replies(),
                }),
                (None, None) if marker::has_tag(&note.body, own.tag) => seen.old_summaries.push(note.id),
                _ => {}
            }
        }
        seen
    }

    /// The claim that holds: newest version, highest generation, complete, first note. Only signed ones compete.
    pub fn winner(&self) -> Option<&SeenClaim> {
        self.claims.iter().filter(|claim| claim.trusted).max_by_key(|claim| claim.rank())
    }

    /// The same without one review: what was there before it.
    pub fn without(&self, nonce: &str) -> Self {
        let mut seen = self.clone();
        seen.claims.retain(|claim| claim.claim.nonce != nonce);
        seen.threads.retain(|thread| thread.mark.nonce != nonce);
        seen
    }

    /// Claims of one review: more than one where a write was repeated.
    pub fn claims_of(&self, nonce: &str) -> impl Iterator<Item = &SeenClaim> {
        self.claims.iter().filter(move |claim| claim.trusted && claim.claim.nonce == nonce)
    }

    /// Comments of one finding of one review.
    pub fn items_of(&self, nonce: &str, finding: &str) -> impl Iterator<Item = &Thread> {
        self.threads.iter().filter(move |thread| thread.mark.nonce == nonce && thread.mark.finding == finding)
    }

    /// The own comment with this id.
    pub fn thread(&self, note: u64) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.note == note)
    }

    /// Whether an own note with this id is there.
    pub fn has(&self, note: u64) -> bool {
        self.thread(note).is_some()
            || self.claims.iter().any(|claim| claim.note == note)
            || self.old_summaries.contains(&note)
    }
}

/// By id, so that the newest comes last; ids grow with time, while clocks and their zones differ.
pub(super) fn unique<'a>(notes: impl IntoIterator<Item = &'a NoteView>) -> Vec<&'a NoteView> {
    let mut by_id: BTreeMap<u64, &NoteView> = BTreeMap::new();
    for note in notes {
        by_id
            .entry(note.id)
            .and_modify(|known| {
                if known.discussion_id.is_none() {
                    *known = note;
                }
            })
            .or_insert(note);
    }
    by_id.into_values().collect()
}

/// The other notes of a thread that carry no marker of diffsan's on their last line.
fn replies(note: &NoteView, discussions: &HashMap<&str, Vec<&NoteView>>, author: Option<u64>) -> Vec<Reply> {
    let thread = note.discussion_id.as_deref().and_then(|id| discussions.get(id));
    let others = thread.into_iter().flatten().filter(|other| other.id != note.id);
    others
        .filter(|other| other.author_id != author || author.is_none() || marker::last(&other.body).is_none())
        .map(|other| Reply { author: other.author_id, body: other.body.clone(), internal: other.internal })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u64 = 7;

    fn note(id: u64, author: u64, body: &str) -> NoteView {
        NoteView { id, author_id: Some(author), body: body.into(), ..NoteView::default() }
    }

    fn inside(discussion: &str, note: NoteView) -> NoteView {
        NoteView { discussion_id: Some(discussion.into()), ..note }
    }

    fn claim(nonce: &str, version: u64) -> Claim {
        Claim { tag: "t".into(), nonce: nonce.into(), version, generation: 1, ..Claim::default() }
    }

    fn item(nonce: &str, finding: &str) -> String {
        let mark = ItemMark { tag: "t".into(), nonce: nonce.into(), finding: finding.into(), ..ItemMark::default() };
        mark.sign("said")
    }

    fn read(notes: &[NoteView], author: Option<u64>) -> Seen {
        Seen::read(notes, &Own { author, tag: "t", seal: &seal() })
    }

    fn seal() -> Seal {
        Seal::new("token", 1, 1)
    }

    #[test]
    fn claims_and_comments_of_others_count_for_nothing() {
        let forged = claim("x", 9).body("text", &Seal::new("guess", 1, 1));
        let system = NoteView { system: true, ..note(3, OWN, &item("x", "f")) };
        let nobody = NoteView { author_id: None, ..note(4, OWN, &item("x", "f")) };
        let seen = read(&[note(1, 99, &forged), note(2, 99, &item("x", "f")), system, nobody], Some(OWN));
        assert!(seen.claims.is_empty() && seen.threads.is_empty());
        // Somebody's copy of a signed claim is nothing of diffsan's, whether the token's user is known or not.
        let signed = claim("x", 1).body("fine", &seal());
        for author in [Some(OWN), None] {
            let seen = read(&[note(1, OWN, &signed), note(2, 99, &signed)], author);
            assert_eq!((seen.author, seen.claims.len(), seen.claims[0].note), (Some(OWN), 1, 1));
        }
        // The own user's, but not this token's: it is seen, and believed in nothing.
        let seen = read(&[note(1, OWN, &forged)], Some(OWN));
        assert!(!seen.claims[0].trusted && seen.winner().is_none());
    }

    #[test]
    fn without_a_known_user_a_signed_claim_tells_who_it_is() {
        let notes = [note(1, OWN, &claim("a", 1).body("x", &seal())), note(2, OWN, &item("a", "f"))];
        let seen = read(&notes, None);
        assert_eq!((seen.author, seen.claims.len(), seen.threads.len()), (Some(OWN), 1, 1));
        assert!(read(&notes[1..], None).threads.is_empty());
    }

    #[test]
    fn an_answer_and_an_edit_are_seen_and_a_system_note_is_none() {
        let first = inside("d", note(1, OWN, &item("a", "f")));
        let resolved = NoteView { system: true, ..inside("d", note(2, 99, "resolved all threads")) };
        assert!(!read(&[first.clone(), resolved.clone()], Some(OWN)).threads[0].answered());
        let reply = inside("d", note(3, 99, "no"));
        assert!(read(&[first.clone(), resolved, reply], Some(OWN)).threads[0].answered());
        let quoting = inside("d", note(3, 99, &item("a", "f")));
        assert!(
            read(&[first.clone(), quoting], Some(OWN)).threads[0].answered(),
            "a marker by somebody else is an answer"
        );
        let edited = NoteView { body: first.body.replace("said", "unsaid"), ..first };
        assert!(read(&[edited], Some(OWN)).threads[0].answered());
    }

    #[test]
    fn another_tag_is_another_reviewer_and_old_notes_are_known() {
        let notes = [
            note(1, OWN, &Claim { tag: "u".into(), ..claim("a", 1) }.body("x", &seal())),
            note(
                2,
                OWN,
                &ItemMark { tag: "u".into(), nonce: "a".into(), finding: "f".into(), ..Default::default() }.sign("x"),
            ),
            note(3, OWN, "old\n\n<!-- diffsan:t -->\n<!-- diffsan:fingerprint:sha256:aa -->\n\n<details></details>"),
            note(4, OWN, "old finding\n\n<!-- diffsan:finding:f-1 -->"),
            note(5, OWN, "> <!-- diffsan:t -->\n\nsee above"),
        ];
        let seen = read(&notes, Some(OWN));
        assert_eq!((seen.claims.len(), seen.old_summaries, seen.threads.len()), (0, vec![3], 1));
        assert!(seen.threads[0].mark.is_old());
    }

    #[test]
    fn ten_thousand_notes_of_anybody_are_read_in_no_time() {
        let notes: Vec<_> =
            (0..10_000).map(|id| inside(&format!("d{}", id / 3), note(id, id % 9, &item("a", "f")))).collect();
        assert_eq!(read(&notes, Some(OWN)).threads.len(), 10_000 / 9);
    }
}
