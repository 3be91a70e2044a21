//! Tests of `render`.

use super::*;
use crate::contracts::{Category, PatchFormat, PositionType, Severity, Side, SuggestedPatch};
use crate::diff::Diff;
use crate::post::oracle;
use crate::post::position::{self, Refs};

const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,3 @@\n fn f() {\n+    g();\n }\n";

fn finding(body: &str) -> Finding {
    Finding {
        finding_id: "f-0123456789ab".into(),
        severity: Severity::High,
        category: Category::Security,
        path: "src/a.rs".into(),
        line_start: 2,
        line_end: 2,
        side: Side::New,
        body_markdown: body.into(),
        quote: None,
        change_anchor: None,
        suggested_patch: None,
        unplaced: None,
        look: None,
    }
}

fn rendered(finding: &Finding) -> String {
    let diff = Diff::parse(DIFF.as_bytes()).expect("diff");
    let refs = Refs { base_sha: "b".into(), start_sha: "s".into(), head_sha: "h".into() };
    let place = position::place(&diff, finding, &refs).expect("place");
    discussion(finding, &place, &mut Counts::new())
}

#[test]
fn a_discussion_says_category_and_severity_first_and_ends_with_its_marker() {
    let body = rendered(&finding("`g` may fail."));
    assert_eq!(body, "**[security/high]** `g` may fail.\n\n<!-- diffsan:finding:f-0123456789ab -->");
}

#[test]
fn a_text_that_opens_a_block_starts_on_its_own_line() {
    for body in ["```rust\nx\n```", "# Title", "- a\n- b", "1. a\n2. b", "> q", "| a |\n|---|"] {
        let body = rendered(&finding(body));
        assert!(body.starts_with("**[security/high]**\n\n"), "{body}");
    }
}

#[test]
fn a_fitting_patch_becomes_a_suggestion_and_any_other_a_diff() {
    let mut finding = finding("Handle it.");
    let patch = |content: &str| Some(SuggestedPatch { format: PatchFormat::UnifiedDiff, content: content.into() });
    finding.suggested_patch = patch("@@ -2 +2 @@\n-    g();\n+    g()?;\n");
    assert!(rendered(&finding).contains("\n\n```suggestion:-0+0\n    g()?;\n```\n\n<!--"), "{}", rendered(&finding));
    finding.suggested_patch = patch("@@ -9 +9 @@\n-    other();\n+    g()?;\n");
    assert!(rendered(&finding).contains("\n\n```diff\n@@ -9 +9 @@\n-    other();\n+    g()?;\n```\n\n<!--"));
}

#[test]
fn a_finding_id_cannot_leave_its_marker() {
    assert_eq!(marker_id("f-1 --><img src=x>\n/close"), "f-1-----img-src-x---close");
    let hostile = Finding { finding_id: "x --> @all".into(), ..finding("y") };
    assert!(rendered(&hostile).ends_with("<!-- diffsan:finding:x------all -->"));
}

#[test]
fn a_title_is_the_first_sentence_on_one_line() {
    for (body, expected) in
        [("It breaks. And more.", "It breaks."), ("\n\n## Heading\n\ntext", "Heading"), ("a\tb  c", "a b c"), ("", "")]
    {
        assert_eq!(title(&finding(body)), expected);
    }
    assert_eq!(title(&finding(&"x".repeat(500))).chars().count(), TITLE_CHARS);
}

fn planned(path: &str, body: &str) -> PlannedDiscussion {
    let position = crate::contracts::Position {
        position_type: PositionType::File,
        base_sha: "b".into(),
        head_sha: "h".into(),
        start_sha: "s".into(),
        old_path: path.into(),
        new_path: path.into(),
        old_line: None,
        new_line: None,
        line_range: None,
    };
    PlannedDiscussion {
        finding_id: "f-1".into(),
        path: path.into(),
        line_start: 2,
        line_end: 3,
        body_markdown: body.into(),
        position,
        fallbacks: Vec::new(),
        severity: Severity::High,
        line_key: String::new(),
        block_key: String::new(),
        category: Category::Security,
    }
}

#[test]
fn findings_that_failed_stand_before_the_markers_without_their_own() {
    let planned = planned(
        "a<b>@all.rs",
        "**[security/high]** Bad.\n\n```suggestion:-0+0\nx\n```\n\n<!-- diffsan:finding:f-1 -->",
    );
    let summary = "**diffsan:** done\n\n<!-- diffsan:ai-reviewer -->\n<!-- diffsan:fingerprint:sha256:aa -->";
    let items = [Failed { discussion: &planned, reason: "GitLab said: 400 @all" }];
    let body = with_failed_items(summary, &items);
    insta::assert_snapshot!("failed_items", body);
    assert_eq!(oracle::live(&body), Vec::<String>::new());
    assert_eq!(with_failed_items(summary, &[]), summary);
}

#[test]
fn failed_findings_that_do_not_fit_are_counted() {
    let planned = planned("a.rs", &"x".repeat(90_000));
    let items = vec![Failed { discussion: &planned, reason: "refused" }; 40];
    let body = with_failed_items("**diffsan:** done\n\n<!-- diffsan:t -->", &items);
    assert!(body.chars().count() < BODY_CHARS);
    assert!(body.contains("35 more are in the artifact `review.json`"), "{}", &body[body.len() - 300..]);
}
