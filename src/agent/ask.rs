//! The loop that asks an agent until it has an answer that holds, whatever the question is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::attempt::Setting;
use super::record::Recorder;
use super::{Agent, attempt, process, room};
use crate::config::Environment;
use crate::contracts::{AgentReviewOutput, AgentRun, AppConfig, Timings};
use crate::error::{Error, Failure, Result};
use crate::prompt;
use crate::redact::{Engine, Output, Redacted};
use crate::run::events::{Event, Events};
use crate::run::workdir::{AgentFile, Artifact, Part, Workdir};
use crate::validate::{Form, ParseProblems, Reply};

/// What every question to an agent needs.
#[derive(Debug)]
pub struct Request<'a> {
    pub agent: &'static Agent,
    pub config: &'a AppConfig,
    pub env: &'a Environment,
    /// Where diffsan was started.
    pub start: &'a Path,
    /// Time until the CI job needs what is left of its own.
    pub time_left: Option<Duration>,
    /// The only tools it has; none: it has none at all.
    pub eyes: Option<Eyes>,
    /// What the run may still cost.
    pub purse: &'a Purse,
    pub engine: &'a Engine,
    pub workdir: &'a Workdir,
    pub events: &'a Events,
}

impl Request<'_> {
    pub(super) fn setting(&self) -> Setting<'_> {
        let Self { agent, config, env, start, .. } = *self;
        Setting { agent, config, env, start, eyes: self.eyes.as_ref(), budget: self.purse.left() }
    }
}

/// diffsan's reading tools: the one MCP server, called `repo`, that an agent's program may start.
#[derive(Debug, Clone)]
pub struct Eyes {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Variables of the server, and of nobody else.
    pub env: Vec<(String, String)>,
    pub tools: &'static [&'static str],
    /// Every text that the tools handed out: what stands in it is no answer.
    pub shown: Arc<Mutex<Vec<String>>>,
}

/// One thing to ask.
#[derive(Debug)]
pub struct Question<'a, T> {
    pub prompt: &'a Redacted,
    pub form: &'a Form<T>,
    /// Most times it is asked in all.
    pub attempts: usize,
    /// Where its files go.
    pub part: Part,
}

/// An answer that holds, and how it came about.
#[derive(Debug)]
pub struct Answered<T = AgentReviewOutput> {
    pub output: T,
    pub run: AgentRun,
    pub timings: Timings,
}

/// What a run may cost, all its questions together.
#[derive(Debug, Default)]
pub struct Purse {
    limit: Option<f64>,
    spent: Mutex<f64>,
}

impl Purse {
    /// One with that many US dollars in it; none: nobody counts.
    pub fn new(limit: Option<f64>) -> Self {
        Self { limit, spent: Mutex::new(0.0) }
    }

    /// Takes out what an attempt cost.
    pub fn spend(&self, cost_usd: Option<f64>) {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += cost_usd.unwrap_or(0.0);
    }

    /// What was spent so far.
    pub fn spent(&self) -> f64 {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left; `None` when nobody counts.
    pub fn left(&self) -> Option<f64> {
        self.limit.map(|limit| (limit - self.spent()).max(0.0))
    }
}

/// Asks the agent, and again with the reasons when the answer does not hold.
pub async fn ask<T: Reply>(request: &Request<'_>, question: &Question<'_, T>) -> Result<Answered<T>> {
    let agent = request.agent;
    check_time(request)?;
    warn_of_refused(request);
    let attempts = if agent.repairs { question.attempts } else { 1 };
    let job_ends = request.time_left.map(|left| Instant::now() + left.min(process::LONGEST));
    let mut recorder = Recorder::new(request, question.part);
    let mut repair: Option<Redacted> = None;
    let mut number = 1;
    loop {
        check_purse(request, number)?;
        if let Some(prompt) = &repair {
            request.workdir.text(Artifact::asked(question.part, AgentFile::PromptAttempt(number)), prompt)?;
        }
        let prompt = repair.as_ref().unwrap_or(question.prompt);
        agent.check_size(prompt)?;
        match attempt::ask(request, question, &mut recorder, number, prompt, job_ends).await? {
            Ok(output) => return Ok(recorder.answer(output)),
            Err(problems) if number as usize >= attempts => return Err(exhausted(agent, number, &problems)),
            Err(problems) => {
                let sentence = &request.config.agent.json_repair_prompt;
                let schema = question.form.shown_schema();
                let text = prompt::repair(question.prompt.as_str(), &problems, sentence, &schema);
                repair = Some(request.engine.redact(Output::Prompt, &text));
                number += 1;
            }
        }
    }
}

fn check_time(request: &Request<'_>) -> Result<()> {
    if !request.time_left.is_some_and(|left| left.is_zero()) {
        return Ok(());
    }
    let name = request.agent.name();
    Err(Error::AgentExec(
        Failure::new(format!("agent `{name}` was not started: the CI job's own time is nearly over"))
            .help("raise the job's `timeout`, or do less before diffsan in the job")
            .with("agent", name)
            .retryable(),
    ))
}

fn check_purse(request: &Request<'_>, attempt: u32) -> Result<()> {
    if request.purse.left().is_none_or(|left| left > 0.0) {
        return Ok(());
    }
    let (name, spent) = (request.agent.name(), request.purse.spent());
    let again = if attempt > 1 { " again" } else { "" };
    Err(Error::AgentExec(
        Failure::new(format!("agent `{name}` was not started{again}: this run has cost {spent:.2} USD, all it may"))
            .help("raise agent.max_cost_usd, or show the agent less (limits.max_diff_chars)")
            .with("agent", name)
            .with("cost_usd", spent),
    ))
}

fn warn_of_refused(request: &Request<'_>) {
    let config = request.config;
    for name in config.agent.pass_env.iter().filter(|name| room::is_refused(name, &config.gitlab.token_env)) {
        let message = format!("agent.pass_env names {name}: no agent may see it, it is not passed on");
        request.events.emit(Event::Warning { message });
    }
}

/// No attempt gave an answer that holds.
pub(super) fn exhausted(agent: &Agent, attempts: u32, problems: &ParseProblems) -> Error {
    let said = match problems.excerpt.trim() {
        "" => problems.errors.join("; "),
        excerpt => format!("{}\nThe answer was: {excerpt}", problems.errors.join("; ")),
    };
    Error::AgentOutput(
        Failure::new(format!("Failed to obtain valid JSON output after {attempts} attempts"))
            .help("read agent.raw.txt and agent.stderr.txt in the workdir; another model may keep to the format")
            .with("attempts", attempts)
            .with("agent", agent.name())
            .said(said),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purse_counts_what_all_questions_cost_together() {
        let purse = Purse::new(Some(0.5));
        purse.spend(Some(0.2));
        purse.spend(None);
        assert!((purse.left().unwrap() - 0.3).abs() < 1e-9);
        purse.spend(Some(0.4));
        assert_eq!(purse.left(), Some(0.0));
        assert_eq!(Purse::default().left(), None);
    }
}
