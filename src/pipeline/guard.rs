//! A merge request must not configure its own review: programs, hosts, tokens and the secret scanner are set by those
//! who own the pipeline, and a change of them counts only once it is merged.

use std::path::{Path, PathBuf};

use super::Request;
use crate::config::{self, Source};
use crate::contracts::DiffRef;
use crate::diff::Diff;
use crate::diff::git::Git;
use crate::error::{Error, Failure, Result};
use crate::run::record::Run;

/// Keys that decide what runs, who is talked to, and what stays secret.
const GUARDED: &[&str] = &[
    "agent.cursor_command",
    "agent.codex_command",
    "agent.claude_command",
    "agent.gemini_command",
    "agent.opencode_command",
    "agent.command",
    "agent.proxy_url",
    "agent.pass_env",
    "agent.custom_instructions_file",
    "agent.prompt_template",
    "gitlab.base_url",
    "gitlab.token_env",
    "gitlab.ca_file",
    "secrets.enabled",
    "secrets.allow_patterns",
    "secrets.allow_paths",
    "artifacts.raw_diff",
];

/// Refuses a run whose guarded settings come from the change under review.
pub(super) async fn check(run: &Run, request: &Request, ends: &DiffRef, diff: &Diff<'_>) -> Result<()> {
    let loaded = &request.loaded;
    let named = request.args.common.config.is_some() || request.env.get("DIFFSAN_CONFIG_FILE").is_some();
    if !loaded.config.mode.ci {
        return Ok(());
    }
    warn_of_instructions(run, request, diff);
    let Some(file) = loaded.file.as_deref().filter(|_| !named) else { return Ok(()) };
    let Some(path) = in_repository(request, file).filter(|path| touches(diff, path)) else { return Ok(()) };
    let before = match &ends.base_sha {
        Some(base) => {
            let git = Git::new(&request.current, &request.env);
            let object = format!("{base}:{path}");
            git.run(&["cat-file", "blob", &object]).await.ok()
        }
        None => None,
    };
    let before = before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let changed: Vec<_> = GUARDED
        .iter()
        .filter(|key| matches!(loaded.sources.get(**key), Some(Source::File(_))))
        .filter(|key| config::value_in_file(&before, key) != config::value_of(&loaded.config, key))
        .copied()
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let keys = changed.join(", ");
    Err(Error::Config(
        Failure::new(format!("the merge request itself changes {keys} in {path}, so diffsan does not follow it"))
            .with("file", path.as_str())
            .with("keys", changed)
            .help("merge that change first, or set the keys in the job: DIFFSAN_* variables, flags or --config"),
    ))
}

/// Guidance that the change itself rewrites is used, and said.
fn warn_of_instructions(run: &Run, request: &Request, diff: &Diff<'_>) {
    let agent = &request.loaded.config.agent;
    let files = agent.custom_instructions_file.iter().chain(&agent.prompt_template);
    for file in files {
        let path = in_repository(request, &request.current.join(file));
        if path.is_some_and(|path| touches(diff, &path)) {
            run.survive(&Error::Config(
                Failure::new(format!("the merge request changes {file}, which guides its own review"))
                    .with("file", file.as_str())
                    .help("read that part of the change yourself"),
            ));
        }
    }
}

fn touches(diff: &Diff<'_>, path: &str) -> bool {
    diff.files.iter().any(|file| file.new_path == path || file.old_path == path)
}

/// The file's path as a diff names it.
fn in_repository(request: &Request, file: &Path) -> Option<String> {
    let top = config::repository_top(&request.current)?;
    let file: PathBuf = file.canonicalize().ok()?;
    let top = top.canonicalize().ok()?;
    file.strip_prefix(top).ok().map(|path| path.to_string_lossy().into_owned())
}
