//! What happens in a run: the events, the `events.jsonl` sink and the console line of each.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::contracts::{
    AgentKind, ErrorCode, ErrorInfo, EventRecord, Level, PolicySource, SCHEMA_VERSION, SkipReason, Verbosity,
};
use crate::error::clip;
use crate::redact::{Engine, Output};
use crate::run::console::Console;
use crate::run::workdir::AppendFile;

/// Most characters of one text in an event.
const MAX_TEXT: usize = 500;
/// Most bytes of a line of `events.jsonl`.
const MAX_LINE: usize = 8 * 1024;

/// One thing that happened. It only grows: readers ignore what they do not know.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[serde(tag = "event", content = "data")]
pub enum Event {
    #[serde(rename = "run.started")]
    RunStarted {
        version: &'static str,
        ci: bool,
        workdir: String,
        command: &'static str,
        args: Vec<String>,
        job: Option<String>,
    },
    #[serde(rename = "stage.started")]
    StageStarted { stage: &'static str },
    #[serde(rename = "config.loaded")]
    ConfigLoaded {
        ci: bool,
        agent: AgentKind,
        verbosity: Verbosity,
        config_file: Option<String>,
        model: Option<String>,
        agent_source: String,
        token_env: Option<String>,
    },
    #[serde(rename = "policy.decided")]
    PolicyDecided { source: PolicySource, commit: Option<String>, branch: Option<String>, via: Option<String> },
    #[serde(rename = "diff.fetched")]
    DiffFetched { chars: u64, files: u64, base_sha: Option<String>, head_sha: Option<String>, source: String },
    #[serde(rename = "diff.prepared")]
    DiffPrepared { final_chars: u64, truncated: bool, redaction_found: bool, secrets: u64, files: u64, ignored: u64 },
    #[serde(rename = "skip.decided")]
    SkipDecided { should_skip: bool, reasons: Vec<SkipReason>, fingerprint: String },
    #[serde(rename = "skip.auto_merge.unknown")]
    SkipAutoMergeUnknown { reason: String },
    #[serde(rename = "prompt.written")]
    PromptWritten { path: String, chars: u64 },
    #[serde(rename = "agent.attempt")]
    AgentAttempt {
        attempt: u32,
        exit_code: Option<i32>,
        duration_ms: u64,
        agent: AgentKind,
        valid: bool,
        error: Option<String>,
    },
    #[serde(rename = "agent.heartbeat")]
    AgentHeartbeat { agent: AgentKind, elapsed_ms: u64 },
    #[serde(rename = "review.validated")]
    ReviewValidated { findings: u64, truncated: bool, rejected: u64, unplaced: u64 },
    #[serde(rename = "review.looked")]
    ReviewLooked { agent: AgentKind, confirmed: bool, claims: u64, holds: u64, refuted: u64, trivial: u64 },
    #[serde(rename = "part.left")]
    PartLeft { part: u32, of: u32, passes: u64, lost: u64, signed: bool },
    #[serde(rename = "parts.taken")]
    PartsTaken { of: u32, taken: u64, lost: Vec<u32> },
    #[serde(rename = "post.plan_built")]
    PostPlanBuilt { discussions: u64, idempotent_summary: bool, repeated: u64 },
    #[serde(rename = "gitlab.post.summary")]
    GitlabPostSummary { ok: bool, http_status: Option<u16>, id: Option<u64>, retry: u32 },
    #[serde(rename = "gitlab.post.discussion")]
    GitlabPostDiscussion {
        ok: bool,
        http_status: Option<u16>,
        path: String,
        line: Option<u32>,
        retry: u32,
        rung: Option<String>,
        finding_id: String,
    },
    #[serde(rename = "gitlab.retry")]
    GitlabRetry { method: &'static str, path: String, status: Option<u16>, attempt: u32, wait_ms: u64, reason: String },
    #[serde(rename = "error.raised")]
    ErrorRaised {
        error_code: ErrorCode,
        retryable: bool,
        context: Map<String, Value>,
        message: String,
        #[serde(skip)]
        fatal: bool,
    },
    #[serde(rename = "warning")]
    Warning { message: String },
    #[serde(rename = "run.finished")]
    RunFinished { ok: bool, skipped: bool, duration_ms: u64, exit_code: u8 },
}

impl Event {
    /// An error that ends the run.
    pub fn fatal(info: &ErrorInfo) -> Self {
        Self::raised(info, true)
    }

    /// An error that the run survives.
    pub fn survived(info: &ErrorInfo) -> Self {
        Self::raised(info, false)
    }

    fn raised(info: &ErrorInfo, fatal: bool) -> Self {
        Self::ErrorRaised {
            error_code: info.error_code,
            retryable: info.retryable,
            context: info.context.clone(),
            message: info.message.clone(),
            fatal,
        }
    }

    fn level(&self) -> Level {
        match self {
            Self::ErrorRaised { fatal: true, .. }
            | Self::GitlabPostSummary { ok: false, .. }
            | Self::GitlabPostDiscussion { ok: false, .. } => Level::Error,
            Self::ErrorRaised { fatal: false, .. }
            | Self::Warning { .. }
            | Self::SkipAutoMergeUnknown { .. }
            | Self::GitlabRetry { .. } => Level::Warn,
            Self::PartsTaken { lost, .. } if !lost.is_empty() => Level::Warn,
            Self::AgentAttempt { valid: false, .. } | Self::ReviewLooked { confirmed: false, .. } => Level::Warn,
            Self::StageStarted { .. } => Level::Debug,
            _ => Level::Info,
        }
    }

    /// The event for people who asked for sentences.
    fn sentence(&self) -> String {
        match self {
            Self::RunStarted { version, workdir, .. } => format!("diffsan {version} starts; artifacts go to {workdir}"),
            Self::StageStarted { stage } => format!("stage {stage} begins"),
            Self::ConfigLoaded { agent, .. } => format!("the configuration is read; {} reviews", agent.name()),
            Self::PolicyDecided { commit: Some(commit), branch, .. } => {
                format!("the policy is {} of {}", clip(commit, 12), branch.as_deref().unwrap_or("the target"))
            }
            Self::PolicyDecided { .. } => "the policy is this machine's, or the job's".into(),
            Self::DiffFetched { chars, files, .. } => format!("the change has {files} file(s), {chars} characters"),
            Self::DiffPrepared { final_chars, truncated, secrets, .. } => format!(
                "{final_chars} characters go to the agent{}; {secrets} secret(s) removed",
                if *truncated { ", the rest was cut" } else { "" }
            ),
            Self::SkipDecided { should_skip: true, reasons, .. } => {
                let reasons: Vec<_> = reasons.iter().map(|reason| reason.message.as_str()).collect();
                format!("no review is due: {}", reasons.join("; "))
            }
            Self::SkipDecided { .. } => "a review is due".into(),
            Self::SkipAutoMergeUnknown { reason } => format!("whether auto-merge is on is unknown: {reason}"),
            Self::PromptWritten { path, chars } => format!("the prompt is {path}, {chars} characters"),
            Self::AgentAttempt { attempt, agent, valid: true, .. } => {
                format!("{} answered on attempt {attempt}", agent.name())
            }
            Self::AgentAttempt { attempt, agent, error, .. } => format!(
                "attempt {attempt} of {} gave no valid answer: {}",
                agent.name(),
                error.as_deref().unwrap_or("no reason given")
            ),
            Self::AgentHeartbeat { agent, elapsed_ms } => {
                format!("{} has been working for {} s", agent.name(), elapsed_ms / 1000)
            }
            Self::ReviewValidated { findings, rejected, .. } => {
                format!("{findings} finding(s) hold, {rejected} were rejected")
            }
            Self::ReviewLooked { confirmed: false, claims, .. } => {
                format!("the second look failed: {claims} finding(s) are not confirmed")
            }
            Self::ReviewLooked { claims, holds, .. } => format!("a second look: {holds} of {claims} finding(s) hold"),
            Self::PartLeft { part, of, .. } => format!("part {part} of {of} is left for the job that posts"),
            Self::PartsTaken { of, lost, .. } if lost.is_empty() => format!("all of {of} part(s) are there"),
            Self::PartsTaken { of, lost, .. } => format!("{} of {of} part(s) are missing", lost.len()),
            Self::PostPlanBuilt { discussions, .. } => format!("{discussions} discussion(s) are planned"),
            Self::GitlabPostSummary { ok, .. } => {
                format!("the summary note {}", if *ok { "is posted" } else { "could not be posted" })
            }
            Self::GitlabPostDiscussion { ok, path, .. } => {
                format!("the discussion on {path} {}", if *ok { "is posted" } else { "could not be posted" })
            }
            Self::GitlabRetry { reason, wait_ms, .. } => {
                format!("GitLab is asked again in {wait_ms} ms: {reason}")
            }
            Self::ErrorRaised { error_code, message, .. } => format!("{}: {message}", error_code.name()),
            Self::Warning { message } => message.clone(),
            Self::RunFinished { ok: true, duration_ms, .. } => format!("done in {duration_ms} ms"),
            Self::RunFinished { duration_ms, .. } => format!("failed after {duration_ms} ms"),
        }
    }
}

/// Where events go: `events.jsonl`, and the console line of each.
#[derive(Debug, Clone)]
pub struct Events {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    run_id: String,
    console: Console,
    engine: Arc<Engine>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: Option<AppendFile>,
    seq: u64,
    closed: bool,
}

impl Events {
    /// A sink that writes to an open `events.jsonl`, or to the console alone.
    pub fn new(run_id: String, file: Option<AppendFile>, console: Console, engine: Arc<Engine>) -> Self {
        let state = Mutex::new(State { file, seq: 0, closed: false });
        Self { inner: Arc::new(Inner { run_id, console, engine, state }) }
    }

    /// Records one event: a flushed line, and a console line where the level asks for it.
    pub fn emit(&self, event: Event) {
        let mut state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return;
        }
        state.closed = matches!(event, Event::RunFinished { .. });
        let record = self.record(&event, state.seq);
        state.seq += 1;
        if let Some(file) = &mut state.file {
            // A full disk must not end the run; run.json still tells how it ended.
            let _ = file.write_all(line(&record).as_bytes());
        }
        let sentence = self.inner.engine.redact(Output::Console, &event.sentence());
        self.inner.console.event(&record, &sentence);
    }

    fn record(&self, event: &Event, seq: u64) -> EventRecord {
        let (name, data) = match serde_json::to_value(event) {
            Ok(Value::Object(mut map)) => (map.remove("event"), map.remove("data")),
            _ => (None, None),
        };
        let data = match data {
            Some(Value::Object(map)) => map.into_iter().map(|(key, value)| (key, self.clean(value))).collect(),
            _ => Map::new(),
        };
        EventRecord {
            ts: crate::run::clock::now_text(),
            level: event.level(),
            event: name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default(),
            data,
            run_id: self.inner.run_id.clone(),
            seq,
            schema_version: SCHEMA_VERSION,
        }
    }

    fn clean(&self, value: Value) -> Value {
        match value {
            Value::String(text) => {
                Value::String(clip(self.inner.engine.redact(Output::Event, &text).as_str(), MAX_TEXT))
            }
            Value::Array(values) => values.into_iter().take(50).map(|value| self.clean(value)).collect(),
            Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| (key, self.clean(value))).collect()),
            other => other,
        }
    }
}

/// One line, under the limit: the longest values make way first.
fn line(record: &EventRecord) -> String {
    let mut record = record.clone();
    loop {
        let mut text = serde_json::to_string(&record).unwrap_or_default();
        if text.len() < MAX_LINE {
            text.push('\n');
            return text;
        }
        let longest = record.data.iter().max_by_key(|(_, value)| value.to_string().len()).map(|(key, _)| key.clone());
        match longest {
            Some(key) => record.data.insert(key, Value::String("…".into())),
            None => return "\n".into(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_under_the_limit_and_on_one_line() {
        let mut data = Map::new();
        for key in ["a", "b", "c"] {
            data.insert(key.into(), Value::String("x\n".repeat(5_000)));
        }
        data.insert("kept".into(), Value::from(7));
        let record = EventRecord {
            ts: "t".into(),
            level: Level::Info,
            event: "e".into(),
            data,
            run_id: String::new(),
            seq: 0,
            schema_version: 1,
        };
        let text = line(&record);
        assert!(text.len() <= MAX_LINE);
        assert_eq!(text.matches('\n').count(), 1);
        assert!(text.contains("\"kept\":7"));
    }
}
