//! The engine: settings, what it has learned, what it has removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::{Regex, RegexBuilder};
use serde::Serialize;
use serde_json::Value;

use super::file_kind::FileKind;
use super::known::{self, Known};
use super::scan::{self, Scratch};
use super::span::{self, Name, Region, Span};
use super::text::{Redacted, RedactedBytes};
use super::{TOKEN, again, structure};

/// How often what is left is read again, should every look find more.
pub(super) const ROUNDS: usize = 6;
const PATTERN_SIZE: usize = 1 << 20;

/// What the user has decided about secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// False leaves only known values to be removed.
    pub enabled: bool,
    /// Patterns to remove beside the rules; group 1, if there is one, is the secret.
    pub extra_patterns: Vec<String>,
    /// Patterns of values that are no secrets.
    pub allow_patterns: Vec<String>,
    /// Globs of files whose content holds no secrets.
    pub allow_paths: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { enabled: true, extra_patterns: Vec::new(), allow_patterns: Vec::new(), allow_paths: Vec::new() }
    }
}

/// Where a text goes, for the record of what was removed where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    Prompt,
    Artifact,
    Event,
    Console,
    Report,
    GitLab,
    AgentOutput,
    Error,
    /// What the agent asked to read.
    Context,
}

/// Which file of a change a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    New,
    Old,
}

/// A secret that was in the diff: everything about it but itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub rule: String,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub side: Side,
    /// None for a secret so short that its hash would tell it.
    pub sha256: Option<String>,
    pub chars: usize,
}

/// A diff with its secrets removed, line for line.
#[derive(Debug)]
pub struct DiffRedaction {
    pub bytes: RedactedBytes,
    pub matches: Vec<Match>,
}

/// A whole file with its secrets removed, line for line.
#[derive(Debug)]
pub struct FileRedaction {
    pub text: Redacted,
    /// Line, from 1, and rule of each removal.
    pub removed: Vec<(u32, String)>,
}

/// A setting the engine cannot work with.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("secrets.extra_patterns[{index}] `{pattern}` is not a usable pattern")]
    ExtraPattern { index: usize, pattern: String, source: Box<regex::Error> },
    #[error("secrets.allow_patterns[{index}] `{pattern}` is not a usable pattern")]
    AllowPattern { index: usize, pattern: String, source: Box<regex::Error> },
    #[error("secrets.allow_paths[{index}] `{pattern}` is not a usable glob")]
    AllowPath { index: usize, pattern: String, source: globset::Error },
}

/// Removes secrets; one for the whole run, shared by all threads.
#[derive(Debug)]
pub struct Engine {
    pub(super) enabled: bool,
    extra: Vec<Regex>,
    allow: Vec<Regex>,
    pub(super) allow_paths: GlobSet,
    memory: RwLock<Memory>,
    audit: Mutex<BTreeMap<Output, BTreeMap<String, u64>>>,
}

#[derive(Debug, Default)]
struct Memory {
    values: BTreeSet<Vec<u8>>,
    known: Arc<Known>,
}

impl Engine {
    /// An engine that knows `known` as secrets from the start.
    pub fn new(settings: &Settings, known: impl IntoIterator<Item = String>) -> Result<Self, EngineError> {
        let engine = Self {
            enabled: settings.enabled,
            extra: patterns(&settings.extra_patterns, |index, pattern, source| EngineError::ExtraPattern {
                index,
                pattern,
                source,
            })?,
            allow: patterns(&settings.allow_patterns, |index, pattern, source| EngineError::AllowPattern {
                index,
                pattern,
                source,
            })?,
            allow_paths: globs(&settings.allow_paths)?,
            memory: RwLock::default(),
            audit: Mutex::default(),
        };
        engine.learn_all(known.into_iter().map(String::into_bytes));
        Ok(engine)
    }

    /// The built-in rules and these known values; nothing about it can be wrong.
    pub fn builtin(known: impl IntoIterator<Item = String>) -> Self {
        let engine = Self {
            enabled: true,
            extra: Vec::new(),
            allow: Vec::new(),
            allow_paths: GlobSet::empty(),
            memory: RwLock::default(),
            audit: Mutex::default(),
        };
        engine.learn_all(known.into_iter().map(String::into_bytes));
        engine
    }

    /// Removes the secrets of any other text.
    pub fn redact(&self, output: Output, text: &str) -> Redacted {
        let spans = self.spans(text.as_bytes());
        self.count(output, spans.iter().map(|span| span.name));
        if spans.is_empty() {
            return Redacted::new(text.to_owned());
        }
        text_of(again::replace(text.as_bytes(), &spans))
    }

    /// Removes only values that are known by now, for a text put together from redacted parts: rules that read one part
    /// as the continuation of another would find secrets that are none, and damage what holds the parts together.
    pub fn redact_known(&self, output: Output, text: String) -> Redacted {
        let mut spans = Vec::new();
        self.known().find(text.as_bytes(), &mut spans);
        span::union(&mut spans);
        spans.retain_mut(|span| structure::keep_sign(text.as_bytes(), span));
        self.count(output, spans.iter().map(|span| span.name));
        if spans.is_empty() {
            return Redacted::new(text);
        }
        text_of(again::replace(text.as_bytes(), &spans))
    }

    /// Removes the secrets of every text in a JSON value; keys and numbers stay.
    pub fn redact_json(&self, output: Output, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(output, &text).into_string()),
            Value::Array(values) => values.into_iter().map(|value| self.redact_json(output, value)).collect(),
            Value::Object(map) => {
                let fields = map.into_iter().map(|(key, value)| (key, self.redact_json(output, value)));
                Value::Object(fields.collect())
            }
            other => other,
        }
    }

    /// [`Engine::redact`] for bytes; what is not UTF-8 becomes the replacement character.
    pub fn redact_bytes(&self, output: Output, bytes: &[u8]) -> Redacted {
        self.redact(output, &String::from_utf8_lossy(bytes))
    }

    /// Removes the secrets of a whole file, read as its name says: the same lines. Nothing is learned, and nothing counted:
    /// what leaves may be a part of it ([`Engine::count_removed`]).
    pub fn redact_file(&self, path: &str, text: &str) -> FileRedaction {
        let bytes = text.as_bytes();
        let allowed = !self.allow_paths.is_empty() && self.allow_paths.is_match(path);
        let spans = if allowed {
            let mut spans = Vec::new();
            self.known().find(bytes, &mut spans);
            span::union(&mut spans);
            spans
        } else {
            let kind = FileKind::of(path.as_bytes());
            self.region_spans(&Region { bytes, prefix: 0, kind, path: path.as_bytes(), side: Side::New })
        };
        let spans: Vec<Span> = spans.iter().flat_map(|span| in_lines(bytes, span)).collect();
        let (mut removed, mut line, mut at) = (Vec::with_capacity(spans.len()), 1_u32, 0);
        for span in &spans {
            line += memchr::memchr_iter(b'\n', &bytes[at..span.start]).count() as u32;
            at = span.start;
            removed.push((line, span.name.text()));
        }
        FileRedaction { text: text_of(again::replace(bytes, &spans)), removed }
    }

    /// How many values it knows by now: it never forgets one.
    pub fn known_count(&self) -> usize {
        self.memory.read().unwrap_or_else(PoisonError::into_inner).values.len()
    }

    /// Adds removals to the record of an output.
    pub fn count_removed<'a>(&self, output: Output, rules: impl IntoIterator<Item = &'a str>) {
        let mut audit = self.audit.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = audit.entry(output).or_default();
        for rule in rules {
            *counts.entry(rule.to_owned()).or_default() += 1;
        }
    }

    /// Remembers a value that must never appear again. One of several lines is remembered line by line.
    pub fn learn(&self, value: &str) {
        self.learn_all([value.as_bytes().to_vec()]);
    }

    /// How many replacements each rule has made in each output so far. An output with none has an empty entry.
    pub fn audit(&self) -> BTreeMap<Output, BTreeMap<String, u64>> {
        self.audit.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn spans(&self, text: &[u8]) -> Vec<Span> {
        self.region_spans(&Region { bytes: text, prefix: 0, kind: FileKind::Unknown, path: b"", side: Side::New })
    }

    /// Rules and known values, until nothing more is found in what is left.
    fn region_spans(&self, region: &Region<'_>) -> Vec<Span> {
        let mut scratch = Scratch::default();
        let mut spans = Vec::new();
        self.read_all(region, &mut scratch, &mut spans);
        for _ in 0..ROUNDS {
            let fresh = self.read_left(region, &spans, &mut scratch);
            if fresh.is_empty() {
                break;
            }
            spans.extend(fresh);
            span::union(&mut spans);
        }
        spans
    }

    /// Rules and known values.
    fn read_all(&self, region: &Region<'_>, scratch: &mut Scratch, spans: &mut Vec<Span>) {
        if self.enabled {
            self.read_region(region, scratch, spans);
        }
        self.known().find(region.bytes, spans);
        span::union(spans);
    }

    /// What a second look finds where `spans` are gone.
    pub(super) fn read_left(&self, region: &Region<'_>, spans: &[Span], scratch: &mut Scratch) -> Vec<Span> {
        if spans.is_empty() {
            return Vec::new();
        }
        let left = again::replace(region.bytes, spans);
        let mut found = Vec::new();
        self.read_all(&Region { bytes: &left, ..*region }, scratch, &mut found);
        again::fresh(&found, spans)
    }

    pub(super) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.memory.read().unwrap_or_else(PoisonError::into_inner).known)
    }

    /// True when one of the values is new.
    pub(super) fn learn_all(&self, values: impl IntoIterator<Item = Vec<u8>>) -> bool {
        let mut fresh: Vec<Vec<u8>> = Vec::new();
        for value in values {
            fresh.extend(
                value
                    .split(|&b| b == b'\n')
                    .map(<[u8]>::trim_ascii)
                    .filter(|line| known::is_learnable(line))
                    .map(<[u8]>::to_vec),
            );
        }
        if fresh.is_empty() {
            return false;
        }
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        let before = memory.values.len();
        memory.values.extend(fresh);
        if memory.values.len() > before {
            memory.known = Arc::new(Known::new(memory.values.iter().map(Vec::as_slice)));
        }
        memory.values.len() > before
    }

    pub(super) fn count(&self, output: Output, names: impl Iterator<Item = Name>) {
        let mut audit = self.audit.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = audit.entry(output).or_default();
        for name in names {
            *counts.entry(name.text()).or_default() += 1;
        }
    }

    /// Rules and extra patterns, less what is allowed.
    pub(super) fn read_region(&self, region: &Region<'_>, scratch: &mut Scratch, spans: &mut Vec<Span>) {
        let from = spans.len();
        scan::region(region, scratch, spans);
        let mut at = from;
        while at < spans.len() {
            let value = &region.bytes[spans[at].start..spans[at].end];
            if is_spent(region.bytes, &spans[at]) || self.allow.iter().any(|pattern| pattern.is_match(value)) {
                spans.swap_remove(at);
            } else {
                at += 1;
            }
        }
        if !self.extra.is_empty() {
            self.read_extra(region, spans);
        }
    }

    fn read_extra(&self, region: &Region<'_>, spans: &mut Vec<Span>) {
        let mut start = 0;
        while start < region.bytes.len() {
            let stop =
                memchr::memchr(b'\n', &region.bytes[start..]).map_or(region.bytes.len(), |newline| start + newline);
            let line = region.line(start, stop);
            for (index, pattern) in self.extra.iter().enumerate() {
                for captures in pattern.captures_iter(region.text(line)) {
                    if let Some(found) = captures.get(1).or_else(|| captures.get(0))
                        && !found.is_empty()
                    {
                        spans.push(Span {
                            start: line.start + found.start(),
                            end: line.start + found.end(),
                            name: Name::Extra(index as u16),
                        });
                    }
                }
            }
            start = stop + 1;
        }
    }
}

/// A span without the line breaks in it, so that what is left has as many lines as before.
fn in_lines<'a>(bytes: &'a [u8], span: &Span) -> impl Iterator<Item = Span> + 'a {
    let name = span.name;
    let mut start = span.start;
    bytes[span.start..span.end].split(|&byte| byte == b'\n').filter_map(move |part| {
        let here = start;
        start += part.len() + 1;
        let length = part.len() - usize::from(part.ends_with(b"\r"));
        (length > 0).then_some(Span { start: here, end: here + length, name })
    })
}

/// Whether the span holds hardly anything but what stands for secrets already removed.
fn is_spent(bytes: &[u8], span: &Span) -> bool {
    let start = span.start - usize::from(span.start > 0 && bytes[span.start - 1] == b'[');
    let end = span.end + usize::from(bytes.get(span.end) == Some(&b']'));
    let mut rest = &bytes[start..end];
    let (mut tokens, mut letters, mut digits) = (0, 0, 0);
    loop {
        let next = memchr::memmem::find(rest, TOKEN.as_bytes());
        let piece = &rest[..next.unwrap_or(rest.len())];
        letters += piece.iter().filter(|b| b.is_ascii_alphabetic() || !b.is_ascii()).count();
        digits += piece.iter().filter(|b| b.is_ascii_digit()).count();
        let Some(at) = next else { break };
        tokens += 1;
        rest = &rest[at + TOKEN.len()..];
    }
    tokens > 0 && (letters + digits < 3 || digits == 0 && letters < 8)
}

/// Spans end between characters, so this is UTF-8 when the text was.
pub(super) fn text_of(bytes: Vec<u8>) -> Redacted {
    let lossy = |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
    Redacted::new(String::from_utf8(bytes).unwrap_or_else(lossy))
}

fn patterns(
    texts: &[String],
    error: impl Fn(usize, String, Box<regex::Error>) -> EngineError,
) -> Result<Vec<Regex>, EngineError> {
    texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            RegexBuilder::new(text)
                .size_limit(PATTERN_SIZE)
                .dfa_size_limit(PATTERN_SIZE)
                .build()
                .map_err(|source| error(index, clipped(text), Box::new(source)))
        })
        .collect()
}

fn globs(texts: &[String]) -> Result<GlobSet, EngineError> {
    let mut set = GlobSetBuilder::new();
    for (index, text) in texts.iter().enumerate() {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        set.add(glob.map_err(|source| EngineError::AllowPath { index, pattern: clipped(text), source })?);
    }
    set.build().map_err(|source| EngineError::AllowPath { index: 0, pattern: String::new(), source })
}

fn clipped(text: &str) -> String {
    const LIMIT: usize = 80;
    if text.chars().count() <= LIMIT {
        return text.to_owned();
    }
    text.chars().take(LIMIT).chain(['…']).collect()
}
