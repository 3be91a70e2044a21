//! The one way to run git: a fixed environment, a deadline, no prompt, bytes out.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::config::Environment;
use crate::error::clip;

/// Longest time for a command that stays on this machine.
const LOCAL_DEADLINE: Duration = Duration::from_secs(300);
/// Longest time for a command that talks to a remote.
const REMOTE_DEADLINE: Duration = Duration::from_secs(180);
/// Most bytes of output; a diff beyond this is no change that anyone reviews.
const MAX_OUTPUT: u64 = 1 << 30;
const MAX_STDERR: u64 = 1 << 20;
/// Most characters kept of what git said.
const MAX_WORDS: usize = 2_000;

/// Variables that change what git prints or make it write elsewhere; they go.
const UNWANTED: &[&str] = &["GIT_DIFF_OPTS", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_ATTR_SOURCE", "PAGER"];

/// Settings that keep the user's configuration from changing what git does here.
const SETTINGS: &[&str] = &[
    "core.quotepath=off",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.commitGraph=false",
    "core.askPass=",
    "core.bigFileThreshold=512m",
    "diff.suppressBlankEmpty=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.writeCommitGraph=false",
    "advice.detachedHead=false",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=60",
];

/// Runs git in one folder.
#[derive(Debug, Clone)]
pub struct Git {
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
    trusted: Vec<OsString>,
    deadlines: Deadlines,
    max_output: u64,
    /// Kept for as long as git may read it.
    config_file: Option<Arc<tempfile::TempPath>>,
}

#[derive(Debug, Clone, Copy)]
struct Deadlines {
    local: Duration,
    remote: Duration,
}

/// Why a git command gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not installed, or not on PATH")]
    Missing,
    #[error("git {found} is too old: diffsan needs {} or newer", oldest())]
    TooOld { found: String },
    #[error("could not make a private repository")]
    Private(#[source] std::io::Error),
    #[error("could not start git")]
    Start(#[source] std::io::Error),
    #[error("`{command}` did not end within {seconds} seconds")]
    Deadline { command: String, seconds: u64 },
    #[error("`{command}` printed more than {bytes} bytes")]
    TooMuch { command: String, bytes: u64 },
    #[error("`{command}` failed: {said}")]
    Failed { command: String, said: String },
}

/// What goes with a command besides its arguments.
#[derive(Debug, Default)]
struct Extras<'a> {
    stdin: Option<&'a [u8]>,
    remote: bool,
}

impl Git {
    pub fn new(folder: &Path, environment: &Environment) -> Self {
        let kept = environment.pairs().filter(|(name, _)| is_wanted(name));
        let environment = kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let deadlines = Deadlines { local: LOCAL_DEADLINE, remote: REMOTE_DEADLINE };
        Self {
            folder: folder.to_owned(),
            environment,
            trusted: Vec::new(),
            deadlines,
            max_output: MAX_OUTPUT,
            config_file: None,
        }
    }

    /// Works in this repository although it belongs to another user. A CI job may well run as
    /// another user than the one that cloned for it; on a laptop git's refusal is there to protect.
    #[must_use]
    pub fn trusting(mut self, top: &Path) -> Self {
        self.trusted.push(top.into());
        self
    }

    /// The same permission for versions of git that do not take it from the command line: a
    /// configuration file that adds it to the user's own.
    pub fn trusting_by_file(&self) -> std::io::Result<Self> {
        let mut file = tempfile::Builder::new().prefix("diffsan-git-").tempfile()?;
        let value = |name: &str| {
            let found = self.environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| PathBuf::from(value)).filter(|value| !value.as_os_str().is_empty())
        };
        let home = value("HOME");
        let files = match value("GIT_CONFIG_GLOBAL") {
            Some(file) => vec![file],
            None => {
                let xdg = value("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
                [xdg.map(|folder| folder.join("git/config")), home.map(|home| home.join(".gitconfig"))]
                    .into_iter()
                    .flatten()
                    .collect()
            }
        };
        for path in files {
            writeln!(file, "[include]\n\tpath = {}", quoted(path.as_os_str()))?;
        }
        for folder in &self.trusted {
            writeln!(file, "[safe]\n\tdirectory = {}", quoted(folder))?;
        }
        let file = file.into_temp_path();
        let mut git = self.clone();
        git.trusted.clear();
        git.environment.retain(|(name, _)| name != "GIT_CONFIG_GLOBAL");
        git.environment.push(("GIT_CONFIG_GLOBAL".into(), file.as_os_str().to_owned()));
        git.config_file = Some(Arc::new(file));
        Ok(git)
    }

    /// The version of git, in its own words; an error where it is one that diffsan does not work with.
    pub async fn version(&self) -> Result<String, GitError> {
        let said = self.line(&["--version"]).await?;
        let version = said.strip_prefix("git version ").unwrap_or(&said).to_owned();
        if number(&version) < OLDEST { Err(GitError::TooOld { found: version }) } else { Ok(said) }
    }

    /// Git in a repository of diffsan's own: nobody's configuration and no variable of another repository counts.
    pub(super) fn isolated(&self, repository: &Path, home: &Path) -> Self {
        let mut git = self.clone();
        git.folder = home.to_owned();
        git.trusted.clear();
        let is_kept = |name: &OsStr| name == ALTERNATES || !name.as_bytes().starts_with(b"GIT_");
        git.environment.retain(|(name, _)| is_kept(name));
        git.set("GIT_DIR", repository);
        git.set("GIT_CONFIG_NOSYSTEM", "1");
        git.set("GIT_CONFIG_GLOBAL", "/dev/null");
        // Versions that do not know the variable above look here.
        git.set("HOME", home);
        git.set("XDG_CONFIG_HOME", home);
        git
    }

    /// Git with another index, whose new objects go into another folder.
    pub(super) fn with_store(&self, index: &Path, objects: &Path, borrowed: &OsStr) -> Self {
        let mut git = self.clone();
        let mut alternates = borrowed.to_owned();
        if let Some((_, known)) = self.environment.iter().find(|(name, _)| name == ALTERNATES) {
            alternates.push(":");
            alternates.push(known);
        }
        git.set("GIT_INDEX_FILE", index);
        git.set("GIT_OBJECT_DIRECTORY", objects);
        git.set(ALTERNATES, alternates);
        git
    }

    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.as_ref().to_owned()));
    }

    /// Other deadlines than the usual ones.
    #[must_use]
    pub fn with_deadlines(mut self, local: Duration, remote: Duration) -> Self {
        self.deadlines = Deadlines { local, remote };
        self
    }

    /// Another limit for the output of a command than the usual one.
    #[must_use]
    pub fn with_max_output(mut self, bytes: u64) -> Self {
        self.max_output = bytes;
        self
    }

    /// The same with another index than the repository's own.
    #[must_use]
    pub fn with_index(mut self, index: &Path) -> Self {
        self.environment.retain(|(name, _)| name != "GIT_INDEX_FILE");
        self.environment.push(("GIT_INDEX_FILE".into(), index.as_os_str().to_owned()));
        self
    }

    /// The folder git runs in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Output of a command that stays on this machine.
    pub async fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>, GitError> {
        self.execute(arguments, Extras::default()).await
    }

    /// The same with something on stdin.
    pub async fn run_with<S: AsRef<OsStr>>(&self, arguments: &[S], stdin: &[u8]) -> Result<Vec<u8>, GitError> {
        self.execute(arguments, Extras { stdin: Some(stdin), ..Extras::default() }).await
    }

    /// Output of a command that talks to a remote.
    pub async fn run_remote<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<Vec<u8>, GitError> {
        self.execute(arguments, Extras { remote: true, ..Extras::default() }).await
    }

    /// The first line of a command's output, without blanks around it.
    pub async fn line<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, GitError> {
        let output = self.run(arguments).await?;
        let text = String::from_utf8_lossy(&output);
        Ok(text.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// A git that stays and answers on stdout what it is asked on stdin, until it is dropped.
    pub(super) fn stay<S: AsRef<OsStr>>(
        &self,
        arguments: &[S],
    ) -> Result<(Staying, std::process::ChildStdout), GitError> {
        tracing::debug!(command = shown_command(arguments), "git starts and stays");
        let mut command = self.command(&Extras { stdin: Some(b""), ..Extras::default() });
        // What a partial clone lacks is not fetched object by object.
        command.args(arguments).env("GIT_NO_LAZY_FETCH", "1").stderr(Stdio::null());
        let mut child = command.into_std().spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if self.folder.is_dir() => GitError::Missing,
            _ => GitError::Start(error),
        })?;
        let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok((Staying { stdin, child, _group: Group(group) }, stdout)),
            _ => Err(GitError::Start(std::io::ErrorKind::BrokenPipe.into())),
        }
    }

    async fn execute<S: AsRef<OsStr>>(&self, arguments: &[S], extras: Extras<'_>) -> Result<Vec<u8>, GitError> {
        let shown = || shown_command(arguments);
        tracing::debug!(command = shown(), "git starts");
        let deadline = if extras.remote { self.deadlines.remote } else { self.deadlines.local };
        let mut command = self.command(&extras);
        command.args(arguments);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if self.folder.is_dir() => GitError::Missing,
            _ => GitError::Start(error),
        })?;
        let mut group = Group::of(&child);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let work = async {
            let (_, output, said) = tokio::join!(
                feed(stdin, extras.stdin.unwrap_or_default()),
                drain(stdout, self.max_output),
                drain(stderr, MAX_STDERR),
            );
            // Beyond the limit git may be stuck in a write: it is not waited for.
            let status = if output.is_some() { Some(child.wait().await) } else { None };
            (output, said, status)
        };
        let Ok((output, said, status)) = tokio::time::timeout(deadline, work).await else {
            return Err(GitError::Deadline { command: shown(), seconds: deadline.as_secs() });
        };
        let (Some(output), Some(status)) = (output, status) else {
            return Err(GitError::TooMuch { command: shown(), bytes: self.max_output });
        };
        group.disarm();
        let status = status.map_err(GitError::Start)?;
        if status.success() {
            return Ok(output);
        }
        Err(GitError::Failed { command: shown(), said: words(&said.unwrap_or_default(), status) })
    }

    fn command(&self, extras: &Extras<'_>) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.envs([
            ("LC_ALL", "C"),
            ("LANGUAGE", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_ASKPASS", ""),
            ("SSH_ASKPASS", ""),
            ("SSH_ASKPASS_REQUIRE", "never"),
            ("GCM_INTERACTIVE", "never"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            // No file can be there, and git says nothing about one that is not.
            ("GIT_GRAFT_FILE", "/dev/null/none"),
            ("GIT_PAGER", "cat"),
        ]);
        command.arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        for folder in &self.trusted {
            let mut setting = OsString::from("safe.directory=");
            setting.push(folder);
            command.arg("-c").arg(setting);
        }
        let stdin = if extras.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        command.current_dir(&self.folder).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }
}

/// A git that stays; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Staying {
    pub(super) stdin: std::process::ChildStdin,
    child: std::process::Child,
    _group: Group,
}

impl Drop for Staying {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl GitError {
    /// What git itself said.
    pub fn said(&self) -> &str {
        match self {
            Self::Failed { said, .. } => said,
            _ => "",
        }
    }

    /// Git refuses a repository that belongs to another user.
    pub fn is_dubious_ownership(&self) -> bool {
        self.said().contains("dubious ownership") || self.said().contains("unsafe repository")
    }

    pub fn is_no_repository(&self) -> bool {
        self.said().contains("not a git repository")
    }
}

/// The names in a folder that git tracks, or that have something below them that it does. A folder outside of every
/// repository has none.
pub fn tracked_in(folder: &Path, environment: &Environment) -> Result<BTreeSet<OsString>, GitError> {
    let folder = folder.canonicalize().map_err(GitError::Start)?;
    if !folder.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok()) {
        return Ok(BTreeSet::new());
    }
    let mut git =
        Git::new(&folder, environment).trusting(Path::new("*")).trusting_by_file().map_err(GitError::Private)?;
    // What these name is another repository, or another index, than the folder's own.
    let is_repository =
        |name: &OsStr| ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"].iter().any(|known| name == *known);
    git.environment.retain(|(name, _)| !is_repository(name));
    let arguments = ["ls-files", "--cached", "-z"];
    let output = git.command(&Extras::default()).args(arguments).as_std_mut().output();
    let output = output.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => GitError::Missing,
        _ => GitError::Start(error),
    })?;
    if !output.status.success() {
        let said = words(&output.stderr, output.status);
        return Err(GitError::Failed { command: shown_command(&arguments), said });
    }
    let paths = output.stdout.split(|byte| *byte == 0);
    let first = paths.filter_map(|path| path.split(|byte| *byte == b'/').next().filter(|name| !name.is_empty()));
    Ok(first.map(|name| OsStr::from_bytes(name).to_owned()).collect())
}

/// Takes user names and passwords out of the URLs in a text.
pub(super) fn without_credentials(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        clean.push_str(before);
        let end =
            after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"' | '<' | '>')).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(sign) => {
                clean.push_str("***");
                &after[sign..]
            }
            None => after,
        };
    }
    clean.push_str(rest);
    clean
}

/// The oldest git whose answers are known: its releases before are not tested, and lack options that diffsan uses.
const OLDEST: (u32, u32) = (2, 31);

fn oldest() -> String {
    format!("{}.{}", OLDEST.0, OLDEST.1)
}

/// The first two numbers of a version; of one that cannot be read it is not known that it is old.
fn number(version: &str) -> (u32, u32) {
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
        _ => (u32::MAX, 0),
    }
}

/// Where git finds objects besides the repository's own.
const ALTERNATES: &str = "GIT_ALTERNATE_OBJECT_DIRECTORIES";

/// A value as git's configuration files quote it.
fn quoted(value: &OsStr) -> String {
    let text = value.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}

fn is_wanted(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    !UNWANTED.contains(&name.as_ref()) && !name.starts_with("GIT_TRACE")
}

fn shown_command<S: AsRef<OsStr>>(arguments: &[S]) -> String {
    let mut text = "git".to_owned();
    for argument in arguments {
        text.push(' ');
        text.push_str(&argument.as_ref().to_string_lossy());
    }
    clip(&without_credentials(&text), 300)
}

/// What git said, or how it ended when it said nothing.
fn words(stderr: &[u8], status: std::process::ExitStatus) -> String {
    let said = without_credentials(String::from_utf8_lossy(stderr).trim());
    if said.is_empty() { status.to_string() } else { clip(&said, MAX_WORDS) }
}

/// A command that does not read all of its input is none the worse for it.
async fn feed(stdin: Option<tokio::process::ChildStdin>, bytes: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(bytes).await;
        let _ = stdin.shutdown().await;
    }
}

/// Everything a pipe has, if that is not more than `most` bytes.
async fn drain(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(most.saturating_add(1)).read_to_end(&mut bytes).await;
    }
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// Ends git and whatever it started when nobody waits for it any more.
#[derive(Debug)]
struct Group(Option<rustix::process::Pid>);

impl Group {
    fn of(child: &tokio::process::Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(rustix::process::Pid::from_raw))
    }

    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_by_its_first_two_numbers() {
        for (version, want) in [
            ("2.39.5", (2, 39)),
            ("2.31.1.windows.1", (2, 31)),
            ("2.47.GIT", (2, 47)),
            ("2.39.5 (Apple Git-154)", (2, 39)),
            ("1.8.3.1", (1, 8)),
            ("3.0-rc0", (3, 0)),
            ("of the future", (u32::MAX, 0)),
        ] {
            assert_eq!(number(version), want, "{version}");
        }
    }

    #[test]
    fn no_credentials_of_a_url_are_shown() {
        let cases = [
            (
                "fatal: unable to access 'https://u:p@h/x.git/': no",
                "fatal: unable to access 'https://***@h/x.git/': no",
            ),
            ("https://a:b@c@h/x and ssh://u@h", "https://***@h/x and ssh://***@h"),
            ("https://h/x@y", "https://h/x@y"),
            ("no url", "no url"),
            ("https://u:p@h", "https://***@h"),
            ("://", "://"),
        ];
        for (text, want) in cases {
            assert_eq!(without_credentials(text), want);
        }
    }
}
