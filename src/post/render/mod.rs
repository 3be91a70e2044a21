//! The bodies of discussions, and of findings that stand in the summary.

use crate::contracts::{Finding, PlannedDiscussion};
use crate::threads::marker::{self, MARKER};

use super::position::Place;
use super::sanitize::{self, Counts};
use super::suggestion;

/// GitLab's limit for the body of a note, in characters.
pub const NOTE_CHARS: usize = 1_000_000;
/// Where diffsan's own bodies end, so that a proxy or a redaction that adds a little does no harm.
pub const BODY_CHARS: usize = 900_000;

/// A finding that is to stand in the summary.
#[derive(Debug, Clone, Copy)]
pub struct Unplaced<'a> {
    pub finding: &'a Finding,
    /// Why it does not stand on a line.
    pub reason: &'a str,
}

/// A discussion that GitLab did not take at any of its positions, or did not take yet.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    pub discussion: &'a PlannedDiscussion,
    /// What went wrong, in words; empty while nothing did.
    pub reason: &'a str,
}

/// The body of a finding's discussion: severity, text, suggestion, and the marker that later runs know it by.
pub fn discussion(finding: &Finding, place: &Place<'_>, counts: &mut Counts) -> String {
    let mut body = said(finding, counts);
    if let Some(patch) = &finding.suggested_patch {
        body.push_str("\n\n");
        body.push_str(&suggestion::block(patch, &finding.path, Some(place)));
    }
    body.push_str("\n\n");
    body.push_str(&marker::finding_marker(&marker_id(&finding.finding_id)));
    body
}

/// A finding folded, in full, for the summary.
pub fn folded(unplaced: &Unplaced<'_>, counts: &mut Counts) -> String {
    let finding = unplaced.finding;
    let mut body = said(finding, counts);
    if let Some(patch) = &finding.suggested_patch {
        body.push_str("\n\n");
        body.push_str(&suggestion::as_diff(patch));
    }
    let place = Location { path: &finding.path, first: finding.line_start, last: finding.line_end };
    let label = format!("<b>{}</b> {}", finding.severity.name(), finding.category.name());
    details(&format!("{label}: {}", place.html()), &with_reason(body, unplaced.reason))
}

/// The section with the findings that GitLab did not take; empty when it took them all.
pub fn failed_items_section(items: &[Failed<'_>]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let (pending, refused): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.reason.is_empty());
    let mut section = String::new();
    let parts = [("on their way to their lines", pending), ("that could not be posted on their lines", refused)];
    for (what, items) in parts.into_iter().filter(|(_, items)| !items.is_empty()) {
        section.push_str(&format!("### Findings {what} ({})\n", items.len()));
        for item in items {
            section.push('\n');
            section.push_str(&folded_discussion(item));
            section.push('\n');
        }
    }
    section
}

/// A summary with links to the findings that stand on lines, before the markers.
pub fn with_links(summary_body: &str, links: &[(&PlannedDiscussion, String)]) -> String {
    const LISTED: usize = 50;
    if links.is_empty() {
        return summary_body.to_owned();
    }
    let line = |(planned, url): &(&PlannedDiscussion, String)| {
        let place = Location { path: &planned.path, first: planned.line_start, last: planned.line_end };
        let place = sanitize::code(&place.plain());
        let link = format!("[{place}]({url})");
        format!("- **{}** {link}", planned.severity.name())
    };
    let mut lines: Vec<String> = links.iter().take(LISTED).map(line).collect();
    if links.len() > LISTED {
        lines.push(format!("- and {} more", links.len() - LISTED));
    }
    with_section(summary_body, &details(&format!("On lines of the diff ({})", links.len()), &lines.join("\n")))
}

/// A summary with one more section, before the markers.
pub fn with_section(summary_body: &str, section: &str) -> String {
    if section.is_empty() {
        return summary_body.to_owned();
    }
    let (before, after) = summary_body.split_at(summary_body.find(MARKER).unwrap_or(summary_body.len()));
    format!("{}\n\n{section}\n\n{after}", before.trim_end())
}

/// A summary with the findings that GitLab did not take, before the markers. What does not fit is said.
pub fn with_failed_items(summary_body: &str, items: &[Failed<'_>]) -> String {
    let mut fitting = items.len();
    let room = BODY_CHARS.saturating_sub(summary_body.chars().count());
    let mut section = failed_items_section(items);
    while fitting > 0 && section.chars().count() + 200 > room {
        fitting /= 2;
        section = failed_items_section(&items[..fitting]);
        section.push_str(&format!("\n{} more are in the artifact `review.json` of this job.\n", items.len() - fitting));
    }
    if section.is_empty() {
        return summary_body.to_owned();
    }
    let (before, after) = summary_body.split_at(summary_body.find(MARKER).unwrap_or(summary_body.len()));
    format!("{}\n\n{section}\n{after}", before.trim_end())
}

/// The first sentence of a finding, on one line; for lists.
pub fn title(finding: &Finding) -> String {
    let line = finding.body_markdown.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_start_matches(['#', '>', '*', '-', ' ']);
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    sanitize::clip(&line[..end].split_whitespace().collect::<Vec<_>>().join(" "), TITLE_CHARS)
}

/// A finding's id as its marker spells it: nothing in it can end the comment.
pub fn marker_id(finding_id: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "._:-".contains(c) { c } else { '-' };
    finding_id.chars().take(ID_CHARS).map(allowed).collect()
}

/// `88` or `88-106`.
pub fn line_range(first: u32, last: u32) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// A folded block. The summary is HTML that the caller wrote; the body is Markdown.
pub fn details(summary: &str, body: &str) -> String {
    format!("<details><summary>{summary}</summary>\n\n{body}\n\n</details>")
}

const TITLE_CHARS: usize = 120;
const ID_CHARS: usize = 80;
const TEXT_CHARS: usize = 100_000;
const SHOWN_PATH_CHARS: usize = 300;

struct Location<'a> {
    path: &'a str,
    first: u32,
    last: u32,
}

impl Location<'_> {
    /// Without what would end a link: a path may hold anything.
    fn plain(&self) -> String {
        let fits = |c: char| if c.is_alphanumeric() || " .,-/_+@".contains(c) { c } else { '?' };
        let path: String = sanitize::clip(self.path, SHOWN_PATH_CHARS).chars().map(fits).collect();
        format!("{path}:{}", line_range(self.first, self.last))
    }

    fn html(&self) -> String {
        let path = sanitize::html_code(&sanitize::clip(self.path, SHOWN_PATH_CHARS));
        format!("{path}:{}", line_range(self.first, self.last))
    }
}

/// `**[category/severity]**` and the text, on one line where the text allows it.
fn said(finding: &Finding, counts: &mut Counts) -> String {
    let clean = sanitize::clipped_markdown(&finding.body_markdown, TEXT_CHARS);
    sanitize::add(counts, &clean.counts);
    let opens_block = clean.text.starts_with("```")
        || clean.text.starts_with(|c: char| c.is_whitespace() || c.is_ascii_digit() || "#>-+*|=~<:[".contains(c));
    let gap = if opens_block { "\n\n" } else { " " };
    format!("**[{}/{}]**{gap}{}", finding.category.name(), finding.severity.name(), clean.text)
}

fn with_reason(body: String, reason: &str) -> String {
    if reason.is_empty() { body } else { format!("{body}\n\n*Not on a line: {}*", sanitize::line(reason).text) }
}

fn folded_discussion(item: &Failed<'_>) -> String {
    let planned = item.discussion;
    let body = planned.body_markdown.split(MARKER).next().unwrap_or_default().trim_end();
    let body: Vec<String> = body.lines().map(without_apply).collect();
    let place = Location { path: &planned.path, first: planned.line_start, last: planned.line_end };
    let label = format!("<b>{}</b> {}", planned.severity.name(), planned.category.name());
    details(&format!("{label}: {}", place.html()), &with_reason(body.join("\n"), item.reason))
}

/// A suggestion outside of a discussion on a line cannot be applied and should not look as if.
fn without_apply(line: &str) -> String {
    let info = line.trim_start_matches('`');
    let ticks = line.len() - info.len();
    if ticks >= 3 && info.starts_with("suggestion:") { "`".repeat(ticks) + "text" } else { line.to_owned() }
}

#[cfg(test)]
mod tests;
