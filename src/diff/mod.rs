//! The change under review: files, hunks and lines, borrowed from the bytes of a unified diff.

use std::borrow::Cow;
use std::hash::{Hash as _, Hasher as _};

use serde::{Deserialize, Serialize};

pub mod anchor;
pub mod attributes;
pub mod fetch;
pub mod git;
mod header;
mod heal;
pub mod objects;
mod parse;
mod path;
pub mod private;

pub use parse::{ParseError, ParseReason};
pub(crate) use path::unquoted;

/// A parsed unified diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff<'a> {
    pub files: Vec<FileDiff<'a>>,
}

/// One file of a diff. `old_path` and `new_path` are unquoted and without `a/`, `b/`; for an added
/// or a deleted file both are the one path there is, which is how GitLab names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff<'a> {
    pub old_path: String,
    pub new_path: String,
    pub status: FileStatus,
    pub old_mode: Option<u32>,
    pub new_mode: Option<u32>,
    pub is_binary: bool,
    pub is_submodule: bool,
    /// Git's similarity of a rename or copy, in percent.
    pub similarity: Option<u8>,
    /// Everything before the first hunk; without the data of a `GIT binary patch`.
    pub header: &'a [u8],
    pub hunks: Vec<Hunk<'a>>,
    pub additions: u32,
    pub deletions: u32,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    Added,
    Deleted,
    Modified,
    Renamed,
    Copied,
    /// The mode changed and nothing else.
    ModeChanged,
}

/// One hunk; its counts are known to agree with its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    pub additions: u32,
    pub deletions: u32,
    /// What git prints behind the second `@@`, often the enclosing function.
    pub section: &'a [u8],
    /// From `@@` to the end of the last line, `\ No newline` remarks included.
    pub bytes: &'a [u8],
}

/// One line of a hunk and its number on each side that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    pub kind: LineKind,
    pub old: Option<u32>,
    pub new: Option<u32>,
    /// Without the prefix and the line feed; a carriage return stays.
    pub content: &'a [u8],
    /// The line is the last of its file and has no line feed there.
    pub no_newline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

/// The lines of a hunk, in order.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
    old: u32,
    new: u32,
}

impl<'a> Diff<'a> {
    /// Reads a unified diff, from git or any other tool. The counts in the hunk headers decide
    /// where a hunk ends, never what a line inside it looks like.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        parse::parse(bytes)
    }

    /// The file whose new path, or failing that old path, is `path`.
    pub fn file(&self, path: &str) -> Option<&FileDiff<'a>> {
        let named = |is: fn(&FileDiff<'a>, &str) -> bool| self.files.iter().find(|file| is(file, path));
        named(|file, path| file.new_path == path).or_else(|| named(|file, path| file.old_path == path))
    }

    /// A number that is the same for diffs with the same files, hunks and lines, whatever stands in them.
    pub fn shape(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        for file in &self.files {
            (file.status, file.is_binary, file.hunks.len()).hash(&mut hasher);
            for hunk in &file.hunks {
                (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines).hash(&mut hasher);
                (hunk.additions, hunk.deletions).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    pub fn additions(&self) -> u64 {
        self.files.iter().map(|file| u64::from(file.additions)).sum()
    }

    pub fn deletions(&self) -> u64 {
        self.files.iter().map(|file| u64::from(file.deletions)).sum()
    }

    pub fn hunk_count(&self) -> usize {
        self.files.iter().map(|file| file.hunks.len()).sum()
    }
}

impl<'a> FileDiff<'a> {
    pub fn path(&self) -> &str {
        &self.new_path
    }

    /// The line that is number `n` of the new file, if a hunk shows it.
    pub fn line_new(&self, n: u32) -> Option<Line<'a>> {
        let after = self.hunks.partition_point(|hunk| hunk.first_new() <= n);
        let hunk = self.hunks.get(after.checked_sub(1)?)?;
        hunk.lines().find(|line| line.new == Some(n))
    }

    /// The line that is number `n` of the old file, if a hunk shows it.
    pub fn line_old(&self, n: u32) -> Option<Line<'a>> {
        let after = self.hunks.partition_point(|hunk| hunk.first_old() <= n);
        let hunk = self.hunks.get(after.checked_sub(1)?)?;
        hunk.lines().find(|line| line.old == Some(n))
    }
}

impl<'a> Hunk<'a> {
    pub fn lines(&self) -> Lines<'a> {
        Lines { rest: split_line(self.bytes).1, old: self.first_old(), new: self.first_new() }
    }

    /// How many lines [`Hunk::lines`] yields.
    pub fn line_count(&self) -> usize {
        self.old_lines as usize + self.additions as usize
    }

    /// The number of the first old line this hunk covers. A side without lines names the line
    /// before the change, so its first line would be the next one.
    fn first_old(&self) -> u32 {
        first_line(self.old_start, self.old_lines)
    }

    fn first_new(&self) -> u32 {
        first_line(self.new_start, self.new_lines)
    }
}

impl FileStatus {
    /// The name as artifacts spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
            Self::ModeChanged => "mode_changed",
        }
    }
}

impl<'a> Line<'a> {
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.content)
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, mut rest) = split_line(self.rest);
        let no_newline = rest.first() == Some(&b'\\');
        if no_newline {
            rest = split_line(rest).1;
        }
        self.rest = rest;
        let (kind, content) = match line.split_first() {
            Some((b'+', content)) => (LineKind::Added, content),
            Some((b'-', content)) => (LineKind::Removed, content),
            Some((b' ', content)) => (LineKind::Context, content),
            // Some tools strip the blank of an empty context line.
            _ => (LineKind::Context, line),
        };
        let old = (kind != LineKind::Added).then(|| bump(&mut self.old));
        let new = (kind != LineKind::Removed).then(|| bump(&mut self.new));
        Some(Line { kind, old, new, content, no_newline })
    }
}

fn first_line(start: u32, lines: u32) -> u32 {
    if lines == 0 { start.saturating_add(1) } else { start }
}

fn bump(number: &mut u32) -> u32 {
    let current = *number;
    *number = number.saturating_add(1);
    current
}

/// The first line without its line feed, and what follows it.
fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
