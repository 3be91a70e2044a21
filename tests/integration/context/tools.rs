//! What the tools answer, from a commit and from a working tree.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::support::{KNOWN, TOKEN, ask, commit_tree, git, working_tree};
use crate::sandbox::Sandbox;

/// A repository with everything that a reader must not fall for.
fn hostile() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("config/prod.env", format!("HOST=db\nGITLAB_TOKEN={TOKEN}\nNAME={KNOWN}\nPORT=5432\n"));
    sandbox.write("blob.bin", b"\x7fELF\0\0binary");
    sandbox.write("empty.txt", "");
    sandbox.write("big.txt", "line\n".repeat(500_000));
    symlink("/etc/passwd", sandbox.repo().join("passwd")).unwrap();
    symlink("src/app.py", sandbox.repo().join("app-link")).unwrap();
    symlink("../../../../etc", sandbox.repo().join("src/etc")).unwrap();
    sandbox.commit("everything");
    sandbox.write(".env", "UNTRACKED=untracked-content\n");
    sandbox.write("notes.txt", "untracked-content\n");
    sandbox
}

#[tokio::test]
async fn a_file_is_read_with_line_numbers() {
    let sandbox = Sandbox::new();
    for tree in [commit_tree(&sandbox).await, working_tree(&sandbox).await] {
        let answer = ask(&tree, "read_file", json!({"path": "src/app.py"}));
        assert_eq!(
            answer.text,
            "src/app.py, 6 lines\n1\tdef one():\n2\t    return 1\n3\t\n4\t\n5\tdef two():\n6\t    return 2\n"
        );
        assert_eq!((answer.lines, answer.is_error, answer.read.as_deref()), (6, false, Some("src/app.py")));
        for path in ["./src/app.py", "a/src/app.py", "b/src/app.py", " src/app.py "] {
            assert!(
                ask(&tree, "read_file", json!({"path": path, "from": 5}))
                    .text
                    .starts_with("src/app.py, lines 5-6 of 6\n")
            );
        }
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_said_in_a_sentence() {
    let sandbox = hostile();
    for tree in [commit_tree(&sandbox).await, working_tree(&sandbox).await] {
        for (path, why) in [
            ("src/apq.py", "Did you mean src/app.py?"),
            ("lib/app.py", "Did you mean src/app.py?"),
            ("nowhere.xyz", "There is no file nowhere.xyz in the reviewed commit."),
            ("../repo/src/app.py", "without `..`"),
            ("src/../../x", "without `..`"),
            ("/etc/passwd", "without a leading /"),
            ("/proc/self/environ", "without a leading /"),
            ("~/.ssh/id_rsa", "without a leading /"),
            (".git/config", "Git's own files"),
            ("src/.GIT/config", "Git's own files"),
            ("passwd", "passwd is a symbolic link to `/etc/passwd`: links are not followed."),
            ("app-link", "app-link is a symbolic link to src/app.py: links are not followed, read that file instead."),
            ("src/etc", "is a symbolic link to `../../../../etc`: links are not followed."),
            ("src/etc/passwd", "There is no file src/etc/passwd"),
            (".env", "There is no file .env"),
            ("notes.txt", "There is no file notes.txt"),
            ("src", "src/ is a folder with 2 files: list_files with glob `src/**`"),
            ("blob.bin", "blob.bin is binary (12 bytes)"),
            ("big.txt", "big.txt is too large to read: 2.5 MB"),
        ] {
            let answer = ask(&tree, "read_file", json!({"path": path}));
            assert!(answer.is_error && answer.text.contains(why), "{path}: {}", answer.text);
            assert!(!answer.text.contains("root:") && !answer.text.contains("untracked-content"), "{}", answer.text);
            assert_eq!(answer.read, None);
        }
        assert_eq!(ask(&tree, "read_file", json!({"path": "empty.txt"})).text, "empty.txt is empty.");
    }
}

#[tokio::test]
async fn a_file_is_redacted_whole_and_then_cut() {
    let sandbox = hostile();
    let key: String = (0..20).map(|n| format!("MIIEpAIBAAKCAQEA{n:02}q8Zk3vXw7Lr2Tn9Bc5Ym1Hd6Gf4Js0Pa8Qe\n")).collect();
    let pem = format!("first\n-----BEGIN RSA PRIVATE KEY-----\n{key}-----END RSA PRIVATE KEY-----\nlast\n");
    sandbox.write("deploy.pem", pem);
    sandbox.commit("a key");
    for tree in [commit_tree(&sandbox).await, working_tree(&sandbox).await] {
        let answer = ask(&tree, "read_file", json!({"path": "config/prod.env"}));
        assert!(
            answer.text.contains("1\tHOST=db\n2\tGITLAB_TOKEN=[REDACTED]\n3\tNAME=[REDACTED]\n4\tPORT=5432\n"),
            "{}",
            answer.text
        );
        assert_eq!(answer.removed.len(), 2);
        // A window in the middle of a key shows nothing of it, and the numbers are the file's.
        let answer = ask(&tree, "read_file", json!({"path": "deploy.pem", "from": 10, "to": 12}));
        assert!(!answer.text.contains("MIIE"), "{}", answer.text);
        assert!(answer.text.starts_with("deploy.pem, lines 10-12 of 24\n10\t"), "{}", answer.text);
        assert_eq!(answer.removed.len(), 3);
        assert!(ask(&tree, "read_file", json!({"path": "deploy.pem", "from": 24})).text.contains("24\tlast"));
    }
}

#[tokio::test]
async fn a_search_sees_the_redacted_text_only() {
    let sandbox = hostile();
    for tree in [commit_tree(&sandbox).await, working_tree(&sandbox).await] {
        let search = |pattern: &str| ask(&tree, "search", json!({"pattern": pattern}));
        // Neither the value nor a part, a class or a count of it matches.
        let parts = [
            TOKEN,
            &TOKEN[..14],
            "glpat-",
            KNOWN,
            "zebra",
            "known-9431",
            "glpat-[A-Z]x",
            "glpat|zebra",
            "(?i)GLPAT-zx",
            "^NAME=z",
        ];
        let none = search("zebra-known-9431-nothing").text;
        assert!(none.starts_with("No line matches in "), "{none}");
        for part in parts {
            assert_eq!(search(part).text, none, "{part}");
        }
        // What stands in its place does, however it is asked for.
        for pattern in [
            "REDACTED",
            r"\[REDACTED\]",
            "TOKEN=.RED",
            r"GITLAB_TOKEN=\[",
            "(?i)redacted",
            "EDAC",
            r"D\]$",
            "^NAME=.{10}$",
        ] {
            let answer = search(pattern);
            assert!(answer.text.contains("config/prod.env:"), "{pattern}: {}", answer.text);
            assert!(!answer.removed.is_empty());
        }
        assert_eq!(
            search("def (one|two)").text,
            "src/app.py:1: def one():\nsrc/app.py:5: def two():\n[Files too large to be searched: 1.]"
        );
    }
}

#[tokio::test]
async fn a_value_that_is_learned_later_is_not_found_in_a_file_that_was_clean_before() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "ordinary-until-now-3321 is a word\n");
    sandbox.commit("a word");
    let engine = super::support::engine();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let git = git(&sandbox, &sandbox.repo());
    let tree = diffsan::context::Tree::of_commit(&git, head.trim(), std::sync::Arc::clone(&engine)).await.unwrap();
    let search = || ask(&tree, "search", json!({"pattern": "ordinary-until"})).text;
    assert!(search().starts_with("notes.txt:1: ordinary"));
    engine.learn("ordinary-until-now-3321");
    assert!(search().starts_with("No line matches"), "{}", search());
}

#[tokio::test]
async fn hits_are_counted_and_capped() {
    let sandbox = Sandbox::new();
    for file in 0..30 {
        sandbox.write(&format!("lib/part_{file:02}.py"), "needle\nhay\n".repeat(10));
    }
    sandbox.commit("needles");
    let tree = commit_tree(&sandbox).await;
    let answer = ask(&tree, "search", json!({"pattern": "^needle$"}));
    assert_eq!(answer.lines, 100);
    assert!(answer.text.ends_with("[200 more hits: use a narrower pattern or a glob.]"), "{}", answer.text);
    assert!(answer.text.starts_with("lib/part_00.py:1: needle\nlib/part_00.py:3: needle\n"));
    for (glob, lines) in [
        ("lib/part_03.py", 10),
        ("part_03.py", 10),
        ("lib/part_0[12].py", 20),
        ("lib", 100),
        ("*_03.*", 10),
        ("**/part_0{1,2,3}.py", 30),
    ] {
        assert_eq!(ask(&tree, "search", json!({"pattern": "needle", "glob": glob})).lines, lines, "{glob}");
    }
    let answer = ask(&tree, "search", json!({"pattern": "needle", "glob": "*.go"}));
    assert!(answer.is_error && answer.text.contains("No file is like this glob"), "{}", answer.text);
    let many = "needle\n".repeat(5_000);
    sandbox.write("aaa.txt", many);
    sandbox.commit("many");
    let tree = commit_tree(&sandbox).await;
    let answer = ask(&tree, "search", json!({"pattern": "needle"}));
    assert!(answer.text.ends_with("[At least 1900 more hits: use a narrower pattern or a glob.]"), "{}", answer.text);
}

#[tokio::test]
async fn files_are_listed_with_their_sizes() {
    let sandbox = hostile();
    for tree in [commit_tree(&sandbox).await, working_tree(&sandbox).await] {
        let answer = ask(&tree, "list_files", json!({}));
        assert_eq!(
            answer.text,
            "README.md (12 bytes)\napp-link (symbolic link)\nbig.txt (2.5 MB)\nblob.bin (12 bytes)\nconfig/prod.env (86 bytes)\n\
             empty.txt (0 bytes)\npasswd (symbolic link)\nsrc/app.py (50 bytes)\nsrc/etc (symbolic link)\n"
        );
        assert_eq!(answer.lines, 9);
        assert_eq!(ask(&tree, "list_files", json!({"glob": "*.py"})).text, "src/app.py (50 bytes)\n");
        assert_eq!(ask(&tree, "list_files", json!({"glob": "src/"})).lines, 2);
        assert!(ask(&tree, "list_files", json!({"glob": "{"})).text.contains("The glob cannot be used"));
        assert!(ask(&tree, "list_files", json!({"glob": "x".repeat(500)})).text.contains("characters"));
    }
}

#[tokio::test]
async fn a_secret_in_a_path_is_neither_shown_nor_found() {
    let sandbox = Sandbox::new();
    sandbox.write(&format!("keys/{TOKEN}.txt"), "content\n");
    sandbox.commit("a path");
    let tree = commit_tree(&sandbox).await;
    let listed = ask(&tree, "list_files", json!({"glob": "keys/**"})).text;
    assert_eq!(listed, "keys/[REDACTED] (8 bytes)\n");
    assert!(ask(&tree, "list_files", json!({"glob": "*glpat*"})).is_error);
    assert!(ask(&tree, "read_file", json!({"path": format!("keys/{TOKEN}.txt")})).is_error);
    assert!(ask(&tree, "read_file", json!({"path": "keys/[REDACTED]"})).text.contains("1\tcontent"));
}

#[tokio::test]
async fn a_working_tree_is_read_as_it_is_and_never_through_a_link() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/one.py", "one\n");
    sandbox.write("lib/two.py", "two\n");
    sandbox.write("gone.py", "gone\n");
    sandbox.commit("files");
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("one.py"), "outside-content\n").unwrap();
    std::fs::write(outside.join("two.py"), "outside-content\n").unwrap();
    sandbox.write("src/app.py", "changed = 1\n");
    std::fs::remove_file(sandbox.repo().join("gone.py")).unwrap();
    // A folder and a file that are tracked as such are links on the disk; another is a pipe.
    std::fs::remove_dir_all(sandbox.repo().join("lib")).unwrap();
    symlink(&outside, sandbox.repo().join("lib")).unwrap();
    std::fs::remove_file(sandbox.repo().join("README.md")).unwrap();
    symlink("/etc/passwd", sandbox.repo().join("README.md")).unwrap();
    let tree = working_tree(&sandbox).await;
    assert!(ask(&tree, "read_file", json!({"path": "src/app.py"})).text.contains("1\tchanged = 1"));
    for (path, why) in [
        ("lib/one.py", "links are not followed"),
        ("README.md", "links are not followed"),
        ("gone.py", "its content is not here"),
    ] {
        let answer = ask(&tree, "read_file", json!({"path": path}));
        assert!(answer.is_error && answer.text.contains(why), "{path}: {}", answer.text);
    }
    let found = ask(&tree, "search", json!({"pattern": "outside-content|root:"})).text;
    assert!(found.starts_with("No line matches"), "{found}");
    let fifo = sandbox.repo().join("src/app.py");
    std::fs::remove_file(&fifo).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    assert!(ask(&tree, "read_file", json!({"path": "src/app.py"})).is_error, "a pipe is not waited for");
    // From a folder below the top everything is there as well.
    let below = sandbox.repo().join("sub");
    std::fs::create_dir(&below).unwrap();
    let tree = diffsan::context::Tree::of_working_tree(&git(&sandbox, &below), super::support::engine()).await.unwrap();
    assert_eq!(ask(&tree, "list_files", json!({})).lines, 5);
}

#[tokio::test]
async fn a_shallow_clone_has_the_heads_tree() {
    let sandbox = hostile();
    let url = format!("file://{}", sandbox.repo().display());
    let clone = sandbox.root().join("clone");
    sandbox.git_in(sandbox.root(), &["clone", "-q", "--depth=1", &url, "clone"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let tree =
        diffsan::context::Tree::of_commit(&git(&sandbox, &clone), head.trim(), super::support::engine()).await.unwrap();
    assert!(ask(&tree, "read_file", json!({"path": "src/app.py"})).text.contains("def two"));
    let missing = "0123456789abcdef0123456789abcdef01234567";
    assert!(
        diffsan::context::Tree::of_commit(&git(&sandbox, &clone), missing, super::support::engine()).await.is_err()
    );
}

#[tokio::test]
async fn a_pattern_of_the_agents_takes_neither_long_nor_much() {
    let sandbox = Sandbox::new();
    sandbox.write("long.txt", "a".repeat(1_900_000));
    sandbox.write("lines.txt", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n".repeat(20_000));
    sandbox.commit("long");
    let tree = commit_tree(&sandbox).await;
    for pattern in ["(a+)+$b", "(?:a?){200}b", "(.*)*x", "a{1,200}.{0,200}z", r"(\w+\s?)+:::"] {
        let begun = std::time::Instant::now();
        let answer = ask(&tree, "search", json!({"pattern": pattern}));
        assert!(begun.elapsed().as_secs() < 60, "{pattern} took {:?}", begun.elapsed());
        assert!(
            answer.is_error || answer.text.contains("No line matches") || answer.text.contains("took too long"),
            "{pattern}: {}",
            answer.text
        );
    }
    let glob = format!("{}b", "*a".repeat(150));
    assert!(ask(&tree, "list_files", json!({"glob": glob})).is_error);
}
