//! The author would like the reviewer not to see the change.

use super::{Attack, Gain, SANE};
use crate::scene::{Scene, WICKED};

/// The reviewer saw the line, so the gate is closed by a finding and not by a failure.
#[track_caller]
fn is_seen(attack: &Attack<'_>) -> Scene {
    let (scene, finished) = attack.fails();
    assert_eq!(finished.code, 3, "{}{}", finished.stdout, finished.stderr);
    assert!(scene.prompt().unwrap().contains(WICKED.trim()));
    scene
}

#[test]
fn attributes_of_the_branch_hide_no_line() {
    for rule in
        ["*.py -diff\n", "*.py binary\n", "* -text -diff\n", "src/** diff=none\n", "[attr]hide -diff\n*.py hide\n"]
    {
        is_seen(&Attack { branch: &|branch| drop(branch.write(".gitattributes", rule)), ..Attack::default() });
        is_seen(&Attack { branch: &|branch| drop(branch.write("src/.gitattributes", rule)), ..Attack::default() });
    }
}

#[test]
fn attributes_planted_in_a_reused_checkout_hide_no_line() {
    is_seen(&Attack {
        before: &|scene| std::fs::write(scene.job().join(".git/info/attributes"), "* -diff\n").unwrap(),
        ..Attack::default()
    });
    is_seen(&Attack {
        before: &|scene| {
            let file = scene.sandbox.root().join("attributes");
            std::fs::write(&file, "* binary\n").unwrap();
            scene.sandbox.git_in(&scene.job(), &["config", "core.attributesFile", file.to_str().unwrap()]);
        },
        ..Attack::default()
    });
}

#[test]
fn drivers_in_a_reused_checkout_change_no_line() {
    is_seen(&Attack {
        branch: &|branch| drop(branch.write(".gitattributes", "*.py diff=drv\n")),
        before: &|scene| {
            for key in ["diff.drv.textconv", "diff.drv.command", "diff.external"] {
                scene.sandbox.git_in(&scene.job(), &["config", key, "true"]);
            }
            scene.sandbox.git_in(&scene.job(), &["config", "diff.drv.binary", "true"]);
        },
        ..Attack::default()
    });
}

#[test]
fn settings_of_a_reused_checkout_change_no_line() {
    is_seen(&Attack {
        before: &|scene| {
            let settings = [
                ("diff.noprefix", "true"),
                ("diff.context", "0"),
                ("diff.ignoreSubmodules", "all"),
                ("diff.orderFile", "/dev/null"),
                ("core.bigFileThreshold", "1"),
                ("core.quotePath", "true"),
                ("diff.algorithm", "patience"),
                ("color.ui", "always"),
            ];
            for (key, value) in settings {
                scene.sandbox.git_in(&scene.job(), &["config", key, value]);
            }
        },
        ..Attack::default()
    });
}

#[test]
fn a_replaced_head_is_not_reviewed_in_the_heads_stead() {
    Attack {
        before: &|scene| {
            scene.sandbox.git_in(&scene.job(), &["replace", &scene.head, &scene.base]);
        },
        ..Attack::default()
    }
    .fails();
}

#[test]
fn a_replaced_blob_is_not_reviewed_in_the_blobs_stead() {
    Attack {
        before: &|scene| {
            let job = scene.job();
            let blob = |commit: &str| scene.sandbox.git_in(&job, &["rev-parse", &format!("{commit}:src/app.py")]);
            let (old, new) = (blob(&scene.base), blob(&scene.head));
            scene.sandbox.git_in(&job, &["replace", new.trim(), old.trim()]);
        },
        ..Attack::default()
    }
    .fails();
}

#[test]
fn a_graft_does_not_shorten_the_change() {
    Attack {
        before: &|scene| {
            std::fs::create_dir_all(scene.job().join(".git/info")).unwrap();
            std::fs::write(scene.job().join(".git/info/grafts"), format!("{}\n", scene.head)).unwrap();
        },
        ..Attack::default()
    }
    .fails();
}

#[test]
fn a_nul_byte_does_not_open_the_gate() {
    let attack = Attack {
        branch: &|branch| {
            let text = std::fs::read_to_string(branch.repo().join("src/app.py")).unwrap();
            branch.write("src/app.py", format!("{text}# \0\n"));
        },
        ..Attack::default()
    };
    let (_, finished) = attack.fails();
    assert_eq!(finished.code, 3);
    attack.works_without("gate", Gain::GateOpen);
}

#[test]
fn padding_does_not_open_the_gate() {
    let lines = |text: &dyn Fn(usize) -> String| (0..2_000).map(|row| text(row) + "\n").collect::<String>();
    let before = lines(&|row| format!("value_{row} = {row}"));
    // More places than a reviewer is shown of one file; the wicked one comes last.
    let after = lines(&|row| match row {
        1_990 => WICKED.trim().to_owned(),
        row if row % 40 == 0 => format!("value_{row} = 0"),
        row => format!("value_{row} = {row}"),
    });
    let attack = Attack {
        policy: &[SANE, ("src/big.py", &before)],
        branch: &|branch| {
            branch.git(&["checkout", "-q", "main", "--", "src/app.py"]);
            branch.write("src/big.py", &after);
        },
        ..Attack::default()
    };
    let (scene, finished) = attack.fails();
    assert_eq!(finished.code, 3);
    assert!(!scene.prompt().unwrap().contains(WICKED.trim()), "the padding does push the line out");
    attack.works_without("gate", Gain::GateOpen);
}

#[test]
fn a_crowd_of_files_does_not_open_the_gate() {
    let attack = Attack {
        branch: &|branch| {
            for number in 0..70 {
                branch.write(&format!("a/{number:03}.py"), "x = 1\n");
            }
        },
        ..Attack::default()
    };
    let (_, finished) = attack.fails();
    assert_eq!(finished.code, 3);
    attack.works_without("gate", Gain::GateOpen);
}

#[test]
fn content_behind_an_lfs_pointer_or_a_submodule_is_named_and_closes_the_gate() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    let attack = Attack {
        branch: &|branch| {
            branch.git(&["checkout", "-q", "main", "--", "src/app.py"]);
            branch.write("model.py", pointer);
        },
        ..Attack::default()
    };
    let (scene, finished) = attack.fails();
    assert_eq!(finished.code, 3, "{}", finished.stdout);
    let note = scene.gitlab.notes().last().unwrap().body.clone();
    assert!(note.contains("model.py") && note.contains("LFS"), "{note}");
    let bump = Attack {
        branch: &|branch| {
            branch.git(&["checkout", "-q", "main", "--", "src/app.py"]);
            let link = format!("160000,{},vendor/lib", "1".repeat(40));
            branch.git(&["update-index", "--add", "--cacheinfo", &link]);
            std::fs::create_dir_all(branch.repo().join("vendor/lib")).unwrap();
        },
        ..Attack::default()
    };
    let (scene, finished) = bump.fails();
    assert_eq!(finished.code, 3, "{}", finished.stdout);
    assert_eq!(scene.record()["policy"]["guards_touched"], serde_json::json!(["vendor/lib"]));
    assert_eq!(scene.record()["elsewhere"][0]["path"], "vendor/lib");
    let note = scene.gitlab.notes().last().unwrap().body.clone();
    assert!(note.contains("vendor/lib") && note.contains("submodule"), "{note}");
}

#[test]
fn what_policy_ignores_is_named_and_is_not_called_reviewed() {
    let policy = "[truncation]\nignore_globs = [\"src/**\"]\n";
    let scene = Scene::new(&[(".diffsan.toml", policy)], |branch| drop(branch.write("notes.py", "x = 1\n")));
    let finished = scene.run(&["--ci"]).expect_code(0);
    assert!(!finished.stdout.contains("the whole change was reviewed"), "{}", finished.stdout);
    let note = scene.gitlab.notes().last().unwrap().body.clone();
    assert!(note.contains("src/app.py"), "{note}");
}

#[test]
fn the_offline_checks_look_at_what_any_other_agent_would_be_shown() {
    let policy =
        "[truncation]\nignore_globs = [\"vendor/**\"]\n[gate]\nfail_on = \"low\"\n[agent]\nagent = \"builtin\"\n";
    let scene = Scene::new(&[(".diffsan.toml", policy)], |branch| {
        branch.write("vendor/x.py", "<<<<<<< ours\na = 1\n=======\na = 2\n>>>>>>> theirs\n");
    });
    let finished = crate::sandbox::Finished::of(scene.plain_command(&["--ci", "--no-post"]).output().unwrap());
    assert_eq!(finished.code, 0, "{}{}", finished.stdout, finished.stderr);
}
