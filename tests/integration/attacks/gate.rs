//! The author would like the gate to stand open.

use serde_json::json;

use super::{Attack, Gain, gains};
use crate::sandbox::Finished;
use crate::scene::Scene;

const SKIPPING: (&str, &str) = (
    ".diffsan.toml",
    "[gate]\nfail_on = \"high\"\n[skip]\nskip_on_draft = true\nskip_on_auto_merge = true\nskip_labels = [\"skip-review\"]\n",
);

#[test]
fn a_label_a_draft_mark_or_auto_merge_does_not_open_the_gate() {
    let ways: [&dyn Fn(&Scene); 3] = [
        &|scene| scene.gitlab.change(|store| store.labels = vec!["skip-review".into()]),
        &|scene| scene.gitlab.change(|store| store.draft = true),
        &|scene| scene.gitlab.change(|store| store.auto_merge = true),
    ];
    for before in ways {
        let attack = Attack { policy: &[SKIPPING], before, ..Attack::default() };
        let (_, finished) = attack.fails();
        assert_eq!(finished.code, 3);
        attack.works_without("gate", Gain::GateOpen);
    }
}

#[test]
fn skips_apply_where_the_target_says_that_they_may() {
    let policy = SKIPPING.1.replace("fail_on = \"high\"", "fail_on = \"high\"\nallow_skips = true");
    let scene = Scene::new(&[(SKIPPING.0, &policy)], |_| {});
    scene.gitlab.change(|store| store.labels = vec!["skip-review".into()]);
    scene.run(&["--ci"]).expect_code(0);
    assert_eq!(scene.record()["verdict"]["decision"], "skipped");
}

#[test]
fn a_retry_does_not_open_the_gate() {
    let scene = Scene::new(&[super::SANE], |_| {});
    scene.run(&["--ci"]).expect_code(3);
    let again = scene.run(&["--ci"]);
    assert_eq!(gains(&scene, &again), [], "{}", again.stdout);
}

#[test]
fn a_note_of_somebody_else_that_looks_like_an_earlier_review_does_not_open_the_gate() {
    let scene = Scene::new(&[super::SANE], |_| {});
    scene.run(&["--ci"]).expect_code(3);
    let own = scene.gitlab.notes().last().unwrap().body.clone();
    let other = Scene::new(&[super::SANE], |_| {});
    other.gitlab.add_note(crate::gitlab::ALICE, &own);
    let finished = other.run(&["--ci"]);
    let got: Vec<_> = gains(&other, &finished).into_iter().filter(|gain| *gain != Gain::Acted).collect();
    assert_eq!(got, [], "{}", finished.stdout);
}

#[test]
fn an_agent_that_fails_leaves_no_open_gate() {
    let scene = Scene::new(&[super::SANE], |_| {});
    for agent in ["false", "true", "echo no"] {
        let mut command = scene.plain_command(&["--ci", "--no-post"]);
        command.env("DIFFSAN_AGENT__AGENT", "command").env("DIFFSAN_AGENT__COMMAND", agent);
        command.env("DIFFSAN_AGENT__MAX_JSON_RETRIES", "1");
        let finished = Finished::of(command.output().unwrap());
        assert_eq!(finished.code, 1, "{}", finished.stdout);
    }
}

#[test]
fn a_change_of_what_guards_the_project_is_never_passed() {
    let touched = [
        ".gitlab-ci.yml",
        ".gitlab/ci/x.yml",
        "docs/CODEOWNERS",
        ".gitattributes",
        "AGENTS.md",
        "ops/deploy.yml",
        "ci/main.yml",
    ];
    for path in touched {
        let policy = "[gate]\nfail_on = \"high\"\n[policy]\ntrust_roots = [\"ops/**\"]\n[truncation]\nignore_globs = [\"src/**\", \"docs/**\"]\n";
        let scene = Scene::new(&[(".diffsan.toml", policy)], |branch| {
            branch.write(path, "x: 1\n");
            branch.write("notes.py", "x = 1\n");
        });
        let mut command = scene.command(&["--ci"]);
        command.env("CI_CONFIG_PATH", "ci/main.yml");
        Finished::of(command.output().unwrap());
        let record = scene.record();
        assert_ne!(record["verdict"]["decision"], "passed", "{path}");
        assert_eq!(record["policy"]["guards_touched"], json!([path]));
        let note = scene.gitlab.notes().last().unwrap().body.clone();
        assert!(note.contains("guards the project") && note.contains(path), "{note}");
    }
}

#[test]
fn moving_the_owners_away_is_a_change_of_what_guards_the_project() {
    let owners = "* @maintainers\n# one\n# two\n# three\n";
    let scene = Scene::new(&[("CODEOWNERS", owners)], |branch| {
        branch.git(&["mv", "CODEOWNERS", "notes.txt"]);
        branch.git(&["checkout", "-q", "main", "--", "src/app.py"]);
    });
    scene.run(&["--ci"]).expect_code(0);
    assert_eq!(scene.record()["verdict"]["decision"], "review_required");
    assert_eq!(scene.record()["policy"]["guards_touched"], json!(["CODEOWNERS"]));
}
