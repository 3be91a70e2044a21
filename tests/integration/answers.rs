//! Answers made to hurt: each ends in an error, without a stack overflow and without time that grows with its square.

use diffsan::validate::{MAX_ANSWER_BYTES, parse_answer};

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
