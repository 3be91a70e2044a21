//! Tests of `position`.

use proptest::prelude::*;

use super::*;
use crate::contracts::{Category, Severity};
use crate::diff::sample::{Edit, edits, render};

pub(crate) fn finding(path: &str, first: u32, last: u32, side: Side) -> Finding {
    Finding {
        finding_id: "f-1".into(),
        severity: Severity::High,
        category: Category::Correctness,
        path: path.into(),
        line_start: first,
        line_end: last,
        side,
        body_markdown: "It breaks.".into(),
        quote: None,
        change_anchor: None,
        suggested_patch: None,
        unplaced: None,
        look: None,
    }
}

fn refs() -> Refs {
    Refs { base_sha: "b".repeat(40), start_sha: "5".repeat(40), head_sha: "a".repeat(40) }
}

/// Each position of the ladder in short: rung, old line, new line, ends of the range.
fn ladder(diff: &str, path: &str, first: u32, last: u32, side: Side) -> Vec<String> {
    let diff = Diff::parse(diff.as_bytes()).expect("diff");
    let place = place(&diff, &finding(path, first, last, side), &refs()).expect("place");
    place.positions.iter().map(short).collect()
}

fn short(position: &Position) -> String {
    let number = |line: Option<u32>| line.map_or("-".to_owned(), |line| line.to_string());
    let mut text = format!("{} {} {}", rung(position), number(position.old_line), number(position.new_line));
    if let Some(range) = &position.line_range {
        for end in [&range.start, &range.end] {
            text.push_str(&format!(" {}{}", end.line_type, &end.line_code[40..]));
        }
    }
    text
}

const WORKED: &str = "diff --git a/a.rb b/a.rb\nindex 1..2 100644\n--- a/a.rb\n+++ b/a.rb\n@@ -10,3 +10,4 @@ def x\n ctx\n-removed\n+added1\n+added2\n ctx2\n@@ -40,2 +41,3 @@\n c\n+d\n e\n";

#[test]
fn each_kind_of_line_gets_exactly_the_numbers_that_gitlab_gives_it() {
    for (first, last, side, expected) in [
        (11, 11, Side::New, vec!["line - 11", "file - -"]),
        (12, 12, Side::New, vec!["line - 12", "file - -"]),
        (11, 11, Side::Old, vec!["line 11 -", "file - -"]),
        (10, 10, Side::New, vec!["line 10 10", "file - -"]),
        (13, 13, Side::New, vec!["line 12 13", "file - -"]),
        (12, 12, Side::Old, vec!["line 12 13", "file - -"]),
        (10, 12, Side::New, vec!["range - 12 old_10_10 new_12_12", "line - 12", "file - -"]),
        (11, 13, Side::New, vec!["range 12 13 new_12_11 old_12_13", "line 12 13", "file - -"]),
        (10, 11, Side::Old, vec!["range 11 - old_10_10 old_11_11", "line 11 -", "file - -"]),
    ] {
        assert_eq!(ladder(WORKED, "a.rb", first, last, side), expected, "{first}-{last} {side:?}");
    }
}

#[test]
fn a_range_that_leaves_the_diff_stands_on_its_first_changed_line() {
    assert_eq!(ladder(WORKED, "a.rb", 5, 20, Side::New), ["line - 11", "file - -"]);
    assert_eq!(ladder(WORKED, "a.rb", 13, 20, Side::New), ["line 12 13", "file - -"]);
    assert_eq!(ladder(WORKED, "a.rb", 5, 11, Side::New), ["range - 11 old_10_10 new_12_11", "line - 11", "file - -"]);
    assert_eq!(ladder(WORKED, "a.rb", 11, 42, Side::New), ["range - 42 old_40_41 new_41_42", "line - 42", "file - -"]);
    assert_eq!(ladder(WORKED, "a.rb", 42, u32::MAX, Side::New), ["line - 42", "file - -"]);
}

#[test]
fn lines_between_hunks_have_both_numbers_and_those_below_the_last_cannot_be_proved() {
    assert_eq!(ladder(WORKED, "a.rb", 5, 5, Side::New), ["line 5 5", "file - -"]);
    assert_eq!(ladder(WORKED, "a.rb", 30, 30, Side::New), ["line 29 30", "file - -"]);
    assert_eq!(ladder(WORKED, "a.rb", 29, 29, Side::Old), ["line 29 30", "file - -"]);
    assert_eq!(ladder(WORKED, "a.rb", 60, 60, Side::New), ["file - -"]);
}

#[test]
fn line_codes_are_gitlabs() {
    assert_eq!(line_code("README.md", 36, 36), "8ec9a00bfd09b3190ac6b22251dbb1aa95a0579d_36_36");
}

#[test]
fn new_deleted_and_renamed_files_are_named_as_gitlab_names_them() {
    let new = "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n";
    assert_eq!(ladder(new, "n", 1, 2, Side::New), ["range - 2 new_0_1 new_0_2", "line - 2", "file - -"]);
    assert_eq!(ladder(new, "n", 9, 9, Side::New), ["file - -"]);
    let gone =
        "diff --git a/g b/g\ndeleted file mode 100644\nindex 1..0\n--- a/g\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
    assert_eq!(ladder(gone, "g", 1, 2, Side::New), ["range 2 - old_1_0 old_2_0", "line 2 -", "file - -"]);
    let renamed = "diff --git a/o.c b/n.c\nsimilarity index 80%\nrename from o.c\nrename to n.c\nindex 1..2 100644\n--- a/o.c\n+++ b/n.c\n@@ -1,2 +1,2 @@\n x\n-a\n+b\n";
    for path in ["n.c", "o.c"] {
        let diff = Diff::parse(renamed.as_bytes()).expect("diff");
        let place = place(&diff, &finding(path, 2, 2, Side::New), &refs()).expect("place");
        for position in &place.positions {
            assert_eq!((position.old_path.as_str(), position.new_path.as_str()), ("o.c", "n.c"));
        }
    }
    for (diff, path) in [(new, "n"), (gone, "g")] {
        let diff = Diff::parse(diff.as_bytes()).expect("diff");
        let place = place(&diff, &finding(path, 1, 1, Side::New), &refs()).expect("place");
        assert_eq!((place.positions[0].old_path.as_str(), place.positions[0].new_path.as_str()), (path, path));
    }
}

#[test]
fn files_without_lines_have_only_the_file() {
    let mut huge =
        "diff --git a/h b/h\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/h\n@@ -0,0 +1,3000 @@\n".to_owned();
    huge.push_str(&format!("+{}\n", "x".repeat(80)).repeat(3000));
    for (diff, path) in [
        ("diff --git a/m b/m\nold mode 100644\nnew mode 100755\n", "m"),
        ("diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n", "b"),
        ("diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n", "n"),
        (
            "diff --git a/s b/s\nindex 1111111..2222222 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
            "s",
        ),
        (huge.as_str(), "h"),
    ] {
        assert_eq!(ladder(diff, path, 1, 1, Side::New), ["file - -"], "{path}");
        let diff = Diff::parse(diff.as_bytes()).expect("diff");
        let place = place(&diff, &finding(path, 1, 1, Side::New), &refs()).expect("place");
        assert_eq!(place.in_diff, path == "h", "{path}");
    }
}

#[test]
fn what_the_change_does_not_touch_has_no_place() {
    let diff = Diff::parse(WORKED.as_bytes()).expect("diff");
    let error = place(&diff, &finding("other.rb", 1, 1, Side::New), &refs()).expect_err("no place");
    assert_eq!(error, "the change does not touch this file");
}

#[test]
fn the_lines_of_a_place_are_those_of_the_finding_or_none() {
    let diff = Diff::parse(WORKED.as_bytes()).expect("diff");
    let commented = |first, last, side| {
        let place = place(&diff, &finding("a.rb", first, last, side), &refs()).expect("place");
        place.commented.map(|lines| lines.hunk[lines.range].to_vec())
    };
    assert_eq!(commented(10, 12, Side::New), Some(vec![&b"ctx"[..], b"added1", b"added2"]));
    assert_eq!(commented(42, 42, Side::New), Some(vec![&b"d"[..]]));
    assert_eq!(commented(5, 12, Side::New), None);
    assert_eq!(commented(11, 11, Side::Old), None);
}

/// The numbers of every line of both files, in diff order: old, new, and whether the diff shows the line.
fn numbered(edits: &[Edit], shown: impl Fn(Option<u32>, Option<u32>) -> bool) -> Vec<(Option<u32>, Option<u32>, bool)> {
    let (mut old, mut new) = (0, 0);
    let mut lines = Vec::new();
    for edit in edits {
        let pair = match edit {
            Edit::Keep(_) => {
                (old, new) = (old + 1, new + 1);
                (Some(old), Some(new))
            }
            Edit::Add(_) => {
                new += 1;
                (None, Some(new))
            }
            Edit::Remove(_) => {
                old += 1;
                (Some(old), None)
            }
        };
        lines.push((pair.0, pair.1, shown(pair.0, pair.1)));
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_line_of_a_change_gets_the_pair_that_gitlab_would_find(edits in edits()) {
        let text = render("src/a.rs", &edits, 3);
        let diff = Diff::parse(text.as_bytes()).expect("diff");
        let file = &diff.files[0];
        let shown = |old: Option<u32>, new: Option<u32>| {
            file.hunks.iter().flat_map(|hunk| hunk.lines()).any(|line| line.old == old && line.new == new)
        };
        let lines = numbered(&edits, shown);
        let last_shown = lines.iter().rposition(|line| line.2).unwrap_or(0);
        for (index, (old, new, is_shown)) in lines.iter().enumerate() {
            for (side, number) in [(Side::New, new), (Side::Old, old)] {
                let Some(number) = *number else { continue };
                let place = place(&diff, &finding("src/a.rs", number, number, side), &refs()).expect("place");
                let first = &place.positions[0];
                prop_assert_eq!(place.in_diff, *is_shown);
                if *is_shown || index < last_shown {
                    prop_assert_eq!((first.old_line, first.new_line), (*old, *new), "{}", text);
                } else {
                    prop_assert_eq!(rung(first), "file", "{}", text);
                }
                prop_assert_eq!(rung(place.positions.last().expect("rung")), "file");
            }
        }
    }

    #[test]
    fn any_range_stands_on_one_of_its_own_lines(edits in edits(), first in 1u32..70, length in 0u32..70) {
        let text = render("src/a.rs", &edits, 3);
        let diff = Diff::parse(text.as_bytes()).expect("diff");
        let last = first + length;
        let place = place(&diff, &finding("src/a.rs", first, last, Side::New), &refs()).expect("place");
        for position in place.positions.iter().filter(|position| position.position_type == PositionType::Text) {
            prop_assert!((first..=last).contains(&position.new_line.expect("new line")));
        }
    }
}
