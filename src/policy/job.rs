//! In a GitLab job: the job's own flags, variables and files, and for the rest the policy commit.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::place::{self, Checkout};
use super::{Entry, Policy, PolicyCommit, Start, Unavailable, guarded};
use crate::config::{self, CONFIG_FILE, CiContext, Loaded, Merged, NamedFile, SettingsFile, Source};
use crate::contracts::PolicySource;
use crate::diff::git::Git;
use crate::error::{Error, Failure, Result};
use crate::gitlab::{self, Client, ClientConfig};

/// The configuration of a job's run.
pub(super) async fn load(start: Start<'_>) -> Result<Loaded> {
    let job = Job::new(start);
    let named = config::file_named(start.args, start.env).map(|(path, from)| (start.current.join(path), from));
    let own = match &named {
        Some((path, _)) if !job.checkout.holds(path) => Some(SettingsFile {
            text: config::read_text(path, "the configuration file")?,
            source: Source::File(path.clone()),
            unguarded_only: false,
        }),
        _ => None,
    };
    // What the job says by itself is enough to ask git and GitLab for the rest.
    let early = config::merge(own.as_slice(), start.args, start.env)?;
    let commit = PolicyCommit::find(&job.ci, start.env, job.client(&early)).await;
    if let Some(file) = own {
        return job.finish(Settled::by_job(file), commit).await;
    }
    let commit = commit.map_err(Unavailable::into_error)?;
    let settled = job.settings(&commit, named).await?;
    job.finish(settled, Ok(commit)).await
}

/// The file of settings that counts, if there is one.
struct Settled {
    source: PolicySource,
    file: Option<SettingsFile>,
    path: Option<String>,
    warnings: Vec<String>,
}

impl Settled {
    fn by_job(file: SettingsFile) -> Self {
        Self { source: PolicySource::Job, file: Some(file), path: None, warnings: Vec::new() }
    }
}

struct Job<'a> {
    start: Start<'a>,
    ci: CiContext,
    checkout: Checkout,
}

impl<'a> Job<'a> {
    fn new(start: Start<'a>) -> Self {
        let ci = CiContext::from_env(start.env);
        let checkout = Checkout::new(ci.project_dir.as_deref(), start.current);
        Self { start, ci, checkout }
    }

    /// GitLab as the job names it.
    fn client(&self, early: &Merged) -> Result<Client> {
        let settings = &early.config.gitlab;
        let is_set = early.sources.get("gitlab.token_env").is_some_and(|source| *source != Source::Default);
        let names =
            if is_set { vec![settings.token_env.as_str()] } else { vec!["GITLAB_TOKEN", "DIFFSAN_GITLAB_TOKEN"] };
        let token =
            names.iter().find_map(|name| self.start.env.get(name)).ok_or_else(|| gitlab::missing_token(&names))?;
        let project = settings
            .project_id
            .clone()
            .or_else(|| self.ci.project_id.clone())
            .ok_or_else(|| Error::Config(Failure::new("the job's variables name no project")))?;
        let base_url = self.ci.api_v4_url.clone().unwrap_or_else(|| settings.base_url.clone());
        let token = config::Token::new(token.trim());
        let mut client = ClientConfig::new(base_url, token, project, self.ci.mr_iid.unwrap_or_default());
        client.retry_max = u32::try_from(settings.retry_max.get()).unwrap_or(u32::MAX);
        // A file of the checkout is the branch's: it cannot say whom to believe.
        let files =
            settings.ca_file.iter().map(|file| self.start.current.join(file)).filter(|file| !self.checkout.holds(file));
        client.ca_files = files.chain(self.ci.ca_file.iter().map(PathBuf::from)).collect();
        Client::new(client, self.start.events.clone())
    }

    /// The file of settings in the policy commit, else one that a script of the job wrote into the checkout.
    async fn settings(&self, commit: &PolicyCommit, named: Option<(PathBuf, &'static str)>) -> Result<Settled> {
        let files: Vec<PathBuf> = match &named {
            Some((path, _)) => vec![path.clone()],
            None => {
                let top = config::repository_top(self.start.current);
                let folders = std::iter::once(self.start.current.to_owned()).chain(top);
                folders.map(|folder| folder.join(CONFIG_FILE)).collect()
            }
        };
        let mut paths: Vec<String> = files.iter().filter_map(|file| self.checkout.inside(file)).collect();
        if named.is_none() {
            paths.push(CONFIG_FILE.to_owned());
        }
        for path in paths {
            if let Some(text) = read(commit, &path, "the configuration file").await? {
                let source = Source::Policy { commit: commit.id.clone(), path: path.clone() };
                let file = SettingsFile { source, text, unguarded_only: false };
                return Ok(Settled {
                    source: PolicySource::Target,
                    file: Some(file),
                    path: Some(path),
                    warnings: Vec::new(),
                });
            }
        }
        for file in &files {
            match self.written_by_job(file).await {
                Some(text) => {
                    let source = Source::File(file.clone());
                    let settings = SettingsFile { source, text, unguarded_only: true };
                    return Ok(Settled {
                        source: PolicySource::Job,
                        file: Some(settings),
                        path: self.checkout.inside(file),
                        warnings: Vec::new(),
                    });
                }
                None if named.is_some() => {
                    return Err(absent(commit, file, named.as_ref().map_or("", |(_, from)| from)));
                }
                None => {}
            }
        }
        let there = files.iter().any(|file| file.symlink_metadata().is_ok());
        let warning = format!(
            "{CONFIG_FILE} is not on {} yet, so this review runs with the defaults; it takes effect once merged",
            commit.branch
        );
        Ok(Settled {
            source: PolicySource::Target,
            file: None,
            path: Some(CONFIG_FILE.to_owned()),
            warnings: there.then_some(warning).into_iter().collect(),
        })
    }

    /// The text of a regular file in the checkout that git does not track; in doubt it is the branch's.
    async fn written_by_job(&self, file: &Path) -> Option<String> {
        if !file.symlink_metadata().ok()?.is_file() {
            return None;
        }
        let folder = file.parent()?;
        let top = config::repository_top(folder)?;
        let name = file.strip_prefix(folder).ok()?.to_string_lossy().into_owned();
        let git = Git::new(folder, self.start.env).trusting(&top);
        let literal = ["--literal-pathspecs"];
        let index = git.run(&[&literal[..], &["ls-files", "-z", "--stage", "--", &name]].concat()).await.ok()?;
        let head = git.run(&[&literal[..], &["ls-tree", "-z", "HEAD", "--", &name]].concat()).await.ok()?;
        if !index.is_empty() || !head.is_empty() {
            return None;
        }
        config::read_text(file, "the configuration file").ok()
    }

    /// Merges what was settled with the job's own words, and reads the files it names.
    async fn finish(self, settled: Settled, commit: Result<PolicyCommit, Unavailable>) -> Result<Loaded> {
        let file_name = settled.file.as_ref().and_then(|file| file.source.file_name());
        let mut merged = config::merge(settled.file.as_slice(), self.start.args, self.start.env)?;
        merged.warnings.extend(settled.warnings);
        self.check_commands(&merged)?;
        let mut policy = Policy { file: file_name, path: settled.path, ..Policy::new(settled.source) };
        let mut texts = BTreeMap::new();
        for named in config::named_files(&merged.config) {
            let text = match self.locate(&merged, &named)? {
                Place::Job(path) => config::read_text(&path, named.key)?,
                Place::Commit(path) => {
                    let commit = commit.as_ref().map_err(|unavailable| unavailable.clone().into_error())?;
                    let text = read(commit, &path, named.key).await?;
                    policy.named.push(path.clone());
                    text.ok_or_else(|| not_in_commit(commit, &path, named.key))?
                }
            };
            texts.insert(named, text);
        }
        if let Some(file) = merged.config.gitlab.ca_file.clone() {
            let named = NamedFile { key: "gitlab.ca_file", file };
            let place = self.locate(&merged, &named)?;
            let (path, kept) = self.certificates(place, &commit).await?;
            merged.config.gitlab.ca_file = Some(path.to_string_lossy().into_owned());
            policy._files = kept.map(Arc::new);
        }
        policy.commit = commit.ok().map(Arc::new);
        merged.finish(texts, policy, self.ci)
    }

    /// A program in the checkout is the branch's: only the job itself may name it.
    fn check_commands(&self, merged: &Merged) -> Result<()> {
        for (key, source) in &merged.sources {
            if !guarded::is_command(key) || !matches!(source, Source::Policy { .. }) {
                continue;
            }
            let value = config::value_of(&merged.config, key);
            let words = value.as_str().and_then(shlex::split).unwrap_or_default();
            let is_branches = |(at, word): (usize, &String)| {
                let is_path = word.starts_with('/') || at == 0 && word.contains('/');
                is_path && self.checkout.holds(&self.start.current.join(word))
            };
            if words.iter().enumerate().any(is_branches) {
                return Err(Error::Config(
                    Failure::new(format!(
                        "{key} ({source}) names a program in the checkout, which the merge request can change"
                    ))
                    .with("key", key.as_str())
                    .help("name it in the job itself (a DIFFSAN_* variable or flag), or install it in the image"),
                ));
            }
        }
        Ok(())
    }

    /// Who answers for a named file: the job, or the policy commit.
    fn locate(&self, merged: &Merged, named: &NamedFile) -> Result<Place> {
        let outside = || {
            Error::Config(
                Failure::new(format!("{} names {}, which is not in the repository", named.key, named.file))
                    .with("key", named.key)
                    .help("name a file of the repository, relative to the file that names it"),
            )
        };
        let folder = match merged.sources.get(named.key) {
            Some(Source::Policy { path, .. }) => {
                return place::in_repository(path, &named.file).map(Place::Commit).ok_or_else(outside);
            }
            Some(Source::File(path)) => path.parent().unwrap_or(self.start.current),
            _ => self.start.current,
        };
        let file = folder.join(&named.file);
        Ok(match self.checkout.inside(&file) {
            Some(path) => Place::Commit(path),
            None => Place::Job(file),
        })
    }

    /// A file of certificates that can be opened by its name.
    async fn certificates(
        &self,
        place: Place,
        commit: &Result<PolicyCommit, Unavailable>,
    ) -> Result<(PathBuf, Option<tempfile::TempDir>)> {
        let path = match place {
            Place::Job(path) => return Ok((path, None)),
            Place::Commit(path) => path,
        };
        let commit = commit.as_ref().map_err(|unavailable| unavailable.clone().into_error())?;
        let text = read(commit, &path, "gitlab.ca_file").await?;
        let text = text.ok_or_else(|| not_in_commit(commit, &path, "gitlab.ca_file"))?;
        let kept = (|| {
            let folder = tempfile::Builder::new().prefix("diffsan-policy-").tempdir()?;
            let file = folder.path().join("ca.pem");
            std::fs::OpenOptions::new().write(true).create_new(true).open(&file)?.write_all(text.as_bytes())?;
            Ok((file, Some(folder)))
        })();
        kept.map_err(|error: std::io::Error| {
            Error::Config(Failure::new("gitlab.ca_file could not be kept for this run").caused_by(&error))
        })
    }
}

enum Place {
    Job(PathBuf),
    Commit(String),
}

/// A text file of the policy commit; none where the commit has nothing there.
async fn read(commit: &PolicyCommit, path: &str, what: &str) -> Result<Option<String>> {
    let wrong = |problem: &str| {
        Error::Config(
            Failure::new(format!("{what}: {path} of the policy commit {} ({}) {problem}", commit.id, commit.branch))
                .with("commit", commit.id.as_str())
                .with("file", path)
                .help(format!("put a plain text file there, on {}", commit.branch)),
        )
    };
    match commit.entry(path).await? {
        None => Ok(None),
        Some(Entry::File(bytes)) => String::from_utf8(bytes).map(Some).map_err(|_| wrong("is not UTF-8 text")),
        Some(Entry::Link) => Err(wrong("is a symbolic link")),
        Some(Entry::Folder) => Err(wrong("is a folder")),
        Some(Entry::Submodule) => Err(wrong("is a submodule")),
    }
}

fn not_in_commit(commit: &PolicyCommit, path: &str, key: &str) -> Error {
    Error::Config(
        Failure::new(format!(
            "{key} names {path}, which the policy commit {} ({}) does not have",
            commit.id, commit.branch
        ))
        .with("commit", commit.id.as_str())
        .with("file", path)
        .with("key", key)
        .help(format!("merge the file into {} first, or name one outside the checkout", commit.branch)),
    )
}

fn absent(commit: &PolicyCommit, file: &Path, from: &str) -> Error {
    Error::Config(
        Failure::new(format!(
            "the configuration file {} (from {from}) lies in the checkout, and the policy commit {} ({}) does not have it",
            file.display(),
            commit.id,
            commit.branch
        ))
        .with("file", file.to_string_lossy())
        .with("commit", commit.id.as_str())
        .help(format!("merge it into {} first, or name a file outside the checkout", commit.branch)),
    )
}
