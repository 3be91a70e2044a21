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

/// What a run left.
#[derive(Debug, Clone, Default)]
pub struct Traces {
    pub workdir: String,
    /// `run.json`, when it is there and is JSON.
    pub run: Option<Value>,
    /// The lines of `events.jsonl` that are JSON.
    pub events: Vec<Value>,
    /// Name and size of every file.
    pub files: Vec<(String, u64)>,
}

/// What can be said of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    pub workdir: String,
    /// `done`, `skipped`, `blocked`, `failed`, `interrupted`, `unfinished` or `no run`.
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
    /// Warnings on the way.
    pub warnings: Vec<String>,
    /// The artifact that tells most.
    pub open: Option<String>,
    /// The one command to run next.
    pub next_command: Option<String>,
    pub files: Vec<String>,
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
    let finished = traces.events.iter().any(|event| event["event"] == "run.finished");
    let state = state(traces, finished);
    let error_code = text("/error/error_code").or_else(|| last_error(traces, "error_code"));
    let reason = match state {
        "unfinished" => {
            Some("the run did not come to its end: it is still under way, or it was killed outright".into())
        }
        "no run" => Some("there is neither run.json nor events.jsonl here".into()),
        _ => text("/error/message").or_else(|| last_error(traces, "message")),
    };
    let stages = stage_times(&traces.events, finished);
    let open = artifact_to_open(traces, state, error_code.as_deref());
    Inspection {
        workdir: traces.workdir.clone(),
        state,
        headline: text("/verdict/headline")
            .filter(|_| state != "unfinished")
            .unwrap_or_else(|| default_headline(state, reason.as_deref())),
        version: text("/version"),
        exit_code: run.filter(|_| state != "unfinished").and_then(|run| run["exit_code"].as_u64()),
        help: help(state, text("/error/help"), error_code.as_deref()),
        cause: text("/error/cause").filter(|_| state != "unfinished"),
        stopped_in: stages.last().map(|last| last.stage.clone()).or_else(|| text("/stage")),
        next_command: next_command(traces, state, text("/verdict/first_next_action/command")),
        error_code: error_code.filter(|_| state != "unfinished"),
        reason,
        stages,
        warnings: warnings(&traces.events),
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
    if matches!(inspection.state, "failed" | "interrupted" | "unfinished") {
        line("stopped", inspection.stopped_in.as_ref().map(|stage| format!("in stage {stage}")).as_deref());
    }
    line("code", inspection.error_code.as_deref());
    line("why", inspection.reason.as_deref());
    line("cause", inspection.cause.as_deref());
    line("fix", inspection.help.as_deref());
    for warning in &inspection.warnings {
        line("warning", Some(warning));
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

fn state(traces: &Traces, finished: bool) -> &'static str {
    let Some(run) = &traces.run else {
        return if traces.events.is_empty() { "no run" } else { "unfinished" };
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

fn last_error(traces: &Traces, key: &str) -> Option<String> {
    let raised =
        traces.events.iter().rev().find(|event| event["event"] == "error.raised" && event["level"] == "error")?;
    raised["data"][key].as_str().map(str::to_owned)
}

fn help(state: &str, recorded: Option<String>, code: Option<&str>) -> Option<String> {
    match state {
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

fn next_command(traces: &Traces, state: &str, recorded: Option<String>) -> Option<String> {
    let posting = traces.files.iter().any(|(name, _)| name == "post_ledger.jsonl");
    let workdir = shlex::try_quote(&traces.workdir).map(|path| path.into_owned()).unwrap_or_default();
    match state {
        "unfinished" | "interrupted" if posting => Some(format!("diffsan post {workdir}")),
        "unfinished" | "interrupted" => Some("diffsan review".into()),
        "failed" if recorded.as_deref() == Some("diffsan post") => Some(format!("diffsan post {workdir}")),
        "failed" => {
            recorded.filter(|command| !command.starts_with("diffsan inspect")).or(Some("diffsan doctor".into()))
        }
        "no run" => Some("diffsan review".into()),
        _ => None,
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
