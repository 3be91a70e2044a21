//! Finds the lines of the diff that a finding is about.

use std::collections::HashMap;

use super::findings::{clip, note};
use crate::contracts::{AnchorEntry, Anchors, ChangeKind, CheckCode, CheckNote, Side};
use crate::diff::{Diff, FileDiff, LineKind};

/// Lines of a corrected range.
const MAX_CORRECTED: u32 = 10;
/// A shorter part of a line could stand anywhere.
const MIN_PART_CHARS: usize = 10;

/// A place in the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) path: String,
    pub(super) lines: (u32, u32),
    pub(super) side: Side,
    pub(super) change_anchor: Option<String>,
    /// The line it is about.
    pub(super) text: String,
}

/// The files of a diff, each read once when a finding first asks for it.
pub(super) struct Files<'d, 'a> {
    diff: &'d Diff<'a>,
    by_file: HashMap<&'d str, Vec<&'d AnchorEntry>>,
    by_id: HashMap<&'d str, &'d AnchorEntry>,
    read: HashMap<&'d str, Shown<'a>>,
}

/// The lines of a file that the diff shows.
struct Shown<'a> {
    spots: Vec<Spot<'a>>,
    /// Spots by their text, blanks squeezed.
    by_text: HashMap<String, Vec<usize>>,
}

#[derive(Clone, Copy)]
struct Spot<'a> {
    hunk: usize,
    kind: LineKind,
    old: Option<u32>,
    new: Option<u32>,
    /// Its line in the new file, or the line that follows it there.
    at: u32,
    content: &'a [u8],
}

type Range = (u32, u32);

impl<'d, 'a> Files<'d, 'a> {
    pub(super) fn new(diff: &'d Diff<'a>, anchors: &'d Anchors) -> Self {
        let mut by_file: HashMap<_, Vec<_>> = HashMap::new();
        let mut by_id = HashMap::new();
        for anchor in &anchors.anchors {
            by_file.entry(anchor.file.as_str()).or_default().push(anchor);
            by_id.entry(anchor.change_anchor.as_str()).or_insert(anchor);
        }
        for anchor in &anchors.anchors {
            if let Some(previous) = &anchor.previous_change_anchor {
                by_id.entry(previous.as_str()).or_insert(anchor);
            }
        }
        Self { diff, by_file, by_id, read: HashMap::new() }
    }

    /// The place of a finding, by its quote, else its anchor, else its lines; `must_change` demands a changed block where
    /// only lines are given. What was corrected is added to `notes`.
    pub(super) fn place(
        &mut self,
        path: &str,
        claim: Option<Range>,
        quote: Option<&str>,
        anchor: Option<&str>,
        must_change: bool,
        notes: &mut Vec<CheckNote>,
    ) -> Result<Placed, CheckNote> {
        let cited = anchor.map(|id| self.anchor(id));
        let file = self.file(path, cited.flatten(), notes)?;
        let block = cited.flatten().filter(|entry| entry.file == file.path());
        if cited.is_some() && block.is_none() {
            notes.push(bad_anchor(anchor.unwrap_or_default(), cited.flatten(), file.path()));
        }
        let shown = self.read.entry(file.path()).or_insert_with(|| Shown::of(file));
        let (spot, lines) = if let Some(quote) = quote {
            let spot = shown.quoted(quote, claim, block)?;
            if block.is_some_and(|block| !spot.is_in(block)) {
                notes.push(note(
                    CheckCode::AnchorMismatch,
                    "the quoted line is not in the cited block; the quote counts",
                ));
            }
            (spot, shown.around(spot, claim))
        } else if let Some(block) = block {
            shown
                .anchored(block, claim)
                .ok_or_else(|| note(CheckCode::LineNotInDiff, "the cited block is not in the diff"))?
        } else if let Some(id) = anchor {
            return Err(bad_anchor(id, cited.flatten(), file.path()));
        } else {
            shown.claimed(claim, file.path())?
        };
        correct(claim, spot, lines, notes);
        let side = if spot.kind == LineKind::Removed { Side::Old } else { Side::New };
        let blocks = self.by_file.get(file.path()).map(Vec::as_slice).unwrap_or_default();
        let own = blocks.iter().find(|entry| overlaps(side_of(entry, side), lines));
        if must_change && own.is_none() && quote.is_none() && block.is_none() {
            return Err(note(CheckCode::NotAnchored, "it quotes and cites nothing, and its lines did not change"));
        }
        Ok(Placed {
            path: file.path().to_owned(),
            lines,
            side,
            change_anchor: own.map(|entry| entry.change_anchor.clone()),
            text: String::from_utf8_lossy(spot.content).into_owned(),
        })
    }

    fn anchor(&self, id: &str) -> Option<&'d AnchorEntry> {
        let id = id.trim().trim_matches('`');
        let find = |id: &str| self.by_id.get(id).copied();
        find(id).or_else(|| find(&format!("chg:{id}")))
    }

    /// The file of that path, or of the anchor where the path is none of the diff's.
    fn file(
        &self,
        path: &str,
        cited: Option<&AnchorEntry>,
        notes: &mut Vec<CheckNote>,
    ) -> Result<&'d FileDiff<'a>, CheckNote> {
        if let Some(file) = self.diff.file(path) {
            return Ok(file);
        }
        let Some(file) = cited.and_then(|entry| self.diff.file(&entry.file)) else {
            return Err(note(CheckCode::FileNotInDiff, format!("the diff does not touch `{}`", clip(path, 200))));
        };
        notes
            .push(note(CheckCode::PathNormalised, format!("the cited anchor belongs to `{}`", clip(file.path(), 200))));
        Ok(file)
    }
}

fn bad_anchor(id: &str, cited: Option<&AnchorEntry>, path: &str) -> CheckNote {
    let id = clip(id, 60);
    match cited {
        Some(entry) => {
            let file = clip(&entry.file, 200);
            note(
                CheckCode::AnchorMismatch,
                format!("the anchor `{id}` belongs to `{file}`, not to `{}`", clip(path, 200)),
            )
        }
        None => note(CheckCode::AnchorNotFound, format!("the anchor `{id}` does not exist")),
    }
}

/// Says how the lines differ from what the finding claimed.
fn correct(claim: Option<Range>, spot: Spot<'_>, lines: Range, notes: &mut Vec<CheckNote>) {
    if claim == Some(lines) {
        return;
    }
    let side = if spot.kind == LineKind::Removed { " of the old file" } else { "" };
    let (code, what) = match claim {
        Some(claim) if overlaps(claim, lines) => (CheckCode::RangeAdjusted, "the lines were cut to"),
        _ => (CheckCode::LineCorrected, "the lines were corrected to"),
    };
    notes.push(note(code, format!("{what} {} to {}{side}", lines.0, lines.1)));
}

impl<'a> Shown<'a> {
    fn of(file: &FileDiff<'a>) -> Self {
        let mut spots = Vec::new();
        let mut by_text: HashMap<_, Vec<_>> = HashMap::new();
        for (hunk, lines) in file.hunks.iter().enumerate() {
            let mut at = if lines.new_lines == 0 { lines.new_start.saturating_add(1) } else { lines.new_start };
            for line in lines.lines() {
                let content = line.content.strip_suffix(b"\r").unwrap_or(line.content);
                by_text.entry(squeeze(&String::from_utf8_lossy(content))).or_default().push(spots.len());
                spots.push(Spot { hunk, kind: line.kind, old: line.old, new: line.new, at, content });
                at += u32::from(line.new.is_some());
            }
        }
        Self { spots, by_text }
    }

    /// The line that a quote is: the same text, among the claimed lines or the only one. Nearness proves nothing.
    fn quoted(&self, quote: &str, claim: Option<Range>, block: Option<&AnchorEntry>) -> Result<Spot<'a>, CheckNote> {
        let line = quote.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let mut found: Vec<_> = self.matching(line).into_iter().map(|index| self.spots[index]).collect();
        narrow(&mut found, |spot| spot.content == line.as_bytes());
        narrow(&mut found, |spot| block.is_some_and(|block| spot.is_in(block)));
        if claim.is_none() {
            narrow(&mut found, |spot| spot.kind == LineKind::Added);
        }
        let away = |spot: &Spot<'_>| claim.map_or(u32::MAX, |claim| distance(claim, spot.at));
        let rank = |spot: &Spot<'_>| {
            let kind = match spot.kind {
                LineKind::Added => 0,
                LineKind::Context => 1,
                LineKind::Removed => 2,
            };
            (away(spot), kind)
        };
        found.sort_by_key(rank);
        // A line that is still there is meant rather than one that is gone.
        let standing = found.iter().filter(|spot| spot.kind != LineKind::Removed).count();
        match found[..] {
            [] => Err(note(CheckCode::QuoteNotFound, "the quoted line stands nowhere in the file's diff")),
            [best, _, ..] if away(&best) > 0 && standing != 1 => Err(note(
                CheckCode::QuoteAmbiguous,
                "the quoted line stands in several places, none of them among the claimed lines",
            )),
            [best, ..] if away(&best) == 0 || standing == 0 => Ok(best),
            _ => Ok(found.iter().copied().find(|spot| spot.kind != LineKind::Removed).unwrap_or(found[0])),
        }
    }

    /// The lines with that text: whole, without what the diff or the list of lines puts before it, or as a part.
    fn matching(&self, line: &str) -> Vec<usize> {
        let whole = squeeze(line);
        let unmarked = whole.strip_prefix(['+', '-']).map(squeeze).unwrap_or_default();
        let unnumbered = whole.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('|').map(squeeze);
        for text in [&whole, &unmarked, &unnumbered.unwrap_or_default()] {
            if let Some(found) = self.by_text.get(text).filter(|_| !text.is_empty()) {
                return found.clone();
            }
        }
        let part = whole.trim_end_matches(['…', '.']);
        if part.chars().count() < MIN_PART_CHARS {
            return Vec::new();
        }
        let holding = self.by_text.iter().filter(|(text, _)| text.contains(part));
        let mut found: Vec<_> = holding.flat_map(|(_, found)| found).copied().collect();
        found.sort_unstable();
        found
    }

    /// The claimed range where the line is in it, else one of the same length that begins with the line.
    fn around(&self, spot: Spot<'a>, claim: Option<Range>) -> Range {
        let number = spot.number();
        if spot.kind == LineKind::Removed {
            return (number, number);
        }
        match claim {
            Some(claim) if claim.0 <= number && number <= claim.1 => self.within(spot, claim),
            Some((start, end)) if end - start < MAX_CORRECTED => self.within(spot, (number, number + (end - start))),
            _ => (number, number),
        }
    }

    fn anchored(&self, block: &AnchorEntry, claim: Option<Range>) -> Option<(Spot<'a>, Range)> {
        let (side, kind) = match block.kind {
            ChangeKind::Delete => (Side::Old, LineKind::Removed),
            ChangeKind::Add | ChangeKind::Modify => (Side::New, LineKind::Added),
        };
        let (start, end) = side_of(block, side);
        let is = |spot: &&Spot<'a>, number: u32| spot.kind == kind && spot.number() == number;
        let claimed = claim.filter(|claim| side == Side::New && overlaps(*claim, (start, end)));
        let first = claimed.map_or(start, |claim| claim.0.max(start));
        let spot = *self.spots.iter().find(|spot| is(spot, first))?;
        let lines = match claimed {
            Some(claim) => self.within(spot, claim),
            None => (start, end.min(start.saturating_add(MAX_CORRECTED - 1))),
        };
        Some((spot, lines))
    }

    /// The claimed lines as far as one hunk shows them, best where something was added. A file that is gone has old lines
    /// only.
    fn claimed(&self, claim: Option<Range>, path: &str) -> Result<(Spot<'a>, Range), CheckNote> {
        let Some(claim) = claim else {
            return Err(note(CheckCode::LineImpossible, "its line numbers cannot be"));
        };
        let is_gone = self.spots.iter().all(|spot| spot.new.is_none());
        let in_claim =
            |spot: &&Spot<'a>| (is_gone || spot.new.is_some()) && claim.0 <= spot.number() && spot.number() <= claim.1;
        let mut candidates = self.spots.iter().filter(in_claim);
        let first = candidates.next().copied();
        let added = first.into_iter().chain(candidates.copied()).find(|spot| spot.kind == LineKind::Added);
        let Some(spot) = added.or(first) else {
            let lines = if claim.0 == claim.1 {
                format!("line {}", claim.0)
            } else {
                format!("lines {} to {}", claim.0, claim.1)
            };
            return Err(note(
                CheckCode::LineNotInDiff,
                format!("the diff does not contain {lines} of `{}`", clip(path, 200)),
            ));
        };
        Ok((spot, self.within(spot, claim)))
    }

    /// A range cut to the lines that the spot's hunk shows on the spot's side.
    fn within(&self, spot: Spot<'a>, (start, end): Range) -> Range {
        let is_old = spot.kind == LineKind::Removed;
        let of_hunk = self.spots.iter().filter(|other| other.hunk == spot.hunk);
        let numbers = of_hunk.filter_map(|other| if is_old { other.old } else { other.new });
        let (first, last) = numbers.fold((u32::MAX, 0), |(first, last), n| (first.min(n), last.max(n)));
        (start.max(first), end.min(last))
    }
}

impl Spot<'_> {
    /// Its number on its own side.
    fn number(&self) -> u32 {
        self.new.or(self.old).unwrap_or_default()
    }

    fn is_in(&self, block: &AnchorEntry) -> bool {
        let side = if self.kind == LineKind::Removed { Side::Old } else { Side::New };
        overlaps(side_of(block, side), (self.number(), self.number()))
    }
}

/// Keeps the spots that a condition holds for, where it holds for any.
fn narrow<'a>(spots: &mut Vec<Spot<'a>>, condition: impl Fn(&Spot<'a>) -> bool) {
    if spots.iter().any(&condition) {
        spots.retain(condition);
    }
}

/// The block's lines on a side; a side without lines overlaps nothing.
fn side_of(block: &AnchorEntry, side: Side) -> Range {
    let (start, count) = match side {
        Side::New => (block.start_line, block.line_count),
        Side::Old => (block.old_start_line, block.old_line_count),
    };
    match count {
        0 => (u32::MAX, 0),
        _ => (start, start.saturating_add(count - 1)),
    }
}

fn overlaps(left: Range, right: Range) -> bool {
    left.0 <= right.1 && right.0 <= left.1
}

fn distance((start, end): Range, line: u32) -> u32 {
    start.saturating_sub(line).max(line.saturating_sub(end))
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
