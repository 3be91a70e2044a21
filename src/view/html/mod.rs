//! `report.html`: one file with everything in it, for `artifacts:expose_as` and for whoever opens the artifacts.

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::shown::{self, LeftOut, Shown, counted, duration, one_line, thousands};
use super::{links, rich, timeline};
use crate::contracts::{
    ContextCall, Conversation, ConversationItem, Coverage, Decision, EventRecord, GateStatus, RejectedFinding,
    RunRecord, Severity,
};
use crate::error::{Error, Failure, Result, clip};
use model::{Card, DiffRow, Entry, FileView};

mod model;
mod outcome;

pub use outcome::outcome;

const STYLE: &str = include_str!("../templates/report.css");
const SCRIPT: &str = include_str!("../templates/report.js");
/// Columns of a drawn bar.
const BAR: u64 = 1_000;

/// Most bytes of a page; the scanner that every artifact passes may add a few.
const MOST: usize = 1_900_000;

/// How much of everything there is room for.
struct Room {
    /// Bytes of the change's lines.
    lines: usize,
    files: usize,
    findings: usize,
    /// Characters of one finding's text.
    body: usize,
    /// Rows of a list.
    rows: usize,
}

/// From roomy to narrow: the first that fits is taken.
const ROOMS: [Room; 4] = [
    Room { lines: 1_300_000, files: 1_000, findings: 500, body: 20_000, rows: 500 },
    Room { lines: 500_000, files: 400, findings: 400, body: 4_000, rows: 200 },
    Room { lines: 120_000, files: 200, findings: 300, body: 1_200, rows: 100 },
    Room { lines: 0, files: 100, findings: 200, body: 400, rows: 50 },
];

/// The report.
pub fn html(shown: &Shown) -> Result<String> {
    let mut page = String::new();
    for room in &ROOMS {
        page = report(shown, room)
            .render()
            .map_err(|error| Error::Format(Failure::new("report.html could not be rendered").caused_by(&error)))?;
        if page.len() <= MOST {
            break;
        }
    }
    Ok(page)
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
    summary: String,
    story: Option<Story>,
    index: Vec<Entry>,
    elsewhere: Vec<Card>,
    unlisted: usize,
    files: Vec<FileView>,
    more_files: usize,
    big: bool,
    coverage: String,
    cover: Vec<Stretch>,
    left_out: LeftOut,
    redaction: String,
    secrets: Vec<Secret>,
    audit: Vec<Output>,
    reads: Vec<Read>,
    dropped: Vec<Rejected>,
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
    url: Option<String>,
}

/// What became of earlier findings, a list for each fate.
struct Story {
    since: String,
    parts: Vec<(&'static str, Vec<Told>)>,
}

struct Told {
    severity: &'static str,
    title: String,
    place: String,
    reason: Option<String>,
    url: Option<String>,
}

/// One thing the agent asked for.
struct Read {
    tool: String,
    asked: String,
    lines: String,
    bytes: String,
    redactions: String,
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

fn report(shown: &Shown, room: &Room) -> Report {
    let change = model::change(shown, room);
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
        summary: rich::html(&clip(&shown.review.summary_markdown, room.body), 3),
        story: shown.conversation.as_ref().and_then(|conversation| story(conversation, room)),
        index: change.index,
        elsewhere: change.elsewhere,
        unlisted: change.unlisted,
        files: change.files,
        more_files: change.more_files,
        big: change.big,
        coverage: shown::coverage(shown),
        cover: cover(&shown.truncation.coverage),
        left_out: left_out(shown, room),
        redaction: redaction(shown),
        secrets: secrets(shown, room),
        audit: audit(shown),
        reads: shown.context.iter().take(room.rows).map(read).collect(),
        dropped: rejected(shown, room, true),
        rejected: rejected(shown, room, false),
        timeline: bars(&shown.events),
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
    Fact { label, value: value.into(), more: None, code: false, url: None }
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
            Some(command) => Fact { more: Some(why), code: true, ..fact("Next", one_line(command)) },
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

fn left_out(shown: &Shown, room: &Room) -> LeftOut {
    let mut left = shown::left_out(shown);
    let all = left.items.len();
    left.items.truncate(room.rows);
    left.unlisted += (all - left.items.len()) as u64;
    left
}

/// The findings of earlier reviews by what became of them; none where this is the first.
fn story(conversation: &Conversation, room: &Room) -> Option<Story> {
    let since = conversation.since.as_ref()?;
    let told = |item: &ConversationItem| Told {
        severity: item.severity.name(),
        title: clip(&one_line(&item.title), 300),
        place: match item.line {
            Some(line) => format!("{}:{line}", one_line(&item.path)),
            None => one_line(&item.path),
        },
        reason: item.reason.as_deref().map(|reason| clip(&one_line(reason), 300)),
        url: item.url.clone().filter(|url| links::is_address(url)),
    };
    let parts = [
        ("New", &conversation.new),
        ("Still open", &conversation.still_open),
        ("Resolved", &conversation.resolved),
        ("Dismissed", &conversation.dismissed),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(title, items)| (title, items.iter().take(room.rows).map(told).collect()))
        .collect();
    let since = match &since.head_sha {
        Some(head) => format!("Compared with the review of {}.", one_line(head).chars().take(12).collect::<String>()),
        None => "Compared with the review before this one.".into(),
    };
    Some(Story { since, parts })
}

/// One call of the agent.
fn read(call: &ContextCall) -> Read {
    let call = serde_json::to_value(call).unwrap_or_default();
    let word = |value: &Value| match value {
        Value::String(text) => one_line(text),
        Value::Null => String::new(),
        other => one_line(&other.to_string()),
    };
    let asked = match &call["arguments"] {
        Value::Object(map) => {
            let given = map.iter().filter(|(_, value)| !value.is_null());
            given.map(|(key, value)| format!("{} {}", one_line(key), word(value))).collect::<Vec<_>>().join(", ")
        }
        other => word(other),
    };
    Read {
        tool: word(&call["tool"]),
        asked: clip(&asked, 300),
        lines: word(&call["lines"]),
        bytes: word(&call["bytes"]),
        redactions: word(&call["redactions"]),
    }
}

fn secrets(shown: &Shown, room: &Room) -> Vec<Secret> {
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
    shown.redaction.matches.iter().take(room.rows).map(secret).collect()
}

fn audit(shown: &Shown) -> Vec<Output> {
    let outputs = shown.record.privacy_audit.iter().flat_map(|audit| &audit.outputs);
    outputs.map(|(name, rules)| Output { name: one_line(name), count: rules.values().sum() }).collect()
}

/// What a second look did not confirm, or what failed a check.
fn rejected(shown: &Shown, room: &Room, dropped: bool) -> Vec<Rejected> {
    let looked_at = |finding: &&RejectedFinding| matches!(finding.reason.code.name(), "REFUTED" | "TRIVIAL");
    let row = |finding: &RejectedFinding| Rejected {
        code: finding.reason.code.name(),
        path: one_line(&finding.path),
        why: one_line(&finding.reason.message),
    };
    let rows = shown.validation.rejected.iter().filter(|finding| looked_at(finding) == dropped);
    rows.take(room.rows).map(row).collect()
}

fn bars(events: &[EventRecord]) -> Vec<StageBar> {
    let stages = timeline::stages(events);
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
    details.extend(web(record));
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

/// Links to where the run happened.
fn web(record: &RunRecord) -> Vec<Fact> {
    let web = record.web.clone().unwrap_or_default();
    let links = [("Merge request", web.merge_request_url), ("Job", web.job_url)];
    let links = links.into_iter().filter_map(|(label, url)| Some((label, url.filter(|url| links::is_address(url))?)));
    links.map(|(label, url)| Fact { url: Some(url.clone()), ..fact(label, url) }).collect()
}

fn warnings(shown: &Shown) -> Vec<String> {
    let posting = shown.post.iter().flat_map(|post| &post.items).filter_map(|item| item.error.as_ref());
    let problems = shown.record.diagnostics.iter().chain(posting);
    problems.map(|problem| format!("{} ({})", one_line(&problem.message), problem.error_code.name())).collect()
}

#[cfg(test)]
mod tests;
