//! Facts about the parser, on texts written out here; real git has its own tests.

use proptest::prelude::*;

use super::sample::{Edit, edits, is_new, is_old, render};
use super::*;

fn parsed(text: &str) -> Diff<'_> {
    Diff::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn only(text: &str) -> FileDiff<'_> {
    let mut files = parsed(text).files;
    assert_eq!(files.len(), 1, "{text}");
    files.remove(0)
}

fn reason(text: &str) -> (usize, ParseReason) {
    let error = Diff::parse(text.as_bytes()).expect_err(text);
    (error.line, error.reason)
}

/// `kind old new content`, one per line.
fn shown(hunk: &Hunk<'_>) -> Vec<String> {
    let number = |n: Option<u32>| n.map_or("-".to_owned(), |n| n.to_string());
    hunk.lines()
        .map(|line| {
            let end = if line.no_newline { "%" } else { "" };
            format!("{:?} {} {} {}{end}", line.kind, number(line.old), number(line.new), line.text())
        })
        .collect()
}

#[test]
fn every_line_has_its_number_on_each_side() {
    let file = only(
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n\
         @@ -10,3 +10,4 @@ fn main() {\n ctx\n-removed\n+added1\n+added2\n ctx2\n\
         @@ -40 +41 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
    );
    assert_eq!(
        shown(&file.hunks[0]),
        ["Context 10 10 ctx", "Removed 11 - removed", "Added - 11 added1", "Added - 12 added2", "Context 12 13 ctx2"]
    );
    assert_eq!(shown(&file.hunks[1]), ["Removed 40 - a%", "Added - 41 b%"]);
    assert_eq!(file.hunks[0].section, b"fn main() {");
    assert_eq!((file.additions, file.deletions), (3, 2));
    assert_eq!((file.old_mode, file.new_mode), (Some(0o100_644), Some(0o100_644)));
    assert_eq!(file.line_new(13).map(|line| line.content), Some(&b"ctx2"[..]));
    assert_eq!(file.line_old(11).map(|line| line.kind), Some(LineKind::Removed));
    assert_eq!(file.line_old(40).map(|line| line.content), Some(&b"a"[..]));
    for outside in [0, 9, 14, 40, 42, u32::MAX] {
        assert_eq!(file.line_new(outside), None, "{outside}");
    }
}

#[test]
fn a_side_without_lines_counts_from_the_line_after() {
    let file = only(
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -5,0 +6,2 @@\n+a\n+b\n@@ -9 +11,0 @@\n-c\n@@ -10,0 +12 @@\n+d\n",
    );
    assert_eq!(shown(&file.hunks[0]), ["Added - 6 a", "Added - 7 b"]);
    assert_eq!(shown(&file.hunks[1]), ["Removed 9 - c"]);
    assert_eq!(file.line_new(7).map(|line| line.content), Some(&b"b"[..]));
    assert_eq!(file.line_new(12).map(|line| line.content), Some(&b"d"[..]));
    assert_eq!(file.line_old(9).map(|line| line.content), Some(&b"c"[..]));
    assert_eq!(file.line_old(5), None);
}

#[test]
fn lines_inside_a_hunk_are_content_whatever_they_look_like() {
    let file = only(
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n--- a/other.py\n+++ b/other.py\n \
         @@ -1 +1 @@\n-diff --git a/y b/y\n+diff --git a/z b/z\n+\\ No newline at end of file\n",
    );
    assert_eq!(
        shown(&file.hunks[0]),
        [
            "Removed 1 - -- a/other.py",
            "Added - 1 ++ b/other.py",
            "Context 2 2 @@ -1 +1 @@",
            "Removed 3 - diff --git a/y b/y",
            "Added - 3 diff --git a/z b/z",
            "Added - 4 \\ No newline at end of file",
        ]
    );
}

#[test]
fn the_status_and_both_paths_of_a_file_are_known() {
    use FileStatus::{Added, Copied, Deleted, ModeChanged, Modified, Renamed};
    let id = "1".repeat(40);
    let cases: Vec<(String, FileStatus, &str, &str, bool, bool)> = vec![
        (format!("diff --git a/x b/x\nnew file mode 100644\nindex 0000000..{id}\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"), Added, "x", "x", false, false),
        ("diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n".into(), Added, "x", "x", false, false),
        (format!("diff --git a/x b/x\ndeleted file mode 100644\nindex {id}..0000000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"), Deleted, "x", "x", false, false),
        ("diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n".into(), Deleted, "x", "x", false, false),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n".into(), ModeChanged, "x", "x", false, false),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 7898192..0d13814\n".into(), ModeChanged, "x", "x", false, false),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".into(), Modified, "x", "x", false, false),
        ("diff --git a/old b/x b/new b/y\nsimilarity index 100%\nrename from old b/x\nrename to new b/y\n".into(), Renamed, "old b/x", "new b/y", false, false),
        ("diff --git a/o b/n\nsimilarity index 90%\nrename from o\nrename to n\nindex 1..2 100644\n--- a/o\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n".into(), Renamed, "o", "n", false, false),
        ("diff --git a/o b/n\nsimilarity index 100%\ncopy from o\ncopy to n\n".into(), Copied, "o", "n", false, false),
        ("diff --git \"a/\\303\\244\" \"b/\\303\\266\"\nsimilarity index 100%\nrename from \"\\303\\244\"\nrename to \"\\303\\266\"\n".into(), Renamed, "ä", "ö", false, false),
        ("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n".into(), Modified, "x", "x", true, false),
        ("diff --git a/a and b b/a and b\nindex 1..2 100644\nBinary files a/a and b and b/a and b differ\n".into(), Modified, "a and b", "a and b", true, false),
        ("diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 1\nIcmZPo000310RR91\n\n".into(), Modified, "x", "x", true, false),
        (format!("diff --git a/s b/s\nindex {id}..{id} 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit {id}\n+Subproject commit {id}\n"), Modified, "s", "s", false, true),
        ("Submodule a b 1234567..89abcde:\n  > one\n  < two\n".into(), Modified, "a b", "a b", false, true),
        ("Submodule s 0000000...1234567 (new submodule)\n".into(), Added, "s", "s", false, true),
        ("Submodule s 1234567...0000000 (submodule deleted)\n".into(), Deleted, "s", "s", false, true),
        ("Submodule s contains untracked content\n".into(), Modified, "s", "s", false, true),
        ("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n".into(), Modified, "x", "x", false, false),
        ("--- a/s p/x\t2024-01-01 00:00:00\n+++ b/s p/x\t2024-01-01 00:00:00\n@@ -1 +1 @@\n-a\n+b\n".into(), Modified, "s p/x", "s p/x", false, false),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n".into(), Added, "x", "x", false, false),
        ("--- old/x\t1970-01-01 00:00:00.000000000 +0000\n+++ new/x\t2024-01-01 00:00:00\n@@ -0,0 +1 @@\n+b\n".into(), Added, "x", "x", false, false),
        ("--- old/x\t2024-01-01 00:00:00\n+++ new/x\t1970-01-01 00:00:00.000000000 +0000\n@@ -1 +0,0 @@\n-b\n".into(), Deleted, "x", "x", false, false),
        ("diff -ruN old/x new/x\n--- old/x\t2024-01-01\n+++ new/x\t2024-01-02\n@@ -1 +1 @@\n-a\n+b\n".into(), Modified, "x", "x", false, false),
        ("diff -r old new\nBinary files old/x and new/x differ\n".into(), Modified, "x", "x", true, false),
        ("diff --git x x\nindex 1..2 100644\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n".into(), Modified, "x", "x", false, false),
        ("diff --git a/x b/x\r\nindex 1..2 100644\r\n--- a/x\r\n+++ b/x\r\n@@ -1,2 +1,2 @@\r\n-a\r\n+b\r\n\r\n".into(), Modified, "x", "x", false, false),
    ];
    for (text, status, old, new, binary, submodule) in &cases {
        let file = only(text);
        assert_eq!((file.status, file.old_path.as_str(), file.new_path.as_str()), (*status, *old, *new), "{text}");
        assert_eq!((file.is_binary, file.is_submodule), (*binary, *submodule), "{text}");
    }
}

#[test]
fn a_similarity_is_kept_and_an_impossible_one_is_not() {
    let text = |percent: &str| format!("diff --git a/o b/n\nsimilarity index {percent}\nrename from o\nrename to n\n");
    assert_eq!(only(&text("97%")).similarity, Some(97));
    assert_eq!(only(&text("999%")).similarity, None);
}

#[test]
fn a_carriage_return_belongs_to_the_content() {
    let file = only("--- x\n+++ x\n@@ -1,2 +1,2 @@\n-a\r\n+b\r\n \r\n");
    assert_eq!(shown(&file.hunks[0]), ["Removed 1 - a\r", "Added - 1 b\r", "Context 2 2 \r"]);
}

#[test]
fn an_empty_context_line_without_its_blank_is_still_one() {
    let file = only("--- x\n+++ x\n@@ -1,3 +1,3 @@\n-a\n+b\n\n c\n");
    assert_eq!(shown(&file.hunks[0]), ["Removed 1 - a", "Added - 1 b", "Context 2 2 ", "Context 3 3 c"]);
}

#[test]
fn a_mailed_patch_and_a_log_parse_with_their_prose() {
    let mail = "From 1234567890123456789012345678901234567890 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n- a point\n+ another\n---\n x | 2 +-\n 1 file changed\n\n\
                diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.47.3\n\n\
                From 2234567890123456789012345678901234567890 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] y\n\n- a point\n---\n\n\
                diff --git a/y b/y\nindex 1..2 100644\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n-- \n2.47.3\n\n";
    let log = "commit 1234\nAuthor: a\n\n    message\n\ndiff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\n\
               commit 1235\nAuthor: a\n\n    message\n\ndiff --git a/y b/y\nindex 1..2 100644\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    for text in [mail, log] {
        let paths: Vec<_> = parsed(text).files.into_iter().map(|file| file.new_path).collect();
        assert_eq!(paths, ["x", "y"]);
    }
}

#[test]
fn what_is_not_a_reviewable_diff_is_refused_with_its_line() {
    use ParseReason::*;
    let head = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n";
    let unread = |line| (line, HunkHeader);
    let cases: Vec<(String, (usize, ParseReason))> = vec![
        ("garbage\n".into(), (1, NoFiles)),
        ("\0\0\0".into(), (1, NoFiles)),
        ("+a\n-b\n".into(), (1, NoFiles)),
        ("diff --cc x\nindex 1,2..3\n".into(), (1, Combined)),
        ("diff --combined x\n".into(), (1, Combined)),
        ("@@@ -1,1 -1,1 +1,5 @@@\n".into(), (1, Combined)),
        ("* Unmerged path \"a\\tb\"\n".into(), (1, Unmerged { path: "a\tb".into() })),
        ("@@ -1 +1 @@\n-a\n+b\n".into(), (1, HunkWithoutFile)),
        (format!("{head}@@ -1,2 +1,2 @@\n-a\n+b\n"), (8, HunkShort { old: 1, new: 1 })),
        (format!("{head}@@ -1,2 +1,2 @@\n-a\n+b\ndiff --git a/y b/y\n"), (8, HunkShort { old: 1, new: 1 })),
        (format!("{head}@@ -1,2 +1,2 @@\n\\ No newline\n-a\n"), (6, HunkShort { old: 2, new: 2 })),
        (format!("{head}@@ -1,2 +1,2 @@\n-a\n\\ No newline\n\\ No newline\n"), (8, HunkShort { old: 1, new: 2 })),
        (format!("{head}@@ -1,1 +1,2 @@\n-a\n-b\n+c\n+d\n"), (7, HunkCounts)),
        (format!("{head}@@ -1 +1,2 @@\n-a\n+b\n c\n"), (8, HunkCounts)),
        (format!("{head}@@ -1 +1 @@\n-a\n+b\n+c\n"), (8, HunkLong)),
        (format!("{head}@@ -1 +1 @@\n-a\n+b\n\n c\n"), (9, HunkLong)),
        (format!("{head}@@ -5 +5 @@\n-a\n+b\n@@ -5 +6 @@\n-a\n+b\n"), (8, HunkOrder)),
        (format!("{head}@@ -5 +5 @@\n-a\n+b\n@@ -6 +4 @@\n-a\n+b\n"), (8, HunkOrder)),
        (format!("{head}@@ -1,99999999999 +1 @@\n"), unread(5)),
        (format!("{head}@@ -4294967295 +1 @@\n-a\n+b\n"), unread(5)),
        (format!("{head}@@ -0,0 +0,0 @@\n"), unread(5)),
        (format!("{head}@@ -0 +1 @@\n-a\n+b\n"), unread(5)),
        (format!("{head}@@ -1 +1\n-a\n+b\n"), unread(5)),
        (format!("{head}@@ -+1 +1 @@\n-a\n+b\n"), unread(5)),
        (head.into(), (5, MissingHunk)),
        (format!("{head}+a\n"), (5, MissingHunk)),
        ("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n".into(), (4, MissingNewName)),
        ("diff --git a/x b/x\nindex 1..2 100644\n".into(), (3, MissingBody { path: "x".into() })),
        ("diff --git a/x b/x\nnew file mode 100644\nindex 0..2\n".into(), (4, MissingBody { path: "x".into() })),
        ("diff --git a/x b/y\nold mode 100644\nnew mode 100755\n".into(), (1, UnknownPath)),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n".into(), (1, UnknownPath)),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 1\nIcmZ\n\n".into(), (4, BinaryPatch)),
        ("diff --git a/x b/x\nGIT binary patch\n".into(), (3, BinaryPatch)),
    ];
    for (text, want) in cases {
        assert_eq!(reason(&text), want, "{text}");
    }
}

#[test]
fn a_redacted_id_does_not_promise_a_body() {
    let text = "diff --git a/x b/x\nnew file mode 100644\nindex [REDACTED]..[REDACTED]\n";
    assert_eq!(only(text).status, FileStatus::Added);
}

#[test]
fn no_text_is_no_change() {
    for text in ["", "\n", " \r\n\n"] {
        assert_eq!(parsed(text), Diff::default());
    }
}

#[test]
fn a_line_of_a_million_characters_is_one_line() {
    let line = "x".repeat(1_000_000);
    let text = format!("--- x\n+++ x\n@@ -1 +1 @@\n-{line}\n+{line}y\n");
    let file = only(&text);
    let lengths: Vec<_> = file.hunks[0].lines().map(|line| line.content.len()).collect();
    assert_eq!(lengths, [1_000_000, 1_000_001]);
}

#[test]
fn nul_bytes_and_broken_utf8_are_content() {
    let text = b"--- x\n+++ x\n@@ -1 +1 @@\n-\0\xff\n+\xfe\0\n";
    let diff = Diff::parse(text).unwrap();
    let contents: Vec<_> = diff.files[0].hunks[0].lines().map(|line| line.content).collect();
    assert_eq!(contents, [&b"\0\xff"[..], b"\xfe\0"]);
}

#[test]
fn a_last_line_without_line_feed_is_whole() {
    let file = only("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b");
    assert_eq!(shown(&file.hunks[0]), ["Removed 1 - a", "Added - 1 b"]);
}

#[test]
fn a_file_is_found_by_its_new_path_before_any_old_one() {
    let diff = parsed(
        "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n\
         diff --git a/c b/a\nsimilarity index 100%\nrename from c\nrename to a\n",
    );
    assert_eq!(diff.file("a").map(|file| file.old_path.as_str()), Some("c"));
    assert_eq!(diff.file("c").map(|file| file.new_path.as_str()), Some("a"));
    assert_eq!(diff.file("d"), None);
}

/// The lines a parser must report for the edits: those near a change, with their numbers.
fn expected(edits: &[Edit]) -> Vec<(LineKind, Option<u32>, Option<u32>, &str)> {
    let (mut old, mut new) = (0, 0);
    edits
        .iter()
        .map(|edit| {
            old += u32::from(is_old(edit));
            new += u32::from(is_new(edit));
            match edit {
                Edit::Keep(line) => (LineKind::Context, Some(old), Some(new), line.as_str()),
                Edit::Add(line) => (LineKind::Added, None, Some(new), line.as_str()),
                Edit::Remove(line) => (LineKind::Removed, Some(old), None, line.as_str()),
            }
        })
        .collect()
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_never_parse_to_nothing(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(diff) = Diff::parse(&bytes) {
            prop_assert_eq!(diff.files.is_empty(), bytes.trim_ascii().is_empty());
        }
    }

    #[test]
    fn pieces_of_diffs_in_any_order_never_panic(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "diff --git a/x b/x\n", "diff --git \"a/\\1\" b/x\n", "index 1..2 100644\n", "--- a/x\n", "+++ b/x\n",
            "@@ -1,2 +1,2 @@\n", "@@ -1 +1 @@ f\n", "+a\n", "-b\n", " c\n", "\n", "\\ No newline\n", "rename from x\n",
            "GIT binary patch\n", "literal 3\n", "Submodule x 12345..67890:\n", "Binary files a/x and b/x differ\n", "-- \n", "2.4\n", "\r\n",
        ]), 0..30),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = pieces.concat();
        let text = &text[..cut.index(text.len() + 1)];
        if let Ok(diff) = Diff::parse(text.as_bytes()) {
            for file in &diff.files {
                let (added, removed) = file.hunks.iter().flat_map(Hunk::lines).fold((0, 0), |(a, r), line| match line.kind {
                    LineKind::Added => (a + 1, r),
                    LineKind::Removed => (a, r + 1),
                    LineKind::Context => (a, r),
                });
                prop_assert_eq!((added, removed), (file.additions, file.deletions));
            }
        }
    }

    #[test]
    fn every_line_maps_to_the_bytes_it_came_from(edits in edits(), context in 0usize..12) {
        let text = render("p", &edits, context);
        let diff = Diff::parse(text.as_bytes()).unwrap();
        let all = expected(&edits);
        let mut changes = 0;
        for hunk in &diff.files[0].hunks {
            for line in hunk.lines() {
                let offset = line.content.as_ptr().addr() - text.as_ptr().addr();
                prop_assert_eq!(&text.as_bytes()[offset..offset + line.content.len()], line.content);
                let seen = (line.kind, line.old, line.new, std::str::from_utf8(line.content).unwrap());
                prop_assert!(all.contains(&seen), "{:?} not in {:?}", seen, all);
                changes += usize::from(line.kind != LineKind::Context);
                let found = match line.new {
                    Some(number) => diff.files[0].line_new(number),
                    None => diff.files[0].line_old(line.old.unwrap()),
                };
                prop_assert_eq!(found, Some(line));
            }
        }
        prop_assert_eq!(changes, all.iter().filter(|line| line.0 != LineKind::Context).count());
        prop_assert_eq!(diff.files[0].header.len() + diff.files[0].hunks.iter().map(|h| h.bytes.len()).sum::<usize>(), text.len());
    }

    #[test]
    fn a_cut_off_diff_is_refused_or_is_its_own_beginning(edits in edits(), cut in any::<prop::sample::Index>()) {
        let text = render("p", &edits, 3);
        let whole = Diff::parse(text.as_bytes()).unwrap();
        let part = &text[..text.floor_char_boundary(cut.index(text.len()))];
        if let Ok(diff) = Diff::parse(part.as_bytes()) && let Some(file) = diff.files.first() {
            prop_assert!(file.hunks.len() <= whole.files[0].hunks.len());
            for (got, want) in file.hunks.iter().zip(&whole.files[0].hunks) {
                prop_assert_eq!(got.lines().count(), want.lines().count());
            }
        }
    }
}
