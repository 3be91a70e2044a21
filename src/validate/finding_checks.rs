//! What becomes of findings, row by row.

use proptest::prelude::*;

use super::{Checked, check};
use crate::contracts::{
    AgentFinding, AgentReviewOutput, Anchoring, Anchors, Category, CheckCode, PatchFormat, Severity, Side,
    SuggestedPatch,
};
use crate::diff::{Diff, anchor};

const DIFF: &str = "\
diff --git a/src/pay.py b/src/pay.py
--- a/src/pay.py
+++ b/src/pay.py
@@ -10,7 +10,8 @@ def charge(card):
     for attempt in range(3):
         try:
-            return gateway.charge(card)
+            token = vault.read(card)
+            return gateway.charge(token)
         except Timeout:
             continue
     raise Failed
 
@@ -50,6 +51,5 @@ def refund(charge):
     audit(charge)
-    check(charge)
     try:
         return gateway.refund(charge)
     except Timeout:
         return None
@@ -80,2 +80,4 @@ def tail():
     a = 1
+    log()
+    b = 2
+    log()
-    c = 3
diff --git a/src/gone.py b/src/gone.py
deleted file mode 100644
--- a/src/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-import os
-os.remove(path)
diff --git a/lib/old.rs b/lib/new.rs
similarity index 90%
rename from lib/old.rs
rename to lib/new.rs
--- a/lib/old.rs
+++ b/lib/new.rs
@@ -1,2 +1,2 @@
-fn old() {}
+fn new() {}
 fn same() {}
diff --git a/b/inner.txt b/b/inner.txt
new file mode 100644
--- /dev/null
+++ b/b/inner.txt
@@ -0,0 +1 @@
+text\r
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
";

fn finding(path: &str, line_start: i64, line_end: i64) -> AgentFinding {
    AgentFinding {
        finding_id: None,
        severity: Severity::Medium,
        category: Category::Correctness,
        path: path.into(),
        line_start,
        line_end,
        body_markdown: "It is wrong. Fix it.".into(),
        quote: None,
        change_anchor: None,
        suggested_patch: None,
    }
}

fn quoting(path: &str, line: i64, quote: &str) -> AgentFinding {
    AgentFinding { quote: Some(quote.into()), ..finding(path, line, line) }
}

fn citing(path: &str, line: i64, id: &str) -> AgentFinding {
    AgentFinding { change_anchor: Some(id.into()), ..finding(path, line, line) }
}

fn checked_as(findings: Vec<AgentFinding>, anchoring: Anchoring) -> Checked {
    let text = DIFF.replace("\\r", "\r");
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let anchors = anchors(&diff);
    let output = AgentReviewOutput { summary_markdown: "s".into(), findings };
    check(output, &diff, &anchors, anchoring, Some("/builds/group/project/"))
}

fn checked(findings: Vec<AgentFinding>) -> Checked {
    checked_as(findings, Anchoring::Advisory)
}

fn anchors(diff: &Diff<'_>) -> Anchors {
    let entries = anchor::anchors(diff).into_iter().map(|anchor| anchor.entry).collect();
    Anchors { snapshot: String::new(), anchors: entries }
}

/// The id of the block that begins at that new line of the file.
fn id_at(file: &str, line: u32) -> String {
    let text = DIFF.replace("\\r", "\r");
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let entry = anchors(&diff).anchors.into_iter().find(|entry| entry.file == file && entry.start_line == line);
    entry.unwrap().change_anchor
}

/// Path, side, lines, and codes of a single finding; an unplaced one has no side.
type Outcome = (String, Option<Side>, (u32, u32), Vec<CheckCode>);

fn outcome(finding: AgentFinding) -> Outcome {
    let checked = checked(vec![finding]);
    let accepted = &checked.validation.accepted[0];
    let only = &checked.findings[0];
    assert_eq!(accepted.placed, only.unplaced.is_none());
    let codes = accepted.notes.iter().map(|note| note.code).collect();
    (only.path.clone(), accepted.placed.then_some(only.side), (only.line_start, only.line_end), codes)
}

#[test]
fn paths_are_read_as_the_diff_names_them() {
    let rows: &[(&str, &str, &[CheckCode])] = &[
        ("src/pay.py", "src/pay.py", &[]),
        ("./src/pay.py", "src/pay.py", &[CheckCode::PathNormalised]),
        ("a/src/pay.py", "src/pay.py", &[CheckCode::PathNormalised]),
        ("b/src/pay.py", "src/pay.py", &[CheckCode::PathNormalised]),
        ("`src/pay.py`", "src/pay.py", &[CheckCode::PathNormalised]),
        ("src//x/../pay.py", "src/pay.py", &[CheckCode::PathNormalised]),
        ("src\\pay.py", "src/pay.py", &[CheckCode::PathNormalised]),
        ("src/pay.py:12", "src/pay.py", &[CheckCode::PathNormalised]),
        ("/builds/group/project/src/pay.py", "src/pay.py", &[CheckCode::PathNormalised]),
    ];
    for (path, expected, codes) in rows {
        assert_eq!(
            outcome(finding(path, 12, 13)),
            ((*expected).into(), Some(Side::New), (12, 13), codes.to_vec()),
            "{path}"
        );
    }
    assert_eq!(outcome(finding("b/inner.txt", 1, 1)).0, "b/inner.txt");
    assert_eq!(outcome(finding("lib/old.rs", 1, 1)).0, "lib/new.rs");
}

#[test]
fn a_path_outside_or_unknown_costs_the_place_and_not_the_life() {
    for path in ["/etc/passwd", "../../x", "/builds/group/project2/src/pay.py", "~/x", "C:/x", "src/../../pay.py"] {
        let (_, side, _, codes) = outcome(finding(path, 12, 12));
        assert_eq!((side, codes.as_slice()), (None, &[CheckCode::PathOutside][..]), "{path}");
    }
    for path in ["src/other.py", "", "b/other.py", "pay.py"] {
        let (_, side, _, codes) = outcome(finding(path, 12, 12));
        assert_eq!((side, codes.last()), (None, Some(&CheckCode::FileNotInDiff)), "{path}");
    }
    let (path, ..) = outcome(finding("x\n\u{1b}[2Jy", 1, 1));
    assert!(!path.contains(char::is_control), "{path:?}");
}

#[test]
fn lines_are_put_in_order_cut_to_one_hunk_and_refused_when_they_cannot_be() {
    type Row = (i64, i64, Option<Side>, (u32, u32), &'static [CheckCode]);
    let rows: &[Row] = &[
        (13, 12, Some(Side::New), (12, 13), &[CheckCode::RangeAdjusted]),
        (1, 12, Some(Side::New), (10, 12), &[CheckCode::RangeAdjusted]),
        (1, 60, Some(Side::New), (10, 17), &[CheckCode::RangeAdjusted]),
        (16, 52, Some(Side::New), (16, 17), &[CheckCode::RangeAdjusted]),
        (17, 81, Some(Side::New), (80, 81), &[CheckCode::RangeAdjusted]),
        (51, 51, Some(Side::New), (51, 51), &[]),
        (30, 30, None, (30, 30), &[CheckCode::LineNotInDiff]),
        (0, 0, None, (1, 1), &[CheckCode::LineImpossible]),
        (-5, 12, None, (1, 12), &[CheckCode::LineImpossible]),
        (1, 1_000_000_000_000, None, (1, 10_000_000), &[CheckCode::LineImpossible]),
        (i64::MIN, i64::MAX, None, (1, 10_000_000), &[CheckCode::LineImpossible]),
    ];
    for (start, end, side, lines, codes) in rows {
        let (_, placed, at, seen) = outcome(finding("src/pay.py", *start, *end));
        assert_eq!((placed, at), (*side, *lines), "{start} to {end}");
        assert_eq!(&seen[..1.min(seen.len())], *codes, "{start} to {end}");
    }
}

#[test]
fn a_quote_decides_the_line() {
    type Row = (i64, &'static str, Option<Side>, (u32, u32), &'static [CheckCode]);
    let rows: &[Row] = &[
        (12, "            token = vault.read(card)", Some(Side::New), (12, 12), &[]),
        (12, "token = vault.read(card)", Some(Side::New), (12, 12), &[]),
        (12, "+            token = vault.read(card)", Some(Side::New), (12, 12), &[]),
        (12, "token  =\tvault.read(card)", Some(Side::New), (12, 12), &[]),
        (12, "12|             token = vault.read(card)", Some(Side::New), (12, 12), &[]),
        (40, "            token = vault.re…", Some(Side::New), (12, 12), &[CheckCode::LineCorrected]),
        (40, "token = vault.read...", Some(Side::New), (12, 12), &[CheckCode::LineCorrected]),
        (12, "vault.read(card)", Some(Side::New), (12, 12), &[]),
        (12, "token = vault.read(card)\nreturn gateway.charge(token)", Some(Side::New), (12, 12), &[]),
        (40, "token = vault.read(card)", Some(Side::New), (12, 12), &[CheckCode::LineCorrected]),
        (
            -3,
            "token = vault.read(card)",
            Some(Side::New),
            (12, 12),
            &[CheckCode::LineImpossible, CheckCode::LineCorrected],
        ),
        (12, "return gateway.charge(card)", Some(Side::Old), (12, 12), &[]),
        (52, "check(charge)", Some(Side::Old), (51, 51), &[CheckCode::LineCorrected]),
        (52, "-    check(charge)", Some(Side::Old), (51, 51), &[CheckCode::LineCorrected]),
        // It stands on 14 and on 54: being nearer proves nothing.
        (15, "except Timeout:", None, (15, 15), &[CheckCode::QuoteAmbiguous]),
        (60, "except Timeout:", None, (60, 60), &[CheckCode::QuoteAmbiguous]),
        (54, "except Timeout:", Some(Side::New), (54, 54), &[]),
        (82, "log()", None, (82, 82), &[CheckCode::QuoteAmbiguous]),
        (81, "log()", Some(Side::New), (81, 81), &[]),
        (12, "nothing like this", None, (12, 12), &[CheckCode::QuoteNotFound]),
        (12, "card", None, (12, 12), &[CheckCode::QuoteNotFound]),
        (12, "  \n ", Some(Side::New), (12, 12), &[]),
    ];
    for (line, quote, side, lines, codes) in rows {
        let (_, placed, at, seen) = outcome(quoting("src/pay.py", *line, quote));
        assert_eq!((placed, at, seen.as_slice()), (*side, *lines, *codes), "{line} {quote:?}");
    }
}

#[test]
fn a_quoted_range_moves_with_its_quote_and_stays_in_its_hunk() {
    let moved = |start, end| {
        let finding =
            AgentFinding { line_start: start, line_end: end, ..quoting("src/pay.py", 1, "        except Timeout:") };
        outcome(finding).2
    };
    assert_eq!(moved(13, 15), (13, 15));
    assert_eq!(moved(20, 22), (14, 16));
    assert_eq!(moved(20, 29), (14, 17));
    assert_eq!(moved(20, 45), (14, 14));
}

#[test]
fn a_quote_without_a_usable_line_must_stand_in_one_place_only() {
    assert_eq!(outcome(quoting("src/pay.py", 0, "log()")).3.last(), Some(&CheckCode::QuoteAmbiguous));
    assert_eq!(outcome(quoting("src/pay.py", 0, "b = 2")).2, (82, 82));
}

#[test]
fn an_anchor_tells_which_of_two_equal_lines_is_meant() {
    let id = id_at("src/pay.py", 81);
    let text = |line| AgentFinding { change_anchor: Some(id.clone()), ..quoting("src/pay.py", line, "b = 2") };
    assert_eq!(outcome(text(40)).2, (82, 82));
}

#[test]
fn a_path_in_gits_quotes_or_in_another_unicode_form_is_the_same_path() {
    let text = "diff --git \"a/caf\\303\\251.py\" \"b/caf\\303\\251.py\"\n--- \"a/caf\\303\\251.py\"\n+++ \"b/caf\\303\\251.py\"\n@@ -1 +1 @@\n-a\n+b\n";
    let diff = Diff::parse(text.as_bytes()).unwrap();
    for path in ["caf\u{e9}.py", "cafe\u{301}.py", "\"caf\\303\\251.py\"", "\"b/caf\\303\\251.py\"", "./cafe\u{301}.py"]
    {
        let output = AgentReviewOutput { summary_markdown: "s".into(), findings: vec![finding(path, 1, 1)] };
        let checked = check(output, &diff, &anchors(&diff), Anchoring::Advisory, None);
        assert_eq!(checked.findings[0].path, "caf\u{e9}.py", "{path}");
        assert_eq!(checked.findings[0].unplaced, None, "{path}");
    }
}

#[test]
fn a_quote_that_stands_twice_in_the_claimed_range_keeps_the_range() {
    let finding = AgentFinding { line_start: 81, line_end: 83, ..quoting("src/pay.py", 1, "log()") };
    assert_eq!(outcome(finding), ("src/pay.py".into(), Some(Side::New), (81, 83), vec![]));
}

#[test]
fn a_carriage_return_does_not_hide_a_quoted_line() {
    assert_eq!(outcome(quoting("b/inner.txt", 1, "text")).1, Some(Side::New));
}

#[test]
fn an_anchor_places_a_finding_that_quotes_nothing() {
    let modify = id_at("src/pay.py", 12);
    let delete = id_at("src/pay.py", 52);
    assert_eq!(outcome(citing("src/pay.py", 12, &modify)), ("src/pay.py".into(), Some(Side::New), (12, 12), vec![]));
    assert_eq!(outcome(citing("src/pay.py", 70, &modify)).2, (12, 13));
    assert_eq!(outcome(citing("src/pay.py", 70, &modify)).3, [CheckCode::LineCorrected]);
    assert_eq!(outcome(citing("src/pay.py", 12, modify.trim_start_matches("chg:"))).1, Some(Side::New));
    assert_eq!(outcome(citing("src/pay.py", 12, &format!("`{modify}`"))).1, Some(Side::New));
    let (_, side, lines, _) = outcome(citing("src/pay.py", 52, &delete));
    assert_eq!((side, lines), (Some(Side::Old), (51, 51)));
}

#[test]
fn an_anchor_of_the_old_name_of_a_file_counts() {
    let diff = Diff::parse(DIFF.as_bytes()).unwrap();
    let entry = anchors(&diff).anchors.into_iter().find(|entry| entry.file == "lib/new.rs").unwrap();
    let previous = entry.previous_change_anchor.clone().unwrap();
    let checked = checked(vec![citing("lib/old.rs", 1, &previous)]);
    assert_eq!(checked.findings[0].unplaced, None);
    assert_eq!(checked.findings[0].change_anchor, Some(entry.change_anchor));
}

#[test]
fn an_anchor_that_exists_nowhere_costs_the_place_unless_the_quote_proves_it() {
    let bogus = "chg:ffffffffffffffff";
    let (_, side, _, codes) = outcome(citing("src/pay.py", 12, bogus));
    assert_eq!((side, codes), (None, vec![CheckCode::AnchorNotFound]));
    let proven = AgentFinding { quote: Some("token = vault.read(card)".into()), ..citing("src/pay.py", 12, bogus) };
    let (_, side, _, codes) = outcome(proven);
    assert_eq!((side, codes), (Some(Side::New), vec![CheckCode::AnchorNotFound]));
}

#[test]
fn an_anchor_of_another_file_or_block_is_noted() {
    let foreign = id_at("lib/new.rs", 1);
    assert_eq!(outcome(citing("src/pay.py", 12, &foreign)).3, [CheckCode::AnchorMismatch]);
    let (path, side, lines, codes) = outcome(citing("lib/missing.rs", 1, &foreign));
    assert_eq!(
        (path.as_str(), side, lines, codes),
        ("lib/new.rs", Some(Side::New), (1, 1), vec![CheckCode::PathNormalised])
    );
    let elsewhere =
        AgentFinding { quote: Some("raise Failed".into()), ..citing("src/pay.py", 16, &id_at("src/pay.py", 12)) };
    assert_eq!(outcome(elsewhere).3, [CheckCode::AnchorMismatch]);
}

#[test]
fn an_anchor_tells_which_of_several_quoted_lines_is_meant() {
    let finding = AgentFinding { quote: Some("log()".into()), ..citing("src/pay.py", 0, &id_at("src/pay.py", 81)) };
    assert_eq!(outcome(finding).3.last(), Some(&CheckCode::QuoteAmbiguous));
    let finding = AgentFinding {
        quote: Some("return gateway.charge(token)".into()),
        ..citing("src/pay.py", 0, &id_at("src/pay.py", 12))
    };
    assert_eq!(outcome(finding).2, (13, 13));
}

#[test]
fn a_finding_on_a_deleted_file_stands_on_the_old_side() {
    assert_eq!(outcome(finding("src/gone.py", 2, 2)).1, Some(Side::Old));
    assert_eq!(outcome(quoting("src/gone.py", 1, "os.remove(path)")).2, (2, 2));
    assert_eq!(outcome(finding("logo.png", 1, 1)).3, [CheckCode::LineNotInDiff]);
}

#[test]
fn strict_mode_rejects_what_cannot_be_anchored_and_says_why() {
    let rows = [
        (finding("src/pay.py", 12, 12), None),
        (quoting("src/pay.py", 16, "raise Failed"), None),
        (finding("src/pay.py", 16, 16), Some(CheckCode::NotAnchored)),
        (quoting("src/pay.py", 12, "nothing like this"), Some(CheckCode::QuoteNotFound)),
        (citing("src/pay.py", 12, "chg:ffffffffffffffff"), Some(CheckCode::AnchorNotFound)),
        (finding("src/other.py", 12, 12), Some(CheckCode::FileNotInDiff)),
        (finding("/etc/passwd", 12, 12), Some(CheckCode::PathOutside)),
        (finding("src/pay.py", 30, 30), Some(CheckCode::LineNotInDiff)),
        (finding("src/pay.py", 0, 0), Some(CheckCode::LineImpossible)),
    ];
    for (finding, expected) in rows {
        let path = finding.path.clone();
        let checked = checked_as(vec![finding], Anchoring::Strict);
        assert_eq!(checked.validation.rejected.first().map(|rejected| rejected.reason.code), expected, "{path}");
        assert_eq!(checked.findings.len(), usize::from(expected.is_none()));
    }
}

#[test]
fn with_anchoring_off_quotes_and_anchors_are_not_looked_at() {
    let lying = AgentFinding { change_anchor: Some("chg:0".into()), ..quoting("src/pay.py", 12, "nothing like this") };
    let checked = checked_as(vec![lying, finding("src/pay.py", 30, 30)], Anchoring::Off);
    assert_eq!(checked.findings[0].unplaced, None);
    assert!(checked.findings[1].unplaced.is_some());
}

#[test]
fn empty_findings_and_exact_duplicates_are_rejected() {
    let empty = AgentFinding { body_markdown: " \n".into(), ..finding("src/pay.py", 12, 12) };
    let reversed = AgentFinding { path: "./src/pay.py".into(), ..finding("src/pay.py", 13, 12) };
    let other = AgentFinding { body_markdown: "Another thing.".into(), ..finding("src/pay.py", 12, 13) };
    let checked = checked(vec![empty, finding("src/pay.py", 12, 13), reversed, other]);
    let rejected: Vec<_> =
        checked.validation.rejected.iter().map(|rejected| (rejected.index, rejected.reason.code)).collect();
    assert_eq!(rejected, [(0, CheckCode::EmptyBody), (2, CheckCode::Duplicate)]);
    assert_eq!(checked.findings.len(), 2);
}

#[test]
fn the_worst_comes_first_and_equals_keep_their_order() {
    let with =
        |severity, body: &str| AgentFinding { severity, body_markdown: body.into(), ..finding("src/pay.py", 12, 12) };
    let checked = checked(vec![
        with(Severity::Low, "a"),
        with(Severity::Critical, "b"),
        with(Severity::Low, "c"),
        with(Severity::High, "d"),
    ]);
    let order: Vec<_> = checked.findings.iter().map(|finding| finding.body_markdown.as_str()).collect();
    assert_eq!(order, ["b", "d", "a", "c"]);
    assert_eq!(checked.validation.accepted.iter().map(|accepted| accepted.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn ids_depend_on_what_a_finding_is_about_and_not_on_where_it_stands() {
    let ids = |findings| checked(findings).findings.into_iter().map(|finding| finding.finding_id).collect::<Vec<_>>();
    let quoted = quoting("src/pay.py", 12, "token = vault.read(card)");
    let reworded =
        AgentFinding { body_markdown: "Said otherwise.".into(), line_start: 40, line_end: 41, ..quoted.clone() };
    assert_eq!(ids(vec![quoted.clone()]), ids(vec![reworded.clone()]));
    let two = ids(vec![quoted.clone(), reworded]);
    assert_ne!(two[0], two[1]);
    assert_eq!(two[0], ids(vec![quoted.clone()])[0]);
    let security = AgentFinding { category: Category::Security, ..quoted.clone() };
    assert_ne!(ids(vec![quoted]), ids(vec![security]));
    for id in two {
        assert!(id.len() == 14 && id.starts_with("f-") && id[2..].bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
}

#[test]
fn an_unplaced_finding_is_known_by_its_first_sentence() {
    let id = |body: &str| {
        let finding = AgentFinding { body_markdown: body.into(), ..finding("src/other.py", 1, 1) };
        checked(vec![finding]).findings[0].finding_id.clone()
    };
    assert_eq!(id("The lock is lost. Then x."), id("The  lock is LOST. Then y."));
    assert_ne!(id("The lock is lost."), id("The lock is held."));
}

#[test]
fn an_id_that_the_agent_gave_counts_for_nothing() {
    let named = |id: &str, line| AgentFinding { finding_id: Some(id.into()), ..finding("src/pay.py", line, line) };
    let ids = |names: [&str; 3]| {
        let findings = names.into_iter().zip([12, 13, 51]).map(|(name, line)| named(name, line)).collect();
        checked(findings).findings.into_iter().map(|finding| finding.finding_id).collect::<Vec<_>>()
    };
    let derived = ids(["", "", ""]);
    assert_eq!(ids(["f-00112233aabb", "F1", "f-00112233aabb"]), derived);
    // Not even one that takes another finding's id.
    assert_eq!(ids([&derived[2], &derived[0], &derived[1]]), derived);
}

#[test]
fn equal_lines_of_a_file_have_ids_of_their_own_that_outlive_shifts_and_each_other() {
    let ids = |above: &str, lines: &[u32]| {
        let text = format!(
            "diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,{} @@\n{above}+def a():\n\
             +    return None\n+def b():\n+    return None\n",
            4 + above.lines().count()
        );
        let diff = Diff::parse(text.as_bytes()).expect("a diff");
        let findings = lines.iter().map(|line| finding("n.py", i64::from(*line), i64::from(*line))).collect();
        let output = AgentReviewOutput { summary_markdown: String::new(), findings };
        let checked = check(output, &diff, &Anchors::default(), Anchoring::Advisory, None);
        checked.findings.into_iter().map(|finding| finding.finding_id).collect::<Vec<_>>()
    };
    let both = ids("", &[2, 4]);
    assert_ne!(both[0], both[1]);
    assert_eq!(ids("", &[4, 2]), [both[1].clone(), both[0].clone()], "the order of the answer does not matter");
    assert_eq!(ids("", &[4]), [both[1].clone()], "nor whether the other is reported");
    assert_eq!(ids("+import os\n+\n", &[4, 6]), both);
}

#[test]
fn long_texts_are_clipped_and_a_patch_is_whole_or_gone() {
    let patch = |content: String| Some(SuggestedPatch { format: PatchFormat::UnifiedDiff, content });
    let long = AgentFinding {
        body_markdown: "ü".repeat(20_000),
        suggested_patch: patch("x".repeat(30_000)),
        ..finding("src/pay.py", 12, 12)
    };
    let blank = AgentFinding { suggested_patch: patch(" \n".into()), ..finding("src/pay.py", 13, 13) };
    let kept = AgentFinding { suggested_patch: patch("--- a/x\n".into()), ..finding("src/pay.py", 51, 51) };
    let checked = checked(vec![long, blank, kept]);
    assert_eq!(checked.findings[0].body_markdown.chars().count(), 16_001);
    assert_eq!(checked.findings[0].suggested_patch, None);
    assert_eq!(checked.findings[1].suggested_patch, None);
    assert!(checked.findings[2].suggested_patch.is_some());
}

#[test]
fn every_finding_is_either_accepted_or_rejected() {
    let findings: Vec<_> = (0..50).map(|n| finding("src/pay.py", n % 20, n)).collect();
    let checked = checked(findings);
    assert_eq!(checked.validation.accepted.len() + checked.validation.rejected.len(), 50);
    assert_eq!(checked.validation.accepted.len(), checked.findings.len());
}

proptest! {
    #[test]
    fn a_placed_finding_stands_on_lines_that_the_diff_contains(
        path in prop_oneof![Just("src/pay.py".to_owned()), Just("src/gone.py".to_owned()), Just("lib/old.rs".to_owned()), ".{0,12}"],
        start in prop_oneof![0..100i64, any::<i64>()],
        length in prop_oneof![-5..20i64, any::<i64>()],
        quote in prop_oneof![
            Just(None), Just(Some("log()".to_owned())), Just(Some("except Timeout:".to_owned())), Just(Some("check(charge)".to_owned())),
            Just(Some("import os".to_owned())), ".{0,10}".prop_map(Some),
        ],
        anchor in prop_oneof![Just(None), (0..8usize).prop_map(Some)],
    ) {
        let text = DIFF.replace("\\r", "\r");
        let diff = Diff::parse(text.as_bytes()).unwrap();
        let anchors = anchors(&diff);
        let finding = AgentFinding {
            quote,
            change_anchor: anchor.map(|index| anchors.anchors.get(index).map_or("chg:x".into(), |entry| entry.change_anchor.clone())),
            ..finding(&path, start, start.saturating_add(length))
        };
        for anchoring in [Anchoring::Strict, Anchoring::Advisory, Anchoring::Off] {
            let output = AgentReviewOutput { summary_markdown: String::new(), findings: vec![finding.clone()] };
            let checked = check(output, &diff, &anchors, anchoring, None);
            for finding in checked.findings {
                prop_assert!(1 <= finding.line_start && finding.line_start <= finding.line_end);
                if finding.unplaced.is_some() {
                    prop_assert!(anchoring != Anchoring::Strict);
                    continue;
                }
                let file = diff.files.iter().find(|file| file.path() == finding.path).unwrap();
                for line in finding.line_start..=finding.line_end {
                    let known = match finding.side {
                        Side::New => file.line_new(line),
                        Side::Old => file.line_old(line),
                    };
                    prop_assert!(known.is_some(), "line {line} of {} is not in the diff", finding.path);
                }
            }
        }
    }
}
