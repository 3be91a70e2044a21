//! Checks each finding against the diff: where it stands is proven by its quote, its anchor or its lines, or it has no
//! place there.

use std::cmp::Reverse;
use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::paths;
use super::place::{Files, Placed};
use crate::contracts::{
    AcceptedFinding, AgentFinding, AgentReviewOutput, Anchoring, Anchors, CheckCode, CheckNote, Finding,
    RejectedFinding, Side, Validation,
};
use crate::diff::{Diff, Line};

const MAX_SUMMARY_CHARS: usize = 20_000;
const MAX_BODY_CHARS: usize = 16_000;
const MAX_QUOTE_CHARS: usize = 1_000;
/// A longer patch is dropped: half a patch is none.
const MAX_PATCH_CHARS: usize = 20_000;
const MAX_PATH_CHARS: usize = 1_000;

/// What held of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The agent's summary, clipped.
    pub summary_markdown: String,
    /// The findings that hold, worst first and otherwise in the agent's order.
    pub findings: Vec<Finding>,
    pub validation: Validation,
}

/// Checks an answer against the whole redacted diff. `checkout_prefix` is the checkout's absolute path, as an agent might
/// name it. In advisory mode a quote or anchor that exists nowhere costs a finding its place; in strict mode, its life.
pub fn check(
    output: AgentReviewOutput,
    diff: &Diff<'_>,
    anchors: &Anchors,
    anchoring: Anchoring,
    checkout_prefix: Option<&str>,
) -> Checked {
    let mut checker = Checker { files: Files::new(diff, anchors), diff, anchoring, checkout_prefix };
    let mut seen = HashSet::new();
    let mut ids = Ids::default();
    let mut validation = Validation { anchoring, accepted: Vec::new(), rejected: Vec::new() };
    let mut findings = Vec::new();
    for (index, finding) in output.findings.into_iter().enumerate() {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let path = paths::printable(&finding.path, MAX_PATH_CHARS);
        let judged = checker.judge(&finding).and_then(|verdict| {
            let same = (verdict.path.clone(), verdict.lines, finding.category, finding.body_markdown.trim().to_owned());
            let is_new = seen.insert(same);
            is_new
                .then_some(verdict)
                .ok_or_else(|| note(CheckCode::Duplicate, "the same finding stands in the answer already"))
        });
        match judged {
            Err(reason) => validation.rejected.push(RejectedFinding { index, path, reason, finding: None }),
            Ok(verdict) => {
                let finding_id = ids.take(&finding, &verdict, occurrence(diff, &verdict));
                validation.accepted.push(verdict.record(index, finding_id.clone()));
                findings.push(verdict.into_finding(finding, finding_id));
            }
        }
    }
    findings.sort_by_key(|finding| Reverse(finding.severity));
    Checked { summary_markdown: clip(&output.summary_markdown, MAX_SUMMARY_CHARS), findings, validation }
}

struct Checker<'d, 'a> {
    files: Files<'d, 'a>,
    diff: &'d Diff<'a>,
    anchoring: Anchoring,
    checkout_prefix: Option<&'d str>,
}

/// Where a finding stands, and what the checks saw on the way.
struct Verdict {
    path: String,
    lines: (u32, u32),
    side: Side,
    change_anchor: Option<String>,
    /// The line it stands on, as the diff has it.
    text: Option<String>,
    unplaced: Option<String>,
    notes: Vec<CheckNote>,
}

impl Checker<'_, '_> {
    fn judge(&mut self, finding: &AgentFinding) -> Result<Verdict, CheckNote> {
        if finding.body_markdown.trim().is_empty() {
            return Err(note(CheckCode::EmptyBody, "the finding has no text"));
        }
        let mut notes = Vec::new();
        let path = paths::normalise(&finding.path, self.diff, self.checkout_prefix);
        if let Ok(path) = &path
            && *path != finding.path
        {
            notes.push(note(CheckCode::PathNormalised, format!("`{}` was read as `{path}`", clip(&finding.path, 200))));
        }
        let claim = claim(finding.line_start, finding.line_end, &mut notes);
        let cites = self.anchoring != Anchoring::Off;
        let quote = finding.quote.as_deref().filter(|quote| cites && !quote.trim().is_empty());
        let anchor = finding.change_anchor.as_deref().filter(|anchor| cites && !anchor.trim().is_empty());
        let must_change = self.anchoring == Anchoring::Strict;
        let shown = path.clone().unwrap_or_else(|_| paths::printable(&finding.path, MAX_PATH_CHARS));
        let placed =
            path.and_then(|path| self.files.place(&path, claim.checked, quote, anchor, must_change, &mut notes));
        match placed {
            Ok(place) => Ok(Verdict::placed(place, notes)),
            Err(reason) if must_change => Err(reason),
            Err(reason) => Ok(Verdict::nowhere(shown, claim.shown, reason, notes)),
        }
    }
}

impl Verdict {
    fn placed(place: Placed, notes: Vec<CheckNote>) -> Self {
        Self {
            path: place.path,
            lines: place.lines,
            side: place.side,
            change_anchor: place.change_anchor,
            text: Some(place.text),
            unplaced: None,
            notes,
        }
    }

    fn nowhere(path: String, lines: (u32, u32), reason: CheckNote, mut notes: Vec<CheckNote>) -> Self {
        let unplaced = Some(reason.message.clone());
        if !notes.contains(&reason) {
            notes.push(reason);
        }
        Self { path, lines, side: Side::New, change_anchor: None, text: None, unplaced, notes }
    }

    fn record(&self, index: u32, finding_id: String) -> AcceptedFinding {
        AcceptedFinding {
            index,
            finding_id,
            path: self.path.clone(),
            line_start: self.lines.0,
            line_end: self.lines.1,
            placed: self.unplaced.is_none(),
            notes: self.notes.clone(),
        }
    }

    fn into_finding(self, finding: AgentFinding, finding_id: String) -> Finding {
        let fits = |content: &str| !content.trim().is_empty() && content.chars().count() <= MAX_PATCH_CHARS;
        Finding {
            finding_id,
            severity: finding.severity,
            category: finding.category,
            path: self.path,
            line_start: self.lines.0,
            line_end: self.lines.1,
            side: self.side,
            body_markdown: clip(finding.body_markdown.trim(), MAX_BODY_CHARS),
            quote: finding.quote.filter(|quote| !quote.trim().is_empty()).map(|quote| clip(&quote, MAX_QUOTE_CHARS)),
            change_anchor: self.change_anchor,
            suggested_patch: finding.suggested_patch.filter(|patch| fits(&patch.content)),
            unplaced: self.unplaced,
            look: None,
        }
    }
}

/// The lines a finding names.
struct Claim {
    /// As they can be shown.
    shown: (u32, u32),
    /// As they can be looked up; nothing when they cannot be.
    checked: Option<(u32, u32)>,
}

fn claim(start: i64, end: i64, notes: &mut Vec<CheckNote>) -> Claim {
    /// No file that a person reviews is longer, and no finding spans so many lines.
    const MAX_LINE: i64 = 10_000_000;
    const MAX_SPAN: i64 = 100_000;
    let (first, last) = (start.min(end), start.max(end));
    let as_line = |line: i64| u32::try_from(line.clamp(1, MAX_LINE)).unwrap_or(u32::MAX);
    let shown = (as_line(first), as_line(last));
    if first < 1 || last > MAX_LINE || last - first > MAX_SPAN {
        notes.push(note(CheckCode::LineImpossible, format!("lines {start} to {end} cannot be")));
        return Claim { shown, checked: None };
    }
    if start > end {
        notes.push(note(CheckCode::RangeAdjusted, format!("lines {start} to {end} were put in order")));
    }
    Claim { shown, checked: Some(shown) }
}

/// Hands out ids. They are made of what a finding is about and not of where it stands, so that they outlive edits
/// elsewhere: the file, the category, the line's words, and which of the file's equal lines it is. An id that the agent
/// gave counts for nothing, for it would name another finding the same tomorrow.
#[derive(Default)]
struct Ids {
    taken: HashSet<String>,
}

impl Ids {
    fn take(&mut self, finding: &AgentFinding, verdict: &Verdict, nth: u32) -> String {
        let about = match (&verdict.text, &finding.quote) {
            (Some(line), _) if line.chars().any(char::is_alphanumeric) => words(line),
            (_, Some(quote)) if quote.chars().any(char::is_alphanumeric) => words(quote),
            _ => words(title(&finding.body_markdown)),
        };
        let mut hash = Sha256::new();
        for part in ["diffsan-finding-1", verdict.path.as_str(), finding.category.name(), about.as_str()] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.update(nth.to_le_bytes());
        // Several of one category may be about the very same line.
        for another in 0_u32.. {
            let more = if another == 0 { hash.clone() } else { hash.clone().chain_update(another.to_le_bytes()) };
            let digits: String = more.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
            let id = format!("f-{digits}");
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
        String::new()
    }
}

/// Which of the file's equal lines of its kind this one is, counted from 0 in the diff.
fn occurrence(diff: &Diff<'_>, verdict: &Verdict) -> u32 {
    let Some((file, text)) = diff.file(&verdict.path).zip(verdict.text.as_deref().map(words)) else { return 0 };
    let (first, last) = verdict.lines;
    let is_there = |line: &Line<'_>| {
        let number = if verdict.side == Side::New { line.new } else { line.old };
        number.is_some_and(|number| (first..=last).contains(&number))
    };
    let equal: Vec<Line<'_>> = file
        .hunks
        .iter()
        .flat_map(|hunk| hunk.lines())
        .filter(|line| words(&String::from_utf8_lossy(line.content)) == text)
        .collect();
    let Some(at) = equal.iter().position(is_there) else { return 0 };
    let before = equal[..at].iter().filter(|line| line.kind == equal[at].kind).count();
    u32::try_from(before).unwrap_or(u32::MAX)
}

/// The first sentence of a body.
fn title(body: &str) -> &str {
    let line = body.trim().lines().next().unwrap_or_default();
    line.split_inclusive(". ").next().unwrap_or(line)
}

fn words(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn note(code: CheckCode, message: impl Into<String>) -> CheckNote {
    CheckNote { code, message: message.into() }
}

pub(super) fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
