//! The second look: who takes it, how it is asked for, and what becomes of a review by it.

use super::caller::Caller;
use super::outcome::{Reviewed, record};
use super::{About, Request, chars};
use crate::agent::{self, Agent, Question};
use crate::contracts::{AgentKind, AgentLookOutput, LookStatus, SecondLook, Severity};
use crate::diff::Diff;
use crate::error::{Error, Failure, Result};
use crate::look::{self, Claim, OpenThread, Verdicts};
use crate::prompt::{self, LookInput};
use crate::redact::{Output, Redacted};
use crate::run::events::Event;
use crate::run::workdir::{AgentFile, Artifact, Part};
use crate::validate::Form;

/// Who takes the second look, and at which findings.
#[derive(Clone, Copy)]
pub(super) struct Looker {
    agent: &'static Agent,
    from: Severity,
}

/// Who takes a second look at what this agent finds; none where nobody does.
pub(super) fn looker(request: &Request, first: AgentKind) -> Option<Looker> {
    let config = &request.loaded.config.review;
    let from = config.second_look.severity()?;
    let is_set = request.loaded.is_set("review.second_look") || config.second_agent.is_some();
    // The built-in checks need none, and a program of one's own is not asked a question it may not know.
    if first == AgentKind::Builtin || (first == AgentKind::Command && !is_set) {
        return None;
    }
    let agent = agent::by_kind(config.second_agent.unwrap_or(first))?;
    Some(Looker { agent, from })
}

/// Takes the second look where one is due, and keeps what holds; the open threads that it calls fixed.
pub(super) async fn second_look(
    caller: &Caller<'_>,
    looker: Option<Looker>,
    reviewed: &mut Reviewed,
    threads: &[OpenThread],
    diff: &Diff<'_>,
    about: &About<'_>,
) -> Result<Vec<String>> {
    let Some(looker) = looker else { return Ok(Vec::new()) };
    if !look::is_due(&reviewed.review.findings, threads, looker.from) {
        reviewed.review.meta.second_look = Some(SecondLook::new(LookStatus::NotNeeded));
        record(caller, reviewed)?;
        return Ok(Vec::new());
    }
    caller.run.stage("look");
    let claims = look::claims(&reviewed.review.findings);
    let prompt = write_prompt(caller, looker, &claims, threads, about)?;
    let answered = ask(caller, looker, &prompt, &claims, threads, diff).await;
    let (findings, validation) = (&mut reviewed.review.findings, &mut reviewed.validation);
    let (mut looked, fixed) = match answered {
        Ok(verdicts) => (look::apply(findings, validation, &verdicts), verdicts.fixed),
        Err(error) => {
            caller.run.survive(&error);
            (look::unconfirmed(findings, validation, &error.to_string()), Vec::new())
        }
    };
    looked.agent = Some(looker.agent.kind);
    caller.run.events.emit(Event::ReviewLooked {
        agent: looker.agent.kind,
        confirmed: looked.status == LookStatus::Done,
        claims: looked.claims,
        holds: looked.holds,
        refuted: looked.refuted,
        trivial: looked.trivial,
    });
    reviewed.review.meta.second_look = Some(looked);
    record(caller, reviewed)?;
    Ok(fixed)
}

/// Asks, and once more when the answer leaves a claim out or makes one up.
async fn ask(
    caller: &Caller<'_>,
    looker: Looker,
    prompt: &Redacted,
    claims: &[Claim],
    threads: &[OpenThread],
    diff: &Diff<'_>,
) -> Result<Verdicts> {
    let form = form();
    let sight = caller.sight.filter(|sight| sight.is_for(caller.request, looker.agent.kind));
    let line_exists = |path: &str, line: u32| {
        look::in_diff(diff, path, line) || sight.is_some_and(|sight| sight.has_line(path, line))
    };
    let mut again: Option<Redacted> = None;
    loop {
        let part = if again.is_some() { Part::LookAgain } else { Part::Look };
        let prompt = again.as_ref().unwrap_or(prompt);
        let question = Question { prompt, form: &form, attempts: caller.attempts(), part };
        let answer = caller.ask(looker.agent, &question).await?;
        match look::read(&answer.output, claims, threads, &line_exists) {
            Ok(verdicts) => return Ok(verdicts),
            Err(problems) if again.is_some() => return Err(forged(looker.agent, &problems)),
            Err(problems) => {
                let text = prompt::look_again(prompt.as_str(), &problems);
                let text = caller.run.engine.redact_known(Output::Prompt, text);
                caller.run.workdir.text(Artifact::asked(Part::LookAgain, AgentFile::Prompt), &text)?;
                again = Some(text);
            }
        }
    }
}

fn form() -> Form<AgentLookOutput> {
    Form::new("second look", &["verdicts"])
}

fn forged(agent: &Agent, problems: &[String]) -> Error {
    Error::AgentOutput(
        Failure::new(format!("the second look did not answer what was asked: {}", problems.join("; ")))
            .help("the findings stand as they were, not confirmed; review.second_agent lets another program look")
            .with("agent", agent.name()),
    )
}

fn write_prompt(
    caller: &Caller<'_>,
    looker: Looker,
    claims: &[Claim],
    threads: &[OpenThread],
    about: &About<'_>,
) -> Result<Redacted> {
    let (run, config) = (caller.run, &caller.request.loaded.config);
    let clean = |text: &str| run.engine.redact(Output::Prompt, text).into_string();
    let claims: Vec<Claim> = claims
        .iter()
        .map(|claim| Claim {
            place: clean(&claim.place),
            quote: claim.quote.as_deref().map(clean),
            body: clean(&claim.body),
            ..claim.clone()
        })
        .collect();
    let threads: Vec<OpenThread> = threads
        .iter()
        .map(|thread| OpenThread {
            path: clean(&thread.path),
            body: clean(&thread.body),
            block: clean(&thread.block),
            ..thread.clone()
        })
        .collect();
    let (title, description) = about.said(caller.request);
    let (title, description) = (title.map(clean), description.map(clean));
    let form = form();
    let schema = (!looker.agent.structured).then(|| form.shown_schema());
    let text = prompt::build_look(&LookInput {
        schema: schema.as_deref(),
        eyes: about.sight.is_some_and(|sight| sight.is_for(caller.request, looker.agent.kind)),
        language: config.review.language.as_deref(),
        redaction_found: about.change.redaction.found,
        title: title.as_deref(),
        description: description.as_deref(),
        claims: &claims,
        threads: &threads,
        diff: &look::shown(&about.prepared.text, &claims, config.limits.max_diff_chars.get()),
    });
    let prompt = run.engine.redact_known(Output::Prompt, text);
    let artifact = Artifact::asked(Part::Look, AgentFile::Prompt);
    run.workdir.text(artifact, &prompt)?;
    run.events.emit(Event::PromptWritten { path: artifact.file_name(), chars: chars(prompt.as_str()) });
    Ok(prompt)
}
