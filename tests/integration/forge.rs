//! A remote, a developer's clone and the clones of CI jobs, for the tests that fetch.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use diffsan::config::{CiContext, Environment};
use diffsan::diff::fetch::{Fetched, Unavailable, diff_command};
use diffsan::diff::git::Git;
use diffsan::diff::{self, Diff};

use crate::sandbox::Sandbox;

/// `origin.git` with a `main` of 60 commits and a `topic` that left it 30 commits ago.
pub(crate) struct Forge {
    pub(crate) sandbox: Sandbox,
    pub(crate) base: String,
    pub(crate) head: String,
}

/// Which commit a job checks out, under the ref the runner uses.
pub(crate) const PIPELINE: &str = "refs/pipelines/1";

impl Forge {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::bare();
        let origin = sandbox.root().join("origin.git");
        sandbox.git_in(sandbox.root(), &["init", "-q", "--bare", "-b", "main", "origin.git"]);
        sandbox.git(&["init", "-q", "-b", "main"]);
        sandbox.git(&["remote", "add", "origin", &url(&origin)]);
        import(&sandbox, &stream());
        sandbox.git(&["reset", "-q", "--hard", "main"]);
        let base = sandbox.git(&["merge-base", "main", "topic"]).trim().to_owned();
        let head = sandbox.git(&["rev-parse", "topic"]).trim().to_owned();
        let forge = Self { sandbox, base, head };
        forge.push();
        forge.set_pipeline(&forge.head);
        forge
    }

    /// Publishes what the developer has.
    pub(crate) fn push(&self) {
        let refs = ["+main", "+topic", "+topic:refs/merge-requests/7/head"];
        self.sandbox.git(&[&["push", "-q", "origin"], refs.as_slice()].concat());
    }

    /// Makes a commit the one that the pipeline checks out.
    pub(crate) fn set_pipeline(&self, commit: &str) {
        self.sandbox.git(&["push", "-q", "-f", "origin", &format!("{commit}:{PIPELINE}")]);
    }

    pub(crate) fn origin(&self) -> PathBuf {
        self.sandbox.root().join("origin.git")
    }

    /// A clone as the runner makes it: one ref, detached, maybe shallow.
    pub(crate) fn job(&self, depth: Option<u32>) -> PathBuf {
        self.job_from(&self.origin(), depth)
    }

    pub(crate) fn job_from(&self, origin: &Path, depth: Option<u32>) -> PathBuf {
        let job = self.sandbox.root().join("job");
        self.sandbox.git_in(self.sandbox.root(), &["init", "-q", "-b", "main", "job"]);
        self.sandbox.git_in(&job, &["remote", "add", "origin", &url(origin)]);
        let refspec = format!("+{PIPELINE}:{PIPELINE}");
        let depth = depth.map(|depth| format!("--depth={depth}"));
        let mut fetch = vec!["fetch", "-q", "--no-tags"];
        fetch.extend(depth.as_deref());
        fetch.extend(["origin", &refspec]);
        self.sandbox.git_in(&job, &fetch);
        self.sandbox.git_in(&job, &["checkout", "-q", "--detach", PIPELINE]);
        job
    }

    /// The variables of a job of a detached merge request pipeline.
    pub(crate) fn ci(&self) -> CiContext {
        CiContext {
            commit_sha: Some(self.head.clone()),
            diff_base_sha: Some(self.base.clone()),
            source_branch: Some("topic".to_owned()),
            target_branch: Some("main".to_owned()),
            default_branch: Some("main".to_owned()),
            mr_iid: Some(7),
            event_type: Some("detached".to_owned()),
            is_gitlab: true,
            ..CiContext::default()
        }
    }

    /// The merge request's diff, from the developer's full clone.
    pub(crate) fn truth(&self) -> String {
        self.sandbox.git(&[&["-c", "core.quotepath=off"], diff_command(&[&self.base, &self.head]).as_slice()].concat())
    }

    pub(crate) fn commits_of(&self, folder: &Path) -> usize {
        self.sandbox.git_in(folder, &["rev-list", "--count", "HEAD"]).trim().parse().unwrap()
    }

    pub(crate) async fn fetch(&self, folder: &Path, ci: &CiContext) -> Result<Fetched, Unavailable> {
        diff::fetch::ci(&git_in(&self.sandbox, folder), ci).await
    }

    /// Fetches and checks that the result is the merge request's own diff.
    pub(crate) async fn fetch_truth(&self, folder: &Path, ci: &CiContext) -> Fetched {
        let fetched = self.fetch(folder, ci).await.unwrap_or_else(|trouble| panic!("{trouble:#?}"));
        assert_eq!(String::from_utf8_lossy(&fetched.raw), self.truth());
        assert_eq!(fetched.source.reference.base_sha.as_deref(), Some(self.base.as_str()));
        assert_eq!(fetched.source.reference.head_sha.as_deref(), Some(self.head.as_str()));
        assert_eq!(Diff::parse(&fetched.raw).unwrap().files.len(), 2);
        fetched
    }
}

/// Git as diffsan runs it, in the sandbox's environment.
pub(crate) fn git_in(sandbox: &Sandbox, folder: &Path) -> Git {
    Git::new(folder, &environment(sandbox))
}

pub(crate) fn environment(sandbox: &Sandbox) -> Environment {
    let hermetic = sandbox.hermetic("git");
    Environment::from_pairs(hermetic.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))))
}

pub(crate) fn url(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

/// Feeds `git fast-import` in the sandbox's repository.
pub(crate) fn import(sandbox: &Sandbox, stream: &[u8]) {
    let mut command = sandbox.hermetic("git");
    command.args(["fast-import", "--quiet", "--force"]).current_dir(sandbox.repo()).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream).unwrap();
    assert!(child.wait().unwrap().success());
}

fn stream() -> Vec<u8> {
    let mut text = String::new();
    let mut commit = |branch: &str, mark: usize, from: Option<usize>, path: &str, content: &str| {
        let _ = write!(
            text,
            "commit refs/heads/{branch}\nmark :{mark}\ncommitter A <a@example.invalid> {} +0000\ndata 0\n",
            1_700_000_000 + mark
        );
        if let Some(from) = from {
            let _ = writeln!(text, "from :{from}");
        }
        let _ = write!(text, "M 100644 inline {path}\ndata {}\n{content}\n", content.len());
    };
    let rows = |last: usize| (1..=last).map(|n| format!("row {n}\n")).collect::<String>();
    for n in 1..=60 {
        commit("main", n, (n > 1).then(|| n - 1), "log.txt", &rows(n));
    }
    commit("topic", 101, Some(30), "app.py", "def app():\n    return 1\n");
    commit("topic", 102, Some(101), "log.txt", &rows(30).replace("row 10\n", "row ten\n"));
    text.into_bytes()
}
