//! The policy commit: which one it is, and what its files say.

use std::path::Path;

use super::repository::Repository;
use crate::config::{CiContext, Environment, MAX_FILE};
use crate::error::{Error, Failure, Result};
use crate::gitlab::Client;

/// The newest commit of the branch that decides, and a way to read its files.
#[derive(Debug)]
pub struct PolicyCommit {
    pub id: String,
    pub branch: String,
    store: Store,
}

/// Where the commit is read from.
#[derive(Debug)]
enum Store {
    Private(Repository),
    Api(Box<Client>),
}

/// What stands at a path of the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File(Vec<u8>),
    Link,
    Folder,
    Submodule,
}

/// Neither git nor GitLab's API gave the commit.
#[derive(Debug, Clone)]
pub struct Unavailable {
    pub by_git: String,
    pub by_api: String,
}

impl Unavailable {
    /// As the failure it is where the run cannot do without.
    pub fn into_error(self) -> Error {
        Error::DiffFetch(
            Failure::new("could not read the review's policy from the target project")
                .said(format!("git: {}; GitLab's API: {}", self.by_git, self.by_api))
                .retryable()
                .help("start the job again; CI_REPOSITORY_URL or GITLAB_TOKEN must be able to read the target project"),
        )
    }
}

impl PolicyCommit {
    /// Finds the commit: by git in a private repository, else through the API.
    pub async fn find(ci: &CiContext, env: &Environment, api: Result<Client>) -> Result<Self, Unavailable> {
        let by_git = match by_git(ci, env, api.as_ref().ok()).await {
            Ok(found) => return Ok(found),
            Err(words) => words,
        };
        let by_api = match api {
            Err(error) => error.to_string(),
            Ok(client) => match by_api(ci, client).await {
                Ok(found) => return Ok(found),
                Err(words) => words,
            },
        };
        Err(Unavailable { by_git, by_api })
    }

    /// How it was read.
    pub fn via(&self) -> &'static str {
        match self.store {
            Store::Private(_) => "git",
            Store::Api(_) => "api",
        }
    }

    /// What stands at a path; none only where a listing shows that there is nothing.
    pub async fn entry(&self, path: &str) -> Result<Option<Entry>> {
        let failed = |words: String| {
            Error::DiffFetch(
                Failure::new(format!("could not read {path} of the policy commit {}", self.id))
                    .said(words)
                    .retryable()
                    .with("commit", self.id.as_str())
                    .with("file", path)
                    .help("start the job again"),
            )
        };
        match &self.store {
            Store::Private(repository) => {
                repository.entry(&self.id, path).await.map_err(|error| failed(crate::error::chain(&error)))
            }
            Store::Api(client) => entry_by_api(client, &self.id, path).await.map_err(|error| failed(error.to_string())),
        }
    }

    /// What the commit's `.gitattributes` say about paths, in git's own words; none where only the API can be asked.
    pub async fn attributes(&self, names: &[&str], paths: &[u8]) -> Option<Vec<u8>> {
        let Store::Private(repository) = &self.store else { return None };
        let tree = tempfile::Builder::new().prefix("diffsan-attributes-").tempdir().ok()?;
        for path in repository.paths_named(&self.id, ".gitattributes").await.ok()? {
            if let Some(Entry::File(bytes)) = repository.entry(&self.id, &path).await.ok()? {
                place(tree.path(), &path, &bytes).ok()?;
            }
        }
        let command = [&["check-attr", "-z", "--stdin"], names].concat();
        repository.run_in_tree(tree.path(), &command, paths).await.ok()
    }
}

/// Writes a file of the commit below a private folder.
fn place(folder: &Path, path: &str, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    let file = folder.join(path);
    if let Some(parent) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).create(parent)?;
    }
    std::fs::OpenOptions::new().write(true).create_new(true).open(file)?.write_all(bytes)
}

/// An author can make a branch to merge into, so only a protected target decides; else the default branch does.
fn choose<'a>(target: Option<&'a str>, default: Option<&'a str>, is_protected: bool) -> Option<&'a str> {
    match target {
        Some(target) if is_protected || Some(target) == default => Some(target),
        _ => default,
    }
}

async fn by_git(ci: &CiContext, env: &Environment, api: Option<&Client>) -> Result<PolicyCommit, String> {
    let repository = Repository::new(ci, env).await?;
    let target = ci.target_branch.as_deref();
    let words = |error: crate::diff::git::GitError| crate::error::chain(&error);
    let heads = repository.heads(target).await.map_err(words)?;
    let own = ci.project_id == ci.pipeline_project_id;
    let default = heads.default.as_deref().or(ci.default_branch.as_deref().filter(|_| own));
    let is_protected = match (ci.target_protected, target, api) {
        (Some(known), ..) => known,
        (None, Some(target), _) if Some(target) == default => true,
        (None, Some(target), Some(client)) => client.branch(target).await.is_ok_and(|branch| branch.protected),
        (None, ..) => false,
    };
    let branch = choose(target, default, is_protected).ok_or("the project has no default branch")?.to_owned();
    let id = repository.fetch(&branch).await.map_err(words)?;
    Ok(PolicyCommit { id, branch, store: Store::Private(repository) })
}

async fn by_api(ci: &CiContext, client: Client) -> Result<PolicyCommit, String> {
    let words = |error: Error| error.to_string();
    let default = client.default_branch().await.map_err(words)?;
    let target = ci.target_branch.as_deref();
    let is_protected = match (ci.target_protected, target) {
        (Some(known), _) => known,
        (None, Some(target)) if Some(target) != default.as_deref() => {
            client.branch(target).await.map_err(words)?.protected
        }
        (None, _) => false,
    };
    let branch =
        choose(target, default.as_deref(), is_protected).ok_or("the project has no default branch")?.to_owned();
    let id = client.branch(&branch).await.map_err(words)?.commit;
    Ok(PolicyCommit { id, branch, store: Store::Api(Box::new(client)) })
}

/// Walks down from the top: a name that a listing does not show is absent, an error is an error.
async fn entry_by_api(client: &Client, commit: &str, path: &str) -> Result<Option<Entry>> {
    let mut above = String::new();
    let mut names = path.split('/').peekable();
    while let Some(name) = names.next() {
        let listed = client.folder(commit, &above).await?;
        let Some(found) = listed.into_iter().find(|entry| entry.name == name) else { return Ok(None) };
        if names.peek().is_some() {
            if found.kind != "tree" {
                return Ok(None);
            }
            above = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
            continue;
        }
        return Ok(Some(match (found.kind.as_str(), found.mode.as_str()) {
            ("blob", "120000") => Entry::Link,
            ("blob", _) => Entry::File(client.blob(&found.id, MAX_FILE).await?),
            ("commit", _) => Entry::Submodule,
            _ => Entry::Folder,
        }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unprotected_target_that_is_not_the_default_branch_decides_nothing() {
        assert_eq!(choose(Some("main"), Some("main"), false), Some("main"));
        assert_eq!(choose(Some("release"), Some("main"), true), Some("release"));
        assert_eq!(choose(Some("mine"), Some("main"), false), Some("main"));
        assert_eq!(choose(Some("mine"), None, false), None);
        assert_eq!(choose(None, Some("main"), false), Some("main"));
    }
}
