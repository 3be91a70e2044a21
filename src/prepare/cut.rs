//! One hunk that is too big: its first lines under a header that counts them.

use super::chars;
use crate::diff::{FileDiff, FileStatus, Hunk, Line, LineKind};

/// The beginning of a hunk, as a hunk of its own that says it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) text: String,
    pub(super) chars: usize,
    pub(super) lines: usize,
    pub(super) of: usize,
}

/// Stands in for the data of a binary patch, which is of no use to a reader.
pub(super) const BINARY_REMARK: &str = "Binary files differ\n";

pub(super) fn needs_binary_remark(file: &FileDiff<'_>) -> bool {
    file.is_binary && !file.header.trim_ascii_end().ends_with(b" differ")
}

/// The longest beginning of a hunk that fits `budget` characters, at a line border. `None` when not
/// even one changed line fits.
pub(super) fn cut(file: &FileDiff<'_>, hunk: &Hunk<'_>, budget: usize) -> Option<Cut> {
    let of = hunk.line_count();
    let longest_header =
        chars(Counted { hunk, old: hunk.old_lines, new: hunk.new_lines, lines: of, of }.header().as_bytes());
    let mut left = budget.checked_sub(longest_header)?;
    let mut best = Borders::default();
    let mut at = Border::default();
    let mut above = LineKind::Context;
    for line in hunk.lines() {
        let size = line_chars(&line);
        if size > left {
            // Lines that are replaced, without what replaces them, would read as a plain removal.
            if above == LineKind::Removed && line.kind == LineKind::Added {
                best.longest = best.after_new;
            }
            break;
        }
        left -= size;
        above = line.kind;
        at.add(&line);
        best.offer(at, line.kind);
    }
    let border = if file.status == FileStatus::Added { best.longest } else { best.pick() };
    (border.changes > 0).then(|| border.cut(hunk, of))
}

/// The last border of each kind that fits and has a change before it.
#[derive(Default)]
struct Borders {
    longest: Border,
    after_new: Border,
    after_context: Border,
}

impl Borders {
    fn offer(&mut self, at: Border, kind: LineKind) {
        if at.changes == 0 {
            return;
        }
        self.longest = at;
        if kind != LineKind::Removed {
            self.after_new = at;
        }
        if kind == LineKind::Context {
            self.after_context = at;
        }
    }

    /// Git applies a hunk without context at its end only at the end of the file, so a cut that ends
    /// on context is worth losing some lines for.
    fn pick(&self) -> Border {
        let worth_it = self.after_context.lines * 4 >= self.longest.lines * 3;
        if worth_it { self.after_context } else { self.longest }
    }
}

/// A place between two lines of a hunk, with what stands before it.
#[derive(Debug, Clone, Copy, Default)]
struct Border {
    lines: usize,
    old: u32,
    new: u32,
    changes: usize,
}

impl Border {
    fn add(&mut self, line: &Line<'_>) {
        self.lines += 1;
        self.old += u32::from(line.kind != LineKind::Added);
        self.new += u32::from(line.kind != LineKind::Removed);
        self.changes += usize::from(line.kind != LineKind::Context);
    }

    fn cut(self, hunk: &Hunk<'_>, of: usize) -> Cut {
        let mut text = Counted { hunk, old: self.old, new: self.new, lines: self.lines, of }.header();
        for line in hunk.lines().take(self.lines) {
            text.push(prefix(line.kind));
            text.push_str(&line.text());
            text.push('\n');
            if line.no_newline {
                text.push_str(NO_NEWLINE);
            }
        }
        Cut { chars: chars(text.as_bytes()), text, lines: self.lines, of }
    }
}

const NO_NEWLINE: &str = "\\ No newline at end of file\n";

/// A hunk header with other counts.
struct Counted<'h> {
    hunk: &'h Hunk<'h>,
    old: u32,
    new: u32,
    lines: usize,
    of: usize,
}

impl Counted<'_> {
    fn header(&self) -> String {
        let start = |start: u32, had: u32, has: u32| if had > 0 && has == 0 { start - 1 } else { start };
        let old_start = start(self.hunk.old_start, self.hunk.old_lines, self.old);
        let new_start = start(self.hunk.new_start, self.hunk.new_lines, self.new);
        let section = String::from_utf8_lossy(self.hunk.section);
        let gap = if section.is_empty() { "" } else { " " };
        let Self { old, new, lines, of, .. } = self;
        format!(
            "@@ -{old_start},{old} +{new_start},{new} @@ {section}{gap}[diffsan: excerpt, first {lines} of {of} lines]\n"
        )
    }
}

fn prefix(kind: LineKind) -> char {
    match kind {
        LineKind::Context => ' ',
        LineKind::Added => '+',
        LineKind::Removed => '-',
    }
}

/// What a line takes in a patch: prefix, content, line feed, remark.
fn line_chars(line: &Line<'_>) -> usize {
    chars(line.content) + 2 + if line.no_newline { NO_NEWLINE.len() } else { 0 }
}

/// The header of a hunk and its first lines, with the remark that the last of them has no line feed.
pub(super) fn first_lines(hunk: &[u8], lines: usize) -> &[u8] {
    let mut ends = memchr::memchr_iter(b'\n', hunk).map(|end| end + 1);
    let mut end = ends.next().unwrap_or(hunk.len());
    let mut left = lines;
    for next in ends.chain([hunk.len()]) {
        let is_remark = hunk.get(end) == Some(&b'\\');
        if left == 0 && !is_remark {
            break;
        }
        left = left.saturating_sub(usize::from(!is_remark));
        end = next;
    }
    &hunk[..end]
}
