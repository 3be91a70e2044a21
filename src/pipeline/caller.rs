//! Who asks: what all questions of a run share, and what each of them cost.

use std::sync::{Mutex, PoisonError};

use super::Request;
use super::eyes::{self, Sight};
use crate::agent::{self, Agent, Answered, Purse, Question};
use crate::contracts::{AgentCall, AgentKind, AgentRun, AppConfig, TokenUsage};
use crate::error::Result;
use crate::run::record::Run;
use crate::run::workdir::{AgentFile, Artifact, Part};
use crate::validate::Reply;

/// Asks agents, within what the run may cost.
pub(super) struct Caller<'a> {
    pub(super) run: &'a Run,
    pub(super) request: &'a Request,
    /// The agent that reviews.
    first: AgentKind,
    /// What agents can read beyond the change.
    pub(super) sight: Option<&'a Sight>,
    purse: Purse,
    calls: Mutex<Vec<(Part, AgentCall)>>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(run: &'a Run, request: &'a Request, first: AgentKind, sight: Option<&'a Sight>) -> Self {
        // The jobs that share a review cannot count together, so each may spend its share.
        let jobs = request.shard.map_or(1.0, |shard| f64::from(shard.of()));
        let purse = Purse::new(request.loaded.config.agent.max_cost_usd.map(|limit| limit / jobs));
        Self { run, request, first, sight, purse, calls: Mutex::default() }
    }

    /// Asks one question.
    pub(super) async fn ask<T: Reply>(&self, agent: &'static Agent, question: &Question<'_, T>) -> Result<Answered<T>> {
        let config = self.config_for(agent.kind);
        let serving = self.sight.and_then(|sight| sight.serve(self.run, self.request, agent.kind, question.part));
        let asked = agent::Request {
            agent,
            config: &config,
            env: &self.request.env,
            start: &self.request.current,
            time_left: agent::time_left(&self.request.loaded.ci, crate::run::clock::now()),
            eyes: serving.as_ref().map(|serving| serving.eyes.clone()),
            purse: &self.purse,
            engine: &self.run.engine,
            workdir: &self.run.workdir,
            events: &self.run.events,
        };
        let answered = agent::ask(&asked, question).await;
        eyes::close(self.run, serving);
        let call = match &answered {
            Ok(answered) => call(question.part, &answered.run, answered.timings.duration_ms, None),
            Err(error) => self.failed(question.part, agent, &error.to_string()),
        };
        self.note(question.part, call);
        answered
    }

    /// How many attempts a question gets.
    pub(super) fn attempts(&self) -> usize {
        self.request.loaded.config.agent.max_json_retries.get()
    }

    /// Keeps what a question cost.
    pub(super) fn note(&self, part: Part, call: AgentCall) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push((part, call));
    }

    /// Every question so far, in the order of the parts.
    pub(super) fn calls(&self) -> Vec<AgentCall> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        calls.sort_by_key(|(part, _)| *part);
        calls.into_iter().map(|(_, call)| call).collect()
    }

    /// What all of them used.
    pub(super) fn usage(&self) -> TokenUsage {
        self.calls().iter().fold(TokenUsage::default(), |mut sum, call| {
            sum.add(&call.token_usage);
            sum
        })
    }

    /// Another program's model is not named by the key of the first one.
    fn config_for(&self, kind: AgentKind) -> AppConfig {
        let mut config = self.request.loaded.config.clone();
        if kind != self.first {
            config.agent.model = None;
        }
        config
    }

    /// A question without an answer cost what its attempts did.
    fn failed(&self, part: Part, agent: &Agent, error: &str) -> AgentCall {
        let recorded = self.run.workdir.read_json::<AgentRun>(Artifact::asked(part, AgentFile::Run)).ok().flatten();
        let error = Some(crate::error::clip(self.run.engine.redact(crate::redact::Output::Error, error).as_str(), 500));
        match recorded {
            Some(run) => call(part, &run, run.attempts.iter().map(|attempt| attempt.duration_ms).sum(), error),
            None => AgentCall {
                part: name(part),
                agent: agent.kind,
                model: None,
                attempts: 0,
                requests: None,
                duration_ms: 0,
                token_usage: TokenUsage::default(),
                error,
            },
        }
    }
}

/// What a question cost.
pub(super) fn call(part: Part, run: &AgentRun, duration_ms: u64, error: Option<String>) -> AgentCall {
    let requests: u64 = run.attempts.iter().map(|attempt| attempt.requests.len() as u64).sum();
    AgentCall {
        part: name(part),
        agent: run.agent,
        model: run.model.clone(),
        attempts: run.attempts.len() as u64,
        requests: (requests > 0).then_some(requests),
        duration_ms,
        token_usage: run.token_usage.clone(),
        error,
    }
}

fn name(part: Part) -> String {
    match part {
        Part::Only => "review".into(),
        Part::Pass(number) => format!("pass {number}"),
        Part::Look => "second look".into(),
        Part::LookAgain => "second look again".into(),
    }
}
