//! Walks a unified diff by the counts of its hunks, and keeps going whatever it meets.

use super::file_kind::FileKind;

/// A stretch of the diff: the inside of a hunk, or everything between hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The first line's number in the old and in the new file, in a hunk.
    pub(super) lines: Option<(u32, u32)>,
    /// Which of the walked paths the section belongs to.
    pub(super) path: Option<usize>,
}

/// A file of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: Vec<u8>,
    pub(super) kind: FileKind,
}

/// The sections of a diff, in order, without a gap.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) sections: Vec<Section>,
    pub(super) files: Vec<File>,
}

/// Walks `raw[from..to]`, which starts at the beginning of a line.
pub(super) fn walk(raw: &[u8], from: usize, to: usize) -> Walked {
    let mut walker = Walker { raw, to, at: from, walked: Walked::default() };
    if from > 0 && !raw[from..to].starts_with(b"diff ") {
        walker.inherit(from);
    }
    walker.run();
    walker.walked
}

/// Where a diff may be cut into parts that can be read apart: at files, else at hunks.
pub(super) fn cuts(raw: &[u8], parts: usize) -> Vec<(usize, usize)> {
    let file = memchr::memmem::Finder::new(b"\ndiff --git ");
    let hunk = memchr::memmem::Finder::new(b"\n@@ -");
    let mut bounds = vec![0];
    for part in 1..parts {
        let target = raw.len() / parts * part;
        let last = bounds[bounds.len() - 1];
        if target <= last {
            continue;
        }
        let reach = raw.len().min(target + raw.len() / parts / 4);
        let cut = file.find(&raw[target..reach]).or_else(|| hunk.find(&raw[target..])).map(|step| target + step + 1);
        if let Some(cut) = cut {
            bounds.push(cut);
        }
    }
    bounds.push(raw.len());
    bounds.windows(2).map(|pair| (pair[0], pair[1])).filter(|(start, end)| start < end).collect()
}

struct Walker<'a> {
    raw: &'a [u8],
    to: usize,
    at: usize,
    walked: Walked,
}

impl<'a> Walker<'a> {
    fn run(&mut self) {
        let mut text_start = self.at;
        while self.at < self.to {
            let line = self.line();
            let next = self.at + line.len();
            if let Some(counts) = line.starts_with(b"@@ -").then(|| parse_hunk(line)).flatten() {
                self.close(text_start, next, None);
                self.at = next;
                self.hunk(counts);
                text_start = self.at;
                continue;
            }
            if let Some(path) = header_path(line) {
                if line.starts_with(b"diff ") {
                    self.close(text_start, self.at, None);
                    text_start = self.at;
                }
                self.enter(path);
            }
            self.at = next;
        }
        self.close(text_start, self.to, None);
    }

    /// The line at the cursor, with its line break.
    fn line(&self) -> &'a [u8] {
        let rest = &self.raw[self.at..self.to];
        memchr::memchr(b'\n', rest).map_or(rest, |newline| &rest[..=newline])
    }

    /// Consumes the lines that the hunk's header announces, or as many as are there.
    fn hunk(&mut self, counts: Counts) {
        let start = self.at;
        let (mut old, mut new) = (counts.old_count, counts.new_count);
        while self.at < self.to {
            let line = self.line();
            match line[0] {
                b'\\' => {}
                _ if old == 0 && new == 0 => break,
                b'+' if new > 0 => new -= 1,
                b'-' if old > 0 => old -= 1,
                b' ' | b'\n' | b'\r' if old > 0 && new > 0 => {
                    old -= 1;
                    new -= 1;
                }
                _ => break,
            }
            self.at += line.len();
        }
        self.close(start, self.at, Some((counts.old_start, counts.new_start)));
    }

    fn close(&mut self, start: usize, end: usize, lines: Option<(u32, u32)>) {
        if start < end {
            let path = self.walked.files.len().checked_sub(1);
            self.walked.sections.push(Section { start, end, lines, path });
        }
    }

    fn enter(&mut self, header: Header<'_>) {
        match header {
            Header::File(path) => self.walked.files.push(File { kind: FileKind::of(&path), path }),
            Header::Name(name) => {
                let path = unquote(name);
                if path == b"/dev/null" {
                    return;
                }
                let path = path.get(2..).filter(|_| path.get(1) == Some(&b'/')).map_or(path.clone(), <[u8]>::to_vec);
                let file = File { kind: FileKind::of(&path), path };
                if self.walked.files.last() != Some(&file) {
                    self.walked.files.push(file);
                }
            }
        }
    }

    /// A part that starts inside a file takes the name from the nearest header before it.
    fn inherit(&mut self, from: usize) {
        let Some(start) = memchr::memmem::rfind(&self.raw[..from], b"\ndiff --git ")
            .map(|at| at + 1)
            .or_else(|| self.raw.starts_with(b"diff --git ").then_some(0))
        else {
            return;
        };
        let (at, to) = (self.at, self.to);
        self.at = start;
        self.to = from;
        for _ in 0..16 {
            if self.at >= self.to {
                break;
            }
            let line = self.line();
            if line.starts_with(b"@@ -") {
                break;
            }
            if let Some(header) = header_path(line) {
                self.enter(header);
            }
            self.at += line.len();
        }
        (self.at, self.to) = (at, to);
    }
}

#[derive(Clone, Copy)]
pub(super) struct Counts {
    old_start: u32,
    old_count: u32,
    new_start: u32,
    new_count: u32,
}

/// `@@ -a,b +c,d @@`.
pub(super) fn parse_hunk(line: &[u8]) -> Option<Counts> {
    let rest = line.strip_prefix(b"@@ -")?;
    let (old_start, rest) = number(rest)?;
    let (old_count, rest) = count(rest)?;
    let rest = rest.strip_prefix(b" +")?;
    let (new_start, rest) = number(rest)?;
    let (new_count, rest) = count(rest)?;
    rest.starts_with(b" @@").then_some(Counts { old_start, old_count, new_start, new_count })
}

fn count(rest: &[u8]) -> Option<(u32, &[u8])> {
    match rest.strip_prefix(b",") {
        Some(rest) => number(rest),
        None => Some((1, rest)),
    }
}

fn number(rest: &[u8]) -> Option<(u32, &[u8])> {
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let value = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    Some((value, &rest[digits..]))
}

enum Header<'a> {
    /// `diff --git a/x b/x`
    File(Vec<u8>),
    /// `--- a/x`, `+++ b/x`
    Name(&'a [u8]),
}

fn header_path(line: &[u8]) -> Option<Header<'_>> {
    let line = line.trim_ascii_end();
    if let Some(names) = line.strip_prefix(b"diff --git ") {
        let name = memchr::memmem::rfind(names, b" b/")
            .map(|at| &names[at + 3..])
            .or_else(|| memchr::memmem::rfind(names, b" \"b/").map(|at| &names[at + 1..]))
            .unwrap_or(names);
        let path = unquote(name);
        return Some(Header::File(path.strip_prefix(b"b/").map_or(path.clone(), <[u8]>::to_vec)));
    }
    let name = line.strip_prefix(b"+++ ").or_else(|| line.strip_prefix(b"--- "))?;
    Some(Header::Name(name.split(|&b| b == b'\t').next().unwrap_or(name)))
}

/// Undoes git's quoting of unusual paths.
fn unquote(name: &[u8]) -> Vec<u8> {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return name.to_vec();
    };
    let mut path = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        if inner[at] != b'\\' {
            path.push(inner[at]);
            at += 1;
            continue;
        }
        let octal = inner.get(at + 1..at + 4).filter(|digits| digits.iter().all(|b| matches!(b, b'0'..=b'7')));
        if let Some(digits) = octal {
            let value = digits.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            path.push((value & 0xff) as u8);
            at += 4;
        } else {
            path.push(match inner.get(at + 1) {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(&other) => other,
                None => b'\\',
            });
            at += 2;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@ def f\n a\n-- b/other.py\n+++ b/other.py\n+c\n@@ -9 +10 @@\n-x\n+y\n\\ No newline at end of file\ndiff --git \"a/\\303\\251.sh\" \"b/\\303\\251.sh\"\nBinary files differ\n";

    #[test]
    fn hunks_go_by_their_counts_and_nothing_is_left_out() {
        let walked = walk(DIFF.as_bytes(), 0, DIFF.len());
        let hunks: Vec<_> = walked.sections.iter().filter(|section| section.lines.is_some()).collect();
        assert_eq!(hunks.len(), 2);
        assert_eq!(&DIFF[hunks[0].start..hunks[0].end], " a\n-- b/other.py\n+++ b/other.py\n+c\n");
        assert_eq!(hunks[1].lines, Some((9, 10)));
        assert!(DIFF[hunks[1].start..hunks[1].end].ends_with("at end of file\n"));
        let covered: usize = walked.sections.iter().map(|section| section.end - section.start).sum();
        assert_eq!(covered, DIFF.len());
        let paths: Vec<_> = walked.files.iter().map(|file| String::from_utf8_lossy(&file.path).into_owned()).collect();
        assert_eq!(paths, ["x.py", "é.sh"]);
    }

    #[test]
    fn a_diff_is_cut_at_hunks_and_the_parts_know_their_file() {
        let raw: String = std::iter::once("diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n".to_owned())
            .chain((0..100).map(|n| format!("@@ -{n},1 +{n},1 @@\n-old {n}\n+new {n}\n")))
            .collect();
        let parts = cuts(raw.as_bytes(), 4);
        assert_eq!(parts.len(), 4);
        for (start, end) in parts {
            let walked = walk(raw.as_bytes(), start, end);
            assert_eq!(walked.files.last().map(|file| file.path.as_slice()), Some(&b"x.py"[..]));
        }
    }
}
