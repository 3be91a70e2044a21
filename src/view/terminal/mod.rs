//! A review on a terminal, or in a job log: findings where they stand, then what a reader should know.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr as _;

use super::links::Links;
use super::prose;
use super::shown::{
    self, Group, PatchLine, Place, Row, Shown, counted, duration, fit, line_words, one_line, thousands,
};
use crate::contracts::{Decision, Finding, GateStatus, PostKind, Severity};
use crate::diff::{Diff, LineKind};

/// Longer lines of prose are hard to read.
const PROSE: usize = 100;
/// Fewer columns than this are treated as this many.
const NARROWEST: usize = 40;
/// Rows of a list before the rest becomes a count.
const LISTED: usize = 10;
/// Rows of a suggested change before the rest becomes a count.
const PATCH_ROWS: usize = 40;

/// What the text will be shown on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// Columns.
    pub width: usize,
    /// A GitLab job log that renders escape codes: parts become collapsible sections.
    pub is_ci_log: bool,
    /// Where the files are, on a terminal that makes links of texts.
    pub root: Option<PathBuf>,
}

/// The review with styles; the console removes them where colour is off.
pub fn terminal(shown: &Shown, look: &Look) -> String {
    let look = Look { width: look.width.max(NARROWEST), ..look.clone() };
    let diff = shown.parsed();
    let mut page = Page { look, text: String::new(), at: moment(shown), open: None, sections: 0, links: shown.links() };
    page.head(shown);
    for group in shown::groups(&shown.review) {
        page.file(shown, &diff, &group);
    }
    page.summary(shown);
    page.left_out(shown);
    page.redacted(shown);
    page.rejected(shown);
    page.posted(shown);
    page.run(shown);
    page.text
}

/// Seconds since 1970 of the last event; the sections of a job log carry a time.
fn moment(shown: &Shown) -> i64 {
    let last = shown.events.last().and_then(|event| super::timeline::moment(&event.ts));
    last.map_or(0, |moment| moment.unix_timestamp())
}

struct Page {
    look: Look,
    text: String,
    at: i64,
    open: Option<String>,
    sections: usize,
    links: Option<Links>,
}

impl Page {
    fn head(&mut self, shown: &Shown) {
        let style = decision_style(shown.decision());
        let mark = match shown.decision() {
            Decision::Passed => "✓",
            Decision::ReviewRequired => "●",
            Decision::InsufficientEvidence => "◐",
            Decision::Blocked | Decision::Unknown => "✗",
            Decision::Skipped => "○",
        };
        self.text.push('\n');
        for (index, line) in prose::wrapped(&shown.headline(), self.prose_width() - 2).iter().enumerate() {
            let lead = if index == 0 { mark } else { " " };
            let _ = writeln!(self.text, "{style}{lead} {line}{style:#}");
        }
        let mut facts = vec![format!("verdict {}", shown::decision_name(shown.decision()))];
        facts.push(format!("{} reviewed by {}", shown::coverage(shown), shown.review.meta.agent.name()));
        if let Some(verdict) = &shown.record.verdict {
            facts.extend(shown.places());
            if let Some(bound) = verdict.gate.fail_on {
                let state = if verdict.gate.status == GateStatus::Closed { "closed" } else { "open" };
                facts.push(format!("gate at {} is {state}", bound.name()));
            }
        }
        self.dim_wrapped(&facts.join(" · "), "  ");
        if let Some(words) = &shown.record.compared {
            self.dim_wrapped(&format!("compared {}", one_line(words)), "  ");
        }
    }

    fn file(&mut self, shown: &Shown, diff: &Diff<'_>, group: &Group<'_>) {
        let count = counted(group.findings.len() as u64, "finding");
        let path = one_line(group.path);
        let header = fit_path(&path, self.look.width.saturating_sub(count.len() + 3));
        let style = Style::new().bold();
        let rule = self.look.width.min(PROSE).saturating_sub(header.width() + count.len() + 2);
        let faint = self.faint();
        let header = self.linked(group.path, None, &header);
        let title = format!("{style}{header}{style:#} {faint}{}{faint:#} {count}", "─".repeat(rule));
        self.section(&title, false);
        for finding in &group.findings {
            self.finding(shown, diff, finding);
        }
    }

    fn finding(&mut self, shown: &Shown, diff: &Diff<'_>, finding: &Finding) {
        self.text.push('\n');
        let style = severity_style(finding.severity);
        let (severity, category) = (finding.severity.name(), finding.category.name());
        let place = shown.place(finding).filter(|place| *place != Place::Inline);
        let mut facts = vec![line_words(finding), one_line(&finding.finding_id)];
        facts.extend(place.map(|place| place.words().to_owned()));
        let facts = facts.join(" · ");
        let _ = write!(self.text, "  {style}{severity}{style:#} {category}");
        let faint = self.faint();
        if severity.len() + category.len() + facts.width() + 6 <= self.look.width {
            // The line's link is added last: its address has no width.
            let lines = line_words(finding);
            let linked = self.linked(&finding.path, Some(finding.line_start), &lines);
            let facts = facts.strip_prefix(&lines).unwrap_or(&facts);
            let _ = writeln!(self.text, " {faint}· {linked}{facts}{faint:#}");
        } else {
            self.text.push('\n');
            self.dim_wrapped(&facts, "  ");
        }
        if let Some(url) = self.links.as_ref().and_then(|links| links.finding(finding)).filter(|_| self.look.is_ci_log)
        {
            let _ = writeln!(self.text, "  {faint}{url}{faint:#}");
        }
        let rows = shown::excerpt(diff, finding);
        self.code(&rows, finding);
        if rows.is_empty()
            && let Some(quote) = &finding.quote
        {
            let quote = shown::code_text(quote.trim());
            let _ = writeln!(self.text, "  {faint}>{faint:#} {}", fit(&quote, self.look.width - 4));
        }
        self.text.push_str(&prose::terminal(&finding.body_markdown, self.prose_width(), "  "));
        if let Some(reason) = &finding.unplaced {
            self.dim_wrapped(&format!("It has no place in the diff: {}", one_line(reason)), "  ");
        }
        if let Some(patch) = &finding.suggested_patch {
            self.patch(&patch.content);
            if shown::can_apply(&patch.content) {
                let command = shown::apply_command(finding, shown.workdir().as_deref());
                self.dim_wrapped(&command, "    ");
            }
        }
    }

    /// The lines with numbers: carets under a single line, a bar beside several.
    fn code(&mut self, rows: &[Row], finding: &Finding) {
        let style = mark_style(finding.severity);
        let faint = self.faint();
        let digits = rows.iter().filter_map(number).max().map_or(0, |most| most.to_string().len());
        let several = rows.iter().filter(|row| matches!(row, Row::Code { marked: true, .. })).count() > 1;
        let room = self.look.width.saturating_sub(digits + 7);
        for row in rows {
            let Row::Code { number, kind, text, marked } = row else {
                let _ = writeln!(self.text, "  {faint}  {:>digits$}{faint:#}", "⋮");
                continue;
            };
            let (sign, colour) = match kind {
                LineKind::Added => ('+', Style::new().fg_color(Some(AnsiColor::Green.into()))),
                LineKind::Removed => ('-', Style::new().fg_color(Some(AnsiColor::Red.into()))),
                LineKind::Context => (' ', Style::new()),
            };
            let bar = if *marked && several { "┃" } else { " " };
            let (text, skip, length) = around(text, finding.quote.as_deref(), room);
            let line = format!("{sign} {text}");
            let start = format!("  {style}{bar}{style:#} {faint}{number:>digits$}{faint:#}");
            let _ = writeln!(self.text, "{start} {colour}{}{colour:#}", line.trim_end());
            if *marked && !several {
                let blanks = " ".repeat(digits + 7 + skip);
                let _ = writeln!(self.text, "{blanks}{style}{}{style:#}", "^".repeat(length));
            }
        }
    }

    fn patch(&mut self, patch: &str) {
        let lines = shown::patch_body(patch);
        let heading = Style::new().bold();
        let _ = writeln!(self.text, "\n  {heading}Suggested change{heading:#}");
        for (kind, text) in lines.iter().take(PATCH_ROWS) {
            let (sign, style) = match kind {
                PatchLine::Added => ("+ ", Style::new().fg_color(Some(AnsiColor::Green.into()))),
                PatchLine::Removed => ("- ", Style::new().fg_color(Some(AnsiColor::Red.into()))),
                PatchLine::Context => ("  ", Style::new()),
                PatchLine::Hunk => ("", Style::new().fg_color(Some(AnsiColor::Cyan.into()))),
            };
            let line = format!("{sign}{}", fit(text, self.look.width - 6));
            let _ = writeln!(self.text, "    {style}{}{style:#}", line.trim_end());
        }
        self.more(lines.len().saturating_sub(PATCH_ROWS), "line", "review.json");
    }

    fn summary(&mut self, shown: &Shown) {
        if shown.review.summary_markdown.trim().is_empty() {
            return;
        }
        self.heading("Summary", false);
        self.text.push_str(&prose::terminal(&shown.review.summary_markdown, self.prose_width(), "  "));
    }

    fn left_out(&mut self, shown: &Shown) {
        let left = shown::left_out(shown);
        if left.is_empty() {
            return;
        }
        self.heading("Not reviewed", true);
        let sums = left.sums.join(", ");
        if !sums.is_empty() {
            self.wrapped(&sums, "  ");
        }
        for item in left.items.iter().take(LISTED) {
            let line = match &item.path {
                Some(path) => format!("{path}: {}", item.why),
                None => item.why.clone(),
            };
            self.wrapped(&line, "  - ");
        }
        let rest = left.items.len().saturating_sub(LISTED) + usize::try_from(left.unlisted).unwrap_or(usize::MAX);
        self.more(rest, "item", "truncation.json");
    }

    fn redacted(&mut self, shown: &Shown) {
        let report = &shown.redaction;
        if !report.found {
            if !report.enabled {
                self.heading("Redacted", false);
                self.wrapped("The secret rules are switched off: only values known to be secret were removed.", "  ");
            }
            return;
        }
        self.heading("Redacted", true);
        let count = counted(report.matches.len() as u64, "secret");
        self.wrapped(&format!("{count} removed before anything left this machine"), "  ");
        for secret in report.matches.iter().take(LISTED) {
            let path = secret.path.as_deref().map_or_else(|| "?".to_owned(), one_line);
            let line = secret.line_hint.map(|line| format!(":{line}")).unwrap_or_default();
            self.wrapped(&format!("{} in {path}{line}", one_line(&secret.pattern_name)), "  - ");
        }
        self.more(report.matches.len().saturating_sub(LISTED), "secret", "redaction.json");
    }

    fn rejected(&mut self, shown: &Shown) {
        let rejected = &shown.validation.rejected;
        if rejected.is_empty() {
            return;
        }
        self.heading("Rejected", true);
        self.wrapped(&format!("{} did not hold", counted(rejected.len() as u64, "finding")), "  ");
        for finding in rejected.iter().take(LISTED) {
            let (code, why) = (finding.reason.code.name(), one_line(&finding.reason.message));
            self.wrapped(&format!("{}: {why} ({code})", one_line(&finding.path)), "  - ");
        }
        self.more(rejected.len().saturating_sub(LISTED), "finding", "validation.json");
    }

    fn posted(&mut self, shown: &Shown) {
        let Some(post) = &shown.post else { return };
        self.heading("Posted", false);
        let discussions = post.items.iter().filter(|item| item.kind == PostKind::Discussion);
        let there = discussions.clone().filter(|item| item.ok).count();
        let all = discussions.count();
        let note = post.items.iter().any(|item| item.kind == PostKind::SummaryNote && item.ok);
        let note = if note { "the summary note" } else { "no summary note" };
        self.wrapped(&format!("{there} of {} and {note}", counted(all as u64, "discussion")), "  ");
        for error in post.items.iter().filter_map(|item| item.error.as_ref()).take(LISTED) {
            self.wrapped(&format!("{} ({})", one_line(&error.message), error.error_code.name()), "  - ");
        }
    }

    fn run(&mut self, shown: &Shown) {
        self.heading("Run", false);
        let (record, meta) = (&shown.record, &shown.review.meta);
        let mut time = format!("{} in all", duration(record.duration_ms));
        let _ = write!(time, ", {} {}", meta.agent.name(), duration(meta.timings.duration_ms));
        self.fact("time", &time);
        if let Some(tokens) = shown::tokens(shown) {
            self.fact("tokens", &tokens);
        }
        for problem in record.diagnostics.iter().take(LISTED) {
            self.fact("warning", &format!("{} ({})", one_line(&problem.message), problem.error_code.name()));
        }
        if let Some(artifacts) = &record.artifacts {
            let report = artifacts.files.iter().any(|name| name == "report.html");
            let report = if report { " (open report.html)" } else { "" };
            self.fact("artifacts", &format!("{}{report}", one_line(&artifacts.workdir)));
        }
        if let Some(action) = record.verdict.as_ref().map(|verdict| &verdict.first_next_action) {
            let why = one_line(&action.why);
            match &action.command {
                Some(command) => self.fact("next", &format!("{}  ({why})", one_line(command))),
                None => self.fact("next", &why),
            }
        }
        self.close();
    }

    fn fact(&mut self, label: &str, value: &str) {
        let faint = self.faint();
        let room = self.prose_width().saturating_sub(13).max(20);
        for (index, line) in prose::wrapped(value, room).iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let _ = writeln!(self.text, "  {faint}{label:<11}{faint:#}{line}");
        }
    }

    fn heading(&mut self, words: &str, folded: bool) {
        let style = Style::new().bold();
        self.section(&format!("{style}{words}{style:#}"), folded);
    }

    /// A title; in a job log everything up to the next one folds below it.
    fn section(&mut self, title: &str, folded: bool) {
        self.close();
        if !self.look.is_ci_log {
            let _ = writeln!(self.text, "\n{title}");
            return;
        }
        self.sections += 1;
        let name = format!("diffsan_{}", self.sections);
        let folded = if folded { "[collapsed=true]" } else { "" };
        let _ = writeln!(self.text, "\x1b[0Ksection_start:{}:{name}{folded}\r\x1b[0K{title}", self.at);
        self.open = Some(name);
    }

    fn close(&mut self) {
        if let Some(name) = self.open.take() {
            let _ = writeln!(self.text, "\x1b[0Ksection_end:{}:{name}\r\x1b[0K", self.at);
        }
    }

    fn more(&mut self, rest: usize, noun: &str, file: &str) {
        if rest > 0 {
            self.dim_wrapped(&format!("and {} more {noun}{} in {file}", thousands(rest as u64), plural(rest)), "  ");
        }
    }

    fn wrapped(&mut self, text: &str, lead: &str) {
        self.text.push_str(&prose::hanging(text, self.prose_width(), lead));
    }

    fn dim_wrapped(&mut self, text: &str, indent: &str) {
        let faint = self.faint();
        for line in prose::wrapped(text, self.prose_width() - indent.len()) {
            let _ = writeln!(self.text, "{indent}{faint}{line}{faint:#}");
        }
    }

    /// Words as a link to a file and a line of it, where the terminal makes links.
    fn linked(&self, path: &str, line: Option<u32>, words: &str) -> String {
        let Some(root) = &self.look.root else { return words.to_owned() };
        let full = root.join(path);
        let address = super::links::file_address(&full.to_string_lossy(), line);
        format!("\x1b]8;;{address}\x1b\\{words}\x1b]8;;\x1b\\")
    }

    fn prose_width(&self) -> usize {
        self.look.width.min(PROSE)
    }

    /// GitLab's log does not know `dimmed`; grey comes nearest.
    fn faint(&self) -> Style {
        if self.look.is_ci_log {
            Style::new().fg_color(Some(AnsiColor::BrightBlack.into()))
        } else {
            Style::new().dimmed()
        }
    }
}

fn number(row: &Row) -> Option<u32> {
    match row {
        Row::Code { number, .. } => Some(*number),
        Row::Gap => None,
    }
}

/// A line as far as there is room, the quoted part of it in sight, and the columns to skip and to mark: that part, else
/// all of the line but its indentation.
fn around<'a>(line: &'a str, quote: Option<&str>, room: usize) -> (Cow<'a, str>, usize, usize) {
    let quoted = quote.map(|quote| shown::code_text(quote.trim())).filter(|quote| !quote.is_empty());
    let found = quoted.as_deref().and_then(|quote| line.find(quote).map(|at| (at, quote)));
    let trimmed = line.trim_start();
    let (at, part) = found.unwrap_or((line.len() - trimmed.len(), trimmed.trim_end()));
    let skip = line.get(..at).unwrap_or_default().width();
    if line.width() <= room || skip + part.width().min(room / 2) < room {
        let skip = skip.min(room.saturating_sub(1));
        return (fit(line, room), skip, part.width().clamp(1, room.saturating_sub(skip).max(1)));
    }
    // The beginning makes way: a few columns before the point are kept.
    let kept = room / 4;
    let start = line.char_indices().rev().find(|(index, _)| *index < at && line[*index..at].width() >= kept);
    let start = start.map_or(at, |(index, _)| index);
    let before = line[start..at].width() + 1;
    let shown = format!("…{}", fit(&line[start..], room - 1));
    (Cow::Owned(shown), before, part.width().clamp(1, room.saturating_sub(before).max(1)))
}

/// The end of a long path says more than its beginning.
fn fit_path(path: &str, columns: usize) -> String {
    if path.width() <= columns {
        return path.to_owned();
    }
    let mut kept = String::new();
    for letter in path.chars().rev() {
        let next = format!("{letter}{kept}");
        if next.width() + 1 > columns {
            break;
        }
        kept = next;
    }
    format!("…{kept}")
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn decision_style(decision: Decision) -> Style {
    let colour = match decision {
        Decision::Passed => AnsiColor::Green,
        Decision::ReviewRequired | Decision::InsufficientEvidence => AnsiColor::Yellow,
        Decision::Blocked | Decision::Unknown => AnsiColor::Red,
        Decision::Skipped => AnsiColor::Cyan,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Critical => {
            Style::new().bold().fg_color(Some(AnsiColor::White.into())).bg_color(Some(AnsiColor::Red.into()))
        }
        milder => mark_style(milder),
    }
}

/// Carets and bars.
fn mark_style(severity: Severity) -> Style {
    let colour = match severity {
        Severity::Critical | Severity::High => AnsiColor::Red,
        Severity::Medium => AnsiColor::Yellow,
        Severity::Low => AnsiColor::Blue,
        Severity::Info => AnsiColor::Cyan,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

#[cfg(test)]
mod tests;
