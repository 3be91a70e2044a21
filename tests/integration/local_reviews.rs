//! What a local review says it compared, what it takes in on request, and what it does with odd input and output.

use std::process::Stdio;

use crate::sandbox::{Finished, Sandbox};

#[test]
fn a_local_review_says_what_was_compared_and_what_was_left_out() {
    let sandbox = Sandbox::with_change();
    sandbox.write("new.py", "x = 1\n");
    let text = sandbox.run(["--agent", "builtin"]).expect_code(0).stdout;
    assert!(text.contains("compared main ("), "{text}");
    assert!(text.contains("1 untracked file was left out"), "{text}");
    let text = sandbox.run(["--agent", "builtin", "--untracked"]).expect_code(0).stdout;
    assert!(!text.contains("left out"), "{text}");
    let files: Vec<_> = sandbox.artifact("diff.json")["files"].as_array().unwrap().clone();
    assert!(files.iter().any(|file| file["path"] == "new.py" && file["status"] == "added"), "{files:?}");
    assert_eq!(sandbox.git(&["status", "--porcelain", "new.py"]), "?? new.py\n", "the index is as it was");
}

#[test]
fn nothing_to_review_says_why() {
    let sandbox = Sandbox::new();
    sandbox.write("a.py", "x = 1\n");
    sandbox.write("b.py", "x = 1\n");
    let text = sandbox.run(["--agent", "builtin"]).expect_code(0).stdout;
    assert!(text.contains("There is no change to review: compared main ("), "{text}");
    assert!(text.contains("HEAD is that commit") && text.contains("2 untracked files were left out"), "{text}");
}

#[test]
fn paths_narrow_a_review() {
    let sandbox = Sandbox::with_change();
    sandbox.write("README.md", "# changed\n");
    sandbox.write("lib/x.py", "x = 1\n");
    sandbox.run(["--agent", "builtin", "--untracked", "--", "src", "lib"]).expect_code(0);
    let bundle = sandbox.artifact("diff.json");
    let paths: Vec<_> = bundle["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["lib/x.py", "src/app.py"]);
    let refused = sandbox.run(["--ci", "--no-post", "--agent", "builtin", "--", "src"]).expect_code(2);
    assert!(refused.stderr.contains("--no-ci"), "{}", refused.stderr);
}

#[test]
fn the_command_of_a_job_reviews_head_where_there_is_no_job_and_says_what_it_assumed() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "feature"]);
    sandbox.write("src/app.py", "breakpoint()\n");
    let head = sandbox.commit("a change");
    sandbox.write("src/later.py", "breakpoint()\n");
    sandbox.git(&["add", "-A"]);
    let tried = sandbox.run(["--ci", "--agent", "builtin"]).expect_code(0);
    let compared = sandbox.artifact("run.json")["compared"].as_str().unwrap().to_owned();
    for assumed in [&format!("HEAD ({}) with main (", &head[..12]), "no variable of a job", "nothing is posted"] {
        assert!(compared.contains(assumed), "{assumed}: {compared}");
    }
    assert!(tried.stdout.contains("compared HEAD"), "{}", tried.stdout);
    let bundle = sandbox.artifact("diff.json");
    assert_eq!(bundle["source"]["ref"]["head_sha"], head.as_str());
    let files = bundle["files"].as_array().unwrap();
    assert_eq!((files.len(), files[0]["path"].as_str()), (1, Some("src/app.py")));
    // The base that somebody names is taken; in a job the variables are missed as before.
    let named = sandbox.run(["--ci", "--agent", "builtin", "--base", "HEAD"]).expect_code(0);
    assert!(named.stdout.contains("There is no change to review"), "{}", named.stdout);
    let mut job = sandbox.command(["--ci", "--agent", "builtin", "--no-post"]);
    let missed = crate::sandbox::Finished::of(job.env("GITLAB_CI", "true").output().unwrap());
    assert_ne!(missed.code, 0);
    assert!(missed.stderr.contains("merge_request_event"), "{}", missed.stderr);
}

#[test]
fn coloured_marked_and_signed_diffs_are_read() {
    let plain = "diff --git a/x.py b/y.py\nsimilarity index 100%\nrename from x.py\nrename to y.py\n\
                 diff --git a/z.py b/z.py\n--- a/z.py\n+++ b/z.py\n@@ -1 +1 @@\n-one\n+two\n";
    let coloured = "\x1b[1mdiff --git a/z.py b/z.py\x1b[m\n\x1b[1m--- a/z.py\x1b[m\n\x1b[1m+++ b/z.py\x1b[m\n\
                    \x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-one\x1b[m\n\x1b[32m+\x1b[m\x1b[32mtwo\x1b[m\n";
    for (name, text, files) in [
        ("plain", plain.to_owned(), 2),
        ("with a mark of its encoding", format!("\u{feff}{plain}"), 2),
        ("coloured", coloured.to_owned(), 1),
        ("signed", format!("{plain}-- \nSent by a script\n\n"), 2),
        ("signed by git", format!("{plain}-- \n2.39.5\n\n"), 2),
    ] {
        let sandbox = Sandbox::bare();
        sandbox.write("x.patch", text);
        sandbox.run(["--agent", "builtin", "--diff-file", "x.patch"]).expect_code(0);
        assert_eq!(sandbox.artifact("diff.json")["files"].as_array().unwrap().len(), files, "{name}");
    }
}

#[test]
fn a_conflict_is_named_as_one() {
    let sandbox = Sandbox::with_change();
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("src/app.py", "other = 1\n");
    sandbox.commit("other");
    let _ = sandbox.hermetic("git").args(["merge", "topic"]).current_dir(sandbox.repo()).output();
    let finished = sandbox.run(["--agent", "builtin", "--staged"]).expect_code(1);
    assert!(finished.stderr.contains("there are unresolved merge conflicts in src/app.py"), "{}", finished.stderr);
    assert!(!finished.stderr.contains("combined"), "{}", finished.stderr);
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure_and_a_closed_pipe_is_none() {
    let sandbox = Sandbox::with_change();
    for args in [&["config"][..], &["schema", "config"], &["--agent", "builtin"], &["doctor", "--agent", "builtin"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let finished = Finished::of(sandbox.command(args).stdout(full).stderr(Stdio::piped()).output().unwrap());
        assert_eq!(finished.code, 1, "{args:?}: {}", finished.stderr);
        assert!(finished.stderr.contains("could not be written"), "{args:?}: {}", finished.stderr);
        let mut child = sandbox.spawn(args);
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
    }
}
