//! `diffsan post`: what an earlier job planned, as far as this job can see that it is so.

use super::outcome::send_plan;
use super::{Request, change, client_config, source};
use crate::config::CiContext;
use crate::contracts::{PostPlan, RunRecord};
use crate::diff::Diff;
use crate::diff::fetch::Fetched;
use crate::error::{Error, Failure, Result};
use crate::gitlab::{Client, ClientConfig};
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::Artifact;
use crate::threads::{Standing, change_hash};

/// Posts, or finishes posting, what an earlier run planned. The folder is data: where to post is the job's to say.
pub async fn post_again(run: &Run, request: &Request) -> Result<()> {
    run.stage("post");
    run.note(|progress| {
        progress.fail_on = request.loaded.config.gate.fail_on;
        progress.on_partial = request.gate().on_partial;
    });
    let record = run.workdir.read_json::<RunRecord>(Artifact::Run)?;
    let skipped = record.as_ref().is_some_and(|record| record.ok && record.skipped);
    if let Some(record) = record {
        run.take_over(record);
    }
    if skipped {
        run.events.emit(Event::Warning { message: "the review was skipped: there is nothing to post".into() });
        return Ok(());
    }
    let plan: PostPlan = run.workdir.read_json(Artifact::PostPlan)?.ok_or_else(|| {
        Error::GitlabPost(Failure::new(format!("there is no post_plan.json in {}", run.workdir.path().display())).help(
            "run `diffsan --ci --no-post` first, or name the workdir of a finished review; the parts of one are \
             posted with `diffsan post --parts N`",
        ))
    })?;
    let config = client_config(request)?;
    fits_the_job(&plan, &config, &request.loaded.ci)?;
    let client = Client::new(config, run.events.clone())?;
    let here = source::local_or_ci(request).await.ok();
    // As the review's own keys: a key must not be the hash of a secret.
    let shown = here.as_ref().map(|fetched| run.engine.redact_diff(&fetched.raw).bytes.into_text());
    let shown = shown.as_ref().and_then(|text| Diff::parse(text.as_str().as_bytes()).ok());
    let standing = shown.as_ref().map(Standing::of);
    send_plan(run, &client, &believed(run, here.as_ref(), plan), standing.as_ref()).await
}

/// A claim is signed here, so that later runs skip for it: what it says of the change is computed again. A claim that is
/// not of this job's change is posted all the same, as one that no later run believes.
fn believed(run: &Run, here: Option<&Fetched>, mut plan: PostPlan) -> PostPlan {
    let Some(claim) = plan.claim.as_mut().filter(|claim| claim.complete) else { return plan };
    let known = here.and_then(|fetched| Some((fetched, Diff::parse(&fetched.raw).ok()?)));
    let same = known.is_some_and(|(fetched, diff)| {
        let reference = &fetched.source.reference;
        claim.fingerprint == change::fingerprint(&fetched.raw).to_string()
            && claim.change == change_hash(&diff)
            && Some(&claim.head) == reference.head_sha.as_ref()
            && Some(&claim.base) == reference.base_sha.as_ref()
            && plan.head_sha == reference.head_sha
    });
    if !same {
        claim.complete = false;
        let message = "that the planned review is of this job's change could not be seen: it is posted, and the next run \
                       of this change reviews it again";
        run.events.emit(Event::Warning { message: message.into() });
    }
    plan
}

/// A plan for another project, merge request or commit is refused before anything is asked.
fn fits_the_job(plan: &PostPlan, job: &ClientConfig, ci: &CiContext) -> Result<()> {
    let refused = |what: &str, planned: &str, here: &str| {
        let message = format!("the plan is for {what} {planned}, and this job is for {what} {here}");
        Error::GitlabPost(Failure::new(message).help(
            "the workdir is of another job: run `diffsan post` in the job of the same merge request, or review again",
        ))
    };
    if let Some(iid) = plan.mr_iid.filter(|iid| *iid != job.mr_iid) {
        return Err(refused("merge request", &format!("!{iid}"), &format!("!{}", job.mr_iid)));
    }
    let head = ci.source_branch_sha.as_ref().or(ci.commit_sha.as_ref());
    if let (Some(planned), Some(head)) = (&plan.head_sha, head)
        && !planned.eq_ignore_ascii_case(head)
    {
        return Err(refused("commit", planned, head));
    }
    // A project that the job names by its path is compared when GitLab has told its number.
    let is_number = |project: &str| !project.is_empty() && project.bytes().all(|byte| byte.is_ascii_digit());
    match &plan.project_id {
        Some(project) if is_number(&job.project) && *project != job.project => {
            Err(refused("project", project, &job.project))
        }
        _ => Ok(()),
    }
}
