//! What is left of a change is a patch that git itself accepts.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use diffsan::contracts::{LimitsConfig, TruncationConfig};
use diffsan::diff::Diff;
use diffsan::diff::fetch::diff_command;
use diffsan::prepare::{Fate, Prepared, Rules, prepare};

use crate::sandbox::Sandbox;

/// A repository whose head changes several files in many places.
fn changed() -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    let rows = |name: &str, last: usize| (0..last).map(|n| format!("{name} row {n}\n")).collect::<String>();
    sandbox.write("many.py", rows("many", 400));
    sandbox.write("big.py", rows("big", 200));
    sandbox.write("gone.py", rows("gone", 80));
    sandbox.write("moved from.py", rows("moved", 60));
    sandbox.write("no-newline.js", rows("end", 20).trim_end());
    let base = sandbox.commit("base");
    let many = (0..400).map(|n| if n % 20 == 5 { format!("edited {n}\n") } else { format!("many row {n}\n") });
    sandbox.write("many.py", many.collect::<String>());
    let big = rows("big", 100) + &rows("inserted", 300) + &rows("big", 200)[rows("big", 100).len()..];
    sandbox.write("big.py", big);
    std::fs::remove_file(sandbox.repo().join("gone.py")).unwrap();
    std::fs::remove_file(sandbox.repo().join("moved from.py")).unwrap();
    sandbox.write("moved to ä.py", rows("moved", 60).replace("moved row 30\n", "moved row thirty\n"));
    sandbox.write("no-newline.js", rows("end", 20) + "last");
    sandbox.write("new.py", rows("new", 150));
    sandbox.write("empty.py", "");
    sandbox.write("docs/ignored.md", "ignored\n");
    sandbox.script("repo/README.md", "# a project\n");
    let head = sandbox.commit("head");
    (sandbox, base, head)
}

fn prepared(text: &str, limits: impl FnOnce(&mut Rules)) -> Prepared {
    let mut rules = Rules::new(&LimitsConfig::default(), &TruncationConfig::default(), BTreeMap::new());
    limits(&mut rules);
    prepare(text, &Diff::parse(text.as_bytes()).unwrap(), &rules).unwrap()
}

/// Whether git accepts a patch on the base; `options` come before the patch.
fn applies(sandbox: &Sandbox, base: &str, patch: &str, options: &[&str]) -> Result<(), String> {
    sandbox.git(&["checkout", "-q", "-f", base]);
    let mut command = sandbox.hermetic("git");
    command.args(["apply", "--check"]).args(options).current_dir(sandbox.repo());
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn whatever_the_limits_the_prepared_patch_applies_or_says_that_it_is_an_excerpt() {
    let (sandbox, base, head) = changed();
    let text = sandbox.git(&diff_command(&[&base, &head]));
    let whole = prepared(&text, |_| {});
    assert!(!whole.report.truncated);
    applies(&sandbox, &base, &whole.text, &[]).unwrap();

    let mut clean = 0;
    for chars in (200..12_000).step_by(487) {
        for (files, hunks) in [(60, 40), (3, 40), (60, 7)] {
            let out = prepared(&text, |rules| {
                rules.max_diff_chars = chars;
                rules.max_files = files;
                rules.max_hunks_per_file = hunks;
            });
            if out.text.is_empty() {
                continue;
            }
            assert!(out.text.chars().count() <= chars);
            let is_excerpt = out.fates.iter().flatten().any(|fate| matches!(fate, Fate::Cut { .. }));
            assert_eq!(is_excerpt, out.text.contains("[diffsan: excerpt, first "), "{chars}");
            match applies(&sandbox, &base, &out.text, &[]) {
                Ok(()) => clean += 1,
                Err(said) => assert!(is_excerpt, "{chars} {files} {hunks}: {said}\n{}", out.text),
            }
        }
    }
    assert!(clean > 10, "only {clean} of the patches applied");
}

#[test]
fn an_excerpt_of_a_new_or_edited_file_still_applies_at_its_place() {
    let (sandbox, base, head) = changed();
    let text = sandbox.git(&diff_command(&[&base, &head]));
    for (path, options) in [("new.py", &[][..]), ("big.py", &["--unidiff-zero"])] {
        let others = ["many.py", "big.py", "gone.py", "moved*", "no-newline.js", "new.py", "empty.py", "README.md"];
        let out = prepared(&text, |rules| {
            rules.max_diff_chars = 1_500;
            rules.ignore_globs.extend(others.into_iter().filter(|other| *other != path).map(str::to_owned));
        });
        assert!(out.text.contains("[diffsan: excerpt, first "), "{}", out.text);
        applies(&sandbox, &base, &out.text, options).unwrap_or_else(|said| panic!("{said}\n{}", out.text));
    }
}

#[test]
fn the_same_lines_have_the_same_numbers_after_the_cut() {
    let (sandbox, base, head) = changed();
    let text = sandbox.git(&diff_command(&[&base, &head]));
    let out = prepared(&text, |rules| rules.max_diff_chars = 3_000);
    assert!(out.report.truncated);
    let (whole, cut) = (Diff::parse(text.as_bytes()).unwrap(), Diff::parse(out.text.as_bytes()).unwrap());
    for file in &cut.files {
        let original = whole.file(file.path()).unwrap();
        assert_eq!((&file.old_path, file.status), (&original.old_path, original.status));
        for line in file.hunks.iter().flat_map(|hunk| hunk.lines()) {
            let found = match line.new {
                Some(number) => original.line_new(number),
                None => original.line_old(line.old.unwrap()),
            };
            assert_eq!(found, Some(line));
        }
    }
}
