//! The list of lines: changed blocks with their anchors and line numbers, so that an agent need not count.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::contracts::Anchors;
use crate::diff::{Diff, Hunk, Line, LineKind};

/// How much of each block the list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Every added line.
    Lines,
    /// The first and the last added line.
    Ends,
    /// Numbers only.
    Table,
}

impl Detail {
    /// The most that suits the size of the diff.
    pub(super) fn best(diff: &str) -> Option<Self> {
        match diff.len() {
            0 => None,
            1..=60_000 => Some(Self::Lines),
            60_001..=150_000 => Some(Self::Ends),
            _ => Some(Self::Table),
        }
    }
}

/// A list below this size is never too long.
const SMALL: usize = 3_000;
const LINE_CHARS: usize = 120;
const END_CHARS: usize = 60;

/// The list for a prepared diff, in this detail or the next lower one that stays below three fifths of the diff.
pub(super) fn render(diff: &str, anchors: &Anchors, detail: Detail) -> Option<String> {
    let parsed = Diff::parse(diff.as_bytes()).ok()?;
    let ids: HashMap<_, _> = anchors
        .anchors
        .iter()
        .map(|anchor| ((anchor.file.as_str(), anchor.start_line, anchor.old_start_line), anchor.change_anchor.as_str()))
        .collect();
    let limit = SMALL.max(diff.len() / 5 * 3);
    let ladder = [Detail::Lines, Detail::Ends, Detail::Table];
    let from = ladder.iter().position(|known| *known == detail).unwrap_or_default();
    let mut list = String::new();
    for detail in &ladder[from..] {
        list = at(&parsed, &ids, *detail);
        if list.len() <= limit {
            break;
        }
    }
    if list.len() > limit {
        let end = list.as_bytes()[..limit].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        list.truncate(end);
        list.push_str("(the rest is left out; count from the `@@` headers)\n");
    }
    (!list.is_empty()).then_some(list)
}

type Ids<'a> = HashMap<(&'a str, u32, u32), &'a str>;

fn at(diff: &Diff<'_>, ids: &Ids<'_>, detail: Detail) -> String {
    let mut out = String::new();
    for file in diff.files.iter().filter(|file| !file.hunks.is_empty()) {
        let _ = writeln!(out, "{}", super::one_line(file.path(), 300));
        for block in file.hunks.iter().flat_map(blocks) {
            block.write(file.path(), ids, detail, &mut out);
        }
    }
    out
}

/// A run of changed lines.
struct Block<'a> {
    /// The number its first line has, or would have, on each side.
    new: u32,
    old: u32,
    removed: u32,
    added: Vec<Line<'a>>,
}

fn blocks<'a>(hunk: &Hunk<'a>) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'a>> = Vec::new();
    let start = |start: u32, lines: u32| if lines == 0 { start.saturating_add(1) } else { start };
    let (mut new, mut old) = (start(hunk.new_start, hunk.new_lines), start(hunk.old_start, hunk.old_lines));
    let mut open = false;
    for line in hunk.lines() {
        if line.kind == LineKind::Context {
            open = false;
        } else {
            if !open {
                blocks.push(Block { new, old, removed: 0, added: Vec::new() });
                open = true;
            }
            if let Some(block) = blocks.last_mut() {
                match line.kind {
                    LineKind::Added => block.added.push(line),
                    _ => block.removed += 1,
                }
            }
        }
        new += u32::from(line.new.is_some());
        old += u32::from(line.old.is_some());
    }
    blocks
}

impl Block<'_> {
    fn write(&self, path: &str, ids: &Ids<'_>, detail: Detail, out: &mut String) {
        let id = ids.get(&(path, self.new, self.old)).copied().unwrap_or("(no id)");
        let added = u32::try_from(self.added.len()).unwrap_or(u32::MAX);
        let _ = match (added, self.removed) {
            (0, removed) => writeln!(out, "{id} removes old {}, before new {}", range(self.old, removed), self.new),
            (added, 0) => writeln!(out, "{id} adds new {}", range(self.new, added)),
            (added, removed) => {
                writeln!(out, "{id} new {} replaces old {}", range(self.new, added), range(self.old, removed))
            }
        };
        let shown: Vec<_> = match detail {
            Detail::Lines => self.added.iter().collect(),
            Detail::Ends if self.added.len() > 1 => self.added.iter().take(1).chain(self.added.last()).collect(),
            Detail::Ends => self.added.iter().collect(),
            Detail::Table => Vec::new(),
        };
        let limit = if detail == Detail::Lines { LINE_CHARS } else { END_CHARS };
        for line in shown {
            if let Some(number) = line.new {
                let _ = writeln!(out, "{number}| {}", super::clip(line.text().trim_end_matches('\r'), limit));
            }
        }
    }
}

fn range(start: u32, count: u32) -> String {
    match count {
        0 | 1 => start.to_string(),
        _ => format!("{start}-{}", start.saturating_add(count - 1)),
    }
}
