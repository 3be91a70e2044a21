//! The blocks of changed lines of a change, and which of them an earlier review has seen as they are now.

use std::collections::BTreeSet;

use super::keys;
use crate::diff::{Diff, Line, LineKind};

/// Most blocks that a claim keeps; those beyond count as new.
pub const MOST_KEPT: usize = 2_000;

/// A run of changed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Digest of path, removed and added lines, and their order.
    pub key: String,
    pub path: String,
    /// Places in the diff.
    pub file: usize,
    pub hunk: usize,
    /// First and last line in the new file; of what was only removed, the line that follows.
    pub lines: (u32, u32),
}

/// Every block of a diff, in its order.
pub fn blocks(diff: &Diff<'_>) -> Vec<Block> {
    let mut found = Vec::new();
    for (file_at, file) in diff.files.iter().enumerate() {
        for (hunk_at, hunk) in file.hunks.iter().enumerate() {
            let lines: Vec<Line<'_>> = hunk.lines().collect();
            let mut after = hunk.new_start.max(1);
            for run in lines.chunk_by(|one, other| is_changed(one) == is_changed(other)) {
                let numbers = || run.iter().filter_map(|line| line.new);
                let (first, last) = (numbers().min().unwrap_or(after), numbers().max().unwrap_or(after));
                after = numbers().max().map_or(after, |last| last + 1);
                if is_changed(&run[0]) {
                    let (key, path) = (keys::block_key(file.path(), run), file.path().to_owned());
                    found.push(Block { key, path, file: file_at, hunk: hunk_at, lines: (first, last) });
                }
            }
        }
    }
    found
}

/// The blocks that no earlier review has seen.
pub fn new_since(diff: &Diff<'_>, reviewed: &[String]) -> Vec<Block> {
    let reviewed: BTreeSet<&str> = reviewed.iter().map(String::as_str).collect();
    blocks(diff).into_iter().filter(|block| !reviewed.contains(block.key.as_str())).collect()
}

/// The hunks, by file and hunk of the diff, in which nothing is new.
pub fn old_hunks(diff: &Diff<'_>, reviewed: &[String]) -> BTreeSet<(usize, usize)> {
    if reviewed.is_empty() {
        return BTreeSet::new();
    }
    let new: BTreeSet<(usize, usize)> =
        new_since(diff, reviewed).iter().map(|block| (block.file, block.hunk)).collect();
    let all = diff.files.iter().enumerate();
    let all = all.flat_map(|(file, known)| (0..known.hunks.len()).map(move |hunk| (file, hunk)));
    all.filter(|place| !new.contains(place)).collect()
}

fn is_changed(line: &Line<'_>) -> bool {
    line.kind != LineKind::Context
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,5 +1,5 @@\n x\n-old\n+new\n y\n-gone\n z\n+more\n\
                        @@ -20,2 +20,3 @@\n p\n+far\n q\n";

    fn parsed(text: &str) -> Diff<'_> {
        Diff::parse(text.as_bytes()).expect("a diff")
    }

    fn known(text: &str) -> Vec<String> {
        blocks(&parsed(text)).into_iter().map(|block| block.key).collect()
    }

    #[test]
    fn each_run_of_changed_lines_is_a_block_with_its_lines() {
        let lines: Vec<_> = blocks(&parsed(DIFF)).iter().map(|block| (block.hunk, block.lines)).collect();
        assert_eq!(lines, [(0, (2, 2)), (0, (4, 4)), (0, (5, 5)), (1, (21, 21))]);
    }

    #[test]
    fn what_moved_is_old_and_what_changed_is_new() {
        let moved = DIFF.replace("@@ -20,2 +20,3 @@", "@@ -90,2 +90,3 @@");
        assert_eq!(new_since(&parsed(&moved), &known(DIFF)), []);
        assert_eq!(old_hunks(&parsed(&moved), &known(DIFF)).len(), 2);
        let changed = DIFF.replace("+far", "+near");
        let new = new_since(&parsed(&changed), &known(DIFF));
        assert_eq!(new.iter().map(|block| (block.hunk, block.lines)).collect::<Vec<_>>(), [(1, (21, 21))]);
        assert_eq!(old_hunks(&parsed(&changed), &known(DIFF)), [(0, 0)].into_iter().collect());
        assert_eq!(old_hunks(&parsed(DIFF), &[]), BTreeSet::new(), "without a review nothing is old");
        // A removed check is another block, though what is added is the same.
        let unchecked = DIFF.replace("+far\n", "-check\n+far\n").replace("@@ -20,2 +20,3 @@", "@@ -20,3 +20,3 @@");
        assert_eq!(new_since(&parsed(&unchecked), &known(DIFF)).len(), 1);
    }
}
