//! `diffsan apply`: a suggested change becomes one of the working tree.
//!
//! Models rarely get the counts of a patch right, so it is found by its text: the lines it replaces must stand in the
//! file as they are, where the review saw them or in one place only. What is then applied, by `git apply`, is a patch
//! made anew from the file before and after.

use similar::TextDiff;

use crate::contracts::Finding;
use crate::redact;

/// A file, and the patch that changes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    pub path: String,
    /// As `git apply` takes it.
    pub patch: String,
}

/// Why a suggested change cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it suggests no change")]
    Nothing,
    #[error("its path `{0}` is not one inside the repository")]
    Path(String),
    #[error("its change is not a patch of {0}")]
    NotAPatch(String),
    #[error("its change would write `[REDACTED]` over a secret")]
    Secret,
    #[error("{0} has the change already")]
    Applied(String),
    #[error("{0} is not as the review saw it: the lines to change are not there")]
    Changed(String),
    #[error("the lines to change stand in {0} more than once")]
    Ambiguous(String),
}

/// The path of a finding's file, where it is one that may be changed.
pub fn path(finding: &Finding) -> Result<&str, Refusal> {
    let path = finding.path.as_str();
    let plain = path.chars().all(|letter| !letter.is_control() && !matches!(letter, '"' | '\\'));
    let inside = path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"));
    if plain && inside { Ok(path) } else { Err(Refusal::Path(path.to_owned())) }
}

/// The file's text with the suggested change in it.
pub fn changed(finding: &Finding, text: &str) -> Result<String, Refusal> {
    let patch = finding.suggested_patch.as_ref().ok_or(Refusal::Nothing)?;
    let hunks = hunks(&patch.content, &finding.path)?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let mut shift = 0isize;
    for hunk in &hunks {
        let claimed = hunk.start.unwrap_or(finding.line_start as usize);
        let expected = claimed.saturating_sub(1).saturating_add_signed(shift);
        let at = place(&lines, hunk, expected, &finding.path)?;
        shift += replace(&mut lines, hunk, at);
    }
    Ok(lines.concat())
}

/// The patch from one text of a file to another; none where they are the same.
pub fn file_patch(path: &str, before: &str, after: &str) -> Option<FilePatch> {
    let diff = TextDiff::from_lines(before, after);
    let patch = diff.unified_diff().context_radius(3).header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    (!patch.is_empty()).then(|| FilePatch { path: path.to_owned(), patch })
}

/// One hunk of a suggested patch.
#[derive(Debug, Default)]
struct Hunk {
    /// Line of the old file, as its header claims.
    start: Option<usize>,
    edits: Vec<(char, String)>,
}

impl Hunk {
    fn side(&self, other: char) -> Vec<&str> {
        self.edits.iter().filter(|(kind, _)| *kind != other).map(|(_, text)| text.as_str()).collect()
    }
}

fn hunks(patch: &str, path: &str) -> Result<Vec<Hunk>, Refusal> {
    let wrong = || Refusal::NotAPatch(path.to_owned());
    let has_headers = patch.lines().any(|line| line.starts_with("@@"));
    let mut hunks: Vec<Hunk> = if has_headers { Vec::new() } else { vec![Hunk::default()] };
    for line in patch.trim_end_matches(['\n', '\r']).lines() {
        let is_open = hunks.last().is_some_and(|hunk| !hunk.edits.is_empty());
        if line.starts_with("@@") {
            hunks.push(Hunk { start: start(line), edits: Vec::new() });
        } else if let Some(named) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")).filter(|_| !is_open)
        {
            let named = named.split('\t').next().unwrap_or_default().trim();
            let named = named.strip_prefix("a/").or_else(|| named.strip_prefix("b/")).unwrap_or(named);
            if named != path {
                return Err(wrong());
            }
        } else if let Some(hunk) = hunks.last_mut() {
            let mut letters = line.chars();
            match letters.next() {
                Some(kind @ (' ' | '+' | '-')) => hunk.edits.push((kind, letters.as_str().to_owned())),
                Some('\\') => {}
                None => hunk.edits.push((' ', String::new())),
                Some(_) => return Err(wrong()),
            }
        }
    }
    let writes = |hunk: &Hunk| hunk.edits.iter().any(|(kind, _)| *kind != ' ');
    if hunks.is_empty() || !hunks.iter().all(writes) {
        return Err(wrong());
    }
    let secret =
        hunks.iter().flat_map(|hunk| &hunk.edits).any(|(kind, text)| *kind == '+' && text.contains(redact::TOKEN));
    if secret { Err(Refusal::Secret) } else { Ok(hunks) }
}

/// `@@ -12,3 +12,4 @@` is about line 12.
fn start(header: &str) -> Option<usize> {
    let old = header.split_whitespace().find_map(|word| word.strip_prefix('-'))?;
    old.split(',').next()?.parse().ok()
}

fn place(lines: &[String], hunk: &Hunk, expected: usize, path: &str) -> Result<usize, Refusal> {
    let (old, new) = (hunk.side('+'), hunk.side('-'));
    let stands = |wanted: &[&str], at: usize| {
        let there = lines.get(at..).unwrap_or_default();
        there.len() >= wanted.len() && wanted.iter().zip(there).all(|(wanted, line)| bare(line) == bare(wanted))
    };
    if old.is_empty() {
        return Err(Refusal::Ambiguous(path.to_owned()));
    }
    if stands(&old, expected) {
        return Ok(expected);
    }
    // Where the last lines of a file were to go, the lines before them stand with and without the change.
    let tells = hunk.edits.iter().any(|(kind, _)| *kind == '+')
        || hunk.edits.last().is_some_and(|(kind, _)| *kind == ' ')
        || lines.len() == expected + new.len();
    let found: Vec<_> = (0..lines.len()).filter(|at| stands(&old, *at)).take(2).collect();
    match found.as_slice() {
        [at] => Ok(*at),
        [] if !new.is_empty() && tells && stands(&new, expected) => Err(Refusal::Applied(path.to_owned())),
        [] => Err(Refusal::Changed(path.to_owned())),
        _ => Err(Refusal::Ambiguous(path.to_owned())),
    }
}

/// Puts the new lines in; by how much the lines below moved. The file's line ends stay its own.
fn replace(lines: &mut Vec<String>, hunk: &Hunk, at: usize) -> isize {
    let before = lines.len();
    let end = lines.get(at).map_or("\n", |line| if line.ends_with("\r\n") { "\r\n" } else { "\n" });
    let is_last = at + hunk.side('+').len() == before;
    let is_open = is_last && lines.last().is_some_and(|line| !line.ends_with('\n'));
    let mut new = Vec::new();
    let mut old = at;
    for (kind, text) in &hunk.edits {
        match kind {
            ' ' => {
                new.push(lines[old].clone());
                old += 1;
            }
            '-' => old += 1,
            _ => new.push(format!("{}{end}", bare(text))),
        }
    }
    for line in new.iter_mut().rev().skip(1) {
        if !line.ends_with('\n') {
            line.push_str(end);
        }
    }
    if let Some(last) = new.last_mut().filter(|_| is_open) {
        *last = bare(last).to_owned();
    }
    lines.splice(at..old, new);
    lines.len() as isize - before as isize
}

fn bare(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::{PatchFormat, SuggestedPatch};

    const FILE: &str = "one\ntwo\nthree\ntwo\nfive\n";

    fn finding(line: u32, patch: &str) -> Finding {
        let text = include_str!("../fixtures/view/shown.json");
        let shown: crate::view::Shown = serde_json::from_str(text).unwrap();
        let mut finding = shown.review.findings[0].clone();
        (finding.path, finding.line_start, finding.line_end) = ("a.py".into(), line, line);
        finding.suggested_patch = Some(SuggestedPatch { format: PatchFormat::UnifiedDiff, content: patch.to_owned() });
        finding
    }

    #[test]
    fn a_change_is_found_by_its_text() {
        for (why, line, patch, expected) in [
            ("by its header", 1, "@@ -3 +3 @@\n-three\n+3\n", "one\ntwo\n3\ntwo\nfive\n"),
            ("wrong counts", 3, "@@ -9,4 +9,9 @@\n-three\n+3\n", "one\ntwo\n3\ntwo\nfive\n"),
            ("no header", 3, "-three\n+3\n", "one\ntwo\n3\ntwo\nfive\n"),
            ("the one of two that was meant", 4, "-two\n+2\n", "one\ntwo\nthree\n2\nfive\n"),
            ("a line goes", 5, "--- a/a.py\n+++ b/a.py\n@@ -5 +4,0 @@\n-five\n", "one\ntwo\nthree\ntwo\n"),
            ("a line comes", 1, " one\n+1.5\n", "one\n1.5\ntwo\nthree\ntwo\nfive\n"),
            ("two hunks", 1, "@@ -1 +1,2 @@\n-one\n+0\n+1\n@@ -5 +6 @@\n-five\n+5\n", "0\n1\ntwo\nthree\ntwo\n5\n"),
        ] {
            assert_eq!(changed(&finding(line, patch), FILE).as_deref(), Ok(expected), "{why}");
        }
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        let crlf = FILE.replace('\n', "\r\n");
        let changed_crlf = changed(&finding(3, "-three\n+3\n+4\n"), &crlf).unwrap();
        assert_eq!(changed_crlf, "one\r\ntwo\r\n3\r\n4\r\ntwo\r\nfive\r\n");
        assert_eq!(changed(&finding(2, "-b\n+c\n"), "a\nb").as_deref(), Ok("a\nc"));
        assert_eq!(changed(&finding(2, " b\n+c\n"), "a\nb").as_deref(), Ok("a\nb\nc"));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let name = || "a.py".to_owned();
        for (why, line, patch, refusal) in [
            ("the file changed", 3, "-3\n+4\n", Refusal::Changed(name())),
            ("done already", 3, "-3\n+three\n", Refusal::Applied(name())),
            ("the last line changed", 4, " two\n-4\n", Refusal::Changed(name())),
            ("two places, neither meant", 1, "-two\n+2\n", Refusal::Ambiguous(name())),
            ("nowhere in particular", 1, "+2\n", Refusal::Ambiguous(name())),
            ("a secret's place", 3, "-three\n+key = [REDACTED]\n", Refusal::Secret),
            ("prose", 3, "use 3 instead", Refusal::NotAPatch(name())),
            ("another file", 3, "--- a/b.py\n+++ b/b.py\n@@ -3 +3 @@\n-three\n+3\n", Refusal::NotAPatch(name())),
            ("no change", 3, " three\n", Refusal::NotAPatch(name())),
        ] {
            assert_eq!(changed(&finding(line, patch), FILE), Err(refusal), "{why}");
        }
        for bad in ["../a", "/etc/passwd", "a/../b", ".git/config", "a/.GIT/x", "a\nb", "a\"b", ""] {
            let mut finding = finding(1, "-one\n+1\n");
            finding.path = bad.into();
            assert!(path(&finding).is_err(), "{bad}");
        }
    }
}
