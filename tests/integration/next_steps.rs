//! Every "next" that diffsan names is a command that does something for the reader: each is run as it stands.

use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Finished, Sandbox};

/// A way to end, and what the named command must then show.
struct Case {
    name: &'static str,
    prepare: fn(&Sandbox),
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    /// Words of the command; empty where there must be none.
    next: &'static str,
    code: i32,
    shows: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "findings",
        prepare: |sandbox| {
            sandbox.write("src/app.py", "breakpoint()\n");
        },
        args: &["--agent", "builtin"],
        env: &[],
        next: "diffsan explain ",
        code: 0,
        shows: "src/app.py:1",
    },
    Case {
        name: "findings in another folder",
        prepare: |sandbox| {
            sandbox.write("src/app.py", "breakpoint()\n");
        },
        args: &["--agent", "builtin", "--workdir", "an other"],
        env: &[],
        next: "diffsan explain ",
        code: 0,
        shows: "src/app.py:1",
    },
    Case {
        name: "part of the change was not reviewed",
        prepare: |sandbox| {
            sandbox.write("src/more.py", "x = 1\n");
            sandbox.git(&["add", "-A"]);
        },
        args: &["--agent", "builtin"],
        env: &[("DIFFSAN_LIMITS__MAX_FILES", "1")],
        next: "diffsan inspect ",
        code: 0,
        shows: "Not reviewed",
    },
    Case {
        name: "bad config",
        prepare: |sandbox| {
            sandbox.write(".diffsan.toml", "[limits]\nmax_fils = 1\n");
        },
        args: &[],
        env: &[],
        next: "",
        code: 0,
        shows: "",
    },
    Case {
        name: "no such base",
        prepare: |_| {},
        args: &["--agent", "builtin", "--base", "nowhere"],
        env: &[],
        next: "diffsan doctor ",
        code: 1,
        shows: "nowhere",
    },
    Case {
        name: "missing agent",
        prepare: |_| {},
        args: &["--agent", "command"],
        env: &[("DIFFSAN_AGENT__COMMAND", "no-such-program-here")],
        next: "diffsan doctor ",
        code: 1,
        shows: "no-such-program-here",
    },
    Case {
        name: "an answer that is none",
        prepare: |sandbox| {
            sandbox.script("agent.sh", "#!/bin/sh\ncat > /dev/null\necho I refuse\n");
        },
        args: &["--agent", "command"],
        env: &[("DIFFSAN_AGENT__COMMAND", "../agent.sh")],
        next: "diffsan inspect ",
        code: 0,
        shows: "agent.raw.txt",
    },
    Case {
        name: "--ci outside a merge request",
        prepare: |_| {},
        args: &["--ci", "--agent", "builtin"],
        env: &[("CI_COMMIT_SHA", "1111111111111111111111111111111111111111")],
        next: "diffsan review --no-ci",
        code: 0,
        shows: "No findings",
    },
    Case {
        name: "nothing found",
        prepare: |_| {},
        args: &["--agent", "builtin"],
        env: &[],
        next: "",
        code: 0,
        shows: "",
    },
];

#[test]
fn every_next_step_of_a_run_works_where_it_is_named() {
    for case in CASES {
        let sandbox = Sandbox::with_change();
        (case.prepare)(&sandbox);
        Finished::of(sandbox.command(case.args).envs(case.env.iter().copied()).output().unwrap());
        let folder = if case.args.contains(&"--workdir") { "an other" } else { ".diffsan" };
        let run = crate::sandbox::read_json(&sandbox.repo().join(folder).join("run.json"));
        let recorded = run["verdict"]["first_next_action"]["command"].as_str().unwrap_or_default().to_owned();
        assert!(
            recorded.starts_with(case.next) && recorded.is_empty() == case.next.is_empty(),
            "{}: {recorded}",
            case.name
        );
        let inspected: Value =
            serde_json::from_str(&sandbox.run(["inspect", folder, "--format", "json"]).expect_code(0).stdout).unwrap();
        let inspected = inspected["next_command"].as_str().unwrap_or_default().to_owned();
        for command in [recorded, inspected].iter().filter(|command| !command.is_empty()) {
            let done = typed(&sandbox, command, case.env);
            assert_eq!(done.code, case.code, "{}: {command}\n{}{}", case.name, done.stdout, done.stderr);
            assert!(done.stdout.contains(case.shows), "{}: {command}\n{}", case.name, done.stdout);
        }
    }
}

/// The line as somebody types it at a prompt in the repository.
fn typed(sandbox: &Sandbox, line: &str, env: &[(&str, &str)]) -> Finished {
    let folder = Path::new(env!("CARGO_BIN_EXE_diffsan")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = sandbox.hermetic("sh");
    shell.args(["-c", line]).current_dir(sandbox.repo()).env("PATH", path).envs(env.iter().copied());
    Finished::of(shell.output().unwrap())
}

#[test]
fn in_a_job_no_command_is_named_that_nobody_there_could_type() {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", "breakpoint()\n");
    for args in [&["--agent", "builtin"][..], &["--agent", "command"]] {
        let mut command = sandbox.command(args);
        command.env("GITLAB_CI", "true").env("DIFFSAN_AGENT__COMMAND", "no-such-program-here");
        command.args(["--no-ci"]).output().unwrap();
        let next = &sandbox.artifact("run.json")["verdict"]["first_next_action"];
        assert_eq!(next["command"], Value::Null, "{next}");
        assert!(!next["why"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_killed_run_is_started_again_with_its_own_flags() {
    let sandbox = Sandbox::with_change();
    sandbox.run(["--agent", "builtin", "--staged"]).expect_code(0);
    let events = sandbox.artifact_text("events.jsonl");
    let cut = events.find("stage.started").unwrap();
    let end = events[cut..].find('\n').unwrap() + cut + 1;
    std::fs::write(sandbox.workdir().join("events.jsonl"), &events[..end]).unwrap();
    let text = sandbox.run(["inspect"]).expect_code(0).stdout;
    assert!(text.contains("Next:  diffsan review --staged --agent builtin"), "{text}");
    typed(&sandbox, "diffsan review --staged --agent builtin", &[]).expect_code(0);
}
