//! `report.html`: one file with everything in it, for `artifacts:expose_as` and for whoever opens the artifacts.

use std::collections::BTreeMap;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::shown::{self, LeftOut, Shown, counted, duration, one_line, thousands};
use super::timeline;
use crate::contracts::{Coverage, Decision, GateStatus, Severity};
use crate::error::{Error, Failure, Result};
use model::{Card, DiffRow, Entry, FileView, Part, Piece};

mod model;

const STYLE: &str = include_str!("../templates/report.css");
const SCRIPT: &str = include_str!("../templates/report.js");
/// Columns of a drawn bar.
const BAR: u64 = 1_000;

/// The report.
pub fn html(shown: &Shown) -> Result<String> {
    report(shown)
        .render()
        .map_err(|error| Error::Format(Failure::new("report.html could not be rendered").caused_by(&error)))
}

#[derive(Template)]
#[template(path = "report.html", config = "src/view/templates/askama.toml")]
struct Report {
    policy: String,
    style: &'static str,
    script: &'static str,
    version: &'static str,
    headline: String,
    decision: Verdict,
    tally: Vec<Tally>,
    facts: Vec<Fact>,
    summary: Vec<Part>,
    index: Vec<Entry>,
    elsewhere: Vec<Card>,
    files: Vec<FileView>,
    big: bool,
    coverage: String,
    cover: Vec<Stretch>,
    left_out: LeftOut,
    redaction: String,
    secrets: Vec<Secret>,
    audit: Vec<Output>,
    read: Vec<Read>,
    rejected: Vec<Rejected>,
    timeline: Vec<StageBar>,
    details: Vec<Fact>,
    warnings: Vec<String>,
}

struct Verdict {
    name: &'static str,
    words: &'static str,
}

struct Tally {
    severity: &'static str,
    count: u64,
}

struct Fact {
    label: &'static str,
    value: String,
    more: Option<String>,
    code: bool,
}

struct Stretch {
    class: &'static str,
    start: u64,
    length: u64,
}

struct Secret {
    rule: String,
    path: String,
    line: String,
    length: u64,
    digest: String,
}

struct Output {
    name: String,
    count: u64,
}

struct Read {
    path: String,
    lines: u64,
    removed: u64,
}

struct Rejected {
    code: &'static str,
    path: String,
    why: String,
}

struct StageBar {
    name: String,
    start: u64,
    length: u64,
    duration: String,
}

fn report(shown: &Shown) -> Report {
    let change = model::change(shown);
    let decision = shown.decision();
    Report {
        policy: policy(),
        style: STYLE,
        script: SCRIPT,
        version: crate::VERSION,
        headline: headline(shown, shown::decision_words(decision)),
        decision: Verdict { name: shown::decision_name(decision), words: shown::decision_words(decision) },
        tally: tally(shown),
        facts: facts(shown, decision),
        summary: model::parts(&shown.review.summary_markdown),
        index: change.index,
        elsewhere: change.elsewhere,
        files: change.files,
        big: change.big,
        coverage: shown::coverage(shown),
        cover: cover(&shown.truncation.coverage),
        left_out: shown::left_out(shown),
        redaction: redaction(shown),
        secrets: secrets(shown),
        audit: audit(shown),
        read: read(shown),
        rejected: rejected(shown),
        timeline: bars(shown),
        details: details(shown),
        warnings: warnings(shown),
    }
}

/// Nothing may load, and no script or style may run but the two that are part of this program.
fn policy() -> String {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

/// The headline without the word that stands above it already.
fn headline(shown: &Shown, decision: &str) -> String {
    let headline = shown.headline();
    headline.strip_prefix(&format!("{decision}: ")).map_or_else(|| headline.clone(), str::to_owned)
}

fn tally(shown: &Shown) -> Vec<Tally> {
    let count =
        |severity: Severity| shown.review.findings.iter().filter(|finding| finding.severity == severity).count();
    let tally =
        Severity::ALL.iter().rev().map(|severity| Tally { severity: severity.name(), count: count(*severity) as u64 });
    tally.filter(|tally| tally.count > 0).collect()
}

fn fact(label: &'static str, value: impl Into<String>) -> Fact {
    Fact { label, value: value.into(), more: None, code: false }
}

fn facts(shown: &Shown, decision: Decision) -> Vec<Fact> {
    let meta = &shown.review.meta;
    let mut facts = vec![fact("Reviewed", shown::coverage(shown))];
    let model = meta.model.as_deref().map(one_line);
    facts.push(Fact { more: model, ..fact("Agent", meta.agent.name()) });
    facts.push(fact("Time", duration(shown.record.duration_ms)));
    facts.extend(shown::tokens(shown).map(|tokens| fact("Tokens", tokens)));
    let Some(verdict) = &shown.record.verdict else { return facts };
    if let Some(bound) = verdict.gate.fail_on {
        let state = match verdict.gate.status {
            GateStatus::Closed => "closed",
            GateStatus::Open => "open",
            GateStatus::Off | GateStatus::NotEvaluated => "not evaluated",
        };
        facts.push(fact("Gate", format!("{state} at {}", bound.name())));
    }
    let places = shown.places();
    if !places.is_empty() {
        facts.push(fact("Findings", places.join(", ")));
    }
    if decision != Decision::Skipped {
        let next = &verdict.first_next_action;
        let why = one_line(&next.why);
        facts.push(match &next.command {
            Some(command) => Fact { label: "Next", value: one_line(command), more: Some(why), code: true },
            None => fact("Next", why),
        });
    }
    facts
}

fn cover(coverage: &Coverage) -> Vec<Stretch> {
    let parts = [
        ("sent", coverage.hunks_sent),
        ("cut", coverage.hunks_cut),
        ("ignored", coverage.hunks_ignored),
        ("dropped", coverage.hunks_dropped),
        ("binary", coverage.hunks_binary),
        ("unavailable", coverage.hunks_unavailable),
    ];
    let all = coverage.hunks_total.max(1);
    let at = |hunks: u64| hunks.min(all).saturating_mul(BAR) / all;
    let mut before = 0;
    let stretches = parts.map(|(class, count)| {
        let start = at(before);
        before = before.saturating_add(count);
        Stretch { class, start, length: at(before) - start }
    });
    stretches.into_iter().filter(|stretch| stretch.length > 0).collect()
}

fn redaction(shown: &Shown) -> String {
    let report = &shown.redaction;
    match (report.found, report.enabled) {
        (true, _) => format!(
            "{} removed before anything left the machine that ran the review. Their hashes and lengths are kept, never the values.",
            counted(report.matches.len() as u64, "secret")
        ),
        (false, true) => "No secret was found in the change.".into(),
        (false, false) => "The secret rules were switched off: only values known to be secret were removed.".into(),
    }
}

fn secrets(shown: &Shown) -> Vec<Secret> {
    let secret = |found: &crate::contracts::RedactionMatch| Secret {
        rule: one_line(&found.pattern_name),
        path: found.path.as_deref().map_or_else(|| "?".into(), one_line),
        line: found.line_hint.map(|line| line.to_string()).unwrap_or_default(),
        length: found.match_length,
        digest: found
            .match_sha256
            .as_deref()
            .map_or_else(|| "not kept".into(), |hash| one_line(hash).chars().take(16).collect()),
    };
    shown.redaction.matches.iter().map(secret).collect()
}

fn audit(shown: &Shown) -> Vec<Output> {
    let outputs = shown.record.privacy_audit.iter().flat_map(|audit| &audit.outputs);
    outputs.map(|(name, rules)| Output { name: one_line(name), count: rules.values().sum() }).collect()
}

/// The files that the agent read, and how often it searched.
fn read(shown: &Shown) -> Vec<Read> {
    let mut rows: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for call in shown.context.iter().filter(|call| call.error.is_none()) {
        let what = match call.arguments.get("path").and_then(serde_json::Value::as_str) {
            Some(path) => one_line(path),
            None => one_line(&call.tool),
        };
        let row = rows.entry(what).or_default();
        *row = (row.0 + call.lines, row.1 + call.redactions);
    }
    rows.into_iter().map(|(path, (lines, removed))| Read { path, lines, removed }).collect()
}

fn rejected(shown: &Shown) -> Vec<Rejected> {
    let row = |finding: &crate::contracts::RejectedFinding| Rejected {
        code: finding.reason.code.name(),
        path: one_line(&finding.path),
        why: one_line(&finding.reason.message),
    };
    shown.validation.rejected.iter().map(row).collect()
}

fn bars(shown: &Shown) -> Vec<StageBar> {
    let stages = timeline::stages(&shown.events);
    let all = stages.last().map_or(1, |last| last.start_ms.saturating_add(last.duration_ms)).max(1);
    let scaled = |ms: u64| ms.min(all).saturating_mul(BAR) / all;
    let bar = |stage: &timeline::Stage| {
        let start = scaled(stage.start_ms).min(BAR - 4);
        StageBar {
            name: one_line(&stage.name),
            start,
            length: scaled(stage.duration_ms).clamp(4, BAR - start),
            duration: duration(stage.duration_ms),
        }
    };
    stages.iter().map(bar).collect()
}

fn details(shown: &Shown) -> Vec<Fact> {
    let (record, meta) = (&shown.record, &shown.review.meta);
    let code = |label: &'static str, value: String| Fact { code: true, ..fact(label, value) };
    let mut details = vec![
        fact("Agent ran for", duration(meta.timings.duration_ms)),
        fact("Started", one_line(&meta.timings.started_at)),
        fact("Diff shown to the agent", counted(shown.truncation.final_chars, "character")),
        fact("Exit code", record.exit_code.to_string()),
        code("Fingerprint", one_line(&meta.fingerprint.to_string()).chars().take(23).collect()),
        code("Run", one_line(&record.run_id)),
    ];
    if let Some(head) = shown.plan.as_ref().and_then(|plan| plan.head_sha.as_deref()) {
        details.push(code("Commit", one_line(head).chars().take(12).collect()));
    }
    if let Some(artifacts) = &record.artifacts {
        details.push(code("Artifacts", one_line(&artifacts.workdir)));
    }
    if let Some(post) = &shown.post {
        let there = post.items.iter().filter(|item| item.ok).count();
        details.push(fact(
            "Posted",
            format!("{} of {}", thousands(there as u64), counted(post.items.len() as u64, "item")),
        ));
    }
    details
}

fn warnings(shown: &Shown) -> Vec<String> {
    let posting = shown.post.iter().flat_map(|post| &post.items).filter_map(|item| item.error.as_ref());
    let problems = shown.record.diagnostics.iter().chain(posting);
    problems.map(|problem| format!("{} ({})", one_line(&problem.message), problem.error_code.name())).collect()
}

#[cfg(test)]
mod tests;
