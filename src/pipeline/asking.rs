//! The prompt, and the agent that answers it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{About, Change, Request, chars};
use crate::agent::{self, builtin};
use crate::contracts::{
    AgentAttempt, AgentKind, AgentRequest, AgentRequestMeta, AgentReviewOutput, AgentRun, RedactionMatch, Side,
    Timings, TokenUsage,
};
use crate::diff::Diff;
use crate::error::Result;
use crate::prompt::{self, PromptInput};
use crate::redact::{Output, Redacted};
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::Artifact;

/// What the agent answered, and how it ran.
pub(super) struct Asked {
    pub(super) output: AgentReviewOutput,
    pub(super) run: AgentRun,
    pub(super) timings: Timings,
}

pub(super) async fn ask(
    run: &Run,
    request: &Request,
    kind: AgentKind,
    prompt: &Redacted,
    diff: &Diff<'_>,
    change: &Change,
) -> Result<Asked> {
    run.stage("agent");
    let Some(agent) = agent::by_kind(kind) else {
        return builtin_review(run, diff, change);
    };
    let answer = agent::review(&agent::Request {
        agent,
        config: &request.loaded.config,
        prompt,
        env: &request.env,
        start: &request.current,
        time_left: agent::time_left(&request.loaded.ci, crate::run::clock::now()),
        engine: &run.engine,
        workdir: &run.workdir,
        events: &run.events,
    })
    .await?;
    Ok(Asked { output: answer.output, run: answer.run, timings: answer.timings })
}

/// The offline checks, recorded as any other agent.
pub(super) fn builtin_review(run: &Run, diff: &Diff<'_>, change: &Change) -> Result<Asked> {
    let started = crate::run::clock::now();
    let output = builtin::review(diff, &shown_secrets(diff, &change.redaction.matches));
    let ended = crate::run::clock::now();
    let timings = Timings {
        started_at: crate::run::clock::text(started),
        ended_at: crate::run::clock::text(ended),
        duration_ms: u64::try_from((ended - started).whole_milliseconds()).unwrap_or(0),
    };
    let raw = serde_json::to_string_pretty(&output).unwrap_or_default();
    let raw = run.engine.redact(Output::AgentOutput, &raw);
    run.workdir.text(Artifact::AgentRaw, &raw)?;
    run.workdir.text(Artifact::AgentRawAttempt(1), &raw)?;
    let attempt = AgentAttempt {
        attempt: 1,
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        started_at: timings.started_at.clone(),
        ended_at: timings.ended_at.clone(),
        duration_ms: timings.duration_ms,
        stdout_bytes: raw.as_str().len() as u64,
        stderr_bytes: 0,
        valid: true,
        rung: Some("strict".into()),
        error: None,
    };
    let agent_run = AgentRun {
        agent: AgentKind::Builtin,
        version: Some(crate::VERSION.into()),
        model: None,
        argv: Vec::new(),
        env_names: Vec::new(),
        attempts: vec![attempt],
        token_usage: TokenUsage::default(),
    };
    run.workdir.json(Artifact::AgentRun, &agent_run)?;
    run.events.emit(Event::AgentAttempt {
        attempt: 1,
        exit_code: Some(0),
        duration_ms: timings.duration_ms,
        agent: AgentKind::Builtin,
        valid: true,
        error: None,
    });
    Ok(Asked { output, run: agent_run, timings })
}

/// The secrets on lines that are shown; those of other files are in the redaction report all the same.
fn shown_secrets(diff: &Diff<'_>, found: &[RedactionMatch]) -> Vec<RedactionMatch> {
    let is_shown = |secret: &&RedactionMatch| {
        let file = secret.path.as_deref().and_then(|path| diff.file(path));
        let Some(file) = file else { return secret.path.is_none() };
        let on = |line: crate::diff::Line<'_>| if secret.side == Side::Old { line.old } else { line.new };
        secret
            .line_hint
            .is_none_or(|hint| file.hunks.iter().flat_map(|hunk| hunk.lines()).any(|line| on(line) == Some(hint)))
    };
    found.iter().filter(is_shown).cloned().collect()
}

/// Renders the prompt; what came from the merge request stands in it as data.
pub(super) fn write_prompt(run: &Run, request: &Request, kind: AgentKind, about: &About<'_>) -> Result<Redacted> {
    run.stage("prompt");
    let (loaded, config) = (&request.loaded, &request.loaded.config.agent);
    let agent = agent::by_kind(kind);
    let merge_request = about.merge_request();
    let (title, description) = match merge_request {
        Some(merge_request) => (Some(merge_request.title.as_str()), Some(merge_request.description.as_str())),
        None if loaded.config.mode.ci => (loaded.ci.title.as_deref(), loaded.ci.description.as_deref()),
        None => (None, None),
    };
    // Part by part: the prompt's own structure, its numbers and its diff must not be read as one text with them.
    let clean = |text: &str| run.engine.redact(Output::Prompt, text).into_string();
    let (title, description) = (title.map(clean), description.map(clean));
    let (digest, truncation) = (cleaned(run, &about.prior.digest), cleaned(run, &about.prepared.report));
    let instructions = clean(loaded.instructions.as_deref().unwrap_or_default());
    let template = loaded.template.as_deref().map(clean);
    let text = prompt::build(&PromptInput {
        structured_output: agent.is_some_and(|agent| agent.structured),
        eyes: false,
        second_look: false,
        verbosity: config.verbosity,
        skills: &config.skills,
        language: None,
        rules: "",
        custom_instructions: &instructions,
        template: template.as_deref(),
        truncation: &truncation,
        redaction_found: about.change.redaction.found,
        title: title.as_deref(),
        description: description.as_deref(),
        issues: &[],
        digest: &digest,
        fingerprint: &about.change.fingerprint,
        diff: &about.prepared.text,
        anchors: about.anchors,
        max_chars: agent.and_then(agent::Agent::max_prompt_chars),
    });
    let prompt = run.engine.redact_known(Output::Prompt, &text);
    run.workdir.text(Artifact::Prompt, &prompt)?;
    run.workdir.json(
        Artifact::AgentRequest,
        &AgentRequest {
            meta: AgentRequestMeta {
                fingerprint: about.change.fingerprint.clone(),
                truncation: about.prepared.report.clone(),
                redaction_found: about.change.redaction.found,
                agent: kind,
                verbosity: config.verbosity,
                skills: config.skills.clone(),
                model: config.model.clone(),
                custom_instructions_present: loaded.instructions.is_some(),
                custom_instructions_file: config.custom_instructions_file.clone(),
                prompt_version: prompt::VERSION,
            },
        },
    )?;
    run.events.emit(Event::PromptWritten { path: Artifact::Prompt.file_name(), chars: chars(prompt.as_str()) });
    Ok(prompt)
}

/// A value whose texts may be shown to an agent.
fn cleaned<T: Serialize + DeserializeOwned + Clone>(run: &Run, value: &T) -> T {
    fn walk(value: &mut Value, clean: &impl Fn(&str) -> String) {
        match value {
            Value::String(text) => *text = clean(text),
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, clean)),
            Value::Object(members) => members.values_mut().for_each(|member| walk(member, clean)),
            _ => {}
        }
    }
    let clean = |text: &str| run.engine.redact(Output::Prompt, text).into_string();
    let mut json = serde_json::to_value(value).unwrap_or_default();
    walk(&mut json, &clean);
    serde_json::from_value(json).unwrap_or_else(|_| value.clone())
}
