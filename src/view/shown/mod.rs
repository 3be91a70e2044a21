//! What the views show: a reviewed run, and the small words and groupings that all of them share.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::contracts::{
    AgentCall, ContextCall, Conversation, Decision, EventRecord, Finding, PostKind, PostPlan, PostResults,
    RedactionReport, ReviewOutput, RunRecord, Severity, Side, TruncationReport, Validation,
};
use crate::diff::{Diff, FileDiff, Line, LineKind};
use crate::error::Result;
use crate::post::sanitize;
use crate::run::workdir::{Artifact, Workdir};
use crate::view::links::Links;

/// A reviewed run: everything a view needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// How the run ended, with its verdict.
    pub record: RunRecord,
    pub review: ReviewOutput,
    /// The redacted diff as the agent got it.
    pub diff: String,
    pub truncation: TruncationReport,
    pub redaction: RedactionReport,
    pub validation: Validation,
    pub plan: Option<PostPlan>,
    pub post: Option<PostResults>,
    pub events: Vec<EventRecord>,
    /// What became of earlier findings.
    #[serde(default)]
    pub conversation: Option<Conversation>,
    /// What the agent asked to read.
    #[serde(default)]
    pub context: Vec<ContextCall>,
}

impl Shown {
    /// The run that left these artifacts; none when there was no review.
    pub fn read(workdir: &Workdir) -> Result<Option<Self>> {
        let (Some(record), Some(review)) = (workdir.read_json(Artifact::Run)?, workdir.read_json(Artifact::Review)?)
        else {
            return Ok(None);
        };
        let text = |artifact: Artifact| {
            let bytes = workdir.read(&artifact.file_name()).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let validation = workdir.read_json(Artifact::Validation)?;
        let redaction = workdir.read_json(Artifact::Redaction)?;
        Ok(Some(Self {
            record,
            review,
            diff: text(Artifact::PreparedDiff),
            truncation: workdir.read_json(Artifact::Truncation)?.unwrap_or_default(),
            redaction: redaction.unwrap_or_else(|| RedactionReport {
                enabled: false,
                found: false,
                matches: Vec::new(),
                redaction_token: crate::redact::TOKEN.into(),
            }),
            validation: validation.unwrap_or_else(|| Validation {
                anchoring: Default::default(),
                accepted: Vec::new(),
                rejected: Vec::new(),
            }),
            plan: workdir.read_json(Artifact::PostPlan)?,
            post: workdir.read_json(Artifact::PostResults)?,
            // A run that is still writing, or was killed, may have left half a line.
            events: text(Artifact::Events).lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            conversation: workdir.read_json(Artifact::Conversation).unwrap_or_default(),
            context: text(Artifact::Context).lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        }))
    }

    /// Where the reviewed files stand in GitLab; none outside a job.
    pub(super) fn links(&self) -> Option<Links> {
        let web = self.record.web.as_ref()?;
        let fetched = self.events.iter().rev().find(|event| event.event == "diff.fetched").map(|event| &event.data);
        let sha = |key: &str| fetched.and_then(|data| data.get(key)).and_then(Value::as_str);
        let planned = self.plan.as_ref().and_then(|plan| plan.head_sha.as_deref());
        Links::new(web.project_url.as_deref()?, sha("head_sha").or(planned)?, sha("base_sha"))
    }

    /// The folder of the run, as it was named.
    pub(super) fn workdir(&self) -> Option<String> {
        self.record.artifacts.as_ref().map(|artifacts| artifacts.workdir.clone())
    }

    /// The diff as far as it can be read; a view without code lines is better than none.
    pub(super) fn parsed(&self) -> Diff<'_> {
        Diff::parse(self.diff.as_bytes()).unwrap_or_default()
    }

    /// The result in one line.
    pub(super) fn headline(&self) -> String {
        match &self.record.verdict {
            Some(verdict) => one_line(&verdict.headline),
            None => counted(self.review.findings.len() as u64, "finding"),
        }
    }

    pub(super) fn decision(&self) -> Decision {
        self.record.verdict.as_ref().map_or(Decision::Unknown, |verdict| verdict.decision)
    }

    /// How many findings stand where in the merge request, and how many did not hold.
    pub(super) fn places(&self) -> Vec<String> {
        let Some(verdict) = &self.record.verdict else { return Vec::new() };
        let there = |count: u64| if self.has_merge_request() { count } else { 0 };
        let counts = &verdict.counts;
        let words = [
            (there(counts.inline), "on lines"),
            (there(counts.summary), "in the summary"),
            (there(counts.repeated), "said before"),
            (counts.rejected, "rejected"),
            (counts.dropped, "looked at and dropped"),
        ];
        let words = words.iter().filter(|(count, _)| *count > 0);
        words.map(|(count, place)| format!("{} {place}", thousands(*count))).collect()
    }

    fn has_merge_request(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.mr_iid.is_some())
    }

    /// Where the merge request has a finding; none where there is no merge request.
    pub(super) fn place(&self, finding: &Finding) -> Option<Place> {
        let plan = self.plan.as_ref().filter(|_| self.has_merge_request())?;
        let id = &finding.finding_id;
        if plan.repeated.contains(id) {
            return Some(Place::Repeated);
        }
        if plan.withheld.contains(id) {
            return Some(Place::Withheld);
        }
        let posted = self
            .post
            .iter()
            .flat_map(|post| &post.items)
            .find(|item| item.kind == PostKind::Discussion && item.finding_id.as_deref() == Some(id));
        match posted {
            Some(item) if !item.ok => Some(Place::Failed),
            Some(item) if item.rung.as_deref() == Some("summary") => Some(Place::Summary),
            _ if plan.discussions.iter().any(|planned| planned.finding_id == *id) => Some(Place::Inline),
            _ => Some(Place::Summary),
        }
    }
}

/// Where the merge request has a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Inline,
    Summary,
    Repeated,
    Withheld,
    Failed,
}

impl Place {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Inline => "on its line",
            Self::Summary => "in the summary",
            Self::Repeated => "said before",
            Self::Withheld => "kept out of the merge request",
            Self::Failed => "could not be posted",
        }
    }
}

/// The findings of one file, worst first.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) path: &'a str,
    pub(super) findings: Vec<&'a Finding>,
}

impl Group<'_> {
    pub(super) fn worst(&self) -> Severity {
        self.findings.first().map_or(Severity::Info, |finding| finding.severity)
    }
}

/// Findings by file: the file with the worst finding first, then as the review has them.
pub(super) fn groups(review: &ReviewOutput) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in &review.findings {
        match groups.iter_mut().find(|group| group.path == finding.path) {
            Some(group) => group.findings.push(finding),
            None => groups.push(Group { path: &finding.path, findings: vec![finding] }),
        }
    }
    for group in &mut groups {
        group.findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.line_start));
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.worst()));
    groups
}

/// One row of code around a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Row {
    Code {
        number: u32,
        kind: LineKind,
        text: String,
        marked: bool,
    },
    /// Lines between the rows around it that the diff does not have or that there is no room for.
    Gap,
}

/// The lines a finding stands on, and one more on each side; empty when the diff has none of them.
pub(super) fn excerpt(diff: &Diff<'_>, finding: &Finding) -> Vec<Row> {
    /// More lines than this are shown around the point: what the finding quotes, else where it begins.
    const MOST: usize = 7;
    let Some(file) = diff.file(&finding.path) else { return Vec::new() };
    let marked = finding.line_start..=finding.line_end;
    let wanted = finding.line_start.saturating_sub(1)..=finding.line_end.saturating_add(1);
    let lines: Vec<_> = side(file, finding.side).filter(|(number, _)| wanted.contains(number)).collect();
    if !lines.iter().any(|(number, _)| marked.contains(number)) {
        return Vec::new();
    }
    let mut rows = Vec::new();
    let mut last = None;
    let count = lines.len();
    let quote = finding.quote.as_deref().map(str::trim).filter(|quote| !quote.is_empty());
    let quoted = |(number, line): &(u32, Line<'_>)| {
        marked.contains(number) && quote.is_some_and(|quote| line.text().contains(quote))
    };
    let point = lines.iter().position(quoted).unwrap_or(1);
    for (index, (number, line)) in lines.into_iter().enumerate() {
        let hidden = count > MOST && index.abs_diff(point) > 2 && index + 1 != count;
        let follows = last.is_none_or(|last: u32| last.checked_add(1) == Some(number));
        if (hidden || !follows) && rows.last() != Some(&Row::Gap) {
            rows.push(Row::Gap);
        }
        if !hidden {
            rows.push(Row::Code {
                number,
                kind: line.kind,
                text: code_text(&line.text()),
                marked: marked.contains(&number),
            });
            last = Some(number);
        } else {
            last = None;
        }
    }
    rows
}

fn side<'a>(file: &'a FileDiff<'a>, side: Side) -> impl Iterator<Item = (u32, Line<'a>)> {
    let lines = file.hunks.iter().flat_map(|hunk| hunk.lines());
    lines.filter_map(move |line| {
        let number = match side {
            Side::New => line.new,
            Side::Old => line.old,
        };
        number.map(|number| (number, line))
    })
}

/// What a line of a suggested patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchLine {
    Added,
    Removed,
    Context,
    Hunk,
}

/// The lines of a suggested patch without its file headers.
fn patch_lines(patch: &str) -> Vec<(PatchLine, String)> {
    let mut lines = Vec::new();
    let mut in_hunk = !patch.lines().any(|line| line.starts_with("@@"));
    for line in patch.trim_end().lines() {
        let kind = match line.as_bytes().first() {
            Some(b'@') if line.starts_with("@@") => PatchLine::Hunk,
            _ if !in_hunk => continue,
            Some(b'+') => PatchLine::Added,
            Some(b'-') => PatchLine::Removed,
            Some(b'\\') => continue,
            _ => PatchLine::Context,
        };
        in_hunk = true;
        let text = if kind == PatchLine::Hunk { line } else { line.get(1..).unwrap_or_default() };
        lines.push((kind, code_text(text)));
    }
    lines
}

/// The lines of a suggested patch; the header of a single hunk says nothing more.
pub(super) fn patch_body(patch: &str) -> Vec<(PatchLine, String)> {
    let lines = patch_lines(patch);
    let hunks = lines.iter().filter(|(kind, _)| *kind == PatchLine::Hunk).count();
    lines.into_iter().filter(|(kind, _)| hunks > 1 || *kind != PatchLine::Hunk).collect()
}

/// `13` or `13-15`.
pub(super) fn line_numbers(finding: &Finding) -> String {
    if finding.line_start == finding.line_end {
        finding.line_start.to_string()
    } else {
        format!("{}-{}", finding.line_start, finding.line_end)
    }
}

/// `line 13`, `lines 13-15`, `removed line 13`.
pub(super) fn line_words(finding: &Finding) -> String {
    let removed = if finding.side == Side::Old { "removed " } else { "" };
    let plural = if finding.line_start == finding.line_end { "" } else { "s" };
    format!("{removed}line{plural} {}", line_numbers(finding))
}

pub(super) fn decision_words(decision: Decision) -> &'static str {
    match decision {
        Decision::Passed => "Passed",
        Decision::ReviewRequired => "Review required",
        Decision::InsufficientEvidence => "Insufficient evidence",
        Decision::Blocked => "Blocked",
        Decision::Skipped => "Skipped",
        Decision::Unknown => "Unknown",
    }
}

/// The name of a decision as `run.json` spells it.
pub(super) fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Passed => "passed",
        Decision::ReviewRequired => "review_required",
        Decision::InsufficientEvidence => "insufficient_evidence",
        Decision::Blocked => "blocked",
        Decision::Skipped => "skipped",
        Decision::Unknown => "unknown",
    }
}

/// Text of others for a reader: nothing in it can drive a terminal or reorder a line.
pub(super) fn clean(text: &str) -> String {
    sanitize::visible(text, &mut sanitize::Counts::new())
}

/// Whether a suggested change can be applied: where a secret was replaced, the file has other lines.
pub(super) fn can_apply(patch: &str) -> bool {
    !patch.contains(crate::redact::TOKEN)
}

/// The command that takes a suggested change over.
pub(super) fn apply_command(finding: &Finding, workdir: Option<&str>) -> String {
    let command = format!("diffsan apply {}", one_line(&finding.finding_id));
    match workdir.filter(|workdir| *workdir != ".diffsan") {
        Some(workdir) => format!("{command} --workdir {}", shlex::try_quote(workdir).unwrap_or_default()),
        None => command,
    }
}

/// The first sentence of a finding, without its marks.
pub(super) fn title(markdown: &str) -> String {
    /// Most characters of a title.
    const TITLE: usize = 160;
    let first = markdown.trim().lines().next().unwrap_or_default();
    let title = one_line(first).replace("**", "").replace('`', "");
    let sentence = title.find(". ").map_or(title.as_str(), |end| &title[..=end]);
    crate::error::clip(sentence, TITLE)
}

/// Text of others on one line.
pub(super) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line of code: tabs as four blanks, nothing hidden.
pub(super) fn code_text(text: &str) -> String {
    let text = text.strip_suffix('\r').unwrap_or(text);
    let text = if text.contains('\t') { Cow::Owned(text.replace('\t', "    ")) } else { Cow::Borrowed(text) };
    clean(&text).replace('\n', "[U+000D]")
}

/// At most so many columns; what was longer ends in an ellipsis.
pub(super) fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let mut kept = String::new();
    for letter in text.chars() {
        let width = letter.width().unwrap_or(0);
        if used + width + 1 > columns {
            break;
        }
        used += width;
        kept.push(letter);
    }
    kept.push('…');
    Cow::Owned(kept)
}

/// `1 finding`, `2 findings`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// `12,345`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `350 ms`, `12.3 s`, `3 min 5 s`.
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// What the agent used, as far as it said.
pub(super) fn tokens(shown: &Shown) -> Option<String> {
    let usage = &shown.review.meta.token_usage;
    let mut words = Vec::new();
    if let Some(read) = usage.input_tokens {
        let cached = usage.cached_input_tokens.filter(|cached| *cached > 0);
        let cached = cached.map(|cached| format!(" ({} cached)", thousands(cached))).unwrap_or_default();
        words.push(format!("{} tokens in{cached}", thousands(read)));
    }
    if let Some(written) = usage.output_tokens {
        words.push(format!("{} out", thousands(written)));
    }
    if let Some(reasoning) = usage.reasoning_tokens.filter(|count| *count > 0) {
        words.push(format!("{} reasoning", thousands(reasoning)));
    }
    if let Some(cost) = usage.cost_usd {
        words.push(format!("${cost:.4}"));
    }
    let calls = &shown.review.meta.calls;
    if calls.len() > 1 {
        let each: Vec<String> = calls.iter().map(one_call).collect();
        words.push(format!("{} calls ({})", calls.len(), each.join("; ")));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// `second look: 12.3 s, $0.0100`.
fn one_call(call: &AgentCall) -> String {
    let cost = call.token_usage.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    let failed = if call.error.is_some() { ", no answer" } else { "" };
    format!("{}: {}{cost}{failed}", call.part, duration(call.duration_ms))
}

/// `5 of 7 hunks in 3 of 4 files`.
pub(super) fn coverage(shown: &Shown) -> String {
    let (coverage, files) = (&shown.truncation.coverage, &shown.truncation);
    format!(
        "{} of {} in {} of {}",
        thousands(coverage.hunks_sent),
        counted(coverage.hunks_total, "hunk"),
        thousands(files.final_files.saturating_sub(coverage.hunks_binary)),
        counted(files.original_files, "file")
    )
}

/// What was not reviewed, one line each: the sums first, then the files.
pub(super) fn left_out(shown: &Shown) -> LeftOut {
    let (report, coverage) = (&shown.truncation, &shown.truncation.coverage);
    let sums = [
        (coverage.hunks_cut, "shown in part"),
        (coverage.hunks_dropped, "left out by a limit"),
        (coverage.hunks_ignored, "ignored by configuration"),
        (coverage.hunks_unavailable, "not to be had from GitLab"),
    ];
    let binary = (coverage.hunks_binary > 0).then(|| counted(coverage.hunks_binary, "binary file"));
    let sums =
        sums.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{} {why}", counted(*count, "hunk")));
    let cut = report
        .items
        .iter()
        .map(|item| LeftOutItem { path: item.path.as_deref().map(one_line), why: one_line(&item.details) });
    let ignored = report
        .ignored_paths
        .iter()
        .map(|path| LeftOutItem { path: Some(one_line(path)), why: "ignored by configuration".to_owned() });
    let binaries: Vec<LeftOutItem> = coverage
        .not_reviewed
        .iter()
        .filter(|file| file.why == crate::contracts::LeftOut::Binary)
        .map(|file| LeftOutItem {
            path: Some(one_line(&file.path)),
            why: "binary: there is no text to review".to_owned(),
        })
        .collect();
    let listed = (report.items.len() + report.ignored_paths.len() + binaries.len()) as u64;
    LeftOut {
        sums: sums.chain(binary).collect(),
        unlisted: (report.items_total + report.ignored_total + coverage.hunks_binary).saturating_sub(listed),
        items: cut.chain(binaries).chain(ignored).collect(),
    }
}

/// What was not reviewed.
#[derive(Debug)]
pub(super) struct LeftOut {
    pub(super) sums: Vec<String>,
    pub(super) items: Vec<LeftOutItem>,
    /// Items that the report counts and does not list.
    pub(super) unlisted: u64,
}

impl LeftOut {
    pub(super) fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.items.is_empty()
    }
}

/// One thing that was not reviewed.
#[derive(Debug)]
pub(super) struct LeftOutItem {
    pub(super) path: Option<String>,
    pub(super) why: String,
}

#[cfg(test)]
pub(super) mod sample;
#[cfg(test)]
mod tests;
