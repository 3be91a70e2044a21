//! A merge request as a job sees it: a target project with a policy, a branch, a checkout of it, and GitLab.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::forge::url;
use crate::gitlab::{FakeGitLab, MR, PROJECT, TOKEN};
use crate::sandbox::{Finished, Sandbox, read_json};

/// The line of the change that a reviewer has to see.
pub(crate) const WICKED: &str = "    return eval(wicked_input)";

/// Everything around one job.
pub(crate) struct Scene {
    pub(crate) sandbox: Sandbox,
    pub(crate) gitlab: FakeGitLab,
    pub(crate) base: String,
    pub(crate) head: String,
    agent: PathBuf,
}

impl Scene {
    /// A target with these files on `main`, and a branch `topic` that adds [`WICKED`] and whatever `branch` does to it.
    pub(crate) fn new(policy: &[(&str, &str)], branch: impl FnOnce(&Sandbox)) -> Self {
        let sandbox = Sandbox::bare();
        let base = lay_out(&sandbox, policy);
        let (repo, root) = (sandbox.repo(), sandbox.root());
        std::fs::write(repo.join(".git/refs/heads/topic"), format!("{base}\n")).unwrap();
        std::fs::write(repo.join(".git/HEAD"), "ref: refs/heads/topic\n").unwrap();
        sandbox.write(
            "src/app.py",
            format!("def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three(wicked_input):\n{WICKED}\n"),
        );
        branch(&sandbox);
        let head = sandbox.commit("change");
        // The target project, and the job's checkout, as the runner would have made them.
        copy(&repo.join(".git"), &root.join("origin.git"));
        std::fs::write(root.join("origin.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let config = std::fs::read_to_string(root.join("origin.git/config")).unwrap();
        std::fs::write(root.join("origin.git/config"), config.replace("bare = false", "bare = true")).unwrap();
        copy(&repo, &root.join("job"));
        std::fs::write(root.join("job/.git/HEAD"), format!("{head}\n")).unwrap();
        for name in ["main", "topic"] {
            std::fs::remove_file(root.join("job/.git/refs/heads").join(name)).unwrap();
        }
        let agent = sandbox.script("agent.sh", &agent(sandbox.root()));
        let gitlab = FakeGitLab::start(&sandbox.root().join("origin.git"), &base, &head);
        Self { sandbox, gitlab, base, head, agent }
    }

    /// The job's checkout.
    pub(crate) fn job(&self) -> PathBuf {
        self.sandbox.root().join("job")
    }

    pub(crate) fn origin(&self) -> PathBuf {
        self.sandbox.root().join("origin.git")
    }

    pub(crate) fn workdir(&self) -> PathBuf {
        self.job().join(".diffsan")
    }

    /// Changes `main` of the target after the branch was cut.
    pub(crate) fn on_main(&self, change: impl FnOnce(&Sandbox)) -> String {
        self.sandbox.git(&["checkout", "-q", "main"]);
        change(&self.sandbox);
        let tip = self.sandbox.commit("on main");
        self.sandbox.git(&["push", "-q", "origin", "main"]);
        tip
    }

    /// The binary as the job of a merge request pipeline starts it; the job itself names agent and gate.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.plain_command(args);
        command.env("DIFFSAN_AGENT__AGENT", "command").env("DIFFSAN_AGENT__COMMAND", &self.agent);
        command
    }

    /// The same, but the job says nothing about the agent.
    pub(crate) fn plain_command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(args);
        command
            .current_dir(self.job())
            .env("GITLAB_CI", "true")
            .env("CI_API_V4_URL", format!("{}/api/v4", self.gitlab.url()))
            .env("CI_PROJECT_ID", PROJECT.to_string())
            .env("CI_PROJECT_DIR", self.job())
            .env("CI_REPOSITORY_URL", url(&self.origin()))
            .env("CI_DEFAULT_BRANCH", "main")
            .env("CI_MERGE_REQUEST_PROJECT_ID", PROJECT.to_string())
            .env("CI_MERGE_REQUEST_IID", MR.to_string())
            .env("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "topic")
            .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &self.base)
            .env("CI_COMMIT_SHA", &self.head)
            .env("GITLAB_TOKEN", TOKEN);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        Finished::of(self.command(args).output().unwrap())
    }

    pub(crate) fn record(&self) -> Value {
        read_json(&self.workdir().join("run.json"))
    }

    pub(crate) fn artifact_text(&self, name: &str) -> String {
        std::fs::read_to_string(self.workdir().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// What the agent was told, if it was asked.
    pub(crate) fn prompt(&self) -> Option<String> {
        std::fs::read_to_string(self.sandbox.root().join("prompt")).ok()
    }

    /// Files that a program of the branch would have left.
    pub(crate) fn traces(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_name().to_string_lossy().starts_with("pwned") {
                    found.push(path.clone());
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    walk(&path, found);
                }
            }
        }
        let mut found = Vec::new();
        walk(self.sandbox.root(), &mut found);
        found
    }
}

/// A repository on `main` with these files in it; its newest commit. Made once for each policy, and then copied:
/// a test is quick when it starts few processes.
fn lay_out(sandbox: &Sandbox, policy: &[(&str, &str)]) -> String {
    static MADE: LazyLock<Mutex<HashMap<String, Sandbox>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let model = made.entry(format!("{policy:?}")).or_insert_with(|| {
        let model = Sandbox::new();
        for (path, text) in policy {
            model.write(path, text);
        }
        model.commit("policy");
        model
    });
    std::fs::remove_dir(sandbox.repo()).unwrap();
    copy(&model.repo(), &sandbox.repo());
    drop(made);
    let config = sandbox.repo().join(".git/config");
    let origin = url(&sandbox.root().join("origin.git"));
    let remote = format!("[remote \"origin\"]\n\turl = {origin}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n");
    std::fs::write(&config, std::fs::read_to_string(&config).unwrap() + &remote).unwrap();
    std::fs::read_to_string(sandbox.repo().join(".git/refs/heads/main")).unwrap().trim().to_owned()
}

/// Copies a folder with its links and permissions.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (kind, place) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &place);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path()).unwrap(), place).unwrap();
        } else {
            std::fs::copy(entry.path(), place).unwrap();
        }
    }
}

/// An honest reviewer: it reports the wicked line when it is shown it.
fn agent(root: &Path) -> String {
    let finding = json!({
        "severity": "high", "category": "security", "path": "src/app.py", "line_start": 10, "line_end": 10,
        "body_markdown": "The input is executed.", "quote": WICKED.trim(), "change_anchor": null, "suggested_patch": null,
    });
    let found = json!({ "summary_markdown": "One thing.", "findings": [finding] });
    let clean = json!({ "summary_markdown": "Nothing.", "findings": [] });
    format!(
        "#!/bin/sh\ncat > '{0}/prompt'\nif grep -q 'eval(wicked_input)' '{0}/prompt'; then\ncat <<'END'\n{found}\nEND\nelse\n\
         cat <<'END'\n{clean}\nEND\nfi\n",
        root.display()
    )
}
