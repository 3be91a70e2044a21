//! Answers made to hurt: each ends in an error, without a stack overflow and without time that grows with its square.

use std::path::Path;

use diffsan::validate::{MAX_ANSWER_BYTES, parse_answer};

use crate::sandbox::{Finished, Sandbox};

#[test]
fn hostile_answers_end_in_an_error_and_without_a_stack_overflow() {
    let deep = 200_000;
    let mega = 2 * 1024 * 1024;
    let texts = [
        "[".repeat(deep),
        "{".repeat(deep),
        "{\"a\":".repeat(deep),
        format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
        format!("{}1{}", "{\"a\":".repeat(deep), "}".repeat(deep)),
        format!("{{\"summary_markdown\": {}{}}}", "[".repeat(deep), "]".repeat(deep)),
        format!("{{\"summary_markdown\": {}'x'{}, }}", "{'a':".repeat(deep), "}".repeat(deep)),
        format!("{{'findings': {}{}}}", "[".repeat(deep), "]".repeat(deep)),
        "{".repeat(mega),
        "}".repeat(mega),
        "{}".repeat(mega / 2),
        "{ \"".repeat(mega / 3),
        "<think>".repeat(mega / 7),
        "</think>".repeat(mega / 8),
        "<think></".repeat(mega / 9),
        "{\"findings\": 1, ".repeat(mega / 16),
        "{\"findings\": \\d}".repeat(mega / 16),
        "\"".repeat(mega),
        "\\".repeat(mega),
        format!("{{\"findings\": \"{}\"", "\\".repeat(mega)),
        format!("{{'findings': {}}}", ",".repeat(mega)),
        format!("{{'findings': {}}}", "'a' ".repeat(mega / 8)),
        format!("{{\"findings\": {} 1}}", "/*".repeat(mega / 2)),
        format!("{{\"findings\": {} 1}}", ",//\n".repeat(mega / 4)),
        "x".repeat(MAX_ANSWER_BYTES + 1),
        "{".repeat(MAX_ANSWER_BYTES),
    ];
    for text in texts {
        let head: String = text.chars().take(40).collect();
        let problems = parse_answer(&text).expect_err(&head);
        assert!(!problems.errors.is_empty(), "{head}");
    }
}

/// Recorded answers, and by which step each is read; none: there is no review in it.
const RECORDED: &[(&str, Option<&str>)] = &[
    ("plain", Some("strict")),
    ("crlf", Some("strict")),
    ("fenced", Some("extracted")),
    ("preamble_glued", Some("extracted")),
    ("think", Some("extracted")),
    ("another_object_after", Some("extracted")),
    ("trailing_commas", Some("repaired")),
    ("raw_newlines", Some("repaired")),
    ("single_quotes", Some("repaired")),
    ("err_prose", None),
    ("err_truncated_string", None),
    ("draft_then_final", None),
];

#[test]
fn recorded_answers_of_several_shapes_go_through_the_whole_program() {
    let sandbox = Sandbox::with_change();
    let answers = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/answers");
    for (name, rung) in RECORDED {
        let mut command = sandbox.command(["review", "--base", "main", "--agent", "command"]);
        command
            .env("DIFFSAN_AGENT__COMMAND", format!("cat {}", answers.join(format!("{name}.txt")).display()))
            .env("DIFFSAN_AGENT__MAX_JSON_RETRIES", "1");
        let finished = Finished::of(command.output().unwrap());
        let code = if rung.is_some() { 0 } else { 1 };
        assert_eq!(finished.code, code, "{name}: {}", finished.stderr);
        let attempt = sandbox.artifact("agent.run.json")["attempts"][0].clone();
        assert_eq!(attempt["rung"].as_str(), *rung, "{name}: {attempt}");
        assert_eq!(attempt["valid"], rung.is_some(), "{name}");
        if rung.is_some() {
            let review = sandbox.artifact("review.json");
            assert!(!review["findings"].as_array().unwrap().is_empty(), "{name}");
            assert!(sandbox.workdir().join("report.html").exists(), "{name}");
        } else {
            assert_eq!(sandbox.artifact("run.json")["error"]["error_code"], "AGENT_OUTPUT_INVALID", "{name}");
            assert!(!sandbox.workdir().join("review.json").exists(), "{name}");
        }
    }
}
