//! `diffsan doctor`: looks at everything a run needs and changes nothing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::agent::{self, process};
use crate::cli::ReviewArgs;
use crate::commands::Place;
use crate::config::{self, Loaded};
use crate::contracts::AgentKind;
use crate::diff::git::Git;
use crate::error::Error;
use crate::gitlab::Client;
use crate::pipeline::{self, Request};
use crate::policy;
use crate::run::workdir::{Forbidden, Workdir};
use crate::view::doctor::Row;

/// Every check, in the order of a run.
pub async fn examine(args: &ReviewArgs, place: &Place) -> Vec<Row> {
    let events = crate::commands::silent(place);
    let start = policy::Start { args, env: &place.env, current: &place.current, events: &events };
    let loaded = match policy::load(start).await {
        Ok(loaded) => loaded,
        Err(error) => return vec![failed("config", &error, place)],
    };
    let file = loaded.policy.file().unwrap_or("no file, defaults only").to_owned();
    let mut rows = vec![Row::ok("config", file)];
    rows.extend(loaded.warnings.iter().map(|warning| Row::warn("config", warning, "rename or unset the variable")));
    rows.extend(loaded.policy.commit().map(|commit| {
        Row::ok(
            "policy",
            format!("{} of {} (by {})", commit.id.get(..12).unwrap_or(&commit.id), commit.branch, commit.via()),
        )
    }));
    rows.push(workdir(&loaded, place));
    rows.push(clock());
    rows.extend(git(args, &loaded, place).await);
    rows.push(agent(&loaded, place).await);
    rows.extend(agent_key(&loaded, place));
    let request = Request { args: args.clone(), loaded, env: place.env.clone(), current: place.current.clone() };
    rows.extend(gitlab(&request, place).await);
    rows
}

fn workdir(loaded: &Loaded, place: &Place) -> Row {
    let path = PathBuf::from(&loaded.config.workdir);
    let forbidden = Forbidden {
        current: place.current.clone(),
        repository: config::repository_top(&place.current),
        home: place.env.home(),
    };
    match Workdir::probe(&path, &forbidden, Arc::clone(&place.engine)) {
        Ok(()) => Row::ok("workdir", format!("{} can be written to", path.display())),
        Err(unusable) => Row::fail("workdir", unusable.to_string(), "point --workdir at a folder of diffsan's own"),
    }
}

/// TLS and job deadlines need a clock that is not years off.
fn clock() -> Row {
    let now = crate::run::clock::now();
    match now.year() {
        2026..=2100 => Row::ok("clock", crate::run::clock::text(now)),
        _ => Row::fail("clock", crate::run::clock::text(now), "set the clock; certificates and deadlines depend on it"),
    }
}

async fn git(args: &ReviewArgs, loaded: &Loaded, place: &Place) -> Vec<Row> {
    if args.diff_file.is_some() {
        return vec![Row::skip("git", "--diff-file needs no repository")];
    }
    let git = Git::new(&place.current, &place.env);
    let version = match git.version().await {
        Ok(version) => version,
        Err(error) => return vec![Row::fail("git", error.to_string(), "install git 2.31 or newer")],
    };
    let mut rows = vec![Row::ok("git", version)];
    match git.line(&["rev-parse", "--is-shallow-repository"]).await {
        Ok(answer) if answer == "true" => {
            rows.push(Row::warn("repository", "a shallow clone", "nothing: missing commits are fetched by their id"));
        }
        Ok(_) => rows.push(Row::ok("repository", "a full clone")),
        Err(error) => {
            let fix = "start diffsan inside the repository; in CI, GIT_STRATEGY must not be none";
            rows.push(Row::fail("repository", error.to_string(), fix));
            return rows;
        }
    }
    if loaded.config.mode.ci {
        rows.extend(commits(&git, loaded).await);
    } else {
        rows.push(base(&git, loaded).await);
    }
    rows
}

async fn commits(git: &Git, loaded: &Loaded) -> Vec<Row> {
    let ci = &loaded.ci;
    let head = ci.source_branch_sha.as_deref().or(ci.commit_sha.as_deref());
    let mut rows = Vec::new();
    for (check, commit, variable) in [
        ("head commit", head, "CI_COMMIT_SHA"),
        ("base commit", ci.diff_base_sha.as_deref(), "CI_MERGE_REQUEST_DIFF_BASE_SHA"),
    ] {
        rows.push(match commit {
            None => Row::fail(check, format!("{variable} is not set"), "run diffsan in a merge request pipeline"),
            Some(commit) => {
                let object = format!("{commit}^{{commit}}");
                match git.run(&["cat-file", "-e", &object]).await {
                    Ok(_) => Row::ok(check, commit),
                    Err(_) => Row::warn(check, format!("{commit} is not here"), "nothing: it is fetched when needed"),
                }
            }
        });
    }
    rows
}

async fn base(git: &Git, loaded: &Loaded) -> Row {
    let names = match &loaded.config.mode.base {
        Some(base) => vec![base.clone()],
        None => ["origin/HEAD", "main", "master"].map(str::to_owned).to_vec(),
    };
    for name in &names {
        let object = format!("{name}^{{commit}}");
        if let Ok(commit) = git.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &object]).await {
            return Row::ok("base", format!("{name} ({})", commit.get(..12).unwrap_or(&commit)));
        }
    }
    Row::fail(
        "base",
        format!("none of {} exists", names.join(", ")),
        "name one with --base, or use --staged or --unstaged",
    )
}

fn kind(loaded: &Loaded, place: &Place) -> AgentKind {
    let config = &loaded.config;
    let path = place.env.get("PATH").map(AsRef::as_ref);
    config.agent.agent.unwrap_or_else(|| agent::infer(&config.agent, config.mode.ci, path).0)
}

async fn agent(loaded: &Loaded, place: &Place) -> Row {
    let kind = kind(loaded, place);
    let Some(known) = agent::by_kind(kind) else {
        return Row::ok("agent", "builtin: offline checks, no program needed");
    };
    let path = place.env.get("PATH").map(AsRef::as_ref);
    match agent::locate(known, &loaded.config.agent, path, &place.current) {
        Ok(program) => {
            let version = version(&program, place).await.map(|version| format!(" ({version})")).unwrap_or_default();
            Row::ok("agent", format!("{}: {}{version}", kind.name(), program.display()))
        }
        Err(error) => failed("agent", &error, place),
    }
}

/// What the program says of its version; programs that know no such flag say nothing.
async fn version(program: &Path, place: &Place) -> Option<String> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let folder = tempfile::tempdir().ok()?;
    let wanted = |name: &OsStr| name == "PATH" || name == "HOME";
    let env: Vec<_> =
        place.env.pairs().filter(|(name, _)| wanted(name)).map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    let spec = process::Spec {
        program,
        args: &["--version".into()],
        env: &env,
        cwd: folder.path(),
        stdin: b"",
        wall: PATIENCE,
        idle: None,
        job: None,
        max_output: 4096,
        done: None,
        linger: Duration::ZERO,
    };
    let finished = process::run(&spec, &|_| {}).await.ok().filter(|finished| finished.exit_code == Some(0))?;
    let line = String::from_utf8_lossy(&finished.stdout).lines().next()?.trim().to_owned();
    (!line.is_empty()).then(|| crate::error::clip(&line, 80))
}

fn agent_key(loaded: &Loaded, place: &Place) -> Option<Row> {
    let known = agent::by_kind(kind(loaded, place))?;
    if known.keys.is_empty() {
        return None;
    }
    Some(match known.keys.iter().find(|name| place.env.get(name).is_some()) {
        Some(name) => Row::ok("agent key", format!("{name} is set")),
        None if loaded.config.mode.ci => Row::fail(
            "agent key",
            format!("none of {} is set", known.keys.join(", ")),
            "add it as a masked CI/CD variable; a protected one is empty in ordinary merge request pipelines",
        ),
        None => Row::warn(
            "agent key",
            format!("none of {} is set", known.keys.join(", ")),
            "nothing if the program is logged in on this machine",
        ),
    })
}

async fn gitlab(request: &Request, place: &Place) -> Vec<Row> {
    let config = &request.loaded.config;
    if !config.mode.ci || !config.gitlab.enabled {
        return vec![Row::skip("gitlab", "this run does not talk to GitLab")];
    }
    let client =
        match pipeline::client_config(request).and_then(|config| Client::new(config, crate::commands::silent(place))) {
            Ok(client) => client,
            Err(error) => return vec![failed("gitlab", &error, place)],
        };
    let (usable, token, user, merge_request) =
        tokio::join!(client.check_token(), client.token_info(), client.current_user(), client.merge_request());
    let mut rows = Vec::new();
    rows.push(match (usable, token) {
        (Err(error), _) => failed("token", &error, place),
        (Ok(()), Ok(info)) => {
            let expires = info.expires_at.map(|date| format!(", expires {date}")).unwrap_or_default();
            Row::ok("token", format!("{}, scopes {}{expires}", info.name, info.scopes.join(" ")))
        }
        (Ok(()), Err(_)) => Row::warn("token", "its scopes cannot be read", "nothing if posting works"),
    });
    match user {
        Ok(user) => {
            let level = client.access_level(user.id).await.ok();
            rows.push(Row::ok("token user", user.username));
            rows.push(role(level));
        }
        Err(error) => rows.push(failed("token user", &error, place)),
    }
    rows.push(match merge_request {
        Ok(merge_request) if merge_request.state == "opened" => {
            Row::ok("merge request", format!("!{} {}", merge_request.iid, merge_request.web_url))
        }
        Ok(merge_request) => Row::warn(
            "merge request",
            format!("!{} is {}", merge_request.iid, merge_request.state),
            "a review is still posted, but nobody may read it",
        ),
        Err(error) => failed("merge request", &error, place),
    });
    rows
}

fn role(level: Option<u32>) -> Row {
    match level {
        Some(50) => Row::ok("token role", "Owner"),
        Some(40) => Row::ok("token role", "Maintainer"),
        Some(30) => Row::ok("token role", "Developer"),
        Some(20) => Row::ok("token role", "Reporter"),
        Some(level) if level > 20 => Row::ok("token role", format!("access level {level}")),
        Some(level) => Row::warn(
            "token role",
            format!("access level {level} is below Reporter"),
            "give the token at least the Reporter role; a private project hides merge requests from lower ones",
        ),
        None => Row::warn("token role", "it cannot be read", "nothing if the merge request can be read"),
    }
}

fn failed(check: &'static str, error: &Error, place: &Place) -> Row {
    let info = error.info(&place.engine);
    let detail = match &info.cause {
        Some(cause) => format!("{} ({})", info.message, crate::error::clip(cause, 200).replace('\n', " ")),
        None => info.message,
    };
    Row::fail(check, detail, info.help.unwrap_or_else(|| "see the message".into()))
}
