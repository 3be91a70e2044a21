//! A start of an agent that never happens, for the tests of its command line.

use super::room::{Home, Room};
use super::{Agent, Start, attempt};
use crate::config::Environment;
use crate::contracts::AgentConfig;

pub(super) struct Fixture {
    agent: &'static Agent,
    folder: tempfile::TempDir,
    home: Home,
}

impl Fixture {
    pub(super) fn new(agent: &'static Agent) -> Self {
        Self { agent, folder: tempfile::tempdir().unwrap(), home: Home::Private }
    }

    /// One that starts with the user's own home.
    pub(super) fn at_home(agent: &'static Agent) -> Self {
        Self { home: Home::Users, ..Self::new(agent) }
    }

    /// The command line as one text.
    pub(super) fn words(&self, config: &AgentConfig, variables: &[(&str, &str)]) -> String {
        self.start(config, variables, |start| start.argv.words().join(" "))
    }

    /// A variable that the child gets.
    pub(super) fn variable(&self, config: &AgentConfig, variables: &[(&str, &str)], name: &str) -> String {
        self.start(config, variables, |start| {
            let (_, value) = start.set.iter().find(|(known, _)| *known == name).unwrap();
            value.to_str().unwrap().to_owned()
        })
    }

    fn start<T>(&self, config: &AgentConfig, variables: &[(&str, &str)], look: impl Fn(&Start<'_>) -> T) -> T {
        let env = Environment::from_pairs(variables.iter().copied());
        let room = Room::new(self.folder.path(), self.folder.path().to_str()).unwrap();
        let argv = attempt::command_line(self.agent, config, None, self.folder.path()).unwrap();
        let mut start =
            Start { agent: self.agent, config, env: &env, room: &room, home: self.home, argv, set: Vec::new() };
        (self.agent.prepare)(&mut start).unwrap();
        look(&start)
    }
}
