//! Facts about the prepared diff.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::diff::sample::{edits, render as render_edits};
use crate::diff::{Line, LineKind};

fn rules() -> Rules {
    Rules::new(&LimitsConfig::default(), &TruncationConfig::default(), BTreeMap::new())
}

fn prepared(text: &str, rules: &Rules) -> Prepared {
    prepare(text, &Diff::parse(text.as_bytes()).unwrap(), rules).unwrap()
}

/// A new file of so many lines.
fn new_file(path: &str, lines: usize) -> String {
    let body: String = (1..=lines).map(|n| format!("+line {n}\n")).collect();
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{body}"
    )
}

/// A file with so many one-line hunks.
fn hunks(path: &str, count: usize) -> String {
    let body: String = (0..count).map(|n| format!("@@ -{0} +{0} @@\n-old {n}\n+new {n}\n", n * 10 + 1)).collect();
    format!("diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n{body}")
}

fn paths(text: &str) -> Vec<String> {
    Diff::parse(text.as_bytes()).unwrap().files.into_iter().map(|file| file.new_path).collect()
}

fn details(prepared: &Prepared) -> Vec<(&str, Option<&str>, &str)> {
    let items = &prepared.report.items;
    items.iter().map(|item| (item.kind.as_str(), item.path.as_deref(), item.details.as_str())).collect()
}

#[test]
fn a_change_within_the_limits_is_sent_as_it_is() {
    let text = hunks("a.py", 3) + &new_file("b.py", 4);
    let prepared = prepared(&text, &rules());
    assert_eq!(prepared.text, text);
    assert!(!prepared.report.truncated && prepared.report.items.is_empty());
    assert_eq!(prepared.report.original_chars, prepared.report.final_chars);
    assert_eq!(prepared.report.included_paths, ["a.py", "b.py"]);
    assert_eq!((prepared.report.coverage.hunks_sent, prepared.report.coverage.hunks_total), (4, 4));
}

#[test]
fn what_was_reviewed_before_is_cut_first() {
    let text = hunks("a.py", 3) + &hunks("z.md", 1);
    let old = |places: &[(usize, usize)]| Rules { reviewed: places.iter().copied().collect(), ..rules() };
    let all = old(&[(0, 0), (0, 1), (0, 2)]);
    assert_eq!(paths(&prepared(&text, &Rules { max_files: 1, ..rules() }).text), ["a.py"], "the control");
    let cut = prepared(&text, &Rules { max_files: 1, ..all.clone() });
    assert_eq!(paths(&cut.text), ["z.md"]);
    assert!(details(&cut)[0].2.starts_with("Dropped (reviewed before)"), "{:?}", details(&cut));
    let budget = Rules { max_diff_chars: hunks("z.md", 1).len(), ..all };
    assert_eq!(prepared(&text, &budget).text, hunks("z.md", 1));
    let one = Rules { max_hunks_per_file: 1, ..old(&[(0, 0), (0, 1)]) };
    let shown = prepared(&hunks("a.py", 3), &one).text;
    assert!(shown.contains("+new 2") && !shown.contains("+new 0"), "{shown}");
}

#[test]
fn a_last_line_without_line_feed_gets_one() {
    let text = hunks("a.py", 1);
    assert_eq!(prepared(text.trim_end(), &rules()).text, text);
}

#[test]
fn files_come_by_rank_and_then_in_diff_order() {
    let names = ["Cargo.lock", "a.md", "b.yaml", "c.py", "vendor/d.py", "e.yaml", "f.rs"];
    let text: String = names.iter().map(|name| hunks(name, 1)).collect();
    let want = ["c.py", "f.rs", "b.yaml", "e.yaml", "a.md", "Cargo.lock", "vendor/d.py"];
    assert_eq!(paths(&prepared(&text, &rules()).text), want);
}

#[test]
fn ignored_files_are_listed_and_are_no_truncation() {
    let text = hunks("docs/a.md", 2) + &hunks("x.generated.py", 1) + &hunks("c.py", 1);
    let prepared = prepared(&text, &rules());
    assert_eq!(prepared.report.ignored_paths, ["docs/a.md", "x.generated.py"]);
    assert!(!prepared.report.truncated);
    assert_eq!(prepared.report.coverage.hunks_ignored, 3);
    assert_eq!(prepared.report.coverage.reasons["ignore_globs"], 3);
    assert_eq!((prepared.report.original_files, prepared.report.final_files), (3, 1));
}

#[test]
fn too_many_files_drop_the_lowest_ranks_with_their_reason() {
    let text = hunks("a.md", 1) + &hunks("b.py", 2) + &hunks("Cargo.lock", 1) + &hunks("c.py", 1) + &hunks("d.py", 1);
    let prepared = prepared(&text, &Rules { max_files: 2, ..rules() });
    assert_eq!(paths(&prepared.text), ["b.py", "c.py"]);
    assert_eq!(
        details(&prepared),
        [
            ("file", Some("a.md"), "Dropped (deprioritized extension), max_files=2"),
            ("file", Some("Cargo.lock"), "Dropped (lock file), max_files=2"),
            ("file", Some("d.py"), "Dropped (max_files=2)"),
        ]
    );
    assert_eq!((prepared.report.coverage.hunks_sent, prepared.report.coverage.hunks_dropped), (3, 3));
}

#[test]
fn too_many_hunks_keep_those_that_add_something_first() {
    let only_removal = "@@ -500 +499,0 @@\n-gone\n";
    let text = hunks("a.py", 1) + only_removal + "@@ -600 +599 @@\n-x\n+y\n";
    let prepared = prepared(&text, &Rules { max_hunks_per_file: 2, ..rules() });
    assert!(!prepared.text.contains("-gone") && prepared.text.contains("@@ -600 +599 @@"));
    assert_eq!(details(&prepared), [("hunk", Some("a.py"), "Dropped 1 of 3 hunks (max_hunks_per_file=2)")]);
    assert_eq!(prepared.fates, [[Fate::Sent, Fate::Dropped(Limit::Hunks), Fate::Sent]]);
}

#[test]
fn a_hunk_too_big_alone_is_cut_at_a_line_border_with_its_count() {
    let text = new_file("a.py", 1000);
    let prepared = prepared(&text, &Rules { max_diff_chars: 500, ..rules() });
    let cut = Diff::parse(prepared.text.as_bytes()).unwrap();
    let lines = cut.files[0].hunks[0].line_count();
    let header = format!("@@ -0,0 +1,{lines} @@ [diffsan: excerpt, first {lines} of 1000 lines]\n");
    assert!(prepared.text.contains(&header), "{}", prepared.text);
    assert!(prepared.report.final_chars <= 500 && prepared.report.final_chars > 450);
    assert_eq!(prepared.fates, [[Fate::Cut { lines, of: 1000 }]]);
    assert_eq!(
        details(&prepared),
        [
            (
                "hunk",
                Some("a.py"),
                &*format!("Cut the hunk at line 1 to its first {lines} of 1000 lines (max_diff_chars=500)")
            ),
            ("chars", None, "Stopped at max_diff_chars=500"),
        ]
    );
}

#[test]
fn one_giant_file_does_not_starve_the_rest() {
    let mut text = new_file("giant.py", 50_000);
    let small: Vec<String> = (0..20).map(|n| format!("small{n}.py")).collect();
    for name in small.iter().chain(&["b.yaml".to_owned(), "c.md".to_owned()]) {
        text += &hunks(name, 3);
    }
    let prepared = prepared(&text, &Rules { max_diff_chars: 50_000, ..rules() });
    let whole = prepared.fates.iter().filter(|fates| fates.iter().all(|fate| *fate == Fate::Sent)).count();
    assert_eq!(whole, 22);
    assert!(matches!(prepared.fates[0][0], Fate::Cut { lines, .. } if lines > 2_000));
    assert!(prepared.report.final_chars > 49_900);
}

#[test]
fn several_giant_files_share_alike_and_some_is_left_for_lower_ranks() {
    let text =
        new_file("a.py", 9_000) + &new_file("b.py", 9_000) + &new_file("c.yaml", 9_000) + &new_file("go.sum", 9_000);
    let prepared = prepared(&text, &Rules { max_diff_chars: 40_000, ..rules() });
    let sent: Vec<usize> = prepared
        .fates
        .iter()
        .map(|fates| match fates[0] {
            Fate::Cut { lines, .. } => lines,
            _ => 0,
        })
        .collect();
    assert!(sent[0].abs_diff(sent[1]) < 20, "{sent:?}");
    assert!(sent[2] > 700 && sent[0] > sent[2], "{sent:?}");
    assert_eq!(sent[3], 0, "{sent:?}");
    assert!(details(&prepared).contains(&("file", Some("go.sum"), "Dropped (lock file), max_diff_chars=40000")));
}

#[test]
fn a_line_that_is_longer_than_the_budget_is_left_out_whole() {
    let long = "x".repeat(5_000);
    let text = format!("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+{long}\n@@ -9 +9 @@\n-c\n+d\n");
    let prepared = prepared(&text, &Rules { max_diff_chars: 1_000, ..rules() });
    assert!(prepared.text.contains("+d\n") && !prepared.text.contains("xx"));
    assert!(!prepared.text.contains("-a\n"), "a replaced line alone would read as a removal");
}

#[test]
fn a_budget_too_small_for_anything_sends_nothing_and_says_so() {
    let text = hunks("a.py", 1);
    let prepared = prepared(&text, &Rules { max_diff_chars: 10, ..rules() });
    assert_eq!(prepared.text, "");
    assert_eq!(details(&prepared)[0], ("file", Some("a.py"), "Dropped (max_diff_chars=10)"));
    assert!(prepared.report.truncated);
}

#[test]
fn files_without_hunks_are_shown_and_counted() {
    let text = "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n\
                diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n\
                diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n";
    let prepared = prepared(text, &rules());
    assert_eq!(prepared.text, text);
    let coverage = &prepared.report.coverage;
    assert_eq!((coverage.hunks_total, coverage.hunks_sent, coverage.hunks_binary), (3, 2, 1));
}

#[test]
fn the_data_of_a_binary_patch_is_not_shown() {
    let text = "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n";
    let prepared = prepared(text, &rules());
    assert_eq!(prepared.text, "diff --git a/x b/x\nindex 1..2 100644\nBinary files differ\n");
    assert!(Diff::parse(prepared.text.as_bytes()).unwrap().files[0].is_binary);
}

#[test]
fn long_lists_are_capped_beside_their_totals() {
    let text: String = (0..600).map(|n| hunks(&format!("docs/{n}.md"), 1) + &hunks(&format!("{n}.py"), 1)).collect();
    let report = prepared(&text, &Rules { max_files: 20, ..rules() }).report;
    assert_eq!((report.ignored_paths.len(), report.ignored_total), (500, 600));
    assert_eq!((report.items.len(), report.items_total), (500, 580));
    assert_eq!((report.included_paths.len(), report.included_total), (20, 20));
}

#[test]
fn characters_are_unicode_scalar_values() {
    let line = "漢字é😀".repeat(50);
    let text = format!("--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+{line}\n+{line}\n");
    let report = prepared(&text, &rules()).report;
    assert_eq!(report.original_chars, text.chars().count() as u64);
    let cut = prepared(&text, &Rules { max_diff_chars: 300, ..rules() });
    assert!(cut.text.chars().count() <= 300 && cut.text.contains(&line));
}

#[test]
fn an_anchor_is_in_the_prompt_when_its_whole_block_is() {
    let text = new_file("a.py", 1000) + &hunks("b.py", 1);
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let prepared = prepare(&text, &diff, &Rules { max_diff_chars: 800, ..rules() }).unwrap();
    let anchors = prepared.anchors(&diff);
    let shown: Vec<_> = anchors.anchors.iter().map(|entry| (entry.file.as_str(), entry.in_prompt)).collect();
    assert_eq!(shown, [("a.py", false), ("b.py", true)]);
    assert_eq!(anchors.snapshot, anchor::snapshot_id(&prepared.text));
}

/// Everything that identifies a line of a diff.
type Known<'a> = HashSet<(String, LineKind, Option<u32>, Option<u32>, &'a [u8])>;

fn known<'a>(diff: &Diff<'a>) -> Known<'a> {
    let lines = |file: &FileDiff<'a>| -> Vec<Line<'a>> { file.hunks.iter().flat_map(|hunk| hunk.lines()).collect() };
    diff.files
        .iter()
        .flat_map(|file| lines(file).into_iter().map(|l| (file.new_path.clone(), l.kind, l.old, l.new, l.content)))
        .collect()
}

fn some_rules() -> impl Strategy<Value = Rules> {
    (1usize..3_000, 1usize..8, 1usize..6).prop_map(|(max_diff_chars, max_files, max_hunks_per_file)| Rules {
        max_diff_chars,
        max_files,
        max_hunks_per_file,
        ..rules()
    })
}

fn some_diff() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["py", "yaml", "md", "lock", "generated.py"]);
    prop::collection::vec((name, edits(), 0usize..4), 1..10).prop_map(|files| {
        let numbered = files.iter().enumerate();
        numbered.map(|(n, (end, edits, context))| render_edits(&format!("f{n}.{end}"), edits, *context)).collect()
    })
}

#[test]
fn binary_and_ignored_files_are_told_apart_from_reviewed_ones() {
    let text = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n\
                diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n\
                diff --git a/x.lock b/x.lock\n--- a/x.lock\n+++ b/x.lock\n@@ -1 +1 @@\n-a\n+b\n";
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let rules = Rules { ignore_globs: vec!["*.lock".into()], ..rules() };
    let prepared = prepare(text, &diff, &rules).unwrap();
    let coverage = &prepared.report.coverage;
    assert_eq!((coverage.hunks_total, coverage.hunks_sent), (3, 1));
    assert_eq!((coverage.hunks_binary, coverage.hunks_ignored), (1, 1));
    assert!(!coverage.is_whole());
    let named: Vec<_> = coverage.not_reviewed.iter().map(|file| (file.path.as_str(), file.why)).collect();
    assert_eq!(named, [("logo.png", LeftOut::Binary), ("x.lock", LeftOut::Ignored)]);
    assert_eq!(coverage.not_reviewed_total, 2);
    let shown: Vec<_> = prepared.shown(&diff).files.iter().map(|file| file.path().to_owned()).collect();
    assert_eq!(shown, ["a.py"]);
}

#[test]
fn what_is_shown_of_a_cut_hunk_are_its_first_lines() {
    let rows: String = (1..=50).map(|row| format!("+row {row}\n")).collect();
    let text =
        format!("diff --git a/a.py b/a.py\nnew file mode 100644\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,50 @@\n{rows}");
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let prepared = prepare(&text, &diff, &Rules { max_diff_chars: 300, ..rules() }).unwrap();
    let shown = prepared.shown(&diff);
    let lines: Vec<_> = shown.files[0].hunks[0].lines().collect();
    assert_eq!(lines.len(), prepared.lines_sent(0, 0));
    assert!(!lines.is_empty() && lines.len() < 50);
    let agent = Diff::parse(prepared.text.as_bytes()).unwrap();
    let seen: Vec<_> = agent.files[0].hunks[0].lines().map(|line| line.content.to_vec()).collect();
    assert_eq!(lines.iter().map(|line| line.content.to_vec()).collect::<Vec<_>>(), seen);
}

proptest! {
    #[test]
    fn no_limit_is_exceeded_and_nothing_is_lost_or_made_up(text in some_diff(), rules in some_rules()) {
        let diff = Diff::parse(text.as_bytes()).unwrap();
        let out = prepare(&text, &diff, &rules).unwrap();
        prop_assert!(out.text.chars().count() <= rules.max_diff_chars);
        prop_assert_eq!(out.report.final_chars, out.text.chars().count() as u64);

        let shown = Diff::parse(out.text.as_bytes()).unwrap();
        prop_assert!(shown.files.len() <= rules.max_files);
        prop_assert_eq!(shown.files.len() as u64, out.report.final_files);
        prop_assert!(shown.files.iter().all(|file| file.hunks.len() <= rules.max_hunks_per_file));
        prop_assert!(known(&shown).is_subset(&known(&diff)));

        let coverage = &out.report.coverage;
        prop_assert_eq!(coverage.hunks_total, diff.hunk_count() as u64);
        prop_assert_eq!(
            coverage.hunks_total,
            coverage.hunks_sent + coverage.hunks_cut + coverage.hunks_ignored + coverage.hunks_dropped
        );
        prop_assert_eq!(shown.hunk_count() as u64, coverage.hunks_sent + coverage.hunks_cut);
        let reasons: u64 = coverage.reasons.values().sum();
        prop_assert_eq!(reasons, coverage.hunks_cut + coverage.hunks_ignored + coverage.hunks_dropped);
        prop_assert_eq!(out.report.truncated, coverage.hunks_cut + coverage.hunks_dropped > 0);
    }

    #[test]
    fn every_fate_tells_what_was_sent(text in some_diff(), rules in some_rules()) {
        let diff = Diff::parse(text.as_bytes()).unwrap();
        let out = prepare(&text, &diff, &rules).unwrap();
        let shown = known(&Diff::parse(out.text.as_bytes()).unwrap());
        let mut told = HashSet::new();
        for (f, file) in diff.files.iter().enumerate() {
            for (h, hunk) in file.hunks.iter().enumerate() {
                let lines = hunk.lines().take(out.lines_sent(f, h));
                told.extend(lines.map(|l| (file.new_path.clone(), l.kind, l.old, l.new, l.content)));
            }
        }
        prop_assert_eq!(shown, told);
    }

    #[test]
    fn the_same_input_gives_the_same_output(text in some_diff(), rules in some_rules()) {
        prop_assert_eq!(prepared(&text, &rules), prepared(&text, &rules));
    }
}
