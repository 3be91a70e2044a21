//! The parser: one pass over the bytes, driven by the counts in the hunk headers.

use super::header::{Header, binary_names, hunk_header, submodule_log};
use super::{Diff, FileDiff, FileStatus, Hunk, first_line, path, split_line};

/// Where and why a text is not a diff that can be reviewed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the diff: {reason}")]
pub struct ParseError {
    /// The line of the diff text, from 1.
    pub line: usize,
    pub reason: ParseReason,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseReason {
    #[error("a combined diff (of a merge commit) has no single old side; diff two commits instead")]
    Combined,
    #[error("`{path}` has unresolved merge conflicts")]
    Unmerged { path: String },
    #[error("there is text but no file change in it; is this a unified diff?")]
    NoFiles,
    #[error("a hunk header that cannot be read")]
    HunkHeader,
    #[error("a hunk before any file header")]
    HunkWithoutFile,
    #[error("the hunk ends early: {old} old and {new} new lines are missing")]
    HunkShort { old: u32, new: u32 },
    #[error("the lines of the hunk do not add up to the counts in its header")]
    HunkCounts,
    #[error("a line that belongs to no hunk: the counts in the header above are too small")]
    HunkLong,
    #[error("a hunk that starts before the end of the one above it")]
    HunkOrder,
    #[error("`---` without `+++` below it")]
    MissingNewName,
    #[error("`---` and `+++` without a hunk below them")]
    MissingHunk,
    #[error("`{path}` changed but its change is missing; is the diff cut off?")]
    MissingBody { path: String },
    #[error("the file's path cannot be told from its header")]
    UnknownPath,
    #[error("a binary patch that is cut off or damaged")]
    BinaryPatch,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Diff<'_>, ParseError> {
    let mut parser = Parser { cursor: Cursor::new(bytes), files: Vec::new(), prose: true };
    while let Some(line) = parser.cursor.line() {
        parser.top_level(line)?;
    }
    if parser.files.is_empty() && !bytes.trim_ascii().is_empty() {
        return Err(ParseError { line: 1, reason: ParseReason::NoFiles });
    }
    Ok(Diff { files: parser.files })
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    files: Vec<FileDiff<'a>>,
    /// Between files, in text of a mail or a log. Straight after a file only another one may come:
    /// anything that looks like hunk content there says that the counts above are wrong.
    prose: bool,
}

impl<'a> Parser<'a> {
    fn top_level(&mut self, line: &'a [u8]) -> Result<(), ParseError> {
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            return self.git_file(without_cr(names));
        }
        if [&b"diff --cc "[..], b"diff --combined ", b"@@@ "].iter().any(|start| line.starts_with(start)) {
            return Err(self.error(ParseReason::Combined));
        }
        if line.starts_with(b"--- ") && self.cursor.second_line().starts_with(b"+++ ") {
            return self.plain_file();
        }
        if let Some(path) = line.strip_prefix(b"* Unmerged path ") {
            let path = path::bare(without_cr(path));
            return Err(self.error(ParseReason::Unmerged { path }));
        }
        if hunk_header(line).is_some() {
            return Err(self.error(ParseReason::HunkWithoutFile));
        }
        if let Some(file) = submodule_log(without_cr(line)) {
            self.submodule(file);
            return Ok(());
        }
        if let Some(name) = binary_names(without_cr(line)) {
            self.loose_binary(name);
            return Ok(());
        }
        if !self.prose && !line.trim_ascii().is_empty() {
            let content = matches!(line.first(), Some(b'+' | b'-' | b' ' | b'\\' | b'@'));
            if content && !self.at_signature(line) {
                return Err(self.error(ParseReason::HunkLong));
            }
            self.prose = true;
        }
        self.cursor.advance();
        Ok(())
    }

    fn git_file(&mut self, names: &'a [u8]) -> Result<(), ParseError> {
        let start = self.cursor.start;
        let at = self.cursor.line;
        self.cursor.advance();
        let mut header = Header::default();
        while let Some(line) = self.cursor.line()
            && header.take(without_cr(line))
        {
            self.cursor.advance();
        }
        let header_end = self.cursor.start;
        let mut unified = (None, None);
        let mut hunks = Vec::new();
        if self.cursor.at(b"GIT binary patch") {
            header.is_binary = true;
            self.binary_patch()?;
        } else if !header.is_binary && self.cursor.at(b"--- ") {
            (unified, hunks) = self.names_and_hunks()?;
        }
        let header_end = hunks.first().map_or(header_end, |hunk: &Hunk<'_>| self.offset(hunk.bytes));
        let named = path::git_line(names);
        let Some((old_path, new_path)) = header.paths(named, unified) else {
            return Err(ParseError { line: at, reason: ParseReason::UnknownPath });
        };
        if hunks.is_empty() && header.promises_a_body() {
            return Err(self.error(ParseReason::MissingBody { path: new_path }));
        }
        let mut file = FileDiff {
            status: header.status(!hunks.is_empty(), old_path == new_path),
            old_mode: header.old_mode,
            new_mode: header.new_mode,
            is_binary: header.is_binary,
            is_submodule: header.is_submodule(),
            similarity: header.similarity,
            ..empty_file(old_path, new_path, &self.cursor.text[start..header_end])
        };
        set_hunks(&mut file, hunks);
        self.push(file);
        Ok(())
    }

    fn plain_file(&mut self) -> Result<(), ParseError> {
        let start = self.cursor.start;
        let at = self.cursor.line;
        let old_is_epoch = is_epoch(self.cursor.line().unwrap_or_default());
        let new_is_epoch = is_epoch(self.cursor.second_line());
        let ((old, new), hunks) = self.names_and_hunks()?;
        let empty = |lines: fn(&Hunk<'_>) -> u32| hunks.iter().all(|hunk| lines(hunk) == 0);
        // `diff -N` names a file that is not there by its other name and the start of time.
        let added = old.is_none() || (old_is_epoch && empty(|hunk| hunk.old_lines));
        let deleted = new.is_none() || (new_is_epoch && empty(|hunk| hunk.new_lines));
        let (old_path, new_path) = match (old, new) {
            (Some(path), _) if deleted => (path.clone(), path),
            (_, Some(path)) if added => (path.clone(), path),
            (Some(old), Some(new)) => (old, new),
            _ => {
                return Err(ParseError { line: at, reason: ParseReason::UnknownPath });
            }
        };
        let status = match (added, deleted) {
            (_, true) => FileStatus::Deleted,
            (true, false) => FileStatus::Added,
            _ if old_path != new_path => FileStatus::Renamed,
            _ => FileStatus::Modified,
        };
        let header_end = hunks.first().map_or(start, |hunk| self.offset(hunk.bytes));
        let header = &self.cursor.text[start..header_end];
        let mut file = FileDiff { status, ..empty_file(old_path, new_path, header) };
        set_hunks(&mut file, hunks);
        self.push(file);
        Ok(())
    }

    fn submodule(&mut self, (path, status): (String, FileStatus)) {
        let start = self.cursor.start;
        self.cursor.advance();
        while self.cursor.at(b"  > ") || self.cursor.at(b"  < ") {
            self.cursor.advance();
        }
        let header = &self.cursor.text[start..self.cursor.start];
        self.push(FileDiff { status, is_submodule: true, ..empty_file(path.clone(), path, header) });
    }

    /// `Binary files x and y differ` without a header, as `diff -r` prints it.
    fn loose_binary(&mut self, path: String) {
        let start = self.cursor.start;
        self.cursor.advance();
        let header = &self.cursor.text[start..self.cursor.start];
        self.push(FileDiff { is_binary: true, ..empty_file(path.clone(), path, header) });
    }

    /// From the `---` line to the end of the last hunk.
    fn names_and_hunks(&mut self) -> Result<(path::Pair, Vec<Hunk<'a>>), ParseError> {
        let old = self.cursor.line().and_then(|line| line.strip_prefix(b"--- ")).unwrap_or_default();
        self.cursor.advance();
        let Some(new) = self.cursor.line().and_then(|line| line.strip_prefix(b"+++ ")) else {
            return Err(self.error(ParseReason::MissingNewName));
        };
        self.cursor.advance();
        let names = path::unified(without_cr(old), without_cr(new));
        let mut hunks: Vec<Hunk<'a>> = Vec::new();
        while self.cursor.at(b"@@ ") {
            let line = self.cursor.line;
            let hunk = self.hunk()?;
            if hunks.last().is_some_and(|above| !follows(above, &hunk)) {
                return Err(ParseError { line, reason: ParseReason::HunkOrder });
            }
            hunks.push(hunk);
        }
        if hunks.is_empty() {
            return Err(self.error(ParseReason::MissingHunk));
        }
        hunks.shrink_to_fit();
        Ok((names, hunks))
    }

    fn hunk(&mut self) -> Result<Hunk<'a>, ParseError> {
        let start = self.cursor.start;
        let header = self.cursor.line().and_then(hunk_header);
        let Some(header) = header else {
            return Err(self.error(ParseReason::HunkHeader));
        };
        self.cursor.advance();
        let (mut old, mut new) = (header.old_lines, header.new_lines);
        let (mut additions, mut deletions) = (0, 0);
        let mut remark_allowed = false;
        while old > 0 || new > 0 {
            let (take_old, take_new) = match self.cursor.first_byte() {
                Some(b' ' | b'\n') => (1, 1),
                Some(b'+') => (0, 1),
                Some(b'-') => (1, 0),
                Some(b'\r') if self.cursor.at_line(b"\r") => (1, 1),
                Some(b'\\') if remark_allowed => {
                    remark_allowed = false;
                    self.cursor.advance();
                    continue;
                }
                _ => return Err(self.error(ParseReason::HunkShort { old, new })),
            };
            let (Some(less_old), Some(less_new)) = (old.checked_sub(take_old), new.checked_sub(take_new)) else {
                return Err(self.error(ParseReason::HunkCounts));
            };
            (old, new) = (less_old, less_new);
            additions += take_new & !take_old;
            deletions += take_old & !take_new;
            remark_allowed = true;
            self.cursor.advance();
        }
        if remark_allowed && self.cursor.first_byte() == Some(b'\\') {
            self.cursor.advance();
        }
        let bytes = &self.cursor.text[start..self.cursor.start];
        Ok(Hunk { additions, deletions, bytes, ..header })
    }

    /// Skips the data of a `GIT binary patch`: one or two blocks, each closed by an empty line.
    fn binary_patch(&mut self) -> Result<(), ParseError> {
        self.cursor.advance();
        let mut blocks = 0;
        while self.cursor.at(b"literal ") || self.cursor.at(b"delta ") {
            blocks += 1;
            self.cursor.advance();
            while let Some(line) = self.cursor.line().map(without_cr)
                && !line.is_empty()
            {
                if !is_base85_line(line) {
                    return Err(self.error(ParseReason::BinaryPatch));
                }
                self.cursor.advance();
            }
            self.cursor.advance();
        }
        if blocks == 0 { Err(self.error(ParseReason::BinaryPatch)) } else { Ok(()) }
    }

    /// `-- ` and a line that is no hunk's end a mailed patch: git's version, or what `format.signature` says.
    fn at_signature(&self, line: &[u8]) -> bool {
        let next = self.cursor.second_line().first();
        without_cr(line) == b"-- " && !matches!(next, Some(b'+' | b'-' | b' ' | b'\\' | b'@'))
    }

    fn push(&mut self, file: FileDiff<'a>) {
        self.files.push(file);
        self.prose = false;
    }

    /// Where in the text a slice of it starts.
    fn offset(&self, slice: &'a [u8]) -> usize {
        slice.as_ptr().addr() - self.cursor.text.as_ptr().addr()
    }

    fn error(&self, reason: ParseReason) -> ParseError {
        ParseError { line: self.cursor.line, reason }
    }
}

fn empty_file(old_path: String, new_path: String, header: &[u8]) -> FileDiff<'_> {
    FileDiff {
        old_path,
        new_path,
        status: FileStatus::Modified,
        old_mode: None,
        new_mode: None,
        is_binary: false,
        is_submodule: false,
        similarity: None,
        header,
        hunks: Vec::new(),
        additions: 0,
        deletions: 0,
    }
}

fn set_hunks<'a>(file: &mut FileDiff<'a>, hunks: Vec<Hunk<'a>>) {
    file.additions = hunks.iter().fold(0, |sum: u32, hunk| sum.saturating_add(hunk.additions));
    file.deletions = hunks.iter().fold(0, |sum: u32, hunk| sum.saturating_add(hunk.deletions));
    file.hunks = hunks;
}

fn follows(above: &Hunk<'_>, hunk: &Hunk<'_>) -> bool {
    let end = |start, lines: u32| first_line(start, lines).saturating_add(lines);
    first_line(hunk.old_start, hunk.old_lines) >= end(above.old_start, above.old_lines)
        && first_line(hunk.new_start, hunk.new_lines) >= end(above.new_start, above.new_lines)
}

/// Header lines of a diff that went through a CRLF conversion. Git quotes a path that really ends in
/// a carriage return, so nothing is lost.
fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_epoch(name_line: &[u8]) -> bool {
    memchr::memchr(b'\t', name_line).is_some_and(|tab| {
        let stamp = &name_line[tab + 1..];
        stamp.starts_with(b"1970-01-01") || stamp.starts_with(b"1969-12-31")
    })
}

/// One line of git's base85: a letter for the number of bytes, then five characters for each four.
fn is_base85_line(line: &[u8]) -> bool {
    let Some((&first, data)) = line.split_first() else {
        return false;
    };
    let bytes = match first {
        b'A'..=b'Z' => usize::from(first - b'A') + 1,
        b'a'..=b'z' => usize::from(first - b'a') + 27,
        _ => return false,
    };
    data.len() == bytes.div_ceil(4) * 5 && data.iter().all(u8::is_ascii_graphic)
}

/// Walks the lines of the text; `start == text.len()` is the end.
struct Cursor<'a> {
    text: &'a [u8],
    newlines: memchr::Memchr<'a>,
    start: usize,
    end: usize,
    line: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut newlines = memchr::memchr_iter(b'\n', text);
        let end = newlines.next().unwrap_or(text.len());
        Self { text, newlines, start: 0, end, line: 1 }
    }

    fn line(&self) -> Option<&'a [u8]> {
        (self.start < self.text.len()).then(|| &self.text[self.start..self.end])
    }

    fn second_line(&self) -> &'a [u8] {
        self.text.get(self.end + 1..).map_or(&[], |rest| split_line(rest).0)
    }

    fn first_byte(&self) -> Option<u8> {
        self.text.get(self.start).copied()
    }

    fn at(&self, start: &[u8]) -> bool {
        self.text[self.start..].starts_with(start)
    }

    fn at_line(&self, line: &[u8]) -> bool {
        self.line() == Some(line)
    }

    fn advance(&mut self) {
        if self.start < self.text.len() {
            self.line += 1;
        }
        self.start = (self.end + 1).min(self.text.len());
        self.end = self.newlines.next().unwrap_or(self.text.len());
    }
}
