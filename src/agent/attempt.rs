//! One start of an agent: its command line, its environment, its end, and whether what it left holds.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::argv::Argv;
use super::ask::{Eyes, Question, Request, exhausted};
use super::login::{self, Login, Own};
use super::probe;
use super::process::{self, Deadline, Finished, Spec};
use super::reason::{self, Reason};
use super::record::{Recorder, Used};
use super::room::{self, Room};
use super::{Agent, Left, Reading, Start, Trouble};
use crate::config::Environment;
use crate::contracts::{AgentConfig, AppConfig};
use crate::error::{Error, Failure, Result, clip};
use crate::redact::{Engine, Output, Redacted};
use crate::run::events::Event;
use crate::validate::{self, Form, ParseProblems, Parsed, Reply, Shown};

/// Most bytes a program may write to one of its outputs.
const MAX_OUTPUT: usize = 8 * 1024 * 1024;
/// Time a program may take to exit after its result is complete.
const LINGER: Duration = Duration::from_secs(3);
/// Likewise for one that may still add to it.
const LINGER_OF_ANY: Duration = Duration::from_secs(5);
/// Most characters of a program's words in an error.
const MAX_SAID: usize = 1_500;
/// Most characters of its last line in a message.
const MAX_LINE: usize = 300;

/// Starts the agent once. The inner error is an answer that does not hold and may be asked for again.
pub(super) async fn ask<T: Reply>(
    request: &Request<'_>,
    question: &Question<'_, T>,
    recorder: &mut Recorder<'_>,
    number: u32,
    prompt: &Redacted,
    job_ends: Option<Instant>,
) -> Result<Result<T, ParseProblems>> {
    let agent = request.agent;
    let schema = question.form.strict_schema();
    let launch = Launch::new(&request.setting(), schema).await?;
    if number == 1 {
        recorder.version(launch.version.as_deref());
    }
    recorder.started(schema, &launch.words, launch.env.iter().map(|(name, _)| name.as_os_str()))?;
    let finished = run(request, question, &launch, prompt, job_ends).await?;
    let file = match agent.answer_file {
        Some(name) => launch.room.read(name, MAX_OUTPUT).map_err(|error| no_room(agent, &error))?,
        None => None,
    };
    recorder.outputs(number, &finished, file.as_deref())?;
    let reading = read(agent, &finished, file.as_deref());
    let (requests, enveloped) = (reading.requests.clone(), reading.enveloped);
    let usage = reading.usage.clone();
    request.purse.spend(usage.cost_usd);
    let judged = judge(request, question, &launch.login, &finished, reading);
    recorder.finished(number, &finished, Used { usage, requests }, enveloped, &judged)?;
    match judged {
        Ok(parsed) => Ok(Ok(parsed.output)),
        Err(Ended::Invalid(problems)) => Ok(Err(problems)),
        Err(Ended::Refused(problems)) => Err(exhausted(agent, number, &problems)),
        Err(Ended::Failed(failure)) => Err(Error::AgentExec(failure.with("attempts", number))),
    }
}

/// How an attempt ended when there is no review.
#[derive(Debug)]
pub(super) enum Ended {
    Failed(Box<Failure>),
    Invalid(ParseProblems),
    Refused(ParseProblems),
}

/// The command of the configuration, else the agent's own program.
pub(super) fn command_line(agent: &Agent, config: &AgentConfig, path: Option<&OsStr>, start: &Path) -> Result<Argv> {
    if let Some(command) = (agent.custom)(config) {
        return Argv::split(command, agent.programs).ok_or_else(|| {
            Error::Config(
                Failure::new(format!("the command of agent `{}` cannot be split into words: {command}", agent.name()))
                    .help("quote it as for a shell"),
            )
        });
    }
    let installed = agent.programs.iter().find(|name| room::find_program(name, path, start).is_some());
    installed.or(agent.programs.first()).map(|name| Argv::new(name)).ok_or_else(|| {
        Error::Config(Failure::new(format!("agent `{}` has no command", agent.name())).help(agent.install))
    })
}

/// The file behind the first word of a command line.
pub(super) fn locate(agent: &Agent, argv: &Argv, path: Option<&OsStr>, start: &Path) -> Result<PathBuf> {
    let name = argv.words().first().map(String::as_str).unwrap_or_default();
    room::find_program(name, path, start).ok_or_else(|| {
        let place = if name.contains('/') { "is no program" } else { "is not on PATH" };
        Error::AgentExec(
            Failure::new(format!("agent `{}` cannot start: `{name}` {place}", agent.name()))
                .help(agent.install)
                .with("agent", agent.name())
                .with("program", name),
        )
    })
}

/// A start that is ready to go.
struct Launch {
    room: Room,
    program: PathBuf,
    /// The command line as it was put together.
    words: Vec<String>,
    env: Vec<(OsString, OsString)>,
    login: Login,
    version: Option<String>,
}

/// What a start is put together from.
pub(super) struct Setting<'a> {
    pub(super) agent: &'static Agent,
    pub(super) config: &'a AppConfig,
    pub(super) env: &'a Environment,
    /// Folder that diffsan was started in.
    pub(super) start: &'a Path,
    pub(super) eyes: Option<&'a Eyes>,
    /// Most US dollars it may cost.
    pub(super) budget: Option<f64>,
}

impl Setting<'_> {
    /// Puts a start together and takes it apart again: says why a run could not start the agent.
    pub(super) async fn rehearse(&self, schema: &Value) -> Result<()> {
        Launch::new(self, schema).await.map(drop)
    }
}

impl Launch {
    async fn new(setting: &Setting<'_>, schema: &Value) -> Result<Self> {
        let Setting { agent, config, env, start, eyes, budget } = *setting;
        let path = env.get("PATH").map(OsStr::new);
        let argv = command_line(agent, &config.agent, path, start)?;
        let program = locate(agent, &argv, path, start)?;
        let room = Room::new(start, env.get("TMPDIR")).map_err(|error| no_room(agent, &error))?;
        let ci = config.mode.ci;
        let login = login::of(agent, config, env, &room);
        let probe = probe::look(agent, &program, &argv, env, &room).await;
        probe::check(agent, probe.version.as_deref())?;
        let mut start = Start {
            agent,
            config: &config.agent,
            env,
            room: &room,
            login,
            catalogue: probe.catalogue.as_ref(),
            schema,
            eyes,
            budget,
            argv,
            set: Vec::new(),
        };
        hand_login(&mut start, ci)?;
        (agent.prepare)(&mut start)?;
        let passed = config.agent.pass_env.iter().map(String::as_str);
        let passed = passed.filter(|name| !room::is_refused(name, &config.gitlab.token_env));
        let allowed: Vec<&str> = agent.keys.iter().chain(agent.variables).copied().chain(passed).collect();
        let mut seen = room.environment(env, &allowed);
        seen.extend(start.set.into_iter().map(|(name, value)| (name.into(), value)));
        let words = start.argv.words().to_vec();
        let login = start.login;
        Ok(Self { room, program, words, env: seen.into_iter().collect(), login, version: probe.version.clone() })
    }
}

/// Hands over what logs a program in: the user's own login, as far as it needs it, and never to a proxy.
fn hand_login(start: &mut Start<'_>, ci: bool) -> Result<()> {
    if !matches!(start.login, Login::File(_)) {
        return Ok(());
    }
    let own = Own::find(start.env, ci, |folder| start.room.is_outside(folder));
    let Some((_, handed)) = own.and_then(|own| (start.agent.login)(&own)) else { return Ok(()) };
    for (name, value) in handed.variables {
        start.set(name, value);
    }
    for (name, text) in handed.files {
        let path = format!("home/{name}");
        start.make_folder(path.rsplit_once('/').map_or("home", |(folder, _)| folder))?;
        start.write(&path, &text)?;
    }
    Ok(())
}

async fn run<T: Reply>(
    request: &Request<'_>,
    question: &Question<'_, T>,
    launch: &Launch,
    prompt: &Redacted,
    job_ends: Option<Instant>,
) -> Result<Finished> {
    let Request { agent, config, events, .. } = *request;
    let args: Vec<OsString> = launch.words.iter().skip(1).map(OsString::from).collect();
    // A program that nobody knows is done when it has printed an answer that holds.
    let done = |stdout: &[u8]| match agent.done {
        Some(done) => done(stdout),
        None => {
            stdout.trim_ascii_end().ends_with(b"}")
                && std::str::from_utf8(stdout)
                    .is_ok_and(|text| validate::read(text, question.form, &Shown::default()).is_ok())
        }
    };
    let seconds = |count: std::num::NonZeroUsize| Duration::from_secs(count.get() as u64);
    let spec = Spec {
        program: &launch.program,
        args: &args,
        env: &launch.env,
        cwd: &launch.room.work(),
        stdin: prompt.as_str().as_bytes(),
        wall: seconds(config.agent.timeout_seconds),
        idle: agent.reports_progress.then(|| seconds(config.agent.idle_seconds)),
        job: job_ends.map(|end| end.saturating_duration_since(Instant::now())),
        max_output: MAX_OUTPUT,
        done: Some(&done),
        linger: if agent.done.is_some() { LINGER } else { LINGER_OF_ANY },
    };
    let beat = |elapsed: Duration| {
        events.emit(Event::AgentHeartbeat { agent: agent.kind, elapsed_ms: super::record::millis(elapsed) });
    };
    process::run(&spec, &beat).await.map_err(|error| {
        Error::AgentExec(
            Failure::new(format!("agent `{}` cannot start: {}: {error}", agent.name(), launch.program.display()))
                .help(agent.install)
                .with("agent", agent.name()),
        )
    })
}

fn read(agent: &Agent, finished: &Finished, file: Option<&[u8]>) -> Reading {
    let stdout = String::from_utf8_lossy(&finished.stdout);
    let stderr = String::from_utf8_lossy(&finished.stderr);
    let file = file.map(String::from_utf8_lossy);
    // A program that was ended after its result has no exit code of its own.
    let exit_code = if finished.lingered { Some(0) } else { finished.exit_code };
    (agent.read)(&Left {
        exit_code,
        lingered: finished.lingered,
        stdout: &stdout,
        stderr: &stderr,
        file: file.as_deref(),
    })
}

/// Whether what a program left is an answer. What it says is redacted before it goes anywhere.
fn judge<T: Reply>(
    request: &Request<'_>,
    question: &Question<'_, T>,
    login: &Login,
    finished: &Finished,
    reading: Reading,
) -> Result<Parsed<T>, Ended> {
    let Request { agent, engine, .. } = *request;
    if let Some((how, help)) = stopped(request, finished) {
        let said = match reading.answer {
            Err(Trouble::Failed(said) | Trouble::Unusable(said) | Trouble::Refused(said)) => said,
            Ok(_) => String::new(),
        };
        let failure = failure(agent, engine, &how, &said).help(help);
        return Err(Ended::Failed(if finished.timed_out.is_some() { failure.retryable() } else { failure }));
    }
    match reading.answer {
        Ok(text) => understand(engine, question.form, &shown(request, question), &text).map_err(Ended::Invalid),
        Err(Trouble::Unusable(why)) => Err(Ended::Invalid(problem(engine, &why))),
        Err(Trouble::Refused(why)) => Err(Ended::Refused(problem(engine, &why))),
        Err(Trouble::Failed(said)) => {
            let reason = reason::find(&said);
            let (how, otherwise) = exited(finished);
            let what = reason.map_or(how, |reason| reason.what(request.config.agent.model.as_deref()));
            let failure = failure(agent, engine, &what, &said).help(advice(request, login, reason, otherwise));
            let failure = if reason.is_some_and(Reason::passes) { failure.retryable() } else { failure };
            Err(Ended::Failed(match finished.exit_code {
                Some(code) => failure.with("exit_code", code),
                None => failure,
            }))
        }
    }
}

/// What to do about a failure: as its reason says, and what is known of the login.
fn advice(request: &Request<'_>, login: &Login, reason: Option<Reason>, otherwise: &str) -> String {
    let agent = request.agent;
    let keys = agent.keys_for(&request.config.agent);
    let about_login = matches!(reason, Some(Reason::NotLoggedIn | Reason::KeyRefused) | None);
    match (login, reason) {
        (Login::Expired(_), _) if about_login => {
            format!("{login}: start `{}` once to renew it, or set {}", agent.name(), keys.join(" or "))
        }
        (Login::None, None) if !keys.is_empty() => format!("{otherwise}; {login}"),
        (_, Some(reason)) => reason.help(keys),
        (_, None) => otherwise.to_owned(),
    }
}

/// Everything the program was shown: what stands there is a quotation.
fn shown<T: Reply>(request: &Request<'_>, question: &Question<'_, T>) -> Shown {
    let read = request.eyes.iter().flat_map(|eyes| eyes.shown.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let told = [question.prompt.as_str().to_owned(), question.form.strict_schema().to_string()];
    Shown::new(told.into_iter().chain(read))
}

/// Reads an answer first and redacts its strings then: a text that is redacted whole may no longer be JSON.
fn understand<T: Reply>(
    engine: &Engine,
    form: &Form<T>,
    shown: &Shown,
    text: &str,
) -> Result<Parsed<T>, ParseProblems> {
    let clean = |text: &str| engine.redact(Output::AgentOutput, text).into_string();
    let Parsed { output, rung } =
        validate::read(text, form, shown).map_err(|problems| problems.cleaned(text, clean))?;
    let redacted = serde_json::to_value(output).map(|mut value| {
        redact_strings(&mut value, &clean);
        value
    });
    let output = redacted.and_then(serde_json::from_value).map_err(|error| {
        let errors = vec![format!("the answer has a secret where a fixed word belongs: {error}")];
        ParseProblems { errors, excerpt: String::new(), truncated: false }
    })?;
    Ok(Parsed { output, rung })
}

fn redact_strings(value: &mut Value, clean: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_strings(item, clean)),
        Value::Object(members) => members.values_mut().for_each(|member| redact_strings(member, clean)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// How diffsan or a signal ended a program before it had a result, and what to do about it.
fn stopped(request: &Request<'_>, finished: &Finished) -> Option<(String, &'static str)> {
    let config = &request.config.agent;
    if finished.flooded {
        let most = MAX_OUTPUT / (1024 * 1024);
        return Some((format!("wrote more than {most} MiB and was ended"), "see what it printed in agent.raw.txt"));
    }
    if let Some(deadline) = finished.timed_out {
        return Some(match deadline {
            Deadline::Wall => (
                format!("did not finish within {} s and was ended with its process group", config.timeout_seconds),
                "raise agent.timeout_seconds, or show it less (limits.max_diff_chars)",
            ),
            Deadline::Idle => (
                format!("was silent for {} s and was ended with its process group", config.idle_seconds),
                "its model server may hang; agent.idle_seconds is how long silence may last",
            ),
            Deadline::Job => (
                "was ended with its process group: the CI job's own time is nearly over".into(),
                "raise the job's `timeout`, or lower agent.timeout_seconds",
            ),
        });
    }
    let signal = finished.signal.filter(|_| !finished.lingered)?;
    Some((format!("was ended by signal {signal}"), "signal 9 is often the system running out of memory"))
}

/// How a program that ended by itself did.
fn exited(finished: &Finished) -> (String, &'static str) {
    match finished.exit_code {
        Some(code) if code != 0 => {
            (format!("exited with code {code}"), "what it said is in agent.stderr.txt and agent.raw.txt")
        }
        _ => ("ended without an answer".into(), "what it said is in agent.stderr.txt and agent.raw.txt"),
    }
}

fn problem(engine: &Engine, why: &str) -> ParseProblems {
    let why = clip(engine.redact(Output::AgentOutput, why).as_str(), MAX_SAID);
    ParseProblems { errors: vec![why], excerpt: String::new(), truncated: false }
}

/// What happened with the program's last line in one sentence, and all it said as the cause.
fn failure(agent: &Agent, engine: &Engine, how: &str, said: &str) -> Box<Failure> {
    let said = engine.redact(Output::AgentOutput, said);
    let said = said.as_str().trim();
    let what = format!("agent `{}` {how}", agent.name());
    match said.lines().last() {
        None => Failure::new(what),
        Some(last) => Failure::new(format!("{what}: {}", clip(last.trim(), MAX_LINE))).said(clip(said, MAX_SAID)),
    }
    .with("agent", agent.name())
}

pub(super) fn no_room(agent: &Agent, error: &io::Error) -> Error {
    Error::AgentExec(
        Failure::new(format!("agent `{}` cannot start: its private folder cannot be used", agent.name()))
            .help("make the temporary folder (TMPDIR) writable, outside the repository")
            .with("agent", agent.name())
            .caused_by(error),
    )
}
