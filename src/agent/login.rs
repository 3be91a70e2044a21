//! What logs a program in: a key in the environment, else the smallest part of the user's own login that does. It is
//! handed over for one run and never written back.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Agent;
use super::room::Room;
use crate::config::Environment;
use crate::contracts::AppConfig;

/// No login is larger.
const MOST: u64 = 256 * 1024;

/// How a program would be logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// By a variable of the environment.
    Key(&'static str),
    /// By what the user's own login left in this file.
    File(PathBuf),
    /// It was logged in once; that has run out.
    Expired(PathBuf),
    /// By nothing that diffsan knows of.
    None,
}

impl std::fmt::Display for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(name) => write!(f, "{name} is set"),
            Self::File(path) => write!(f, "the login in {}", path.display()),
            Self::Expired(path) => write!(f, "the login in {} has expired", path.display()),
            Self::None => f.write_str("no key and no login was found"),
        }
    }
}

/// The user's own folders, as far as a login is looked for in them.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    home: PathBuf,
    env: Vec<(&'static str, PathBuf)>,
}

impl Own {
    /// Those of the environment; none in CI, where a key logs in, and none inside the checkout.
    pub(crate) fn find(env: &Environment, ci: bool, is_outside: impl Fn(&str) -> bool) -> Option<Self> {
        const NAMED: [&str; 5] =
            ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"];
        if ci {
            return None;
        }
        let folder = |name: &str| env.get(name).filter(|folder| is_outside(folder)).map(PathBuf::from);
        let home = folder("HOME")?;
        Some(Self { home, env: NAMED.iter().filter_map(|name| Some((*name, folder(name)?))).collect() })
    }

    /// A file of the user's: below the folder that a variable names, else below the home.
    pub(crate) fn path(&self, variable: Option<(&str, &str)>, in_home: &str) -> PathBuf {
        let named = variable.and_then(|(name, file)| {
            let (_, folder) = self.env.iter().find(|(known, _)| *known == name)?;
            Some(folder.join(file))
        });
        named.unwrap_or_else(|| self.home.join(in_home))
    }
}

/// The text of a small regular file.
pub(crate) fn text(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MOST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// A small JSON file.
pub(crate) fn json(path: &Path) -> Option<Value> {
    serde_json::from_str(&text(path)?).ok()
}

/// How an agent would be logged in, without handing anything over.
pub(super) fn of(agent: &Agent, config: &AppConfig, env: &Environment, room: &Room) -> Login {
    let keys = agent.keys_for(&config.agent);
    if let Some(name) = keys.iter().find(|name| env.get(name).is_some_and(|value| !value.is_empty())) {
        return Login::Key(name);
    }
    // What logs a user in at the vendor is never shown to a proxy.
    let own = Own::find(env, config.mode.ci, |folder| room.is_outside(folder));
    match own.filter(|_| config.agent.proxy_url.is_none()) {
        Some(own) => (agent.login)(&own).map_or(Login::None, |(login, _)| login),
        None => Login::None,
    }
}

/// What is handed to the child of a login.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Handed {
    /// Variables it gets.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// Files below its home, each with its text.
    pub(crate) files: Vec<(&'static str, String)>,
}

impl Handed {
    pub(crate) fn variable(name: &'static str, value: &str) -> Self {
        Self { variables: vec![(name, value.to_owned())], files: Vec::new() }
    }

    pub(crate) fn file(name: &'static str, text: String) -> Self {
        Self { variables: Vec::new(), files: vec![(name, text)] }
    }
}

/// `NAME=value` in a file of variables, quotes removed.
pub(crate) fn assigned(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let line = line.trim().strip_prefix("export ").unwrap_or(line.trim());
        let value = line.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim();
        let value = value.trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_a_file_of_variables() {
        let text = "# comment\nexport GEMINI_API_KEY = 'one'\nGEMINI_API_KEY_OLD=two\nEMPTY=\n";
        assert_eq!(assigned(text, "GEMINI_API_KEY").as_deref(), Some("one"));
        assert_eq!(assigned(text, "EMPTY"), None);
        assert_eq!(assigned(text, "GEMINI"), None);
    }
}
