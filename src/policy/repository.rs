//! A private copy of the target project's newest commit: bare, without the checkout's objects, settings or hooks.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use tempfile::TempDir;

use super::commit::Entry;
use crate::config::{CiContext, Environment, MAX_FILE};
use crate::diff::git::{Git, GitError};

/// Where the fetched commit is kept.
const KEPT: &str = "refs/diffsan/policy";

/// The private repository; its folder goes with it.
#[derive(Debug)]
pub(super) struct Repository {
    git: Git,
    #[expect(dead_code, reason = "the folder is removed when this is dropped")]
    folder: TempDir,
}

/// The branches of the target project that matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heads {
    /// The branch that the project's HEAD names.
    pub(super) default: Option<String>,
    /// Branches that exist, by name, with their tips.
    pub(super) tips: BTreeMap<String, String>,
}

impl Repository {
    /// An empty repository that knows the target project's address.
    pub(super) async fn new(ci: &CiContext, env: &Environment) -> Result<Self, String> {
        let url = address(ci).ok_or("the job's variables name no repository")?;
        let folder = tempfile::Builder::new()
            .prefix("diffsan-policy-")
            .tempdir()
            .map_err(|error| format!("no private folder can be made: {error}"))?;
        let git = Git::new(folder.path(), &elsewhere(env).with("GIT_DIR", folder.path()));
        git.run(&["init", "--quiet", "--bare", "--template="]).await.map_err(|error| error.to_string())?;
        let mut settings = std::fs::OpenOptions::new()
            .append(true)
            .mode(0o600)
            .open(folder.path().join("config"))
            .map_err(|error| format!("the private repository cannot be set up: {error}"))?;
        // The address carries the job's token: it is in a private file and in no argument list.
        let text = settings_text(&url, ci.ca_file.as_deref());
        settings.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(Self { git, folder })
    }

    /// The default branch, and the tip of a named one.
    pub(super) async fn heads(&self, branch: Option<&str>) -> Result<Heads, GitError> {
        let reference = branch.map(|branch| format!("refs/heads/{branch}"));
        let mut command = vec!["ls-remote", "--symref", "--end-of-options", "target", "HEAD"];
        command.extend(reference.as_deref());
        let answer = self.git.run_remote(&command).await?;
        Ok(read_heads(&String::from_utf8_lossy(&answer)))
    }

    /// Fetches the tip of a branch; its commit's id. Files come when they are asked for, where the server can do that.
    pub(super) async fn fetch(&self, branch: &str) -> Result<String, GitError> {
        let refspec = format!("+refs/heads/{branch}:{KEPT}");
        let fixed = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--depth=1", "--filter=blob:none"];
        let command = [fixed.as_slice(), &["--end-of-options", "target", &refspec]].concat();
        self.git.run_remote(&command).await?;
        self.git.line(&["rev-parse", "--verify", "--end-of-options", &format!("{KEPT}^{{commit}}")]).await
    }

    /// What stands at a path of the commit; none when the commit's tree has nothing there.
    pub(super) async fn entry(&self, commit: &str, path: &str) -> Result<Option<Entry>, GitError> {
        let listed = self.git.run(&["ls-tree", "-z", "--full-tree", commit, "--", path]).await?;
        let Some((mode, id)) = read_tree(&listed, path) else { return Ok(None) };
        Ok(Some(match mode.as_str() {
            "100644" | "100755" => {
                let git = self.git.clone().with_max_output(MAX_FILE);
                // A blob that was left out comes from the server now.
                Entry::File(git.run_remote(&["cat-file", "blob", &id]).await?)
            }
            "120000" => Entry::Link,
            "160000" => Entry::Submodule,
            _ => Entry::Folder,
        }))
    }

    /// The paths of every file of that name in the commit.
    pub(super) async fn paths_named(&self, commit: &str, name: &str) -> Result<Vec<String>, GitError> {
        let listed = self.git.run(&["ls-tree", "-r", "-z", "--full-tree", "--name-only", commit]).await?;
        let paths = listed.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
        let is_named = |path: &&str| path.rsplit('/').next() == Some(name);
        Ok(paths.filter(is_named).map(str::to_owned).collect())
    }

    /// Runs git as in a working tree that holds nothing but what `tree` holds.
    pub(super) async fn run_in_tree(
        &self,
        tree: &std::path::Path,
        arguments: &[&str],
        stdin: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let place = |name: &str, value: &OsStr| {
            let mut text = std::ffi::OsString::from(name);
            text.push(value);
            text
        };
        let mut command =
            vec![place("--work-tree=", tree.as_os_str()), place("--git-dir=", self.git.folder().as_os_str())];
        command.extend(["-c", "core.bare=false"].map(Into::into));
        command.extend(arguments.iter().map(Into::into));
        self.git.run_with(&command, stdin).await
    }
}

/// Where the target project is cloned from. A fork's pipeline runs in the fork: its own address is not the target's.
fn address(ci: &CiContext) -> Option<String> {
    let same = ci.project_id.is_none() || ci.project_id == ci.pipeline_project_id;
    if same && ci.repository_url.is_some() {
        return ci.repository_url.clone();
    }
    let web = ci.target_project_url.as_ref().or(ci.project_url.as_ref().filter(|_| same))?;
    let clone = format!("{}.git", web.trim_end_matches('/'));
    Some(match (&ci.job_token, clone.split_once("://")) {
        (Some(token), Some((scheme @ ("http" | "https"), rest))) => {
            format!("{scheme}://gitlab-ci-token:{}@{rest}", token.expose())
        }
        _ => clone,
    })
}

/// The environment without what would make git work in another repository than the private one.
fn elsewhere(env: &Environment) -> Environment {
    const PLACES: &[&str] = &[
        "GIT_DIR",
        "GIT_COMMON_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_REPLACE_REF_BASE",
        "GIT_GRAFT_FILE",
        "GIT_SHALLOW_FILE",
        "GIT_CONFIG",
        "GIT_TEMPLATE_DIR",
        "GIT_NO_LAZY_FETCH",
    ];
    Environment::from_pairs(env.pairs().filter(|(name, _)| !PLACES.iter().any(|place| name == place)))
}

fn settings_text(url: &str, ca_file: Option<&str>) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"));
    let mut text = format!("\n[remote \"target\"]\n\turl = {}\n", quoted(url));
    if let Some(file) = ca_file {
        text.push_str(&format!("[http]\n\tsslCAInfo = {}\n", quoted(file)));
    }
    text
}

fn read_heads(answer: &str) -> Heads {
    let mut heads = Heads::default();
    for (left, right) in answer.lines().filter_map(|line| line.split_once('\t')) {
        match (left.strip_prefix("ref: refs/heads/"), right) {
            (Some(branch), "HEAD") => heads.default = Some(branch.to_owned()),
            _ => {
                // A pattern also matches refs that only end in it; only branches count.
                if let Some(branch) = right.strip_prefix("refs/heads/") {
                    heads.tips.insert(branch.to_owned(), left.to_owned());
                }
            }
        }
    }
    heads
}

/// Mode and id of the entry at exactly this path.
fn read_tree(listed: &[u8], path: &str) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(listed).into_owned();
    text.split('\0').find_map(|row| {
        let (facts, name) = row.split_once('\t')?;
        let mut facts = facts.split(' ');
        let (mode, _, id) = (facts.next()?, facts.next()?, facts.next()?);
        (name == path).then(|| (mode.to_owned(), id.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Token;

    #[test]
    fn the_target_project_is_asked_and_never_the_fork() {
        let ci = |project: &str, pipeline: &str| CiContext {
            project_id: Some(project.into()),
            pipeline_project_id: Some(pipeline.into()),
            repository_url: Some("https://u:p@host/fork.git".into()),
            target_project_url: Some("https://host/group/project".into()),
            job_token: Some(Token::new("tok")),
            ..CiContext::default()
        };
        assert_eq!(address(&ci("7", "7")).as_deref(), Some("https://u:p@host/fork.git"));
        assert_eq!(address(&ci("7", "8")).as_deref(), Some("https://gitlab-ci-token:tok@host/group/project.git"));
        assert_eq!(address(&CiContext { target_project_url: None, ..ci("7", "8") }), None);
    }

    #[test]
    fn only_branches_are_heads() {
        let answer = "ref: refs/heads/main\tHEAD\naa\tHEAD\nbb\trefs/heads/release\ncc\trefs/tags/release\n\
                      dd\trefs/heads/x/release\n";
        let heads = read_heads(answer);
        assert_eq!(heads.default.as_deref(), Some("main"));
        let tips: Vec<_> = heads.tips.iter().map(|(name, tip)| (name.as_str(), tip.as_str())).collect();
        assert_eq!(tips, [("release", "bb"), ("x/release", "dd")]);
    }

    #[test]
    fn an_entry_is_found_by_its_whole_path() {
        let listed = b"100644 blob aa\t.diffsan.toml\x00120000 blob bb\tlink\0";
        assert_eq!(read_tree(listed, ".diffsan.toml"), Some(("100644".into(), "aa".into())));
        assert_eq!(read_tree(listed, "link"), Some(("120000".into(), "bb".into())));
        assert_eq!(read_tree(listed, "diffsan.toml"), None);
    }
}
