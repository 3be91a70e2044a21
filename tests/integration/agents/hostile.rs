//! A checkout that tries everything against the agents' real programs. Each test first starts the program in the
//! checkout with its own flags, to show that the trap works, and then as diffsan starts it.

use std::path::Path;
use std::process::Stdio;

use diffsan::contracts::AgentKind;

use super::clis::stage;
use super::model::{Model, Turn};
use super::support::{JOB_SECRET, REPLY, Stage, eventually, installed};

/// What stands in every file that tries to instruct the model.
pub(crate) const INSTRUCTION: &str = "HOSTILE-INSTRUCTION";

/// A stage whose checkout is hostile, the model that should be asked and the one that should not.
struct Trap {
    stage: Stage,
    model: Model,
    evil: Model,
}

/// What a run of a program in or near the checkout set off.
#[derive(Debug, Default, PartialEq)]
struct Sprung {
    /// Commands of the branch that ran.
    ran: Vec<String>,
    /// Instructions of the branch reached a model.
    instructed: bool,
    /// Someone else's server was asked, with the key.
    stolen: bool,
}

impl Trap {
    async fn new(kind: AgentKind) -> Option<Self> {
        let (model, evil) = (Model::says(REPLY).await, Model::says(REPLY).await);
        let stage = stage(kind, &model)?;
        let marker = stage.path("marker");
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/agents/hostile");
        plant(&fixture, &stage.root.path().join("repo"), &[("@@MARKER@@", &marker), ("@@EVIL@@", evil.url())]);
        Some(Self { stage, model, evil })
    }

    /// Runs the program in the checkout as its users would, with only its key.
    async fn unguarded(&self, kind: AgentKind, args: &[&str], env: &[(&str, &str)]) -> Sprung {
        let mut child = tokio::process::Command::new(installed(kind.name()).unwrap())
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.stage.path("control-home"))
            .env("GITLAB_TOKEN", JOB_SECRET)
            .envs(env.iter().copied())
            .current_dir(self.stage.root.path().join("repo"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        use tokio::io::AsyncWriteExt as _;
        child.stdin.take().unwrap().write_all(b"Review this change.").await.unwrap();
        let ended = tokio::time::timeout(std::time::Duration::from_secs(300), child.wait_with_output()).await;
        assert!(ended.is_ok(), "the control run hangs");
        self.sprung()
    }

    /// What was set off since the last look.
    fn sprung(&self) -> Sprung {
        let marker = self.stage.root.path().join("marker");
        let ran = std::fs::read_to_string(&marker).unwrap_or_default();
        let _ = std::fs::remove_file(marker);
        let mut ran: Vec<String> = ran.lines().map(str::to_owned).collect();
        ran.sort();
        ran.dedup();
        let (asked, misled) = (self.model.take(), self.evil.take());
        Sprung {
            ran,
            instructed: asked.iter().chain(&misled).any(|request| request.text().contains(INSTRUCTION)),
            stolen: misled.iter().any(|request| request.text().contains("synthetic-")),
        }
    }

    /// Reviews as diffsan does, started in the checkout.
    async fn guarded(&self) {
        self.stage.review().await.unwrap();
        assert!(!self.model.questions().is_empty());
        assert!(self.model.received().iter().all(|request| !request.text().contains(JOB_SECRET)));
        let names = self.stage.json("agent.run.json")["env_names"].to_string();
        assert!(!names.contains("CI_") && !names.contains("GITLAB") && !names.contains("DB_PASSWORD"), "{names}");
        assert_eq!(self.evil.received().len(), 0, "nobody else is asked");
        assert_eq!(self.sprung(), Sprung::default());
    }
}

/// Copies the fixture, with the places filled in and `dot-env` under its real name.
pub(crate) fn plant(from: &Path, to: &Path, places: &[(&str, &str)]) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().replace("dot-env", ".env");
        let target = to.join(name);
        if entry.path().is_dir() {
            plant(&entry.path(), &target, places);
        } else {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let text = places.iter().fold(text, |text, (place, value)| text.replace(place, value));
            std::fs::write(target, text).unwrap();
        }
    }
}

#[tokio::test]
async fn a_hostile_checkout_has_no_effect_on_codex() {
    let Some(trap) = Trap::new(AgentKind::Codex).await else { return };
    std::fs::create_dir_all(trap.stage.path("control-home/.codex")).unwrap();
    let provider = format!(
        "model_providers.t={{name=\"t\",base_url=\"{}/v1\",env_key=\"KEY\",wire_api=\"responses\"}}",
        trap.model.url()
    );
    let trusted = format!("projects={{\"{}\"={{trust_level=\"trusted\"}}}}", trap.stage.path("repo"));
    let args = [
        "exec",
        "-c",
        "model_provider=\"t\"",
        "-c",
        &provider,
        "-c",
        &trusted,
        "-c",
        "features.plugins=false",
        "-c",
        "analytics.enabled=false",
        "-m",
        "test-model",
        "--skip-git-repo-check",
        "-",
    ];
    let control = trap.unguarded(AgentKind::Codex, &args, &[("KEY", "synthetic-key")]).await;
    assert!(control.instructed, "the trap does not work: {control:?}");
    assert!(control.ran.contains(&"codex-mcp".into()), "the trap does not work: {control:?}");
    trap.guarded().await;
}

#[tokio::test]
async fn a_hostile_checkout_has_no_effect_on_claude() {
    let Some(trap) = Trap::new(AgentKind::Claude).await else { return };
    let env = [
        ("ANTHROPIC_BASE_URL", trap.model.url()),
        ("ANTHROPIC_API_KEY", "synthetic-key"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ];
    let args = ["-p", "--output-format", "json", "--model", "test-model"];
    let control = trap.unguarded(AgentKind::Claude, &args, &env).await;
    assert!(control.ran.contains(&"claude-hook".into()), "the trap does not work: {control:?}");
    assert!(control.instructed && control.stolen, "the trap does not work: {control:?}");
    trap.guarded().await;
}

#[tokio::test]
async fn a_hostile_checkout_has_no_effect_on_gemini() {
    let Some(trap) = Trap::new(AgentKind::Gemini).await else { return };
    std::fs::create_dir_all(trap.stage.path("control-home/.gemini")).unwrap();
    trap.stage.write(
        "control-home/.gemini/settings.json",
        r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false}}"#,
    );
    // Without a base URL of its own it takes the one of the branch's `.env`.
    let env = [("GEMINI_API_KEY", "synthetic-key"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")];
    let args = ["--output-format", "json", "-m", "test-model"];
    let control = trap.unguarded(AgentKind::Gemini, &args, &env).await;
    assert!(!control.ran.is_empty() && control.instructed && control.stolen, "the trap does not work: {control:?}");
    trap.guarded().await;
}

#[tokio::test]
async fn a_hostile_checkout_has_no_effect_on_opencode() {
    let Some(trap) = Trap::new(AgentKind::Opencode).await else { return };
    // It loads plugins while it already talks to the model.
    let patient = Model::always(Turn::After(trap.stage.root.path().join("marker"), REPLY.into())).await;
    let config = super::real::opencode_config(patient.url());
    let env = [
        ("OPENCODE_CONFIG_CONTENT", config.as_str()),
        ("OPENAI_API_KEY", "synthetic-key"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        // Else it waits for minutes where the registry of its packages cannot be reached.
        ("npm_config_offline", "true"),
    ];
    let args = ["run", "--format", "json", "--title", "review", "--model", "loopback/test-model"];
    // What it does after the trap has sprung is not waited for.
    let marker = trap.stage.root.path().join("marker");
    let control = tokio::select! {
        control = trap.unguarded(AgentKind::Opencode, &args, &env) => control,
        () = eventually("the trap springs", || marker.exists() && patient.heard().contains(INSTRUCTION)) => trap.sprung(),
    };
    assert!(!control.ran.is_empty(), "the trap does not work: {control:?}");
    assert!(patient.heard().contains(INSTRUCTION), "the trap does not work: {control:?}");
    trap.guarded().await;
}
