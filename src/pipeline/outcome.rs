//! What becomes of an answer: checked, planned, posted and reported.

use super::asking::Asked;
use super::caller::Caller;
use super::{About, Request, client_config};
use crate::contracts::{
    AgentKind, AgentRun, CheckCode, PostPlan, ReviewMeta, ReviewOutput, RunRecord, Validation, VerdictCounts,
};
use crate::diff::Diff;
use crate::error::{Error, Failure, Result};
use crate::gitlab::Client;
use crate::post::position::Refs;
use crate::post::{self, timezone};
use crate::redact::{Engine, Output};
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::{Artifact, Workdir};
use crate::view::{self, Shown};
use crate::{validate, verdict};

/// The review, and what its checks saw.
pub(super) struct Reviewed {
    pub(super) review: ReviewOutput,
    pub(super) validation: Validation,
    /// How the agent ran.
    pub(super) run: AgentRun,
}

/// Keeps what holds of the answer.
pub(super) fn validate(
    caller: &Caller<'_>,
    agent: AgentKind,
    asked: Asked,
    diff: &Diff<'_>,
    about: &About<'_>,
) -> Result<Reviewed> {
    let (run, request) = (caller.run, caller.request);
    run.stage("validate");
    let config = &request.loaded.config;
    let top = crate::config::repository_top(&request.current);
    let checkout = top.as_deref().map(|top| top.to_string_lossy());
    let checked = validate::check(asked.output, diff, about.anchors, config.review.anchoring, checkout.as_deref());
    let review = ReviewOutput {
        summary_markdown: checked.summary_markdown,
        findings: checked.findings,
        meta: ReviewMeta {
            fingerprint: about.change.fingerprint.clone(),
            agent,
            model: config.agent.model.clone(),
            timings: asked.timings,
            token_usage: asked.run.token_usage.clone(),
            truncated: about.prepared.report.truncated,
            redaction_found: about.change.redaction.found,
            second_look: None,
            calls: Vec::new(),
        },
    };
    run.events.emit(Event::ReviewValidated {
        findings: review.findings.len() as u64,
        truncated: review.meta.truncated,
        rejected: checked.validation.rejected.len() as u64,
        unplaced: review.findings.iter().filter(|finding| finding.unplaced.is_some()).count() as u64,
    });
    let mut reviewed = Reviewed { review, validation: checked.validation, run: asked.run };
    record(caller, &mut reviewed)?;
    Ok(reviewed)
}

/// Writes the review down as it stands, with what it has cost so far.
pub(super) fn record(caller: &Caller<'_>, reviewed: &mut Reviewed) -> Result<()> {
    let run = caller.run;
    let (calls, usage) = (caller.calls(), caller.usage());
    reviewed.review.meta.calls.clone_from(&calls);
    reviewed.review.meta.token_usage.clone_from(&usage);
    reviewed.run.calls = calls;
    reviewed.run.token_usage.clone_from(&usage);
    run.workdir.json(Artifact::AgentRun, &reviewed.run)?;
    run.workdir.json(Artifact::Validation, &reviewed.validation)?;
    run.workdir.json(Artifact::Review, &reviewed.review)?;
    run.note(|progress| {
        progress.reviewed = true;
        progress.token_usage = Some(usage);
        progress.counts = count(&reviewed.review, &reviewed.validation);
        progress.worst = worst(&reviewed.review);
    });
    Ok(())
}

/// Id of the finding to read first.
fn worst(review: &ReviewOutput) -> Option<String> {
    let first = review.findings.iter().rev().max_by_key(|finding| finding.severity)?;
    Some(first.finding_id.clone())
}

pub(super) fn count(review: &ReviewOutput, validation: &Validation) -> VerdictCounts {
    let is_dropped = |code| matches!(code, CheckCode::Refuted | CheckCode::Trivial);
    let dropped = validation.rejected.iter().filter(|rejected| is_dropped(rejected.reason.code)).count() as u64;
    let mut counts = VerdictCounts {
        findings: review.findings.len() as u64,
        rejected: validation.rejected.len() as u64 - dropped,
        dropped,
        ..VerdictCounts::default()
    };
    for finding in &review.findings {
        *counts.by_severity.entry(finding.severity.name().to_owned()).or_default() += 1;
    }
    counts
}

/// The exact list of what is to be written where.
pub(super) fn plan(
    run: &Run,
    request: &Request,
    reviewed: &Reviewed,
    diff: &Diff<'_>,
    about: &About<'_>,
) -> Result<PostPlan> {
    run.stage("plan");
    let config = &request.loaded.config;
    let zone = timezone::parse(&config.note_timezone).map_err(|problem| {
        request.loaded.invalid("note_timezone", &problem, "use system-local, UTC, an IANA name or an offset")
    })?;
    let reference = &about.change.source.reference;
    let refs = match about.merge_request().and_then(|merge_request| merge_request.diff_refs.as_ref()) {
        Some(refs) => Some(Refs {
            base_sha: refs.base_sha.clone(),
            start_sha: refs.start_sha.clone(),
            head_sha: refs.head_sha.clone(),
        }),
        None => reference
            .base_sha
            .as_deref()
            .zip(reference.head_sha.as_deref())
            .map(|(base, head)| Refs::between(base, head)),
    };
    let progress = run.progress();
    let headline = verdict::headline_of(&progress);
    let iid = about.merge_request().map(|merge_request| merge_request.iid);
    let project = about.merge_request().map(|merge_request| merge_request.project_id.to_string());
    let mut plan = post::plan::build(&post::plan::Inputs {
        config,
        zone,
        review: &reviewed.review,
        diff,
        refs: refs.as_ref(),
        head_sha: reference.head_sha.as_deref(),
        project_id: project.as_deref(),
        mr_iid: iid,
        prior: about.prior,
        headline: &headline,
        truncation: &about.prepared.report,
        redaction: &about.change.redaction,
        errors: &progress.diagnostics,
        policy: progress.policy.as_ref(),
        elsewhere: &progress.elsewhere,
    });
    clean_plan(&mut plan, run);
    run.workdir.json(Artifact::PostPlan, &plan)?;
    run.note(|progress| {
        let counts = &mut progress.counts;
        counts.inline = plan.discussions.len() as u64;
        counts.repeated = plan.repeated.len() as u64;
        counts.summary = counts.findings.saturating_sub(counts.inline + counts.repeated + plan.withheld.len() as u64);
    });
    run.events.emit(Event::PostPlanBuilt {
        discussions: plan.discussions.len() as u64,
        idempotent_summary: plan.idempotent_summary,
        repeated: plan.repeated.len() as u64,
    });
    Ok(plan)
}

/// What is posted is what the plan says: without secrets, and with nothing in it that acts.
pub(super) fn clean_plan(plan: &mut PostPlan, run: &Run) {
    let clean = |text: &mut String| *text = post::wire::composed(&run.engine, text).into_string();
    clean(&mut plan.summary_markdown);
    clean(&mut plan.summary_meta_collapsible);
    clean(&mut plan.summary_body);
    for discussion in &mut plan.discussions {
        clean(&mut discussion.body_markdown);
    }
}

/// Executes the plan, where this run may.
pub(super) async fn post(run: &Run, request: &Request, gitlab: Option<&Client>, plan: &PostPlan) -> Result<()> {
    let Some(client) = gitlab.filter(|_| request.posts()) else {
        return Ok(());
    };
    run.stage("post");
    send_plan(run, client, plan).await
}

pub(super) async fn send_plan(run: &Run, client: &Client, plan: &PostPlan) -> Result<()> {
    let sent = post::send::send(plan, client, &run.workdir, &run.events, &run.engine).await;
    run.workdir.json(Artifact::PostResults, &sent.results)?;
    match sent.error {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Renders what people and GitLab's widget look at; also when posting failed.
pub(super) fn report(
    run: &Run,
    reviewed: Reviewed,
    plan: PostPlan,
    about: &About<'_>,
    posted: &Result<()>,
) -> Result<()> {
    run.stage("report");
    let events = run.workdir.read(&Artifact::Events.file_name()).unwrap_or_default();
    let context = run.workdir.read(&Artifact::Context.file_name()).unwrap_or_default();
    let shown = Shown {
        record: run.record(posted.as_ref().err()),
        review: reviewed.review,
        diff: about.prepared.text.clone(),
        truncation: about.prepared.report.clone(),
        redaction: about.change.redaction.clone(),
        validation: reviewed.validation,
        plan: Some(plan),
        post: run.workdir.read_json(Artifact::PostResults)?,
        events: String::from_utf8_lossy(&events).lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        context: String::from_utf8_lossy(&context).lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
    };
    write_reports(&run.workdir, &run.engine, &shown)
}

/// The reports of a review.
pub(crate) fn write_reports(workdir: &Workdir, engine: &Engine, shown: &Shown) -> Result<()> {
    workdir.foreign_json(Artifact::CodeQuality, view::code_quality(shown))?;
    workdir.foreign_json(Artifact::Sarif, view::sarif(shown))?;
    workdir.text(Artifact::Html, &engine.redact(Output::Report, &view::html(shown)?))
}

/// Posts, or finishes posting, what an earlier run planned.
pub async fn post_again(run: &Run, request: &Request) -> Result<()> {
    run.stage("post");
    let plan: PostPlan = run.workdir.read_json(Artifact::PostPlan)?.ok_or_else(|| {
        Error::GitlabPost(
            Failure::new(format!("there is no post_plan.json in {}", run.workdir.path().display()))
                .help("run `diffsan --ci --no-post` first, or name the workdir of a finished review"),
        )
    })?;
    if let Some(record) = run.workdir.read_json::<RunRecord>(Artifact::Run)? {
        run.take_over(record);
    }
    let mut config = client_config(request)?;
    if let (Some(project), Some(iid)) = (&plan.project_id, plan.mr_iid) {
        config.project.clone_from(project);
        config.mr_iid = iid;
    }
    let client = Client::new(config, run.events.clone())?;
    send_plan(run, &client, &plan).await
}
