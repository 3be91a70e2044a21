//! What becomes of an answer: checked, planned, posted and reported.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::asking::Asked;
use super::caller::Caller;
use super::talk::{self, Terms};
use super::{About, Request};
use crate::contracts::{
    AgentKind, AgentRun, CheckCode, Claim, PostPlan, ReviewMeta, ReviewOutput, RunRecord, Validation, VerdictCounts,
};
use crate::diff::Diff;
use crate::error::{Error, Failure, Result};
use crate::gitlab::Client;
use crate::post::links::Links;
use crate::post::plan::Job;
use crate::post::position::Refs;
use crate::post::{self, timezone};
use crate::redact::{Engine, Output};
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::{Artifact, Workdir};
use crate::threads::Standing;
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
    let (calls, usage) = (caller.calls(), caller.usage());
    reviewed.review.meta.calls.clone_from(&calls);
    reviewed.review.meta.token_usage.clone_from(&usage);
    reviewed.run.calls = calls;
    reviewed.run.token_usage = usage;
    keep(caller.run, reviewed)
}

/// Writes the review down as it stands.
pub(super) fn keep(run: &Run, reviewed: &Reviewed) -> Result<()> {
    run.workdir.json(Artifact::AgentRun, &reviewed.run)?;
    run.workdir.json(Artifact::Validation, &reviewed.validation)?;
    run.workdir.json(Artifact::Review, &reviewed.review)?;
    run.note(|progress| {
        progress.reviewed = true;
        progress.token_usage = Some(reviewed.run.token_usage.clone());
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

/// Posts what is missing of a review that an earlier run claimed: no agent is asked.
pub(super) async fn finish(
    run: &Run,
    request: &Request,
    gitlab: Option<&Client>,
    claim: Claim,
    diff: &Diff<'_>,
    about: &About<'_>,
    terms: Terms,
) -> Result<()> {
    let Some(review) = claim.review.clone() else { return Ok(()) };
    let anchoring = request.loaded.config.review.anchoring;
    // No agent ran here; what one said is in the claim.
    let run_of = AgentRun {
        agent: review.meta.agent,
        version: None,
        model: review.meta.model.clone(),
        argv: Vec::new(),
        env_names: Vec::new(),
        attempts: Vec::new(),
        token_usage: review.meta.token_usage.clone(),
        calls: Vec::new(),
    };
    let validation = Validation { anchoring, accepted: Vec::new(), rejected: Vec::new() };
    let reviewed = Reviewed { review: *review, validation, run: run_of };
    run.workdir.json(Artifact::Review, &reviewed.review)?;
    run.note(|progress| {
        progress.reviewed = true;
        progress.counts = count(&reviewed.review, &reviewed.validation);
    });
    let plan = plan(run, request, &reviewed, diff, about, terms, Some(claim))?;
    let posted = post(run, request, gitlab, &plan).await;
    report(run, reviewed, Some(plan), about, &posted)?;
    posted
}

/// The exact list of what is to be written where. With a claim it is the plan of that review again.
pub(super) fn plan(
    run: &Run,
    request: &Request,
    reviewed: &Reviewed,
    diff: &Diff<'_>,
    about: &About<'_>,
    terms: Terms,
    claim: Option<Claim>,
) -> Result<PostPlan> {
    run.stage("plan");
    let story = talk::story(run, about, &reviewed.review, diff, claim.as_ref())?;
    run.note(|progress| {
        let counts = &mut progress.counts;
        counts.by_severity = story.counted();
        counts.findings = counts.by_severity.values().sum();
        counts.standing = story.standing() as u64;
        counts.dismissed = story.conversation.dismissed.len() as u64;
    });
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
    // A path below the checkout is the report's path among the job's artifacts too.
    let workdir = std::path::Path::new(&config.workdir);
    let report_path =
        workdir.is_relative().then(|| workdir.join(Artifact::Html.file_name()).to_string_lossy().into_owned());
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
        base_sha: reference.base_sha.as_deref(),
        project_id: project.as_deref(),
        mr_iid: iid,
        prior: about.prior,
        story: &story,
        job: Job {
            url: request.loaded.ci.job_url.as_deref(),
            pipeline_url: request.loaded.ci.pipeline_url.as_deref(),
            report: report_path.as_deref(),
        },
        headline: &headline,
        truncation: &about.prepared.report,
        redaction: &about.change.redaction,
        errors: &progress.diagnostics,
        policy: progress.policy.as_ref(),
        elsewhere: &progress.elsewhere,
    });
    plan.claim = Some(claim.unwrap_or_else(|| talk::claim(request, about, &terms, (&reviewed.review, diff), &story)));
    plan.resolve = talk::resolvable(about.prior, &terms.fixed);
    let links = Links {
        places: [
            about.merge_request().map(|merge_request| &merge_request.web_url),
            request.loaded.ci.job_url.as_ref(),
            request.loaded.ci.pipeline_url.as_ref(),
        ]
        .into_iter()
        .flatten()
        .cloned()
        .collect(),
    };
    clean_plan(&mut plan, run, &links);
    run.workdir.json(Artifact::PostPlan, &plan)?;
    run.note(|progress| {
        let counts = &mut progress.counts;
        counts.inline = plan.discussions.len() as u64;
        counts.repeated = plan.repeated.len() as u64;
        let elsewhere = counts.inline + counts.repeated + counts.standing + plan.withheld.len() as u64;
        counts.summary = counts.findings.saturating_sub(elsewhere);
    });
    run.events.emit(Event::PostPlanBuilt {
        discussions: plan.discussions.len() as u64,
        idempotent_summary: plan.idempotent_summary,
        repeated: plan.repeated.len() as u64,
    });
    Ok(plan)
}

/// What is posted is what the plan says: without secrets, and with nothing in it that acts.
fn clean_plan(plan: &mut PostPlan, run: &Run, links: &Links) {
    let clean =
        |text: &mut String| *text = post::wire::body(&run.engine, text, &links.own(text, |_| true)).into_string();
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
    send_plan(run, client, plan, None).await
}

pub(super) async fn send_plan(run: &Run, client: &Client, plan: &PostPlan, standing: Option<&Standing>) -> Result<()> {
    let sent = post::send::send_over(plan, standing, client, &run.workdir, (&run.events, &run.engine)).await;
    if let Some((counted, standing)) = sent.counted {
        run.note(|progress| {
            progress.counts.findings = counted.values().sum();
            (progress.counts.by_severity, progress.counts.standing) = (counted, standing);
        });
    }
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
    plan: Option<PostPlan>,
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
        plan,
        post: run.workdir.read_json(Artifact::PostResults)?,
        events: String::from_utf8_lossy(&events).lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        conversation: run.workdir.read_json(Artifact::Conversation).unwrap_or_default(),
        context: String::from_utf8_lossy(&context).lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
    };
    write_reports(&run.workdir, &run.engine, shown)
}

/// The reports of a review. Its parts are redacted as what they are, and the page made of them is only searched for known
/// values: read as one text, a label and the line below it would pass for a name and its secret.
pub(crate) fn write_reports(workdir: &Workdir, engine: &Engine, mut shown: Shown) -> Result<()> {
    let diff = engine.redact_scanned_diff(Output::Report, std::mem::take(&mut shown.diff));
    // These come from files that were redacted line by line as they were written.
    let (events, context) = (std::mem::take(&mut shown.events), std::mem::take(&mut shown.context));
    let shown = Shown { diff: diff.into_string(), events, context, ..redacted(engine, &shown)? };
    workdir.foreign_json(Artifact::CodeQuality, view::code_quality(&shown))?;
    workdir.foreign_json(Artifact::Sarif, view::sarif(&shown))?;
    workdir.text(Artifact::Html, &engine.redact_known(Output::Report, view::html(&shown)?))
}

/// The page of a run without a review; there is nothing to put into the other reports.
pub(crate) fn write_outcome(workdir: &Workdir, engine: &Engine, record: &RunRecord) -> Result<()> {
    let events = workdir.read(&Artifact::Events.file_name()).unwrap_or_default();
    let events = String::from_utf8_lossy(&events);
    let events: Vec<_> = events.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let page = view::outcome(&redacted(engine, record)?, &events)?;
    workdir.text(Artifact::Html, &engine.redact_known(Output::Report, page))
}

/// The value with every text in it redacted.
fn redacted<T: Serialize + DeserializeOwned>(engine: &Engine, value: &T) -> Result<T> {
    serde_json::to_value(value)
        .and_then(|value| serde_json::from_value(engine.redact_json(Output::Report, value)))
        .map_err(|error| {
            Error::Format(Failure::new("could not render the report without its secrets").caused_by(&error))
        })
}

/// A page for a run that has no review to show: what happened, why, what to do.
pub fn conclude(run: &Run, error: Option<&Error>) {
    if run.workdir.written().contains(&Artifact::Html.file_name()) {
        return;
    }
    // The record tells it too: a page that cannot be written must not change how the run ended.
    let _ = write_outcome(&run.workdir, &run.engine, &run.record(error));
}
