//! What is known of an installed program before it is trusted with a change: its version, whether that was tested, how it
//! would be logged in and what it could do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::argv::Argv;
use super::attempt::Setting;
use super::process::{self, Spec};
use super::room::Room;
use super::{Agent, Login, Tested, attempt, login};
use crate::config::Environment;
use crate::contracts::{AgentKind, AppConfig};
use crate::error::{Error, Failure, Result};
use crate::validate::Form;

/// Time a program may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(30);
/// The catalogue of codex has half a megabyte.
const MAX_OUTPUT: usize = 8 * 1024 * 1024;

/// What was found out, by program: nobody asks twice.
static KNOWN: Mutex<BTreeMap<PathBuf, Arc<Probe>>> = Mutex::new(BTreeMap::new());

/// What a program said of itself.
#[derive(Debug, Default)]
pub(super) struct Probe {
    pub(super) version: Option<String>,
    /// The models that it knows.
    pub(super) catalogue: Option<Value>,
}

/// How a version stands to those that were tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Tested,
    /// Newer than all that were tested: what it offers to its model is not known.
    Newer,
    /// Older than all that were tested: it is not started.
    TooOld,
    /// It does not say its version.
    Unknown,
    /// No version was tested with diffsan.
    Untested,
}

/// Everything that is known of an agent without asking its model anything.
#[derive(Debug)]
pub struct Facts {
    pub program: Result<PathBuf>,
    /// Why a run could not start it.
    pub start: Result<()>,
    pub version: Option<String>,
    pub tested: Option<Tested>,
    pub standing: Standing,
    pub login: Login,
    /// The tools that its model would be offered; none: nobody knows.
    pub tools: Option<Vec<String>>,
}

/// What is known of an agent as it is configured; `eyes` are the reading tools it would be given.
pub async fn facts(
    agent: &'static Agent,
    config: &AppConfig,
    env: &Environment,
    start: &Path,
    eyes: &[&str],
) -> Result<Facts> {
    let path = env.get("PATH").map(AsRef::as_ref);
    let argv = attempt::command_line(agent, &config.agent, path, start)?;
    let room = Room::new(start, env.get("TMPDIR")).map_err(|error| attempt::no_room(agent, &error))?;
    let program = attempt::locate(agent, &argv, path, start);
    let probe = match &program {
        Ok(program) => look(agent, program, &argv, env, &room).await,
        Err(_) => Arc::default(),
    };
    let version = match (&probe.version, &program) {
        (None, Ok(program)) if agent.tested.is_none() => said_version(program, &argv, env, &room).await,
        (version, _) => version.clone(),
    };
    let tools = agent.sealed.then(|| {
        let along = agent.own_with_eyes.iter().filter(|_| !eyes.is_empty());
        let own = agent.own_tools.iter().chain(along).map(|tool| (*tool).to_owned());
        eyes.iter().map(|tool| format!("repo.{tool}")).chain(own).collect()
    });
    let setting = Setting { agent, config, env, start, eyes: None, budget: config.agent.max_cost_usd };
    Ok(Facts {
        program,
        start: setting.rehearse(Form::review().strict_schema()).await,
        standing: standing(agent.tested, version.as_deref()),
        version,
        tested: agent.tested,
        login: login::of(agent, config, env, &room),
        tools,
    })
}

/// What a program that nobody tested says of its version; one that knows no such flag says nothing.
async fn said_version(program: &Path, argv: &Argv, env: &Environment, room: &Room) -> Option<String> {
    let said = say(program, argv, &["--version"], env, room).await?;
    let line = said.lines().next()?.trim();
    (!line.is_empty()).then(|| crate::error::clip(line, 80))
}

/// Looks at a program, once in the life of this process.
pub(super) async fn look(agent: &Agent, program: &Path, argv: &Argv, env: &Environment, room: &Room) -> Arc<Probe> {
    let key = argv.words().iter().fold(program.to_owned(), |key, word| key.join(word));
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(probe) = known().get(&key) {
        return Arc::clone(probe);
    }
    let mut probe = Probe::default();
    if let Some(tested) = agent.tested {
        probe.version = packaged(program, tested.package);
        let own = argv.is_named(agent.programs);
        if probe.version.is_none() && own {
            let said = say(program, argv, &["--version"], env, room).await;
            probe.version = said.as_deref().and_then(version_in);
        }
        if agent.kind == AgentKind::Codex && own {
            let said = say(program, argv, &["debug", "models"], env, room).await;
            probe.catalogue = said.and_then(|text| serde_json::from_str(&text).ok());
        }
    }
    let probe = Arc::new(probe);
    known().insert(key, Arc::clone(&probe));
    probe
}

/// An error for a version that is older than all that were tested.
pub(super) fn check(agent: &Agent, version: Option<&str>) -> Result<()> {
    let (Some(tested), Some(version)) = (agent.tested, version) else { return Ok(()) };
    if standing(Some(tested), Some(version)) != Standing::TooOld {
        return Ok(());
    }
    let Tested { package, oldest, newest } = tested;
    Err(Error::AgentExec(
        Failure::new(format!(
            "agent `{}` is too old: version {version} is installed, diffsan needs {oldest} or newer to keep it from acting",
            agent.name()
        ))
        .help(format!("install it anew: npm install -g {package}@{newest}"))
        .with("agent", agent.name())
        .with("version", version),
    ))
}

/// What to say about a version that was not tested.
pub fn warning(agent: &Agent, version: Option<&str>) -> Option<String> {
    let Tested { newest, .. } = agent.tested?;
    let name = agent.name();
    match standing(agent.tested, version) {
        Standing::Newer => Some(format!(
            "{name} {} is newer than {newest}, the newest that was tested with diffsan: it may offer its model tools that \
             diffsan does not know of",
            version.unwrap_or_default()
        )),
        Standing::Tested | Standing::TooOld | Standing::Unknown | Standing::Untested => None,
    }
}

fn standing(tested: Option<Tested>, version: Option<&str>) -> Standing {
    let Some(Tested { oldest, newest, .. }) = tested else { return Standing::Untested };
    match version.map(numbers) {
        None => Standing::Unknown,
        Some(version) if version < numbers(oldest) => Standing::TooOld,
        Some(version) if version > numbers(newest) => Standing::Newer,
        Some(_) => Standing::Tested,
    }
}

fn numbers(version: &str) -> Vec<u64> {
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    plain.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

/// The version in a line such as `codex-cli 0.166.0` or `2.1.197 (Claude Code)`.
fn version_in(said: &str) -> Option<String> {
    let words = said.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
    let is_version =
        |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.') && word.len() < 40;
    words.map(|word| word.trim_start_matches('v')).find(is_version).map(str::to_owned)
}

/// The version of the npm package that a program belongs to: quicker than to start it.
fn packaged(program: &Path, package: &str) -> Option<String> {
    let real = program.canonicalize().ok()?;
    let manifest = real.ancestors().skip(1).take(4).find_map(|folder| login::json(&folder.join("package.json")))?;
    (manifest["name"] == package).then(|| manifest["version"].as_str().map(str::to_owned))?
}

/// What a program prints when it is asked something harmless, in the room and with nothing but its home.
async fn say(program: &Path, argv: &Argv, args: &[&str], env: &Environment, room: &Room) -> Option<String> {
    let home = room.make_folder("home/.codex").ok()?;
    let mut seen = room.environment(env, &[]);
    seen.insert("CODEX_HOME".into(), home.into());
    let seen: Vec<_> = seen.into_iter().collect();
    let words = argv.before_own().iter().skip(1).map(String::as_str).chain(args.iter().copied());
    let words: Vec<OsString> = words.map(OsString::from).collect();
    let spec = Spec {
        program,
        args: &words,
        env: &seen,
        cwd: &room.work(),
        stdin: b"",
        wall: PATIENCE,
        idle: None,
        job: None,
        max_output: MAX_OUTPUT,
        done: None,
        linger: Duration::ZERO,
    };
    let finished = process::run(&spec, &|_| {}).await.ok().filter(|finished| finished.exit_code == Some(0))?;
    String::from_utf8(finished.stdout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_stands_below_in_or_above_what_was_tested() {
        let tested = Some(Tested { package: "p", oldest: "2.1.197", newest: "2.1.325" });
        for (version, want) in [
            (Some("2.1.197"), Standing::Tested),
            (Some("2.1.325"), Standing::Tested),
            (Some("2.1.300-beta.1"), Standing::Tested),
            (Some("2.1.99"), Standing::TooOld),
            (Some("1.9.400"), Standing::TooOld),
            (Some("2.2.0"), Standing::Newer),
            (Some("10.0.0"), Standing::Newer),
            (None, Standing::Unknown),
        ] {
            assert_eq!(standing(tested, version), want, "{version:?}");
        }
        assert_eq!(standing(None, Some("1.0")), Standing::Untested);
    }

    #[test]
    fn the_version_is_found_in_what_programs_print() {
        for (said, want) in [
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("2.1.197 (Claude Code)", Some("2.1.197")),
            ("v1.18.33", Some("1.18.33")),
            ("0.61.0\n", Some("0.61.0")),
            ("no version here", None),
        ] {
            assert_eq!(version_in(said).as_deref(), want, "{said}");
        }
    }

    #[test]
    fn a_version_that_is_too_old_is_refused_by_name_and_a_newer_one_is_told() {
        let codex = super::super::by_kind(AgentKind::Codex).unwrap();
        let error = check(codex, Some("0.98.0")).unwrap_err().to_string();
        assert!(error.starts_with("agent `codex` is too old: version 0.98.0 is installed"), "{error}");
        assert!(check(codex, Some("99.0.0")).is_ok() && check(codex, None).is_ok());
        assert!(warning(codex, Some("99.0.0")).unwrap().contains("is newer than 0.166.0"));
        assert_eq!(warning(codex, Some("0.166.0")), None);
    }
}
