//! What stays together, what fits, and that the same change is always divided alike.

use proptest::prelude::*;

use super::*;
use crate::contracts::{AgentFinding, AgentReviewOutput, Category, Severity};

/// A diff of new files with these contents.
fn diff_of(files: &[(&str, &str)]) -> String {
    let one = |(path, text): &(&str, &str)| {
        let lines = text.lines().count();
        let added: String = text.lines().map(|line| format!("+{line}\n")).collect();
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{added}"
        )
    };
    files.iter().map(one).collect()
}

fn candidates(diff: &Diff<'_>, cost: usize) -> Vec<Candidate> {
    (0..diff.files.len()).map(|index| Candidate { index, order: 0, cost }).collect()
}

const BOUNDS: Bounds = Bounds { max_chars: 100, max_files: 10, max_passes: 8, parts: 1 };

/// The paths of each pass.
fn divided(files: &[(&str, &str)], cost: usize, bounds: &Bounds) -> Vec<Vec<String>> {
    let text = diff_of(files);
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let division = divide(&diff, &candidates(&diff, cost), bounds);
    let paths = |pass: &Pass| pass.files.iter().map(|index| diff.files[*index].path().to_owned()).collect();
    division.passes.iter().map(paths).collect()
}

fn together(passes: &[Vec<String>], one: &str, other: &str) -> bool {
    passes.iter().any(|pass| pass.iter().any(|path| path == one) && pass.iter().any(|path| path == other))
}

#[test]
fn what_fits_or_may_have_one_pass_only_is_not_divided() {
    let files = [("a.py", "x = 1"), ("b.py", "y = 2"), ("c.py", "z = 3")];
    assert_eq!(divided(&files, 30, &BOUNDS).len(), 1);
    assert_eq!(divided(&files, 90, &Bounds { max_passes: 1, ..BOUNDS }), [["a.py", "b.py", "c.py"]]);
}

#[test]
fn a_test_stays_with_what_it_tests() {
    for (source, test) in [
        ("src/pay.py", "tests/test_pay.py"),
        ("src/pay.go", "src/pay_test.go"),
        ("web/card.ts", "web/card.test.ts"),
        ("src/Pay.java", "src/test/PayTest.java"),
        ("lib/pay.rb", "spec/pay_spec.rb"),
    ] {
        let files = [(source, "x"), ("aa/one.c", "x"), ("bb/two.c", "x"), ("cc/three.c", "x"), (test, "x")];
        let passes = divided(&files, 45, &BOUNDS);
        assert!(passes.len() > 1 && together(&passes, source, test), "{source}: {passes:?}");
    }
}

#[test]
fn files_that_name_each_other_stay_together() {
    let files = [
        ("api/charge.py", "def collect_money(card):\n    pass"),
        ("x/one.py", "pass"),
        ("y/two.py", "pass"),
        ("jobs/nightly.py", "collect_money(card)"),
        ("z/three.py", "from vault import read"),
        ("core/vault.py", "pass"),
    ];
    let passes = divided(&files, 45, &BOUNDS);
    assert!(together(&passes, "api/charge.py", "jobs/nightly.py"), "{passes:?}");
    assert!(together(&passes, "z/three.py", "core/vault.py"), "{passes:?}");
}

#[test]
fn a_folder_stays_together_where_it_fits() {
    let files = [("a/1.c", "x"), ("b/1.c", "x"), ("a/2.c", "x"), ("b/2.c", "x"), ("a/3.c", "x"), ("b/3.c", "x")];
    let passes = divided(&files, 30, &BOUNDS);
    assert_eq!(passes, [["a/1.c", "a/2.c", "a/3.c"], ["b/1.c", "b/2.c", "b/3.c"]]);
}

#[test]
fn what_there_is_no_pass_for_is_left_out_least_valuable_first() {
    let text = diff_of(&[("a.md", "x"), ("b.py", "x"), ("c.py", "x"), ("d.py", "x")]);
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let mut files = candidates(&diff, 100);
    files[0].order = 2;
    let division = divide(&diff, &files, &Bounds { max_passes: 3, ..BOUNDS });
    assert_eq!((division.passes.len(), division.left_out), (3, vec![0]));
}

/// Each part's size.
fn sizes(division: &Division, parts: u32) -> Vec<usize> {
    let size = |part| division.part(part).iter().map(|at| division.passes[*at].cost).sum();
    (1..=parts).map(size).collect()
}

#[test]
fn a_change_that_is_small_has_fewer_parts_and_the_rest_are_empty() {
    let files: Vec<(String, &str)> = (0..30).map(|n| (format!("src/f{n}.py"), "x")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let text = diff_of(&files);
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let bounds = Bounds { max_chars: 200_000, max_files: 60, max_passes: 4, parts: 8 };
    for (cost, worth) in [(10, 1), (LEAST_SHARE / 10, 3), (LEAST_SHARE, 8)] {
        let division = divide(&diff, &candidates(&diff, cost), &bounds);
        let sizes = sizes(&division, 8);
        assert!(
            sizes[..worth].iter().all(|size| *size > 0) && sizes[worth..].iter().all(|size| *size == 0),
            "{sizes:?}"
        );
    }
    let none = divide(&Diff::default(), &[], &bounds);
    assert_eq!((none.part(1), none.part(2)), (vec![0], Vec::new()));
}

#[test]
fn a_part_sees_the_files_of_the_others_as_others() {
    let pass = |files: &[usize], part| Pass { files: files.to_vec(), cost: 1, part };
    let division = Division { passes: vec![pass(&[1], 1), pass(&[0, 3], 0)], left_out: vec![2], ..Division::default() };
    assert_eq!((division.part(1), division.part(2), division.part(3)), (vec![1], vec![0], vec![]));
    let own = division.only(&division.part(1));
    assert_eq!((own.passes.len(), own.left_out, own.others), (1, vec![2], vec![1]));
    assert_eq!(division.only(&[0, 1]), division);
}

#[test]
fn a_pass_is_told_what_the_others_do_to_names_it_uses() {
    let text = "\
diff --git a/core.py b/core.py
--- a/core.py
+++ b/core.py
@@ -1,2 +1,2 @@
-def collect(card):
-def forget(card):
+def collect(card, amount):
+def remember(card):
diff --git a/job.py b/job.py
--- a/job.py
+++ b/job.py
@@ -1,1 +1,2 @@
 collect(card)
+forget(card)
";
    let diff = Diff::parse(text.as_bytes()).unwrap();
    let pass = |files: &[usize]| Pass { files: files.to_vec(), cost: 1, part: 0 };
    let division = Division { passes: vec![pass(&[1]), pass(&[0])], ..Division::default() };
    let elsewhere = division.elsewhere(&diff, 0);
    assert_eq!(elsewhere.len(), 1);
    assert_eq!((elsewhere[0].pass, elsewhere[0].path.as_str()), (2, "core.py"));
    assert_eq!(elsewhere[0].touched, ["changes collect", "removes forget"]);
}

fn finding(path: &str, line: i64, body: &str, severity: Severity) -> AgentFinding {
    AgentFinding {
        finding_id: None,
        severity,
        category: Category::Correctness,
        path: path.into(),
        line_start: line,
        line_end: line,
        body_markdown: body.into(),
        quote: None,
        change_anchor: None,
        suggested_patch: None,
    }
}

#[test]
fn the_same_fault_told_by_two_passes_is_one_finding() {
    let answer = |findings| AgentReviewOutput { summary_markdown: "Fine.".into(), findings };
    let told = "The timeout is retried after the charge went through, so the card is charged twice.";
    let again = "A timeout after the charge went through is retried, and the card is charged twice.";
    let merged = merge(
        vec![
            (1, answer(vec![finding("a.py", 10, told, Severity::Medium), finding("a.py", 11, told, Severity::Low)])),
            (2, answer(vec![finding("a.py", 12, again, Severity::High), finding("b.py", 12, again, Severity::High)])),
            (3, answer(vec![finding("a.py", 10, "The log line names the wrong card.", Severity::Low)])),
        ],
        3,
    );
    let kept: Vec<_> =
        merged.findings.iter().map(|kept| (kept.path.as_str(), kept.line_start, kept.severity)).collect();
    // One pass may say two things of neighbouring lines; that is its own doing.
    assert_eq!(
        kept,
        [
            ("a.py", 10, Severity::High),
            ("a.py", 11, Severity::Low),
            ("b.py", 12, Severity::High),
            ("a.py", 10, Severity::Low)
        ]
    );
    assert!(merged.summary_markdown.starts_with("Part 1 of 3: Fine.\n\nPart 2 of 3"));
}

proptest! {
    #[test]
    fn every_file_is_in_one_pass_or_left_out_and_passes_keep_their_bounds(
        files in proptest::collection::vec(("[a-c]{1,2}/[a-d]{1,6}\\.(py|rs|md)", 1usize..160, 0usize..4), 1..40),
        max_chars in 60usize..400,
        max_files in 1usize..12,
        max_passes in 1usize..7,
        parts in 1usize..5,
    ) {
        let named: Vec<(String, String)> = files.iter().enumerate().map(|(n, (path, _, _))| (format!("{n}/{path}"), "x".to_owned())).collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let text = diff_of(&named);
        let diff = Diff::parse(text.as_bytes()).unwrap();
        let candidates: Vec<Candidate> =
            files.iter().enumerate().map(|(index, (_, cost, order))| Candidate { index, order: *order, cost: *cost }).collect();
        let bounds = Bounds { max_chars, max_files, max_passes, parts };
        let division = divide(&diff, &candidates, &bounds);
        prop_assert_eq!(&division, &divide(&diff, &candidates, &bounds));
        prop_assert!(!division.passes.is_empty() && division.passes.len() < max_passes + parts);
        let mut all: Vec<usize> = division.passes.iter().flat_map(|pass| pass.files.clone()).chain(division.left_out).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..files.len()).collect::<Vec<_>>());
    }

    /// Where no file is more than a fifth of a part, and no limit forbids it.
    #[test]
    fn parts_hold_every_pass_once_and_are_alike_in_size_within_a_fifth(
        costs in proptest::collection::vec(200usize..4_000, 60..240),
        folders in 1usize..9,
        max_passes in 1usize..9,
        parts in 2u32..9,
    ) {
        let named: Vec<(String, &str)> =
            (0..costs.len()).map(|n| (format!("src/m{}/f{n}.py", n % folders), "x = 1")).collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let text = diff_of(&named);
        let diff = Diff::parse(text.as_bytes()).unwrap();
        let files: Vec<Candidate> =
            costs.iter().enumerate().map(|(index, cost)| Candidate { index, order: 0, cost: *cost }).collect();
        let total: usize = costs.iter().sum();
        prop_assume!(costs.iter().all(|cost| cost * 5 * parts as usize <= total));
        let bounds = Bounds { max_chars: 100_000, max_files: 1_000, max_passes, parts: parts as usize };
        let division = divide(&diff, &files, &bounds);
        prop_assume!(division.left_out.is_empty());
        let mut all: Vec<usize> = (1..=parts).flat_map(|part| division.part(part)).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..division.passes.len()).collect::<Vec<_>>());
        let mean = total as f64 / f64::from(parts);
        let sizes = sizes(&division, parts);
        prop_assert!(sizes.iter().all(|size| (*size as f64 - mean).abs() <= mean * 0.2), "{:?}", sizes);
    }
}
