//! The engine: settings, what it has learned, what it has removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::{Regex, RegexBuilder};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::file_kind::FileKind;
use super::known::{self, Known};
use super::places::Places;
use super::scan::{self, Scratch};
use super::span::{self, Name, Region, Span};
use super::text::{Redacted, RedactedBytes};
use super::walk::{self, Section, Walked};
use super::{TOKEN, again, chance, structure};

/// Smaller diffs are read by one thread.
const THREAD_BYTES: usize = 1 << 20;
/// A hash of a shorter secret would give it away.
const HASHABLE: usize = 12;
/// How often what is left is read again, should every look find more.
const ROUNDS: usize = 6;
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
    enabled: bool,
    extra: Vec<Regex>,
    allow: Vec<Regex>,
    allow_paths: GlobSet,
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

    /// Removes the secrets of a unified diff: same lines, same prefixes, same headers. What it finds is known from then on.
    pub fn redact_diff(&self, raw: &[u8]) -> DiffRedaction {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        self.redact_diff_with(raw, threads)
    }

    /// Likewise, with so many threads at most.
    pub fn redact_diff_with(&self, raw: &[u8], threads: usize) -> DiffRedaction {
        let parts = walk::cuts(raw, if raw.len() < THREAD_BYTES { 1 } else { threads.max(1) });
        let read = in_parallel(&parts, |start, end| self.read_part(raw, start, end));
        let walked: Vec<&Walked> = read.iter().map(|part| &part.walked).collect();
        let mut spans: Vec<Span> = read.iter().flat_map(|part| part.spans.iter().copied()).collect();
        span::union(&mut spans);
        let mut fresh = spans.clone();
        for round in 0..ROUNDS {
            let learned = self.learn_all(fresh.iter().filter_map(|span| worth_learning(span, raw)));
            let known = self.known();
            if (learned || round == 0) && !known.is_empty() {
                spans.extend(
                    in_parallel(&parts, |start, end| known_spans(&known, raw, start, end)).into_iter().flatten(),
                );
                span::union(&mut spans);
            }
            spans = structure::clip(raw, &walked, spans, |path| self.spans(path));
            fresh = self.read_again(raw, &walked, &spans);
            if fresh.is_empty() {
                break;
            }
            spans.extend_from_slice(&fresh);
            span::union(&mut spans);
        }
        let matches = self.matches(raw, &spans, &walked);
        self.count(Output::Prompt, spans.iter().map(|span| span.name));
        DiffRedaction { bytes: RedactedBytes::new(again::replace(raw, &spans)), matches }
    }

    /// A diff that has been through [`Engine::redact_diff`], or a part of one: only what was learned since is looked for.
    pub fn redact_scanned_diff(&self, output: Output, text: &str) -> Redacted {
        let raw = text.as_bytes();
        let mut spans = Vec::new();
        self.known().find(raw, &mut spans);
        if spans.is_empty() {
            self.count(output, std::iter::empty());
            return Redacted::new(text.to_owned());
        }
        span::union(&mut spans);
        let walked = walk::walk(raw, 0, raw.len());
        let spans = structure::clip(raw, &[&walked], spans, |path| self.spans(path));
        self.count(output, spans.iter().map(|span| span.name));
        text_of(again::replace(raw, &spans))
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
    pub fn redact_known(&self, output: Output, text: &str) -> Redacted {
        let mut spans = Vec::new();
        self.known().find(text.as_bytes(), &mut spans);
        span::union(&mut spans);
        spans.retain_mut(|span| structure::keep_sign(text.as_bytes(), span));
        self.count(output, spans.iter().map(|span| span.name));
        text_of(again::replace(text.as_bytes(), &spans))
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

    fn spans(&self, text: &[u8]) -> Vec<Span> {
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
    fn read_left(&self, region: &Region<'_>, spans: &[Span], scratch: &mut Scratch) -> Vec<Span> {
        if spans.is_empty() {
            return Vec::new();
        }
        let left = again::replace(region.bytes, spans);
        let mut found = Vec::new();
        self.read_all(&Region { bytes: &left, ..*region }, scratch, &mut found);
        again::fresh(&found, spans)
    }

    /// Reads the sections from which something is gone once more.
    fn read_again(&self, raw: &[u8], walked: &[&Walked], spans: &[Span]) -> Vec<Span> {
        let mut scratch = Scratch::default();
        let mut fresh = Vec::new();
        let mut rest = spans;
        let sections = walked.iter().flat_map(|walked| walked.sections.iter().map(|section| (section, *walked)));
        for (section, walked) in sections {
            let (here, later) = rest.split_at(rest.partition_point(|span| span.start < section.end));
            rest = later;
            if here.is_empty() || self.is_allowed(section, walked) {
                continue;
            }
            let region = region_of(raw, section, walked);
            let here: Vec<Span> = here
                .iter()
                .map(|span| Span { start: span.start - section.start, end: span.end - section.start, ..*span })
                .collect();
            let found = self.read_left(&region, &here, &mut scratch);
            fresh.extend(found.into_iter().map(|span| span.shifted(section.start)));
        }
        if fresh.is_empty() {
            return fresh;
        }
        // What a second look finds in a header's own words is no news.
        structure::clip(raw, walked, fresh, |_| Vec::new())
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.memory.read().unwrap_or_else(PoisonError::into_inner).known)
    }

    /// True when one of the values is new.
    fn learn_all(&self, values: impl IntoIterator<Item = Vec<u8>>) -> bool {
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

    fn count(&self, output: Output, names: impl Iterator<Item = Name>) {
        let mut audit = self.audit.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = audit.entry(output).or_default();
        for name in names {
            *counts.entry(name.text()).or_default() += 1;
        }
    }

    fn read_part(&self, raw: &[u8], start: usize, end: usize) -> Part {
        let walked = walk::walk(raw, start, end);
        let mut spans = Vec::new();
        if self.enabled {
            let mut scratch = Scratch::default();
            for section in walked.sections.iter().filter(|section| !self.is_allowed(section, &walked)) {
                let from = spans.len();
                self.read_region(&region_of(raw, section, &walked), &mut scratch, &mut spans);
                for span in &mut spans[from..] {
                    *span = span.shifted(section.start);
                }
            }
        }
        Part { walked, spans }
    }

    /// Whether the file's content is said to hold no secrets.
    fn is_allowed(&self, section: &Section, walked: &Walked) -> bool {
        let file = section.path.filter(|_| section.lines.is_some() && !self.allow_paths.is_empty());
        file.is_some_and(|index| self.allow_paths.is_match(String::from_utf8_lossy(&walked.files[index].path).as_ref()))
    }

    /// Rules and extra patterns, less what is allowed.
    fn read_region(&self, region: &Region<'_>, scratch: &mut Scratch, spans: &mut Vec<Span>) {
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

    /// Where each removed span was. The lines of one key are one match.
    fn matches(&self, raw: &[u8], spans: &[Span], walked: &[&Walked]) -> Vec<Match> {
        let mut places = Places::new(raw, walked);
        let mut matches: Vec<Match> = Vec::with_capacity(spans.len());
        let mut block: Option<(Name, Option<String>, Option<u32>)> = None;
        let mut named: Option<(&[u8], String)> = None;
        let mut hasher = Sha256::new();
        for span in spans {
            let value = &raw[span.start..span.end];
            let place = places.of(span.start);
            if place.path.is_some_and(|path| named.as_ref().is_none_or(|(known, _)| *known != path)) {
                named = place.path.map(|path| (path, self.path_text(path)));
            }
            let path = place.path.and(named.as_ref()).map(|(_, text)| text.clone());
            let joins = is_key(span.name)
                && block.as_ref().is_some_and(|(name, at, line)| {
                    *name == span.name
                        && *at == path
                        && matches!((line, place.line), (Some(last), Some(this)) if this.abs_diff(*last) <= 2)
                });
            if joins {
                hasher.update(value);
                if let Some(last) = matches.last_mut() {
                    last.chars += chars(value);
                    last.sha256 = Some(hex(&hasher.clone().finalize()));
                }
            } else {
                hasher = Sha256::new();
                hasher.update(value);
                let count = chars(value);
                let sha256 = (count >= HASHABLE).then(|| hex(&hasher.clone().finalize()));
                matches.push(Match {
                    rule: span.name.text(),
                    path: path.clone(),
                    line: place.line,
                    side: place.side,
                    sha256,
                    chars: count,
                });
            }
            block = Some((span.name, path, place.line));
        }
        matches
    }

    /// A path may hold a secret itself.
    fn path_text(&self, path: &[u8]) -> String {
        let text = String::from_utf8_lossy(path);
        let bytes = again::replace(text.as_bytes(), &self.spans(text.as_bytes()));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

struct Part {
    walked: Walked,
    spans: Vec<Span>,
}

fn in_parallel<T: Send>(parts: &[(usize, usize)], read: impl Fn(usize, usize) -> T + Sync) -> Vec<T> {
    if let [(start, end)] = parts {
        return vec![read(*start, *end)];
    }
    std::thread::scope(|scope| {
        let handles: Vec<_> = parts
            .iter()
            .map(|&(start, end)| {
                (
                    start,
                    end,
                    scope.spawn({
                        let read = &read;
                        move || read(start, end)
                    }),
                )
            })
            .collect();
        // A reader that panicked is asked again here, so that the panic is not lost.
        handles.into_iter().map(|(start, end, handle)| handle.join().unwrap_or_else(|_| read(start, end))).collect()
    })
}

fn known_spans(known: &Known, raw: &[u8], start: usize, end: usize) -> Vec<Span> {
    let mut spans = Vec::new();
    known.find(&raw[start..end], &mut spans);
    for span in &mut spans {
        span.start += start;
        span.end += start;
    }
    spans
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

/// What is found once is removed everywhere, unless it is so plain that it would be found by chance.
fn worth_learning(span: &Span, raw: &[u8]) -> Option<Vec<u8>> {
    let value = &raw[span.start..span.end];
    let digits = value.iter().any(u8::is_ascii_digit);
    let letters = value.iter().any(u8::is_ascii_alphabetic);
    let telling = match span.name {
        Name::Known => false,
        Name::Generic(_) => digits && letters && value.len() >= 6 || value.len() >= 10 && chance::is_random(value),
        Name::Rule(_) | Name::Extra(_) => digits && letters && value.len() >= 6 || value.len() >= 16,
    };
    telling.then(|| value.to_vec())
}

fn is_key(name: Name) -> bool {
    matches!(name, Name::Rule("PRIVATE_KEY" | "PGP_PRIVATE_KEY" | "PUTTY_PRIVATE_KEY" | "PRIVATE_KEY_FRAGMENT"))
}

/// The lines of a section as the readers see them.
fn region_of<'a>(raw: &'a [u8], section: &Section, walked: &'a Walked) -> Region<'a> {
    let bytes = &raw[section.start..section.end];
    let file = section.path.filter(|_| section.lines.is_some()).map(|index| &walked.files[index]);
    let path = section.path.map_or(&b""[..], |index| &walked.files[index].path);
    let kind = file.map_or(FileKind::Unknown, |file| file.kind);
    Region { bytes, prefix: usize::from(section.lines.is_some()), kind, path, side: Side::New }
}

/// Spans end between characters, so this is UTF-8 when the text was.
fn text_of(bytes: Vec<u8>) -> Redacted {
    let lossy = |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
    Redacted::new(String::from_utf8(bytes).unwrap_or_else(lossy))
}

fn chars(value: &[u8]) -> usize {
    String::from_utf8_lossy(value).chars().count()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
