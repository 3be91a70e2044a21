//! Where the change and the earlier discussion come from: git, a file, or GitLab.

use super::Request;
use crate::contracts::DiffSource;
use crate::diff::fetch::{self, Fetched, Local, Scope};
use crate::diff::git::{Git, GitError};
use crate::error::{Error, Failure, Result};
use crate::gitlab::{self, Client, ClientConfig, MergeRequest, Snapshot};
use crate::prompt::Issue;
use crate::run::events::Event;
use crate::run::record::Run;
use crate::threads::NoteView;

/// The GitLab client where the run needs one; what it lacks is found before anything is paid for.
pub(super) fn connect(run: &Run, request: &Request) -> Result<Option<Client>> {
    let loaded = &request.loaded;
    let config = &loaded.config.gitlab;
    if !loaded.config.mode.ci || !config.enabled {
        return Ok(None);
    }
    if request.is_tried_out() {
        run.events.emit(Event::Warning { message: NOT_POSTED.into() });
        return Ok(None);
    }
    match client_config(request) {
        Ok(client) => Client::new(client, run.events.clone()).map(Some),
        Err(error) if request.is_for_gitlab() => Err(error),
        Err(error) => {
            run.survive(&error);
            Ok(None)
        }
    }
}

const NOT_POSTED: &str = "nothing is posted, since no variable names a merge request";

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
    client.settle = std::time::Duration::from_secs(config.settle_seconds);
    client.time_left = crate::agent::time_left(ci, crate::run::clock::now());
    client.job_urls = ci.job_url.iter().chain(&ci.pipeline_url).cloned().collect();
    Ok(client)
}

/// The change as bytes, and at the same time what GitLab has of the merge request.
pub(super) async fn fetch(run: &Run, request: &Request, gitlab: Option<&Client>) -> Result<(Fetched, Option<Seen>)> {
    run.stage("fetch");
    let look = async {
        let Some(client) = gitlab else { return Ok(None) };
        if request.is_for_gitlab() {
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
    tell_compared(run, request, &fetched).await;
    for note in &fetched.notes {
        run.events.emit(Event::Warning { message: note.clone() });
    }
    Ok((fetched, seen))
}

/// Why git did not give the change.
pub(super) enum Missing {
    Final(Error),
    /// GitLab's API still may.
    FromGit(fetch::Unavailable),
}

pub(super) async fn local_or_ci(request: &Request) -> Result<Fetched, Missing> {
    let (args, config) = (&request.args, &request.loaded.config);
    if let Some(path) = &args.diff_file {
        return fetch::file(path).await.map_err(Missing::Final);
    }
    let git = Git::new(&request.current, &request.env);
    if config.mode.ci && (args.untracked || !args.paths.is_empty()) {
        return Err(Missing::Final(Error::Config(
            Failure::new("--untracked and PATHS narrow or widen a local review; in CI the merge request is reviewed")
                .help("leave them out, or review locally with --no-ci; `truncation.ignore_globs` leaves files out"),
        )));
    }
    if let Err(error @ GitError::TooOld { .. }) = git.version().await {
        return Err(Missing::Final(fetch::too_old(&error)));
    }
    if request.is_tried_out() {
        let target = request.loaded.ci.target_branch.as_deref();
        return fetch::assumed(&git, target, config.mode.base.as_deref()).await.map_err(Missing::Final);
    }
    if config.mode.ci {
        return fetch::ci(&git, &request.loaded.ci).await.map_err(Missing::FromGit);
    }
    fetch::local_in(&git, &what(request), &scope(request)).await.map_err(Missing::Final)
}

/// What a local review looks at.
fn what(request: &Request) -> Local {
    match (request.args.staged, request.args.unstaged) {
        (true, _) => Local::Staged,
        (_, true) => Local::Unstaged,
        _ => Local::Branch { base: request.loaded.config.mode.base.clone() },
    }
}

fn scope(request: &Request) -> Scope {
    Scope { untracked: request.args.untracked, paths: request.args.paths.clone() }
}

/// Says what a local review compared with what.
async fn tell_compared(run: &Run, request: &Request, fetched: &Fetched) {
    if request.is_tried_out() {
        let assumed = fetched.notes.first().cloned().unwrap_or_default();
        run.note(|progress| progress.compared = Some(format!("{assumed}; {NOT_POSTED}")));
        return;
    }
    if request.loaded.config.mode.ci || fetched.source.kind != "git-diff" {
        return;
    }
    let git = Git::new(&request.current, &request.env);
    let words = fetch::compared(&git, &what(request), &scope(request), &fetched.source.reference).await;
    run.note(|progress| progress.compared = Some(words));
}

pub(super) async fn from_api(
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
pub(super) struct Seen {
    pub(super) own_user: Option<u64>,
    pub(super) merge_request: Option<MergeRequest>,
    pub(super) notes: Vec<NoteView>,
    /// What of them could not be read.
    pub(super) unread: Vec<String>,
    /// Newest first.
    pub(super) versions: Vec<gitlab::Version>,
}

pub(super) fn see(run: &Run, request: &Request, snapshot: Snapshot) -> Result<Seen> {
    let own_user = match snapshot.user {
        Ok(user) => Some(user.id),
        Err(error) if request.is_for_gitlab() && error.is_unauthorized() => return Err(error),
        Err(error) => {
            // Own notes are still known by their signature.
            run.survive(&error);
            None
        }
    };
    let merge_request = needed(run, request, snapshot.merge_request)?;
    let listing = survived(run, request, snapshot.listing)?.unwrap_or_default();
    for message in &listing.unread {
        run.events.emit(Event::Warning { message: message.clone() });
    }
    let versions = survived(run, request, snapshot.versions)?.unwrap_or_default();
    if let Some(merge_request) = &merge_request
        && merge_request.auto_merge.is_none()
    {
        run.events.emit(Event::SkipAutoMergeUnknown { reason: "GitLab does not say".into() });
    }
    Ok(Seen { own_user, merge_request, notes: listing.notes, unread: listing.unread, versions })
}

/// The issues that the merge request closes. GitLab is asked only where the description names one; what cannot be read is
/// said and done without.
pub(super) async fn issues(run: &Run, request: &Request, gitlab: Option<&Client>, seen: Option<&Seen>) -> Vec<Issue> {
    let merge_request = seen.and_then(|seen| seen.merge_request.as_ref());
    let (Some(client), Some(merge_request)) = (gitlab, merge_request) else { return Vec::new() };
    let named = |text: &str| {
        let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        text.contains("/issues/") || text.contains("/work_items/") || text.split('#').skip(1).any(digit)
    };
    if !request.loaded.config.context.issues || !named(&merge_request.description) {
        return Vec::new();
    }
    client.closes_issues(merge_request.project_id).await.unwrap_or_else(|error| {
        run.survive(&error);
        Vec::new()
    })
}

/// What posting cannot do without: a refusal that will stand ends the run before the agent is paid for.
pub(super) fn needed<T>(run: &Run, request: &Request, read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if request.is_for_gitlab() && !error.info(&run.engine).retryable => match error {
            Error::GitlabPrior(failure) => Err(Error::GitlabPost(failure)),
            other => Err(other),
        },
        other => survived(run, request, other),
    }
}

/// A read that failed is a warning; a refused token ends a run that is to post.
pub(super) fn survived<T>(run: &Run, request: &Request, read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error @ Error::GitlabAuth(_)) if request.is_for_gitlab() => Err(error),
        Err(error) => {
            run.survive(&error);
            Ok(None)
        }
    }
}
