//! What becomes of findings between pushes, and who may refuse them.

use super::*;
use crate::contracts::Side;
use crate::threads::{ItemMark, NoteView, Own, Seal};

const BOT: u64 = 7;
const AUTHOR: u64 = 17;
const REVIEWER: u64 = 18;
const GUEST: u64 = 19;

const DIFF: &str = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,5 @@\n one\n+x = load()\n+y = x.get()\n+z = 1\n two\n";

fn finding(line: u32, severity: Severity, body: &str) -> Finding {
    Finding {
        finding_id: format!("f-{line:012x}"),
        severity,
        category: Category::Correctness,
        path: "a.py".into(),
        line_start: line,
        line_end: line,
        side: Side::New,
        body_markdown: body.into(),
        quote: None,
        change_anchor: None,
        suggested_patch: None,
        unplaced: None,
        look: None,
    }
}

fn people() -> People {
    let rights = [(AUTHOR, 40), (REVIEWER, 30), (GUEST, 10)].into_iter().collect();
    People { author: Some(AUTHOR), own: Some(BOT), rights }
}

/// What the merge request looks like after a first review with these findings, each in a thread.
struct After {
    notes: Vec<NoteView>,
}

impl After {
    fn review(diff: &str, findings: &[Finding]) -> Self {
        let diff = Diff::parse(diff.as_bytes()).expect("a diff");
        let seal = seal();
        let story = tell(&Seen::default(), findings, &diff, &people(), None);
        let mut claim = Claim { tag: "t".into(), nonce: "n".into(), version: 1, generation: 1, ..Claim::default() };
        let mut notes = Vec::new();
        for (at, kept) in story.findings.iter().enumerate() {
            let id = 10 + at as u64;
            let mark = ItemMark {
                tag: "t".into(),
                nonce: "n".into(),
                line: kept.line.clone(),
                block: kept.block.clone(),
                finding: kept.id.clone(),
                ..ItemMark::default()
            };
            notes.push(note(
                id,
                BOT,
                &mark.sign(&format!("**[correctness/{}]** {}", kept.severity.name(), kept.title)),
                &format!("d{id}"),
            ));
            claim.findings.push(ClaimFinding { note: Some(id), ..kept.clone() });
        }
        notes.push(note(1, BOT, &claim.body("summary", &seal), "d1"));
        Self { notes }
    }

    fn resolved(mut self, by: u64) -> Self {
        (self.notes[0].resolved, self.notes[0].resolved_by) = (true, Some(by));
        self
    }

    fn answered(mut self, by: u64, text: &str) -> Self {
        self.notes.push(note(99, by, text, "d10"));
        self
    }

    fn again(&self, diff: &str, findings: &[Finding]) -> Story {
        let seen = Seen::read(&self.notes, &Own { author: Some(BOT), tag: "t", seal: &seal() });
        tell(&seen, findings, &Diff::parse(diff.as_bytes()).expect("a diff"), &people(), Some("https://x/1"))
    }
}

fn seal() -> Seal {
    Seal::new("token", 1, 1)
}

fn note(id: u64, author: u64, body: &str, discussion: &str) -> NoteView {
    NoteView {
        id,
        author_id: Some(author),
        body: body.into(),
        discussion_id: Some(discussion.into()),
        path: Some("a.py".into()),
        ..NoteView::default()
    }
}

const NONE: &str = "`load` may return None.";

#[test]
fn the_same_on_a_shifted_line_is_linked_and_another_on_the_same_line_is_new() {
    let after = After::review(DIFF, &[finding(3, Severity::High, NONE)]);
    let shifted = DIFF.replace("@@ -1,2 +1,5 @@", "@@ -31,2 +31,5 @@");
    let story = after.again(&shifted, &[finding(33, Severity::High, "load() may return None, then this fails.")]);
    assert_eq!(story.told, [Told::Repeated { note: Some(10) }]);
    assert_eq!(story.conversation.still_open[0].url.as_deref(), Some("https://x/1#note_10"));
    let story = after.again(DIFF, &[finding(3, Severity::Critical, "SQL injection through `x`")]);
    assert_eq!(story.told, [Told::New]);
    assert_eq!(story.standing(), 1, "the first one still stands");
    assert_eq!(story.counted(), [("critical".to_owned(), 1), ("high".to_owned(), 1)].into_iter().collect());
}

#[test]
fn a_push_to_another_file_does_not_take_a_finding_out_of_the_gate() {
    let after = After::review(DIFF, &[finding(3, Severity::High, NONE)]);
    let more = format!("{DIFF}diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -0,0 +1 @@\n+new\n");
    let story = after.again(&more, &[]);
    assert_eq!((story.standing(), story.conversation.still_open.len()), (1, 1));
    assert_eq!(story.counted().get("high"), Some(&1));
    assert!(story.findings[0].adopted && story.findings[0].note == Some(10));
}

#[test]
fn a_line_that_is_gone_settles_its_finding() {
    let after = After::review(DIFF, &[finding(3, Severity::High, NONE)]);
    let story = after.again(&DIFF.replace("y = x.get()", "y = x and x.get()"), &[]);
    assert_eq!((story.standing(), story.conversation.resolved.len()), (0, 1));
    assert_eq!(story.conversation.resolved[0].reason.as_deref(), Some("its line is gone"));
}

#[test]
fn who_refuses_decides_what_the_gate_counts() {
    let same = [finding(3, Severity::High, NONE)];
    let first = || After::review(DIFF, &same);
    for (after, dismissed, counted) in [
        (first(), false, true),
        (first().resolved(REVIEWER), true, false),
        (first().resolved(AUTHOR), true, true),
        (first().resolved(GUEST), true, true),
        (first().answered(REVIEWER, "> it may be None\n\nFalse positive: load raises."), true, false),
        (first().answered(REVIEWER, "**Won’t fix**, see the docs"), true, false),
        (first().answered(AUTHOR, "by design"), true, true),
        (first().answered(REVIEWER, "> false positive\n\nNo, this is real"), false, true),
        (first().answered(REVIEWER, "I intend to fix it"), false, true),
        (first().answered(REVIEWER, "intendedly wrong"), false, true),
    ] {
        // Whether the agent says it again or not.
        for review in [&same[..], &[]] {
            let story = after.again(DIFF, review);
            assert_eq!(!story.conversation.dismissed.is_empty(), dismissed, "{:?}", after.notes);
            assert_eq!(story.counted().contains_key("high"), counted, "{:?}", after.notes);
        }
    }
}

#[test]
fn a_refusal_holds_for_its_block_only_and_an_outdated_thread_is_none() {
    let same = [finding(3, Severity::High, NONE)];
    let after = After::review(DIFF, &same).resolved(REVIEWER);
    let changed = DIFF.replace("+x = load()", "+x = load(strict=False)");
    assert_eq!(after.again(&changed, &same).told, [Told::New]);
    let gone = DIFF.replace("y = x.get()", "y = x and x.get()");
    let story = after.again(&gone, &[]);
    assert!(story.conversation.dismissed.is_empty() && story.conversation.resolved.len() == 1);
}

#[test]
fn what_diffsan_resolved_and_comes_back_is_opened_again_and_counts() {
    let same = [finding(3, Severity::High, NONE)];
    let after = After::review(DIFF, &same).resolved(BOT);
    let story = after.again(DIFF, &same);
    assert_eq!(story.told, [Told::Back { note: Some(10) }]);
    assert_eq!((story.reopen.len(), story.reopen[0].note_id, story.reopen[0].discussion_id.as_str()), (1, 10, "d10"));
    assert_eq!((story.conversation.still_open.len(), story.counted().get("high")), (1, Some(&1)));
    assert_eq!(after.again(DIFF, &[]).standing(), 0);
    assert_eq!(after.again(DIFF, &[]).reopen, []);
}

#[test]
fn an_internal_refusal_counts_and_is_never_repeated() {
    let mut after = After::review(DIFF, &[finding(3, Severity::High, NONE)]).answered(REVIEWER, "By design, see C-12");
    after.notes.iter_mut().filter(|note| note.id == 99).for_each(|note| note.internal = true);
    let story = after.again(DIFF, &[]);
    assert_eq!(story.counted().get("high"), None);
    let told = serde_json::to_string(&story.conversation).expect("json");
    assert!(told.contains("internal note") && !told.contains("C-12"), "{told}");
}

#[test]
fn a_comment_of_an_older_version_is_known_by_its_id_and_words() {
    let old = "**[correctness/high]** `load` may return None.\n\n<!-- diffsan:finding:f-000000000003 -->";
    let after = After { notes: vec![note(5, BOT, old, "d5")] };
    assert_eq!(after.again(DIFF, &[finding(3, Severity::High, NONE)]).told, [Told::Repeated { note: Some(5) }]);
    assert_eq!(after.again(DIFF, &[finding(3, Severity::High, "Races with close")]).told, [Told::New]);
}
