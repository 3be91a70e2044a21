//! The agent's eyes in a run: what there is to read is listed once, and each question to an agent gets a server of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Change, Request};
use crate::config::repository_top;
use crate::context::{self, Budget, Pass, Recorder, Serving, Tree, TreeError};
use crate::contracts::{AgentConfig, AgentKind, AppConfig, ContextTools};
use crate::diff::git::Git;
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::Part;

/// Programs that start others where neither diffsan nor its socket can be seen.
const ELSEWHERE: &[&str] =
    &["docker", "podman", "nerdctl", "ssh", "kubectl", "flatpak", "lxc", "incus", "toolbox", "distrobox", "vagrant"];

/// What agents can read beyond the change.
pub(super) struct Sight {
    tree: Arc<Tree>,
    budget: Budget,
}

/// What the agents of this run can read; none where none of them gets tools. Where one could have had some, the run says
/// why not.
pub(super) async fn open(run: &Run, request: &Request, first: AgentKind, change: &Change) -> Option<Sight> {
    let config = &request.loaded.config;
    let budget = Budget::new(config.context.max_calls, config.context.max_bytes)?;
    let able = |kind: &AgentKind| can_be_sealed(*kind);
    let kind = std::iter::once(first).chain(config.review.second_agent).find(able)?;
    if config.context.tools == ContextTools::Off {
        return None;
    }
    match tree(run, request, kind, change).await {
        Ok(tree) => Some(Sight { tree: Arc::new(tree), budget }),
        Err(why) => {
            run.events.emit(Event::Warning { message: blind(kind, &why) });
            None
        }
    }
}

/// The reading tools that an agent of this kind is offered where there is a tree to read.
pub(crate) fn offered(config: &AppConfig, kind: AgentKind) -> &'static [&'static str] {
    let on = config.context.tools != ContextTools::Off
        && Budget::new(config.context.max_calls, config.context.max_bytes).is_some()
        && can_be_sealed(kind)
        && elsewhere(&config.agent, kind).is_none();
    if on { context::TOOLS } else { &[] }
}

impl Sight {
    /// Whether an agent of this kind gets the tools.
    pub(super) fn is_for(&self, request: &Request, kind: AgentKind) -> bool {
        can_be_sealed(kind) && elsewhere(&request.loaded.config.agent, kind).is_none()
    }

    /// A server for one question, with a whole budget; it ends when it is dropped.
    pub(super) fn serve(&self, run: &Run, request: &Request, kind: AgentKind, part: Part) -> Option<Serving> {
        if !self.is_for(request, kind) {
            return None;
        }
        let console = run.console.clone();
        let recorder = Recorder::new(&run.workdir, Arc::clone(&run.engine), move |text| console.activity(text));
        let served = recorder.map_err(|error| error.to_string()).and_then(|recorder| {
            let program = std::env::current_exe().map_err(|error| error.to_string())?;
            let (tree, budget) = (Arc::clone(&self.tree), self.budget.clone());
            let served = context::serve(tree, budget, pass(part), Arc::new(recorder), program, &places(request));
            served.map_err(|error| error.to_string())
        });
        served.inspect_err(|why| run.events.emit(Event::Warning { message: blind(kind, why) })).ok()
    }

    /// Whether a file of the tree has that line.
    pub(super) fn has_line(&self, path: &str, line: u32) -> bool {
        context::has_line(&self.tree, path, line)
    }
}

fn pass(part: Part) -> Pass {
    match part {
        Part::Only => Pass::Number(1),
        Part::Pass(number) => Pass::Number(number),
        Part::Look | Part::LookAgain => Pass::Look,
    }
}

/// Ends a server, and adds what it handed out to the record of the run.
pub(super) fn close(run: &Run, serving: Option<Serving>) {
    let Some(read) = serving.map(|serving| serving.summary()) else { return };
    run.note(|progress| {
        let totals = progress.context.get_or_insert_default();
        totals.calls += read.calls;
        totals.refused += read.refused;
        totals.files += read.files.len() as u64;
        totals.bytes += read.bytes;
        totals.redactions += read.redactions;
    });
}

/// Whether the program can be kept from having any other tool.
fn can_be_sealed(kind: AgentKind) -> bool {
    match kind {
        AgentKind::Codex | AgentKind::Claude | AgentKind::Gemini | AgentKind::Opencode => true,
        AgentKind::Cursor | AgentKind::Command | AgentKind::Builtin => false,
    }
}

fn blind(kind: AgentKind, why: &str) -> String {
    format!("{} reviews without reading tools: {why}", kind.name())
}

/// The tree of the reviewed commit, else the tracked files as they are; or why there is neither.
async fn tree(run: &Run, request: &Request, kind: AgentKind, change: &Change) -> Result<Tree, String> {
    if let Some(program) = elsewhere(&request.loaded.config.agent, kind) {
        return Err(format!("`{program}` starts it where diffsan cannot be reached"));
    }
    match change.source.kind.as_str() {
        "git-diff" => {}
        "diff-file" => return Err("a diff from a file comes without the code around it".into()),
        _ => return Err("the change comes from GitLab's API, and git has no objects of it".into()),
    }
    let plain = Git::new(&request.current, &request.env);
    let head = change.source.reference.head_sha.as_deref();
    let engine = || Arc::clone(&run.engine);
    let ci = request.loaded.config.mode.ci;
    // A CI job may run as another user than the one that cloned for it.
    let git = match repository_top(&request.current).filter(|_| ci) {
        Some(top) => plain.trusting(&top),
        None => plain,
    };
    let listed = list(&git, head, engine()).await;
    let listed = match listed {
        Err(TreeError::Git(error)) if ci && error.is_dubious_ownership() => match git.trusting_by_file() {
            Ok(git) => list(&git, head, engine()).await,
            Err(_) => Err(TreeError::Git(error)),
        },
        other => other,
    };
    listed.map_err(|error| crate::error::chain(&error))
}

async fn list(git: &Git, head: Option<&str>, engine: Arc<crate::redact::Engine>) -> Result<Tree, TreeError> {
    match head {
        Some(head) => Tree::of_commit(git, head, engine).await,
        None => Tree::of_working_tree(git, engine).await,
    }
}

/// The program of a custom command that starts the agent somewhere else.
fn elsewhere(config: &AgentConfig, kind: AgentKind) -> Option<&'static str> {
    let command = match kind {
        AgentKind::Codex => config.codex_command.as_deref(),
        AgentKind::Claude => config.claude_command.as_deref(),
        AgentKind::Gemini => config.gemini_command.as_deref(),
        AgentKind::Opencode => config.opencode_command.as_deref(),
        AgentKind::Cursor | AgentKind::Command | AgentKind::Builtin => None,
    }?;
    let words = shlex::split(command)?;
    let names: Vec<&str> = words.iter().filter_map(|word| Path::new(word).file_name()?.to_str()).collect();
    // `sudo docker run ...` too, but not an image or a folder of that name.
    ELSEWHERE.iter().copied().find(|known| names.iter().take(2).any(|name| name == known))
}

/// Folders for the socket: outside the checkout, which the branch fills.
fn places(request: &Request) -> Vec<PathBuf> {
    let checkout = repository_top(&request.current).and_then(|top| top.canonicalize().ok());
    let temporary = request.env.get("TMPDIR").map(PathBuf::from);
    temporary
        .into_iter()
        .chain(["/tmp", "/var/tmp"].map(PathBuf::from))
        .filter_map(|place| place.canonicalize().ok())
        .filter(|place| checkout.as_ref().is_none_or(|top| !place.starts_with(top)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_starts_the_agent_elsewhere_is_seen() {
        let config = |command: &str| AgentConfig { codex_command: Some(command.into()), ..AgentConfig::default() };
        for (command, want) in [
            ("codex exec", None),
            ("npx @openai/codex@0.166.0 exec", None),
            ("/opt/tools/docker/codex exec", None),
            ("docker run -i image codex exec", Some("docker")),
            ("sudo /usr/bin/podman run image codex", Some("podman")),
            ("ssh host codex exec", Some("ssh")),
            ("codex exec --image docker", None),
            ("'open", None),
        ] {
            assert_eq!(elsewhere(&config(command), AgentKind::Codex), want, "{command}");
            assert_eq!(elsewhere(&config(command), AgentKind::Claude), None);
        }
    }
}
