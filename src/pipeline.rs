//! `review`: the stages in order, and what each leaves behind.

use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::cli::ReviewArgs;
use crate::config::{Environment, Loaded};
use crate::contracts::{AgentKind, Fingerprint};
use crate::error::{Error, Failure, Result};
use crate::events::Event;
use crate::record::{Run, hex};

/// What a run was asked to do.
#[derive(Debug, Clone)]
pub struct Request {
    pub args: ReviewArgs,
    pub loaded: Loaded,
    pub env: Environment,
    /// Where diffsan was started.
    pub current: PathBuf,
}

/// Reviews one change.
pub async fn review(run: &Run, request: &Request) -> Result<()> {
    run.stage("config");
    for warning in &request.loaded.warnings {
        run.events.emit(Event::Warning { message: warning.clone() });
    }
    let config = &request.loaded.config;
    run.note(|progress| progress.fail_on = config.gate.fail_on);
    run.events.emit(Event::ConfigLoaded {
        ci: config.mode.ci,
        agent: AgentKind::Builtin,
        verbosity: config.agent.verbosity,
        config_file: request.loaded.file.as_ref().map(|path| path.to_string_lossy().into_owned()),
        model: config.agent.model.clone(),
        agent_source: "default".into(),
        token_env: None,
    });

    run.stage("fetch");
    let raw = thin_diff(request).await?;
    let fingerprint = fingerprint(&raw);
    run.note(|progress| progress.fingerprint = Some(fingerprint.clone()));
    Ok(())
}

/// Ends every child that still runs; called when the run ends early.
pub fn stop_children() {}

/// The digest of the reviewed diff.
fn fingerprint(raw: &[u8]) -> Fingerprint {
    Fingerprint { algo: "sha256".into(), value: hex(&Sha256::digest(raw)) }
}

async fn thin_diff(request: &Request) -> Result<Vec<u8>> {
    let output = tokio::process::Command::new("git")
        .args(["diff", "HEAD"])
        .current_dir(&request.current)
        .output()
        .await
        .map_err(|error| Error::DiffFetch(Failure::new("could not run git").caused_by(&error)))?;
    Ok(output.stdout)
}
