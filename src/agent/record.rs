//! What is kept of an agent's attempts, redacted, as they happen.

use std::ffi::OsStr;
use std::time::Duration;

use serde_json::Value;
use time::OffsetDateTime;

use super::ask::{Answered, Request};
use super::attempt::Ended;
use super::probe;
use super::process::Finished;
use crate::contracts::{AgentAttempt, AgentKind, AgentRun, Timings, TokenUsage};
use crate::error::{Result, clip};
use crate::redact::{Output, TOKEN};
use crate::run::clock;
use crate::run::events::Event;
use crate::run::workdir::{AgentFile, Artifact, Part};
use crate::validate::Parsed;

/// Most characters of an attempt's error.
const MAX_ERROR: usize = 500;
/// Options whose value is a credential.
const SECRET_OPTIONS: &[&str] = &["key", "token", "secret", "password"];

/// What an attempt used, in all and request by request.
pub(super) struct Used {
    pub(super) usage: TokenUsage,
    pub(super) requests: Vec<TokenUsage>,
}

/// Keeps the record of a question.
#[derive(Debug)]
pub(super) struct Recorder<'a> {
    request: &'a Request<'a>,
    part: Part,
    run: AgentRun,
    first_start: Option<OffsetDateTime>,
    last_end: Option<OffsetDateTime>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(request: &'a Request<'a>, part: Part) -> Self {
        let run = AgentRun {
            agent: request.agent.kind,
            version: None,
            model: request.config.agent.model.clone(),
            argv: Vec::new(),
            env_names: Vec::new(),
            attempts: Vec::new(),
            token_usage: TokenUsage::default(),
            calls: Vec::new(),
        };
        Self { request, part, run, first_start: None, last_end: None }
    }

    /// The version that runs, and a word about one that nobody has tested.
    pub(super) fn version(&mut self, version: Option<&str>) {
        self.run.version = version.map(str::to_owned);
        if let Some(message) = probe::warning(self.request.agent, version) {
            self.request.events.emit(Event::Warning { message });
        }
    }

    /// The command line and the names of the variables of an attempt.
    pub(super) fn started<'n>(
        &mut self,
        schema: &Value,
        words: &[String],
        names: impl Iterator<Item = &'n OsStr>,
    ) -> Result<()> {
        for secret in secrets(words) {
            self.request.engine.learn(secret);
        }
        self.run.argv = masked(words);
        self.run.env_names = names.map(|name| name.to_string_lossy().into_owned()).collect();
        match self.run.agent {
            AgentKind::Codex => self.request.workdir.foreign_json(self.file(AgentFile::CodexSchema), schema.clone()),
            _ => Ok(()),
        }
    }

    /// What the program wrote.
    pub(super) fn outputs(&self, number: u32, finished: &Finished, file: Option<&[u8]>) -> Result<()> {
        let Request { agent, engine, workdir, .. } = *self.request;
        let clean = |bytes: &[u8]| engine.redact_bytes(Output::AgentOutput, bytes);
        let (stdout, stderr) = (clean(&finished.stdout), clean(&finished.stderr));
        if number == 1 {
            workdir.text(self.file(AgentFile::Stderr), &stderr)?;
        }
        workdir.text(self.file(AgentFile::StderrAttempt(number)), &stderr)?;
        let payload = match agent.answer_file {
            None => stdout,
            Some(_) => {
                workdir.text(self.file(AgentFile::StdoutAttempt(number)), &stdout)?;
                let payload = clean(file.unwrap_or_default());
                if file.is_some() {
                    workdir.text(self.file(AgentFile::CodexOutput), &payload)?;
                }
                payload
            }
        };
        workdir.text(self.file(AgentFile::RawAttempt(number)), &payload)?;
        workdir.text(self.file(AgentFile::Raw), &payload)
    }

    /// How an attempt ended.
    pub(super) fn finished<T>(
        &mut self,
        number: u32,
        finished: &Finished,
        used: Used,
        enveloped: bool,
        judged: &Result<Parsed<T>, Ended>,
    ) -> Result<()> {
        let error = match judged {
            Ok(_) => None,
            Err(Ended::Failed(failure)) => Some(failure.to_string()),
            Err(Ended::Invalid(problems) | Ended::Refused(problems)) => Some(problems.errors.join("; ")),
        };
        let error = error.map(|error| clip(&error, MAX_ERROR));
        let attempt = AgentAttempt {
            attempt: number,
            exit_code: finished.exit_code,
            signal: finished.signal,
            timed_out: finished.timed_out.is_some(),
            started_at: clock::text(finished.started_at),
            ended_at: clock::text(finished.ended_at),
            duration_ms: millis(finished.duration),
            stdout_bytes: finished.stdout.len() as u64,
            stderr_bytes: finished.stderr.len() as u64,
            valid: judged.is_ok(),
            rung: judged.as_ref().ok().map(|parsed| rung(parsed.rung, enveloped).to_owned()),
            error: error.clone(),
            token_usage: used.usage,
            requests: used.requests,
        };
        self.first_start.get_or_insert(finished.started_at);
        self.last_end = Some(finished.ended_at);
        self.run.token_usage.add(&attempt.token_usage);
        self.request.events.emit(Event::AgentAttempt {
            attempt: number,
            exit_code: attempt.exit_code,
            duration_ms: attempt.duration_ms,
            agent: self.run.agent,
            valid: attempt.valid,
            error,
        });
        self.run.attempts.push(attempt);
        self.request.workdir.json(self.file(AgentFile::Run), &self.run)
    }

    /// The record of an answer that holds.
    pub(super) fn answer<T>(self, output: T) -> Answered<T> {
        let start = self.first_start.unwrap_or_else(clock::now);
        let end = self.last_end.unwrap_or(start);
        let timings = Timings {
            started_at: clock::text(start),
            ended_at: clock::text(end),
            duration_ms: millis(Duration::try_from(end - start).unwrap_or_default()),
        };
        Answered { output, run: self.run, timings }
    }

    fn file(&self, file: AgentFile) -> Artifact {
        Artifact::asked(self.part, file)
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How the answer was found, seen from the program's whole output.
fn rung(parsed: &'static str, enveloped: bool) -> &'static str {
    if enveloped && parsed == "strict" { "envelope" } else { parsed }
}

/// Values of options that are credentials by their name.
fn secrets(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().enumerate().filter_map(|(at, word)| match word.split_once('=') {
        Some((name, value)) if is_secret(name) => Some(value),
        None if is_secret(word) => words.get(at + 1).map(String::as_str),
        _ => None,
    })
}

fn masked(words: &[String]) -> Vec<String> {
    let mut masked = words.to_vec();
    for secret in secrets(words) {
        for word in &mut masked {
            *word = word.replace(secret, TOKEN);
        }
    }
    masked
}

fn is_secret(option: &str) -> bool {
    let name = option.strip_prefix("--").unwrap_or_default().to_ascii_lowercase();
    SECRET_OPTIONS.iter().any(|part| name == *part || name.ends_with(&format!("-{part}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_a_command_line_are_masked() {
        let words: Vec<String> =
            ["agent", "--api-key", "synthetic-1", "--auth-token=synthetic-2", "--max-tokens", "3", "x=synthetic-1"]
                .map(String::from)
                .to_vec();
        assert_eq!(
            masked(&words),
            ["agent", "--api-key", TOKEN, "--auth-token=[REDACTED]", "--max-tokens", "3", "x=[REDACTED]"]
        );
    }
}
