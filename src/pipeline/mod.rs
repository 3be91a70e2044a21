//! `review`: the stages in order, and what each leaves behind.

use std::path::PathBuf;

use crate::agent;
use crate::cli::ReviewArgs;
use crate::config::{Environment, Loaded};
use crate::contracts::{
    AgentKind, Anchors, GateConfig, OnPartial, PartOf, PolicyRecord, PolicySource, SkipCode, SkipReason,
};
use crate::error::Result;
use crate::gitlab::MergeRequest;
use crate::passes::Shard;
use crate::prepare::Prepared;
use crate::prompt::Issue;
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::Artifact;
use crate::threads::digest::Prior;
use crate::view;

mod again;
mod asking;
mod caller;
mod change;
mod eyes;
mod guards;
mod look;
mod merge;
mod outcome;
mod part;
mod passes;
mod source;
mod talk;

pub use again::post_again;
use asking::write_prompts;
use caller::Caller;
use change::{Change, Jobs, prepare, redact};
use eyes::Sight;
pub(crate) use eyes::offered;
use look::{looker, second_look};
pub use merge::{Folders, post_parts};
pub use outcome::conclude;
use outcome::{finish, plan, post, report, validate};
pub(crate) use outcome::{write_outcome, write_reports};
use part::Part;
pub(crate) use source::client_config;
use source::{Seen, connect, fetch, issues};
use talk::Terms;

/// What a run was asked to do.
#[derive(Debug, Clone)]
pub struct Request {
    pub args: ReviewArgs,
    pub loaded: Loaded,
    pub env: Environment,
    /// Where diffsan was started.
    pub current: PathBuf,
    /// Go as far as the prompt, as `doctor` does: nothing is paid for and nothing written to GitLab.
    pub rehearsal: bool,
    /// Review only this part of the change, and leave it to another job to post.
    pub shard: Option<Shard>,
}

impl Request {
    /// Whether this run may write to GitLab.
    fn posts(&self) -> bool {
        self.is_for_gitlab() && self.shard.is_none()
    }

    /// Whether what it finds is written to GitLab, by this run or by the one that posts the parts.
    fn is_for_gitlab(&self) -> bool {
        let config = &self.loaded.config;
        config.mode.ci && config.gitlab.enabled && !self.args.no_post && !self.args.dry_run
    }
}

impl Request {
    /// The gate as it is set; a test build may be told to do without what makes it hold.
    fn gate(&self) -> GateConfig {
        let gate = self.loaded.config.gate.clone();
        match crate::run::fault::is_undefended("gate") {
            true => GateConfig { on_partial: OnPartial::Pass, allow_skips: true, ..gate },
            false => gate,
        }
    }

    /// Somebody tries a job's command where there is no job: nothing names a commit or a merge request.
    fn is_tried_out(&self) -> bool {
        let (config, ci) = (&self.loaded.config, &self.loaded.ci);
        let named = ci.commit_sha.is_some() || ci.source_branch_sha.is_some() || ci.mr_iid.is_some();
        config.mode.ci && !ci.is_gitlab && !named && config.gitlab.mr_iid.is_none() && self.args.diff_file.is_none()
    }

    /// A pipeline of the default branch has nothing to review, but the widget of merge requests compares with it.
    fn is_baseline(&self) -> bool {
        let (config, ci) = (&self.loaded.config, &self.loaded.ci);
        let no_merge_request = config.gitlab.mr_iid.is_none() && ci.mr_iid.is_none();
        let is_default = ci.branch.is_some() && ci.branch == ci.default_branch;
        config.mode.ci && no_merge_request && is_default && self.args.diff_file.is_none()
    }
}

/// Reviews one change.
pub async fn review(run: &Run, request: &Request) -> Result<()> {
    let agent = configure(run, request);
    if request.is_baseline() {
        return baseline(run);
    }
    let gitlab = connect(run, request)?;
    let (fetched, seen) = fetch(run, request, gitlab.as_ref()).await?;
    let part = Part::of(request, gitlab.as_ref(), seen.as_ref())?;
    guards::watch(run, request, &fetched).await?;
    let change = redact(run, request, fetched)?;
    let diff = change.diff()?;
    let prior = talk::earlier(run, request, gitlab.as_ref(), seen.as_ref()).await?;
    let terms = talk::terms(run, request, agent, &change, seen.as_ref());
    let known = talk::reviewed(&prior, &terms);
    // The parts of a change are the same whatever was said before.
    let cut_first = if part.is_some() { &[] } else { known };
    let (prepared, anchors, passes) = prepare(run, request, &change, &diff, Jobs::of(request.shard), cut_first).await?;
    if let Some(part) = part.as_ref().filter(|_| passes.own.is_empty()) {
        return part.is_empty(run, &change, &terms);
    }
    let decision = talk::decide(run, request, (&change, &terms), (&diff, &prepared), (&prior, seen.as_ref()))?;
    if let Some(part) = part.as_ref().filter(|_| decision.should_skip) {
        return part.skipped(run, &change, &terms, &passes.own, decision.reasons);
    }
    if decision.should_skip {
        return talk::skipped(run, request, gitlab.as_ref(), seen.as_ref(), &decision).await;
    }
    let issues = issues(run, request, gitlab.as_ref(), seen.as_ref()).await;
    let sight = eyes::open(run, request, agent, &change).await;
    let about = About {
        change: &change,
        prepared: &prepared,
        anchors: &anchors,
        prior: &prior,
        reviewed: known,
        seen: seen.as_ref(),
        issues: &issues,
        sight: sight.as_ref(),
    };
    if let Some(claim) = talk::unfinished(run, request, &change, &terms, &prior) {
        if let Some(part) = &part {
            return part.is_told(run, &change, &terms, &passes.own);
        }
        return finish(run, request, gitlab.as_ref(), claim, &diff, &about, terms).await;
    }
    let prompts = write_prompts(run, request, agent, &passes, &diff, &about)?;
    if request.args.dry_run || request.rehearsal {
        run.note(|progress| progress.dry_run = true);
        return Ok(());
    }
    let caller = Caller::new(run, request, agent, sight.as_ref());
    let asked = passes::ask(&caller, agent, &prompts, &passes, &prepared.shown(&diff), &change).await?;
    let settled = passes::settle(run, &diff, &passes, &asked, prepared.clone())?;
    let lost = asked.lost.clone();
    let about = About { prepared: &settled, ..about };
    let mut reviewed = validate(&caller, agent, asked, &diff, &about)?;
    let open = talk::outdated(request, &prior, &diff);
    let open = match &part {
        Some(part) => part.own_threads(open, &diff, &passes),
        None => open,
    };
    let fixed = second_look(&caller, looker(request, agent), &mut reviewed, &open, &diff, &about).await?;
    if let Some(part) = &part {
        let left = part.leave(run, (&change, &terms), &passes, &lost, &reviewed, fixed)?;
        report(run, reviewed, None, &about, &left)?;
        return left;
    }
    let terms = Terms { fixed, complete: terms.complete && lost.is_empty(), ..terms };
    let plan = plan(run, request, &reviewed, &diff, &about, terms, None)?;
    let posted = post(run, request, gitlab.as_ref(), &plan).await;
    report(run, reviewed, Some(plan), &about, &posted)?;
    posted.map(|_| ())
}

/// What the later stages know of the change and the merge request.
#[derive(Clone, Copy)]
struct About<'a> {
    change: &'a Change,
    prepared: &'a Prepared,
    anchors: &'a Anchors,
    prior: &'a Prior,
    /// Blocks of changed lines that an earlier review has seen.
    reviewed: &'a [String],
    seen: Option<&'a Seen>,
    issues: &'a [Issue],
    /// What agents can read beyond the change.
    sight: Option<&'a Sight>,
}

impl About<'_> {
    /// Title and description of the merge request.
    fn said<'r>(&'r self, request: &'r Request) -> (Option<&'r str>, Option<&'r str>) {
        let loaded = &request.loaded;
        match self.merge_request() {
            Some(merge_request) => (Some(merge_request.title.as_str()), Some(merge_request.description.as_str())),
            None if loaded.config.mode.ci => (loaded.ci.title.as_deref(), loaded.ci.description.as_deref()),
            None => (None, None),
        }
    }

    fn merge_request(&self) -> Option<&MergeRequest> {
        self.seen.and_then(|seen| seen.merge_request.as_ref())
    }
}

/// Removes what an agent was given, where nobody came to it: a login may be in it.
pub fn remove_rooms() {
    agent::remove_rooms();
}

/// Ends every child that still runs; called when the run ends early. True when there was one.
pub fn stop_children() -> bool {
    crate::child::kill_all()
}

/// Says what the configuration came to; the agent that will review.
fn configure(run: &Run, request: &Request) -> AgentKind {
    run.stage("config");
    let loaded = &request.loaded;
    let config = &loaded.config;
    for warning in &loaded.warnings {
        run.events.emit(Event::Warning { message: warning.clone() });
    }
    if !config.secrets.enabled {
        run.events.emit(Event::Warning {
            message: "secrets.enabled is false: only values known to be secret are removed".into(),
        });
    }
    run.note(|progress| {
        // A part is judged together with the others, by the job that posts.
        progress.fail_on = config.gate.fail_on.filter(|_| request.shard.is_none());
        progress.on_partial = request.gate().on_partial;
        progress.part = request.shard.map(|shard| PartOf { part: shard.part(), of: shard.of() });
    });
    let (agent, source) = match config.agent.agent {
        Some(agent) => (agent, loaded.sources.get("agent.agent").map_or("default", |source| source.kind())),
        None => agent::infer(&config.agent, config.mode.ci, request.env.get("PATH").map(AsRef::as_ref)),
    };
    run.events.emit(Event::ConfigLoaded {
        ci: config.mode.ci,
        agent,
        verbosity: config.agent.verbosity,
        config_file: loaded.policy.file().map(str::to_owned),
        model: config.agent.model.clone(),
        agent_source: source.to_owned(),
        token_env: loaded.token(&request.env).map(|(_, name)| name),
    });
    let policy = loaded.policy.record();
    if policy.source != PolicySource::Local {
        let PolicyRecord { source, commit, branch, via, .. } = policy;
        run.events.emit(Event::PolicyDecided { source, commit, branch, via });
    }
    agent
}

fn baseline(run: &Run) -> Result<()> {
    run.stage("report");
    run.workdir.foreign_json(Artifact::CodeQuality, view::code_quality_baseline())?;
    let reason = SkipReason {
        code: SkipCode::NoDiff,
        message: "This is a pipeline of the default branch: only the code-quality baseline is written".into(),
    };
    run.note(|progress| progress.skip_reasons = vec![reason]);
    Ok(())
}

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}
