//! Which positions GitLab accepts, computed from a real repository the way GitLab does.

use std::path::Path;
use std::process::Command;

/// A patch that is larger has no lines GitLab could comment on.
pub(crate) const MAX_PATCH_BYTES: usize = 200 * 1024;

/// One file of a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileDiff {
    pub(crate) old_path: String,
    pub(crate) new_path: String,
    pub(crate) old_mode: String,
    pub(crate) new_mode: String,
    pub(crate) status: char,
    /// From the first `@@` or `Binary` on.
    pub(crate) patch: String,
    pub(crate) lines: Vec<DiffLine>,
    /// Lines of the file before the change.
    pub(crate) old_length: u32,
}

/// One line of a patch, with the counters as they stand before it is consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiffLine {
    pub(crate) kind: LineKind,
    pub(crate) old_pos: u32,
    pub(crate) new_pos: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Header { old_length: u32 },
    Added,
    Removed,
    Context,
    NoNewline,
}

impl DiffLine {
    fn numbers(&self) -> Option<(Option<u32>, Option<u32>)> {
        match self.kind {
            LineKind::Added => Some((None, Some(self.new_pos))),
            LineKind::Removed => Some((Some(self.old_pos), None)),
            LineKind::Context => Some((Some(self.old_pos), Some(self.new_pos))),
            LineKind::Header { .. } | LineKind::NoNewline => None,
        }
    }
}

impl FileDiff {
    pub(crate) fn is_new(&self) -> bool {
        self.status == 'A'
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.status == 'D'
    }

    pub(crate) fn is_renamed(&self) -> bool {
        self.status == 'R'
    }

    /// Whether a text position is a line of this file: in a hunk, or on an unchanged line that can be unfolded.
    pub(crate) fn has_line(&self, old: Option<u32>, new: Option<u32>) -> bool {
        self.lines.iter().any(|line| line.numbers() == Some((old, new)))
            || matches!((old, new), (Some(old), Some(new)) if self.unfolds_to(old) == Some(new))
    }

    /// The new number of an unchanged line outside the hunks.
    fn unfolds_to(&self, old: u32) -> Option<u32> {
        let last = self.lines.last()?;
        if self.is_new() || self.is_deleted() || old == 0 || old > self.old_length || self.hunk_covers(old) {
            return None;
        }
        let after = self.lines.iter().find(|line| matches!(line.kind, LineKind::Header { .. }) && line.old_pos > old);
        let mark = match after {
            Some(header) => header,
            None if old > last.old_pos => last,
            None => return None,
        };
        u32::try_from(i64::from(old) + i64::from(mark.new_pos) - i64::from(mark.old_pos)).ok()
    }

    fn hunk_covers(&self, old: u32) -> bool {
        self.lines.iter().any(|line| match line.kind {
            LineKind::Header { old_length } => (line.old_pos..line.old_pos + old_length).contains(&old),
            _ => false,
        })
    }
}

/// The diff between two commits, limited to paths when there are any; renames are found among those paths only.
pub(crate) fn diff(repo: &Path, from: &str, to: &str, paths: &[&str]) -> Vec<FileDiff> {
    let raw = run_git(repo, &[&["--raw", "-z", "--no-abbrev", from, to, "--"], paths].concat());
    let patch = run_git(repo, &[&["--patch", "--unified=3", "--full-index", from, to, "--"], paths].concat());
    let patch = String::from_utf8_lossy(&patch).into_owned();
    let mut sections = sections(&patch).into_iter();
    raw_entries(&raw)
        .into_iter()
        .map(|mut file| {
            let section = sections.next().unwrap_or_default();
            if file.status == 'T' {
                sections.next();
            }
            file.old_length = blob_lines(repo, from, &file.old_path);
            file.patch = content(section).to_owned();
            if file.patch.len() <= MAX_PATCH_BYTES {
                file.lines = parse(&file.patch);
            }
            file
        })
        .collect()
}

/// The whole diff as `raw_diffs` gives it.
pub(crate) fn raw_diff(repo: &Path, from: &str, to: &str) -> Vec<u8> {
    run_git(repo, &["--patch", "--unified=3", "--full-index", from, to, "--"])
}

/// Whether the repository has this commit.
pub(crate) fn commit_exists(repo: &Path, sha: &str) -> bool {
    let is_sha = sha.len() == 40 && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sha && git(repo).args(["cat-file", "-e", &format!("{sha}^{{commit}}")]).status().is_ok_and(|done| done.success())
}

pub(crate) fn merge_base(repo: &Path, one: &str, other: &str) -> Option<String> {
    let output = git(repo).args(["merge-base", one, other]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn git(repo: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(repo).args(["--literal-pathspecs", "-c", "core.quotepath=off"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.stderr(std::process::Stdio::null());
    command
}

fn run_git(repo: &Path, args: &[&str]) -> Vec<u8> {
    let fixed = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "-M"];
    let output = git(repo).args(fixed).args(args).output().expect("git runs");
    assert!(output.status.success(), "git diff {args:?} failed");
    output.stdout
}

fn raw_entries(raw: &[u8]) -> Vec<FileDiff> {
    let text = String::from_utf8_lossy(raw);
    let mut parts = text.split('\0').filter(|part| !part.is_empty());
    let mut files = Vec::new();
    while let Some(meta) = parts.next() {
        let fields: Vec<_> = meta.trim_start_matches(':').split(' ').collect();
        let status = fields[4].chars().next().expect("a status");
        let old_path = parts.next().expect("a path").to_owned();
        let new_path =
            if matches!(status, 'R' | 'C') { parts.next().expect("a path").to_owned() } else { old_path.clone() };
        let (old_mode, new_mode) = (fields[0].to_owned(), fields[1].to_owned());
        files.push(FileDiff { old_path, new_path, old_mode, new_mode, status, ..FileDiff::default() });
    }
    files
}

/// A patch cut at its files; no line inside a hunk starts with a `d`.
fn sections(patch: &str) -> Vec<&str> {
    let mut starts: Vec<_> = patch.match_indices("\ndiff --git ").map(|(at, _)| at + 1).collect();
    if patch.starts_with("diff --git ") {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    starts.iter().zip(ends).map(|(start, end)| &patch[*start..end]).collect()
}

fn content(section: &str) -> &str {
    let at = ["\n@@ ", "\nBinary files "].iter().filter_map(|mark| section.find(mark)).min();
    at.map_or("", |at| &section[at + 1..])
}

fn parse(patch: &str) -> Vec<DiffLine> {
    let mut lines = Vec::new();
    let (mut old_pos, mut new_pos) = (0, 0);
    for line in patch.split_terminator('\n') {
        let mut push = |kind, old_pos, new_pos| lines.push(DiffLine { kind, old_pos, new_pos });
        match line.as_bytes().first() {
            Some(b'@') => {
                let (old_start, old_length, new_start) = header(line);
                (old_pos, new_pos) = (old_start, new_start);
                // GitLab's parser leaves out a header that stands for nothing above it.
                if old_pos > 1 || new_pos > 1 {
                    push(LineKind::Header { old_length }, old_pos, new_pos);
                }
            }
            Some(b'+') => {
                push(LineKind::Added, old_pos, new_pos);
                new_pos += 1;
            }
            Some(b'-') => {
                push(LineKind::Removed, old_pos, new_pos);
                old_pos += 1;
            }
            Some(b'\\') => push(LineKind::NoNewline, old_pos, new_pos),
            Some(b'B') => {}
            _ => {
                push(LineKind::Context, old_pos, new_pos);
                old_pos += 1;
                new_pos += 1;
            }
        }
    }
    lines
}

/// `@@ -a,b +c,d @@` as (a, b, c).
fn header(line: &str) -> (u32, u32, u32) {
    let mut ranges = line.split(' ').skip(1).take(2).map(|range| {
        let mut numbers = range[1..].split(',').map(|number| number.parse().expect("a number"));
        (numbers.next().expect("a start"), numbers.next().unwrap_or(1))
    });
    let (old_start, old_length) = ranges.next().expect("the old range");
    (old_start, old_length, ranges.next().expect("the new range").0)
}

fn blob_lines(repo: &Path, commit: &str, path: &str) -> u32 {
    let output = git(repo).args(["cat-file", "-p", &format!("{commit}:{path}")]).output().expect("git runs");
    let lines = output.stdout.split_inclusive(|byte| *byte == b'\n').count();
    u32::try_from(lines).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(patch: &str, old_length: u32) -> FileDiff {
        FileDiff { status: 'M', old_length, lines: parse(patch), ..FileDiff::default() }
    }

    const EXAMPLE: &str = "@@ -10,3 +10,4 @@ fn x() {\n ctx\n-removed\n+added1\n+added2\n ctx2\n";

    #[test]
    fn a_line_of_a_hunk_has_exactly_one_pair_of_numbers() {
        let file = file(EXAMPLE, 50);
        let accepted =
            [(Some(10), Some(10)), (Some(11), None), (None, Some(11)), (None, Some(12)), (Some(12), Some(13))];
        for old in [None].into_iter().chain((8..15).map(Some)) {
            for new in [None].into_iter().chain((8..16).map(Some)) {
                let unfolded = matches!((old, new), (Some(a), Some(b)) if a < 10 && a == b || a > 12 && b == a + 1);
                let expected = accepted.contains(&(old, new)) || unfolded;
                assert_eq!(file.has_line(old, new), expected, "{old:?} {new:?}");
            }
        }
    }

    #[test]
    fn an_unchanged_line_outside_the_hunks_needs_the_pair_with_the_right_offset() {
        let two = file(&format!("{EXAMPLE}@@ -30,3 +31,2 @@\n ctx\n-gone\n ctx\n"), 50);
        let table = [
            (5, 5, true),
            (5, 6, false),
            (20, 21, true),
            (20, 20, false),
            (40, 40, true),
            (40, 41, false),
            (51, 51, false),
        ];
        for (old, new, accepted) in table {
            assert_eq!(two.has_line(Some(old), Some(new)), accepted, "{old} {new}");
        }
        let fresh =
            FileDiff { status: 'A', old_length: 0, lines: parse("@@ -0,0 +1,2 @@\n+a\n+b\n"), ..FileDiff::default() };
        assert!(fresh.has_line(None, Some(2)) && !fresh.has_line(Some(1), Some(1)) && !fresh.has_line(None, Some(3)));
    }

    #[test]
    fn a_missing_newline_is_not_a_line() {
        let file = file("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", 1);
        assert!(file.has_line(Some(1), None) && file.has_line(None, Some(1)));
        assert!(!file.has_line(None, Some(2)) && !file.has_line(Some(2), None) && !file.has_line(None, None));
    }
}
