//! Stretches of text to remove, and the text they are found in.

use super::file_kind::FileKind;

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

    /// The line that holds byte `at`.
    pub(super) fn line_at(&self, at: usize) -> Line {
        let start = memchr::memrchr(b'\n', &self.bytes[..at]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.bytes.len(), |newline| at + newline);
        self.line(start, end)
    }

    /// The line between two line breaks, without prefix and carriage return.
    pub(super) fn line(&self, start: usize, mut end: usize) -> Line {
        if end > start && self.bytes[end - 1] == b'\r' {
            end -= 1;
        }
        Line { start: (start + self.prefix).min(end), end }
    }

    pub(super) fn next(&self, line: Line) -> Option<Line> {
        let newline = memchr::memchr(b'\n', &self.bytes[line.end..])? + line.end;
        (newline + 1 < self.bytes.len()).then(|| self.line_at(newline + 1))
    }

    pub(super) fn previous(&self, line: Line) -> Option<Line> {
        let newline = memchr::memrchr(b'\n', &self.bytes[..line.start])?;
        Some(self.line_at(newline))
    }
}
