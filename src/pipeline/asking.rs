//! The prompts of a review, and the offline checks that need none.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::passes::Passes;
use super::{About, Change, Request, chars, look, talk};
use crate::agent::{self, builtin};
use crate::config::{self, Loaded};
use crate::contracts::{
    AgentAttempt, AgentKind, AgentRequest, AgentRequestMeta, AgentReviewOutput, AgentRun, RedactionMatch, Side,
    Timings, TokenUsage,
};
use crate::diff::Diff;
use crate::error::{Error, Failure, Result};
use crate::prompt::{self, PromptInput};
use crate::redact::{Output, Redacted};
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::{AgentFile, Artifact};

/// What the agent answered, and how it ran.
pub(super) struct Asked {
    pub(super) output: AgentReviewOutput,
    pub(super) run: AgentRun,
    pub(super) timings: Timings,
    /// Passes without an answer, from 0.
    pub(super) lost: Vec<usize>,
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
        token_usage: TokenUsage::default(),
        requests: Vec::new(),
    };
    let agent_run = AgentRun {
        agent: AgentKind::Builtin,
        version: Some(crate::VERSION.into()),
        model: None,
        argv: Vec::new(),
        env_names: Vec::new(),
        attempts: vec![attempt],
        token_usage: TokenUsage::default(),
        calls: Vec::new(),
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
    Ok(Asked { output, run: agent_run, timings, lost: Vec::new() })
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

/// Renders the prompt of each pass; what came from the merge request stands in it as data.
pub(super) fn write_prompts(
    run: &Run,
    request: &Request,
    kind: AgentKind,
    passes: &Passes,
    diff: &Diff<'_>,
    about: &About<'_>,
) -> Result<Vec<Redacted>> {
    run.stage("prompt");
    (0..passes.own.len()).map(|at| write_prompt(run, request, kind, at, passes, diff, about)).collect()
}

fn write_prompt(
    run: &Run,
    request: &Request,
    kind: AgentKind,
    at: usize,
    passes: &Passes,
    diff: &Diff<'_>,
    about: &About<'_>,
) -> Result<Redacted> {
    let (loaded, settings) = (&request.loaded, &request.loaded.config.agent);
    let (pass, text) = (passes.own[at], passes.text(about.prepared, at));
    let agent = agent::by_kind(kind);
    let (title, description) = about.said(request);
    // Part by part: the prompt's own structure, its numbers and its diff must not be read as one text with them.
    let clean = |text: &str| run.engine.redact(Output::Prompt, text).into_string();
    let (title, description) = (title.map(clean), description.map(clean));
    let (digest, truncation) = (cleaned(run, &about.prior.digest), cleaned(run, &about.prepared.report));
    let since = cleaned(run, &talk::since(about, diff));
    let instructions = clean(loaded.instructions.as_deref().unwrap_or_default());
    let template = loaded.template.as_deref().map(clean);
    let issues: Vec<prompt::Issue> = about
        .issues
        .iter()
        .map(|issue| prompt::Issue {
            iid: issue.iid,
            title: clean(&issue.title),
            description: clean(&issue.description),
        })
        .collect();
    let elsewhere = passes.division.elsewhere(diff, pass);
    let written = prompt::build(&PromptInput {
        structured_output: agent.is_some_and(|agent| agent.structured),
        eyes: about.sight.is_some_and(|sight| sight.is_for(request, kind)),
        second_look: look::looker(request, kind).is_some(),
        verbosity: settings.verbosity,
        skills: &settings.skills,
        language: loaded.config.review.language.as_deref(),
        rules: &clean(&rules(loaded, text)?),
        custom_instructions: &instructions,
        template: template.as_deref(),
        pass: (passes.total() > 1).then_some(prompt::PassNote {
            number: pass + 1,
            of: passes.total(),
            elsewhere: &elsewhere,
        }),
        truncation: &truncation,
        redaction_found: about.change.redaction.found,
        title: title.as_deref(),
        description: description.as_deref(),
        issues: &issues,
        digest: &digest,
        since: &since,
        fingerprint: &about.change.fingerprint,
        diff: text,
        anchors: about.anchors,
        max_chars: agent.and_then(agent::Agent::max_prompt_chars),
    });
    let prompt = run.engine.redact_known(Output::Prompt, written);
    let artifact = |file| Artifact::asked(passes.part(pass), file);
    run.workdir.text(artifact(AgentFile::Prompt), &prompt)?;
    run.workdir.json(
        artifact(AgentFile::Request),
        &AgentRequest {
            meta: AgentRequestMeta {
                fingerprint: about.change.fingerprint.clone(),
                truncation: about.prepared.report.clone(),
                redaction_found: about.change.redaction.found,
                agent: kind,
                verbosity: settings.verbosity,
                skills: settings.skills.clone(),
                model: settings.model.clone(),
                custom_instructions_present: loaded.instructions.is_some(),
                custom_instructions_file: settings.custom_instructions_file.clone(),
                prompt_version: prompt::VERSION,
            },
        },
    )?;
    let path = artifact(AgentFile::Prompt).file_name();
    run.events.emit(Event::PromptWritten { path, chars: chars(prompt.as_str()) });
    Ok(prompt)
}

/// The project's rules for the files of a pass.
fn rules(loaded: &Loaded, diff: &str) -> Result<String> {
    let rules: Vec<prompt::Rule> = loaded
        .config
        .review
        .rules
        .iter()
        .map(|rule| {
            let file = rule.file.as_deref().and_then(|file| loaded.named(config::RULES, file)).unwrap_or_default();
            prompt::Rule { paths: rule.paths.clone(), text: format!("{file}\n{}", rule.text) }
        })
        .collect();
    let diff = Diff::parse(diff.as_bytes()).unwrap_or_default();
    let files: Vec<&str> =
        diff.files.iter().flat_map(|file| [file.new_path.as_str(), file.old_path.as_str()]).collect();
    prompt::rules(&rules, &files)
        .map_err(|error| loaded.invalid(config::RULES, &error.to_string(), "fix or remove the glob"))
}

/// There is always a pass, so this cannot be; if it is, it is no review.
pub(super) fn nothing_to_ask(agent: &agent::Agent) -> Error {
    Error::AgentOutput(Failure::new(format!("agent `{}` was asked nothing", agent.name())).with("agent", agent.name()))
}

/// A value whose texts may be shown to an agent.
fn cleaned<T: Serialize + DeserializeOwned + Clone>(run: &Run, value: &T) -> T {
    let json = run.engine.redact_json(Output::Prompt, serde_json::to_value(value).unwrap_or_default());
    serde_json::from_value(json).unwrap_or_else(|_| value.clone())
}
