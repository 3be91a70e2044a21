//! `doctor` and the run are one: over many set-ups, good and bad, doctor's exit code is the run's.

use std::process::Command;

use crate::gitlab::{Failure, FakeGitLab, MR, On, PROJECT, TOKEN};
use crate::sandbox::{Finished, Sandbox};

/// One set-up; its run ends with `code`.
struct Case {
    name: &'static str,
    prepare: fn(&Sandbox),
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    code: i32,
}

fn nothing(_: &Sandbox) {}

const BUILTIN: &[&str] = &["--agent", "builtin"];

const LOCAL: &[Case] = &[
    Case { name: "a branch", prepare: nothing, args: BUILTIN, env: &[], code: 0 },
    Case { name: "no agent named", prepare: nothing, args: &[], env: &[], code: 0 },
    Case {
        name: "only origin/main",
        prepare: |sandbox| {
            sandbox.git(&["update-ref", "refs/remotes/origin/main", "main"]);
            sandbox.git(&["branch", "-D", "main"]);
        },
        args: BUILTIN,
        env: &[],
        code: 0,
    },
    Case {
        name: "a base called master",
        prepare: |sandbox| {
            sandbox.git(&["branch", "-m", "main", "master"]);
        },
        args: BUILTIN,
        env: &[],
        code: 0,
    },
    Case {
        name: "no base at all",
        prepare: |sandbox| {
            sandbox.git(&["branch", "-D", "main"]);
        },
        args: BUILTIN,
        env: &[],
        code: 1,
    },
    Case {
        name: "no base, but staged",
        prepare: |sandbox| {
            sandbox.git(&["branch", "-D", "main"]);
        },
        args: &["--agent", "builtin", "--staged"],
        env: &[],
        code: 0,
    },
    Case { name: "unstaged", prepare: nothing, args: &["--agent", "builtin", "--unstaged"], env: &[], code: 0 },
    Case { name: "a named base", prepare: nothing, args: &["--agent", "builtin", "--base", "main"], env: &[], code: 0 },
    Case { name: "a wrong base", prepare: nothing, args: &["--agent", "builtin", "--base", "nope"], env: &[], code: 1 },
    Case {
        name: "a base from the environment",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_MODE__BASE", "nope")],
        code: 1,
    },
    Case {
        name: "no commit yet",
        prepare: |sandbox| {
            sandbox.git(&["checkout", "-q", "--orphan", "fresh"]);
            sandbox.git(&["branch", "-D", "main", "topic"]);
        },
        args: BUILTIN,
        env: &[],
        code: 0,
    },
    Case {
        name: "no repository",
        prepare: |sandbox| std::fs::remove_dir_all(sandbox.repo().join(".git")).unwrap(),
        args: BUILTIN,
        env: &[],
        code: 1,
    },
    Case { name: "no git", prepare: nothing, args: BUILTIN, env: &[("PATH", "/nonexistent")], code: 1 },
    Case {
        name: "a diff from a file",
        prepare: |sandbox| {
            sandbox.write("x.patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n");
        },
        args: &["--agent", "builtin", "--diff-file", "x.patch"],
        env: &[],
        code: 0,
    },
    Case {
        name: "a diff that does not add up",
        prepare: |sandbox| {
            sandbox.write("x.patch", "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n one\n");
        },
        args: &["--agent", "builtin", "--diff-file", "x.patch"],
        env: &[],
        code: 1,
    },
    Case {
        name: "a diff that is not there",
        prepare: nothing,
        args: &["--agent", "builtin", "--diff-file", "none.patch"],
        env: &[],
        code: 1,
    },
    Case {
        name: "a file instead of a workdir",
        prepare: |sandbox| {
            sandbox.write("out", "x");
        },
        args: &["--agent", "builtin", "--workdir", "out"],
        env: &[],
        code: 2,
    },
    Case {
        name: "somebody's folder as workdir",
        prepare: |sandbox| {
            sandbox.write("mine/notes.txt", "x");
        },
        args: &["--agent", "builtin", "--workdir", "mine"],
        env: &[],
        code: 2,
    },
    Case {
        name: "the top as workdir",
        prepare: nothing,
        args: &["--agent", "builtin", "--workdir", "."],
        env: &[],
        code: 2,
    },
    Case {
        name: "another workdir",
        prepare: nothing,
        args: &["--agent", "builtin", "--workdir", "a/b"],
        env: &[],
        code: 0,
    },
    Case {
        name: "a typo in the file",
        prepare: |sandbox| {
            sandbox.write(".diffsan.toml", "[limits]\nmax_fils = 1\n");
        },
        args: BUILTIN,
        env: &[],
        code: 2,
    },
    Case {
        name: "a file that is no TOML",
        prepare: |sandbox| {
            sandbox.write(".diffsan.toml", "[limits\n");
        },
        args: BUILTIN,
        env: &[],
        code: 2,
    },
    Case { name: "a file that is not there", prepare: nothing, args: &["--config", "none.toml"], env: &[], code: 2 },
    Case {
        name: "a wrong type",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_LIMITS__MAX_FILES", "many")],
        code: 2,
    },
    Case {
        name: "an unknown nested key",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_LIMITS__BOGUS", "1")],
        code: 2,
    },
    Case { name: "an unknown variable", prepare: nothing, args: BUILTIN, env: &[("DIFFSAN_FOO", "1")], code: 0 },
    Case {
        name: "a bad pattern",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_SECRETS__EXTRA_PATTERNS", "[\"(\"]")],
        code: 1,
    },
    Case {
        name: "a bad allowed pattern",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_SECRETS__ALLOW_PATTERNS", "[\"[\"]")],
        code: 1,
    },
    Case {
        name: "a bad glob",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_TRUNCATION__IGNORE_GLOBS", "[\"a{b\"]")],
        code: 2,
    },
    Case {
        name: "every file ignored",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_TRUNCATION__IGNORE_GLOBS", "[\"**\"]")],
        code: 0,
    },
    Case {
        name: "a bad time zone",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_NOTE_TIMEZONE", "Mars/Base")],
        code: 2,
    },
    Case {
        name: "instructions that are not there",
        prepare: nothing,
        args: BUILTIN,
        env: &[("DIFFSAN_AGENT__CUSTOM_INSTRUCTIONS_FILE", "none.md")],
        code: 2,
    },
    Case {
        name: "an agent that is not there",
        prepare: nothing,
        args: &["--agent", "command"],
        env: &[("DIFFSAN_AGENT__COMMAND", "no-such-program-here")],
        code: 1,
    },
    Case {
        name: "no command for the command agent",
        prepare: nothing,
        args: &["--agent", "command"],
        env: &[],
        code: 2,
    },
    Case {
        name: "an agent that works",
        prepare: |sandbox| {
            let answer = r#"{"summary_markdown":"ok","findings":[]}"#;
            sandbox.script("agent.sh", &format!("#!/bin/sh\ncat > /dev/null\necho '{answer}'\n"));
        },
        args: &["--agent", "command"],
        env: &[("DIFFSAN_AGENT__COMMAND", "../agent.sh")],
        code: 0,
    },
    Case {
        name: "nothing to review, and no agent",
        prepare: |sandbox| {
            sandbox.git(&["checkout", "-q", "main"]);
        },
        args: &["--agent", "command"],
        env: &[("DIFFSAN_AGENT__COMMAND", "no-such-program-here")],
        code: 0,
    },
    Case {
        name: "a dry run needs no agent",
        prepare: nothing,
        args: &["--agent", "command", "--dry-run"],
        env: &[("DIFFSAN_AGENT__COMMAND", "no-such-program-here")],
        code: 0,
    },
    Case {
        name: "a conflict that is not resolved",
        prepare: |sandbox| {
            sandbox.git(&["checkout", "-q", "main"]);
            sandbox.write("src/app.py", "other = 1\n");
            sandbox.commit("other");
            let _ = sandbox.hermetic("git").args(["merge", "topic"]).current_dir(sandbox.repo()).output();
        },
        args: &["--agent", "builtin", "--staged"],
        env: &[],
        code: 1,
    },
    Case {
        name: "--ci where there is no job",
        prepare: nothing,
        args: &["--ci", "--agent", "builtin"],
        env: &[],
        code: 0,
    },
    Case {
        name: "--ci without a token",
        prepare: nothing,
        args: &["--ci", "--agent", "builtin"],
        env: &[("CI_MERGE_REQUEST_IID", "7"), ("CI_PROJECT_ID", "1")],
        code: 1,
    },
];

#[test]
fn doctor_says_of_each_local_set_up_what_the_run_then_does() {
    for case in LOCAL {
        let sandbox = Sandbox::with_change();
        (case.prepare)(&sandbox);
        let command = |first: &[&str]| {
            let mut command = sandbox.command(first.iter().chain(case.args));
            command.envs(case.env.iter().copied());
            command
        };
        agree(case.name, case.code, command(&["doctor"]), command(&[]), &sandbox);
    }
}

/// Doctor first, since it must not need what a run leaves; then the run.
fn agree(name: &str, code: i32, mut doctor: Command, mut run: Command, sandbox: &Sandbox) {
    let said = Finished::of(doctor.output().unwrap());
    assert!(!sandbox.workdir().exists(), "{name}: doctor leaves nothing behind");
    let done = Finished::of(run.output().unwrap());
    assert_eq!(done.code, code, "{name}: the run\n{}\n{}", done.stdout, done.stderr);
    assert_eq!(said.code, done.code, "{name}: doctor\n{}\n{}\nthe run\n{}", said.stdout, said.stderr, done.stderr);
    let verdict = if code == 0 { "A run would work." } else { "A run would fail" };
    assert!(said.stdout.contains(verdict), "{name}:\n{}", said.stdout);
    assert_eq!(said.stdout.contains("FAIL"), code != 0, "{name}:\n{}", said.stdout);
}

/// A set-up of a job: what is wrong with GitLab, and how the run ends.
type JobCase = (&'static str, fn(&FakeGitLab), &'static [(&'static str, &'static str)], i32);

#[test]
fn doctor_says_of_each_job_what_the_run_then_does() {
    let cases: &[JobCase] = &[
        ("all is well", |_| {}, &[], 0),
        ("a wrong token", |_| {}, &[("GITLAB_TOKEN", "glpat-wrongwrongwrongwrong")], 1),
        ("no token", |_| {}, &[("GITLAB_TOKEN", "")], 1),
        ("another merge request", |_| {}, &[("CI_MERGE_REQUEST_IID", "999")], 1),
        ("no merge request", |_| {}, &[("CI_MERGE_REQUEST_IID", "")], 1),
        (
            "notes that cannot be read",
            |gitlab| gitlab.fail_times(99, On::get("/notes"), Failure::internal_error()),
            &[],
            0,
        ),
        ("GitLab switched off", |_| {}, &[("DIFFSAN_GITLAB__ENABLED", "false"), ("GITLAB_TOKEN", "")], 0),
        ("commits that nobody has", |_| {}, &[("CI_COMMIT_SHA", "1111111111111111111111111111111111111111")], 0),
        ("a draft", |_| {}, &[("DIFFSAN_SKIP__SKIP_ON_DRAFT", "true"), ("CI_MERGE_REQUEST_DRAFT", "true")], 0),
        (
            "the default branch",
            |_| {},
            &[("CI_MERGE_REQUEST_IID", ""), ("CI_COMMIT_BRANCH", "main"), ("CI_DEFAULT_BRANCH", "main")],
            0,
        ),
    ];
    for (name, change, env, code) in cases {
        let sandbox = Sandbox::with_change();
        let base = sandbox.git(&["rev-parse", "main"]).trim().to_owned();
        let head = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let gitlab = FakeGitLab::start(&sandbox.repo(), &base, &head);
        change(&gitlab);
        let command = |first: &[&str]| {
            let mut command = sandbox.command(first.iter().chain(&["--ci", "--agent", "builtin"]));
            command
                .env("CI_API_V4_URL", format!("{}/api/v4", gitlab.url()))
                .env("CI_MERGE_REQUEST_PROJECT_ID", PROJECT.to_string())
                .env("CI_MERGE_REQUEST_IID", MR.to_string())
                .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base)
                .env("CI_COMMIT_SHA", &head)
                .env("GITLAB_TOKEN", TOKEN)
                .env("DIFFSAN_GITLAB__RETRY_MAX", "1")
                .envs(env.iter().copied());
            command
        };
        agree(name, *code, command(&["doctor"]), command(&[]), &sandbox);
    }
}
