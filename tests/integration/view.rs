//! What a run prints and which reports it leaves: on a terminal, in a pipe, in a job's log.

use std::process::Command;

use diffsan::view::Shown;
use serde_json::Value;

use crate::sandbox::{Finished, Sandbox, read_json};

fn demo() -> String {
    format!("{}/fixtures/demo/change.patch", env!("CARGO_MANIFEST_DIR"))
}

/// The command of the README.
fn review(sandbox: &Sandbox) -> Command {
    sandbox.command(["--diff-file", &demo(), "--agent", "builtin"])
}

/// The program on a terminal of this many columns; everything that was written to it.
fn on_a_terminal(sandbox: &Sandbox, columns: usize, options: &str, environment: &[(&str, &str)]) -> String {
    let program = env!("CARGO_BIN_EXE_diffsan");
    let line = format!("stty cols {columns} rows 40; '{program}' --diff-file '{}' --agent builtin {options}", demo());
    let mut script = sandbox.hermetic("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(sandbox.repo()).env("TERM", "xterm-256color");
    script.envs(environment.iter().copied()).stdin(std::process::Stdio::null());
    Finished::of(script.output().unwrap()).expect_code(0).stdout
}

/// The rows of a terminal after all this was written to it; styles are dropped.
fn screen(written: &str, columns: usize) -> Vec<String> {
    let (mut rows, mut row, mut column) = (vec![Vec::new()], 0usize, 0usize);
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' if letters.next_if_eq(&'[').is_some() => {
                let mut number = String::new();
                let kind = loop {
                    match letters.next() {
                        Some(part @ ('0'..='9' | ';' | '?')) => number.push(part),
                        other => break other,
                    }
                };
                match kind {
                    Some('A') => row = row.saturating_sub(number.parse().unwrap_or(1)),
                    Some('K') if number == "2" => rows[row].clear(),
                    Some('K') => rows[row].truncate(column),
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row += 1,
            letter => {
                if column == columns {
                    (row, column) = (row + 1, 0);
                }
                rows.resize(rows.len().max(row + 1), Vec::new());
                let line: &mut Vec<char> = &mut rows[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = letter;
                column += 1;
            }
        }
        rows.resize(rows.len().max(row + 1), Vec::new());
    }
    rows.into_iter().map(|row| row.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

fn is_spinner(letter: char) -> bool {
    ('\u{2801}'..='\u{28ff}').contains(&letter)
}

#[test]
fn the_demonstration_has_every_kind_of_finding_it_should_show() {
    let sandbox = Sandbox::bare();
    let finished = Finished::of(review(&sandbox).output().unwrap()).expect_code(0);
    for words in [
        "6 findings (1 critical, 4 high, 1 low); not reviewed: 1 ignored file",
        "AWS_ACCESS_KEY_ID",
        "URL_CREDENTIALS",
        "merge conflict",
        "debugger",
        "it.only",
        "Suggested change",
        "docs/checkout.md: ignored by configuration",
        "open report.html",
    ] {
        assert!(finished.stdout.contains(words), "{words}\n{}", finished.stdout);
    }
}

#[test]
fn a_pipe_gets_no_colour_and_no_spinner() {
    let sandbox = Sandbox::bare();
    let finished = Finished::of(review(&sandbox).output().unwrap()).expect_code(0);
    for text in [&finished.stdout, &finished.stderr] {
        assert!(!text.contains('\x1b') && !text.contains(is_spinner), "{text:?}");
    }
}

#[test]
fn colour_can_be_forced_and_forbidden() {
    let sandbox = Sandbox::bare();
    let forced = Finished::of(review(&sandbox).args(["--color", "always"]).output().unwrap()).expect_code(0);
    assert!(forced.stdout.contains("\x1b[1m"));
    assert!(!on_a_terminal(&sandbox, 80, "--color never", &[]).contains('\x1b'));
    let without = on_a_terminal(&sandbox, 80, "", &[("NO_COLOR", "1")]);
    assert!(!screen(&without, 80).is_empty() && !without.contains("\x1b[31m") && !without.contains("\x1b[1m"));
    assert!(on_a_terminal(&sandbox, 80, "", &[]).contains("\x1b[1m"));
}

#[test]
fn the_spinner_turns_on_a_terminal_and_leaves_nothing_behind() {
    let sandbox = Sandbox::bare();
    let written = on_a_terminal(&sandbox, 100, "", &[]);
    assert!(written.contains(is_spinner), "no spinner was drawn");
    let rows = screen(&written, 100);
    assert!(!rows.iter().any(|row| row.contains(is_spinner)), "{rows:#?}");
    let events = rows.iter().filter(|row| row.starts_with("[diffsan] ")).count();
    assert_eq!(events, 0, "a terminal is quiet: {rows:#?}");
    let rows = screen(&on_a_terminal(&sandbox, 100, "-v", &[]), 100);
    let events =
        rows.iter().filter(|row| row.starts_with("[diffsan] run.") || row.starts_with("[diffsan] diff.")).count();
    assert_eq!(events, 4, "an event line was drawn over: {rows:#?}");
    assert!(
        rows.iter().any(|row| row == "● 6 findings (1 critical, 4 high, 1 low); not reviewed: 1 ignored file"),
        "{rows:#?}"
    );
}

#[test]
fn files_and_lines_are_links_where_the_terminal_makes_them() {
    let sandbox = Sandbox::bare();
    let written = on_a_terminal(&sandbox, 100, "-q", &[("VTE_VERSION", "7600")]);
    let file = sandbox.repo().canonicalize().unwrap().join("src/checkout/payments.py");
    for words in
        [format!("{}\x1b\\src/checkout/payments.py", file.display()), format!("{}#9\x1b\\line 9", file.display())]
    {
        assert!(written.contains(&format!("\x1b]8;;file://{words}\x1b]8;;\x1b\\")), "{words:?}: {written:?}");
    }
    assert!(!on_a_terminal(&sandbox, 100, "-q", &[]).contains("\x1b]8;"));
}

#[test]
fn quiet_prints_the_result_alone() {
    let sandbox = Sandbox::bare();
    let written = on_a_terminal(&sandbox, 100, "-q", &[]);
    assert!(!written.contains(is_spinner) && !written.contains("[diffsan]"));
    assert!(written.contains("6 findings"));
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let sandbox = Sandbox::bare();
    let written = on_a_terminal(&sandbox, 40, "-q", &[]);
    for row in anstream::adapter::strip_str(&written).to_string().lines() {
        assert!(row.trim_end().chars().count() <= 40, "{row:?}");
    }
}

#[test]
fn a_job_log_gets_colours_and_sections_unless_they_are_forbidden() {
    let sandbox = Sandbox::bare();
    let log = |name: &str, value: &str| {
        let output = review(&sandbox).env("GITLAB_CI", "true").env(name, value).output().unwrap();
        Finished::of(output).expect_code(0).stdout
    };
    let usual = log("TERM", "dumb");
    assert!(usual.contains("\x1b[0Ksection_start:") && usual.contains("\x1b[1m"));
    assert_eq!(usual.matches("section_start:").count(), usual.matches("section_end:").count());
    let plain = log("NO_COLOR", "1");
    assert!(!plain.contains('\x1b') && !plain.contains("section_start") && !plain.contains('\r'), "{plain:?}");
}

#[test]
fn markdown_and_json_are_one_document_on_stdout() {
    let sandbox = Sandbox::bare();
    let markdown = Finished::of(review(&sandbox).args(["--format", "markdown"]).output().unwrap()).expect_code(0);
    assert!(markdown.stdout.starts_with("# 6 findings"), "{}", markdown.stdout);
    assert!(!markdown.stdout.contains("[diffsan]"));
    let json = Finished::of(review(&sandbox).args(["--format", "json"]).output().unwrap()).expect_code(0);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["verdict"]["decision"], "review_required");
    assert_eq!(document["review"]["findings"].as_array().unwrap().len(), 6);
}

#[test]
fn every_report_has_every_finding_and_no_secret() {
    let sandbox = Sandbox::bare();
    Finished::of(review(&sandbox).output().unwrap()).expect_code(0);
    let folder = sandbox.workdir();
    let page = sandbox.artifact_text("report.html");
    assert_eq!(page.matches("<article ").count(), 6);
    let issues = read_json(&folder.join("gl-code-quality-report.json"));
    assert_eq!(issues.as_array().unwrap().len(), 7, "each finding, and what was not reviewed");
    assert_eq!(sandbox.artifact("report.sarif")["runs"][0]["results"].as_array().unwrap().len(), 6);
    let patch = std::fs::read_to_string(demo()).unwrap();
    let key = patch.split('"').find(|part| part.starts_with("AKIA")).unwrap();
    let password = patch.split("shop:").last().unwrap().split('@').next().unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(key) && !text.contains(password), "{}", path.display());
    }
}

#[test]
fn the_reports_can_be_made_again_from_what_a_run_left() {
    let sandbox = Sandbox::bare();
    Finished::of(review(&sandbox).output().unwrap()).expect_code(0);
    let before = ["report.sarif", "gl-code-quality-report.json"].map(|name| sandbox.artifact_text(name));
    let page = sandbox.artifact_text("report.html");
    std::fs::remove_file(sandbox.workdir().join("report.html")).unwrap();
    sandbox.run(["report"]).expect_code(0);
    assert_eq!(["report.sarif", "gl-code-quality-report.json"].map(|name| sandbox.artifact_text(name)), before);
    let again = sandbox.artifact_text("report.html");
    assert_eq!(again.matches("<article ").count(), page.matches("<article ").count());
}

#[test]
fn a_stored_review_reads_back_as_it_was_shown() {
    let text = std::fs::read_to_string(format!("{}/fixtures/view/shown.json", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let shown: Shown = serde_json::from_str(&text).unwrap();
    let again: Shown = serde_json::from_value(serde_json::to_value(&shown).unwrap()).unwrap();
    assert_eq!(shown, again);
}
