//! The program's door: parse, run, report, exit code. The only place that exits.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use diffsan::cli::{Cli, Command, CommonArgs, Format, InspectArgs, PostArgs, ReviewArgs, TrustArgs};
use diffsan::commands::{self, Place};
use diffsan::config::{self, Environment, Loaded};
use diffsan::contracts::{Level, RunRecord};
use diffsan::error::{Error, Failure, Result, Signal};
use diffsan::passes::Shard;
use diffsan::pipeline::{self, Folders, Request};
use diffsan::policy::{self, Start};
use diffsan::redact::{Engine, Output};
use diffsan::run::console::{ColourChoice, Console, ConsoleStyle};
use diffsan::run::progress::{Ink, Progress};
use diffsan::run::record::{Opening, Run};
use diffsan::view::{Look, Shown};

/// Time for a stage to clear up after a child that was killed.
const AFTERMATH: Duration = Duration::from_secs(1);

/// How often a followed run is looked at.
const FOLLOW: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(diffsan::arguments::ordered(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    ExitCode::from(run(cli))
}

fn run(cli: Cli) -> u8 {
    match cli.command {
        None => record(&cli.review, &Task::Review),
        Some(Command::Review(args)) => record(&args, &Task::Review),
        Some(Command::Post(args)) => {
            let task = posting(&args);
            let review = ReviewArgs {
                common: args.common,
                ci: true,
                agent: args.agent,
                model: args.model,
                proxy_url: args.proxy_url,
                no_post: args.no_post,
                fail_on: args.fail_on,
                ..ReviewArgs::default()
            };
            record(&review, &task)
        }
        Some(Command::Doctor(args)) => doctor(&args),
        Some(Command::Trust(args)) => trust(&args),
        Some(Command::Apply(args)) => answer(&args.common, |place| commands::apply(&args, place)),
        Some(Command::Inspect(args)) => inspect(&args),
        Some(Command::Report(args)) => answer(&args.run.common, |place| commands::report(&args, place)),
        Some(Command::Init(args)) => answer(&CommonArgs::default(), |place| commands::init(&args, place)),
        Some(Command::Config(args)) => answer(&args.review.common, |place| commands::show_config(&args.review, place)),
        Some(Command::Contract) => answer(&CommonArgs::default(), |_| Ok(commands::contract())),
        Some(Command::Schema(args)) => answer(&CommonArgs::default(), |_| diffsan::view::schema(args.name.as_deref())),
        Some(Command::Explain(args)) => answer(&args.common, |place| commands::explain(&args, place)),
        Some(Command::Completions(args)) => answer(&CommonArgs::default(), |_| Ok(commands::completions(args.shell))),
        Some(Command::ContextBridge) => diffsan::context::bridge::run(&Environment::read()),
        Some(Command::Man) => answer(&CommonArgs::default(), |_| commands::man()),
    }
}

/// What is run under a record.
#[derive(Clone)]
enum Task {
    Review,
    /// Posts what an earlier run planned.
    Post {
        workdir: Option<PathBuf>,
    },
    /// Merges and posts what several jobs reviewed.
    PostParts(Folders),
}

/// What `post` is asked for: one folder is a review's own unless it is a part's.
fn posting(args: &PostArgs) -> Task {
    let is_part = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| Shard::of_folder(name).is_some()) || path.join("part.json").symlink_metadata().is_ok()
    };
    match &args.paths[..] {
        [] if args.parts.is_none() => Task::Post { workdir: None },
        [only] if args.parts.is_none() && !is_part(only) => Task::Post { workdir: Some(only.clone()) },
        named => Task::PostParts(Folders { named: named.to_vec(), of: args.parts }),
    }
}

/// A command that prints one text and leaves no record.
fn answer(common: &CommonArgs, command: impl FnOnce(&Place) -> Result<String>) -> u8 {
    let env = Environment::read();
    let console = Console::new(style(common, &env, None));
    let engine = Arc::new(default_engine(&env));
    let args = ReviewArgs { common: common.clone(), ..ReviewArgs::default() };
    let result = place(&args, env, &engine).and_then(|place| command(&place));
    match result {
        Ok(text) => printed(&console, &text, 0),
        Err(error) => {
            complain(&console, &engine, &error);
            error.exit_code()
        }
    }
}

/// Says what a run left; one that is still going is followed to its end.
fn inspect(args: &InspectArgs) -> u8 {
    let common = &args.run.common;
    let follow = common.format != Format::Json && !args.no_follow;
    let env = Environment::read();
    let console = Console::new(style(common, &env, None));
    answer(common, |place| {
        if follow {
            follow_run(args, place, &console)?;
        }
        commands::show_run(&args.run, place)
    })
}

fn follow_run(args: &InspectArgs, place: &Place, console: &Console) -> Result<()> {
    let mut seen = 0;
    loop {
        let news = commands::follow(&args.run, place, seen)?;
        if news.live || seen > 0 {
            console.message(&news.text);
        }
        if !news.live {
            return Ok(());
        }
        seen = news.events;
        std::thread::sleep(FOLLOW);
    }
}

fn doctor(args: &ReviewArgs) -> u8 {
    let env = Environment::read();
    let console = Console::new(style(&args.common, &env, None));
    let engine = Arc::new(default_engine(&env));
    let examined = runtime().and_then(|runtime| {
        let place = place(args, env, &engine)?;
        Ok(runtime.block_on(diffsan::doctor::examine(args, &place)))
    });
    match examined {
        Ok(examined) => {
            let table = diffsan::view::doctor::render(&examined.rows, args.common.format);
            printed(&console, engine.redact(Output::Console, &table).as_str(), examined.exit_code)
        }
        Err(error) => {
            complain(&console, &engine, &error);
            error.exit_code()
        }
    }
}

/// Shows what the repository's file would start or send where, and remembers that the user agrees.
fn trust(args: &TrustArgs) -> u8 {
    let env = Environment::read();
    let console = Console::new(style(&args.common, &env, None));
    let engine = Arc::new(default_engine(&env));
    let review = ReviewArgs { common: args.common.clone(), ..ReviewArgs::default() };
    let agreed = place(&review, env, &engine).and_then(|place| commands::trust(args, &place, &console));
    match agreed {
        Ok(text) => printed(&console, &text, 0),
        Err(error) => {
            complain(&console, &engine, &error);
            error.exit_code()
        }
    }
}

/// Where a command was started; programs are looked up nowhere that the branch under review could fill.
fn place(args: &ReviewArgs, env: Environment, engine: &Arc<Engine>) -> Result<Place> {
    let current = current_dir()?;
    let is_job = policy::is_job(args, &env);
    let env = policy::path::guarded(env, &current, is_job);
    Ok(Place { env, current, engine: Arc::clone(engine) })
}

/// A task, and its record whatever happens to it.
fn record(args: &ReviewArgs, task: &Task) -> u8 {
    let env = Environment::read();
    let console = Console::new(style(&args.common, &env, None));
    if env.get("GITLAB_CI").is_some() {
        diffsan::child::make_unreadable();
    }
    silence_panics();
    if policy::is_job(args, &env) {
        diffsan::child::hide_self();
    }
    match runtime() {
        Ok(watch) => watch.block_on(recorded(args, task, env, &console)),
        Err(error) => {
            complain(&console, &default_engine(&env), &error);
            error.exit_code()
        }
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Format(Failure::new("could not start the runtime").caused_by(&error)))
}

async fn recorded(args: &ReviewArgs, task: &Task, env: Environment, console: &Console) -> u8 {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => {
            let failure = Failure::new("could not listen for signals").caused_by(&error);
            complain(console, &default_engine(&env), &Error::Format(failure));
            return 1;
        }
    };
    let engine = Arc::new(default_engine(&env));
    let place = match place(args, env, &engine) {
        Ok(place) => place,
        Err(error) => {
            complain(console, &engine, &error);
            return error.exit_code();
        }
    };
    let loaded = tokio::select! {
        loaded = decided(args, &place) => loaded,
        signal = signals.next() => Err(Error::Interrupted { signal }),
    };
    let ink = watched(args, &place.env, console);
    let has_links = place.env.has_hyperlinks();
    let (run, mut outcome, request) = match open(args, task, place, console, loaded) {
        Ok(opened) => opened,
        Err(error) => {
            complain(console, &engine, &error);
            return error.exit_code();
        }
    };
    let run = Arc::new(run);
    if args.common.verbose {
        diffsan::run::log::start(console, &run.engine);
    }
    let is_ci_log = request.as_ref().is_some_and(|request| request.loaded.ci.is_gitlab) && console.is_coloured();
    console.yield_to(Progress::start(ink));
    if let (Ok(()), Some(request)) = (&outcome, request) {
        let mut stages = stages(Arc::clone(&run), request, task.clone());
        outcome = tokio::select! {
            ended = &mut stages => ended.unwrap_or_else(|_| Err(crashed(None, at(&run)))),
            signal = signals.next() => Err(Error::Interrupted { signal }),
        };
        if pipeline::stop_children() {
            // The stage sees its child end, records that and clears up after it.
            let _ = tokio::time::timeout(AFTERMATH, stages).await;
        }
        pipeline::remove_rooms();
    }
    let failed = outcome.as_ref().err().map(|error| (error.info(&run.engine), error.exit_code()));
    pipeline::conclude(&run, outcome.as_ref().err());
    let record = run.finish(outcome);
    if let Some((info, _)) = &failed {
        let text = if console.shows_lines() { diffsan::view::remedy(info) } else { diffsan::view::failure(info) };
        console.message(&text);
    }
    let text = result(args, &run, &record, &look(console, is_ci_log, has_links));
    printed(console, run.engine.redact(Output::Console, &text).as_str(), record.exit_code)
}

/// Prints the result; a result that nobody could get is a failure.
fn printed(console: &Console, text: &str, exit_code: u8) -> u8 {
    match console.result(text) {
        Ok(()) => exit_code,
        Err(error) => {
            console.message(&format!("diffsan: the result could not be written: {error}\n"));
            exit_code.max(1)
        }
    }
}

fn look(console: &Console, is_ci_log: bool, has_links: bool) -> Look {
    let top = std::env::current_dir().ok().map(|current| config::repository_top(&current).unwrap_or(current));
    let links = !is_ci_log && console.is_coloured() && console.stdout_is_terminal() && has_links;
    Look { width: console.width().unwrap_or(100), is_ci_log, root: top.filter(|_| links) }
}

/// Runs the stages on a thread of their own: one that computes for long must not keep a signal waiting, and one that
/// panics must not take the record with it.
fn stages(run: Arc<Run>, request: Request, task: Task) -> tokio::sync::oneshot::Receiver<Result<()>> {
    let (done, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let work = || {
            runtime()?.block_on(async {
                match &task {
                    Task::Review => pipeline::review(&run, &request).await,
                    Task::Post { .. } => pipeline::post_again(&run, &request).await,
                    Task::PostParts(folders) => pipeline::post_parts(&run, &request, folders).await,
                }
            })
        };
        let result =
            catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(crashed(Some(payload), at(&run))));
        let _ = done.send(result);
    });
    ended
}

/// Reads the configuration from those who may decide. In a job that asks git and GitLab, so a signal may come first:
/// whoever stops waiting ends it.
async fn decided(args: &ReviewArgs, place: &Place) -> Result<Loaded> {
    let (args, env, current) = (args.clone(), place.env.clone(), place.current.clone());
    let events = commands::silent(place);
    let mut task = tokio::task::JoinSet::new();
    task.spawn(async move { policy::load(Start { args: &args, env: &env, current: &current, events: &events }).await });
    match task.join_next().await {
        Some(Ok(loaded)) => loaded,
        Some(Err(error)) => Err(crashed(error.try_into_panic().ok(), "config")),
        None => Err(crashed(None, "config")),
    }
}

/// Sets up the engine and opens the workdir; what failed until now is the run's outcome.
fn open(
    args: &ReviewArgs,
    task: &Task,
    place: Place,
    console: &Console,
    loaded: Result<Loaded>,
) -> Result<(Run, Result<()>, Option<Request>)> {
    let Place { env, current, .. } = place;
    let env = &env;
    let (engine, engine_error) = match &loaded {
        Ok(loaded) => match loaded.engine(env) {
            Ok(engine) => (engine, None),
            Err(error) => (default_engine(env), Some(error)),
        },
        Err(_) => (default_engine(env), None),
    };
    if let Ok(loaded) = &loaded {
        console.restyle(style(&args.common, env, Some(loaded)));
    }
    let shard = args.shard.map(|share| share.resolve(env)).transpose();
    let workdir = match &loaded {
        _ if let Task::Post { workdir: Some(path) } = task => path.clone(),
        Ok(loaded) => PathBuf::from(&loaded.config.workdir),
        Err(_) => config::early_workdir(args, env),
    };
    // A local run has no parts: it must not clear the folder of one.
    let is_ci = loaded.as_ref().map_or(args.ci, |loaded| loaded.config.mode.ci);
    let workdir = match &shard {
        Ok(Some(shard)) if is_ci => workdir.join(shard.folder()),
        _ => workdir,
    };
    let (run, unusable) = Run::open(Opening {
        workdir,
        current: &current,
        env,
        engine: Arc::new(engine),
        console: console.clone(),
        command: if matches!(task, Task::Review) { "review" } else { "post" },
        ci: is_ci,
        resume: matches!(task, Task::Post { .. }),
        args: args.words(),
    })?;
    let (loaded, shard) = match loaded.and_then(|loaded| Ok((check_shard(args, loaded)?, shard?))) {
        Ok(known) => known,
        Err(error) => return Ok((run, Err(error), None)),
    };
    run.note(|progress| progress.policy = Some(loaded.policy.record()));
    if let Some(error) = engine_error.or(unusable) {
        return Ok((run, Err(error), None));
    }
    let request = Request { args: args.clone(), loaded, env: env.clone(), current, rehearsal: false, shard };
    Ok((run, Ok(()), Some(request)))
}

/// Parts are of a merge request: nobody shares a review on a laptop.
fn check_shard(args: &ReviewArgs, loaded: Loaded) -> Result<Loaded> {
    match args.shard {
        Some(_) if !loaded.config.mode.ci => Err(Error::Config(
            Failure::new("--shard is for merge requests: a local review has one part")
                .help("add --ci in a merge request pipeline, or leave --shard out"),
        )),
        _ => Ok(loaded),
    }
}

fn default_engine(env: &Environment) -> Engine {
    Engine::builtin(env.secret_values())
}

fn current_dir() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| {
        Error::Config(
            Failure::new("the current folder cannot be read")
                .caused_by(&error)
                .help("start diffsan in a folder that exists"),
        )
    })
}

fn style(common: &CommonArgs, env: &Environment, loaded: Option<&Loaded>) -> ConsoleStyle {
    let early = match (common.quiet, common.verbose) {
        (true, _) => Level::Error,
        (_, true) => Level::Debug,
        _ => Level::Info,
    };
    ConsoleStyle {
        level: loaded.map_or(early, |loaded| loaded.config.logging.level),
        structured: loaded.is_none_or(|loaded| loaded.config.logging.structured),
        document: common.format != Format::Text,
        // A job's log is no terminal, but it shows colours.
        colour: match common.color {
            ColourChoice::Auto if loaded.is_some_and(|loaded| loaded.ci.log_has_colour) => ColourChoice::Always,
            chosen => chosen,
        },
        lines: common.verbose || loaded.is_some_and(|loaded| loaded.ci.is_gitlab),
        unicode: env.has_utf8(),
        mute: false,
    }
}

/// What the moving line may use, where a person watches and has not asked for silence.
fn watched(args: &ReviewArgs, env: &Environment, console: &Console) -> Option<Ink> {
    let common = &args.common;
    // `--color never` is asked for by those who record what a terminal gets.
    let plain = common.color == ColourChoice::Never || env.get("TERM") == Some("dumb");
    let watched = common.format == Format::Text && !common.quiet && !plain;
    let ink = Ink { colour: env.get("NO_COLOR").is_none(), unicode: env.has_utf8() };
    (watched && console.stderr_is_terminal()).then_some(ink)
}

fn complain(console: &Console, engine: &Engine, error: &Error) {
    console.message(&diffsan::view::failure(&error.info(engine)));
}

fn result(args: &ReviewArgs, run: &Run, record: &RunRecord, look: &Look) -> String {
    let shown = Shown::read(&run.workdir).ok().flatten();
    match (args.common.format, &shown) {
        (Format::Json, _) => diffsan::view::result(record, &run.workdir),
        (Format::Markdown, Some(shown)) => diffsan::view::markdown(shown),
        (Format::Text, Some(shown)) => diffsan::view::terminal(shown, look),
        (_, None) => {
            record.verdict.iter().filter(|_| record.ok).map(|verdict| format!("{}\n", verdict.headline)).collect()
        }
    }
}

/// A panic is reported once, as an error; its own message and backtrace stay out of the log.
fn silence_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// The stage a run is in.
fn at(run: &Run) -> &'static str {
    run.progress().stage.unwrap_or("start")
}

fn crashed(payload: Option<Box<dyn Any + Send>>, stage: &str) -> Error {
    let words = payload
        .as_ref()
        .and_then(|payload| {
            let text = payload.downcast_ref::<String>().cloned();
            text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        })
        .unwrap_or_else(|| "no message".into());
    Error::Format(
        Failure::new(format!("diffsan itself failed in stage {stage}"))
            .said(words)
            .with("stage", stage)
            .with("panic", true)
            .help("this is a defect in diffsan; please report it with run.json and events.jsonl"),
    )
}

/// The signals that end a run.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Int,
            _ = self.terminate.recv() => Signal::Term,
            _ = self.hangup.recv() => Signal::Hup,
        }
    }
}
