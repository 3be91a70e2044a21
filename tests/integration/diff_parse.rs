//! The parser against real git: its numbers, its names, its lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use diffsan::diff::fetch::diff_command;
use diffsan::diff::{Diff, FileStatus, LineKind, anchor};
use proptest::prelude::*;

use crate::sandbox::Sandbox;

/// Files by their paths, which need not be UTF-8.
type Tree = BTreeMap<Vec<u8>, Vec<u8>>;

/// Added lines, removed lines (`None` for binary files), old and new path.
type Stat = (Option<(u32, u32)>, String, String);

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn git(sandbox: &Sandbox, folder: &Path, args: &[&str]) -> Vec<u8> {
    output(sandbox.hermetic("git").current_dir(folder).args(["-c", "core.quotepath=off"]).args(args))
}

/// What `--numstat -z` says, in its order.
fn numstat(text: &[u8]) -> Vec<Stat> {
    let mut fields = text.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut stats = Vec::new();
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let mut parts = field.splitn(3, '\t');
        let (added, removed, path) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let counts = (added != "-").then(|| (added.parse().unwrap(), removed.parse().unwrap()));
        let (old, new) = match path {
            "" => (fields.next().unwrap(), fields.next().unwrap()),
            path => (path.to_owned(), path.to_owned()),
        };
        stats.push((counts, old, new));
    }
    stats
}

/// The same from the parser. Two things are in git's numbers and not in a patch: a file that becomes
/// a symlink is one file there and a removal and an addition here; and a binary file whose bytes did
/// not change (renamed, new mode) is not called binary.
fn stats(diff: &Diff<'_>, want: &[Stat]) -> Vec<Stat> {
    let mut stats: Vec<Stat> = Vec::new();
    for file in &diff.files {
        let mut counts = (!file.is_binary).then_some((file.additions, file.deletions));
        let unchanged = file.similarity == Some(100) || file.status == FileStatus::ModeChanged;
        if unchanged && want.get(stats.len()).is_some_and(|stat| stat.0.is_none()) {
            counts = None;
        }
        match stats.last_mut() {
            Some((Some(above), _, path)) if file.status == FileStatus::Added && *path == file.new_path => {
                above.0 += file.additions;
            }
            _ => stats.push((counts, file.old_path.clone(), file.new_path.clone())),
        }
    }
    stats
}

/// Compares the parse of one diff with git's own numbers; returns how many files that were.
fn agree(sandbox: &Sandbox, folder: &Path, old: &str, new: &str) -> usize {
    let command = diff_command(&[old, new]);
    let text = git(sandbox, folder, &command);
    let mut numbers = command.clone();
    numbers.insert(1, "--numstat");
    numbers.insert(2, "-z");
    let want = numstat(&git(sandbox, folder, &numbers));
    let diff = Diff::parse(&text).unwrap_or_else(|error| panic!("{old}..{new}: {error}"));
    assert_eq!(stats(&diff, &want), want, "{old}..{new}");
    want.len()
}

/// A small generator of pseudo-random numbers, so that every run sees the same history.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Names that need quoting, splitting or care.
const NAMES: &[&str] = &[
    "plain.py",
    "with space.py",
    "x b/x b/x",
    "a/b/c.rs",
    "b/b/b",
    "tab\there",
    "new\nline",
    "quo\"te",
    "back\\slash",
    "umlaut-ä.txt",
    "漢字.md",
    "end \u{1}",
    " lead",
];

fn content(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    if random.below(12) == 0 {
        text.extend_from_slice(b"\0binary\xff");
    }
    for _ in 0..random.below(60) {
        let line: &[u8] = match random.below(9) {
            0 => b"+++ b/other.py",
            1 => b"--- a/other.py",
            2 => b"@@ -1,2 +3,4 @@",
            3 => b"diff --git a/x b/x",
            4 => b"",
            5 => b"carriage return\r",
            6 => b"\xff\xfe not utf-8",
            7 => b"    common line",
            _ => b"",
        };
        text.extend_from_slice(line);
        let _ = write!(text, "{}", random.below(40));
        text.push(b'\n');
    }
    if random.below(4) == 0 {
        text.pop();
    }
    text
}

fn quoted(path: &[u8]) -> String {
    path.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\{byte:03o}");
        text
    })
}

/// One commit for `git fast-import`, replacing the whole tree.
fn import_commit(stream: &mut Vec<u8>, tree: &[(Vec<u8>, &str, Vec<u8>)]) {
    stream.extend_from_slice(
        b"commit refs/heads/main\ncommitter A <a@example.invalid> 1700000000 +0000\ndata 0\ndeleteall\n",
    );
    for (path, mode, bytes) in tree {
        let _ = write!(stream, "M {mode} inline \"{}\"\ndata {}\n", quoted(path), bytes.len());
        stream.extend_from_slice(bytes);
        stream.push(b'\n');
    }
}

/// A repository with these commits on `main`, oldest first.
fn import(sandbox: &Sandbox, stream: &[u8]) -> Vec<String> {
    let repo = sandbox.repo();
    sandbox.git(&["init", "-q", "-b", "main"]);
    let mut command = sandbox.hermetic("git");
    let mut child = command.args(["fast-import", "--quiet"]).current_dir(&repo).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream).unwrap();
    assert!(child.wait().unwrap().success());
    sandbox.git(&["rev-list", "--reverse", "main"]).lines().map(str::to_owned).collect()
}

/// A history that adds, edits, renames, deletes and re-modes files with difficult names.
fn history(commits: usize) -> Vec<u8> {
    let mut random = Random(7);
    let mut files: BTreeMap<Vec<u8>, (&str, Vec<u8>)> = BTreeMap::new();
    let mut stream = Vec::new();
    for step in 0..commits {
        for _ in 0..=random.below(4) {
            let names: Vec<Vec<u8>> = files.keys().cloned().collect();
            let some = |random: &mut Random| names.get(random.below(names.len().max(1))).cloned();
            match random.below(7) {
                0 | 1 => {
                    let mut name = NAMES[random.below(NAMES.len())].as_bytes().to_vec();
                    let _ = write!(name, "{}", random.below(3));
                    files.insert(name, ("100644", content(&mut random)));
                }
                2 => drop(some(&mut random).and_then(|name| files.remove(&name))),
                3 => {
                    if let Some((name, file)) = some(&mut random).and_then(|name| files.remove_entry(&name)) {
                        let moved = [b"moved/".as_slice(), &name].concat();
                        files.insert(moved[moved.len().saturating_sub(60)..].to_vec(), file);
                    }
                }
                4 => {
                    if let Some(file) = some(&mut random).and_then(|name| files.get_mut(&name)) {
                        file.0 = if file.0 == "100644" { "100755" } else { "100644" };
                    }
                }
                _ => {
                    if let Some(file) = some(&mut random).and_then(|name| files.get_mut(&name)) {
                        let at = random.below(file.1.len() + 1);
                        file.1.splice(at..at, format!("edit {step}\n").into_bytes());
                    }
                }
            }
        }
        // A path that is also a folder of another one cannot be in one tree.
        let paths: Vec<Vec<u8>> = files.keys().cloned().collect();
        let clashes = |path: &[u8]| paths.iter().any(|other| other.starts_with(&[path, b"/"].concat()));
        let tree: Vec<_> = files
            .iter()
            .filter(|(path, _)| !clashes(path))
            .map(|(path, (mode, bytes))| (path.clone(), *mode, bytes.clone()))
            .collect();
        import_commit(&mut stream, &tree);
    }
    stream
}

#[test]
fn the_parser_agrees_with_numstat_on_every_commit_of_a_long_history() {
    let sandbox = Sandbox::bare();
    let commits = import(&sandbox, &history(300));
    assert_eq!(commits.len(), 300);
    let files: usize = commits.windows(2).map(|pair| agree(&sandbox, &sandbox.repo(), &pair[0], &pair[1])).sum();
    assert!(files > 500, "only {files} files were compared");
}

#[test]
fn the_parser_agrees_with_numstat_on_this_repository_s_own_history() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !here.join(".git").exists() {
        return;
    }
    let sandbox = Sandbox::bare();
    let trusted = format!("safe.directory={}", here.display());
    let listed = git(&sandbox, here, &["-c", &trusted, "rev-list", "--parents", "--max-count=200", "HEAD"]);
    for line in String::from_utf8(listed).unwrap().lines() {
        if let [commit, parent, ..] = line.split(' ').collect::<Vec<_>>()[..] {
            agree(&sandbox, here, parent, commit);
        }
    }
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![
        4 => prop::sample::select(NAMES).prop_map(|name| name.as_bytes().to_vec()),
        1 => prop::collection::vec(prop::num::u8::ANY.prop_filter("a path", |b| !matches!(b, 0 | b'/')), 1..10),
    ];
    // A prefix keeps `.`, `..` and `.git` out.
    name.prop_map(|name| [b"f".as_slice(), &name].concat())
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => "[a-c]{0,3}".prop_map(String::into_bytes),
        1 => Just(b"++ b/x".to_vec()),
        1 => Just(b"-- a/x".to_vec()),
        1 => Just(b"@@ -1 +1 @@".to_vec()),
        1 => prop::collection::vec(1u8.., 0..6).prop_filter("one line", |line| !line.contains(&b'\n')),
    ];
    (prop::collection::vec(line, 0..40), any::<bool>()).prop_map(|(lines, ends)| {
        let mut bytes = lines.join(&b'\n');
        if ends && !bytes.is_empty() {
            bytes.push(b'\n');
        }
        bytes
    })
}

fn trees() -> impl Strategy<Value = (Tree, Tree)> {
    let change = prop_oneof![Just(0u8), Just(1), Just(2), Just(3)];
    prop::collection::btree_map(path(), (file(), file(), change), 1..6).prop_map(|files| {
        let (mut old, mut new) = (Tree::new(), Tree::new());
        for (path, (before, after, change)) in files {
            match change {
                0 => drop(new.insert(path, after)),
                1 => drop(old.insert(path, before)),
                2 => {
                    old.insert(path.clone(), before);
                    new.insert(path, after);
                }
                _ => {
                    old.insert(path.clone(), before.clone());
                    new.insert([path.as_slice(), b"-renamed"].concat(), before);
                }
            }
        }
        (old, new)
    })
}

/// The lines of a file as a diff counts them.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.last() == Some(&&b""[..]) {
        lines.pop();
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_line_of_a_real_diff_is_the_line_of_the_file((old, new) in trees()) {
        let sandbox = Sandbox::bare();
        let entries = |tree: &Tree| -> Vec<_> {
            // Paths of which one is a folder of the other cannot be in one tree.
            let clashes = |path: &[u8]| tree.keys().any(|other| other.starts_with(&[path, b"/"].concat()));
            tree.iter().filter(|(path, _)| !clashes(path)).map(|(path, b)| (path.clone(), "100644", b.clone())).collect()
        };
        let mut stream = Vec::new();
        import_commit(&mut stream, &entries(&old));
        import_commit(&mut stream, &entries(&new));
        let commits = import(&sandbox, &stream);
        agree(&sandbox, &sandbox.repo(), &commits[0], &commits[1]);

        let lossy = |tree: &Tree| -> BTreeMap<String, Vec<u8>> {
            tree.iter().map(|(path, bytes)| (String::from_utf8_lossy(path).into_owned(), bytes.clone())).collect()
        };
        let (old, new) = (lossy(&old), lossy(&new));
        let text = git(&sandbox, &sandbox.repo(), &diff_command(&[&commits[0], &commits[1]]));
        let diff = Diff::parse(&text).unwrap();
        for file in &diff.files {
            // Two paths that are the same once their broken bytes are replaced cannot be told apart.
            if file.new_path.contains('\u{fffd}') || file.old_path.contains('\u{fffd}') {
                continue;
            }
            for line in file.hunks.iter().flat_map(|hunk| hunk.lines()) {
                let of = |tree: &BTreeMap<String, Vec<u8>>, path: &str, number: u32| {
                    lines(&tree[path])[number as usize - 1].to_vec()
                };
                if let Some(number) = line.old {
                    prop_assert_eq!(of(&old, &file.old_path, number), line.content);
                }
                if let Some(number) = line.new {
                    prop_assert_eq!(of(&new, &file.new_path, number), line.content);
                }
                if line.no_newline {
                    let side = if line.kind == LineKind::Removed { &old[&file.old_path] } else { &new[&file.new_path] };
                    prop_assert!(!side.ends_with(b"\n"));
                }
            }
        }
    }
}

#[test]
fn a_change_block_keeps_its_anchor_at_any_context_size_and_after_edits_above_it() {
    let sandbox = Sandbox::new();
    let body: String = (1..200).map(|n| format!("line {n}\n")).collect();
    sandbox.write("a.py", &body);
    let base = sandbox.commit("base");
    let edited =
        body.replace("line 50\n", "line fifty\n").replace("line 52\n", "").replace("line 150\n", "line 150\nnew\n");
    sandbox.write("a.py", &edited);
    let first = sandbox.commit("edit");
    let anchors = |context: &str, head: &str| -> Vec<_> {
        let text = git(&sandbox, &sandbox.repo(), &["diff", context, &base, head]);
        anchor::anchors(&Diff::parse(&text).unwrap()).into_iter().map(|anchor| anchor.entry).collect()
    };
    let normal = anchors("-U3", &first);
    assert_eq!(normal.len(), 3);
    assert_eq!(normal, anchors("-U0", &first));
    assert_eq!(normal, anchors("-U10", &first));

    sandbox.write("a.py", format!("header\n{}", edited.replace("line fifty\n", "    line fifty\n")));
    let second = sandbox.commit("move and indent");
    let moved = anchors("-U3", &second);
    let ids: Vec<_> = moved.iter().map(|entry| &entry.change_anchor).collect();
    for entry in &normal {
        assert!(ids.contains(&&entry.change_anchor), "{entry:?} is not in {moved:#?}");
    }
}

#[test]
fn symlinks_type_changes_copies_and_mode_changes_are_what_git_says() {
    let sandbox = Sandbox::new();
    let text: String = (0..30).map(|n| format!("row {n}\n")).collect();
    sandbox.write("kept", &text);
    sandbox.write("tool", "#!/bin/sh\n");
    sandbox.write("becomes-link", "text\n");
    let base = sandbox.commit("base");
    std::os::unix::fs::symlink("kept", sandbox.repo().join("link")).unwrap();
    std::fs::remove_file(sandbox.repo().join("becomes-link")).unwrap();
    std::os::unix::fs::symlink("kept", sandbox.repo().join("becomes-link")).unwrap();
    sandbox.script("repo/tool", "#!/bin/sh\n");
    sandbox.write("empty", "");
    let head = sandbox.commit("change");
    agree(&sandbox, &sandbox.repo(), &base, &head);
    let text = git(&sandbox, &sandbox.repo(), &diff_command(&[&base, &head]));
    let diff = Diff::parse(&text).unwrap();
    let seen: Vec<_> = diff.files.iter().map(|file| (file.path(), file.status, file.new_mode)).collect();
    assert_eq!(
        seen,
        [
            ("becomes-link", FileStatus::Deleted, None),
            ("becomes-link", FileStatus::Added, Some(0o120_000)),
            ("empty", FileStatus::Added, Some(0o100_644)),
            ("link", FileStatus::Added, Some(0o120_000)),
            ("tool", FileStatus::ModeChanged, Some(0o100_755)),
        ]
    );
}
