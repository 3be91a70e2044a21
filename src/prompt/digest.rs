//! What earlier reviews said, short enough for a prompt.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::{clip, one_line};
use crate::contracts::PriorDigest;

/// What happened since the last review.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Since {
    /// Places that no earlier review has seen as they are; none where that is not known.
    pub new: Option<Vec<String>>,
    pub refused: Vec<Refused>,
}

/// A finding that people do not want to hear again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Refused {
    pub place: String,
    pub title: String,
    pub why: String,
}

const MAX_FINDINGS: usize = 50;
const MAX_COMMENTS: usize = 50;
const MAX_PLACES: usize = 80;
const MAX_CHARS: usize = 12_000;

/// The digest as lines of text; empty when there is nothing to tell.
pub(super) fn render(digest: &PriorDigest, since: &Since) -> String {
    let mut out = String::new();
    new(since, &mut out);
    refused(since, &mut out);
    if let Some(hint) = digest.summary_hint.as_deref().filter(|hint| !hint.trim().is_empty()) {
        let _ = writeln!(out, "Last summary: {}", one_line(hint, 240));
    } else if let Some(summary) = digest.summaries.first() {
        let _ = writeln!(out, "Last summary: {}", one_line(&summary.text, 600));
    }
    findings(digest, &mut out);
    comments(digest, &mut out);
    if out.is_empty() { out } else { clip(&out, MAX_CHARS) }
}

fn new(since: &Since, out: &mut String) {
    let Some(new) = &since.new else { return };
    if new.is_empty() {
        out.push_str("New since the last review: nothing; every block of this change was reviewed as it is.\n");
        return;
    }
    out.push_str("New since the last review (the rest was reviewed as it is):\n");
    for place in new.iter().take(MAX_PLACES) {
        let _ = writeln!(out, "- {}", one_line(place, 200));
    }
    more(new.len(), MAX_PLACES, out);
}

fn refused(since: &Since, out: &mut String) {
    if since.refused.is_empty() {
        return;
    }
    out.push_str("Refused by people:\n");
    for Refused { place, title, why } in since.refused.iter().take(MAX_FINDINGS) {
        let (place, title, why) = (one_line(place, 200), one_line(title, 240), one_line(why, 300));
        let _ = writeln!(out, "- {place} {title} ({why})");
    }
    more(since.refused.len(), MAX_FINDINGS, out);
}

fn findings(digest: &PriorDigest, out: &mut String) {
    if digest.findings.is_empty() {
        return;
    }
    out.push_str("Reported before:\n");
    for finding in digest.findings.iter().take(MAX_FINDINGS) {
        let _ = writeln!(
            out,
            "- [{}] {}:{} {}",
            finding.severity.name(),
            one_line(&finding.path, 200),
            one_line(&finding.line_range, 24),
            one_line(&finding.title, 240)
        );
    }
    more(digest.findings.len(), MAX_FINDINGS, out);
}

/// Open threads first: they are what would be repeated.
fn comments(digest: &PriorDigest, out: &mut String) {
    if digest.inline_comments.is_empty() {
        return;
    }
    out.push_str("Comments on lines:\n");
    let mut comments: Vec<_> = digest.inline_comments.iter().collect();
    comments.sort_by_key(|comment| comment.resolved);
    for comment in comments.into_iter().take(MAX_COMMENTS) {
        let state = if comment.resolved { "resolved" } else { "open" };
        let author = if comment.own { "diffsan" } else { "a person" };
        let place = match (&comment.path, comment.line) {
            (Some(path), Some(line)) => format!("{}:{line}", one_line(path, 200)),
            (Some(path), None) => one_line(path, 200),
            _ => "the merge request".into(),
        };
        let _ = writeln!(out, "- [{state}] {place}, by {author}: {}", one_line(&comment.body, 300));
    }
    more(digest.inline_comments.len(), MAX_COMMENTS, out);
}

fn more(all: usize, shown: usize, out: &mut String) {
    if all > shown {
        let _ = writeln!(out, "- and {} more", all - shown);
    }
}
