//! The change as the report shows it: files, lines, and each finding below the line it is about.

use crate::contracts::{Finding, Severity, Side};
use crate::diff::{Diff, FileDiff, Line, LineKind};
use crate::error::clip;
use crate::view::prose::{self, Block, Span};
use crate::view::shown::{self, PatchLine, Shown, code_text, line_numbers, line_words, one_line};

/// With more lines than this, files without a finding are folded.
const UNFOLDED: usize = 400;
/// Longer lines of code are cut: they are data, and they would make the file unreadable and huge.
const LINE: usize = 2_000;

/// The findings and the files.
pub(super) struct Change {
    pub(super) index: Vec<Entry>,
    /// Findings that stand on no line of the diff.
    pub(super) elsewhere: Vec<Card>,
    pub(super) files: Vec<FileView>,
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
    pub(super) severity: &'static str,
    pub(super) category: &'static str,
    pub(super) id: String,
    pub(super) lines: String,
    pub(super) place: Option<&'static str>,
    pub(super) body: Vec<Part>,
    pub(super) quote: Option<String>,
    pub(super) unplaced: Option<String>,
    pub(super) patch: Vec<Changed>,
}

/// One line of a suggested change.
pub(super) struct Changed {
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// One file of the diff.
pub(super) struct FileView {
    pub(super) number: usize,
    pub(super) path: String,
    pub(super) old_path: Option<String>,
    pub(super) status: &'static str,
    pub(super) additions: u32,
    pub(super) deletions: u32,
    pub(super) open: bool,
    pub(super) count: usize,
    pub(super) worst: Option<&'static str>,
    /// Said instead of lines.
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
    pub(super) text: String,
}

/// A block of Markdown.
pub(super) enum Part {
    Heading(Vec<Piece>),
    Paragraph(Vec<Piece>),
    Bullets(Vec<Vec<Piece>>),
    Numbers(Vec<Vec<Piece>>),
    Code(String),
}

/// A stretch of a paragraph.
pub(super) enum Piece {
    Text(String),
    Code(String),
    Strong(String),
}

pub(super) fn change(shown: &Shown) -> Change {
    let diff = shown.parsed();
    let findings: Vec<Placed<'_>> = shown::groups(&shown.review)
        .into_iter()
        .flat_map(|group| group.findings)
        .enumerate()
        .map(|(index, finding)| Placed { finding, number: index + 1, file: file_of(&diff, finding) })
        .collect();
    let lines: usize = diff.files.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.line_count()).sum();
    let mut standing = vec![false; findings.len()];
    let files = diff.files.iter().enumerate().map(|(at, file)| {
        let of_file: Vec<_> = findings.iter().filter(|placed| placed.file == Some(at)).collect();
        view(shown, file, at, &of_file, lines <= UNFOLDED, &mut standing)
    });
    let files: Vec<_> = files.collect();
    let elsewhere = findings.iter().filter(|placed| !standing[placed.number - 1]);
    let elsewhere = elsewhere.map(|placed| card(shown, placed, true)).collect();
    let mut worst_first: Vec<_> = findings.iter().collect();
    worst_first.sort_by_key(|placed| std::cmp::Reverse(placed.finding.severity));
    Change { index: worst_first.into_iter().map(entry).collect(), elsewhere, files, big: lines > UNFOLDED }
}

/// The blocks of a text that others wrote.
pub(super) fn parts(markdown: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for block in prose::blocks(markdown) {
        match (block, parts.last_mut()) {
            (Block::Item { marker, text, .. }, Some(Part::Bullets(items))) if marker == "-" => {
                items.push(pieces(&text))
            }
            (Block::Item { marker, text, .. }, Some(Part::Numbers(items))) if marker != "-" => {
                items.push(pieces(&text))
            }
            (Block::Item { marker, text, .. }, _) if marker == "-" => parts.push(Part::Bullets(vec![pieces(&text)])),
            (Block::Item { text, .. }, _) => parts.push(Part::Numbers(vec![pieces(&text)])),
            (Block::Heading(text), _) => parts.push(Part::Heading(pieces(&text))),
            (Block::Paragraph(text), _) => parts.push(Part::Paragraph(pieces(&text))),
            (Block::Code(lines), _) => parts.push(Part::Code(lines.join("\n"))),
        }
    }
    parts
}

fn pieces(text: &str) -> Vec<Piece> {
    let piece = |span: Span<'_>| match span {
        Span::Text(text) => Piece::Text(text.to_owned()),
        Span::Code(text) => Piece::Code(text.to_owned()),
        Span::Strong(text) => Piece::Strong(text.to_owned()),
    };
    prose::spans(text).into_iter().map(piece).collect()
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

fn file_of(diff: &Diff<'_>, finding: &Finding) -> Option<usize> {
    let by_new = diff.files.iter().position(|file| file.new_path == finding.path);
    by_new.or_else(|| diff.files.iter().position(|file| file.old_path == finding.path))
}

fn view(
    shown: &Shown,
    file: &FileDiff<'_>,
    at: usize,
    findings: &[&Placed<'_>],
    unfolded: bool,
    standing: &mut [bool],
) -> FileView {
    let mut rows = Vec::new();
    let mut after: Vec<Option<usize>> = vec![None; findings.len()];
    for hunk in &file.hunks {
        let header = hunk.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        rows.push(DiffRow::Hunk(code_text(&String::from_utf8_lossy(header))));
        for line in hunk.lines() {
            let mut worst = None;
            for (index, placed) in findings.iter().enumerate().filter(|(_, placed)| stands_on(placed.finding, line)) {
                worst = worst.max(Some(placed.finding.severity));
                after[index] = Some(rows.len());
            }
            rows.push(DiffRow::Line(line_view(line, worst)));
        }
    }
    let mut below: Vec<_> =
        after.iter().zip(findings).filter_map(|(row, placed)| row.map(|row| (row, *placed))).collect();
    below.sort_by_key(|(row, placed)| (*row, placed.number));
    for (row, placed) in below.iter().rev() {
        standing[placed.number - 1] = true;
        rows.insert(row + 1, DiffRow::Card(Box::new(card(shown, placed, false))));
    }
    FileView {
        number: at + 1,
        path: one_line(file.path()),
        old_path: (file.old_path != file.new_path).then(|| one_line(&file.old_path)),
        status: file.status.name(),
        additions: file.additions,
        deletions: file.deletions,
        open: unfolded || !findings.is_empty(),
        count: findings.len(),
        worst: findings.iter().map(|placed| placed.finding.severity).max().map(Severity::name),
        note: note(file),
        rows,
    }
}

fn note(file: &FileDiff<'_>) -> Option<&'static str> {
    match (file.is_submodule, file.is_binary, file.hunks.is_empty()) {
        (true, ..) => Some("A submodule: its commits are not part of this diff."),
        (_, true, _) => Some("A binary file: there are no lines to show."),
        (.., true) => Some("The content did not change."),
        _ => None,
    }
}

fn stands_on(finding: &Finding, line: Line<'_>) -> bool {
    let number = match finding.side {
        Side::New => line.new,
        Side::Old => line.old,
    };
    number.is_some_and(|number| (finding.line_start..=finding.line_end).contains(&number))
}

fn line_view(line: Line<'_>, worst: Option<Severity>) -> LineView {
    let kind = match line.kind {
        LineKind::Added => "a",
        LineKind::Removed => "d",
        LineKind::Context => "c",
    };
    let class = worst.map_or_else(|| kind.to_owned(), |severity| format!("{kind} m-{}", severity.name()));
    let number = |side: Option<u32>| side.map(|number| number.to_string()).unwrap_or_default();
    LineView { class, old: number(line.old), new: number(line.new), text: clip(&code_text(&line.text()), LINE) }
}

fn card(shown: &Shown, placed: &Placed<'_>, alone: bool) -> Card {
    let finding = placed.finding;
    let changed = |(kind, text): (PatchLine, String)| Changed {
        class: match kind {
            PatchLine::Added => "a",
            PatchLine::Removed => "d",
            PatchLine::Context => "c",
            PatchLine::Hunk => "h",
        },
        text: clip(&text, LINE),
    };
    let patch = finding.suggested_patch.iter().flat_map(|patch| shown::patch_body(&patch.content));
    let lines = line_words(finding);
    Card {
        number: placed.number,
        file: placed.file_number(),
        severity: finding.severity.name(),
        category: finding.category.name(),
        id: one_line(&finding.finding_id),
        lines: if alone { format!("{} {lines}", one_line(&finding.path)) } else { lines },
        place: shown.place(finding).map(shown::Place::words),
        body: parts(&finding.body_markdown),
        quote: finding.quote.as_deref().filter(|_| alone).map(|quote| code_text(quote.trim())),
        unplaced: finding.unplaced.as_deref().map(one_line),
        patch: patch.map(changed).collect(),
    }
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
