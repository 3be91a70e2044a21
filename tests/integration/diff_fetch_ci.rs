//! The merge request's diff from every clone that a CI job may have.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use diffsan::config::CiContext;
use diffsan::diff;
use diffsan::diff::fetch::diff_command;

use crate::forge::{Forge, environment, git_in, import, url};

#[tokio::test]
async fn a_detached_pipeline_with_a_full_clone_has_the_diff() {
    let forge = Forge::new();
    let fetched = forge.fetch_truth(&forge.job(None), &forge.ci()).await;
    assert_eq!(fetched.source.kind, "git-diff");
    assert_eq!(fetched.source.reference.target_branch.as_deref(), Some("main"));
    assert_eq!(fetched.source.reference.source_branch.as_deref(), Some("topic"));
    assert_eq!(fetched.notes, [""; 0]);
}

#[tokio::test]
async fn a_shallow_clone_of_any_depth_heals_itself() {
    for depth in [1, 2, 20] {
        let forge = Forge::new();
        let job = forge.job(Some(depth));
        forge.fetch_truth(&job, &forge.ci()).await;
        assert!(forge.commits_of(&job) <= depth as usize + 1, "depth {depth}: the whole history was fetched");
    }
}

#[tokio::test]
async fn healing_leaves_the_clone_s_refs_and_checkout_alone() {
    let forge = Forge::new();
    let job = forge.job(Some(1));
    let state = || {
        let refs = forge.sandbox.git_in(&job, &["for-each-ref"]);
        refs + &forge.sandbox.git_in(&job, &["status", "--porcelain=v2", "--branch"])
    };
    let before = state();
    forge.fetch_truth(&job, &forge.ci()).await;
    assert_eq!(state(), before);
}

/// A merged-results pipeline: the commit is a merge of the target's tip and the source's.
fn merged_results(forge: &Forge) -> CiContext {
    forge.sandbox.git(&["checkout", "-q", "--detach", "main"]);
    forge.sandbox.git(&["merge", "-q", "--no-ff", "-m", "temporary", "topic"]);
    let merge = forge.sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    forge.set_pipeline(&merge);
    CiContext {
        commit_sha: Some(merge),
        source_branch_sha: Some(forge.head.clone()),
        target_branch_sha: Some(forge.sandbox.git(&["rev-parse", "main"]).trim().to_owned()),
        event_type: Some("merged_result".to_owned()),
        ..forge.ci()
    }
}

#[tokio::test]
async fn a_merged_results_pipeline_reviews_the_source_branch_and_not_the_temporary_merge() {
    for depth in [None, Some(1), Some(20)] {
        let forge = Forge::new();
        let ci = merged_results(&forge);
        forge.fetch_truth(&forge.job(depth), &ci).await;
    }
}

#[tokio::test]
async fn a_merge_train_behind_another_merge_request_reviews_its_own_change_only() {
    let forge = Forge::new();
    forge.sandbox.git(&["checkout", "-q", "--detach", "main"]);
    forge.sandbox.write("other.py", "another merge request, further up the train\n");
    forge.sandbox.commit("train");
    forge.sandbox.git(&["merge", "-q", "--no-ff", "-m", "train", "topic"]);
    let train = forge.sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    forge.set_pipeline(&train);
    let ci = CiContext {
        commit_sha: Some(train),
        source_branch_sha: Some(forge.head.clone()),
        event_type: Some("merge_train".to_owned()),
        ..forge.ci()
    };
    forge.fetch_truth(&forge.job(Some(1)), &ci).await;
}

#[tokio::test]
async fn the_pipeline_of_a_fork_has_the_diff_although_the_fork_lacks_the_target_s_new_commits() {
    let forge = Forge::new();
    let fork = forge.sandbox.root().join("fork.git");
    forge.sandbox.git_in(forge.sandbox.root(), &["init", "-q", "--bare", "fork.git"]);
    let refs = ["main~25:refs/heads/main", "topic:refs/heads/topic", "topic:refs/pipelines/1"];
    forge.sandbox.git(&[&["push", "-q", &url(&fork)], refs.as_slice()].concat());
    let ci = CiContext { project_id: Some("1".to_owned()), source_project_id: Some("2".to_owned()), ..forge.ci() };
    forge.fetch_truth(&forge.job_from(&fork, Some(1)), &ci).await;
}

#[tokio::test]
async fn a_branch_pipeline_compares_with_the_default_branch() {
    for depth in [None, Some(1), Some(20)] {
        let forge = Forge::new();
        let ci = CiContext {
            commit_sha: Some(forge.head.clone()),
            default_branch: Some("main".to_owned()),
            ..CiContext::default()
        };
        forge.fetch_truth(&forge.job(depth), &ci).await;
    }
}

#[tokio::test]
async fn an_unknown_base_is_the_merge_base_with_the_target_branch() {
    let zeros = "0".repeat(40);
    for (depth, unknown) in [(None, None), (Some(1), Some("")), (Some(5), Some(zeros.as_str())), (Some(40), None)] {
        let forge = Forge::new();
        let ci = CiContext { diff_base_sha: unknown.map(str::to_owned), ..forge.ci() };
        forge.fetch_truth(&forge.job(depth), &ci).await;
    }
}

/// One commit that adds a file, for `git fast-import`.
fn commit(branch: &str, mark: usize, from: Option<usize>, merge: Option<usize>, path: &str) -> String {
    let time = 1_700_000_000 + mark;
    let parent = |word: &str, mark: Option<usize>| mark.map(|mark| format!("{word} :{mark}\n")).unwrap_or_default();
    format!(
        "commit refs/heads/{branch}\nmark :{mark}\ncommitter A <a@example.invalid> {time} +0000\ndata 0\n{}{}M 100644 inline {path}\ndata 2\nx\n\n",
        parent("from", from),
        parent("merge", merge)
    )
}

/// main: old - c1 ... c40 - tip, where tip also merges a branch that left at `old`; topic left at
/// `old` too, and merged c1. A shallow clone sees `old` long before it sees c1.
#[tokio::test]
async fn a_nearer_ancestor_behind_the_shallow_border_is_found() {
    let forge = Forge::new();
    let mut text = commit("main", 1, None, None, "old");
    for n in 2..=41 {
        text += &commit("main", n, Some(n - 1), None, &format!("c{}", n - 1));
    }
    text += &commit("side", 50, Some(1), None, "side");
    text += &commit("main", 51, Some(41), Some(50), "tip");
    text += &commit("topic", 60, Some(1), None, "app.py");
    text += &commit("topic", 61, Some(60), Some(2), "merged");
    import(&forge.sandbox, text.as_bytes());
    let base = forge.sandbox.git(&["rev-parse", "main~40"]).trim().to_owned();
    let head = forge.sandbox.git(&["rev-parse", "topic"]).trim().to_owned();
    assert_eq!(forge.sandbox.git(&["merge-base", "main", "topic"]).trim(), base);
    let forge = Forge { base, head, ..forge };
    forge.push();
    forge.set_pipeline(&forge.head);
    let ci = CiContext { diff_base_sha: None, ..forge.ci() };
    let job = forge.job(Some(4));
    forge.sandbox.git_in(&job, &["fetch", "-q", "--depth=4", "origin", "refs/heads/main"]);
    let nearest_seen = forge.sandbox.git_in(&job, &["merge-base", "HEAD", "FETCH_HEAD"]);
    assert_ne!(nearest_seen.trim(), forge.base, "the clone must be misleading for this test to mean anything");
    forge.fetch_truth(&job, &ci).await;
}

#[tokio::test]
async fn a_base_that_the_remote_lost_is_replaced_by_the_merge_base_and_that_is_said() {
    for depth in [None, Some(1)] {
        let forge = Forge::new();
        let lost = "dead".repeat(10);
        let ci = CiContext { diff_base_sha: Some(lost.clone()), ..forge.ci() };
        let fetched = forge.fetch_truth(&forge.job(depth), &ci).await;
        assert!(fetched.notes[0].contains(&lost) && fetched.notes[0].contains(&forge.base), "{:?}", fetched.notes);
    }
}

#[tokio::test]
async fn a_target_branch_that_was_force_pushed_or_renamed_changes_nothing_when_the_base_is_known() {
    let forge = Forge::new();
    forge.sandbox.git(&["push", "-q", "-f", "origin", "main~45:refs/heads/main"]);
    forge.fetch_truth(&forge.job(Some(1)), &forge.ci()).await;

    let forge = Forge::new();
    forge.sandbox.git_in(&forge.origin(), &["branch", "-m", "main", "trunk"]);
    forge.fetch_truth(&forge.job(Some(1)), &forge.ci()).await;
}

#[tokio::test]
async fn a_target_branch_that_is_gone_and_a_base_that_nobody_knows_is_said_with_the_branch_s_name() {
    let forge = Forge::new();
    forge.sandbox.git_in(&forge.origin(), &["branch", "-m", "main", "trunk"]);
    let ci = CiContext { diff_base_sha: None, ..forge.ci() };
    let trouble = forge.fetch(&forge.job(None), &ci).await.unwrap_err();
    assert!(trouble.why.contains("target branch main"), "{trouble:#?}");
    assert_eq!(trouble.reference.head_sha, Some(forge.head.clone()));
}

#[tokio::test]
async fn without_a_remote_a_clone_that_has_both_commits_is_enough_and_one_that_does_not_says_what_to_do() {
    let forge = Forge::new();
    let job = forge.job(None);
    forge.sandbox.git_in(&job, &["remote", "remove", "origin"]);
    forge.fetch_truth(&job, &forge.ci()).await;

    let forge = Forge::new();
    let job = forge.job(Some(1));
    forge.sandbox.git_in(&job, &["remote", "remove", "origin"]);
    let trouble = forge.fetch(&job, &forge.ci()).await.unwrap_err();
    assert!(trouble.why.contains(&forge.base) && trouble.fix.contains("GIT_STRATEGY"), "{trouble:#?}");
}

#[tokio::test]
async fn a_clone_without_a_remote_is_healed_from_where_the_runner_cloned() {
    let forge = Forge::new();
    let job = forge.job(Some(1));
    forge.sandbox.git_in(&job, &["remote", "remove", "origin"]);
    let ci = CiContext { repository_url: Some(url(&forge.origin())), ..forge.ci() };
    forge.fetch_truth(&job, &ci).await;
}

#[tokio::test]
async fn a_remote_that_refuses_single_commits_is_deepened_by_its_branches() {
    for base in [true, false] {
        let forge = Forge::new();
        // Protocol 2 hands out any commit; the older ones ask this setting.
        std::fs::write(forge.sandbox.home().join(".gitconfig"), "[protocol]\n\tversion = 0\n").unwrap();
        forge.sandbox.git_in(&forge.origin(), &["config", "uploadpack.allowAnySHA1InWant", "false"]);
        let job = forge.job(Some(1));
        let refused =
            forge.sandbox.hermetic("git").args(["fetch", "-q", "origin", &forge.base]).current_dir(&job).output();
        assert!(!refused.unwrap().status.success(), "the remote must refuse for this test to mean anything");
        let ci = if base { forge.ci() } else { CiContext { diff_base_sha: None, ..forge.ci() } };
        forge.fetch_truth(&job, &ci).await;
    }
}

#[tokio::test]
async fn a_head_that_cannot_be_had_is_unavailable_with_the_command_that_would_help() {
    let forge = Forge::new();
    let gone = "beef".repeat(10);
    let ci = CiContext { commit_sha: Some(gone.clone()), ..forge.ci() };
    let trouble = forge.fetch(&forge.job(Some(1)), &ci).await.unwrap_err();
    assert!(trouble.why.contains(&gone), "{trouble:#?}");
    assert!(trouble.fix.contains(&format!("git fetch origin {gone}")), "{trouble:#?}");
    assert!(trouble.said.is_some(), "{trouble:#?}");
    let error = trouble.into_error();
    assert_eq!(error.code().name(), "DIFF_FETCH_FAILED");
}

#[tokio::test]
async fn a_job_that_names_no_commit_says_which_variable_is_missing() {
    let forge = Forge::new();
    let trouble = forge.fetch(&forge.job(None), &CiContext::default()).await.unwrap_err();
    assert_eq!(trouble.missing_env, ["CI_COMMIT_SHA"]);
    assert!(trouble.fix.contains("merge_request_event"));
}

/// Gives a folder to another user; false when this user may not.
fn give_away(folder: &Path) -> bool {
    let output = std::process::Command::new("chown").args(["-R", "12345:12345"]).arg(folder).output().unwrap();
    output.status.success()
}

#[tokio::test]
async fn a_repository_of_another_user_works_in_ci_and_is_refused_with_a_hint_on_a_laptop() {
    let forge = Forge::new();
    let job = forge.job(Some(1));
    if !give_away(&job) {
        return;
    }
    let error = diff::fetch::local(&git_in(&forge.sandbox, &job), &diff::fetch::Local::Unstaged).await.unwrap_err();
    let engine = diffsan::redact::Engine::new(&diffsan::redact::Settings::default(), []).unwrap();
    assert!(error.info(&engine).help.unwrap().contains("safe.directory"), "{error:?}");

    let by_file = git_in(&forge.sandbox, &job).trusting(&job).trusting_by_file().unwrap();
    assert_eq!(by_file.line(&["rev-parse", "HEAD"]).await.unwrap(), forge.head);

    forge.fetch_truth(&job, &forge.ci()).await;
}

#[tokio::test]
async fn no_git_and_no_repository_are_told_apart() {
    let forge = Forge::new();
    let empty = forge.sandbox.root().join("tmp");
    let trouble = forge.fetch(&empty, &forge.ci()).await.unwrap_err();
    assert!(trouble.why.contains("no git repository") && trouble.fix.contains("GIT_STRATEGY"), "{trouble:#?}");

    let environment = diffsan::config::Environment::from_pairs([("PATH", empty.as_os_str())]);
    let git = diff::git::Git::new(&forge.job(None), &environment);
    let trouble = diff::fetch::ci(&git, &forge.ci()).await.unwrap_err();
    assert!(trouble.why.contains("git is not installed"), "{trouble:#?}");
}

#[tokio::test]
async fn bare_repositories_and_worktrees_have_the_diff_too() {
    let forge = Forge::new();
    forge.fetch_truth(&forge.origin(), &forge.ci()).await;

    let job = forge.job(None);
    let tree = forge.sandbox.root().join("tree");
    forge.sandbox.git_in(&job, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap(), "HEAD~1"]);
    forge.fetch_truth(&tree, &forge.ci()).await;
    std::fs::create_dir(tree.join("below")).unwrap();
    forge.fetch_truth(&tree.join("below"), &forge.ci()).await;
}

/// Everything in a user's configuration that changes what `git diff` prints.
const HOSTILE_CONFIG: &str = r#"
[color]
    ui = always
[core]
    quotepath = true
    pager = false
    abbrev = 7
    attributesFile = ~/attributes
    fsmonitor = false-and-loud
    bigFileThreshold = 1
[diff]
    noprefix = true
    mnemonicPrefix = true
    srcPrefix = x/
    dstPrefix = y/
    external = false
    context = 0
    interHunkContext = 100
    renames = false
    algorithm = histogram
    indentHeuristic = false
    relative = true
    suppressBlankEmpty = true
    submodule = log
    ignoreSubmodules = all
    orderFile = /nonexistent
    wordRegex = .
    colorMoved = zebra
[diff "loud"]
    command = false
    textconv = false
    binary = true
[pager]
    diff = false
[protocol]
    version = 1
"#;

#[tokio::test]
async fn the_user_s_configuration_and_environment_change_no_byte() {
    let forge = Forge::new();
    forge.sandbox.git(&["checkout", "-q", "topic"]);
    forge.sandbox.git(&["mv", "log.txt", "ä log.txt"]);
    forge.sandbox.write("app.py", "def app():\n\n    return 2\n");
    let head = forge.sandbox.commit("rename");
    let forge = Forge { head, ..forge };
    forge.push();
    forge.set_pipeline(&forge.head);
    let want = forge.truth();
    assert!(want.contains("rename from log.txt\nrename to ä log.txt\n"), "{want}");

    let job = forge.job(Some(1));
    std::fs::write(forge.sandbox.home().join(".gitconfig"), HOSTILE_CONFIG).unwrap();
    std::fs::write(forge.sandbox.home().join("attributes"), "* diff=loud\n*.py -diff\n").unwrap();
    let mut pairs: Vec<(std::ffi::OsString, std::ffi::OsString)> =
        environment(&forge.sandbox).pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    for (name, value) in [
        ("GIT_DIFF_OPTS", "--unified=0"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_PAGER", "false"),
        ("GIT_TRACE", "1"),
        ("LANGUAGE", "de"),
        ("LC_ALL", "de_DE.UTF-8"),
    ] {
        pairs.retain(|(known, _)| known != name);
        pairs.push((name.into(), value.into()));
    }
    let git = diff::git::Git::new(&job, &diffsan::config::Environment::from_pairs(pairs));
    let fetched = diff::fetch::ci(&git, &forge.ci()).await.unwrap_or_else(|trouble| panic!("{trouble:#?}"));
    assert_eq!(String::from_utf8(fetched.raw).unwrap(), want);
}

#[tokio::test]
async fn a_branch_cannot_hide_its_change_with_attributes_of_its_own() {
    let forge = Forge::new();
    forge.sandbox.git(&["checkout", "-q", "topic"]);
    forge.sandbox.write(".gitattributes", "*.py -diff\n*.txt binary\n");
    let head = forge.sandbox.commit("hide");
    let forge = Forge { head, ..forge };
    forge.push();
    forge.set_pipeline(&forge.head);
    let fetched = forge.fetch(&forge.job(Some(1)), &forge.ci()).await.unwrap();
    let text = String::from_utf8(fetched.raw).unwrap();
    assert!(text.contains("+def app():") && text.contains("+row ten") && !text.contains("Binary files"), "{text}");
}

#[tokio::test]
async fn no_attributes_decide_how_a_change_is_shown() {
    let forge = Forge::new();
    forge.sandbox.git(&["checkout", "-q", "topic"]);
    forge.sandbox.write(".gitattributes", "*.dat binary\n*.cfg diff=drv\n");
    let base = forge.sandbox.commit("attributes");
    for path in ["a.dat", "d.cfg"] {
        forge.sandbox.write(path, "text\n");
    }
    let head = forge.sandbox.commit("files");
    let forge = Forge { base, head, ..forge };
    forge.push();
    forge.set_pipeline(&forge.head);
    let job = forge.job(None);
    forge.sandbox.git_in(&job, &["config", "diff.drv.command", "false"]);
    forge.sandbox.git_in(&job, &["config", "diff.drv.textconv", "false"]);
    let fetched = forge.fetch(&job, &forge.ci()).await.unwrap();
    let diff = diff::Diff::parse(&fetched.raw).unwrap();
    for path in ["a.dat", "d.cfg"] {
        assert_eq!(diff.file(path).unwrap().additions, 1, "{path}");
    }
}

#[tokio::test]
async fn no_variable_of_the_pipeline_can_become_an_option() {
    let forge = Forge::new();
    let job = forge.job(Some(1));
    let bait = forge.sandbox.root().join("bait");
    let option = format!("--upload-pack=touch {}", bait.display());
    for ci in [
        CiContext { target_branch: Some(option.clone()), diff_base_sha: None, ..forge.ci() },
        CiContext { source_branch: Some(option.clone()), diff_base_sha: Some("dead".repeat(10)), ..forge.ci() },
        CiContext { commit_sha: Some(option.clone()), ..forge.ci() },
        CiContext { diff_base_sha: Some(option.clone()), target_branch: Some(option.clone()), ..forge.ci() },
    ] {
        let _ = forge.fetch(&job, &ci).await;
    }
    forge.sandbox.git_in(&job, &["remote", "remove", "origin"]);
    let ci = CiContext { repository_url: Some(option), ..forge.ci() };
    let _ = forge.fetch(&job, &ci).await;
    assert!(!bait.exists());
}

/// Answers every request with 401, as GitLab does to a token that has run out.
fn unauthorised_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    format!("http://gitlab-ci-token:s3cr3t-canary@{address}/group/project.git")
}

#[tokio::test]
async fn a_remote_that_wants_a_password_ends_at_once_and_no_credential_is_shown() {
    let forge = Forge::new();
    let job = forge.job(Some(1));
    let remote = unauthorised_server();
    forge.sandbox.git_in(&job, &["remote", "set-url", "origin", &remote]);
    let trouble = forge.fetch(&job, &forge.ci()).await.unwrap_err();
    assert!(trouble.said.is_some());
    assert!(!format!("{trouble:?}").contains("s3cr3t-canary"), "{trouble:#?}");

    forge.sandbox.git_in(&job, &["remote", "remove", "origin"]);
    let ci = CiContext { repository_url: Some(remote), ..forge.ci() };
    let trouble = forge.fetch(&job, &ci).await.unwrap_err();
    assert!(!format!("{trouble:?}").contains("s3cr3t-canary"), "{trouble:#?}");
}

#[tokio::test]
async fn a_remote_that_hangs_is_left_at_the_deadline_with_everything_it_started() {
    let forge = Forge::new();
    let job = forge.job(Some(1));
    let pid_file = forge.sandbox.root().join("pid");
    let ssh = forge.sandbox.script("ssh", &format!("#!/bin/sh\necho $$ > {}\nexec sleep 600\n", pid_file.display()));
    forge.sandbox.git_in(&job, &["config", "core.sshCommand", ssh.to_str().unwrap()]);
    forge.sandbox.git_in(&job, &["remote", "set-url", "origin", "ssh://example.invalid/x.git"]);
    let git = git_in(&forge.sandbox, &job).with_deadlines(Duration::from_secs(60), Duration::from_secs(1));
    let started = Instant::now();
    let trouble = diff::fetch::ci(&git, &forge.ci()).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(trouble.said.as_deref().unwrap().contains("did not end within 1 seconds"), "{trouble:#?}");

    let pid = std::fs::read_to_string(pid_file).unwrap();
    let is_running = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        // The state follows the name in brackets; a zombie runs no more.
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    };
    let limit = Instant::now() + Duration::from_secs(20);
    while is_running() {
        assert!(Instant::now() < limit, "process {pid} outlived its deadline");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_submodule_s_new_commit_is_one_line_and_its_content_is_not_asked_for() {
    let forge = Forge::new();
    forge.sandbox.git(&["checkout", "-q", "topic"]);
    let allowed = ["-c", "protocol.file.allow=always"];
    let origin = url(&forge.origin());
    let add = ["submodule", "--quiet", "add", "-b", "main", &origin, "sub"];
    forge.sandbox.git(&[allowed.as_slice(), add.as_slice()].concat());
    let base = forge.sandbox.commit("submodule");
    forge.sandbox.git_in(&forge.sandbox.repo().join("sub"), &["checkout", "-q", "HEAD~1"]);
    let head = forge.sandbox.commit("move it");
    let forge = Forge { base, head, ..forge };
    forge.push();
    forge.set_pipeline(&forge.head);
    let fetched = forge.fetch(&forge.job(Some(1)), &forge.ci()).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&fetched.raw), forge.truth());
    let diff = diff::Diff::parse(&fetched.raw).unwrap();
    assert_eq!(diff.files.len(), 1);
    assert!(diff.files[0].is_submodule);
    assert_eq!((diff.files[0].additions, diff.files[0].deletions), (1, 1));
}

#[tokio::test]
async fn renames_are_paired_from_the_similarity_that_gitlab_uses() {
    let forge = Forge::new();
    forge.sandbox.git(&["checkout", "-q", "topic"]);
    let rows: String = (0..40).map(|n| format!("some row number {n}\n")).collect();
    forge.sandbox.write("old.py", &rows);
    let base = forge.sandbox.commit("base");
    std::fs::remove_file(forge.sandbox.repo().join("old.py")).unwrap();
    let other: String = (0..24).map(|n| format!("entirely different {n}\n")).collect();
    forge.sandbox.write("new.py", format!("{}{other}", &rows[..rows.len() * 2 / 5]));
    let head = forge.sandbox.commit("rename and rewrite");
    let forge = Forge { base, head, ..forge };
    let truth = forge.truth();
    let diff = diff::Diff::parse(truth.as_bytes()).unwrap();
    assert_eq!(diff.files.len(), 1, "{truth}");
    assert!(diff.files[0].similarity.is_some_and(|percent| (30..50).contains(&percent)), "{truth}");
    assert!(diff_command(&["a", "b"]).contains(&"-M30%"));
}
