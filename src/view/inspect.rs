//! `diffsan inspect`: what happened in a run and what to do next, from its artifacts alone.
//!
//! A workdir may be half-written or from another version, so everything is read leniently.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::explain;

/// Columns of the longest bar.
const BAR: usize = 30;
/// Rows of a list before the rest becomes a count.
const LISTED: usize = 50;

/// What a run left.
#[derive(Debug, Clone, Default)]
pub struct Traces {
    pub workdir: String,
    /// A run is writing there right now.
    pub is_live: bool,
    /// `run.json`, when it is there and is JSON.
    pub run: Option<Value>,
    /// `review.json`, likewise.
    pub review: Option<Value>,
    /// `truncation.json`, likewise.
    pub truncation: Option<Value>,
    /// The lines of `events.jsonl` that are JSON.
    pub events: Vec<Value>,
    /// Name and size of every file.
    pub files: Vec<(String, u64)>,
    /// Files that were not read, or could not be, and why.
    pub problems: Vec<String>,
}

/// What can be said of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    pub workdir: String,
    /// `running`, `done`, `skipped`, `blocked`, `failed`, `interrupted`, `unfinished` or `no run`.
    pub state: &'static str,
    /// What happened, in one line.
    pub headline: String,
    pub version: Option<String>,
    pub exit_code: Option<u64>,
    pub error_code: Option<String>,
    /// Why it stopped: message, cause, help.
    pub reason: Option<String>,
    pub cause: Option<String>,
    pub help: Option<String>,
    /// Stage it stopped in.
    pub stopped_in: Option<String>,
    pub stages: Vec<StageTime>,
    /// The findings, worst first.
    pub findings: Vec<Found>,
    /// What was not reviewed, in words.
    pub not_reviewed: Vec<String>,
    /// Warnings on the way.
    pub warnings: Vec<String>,
    /// The artifact that tells most.
    pub open: Option<String>,
    /// The one command to run next.
    pub next_command: Option<String>,
    pub files: Vec<String>,
}

/// One finding, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    pub id: String,
    pub severity: String,
    pub category: String,
    pub path: String,
    pub line: Option<u64>,
    /// Its first sentence.
    pub title: String,
}

/// How long a stage took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StageTime {
    pub stage: String,
    pub duration_ms: u64,
    /// It did not end.
    pub unfinished: bool,
}

/// Reads the traces.
pub fn inspect(traces: &Traces) -> Inspection {
    let run = traces.run.as_ref();
    let text = |pointer: &str| run.and_then(|run| run.pointer(pointer)).and_then(Value::as_str).map(str::to_owned);
    let last = last_run(&traces.events);
    let finished = last.iter().any(|event| event["event"] == "run.finished");
    let state = state(traces, finished);
    let ended = !matches!(state, "unfinished" | "running");
    let error_code = text("/error/error_code").or_else(|| last_error(last, "error_code"));
    let reason = reason(traces, state).or_else(|| text("/error/message")).or_else(|| last_error(last, "message"));
    let stages = stage_times(last, finished);
    let open = artifact_to_open(traces, state, error_code.as_deref());
    Inspection {
        workdir: traces.workdir.clone(),
        state,
        headline: text("/verdict/headline")
            .filter(|_| ended)
            .unwrap_or_else(|| default_headline(state, reason.as_deref())),
        version: text("/version"),
        exit_code: run.filter(|_| ended).and_then(|run| run["exit_code"].as_u64()),
        help: help(traces, state, text("/error/help"), error_code.as_deref()),
        cause: text("/error/cause").filter(|_| ended),
        stopped_in: stages.last().map(|last| last.stage.clone()).or_else(|| text("/stage")),
        next_command: next_command(traces, state, text("/verdict/first_next_action/command")),
        error_code: error_code.filter(|_| ended),
        reason,
        stages,
        findings: findings(traces.review.as_ref()),
        not_reviewed: not_reviewed(traces.truncation.as_ref()),
        warnings: traces.problems.iter().cloned().chain(warnings(last)).collect(),
        open,
        files: traces.files.iter().map(|(name, _)| name.clone()).collect(),
    }
}

/// The inspection for a person to read.
pub fn text(inspection: &Inspection) -> String {
    let mut text = format!("{}: {}\n", inspection.workdir, inspection.headline);
    let mut line = |label: &str, value: Option<&str>| {
        if let Some(value) = value {
            let mut rows = value.trim().lines();
            let _ = writeln!(text, "  {label:<9}{}", rows.next().unwrap_or_default());
            for row in rows.take(8) {
                let _ = writeln!(text, "  {:<9}{row}", "");
            }
        }
    };
    let exit = inspection.exit_code.map(|code| format!("{}, exit code {code}", inspection.state));
    line("state", Some(exit.as_deref().unwrap_or(inspection.state)));
    let stage = |words: &str| inspection.stopped_in.as_ref().map(|stage| format!("{words}in stage {stage}"));
    match inspection.state {
        "failed" | "interrupted" | "unfinished" => line("stopped", stage("").as_deref()),
        "running" => line("now", stage("").as_deref()),
        _ => {}
    }
    line("code", inspection.error_code.as_deref());
    line("why", inspection.reason.as_deref().filter(|reason| *reason != inspection.headline));
    line("cause", inspection.cause.as_deref());
    line("fix", inspection.help.as_deref());
    for warning in &inspection.warnings {
        line("warning", Some(warning));
    }
    text.push_str(&found(&inspection.findings));
    if !inspection.not_reviewed.is_empty() {
        let _ = writeln!(text, "\nNot reviewed");
        for part in &inspection.not_reviewed {
            let _ = writeln!(text, "  {part}");
        }
    }
    text.push_str(&bars(&inspection.stages));
    if let Some(file) = &inspection.open {
        let _ = writeln!(text, "\nOpen:  {}/{file}", inspection.workdir);
    }
    if let Some(command) = &inspection.next_command {
        let _ = writeln!(text, "Next:  {command}");
    }
    super::plain::printable(&text)
}

/// What happened since so many events were seen: a line for each stage and each problem.
pub fn news(traces: &Traces, seen: usize) -> String {
    let mut text = if seen == 0 { format!("{}: still going\n", traces.workdir) } else { String::new() };
    for event in traces.events.iter().skip(seen) {
        let data = &event["data"];
        let _ = match event["event"].as_str() {
            Some("stage.started") => writeln!(text, "  {}", data["stage"].as_str().unwrap_or_default()),
            Some("agent.heartbeat") => {
                writeln!(text, "  the agent has been working for {} s", data["elapsed_ms"].as_u64().unwrap_or(0) / 1000)
            }
            _ if event["level"] == "warn" || event["level"] == "error" => {
                let words = ["message", "reason", "error"].iter().find_map(|key| data[*key].as_str());
                writeln!(text, "  {}: {}", event["level"].as_str().unwrap_or_default(), words.unwrap_or_default())
            }
            _ => Ok(()),
        };
    }
    super::plain::printable(&text)
}

/// The events of the last command that worked in the folder: a review, or the posting after it.
fn last_run(events: &[Value]) -> &[Value] {
    let start = events.iter().rposition(|event| event["event"] == "run.started").unwrap_or(0);
    &events[start..]
}

/// What the last command in the folder was: `review` or `post`.
fn command(traces: &Traces) -> &str {
    last_run(&traces.events).first().and_then(|event| event["data"]["command"].as_str()).unwrap_or("review")
}

fn in_job(traces: &Traces) -> bool {
    last_run(&traces.events).first().is_some_and(|event| event["data"]["job"].is_string())
}

/// Why a run is in a state that its record does not explain.
fn reason(traces: &Traces, state: &str) -> Option<String> {
    let broken = traces.problems.iter().find(|problem| problem.starts_with("run.json ")).cloned();
    Some(match state {
        "running" if command(traces) == "post" => "it is still posting".into(),
        "running" => "it is still under way".into(),
        "unfinished" if command(traces) == "post" => {
            "posting did not come to its end: it was killed outright; the review itself is complete".into()
        }
        "unfinished" => "the run did not come to its end: it was killed outright".into(),
        _ if broken.is_some() => return broken,
        "no run" => "there is neither run.json nor events.jsonl here".into(),
        _ => return None,
    })
}

fn findings(review: Option<&Value>) -> Vec<Found> {
    let rank = |severity: &str| ["critical", "high", "medium", "low"].iter().position(|known| *known == severity);
    let list = review.and_then(|review| review["findings"].as_array());
    let mut findings: Vec<_> = list
        .into_iter()
        .flatten()
        .map(|finding| {
            let word = |key: &str| super::shown::one_line(finding[key].as_str().unwrap_or_default());
            Found {
                id: word("finding_id"),
                severity: word("severity"),
                category: word("category"),
                path: word("path"),
                line: finding["line_start"].as_u64(),
                title: super::shown::title(finding["body_markdown"].as_str().unwrap_or_default()),
            }
        })
        .collect();
    findings.sort_by_key(|finding| rank(&finding.severity).unwrap_or(usize::MAX));
    findings
}

fn found(findings: &[Found]) -> String {
    let mut text = String::new();
    if !findings.is_empty() {
        let _ = writeln!(text, "\nFindings");
    }
    for finding in findings.iter().take(LISTED) {
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        let (severity, category) = (&finding.severity, &finding.category);
        let _ = writeln!(text, "  {severity:<8} {category}  {}{line}  {}", finding.path, finding.id);
        let _ = writeln!(text, "           {}", finding.title);
    }
    if findings.len() > LISTED {
        let _ = writeln!(text, "  and {} more in review.json", findings.len() - LISTED);
    }
    text
}

fn not_reviewed(truncation: Option<&Value>) -> Vec<String> {
    let items = truncation.and_then(|report| report["items"].as_array()).into_iter().flatten();
    let line = |item: &Value| {
        let why = super::shown::one_line(item["details"].as_str().unwrap_or_default());
        match item["path"].as_str() {
            Some(path) => format!("{}: {why}", super::shown::one_line(path)),
            None => why,
        }
    };
    items.take(LISTED).map(line).collect()
}

fn state(traces: &Traces, finished: bool) -> &'static str {
    if traces.is_live && !finished {
        return "running";
    }
    let Some(run) = &traces.run else {
        return match (traces.events.is_empty(), finished) {
            (true, _) => "no run",
            (false, true) => "failed",
            (false, false) => "unfinished",
        };
    };
    if !finished && !traces.events.is_empty() {
        return "unfinished";
    }
    let code = run.pointer("/error/error_code").and_then(Value::as_str);
    match (run["ok"].as_bool(), run["skipped"].as_bool(), run["exit_code"].as_u64()) {
        (Some(true), Some(true), _) => "skipped",
        (Some(true), _, Some(3)) => "blocked",
        (Some(true), ..) => "done",
        _ if code == Some("INTERRUPTED") => "interrupted",
        _ => "failed",
    }
}

fn default_headline(state: &str, reason: Option<&str>) -> String {
    match (state, reason) {
        (_, Some(reason)) => reason.to_owned(),
        (state, None) => format!("the run is {state}"),
    }
}

fn last_error(events: &[Value], key: &str) -> Option<String> {
    let raised = events.iter().rev().find(|event| event["event"] == "error.raised" && event["level"] == "error")?;
    raised["data"][key].as_str().map(str::to_owned)
}

fn help(traces: &Traces, state: &str, recorded: Option<String>, code: Option<&str>) -> Option<String> {
    match state {
        "running" => None,
        "unfinished" if in_job(traces) => {
            Some("retry the job; what was posted before is found and not posted twice".into())
        }
        "unfinished" => Some("run it again; what was posted before is found and not posted twice".into()),
        "no run" => Some("name the workdir of a run, for example `diffsan inspect path/to/.diffsan`".into()),
        _ => recorded.or_else(|| code.and_then(explain::code).map(|known| known.what_to_do.to_owned())),
    }
}

fn warnings(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .filter(|event| event["level"] == "warn")
        .filter_map(|event| {
            let data = &event["data"];
            ["message", "reason", "error"].iter().find_map(|key| data[*key].as_str()).map(str::to_owned)
        })
        .take(20)
        .collect()
}

/// A run that was killed left open stages; the last event is where it stood.
fn stage_times(events: &[Value], finished: bool) -> Vec<StageTime> {
    let moment = |event: &Value| event["ts"].as_str().and_then(|ts| OffsetDateTime::parse(ts, &Rfc3339).ok());
    let mut stages: Vec<(String, OffsetDateTime)> = Vec::new();
    for event in events {
        if event["event"] == "stage.started"
            && let (Some(stage), Some(at)) = (event["data"]["stage"].as_str(), moment(event))
        {
            stages.push((stage.to_owned(), at));
        }
    }
    let end = events.iter().rev().find_map(moment);
    let ends = stages.iter().skip(1).map(|(_, at)| *at).chain(end);
    let count = stages.len();
    stages
        .iter()
        .zip(ends)
        .enumerate()
        .map(|(index, ((stage, start), end))| StageTime {
            stage: stage.clone(),
            duration_ms: u64::try_from((end - *start).whole_milliseconds()).unwrap_or(0),
            unfinished: !finished && index + 1 == count,
        })
        .collect()
}

fn bars(stages: &[StageTime]) -> String {
    let longest = stages.iter().map(|stage| stage.duration_ms).max().unwrap_or(0).max(1);
    let width = stages.iter().map(|stage| stage.stage.len()).max().unwrap_or(0);
    let mut text = if stages.is_empty() { String::new() } else { "\n".to_owned() };
    for stage in stages {
        let filled = usize::try_from(stage.duration_ms.saturating_mul(BAR as u64) / longest).unwrap_or(BAR).max(1);
        let open = if stage.unfinished { "  (did not end)" } else { "" };
        let bar = format!("{}{}", "█".repeat(filled), " ".repeat(BAR.saturating_sub(filled)));
        let _ = writeln!(text, "  {:width$}  {bar} {}{open}", stage.stage, duration(stage.duration_ms));
    }
    text
}

fn duration(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1_000, ms % 1_000 / 100) }
}

fn artifact_to_open(traces: &Traces, state: &str, code: Option<&str>) -> Option<String> {
    let wanted: &[&str] = match (state, code) {
        ("done" | "blocked", _) => &["report.html", "review.json", "prompt.txt"],
        ("skipped", _) => &["skip.json"],
        (_, Some("AGENT_EXEC_FAILED")) => &["agent.stderr.txt", "agent.run.json"],
        (_, Some("AGENT_OUTPUT_INVALID")) => &["agent.raw.txt", "agent.run.json"],
        (_, Some("GITLAB_POST_FAILED" | "GITLAB_POSITION_INVALID")) => &["post_results.json"],
        (_, Some("DIFF_PARSE_FAILED")) => &["diff.raw.patch"],
        _ => &[],
    };
    let there = |name: &str| traces.files.iter().any(|(file, size)| file == name && *size > 0);
    wanted.iter().copied().chain(["events.jsonl", "run.json"]).find(|name| there(name)).map(str::to_owned)
}

/// A command for whoever has the folder before them; what a job did is repeated in GitLab, not here.
fn next_command(traces: &Traces, state: &str, recorded: Option<String>) -> Option<String> {
    let quoted = |word: &str| shlex::try_quote(word).map(|word| word.into_owned()).unwrap_or_default();
    let workdir = quoted(&traces.workdir);
    let worst = findings(traces.review.as_ref()).into_iter().next();
    let again = || {
        let first = last_run(&traces.events).first().map(|event| &event["data"]["args"]);
        let args = first.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        [String::from("diffsan review")].into_iter().chain(args.map(quoted)).collect::<Vec<_>>().join(" ")
    };
    let posting = command(traces) == "post" || traces.files.iter().any(|(name, _)| name == "post_ledger.jsonl");
    match state {
        "running" => None,
        "done" | "blocked" => worst.map(|worst| {
            if traces.workdir == ".diffsan" {
                format!("diffsan explain {}", worst.id)
            } else {
                format!("diffsan explain {} --workdir {workdir}", worst.id)
            }
        }),
        "skipped" => None,
        _ if in_job(traces) => None,
        "unfinished" | "interrupted" if posting => Some(format!("diffsan post {workdir}")),
        "unfinished" | "interrupted" => Some(again()),
        "failed" => recorded.filter(|command| !command.starts_with("diffsan inspect")),
        _ => Some("diffsan review".into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_run_recorded_cannot_draw_on_the_terminal() {
        let mut warning = event("2026-01-01T00:00:00.000Z", "warning", json!({ "message": "a\u{1b}[2Jb\u{7}" }));
        warning["level"] = json!("warn");
        let traces = Traces { workdir: "w".into(), events: vec![warning], ..Traces::default() };
        let text = text(&inspect(&traces));
        assert!(text.contains("a [2Jb"), "{text}");
        assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()));
    }

    fn event(ts: &str, name: &str, data: Value) -> Value {
        json!({ "ts": ts, "level": "info", "event": name, "data": data })
    }

    #[test]
    fn an_empty_folder_a_half_written_one_and_an_old_one_are_all_readable() {
        let empty = inspect(&Traces { workdir: "w".into(), ..Traces::default() });
        assert_eq!(empty.state, "no run");
        let events = vec![
            event("2026-01-01T00:00:00.000Z", "run.started", json!({})),
            event("2026-01-01T00:00:00.100Z", "stage.started", json!({ "stage": "fetch" })),
            event("2026-01-01T00:00:00.400Z", "stage.started", json!({ "stage": "agent" })),
            event("2026-01-01T00:00:02.400Z", "agent.heartbeat", json!({})),
        ];
        let half = inspect(&Traces { workdir: "w".into(), events, ..Traces::default() });
        assert_eq!((half.state, half.stopped_in.as_deref()), ("unfinished", Some("agent")));
        let times: Vec<_> = half.stages.iter().map(|stage| (stage.duration_ms, stage.unfinished)).collect();
        assert_eq!(times, [(300, false), (2_000, true)]);
        let old = Traces { workdir: "w".into(), run: Some(json!({ "ok": true })), ..Traces::default() };
        assert_eq!(inspect(&old).state, "done");
        assert!(text(&inspect(&old)).contains("done"));
    }
}
