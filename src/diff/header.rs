//! Header lines: what git says about a file before its hunks, and the `@@` line.

use super::path::{self, Pair};
use super::{FileStatus, Hunk};

const SUBMODULE: u32 = 0o160_000;

/// The empty blob, in SHA-1 and SHA-256 repositories.
const EMPTY_BLOBS: [&[u8]; 2] =
    [b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"];

/// The extended header lines of one `diff --git` section.
#[derive(Default)]
pub(super) struct Header {
    pub(super) old_mode: Option<u32>,
    pub(super) new_mode: Option<u32>,
    pub(super) is_binary: bool,
    pub(super) similarity: Option<u8>,
    added: bool,
    deleted: bool,
    renamed: Pair,
    copied: Pair,
    binary_name: Option<String>,
    /// The index line names a content that is not empty, and that is not on the old side alone.
    has_content: bool,
}

impl Header {
    /// Reads a line; false when it is not an extended header line.
    pub(super) fn take(&mut self, line: &[u8]) -> bool {
        if self.is_binary {
            return false;
        }
        let value = |key: &[u8]| line.strip_prefix(key);
        if let Some(mode) = value(b"old mode ") {
            self.old_mode = octal(mode);
        } else if let Some(mode) = value(b"new mode ") {
            self.new_mode = octal(mode);
        } else if let Some(mode) = value(b"new file mode ") {
            (self.added, self.new_mode) = (true, octal(mode));
        } else if let Some(mode) = value(b"deleted file mode ") {
            (self.deleted, self.old_mode) = (true, octal(mode));
        } else if let Some(name) = value(b"rename from ") {
            self.renamed.0 = Some(path::bare(name));
        } else if let Some(name) = value(b"rename to ") {
            self.renamed.1 = Some(path::bare(name));
        } else if let Some(name) = value(b"copy from ") {
            self.copied.0 = Some(path::bare(name));
        } else if let Some(name) = value(b"copy to ") {
            self.copied.1 = Some(path::bare(name));
        } else if let Some(percent) = value(b"similarity index ") {
            self.similarity = percent.strip_suffix(b"%").and_then(number).and_then(|n| n.try_into().ok());
        } else if let Some(ids) = value(b"index ") {
            self.index(ids);
        } else if line.starts_with(b"Binary files ") && line.ends_with(b" differ") {
            self.is_binary = true;
            self.binary_name = binary_names(line);
        } else {
            return value(b"dissimilarity index ").is_some();
        }
        true
    }

    pub(super) fn paths(&self, named: Option<String>, unified: Pair) -> Option<(String, String)> {
        let both = |name: &String| (name.clone(), name.clone());
        let pair = |(old, new): &Pair| Some((old.clone()?, new.clone()?));
        pair(&self.renamed)
            .or_else(|| pair(&self.copied))
            .or_else(|| named.as_ref().map(both))
            .or_else(|| pair(&unified))
            .or_else(|| unified.1.as_ref().or(unified.0.as_ref()).map(both))
            .or_else(|| self.binary_name.as_ref().map(both))
    }

    pub(super) fn status(&self, has_hunks: bool, same_path: bool) -> FileStatus {
        if self.added {
            FileStatus::Added
        } else if self.deleted {
            FileStatus::Deleted
        } else if self.copied.1.is_some() {
            FileStatus::Copied
        } else if self.renamed.1.is_some() || !same_path {
            FileStatus::Renamed
        } else if !has_hunks && !self.is_binary && self.old_mode != self.new_mode {
            FileStatus::ModeChanged
        } else {
            FileStatus::Modified
        }
    }

    pub(super) fn is_submodule(&self) -> bool {
        self.old_mode == Some(SUBMODULE) || self.new_mode == Some(SUBMODULE)
    }

    /// Whether hunks must follow. Git prints an index line with no body only for empty files, for a
    /// mode change with `-w`, and for deletions with `-D`.
    pub(super) fn promises_a_body(&self) -> bool {
        let mode_only = !self.added && self.old_mode != self.new_mode;
        self.has_content && !self.is_binary && !self.deleted && !mode_only
    }

    /// `<old>..<new>[ <mode>]`
    fn index(&mut self, ids: &[u8]) {
        let mut words = ids.splitn(2, |byte| *byte == b' ');
        let range = words.next().unwrap_or_default();
        if let Some(mode) = words.next().and_then(octal) {
            self.old_mode = self.old_mode.or(Some(mode));
            self.new_mode = self.new_mode.or(Some(mode));
        }
        let new = range.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let empty = EMPTY_BLOBS.iter().any(|blob| blob.starts_with(new));
        // An id that was taken for a secret and removed says nothing.
        let is_id = new.iter().all(u8::is_ascii_hexdigit);
        self.has_content = is_id && !(self.added && empty);
    }
}

/// Reads `@@ -a,b +c,d @@ section`. Line numbers that cannot be are no header: zero for a side that
/// has lines, beyond 32 bits, or no lines on either side.
pub(super) fn hunk_header(line: &[u8]) -> Option<Hunk<'_>> {
    let rest = line.strip_prefix(b"@@ -")?;
    let (old_start, old_lines, rest) = range(rest)?;
    let (new_start, new_lines, rest) = range(rest.strip_prefix(b" +")?)?;
    let rest = rest.strip_prefix(b" @@")?;
    if old_lines == 0 && new_lines == 0 {
        return None;
    }
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    let section = rest.strip_prefix(b" ").unwrap_or(rest);
    Some(Hunk { old_start, old_lines, new_start, new_lines, additions: 0, deletions: 0, section, bytes: line })
}

/// The name in `Binary files x and y differ`.
pub(super) fn binary_names(line: &[u8]) -> Option<String> {
    let names = line.strip_prefix(b"Binary files ")?.strip_suffix(b" differ")?;
    memchr::memmem::find_iter(names, b" and ").find_map(|at| match path::unified(&names[..at], &names[at + 5..]) {
        (Some(old), Some(new)) => (old == new).then_some(new),
        (old, new) => new.or(old),
    })
}

/// The path and status in a line of `git diff --submodule=log`.
pub(super) fn submodule_log(line: &[u8]) -> Option<(String, FileStatus)> {
    let rest = line.strip_prefix(b"Submodule ")?;
    for dirt in [&b" contains untracked content"[..], b" contains modified content"] {
        if let Some(path) = rest.strip_suffix(dirt) {
            return Some((path::bare(path), FileStatus::Modified));
        }
    }
    let border = memchr::memrchr_iter(b' ', rest).find(|&at| is_commit_range(&rest[at + 1..]))?;
    let status = if rest.ends_with(b"(new submodule)") {
        FileStatus::Added
    } else if rest.ends_with(b"(submodule deleted)") {
        FileStatus::Deleted
    } else {
        FileStatus::Modified
    };
    Some((path::bare(&rest[..border]), status))
}

/// `<hex>..<hex>` or `<hex>...<hex>` up to a blank, a colon or the end.
fn is_commit_range(text: &[u8]) -> bool {
    let word = text.split(|byte| matches!(byte, b' ' | b':')).next().unwrap_or_default();
    let Some(dots) = memchr::memmem::find(word, b"..") else {
        return false;
    };
    let (from, to) = (&word[..dots], word[dots + 2..].strip_prefix(b".").unwrap_or(&word[dots + 2..]));
    [from, to].iter().all(|id| id.len() >= 4 && id.iter().all(u8::is_ascii_hexdigit))
}

/// `a,b` or `a`; the end of the range must fit 32 bits too.
fn range(text: &[u8]) -> Option<(u32, u32, &[u8])> {
    let (start, rest) = leading_number(text)?;
    let (lines, rest) = match rest.strip_prefix(b",") {
        Some(rest) => leading_number(rest)?,
        None => (1, rest),
    };
    let possible = (start > 0 || lines == 0) && start.checked_add(lines)?.checked_add(1).is_some();
    possible.then_some((start, lines, rest))
}

fn leading_number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some((number(&text[..digits])?, &text[digits..]))
}

fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
}

fn octal(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}
