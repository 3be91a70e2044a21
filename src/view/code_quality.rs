//! `gl-code-quality-report.json`: the findings for GitLab's merge request widget, which needs no token.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::shown::{Shown, one_line};
use crate::contracts::{Coverage, Finding, Severity};
use crate::error::clip;
use crate::run::record::hex;

/// Most characters of a description.
const DESCRIPTION: usize = 500;

/// The report: an array, one entry for each finding that the merge request may show.
pub fn code_quality(shown: &Shown) -> Value {
    let mut seen = BTreeSet::new();
    let withheld = |finding: &&Finding| shown.plan.iter().any(|plan| plan.withheld.contains(&finding.finding_id));
    let shown_there = shown.review.findings.iter().filter(|finding| !withheld(finding));
    let entries = shown_there.map(|finding| (fingerprint(finding), finding));
    entries
        .filter(|(fingerprint, _)| seen.insert(fingerprint.clone()))
        .map(|(print, finding)| entry(print, finding))
        .chain(not_reviewed(&shown.truncation.coverage))
        .collect()
}

/// One entry for everything that nobody looked at, so that a widget without findings does not read as a clean bill.
fn not_reviewed(coverage: &Coverage) -> Option<Value> {
    let first = coverage.not_reviewed.first()?;
    let named: Vec<String> =
        coverage.not_reviewed.iter().map(|file| format!("{} ({})", one_line(&file.path), file.why.words())).collect();
    let count = coverage.not_reviewed_total;
    let files = if count == 1 { "1 file was".to_owned() } else { format!("{count} files were") };
    let description = format!("[coverage] {files} not reviewed, or not in full: {}", named.join(", "));
    Some(json!({
        "description": clip(&description, DESCRIPTION),
        "check_name": "diffsan/coverage",
        "fingerprint": hex(&Sha256::digest(format!("diffsan:coverage:{}", named.join("\n")))),
        "severity": "info",
        "location": { "path": path(&first.path), "lines": { "begin": 1, "end": 1 } },
    }))
}

/// What the widget compares with on the default branch.
pub fn code_quality_baseline() -> Value {
    Value::Array(Vec::new())
}

fn entry(fingerprint: String, finding: &Finding) -> Value {
    let (begin, end) = (finding.line_start.max(1), finding.line_end.max(1));
    json!({
        "description": clip(&description(finding), DESCRIPTION),
        "check_name": format!("diffsan/{}", finding.category.name()),
        "fingerprint": fingerprint,
        "severity": severity(finding.severity),
        "location": { "path": path(&finding.path), "lines": { "begin": begin, "end": end } },
    })
}

/// The id is stable while lines move, and so is this.
fn fingerprint(finding: &Finding) -> String {
    hex(&Sha256::digest(format!("diffsan:{}", finding.finding_id)))
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Low => "minor",
        Severity::Medium => "major",
        Severity::High => "critical",
        Severity::Critical => "blocker",
    }
}

fn description(finding: &Finding) -> String {
    let first = finding.body_markdown.trim().split("\n\n").next().unwrap_or_default();
    format!("[{}] {}", finding.category.name(), one_line(first))
}

/// Relative to the repository's top; GitLab finds nothing under any other form.
pub(super) fn path(path: &str) -> String {
    let parts: Vec<_> = path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
    if parts.is_empty() { "unknown".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::view::shown::sample::{empty, sample};

    #[test]
    fn every_finding_has_what_gitlabs_parser_needs() {
        let report = code_quality(&sample());
        let entries = report.as_array().unwrap();
        assert_eq!(entries.len(), 7);
        for entry in entries {
            assert!(!entry["description"].as_str().unwrap().is_empty());
            assert!(["info", "minor", "major", "critical", "blocker"].contains(&entry["severity"].as_str().unwrap()));
            assert!(entry["location"]["lines"]["begin"].as_u64().unwrap() >= 1);
            assert!(!entry["location"]["path"].as_str().unwrap().starts_with(['.', '/']));
        }
        let prints: BTreeSet<_> = entries.iter().map(|entry| entry["fingerprint"].as_str().unwrap()).collect();
        assert_eq!(prints.len(), entries.len());
        assert_eq!(entries[0]["severity"], "blocker");
        assert_eq!(entries[0]["location"], json!({ "path": "src/pay/client.py", "lines": { "begin": 11, "end": 11 } }));
    }

    #[test]
    fn a_fingerprint_does_not_move_with_the_lines() {
        let (before, mut moved) = (sample(), sample());
        for finding in &mut moved.review.findings {
            finding.line_start += 7;
            finding.line_end += 7;
            finding.body_markdown.push_str(" More words.");
        }
        let prints = |shown: &Shown| -> Vec<Value> {
            code_quality(shown).as_array().unwrap().iter().map(|entry| entry["fingerprint"].clone()).collect()
        };
        assert_eq!(prints(&before), prints(&moved));
    }

    #[test]
    fn a_repeated_id_is_one_entry_and_a_withheld_finding_is_none() {
        let mut shown = sample();
        shown.review.findings[1].finding_id = shown.review.findings[0].finding_id.clone();
        shown.plan.as_mut().unwrap().withheld = vec!["f-cccccccccccc".into()];
        assert_eq!(code_quality(&shown).as_array().unwrap().len(), 5);
    }

    #[test]
    fn paths_are_relative_to_the_top() {
        for (written, expected) in
            [("./a/b.py", "a/b.py"), ("/etc/passwd", "etc/passwd"), ("../../x", "x"), ("a//b", "a/b"), ("", "unknown")]
        {
            assert_eq!(path(written), expected);
        }
    }

    #[test]
    fn no_finding_is_an_empty_array() {
        assert_eq!(code_quality(&empty()), code_quality_baseline());
        assert_eq!(code_quality_baseline(), json!([]));
    }
}
