//! A hermetic place to run the binary in: its own HOME, no user git config, fixed dates, a scrubbed environment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The date of every commit.
const DATE: &str = "2026-01-02T03:04:05Z";

/// A temporary folder with a home, and a repository in it.
pub(crate) struct Sandbox {
    root: tempfile::TempDir,
}

/// What a finished run of the binary left.
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    /// A sandbox whose `repo` folder is no repository yet.
    pub(crate) fn bare() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["home", "repo", "tmp"] {
            std::fs::create_dir(root.path().join(folder)).unwrap();
        }
        Self { root }
    }

    /// A repository on `main` with one commit.
    pub(crate) fn new() -> Self {
        let sandbox = Self::bare();
        sandbox.git(&["init", "-q", "-b", "main"]);
        sandbox.write("README.md", "# a project\n");
        sandbox.write("src/app.py", "def one():\n    return 1\n\n\ndef two():\n    return 2\n");
        sandbox.commit("start");
        sandbox
    }

    /// A repository with a branch `topic` that adds one harmless line to `src/app.py`.
    pub(crate) fn with_change() -> Self {
        let sandbox = Self::new();
        sandbox.git(&["checkout", "-q", "-b", "topic"]);
        sandbox.write(
            "src/app.py",
            "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n",
        );
        sandbox.commit("add three");
        sandbox
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.root.path().join("repo")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn workdir(&self) -> PathBuf {
        self.repo().join(".diffsan")
    }

    /// Writes a file below the repository.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.repo().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// An executable script below the sandbox's root, not in the repository.
    pub(crate) fn script(&self, name: &str, content: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Commits everything; returns the new commit's id.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// Runs git in the repository; its output.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo(), args)
    }

    pub(crate) fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.hermetic("git").args(args).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The binary with these arguments, in the repository, not started yet.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.hermetic(env!("CARGO_BIN_EXE_diffsan"));
        command.args(args).current_dir(self.repo()).stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Finished {
        Finished::of(self.command(args).output().unwrap())
    }

    /// A child process with its outputs captured.
    pub(crate) fn spawn<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// An artifact of the default workdir.
    pub(crate) fn artifact(&self, name: &str) -> Value {
        read_json(&self.workdir().join(name))
    }

    pub(crate) fn artifact_text(&self, name: &str) -> String {
        std::fs::read_to_string(self.workdir().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The events of the default workdir.
    pub(crate) fn events(&self) -> Vec<Value> {
        read_events(&self.workdir())
    }

    /// A program with nothing of the outer environment but PATH.
    pub(crate) fn hermetic(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("TMPDIR", self.root.path().join("tmp"))
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A Developer")
            .env("GIT_AUTHOR_EMAIL", "dev@example.invalid")
            .env("GIT_COMMITTER_NAME", "A Developer")
            .env("GIT_COMMITTER_EMAIL", "dev@example.invalid")
            .env("GIT_AUTHOR_DATE", DATE)
            .env("GIT_COMMITTER_DATE", DATE);
        command
    }
}

impl Finished {
    pub(crate) fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        Self {
            code: output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0)),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Fails with both outputs when the exit code is another one.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }
}

pub(crate) fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()))
}

pub(crate) fn read_events(workdir: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(workdir.join("events.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}
