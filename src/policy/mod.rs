//! Who decides: the job and the target branch in CI, the user on a laptop. The branch under review is data.
//!
//! [`load`] is the one way to a configuration. In a GitLab job its file, and what that file names, come from the policy
//! commit; on a laptop the repository's file is read, and its guarded keys once the user trusts them.

mod changes;
mod commit;
pub mod guarded;
mod job;
mod laptop;
pub mod path;
mod place;
mod repository;
pub mod roots;
pub mod trust;

use std::path::Path;
use std::sync::Arc;

pub use changes::pending;
pub use commit::{Entry, PolicyCommit, Unavailable};

use crate::cli::ReviewArgs;
use crate::config::{CiContext, Environment, Loaded};
use crate::contracts::{PolicyRecord, PolicySource};
use crate::error::Result;
use crate::run::events::Events;
use crate::run::fault::is_undefended;

/// What is known before anything was decided.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    pub args: &'a ReviewArgs,
    pub env: &'a Environment,
    /// Where diffsan was started.
    pub current: &'a Path,
    /// Told about retries of GitLab's API.
    pub events: &'a Events,
}

/// Who decided the settings of a run; only this module makes one.
#[derive(Debug, Clone)]
pub struct Policy {
    source: PolicySource,
    /// The file of settings, for people.
    file: Option<String>,
    /// Its path in the repository, where it is one of the repository's.
    path: Option<String>,
    /// Files of the repository that the settings name.
    named: Vec<String>,
    commit: Option<Arc<PolicyCommit>>,
    /// Keeps files of the policy commit that other libraries read by name.
    _files: Option<Arc<tempfile::TempDir>>,
}

impl Policy {
    fn new(source: PolicySource) -> Self {
        Self { source, file: None, path: None, named: Vec::new(), commit: None, _files: None }
    }

    /// The file of settings, for people.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The commit that decides; none on a laptop, or where the job decides alone.
    pub fn commit(&self) -> Option<&PolicyCommit> {
        self.commit.as_deref()
    }

    /// The repository's files that decide: the file of settings first, then what it names.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.path.iter().chain(&self.named).map(String::as_str)
    }

    /// The settings' own path in the repository.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// As `run.json` has it.
    pub fn record(&self) -> PolicyRecord {
        PolicyRecord {
            source: self.source,
            file: self.file.clone(),
            commit: self.commit.as_ref().map(|commit| commit.id.clone()),
            branch: self.commit.as_ref().map(|commit| commit.branch.clone()),
            via: self.commit.as_ref().map(|commit| commit.via().to_owned()),
            pending: Vec::new(),
            guards_touched: Vec::new(),
        }
    }
}

/// Whether the job and the target branch decide: in a GitLab job of a project, unless that job asks for a local review.
pub fn is_job(args: &ReviewArgs, env: &Environment) -> bool {
    let ci = CiContext::from_env(env);
    let has_project = ci.project_id.is_some() || ci.repository_url.is_some() || ci.project_url.is_some();
    let says_local = args.no_ci || (!args.ci && env.get("DIFFSAN_MODE__CI") == Some("false"));
    ci.is_gitlab && has_project && !says_local
}

/// The configuration of a run, from those who may decide.
pub async fn load(start: Start<'_>) -> Result<Loaded> {
    crate::run::fault::point("policy");
    if is_undefended("policy") || is_undefended("trust") {
        return laptop::load(start, laptop::Trust::Warned).await;
    }
    if is_job(start.args, start.env) {
        job::load(start).await
    } else {
        laptop::load(start, laptop::Trust::Needed).await
    }
}

/// The configuration as it would be, for those who only want to see it: what needs trust is a warning.
pub async fn preview(start: Start<'_>) -> Result<Loaded> {
    if is_job(start.args, start.env) {
        job::load(start).await
    } else {
        laptop::load(start, laptop::Trust::Warned).await
    }
}
