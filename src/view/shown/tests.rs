//! Facts about groups, excerpts and small words.

use super::sample::{hostile, sample};
use super::*;

#[test]
fn the_file_with_the_worst_finding_comes_first_and_each_file_once() {
    let shown = sample();
    let groups = groups(&shown.review);
    let facts: Vec<_> = groups.iter().map(|group| (group.path, group.findings.len(), group.worst())).collect();
    assert_eq!(
        facts,
        [
            ("src/pay/client.py", 3, Severity::Critical),
            ("web/shop/cart.ts", 3, Severity::Medium),
            ("docs/payments.md", 1, Severity::Info)
        ]
    );
    assert!(groups.iter().all(|group| group.findings.is_sorted_by(|a, b| a.severity >= b.severity)));
}

#[test]
fn an_excerpt_has_the_lines_of_the_finding_and_one_more_on_each_side() {
    let shown = sample();
    let diff = shown.parsed();
    let numbers = |id: &str| -> Vec<(u32, bool)> {
        let finding = shown.review.findings.iter().find(|finding| finding.finding_id == id).unwrap();
        let rows = excerpt(&diff, finding).into_iter();
        rows.filter_map(|row| match row {
            Row::Code { number, marked, .. } => Some((number, marked)),
            Row::Gap => None,
        })
        .collect()
    };
    assert_eq!(numbers("f-3fa9c2d1e4b5"), [(10, false), (11, true), (12, false)]);
    assert_eq!(numbers("f-77a1b2c3d4e5").iter().filter(|(_, marked)| *marked).count(), 5);
    assert_eq!(numbers("f-bbbbbbbbbbbb"), [(1, false), (2, true), (3, false)]);
    assert_eq!(numbers("f-cccccccccccc"), []);
}

#[test]
fn a_long_range_is_shown_as_its_ends() {
    let mut shown = sample();
    let body: String = (1..=200).map(|n| format!("+line {n}\n")).collect();
    shown.diff = format!("--- /dev/null\n+++ b/long.txt\n@@ -0,0 +1,200 @@\n{body}");
    let finding = &mut shown.review.findings[0];
    (finding.path, finding.line_start, finding.line_end) = ("long.txt".into(), 10, 150);
    let rows = excerpt(&shown.parsed(), &shown.review.findings[0]);
    assert_eq!(rows.len(), 6);
    assert_eq!(rows.iter().filter(|row| **row == Row::Gap).count(), 1);
    let numbers = rows.iter().filter_map(|row| if let Row::Code { number, .. } = row { Some(*number) } else { None });
    let numbers: Vec<_> = numbers.collect();
    assert_eq!((numbers.first(), numbers.last()), (Some(&9), Some(&151)));
}

#[test]
fn a_range_over_two_hunks_has_a_gap() {
    let shown = sample();
    let mut finding = shown.review.findings[0].clone();
    (finding.line_start, finding.line_end) = (20, 47);
    let rows = excerpt(&shown.parsed(), &finding);
    assert_eq!(rows.iter().filter(|row| **row == Row::Gap).count(), 1, "{rows:?}");
}

#[test]
fn a_diff_that_cannot_be_read_costs_the_code_lines_and_nothing_else() {
    let mut shown = sample();
    shown.diff = "@@ nonsense".into();
    assert!(excerpt(&shown.parsed(), &shown.review.findings[0]).is_empty());
}

#[test]
fn numbers_and_times_are_written_for_people() {
    for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
        assert_eq!(thousands(number), text);
    }
    for (ms, text) in [(0, "0 ms"), (999, "999 ms"), (1_000, "1.0 s"), (59_999, "59.9 s"), (185_000, "3 min 5 s")] {
        assert_eq!(duration(ms), text);
    }
    assert_eq!(counted(1, "hunk"), "1 hunk");
    assert_eq!(counted(2, "hunk"), "2 hunks");
}

#[test]
fn a_line_is_cut_by_its_columns() {
    for (text, columns, expected) in
        [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("空の空", 6, "空の空"), ("空の空", 5, "空の…"), ("空の空", 4, "空…")]
    {
        assert_eq!(fit(text, columns), expected);
    }
}

#[test]
fn a_patch_loses_its_headers_and_keeps_lines_that_look_like_them() {
    let lines =
        patch_lines("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- gone\n+++ new\n ctx\n\\ No newline at end of file\n");
    let kinds: Vec<_> = lines.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
    assert_eq!(
        kinds,
        [
            (PatchLine::Hunk, "@@ -1,2 +1,2 @@"),
            (PatchLine::Removed, "-- gone"),
            (PatchLine::Added, "++ new"),
            (PatchLine::Context, "ctx")
        ]
    );
    assert_eq!(patch_lines("-old\n+new").len(), 2);
}

#[test]
fn code_of_others_has_no_control_characters() {
    let shown = hostile();
    for finding in &shown.review.findings {
        for row in excerpt(&shown.parsed(), finding) {
            if let Row::Code { text, .. } = row {
                assert!(!text.chars().any(char::is_control), "{text:?}");
            }
        }
    }
    assert_eq!(code_text("\tx\r"), "    x");
}

#[test]
fn a_local_review_has_no_places_in_a_merge_request() {
    let mut shown = sample();
    assert_eq!(shown.places(), ["5 on lines", "1 in the summary", "1 said before", "1 rejected"]);
    assert_eq!(shown.place(&shown.review.findings[0]), Some(Place::Inline));
    shown.plan.as_mut().unwrap().mr_iid = None;
    assert_eq!(shown.places(), ["1 rejected"]);
    assert_eq!(shown.place(&shown.review.findings[0]), None);
}
