//! What a local review looks at.

use std::path::Path;

use diffsan::diff::Diff;
use diffsan::diff::fetch::{Fetched, Local, file, local};
use diffsan::error::Error;
use diffsan::redact::{Engine, Settings};

use crate::forge::{git_in, url};
use crate::sandbox::Sandbox;

async fn fetch(sandbox: &Sandbox, folder: &Path, what: &Local) -> Result<Fetched, Error> {
    local(&git_in(sandbox, folder), what).await
}

async fn branch(sandbox: &Sandbox, base: Option<&str>) -> Result<Fetched, Error> {
    fetch(sandbox, &sandbox.repo(), &Local::Branch { base: base.map(str::to_owned) }).await
}

fn paths(fetched: &Fetched) -> Vec<String> {
    Diff::parse(&fetched.raw).unwrap().files.into_iter().map(|file| file.new_path).collect()
}

fn help(error: &Error) -> String {
    let engine = Engine::new(&Settings::default(), []).unwrap();
    let info = error.info(&engine);
    assert_eq!(info.error_code.name(), "DIFF_FETCH_FAILED");
    format!("{} | {}", info.message, info.help.unwrap_or_default())
}

/// A branch with one commit, one staged, one unstaged and one untracked file.
fn branch_in_progress() -> Sandbox {
    let sandbox = Sandbox::with_change();
    sandbox.write("staged.py", "staged\n");
    sandbox.git(&["add", "staged.py"]);
    sandbox.write("README.md", "# changed\n");
    sandbox.write("untracked.py", "untracked\n");
    sandbox
}

#[tokio::test]
async fn a_branch_is_everything_its_base_lacks_up_to_the_working_tree() {
    let sandbox = branch_in_progress();
    let fetched = branch(&sandbox, None).await.unwrap();
    assert_eq!(paths(&fetched), ["README.md", "src/app.py", "staged.py"]);
    let reference = &fetched.source.reference;
    assert_eq!(reference.base_sha.as_deref(), Some(sandbox.git(&["rev-parse", "main"]).trim()));
    assert_eq!((reference.head_sha.as_deref(), reference.source_branch.as_deref()), (None, Some("topic")));
    assert_eq!(reference.target_branch.as_deref(), Some("main"));
}

#[tokio::test]
async fn staged_and_unstaged_narrow_it() {
    let sandbox = branch_in_progress();
    let staged = fetch(&sandbox, &sandbox.repo(), &Local::Staged).await.unwrap();
    assert_eq!(paths(&staged), ["staged.py"]);
    let unstaged = fetch(&sandbox, &sandbox.repo(), &Local::Unstaged).await.unwrap();
    assert_eq!(paths(&unstaged), ["README.md"]);
}

#[tokio::test]
async fn what_the_base_got_since_the_branch_left_it_is_no_part_of_the_change() {
    let sandbox = Sandbox::with_change();
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("later.py", "later\n");
    sandbox.commit("later");
    sandbox.git(&["checkout", "-q", "topic"]);
    assert_eq!(paths(&branch(&sandbox, None).await.unwrap()), ["src/app.py"]);
}

#[tokio::test]
async fn the_base_is_the_named_one_then_origin_s_head_then_main_then_master() {
    let sandbox = Sandbox::with_change();
    let first = sandbox.git(&["rev-parse", "main"]).trim().to_owned();
    let base = |fetched: Fetched| fetched.source.reference.target_branch.unwrap();
    assert_eq!(base(branch(&sandbox, Some(&first)).await.unwrap()), first);
    assert_eq!(base(branch(&sandbox, None).await.unwrap()), "main");

    sandbox.git(&["branch", "-m", "main", "master"]);
    assert_eq!(base(branch(&sandbox, None).await.unwrap()), "master");

    sandbox.git(&["update-ref", "refs/remotes/origin/trunk", &first]);
    sandbox.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
    assert_eq!(base(branch(&sandbox, None).await.unwrap()), "origin/HEAD");
    assert_eq!(base(branch(&sandbox, Some("topic")).await.unwrap()), "topic");
}

#[tokio::test]
async fn a_repository_without_any_base_says_how_to_name_one() {
    let sandbox = Sandbox::with_change();
    sandbox.git(&["branch", "-D", "main"]);
    assert!(help(&branch(&sandbox, None).await.unwrap_err()).contains("--base"));
    for name in ["nowhere", "--output=bait", "-", ""] {
        let said = help(&branch(&sandbox, Some(name)).await.unwrap_err());
        assert!(said.contains("is no commit of this repository"), "{said}");
    }
    assert!(!sandbox.repo().join("bait").exists());
}

#[tokio::test]
async fn branches_without_a_common_commit_are_refused() {
    let sandbox = Sandbox::with_change();
    sandbox.git(&["checkout", "-q", "--orphan", "lonely"]);
    sandbox.commit("alone");
    assert!(help(&branch(&sandbox, None).await.unwrap_err()).contains("no commit in common"));
}

#[tokio::test]
async fn a_repository_without_commits_is_all_new() {
    let sandbox = Sandbox::bare();
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox.write("a.py", "a\n");
    sandbox.git(&["add", "-A"]);
    assert_eq!(paths(&branch(&sandbox, None).await.unwrap()), ["a.py"]);
    assert_eq!(paths(&fetch(&sandbox, &sandbox.repo(), &Local::Staged).await.unwrap()), ["a.py"]);
    assert_eq!(paths(&fetch(&sandbox, &sandbox.repo(), &Local::Unstaged).await.unwrap()), [""; 0]);
}

#[tokio::test]
async fn a_repository_with_sha256_ids_works() {
    let sandbox = Sandbox::bare();
    sandbox.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    sandbox.write("a.py", "a\n");
    sandbox.commit("one");
    sandbox.write("a.py", "b\n");
    sandbox.write("empty.py", "");
    sandbox.git(&["add", "-A"]);
    let fetched = branch(&sandbox, None).await.unwrap();
    assert_eq!(paths(&fetched), ["a.py", "empty.py"]);
    assert_eq!(fetched.source.reference.base_sha.unwrap().len(), 64);
}

#[tokio::test]
async fn folders_worktrees_and_bare_repositories_are_fine() {
    let sandbox = branch_in_progress();
    let what = Local::Branch { base: None };
    let below = fetch(&sandbox, &sandbox.repo().join("src"), &what).await.unwrap();
    assert_eq!(paths(&below), ["README.md", "src/app.py", "staged.py"]);

    let tree = sandbox.root().join("tree");
    sandbox.git(&["worktree", "add", "-q", "-b", "other", tree.to_str().unwrap(), "topic"]);
    assert_eq!(paths(&fetch(&sandbox, &tree, &what).await.unwrap()), ["src/app.py"]);

    let bare = sandbox.root().join("bare.git");
    sandbox.git(&["clone", "-q", "--bare", &url(&sandbox.repo()), bare.to_str().unwrap()]);
    let fetched = fetch(&sandbox, &bare, &what).await.unwrap();
    assert_eq!(paths(&fetched), ["src/app.py"]);
    assert_eq!(fetched.source.reference.head_sha.as_deref(), Some(sandbox.git(&["rev-parse", "topic"]).trim()));
    let error = fetch(&sandbox, &bare, &Local::Staged).await.unwrap_err();
    assert!(help(&error).contains("bare repository"));
}

#[tokio::test]
async fn a_dirty_submodule_is_no_change_and_a_moved_one_is() {
    let sandbox = Sandbox::with_change();
    let inner = sandbox.root().join("inner");
    sandbox.git(&["clone", "-q", &url(&sandbox.repo()), inner.to_str().unwrap()]);
    let origin = url(&inner);
    sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &origin, "sub"]);
    sandbox.commit("submodule");
    sandbox.write("sub/untracked", "x\n");
    sandbox.write("sub/README.md", "dirty\n");
    let what = Local::Unstaged;
    assert_eq!(paths(&fetch(&sandbox, &sandbox.repo(), &what).await.unwrap()), [""; 0]);
    // Started inside the submodule, the submodule is the repository.
    assert_eq!(paths(&fetch(&sandbox, &sandbox.repo().join("sub"), &what).await.unwrap()), ["README.md"]);
    sandbox.git_in(&sandbox.repo().join("sub"), &["checkout", "-q", "-f", "HEAD~1"]);
    assert_eq!(paths(&fetch(&sandbox, &sandbox.repo(), &what).await.unwrap()), ["sub"]);
}

#[tokio::test]
async fn a_folder_without_repository_and_a_machine_without_git_are_told_apart() {
    let sandbox = Sandbox::bare();
    let said = help(&branch(&sandbox, None).await.unwrap_err());
    assert!(said.contains("not in a git repository") && said.contains("--diff-file"), "{said}");

    let environment = diffsan::config::Environment::from_pairs([("PATH", sandbox.home())]);
    let git = diffsan::diff::git::Git::new(&sandbox.repo(), &environment);
    let said = help(&local(&git, &Local::Staged).await.unwrap_err());
    assert!(said.contains("git is not installed"), "{said}");
}

#[tokio::test]
async fn a_file_is_taken_as_it_is_and_needs_no_repository() {
    let sandbox = Sandbox::bare();
    let text = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\xff\n+b\n";
    let path = sandbox.write("change.patch", text);
    let fetched = file(&path).await.unwrap();
    assert_eq!(fetched.raw, text);
    assert_eq!(fetched.source.kind, "diff-file");
    for missing in [sandbox.repo(), sandbox.repo().join("no such file")] {
        assert!(help(&file(&missing).await.unwrap_err()).contains("--diff-file"));
    }
}

#[tokio::test]
async fn an_unfinished_merge_is_refused_by_name_or_shown_with_its_markers() {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", "mine\n");
    sandbox.commit("mine");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("src/app.py", "theirs\n");
    sandbox.commit("theirs");
    sandbox.git(&["checkout", "-q", "topic"]);
    let merge = sandbox.hermetic("git").args(["merge", "-q", "main"]).current_dir(sandbox.repo()).output().unwrap();
    assert!(!merge.status.success());

    for what in [Local::Staged, Local::Unstaged] {
        let said = help(&fetch(&sandbox, &sandbox.repo(), &what).await.unwrap_err());
        assert!(said.contains("unresolved merge conflicts in src/app.py") && said.contains("git add"), "{said}");
    }
    let whole = branch(&sandbox, None).await.unwrap();
    assert!(String::from_utf8_lossy(&whole.raw).contains("+<<<<<<< "));
}

#[tokio::test]
async fn a_diff_beyond_all_measure_is_refused_and_not_cut() {
    let sandbox = Sandbox::with_change();
    sandbox.write("README.md", "row\n".repeat(100_000));
    let git = git_in(&sandbox, &sandbox.repo()).with_max_output(10_000);
    let said = help(&local(&git, &Local::Unstaged).await.unwrap_err());
    assert!(said.contains("printed more than 10000 bytes"), "{said}");
}

#[tokio::test]
async fn a_repository_without_its_commit_is_damaged_and_not_new() {
    let sandbox = Sandbox::with_change();
    let objects = sandbox.repo().join(".git/objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::create_dir(&objects).unwrap();
    let said = help(&branch(&sandbox, None).await.unwrap_err());
    assert!(said.contains("the repository is damaged") && said.contains("git fsck"), "{said}");
}
