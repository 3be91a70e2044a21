//! Every shape of answer that agents were seen to give, and some that would be worse: each is the right review or a
//! clear error.

use proptest::prelude::*;
use serde_json::json;

use super::{MAX_ANSWER_BYTES, parse_answer};
use crate::contracts::AgentReviewOutput;

macro_rules! shape {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../../fixtures/answers/", $name, ".txt")).as_slice())
    };
}

/// The name of a shape and its bytes.
type Shape = (&'static str, &'static [u8]);

const STRICT: &[Shape] = &[shape!("plain"), shape!("flat"), shape!("ascii"), shape!("crlf"), shape!("with_meta")];

const EXTRACTED: &[Shape] = &[
    shape!("bom"),
    shape!("fenced"),
    shape!("fenced_without_language"),
    shape!("fence_never_closed"),
    shape!("four_tilde_fence"),
    shape!("preamble"),
    shape!("preamble_glued"),
    shape!("epilogue"),
    shape!("braces_in_the_preamble"),
    shape!("quotes_in_the_preamble"),
    shape!("think"),
    shape!("think_around"),
    shape!("think_draft_cut_off"),
    shape!("another_object_after"),
    shape!("wrapped_in_an_object"),
    shape!("wrapped_in_a_list"),
    shape!("json_in_a_string"),
    shape!("nul_bytes_around"),
];

const REPAIRED: &[Shape] = &[
    shape!("trailing_commas"),
    shape!("raw_newlines"),
    shape!("invalid_escapes"),
    shape!("comments"),
    shape!("python_words"),
    shape!("unquoted_keys"),
];

/// These hold the smaller review.
const REPAIRED_SIMPLE: &[Shape] = &[shape!("single_quotes"), shape!("smart_quotes"), shape!("missing_comma")];

/// The shape, whether it counts as cut off, and what the first error must say.
const REFUSED: &[(Shape, bool, &str)] = &[
    (shape!("err_empty"), false, "the answer is empty"),
    (shape!("err_blank"), false, "the answer is empty"),
    (shape!("err_prose"), false, "contains no JSON object"),
    (shape!("err_notice"), false, "contains no JSON object"),
    (shape!("err_number"), false, "contains no JSON object"),
    (shape!("err_null"), false, "contains no JSON object"),
    (shape!("err_other_object"), false, "has the keys `summary_markdown` and `findings`"),
    (shape!("err_schema_echoed"), false, "summary_markdown: expected a string, found an object"),
    (shape!("err_truncated_string"), true, "never closed"),
    (shape!("err_truncated_between_findings"), true, "never closed"),
    (shape!("err_truncated_after_findings"), true, "never closed"),
    (shape!("err_truncated_in_fence"), true, "never closed"),
    (shape!("err_truncated_bracket"), true, "never closed"),
    (shape!("err_final_cut_off"), true, "never closed"),
    (shape!("err_quote_not_closed"), true, "never closed"),
    (shape!("err_final_invalid"), false, "two different reviews"),
    (shape!("think_opening_lost"), false, "two different reviews"),
    (shape!("thinking_after"), false, "two different reviews"),
    (shape!("draft_then_final"), false, "two different reviews"),
    (shape!("two_objects_glued"), false, "two different reviews"),
    (shape!("err_nan"), false, "not valid JSON"),
    (shape!("err_infinity"), false, "not valid JSON"),
    (shape!("err_number_too_large"), false, "not valid JSON"),
    (shape!("err_float_line"), false, "findings[0].line_end: invalid type: floating point `44.5`"),
    (shape!("err_unknown_severity"), false, "findings[0].severity: unknown variant `blocker`, expected one of `info`"),
    (shape!("err_unknown_category"), false, "findings[1].category: unknown variant `nit`"),
    (shape!("err_patch_format"), false, "findings[0].suggested_patch.format: unknown variant `git`"),
    (shape!("err_missing_keys"), false, "findings[1]: missing `severity`, `line_start`"),
    (shape!("err_no_summary"), false, "missing field `summary_markdown`"),
    (shape!("err_findings_object"), false, "findings: expected an array, found an object"),
    (shape!("err_findings_null"), false, "findings: expected an array, found null"),
    (shape!("err_lone_surrogate_key"), false, "findings: expected an array, found a string"),
    (shape!("err_duplicate_key"), false, "duplicate field `severity`"),
    (shape!("err_list_of_reviews"), false, "a list of reviews"),
    (shape!("err_torn_string"), false, "not valid JSON"),
];

fn review() -> AgentReviewOutput {
    serde_json::from_str(include_str!("../../fixtures/answers/review.json")).unwrap()
}

fn simple() -> AgentReviewOutput {
    serde_json::from_str(include_str!("../../fixtures/answers/simple.json")).unwrap()
}

fn read(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_readable_shape_is_the_whole_review() {
    for (rung, shapes, expected) in [
        ("strict", STRICT, review()),
        ("extracted", EXTRACTED, review()),
        ("repaired", REPAIRED, review()),
        ("repaired", REPAIRED_SIMPLE, simple()),
    ] {
        for (name, bytes) in shapes {
            let parsed = parse_answer(&read(bytes)).unwrap_or_else(|problems| panic!("{name}: {problems}"));
            assert_eq!(parsed.output, expected, "{name}");
            assert_eq!(parsed.rung, rung, "{name}");
        }
    }
}

#[test]
fn every_other_shape_is_a_clear_error() {
    for ((name, bytes), truncated, message) in REFUSED {
        let problems = parse_answer(&read(bytes)).expect_err(name);
        assert!(problems.errors[0].contains(message), "{name}: {:?}", problems.errors);
        assert_eq!(problems.truncated, *truncated, "{name}");
    }
}

#[test]
fn inner_quotes_are_kept_or_refused_but_never_cost_text() {
    let text = include_str!("../../fixtures/answers/inner_quotes.txt");
    if let Ok(parsed) = parse_answer(text) {
        assert_eq!(parsed.output.findings[0].body_markdown, "rename \"it\" now");
    }
}

#[test]
fn a_byte_that_is_not_utf8_costs_one_character_only() {
    let text = read(include_bytes!("../../fixtures/answers/invalid_utf8.txt"));
    let mut expected = review();
    expected.findings[1].body_markdown = expected.findings[1].body_markdown.replace('ï', "\u{fffd}");
    assert_eq!(parse_answer(&text).unwrap().output, expected);
}

#[test]
fn an_answer_cut_off_anywhere_is_never_a_review() {
    let whole = include_str!("../../fixtures/answers/plain.txt").trim_end();
    let shapes = ["", "```json\n", "Here it is: "];
    for prefix in shapes {
        for (cut, _) in whole.char_indices() {
            let text = format!("{prefix}{}", &whole[..cut]);
            let problems = parse_answer(&text).expect_err(&text);
            assert_eq!(problems.truncated, cut > 0, "{prefix:?} cut at {cut}: {problems}");
        }
    }
}

#[test]
fn a_cut_off_answer_of_foreign_spelling_is_never_a_review() {
    for name in ["single_quotes", "smart_quotes", "comments", "python_words", "unquoted_keys", "trailing_commas"] {
        let (_, bytes) = REPAIRED.iter().chain(REPAIRED_SIMPLE).find(|(known, _)| known == &name).unwrap();
        let whole = read(bytes);
        let whole = whole.trim_end();
        for (cut, _) in whole.char_indices() {
            assert!(parse_answer(&whole[..cut]).is_err(), "{name} cut at {cut}");
        }
    }
}

#[test]
fn escapes_that_mean_nothing_keep_their_backslash() {
    let answer = |body: &str| format!(r#"{{"summary_markdown": "{body}", "findings": []}}"#);
    for (written, meant) in [
        (r"\d+\.\w", r"\d+\.\w"),
        (r"C:\users\x", r"C:\users\x"),
        (r"it\'s", "it's"),
        (r"\u00e9 \d", r"é \d"),
        (r"\ud83d\ude00 \d", "😀 \\d"),
        (r"\ud83d \d", "\u{fffd} \\d"),
        (r"a\\d \d", r"a\d \d"),
        ("a\u{1}b", "a\u{1}b"),
    ] {
        let parsed = parse_answer(&answer(written)).unwrap_or_else(|problems| panic!("{written}: {problems}"));
        assert_eq!(parsed.output.summary_markdown, meant);
        assert_eq!(parsed.rung, "repaired", "{written}");
    }
}

#[test]
fn a_single_quoted_answer_with_an_escape_that_means_nothing_is_asked_for_again() {
    let text = r"{'summary_markdown': 'matches \d', 'findings': []}";
    assert!(parse_answer(text).is_err());
}

#[test]
fn all_findings_are_heard_at_once_and_no_more_than_ten_errors_are_reported() {
    let finding = json!({"severity": "bad", "category": "style", "path": "a", "line_start": 1, "line_end": 1, "body_markdown": "x"});
    let three = json!({"summary_markdown": "x", "findings": vec![finding.clone(); 3]});
    let problems = parse_answer(&three.to_string()).unwrap_err();
    assert_eq!(problems.errors.len(), 3);
    assert!(problems.errors[2].starts_with("findings[2].severity"));

    let many = json!({"summary_markdown": 1, "findings": vec![finding; 40]});
    let problems = parse_answer(&many.to_string()).unwrap_err();
    assert_eq!(problems.errors.len(), 10);
    assert_eq!(problems.errors[9], "and 32 more");
    assert!(problems.excerpt.chars().count() <= 2_000);
}

#[test]
fn the_excerpt_shows_both_ends_of_a_long_answer() {
    let text = format!("start {} end", "ü".repeat(5_000));
    let problems = parse_answer(&text).unwrap_err();
    assert!(problems.excerpt.starts_with("start ") && problems.excerpt.ends_with(" end"));
    assert!(problems.excerpt.chars().count() <= 2_000);
}

#[test]
fn an_error_that_quotes_the_answer_is_clipped() {
    let text = json!({"summary_markdown": "x", "findings": "y", "severity": "z"}).to_string();
    assert!(parse_answer(&text).is_err());
    let finding = json!({"severity": "x".repeat(100_000), "category": "style", "path": "a", "line_start": 1, "line_end": 1, "body_markdown": "x"});
    let problems = parse_answer(&json!({"summary_markdown": "x", "findings": [finding]}).to_string()).unwrap_err();
    assert!(problems.errors.iter().all(|error| error.chars().count() <= 301));
}

#[test]
fn an_answer_over_the_limit_is_refused_by_its_size() {
    let problems = parse_answer(&" ".repeat(MAX_ANSWER_BYTES + 1)).unwrap_err();
    assert!(problems.errors[0].contains("the limit is 4194304"), "{problems}");
}

proptest! {
    #[test]
    fn any_text_ends_in_a_review_or_an_error(text in "\\PC{0,200}") {
        let _ = parse_answer(&text);
    }

    #[test]
    fn any_tangle_of_json_marks_ends_in_a_review_or_an_error(
        text in r#"[{}\[\]",:'“”\\/ntfu0-9 \n]{0,80}(summary_markdown|findings|<think>|</think>)?[{}\[\]",:'\\/nu0-9 \n]{0,80}"#
    ) {
        let _ = parse_answer(&text);
    }

    #[test]
    fn a_review_survives_any_text_in_its_strings(summary in ".*", body in ".*", quote in ".*", before in "[a-z .!`\n]{0,40}") {
        let review = json!({"summary_markdown": summary, "findings": [{
            "severity": "low", "category": "docs", "path": "a", "line_start": 1, "line_end": 2,
            "body_markdown": body, "quote": quote,
        }]});
        let text = format!("{before}{review}");
        let parsed = parse_answer(&text).map_err(|problems| TestCaseError::fail(problems.to_string()))?;
        prop_assert_eq!(&parsed.output.findings[0].body_markdown, &body);
        prop_assert_eq!(parsed.output.summary_markdown, summary);
    }

    #[test]
    fn a_review_with_one_character_lost_is_the_same_review_in_structure_or_an_error(at in 0usize..1200) {
        let whole = include_str!("../../fixtures/answers/plain.txt");
        let mut text = whole.to_owned();
        if let Some((at, _)) = whole.char_indices().nth(at) {
            text.remove(at);
        }
        if let Ok(parsed) = parse_answer(&text) {
            prop_assert_eq!(parsed.output.findings.len(), 2);
        }
    }
}
