//! Change anchors: an id for each block of changed lines, made of what the block says rather than
//! of where it stands, so that it survives edits elsewhere, re-indentation and other context sizes.

use std::collections::HashMap;
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::contracts::{AnchorEntry, ChangeKind};

use super::{Diff, FileDiff, FileStatus, Hunk, Line, LineKind};

/// One block of changed lines: its entry in `anchors.json`, and where in the diff it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub entry: AnchorEntry,
    pub place: Place,
}

/// Indices into the diff: file, hunk of the file, and the block's lines of that hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: usize,
    pub hunk: usize,
    pub lines: Range<usize>,
}

/// The anchors of a diff, in its order. The diff is the redacted one: an id must not be a hash of
/// a secret.
pub fn anchors(diff: &Diff<'_>) -> Vec<Anchor> {
    anchors_of(diff, |_| true)
}

/// Likewise, of the files that are wanted. An id is made of the file's own blocks, so other files make no difference.
pub fn anchors_of(diff: &Diff<'_>, is_wanted: impl Fn(usize) -> bool) -> Vec<Anchor> {
    let mut seen = HashMap::new();
    let mut anchors = Vec::new();
    for (file_index, file) in diff.files.iter().enumerate().filter(|(index, _)| is_wanted(*index)) {
        for (hunk_index, hunk) in file.hunks.iter().enumerate() {
            for block in blocks(hunk) {
                let lines = block.first..block.first + block.removed.len() + block.added.len();
                let place = Place { file: file_index, hunk: hunk_index, lines };
                anchors.push(block.anchor(file, place, &mut seen));
            }
        }
    }
    anchors
}

/// The id of the text that was sent to the agent.
pub fn snapshot_id(prepared: &str) -> String {
    format!("snap:{}", short_hex(Sha256::new_with_prefix(prepared)))
}

/// Part of every hashed text, to be changed with the recipe.
const VERSION: &str = "diffsan-change-1";

/// A run of changed lines without context between them.
struct Block<'a> {
    first: usize,
    old: u32,
    new: u32,
    removed: Vec<&'a [u8]>,
    added: Vec<&'a [u8]>,
}

impl Block<'_> {
    fn anchor(&self, file: &FileDiff<'_>, place: Place, seen: &mut HashMap<[u8; 32], u32>) -> Anchor {
        let content = self.hash(&file.new_path);
        let ordinal = seen.entry(content.clone().finalize().into()).or_default();
        let id = |content: Sha256| format!("chg:{}", short_hex(content.chain_update(ordinal.to_le_bytes())));
        let previous = (file.status == FileStatus::Renamed).then(|| id(self.hash(&file.old_path)));
        let entry = AnchorEntry {
            change_anchor: id(content),
            file: file.new_path.clone(),
            kind: self.kind(),
            start_line: self.new,
            line_count: count(&self.added),
            old_start_line: self.old,
            old_line_count: count(&self.removed),
            in_prompt: false,
            previous_change_anchor: previous,
        };
        *ordinal += 1;
        Anchor { entry, place }
    }

    fn kind(&self) -> ChangeKind {
        match (self.added.is_empty(), self.removed.is_empty()) {
            (true, _) => ChangeKind::Delete,
            (false, true) => ChangeKind::Add,
            (false, false) => ChangeKind::Modify,
        }
    }

    /// A block is known by the lines it leaves behind, or by those it removed when it leaves none.
    fn hash(&self, path: &str) -> Sha256 {
        let (side, lines) = match self.kind() {
            ChangeKind::Delete => ("old", &self.removed),
            ChangeKind::Add | ChangeKind::Modify => ("new", &self.added),
        };
        let mut hash = Sha256::new();
        for part in [VERSION, side, path] {
            hash.update(part);
            hash.update([0]);
        }
        for line in without_blank_ends(lines) {
            hash.update(line.trim_ascii());
            hash.update(b"\n");
        }
        hash
    }
}

/// Git may count a blank line to either end of an added block, so neither end keeps any.
fn without_blank_ends<'b, 'a>(lines: &'b [&'a [u8]]) -> &'b [&'a [u8]] {
    let is_text = |line: &&[u8]| !line.trim_ascii().is_empty();
    let first = lines.iter().position(is_text).unwrap_or(lines.len());
    let last = lines.iter().rposition(is_text).map_or(first, |last| last + 1);
    &lines[first..last]
}

fn blocks<'a>(hunk: &Hunk<'a>) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'a>> = Vec::new();
    let mut open = false;
    let (mut old, mut new) = (hunk.first_old(), hunk.first_new());
    for (at, Line { kind, content, .. }) in hunk.lines().enumerate() {
        if kind == LineKind::Context {
            open = false;
        } else {
            if !open {
                blocks.push(Block { first: at, old, new, removed: Vec::new(), added: Vec::new() });
                open = true;
            }
            if let Some(block) = blocks.last_mut() {
                let side = if kind == LineKind::Added { &mut block.added } else { &mut block.removed };
                side.push(content);
            }
        }
        old = old.saturating_add(u32::from(kind != LineKind::Added));
        new = new.saturating_add(u32::from(kind != LineKind::Removed));
    }
    blocks
}

fn count(lines: &[&[u8]]) -> u32 {
    u32::try_from(lines.len()).unwrap_or(u32::MAX)
}

/// The first 16 hex digits of a digest.
fn short_hex(hash: Sha256) -> String {
    let digest: [u8; 32] = hash.finalize().into();
    let (first, _) = digest.split_at(8);
    let number = first.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{number:016x}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::{Edit, edits, render};
    use super::*;

    fn of(text: &str) -> Vec<Anchor> {
        anchors(&Diff::parse(text.as_bytes()).unwrap())
    }

    fn ids(text: &str) -> Vec<String> {
        of(text).into_iter().map(|anchor| anchor.entry.change_anchor).collect()
    }

    /// A diff of one hunk for file `x`.
    fn hunk(header: &str, body: &str) -> String {
        format!("--- a/x\n+++ b/x\n{header}\n{body}")
    }

    #[test]
    fn each_block_has_its_kind_and_its_place_on_both_sides() {
        let text = hunk("@@ -10,5 +10,5 @@", " a\n-b\n+B\n+C\n d\n-e\n f\n+g\n");
        // The counts above: old a b d e f, new a B C d f g.
        let text = text.replace("+10,5", "+10,6");
        let seen: Vec<_> = of(&text)
            .into_iter()
            .map(|Anchor { entry: a, place }| {
                (a.kind, a.start_line, a.line_count, a.old_start_line, a.old_line_count, place.lines)
            })
            .collect();
        assert_eq!(
            seen,
            [
                (ChangeKind::Modify, 11, 2, 11, 1, 1..4),
                (ChangeKind::Delete, 14, 0, 13, 1, 5..6),
                (ChangeKind::Add, 15, 1, 15, 0, 7..8),
            ]
        );
    }

    #[test]
    fn an_id_is_short_hex_and_depends_on_path_side_and_content_only() {
        let base = ids(&hunk("@@ -3,0 +4 @@", "+let x = 1;\n"));
        assert!(base[0].len() == 20 && base[0].starts_with("chg:"));
        assert_eq!(base, ids(&hunk("@@ -93,0 +94 @@", "+\t\tlet x = 1;  \r\n")));
        assert_eq!(base, ids(&hunk("@@ -3,0 +4,3 @@", "+\n+let x = 1;\n+  \n")));
        assert_ne!(base, ids(&hunk("@@ -3,0 +4 @@", "+let x = 2;\n")));
        assert_ne!(base, ids(&hunk("@@ -4 +3,0 @@", "-let x = 1;\n")));
        assert_ne!(base, ids(&hunk("@@ -3,0 +4 @@", "+let x = 1;\n").replace("/x\n", "/y\n")));
    }

    #[test]
    fn identical_blocks_are_told_apart_by_their_order() {
        let text = hunk("@@ -1,2 +1,5 @@", "+x\n a\n+x\n b\n+x\n");
        let ids = ids(&text);
        assert_eq!(ids.len(), 3);
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }

    #[test]
    fn a_renamed_file_s_blocks_also_have_the_id_under_the_old_name() {
        let body = "@@ -1 +1 @@\n-a\n+b\n";
        let renamed = format!(
            "diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new\nindex 1..2 100644\n--- a/old\n+++ b/new\n{body}"
        );
        let before = ids(&format!("--- a/old\n+++ b/old\n{body}"));
        let after = of(&renamed);
        assert_eq!(after[0].entry.previous_change_anchor, Some(before[0].clone()));
        assert_ne!(after[0].entry.change_anchor, before[0]);
        assert_eq!(of(&format!("--- a/x\n+++ b/x\n{body}"))[0].entry.previous_change_anchor, None);
    }

    #[test]
    fn a_snapshot_is_known_by_its_text() {
        assert_eq!(snapshot_id(""), "snap:e3b0c44298fc1c14");
        assert_ne!(snapshot_id("a"), snapshot_id("b"));
    }

    fn shape(text: &str) -> Vec<(String, u32, u32, u32, u32)> {
        of(text)
            .into_iter()
            .map(|Anchor { entry: a, .. }| {
                (a.change_anchor, a.start_line, a.line_count, a.old_start_line, a.old_line_count)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn the_amount_of_context_changes_nothing(edits in edits()) {
            let none = shape(&render("p", &edits, 0));
            prop_assert_eq!(&none, &shape(&render("p", &edits, 3)));
            prop_assert_eq!(&none, &shape(&render("p", &edits, 10)));
        }

        #[test]
        fn lines_added_above_move_a_block_and_not_its_id(edits in edits(), above in 1usize..20) {
            let mut moved: Vec<Edit> = (0..above).map(|n| Edit::Keep(format!("above {n}"))).collect();
            moved.extend(edits.clone());
            let (before, after) = (shape(&render("p", &edits, 3)), shape(&render("p", &moved, 3)));
            prop_assert_eq!(before.len(), after.len());
            for (b, a) in before.iter().zip(&after) {
                prop_assert_eq!(&b.0, &a.0);
                prop_assert_eq!(b.1 as usize + above, a.1 as usize);
            }
        }
    }
}
