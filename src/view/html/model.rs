//! The change on the page: every file with its lines, and each finding below the line it is about.

use super::Room;
use crate::contracts::{Finding, Severity, Side};
use crate::diff::{Diff, FileDiff, Line, LineKind};
use crate::error::clip;
use crate::view::links::Links;
use crate::view::rich;
use crate::view::shown::{self, PatchLine, Shown, code_text, line_numbers, line_words, one_line};
use crate::view::words::{self, Stretch};

/// With more lines than this, files without a finding are folded.
const UNFOLDED: usize = 400;
/// Longer lines of code are cut: they are data, and they would make the file unreadable and huge.
const LINE: usize = 2_000;
/// What a row costs beside its text.
const ROW: usize = 55;
/// Of a file that is too large only so many lines around each finding are shown.
const AROUND: u32 = 12;

/// The findings and the files.
pub(super) struct Change {
    pub(super) index: Vec<Entry>,
    /// Findings that stand on no line that is shown.
    pub(super) elsewhere: Vec<Card>,
    /// Findings that there was no room for.
    pub(super) unlisted: usize,
    pub(super) files: Vec<FileView>,
    /// Files that are not even named, for want of room.
    pub(super) more_files: usize,
    /// So many lines that drawing those out of sight would be felt.
    pub(super) big: bool,
}

/// One finding in the list of all.
pub(super) struct Entry {
    pub(super) number: usize,
    pub(super) file: String,
    pub(super) severity: &'static str,
    pub(super) title: String,
    pub(super) place: String,
}

/// One finding in full.
pub(super) struct Card {
    pub(super) number: usize,
    /// Number of its file; empty where the diff does not have it.
    pub(super) file: String,
    /// Level of its heading, one below what it stands under.
    pub(super) level: u8,
    pub(super) severity: &'static str,
    pub(super) category: &'static str,
    pub(super) id: String,
    pub(super) lines: String,
    /// Its place in GitLab.
    pub(super) url: Option<String>,
    pub(super) place: Option<&'static str>,
    /// HTML of diffsan's own tags.
    pub(super) body: String,
    pub(super) quote: Option<String>,
    pub(super) unplaced: Option<String>,
    pub(super) patch: Vec<Changed>,
    /// The patch as `git apply` takes it, and the command that applies it.
    pub(super) apply: Option<Apply>,
}

/// How a suggested change is taken over.
pub(super) struct Apply {
    pub(super) command: String,
    pub(super) patch: String,
}

/// One line of a suggested change.
pub(super) struct Changed {
    pub(super) class: &'static str,
    pub(super) text: Vec<Stretch>,
}

/// One file of the diff.
pub(super) struct FileView {
    pub(super) number: usize,
    pub(super) path: String,
    pub(super) url: Option<String>,
    pub(super) old_path: Option<String>,
    pub(super) status: &'static str,
    pub(super) additions: u32,
    pub(super) deletions: u32,
    pub(super) open: bool,
    pub(super) count: usize,
    pub(super) worst: Option<&'static str>,
    /// Said before or instead of lines.
    pub(super) note: Option<&'static str>,
    pub(super) rows: Vec<DiffRow>,
}

/// One row of a file.
pub(super) enum DiffRow {
    Hunk(String),
    Line(LineView),
    Card(Box<Card>),
}

/// One line of a file.
pub(super) struct LineView {
    pub(super) class: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) text: Vec<Stretch>,
}

pub(super) fn change(shown: &Shown, room: &Room) -> Change {
    let diff = shown.parsed();
    let page = Page { shown, room, links: shown.links(), workdir: shown.workdir() };
    let all: Vec<Placed<'_>> = shown::groups(&shown.review)
        .into_iter()
        .flat_map(|group| group.findings)
        .enumerate()
        .map(|(index, finding)| Placed { finding, number: index + 1, file: file_of(&diff, finding) })
        .collect();
    let mut worst_first: Vec<_> = all.iter().collect();
    worst_first.sort_by_key(|placed| std::cmp::Reverse(placed.finding.severity));
    let listed: Vec<_> = worst_first.into_iter().take(room.findings).collect();
    let lines: usize = diff.files.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.line_count()).sum();
    let mut standing = vec![false; all.len() + 1];
    let mut files = Vec::new();
    let mut left = room.lines;
    for at in by_findings(&diff, &listed) {
        let of_file: Vec<_> = listed.iter().copied().filter(|placed| placed.file == Some(at)).collect();
        let extent = extent(&diff.files[at], !of_file.is_empty(), &mut left);
        if files.len() < room.files || !of_file.is_empty() {
            files.push(page.file(&diff.files[at], at, &of_file, extent, lines <= UNFOLDED, &mut standing));
        }
    }
    files.sort_by_key(|file| file.number);
    let elsewhere = listed.iter().filter(|placed| !standing[placed.number]);
    let elsewhere = elsewhere.map(|placed| page.card(placed, true)).collect();
    Change {
        index: listed.iter().map(|placed| entry(placed)).collect(),
        elsewhere,
        unlisted: all.len() - listed.len(),
        more_files: diff.files.len() - files.len(),
        files,
        big: lines > UNFOLDED,
    }
}

/// A finding, its number on the page and its file in the diff.
struct Placed<'a> {
    finding: &'a Finding,
    number: usize,
    file: Option<usize>,
}

impl Placed<'_> {
    fn file_number(&self) -> String {
        self.file.map(|at| (at + 1).to_string()).unwrap_or_default()
    }
}

/// How much of a file is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    All,
    Around,
    Nothing,
}

/// Files with findings first: they are shown while there is room.
fn by_findings(diff: &Diff<'_>, findings: &[&Placed<'_>]) -> Vec<usize> {
    let mut order: Vec<_> = (0..diff.files.len()).collect();
    order.sort_by_key(|at| !findings.iter().any(|placed| placed.file == Some(*at)));
    order
}

fn extent(file: &FileDiff<'_>, has_findings: bool, left: &mut usize) -> Extent {
    let cost: usize = file.hunks.iter().map(|hunk| hunk.bytes.len() + hunk.line_count() * ROW).sum();
    if cost <= *left {
        *left -= cost;
        Extent::All
    } else if has_findings && *left > 0 {
        Extent::Around
    } else {
        Extent::Nothing
    }
}

fn file_of(diff: &Diff<'_>, finding: &Finding) -> Option<usize> {
    let by_new = diff.files.iter().position(|file| file.new_path == finding.path);
    by_new.or_else(|| diff.files.iter().position(|file| file.old_path == finding.path))
}

struct Page<'a> {
    shown: &'a Shown,
    room: &'a Room,
    links: Option<Links>,
    workdir: Option<String>,
}

impl Page<'_> {
    fn file(
        &self,
        file: &FileDiff<'_>,
        at: usize,
        findings: &[&Placed<'_>],
        extent: Extent,
        unfolded: bool,
        standing: &mut [bool],
    ) -> FileView {
        let rows = if extent == Extent::Nothing { Vec::new() } else { self.rows(file, findings, extent, standing) };
        FileView {
            number: at + 1,
            path: one_line(file.path()),
            url: self.links.as_ref().and_then(|links| links.file(file.path(), None)),
            old_path: (file.old_path != file.new_path).then(|| one_line(&file.old_path)),
            status: file.status.name(),
            additions: file.additions,
            deletions: file.deletions,
            open: (unfolded && extent == Extent::All) || !findings.is_empty(),
            count: findings.len(),
            worst: findings.iter().map(|placed| placed.finding.severity).max().map(Severity::name),
            note: note(file, extent),
            rows,
        }
    }

    fn rows(
        &self,
        file: &FileDiff<'_>,
        findings: &[&Placed<'_>],
        extent: Extent,
        standing: &mut [bool],
    ) -> Vec<DiffRow> {
        let mut rows = Vec::new();
        let mut after: Vec<Option<usize>> = vec![None; findings.len()];
        for hunk in &file.hunks {
            let header = hunk.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let lines: Vec<_> = hunk.lines().collect();
            let near = |line: &Line<'_>| extent == Extent::All || findings.iter().any(|placed| is_near(placed, *line));
            if lines.iter().any(near) {
                rows.push(DiffRow::Hunk(code_text(&String::from_utf8_lossy(header))));
            }
            for (line, text) in lines.iter().zip(marked_lines(&lines)) {
                let mut worst = None;
                for (index, placed) in findings.iter().enumerate() {
                    if stands_on(placed.finding, *line) {
                        worst = worst.max(Some(placed.finding.severity));
                        after[index] = Some(rows.len());
                    }
                }
                if near(line) {
                    rows.push(DiffRow::Line(line_view(*line, text, worst)));
                }
            }
        }
        let below = after.iter().zip(findings).filter_map(|(row, placed)| row.map(|row| (row, *placed)));
        let mut below: Vec<_> = below.collect();
        below.sort_by_key(|(row, placed)| (*row, placed.number));
        for (row, placed) in below.iter().rev() {
            standing[placed.number] = true;
            rows.insert((row + 1).min(rows.len()), DiffRow::Card(Box::new(self.card(placed, false))));
        }
        rows
    }

    fn card(&self, placed: &Placed<'_>, alone: bool) -> Card {
        let finding = placed.finding;
        let lines = line_words(finding);
        let level = if alone { 3 } else { 4 };
        let patch = finding.suggested_patch.as_ref().map(|patch| patch.content.as_str());
        Card {
            number: placed.number,
            file: placed.file_number(),
            level,
            severity: finding.severity.name(),
            category: finding.category.name(),
            id: one_line(&finding.finding_id),
            lines: if alone { format!("{} {lines}", one_line(&finding.path)) } else { lines },
            url: self.links.as_ref().and_then(|links| links.finding(finding)),
            place: self.shown.place(finding).map(shown::Place::words),
            body: rich::html(&clip(&finding.body_markdown, self.room.body), level + 1),
            quote: finding.quote.as_deref().filter(|_| alone).map(|quote| clip(&code_text(quote.trim()), LINE)),
            unplaced: finding.unplaced.as_deref().map(one_line),
            patch: patch.map(|patch| changed(&clip(patch, self.room.body))).unwrap_or_default(),
            apply: patch.filter(|patch| patch.len() <= self.room.body && shown::can_apply(patch)).map(|patch| Apply {
                command: shown::apply_command(finding, self.workdir.as_deref()),
                patch: shown::clean(patch),
            }),
        }
    }
}

fn note(file: &FileDiff<'_>, extent: Extent) -> Option<&'static str> {
    match (file.is_submodule, file.is_binary, file.hunks.is_empty(), extent) {
        (true, ..) => Some("A submodule: its commits are not part of this diff."),
        (_, true, ..) => Some("A binary file: there are no lines to show."),
        (_, _, true, _) => Some("The content did not change."),
        (.., Extent::Around) => Some("This file is large: only the lines around its findings are shown here."),
        (.., Extent::Nothing) => {
            Some("Not shown, so that this page stays small: the lines are in diff.prepared.patch.")
        }
        (.., Extent::All) => None,
    }
}

fn on_side(finding: &Finding, line: Line<'_>) -> Option<u32> {
    match finding.side {
        Side::New => line.new,
        Side::Old => line.old,
    }
}

fn stands_on(finding: &Finding, line: Line<'_>) -> bool {
    on_side(finding, line).is_some_and(|number| (finding.line_start..=finding.line_end).contains(&number))
}

fn is_near(placed: &Placed<'_>, line: Line<'_>) -> bool {
    let finding = placed.finding;
    // Of a long range its end is shown: the finding stands below it.
    let from = finding.line_start.max(finding.line_end.saturating_sub(AROUND)).saturating_sub(AROUND);
    let near = from..=finding.line_end.saturating_add(AROUND);
    on_side(finding, line).is_some_and(|number| near.contains(&number))
}

/// The lines of a hunk with the words marked that changed between a removed line and the one that replaces it.
fn marked_lines(lines: &[Line<'_>]) -> Vec<Vec<Stretch>> {
    let text = |line: &Line<'_>| clip(&code_text(&line.text()), LINE);
    let mut marked: Vec<_> = lines.iter().map(|line| words::plain(text(line))).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line.kind).collect();
    for (old, new) in pairs(&kinds, LineKind::Removed, LineKind::Added) {
        if let Some((before, after)) = words::marks(&marked[old][0].text, &marked[new][0].text) {
            (marked[old], marked[new]) = (before, after);
        }
    }
    marked
}

/// Which line replaces which: a run of removed lines and as many added ones right after it.
fn pairs<K: PartialEq + Copy>(kinds: &[K], removed: K, added: K) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut at = 0;
    while at < kinds.len() {
        let run = |from: usize, kind: K| kinds[from..].iter().take_while(|known| **known == kind).count();
        let gone = run(at, removed);
        let come = run(at + gone, added);
        if gone == come {
            pairs.extend((0..gone).map(|step| (at + step, at + gone + step)));
        }
        at += (gone + come).max(1);
    }
    pairs
}

fn line_view(line: Line<'_>, text: Vec<Stretch>, worst: Option<Severity>) -> LineView {
    let kind = match line.kind {
        LineKind::Added => "a",
        LineKind::Removed => "d",
        LineKind::Context => "c",
    };
    let class = worst.map_or_else(|| kind.to_owned(), |severity| format!("{kind} m-{}", severity.name()));
    let number = |side: Option<u32>| side.map(|number| number.to_string()).unwrap_or_default();
    LineView { class, old: number(line.old), new: number(line.new), text }
}

fn changed(patch: &str) -> Vec<Changed> {
    let lines = shown::patch_body(patch);
    let kinds: Vec<_> = lines.iter().map(|(kind, _)| *kind).collect();
    let mut changed: Vec<_> = lines
        .into_iter()
        .map(|(kind, text)| Changed {
            class: match kind {
                PatchLine::Added => "a",
                PatchLine::Removed => "d",
                PatchLine::Context => "c",
                PatchLine::Hunk => "h",
            },
            text: words::plain(clip(&text, LINE)),
        })
        .collect();
    for (old, new) in pairs(&kinds, PatchLine::Removed, PatchLine::Added) {
        if let Some((before, after)) = words::marks(&changed[old].text[0].text, &changed[new].text[0].text) {
            (changed[old].text, changed[new].text) = (before, after);
        }
    }
    changed
}

fn entry(placed: &Placed<'_>) -> Entry {
    let finding = placed.finding;
    Entry {
        number: placed.number,
        file: placed.file_number(),
        severity: finding.severity.name(),
        title: shown::title(&finding.body_markdown),
        place: format!("{}:{}", one_line(&finding.path), line_numbers(finding)),
    }
}
