//! `review`: the stages in order, and what each leaves behind.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::agent::{self, builtin};
use crate::cli::ReviewArgs;
use crate::config::{Environment, Loaded};
use crate::contracts::{
    AgentAttempt, AgentKind, AgentRequest, AgentRequestMeta, AgentReviewOutput, AgentRun, Anchors, DiffBundle,
    DiffSource, FileEntry, Fingerprint, PostPlan, RawDiff, RedactionMatch, RedactionReport, ReviewMeta, ReviewOutput,
    RunRecord, Side, SkipCode, SkipDecision, SkipReason, Timings, TokenUsage, Validation, VerdictCounts,
};
use crate::diff::fetch::{self, Fetched, Local};
use crate::diff::git::Git;
use crate::diff::{Diff, FileDiff, FileStatus, attributes};
use crate::error::{Error, Failure, Result};
use crate::events::Event;
use crate::gitlab::{self, Client, ClientConfig, MergeRequest, Snapshot};
use crate::post::position::Refs;
use crate::post::{self, timezone};
use crate::prepare::{self, Prepared, Rules};
use crate::prior::{self, NoteView, Prior};
use crate::prompt::{self, PromptInput};
use crate::record::{Run, hex};
use crate::redact::{self, Engine, Output, Redacted};
use crate::view::{self, Shown};
use crate::workdir::{Artifact, Workdir};
use crate::{skip, validate, verdict};

mod guard;

/// What a run was asked to do.
#[derive(Debug, Clone)]
pub struct Request {
    pub args: ReviewArgs,
    pub loaded: Loaded,
    pub env: Environment,
    /// Where diffsan was started.
    pub current: PathBuf,
}

impl Request {
    /// Whether this run may write to GitLab.
    fn posts(&self) -> bool {
        let config = &self.loaded.config;
        config.mode.ci && config.gitlab.enabled && !self.args.no_post && !self.args.dry_run
    }
}

impl Request {
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
    let change = redact(run, request, fetched)?;
    let diff = parse(change.text.as_str().as_bytes())?;
    guard::check(run, request, &change.source.reference, &diff).await?;
    let (prepared, anchors) = prepare(run, request, &change, &diff).await?;
    let prior = earlier(run, request, seen.as_ref())?;
    if decide(run, request, &change, &diff, &prepared, &prior, seen.as_ref())?.should_skip {
        return Ok(());
    }
    let about = About { change: &change, prepared: &prepared, anchors: &anchors, prior: &prior, seen: seen.as_ref() };
    let prompt = write_prompt(run, request, agent, &about)?;
    if request.args.dry_run {
        run.note(|progress| progress.dry_run = true);
        return Ok(());
    }
    let asked = ask(run, request, agent, &prompt, &diff, &change).await?;
    let reviewed = validate(run, request, agent, asked, &diff, &about)?;
    let plan = plan(run, request, &reviewed, &diff, &about)?;
    let posted = post(run, request, gitlab.as_ref(), &plan).await;
    report(run, reviewed, plan, &about, &posted)?;
    posted.map(|_| ())
}

/// What the later stages know of the change and the merge request.
struct About<'a> {
    change: &'a Change,
    prepared: &'a Prepared,
    anchors: &'a Anchors,
    prior: &'a Prior,
    seen: Option<&'a Seen>,
}

impl About<'_> {
    fn merge_request(&self) -> Option<&MergeRequest> {
        self.seen.and_then(|seen| seen.merge_request.as_ref())
    }
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
    run.note(|progress| progress.fail_on = config.gate.fail_on);
    let (agent, source) = match config.agent.agent {
        Some(agent) => (agent, loaded.sources.get("agent.agent").map_or("default", |source| source.kind())),
        None => agent::infer(&config.agent, config.mode.ci, request.env.get("PATH").map(AsRef::as_ref)),
    };
    run.events.emit(Event::ConfigLoaded {
        ci: config.mode.ci,
        agent,
        verbosity: config.agent.verbosity,
        config_file: loaded.file.as_ref().map(|path| path.to_string_lossy().into_owned()),
        model: config.agent.model.clone(),
        agent_source: source.to_owned(),
        token_env: loaded.token(&request.env).map(|(_, name)| name),
    });
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

/// The GitLab client where the run needs one; what it lacks is found before anything is paid for.
fn connect(run: &Run, request: &Request) -> Result<Option<Client>> {
    let loaded = &request.loaded;
    let config = &loaded.config.gitlab;
    if !loaded.config.mode.ci || !config.enabled {
        return Ok(None);
    }
    match client_config(request) {
        Ok(client) => Client::new(client, run.events.clone()).map(Some),
        Err(error) if request.posts() => Err(error),
        Err(error) => {
            run.survive(&error);
            Ok(None)
        }
    }
}

pub(crate) fn client_config(request: &Request) -> Result<ClientConfig> {
    let (loaded, config, ci) = (&request.loaded, &request.loaded.config.gitlab, &request.loaded.ci);
    let missing = |variable: &str, key: &str| {
        Error::GitlabPost(
            Failure::new(format!("the merge request is not known: neither {key} nor {variable} is set"))
                .with("missing_env", variable)
                .help("run diffsan in a merge request pipeline, or set the key; `--no-ci` reviews locally"),
        )
    };
    let project = config
        .project_id
        .clone()
        .or_else(|| ci.project_id.clone())
        .ok_or_else(|| missing("CI_MERGE_REQUEST_PROJECT_ID", "gitlab.project_id"))?;
    let iid = config.mr_iid.or(ci.mr_iid).ok_or_else(|| missing("CI_MERGE_REQUEST_IID", "gitlab.mr_iid"))?;
    let (token, _) = loaded.token(&request.env).ok_or_else(|| {
        let names: &[&str] = match loaded.is_set("gitlab.token_env") {
            true => &[&config.token_env],
            false => &["GITLAB_TOKEN", "DIFFSAN_GITLAB_TOKEN"],
        };
        gitlab::missing_token(names)
    })?;
    let base_url = ci.api_v4_url.clone().unwrap_or_else(|| config.base_url.clone());
    let mut client = ClientConfig::new(base_url, token, project, iid);
    let files = config.ca_file.iter().chain(&ci.ca_file);
    client.ca_files = files.map(|file| request.current.join(file)).collect();
    client.retry_max = u32::try_from(config.retry_max.get()).unwrap_or(u32::MAX);
    Ok(client)
}

/// The change as bytes, and at the same time what GitLab has of the merge request.
async fn fetch(run: &Run, request: &Request, gitlab: Option<&Client>) -> Result<(Fetched, Option<Seen>)> {
    run.stage("fetch");
    let look = async {
        let Some(client) = gitlab else { return Ok(None) };
        if request.posts() {
            client.check_token().await?;
        }
        Ok(Some(client.snapshot().await))
    };
    let (change, snapshot) = tokio::join!(local_or_ci(request), look);
    let snapshot = snapshot?;
    let seen = snapshot.map(|snapshot| see(run, request, snapshot)).transpose()?;
    let fetched = match change {
        Ok(fetched) => fetched,
        Err(Missing::Final(error)) => return Err(error),
        Err(Missing::FromGit(unavailable)) => from_api(run, gitlab, seen.as_ref(), unavailable).await?,
    };
    for note in &fetched.notes {
        run.events.emit(Event::Warning { message: note.clone() });
    }
    Ok((fetched, seen))
}

/// Why git did not give the change.
enum Missing {
    Final(Error),
    /// GitLab's API still may.
    FromGit(fetch::Unavailable),
}

async fn local_or_ci(request: &Request) -> Result<Fetched, Missing> {
    let (args, config) = (&request.args, &request.loaded.config);
    if let Some(path) = &args.diff_file {
        return fetch::file(path).await.map_err(Missing::Final);
    }
    let git = Git::new(&request.current, &request.env);
    if config.mode.ci {
        return fetch::ci(&git, &request.loaded.ci).await.map_err(Missing::FromGit);
    }
    let what = match (args.staged, args.unstaged) {
        (true, _) => Local::Staged,
        (_, true) => Local::Unstaged,
        _ => Local::Branch { base: config.mode.base.clone() },
    };
    fetch::local(&git, &what).await.map_err(Missing::Final)
}

async fn from_api(
    run: &Run,
    gitlab: Option<&Client>,
    seen: Option<&Seen>,
    unavailable: fetch::Unavailable,
) -> Result<Fetched> {
    let (Some(client), Some(merge_request)) = (gitlab, seen.and_then(|seen| seen.merge_request.as_ref())) else {
        return Err(unavailable.into_error());
    };
    let mut reference = unavailable.reference.clone();
    let why = unavailable.why.clone();
    let diff = match client.diff(merge_request).await {
        Ok(diff) => diff,
        Err(error) => {
            run.survive(&error);
            return Err(unavailable.into_error());
        }
    };
    if let Some(refs) = &merge_request.diff_refs {
        reference.base_sha = Some(refs.base_sha.clone());
        reference.head_sha = Some(refs.head_sha.clone());
    }
    let mut notes = vec![format!("git could not give the change ({why}); it comes from GitLab's API")];
    notes.extend(diff.incomplete.clone());
    notes.extend(diff.unavailable.iter().map(|file| format!("{} was not reviewed: {}", file.path, file.reason)));
    run.note(|progress| {
        progress.unavailable =
            diff.unavailable.iter().map(|file| (file.path.clone(), file.reason.to_owned())).collect();
        progress.incomplete = diff.incomplete.clone();
    });
    Ok(Fetched { raw: diff.text, source: DiffSource { kind: "gitlab-api".into(), reference }, notes })
}

/// What GitLab has of the merge request, as far as it could be read.
struct Seen {
    own_user: Option<u64>,
    merge_request: Option<MergeRequest>,
    notes: Vec<NoteView>,
}

fn see(run: &Run, request: &Request, snapshot: Snapshot) -> Result<Seen> {
    let own_user = needed(run, request, snapshot.user)?.map(|user| user.id);
    let merge_request = needed(run, request, snapshot.merge_request)?;
    let plain = survived(run, request, snapshot.notes)?;
    let discussions = survived(run, request, snapshot.discussions)?;
    let mut notes: Vec<NoteView> = Vec::new();
    for discussion in discussions.into_iter().flatten() {
        notes.extend(discussion.notes.iter().map(|note| view(note, Some(&discussion.id))));
    }
    for note in plain.into_iter().flatten() {
        if !notes.iter().any(|known| known.id == note.id) {
            notes.push(view(&note, None));
        }
    }
    if let Some(merge_request) = &merge_request
        && merge_request.auto_merge.is_none()
    {
        run.events.emit(Event::SkipAutoMergeUnknown { reason: "GitLab does not say".into() });
    }
    Ok(Seen { own_user, merge_request, notes })
}

/// What posting cannot do without: a refusal that will stand ends the run before the agent is paid for.
fn needed<T>(run: &Run, request: &Request, read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if request.posts() && !error.info(&run.engine).retryable => match error {
            Error::GitlabPrior(failure) => Err(Error::GitlabPost(failure)),
            other => Err(other),
        },
        other => survived(run, request, other),
    }
}

/// A read that failed is a warning; a refused token ends a run that is to post.
fn survived<T>(run: &Run, request: &Request, read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error @ Error::GitlabAuth(_)) if request.posts() => Err(error),
        Err(error) => {
            run.survive(&error);
            Ok(None)
        }
    }
}

fn view(note: &gitlab::Note, discussion: Option<&str>) -> NoteView {
    NoteView {
        id: note.id,
        body: note.body.clone(),
        author_id: note.author_id,
        system: note.system,
        created_at: note.created_at.clone(),
        discussion_id: discussion.map(str::to_owned),
        path: note.position.as_ref().and_then(|position| position.new_path.clone().or(position.old_path.clone())),
        line: note.position.as_ref().and_then(|position| position.new_line.or(position.old_line)),
        resolved: note.resolved,
    }
}

/// The change without its secrets, line for line.
struct Change {
    fingerprint: Fingerprint,
    source: DiffSource,
    text: Redacted,
    redaction: RedactionReport,
}

fn redact(run: &Run, request: &Request, fetched: Fetched) -> Result<Change> {
    run.stage("redact");
    let Fetched { raw, source, .. } = fetched;
    let fingerprint = Fingerprint { algo: "sha256".into(), value: hex(&Sha256::digest(&raw)) };
    run.note(|progress| progress.fingerprint = Some(fingerprint.clone()));
    // A diff that does not add up must not be shown as one, so it is read before anything is kept of it.
    let parsed = Diff::parse(&raw);
    let redaction = run.engine.redact_diff(&raw);
    match request.loaded.config.artifacts.raw_diff {
        RawDiff::Redacted => run.workdir.bytes(Artifact::RawDiff, &redaction.bytes)?,
        RawDiff::Raw => run.workdir.unredacted_diff(&raw)?,
        RawDiff::Off => {}
    }
    let diff = parsed.map_err(|error| parse_error(&error))?;
    let bundle = DiffBundle { source: source.clone(), files: diff.files.iter().map(entry).collect() };
    run.workdir.json(Artifact::Diff, &bundle)?;
    run.events.emit(Event::DiffFetched {
        chars: chars(&String::from_utf8_lossy(&raw)),
        files: diff.files.len() as u64,
        base_sha: source.reference.base_sha.clone(),
        head_sha: source.reference.head_sha.clone(),
        source: source.kind.clone(),
    });
    let report = RedactionReport {
        enabled: request.loaded.config.secrets.enabled,
        found: !redaction.matches.is_empty(),
        matches: redaction.matches.iter().map(found).collect(),
        redaction_token: redact::TOKEN.into(),
    };
    run.workdir.json(Artifact::Redaction, &report)?;
    Ok(Change { fingerprint, source, text: redaction.bytes.to_text(), redaction: report })
}

fn parse(text: &[u8]) -> Result<Diff<'_>> {
    Diff::parse(text).map_err(|error| parse_error(&error))
}

fn parse_error(error: &crate::diff::ParseError) -> Error {
    Error::DiffParse(
        Failure::new(format!("the diff does not add up: {error}"))
            .with("line", error.line)
            .help("make the diff again with `git diff`; combined diffs (of merges) are not supported"),
    )
}

fn entry(file: &FileDiff<'_>) -> FileEntry {
    let moved = matches!(file.status, FileStatus::Renamed | FileStatus::Copied);
    FileEntry {
        path: file.path().to_owned(),
        old_path: moved.then(|| file.old_path.clone()),
        status: file.status.name().to_owned(),
        additions: file.additions.into(),
        deletions: file.deletions.into(),
        is_binary: file.is_binary,
    }
}

fn found(secret: &redact::Match) -> RedactionMatch {
    RedactionMatch {
        pattern_name: secret.rule.clone(),
        path: secret.path.clone(),
        line_hint: secret.line,
        side: match secret.side {
            redact::Side::New => Side::New,
            redact::Side::Old => Side::Old,
        },
        match_sha256: secret.sha256.clone(),
        match_length: secret.chars as u64,
    }
}

/// What the agent is shown, and what it is not.
async fn prepare(run: &Run, request: &Request, change: &Change, diff: &Diff<'_>) -> Result<(Prepared, Anchors)> {
    run.stage("prepare");
    let config = &request.loaded.config;
    let marks = match change.source.kind.as_str() {
        "git-diff" => {
            let git = Git::new(&request.current, &request.env);
            attributes::marks(&git, diff, change.source.reference.base_sha.as_deref()).await.unwrap_or_default()
        }
        _ => BTreeMap::new(),
    };
    let rules = Rules::new(&config.limits, &config.truncation, marks);
    let mut prepared = prepare::prepare(change.text.as_str(), diff, &rules).map_err(|error| {
        request.loaded.invalid("truncation.ignore_globs", &error.to_string(), "fix or remove the glob")
    })?;
    // The prompt is scanned as a whole later; scanning its diff by itself first keeps the two equal.
    prepared.text = run.engine.redact(Output::Prompt, &prepared.text).into_string();
    let progress = run.progress();
    prepared.add_unavailable(&progress.unavailable, progress.incomplete.as_deref());
    let anchors = prepared.anchors(diff);
    run.note(|progress| progress.coverage = prepared.report.coverage.clone());
    run.workdir.text(Artifact::PreparedDiff, &run.engine.redact(Output::Artifact, &prepared.text))?;
    run.workdir.json(Artifact::Truncation, &prepared.report)?;
    run.workdir.json(Artifact::Anchors, &anchors)?;
    run.events.emit(Event::DiffPrepared {
        final_chars: prepared.report.final_chars,
        truncated: prepared.report.truncated,
        redaction_found: change.redaction.found,
        secrets: change.redaction.matches.len() as u64,
        files: prepared.report.final_files,
        ignored: prepared.report.ignored_total,
    });
    Ok((prepared, anchors))
}

/// What earlier runs said in this merge request.
fn earlier(run: &Run, request: &Request, seen: Option<&Seen>) -> Result<Prior> {
    run.stage("prior");
    let prior = match seen.and_then(|seen| seen.own_user.map(|user| (user, seen))) {
        Some((user, seen)) => prior::read(user, &request.loaded.config.gitlab.summary_note_tag, &seen.notes),
        None => Prior::default(),
    };
    if prior.digest == crate::contracts::PriorDigest::default() {
        run.workdir.empty_json(Artifact::PriorDigest)?;
    } else {
        run.workdir.json(Artifact::PriorDigest, &prior.digest)?;
    }
    Ok(prior)
}

fn decide(
    run: &Run,
    request: &Request,
    change: &Change,
    diff: &Diff<'_>,
    prepared: &Prepared,
    prior: &Prior,
    seen: Option<&Seen>,
) -> Result<SkipDecision> {
    run.stage("skip");
    let (config, ci) = (&request.loaded.config, &request.loaded.ci);
    let merge_request = seen.and_then(|seen| seen.merge_request.as_ref());
    let in_ci = config.mode.ci;
    let decision = skip::decide(&skip::Inputs {
        config: &config.skip,
        fingerprint: &change.fingerprint,
        prior: &prior.digest,
        diff_is_empty: diff.files.is_empty(),
        all_ignored: prepared.report.ignored_total == diff.files.len() as u64,
        auto_merge: merge_request.and_then(|merge_request| merge_request.auto_merge),
        draft: merge_request.map(|merge_request| merge_request.draft).or(ci.draft.filter(|_| in_ci)),
        labels: match merge_request {
            Some(merge_request) => &merge_request.labels,
            None if in_ci => &ci.labels,
            None => &[],
        },
    });
    run.workdir.json(Artifact::Skip, &decision)?;
    run.note(|progress| progress.skip_reasons = decision.reasons.clone());
    run.events.emit(Event::SkipDecided {
        should_skip: decision.should_skip,
        reasons: decision.reasons.clone(),
        fingerprint: change.fingerprint.to_string(),
    });
    Ok(decision)
}

/// What the agent answered, and how it ran.
struct Asked {
    output: AgentReviewOutput,
    run: AgentRun,
    timings: Timings,
}

async fn ask(
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
        time_left: agent::time_left(&request.loaded.ci, crate::clock::now()),
        engine: &run.engine,
        workdir: &run.workdir,
        events: &run.events,
    })
    .await?;
    Ok(Asked { output: answer.output, run: answer.run, timings: answer.timings })
}

/// The offline checks, recorded as any other agent.
fn builtin_review(run: &Run, diff: &Diff<'_>, change: &Change) -> Result<Asked> {
    let started = crate::clock::now();
    let output = builtin::review(diff, &change.redaction.matches);
    let ended = crate::clock::now();
    let timings = Timings {
        started_at: crate::clock::text(started),
        ended_at: crate::clock::text(ended),
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

/// Renders the prompt; what came from the merge request stands in it as data.
fn write_prompt(run: &Run, request: &Request, kind: AgentKind, about: &About<'_>) -> Result<Redacted> {
    run.stage("prompt");
    let (loaded, config) = (&request.loaded, &request.loaded.config.agent);
    let agent = agent::by_kind(kind);
    let merge_request = about.merge_request();
    let (title, description) = match merge_request {
        Some(merge_request) => (Some(merge_request.title.as_str()), Some(merge_request.description.as_str())),
        None if loaded.config.mode.ci => (loaded.ci.title.as_deref(), loaded.ci.description.as_deref()),
        None => (None, None),
    };
    let clean = |text: &str| run.engine.redact(Output::Prompt, text).into_string();
    let (title, description) = (title.map(clean), description.map(clean));
    let instructions = clean(loaded.instructions.as_deref().unwrap_or_default());
    let template = loaded.template.as_deref().map(clean);
    let text = prompt::build(&PromptInput {
        structured_output: agent.is_some_and(|agent| agent.structured),
        verbosity: config.verbosity,
        skills: &config.skills,
        custom_instructions: &instructions,
        template: template.as_deref(),
        truncation: &about.prepared.report,
        redaction_found: about.change.redaction.found,
        title: title.as_deref(),
        description: description.as_deref(),
        digest: &about.prior.digest,
        fingerprint: &about.change.fingerprint,
        diff: &about.prepared.text,
        anchors: about.anchors,
        max_chars: agent.and_then(|agent| agent.max_prompt).map(agent::Limit::chars),
    });
    let prompt = run.engine.redact(Output::Prompt, &text);
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
            },
        },
    )?;
    run.events.emit(Event::PromptWritten { path: Artifact::Prompt.file_name(), chars: chars(prompt.as_str()) });
    Ok(prompt)
}

/// The review, and what its checks saw.
struct Reviewed {
    review: ReviewOutput,
    validation: Validation,
}

/// Keeps what holds of the answer.
fn validate(
    run: &Run,
    request: &Request,
    agent: AgentKind,
    asked: Asked,
    diff: &Diff<'_>,
    about: &About<'_>,
) -> Result<Reviewed> {
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
        },
    };
    run.workdir.json(Artifact::Validation, &checked.validation)?;
    run.workdir.json(Artifact::Review, &review)?;
    run.note(|progress| {
        progress.reviewed = true;
        progress.token_usage = Some(asked.run.token_usage);
        progress.counts = count(&review, &checked.validation);
    });
    run.events.emit(Event::ReviewValidated {
        findings: review.findings.len() as u64,
        truncated: review.meta.truncated,
        rejected: checked.validation.rejected.len() as u64,
        unplaced: review.findings.iter().filter(|finding| finding.unplaced.is_some()).count() as u64,
    });
    Ok(Reviewed { review, validation: checked.validation })
}

fn count(review: &ReviewOutput, validation: &Validation) -> VerdictCounts {
    let mut counts = VerdictCounts {
        findings: review.findings.len() as u64,
        rejected: validation.rejected.len() as u64,
        ..VerdictCounts::default()
    };
    for finding in &review.findings {
        *counts.by_severity.entry(finding.severity.name().to_owned()).or_default() += 1;
    }
    counts
}

/// The exact list of what is to be written where.
fn plan(run: &Run, request: &Request, reviewed: &Reviewed, diff: &Diff<'_>, about: &About<'_>) -> Result<PostPlan> {
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

/// What is posted is what the plan says, so secrets go before it is written down.
fn clean_plan(plan: &mut PostPlan, run: &Run) {
    let clean = |text: &mut String| *text = run.engine.redact(Output::GitLab, text).into_string();
    clean(&mut plan.summary_markdown);
    clean(&mut plan.summary_meta_collapsible);
    clean(&mut plan.summary_body);
    for discussion in &mut plan.discussions {
        clean(&mut discussion.body_markdown);
    }
}

/// Executes the plan, where this run may.
async fn post(run: &Run, request: &Request, gitlab: Option<&Client>, plan: &PostPlan) -> Result<()> {
    let Some(client) = gitlab.filter(|_| request.posts()) else {
        return Ok(());
    };
    run.stage("post");
    send_plan(run, client, plan).await
}

async fn send_plan(run: &Run, client: &Client, plan: &PostPlan) -> Result<()> {
    let sent = post::send::send(plan, client, &run.workdir, &run.events, &run.engine).await;
    run.workdir.json(Artifact::PostResults, &sent.results)?;
    match sent.error {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Renders what people and GitLab's widget look at; also when posting failed.
fn report(run: &Run, reviewed: Reviewed, plan: PostPlan, about: &About<'_>, posted: &Result<()>) -> Result<()> {
    run.stage("report");
    let events = run.workdir.read(&Artifact::Events.file_name()).unwrap_or_default();
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

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}
