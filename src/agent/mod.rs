//! Agents: the table of programs that can be asked.
//!
//! An agent is a file here and a line in [`AGENTS`]. The loop that asks one is `ask.rs`, how a program is started and
//! bounded is `process.rs`, what it can see is `room.rs`, and what is kept of it is `record.rs`; all agents share them.

mod argv;
mod ask;
mod attempt;
pub mod builtin;
mod claude;
mod codex;
mod command;
mod cursor;
mod gemini;
mod login;
mod opencode;
mod probe;
pub mod process;
mod reason;
mod record;
mod room;
mod system;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use self::argv::Argv;
use self::login::{Handed, Own};
use self::room::Room;
use crate::config::{CiContext, Environment};
use crate::contracts::{AgentConfig, AgentKind, TokenUsage};
use crate::error::{Error, Failure, Result};
use crate::redact::Redacted;

pub use self::ask::{Answered, Eyes, Purse, Question, Request, ask};
pub use self::login::Login;
pub use self::probe::{Facts, Standing, facts, warning};
pub use self::room::{find_program, remove_all as remove_rooms};

/// Most characters of a program's last words.
const TAIL: usize = 1_200;

/// A new agent is a file beside this one and a line here.
pub const AGENTS: &[Agent] =
    &[cursor::AGENT, codex::AGENT, claude::AGENT, gemini::AGENT, opencode::AGENT, command::AGENT];

/// What sets one agent apart: how to start it, what it may see, and where in its output the answer is.
#[derive(Debug)]
pub struct Agent {
    pub kind: AgentKind,
    /// Names of its program, the usual one first; none when only the configuration can name it.
    pub programs: &'static [&'static str],
    /// What to do when its program is missing.
    pub install: &'static str,
    /// Its command in the configuration.
    custom: fn(&AgentConfig) -> Option<&str>,
    /// Its package on npm, and the versions that were tested with diffsan, oldest and newest.
    pub tested: Option<Tested>,
    /// Variables that hold its key.
    pub keys: &'static [&'static str],
    /// Other variables it reads, as its documentation says.
    variables: &'static [&'static str],
    /// The part of a user's own login that logs it in.
    login: fn(&Own) -> Option<(Login, Handed)>,
    /// Longest prompt it takes.
    pub max_prompt: Option<Limit>,
    /// It keeps to a schema by itself, so the prompt need not spell it out.
    pub structured: bool,
    /// An invalid answer is asked for again.
    repairs: bool,
    /// It prints as it works, so that silence means that it hangs.
    reports_progress: bool,
    /// Completes the command line and what the program finds around it.
    prepare: fn(&mut Start<'_>) -> Result<()>,
    /// File it writes its answer to, beside its working directory.
    answer_file: Option<&'static str>,
    /// Says that stdout holds the whole result; none: an answer is all it prints.
    done: Option<fn(&[u8]) -> bool>,
    /// It can be given diffsan's reading tools and no other.
    pub sealed: bool,
    /// What its model is offered all the same: nothing that reads or acts.
    own_tools: &'static [&'static str],
    /// Likewise what comes along with diffsan's own.
    own_with_eyes: &'static [&'static str],
    /// Finds the answer in what it left.
    read: fn(&Left<'_>) -> Reading,
}

/// The versions of a program that diffsan was tested with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tested {
    pub package: &'static str,
    pub oldest: &'static str,
    pub newest: &'static str,
}

/// Most a program takes on its stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Chars(usize),
    Bytes(usize),
}

/// One start of an agent, while it is being put together.
pub(crate) struct Start<'a> {
    pub(crate) agent: &'static Agent,
    pub(crate) config: &'a AgentConfig,
    /// The variables diffsan was started with.
    pub(crate) env: &'a Environment,
    pub(crate) room: &'a Room,
    /// It is logged in by a file or a variable of the user's own.
    pub(crate) login: Login,
    /// The models that its program knows, as it lists them.
    pub(crate) catalogue: Option<&'a Value>,
    /// The schema of the answer.
    pub(crate) schema: &'a Value,
    /// The only tools it has.
    pub(crate) eyes: Option<&'a Eyes>,
    /// Most US dollars this start may cost.
    pub(crate) budget: Option<f64>,
    pub(crate) argv: Argv,
    /// Variables of the child beyond those it inherits.
    pub(crate) set: Vec<(&'static str, OsString)>,
}

/// What a program left when it ended by itself.
pub(crate) struct Left<'a> {
    pub(crate) exit_code: Option<i32>,
    /// Its result was complete but it had to be ended.
    pub(crate) lingered: bool,
    pub(crate) stdout: &'a str,
    pub(crate) stderr: &'a str,
    /// Content of its answer file.
    pub(crate) file: Option<&'a str>,
}

/// What was found in it.
#[derive(Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) answer: Result<String, Trouble>,
    /// The answer stood inside the program's own result object.
    pub(crate) enveloped: bool,
    pub(crate) usage: TokenUsage,
    /// What each request to the model used, where the program tells.
    pub(crate) requests: Vec<TokenUsage>,
}

/// Why there is no answer, with what the program said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The program failed.
    Failed(String),
    /// It ran well and has nothing that can be used; asking again may help.
    Unusable(String),
    /// The model would not answer, and asking again is in vain.
    Refused(String),
}

/// The agent of that kind; none for the built-in checks, which are no program.
pub fn by_kind(kind: AgentKind) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.kind == kind)
}

/// Which agent reviews when none is configured, and how that was decided: `inferred` or `default`.
pub fn infer(config: &AgentConfig, ci: bool, path: Option<&OsStr>) -> (AgentKind, &'static str) {
    let named = |agent: &&Agent| {
        (agent.custom)(config).is_some() || (agent.kind == AgentKind::Codex && config.proxy_url.is_some())
    };
    if let Some(agent) = AGENTS.iter().find(named) {
        return (agent.kind, "inferred");
    }
    let installed = |name: &str| find_program(name, path, Path::new("/"));
    if installed("cursor-agent").is_some() || installed("agent").is_some_and(|file| cursor::is_cursor(&file)) {
        (AgentKind::Cursor, "inferred")
    } else if installed("codex").is_some() {
        (AgentKind::Codex, "inferred")
    } else if ci {
        (AgentKind::Cursor, "default")
    } else {
        (AgentKind::Builtin, "default")
    }
}

/// Time an agent may take so that the job can still record and report; `None` when the job has no known end.
pub fn time_left(ci: &CiContext, now: OffsetDateTime) -> Option<Duration> {
    let timeout = Duration::from_secs(ci.job_timeout_seconds?);
    let started = OffsetDateTime::parse(ci.job_started_at.as_deref()?, &Rfc3339).ok()?;
    let gone = Duration::try_from(now - started).unwrap_or_default();
    let reserve = (timeout / 10).clamp(Duration::from_secs(15), Duration::from_secs(120));
    Some(timeout.saturating_sub(gone).saturating_sub(reserve))
}

impl Agent {
    /// Its name as the configuration spells it.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Whether the configuration says how to start it.
    pub fn is_custom(&self, config: &AgentConfig) -> bool {
        (self.custom)(config).is_some()
    }

    /// Most characters of a prompt that are sure to fit.
    pub fn max_prompt_chars(&self) -> Option<usize> {
        self.max_prompt.map(|limit| match limit {
            Limit::Chars(most) => most,
            Limit::Bytes(most) => most / 4,
        })
    }

    /// Variables that hold the key it would be logged in by: a proxy has one of its own.
    pub fn keys_for(&self, config: &AgentConfig) -> &'static [&'static str] {
        match (self.kind, &config.proxy_url) {
            (AgentKind::Codex, Some(_)) => &[codex::PROXY_KEY],
            _ => self.keys,
        }
    }

    fn check_size(&self, prompt: &Redacted) -> Result<()> {
        let (size, most, unit) = match self.max_prompt {
            Some(Limit::Chars(most)) => (prompt.as_str().chars().count(), most, "characters"),
            Some(Limit::Bytes(most)) => (prompt.as_str().len(), most, "bytes"),
            None => return Ok(()),
        };
        if size <= most {
            return Ok(());
        }
        Err(Error::AgentExec(
            Failure::new(format!(
                "agent `{}` was not started: the prompt has {size} {unit}, it takes {most}",
                self.name()
            ))
            .help("lower limits.max_diff_chars")
            .with("agent", self.name()),
        ))
    }
}

impl Start<'_> {
    /// Writes a file that the program shall find beside its working directory.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        self.room.write(name, text.as_bytes()).map_err(|error| attempt::no_room(self.agent, &error))
    }

    /// Makes a folder for the program.
    pub(crate) fn make_folder(&self, name: &str) -> Result<PathBuf> {
        self.room.make_folder(name).map_err(|error| attempt::no_room(self.agent, &error))
    }

    /// The child's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.room.home(self.env)
    }

    /// Sets a variable of the child.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.set.push((name, value.into()));
    }

    /// Variables that only the server of the reading tools reads.
    pub(crate) fn eyes_env(&self) -> serde_json::Map<String, Value> {
        let env = self.eyes.into_iter().flat_map(|eyes| &eyes.env);
        env.map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
    }

    /// The command line of that server.
    pub(crate) fn eyes_command(&self) -> Option<(String, &[String])> {
        self.eyes.map(|eyes| (eyes.program.to_string_lossy().into_owned(), eyes.args.as_slice()))
    }

    /// Hands the configured model over; it wins over one in a custom command.
    pub(crate) fn set_model(&mut self, names: &[&str]) {
        if let Some(model) = &self.config.model {
            self.argv.set(names, model);
        }
    }
}

impl Left<'_> {
    /// What the program said last: on stderr, else on stdout.
    pub(crate) fn said(&self) -> String {
        let words = [self.stderr, self.stdout].into_iter().map(str::trim).find(|words| !words.is_empty());
        tail(words.unwrap_or_default()).to_owned()
    }

    /// A sentence, and what the program said last.
    pub(crate) fn with_said(&self, sentence: &str) -> String {
        match self.said().as_str() {
            "" => sentence.to_owned(),
            said => format!("{sentence}; it said: {said}"),
        }
    }
}

/// The last JSON object of that shape: a line, else the whole text.
pub(crate) fn last_object<T: DeserializeOwned>(text: &str) -> Option<T> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty())?;
    serde_json::from_str(last).or_else(|_| serde_json::from_str(text)).ok()
}

/// The last words of a text: what a program says at its end is why it ended. None is cut in two: it may be a secret.
fn tail(text: &str) -> &str {
    let Some((at, _)) = text.char_indices().rev().nth(TAIL) else { return text };
    let rest = &text[at..];
    rest.find(char::is_whitespace).map_or("", |space| rest[space..].trim_start())
}

#[cfg(test)]
mod fixture;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_but_the_built_in_one_is_in_the_table_once() {
        use AgentKind::{Builtin, Claude, Codex, Command, Cursor, Gemini, Opencode};
        for kind in [Claude, Codex, Command, Cursor, Gemini, Opencode] {
            assert_eq!(AGENTS.iter().filter(|agent| agent.kind == kind).count(), 1, "{kind:?}");
        }
        assert!(by_kind(Builtin).is_none());
    }

    #[test]
    fn without_a_configured_agent_its_command_then_what_is_installed_decides() {
        let folder = tempfile::tempdir().unwrap();
        let install = |names: &[&str]| {
            let place = tempfile::tempdir_in(folder.path()).unwrap().keep();
            for name in names {
                std::os::unix::fs::symlink("/bin/true", place.join(name)).unwrap();
            }
            place.into_os_string()
        };
        let command = |key: &str| {
            let text = format!("{key} = \"x\"");
            toml::from_str::<AgentConfig>(&text).unwrap()
        };
        let none = AgentConfig::default();
        let cases = [
            (command("cursor_command"), install(&["codex"]), (AgentKind::Cursor, "inferred")),
            (command("codex_command"), install(&["cursor-agent"]), (AgentKind::Codex, "inferred")),
            (command("proxy_url"), install(&["cursor-agent"]), (AgentKind::Codex, "inferred")),
            (command("claude_command"), install(&[]), (AgentKind::Claude, "inferred")),
            (command("command"), install(&[]), (AgentKind::Command, "inferred")),
            (none.clone(), install(&["codex", "cursor-agent"]), (AgentKind::Cursor, "inferred")),
            (none.clone(), install(&["codex"]), (AgentKind::Codex, "inferred")),
            // Many programs are called `agent`.
            (none.clone(), install(&["agent", "codex"]), (AgentKind::Codex, "inferred")),
            (none.clone(), install(&["claude"]), (AgentKind::Builtin, "default")),
        ];
        for (config, path, want) in cases {
            assert_eq!(infer(&config, false, Some(&path)), want);
        }
        assert_eq!(infer(&none, true, Some(&install(&[]))), (AgentKind::Cursor, "default"));
    }

    #[test]
    fn the_job_keeps_time_for_itself() {
        let now = OffsetDateTime::parse("2026-01-01T00:10:00Z", &Rfc3339).unwrap();
        let cases = [
            (Some(3600), Some("2026-01-01T00:00:00Z"), Some(3600 - 600 - 120)),
            (Some(660), Some("2026-01-01T00:00:00Z"), Some(0)),
            (Some(700), Some("2026-01-01T02:10:00+02:00"), Some(700 - 70)),
            (Some(60), Some("2026-01-01T00:10:00Z"), Some(45)),
            (Some(60), Some("2025-01-01T00:10:00Z"), Some(0)),
            (None, Some("2026-01-01T00:00:00Z"), None),
            (Some(3600), None, None),
            (Some(3600), Some("yesterday"), None),
        ];
        for (timeout, started, want) in cases {
            let ci = CiContext {
                job_timeout_seconds: timeout,
                job_started_at: started.map(str::to_owned),
                ..CiContext::default()
            };
            assert_eq!(time_left(&ci, now).map(|left| left.as_secs()), want, "{timeout:?} {started:?}");
        }
    }

    #[test]
    fn a_prompt_that_is_too_long_is_refused_before_the_start() {
        let engine = crate::redact::Engine::new(&crate::redact::Settings::default(), []).unwrap();
        let prompt = |length| engine.redact(crate::redact::Output::Prompt, &"ä".repeat(length));
        assert!(codex::AGENT.check_size(&prompt(1_048_576)).is_ok());
        let error = codex::AGENT.check_size(&prompt(1_048_577)).unwrap_err();
        assert!(error.to_string().contains("the prompt has 1048577 characters, it takes 1048576"), "{error}");
        assert!(gemini::AGENT.check_size(&prompt(4 * 1024 * 1024 + 1)).is_err(), "it counts bytes");
    }

    #[test]
    fn a_programs_last_words_are_its_last() {
        let long = format!("{} the end", "x".repeat(5_000));
        let left = Left { exit_code: Some(1), lingered: false, stdout: "out", stderr: &long, file: None };
        assert_eq!(left.said(), "the end", "no word is cut in two");
        assert_eq!(Left { stderr: " \n", ..left }.said(), "out");
    }
}
