//! On a laptop: the repository's file as it is, its guarded keys once the user trusts them, and the user's own file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::place::Checkout;
use super::{Policy, Start, guarded, trust};
use crate::config::{self, CiContext, Environment, Loaded, NamedFile, SettingsFile, Source};
use crate::contracts::PolicySource;
use crate::diff::git::Git;
use crate::error::{Error, Failure, Result};

/// What happens to guarded keys that the user has not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    Needed,
    Warned,
}

/// The configuration of a run on a user's own machine.
pub(super) async fn load(start: Start<'_>, trust: Trust) -> Result<Loaded> {
    let mut files = Vec::new();
    if let Some(path) = users_file(start.env, start.current) {
        files.push(settings(path)?);
    }
    let mut policy = Policy::new(PolicySource::Local);
    let checkout = Checkout::new(None, start.current);
    let mut warnings = Vec::new();
    let found = config::find_file(start.args, start.env, start.current)?;
    if let Some(path) = &found {
        let file = settings(path.clone())?;
        if let Some(error) = untrusted(start, &checkout, path, &file)? {
            match trust {
                Trust::Needed => return Err(error),
                Trust::Warned => warnings.push(format!("{error}; a run needs `diffsan trust` first")),
            }
        }
        policy.file = file.source.file_name();
        policy.path = checkout.inside(path);
        files.push(file);
    }
    let mut merged = config::merge(&files, start.args, start.env)?;
    merged.warnings.splice(0..0, warnings);
    let mut texts = BTreeMap::new();
    for named in config::named_files(&merged.config) {
        let (file, is_repositorys) = locate(start, found.as_deref(), merged.sources.get(named.key), &named.file);
        if is_repositorys {
            check_named(start, &checkout, &file, &named).await?;
            policy.named.extend(checkout.inside(&file));
        }
        texts.insert(named.clone(), config::read_text(&file, named.key)?);
    }
    if let Some(file) = &merged.config.gitlab.ca_file {
        let (file, _) = locate(start, found.as_deref(), merged.sources.get("gitlab.ca_file"), file);
        merged.config.gitlab.ca_file = Some(file.to_string_lossy().into_owned());
    }
    merged.finish(texts, policy, CiContext::from_env(start.env))
}

/// The folder of the user's own settings. One inside the repository is not the user's.
pub(super) fn users_folder(env: &Environment, current: &Path) -> Option<PathBuf> {
    let configured = env.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = configured.or_else(|| env.home().map(|home| home.join(".config")))?.join("diffsan");
    (!Checkout::new(None, current).holds(&folder)).then_some(folder)
}

fn users_file(env: &Environment, current: &Path) -> Option<PathBuf> {
    users_folder(env, current).map(|folder| folder.join("config.toml")).filter(|file| file.is_file())
}

fn settings(path: PathBuf) -> Result<SettingsFile> {
    let text = config::read_text(&path, "the configuration file")?;
    Ok(SettingsFile { source: Source::File(path), text, unguarded_only: false })
}

/// The error that a file's guarded keys are, unless the file is the user's own or the user agreed to it.
fn untrusted(start: Start<'_>, checkout: &Checkout, path: &Path, file: &SettingsFile) -> Result<Option<Error>> {
    let is_named = config::file_named(start.args, start.env).is_some();
    if is_named && !checkout.holds(path) {
        return Ok(None);
    }
    let mut keys = config::keys_of(&file.source, &file.text)?;
    keys.retain(|key| guarded::is_guarded(key));
    let subject = trust::Subject::new(path, &file.text, start.current);
    if keys.is_empty() || trust::is_trusted(&subject, start.env, start.current) {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Some(Error::Config(
        Failure::new(format!(
            "{name} of this repository sets {}, and you have not agreed to that yet",
            keys.join(", ")
        ))
        .with("file", path.to_string_lossy())
        .with("keys", keys)
        .help("look at them with `diffsan trust` and agree, or set them yourself by DIFFSAN_* variables or flags"),
    )))
}

/// Where a named file is, and whether the repository's file names it.
fn locate(start: Start<'_>, repositorys: Option<&Path>, source: Option<&Source>, file: &str) -> (PathBuf, bool) {
    match source {
        Some(Source::File(naming)) => {
            let folder = naming.parent().unwrap_or(start.current);
            (folder.join(file), repositorys == Some(naming.as_path()))
        }
        _ => (start.current.join(file), false),
    }
}

/// What the repository names is a plain file that git tracks: neither a way out nor a leftover.
async fn check_named(start: Start<'_>, checkout: &Checkout, file: &Path, named: &NamedFile) -> Result<()> {
    let wrong = |problem: &str, help: &str| {
        Error::Config(
            Failure::new(format!("{} names {}, which {problem}", named.key, named.file))
                .with("key", named.key)
                .with("file", file.to_string_lossy())
                .help(help),
        )
    };
    let Some(top) = config::repository_top(start.current) else { return Ok(()) };
    // A named file outside the repository may be named by a file that lies outside too.
    let is_plain = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let real = file.canonicalize().ok();
    let top = top.canonicalize().unwrap_or(top);
    match real {
        Some(real) if !real.starts_with(&top) && checkout.holds(file) => {
            return Err(wrong("leads out of the repository", "put the file itself into the repository"));
        }
        Some(real) if !real.starts_with(&top) => {
            return Err(wrong("is not in the repository", "put the file into the repository"));
        }
        Some(_) if !is_plain => return Err(wrong("is not a regular file", "put the file itself there, not a link")),
        Some(_) => {}
        // Reading it says what is wrong.
        None => return Ok(()),
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let git = Git::new(file.parent().unwrap_or(start.current), start.env);
    match git.run(&["--literal-pathspecs", "ls-files", "-z", "--", &name]).await {
        Ok(listed) if listed.is_empty() => Err(wrong("git does not track", "`git add` it first")),
        _ => Ok(()),
    }
}
