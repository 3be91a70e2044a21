//! Stretches of text to remove, and the text they are found in.

use super::engine::Side;
use super::file_kind::FileKind;
use super::steps;

/// Which rule asks for a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// A pattern from the configuration, by its number.
    Extra(u16),
    Rule(&'static str),
    /// A guess by the name of a variable: gives way to any rule that knows more.
    Generic(&'static str),
    /// A value met before in this run.
    Known,
}

impl Name {
    pub(super) fn text(self) -> String {
        match self {
            Self::Extra(number) => format!("EXTRA_PATTERN_{number}"),
            Self::Rule(name) | Self::Generic(name) => name.to_owned(),
            Self::Known => "KNOWN_VALUE".to_owned(),
        }
    }
}

/// A half-open stretch of bytes to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) name: Name,
}

impl Span {
    /// The same stretch of a text in which this one's text starts at `by`.
    pub(super) fn shifted(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by, ..self }
    }
}

/// Sorts and joins spans that overlap; the more telling name stays.
pub(super) fn union(spans: &mut Vec<Span>) {
    spans.sort_unstable();
    spans.dedup_by(|next, kept| {
        let overlaps = next.start <= kept.end;
        if overlaps {
            kept.end = kept.end.max(next.end);
            kept.name = kept.name.min(next.name);
        }
        overlaps
    });
}

/// A stretch of lines that belong together: a hunk, the headers of a file, or any other text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region<'a> {
    pub(super) bytes: &'a [u8],
    /// How many bytes of each line are the diff's, not the file's: 1 in a hunk, else 0.
    pub(super) prefix: usize,
    pub(super) kind: FileKind,
    /// The file name promises keys or certificates.
    pub(super) path: &'a [u8],
    /// In a hunk, the file whose lines are neighbours: its own and those that both files have.
    pub(super) side: Side,
}

/// One line of a region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// Where the content starts, behind the prefix.
    pub(super) start: usize,
    /// Where it ends, before the line break.
    pub(super) end: usize,
}

impl<'a> Region<'a> {
    pub(super) fn text(&self, line: Line) -> &'a [u8] {
        &self.bytes[line.start..line.end]
    }

    /// All lines, of both files.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> + use<'a> {
        let region = *self;
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            if start >= region.bytes.len() {
                return None;
            }
            let newline = memchr::memchr(b'\n', &region.bytes[start..]);
            let end = newline.map_or(region.bytes.len(), |newline| start + newline);
            at = end + 1;
            Some(region.line(start, end))
        })
    }

    /// The line between two line breaks, without prefix and carriage return.
    pub(super) fn line(&self, start: usize, mut end: usize) -> Line {
        steps::add(end - start);
        if end > start && self.bytes[end - 1] == b'\r' {
            end -= 1;
        }
        Line { start: (start + self.prefix).min(end), end }
    }

    /// The next line of the same file.
    pub(super) fn next(&self, line: Line) -> Option<Line> {
        let mut at = line.end;
        loop {
            let start = memchr::memchr(b'\n', &self.bytes[at..])? + at + 1;
            if start >= self.bytes.len() {
                return None;
            }
            if self.shows(start) {
                return Some(self.line_from(start));
            }
            at = start;
        }
    }

    /// The line of the same file before this one.
    pub(super) fn previous(&self, line: Line) -> Option<Line> {
        let mut end = memchr::memrchr(b'\n', &self.bytes[..line.start])?;
        loop {
            let newline = memchr::memrchr(b'\n', &self.bytes[..end]);
            let start = newline.map_or(0, |newline| newline + 1);
            if self.shows(start) {
                return Some(self.line(start, end));
            }
            end = newline?;
        }
    }

    /// The same lines as each file that has `line` sees them. A hunk is two texts: what stands next to a line depends on the file.
    pub(super) fn views(&self, line: Line) -> impl Iterator<Item = Self> + use<'a> {
        let (old, new) = match self.sign(line) {
            Some(b'-') => (true, false),
            Some(b'+') | None => (false, true),
            Some(_) => (true, true),
        };
        let view = *self;
        [(Side::Old, old), (Side::New, new)]
            .into_iter()
            .filter_map(move |(side, shown)| shown.then_some(Self { side, ..view }))
    }

    /// The diff's own character before a line of a hunk.
    fn sign(&self, line: Line) -> Option<u8> {
        (self.prefix > 0).then(|| match line.start.checked_sub(1).map(|at| self.bytes[at]) {
            Some(b'\n') | None => b' ',
            Some(sign) => sign,
        })
    }

    fn line_from(&self, start: usize) -> Line {
        let end = memchr::memchr(b'\n', &self.bytes[start..]).map_or(self.bytes.len(), |newline| start + newline);
        self.line(start, end)
    }

    fn shows(&self, start: usize) -> bool {
        self.prefix == 0
            || match self.bytes.get(start) {
                Some(b'\\') => false,
                Some(b'-') => self.side == Side::Old,
                Some(b'+') => self.side == Side::New,
                _ => true,
            }
    }
}
