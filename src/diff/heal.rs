//! Both ends of a merge request in a clone that may be shallow: missing commits are fetched by id,
//! then by deepening in steps, and a base that nobody named is worked out.

use std::collections::HashSet;

use super::fetch::{merge_base, resolve};
use super::git::{Git, GitError};
use crate::config::{CiContext, repository_top};

/// Why the commits cannot be had, and what would help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) why: String,
    pub(super) fix: String,
    pub(super) said: Option<String>,
}

/// By how many commits a shallow clone is deepened, one step after the other; then all of them.
const STEPS: [u32; 4] = [50, 200, 1_000, 5_000];

/// Gets what a clone lacks.
pub(super) struct Healer<'a> {
    git: Git,
    ci: &'a CiContext,
    remote: Option<String>,
    shallow: bool,
    notes: Vec<String>,
    /// What the last fetch that failed said. After a deadline nothing more is asked of the remote.
    refusal: Option<GitError>,
}

impl<'a> Healer<'a> {
    pub(super) async fn new(git: &Git, ci: &'a CiContext) -> Result<Self, Trouble> {
        let (git, shallow) = open(git).await?;
        let remote = remote(&git, ci).await;
        Ok(Self { git, ci, remote, shallow, notes: Vec::new(), refusal: None })
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }

    /// Makes sure that both ends are here; returns the base, worked out where it is not known.
    pub(super) async fn ends(&mut self, base: Option<&str>, head: &str) -> Result<String, Trouble> {
        let wanted: Vec<&str> = base.into_iter().chain([head]).collect();
        let missing = self.obtain(&wanted).await?;
        if missing.contains(&head) {
            return Err(self.trouble(&format!("the head commit {head} is not in this clone"), &missing));
        }
        match base {
            Some(base) if missing.is_empty() => Ok(base.to_owned()),
            Some(base) => {
                let found = match self.merge_base(head).await {
                    Ok(found) => found,
                    Err(second) => {
                        let why = format!("the base commit {base} is not in this clone, and {}", second.why);
                        let first = self.trouble(&why, &[base]);
                        return Err(Trouble { said: first.said.clone().or(second.said), ..first });
                    }
                };
                self.notes.push(format!("the base commit {base} cannot be had; compared with {found} instead"));
                Ok(found)
            }
            None => self.merge_base(head).await,
        }
    }

    /// Fetches commits that are not here; returns those that still are not.
    async fn obtain<'c>(&mut self, commits: &[&'c str]) -> Result<Vec<&'c str>, Trouble> {
        let mut missing = self.missing(commits).await?;
        if missing.is_empty() {
            return Ok(missing);
        }
        let depth = self.shallow.then_some("--depth=1");
        if !self.fetch(depth, &missing).await? && missing.len() > 1 {
            // One commit that cannot be had must not keep the others from coming.
            for &commit in &missing {
                self.fetch(depth, &[commit]).await?;
            }
        }
        missing = self.missing(&missing).await?;
        if missing.is_empty() {
            return Ok(missing);
        }
        let branches = self.branches().await?;
        for step in self.steps() {
            if branches.is_empty() {
                break;
            }
            let names: Vec<&str> = branches.iter().map(String::as_str).collect();
            self.fetch(step.as_deref(), &names).await?;
            missing = self.missing(&missing).await?;
            if missing.is_empty() {
                break;
            }
        }
        Ok(missing)
    }

    /// The merge base with the target branch.
    async fn merge_base(&mut self, head: &str) -> Result<String, Trouble> {
        let (name, target) = self.target().await?;
        let mut steps = self.steps().into_iter();
        loop {
            let found = merge_base(&self.git, head, &target).await.map_err(|error| Trouble::of(&error, CANNOT_ASK))?;
            if let Some(base) = found
                && self.is_certain(&base, head, &target).await?
            {
                return Ok(base);
            }
            let next = if self.shallow { steps.next() } else { None };
            let Some(step) = next else {
                return Err(self.trouble(&format!("{head} and the target branch {name} have no commit in common"), &[]));
            };
            if !self.fetch(step.as_deref(), &[head, &target]).await? {
                let branches = self.branches().await?;
                let names: Vec<&str> = branches.iter().map(String::as_str).collect();
                if names.is_empty() || !self.fetch(step.as_deref(), &names).await? {
                    return Err(self.trouble(
                        &format!("this shallow clone does not reach the merge base with {name}"),
                        &[head, &target],
                    ));
                }
            }
            self.shallow = is_shallow(&self.git).await?;
        }
    }

    /// In a shallow clone a common ancestor need not be the nearest one: behind a commit whose parents
    /// were left out there may be another. It is the nearest when no such commit is on the way.
    async fn is_certain(&self, base: &str, head: &str, target: &str) -> Result<bool, Trouble> {
        if !self.shallow {
            return Ok(true);
        }
        let asked = |error: GitError| Trouble::of(&error, CANNOT_ASK);
        let file = self.git.line(&["rev-parse", "--git-path", "shallow"]).await.map_err(asked)?;
        let ends = tokio::fs::read_to_string(self.git.folder().join(file)).await.unwrap_or_default();
        let ends: HashSet<&str> = ends.lines().collect();
        let way = self.git.run(&["rev-list", head, target, "--not", base, "--"]).await.map_err(asked)?;
        Ok(!String::from_utf8_lossy(&way).lines().any(|commit| ends.contains(commit)))
    }

    /// The name and commit of the target branch: as the remote has it now, else as this clone does.
    async fn target(&mut self) -> Result<(String, String), Trouble> {
        let known = self.ci.target_branch.as_ref().or(self.ci.default_branch.as_ref());
        let Some(name) = known.cloned() else {
            let why = "no target branch is known that could tell the base";
            return Err(Trouble { fix: MERGE_REQUEST_PIPELINE.to_owned(), ..self.trouble(why, &[]) });
        };
        let reference = format!("refs/heads/{name}");
        let listed = self.listed(std::slice::from_ref(&reference)).await;
        let advertised = listed.first().map(|(id, _)| id.clone());
        let candidates = [self.ci.target_branch_sha.clone(), advertised];
        for id in candidates.into_iter().flatten() {
            if self.obtain(&[&id]).await?.is_empty() {
                return Ok((name, id));
            }
        }
        let remote = self.remote.clone().unwrap_or_default();
        for local in [format!("refs/remotes/{remote}/{name}"), reference] {
            if let Some(id) = resolve(&self.git, &local).await.map_err(|error| Trouble::of(&error, CANNOT_ASK))? {
                return Ok((name, id));
            }
        }
        Err(self.trouble(&format!("the target branch {name} is neither on the remote nor in this clone"), &[]))
    }

    async fn missing<'c>(&self, commits: &[&'c str]) -> Result<Vec<&'c str>, Trouble> {
        let mut missing = Vec::new();
        for &commit in commits {
            let found = resolve(&self.git, commit).await.map_err(|error| Trouble::of(&error, CANNOT_ASK))?;
            if found.is_none() {
                missing.push(commit);
            }
        }
        Ok(missing)
    }

    /// The refs on the remote that should lead to the commits.
    async fn branches(&self) -> Result<Vec<String>, Trouble> {
        let heads = [&self.ci.source_branch, &self.ci.target_branch, &self.ci.default_branch];
        let mut wanted: Vec<String> = heads.into_iter().flatten().map(|name| format!("refs/heads/{name}")).collect();
        wanted.extend(self.ci.mr_iid.map(|iid| format!("refs/merge-requests/{iid}/head")));
        Ok(self.listed(&wanted).await.into_iter().map(|(_, name)| name).collect())
    }

    /// Those of the refs that the remote has, with their commits.
    async fn listed(&self, references: &[String]) -> Vec<(String, String)> {
        let Some(remote) = self.remote.as_ref().filter(|_| !self.gave_up()) else { return Vec::new() };
        let mut command = vec!["ls-remote", "--end-of-options", remote];
        command.extend(references.iter().map(String::as_str));
        let answer = self.git.run_remote(&command).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&answer).into_owned();
        let pairs = text.lines().filter_map(|line| line.split_once('\t'));
        // A pattern also matches refs that only end in it.
        pairs
            .filter(|(_, name)| references.iter().any(|wanted| wanted == name))
            .map(|(id, name)| (id.to_owned(), name.to_owned()))
            .collect()
    }

    /// Fetches commits or refs without touching any ref of the clone; false when the remote refuses.
    async fn fetch(&mut self, depth: Option<&str>, what: &[&str]) -> Result<bool, Trouble> {
        let Some(remote) = self.remote.clone().filter(|_| !self.gave_up()) else { return Ok(false) };
        let fixed = ["fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules", "--refmap="];
        let depth: Vec<&str> = depth.into_iter().collect();
        let command = [&fixed, depth.as_slice(), &["--end-of-options", &remote], what].concat();
        match self.git.run_remote(&command).await {
            Ok(_) => {
                self.shallow = is_shallow(&self.git).await?;
                Ok(true)
            }
            Err(error @ GitError::Missing) => Err(Trouble::of(&error, CANNOT_ASK)),
            Err(error) => {
                self.refusal = Some(error);
                Ok(false)
            }
        }
    }

    fn gave_up(&self) -> bool {
        matches!(self.refusal, Some(GitError::Deadline { .. }))
    }

    /// The options to try one after the other; a full clone can only be brought up to date.
    fn steps(&self) -> Vec<Option<String>> {
        if !self.shallow {
            return vec![None];
        }
        let steps = STEPS.iter().map(|commits| format!("--deepen={commits}"));
        steps.chain(["--unshallow".to_owned()]).map(Some).collect()
    }

    fn trouble(&self, why: &str, missing: &[&str]) -> Trouble {
        let fix = match (&self.remote, missing.is_empty()) {
            (None, _) => {
                "Clone in the job (`GIT_STRATEGY: clone`), or give the repository a remote to fetch from.".to_owned()
            }
            (Some(_), true) => {
                "Set `GIT_DEPTH: 0` for this job, so that the runner clones the whole history.".to_owned()
            }
            (Some(remote), false) => format!(
                "Run `git fetch {} {}` before diffsan, or set `GIT_DEPTH: 0` for this job.",
                if remote.contains("://") { "origin" } else { remote },
                missing.join(" ")
            ),
        };
        let said = self.refusal.as_ref().map(|error| crate::error::chain(error));
        Trouble { why: why.to_owned(), fix, said }
    }
}

const CANNOT_ASK: &str = "git cannot be asked about this clone";
const MERGE_REQUEST_PIPELINE: &str =
    "Run diffsan in a merge request pipeline (`rules: - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"`).";

impl Trouble {
    pub(super) fn of(error: &GitError, doing: &str) -> Self {
        let (why, fix) = match error {
            GitError::Missing => ("git is not installed in the job's image", "Use an image that has git."),
            error if error.is_no_repository() => (
                "the job has no git repository",
                "Let the runner clone (`GIT_STRATEGY: clone` or `fetch`) and start diffsan in `$CI_PROJECT_DIR`.",
            ),
            error if error.is_dubious_ownership() => (
                "git refuses to work here because the repository belongs to another user",
                "Run `git config --global --add safe.directory \"$CI_PROJECT_DIR\"` before diffsan.",
            ),
            _ => (doing, "Start the job again; if that does not help, run it with `GIT_STRATEGY: clone`."),
        };
        Self { why: why.to_owned(), fix: fix.to_owned(), said: Some(crate::error::chain(error)) }
    }
}

/// Makes git work in the job's repository and asks whether it is shallow. The repository may belong
/// to another user than this job's; older versions of git take that permission from a file only.
async fn open(git: &Git) -> Result<(Git, bool), Trouble> {
    let trusting = match repository_top(git.folder()) {
        Some(top) => git.clone().trusting(&top),
        None => git.clone(),
    };
    let error = match shallow(&trusting).await {
        Ok(shallow) => return Ok((trusting, shallow)),
        Err(error) => error,
    };
    if error.is_dubious_ownership()
        && let Ok(by_file) = trusting.trusting_by_file()
        && let Ok(shallow) = shallow(&by_file).await
    {
        return Ok((by_file, shallow));
    }
    Err(Trouble::of(&error, CANNOT_ASK))
}

async fn is_shallow(git: &Git) -> Result<bool, Trouble> {
    shallow(git).await.map_err(|error| Trouble::of(&error, CANNOT_ASK))
}

async fn shallow(git: &Git) -> Result<bool, GitError> {
    Ok(git.line(&["rev-parse", "--is-shallow-repository"]).await? == "true")
}

/// What to fetch from: `origin`, else the only remote, else where the runner cloned from.
async fn remote(git: &Git, ci: &CiContext) -> Option<String> {
    let listed = git.run(&["remote"]).await.unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let names: Vec<&str> = listed.lines().collect();
    if names.contains(&"origin") {
        return Some("origin".to_owned());
    }
    match names.as_slice() {
        [only] => Some((*only).to_owned()),
        _ => ci.repository_url.clone(),
    }
}
