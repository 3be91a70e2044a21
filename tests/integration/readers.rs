//! Commands that look at a run: they never lock, never wait for one, and find it from wherever the reader stands.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::gitlab::{FakeGitLab, MR, PROJECT, TOKEN};
use crate::sandbox::{Finished, Sandbox};

/// A run whose agent waits until the pipe is written to.
fn running(sandbox: &Sandbox) -> Child {
    let pipe = sandbox.root().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let answer = r#"{"summary_markdown":"ok","findings":[]}"#;
    sandbox.script(
        "agent.sh",
        &format!("#!/bin/sh\ncat > /dev/null\ncat '{}' > /dev/null\necho '{answer}'\n", pipe.display()),
    );
    let mut command = sandbox.command(["--agent", "command", "-v"]);
    command.env("DIFFSAN_AGENT__COMMAND", "../agent.sh").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_for(&mut child, "stage=agent");
    child
}

/// Reads the child's output up to a line with these words.
fn wait_for(child: &mut Child, words: &str) {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the run ended before it said {words}");
    }
    // Goes on being read, so that the run never waits for a reader.
    std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
}

fn release(sandbox: &Sandbox) {
    std::fs::write(sandbox.root().join("go"), "go").unwrap();
}

#[test]
fn any_number_of_readers_can_look_at_a_run_that_is_still_going() {
    let sandbox = Sandbox::with_change();
    let mut run = running(&sandbox);
    let readers: Vec<_> = (0..7).map(|_| sandbox.spawn(["inspect", "--no-follow"])).collect();
    for reader in readers {
        let seen = Finished::of(reader.wait_with_output().unwrap()).expect_code(0);
        assert!(seen.stdout.contains("state    running") && seen.stdout.contains("in stage agent"), "{}", seen.stdout);
    }
    sandbox.run(["explain", "f-0"]).expect_code(2);
    release(&sandbox);
    assert!(run.wait().unwrap().success());
    assert!(sandbox.run(["inspect"]).expect_code(0).stdout.contains("state    done, exit code 0"));
}

#[test]
fn inspect_follows_a_run_to_its_end() {
    let sandbox = Sandbox::with_change();
    let mut run = running(&sandbox);
    let mut follower = sandbox.spawn(["inspect"]);
    let mut said = BufReader::new(follower.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("agent") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it did not follow");
    }
    release(&sandbox);
    assert!(run.wait().unwrap().success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("validate"), "{rest}");
    let seen = Finished::of(follower.wait_with_output().unwrap()).expect_code(0);
    assert!(seen.stdout.contains("state    done, exit code 0"), "{}", seen.stdout);
}

#[test]
fn a_run_is_found_from_inside_its_folder_through_a_link_and_in_downloaded_artifacts() {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", "breakpoint()\n");
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    let id = sandbox.artifact("review.json")["findings"][0]["finding_id"].as_str().unwrap().to_owned();
    std::os::unix::fs::symlink(sandbox.workdir(), sandbox.root().join("link")).unwrap();
    let job = sandbox.root().join("artifacts");
    std::fs::create_dir(&job).unwrap();
    let copied = std::process::Command::new("cp").args(["-r"]).arg(sandbox.workdir()).arg(&job).status().unwrap();
    assert!(copied.success());
    let places: [(&str, &[&str]); 6] = [
        (".", &["inspect"]),
        ("src", &["inspect"]),
        (".diffsan", &["inspect"]),
        (".diffsan", &["inspect", "."]),
        (".", &["inspect", "../link"]),
        (".", &["inspect", "../artifacts"]),
    ];
    for (folder, args) in places {
        let mut command = sandbox.command(args);
        let seen = Finished::of(command.current_dir(sandbox.repo().join(folder)).output().unwrap()).expect_code(0);
        assert!(seen.stdout.contains("state    done") && seen.stdout.contains(&id), "{folder}: {}", seen.stdout);
        assert!(seen.stdout.contains("src/app.py:1"), "{}", seen.stdout);
    }
}

#[test]
fn a_posting_that_was_killed_is_unfinished_and_named() {
    let sandbox = Sandbox::with_change();
    let base = sandbox.git(&["rev-parse", "main"]).trim().to_owned();
    let head = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let gitlab = FakeGitLab::start(&sandbox.repo(), &base, &head);
    let command = |args: &[&str]| {
        let mut command = sandbox.command(args);
        command
            .env("CI_API_V4_URL", format!("{}/api/v4", gitlab.url()))
            .env("CI_MERGE_REQUEST_PROJECT_ID", PROJECT.to_string())
            .env("CI_MERGE_REQUEST_IID", MR.to_string())
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base)
            .env("CI_COMMIT_SHA", &head)
            .env("GITLAB_TOKEN", TOKEN);
        command
    };
    Finished::of(command(&["--ci", "--no-post", "--agent", "builtin"]).output().unwrap()).expect_code(0);
    let mut post = command(&["post"]).env("DIFFSAN_FAULT", "hang:post").stdout(Stdio::piped()).spawn().unwrap();
    wait_for(&mut post, "hangs in stage post");
    post.kill().unwrap();
    post.wait().unwrap();
    let seen = sandbox.run(["inspect"]).expect_code(0).stdout;
    assert!(seen.contains("posting did not come to its end"), "{seen}");
    assert!(seen.contains("state    unfinished\n"), "{seen}");
    assert!(seen.contains("Next:  diffsan post .diffsan"), "{seen}");
    Finished::of(command(&["post", ".diffsan"]).output().unwrap()).expect_code(0);
    assert!(sandbox.run(["inspect"]).expect_code(0).stdout.contains("state    done, exit code 0"));
}

#[test]
fn a_folder_with_files_of_somebody_else_is_never_a_workdir() {
    let sandbox = Sandbox::with_change();
    let mine = [(".gitignore", "*.log\n"), ("report.html", "<p>mine</p>\n"), ("run.json", "{\"mine\": true}\n")];
    for (name, text) in mine {
        sandbox.write(&format!("mydocs/{name}"), text);
    }
    for args in [&["--agent", "builtin", "--workdir", "mydocs"][..], &["report", "--baseline", "--workdir", "mydocs"]] {
        let refused = sandbox.run(args).expect_code(2);
        assert!(refused.stderr.contains("not a folder of diffsan's"), "{}", refused.stderr);
    }
    for (name, text) in mine {
        assert_eq!(std::fs::read_to_string(sandbox.repo().join("mydocs").join(name)).unwrap(), text, "{name}");
    }
    let doctor = sandbox.run(["doctor", "--agent", "builtin", "--workdir", "mydocs"]);
    assert!(doctor.stdout.contains("FAIL  workdir"), "{}", doctor.stdout);
    sandbox.write(".venv/.gitignore", "*\n");
    sandbox.write(".venv/report.html", "mine\n");
    sandbox.run(["--agent", "builtin", "--workdir", ".venv"]).expect_code(2);
    std::fs::create_dir(sandbox.repo().join("empty")).unwrap();
    sandbox.run(["--agent", "builtin", "--workdir", "empty"]).expect_code(0);
    sandbox.run(["--agent", "builtin", "--workdir", "empty"]).expect_code(0);
}

#[test]
fn the_baseline_leaves_an_earlier_review_where_it_is() {
    let sandbox = Sandbox::with_change();
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    let review = sandbox.artifact_text("review.json");
    sandbox.run(["report", "--baseline"]).expect_code(0);
    assert_eq!(sandbox.artifact("gl-code-quality-report.json"), json!([]));
    assert_eq!(sandbox.artifact_text("review.json"), review);
    assert!(!sandbox.workdir().join(".reserve").exists());
}

#[test]
fn a_record_that_is_no_json_is_said_to_be_so() {
    let sandbox = Sandbox::with_change();
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    std::fs::write(sandbox.workdir().join("run.json"), "{\"ok\": tr").unwrap();
    let document: Value =
        serde_json::from_str(&sandbox.run(["inspect", "--format", "json"]).expect_code(0).stdout).unwrap();
    let reason = document["reason"].as_str().unwrap();
    assert!(reason.starts_with("run.json is damaged: ") && reason.contains("line 1"), "{reason}");
}
