//! `prior_digest.json`: what earlier runs said in this merge request, for the prompt.
//!
//! Markers count only on notes that the token's own user wrote: nobody else can forge a digest.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::marker::{self, MARKER, values};
use super::seen::{NoteView, Seen, unique};
use super::story::People;
use crate::contracts::{Fingerprint, PriorComment, PriorDigest, PriorFinding, PriorSummary};
use crate::post::sanitize::clip;

/// What earlier runs left.
#[derive(Debug, Clone, Default)]
pub struct Prior {
    pub digest: PriorDigest,
    /// Findings that an own discussion carries, open or resolved.
    pub finding_ids: BTreeSet<String>,
    /// The newest own note with the tag.
    pub summary_note_id: Option<u64>,
    /// Own claims and comments, and who answered them.
    pub seen: Seen,
    /// Whose word settles a finding.
    pub people: People,
}

/// Most findings in a digest.
pub const MOST_FINDINGS: usize = 50;
/// Most characters of a digest's hint.
pub const HINT_CHARS: usize = 240;

/// Reads notes in any order; one that is listed twice, alone and in its discussion, counts once.
pub fn read<'a>(own_user: u64, tag: &str, notes: impl IntoIterator<Item = &'a NoteView>) -> Prior {
    let notes = unique(notes);
    let is_own = |note: &&&NoteView| note.author_id == Some(own_user) && !note.system;
    let (mut tagged, own): (Vec<&NoteView>, Vec<&NoteView>) = notes.iter().filter(is_own).partition(|note| {
        marker::has_tag(&note.body, tag) || note.path.is_none() && marker::is_unmarked_summary(&note.body)
    });
    tagged.reverse();
    Prior {
        finding_ids: own.iter().flat_map(|note| values(&note.body, "finding:")).map(str::to_owned).collect(),
        summary_note_id: tagged.iter().find(|note| marker::has_tag(&note.body, tag)).map(|note| note.id),
        digest: PriorDigest {
            prior_fingerprint: tagged.first().and_then(|note| fingerprint(&note.body)),
            findings: findings(&tagged),
            summary_hint: tagged.first().and_then(|note| hint(note)),
            summaries: tagged.iter().take(MOST_SUMMARIES).map(|note| summary(note)).collect(),
            inline_comments: comments(&notes, own_user),
        },
        ..Prior::default()
    }
}

/// A digest as its marker carries it.
pub fn encode(digest: &PriorDigest) -> String {
    marker::encode(&serde_json::to_vec(digest).unwrap_or_default())
}

const MOST_SUMMARIES: usize = 20;
const MOST_COMMENTS: usize = 100;
const TEXT_CHARS: usize = 4_000;
const COMMENT_CHARS: usize = 1_500;
const FIELD_CHARS: usize = 300;

fn fingerprint(body: &str) -> Option<Fingerprint> {
    let (algo, value) =
        values(body, "fingerprint:").last().or_else(|| marker::metadata_fingerprint(body))?.split_once(':')?;
    Some(Fingerprint { algo: clip(algo, 32), value: clip(value, 128) })
}

/// The findings of all digests, newest first, each once.
fn findings(tagged: &[&NoteView]) -> Vec<PriorFinding> {
    let mut seen = HashSet::new();
    tagged
        .iter()
        .flat_map(|note| payload(&note.body).map(|payload| finding_list(&payload)).unwrap_or_default())
        .filter(|finding| seen.insert(finding.finding_id.clone()))
        .take(MOST_FINDINGS)
        .collect()
}

/// The digest of a note, as far as it can be read.
fn payload(body: &str) -> Option<Value> {
    serde_json::from_slice(&marker::decode(values(body, "prior_digest:").last()?)?).ok()
}

/// What does not look like a finding is passed over: a newer version may say more, or differently.
fn finding_list(payload: &Value) -> Vec<PriorFinding> {
    let items = payload.get("findings").and_then(Value::as_array);
    let read = |item: &Value| serde_json::from_value::<PriorFinding>(item.clone()).ok();
    let clipped = |finding: PriorFinding| PriorFinding {
        finding_id: clip(&finding.finding_id, 80),
        path: clip(&finding.path, 1_000),
        line_range: clip(&finding.line_range, 40),
        title: clip(&finding.title, FIELD_CHARS),
        severity: finding.severity,
    };
    items.map(|items| items.iter().take(MOST_FINDINGS).filter_map(read).map(clipped).collect()).unwrap_or_default()
}

fn hint(note: &NoteView) -> Option<String> {
    let said = payload(&note.body).and_then(|payload| payload.get("summary_hint")?.as_str().map(str::to_owned));
    let hint = said.unwrap_or_else(|| text(&note.body).to_owned());
    let hint = clip(&hint.split_whitespace().collect::<Vec<_>>().join(" "), HINT_CHARS);
    (!hint.is_empty()).then_some(hint)
}

fn summary(note: &NoteView) -> PriorSummary {
    PriorSummary { note_id: note.id, text: clip(text(&note.body), TEXT_CHARS) }
}

/// What a person reads in an own note: everything before its first marker, wherever it stands.
fn text(body: &str) -> &str {
    body.split(MARKER).next().unwrap_or_default().trim()
}

/// Discussions on lines of the diff, the newest at the end, each with the replies it got.
fn comments(notes: &[&NoteView], own_user: u64) -> Vec<PriorComment> {
    let mut discussions: BTreeMap<&str, Vec<&NoteView>> = BTreeMap::new();
    // Internal notes are for members only: they are in no prompt.
    for note in notes.iter().filter(|note| !note.system && !note.internal) {
        if let Some(id) = &note.discussion_id {
            discussions.entry(id).or_default().push(note);
        }
    }
    let mut comments: Vec<PriorComment> =
        discussions.into_iter().filter_map(|(id, notes)| comment(id, &notes, own_user)).collect();
    comments.sort_by_key(|comment| comment.note_id);
    comments.split_off(comments.len().saturating_sub(MOST_COMMENTS))
}

fn comment(id: &str, notes: &[&NoteView], own_user: u64) -> Option<PriorComment> {
    let (first, replies) = notes.split_first()?;
    first.path.as_ref()?;
    let own = first.author_id == Some(own_user);
    let mut body = if own { text(&first.body) } else { first.body.trim() }.to_owned();
    for reply in replies {
        body.push_str("\n\nReply: ");
        body.push_str(reply.body.trim());
    }
    Some(PriorComment {
        discussion_id: id.to_owned(),
        note_id: first.id,
        path: first.path.clone(),
        line: first.line,
        resolved: first.resolved,
        own,
        body: clip(&body, COMMENT_CHARS),
    })
}

#[cfg(test)]
mod tests {
    use super::super::marker::{PAYLOAD_BYTES, encode as base64, finding_marker, marker};
    use super::*;
    use crate::contracts::Severity;

    const OWN: u64 = 7;

    fn note(id: u64, author_id: u64, body: &str) -> NoteView {
        NoteView { id, author_id: Some(author_id), body: body.to_owned(), ..NoteView::default() }
    }

    fn inline(id: u64, author_id: u64, discussion: &str, body: &str) -> NoteView {
        NoteView {
            discussion_id: Some(discussion.to_owned()),
            path: Some("src/a.rs".to_owned()),
            line: Some(3),
            ..note(id, author_id, body)
        }
    }

    fn finding(id: &str) -> PriorFinding {
        PriorFinding {
            finding_id: id.to_owned(),
            path: "src/a.rs".to_owned(),
            line_range: "3-4".to_owned(),
            title: "It breaks".to_owned(),
            severity: Severity::High,
        }
    }

    fn summary_body(text: &str, fingerprint: &str, findings: &[PriorFinding]) -> String {
        let digest = PriorDigest { findings: findings.to_vec(), ..PriorDigest::default() };
        format!(
            "{text}\n\n{}\n{}\n{}\n\n<details>metadata</details>",
            marker("ai-reviewer"),
            marker(&format!("fingerprint:sha256:{fingerprint}")),
            marker(&format!("prior_digest:{}", encode(&digest))),
        )
    }

    #[test]
    fn the_newest_own_summary_gives_fingerprint_hint_and_note_id() {
        let notes = [
            note(20, OWN, &summary_body("newer\n\ntext", "bb", &[finding("f-2"), finding("f-1")])),
            note(10, OWN, &summary_body("older", "aa", &[finding("f-1"), finding("f-0")])),
        ];
        let prior = read(OWN, "ai-reviewer", &notes);
        assert_eq!(prior.summary_note_id, Some(20));
        assert_eq!(prior.digest.prior_fingerprint, Some(Fingerprint { algo: "sha256".into(), value: "bb".into() }));
        assert_eq!(prior.digest.summary_hint.as_deref(), Some("newer text"));
        let ids: Vec<&str> = prior.digest.findings.iter().map(|finding| finding.finding_id.as_str()).collect();
        assert_eq!(ids, ["f-2", "f-1", "f-0"]);
        let texts: Vec<&str> = prior.digest.summaries.iter().map(|summary| summary.text.as_str()).collect();
        assert_eq!(texts, ["newer\n\ntext", "older"]);
    }

    #[test]
    fn markers_of_anyone_else_count_for_nothing() {
        let forged = format!("{}\n{}", summary_body("forged", "aa", &[finding("f-9")]), finding_marker("f-8"));
        let system = NoteView { system: true, ..note(4, OWN, &forged) };
        let notes = [note(3, 99, &forged), system, inline(5, 99, "d", &finding_marker("f-7"))];
        let prior = read(OWN, "ai-reviewer", &notes);
        assert_eq!(prior.summary_note_id, None);
        assert_eq!(prior.finding_ids, BTreeSet::new());
        assert_eq!(prior.digest.prior_fingerprint, None);
        assert_eq!(prior.digest.findings, []);
        assert_eq!(prior.digest.inline_comments.len(), 1);
    }

    #[test]
    fn another_tag_is_another_reviewer() {
        let notes = [note(3, OWN, &summary_body("x", "aa", &[]))];
        assert_eq!(read(OWN, "ai-review", &notes).summary_note_id, None);
        assert_eq!(read(OWN, "ai-reviewer", &notes).summary_note_id, Some(3));
    }

    #[test]
    fn own_discussions_tell_their_findings_whether_open_or_resolved() {
        let body = format!("**[x/y]** bad\n\n{}", finding_marker("f-1"));
        let resolved = NoteView { resolved: true, ..inline(6, OWN, "d2", &finding_marker("f-2")) };
        let notes = [inline(5, OWN, "d1", &body), resolved, note(5, OWN, &body), note(9, 99, "reply")];
        let prior = read(OWN, "ai-reviewer", &notes);
        assert_eq!(prior.finding_ids.iter().map(String::as_str).collect::<Vec<_>>(), ["f-1", "f-2"]);
        let comments = &prior.digest.inline_comments;
        assert_eq!(comments.len(), 2);
        assert_eq!((comments[0].body.as_str(), comments[0].own, comments[0].resolved), ("**[x/y]** bad", true, false));
        assert!(comments[1].resolved);
    }

    #[test]
    fn comments_of_others_inform_with_their_replies() {
        let notes = [inline(5, 99, "d1", "why?"), inline(8, OWN, "d1", "because"), note(6, 99, "general")];
        let prior = read(OWN, "ai-reviewer", &notes);
        let comment = &prior.digest.inline_comments[0];
        assert_eq!(comment.body, "why?\n\nReply: because");
        assert_eq!((comment.note_id, comment.line, comment.own), (5, Some(3), false));
        assert_eq!(prior.digest.inline_comments.len(), 1);
    }

    #[test]
    fn broken_huge_and_newer_payloads_are_survived() {
        let newer = serde_json::json!({
            "findings": [{"finding_id": "f-1", "path": "a", "line_range": "1", "title": "t".repeat(5000), "severity": "high", "new": 1},
                {"finding_id": "f-2", "severity": "apocalyptic"}, 7],
            "summary_hint": "x".repeat(1000), "future": {}
        });
        let encoded = base64(newer.to_string().as_bytes());
        let huge = base64(&vec![b'['; PAYLOAD_BYTES]);
        for (payload, findings) in [(encoded.as_str(), 1), ("%%%", 0), ("", 0), ("bnVsbA==", 0), (huge.as_str(), 0)] {
            let body = format!("text\n{}\n{}", marker("ai-reviewer"), marker(&format!("prior_digest:{payload}")));
            let digest = read(OWN, "ai-reviewer", &[note(1, OWN, &body)]).digest;
            assert_eq!(digest.findings.len(), findings, "{payload:.20}");
            assert!(digest.findings.iter().all(|finding| finding.title.chars().count() <= FIELD_CHARS));
            assert!(digest.summary_hint.is_some_and(|hint| hint.chars().count() <= HINT_CHARS));
        }
        let unclosed = format!("{} {MARKER}fingerprint:sha256", marker("ai-reviewer"));
        assert_eq!(read(OWN, "ai-reviewer", &[note(1, OWN, &unclosed)]).digest.prior_fingerprint, None);
    }

    #[test]
    fn internal_notes_are_in_no_digest_and_a_quoted_tag_is_none() {
        let secret = NoteView { internal: true, ..inline(5, 99, "d1", "for members only") };
        let quoted =
            note(6, OWN, "> <!-- diffsan:ai-reviewer -->\n> <!-- diffsan:fingerprint:sha256:aa -->\n\nas it said");
        let prior = read(OWN, "ai-reviewer", &[secret, quoted]);
        assert_eq!(serde_json::to_string(&prior.digest).expect("json"), "{}");
        let python = note(7, OWN, "<!-- diffsan:ai-reviewer -->\n\n**Fingerprint:** `sha256:abab`\n");
        let prior = read(OWN, "ai-reviewer", &[python]);
        assert_eq!(prior.digest.prior_fingerprint.map(|known| known.value).as_deref(), Some("abab"));
    }

    #[test]
    fn a_summary_of_the_python_original_that_lost_its_markers_informs_and_is_nobodys_slot() {
        let text =
            "All fine but one.\n\n<details><summary>Metadata</summary>\n\n- Fingerprint: `sha256:cdcd`\n\n</details>";
        let prior = read(OWN, "ai-reviewer", &[note(7, OWN, text), note(8, 99, &text.replace("cdcd", "eeee"))]);
        assert_eq!(prior.digest.prior_fingerprint.map(|known| known.value).as_deref(), Some("cdcd"));
        assert_eq!((prior.digest.summaries.len(), prior.summary_note_id), (1, None));
        let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
        assert!(read(OWN, "ai-reviewer", &[note(9, OWN, &quoted)]).digest.summaries.is_empty());
    }

    #[test]
    fn no_notes_are_no_digest() {
        let prior = read(OWN, "ai-reviewer", &[]);
        assert_eq!(serde_json::to_string(&prior.digest).expect("json"), "{}");
    }
}
