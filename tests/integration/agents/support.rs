//! What the agent tests share: a stage for one review, and the real programs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use diffsan::agent::{self, Answered, Eyes, Purse, Question, Request};
use diffsan::config::Environment;
use diffsan::contracts::{AgentKind, AppConfig, ErrorInfo};
use diffsan::redact::{Engine, Output, Settings};
use diffsan::run::console::Console;
use diffsan::run::events::Events;
use diffsan::run::workdir::{Forbidden, Part, Workdir};
use diffsan::validate::Form;
use serde_json::Value;
use tempfile::TempDir;

/// Longest wait for something that must happen soon.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A review that holds.
pub(crate) const REPLY: &str = include_str!("../../../fixtures/agents/answers/one_finding.json");

/// A secret of the job that no agent may see.
pub(crate) const JOB_SECRET: &str = "synthetic-job-secret-4711";

/// Waits until a condition holds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < end, "not within {SOON:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether no process of that number does anything any more.
pub(crate) fn is_gone(pid: &str) -> bool {
    std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z')))
        .unwrap_or(true)
}

/// Everything one review needs, in a folder of its own: a checkout, a home, a workdir.
pub(crate) struct Stage {
    pub(crate) root: TempDir,
    pub(crate) config: AppConfig,
    pub(crate) time_left: Option<Duration>,
    pub(crate) eyes: Option<Eyes>,
    pub(crate) prompt: String,
    kind: AgentKind,
    env: Vec<(String, String)>,
}

impl Stage {
    pub(crate) fn new(kind: AgentKind) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["repo/.git", "home", "tmp"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        let mut stage = Self {
            config: AppConfig::default(),
            time_left: None,
            eyes: None,
            kind,
            env: Vec::new(),
            prompt: format!("Review this change.\n{}", include_str!("../../../fixtures/agents/change.diff")),
            root,
        };
        stage.config.agent.model = Some("test-model".into());
        let (home, tmp) = (stage.path("home"), stage.path("tmp"));
        for (name, value) in [("PATH", path.as_str()), ("HOME", &home), ("TMPDIR", &tmp), ("LC_ALL", "C.UTF-8")] {
            stage.set(name, value);
        }
        for name in ["GITLAB_TOKEN", "CI_JOB_TOKEN", "CI_REGISTRY_PASSWORD", "DB_PASSWORD"] {
            stage.set(name, JOB_SECRET);
        }
        stage
    }

    /// Sets a variable of diffsan's own environment.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.into(), value.into()));
    }

    /// A path below the stage.
    pub(crate) fn path(&self, name: &str) -> String {
        self.root.path().join(name).to_string_lossy().into_owned()
    }

    /// Writes a file below the stage.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Reviews; a failure comes as it would be recorded.
    pub(crate) async fn review(&self) -> Result<Answered, ErrorInfo> {
        let engine = Arc::new(Engine::new(&Settings { enabled: true, ..Settings::default() }, []).unwrap());
        let start = self.root.path().join("repo");
        let forbidden = Forbidden { current: start.clone(), ..Forbidden::default() };
        let workdir = Workdir::create(Path::new(".diffsan"), &forbidden, Arc::clone(&engine)).unwrap();
        let file = workdir.events_file().unwrap();
        let events = Events::new("test".into(), Some(file), Console::default(), Arc::clone(&engine));
        let request = Request {
            agent: agent::by_kind(self.kind).unwrap(),
            config: &self.config,
            env: &Environment::from_pairs(self.env.clone()),
            start: &start,
            time_left: self.time_left,
            eyes: self.eyes.clone(),
            purse: &Purse::new(self.config.agent.max_cost_usd),
            engine: &engine,
            workdir: &workdir,
            events: &events,
        };
        let question = Question {
            prompt: &engine.redact(Output::Prompt, &self.prompt),
            form: &Form::review(),
            attempts: self.config.agent.max_json_retries.get(),
            part: Part::Only,
        };
        agent::ask(&request, &question).await.map_err(|error| error.info(&engine))
    }

    /// An artifact's text.
    pub(crate) fn artifact(&self, name: &str) -> String {
        let path = self.root.path().join("repo/.diffsan").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn has_artifact(&self, name: &str) -> bool {
        self.root.path().join("repo/.diffsan").join(name).exists()
    }

    /// A JSON artifact.
    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.artifact(name)).unwrap()
    }

    /// The `agent.attempt` events.
    pub(crate) fn attempts(&self) -> Vec<Value> {
        let events = self.artifact("events.jsonl");
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.filter(|event| event["event"] == "agent.attempt").map(|event| event["data"].clone()).collect()
    }

    /// Nothing that was started in this stage is still there.
    #[track_caller]
    pub(crate) fn assert_no_process_left(&self) {
        let root = self.root.path().to_string_lossy().into_owned();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let environ = String::from_utf8_lossy(&environ);
            assert!(
                !(environ.contains("DIFFSAN_CHILD=") && environ.contains(&root)),
                "{} is still there: {:?}",
                entry.path().display(),
                std::fs::read_to_string(entry.path().join("cmdline"))
            );
        }
    }

    /// No private folder is left.
    #[track_caller]
    pub(crate) fn assert_no_folder_left(&self) {
        let left: Vec<_> =
            std::fs::read_dir(self.root.path().join("tmp")).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The folder with the real programs; without them a test says so and does not run, except in CI, where it fails.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/agent-clis/node_modules/.bin");
    let file = folder.join(program);
    if file.exists() {
        return Some(file);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing: run .ci/setup", file.display());
    let text = format!("\n*** NOT RUN: {program} is not installed; .ci/setup installs it from npm ***\n\n");
    // Written past the test harness, which would hide it.
    std::io::stderr().write_all(text.as_bytes()).unwrap();
    None
}
