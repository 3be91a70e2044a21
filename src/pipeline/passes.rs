//! The passes of a review: each asked by itself, several at once, and one answer made of them. A pass that fails costs
//! its files, not the review.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use super::Change;
use super::asking::{Asked, builtin_review};
use super::caller::Caller;
use crate::agent::{self, Agent, Answered, Question};
use crate::contracts::{AgentKind, AgentReviewOutput, AgentRun, Timings};
use crate::diff::Diff;
use crate::error::{Error, Result};
use crate::passes::{self, Division};
use crate::prepare::{Loss, Prepared};
use crate::redact::Redacted;
use crate::run::record::Run;
use crate::run::workdir::{Artifact, Part};
use crate::validate::Form;

/// How a change is divided, and the diff of each pass that is asked for here.
pub(super) struct Passes {
    pub(super) division: Division,
    /// The passes that are asked for here: all of them, or those of one part.
    pub(super) own: Vec<usize>,
    /// The diff of each of those; a single one shows the whole prepared diff.
    texts: Vec<Redacted>,
}

impl Passes {
    pub(super) fn new(division: Division, own: Vec<usize>, texts: Vec<Redacted>) -> Self {
        Self { division, own, texts }
    }

    /// What the pass at this place of those asked for here shows of the prepared diff.
    pub(super) fn text<'t>(&'t self, prepared: &'t Prepared, at: usize) -> &'t str {
        self.texts.get(at).map_or(&prepared.text, Redacted::as_str)
    }

    /// How many there are in all.
    pub(super) fn total(&self) -> usize {
        self.division.passes.len()
    }

    /// Where the files of a pass go; a single one keeps the names it always had.
    pub(super) fn part(&self, pass: usize) -> Part {
        match self.total() {
            0 | 1 => Part::Only,
            _ => Part::Pass(number(pass)),
        }
    }
}

/// A pass as people count it.
pub(super) fn number(pass: usize) -> u32 {
    u32::try_from(pass + 1).unwrap_or(u32::MAX)
}

/// Asks for the review of each pass.
pub(super) async fn ask(
    caller: &Caller<'_>,
    kind: AgentKind,
    prompts: &[Redacted],
    passes: &Passes,
    diff: &Diff<'_>,
    change: &Change,
) -> Result<Asked> {
    caller.run.stage("agent");
    let Some(agent) = agent::by_kind(kind) else {
        let asked = builtin_review(caller.run, diff, change)?;
        caller.note(Part::Only, super::caller::call(Part::Only, &asked.run, asked.timings.duration_ms, None));
        return Ok(asked);
    };
    let form = Form::review();
    let own = passes.own.iter().zip(prompts);
    let jobs = own.map(|(pass, prompt)| -> Job<'_, Result<Answered<AgentReviewOutput>>> {
        let question = Question { prompt, form: &form, attempts: caller.attempts(), part: passes.part(*pass) };
        Box::pin(async move { caller.ask(agent, &question).await })
    });
    let answers = some_at_once(jobs.collect(), at_once(caller)).await;
    gather(caller.run, agent, passes, answers)
}

/// Says what the failed passes held, and that nobody reviewed it.
pub(super) fn settle(
    run: &Run,
    diff: &Diff<'_>,
    passes: &Passes,
    asked: &Asked,
    mut prepared: Prepared,
) -> Result<Prepared> {
    for pass in &asked.lost {
        if let Some(lost) = passes.division.passes.get(*pass) {
            prepared.lose(diff, &lost.files, Loss::Pass, &format!("pass {} failed", pass + 1));
        }
    }
    if !asked.lost.is_empty() {
        run.note(|progress| progress.coverage = prepared.report.coverage.clone());
        run.workdir.json(Artifact::Truncation, &prepared.report)?;
    }
    Ok(prepared)
}

type Job<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// How many passes run at once: what is configured and the machine allows, and one where money is counted, for what two
/// cost is known only when both are done.
fn at_once(caller: &Caller<'_>) -> usize {
    let config = &caller.request.loaded.config;
    if config.agent.max_cost_usd.is_some() {
        return 1;
    }
    let machine = std::thread::available_parallelism().map_or(1, usize::from);
    config.limits.parallel_passes.get().min(machine.max(2))
}

/// Runs jobs, so many at once, and gives their results in the order of the jobs.
async fn some_at_once<'a, T>(jobs: Vec<Job<'a, T>>, at_once: usize) -> Vec<T> {
    let mut results: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
    let mut waiting = jobs.into_iter().enumerate();
    let mut running: Vec<(usize, Job<'a, T>)> = Vec::new();
    std::future::poll_fn(|context| {
        loop {
            let free = at_once.max(1).saturating_sub(running.len());
            running.extend(waiting.by_ref().take(free));
            if running.is_empty() {
                return Poll::Ready(());
            }
            let before = running.len();
            running.retain_mut(|(at, job)| match job.as_mut().poll(context) {
                Poll::Ready(result) => {
                    results[*at] = Some(result);
                    false
                }
                Poll::Pending => true,
            });
            if running.len() == before {
                return Poll::Pending;
            }
        }
    })
    .await;
    results.into_iter().flatten().collect()
}

/// One answer out of those that there are; none at all is the first failure.
fn gather(
    run: &Run,
    agent: &Agent,
    passes: &Passes,
    answers: Vec<Result<Answered<AgentReviewOutput>>>,
) -> Result<Asked> {
    let of = passes.total();
    let mut outputs = Vec::new();
    let mut lost = Vec::new();
    let mut failures: Vec<Error> = Vec::new();
    let mut record: Option<(AgentRun, Timings)> = None;
    for (pass, answer) in passes.own.iter().copied().zip(answers) {
        match answer {
            Ok(answer) => {
                outputs.push((pass + 1, answer.output));
                record = Some(match record {
                    None => (answer.run, answer.timings),
                    Some(so_far) => add(so_far, answer.run, answer.timings),
                });
            }
            Err(error) => {
                lost.push(pass);
                failures.push(error);
            }
        }
    }
    let Some((agent_run, timings)) = record else {
        let first = failures.into_iter().next();
        return Err(first.unwrap_or_else(|| super::asking::nothing_to_ask(agent)));
    };
    for failure in &failures {
        run.survive(failure);
    }
    let output = match (of, outputs.pop()) {
        (1, Some((_, only))) => only,
        (_, last) => {
            outputs.extend(last);
            passes::merge(outputs, of)
        }
    };
    Ok(Asked { output, run: agent_run, timings, lost })
}

fn add((mut run, mut timings): (AgentRun, Timings), other: AgentRun, times: Timings) -> (AgentRun, Timings) {
    run.attempts.extend(other.attempts);
    run.token_usage.add(&other.token_usage);
    if times.started_at < timings.started_at {
        timings.started_at = times.started_at;
    }
    if times.ended_at > timings.ended_at {
        timings.ended_at = times.ended_at;
    }
    timings.duration_ms = crate::run::clock::between(&timings.started_at, &timings.ended_at);
    (run, timings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test]
    async fn jobs_run_so_many_at_once_and_keep_their_order() {
        let (running, most) = (Cell::new(0), Cell::new(0));
        let job = |number: usize| -> Job<'_, usize> {
            let (running, most) = (&running, &most);
            Box::pin(async move {
                running.set(running.get() + 1);
                most.set(most.get().max(running.get()));
                for _ in 0..(7 - number) {
                    tokio::task::yield_now().await;
                }
                running.set(running.get() - 1);
                number
            })
        };
        let results = some_at_once((0..6).map(job).collect(), 2).await;
        assert_eq!(results, [0, 1, 2, 3, 4, 5]);
        assert_eq!(most.get(), 2);
    }
}
