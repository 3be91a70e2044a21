//! The list of changed blocks: their anchors and line numbers, so that an agent need not count. The code stands in the
//! diff, and the quote of a finding places it, so no line is repeated here.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::contracts::{AnchorEntry, Anchors};
use crate::diff::{Diff, Hunk, LineKind};

/// A list below this size is never too long.
const SMALL: usize = 3_000;
/// No list is longer than that of a diff which fills a prompt with the usual limits.
const LONGEST: usize = 120_000;

/// The list for a prepared diff; it stays below three fifths of the diff, however small its hunks are.
pub(super) fn render(diff: &Diff<'_>, size: usize, anchors: &Anchors) -> Option<String> {
    let List { mut text, is_cut, .. } = List::of(diff, size, anchors);
    if is_cut {
        text.push_str("(the rest is left out; count from the `@@` headers)\n");
    }
    (!text.is_empty()).then_some(text)
}

/// The anchors with only those that the lists of the prepared diffs name, where a list had to be cut.
pub fn cited<'t>(texts: impl Iterator<Item = &'t str>, anchors: &Anchors) -> Option<Anchors> {
    let (mut named, mut is_cut) = (HashSet::new(), false);
    for text in texts {
        let diff = Diff::parse(text.as_bytes()).ok()?;
        let list = List::of(&diff, text.len(), anchors);
        named.extend(list.named);
        is_cut |= list.is_cut;
    }
    let entries = anchors.anchors.iter().filter(|entry| named.contains(entry.change_anchor.as_str()));
    is_cut.then(|| Anchors { snapshot: anchors.snapshot.clone(), anchors: entries.cloned().collect() })
}

/// The blocks of a diff as far as they are listed.
#[derive(Default)]
struct List<'a> {
    text: String,
    named: Vec<&'a str>,
    is_cut: bool,
}

impl<'a> List<'a> {
    fn of(diff: &Diff<'_>, size: usize, anchors: &'a Anchors) -> Self {
        let place = |anchor: &'a AnchorEntry| (anchor.file.as_str(), anchor.start_line, anchor.old_start_line);
        let ids: HashMap<_, &'a str> =
            anchors.anchors.iter().map(|anchor| (place(anchor), anchor.change_anchor.as_str())).collect();
        let limit = SMALL.max(size / 5 * 3).min(LONGEST);
        let mut list = Self::default();
        for file in diff.files.iter().filter(|file| !file.hunks.is_empty()) {
            let _ = writeln!(list.text, "{}", super::one_line(file.path(), 300));
            for block in file.hunks.iter().flat_map(blocks) {
                let end = list.text.len();
                let id = ids.get(&(file.path(), block.new, block.old)).copied();
                block.write(id.unwrap_or("(no id)"), &mut list.text);
                if list.text.len() > limit {
                    list.text.truncate(end);
                    list.is_cut = true;
                    return list;
                }
                list.named.extend(id);
            }
        }
        list
    }
}

/// A run of changed lines.
#[derive(Clone, Copy)]
struct Block {
    /// The number its first line has, or would have, on each side.
    new: u32,
    old: u32,
    removed: u32,
    added: u32,
}

fn blocks(hunk: &Hunk<'_>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let start = |start: u32, lines: u32| if lines == 0 { start.saturating_add(1) } else { start };
    let (mut new, mut old) = (start(hunk.new_start, hunk.new_lines), start(hunk.old_start, hunk.old_lines));
    let mut open = false;
    for line in hunk.lines() {
        if line.kind == LineKind::Context {
            open = false;
        } else {
            if !open {
                blocks.push(Block { new, old, removed: 0, added: 0 });
                open = true;
            }
            if let Some(block) = blocks.last_mut() {
                match line.kind {
                    LineKind::Added => block.added += 1,
                    _ => block.removed += 1,
                }
            }
        }
        new += u32::from(line.new.is_some());
        old += u32::from(line.old.is_some());
    }
    blocks
}

impl Block {
    fn write(self, id: &str, out: &mut String) {
        let _ = match (self.added, self.removed) {
            (0, removed) => writeln!(out, "{id} removes old {}, before new {}", range(self.old, removed), self.new),
            (added, 0) => writeln!(out, "{id} adds new {}", range(self.new, added)),
            (added, removed) => {
                writeln!(out, "{id} new {} replaces old {}", range(self.new, added), range(self.old, removed))
            }
        };
    }
}

fn range(start: u32, count: u32) -> String {
    match count {
        0 | 1 => start.to_string(),
        _ => format!("{start}-{}", start.saturating_add(count - 1)),
    }
}
