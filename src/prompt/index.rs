//! The list of changed blocks: their anchors and line numbers, so that an agent need not count. The code stands in the
//! diff, and the quote of a finding places it, so no line is repeated here.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::contracts::Anchors;
use crate::diff::{Diff, Hunk, LineKind};

/// A list below this size is never too long.
const SMALL: usize = 3_000;

/// The list for a prepared diff; it stays below three fifths of the diff, however small its hunks are.
pub(super) fn render(diff: &Diff<'_>, size: usize, anchors: &Anchors) -> Option<String> {
    let ids: HashMap<_, _> = anchors
        .anchors
        .iter()
        .map(|anchor| ((anchor.file.as_str(), anchor.start_line, anchor.old_start_line), anchor.change_anchor.as_str()))
        .collect();
    let mut list = String::new();
    for file in diff.files.iter().filter(|file| !file.hunks.is_empty()) {
        let _ = writeln!(list, "{}", super::one_line(file.path(), 300));
        for block in file.hunks.iter().flat_map(blocks) {
            let id = ids.get(&(file.path(), block.new, block.old)).copied().unwrap_or("(no id)");
            block.write(id, &mut list);
        }
    }
    let limit = SMALL.max(size / 5 * 3);
    if list.len() > limit {
        let end = list.as_bytes()[..limit].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        list.truncate(end);
        list.push_str("(the rest is left out; count from the `@@` headers)\n");
    }
    (!list.is_empty()).then_some(list)
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
