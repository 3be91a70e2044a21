//! Finds the review in what an agent printed: the whole text, else the last object that is one, else that object with
//! its lexical faults repaired. What is cut off is never completed, and what is repaired may lose no text.

use serde_json::Value;

use super::lexical;
use crate::contracts::{AgentFinding, AgentReviewOutput};

/// Longest answer that is looked at.
pub const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

const MAX_ERRORS: usize = 10;
const MAX_ERROR_CHARS: usize = 300;
const MAX_EXCERPT_CHARS: usize = 2_000;
/// Only the last objects of a text can be its answer.
const MAX_CANDIDATES: usize = 16;
/// How many unclosed braces of prose are forgiven; it keeps the search linear.
const MAX_RESTARTS: usize = 32;

/// A review, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub output: AgentReviewOutput,
    /// `strict`: the whole text; `extracted`: an object in it; `repaired`: one with lexical faults removed.
    pub rung: &'static str,
}

/// Why there is no review in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseProblems {
    /// At most 10, with JSON paths where the text is JSON.
    pub errors: Vec<String>,
    /// At most 2,000 characters of the answer.
    pub excerpt: String,
    /// The text ends inside a JSON object.
    pub truncated: bool,
}

impl std::fmt::Display for ParseProblems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.errors.join("; "))
    }
}

/// Reads an agent's answer, unwrapped from its program's own envelope. Fields that an answer does not have, `meta`
/// among them, are ignored.
pub fn parse_answer(text: &str) -> Result<Parsed, ParseProblems> {
    if text.len() > MAX_ANSWER_BYTES {
        let error = format!("the answer has {} bytes; the limit is {MAX_ANSWER_BYTES}", text.len());
        return Err(problems(text, vec![error]));
    }
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        return Err(problems(text, vec!["the answer is empty".into()]));
    }
    if let Ok(output) = strict(text) {
        return Ok(Parsed { output, rung: "strict" });
    }
    if let Ok(inner) = serde_json::from_str::<String>(text) {
        return extract(&inner).map_err(|errors| reasons(text, errors));
    }
    extract(text).map_err(|errors| reasons(text, errors))
}

/// Why no object of a text is the review.
enum Refusal {
    Truncated(String),
    Invalid(Vec<String>),
}

fn extract(text: &str) -> Result<Parsed, Refusal> {
    let found = objects(text);
    if let Some(at) = found.open {
        let rest = text.get(at..).unwrap_or_default().chars().count();
        return Err(Refusal::Truncated(format!(
            "the JSON object that begins {rest} characters before the end is never closed: the answer was cut off, or a \
             quote inside a string is not escaped"
        )));
    }
    for (index, candidate) in found.closed.iter().enumerate().rev().take(MAX_CANDIDATES) {
        let object = text.get(candidate.clone()).unwrap_or_default();
        let Some(verdict) = judge(object) else { continue };
        let before = index.checked_sub(1).and_then(|before| found.closed.get(before));
        if before.is_some_and(|before| are_siblings(text, before, candidate)) {
            return Err(Refusal::Invalid(vec![
                "the answer is a list of reviews; return one object with all findings".into(),
            ]));
        }
        return verdict.map_err(Refusal::Invalid);
    }
    let error = match found.closed.is_empty() {
        true => "the answer contains no JSON object",
        false => "no JSON object in the answer has the keys `summary_markdown` and `findings`",
    };
    Err(Refusal::Invalid(vec![error.into()]))
}

/// The review an object is, or what is wrong with it; nothing when it is not meant as a review.
fn judge(object: &str) -> Option<Result<Parsed, Vec<String>>> {
    let syntax = match serde_json::from_str::<Value>(object) {
        Ok(value) => return judge_value(object, &value, "extracted"),
        Err(error) => error,
    };
    if !speaks_of_a_review(object) {
        return None;
    }
    let fixed = lexical::fix(object);
    if let Ok(value) = serde_json::from_str::<Value>(&fixed) {
        return judge_value(&fixed, &value, "repaired");
    }
    let Some(repaired) = lexical::repair(&fixed) else {
        return Some(Err(vec![format!("the answer is not valid JSON: {syntax}")]));
    };
    match serde_json::from_str::<Value>(&repaired) {
        Ok(value) if has_only_known_keys(&value) => judge_value(&repaired, &value, "repaired"),
        _ => Some(Err(vec![format!("the answer is not valid JSON: {syntax}")])),
    }
}

fn judge_value(text: &str, value: &Value, rung: &'static str) -> Option<Result<Parsed, Vec<String>>> {
    let members = value.as_object()?;
    if is_review(value) {
        return Some(match strict(text) {
            Ok(output) => Ok(Parsed { output, rung }),
            Err(error) => Err(complaints(value, error)),
        });
    }
    let mut inner = members.values().filter(|member| is_review(member));
    let (only, None) = (inner.next()?, inner.next()) else {
        return Some(Err(vec!["the answer holds several reviews; return one object with all findings".into()]));
    };
    judge_value(&only.to_string(), only, rung)
}

fn is_review(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|members| members.contains_key("summary_markdown") || members.contains_key("findings"))
}

fn speaks_of_a_review(text: &str) -> bool {
    text.contains("summary_markdown") || text.contains("findings")
}

fn are_siblings(text: &str, left: &std::ops::Range<usize>, right: &std::ops::Range<usize>) -> bool {
    let between = text.get(left.end..right.start).unwrap_or_default();
    between.trim() == "," && text.get(left.clone()).is_some_and(speaks_of_a_review)
}

/// A repair that turned text into keys has torn a string apart.
fn has_only_known_keys(value: &Value) -> bool {
    const TOP: [&str; 3] = ["summary_markdown", "findings", "meta"];
    const FINDING: [&str; 10] = [
        "finding_id",
        "severity",
        "category",
        "path",
        "line_start",
        "line_end",
        "body_markdown",
        "quote",
        "change_anchor",
        "suggested_patch",
    ];
    let known = |value: &Value, keys: &[&str]| {
        value.as_object().is_some_and(|members| members.keys().all(|key| keys.contains(&key.as_str())))
    };
    let findings = value.get("findings").and_then(Value::as_array);
    known(value, &TOP) && findings.is_some_and(|list| list.iter().all(|finding| known(finding, &FINDING)))
}

fn strict(text: &str) -> Result<AgentReviewOutput, String> {
    let mut json = serde_json::Deserializer::from_str(text);
    let output =
        serde_path_to_error::deserialize(&mut json).map_err(|error| at(error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| error.to_string())?;
    Ok(output)
}

/// Everything that keeps a JSON object from being a review, worst first; `strict` is what the type itself said.
fn complaints(value: &Value, strict: String) -> Vec<String> {
    let mut errors = Vec::new();
    match value.get("summary_markdown") {
        Some(Value::String(_)) => {}
        Some(other) => errors.push(format!("summary_markdown: expected a string, found {}", kind(other))),
        None => errors.push("missing field `summary_markdown`".into()),
    }
    match value.get("findings") {
        Some(Value::Array(findings)) => {
            errors.extend(findings.iter().enumerate().filter_map(|(index, finding)| finding_complaint(index, finding)));
        }
        Some(other) => errors.push(format!("findings: expected an array, found {}", kind(other))),
        None => errors.push("missing field `findings`".into()),
    }
    if errors.is_empty() {
        errors.push(strict);
    }
    errors
}

fn finding_complaint(index: usize, finding: &Value) -> Option<String> {
    const REQUIRED: [&str; 6] = ["severity", "category", "path", "line_start", "line_end", "body_markdown"];
    let error = serde_path_to_error::deserialize::<_, AgentFinding>(finding).err()?;
    if let Some(members) = finding.as_object() {
        let missing: Vec<_> =
            REQUIRED.iter().filter(|key| !members.contains_key(**key)).map(|key| format!("`{key}`")).collect();
        if !missing.is_empty() {
            return Some(format!("findings[{index}]: missing {}", missing.join(", ")));
        }
    }
    let path = error.path().to_string();
    let prefix = if path == "." { format!("findings[{index}]") } else { format!("findings[{index}].{path}") };
    Some(format!("{prefix}: {}", error.inner()))
}

fn at(path: String, error: &serde_json::Error) -> String {
    if path == "." { error.to_string() } else { format!("{path}: {error}") }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The objects of a text that stand outside each other, and the first one that looks like JSON and is not closed.
#[derive(Default)]
struct Objects {
    closed: Vec<std::ops::Range<usize>>,
    open: Option<usize>,
}

/// Looks for objects in one walk over the text. What a model thought aloud is passed over: a draft is not the answer.
fn objects(text: &str) -> Objects {
    let bytes = text.as_bytes();
    let mut found = Objects::default();
    let mut open_in_a_thought = None;
    let mut restarts = 0;
    let mut at = 0;
    while let Some(next) = memchr::memchr2(b'{', b'<', &bytes[at..]).map(|offset| at + offset) {
        at = next + 1;
        if bytes[next] == b'<' {
            match thought(&bytes[next..]) {
                Some(Thought::Closing(length)) => {
                    let thought = std::mem::take(&mut found);
                    open_in_a_thought = open_in_a_thought.or(thought.open);
                    at = next + length;
                }
                Some(Thought::Whole(length)) => at = next + length,
                None => {}
            }
            continue;
        }
        if let Some(end) = balanced(bytes, next) {
            found.closed.push(next..end);
            at = end;
        } else {
            if found.open.is_none() && looks_like_json(&bytes[next + 1..]) {
                found.open = Some(next);
            }
            restarts += 1;
            if restarts > MAX_RESTARTS {
                found.open = found.open.or(Some(next));
                return found;
            }
        }
    }
    if found.closed.is_empty() {
        found.open = found.open.or(open_in_a_thought);
    }
    found
}

enum Thought {
    /// `<think>` to the end of its `</think>`, or of the text.
    Whole(usize),
    /// A `</think>` whose beginning was not printed.
    Closing(usize),
}

fn thought(text: &[u8]) -> Option<Thought> {
    const TAGS: [&str; 3] = ["think>", "thinking>", "thought>"];
    let is =
        |text: &[u8], tag: &str| text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag.as_bytes()));
    for tag in TAGS {
        if text.get(1) == Some(&b'/') && is(&text[2..], tag) {
            return Some(Thought::Closing(2 + tag.len()));
        }
        if is(&text[1..], tag) {
            let closing = memchr::memmem::find_iter(text, b"</").find(|&at| is(&text[at + 2..], tag));
            return Some(Thought::Whole(closing.map_or(text.len(), |at| at + 2 + tag.len())));
        }
    }
    None
}

/// The end of the object that begins at `start`; nothing when its brackets do not match.
fn balanced(bytes: &[u8], start: usize) -> Option<usize> {
    let mut open = Vec::new();
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at)?,
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the closing quote of the string at `start` stands.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Whether what follows a brace is the beginning of an object rather than prose or code.
fn looks_like_json(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    let word = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    match rest.first() {
        None | Some(b'"' | b'\'' | b'/' | b'`') => true,
        Some(0xe2) => rest.starts_with("“".as_bytes()) || rest.starts_with("‘".as_bytes()),
        Some(_) => word > 0 && (word == rest.len() || rest[word..].trim_ascii_start().first() == Some(&b':')),
    }
}

fn reasons(text: &str, refusal: Refusal) -> ParseProblems {
    match refusal {
        Refusal::Truncated(error) => ParseProblems { truncated: true, ..problems(text, vec![error]) },
        Refusal::Invalid(errors) => problems(text, errors),
    }
}

fn problems(text: &str, errors: Vec<String>) -> ParseProblems {
    let more = errors.len().saturating_sub(MAX_ERRORS);
    let mut errors: Vec<_> = errors.into_iter().take(MAX_ERRORS).map(|error| clip(&error, MAX_ERROR_CHARS)).collect();
    if more > 0 {
        errors.truncate(MAX_ERRORS - 1);
        errors.push(format!("and {} more", more + 1));
    }
    ParseProblems { errors, excerpt: excerpt(text), truncated: false }
}

/// The beginning and the end of a text: a fault of form shows at one of them.
fn excerpt(text: &str) -> String {
    const HEAD: usize = 1_200;
    const TAIL: usize = 700;
    let chars = text.chars().count();
    if chars <= MAX_EXCERPT_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(chars - TAIL).collect();
    format!("{head}\n[... {} characters left out ...]\n{tail}", chars - HEAD - TAIL)
}

fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
