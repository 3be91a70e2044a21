//! Finds the answer in what an agent printed: the whole text, else the one object that is meant as an answer, else that
//! object with its lexical faults repaired. What is cut off is never completed, what is repaired may lose no text, what
//! the agent was shown is no answer of its own, and of two different answers neither is taken.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::form::{Form, Reply};
use super::shown::Shown;
use super::{lexical, unique};
use crate::contracts::AgentReviewOutput;

/// Longest answer that is looked at.
pub const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

const MAX_ERRORS: usize = 10;
const MAX_ERROR_CHARS: usize = 300;
const MAX_EXCERPT_CHARS: usize = 2_000;
/// More objects that speak of an answer are a riddle.
const MAX_CANDIDATES: usize = 64;
/// How many unclosed braces of prose are forgiven; it keeps the search linear.
const MAX_RESTARTS: usize = 32;
/// Marks of what a model thought aloud.
const THOUGHTS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<thought>", "</thought>")];

/// An answer, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed<T = AgentReviewOutput> {
    pub output: T,
    /// `strict`: the whole text; `extracted`: an object in it; `repaired`: one with lexical faults removed.
    pub rung: &'static str,
}

/// Why there is no answer in a text.
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

impl ParseProblems {
    /// The same with every text made clean first and shortened then.
    pub(crate) fn cleaned(self, answer: &str, clean: impl Fn(&str) -> String) -> Self {
        let errors = self.errors.iter().map(|error| clip(&clean(error), MAX_ERROR_CHARS)).collect();
        Self { errors, excerpt: excerpt(&clean(answer)), truncated: self.truncated }
    }
}

/// Reads an agent's review; see [`read`].
pub fn parse_answer(text: &str) -> Result<Parsed, ParseProblems> {
    read(text, &Form::review(), &Shown::default()).map_err(|problems| problems.cleaned(text, str::to_owned))
}

/// Reads an agent's answer, unwrapped from its program's own envelope. Fields that an answer does not have are ignored.
/// The problems are neither shortened nor free of secrets yet.
pub fn read<T: Reply>(text: &str, form: &Form<T>, shown: &Shown) -> Result<Parsed<T>, ParseProblems> {
    if text.len() > MAX_ANSWER_BYTES {
        let error = format!("the answer has {} bytes; the limit is {MAX_ANSWER_BYTES}", text.len());
        return Err(problems(vec![error]));
    }
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        return Err(problems(vec!["the answer is empty".into()]));
    }
    let whole = unique::from_str(text);
    if let Ok(value) = &whole
        && form.is_answer(value)
        && let Ok(output) = accept(value, form)
    {
        if shown.holds(text, value) {
            return Err(problems(vec![copied(form)]));
        }
        return Ok(Parsed { output, rung: "strict" });
    }
    let text = match &whole {
        Ok(Value::String(inner)) => inner,
        _ => text,
    };
    extract(text, form, shown).map_err(|refusal| match refusal {
        Refusal::Truncated(error) => ParseProblems { truncated: true, ..problems(vec![error]) },
        Refusal::Invalid(errors) => problems(errors),
    })
}

/// Why no object of a text is the answer.
enum Refusal {
    Truncated(String),
    Invalid(Vec<String>),
}

/// The answer that an object is, or what is wrong with it.
type Verdict<T> = Result<Parsed<T>, Vec<String>>;

/// An object that is meant as an answer.
struct Candidate<T> {
    place: Range<usize>,
    value: Value,
    verdict: Verdict<T>,
}

fn extract<T: Reply>(text: &str, form: &Form<T>, shown: &Shown) -> Result<Parsed<T>, Refusal> {
    // What a model thought aloud before its answer may hold drafts; they count where nothing else does.
    let said = thought_end(text);
    let mut copies = false;
    let mut seen_objects = false;
    for part in [said..text.len(), 0..said] {
        let found = objects(&text[..part.end], part.start);
        seen_objects |= !found.closed.is_empty();
        let (mut candidates, quoted) = candidates(text, &found.closed, form, shown)?;
        copies |= quoted;
        if let Some(at) = found.open.filter(|_| part.start == said || !copies) {
            let rest = text[at..part.end].chars().count();
            return Err(Refusal::Truncated(format!(
                "the JSON object that begins {rest} characters before the end is never closed: the answer was cut off, \
                 or a quote inside a string is not escaped"
            )));
        }
        let Some(last) = candidates.pop() else { continue };
        if let Some(other) = candidates.iter().rev().find(|other| other.value != last.value) {
            return Err(Refusal::Invalid(disagreement(text, other, &last, form)));
        }
        return last.verdict.map_err(Refusal::Invalid);
    }
    Err(Refusal::Invalid(vec![match (copies, seen_objects) {
        (true, _) => copied(form),
        (false, false) => "the answer contains no JSON object".into(),
        (false, true) => {
            let keys: Vec<_> = form.keys.iter().map(|key| format!("`{key}`")).collect();
            format!("no JSON object in the answer has the keys {}", keys.join(" and "))
        }
    }]))
}

/// The objects that are meant as an answer, without those that were shown to the agent; true when there were such.
fn candidates<T: Reply>(
    text: &str,
    places: &[Range<usize>],
    form: &Form<T>,
    shown: &Shown,
) -> Result<(Vec<Candidate<T>>, bool), Refusal> {
    let mut found = Vec::new();
    let mut copies = false;
    let speaking = places.iter().filter(|place| form.is_named_in(&text[(*place).clone()]));
    for (count, place) in speaking.enumerate() {
        if count >= MAX_CANDIDATES {
            let error = format!("more than {MAX_CANDIDATES} objects of the answer speak of a {}", form.name);
            return Err(Refusal::Invalid(vec![error]));
        }
        let written = &text[place.clone()];
        let Some((value, verdict)) = judge(written, form) else { continue };
        if shown.holds(written, &value) {
            copies = true;
        } else {
            found.push(Candidate { place: place.clone(), value, verdict });
        }
    }
    Ok((found, copies))
}

fn copied<T: Reply>(form: &Form<T>) -> String {
    format!("the only {} in the answer is a copy of text that stands in the data; write your own", form.name)
}

fn disagreement<T: Reply>(text: &str, left: &Candidate<T>, right: &Candidate<T>, form: &Form<T>) -> Vec<String> {
    let name = form.name;
    let is_list = text[left.place.end..right.place.start].trim() == ",";
    let error = match is_list {
        true => format!("the answer is a list of {name}s; return one object with everything in it"),
        false => format!("the answer holds two different {name}s; return exactly one JSON object"),
    };
    let faults = [left, right].into_iter().filter_map(|candidate| candidate.verdict.as_ref().err()).flatten();
    std::iter::once(error).chain(faults.cloned()).collect()
}

/// The answer an object is, or what is wrong with it; nothing when it is not meant as one.
fn judge<T: Reply>(object: &str, form: &Form<T>) -> Option<(Value, Verdict<T>)> {
    let syntax = match serde_json::from_str::<Value>(object) {
        Ok(value) => {
            return match unique::from_str(object) {
                Ok(value) => judge_value(value, form, "extracted"),
                Err(error) => Some((value, Err(vec![error.to_string()]))),
            };
        }
        Err(error) => error,
    };
    let fixed = lexical::fix(object);
    if let Ok(value) = unique::from_str(&fixed) {
        return judge_value(value, form, "repaired");
    }
    let repaired = lexical::repair(&fixed).and_then(|repaired| unique::from_str(&repaired).ok()).filter(|value| {
        let mut plain = value.clone();
        (form.forgive)(&mut plain);
        form.has_only_known_keys(&plain)
    });
    match repaired {
        Some(value) => judge_value(value, form, "repaired"),
        None => Some((Value::Null, Err(vec![format!("the answer is not valid JSON: {syntax}")]))),
    }
}

fn judge_value<T: Reply>(value: Value, form: &Form<T>, rung: &'static str) -> Option<(Value, Verdict<T>)> {
    if form.is_answer(&value) {
        let verdict = accept(&value, form).map(|output| Parsed { output, rung });
        return Some((value, verdict));
    }
    let members = value.as_object()?;
    let mut inner = members.values().filter(|member| form.is_answer(member));
    let (only, None) = (inner.next()?, inner.next()) else {
        let error = format!("the answer holds several {}s; return one object with everything in it", form.name);
        return Some((value, Err(vec![error])));
    };
    judge_value(only.clone(), form, rung)
}

/// The answer that an object is, after what can be forgiven.
fn accept<T: Reply>(value: &Value, form: &Form<T>) -> Result<T, Vec<String>> {
    let mut plain = value.clone();
    (form.forgive)(&mut plain);
    serde_path_to_error::deserialize(&plain).map_err(|error| {
        let complaints = (form.complain)(&plain);
        if complaints.is_empty() { vec![at(error.path().to_string(), error.inner())] } else { complaints }
    })
}

fn at(path: String, error: &serde_json::Error) -> String {
    if path == "." { error.to_string() } else { format!("{path}: {error}") }
}

/// Where the answer begins after a thought that the text opens with; 0 without one. A mark inside an object is part of
/// what it says.
fn thought_end(text: &str) -> usize {
    let start = text.len() - text.trim_start().len();
    let is = |at: usize, mark: &str| text.get(at..at + mark.len()).is_some_and(|head| head.eq_ignore_ascii_case(mark));
    let Some((_, close)) = THOUGHTS.iter().find(|(open, _)| is(start, open)) else { return 0 };
    let is_json = |object: &Range<usize>| serde_json::from_str::<IgnoredAny>(&text[object.clone()]).is_ok();
    let found: Vec<_> = objects(text, start).closed.into_iter().filter(is_json).collect();
    let closes = |at: &usize| is(*at, close) && !found.iter().any(|object| object.contains(at));
    memchr::memmem::find_iter(text.as_bytes(), b"</").find(closes).map_or(0, |at| at + close.len())
}

/// The objects of a text that stand outside each other, and the first one that looks like JSON and is not closed.
#[derive(Default)]
struct Objects {
    closed: Vec<Range<usize>>,
    open: Option<usize>,
}

/// Looks for objects from `start` on, in one walk over the text.
fn objects(text: &str, start: usize) -> Objects {
    let bytes = text.as_bytes();
    let mut found = Objects::default();
    let mut restarts = 0;
    let mut at = start;
    while let Some(next) = memchr::memchr(b'{', &bytes[at..]).map(|offset| at + offset) {
        at = next + 1;
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
    found
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

fn problems(errors: Vec<String>) -> ParseProblems {
    let more = errors.len().saturating_sub(MAX_ERRORS);
    let mut errors = errors;
    if more > 0 {
        errors.truncate(MAX_ERRORS - 1);
        errors.push(format!("and {} more", more + 1));
    }
    ParseProblems { errors, excerpt: String::new(), truncated: false }
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
