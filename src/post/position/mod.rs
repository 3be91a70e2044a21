//! Where in a merge request a finding can stand, proved against the diff before GitLab is asked.
//!
//! GitLab takes a line only with exactly the numbers its own diff gives it: an added line has a new number, a removed
//! line an old one, any other line both. What cannot be proved here falls to the next rung: range, line, file.

use sha1::{Digest, Sha1};

use crate::contracts::{Finding, LineRange, LineRangeEnd, Position, PositionType, Side};
use crate::diff::{Diff, FileDiff, FileStatus, Hunk, LineKind};

/// The three commits of a merge request's diff version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refs {
    pub base_sha: String,
    pub start_sha: String,
    pub head_sha: String,
}

impl Refs {
    /// The two ends of a diff that belongs to no merge request.
    pub fn between(base_sha: &str, head_sha: &str) -> Self {
        Self { base_sha: base_sha.to_owned(), start_sha: base_sha.to_owned(), head_sha: head_sha.to_owned() }
    }
}

/// Where a finding can stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<'a> {
    /// Best first, at least one; each is tried when GitLab refuses the one before.
    pub positions: Vec<Position>,
    /// The diff shows at least one line of the finding.
    pub in_diff: bool,
    /// The finding's lines, when they can be replaced.
    pub commented: Option<Commented<'a>>,
}

/// The lines of the new file that a finding is about: the diff shows each of them, and the position ends on the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commented<'a> {
    /// All lines that the hunk leaves in the new file.
    pub hunk: Vec<&'a [u8]>,
    /// Which of them are the finding's.
    pub range: std::ops::Range<usize>,
}

/// Name of a position's rung of the ladder.
pub fn rung(position: &Position) -> &'static str {
    match (position.position_type, &position.line_range) {
        (PositionType::File, _) => "file",
        (PositionType::Text, Some(_)) => "range",
        (PositionType::Text, None) => "line",
    }
}

/// Finds the place of a finding, or says why it has none.
pub fn place<'a>(diff: &Diff<'a>, finding: &Finding, refs: &Refs) -> Result<Place<'a>, String> {
    let file = diff.file(&finding.path).ok_or("the change does not touch this file")?;
    if file.old_path.chars().count() > PATH_CHARS || file.new_path.chars().count() > PATH_CHARS {
        return Err("its path is longer than GitLab accepts".to_owned());
    }
    let at = At { file, refs };
    let whole_file = at.whole_file();
    let side = match file.status {
        FileStatus::Added => Side::New,
        FileStatus::Deleted => Side::Old,
        _ => finding.side,
    };
    let (first, last) = (finding.line_start, finding.line_end);
    let has_lines = !file.is_binary && !file.is_submodule;
    let shown = if has_lines { shown_lines(file, side, first, last) } else { Vec::new() };
    if !has_lines || patch_bytes(file) > PATCH_BYTES {
        return Ok(Place { positions: vec![whole_file], in_diff: !shown.is_empty(), commented: None });
    }
    let Some(anchor) = anchor(&shown, side, last) else {
        let outside = outside_hunks(file, side, last);
        let line = outside.map(|(old, new)| at.line(Some(old), Some(new)));
        let positions = line.into_iter().chain([whole_file]).collect();
        return Ok(Place { positions, in_diff: false, commented: None });
    };
    let line = at.line(anchor.old, anchor.new);
    // A range may not span a gap between hunks.
    let start = shown.iter().find(|start| start.hunk == anchor.hunk && start.number(side) < anchor.number(side));
    let ends_last = anchor.number(side) == Some(last);
    let range = start.filter(|_| ends_last).map(|start| Position {
        line_range: Some(LineRange { start: at.range_end(start), end: at.range_end(anchor) }),
        ..line.clone()
    });
    let complete = side == Side::New && ends_last && shown.len() == last.saturating_sub(first) as usize + 1;
    let commented = if complete { commented(&file.hunks[anchor.hunk], &shown) } else { None };
    Ok(Place { positions: range.into_iter().chain([line, whole_file]).collect(), in_diff: true, commented })
}

/// GitLab keeps no lines of a patch above its default `diff_max_patch_bytes`.
const PATCH_BYTES: usize = 200 * 1024;
/// Longest path in a position.
const PATH_CHARS: usize = 1_000;

/// A line of the diff with GitLab's running counters, which are also defined on the side that lacks the line.
struct Shown {
    hunk: usize,
    kind: LineKind,
    old: Option<u32>,
    new: Option<u32>,
    old_pos: u32,
    new_pos: u32,
}

impl Shown {
    fn number(&self, side: Side) -> Option<u32> {
        match side {
            Side::New => self.new,
            Side::Old => self.old,
        }
    }
}

struct At<'r, 'a> {
    file: &'r FileDiff<'a>,
    refs: &'r Refs,
}

impl At<'_, '_> {
    fn whole_file(&self) -> Position {
        Position {
            position_type: PositionType::File,
            base_sha: self.refs.base_sha.clone(),
            head_sha: self.refs.head_sha.clone(),
            start_sha: self.refs.start_sha.clone(),
            old_path: self.file.old_path.clone(),
            new_path: self.file.new_path.clone(),
            old_line: None,
            new_line: None,
            line_range: None,
        }
    }

    fn line(&self, old_line: Option<u32>, new_line: Option<u32>) -> Position {
        Position { position_type: PositionType::Text, old_line, new_line, ..self.whole_file() }
    }

    fn range_end(&self, line: &Shown) -> LineRangeEnd {
        let path = if self.file.new_path.is_empty() { &self.file.old_path } else { &self.file.new_path };
        LineRangeEnd {
            line_code: line_code(path, line.old_pos, line.new_pos),
            line_type: if line.kind == LineKind::Added { "new" } else { "old" }.to_owned(),
        }
    }
}

/// The lines of a range that hunks show, in order.
fn shown_lines(file: &FileDiff<'_>, side: Side, first: u32, last: u32) -> Vec<Shown> {
    let mut shown = Vec::new();
    for (index, hunk) in file.hunks.iter().enumerate() {
        let (start, count) = match side {
            Side::New => (hunk.new_start, hunk.new_lines),
            Side::Old => (hunk.old_start, hunk.old_lines),
        };
        if count == 0 || start > last || start.saturating_add(count) <= first {
            continue;
        }
        let (mut old_pos, mut new_pos) = (hunk.old_start, hunk.new_start);
        for line in hunk.lines() {
            let here = Shown { hunk: index, kind: line.kind, old: line.old, new: line.new, old_pos, new_pos };
            old_pos = old_pos.saturating_add(u32::from(line.kind != LineKind::Added));
            new_pos = new_pos.saturating_add(u32::from(line.kind != LineKind::Removed));
            if here.number(side).is_some_and(|number| (first..=last).contains(&number)) {
                shown.push(here);
            }
        }
    }
    shown
}

/// The line to stand on: the range's last, else the first changed one that is shown, else the last shown.
fn anchor(shown: &[Shown], side: Side, last: u32) -> Option<&Shown> {
    let changed = |line: &&Shown| line.kind != LineKind::Context;
    let end = shown.iter().rfind(|line| line.number(side) == Some(last));
    end.or_else(|| shown.iter().find(changed)).or_else(|| shown.last())
}

fn commented<'a>(hunk: &Hunk<'a>, shown: &[Shown]) -> Option<Commented<'a>> {
    let (first, count) = (shown.first()?.new?, shown.len());
    let start = first.checked_sub(hunk.new_start)? as usize;
    let lines: Vec<&[u8]> =
        hunk.lines().filter(|line| line.kind != LineKind::Removed).map(|line| line.content).collect();
    (start + count <= lines.len()).then(|| Commented { hunk: lines, range: start..start + count })
}

/// Both numbers of an unchanged line between the hunks of a file that was there before and after. Below the last
/// hunk there may be no such line, and the diff cannot tell.
fn outside_hunks(file: &FileDiff<'_>, side: Side, line: u32) -> Option<(u32, u32)> {
    if line == 0 || matches!(file.status, FileStatus::Added | FileStatus::Deleted) {
        return None;
    }
    let next = file.hunks.iter().find(|hunk| match side {
        Side::New => hunk.new_start > line,
        Side::Old => hunk.old_start > line,
    })?;
    let offset = i64::from(next.new_start) - i64::from(next.old_start);
    let other = match side {
        Side::New => i64::from(line) - offset,
        Side::Old => i64::from(line) + offset,
    };
    let other = u32::try_from(other).ok().filter(|other| *other > 0)?;
    Some(if side == Side::New { (other, line) } else { (line, other) })
}

fn patch_bytes(file: &FileDiff<'_>) -> usize {
    file.hunks.iter().map(|hunk| hunk.bytes.len()).sum()
}

/// GitLab's name of a line of a diff.
fn line_code(path: &str, old_pos: u32, new_pos: u32) -> String {
    let hash: String = Sha1::digest(path.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{hash}_{old_pos}_{new_pos}")
}

#[cfg(test)]
mod tests;
