//! Attempts to hide a change from the review, with every git on this machine: whatever a branch commits, and whatever
//! lies in a checkout or in a user's configuration, the diff has every line. `DIFFSAN_TEST_GITS` names further folders
//! with a git, separated by colons.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use diffsan::config::{CiContext, Environment};
use diffsan::diff::fetch::{self, Local, diff_command};
use diffsan::diff::git::Git;

use crate::sandbox::Sandbox;

/// One version of git, first on PATH.
struct Tool {
    version: String,
    folder: PathBuf,
}

/// Every version of git that is here.
fn tools() -> Vec<Tool> {
    let path = std::env::var("PATH").unwrap_or_default();
    let further = std::env::var("DIFFSAN_TEST_GITS").unwrap_or_default();
    let mut found = BTreeMap::new();
    for folder in path.split(':').chain(["/usr/bin", "/usr/local/bin"]).chain(further.split(':')) {
        let program = Path::new(folder).join("git");
        if let Ok(answer) = Command::new(&program).arg("--version").output() {
            found.entry(String::from_utf8_lossy(&answer.stdout).trim().to_owned()).or_insert(program);
        }
    }
    let tool = |(version, program): (String, PathBuf)| Tool { version, folder: program.parent().unwrap().to_owned() };
    found.into_iter().map(tool).collect()
}

impl Tool {
    fn environment(&self, sandbox: &Sandbox, more: &[(&str, &str)]) -> Environment {
        let mut pairs: BTreeMap<_, _> = sandbox
            .hermetic("git")
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        pairs.insert("PATH".into(), format!("{}:/usr/bin:/bin", self.folder.display()).into());
        pairs.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
        Environment::from_pairs(pairs)
    }

    /// What plain git prints in the checkout.
    fn plain(&self, sandbox: &Sandbox, more: &[(&str, &str)], args: &[&str]) -> String {
        let mut command = sandbox.hermetic(self.folder.join("git"));
        command.args(args).envs(more.iter().copied()).current_dir(sandbox.repo());
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    }
}

/// One attempt.
struct Attack {
    name: &'static str,
    /// What the branch commits besides its change.
    files: &'static [(&'static str, &'static str)],
    /// What lies in the checkout: git commands, `BASE`, `HEAD` and `EVIL` (the new blob) filled in.
    planted: &'static [&'static [&'static str]],
    /// Files below the sandbox's root, `repo` being the checkout.
    written: &'static [(&'static str, &'static str)],
    environment: &'static [(&'static str, &'static str)],
    /// How plain git is fooled; empty where some versions are not.
    control: &'static [&'static str],
}

const PLAIN: Attack =
    Attack { name: "", files: &[], planted: &[], written: &[], environment: &[], control: &["diff", "BASE", "HEAD"] };

const ATTACKS: &[Attack] = &[
    Attack { name: "-diff", files: &[(".gitattributes", "*.py -diff\n")], ..PLAIN },
    Attack { name: "binary", files: &[(".gitattributes", "* binary\n")], ..PLAIN },
    Attack { name: "attributes in a folder", files: &[("src/.gitattributes", "*.py -diff\n")], ..PLAIN },
    Attack { name: "a macro", files: &[(".gitattributes", "[attr]quiet -diff\n*.py quiet\n")], ..PLAIN },
    Attack {
        name: "a driver that is binary",
        files: &[(".gitattributes", "*.py diff=quiet\n")],
        planted: &[&["config", "diff.quiet.binary", "true"]],
        ..PLAIN
    },
    Attack {
        name: "textconv",
        files: &[(".gitattributes", "*.py diff=quiet\n")],
        planted: &[&["config", "diff.quiet.textconv", "true"]],
        ..PLAIN
    },
    Attack {
        name: "an external driver",
        files: &[(".gitattributes", "*.py diff=quiet\n")],
        planted: &[&["config", "diff.quiet.command", "true"]],
        ..PLAIN
    },
    Attack { name: "an external diff", planted: &[&["config", "diff.external", "true"]], ..PLAIN },
    Attack { name: "an external diff by variable", environment: &[("GIT_EXTERNAL_DIFF", "true")], ..PLAIN },
    Attack {
        name: "core.attributesFile",
        planted: &[&["config", "core.attributesFile", "../hidden"]],
        written: &[("hidden", "*.py -diff\n")],
        ..PLAIN
    },
    Attack { name: "info/attributes", written: &[("repo/.git/info/attributes", "*.py -diff\n")], ..PLAIN },
    Attack { name: "the user's attributes", written: &[("home/.config/git/attributes", "*.py -diff\n")], ..PLAIN },
    Attack {
        name: "attributes of a named tree",
        files: &[(".gitattributes", "*.py -diff\n")],
        environment: &[("GIT_ATTR_SOURCE", "HEAD")],
        planted: &[&["config", "attr.tree", "HEAD"]],
        ..PLAIN
    },
    Attack { name: "everything is big", planted: &[&["config", "core.bigFileThreshold", "1"]], ..PLAIN },
    Attack { name: "a replaced blob", planted: &[&["replace", "EVIL", "HARMLESS"]], ..PLAIN },
    Attack { name: "a replaced commit", planted: &[&["replace", "-f", "HEAD", "BASE"]], ..PLAIN },
    Attack {
        name: "an order without the file",
        planted: &[&["config", "diff.relative", "true"]],
        control: &[],
        ..PLAIN
    },
    Attack {
        name: "an encoding",
        files: &[(".gitattributes", "*.py working-tree-encoding=UTF-8 text eol=lf ident\n")],
        control: &[],
        ..PLAIN
    },
    Attack { name: "a missing filter", files: &[(".gitattributes", "*.py filter=nothing\n")], control: &[], ..PLAIN },
];

const EVIL: &str = "evil = 'this line must be seen'";

/// A branch that changes `src/app.py`, laid out for the attack; base and head.
fn site(attack: &Attack) -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    let base = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.git(&["checkout", "-q", "-b", "topic"]);
    for (path, text) in attack.files {
        sandbox.write(path, text);
    }
    sandbox.write("src/app.py", format!("{EVIL}\n"));
    let head = sandbox.commit("change");
    for (path, text) in attack.written {
        let path = sandbox.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    for command in attack.planted {
        let command: Vec<String> = command.iter().map(|word| filled(word, &sandbox, &base, &head)).collect();
        sandbox.git(&command.iter().map(String::as_str).collect::<Vec<_>>());
    }
    (sandbox, base, head)
}

fn filled(word: &str, sandbox: &Sandbox, base: &str, head: &str) -> String {
    match word {
        "BASE" => base.to_owned(),
        "HEAD" => head.to_owned(),
        "EVIL" => sandbox.git(&["rev-parse", "HEAD:src/app.py"]).trim().to_owned(),
        "HARMLESS" => sandbox.git(&["rev-parse", "HEAD:README.md"]).trim().to_owned(),
        word => word.to_owned(),
    }
}

fn ci(base: Option<&str>, head: &str) -> CiContext {
    CiContext {
        commit_sha: Some(head.to_owned()),
        diff_base_sha: base.map(str::to_owned),
        target_branch: Some("main".to_owned()),
        is_gitlab: true,
        ..CiContext::default()
    }
}

#[tokio::test]
async fn no_git_hides_a_change() {
    let tools = tools();
    for attack in ATTACKS {
        let (sandbox, base, head) = site(attack);
        for tool in &tools {
            let seen = |fetched: fetch::Fetched, line: &str| {
                let shown = String::from_utf8(fetched.raw).unwrap();
                assert!(shown.contains(&format!("+{line}\n")), "{}: {}: {shown}", tool.version, attack.name);
            };
            let control: Vec<_> = attack.control.iter().map(|word| filled(word, &sandbox, &base, &head)).collect();
            if !control.is_empty() {
                let control: Vec<_> = control.iter().map(String::as_str).collect();
                let shown = tool.plain(&sandbox, attack.environment, &control);
                assert!(!shown.contains(EVIL), "{} is not fooled by {}", tool.version, attack.name);
            }
            let git = Git::new(&sandbox.repo(), &tool.environment(&sandbox, attack.environment));
            seen(fetch::ci(&git, &ci(Some(&base), &head)).await.unwrap(), EVIL);
            let branch = Local::Branch { base: Some(base.clone()) };
            sandbox.write("src/app.py", format!("{EVIL}\nmore = 1\n"));
            seen(fetch::local(&git, &branch).await.unwrap(), EVIL);
            seen(fetch::local(&git, &Local::Unstaged).await.unwrap(), "more = 1");
            sandbox.git(&["add", "src/app.py"]);
            seen(fetch::local(&git, &Local::Staged).await.unwrap(), "more = 1");
            sandbox.git(&["reset", "-q", "--hard"]);
        }
    }
}

/// A branch that moves the submodule `sub`, by its link alone.
fn moved_submodule(modules: &str, config: &[&str]) -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    let commit = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.write(".gitmodules", format!("[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n{modules}"));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
    sandbox.git(&["commit", "-q", "-m", "sub"]);
    let base = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.git(&["checkout", "-q", "-b", "topic"]);
    sandbox.git(&["update-index", "--cacheinfo", &format!("160000,{base},sub")]);
    sandbox.git(&["commit", "-q", "-m", "bump"]);
    std::fs::create_dir_all(sandbox.repo().join("sub")).unwrap();
    let head = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    if !config.is_empty() {
        sandbox.git(&[&["config"], config].concat());
    }
    (sandbox, base, head)
}

#[tokio::test]
async fn no_git_hides_a_moved_submodule() {
    for tool in tools() {
        for (modules, config) in [
            ("\tignore = all\n", &[][..]),
            ("", &["diff.ignoreSubmodules", "all"]),
            ("", &["submodule.sub.ignore", "all"]),
        ] {
            let (sandbox, base, head) = moved_submodule(modules, config);
            let fooled = tool.plain(&sandbox, &[], &["diff", &base, &head]);
            assert_eq!(fooled, "", "{}: {modules}{config:?}", tool.version);
            let git = Git::new(&sandbox.repo(), &tool.environment(&sandbox, &[]));
            let ci = fetch::ci(&git, &ci(Some(&base), &head)).await.unwrap();
            let local = fetch::local(&git, &Local::Branch { base: Some(base.clone()) }).await.unwrap();
            for fetched in [ci, local] {
                let shown = String::from_utf8(fetched.raw).unwrap();
                assert!(shown.contains(&format!("+Subproject commit {base}\n")), "{}: {shown}", tool.version);
            }
        }
    }
}

#[tokio::test]
async fn a_graft_does_not_choose_the_base() {
    for tool in tools() {
        let (sandbox, base, head) = site(&PLAIN);
        std::fs::write(sandbox.repo().join(".git/info/grafts"), format!("{base} {head}\n")).unwrap();
        let fooled = tool.plain(&sandbox, &[], &["merge-base", "main", &head]);
        assert_eq!(fooled.trim(), head, "{}", tool.version);
        let git = Git::new(&sandbox.repo(), &tool.environment(&sandbox, &[]));
        let ci = fetch::ci(&git, &ci(None, &head)).await.unwrap();
        let local = fetch::local(&git, &Local::Branch { base: None }).await.unwrap();
        for fetched in [ci, local] {
            assert!(String::from_utf8(fetched.raw).unwrap().contains(EVIL), "{}", tool.version);
        }
    }
}

/// Everything that an honest working tree can differ by.
fn honest() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.low.clean", "tr A-Z a-z"]);
    sandbox.git(&["config", "filter.low.smudge", "tr a-z A-Z"]);
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.write(".gitattributes", "*.low filter=low -text\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n");
    sandbox.write("a.low", "one\ntwo\n");
    sandbox.write("b.low", "same\n");
    sandbox.write("c.txt", "one\ntwo\nthree\n");
    sandbox.write("d.id", "$Id$\nx\n");
    sandbox.write("e.u16", [0xff, 0xfe, b'a', 0, b'\n', 0]);
    sandbox.write("f.dat", "text\n");
    sandbox.write("gone.txt", "gone\n");
    sandbox.write(
        "ä old.py",
        "class A:\n    def f(self):\n        a = 1\n        b = 2\n        c = 3\n        d = 4\n        return a\n",
    );
    sandbox.commit("honest");
    sandbox.git(&["rm", "-q", "-r", "--cached", "."]);
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.git(&["checkout", "-q", "-b", "topic"]);
    sandbox.git(&["mv", "ä old.py", "new.py"]);
    sandbox.write("committed.txt", "x\n");
    sandbox.commit("topic");
    sandbox
}

#[tokio::test]
async fn an_honest_working_tree_is_shown_as_git_shows_it() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    for tool in tools() {
        let sandbox = honest();
        let repo = sandbox.repo();
        let git = Git::new(&repo, &tool.environment(&sandbox, &[]));
        let check = async |when: &str| {
            let base = sandbox.git(&["merge-base", "main", "HEAD"]).trim().to_owned();
            let whole = diff_command(&[&base]);
            let narrow = |option: &'static str| {
                let (before, after) =
                    diff_command(&[]).into_iter().partition(|word| !["--end-of-options", "--"].contains(word));
                let (before, after): (Vec<&str>, Vec<&str>) = (before, after);
                [before, vec![option], after].concat()
            };
            for (what, command) in [
                (Local::Branch { base: None }, whole),
                (Local::Staged, narrow("--cached")),
                (Local::Unstaged, narrow("--patch")),
            ] {
                let command = [vec!["-c", "core.quotepath=off"], command].concat();
                let want = tool.plain(&sandbox, &[], &command);
                let fetched = fetch::local(&git, &what).await.unwrap();
                assert_eq!(String::from_utf8(fetched.raw).unwrap(), want, "{}: {when}: {what:?}", tool.version);
            }
        };
        check("clean").await;
        let before = std::fs::read(repo.join(".git/index")).unwrap();
        sandbox.write("a.low", "ONE\nTHREE\n");
        sandbox.write("c.txt", "one\r\ntwo\r\nfour\r\n");
        sandbox.write("d.id", "$Id: 123 $\r\ny\r\n");
        sandbox.write("e.u16", [0xff, 0xfe, b'b', 0, b'\n', 0]);
        sandbox.write("f.dat", "other\n");
        sandbox.write("new.py", std::fs::read_to_string(repo.join("new.py")).unwrap().replace("d = 4", "d = 5"));
        std::fs::remove_file(repo.join("gone.txt")).unwrap();
        std::fs::set_permissions(repo.join("README.md"), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::remove_file(repo.join("committed.txt")).unwrap();
        symlink("README.md", repo.join("committed.txt")).unwrap();
        sandbox.write("untracked.txt", "nobody asked\n");
        sandbox.write("meant.txt", "meant\r\n");
        check("changed").await;
        assert_eq!(std::fs::read(repo.join(".git/index")).unwrap(), before, "the user's index is his own");
        sandbox.git(&["add", "-N", "meant.txt"]);
        check("meant to be added").await;
        sandbox.git(&["add", "c.txt", "gone.txt"]);
        sandbox.write("c.txt", "five\r\n");
        check("staged").await;
        let after = sandbox.git(&["count-objects", "-v"]);
        check("again").await;
        assert_eq!(sandbox.git(&["count-objects", "-v"]), after, "nothing is stored in the user's repository");
    }
}

#[test]
fn an_old_git_is_refused_by_name() {
    let sandbox = Sandbox::with_change();
    sandbox.script("old/git", "#!/bin/sh\necho git version 2.30.2\n");
    let path = format!("{}:/usr/bin:/bin", sandbox.root().join("old").display());
    for args in [&["--agent", "builtin"][..], &["--ci", "--no-post", "--agent", "builtin"], &["doctor"]] {
        let output = sandbox.command(args).env("PATH", &path).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.contains("git 2.30.2 is too old: diffsan needs 2.31 or newer"), "{args:?}: {said}");
    }
}
