//! A suggested patch in a discussion: with GitLab's "apply" button where it fits exactly, else as a diff to read.

use crate::contracts::SuggestedPatch;
use crate::redact;

use super::position::{Commented, Place};
use super::sanitize::{self, Counts};

/// The patch as a block of Markdown.
pub fn block(patch: &SuggestedPatch, path: &str, place: Option<&Place<'_>>) -> String {
    let commented = place.and_then(|place| place.commented.as_ref()).filter(|_| !path.ends_with(".ipynb"));
    match commented.and_then(|commented| replacement(&patch.content, commented)) {
        Some((above, lines)) => sanitize::fence(&format!("suggestion:-{above}+0"), &lines),
        None => as_diff(patch),
    }
}

/// The patch as a block that nobody can apply by a click.
pub fn as_diff(patch: &SuggestedPatch) -> String {
    sanitize::fence("diff", &sanitize::clip(&patch.content, PATCH_CHARS))
}

const PATCH_CHARS: usize = 50_000;
/// GitLab replaces at most so many lines above the commented one.
const MOST_ABOVE: usize = 100;

/// How many lines above the last commented one are replaced, and by what; none unless the patch fits the commented
/// lines, changes them, and nothing else.
fn replacement(patch: &str, commented: &Commented<'_>) -> Option<(usize, String)> {
    let above = commented.range.len().checked_sub(1).filter(|above| *above <= MOST_ABOVE)?;
    let hunk: Vec<&str> = commented.hunk.iter().map(|line| std::str::from_utf8(line).ok()).collect::<Option<_>>()?;
    let edits = edits(patch)?;
    let old: Vec<&str> = edits.iter().filter(|edit| edit.kind != '+').map(|edit| edit.text).collect();
    let leading = edits.iter().take_while(|edit| edit.kind == ' ').count();
    let trailing = edits[leading..].iter().rev().take_while(|edit| edit.kind == ' ').count();
    let core = &edits[leading..edits.len() - trailing];
    let replaced = old.len() - leading - trailing;

    let fits = |at: &usize| {
        let changed = at + leading..at + leading + replaced;
        hunk[*at..].starts_with(&old) && changed.start >= commented.range.start && changed.end <= commented.range.end
    };
    let mut places = (0..=hunk.len()).filter(fits);
    let at = places.next().filter(|_| !old.is_empty() && !core.is_empty())?;
    if places.next().is_some() {
        return None;
    }
    let changed = at + leading..at + leading + replaced;
    let before = &hunk[commented.range.start..changed.start];
    let after = &hunk[changed.end..commented.range.end];
    let new = core.iter().filter(|edit| edit.kind != '-').map(|edit| edit.text);
    let lines: Vec<&str> = before.iter().copied().chain(new).chain(after.iter().copied()).collect();
    let is_change = lines != hunk[commented.range.clone()];
    let whole = hunk[commented.range.clone()].iter().chain(&lines).all(|line| is_faithful(line));
    (is_change && whole).then(|| (above, lines.iter().flat_map(|line| [*line, "\n"]).collect()))
}

/// The line can go through a note and come back unchanged. A replaced secret must never overwrite the real one, GitLab
/// drops carriage returns, and where a byte was no text the diff shows a sign that stands for it.
fn is_faithful(line: &str) -> bool {
    !line.contains(redact::TOKEN)
        && !line.contains(char::REPLACEMENT_CHARACTER)
        && !sanitize::is_command(line)
        && sanitize::visible(line, &mut Counts::new()) == line
}

/// One line of a patch.
struct Edit<'a> {
    kind: char,
    text: &'a str,
}

/// The lines of a patch that has one hunk. Its counts are not looked at: models rarely get them right, and whether it
/// fits is seen by its text.
fn edits(patch: &str) -> Option<Vec<Edit<'_>>> {
    let mut lines = patch.trim_end_matches(['\n', '\r']).lines().peekable();
    if patch.lines().any(|line| line.starts_with("@@")) {
        while lines.next().is_some_and(|line| !line.starts_with("@@")) {}
    } else {
        while lines.next_if(|line| line.starts_with("--- ") || line.starts_with("+++ ")).is_some() {}
    }
    let mut edits = Vec::new();
    for line in lines {
        let mut chars = line.chars();
        match chars.next() {
            Some(kind @ (' ' | '+' | '-')) => edits.push(Edit { kind, text: chars.as_str() }),
            Some('\\') => {}
            None => edits.push(Edit { kind: ' ', text: "" }),
            Some(_) => return None,
        }
    }
    Some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::PatchFormat;

    const HUNK: [&[u8]; 6] = [b"fn f() {", b"    let a = 1;", b"    let b = 2;", b"    a + b", b"}", b"}"];

    fn rendered(patch: &str, hunk: &[&[u8]], range: std::ops::Range<usize>, path: &str) -> String {
        let patch = SuggestedPatch { format: PatchFormat::UnifiedDiff, content: patch.to_owned() };
        let commented = Some(Commented { hunk: hunk.to_vec(), range });
        block(&patch, path, Some(&Place { positions: Vec::new(), in_diff: true, commented }))
    }

    #[test]
    fn a_patch_that_fits_the_commented_lines_can_be_applied() {
        for (patch, range, expected) in [
            ("@@ -2 +2 @@\n-    let a = 1;\n+    let a = 3;\n", 1..2, "```suggestion:-0+0\n    let a = 3;\n```"),
            (
                "--- a/x.rs\n+++ b/x.rs\n@@ -1,4 +1,3 @@\n fn f() {\n-    let a = 1;\n-    let b = 2;\n+    let ab = 3;\n     a + b\n",
                1..3,
                "```suggestion:-1+0\n    let ab = 3;\n```",
            ),
            ("-    let b = 2;\n", 2..3, "```suggestion:-0+0\n```"),
            (
                "@@ @@\n     let b = 2;\n+    let c = 3;\n",
                1..3,
                "```suggestion:-1+0\n    let a = 1;\n    let b = 2;\n    let c = 3;\n```",
            ),
            ("-    let a = 1;\n+    let a = \"```\";\n", 1..2, "````suggestion:-0+0\n    let a = \"```\";\n````"),
        ] {
            assert_eq!(rendered(patch, &HUNK, range, "x.rs"), expected, "{patch}");
        }
    }

    #[test]
    fn any_other_patch_is_only_shown() {
        let one = "-    let a = 1;\n+    let a = 3;";
        for (why, patch, range) in [
            ("does not fit", "-    let a = 7;\n+    let a = 3;", 1..2),
            ("changes another line", one, 2..3),
            ("changes more lines", "-    let a = 1;\n-    let b = 2;\n+x", 1..2),
            ("changes nothing", "-    let a = 1;\n+    let a = 1;", 1..2),
            ("only context", "     let a = 1;", 1..2),
            ("nowhere in particular", "+x", 1..2),
            ("fits twice", "-}\n+};", 4..6),
            ("two hunks", "@@ -1 +1 @@\n-fn f() {\n+fn g() {\n@@ -2 +2 @@\n-    let a = 1;\n+x", 0..2),
            ("not a patch", "let a = 3;", 1..2),
            ("a secret's place", "-    let a = 1;\n+    let a = [REDACTED];", 1..2),
            ("hidden characters", "-    let a = 1;\n+    let a = \u{202e}3;", 1..2),
            ("a quick action", "-    let a = 1;\n+/close", 1..2),
            ("nothing", "", 1..2),
        ] {
            let shown = rendered(patch, &HUNK, range, "x.rs");
            assert!(shown.starts_with("```diff\n"), "{why}: {shown}");
        }
        assert!(rendered(one, &HUNK, 1..2, "x.ipynb").starts_with("```diff\n"));
        assert!(rendered(one, &[b"    let a = 1;\r"], 0..1, "x.rs").starts_with("```diff\n"));
        assert!(rendered(one, &[b"    let a = 1;", b"\xff"], 0..1, "x.rs").starts_with("```diff\n"));
        let not_text = "    let s = \"caf\u{fffd}\";";
        let latin: [&[u8]; 2] = [not_text.as_bytes(), b"    let a = 1;"];
        assert!(rendered(one, &latin, 0..2, "x.rs").starts_with("```diff\n"));
        assert!(rendered(one, &latin, 1..2, "x.rs").starts_with("```suggestion"));
        let patch = format!("-{not_text}\n+    let s = \"\";");
        assert!(rendered(&patch, &latin, 0..1, "x.rs").starts_with("```diff\n"));
        let redacted: [&[u8]; 2] = [b"let key = \"[REDACTED]\";", b"    let a = 1;"];
        assert!(rendered(one, &redacted, 0..2, "x.rs").starts_with("```diff\n"));
        let long: Vec<String> = (0..150).map(|line| format!("line {line}")).collect();
        let long: Vec<&[u8]> = long.iter().map(|line| line.as_bytes()).collect();
        assert!(rendered("-line 0\n+x", &long, 0..101, "x.rs").starts_with("```suggestion:-100+0\n"));
        assert!(rendered("-line 0\n+x", &long, 0..102, "x.rs").starts_with("```diff\n"));
    }
}
