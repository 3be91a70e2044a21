//! `diffsan doctor`: looks at everything a run needs and changes nothing.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::{self, Login};
use crate::cli::ReviewArgs;
use crate::commands::Place;
use crate::config::{self, Loaded};
use crate::contracts::{AgentKind, DiffBundle};
use crate::diff::git::Git;
use crate::error::{Error, Failure};
use crate::gitlab::Client;
use crate::pipeline::{self, Request};
use crate::policy;
use crate::redact::Engine;
use crate::run::console::Console;
use crate::run::record::{Opening, Run};
use crate::run::workdir::{Artifact, Forbidden, Workdir};
use crate::view::doctor::{Row, State};

/// What was found, and the exit code that says it.
#[derive(Debug)]
pub struct Examined {
    pub rows: Vec<Row>,
    pub exit_code: u8,
}

/// Every check, in the order of a run: the run's own stages up to the prompt, in a folder that is thrown away.
pub async fn examine(args: &ReviewArgs, place: &Place) -> Examined {
    let mut found = Found { rows: Vec::new(), exit_code: 0, place };
    let events = crate::commands::silent(place);
    let start = policy::Start { args, env: &place.env, current: &place.current, events: &events };
    let loaded = match policy::load(start).await {
        Ok(loaded) => loaded,
        Err(error) => return found.failed("config", &error).done(),
    };
    found.rows.push(Row::ok("config", loaded.policy.file().unwrap_or("no file, defaults only")));
    let warnings = loaded.warnings.iter().map(|warning| Row::warn("config", warning, "rename or unset the variable"));
    found.rows.extend(warnings);
    found.rows.extend(loaded.policy.commit().map(|commit| {
        let id = commit.id.get(..12).unwrap_or(&commit.id);
        Row::ok("policy", format!("{id} of {} (by {})", commit.branch, commit.via()))
    }));
    let engine = match loaded.engine(&place.env) {
        Ok(engine) => Arc::new(engine),
        Err(error) => return found.failed("secrets", &error).done(),
    };
    found.workdir(&loaded);
    found.rows.push(clock());
    found.rows.push(git_version(args, place).await);
    let request = Request {
        args: args.clone(),
        loaded,
        env: place.env.clone(),
        current: place.current.clone(),
        rehearsal: true,
        shard: None,
    };
    let rehearsed = found.rehearse(&request, engine).await;
    if !args.dry_run && !rehearsed.is_baseline {
        found.agent(&request.loaded, rehearsed.is_due).await;
    }
    found.rows.extend(gitlab(&request, place, found.exit_code != 0).await);
    found.done()
}

/// What a rehearsal showed.
struct Rehearsed {
    /// An agent would be asked.
    is_due: bool,
    /// Only the baseline of the default branch would be written.
    is_baseline: bool,
}

struct Found<'a> {
    rows: Vec<Row>,
    exit_code: u8,
    place: &'a Place,
}

impl Found<'_> {
    fn done(self) -> Examined {
        Examined { rows: self.rows, exit_code: self.exit_code }
    }

    fn failed(mut self, check: &'static str, error: &Error) -> Self {
        self.fail(check, error);
        self
    }

    fn fail(&mut self, check: &'static str, error: &Error) {
        self.rows.push(failed(check, error, self.place));
        self.exit_code = if self.exit_code == 0 { error.exit_code() } else { self.exit_code };
    }

    fn workdir(&mut self, loaded: &Loaded) {
        let path = PathBuf::from(&loaded.config.workdir);
        let forbidden = Forbidden {
            current: self.place.current.clone(),
            repository: config::repository_top(&self.place.current),
            home: self.place.env.home(),
        };
        match Workdir::probe(&path, &forbidden, Arc::clone(&self.place.engine)) {
            Ok(()) => self.rows.push(Row::ok("workdir", format!("{} can be written to", path.display()))),
            Err(unusable) => {
                let fix = "point --workdir at a folder of diffsan's own";
                self.rows.push(Row::fail("workdir", unusable.to_string(), fix));
                self.exit_code = 2;
            }
        }
    }

    /// The stages of a run up to the prompt.
    async fn rehearse(&mut self, request: &Request, engine: Arc<Engine>) -> Rehearsed {
        let nothing = Rehearsed { is_due: false, is_baseline: false };
        let opened = tempfile::tempdir()
            .map_err(|error| Error::ArtifactWrite(Failure::new("could not make a temporary folder").caused_by(&error)));
        let opened = opened.and_then(|folder| {
            let opening = Opening {
                workdir: folder.path().to_owned(),
                current: &request.current,
                env: &request.env,
                engine,
                console: Console::silent(),
                command: "doctor",
                ci: request.loaded.config.mode.ci,
                resume: false,
                args: Vec::new(),
            };
            Run::open(opening).map(|(run, _)| (run, folder))
        });
        let (run, _folder) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.fail("run", &error);
                return nothing;
            }
        };
        let result = pipeline::review(&run, request).await;
        let progress = run.progress();
        for problem in &progress.diagnostics {
            let fix = problem.help.clone().unwrap_or_else(|| "the run goes on without it".into());
            self.rows.push(Row::warn("warning", problem.message.clone(), fix));
        }
        if let Err(error) = &result {
            self.fail(check_name(progress.stage), error);
            return nothing;
        }
        let is_baseline = progress.fingerprint.is_none();
        let reasons: Vec<_> = progress.skip_reasons.iter().map(|reason| reason.message.as_str()).collect();
        let change = fetched(&run).unwrap_or_else(|| "none is needed".into());
        self.rows.push(Row::ok("change", change));
        if !reasons.is_empty() {
            let fix = "nothing: no review is due; `diffsan explain` has the skip codes";
            self.rows.push(Row::warn("skip", format!("a run would be skipped: {}", reasons.join("; ")), fix));
        }
        Rehearsed { is_due: reasons.is_empty(), is_baseline }
    }

    /// The program that reviews. A run that is skipped does not ask it.
    async fn agent(&mut self, loaded: &Loaded, is_due: bool) {
        for (mut row, code) in agents(loaded, self.place).await {
            if !is_due && row.state == State::Fail {
                row.state = State::Warn;
            }
            if is_due && self.exit_code == 0 {
                self.exit_code = code;
            }
            self.rows.push(row);
        }
    }
}

/// What a stage checks, in a word.
fn check_name(stage: Option<&'static str>) -> &'static str {
    match stage {
        Some("fetch" | "redact") => "change",
        Some("prepare") => "limits",
        Some("prompt") => "prompt",
        Some("skip" | "prior") => "earlier reviews",
        _ => "gitlab",
    }
}

/// The change that was had, from the run's own record of it.
fn fetched(run: &Run) -> Option<String> {
    let bundle: DiffBundle = run.workdir.read_json(Artifact::Diff).ok()??;
    let short = |id: &Option<String>| id.as_deref().map(|id| id.get(..12).unwrap_or(id).to_owned());
    let reference = &bundle.source.reference;
    let base = reference.target_branch.clone().or_else(|| short(&reference.base_sha));
    let head = reference.source_branch.clone().or_else(|| short(&reference.head_sha));
    let ends = base.zip(head).map(|(base, head)| format!(", {base} to {head}")).unwrap_or_default();
    let count = bundle.files.len();
    Some(format!("{count} file{} by {}{ends}", if count == 1 { "" } else { "s" }, bundle.source.kind))
}

/// TLS and job deadlines need a clock that is not years off.
fn clock() -> Row {
    let now = crate::run::clock::now();
    match now.year() {
        2026..=2100 => Row::ok("clock", crate::run::clock::text(now)),
        _ => Row::warn("clock", crate::run::clock::text(now), "set the clock; certificates and deadlines depend on it"),
    }
}

async fn git_version(args: &ReviewArgs, place: &Place) -> Row {
    if args.diff_file.is_some() {
        return Row::skip("git", "--diff-file needs no repository");
    }
    match Git::new(&place.current, &place.env).version().await {
        Ok(version) => Row::ok("git", version),
        Err(error) => Row::warn("git", error.to_string(), "install git 2.31 or newer"),
    }
}

fn kind(loaded: &Loaded, place: &Place) -> AgentKind {
    let config = &loaded.config;
    let path = place.env.get("PATH").map(AsRef::as_ref);
    config.agent.agent.unwrap_or_else(|| agent::infer(&config.agent, config.mode.ci, path).0)
}

/// The program that reviews, the one that takes the second look, and which others are installed.
async fn agents(loaded: &Loaded, place: &Place) -> Vec<(Row, u8)> {
    let first = kind(loaded, place);
    let mut rows = agent(first, loaded, place).await;
    let second = loaded.config.review.second_agent.filter(|second| *second != first);
    if let Some(second) = second {
        // A second look that fails costs its verdicts and not the run.
        rows.extend(agent(second, loaded, place).await.into_iter().map(|(mut row, _)| {
            row.state = if row.state == State::Fail { State::Warn } else { row.state };
            (row, 0)
        }));
    }
    for known in agent::AGENTS.iter().filter(|known| known.kind != first && Some(known.kind) != second) {
        let other = agent(known.kind, loaded, place).await;
        if other.first().is_some_and(|(row, _)| row.state == State::Ok) {
            let details: Vec<String> = other.into_iter().map(|(row, _)| row.detail).collect();
            rows.push((Row::skip("other agent", details.join("; ")), 0));
        }
    }
    rows
}

/// One agent, as the run would start it: each row with the exit code that a run would end with.
async fn agent(kind: AgentKind, loaded: &Loaded, place: &Place) -> Vec<(Row, u8)> {
    let Some(known) = agent::by_kind(kind) else {
        return vec![(Row::ok("agent", "builtin: offline checks, no program needed"), 0)];
    };
    let config = &loaded.config;
    let facts = agent::facts(known, config, &place.env, &place.current, pipeline::offered(config, kind)).await;
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => return vec![(failed("agent", &error, place), error.exit_code())],
    };
    let mut rows = Vec::new();
    rows.push(match (&facts.program, &facts.start) {
        (Err(error), _) | (_, Err(error)) => (failed("agent", error, place), error.exit_code()),
        (Ok(program), Ok(())) => {
            let version = facts.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
            let tested = facts.tested.map(|tested| format!(" (tested: {} to {})", tested.oldest, tested.newest));
            let tested = tested.unwrap_or_default();
            (Row::ok("agent", format!("{}{version}{tested}: {}", kind.name(), program.display())), 0)
        }
    });
    if let Some(warning) = agent::warning(known, facts.version.as_deref()) {
        rows.push((Row::warn("agent version", warning, "use a version that was tested, or a newer diffsan"), 0));
    }
    if facts.program.is_ok() {
        rows.extend(login(known, &facts.login, loaded));
        rows.push((tools(facts.tools.as_deref()), 0));
    }
    rows
}

/// How the program would be logged in. One that is started by a command of one's own, or is given variables or a proxy,
/// may need no key that diffsan knows of.
fn login(known: &agent::Agent, login: &Login, loaded: &Loaded) -> Option<(Row, u8)> {
    if known.keys.is_empty() {
        return None;
    }
    let config = &loaded.config;
    let is_usual =
        config.agent.proxy_url.is_none() && config.agent.pass_env.is_empty() && !known.is_custom(&config.agent);
    let set = format!("set {}", known.keys_for(&config.agent).join(" or "));
    Some(match login {
        Login::Key(_) | Login::File(_) => (Row::ok("agent login", login.to_string()), 0),
        Login::Expired(_) | Login::None if config.mode.ci && is_usual => {
            let fix = format!(
                "{set} as a masked CI/CD variable; a protected one is empty in ordinary merge request pipelines"
            );
            (Row::fail("agent login", login.to_string(), fix), 1)
        }
        Login::Expired(_) | Login::None => {
            let fix = format!("{set}, or log the program in; nothing where its model needs no key");
            (Row::warn("agent login", login.to_string(), fix), 0)
        }
    })
}

/// What the program's model could do.
fn tools(tools: Option<&[String]>) -> Row {
    match tools {
        Some([]) => Row::ok("agent tools", "none"),
        Some(tools) => Row::ok("agent tools", tools.join(", ")),
        None => Row::skip("agent tools", "diffsan gives it none; what the program brings is not known"),
    }
}

/// What the token is and may do. Whether that is enough, the rehearsal has shown.
async fn gitlab(request: &Request, place: &Place, is_bad: bool) -> Vec<Row> {
    let config = &request.loaded.config;
    if !config.mode.ci || !config.gitlab.enabled {
        return vec![Row::skip("gitlab", "this run does not talk to GitLab")];
    }
    let Ok(client) =
        pipeline::client_config(request).and_then(|config| Client::new(config, crate::commands::silent(place)))
    else {
        return Vec::new();
    };
    let told = |check: &'static str, error: &Error| {
        let row = failed(check, error, place);
        if is_bad { row } else { Row { state: State::Warn, ..row } }
    };
    let (token, user, merge_request) = tokio::join!(client.token_info(), client.current_user(), client.merge_request());
    let mut rows = Vec::new();
    rows.push(match token {
        Ok(info) => {
            let expires = info.expires_at.map(|date| format!(", expires {date}")).unwrap_or_default();
            Row::ok("token", format!("{}, scopes {}{expires}", info.name, info.scopes.join(" ")))
        }
        Err(error) if is_bad => told("token", &error),
        Err(_) => Row::warn("token", "its scopes cannot be read", "nothing if posting works"),
    });
    match user {
        Ok(user) => {
            let level = client.access_level(user.id).await.ok();
            rows.push(Row::ok("token user", user.username));
            rows.push(role(level));
        }
        Err(error) => rows.push(told("token user", &error)),
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
        Err(error) => told("merge request", &error),
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
