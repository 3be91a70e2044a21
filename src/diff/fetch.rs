//! Where the change comes from: a merge request's two commits, a branch on a laptop, or a file.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::git::{Git, GitError};
use super::heal::{Healer, Trouble};
use super::private::Private;
use crate::config::CiContext;
use crate::contracts::{DiffRef, DiffSource};
use crate::error::{Error, Failure, Result};

/// The change as bytes, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub raw: Vec<u8>,
    pub source: DiffSource,
    /// What a reader should know about how it was had.
    pub notes: Vec<String>,
}

/// What a local review looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Local {
    /// Everything on this branch, working tree included, that the base does not have. Without a
    /// name the base is `origin/HEAD`, else `main`, else `master`.
    Branch {
        base: Option<String>,
    },
    Staged,
    Unstaged,
}

/// What of it: everything that git tracks, unless more or less is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Files that git does not track yet are part of the change.
    pub untracked: bool,
    /// Only what lies below these paths; all where there are none.
    pub paths: Vec<String>,
}

/// Git cannot give the change; GitLab's API still may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    pub why: String,
    /// The command or setting that would help.
    pub fix: String,
    /// What git said.
    pub said: Option<String>,
    /// CI variables that are needed and not set.
    pub missing_env: Vec<&'static str>,
    /// The ends of the change as far as they are known.
    pub reference: DiffRef,
}

impl Unavailable {
    /// As the failure it is when nothing else can give the change either.
    pub fn into_error(self) -> Error {
        let mut failure = Failure::new(format!("could not get the merge request's diff: {}", self.why)).help(self.fix);
        if let Some(said) = self.said {
            failure = failure.said(said);
        }
        if !self.missing_env.is_empty() {
            failure = failure.with("missing_env", self.missing_env);
        }
        Error::DiffFetch(failure.with("base_sha", self.reference.base_sha).with("head_sha", self.reference.head_sha))
    }
}

/// The diff of the merge request that a CI job belongs to: its base commit against its head, fetched
/// where the clone lacks them.
pub async fn ci(git: &Git, ci: &CiContext) -> Result<Fetched, Unavailable> {
    let mut reference = DiffRef {
        target_branch: ci.target_branch.clone(),
        source_branch: ci.source_branch.clone(),
        base_sha: commit_id(ci.diff_base_sha.as_deref()),
        // In merged-results pipelines and merge trains CI_COMMIT_SHA is a temporary merge commit.
        head_sha: commit_id(ci.source_branch_sha.as_deref()).or_else(|| commit_id(ci.commit_sha.as_deref())),
    };
    let unavailable = |trouble: Trouble, reference: DiffRef| Unavailable {
        why: trouble.why,
        fix: trouble.fix,
        said: trouble.said,
        missing_env: Vec::new(),
        reference,
    };
    let Some(head) = reference.head_sha.clone() else {
        return Err(Unavailable {
            why: "the job's variables name no commit".to_owned(),
            fix: "Run diffsan in a merge request pipeline (`rules: - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"`)."
                .to_owned(),
            said: None,
            missing_env: vec!["CI_COMMIT_SHA"],
            reference,
        });
    };
    let mut healer = match Healer::new(git, ci).await {
        Ok(healer) => healer,
        Err(trouble) => return Err(unavailable(trouble, reference)),
    };
    let base = match healer.ends(reference.base_sha.as_deref(), &head).await {
        Ok(base) => base,
        Err(trouble) => return Err(unavailable(trouble, reference)),
    };
    reference.base_sha = Some(base.clone());
    match compare(healer.git(), &base, &head).await {
        Ok(raw) => Ok(Fetched { raw, source: from_git(reference), notes: healer.into_notes() }),
        Err(error) => Err(unavailable(Trouble::of(&error, "git could not compare the two commits"), reference)),
    }
}

/// What a job would review, where no variable names its commits: HEAD against the base of a local review. What was
/// assumed is noted.
pub async fn assumed(git: &Git, target: Option<&str>, base: Option<&str>) -> Result<Fetched> {
    let failed = |error: GitError| local_failure(&error);
    let repository = Repository::open(git).await?;
    let Some(head) = &repository.head else {
        let failure = Failure::new("there is no commit yet, and no variable of a job names one");
        return Err(Error::DiffFetch(failure.help("Commit first, or review without `--ci`.")));
    };
    let remote = target.map(|target| format!("refs/remotes/origin/{target}"));
    let known = match &remote {
        Some(remote) => resolve(git, remote).await.map_err(failed)?.map(|_| remote.as_str()),
        None => None,
    };
    let (name, tip) = local_base(git, &repository, known.or(target).or(base)).await?;
    let start = merge_base(git, head, &tip).await.map_err(failed)?.ok_or_else(|| no_common(&name))?;
    let raw = compare(git, &start, head).await.map_err(failed)?;
    let short = |id: &str| id.get(..12).unwrap_or(id).to_owned();
    let note = format!(
        "HEAD ({}) with {} ({}), where it left it, since no variable of a job names a commit; what is not committed is not \
         part of it",
        short(head),
        name.trim_start_matches("refs/remotes/"),
        short(&start)
    );
    let reference = DiffRef {
        target_branch: Some(target.map_or(name, str::to_owned)),
        source_branch: repository.branch.clone(),
        base_sha: Some(start),
        head_sha: Some(head.clone()),
    };
    Ok(Fetched { raw, source: from_git(reference), notes: vec![note] })
}

/// The change between two commits.
async fn compare(git: &Git, base: &str, head: &str) -> Result<Vec<u8>, GitError> {
    let private = Private::beside(git, head).await?;
    private.diff(base, head).await
}

/// The diff of a local review of everything that git tracks.
pub async fn local(git: &Git, what: &Local) -> Result<Fetched> {
    local_in(git, what, &Scope::default()).await
}

/// The diff of a local review.
pub async fn local_in(git: &Git, what: &Local, scope: &Scope) -> Result<Fetched> {
    let failed = |error: GitError| local_failure(&error);
    // Kept until git has read it.
    let index = if scope.untracked { Some(index_with_untracked(git, &scope.paths).await?) } else { None };
    let with_index = index.as_ref().map(|index| git.clone().with_index(index));
    let git = with_index.as_ref().unwrap_or(git);
    let paths = from_top(git, &scope.paths).await?;
    let repository = Repository::open(git).await?;
    if let Local::Branch { base } = what {
        return branch(git, &repository, base.as_deref(), &paths).await;
    }
    if repository.is_bare {
        let failure = Failure::new("a bare repository has nothing staged or unstaged")
            .help("Use `--base REV` to review a branch of it.");
        return Err(Error::DiffFetch(failure));
    }
    let head = match &repository.head {
        Some(head) => head.clone(),
        None => empty_tree(git).await.map_err(failed)?,
    };
    let private = Private::beside(git, &head).await.map_err(failed)?;
    let unmerged = private.unmerged().await.map_err(failed)?;
    if !unmerged.is_empty() {
        return Err(unfinished_merge(&unmerged));
    }
    let staged = private.staged().await.map_err(failed)?;
    let (raw, base) = match what {
        Local::Unstaged => {
            let working = private.working_tree().await.map_err(failed)?;
            (private.diff_below(&staged, &working, &paths).await, None)
        }
        _ => (private.diff_below(&head, &staged, &paths).await, repository.head),
    };
    let reference = DiffRef { target_branch: None, source_branch: repository.branch, base_sha: base, head_sha: None };
    Ok(Fetched { raw: raw.map_err(failed)?, source: from_git(reference), notes: Vec::new() })
}

fn unfinished_merge(paths: &[String]) -> Error {
    let named = crate::error::clip(&paths.join(", "), 300);
    let failure = Failure::new(format!("there are unresolved merge conflicts in {named}"));
    Error::DiffFetch(failure.help(
        "Resolve them and `git add` the files first; without `--staged` and `--unstaged` the branch is reviewed as it is.",
    ))
}

async fn empty_tree(git: &Git) -> Result<String, GitError> {
    let id = git.run_with(&["hash-object", "-t", "tree", "--stdin"], b"").await?;
    Ok(String::from_utf8_lossy(&id).trim().to_owned())
}

/// A unified diff from a file, or from stdin when the path is `-`.
pub async fn file(path: &Path) -> Result<Fetched> {
    let (name, read) = if path == Path::new("-") {
        ("stdin".to_owned(), tokio::task::spawn_blocking(read_stdin).await.unwrap_or_else(|error| Err(error.into())))
    } else {
        (format!("`{}`", path.display()), tokio::fs::read(path).await)
    };
    let raw = read.map_err(|error| {
        let failure = Failure::new(format!("could not read the diff from {name}")).caused_by(&error);
        Error::DiffFetch(failure.help("`--diff-file` takes a file that holds a unified diff, or `-` for stdin."))
    })?;
    let source = DiffSource { kind: "diff-file".to_owned(), reference: DiffRef::default() };
    // Editors put a mark of the encoding before the text; git would take the first file's header for prose.
    let raw = without_colour(raw.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(raw));
    Ok(Fetched { raw, source, notes: Vec::new() })
}

/// `git diff --color > file`: a diff whose first line begins with a colour loses all of them.
fn without_colour(raw: Vec<u8>) -> Vec<u8> {
    if !raw.trim_ascii_start().starts_with(b"\x1b[") {
        return raw;
    }
    let mut plain = Vec::with_capacity(raw.len());
    let mut rest = raw.as_slice();
    while let Some(at) = memchr::memmem::find(rest, b"\x1b[") {
        let (before, after) = rest.split_at(at);
        plain.extend_from_slice(before);
        let code = after[2..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        let ends = after.get(2 + code).is_some_and(|byte| matches!(byte, b'm' | b'K'));
        let length = if ends { 3 + code } else { 2 };
        if !ends {
            plain.extend_from_slice(&after[..2]);
        }
        rest = &after[length..];
    }
    plain.extend_from_slice(rest);
    plain
}

fn read_stdin() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The one invocation: every option that the user's configuration could change is given.
const DIFF: &[&str] = &[
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--full-index",
    // GitLab pairs renames from 30 % on; with git's 50 % its diff would have other paths than ours.
    "-M30%",
    "-l1000",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--no-relative",
    "-O/dev/null",
];

/// The arguments that compare two commits or trees.
pub fn diff_command<'a>(commits: &[&'a str]) -> Vec<&'a str> {
    diff_command_below(commits, &[])
}

/// The same for what lies below some paths.
pub(super) fn diff_command_below<'a>(commits: &[&'a str], paths: &[&'a str]) -> Vec<&'a str> {
    [DIFF, &["--end-of-options"], commits, &["--"], paths].concat()
}

/// The paths as they are called from the repository's top.
async fn from_top(git: &Git, paths: &[String]) -> Result<Vec<String>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |error: GitError| local_failure(&error);
    let prefix = git.line(&["rev-parse", "--show-prefix"]).await.map_err(failed)?;
    let top = git.line(&["rev-parse", "--show-toplevel"]).await.map_err(failed)?;
    let called = |path: &String| {
        below_top(&top, &prefix, path).ok_or_else(|| {
            Error::Config(
                Failure::new(format!("the path {path} lies outside the repository {top}"))
                    .with("path", path.as_str())
                    .help("name files or folders of this repository after `--`"),
            )
        })
    };
    paths.iter().map(called).collect()
}

/// A path that was named in the folder `prefix`, as it is called from the top; none where it leads out of the repository.
fn below_top(top: &str, prefix: &str, path: &str) -> Option<String> {
    let full = Path::new(top).join(prefix).join(path);
    let mut parts: Vec<&str> = Vec::new();
    for part in full.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    let above = Path::new(top).components().filter(|part| matches!(part, Component::Normal(_))).count();
    let inside = Path::new("/").join(parts.iter().collect::<PathBuf>()).starts_with(top);
    let rest = parts.get(above..)?.join("/");
    inside.then(|| if rest.is_empty() { "*".to_owned() } else { rest })
}

/// A copy of the index that knows the untracked files by name: git then compares them too, and the repository's own
/// index stays as it is.
async fn index_with_untracked(git: &Git, paths: &[String]) -> Result<tempfile::TempPath> {
    let failed = |error: GitError| local_failure(&error);
    let own = git.line(&["rev-parse", "--git-path", "index"]).await.map_err(failed)?;
    let copy = || -> std::io::Result<tempfile::TempPath> {
        use std::io::Write as _;
        let mut file = tempfile::Builder::new().prefix("diffsan-index-").tempfile()?;
        match std::fs::read(git.folder().join(&own)) {
            Ok(bytes) => file.write_all(&bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(file.into_temp_path())
    };
    let index = copy().map_err(|error| {
        Error::DiffFetch(Failure::new("could not copy git's index to look at untracked files").caused_by(&error))
    })?;
    let names = untracked(git, paths).await.map_err(failed)?;
    if !names.is_empty() {
        let words = ["add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul"];
        git.clone().with_index(&index).run_with(&words, &names).await.map_err(failed)?;
    }
    Ok(index)
}

/// The files that git neither tracks nor ignores, each ended by a zero.
async fn untracked(git: &Git, paths: &[String]) -> Result<Vec<u8>, GitError> {
    let mut words = vec!["ls-files", "--others", "--exclude-standard", "-z", "--"];
    words.extend(paths.iter().map(String::as_str));
    if paths.is_empty() {
        words.push(":/");
    }
    git.run(&words).await
}

/// What a local review compared with what, and what it left out, in words.
pub async fn compared(git: &Git, what: &Local, scope: &Scope, reference: &DiffRef) -> String {
    let short = |id: &str| id.get(..12).unwrap_or(id).to_owned();
    let head = resolve(git, "HEAD").await.ok().flatten();
    let mut words = match what {
        Local::Staged => "HEAD with what is staged".to_owned(),
        Local::Unstaged => "what is staged with the working tree".to_owned(),
        Local::Branch { .. } => {
            let name = reference.target_branch.as_deref().unwrap_or("the base");
            let at = reference.base_sha.as_deref().map(|id| format!(" ({})", short(id))).unwrap_or_default();
            format!("{name}{at} with the working tree")
        }
    };
    if !scope.paths.is_empty() {
        words.push_str(&format!(" below {}", scope.paths.join(", ")));
    }
    let is_branch = matches!(what, Local::Branch { .. });
    if is_branch && head.is_some() && head == reference.base_sha {
        words.push_str("; HEAD is that commit, so only what is not committed counts (`--base REV` names an older one)");
    }
    let left_out = match what {
        Local::Staged => 0,
        _ if scope.untracked => 0,
        _ => untracked(git, &scope.paths).await.unwrap_or_default().iter().filter(|byte| **byte == 0).count(),
    };
    match left_out {
        0 => {}
        1 => words.push_str("; 1 untracked file was left out (`--untracked` includes it)"),
        many => words.push_str(&format!("; {many} untracked files were left out (`--untracked` includes them)")),
    }
    words
}

/// A full commit id as CI variables have it; all zeros means that there is none.
fn commit_id(value: Option<&str>) -> Option<String> {
    let id = value?.trim();
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && id.bytes().any(|byte| byte != b'0')).then(|| id.to_ascii_lowercase())
}

fn from_git(reference: DiffRef) -> DiffSource {
    DiffSource { kind: "git-diff".to_owned(), reference }
}

/// What a local review needs to know about the repository.
struct Repository {
    is_bare: bool,
    head: Option<String>,
    branch: Option<String>,
}

impl Repository {
    async fn open(git: &Git) -> Result<Self> {
        let failed = |error: GitError| local_failure(&error);
        let is_bare = git.line(&["rev-parse", "--is-bare-repository"]).await.map_err(failed)? == "true";
        let head = resolve(git, "HEAD").await.map_err(failed)?;
        // A branch without a commit has no id; one whose commit is gone has.
        if head.is_none()
            && let Ok(id) = git.line(&["rev-parse", "--verify", "--quiet", "HEAD"]).await
        {
            let failure = Failure::new(format!("HEAD is {id}, and git has no such commit: the repository is damaged"));
            return Err(Error::DiffFetch(
                failure.help("`git fsck` says what is missing; a fresh clone has everything."),
            ));
        }
        let branch = git.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await.ok();
        Ok(Self { is_bare, head, branch })
    }
}

async fn branch(git: &Git, repository: &Repository, base: Option<&str>, paths: &[String]) -> Result<Fetched> {
    let failed = |error: GitError| local_failure(&error);
    let (base_name, base) = local_base(git, repository, base).await?;
    let start = match &repository.head {
        None => base,
        Some(head) => merge_base(git, head, &base).await.map_err(failed)?.ok_or_else(|| no_common(&base_name))?,
    };
    let private = Private::beside(git, &start).await.map_err(failed)?;
    // Without a working tree the branch itself is all there is.
    let head = repository.head.as_deref().filter(|_| repository.is_bare);
    let end = match head {
        Some(head) => head.to_owned(),
        None => private.working_tree().await.map_err(failed)?,
    };
    let raw = private.diff_below(&start, &end, paths).await.map_err(failed)?;
    let reference = DiffRef {
        target_branch: Some(base_name),
        source_branch: repository.branch.clone(),
        base_sha: Some(start.clone()),
        head_sha: head.map(str::to_owned),
    };
    Ok(Fetched { raw, source: from_git(reference), notes: Vec::new() })
}

fn no_common(base: &str) -> Error {
    let failure = Failure::new(format!("this branch and its base `{base}` have no commit in common"));
    Error::DiffFetch(failure.help("In a shallow clone, `git fetch --unshallow` gets the missing history."))
}

/// The name and commit of the base of a local review.
async fn local_base(git: &Git, repository: &Repository, named: Option<&str>) -> Result<(String, String)> {
    let failed = |error: GitError| local_failure(&error);
    if let Some(name) = named {
        let id = if name.starts_with('-') { None } else { resolve(git, name).await.map_err(failed)? };
        return id.map(|id| (name.to_owned(), id)).ok_or_else(|| {
            let failure = Failure::new(format!("the base `{name}` is no commit of this repository"));
            Error::DiffFetch(failure.help("`git branch --all` lists the branches that can be a base."))
        });
    }
    if repository.head.is_none() {
        return Ok(("nothing".to_owned(), empty_tree(git).await.map_err(failed)?));
    }
    for name in ["origin/HEAD", "main", "master", "origin/main", "origin/master"] {
        let full = if name.contains('/') { format!("refs/remotes/{name}") } else { format!("refs/heads/{name}") };
        if let Some(id) = resolve(git, &full).await.map_err(failed)? {
            return Ok((name.to_owned(), id));
        }
    }
    let failure = Failure::new("there is no base to compare with: neither origin/HEAD nor main nor master exists");
    Err(Error::DiffFetch(failure.help("Name one with `--base REV`, or review with `--staged` or `--unstaged`.")))
}

/// The commit a name stands for, if there is one.
pub(super) async fn resolve(git: &Git, name: &str) -> Result<Option<String>, GitError> {
    let commit = format!("{name}^{{commit}}");
    match git.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).await {
        Ok(id) => Ok(Some(id)),
        Err(error @ GitError::Failed { .. }) if error.is_no_repository() || error.is_dubious_ownership() => Err(error),
        Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) async fn merge_base(git: &Git, one: &str, other: &str) -> Result<Option<String>, GitError> {
    match git.line(&["merge-base", one, other]).await {
        Ok(id) => Ok(Some(id)),
        Err(GitError::Failed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A git that diffsan does not work with.
pub fn too_old(error: &GitError) -> Error {
    Error::DiffFetch(Failure::new(error.to_string()).help(
        "Use an image or a machine with a newer git (Debian 12 and Alpine 3.14 have one), or hand over a diff with `--diff-file`.",
    ))
}

fn local_failure(error: &GitError) -> Error {
    let failure = match error {
        GitError::Missing => Failure::new("git is not installed, or not on PATH")
            .help("Install git, or hand over a diff with `--diff-file`."),
        error @ GitError::TooOld { .. } => return too_old(error),
        error if error.is_no_repository() => Failure::new("this folder is not in a git repository")
            .help("Start diffsan inside one, or hand over a diff with `--diff-file`."),
        error if error.is_dubious_ownership() => {
            Failure::new("git refuses to work here because the repository belongs to another user")
                .help("If you trust it: `git config --global --add safe.directory \"$(pwd)\"`.")
        }
        error => Failure::new(format!("could not get the diff: {error}")),
    };
    Error::DiffFetch(failure.said(crate::error::chain(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_called_from_the_top_or_lies_outside() {
        for (prefix, path, want) in [
            ("", "src", Some("src")),
            ("", "./src/", Some("src")),
            ("", ".", Some("*")),
            ("docs/", "x.md", Some("docs/x.md")),
            ("docs/", ".", Some("docs")),
            ("docs/", "../src", Some("src")),
            ("docs/", "..", Some("*")),
            ("docs/", "*.md", Some("docs/*.md")),
            ("docs/", "/home/me/repo/src/a.py", Some("src/a.py")),
            ("docs/", "../..", None),
            ("docs/", "../../repository", None),
            ("", "/etc", None),
            ("", "../../../../../..", None),
        ] {
            assert_eq!(below_top("/home/me/repo", prefix, path).as_deref(), want, "{prefix} {path}");
        }
    }

    #[test]
    fn only_a_full_id_that_is_not_all_zeros_is_a_commit() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(commit_id(Some(id)).as_deref(), Some(id));
        assert_eq!(commit_id(Some(&format!(" {} \n", id.to_uppercase()))).as_deref(), Some(id));
        assert_eq!(commit_id(Some(&"a".repeat(64))), Some("a".repeat(64)));
        for none in ["", "main", "--upload-pack=x", &id[..39], &"0".repeat(40), &"g".repeat(40)] {
            assert_eq!(commit_id(Some(none)), None, "{none}");
        }
        assert_eq!(commit_id(None), None);
    }

    #[test]
    fn the_invocation_is_the_documented_one() {
        assert_eq!(
            diff_command(&["BASE", "HEAD"]).join(" "),
            "diff --no-color --no-ext-diff --no-textconv --full-index -M30% -l1000 --src-prefix=a/ --dst-prefix=b/ \
             --unified=3 --inter-hunk-context=0 --diff-algorithm=myers --indent-heuristic --submodule=short \
             --ignore-submodules=dirty --no-relative -O/dev/null --end-of-options BASE HEAD --"
        );
    }
}
