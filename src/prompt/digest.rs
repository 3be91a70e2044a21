//! What earlier reviews said, short enough for a prompt.

use std::fmt::Write as _;

use super::{clip, one_line};
use crate::contracts::PriorDigest;

const MAX_FINDINGS: usize = 50;
const MAX_COMMENTS: usize = 50;
const MAX_CHARS: usize = 12_000;

/// The digest as lines of text; empty when there is nothing to tell.
pub(super) fn render(digest: &PriorDigest) -> String {
    let mut out = String::new();
    if let Some(hint) = digest.summary_hint.as_deref().filter(|hint| !hint.trim().is_empty()) {
        let _ = writeln!(out, "Last summary: {}", one_line(hint, 240));
    } else if let Some(summary) = digest.summaries.first() {
        let _ = writeln!(out, "Last summary: {}", one_line(&summary.text, 600));
    }
    findings(digest, &mut out);
    comments(digest, &mut out);
    if out.is_empty() { out } else { clip(&out, MAX_CHARS) }
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
