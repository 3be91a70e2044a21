//! The author would like one of his programs to run with the job's keys.

use std::os::unix::fs::symlink;

use super::{Attack, Gain, SANE, gains, program};
use crate::sandbox::{Finished, Sandbox};
use crate::scene::Scene;

const ANSWER: &str = "cat > /dev/null; echo '{\"summary_markdown\":\"fine\",\"findings\":[]}'";
/// The target leaves the choice of the agent open.
const OFFLINE: (&str, &str) = (".diffsan.toml", "[agent]\nagent = \"builtin\"\n[gate]\nfail_on = \"high\"\n");

#[test]
fn a_command_of_the_branch_is_not_started() {
    let wish = "[agent]\nagent = \"command\"\ncommand = \"./tools/evil.sh\"\n";
    let attack = Attack {
        policy: &[OFFLINE],
        branch: &|branch| {
            branch.write(".diffsan.toml", wish);
            branch.write("merge.py", "<<<<<<< ours\na = 1\n=======\na = 2\n>>>>>>> theirs\n");
            program(branch, "tools/evil.sh", ANSWER);
        },
        start: &|scene| scene.plain_command(&["--ci", "--fail-on", "low"]),
        ..Attack::default()
    };
    attack.fails();
    attack.works_without("policy", Gain::Program);
}

#[test]
fn a_program_of_the_checkout_that_the_policy_names_is_refused() {
    for named in ["./tools/review.sh", "tools/review.sh --fast", "sh ./tools/review.sh"] {
        let policy = format!("[agent]\nagent = \"command\"\ncommand = \"{named}\"\n[gate]\nfail_on = \"high\"\n");
        let attack = Attack {
            policy: &[(".diffsan.toml", &policy), ("tools/review.sh", "#!/bin/sh\n")],
            branch: &|branch| program(branch, "tools/review.sh", ANSWER),
            start: &|scene| scene.plain_command(&["--ci"]),
            ..Attack::default()
        };
        attack.fails();
    }
}

#[test]
fn a_program_of_the_checkout_runs_when_the_job_itself_names_it() {
    let scene = Scene::new(&[SANE], |branch| program(branch, "tools/review.sh", ANSWER));
    let mut command = scene.plain_command(&["--ci", "--no-post"]);
    command.env("DIFFSAN_AGENT__AGENT", "command").env("DIFFSAN_AGENT__COMMAND", "./tools/review.sh");
    let finished = Finished::of(command.output().unwrap());
    assert!(gains(&scene, &finished).contains(&Gain::Program), "{}{}", finished.stdout, finished.stderr);
}

/// The job's PATH with one more folder in front.
fn with_path(scene: &Scene, folder: &str) -> std::process::Command {
    let mut command = scene.command(&["--ci"]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{folder}:{path}"));
    command
}

fn own_git(branch: &Sandbox) {
    program(branch, "bin/git", "exec /usr/bin/git \"$@\"");
    symlink("bin", branch.repo().join("link")).unwrap();
}

#[test]
fn a_git_of_the_branch_on_the_path_is_not_found() {
    let attack = Attack {
        branch: &own_git,
        start: &|scene| with_path(scene, scene.job().join("bin").to_str().unwrap()),
        ..Attack::default()
    };
    attack.fails();
    attack.works_without("path", Gain::Program);
}

#[test]
fn a_relative_folder_on_the_path_is_not_searched() {
    let attack = Attack { branch: &own_git, start: &|scene| with_path(scene, "bin"), ..Attack::default() };
    attack.fails();
    attack.works_without("path", Gain::Program);
}

#[test]
fn a_link_into_the_checkout_on_the_path_is_not_followed() {
    for folder in ["link", "src/../bin", "bin/."] {
        Attack {
            branch: &own_git,
            start: &|scene| with_path(scene, scene.job().join(folder).to_str().unwrap()),
            ..Attack::default()
        }
        .fails();
    }
    let outside = Attack {
        branch: &own_git,
        before: &|scene| symlink(scene.job().join("bin"), scene.sandbox.root().join("way-in")).unwrap(),
        start: &|scene| with_path(scene, scene.sandbox.root().join("way-in").to_str().unwrap()),
        ..Attack::default()
    };
    outside.fails();
    outside.works_without("path", Gain::Program);
}

#[test]
fn an_agent_of_the_branch_on_the_path_is_not_found() {
    let attack = Attack {
        branch: &|branch| {
            for name in ["codex", "cursor-agent", "agent", "claude"] {
                program(branch, &format!("node_modules/.bin/{name}"), ANSWER);
            }
        },
        start: &|scene| {
            let mut command = scene.plain_command(&["--ci", "--agent", "claude"]);
            let path = std::env::var("PATH").unwrap();
            let folder = scene.job().join("node_modules/.bin");
            command.env("PATH", format!("{}:{path}", folder.display())).env("ANTHROPIC_API_KEY", "synthetic-key-0001");
            command
        },
        ..Attack::default()
    };
    attack.works_without("path", Gain::Program);
    // Whatever program of that name the machine has, it is not the branch's.
    let scene = attack.staged();
    let mut command = (attack.start)(&scene);
    command.env("PATH", format!("{}:/usr/bin:/bin", scene.job().join("node_modules/.bin").display()));
    let finished = Finished::of(command.output().unwrap());
    assert_eq!(gains(&scene, &finished), []);
}

#[test]
fn a_path_that_is_nothing_but_the_checkout_does_not_mean_the_current_folder() {
    let attack = Attack {
        branch: &|branch| program(branch, "git", "exec /usr/bin/git \"$@\""),
        start: &|scene| {
            let mut command = scene.command(&["--ci"]);
            command.env("PATH", scene.job());
            command
        },
        ..Attack::default()
    };
    attack.fails();
}

#[test]
fn hooks_and_helpers_in_a_reused_checkout_are_not_started() {
    Attack {
        branch: &|branch| program(branch, "evil.sh", "cat > /dev/null"),
        before: &|scene| {
            let (job, evil) = (scene.job(), scene.job().join("evil.sh"));
            let evil = evil.to_str().unwrap();
            for key in
                ["core.fsmonitor", "core.sshCommand", "core.askPass", "core.pager", "diff.external", "core.editor"]
            {
                scene.sandbox.git_in(&job, &["config", key, evil]);
            }
            scene.sandbox.git_in(&job, &["config", "diff.drv.textconv", evil]);
            scene.sandbox.git_in(&job, &["config", "diff.drv.command", evil]);
            scene.sandbox.git_in(&job, &["config", "filter.drv.clean", evil]);
            scene.sandbox.git_in(&job, &["config", "filter.drv.smudge", evil]);
            std::fs::write(job.join(".git/info/attributes"), "* diff=drv filter=drv\n").unwrap();
            for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
                std::fs::copy(job.join("evil.sh"), job.join(".git/hooks").join(hook)).unwrap();
            }
        },
        ..Attack::default()
    }
    .fails();
}

#[test]
fn a_strangers_command_does_not_start_on_a_laptop() {
    let sandbox = Sandbox::with_change();
    program(&sandbox, "evil.sh", ANSWER);
    sandbox.write(".diffsan.toml", "[agent]\nagent = \"command\"\ncommand = \"./evil.sh\"\n");
    sandbox.run(["review"]).expect_code(2);
    assert!(!sandbox.root().join("pwned").exists());
    let mut command = sandbox.command(["review"]);
    Finished::of(command.env("DIFFSAN_FAULT", "undefended:trust").output().unwrap()).expect_code(0);
    assert!(sandbox.root().join("pwned").exists(), "the attack works where nobody asks");
}
