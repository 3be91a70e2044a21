//! A start of an agent that never happens, for the tests of its command line.

use super::login::Login;
use super::room::Room;
use super::{Agent, Eyes, Start, attempt};
use crate::config::Environment;
use crate::contracts::AgentConfig;

pub(super) struct Fixture {
    agent: &'static Agent,
    folder: tempfile::TempDir,
    pub(super) catalogue: Option<serde_json::Value>,
    pub(super) eyes: Option<Eyes>,
    pub(super) budget: Option<f64>,
}

impl Fixture {
    pub(super) fn new(agent: &'static Agent) -> Self {
        Self {
            agent,
            folder: tempfile::tempdir().unwrap(),
            catalogue: Some(serde_json::json!({"models": [{"slug": "known"}]})),
            eyes: None,
            budget: None,
        }
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
        let schema = serde_json::json!({"type": "object"});
        let mut start = Start {
            agent: self.agent,
            config,
            env: &env,
            room: &room,
            login: Login::None,
            catalogue: self.catalogue.as_ref(),
            schema: &schema,
            eyes: self.eyes.as_ref(),
            budget: self.budget,
            argv,
            set: Vec::new(),
        };
        (self.agent.prepare)(&mut start).unwrap();
        look(&start)
    }
}
