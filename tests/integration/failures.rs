//! Whatever happens, a run leaves its record, one clear message and the right exit code.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Finished, Sandbox, read_events, read_json};

/// What every failed run must show, wherever its record went.
#[track_caller]
fn assert_failed_in(workdir: &Path, finished: &Finished, code: &str, exit: i32) -> Value {
    assert_eq!(finished.code, exit, "\n--- stdout\n{}\n--- stderr\n{}", finished.stdout, finished.stderr);
    let run = read_json(&workdir.join("run.json"));
    assert_eq!(run["ok"], false);
    assert_eq!(run["skipped"], false);
    assert_eq!(run["error"]["error_code"], code, "{run:#}");
    assert_eq!(run["exit_code"], exit);
    let events = read_events(workdir);
    assert_eq!(events[0]["event"], "run.started");
    let last = events.last().unwrap();
    assert_eq!(last["event"], "run.finished");
    assert_eq!(last["data"]["ok"], false);
    let raised = &events[events.len() - 2];
    assert_eq!(raised["event"], "error.raised");
    assert_eq!(raised["data"]["error_code"], code);
    let message = run["error"]["message"].as_str().unwrap();
    let quoted = format!("{message:?}");
    let start: String = quoted.trim_matches('"').chars().take(80).collect();
    assert_eq!(finished.stderr.matches(&start).count(), 1, "an error is said once:\n{}", finished.stderr);
    assert!(finished.stderr.contains(&format!("error.raised | error_code={code}")), "{}", finished.stderr);
    assert!(!finished.stderr.contains("RUST_BACKTRACE") && !finished.stderr.contains("panicked at"));
    assert!(!finished.stdout.contains("diff --git") && !finished.stderr.contains("diff --git"));
    run
}

#[track_caller]
fn assert_failed(sandbox: &Sandbox, finished: &Finished, code: &str, exit: i32) -> Value {
    assert_failed_in(&sandbox.workdir(), finished, code, exit)
}

#[test]
fn a_bad_config_is_recorded_and_names_file_key_and_the_nearest_key() {
    let sandbox = Sandbox::with_change();
    sandbox.write(".diffsan.toml", "[limits]\nmax_fils = 3\n");
    let finished = sandbox.run(["review"]);
    let run = assert_failed(&sandbox, &finished, "CONFIG_PARSE_ERROR", 2);
    assert_eq!(run["error"]["context"]["key"], "limits.max_fils");
    assert!(finished.stderr.contains(".diffsan.toml: limits.max_fils: is not a known key"), "{}", finished.stderr);
    assert!(finished.stderr.contains("help: did you mean `limits.max_files`?"), "{}", finished.stderr);
}

#[test]
fn each_kind_of_bad_config_exits_2_with_a_message_that_says_what_is_wrong() {
    /// File, environment, arguments, and what the message must say.
    type Row = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str], &'static str);
    let table: &[Row] = &[
        ("[limits]\nmax_files = \"many\"\n", &[], &[], "limits.max_files"),
        ("[limits]\nmax_files = 0\n", &[], &[], "limits.max_files"),
        ("[limits\n", &[], &[], "is not valid TOML"),
        ("limits = 3\n", &[], &[], "must be a table of keys"),
        ("[nothing]\nkey = 1\n", &[], &[], "nothing.key: is not a known key"),
        ("[agent]\nagent = \"copilot\"\n", &[], &[], "unknown variant `copilot`"),
        (
            "[agent]\nagent = \"cursor\"\n",
            &[("DIFFSAN_AGENT__PROXY_URL", "http://127.0.0.1:1")],
            &[],
            "works with the codex agent only",
        ),
        (
            "[agent]\ncustom_instructions_file = \"gone.md\"\n",
            &[],
            &[],
            "could not read agent.custom_instructions_file",
        ),
        ("[gitlab]\nsummary_note_tag = \"a b\"\n", &[], &[], "gitlab.summary_note_tag"),
        ("note_timezone = \"Middle/Earth\"\n", &[], &[], "note_timezone"),
        ("", &[("DIFFSAN_LIMITS__BOGUS", "1")], &[], "environment variable DIFFSAN_LIMITS__BOGUS: is not a known key"),
        ("", &[("DIFFSAN_LIMITS__MAX_FILES", "-1")], &[], "DIFFSAN_LIMITS__MAX_FILES"),
        ("", &[("DIFFSAN_LIMITS", "[]")], &[], "must be a JSON object"),
        ("", &[("DIFFSAN_CONFIG_FILE", "gone.toml")], &[], "could not read the configuration file gone.toml"),
        ("", &[], &["--config", "src"], "is not a file"),
    ];
    for (file, env, args, message) in table {
        let sandbox = Sandbox::with_change();
        if !file.is_empty() {
            sandbox.write(".diffsan.toml", file);
        }
        let output = sandbox.command(["review"]).args(*args).envs(env.iter().copied()).output().unwrap();
        let finished = Finished::of(output);
        assert_failed(&sandbox, &finished, "CONFIG_PARSE_ERROR", 2);
        assert!(finished.stderr.contains(message), "{message:?} is not in:\n{}", finished.stderr);
    }
}

#[test]
fn an_unknown_variable_without_a_section_is_only_a_warning() {
    let sandbox = Sandbox::with_change();
    let output = sandbox.command(["--dry-run"]).env("DIFFSAN_WORKDRI", "x").output().unwrap();
    let finished = Finished::of(output).expect_code(0);
    assert!(finished.stdout.contains("DIFFSAN_WORKDRI"), "{}", finished.stdout);
    assert!(finished.stdout.contains("DIFFSAN_WORKDIR"), "{}", finished.stdout);
}

#[test]
fn a_panic_in_any_stage_is_recorded_without_a_backtrace() {
    for stage in ["config", "fetch", "prepare", "skip", "prompt", "agent", "validate", "plan"] {
        let sandbox = Sandbox::with_change();
        let output = sandbox
            .command(["--agent", "builtin"])
            .env("DIFFSAN_FAULT", format!("panic:{stage}"))
            .env("RUST_BACKTRACE", "1")
            .output()
            .unwrap();
        let finished = Finished::of(output);
        let run = assert_failed(&sandbox, &finished, "FORMAT_FAILED", 1);
        assert_eq!(run["error"]["context"]["stage"], stage);
        assert_eq!(run["error"]["cause"], format!("a fault was asked for in stage {stage}"));
        assert_eq!(run["stage"], stage);
    }
}

#[test]
fn a_signal_in_a_stage_is_recorded_with_its_exit_code() {
    for (signal, exit) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        for stage in ["config", "fetch", "validate"] {
            let sandbox = Sandbox::with_change();
            let mut child = sandbox
                .command(["--agent", "builtin"])
                .env("DIFFSAN_FAULT", format!("hang:{stage}"))
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            let mut seen = String::new();
            while !seen.contains("hangs in stage") {
                assert_ne!(stdout.read_line(&mut seen).unwrap(), 0, "{seen}");
            }
            let killed = std::process::Command::new("kill").arg(signal).arg(child.id().to_string()).status().unwrap();
            assert!(killed.success());
            let mut finished = Finished::of(child.wait_with_output().unwrap());
            finished.stdout = seen;
            let run = assert_failed(&sandbox, &finished, "INTERRUPTED", exit);
            assert_eq!(run["stage"], stage);
        }
    }
}

#[test]
fn a_reader_that_closes_stdout_does_not_end_the_run() {
    let sandbox = Sandbox::with_change();
    let mut child = sandbox.spawn(["--agent", "builtin"]);
    drop(child.stdout.take());
    let finished = Finished::of(child.wait_with_output().unwrap()).expect_code(0);
    assert!(finished.stderr.is_empty(), "{}", finished.stderr);
    assert_eq!(sandbox.artifact("run.json")["ok"], true);
    assert_eq!(sandbox.events().last().unwrap()["event"], "run.finished");
}

#[test]
fn a_committed_workdir_link_leaves_its_target_untouched() {
    let sandbox = Sandbox::with_change();
    let target = sandbox.root().join("precious");
    std::fs::create_dir(&target).unwrap();
    std::fs::write(target.join("run.json"), "mine").unwrap();
    symlink(&target, sandbox.workdir()).unwrap();
    let finished = sandbox.run(["--agent", "builtin"]);
    let (_, rest) = finished.stderr.split_once("the record of this run is in ").expect("a fallback is named");
    let fallback = rest.lines().next().unwrap();
    let run = assert_failed_in(Path::new(fallback), &finished, "CONFIG_PARSE_ERROR", 2);
    assert_eq!(run["error"]["context"]["workdir"], ".diffsan");
    assert_eq!(std::fs::read_to_string(target.join("run.json")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
}

#[test]
fn a_committed_artifact_link_is_replaced_and_its_target_untouched() {
    let sandbox = Sandbox::with_change();
    std::fs::create_dir(sandbox.workdir()).unwrap();
    let target = sandbox.root().join("precious.json");
    std::fs::write(&target, "mine").unwrap();
    for name in ["run.json", "events.jsonl", "prompt.txt", ".gitignore", "run.json.partial"] {
        symlink(&target, sandbox.workdir().join(name)).unwrap();
    }
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    assert_eq!(sandbox.artifact("run.json")["ok"], true);
    assert!(!sandbox.workdir().join("run.json").is_symlink());
}

#[test]
fn stale_artifacts_go_and_other_files_stay() {
    let sandbox = Sandbox::with_change();
    std::fs::create_dir(sandbox.workdir()).unwrap();
    for name in ["review.json", "agent.raw.attempt7.txt", "post_results.json", "notes.txt"] {
        std::fs::write(sandbox.workdir().join(name), "old").unwrap();
    }
    sandbox.run(["--dry-run"]).expect_code(0);
    for (name, stays) in
        [("review.json", false), ("agent.raw.attempt7.txt", false), ("post_results.json", false), ("notes.txt", true)]
    {
        assert_eq!(sandbox.workdir().join(name).exists(), stays, "{name}");
    }
    assert_eq!(sandbox.artifact_text(".gitignore"), "*\n");
}

#[test]
fn dangerous_workdirs_are_refused_and_the_record_goes_here() {
    let sandbox = Sandbox::with_change();
    let (home, repo) = (sandbox.home(), sandbox.repo());
    for workdir in [".", "..", "/", ".git/x", home.to_str().unwrap(), repo.to_str().unwrap()] {
        let finished = sandbox.run(["--workdir", workdir]);
        let run = assert_failed(&sandbox, &finished, "CONFIG_PARSE_ERROR", 2);
        assert_eq!(run["error"]["context"]["workdir"], workdir);
        assert!(finished.stderr.contains("the record of this run is in"), "{}", finished.stderr);
    }
    assert!(!home.join("run.json").exists() && !repo.join("run.json").exists());
}

#[test]
fn a_workdir_that_is_a_file_is_reported_and_the_record_goes_elsewhere() {
    let sandbox = Sandbox::with_change();
    sandbox.write("out", "a file");
    let finished = sandbox.run(["--workdir", "out"]);
    assert_failed(&sandbox, &finished, "CONFIG_PARSE_ERROR", 2);
    assert_eq!(std::fs::read_to_string(sandbox.repo().join("out")).unwrap(), "a file");
}

#[test]
fn git_that_is_missing_is_a_fetch_failure_that_says_so() {
    let sandbox = Sandbox::with_change();
    let output = sandbox.command(["--agent", "builtin"]).env("PATH", "/nonexistent").output().unwrap();
    let finished = Finished::of(output);
    assert_failed(&sandbox, &finished, "DIFF_FETCH_FAILED", 1);
    assert!(finished.stderr.contains("git"), "{}", finished.stderr);
}

#[test]
fn a_bad_extra_pattern_fails_before_any_prompt_is_written() {
    let sandbox = Sandbox::with_change();
    sandbox.write(".diffsan.toml", "[secrets]\nextra_patterns = [\"ok\", \"(\"]\n");
    let finished = sandbox.run(["--agent", "builtin"]);
    assert_failed(&sandbox, &finished, "REDACTION_ENGINE_FAILED", 1);
    assert!(!sandbox.workdir().join("prompt.txt").exists());
}

#[test]
fn an_unknown_flag_exits_2_and_names_the_flag() {
    let sandbox = Sandbox::with_change();
    let finished = sandbox.run(["--frobnicate"]).expect_code(2);
    assert!(finished.stderr.contains("--frobnicate"));
    assert!(!sandbox.workdir().exists());
}

/// A file system of its own with little room; unmounted when dropped.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// None where this user may not mount.
    fn mount(at: &Path, kilobytes: u32) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let size = format!("size={kilobytes}k");
        let mounted = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_reported_and_the_record_still_written() {
    let sandbox = Sandbox::with_change();
    let body: String = (0..20_000).map(|line| format!("value_{line} = {line}\n")).collect();
    sandbox.write("src/big.py", body);
    sandbox.commit("big");
    let Some(disk) = SmallDisk::mount(&sandbox.root().join("disk"), 256) else {
        eprintln!("NOT RUN: this user may not mount a small disk");
        return;
    };
    let workdir = disk.0.join("out");
    let finished = sandbox.run(["--agent", "builtin", "--workdir", workdir.to_str().unwrap()]);
    let run = assert_failed_in(&workdir, &finished, "ARTIFACT_WRITE_FAILED", 1);
    assert!(finished.stderr.contains("the disk is full"), "{}", finished.stderr);
    assert!(run["error"]["context"]["artifact"].is_string());
}

#[test]
fn a_signal_while_a_child_runs_ends_the_child_first() {
    let sandbox = Sandbox::with_change();
    let mark = sandbox.root().join("started");
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\necho $$ > '{0}.new'\nmv '{0}.new' '{0}'\nwhile :; do read x < /dev/zero; done\n",
        mark.display()
    );
    let agent = sandbox.script("agent.sh", &script.replace("read x < /dev/zero", "tail -f /dev/null"));
    let child = sandbox
        .command(["--agent", "command"])
        .env("DIFFSAN_AGENT__COMMAND", &agent)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !mark.exists() {
        std::thread::yield_now();
    }
    let killed = std::process::Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().unwrap();
    assert!(killed.success());
    let finished = Finished::of(child.wait_with_output().unwrap());
    assert_failed(&sandbox, &finished, "INTERRUPTED", 143);
    let pid = std::fs::read_to_string(&mark).unwrap();
    let alive = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z"));
    assert!(!alive, "the agent outlived the run");
}
