//! The commands that answer a question: each returns the text to print and leaves no record.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::CommandFactory as _;

use crate::apply;
use crate::cli::{
    ApplyArgs, Cli, CommonArgs, ExplainArgs, Format, InitArgs, ReportArgs, ReviewArgs, TrustArgs, WorkdirArgs,
};
use crate::config::{self, Environment, Loaded};
use crate::contracts::{AgentKind, Finding, ReviewOutput, RunRecord};
use crate::diff::git::{Git, tracked_in};
use crate::error::{Error, Failure, Result};
use crate::letters;
use crate::policy::{self, Start, trust};
use crate::redact::{Engine, Output};
use crate::run::console::Console;
use crate::run::events::Events;
use crate::run::workdir::{Artifact, Forbidden, Workdir};
use crate::view::inspect::Traces;
use crate::view::{self, ci_job, explain, init, inspect};

/// Where a command was started, and with what.
#[derive(Debug)]
pub struct Place {
    pub env: Environment,
    pub current: PathBuf,
    pub engine: Arc<Engine>,
}

impl Place {
    fn forbidden(&self) -> Forbidden {
        Forbidden {
            current: self.current.clone(),
            repository: config::repository_top(&self.current),
            home: self.env.home(),
        }
    }

    /// The named workdir, else the configured one, else the default.
    pub fn workdir_path(&self, named: Option<&Path>, common: &CommonArgs) -> PathBuf {
        let args = ReviewArgs { common: common.clone(), ..ReviewArgs::default() };
        match named {
            Some(path) => path.to_owned(),
            // Where the artifacts are is no question for the network: the job says it, or the default holds.
            None if policy::is_job(&args, &self.env) => config::early_workdir(&args, &self.env),
            None => preview(&args, self)
                .map_or_else(|_| config::early_workdir(&args, &self.env), |loaded| loaded.config.workdir.into()),
        }
    }

    /// The folder of an earlier run, to look at it: the named one, one below it (as a job's artifacts have it), the
    /// configured one here or at the repository's top, or the folder one stands in.
    fn look(&self, named: Option<&Path>, common: &CommonArgs) -> Result<Workdir> {
        let usual = self.workdir_path(named, common);
        let mut places = vec![usual.clone()];
        match named.or(common.workdir.as_deref()) {
            Some(path) => places.push(path.join(".diffsan")),
            None => {
                places.push(PathBuf::from("."));
                places.extend(config::repository_top(&self.current).map(|top| top.join(&usual)));
            }
        }
        let look = |path: &PathBuf| {
            let workdir = Workdir::look(path, &self.current, Arc::clone(&self.engine)).ok()?;
            Some(workdir.knowing(tracked_in(&self.current.join(path), &self.env).into()))
        };
        let mut there = places.iter().filter_map(look);
        there.by_ref().find(Workdir::has_run).or_else(|| look(&usual)).ok_or_else(|| {
            Error::Config(
                Failure::new(format!("there is no folder {}", usual.display()))
                    .with("workdir", usual.to_string_lossy())
                    .help("name the workdir of an earlier run, or run `diffsan review` first"),
            )
        })
    }

    /// The findings of the last review, and the folder they are in; none where there was no review.
    fn findings(&self, common: &CommonArgs) -> Result<(PathBuf, Vec<Finding>)> {
        let Ok(workdir) = self.look(None, common) else {
            return Ok((self.workdir_path(None, common), Vec::new()));
        };
        let review: Option<ReviewOutput> = workdir.read_json(Artifact::Review)?;
        Ok((workdir.path().to_owned(), review.map(|review| review.findings).unwrap_or_default()))
    }

    fn open(&self, path: &Path) -> Result<Workdir> {
        let tracked = tracked_in(&self.current.join(path), &self.env).into();
        let workdir = Workdir::open(path, &self.forbidden(), Arc::clone(&self.engine));
        workdir.map(|workdir| workdir.knowing(tracked)).map_err(|unusable| {
            Error::Config(
                Failure::new(unusable.to_string())
                    .with("workdir", path.to_string_lossy())
                    .help("name the workdir of an earlier run, or run `diffsan review` first"),
            )
        })
    }
}

/// Events that nobody is told: for commands that leave no record.
pub fn silent(place: &Place) -> Events {
    Events::new(String::new(), None, Console::silent(), Arc::clone(&place.engine))
}

/// The configuration that a run would have.
fn preview(args: &ReviewArgs, place: &Place) -> Result<Loaded> {
    let events = silent(place);
    let start = Start { args, env: &place.env, current: &place.current, events: &events };
    runtime()?.block_on(policy::preview(start))
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Format(Failure::new("could not start the runtime").caused_by(&error)))
}

/// `diffsan trust`: `console` shows what is to be agreed to before it is asked.
pub fn trust(args: &TrustArgs, place: &Place, console: &Console) -> Result<String> {
    let review = ReviewArgs { common: args.common.clone(), ..ReviewArgs::default() };
    let events = silent(place);
    let start = Start { args: &review, env: &place.env, current: &place.current, events: &events };
    let subject = trust::subject(start)?;
    if args.forget {
        let known = trust::forget(&subject, start)?;
        return Ok(if known { "Forgotten.\n" } else { "There was no agreement.\n" }.to_owned());
    }
    let shown = place.engine.redact(Output::Console, &trust::shown(&subject));
    console
        .result(shown.as_str())
        .map_err(|error| Error::Format(Failure::new("what is to be trusted could not be shown").caused_by(&error)))?;
    if !args.yes && !console.agrees("\nMay diffsan do this in this repository? [y/N] ") {
        return Err(Error::Config(
            Failure::new("nothing was agreed to").help("`diffsan trust --yes` agrees where nobody can be asked"),
        ));
    }
    let file = trust::remember(&subject, start)?;
    Ok(format!("\nRemembered in {}. A change of these files asks again.\n", file.display()))
}

/// `diffsan config`.
pub fn show_config(args: &ReviewArgs, place: &Place) -> Result<String> {
    let loaded = preview(args, place)?;
    let text = view::config(&loaded, args.common.format);
    Ok(place.engine.redact(Output::Console, &text).into_string())
}

/// `diffsan inspect`.
pub fn show_run(args: &WorkdirArgs, place: &Place) -> Result<String> {
    let workdir = place.look(args.path.as_deref(), &args.common)?;
    let inspection = inspect::inspect(&traces(&workdir));
    let text = match args.common.format {
        Format::Json => letters::document(&serde_json::to_value(&inspection).unwrap_or_default()),
        Format::Text | Format::Markdown => inspect::text(&inspection),
    };
    Ok(place.engine.redact(Output::Console, &text).into_string())
}

/// What a run did since so many events were seen.
#[derive(Debug)]
pub struct News {
    pub live: bool,
    pub events: usize,
    pub text: String,
}

/// What is new in a run since so many events were seen, and whether it is still going.
pub fn follow(args: &WorkdirArgs, place: &Place, seen: usize) -> Result<News> {
    let workdir = place.look(args.path.as_deref(), &args.common)?;
    let traces = traces(&workdir);
    let text = inspect::news(&traces, seen);
    let text = place.engine.redact(Output::Console, &text).into_string();
    Ok(News { live: traces.is_live, events: traces.events.len(), text })
}

fn traces(workdir: &Workdir) -> Traces {
    let mut problems = Vec::new();
    let mut text = |artifact: Artifact| match workdir.read(&artifact.file_name()) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                problems.push(format!("{} was not read: {error}", artifact.file_name()));
            }
            None
        }
    };
    // Asked before the files are read: a run that ends in between is then seen as it ended.
    let is_live = workdir.is_live();
    let artifacts = [Artifact::Run, Artifact::Review, Artifact::Truncation];
    let texts = artifacts.map(&mut text);
    let events = text(Artifact::Events).unwrap_or_default();
    let mut values = artifacts.into_iter().zip(texts).map(|(artifact, text)| {
        let read = serde_json::from_str(&text?);
        read.map_err(|error| problems.push(format!("{} is damaged: {error}", artifact.file_name()))).ok()
    });
    let [run, review, truncation] = [(); 3].map(|()| values.next().flatten());
    Traces {
        workdir: workdir.path().to_string_lossy().into_owned(),
        is_live,
        run,
        review,
        truncation,
        events: events.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        files: workdir.list(),
        problems,
    }
}

/// `diffsan explain`.
pub fn explain(args: &ExplainArgs, place: &Place) -> Result<String> {
    let Some(what) = &args.what else {
        let all = explain::all();
        let width = all.iter().map(|known| known.code.len()).max().unwrap_or(0);
        let rows = all.iter().map(|known| format!("{:width$}  {}\n", known.code, known.kind));
        return Ok(rows.collect());
    };
    if let Some(known) = explain::code(what) {
        return Ok(explain::text(&known));
    }
    let (path, findings) = place.findings(&args.common)?;
    let finding = find(&findings, what, &path)?;
    Ok(place.engine.redact(Output::Console, &explain::finding(finding)).into_string())
}

/// The finding of this id, or the only one whose id begins so, with or without its `f-`.
fn find<'a>(findings: &'a [Finding], what: &str, path: &Path) -> Result<&'a Finding> {
    let fits = |finding: &&Finding| {
        let id = &finding.finding_id;
        id == what || id.starts_with(what) || id.strip_prefix("f-").is_some_and(|id| id.starts_with(what))
    };
    let found: Vec<_> = findings.iter().filter(fits).collect();
    let exact = found.iter().find(|finding| finding.finding_id == what);
    match (exact, found.as_slice()) {
        (Some(finding), _) | (None, [finding]) => Ok(finding),
        (None, []) => Err(Error::Config(
            Failure::new(format!("`{what}` is no known code, and no finding of the review in {}", path.display()))
                .help("`diffsan inspect` lists the findings with their ids, `diffsan explain` the codes"),
        )),
        (None, several) => {
            let ids: Vec<_> = several.iter().map(|finding| finding.finding_id.as_str()).collect();
            Err(Error::Config(
                Failure::new(format!("`{what}` is the beginning of several ids: {}", ids.join(", ")))
                    .help("give one more letter of the id"),
            ))
        }
    }
}

/// `diffsan apply`: all of the changes, or none.
pub fn apply(args: &ApplyArgs, place: &Place) -> Result<String> {
    let (folder, findings) = place.findings(&args.common)?;
    let top = config::repository_top(&place.current).unwrap_or_else(|| place.current.clone());
    let mut files: BTreeMap<&str, (String, String)> = BTreeMap::new();
    let mut text = String::new();
    for id in &args.ids {
        let finding = find(&findings, id, &folder)?;
        let refused = |why: &dyn std::error::Error| {
            Error::Apply(
                Failure::new(format!("the change of {} cannot be applied: {why}", finding.finding_id))
                    .with("finding_id", finding.finding_id.as_str())
                    .help("nothing was changed; review again, or make the change by hand (`diffsan explain` shows it)"),
            )
        };
        let path = apply::path(finding).map_err(|why| refused(&why))?;
        if !files.contains_key(path) {
            let before = std::fs::read_to_string(top.join(path)).map_err(|why| refused(&why))?;
            files.insert(path, (before.clone(), before));
        }
        if let Some((_, after)) = files.get_mut(path) {
            *after = apply::changed(finding, after).map_err(|why| refused(&why))?;
        }
        let verb = if args.check { "would apply to" } else { "applied to" };
        text.push_str(&format!("{} {verb} {path}\n", finding.finding_id));
    }
    let patches = files.iter().filter_map(|(path, (before, after))| apply::file_patch(path, before, after));
    let patch: String = patches.map(|file| file.patch).collect();
    runtime()?.block_on(git_apply(&top, place, &patch, args.check))?;
    Ok(place.engine.redact(Output::Console, &view::printable(&text)).into_string())
}

/// Git writes the files: it refuses links, what lies outside, and anything that does not fit to the letter.
async fn git_apply(top: &Path, place: &Place, patch: &str, only_check: bool) -> Result<()> {
    let git = Git::new(top, &place.env);
    let mut words = vec!["apply", "--whitespace=nowarn"];
    if only_check {
        words.push("--check");
    }
    git.run_with(&words, patch.as_bytes()).await.map(|_| ()).map_err(|error| {
        let words = crate::error::chain(&error);
        Error::Apply(Failure::new("git does not take the patch; nothing was changed").said(words).help(
            "review again: the files may have changed since; or make the change by hand (`diffsan explain` shows it)",
        ))
    })
}

/// `diffsan init`.
pub fn init(args: &InitArgs, place: &Place) -> Result<String> {
    let path = place.current.join(config::CONFIG_FILE);
    let text = init::config_file(args.agent);
    config::write_file(&path, &text, args.force)?;
    let agent = args.agent.unwrap_or(AgentKind::Codex);
    let yaml = if args.job { ci_job::job(agent) } else { ci_job::component(agent) };
    Ok(format!("Wrote {}.\n\nAdd this to .gitlab-ci.yml:\n\n{yaml}\n{}", path.display(), ci_job::variables(agent)))
}

/// `diffsan report`.
pub fn report(args: &ReportArgs, place: &Place) -> Result<String> {
    let path = place.workdir_path(args.run.path.as_deref(), &args.run.common);
    if args.baseline {
        let workdir = Workdir::add_to(&path, &place.forbidden(), Arc::clone(&place.engine))
            .map_err(|unusable| Error::Config(Failure::new(unusable.to_string())))?;
        workdir.foreign_json(Artifact::CodeQuality, view::code_quality_baseline())?;
        return Ok(format!("Wrote {}.\n", path.join(Artifact::CodeQuality.file_name()).display()));
    }
    let workdir = place.open(&path)?;
    let Some(shown) = view::Shown::read(&workdir)? else {
        return report_outcome(&workdir, &path, place);
    };
    crate::pipeline::write_reports(&workdir, &place.engine, shown)?;
    let names = [Artifact::Html, Artifact::CodeQuality, Artifact::Sarif];
    let lines = names.iter().map(|artifact| format!("Wrote {}.\n", path.join(artifact.file_name()).display()));
    Ok(lines.collect())
}

/// The page of a run without a review; there is nothing to put into the other reports.
fn report_outcome(workdir: &Workdir, path: &Path, place: &Place) -> Result<String> {
    let record: RunRecord = workdir.read_json(Artifact::Run)?.ok_or_else(|| {
        Error::Format(
            Failure::new(format!("there is no run in {}", path.display()))
                .help("name the workdir of an earlier run, or run `diffsan review` first"),
        )
    })?;
    crate::pipeline::write_outcome(workdir, &place.engine, &record)?;
    Ok(format!("Wrote {}.\n", path.join(Artifact::Html.file_name()).display()))
}

/// `diffsan contract`.
pub fn contract() -> String {
    view::contract_text(&Cli::command())
}

/// `diffsan completions`.
pub fn completions(shell: clap_complete::Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "diffsan", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// `diffsan man`.
pub fn man() -> Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut text)
        .map_err(|error| Error::Format(Failure::new("could not render the manual page").caused_by(&error)))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
