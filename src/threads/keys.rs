//! By what a finding is known again: the block of changed lines, the line in it, and what it says. Never by an id that
//! an agent gave.

use std::collections::{BTreeSet, HashMap};

use sha2::{Digest as _, Sha256};

use crate::contracts::{Category, Finding, Severity, Side};
use crate::diff::{Diff, FileDiff, Hunk, Line, LineKind};
use crate::run::record::hex;

/// The keys of a finding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// Path, the line's words, and which of the equal lines of its block it is.
    pub line: String,
    /// The block it stands in, exactly; empty where the diff does not show its line.
    pub block: String,
    /// As `line`, without the path: what moved elsewhere is linked by it, and never hidden.
    pub moved: String,
}

/// The keys of a finding in this diff (the redacted one: a key must not be a hash of a secret).
pub fn keys(diff: &Diff<'_>, finding: &Finding) -> Keys {
    let shown = diff.file(&finding.path).and_then(|file| Shown::find(file, finding));
    let Some(shown) = shown else {
        let about = finding.quote.as_deref().filter(|quote| !quote.trim().is_empty()).unwrap_or(&finding.body_markdown);
        let about = words(about.lines().find(|line| !line.trim().is_empty()).unwrap_or_default());
        return Keys {
            line: digest(&["unplaced", &finding.path, &about]),
            block: String::new(),
            moved: digest(&["unplaced", &about]),
        };
    };
    let (text, nth) = (words(&String::from_utf8_lossy(shown.line.content)), shown.nth.to_string());
    Keys {
        line: digest(&["line", &finding.path, &text, &nth]),
        block: block_key(&finding.path, &shown.block),
        moved: digest(&["line", &text, &nth]),
    }
}

/// The keys of every line and block that a diff shows: what an earlier finding can still stand on.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    lines: BTreeSet<String>,
    blocks: BTreeSet<String>,
}

impl Standing {
    pub fn of(diff: &Diff<'_>) -> Self {
        let mut standing = Self::default();
        for file in &diff.files {
            let renamed = Some(file.old_path.as_str()).filter(|old| *old != file.new_path);
            for path in std::iter::once(file.new_path.as_str()).chain(renamed) {
                file.hunks.iter().for_each(|hunk| standing.add(path, hunk));
            }
        }
        standing
    }

    /// One walk over the lines: equal ones are counted on the way, those of a run apart from those of the hunk.
    fn add(&mut self, path: &str, hunk: &Hunk<'_>) {
        let lines: Vec<Line<'_>> = hunk.lines().collect();
        let changed = |line: &Line<'_>| line.kind != LineKind::Context;
        let (mut in_hunk, mut in_run) = (HashMap::new(), HashMap::new());
        for (at, line) in lines.iter().enumerate() {
            let starts = at == 0 || changed(line) && !changed(&lines[at - 1]);
            if starts {
                in_run.clear();
                let run = lines[at..].iter().take_while(|line| changed(line)).count();
                let block = if run > 0 { &lines[at..at + run] } else { &lines[..] };
                self.blocks.insert(block_key(path, block));
            }
            let text = words(&String::from_utf8_lossy(line.content));
            let equal = match changed(line) {
                true => in_run.entry((line.kind, text.clone())),
                false => in_hunk.entry((line.kind, text.clone())),
            };
            let nth = equal.or_insert(0_usize);
            self.lines.insert(digest(&["line", path, &text, &nth.to_string()]));
            *nth += 1;
        }
    }

    /// The diff still shows the line.
    pub fn has_line(&self, key: &str) -> bool {
        self.lines.contains(key)
    }

    /// The diff still has the block, unchanged.
    pub fn has_block(&self, key: &str) -> bool {
        self.blocks.contains(key)
    }
}

/// What is compared of a finding, of this review or an earlier one.
#[derive(Debug, Clone)]
pub struct Said<'a> {
    pub line: &'a str,
    pub block: &'a str,
    pub moved: &'a str,
    pub title: &'a str,
    pub category: Category,
    pub severity: Severity,
}

/// What an earlier finding is to a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The same: it is not said again, and linked.
    Same(usize),
    /// Much the same on a line that moved to another file: said again, with a link.
    Moved(usize),
}

/// For each new finding the earlier one it repeats, one to one; in doubt none.
pub fn pair(new: &[Said<'_>], earlier: &[Said<'_>]) -> Vec<Option<Known>> {
    let mut candidates = Vec::new();
    for (at, finding) in new.iter().enumerate() {
        for (before, known) in earlier.iter().enumerate() {
            if let Some((score, same)) = likeness(finding, known) {
                candidates.push((score, same, at, before));
            }
        }
    }
    candidates.sort_by(|one, other| (other.1, other.0, one.2, one.3).cmp(&(one.1, one.0, other.2, other.3)));
    let mut found = vec![None; new.len()];
    let mut taken = BTreeSet::new();
    for (_, same, at, before) in candidates {
        if found[at].is_none() && taken.insert(before) {
            found[at] = Some(if same { Known::Same(before) } else { Known::Moved(before) });
        }
    }
    found
}

/// How alike two titles are, in percent: the words they share.
pub fn similarity(one: &str, other: &str) -> u32 {
    let (one, other) = (content_words(one), content_words(other));
    let all = one.len() + other.len();
    if all == 0 {
        return 100;
    }
    u32::try_from(200 * one.intersection(&other).count() / all).unwrap_or(0)
}

/// Alike enough on a block that did not change.
const SAME_BLOCK: u32 = 40;
/// Alike enough where the block around the line changed, or the line moved.
const OTHER_BLOCK: u32 = 60;
/// What the same category is worth.
const CATEGORY: u32 = 10;

/// How alike, and whether it is the same line of the same file.
fn likeness(new: &Said<'_>, known: &Said<'_>) -> Option<(u32, bool)> {
    let same_line = new.line == known.line;
    if !same_line && (new.moved != known.moved || new.moved.is_empty()) {
        return None;
    }
    // A worse one is news, whatever it is called.
    if new.severity > known.severity {
        return None;
    }
    let score = similarity(new.title, known.title) + if new.category == known.category { CATEGORY } else { 0 };
    let bound = if same_line && new.block == known.block { SAME_BLOCK } else { OTHER_BLOCK };
    (score >= bound).then_some((score, same_line))
}

/// A line of the diff, the block it is in, and which of the block's equal lines it is.
struct Shown<'a> {
    line: Line<'a>,
    block: Vec<Line<'a>>,
    nth: usize,
}

impl<'a> Shown<'a> {
    fn find(file: &FileDiff<'a>, finding: &Finding) -> Option<Self> {
        let number = |line: &Line<'_>| match finding.side {
            Side::New => line.new,
            Side::Old => line.old,
        };
        let within = |line: &Line<'_>| {
            number(line).is_some_and(|number| (finding.line_start..=finding.line_end).contains(&number))
        };
        file.hunks.iter().find_map(|hunk: &Hunk<'a>| {
            let lines: Vec<Line<'a>> = hunk.lines().collect();
            let at = lines.iter().position(within)?;
            Some(Self::at(&lines, at))
        })
    }

    /// A changed line is in its run of changed lines, any other in its whole hunk.
    fn at(lines: &[Line<'a>], at: usize) -> Self {
        let changed = |line: &Line<'_>| line.kind != LineKind::Context;
        let (first, last) = match changed(&lines[at]) {
            true => {
                let first = lines[..at].iter().rposition(|line| !changed(line)).map_or(0, |before| before + 1);
                let last = lines[at..].iter().position(|line| !changed(line)).map_or(lines.len(), |after| at + after);
                (first, last)
            }
            false => (0, lines.len()),
        };
        let text = words(&String::from_utf8_lossy(lines[at].content));
        let equal = |line: &&Line<'_>| words(&String::from_utf8_lossy(line.content)) == text;
        let nth = lines[first..at].iter().filter(|line| line.kind == lines[at].kind).filter(equal).count();
        Self { line: lines[at], block: lines[first..last].to_vec(), nth }
    }
}

pub(super) fn block_key(path: &str, block: &[Line<'_>]) -> String {
    let mut hash = Sha256::new_with_prefix("diffsan-block-1\0").chain_update(path).chain_update([0]);
    for line in block {
        let kind: &[u8] = match line.kind {
            LineKind::Added => b"+",
            LineKind::Removed => b"-",
            LineKind::Context => b" ",
        };
        hash.update(kind);
        hash.update(line.content);
        hash.update(b"\n");
    }
    hex(&hash.finalize())[..KEY_CHARS].to_owned()
}

const KEY_CHARS: usize = 16;

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new_with_prefix("diffsan-key-1\0");
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())[..KEY_CHARS].to_owned()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words that tell something, in lower case and without their most common endings.
fn content_words(title: &str) -> BTreeSet<String> {
    const EMPTY: &[&str] = &[
        "the", "a", "an", "is", "are", "of", "to", "in", "on", "and", "or", "it", "this", "that", "be", "can", "for",
        "with", "by", "as", "at", "when", "may", "will", "not", "no", "here",
    ];
    title
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !EMPTY.contains(&word.as_str()))
        .map(|word| {
            let stem = word.strip_suffix("ing").or(word.strip_suffix("ed")).or(word.strip_suffix('s'));
            stem.filter(|stem| stem.chars().count() > 3).map(str::to_owned).unwrap_or(word)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_a_finding_can_stand_on_stands() {
        let text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,5 +1,7 @@\n x\n-y\n+y\n+y\n x\n+y\n+y\n-z\n  x\n";
        let diff = Diff::parse(text.as_bytes()).unwrap();
        let standing = Standing::of(&diff);
        let mut seen = BTreeSet::new();
        for (side, number) in [(Side::New, 1..=7), (Side::Old, 1..=5)] {
            for line in number {
                let keys = keys(&diff, &Finding { side, ..finding("a", line) });
                assert!(standing.has_line(&keys.line) && standing.has_block(&keys.block), "{side:?} {line}");
                seen.insert(keys.line);
            }
        }
        assert_eq!(seen.len(), standing.lines.len(), "and nothing else");
    }

    fn finding(path: &str, line: u32) -> Finding {
        Finding {
            finding_id: "f-1".into(),
            severity: Severity::High,
            category: Category::Correctness,
            path: path.into(),
            line_start: line,
            line_end: line,
            side: Side::New,
            body_markdown: "It breaks.".into(),
            quote: None,
            change_anchor: None,
            suggested_patch: None,
            unplaced: None,
            look: None,
        }
    }

    const DIFF: &str = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,6 @@\n one\n+def f():\n+    return None\n+def g():\n+    return None\n two\n";

    #[test]
    fn keys_outlive_shifted_lines_and_tell_equal_lines_apart() {
        let diff = Diff::parse(DIFF.as_bytes()).expect("a diff");
        let moved = DIFF.replace("@@ -1,2 +1,6 @@", "@@ -41,2 +41,6 @@");
        let moved = Diff::parse(moved.as_bytes()).expect("a diff");
        assert_eq!(keys(&diff, &finding("a.py", 3)), keys(&moved, &finding("a.py", 43)));
        let (first, second) = (keys(&diff, &finding("a.py", 3)), keys(&diff, &finding("a.py", 5)));
        assert_ne!(first.line, second.line);
        assert_eq!(first.block, second.block);
        let standing = Standing::of(&diff);
        assert!(standing.has_line(&first.line) && standing.has_line(&second.line) && standing.has_block(&first.block));
    }

    #[test]
    fn a_removed_line_changes_the_block_and_not_the_line() {
        let without = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n x\n+log(t)\n";
        let with = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-verify(t)\n+log(t)\n";
        let keys = |text: &str| keys(&Diff::parse(text.as_bytes()).expect("a diff"), &finding("a", 2));
        assert_eq!(keys(without).line, keys(with).line);
        assert_ne!(keys(without).block, keys(with).block);
    }

    #[test]
    fn a_finding_off_the_diff_is_known_by_what_it_quotes_or_says() {
        let diff = Diff::parse(DIFF.as_bytes()).expect("a diff");
        let off = keys(&diff, &finding("a.py", 900));
        assert!(off.block.is_empty());
        assert_eq!(off, keys(&diff, &finding("a.py", 901)));
        assert_ne!(off, keys(&diff, &Finding { quote: Some("x = 1".into()), ..finding("a.py", 900) }));
    }

    fn said<'a>(line: &'a str, block: &'a str, title: &'a str, severity: Severity) -> Said<'a> {
        Said { line, block, moved: line, title, category: Category::Correctness, severity }
    }

    #[test]
    fn the_same_fault_in_other_words_is_the_same_and_another_fault_is_not() {
        use Severity::{Critical, High, Low};
        let earlier = [said("l1", "b1", "`load` returns None when the file is missing", High)];
        for (new, same) in [
            (said("l1", "b1", "load() returns None if the file is missing.", High), true),
            (said("l1", "b1", "Returning None hides a missing file", Low), true),
            (said("l1", "b1", "SQL injection through the user's name", High), false),
            (said("l1", "b1", "load() returns None if the file is missing.", Critical), false),
            (said("l2", "b1", "load() returns None if the file is missing.", High), false),
            (said("l1", "b2", "load() returns None if the file is missing.", High), true),
            (said("l1", "b2", "Returning None hides an error", High), false),
        ] {
            let found = pair(std::slice::from_ref(&new), &earlier);
            assert_eq!(found[0] == Some(Known::Same(0)), same, "{}", new.title);
        }
    }

    #[test]
    fn pairs_are_one_to_one_best_first_and_a_move_is_only_linked() {
        let earlier = [said("l1", "b", "reads past the end", Severity::High)];
        let new = [
            said("l1", "b", "the loop reads past its end", Severity::High),
            said("l1", "b", "reads past the end", Severity::High),
        ];
        assert_eq!(pair(&new, &earlier), [None, Some(Known::Same(0))]);
        let elsewhere = Said { line: "l9", ..said("l1", "b", "reads past the end", Severity::High) };
        let elsewhere = Said { moved: "l1", ..elsewhere };
        assert_eq!(pair(&[elsewhere], &earlier), [Some(Known::Moved(0))]);
    }
}
