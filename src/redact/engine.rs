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
use super::{TOKEN, chance};

/// Smaller diffs are read by one thread.
const THREAD_BYTES: usize = 1 << 20;
/// A hash of a shorter secret would give it away.
const HASHABLE: usize = 12;
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
        let mut spans: Vec<Span> = read.iter().flat_map(|part| part.spans.iter().copied()).collect();
        span::union(&mut spans);
        self.learn_all(spans.iter().filter_map(|span| worth_learning(span, raw)));
        let known = self.known();
        if !known.is_empty() {
            for found in in_parallel(&parts, |start, end| known_spans(&known, raw, start, end)) {
                spans.extend(found);
            }
            span::union(&mut spans);
        }
        let walked: Vec<&Walked> = read.iter().map(|part| &part.walked).collect();
        let matches = self.matches(raw, &spans, &walked);
        self.count(Output::Prompt, spans.iter().map(|span| span.name));
        DiffRedaction { bytes: RedactedBytes::new(replace(raw, &spans)), matches }
    }

    /// Removes the secrets of any other text.
    pub fn redact(&self, output: Output, text: &str) -> Redacted {
        let spans = self.spans(text.as_bytes());
        self.count(output, spans.iter().map(|span| span.name));
        if spans.is_empty() {
            return Redacted::new(text.to_owned());
        }
        let bytes = replace(text.as_bytes(), &spans);
        Redacted::new(
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }

    /// Removes only values that are known by now, for a text put together from redacted parts: rules that read one part
    /// as the continuation of another would find secrets that are none, and damage what holds the parts together.
    pub fn redact_known(&self, output: Output, text: &str) -> Redacted {
        let mut spans = Vec::new();
        self.known().find(text.as_bytes(), &mut spans);
        span::union(&mut spans);
        self.count(output, spans.iter().map(|span| span.name));
        let bytes = replace(text.as_bytes(), &spans);
        Redacted::new(
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
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
        let mut spans = Vec::new();
        if self.enabled && !allowed {
            let kind = FileKind::of(path.as_bytes());
            let region = Region { bytes, prefix: 0, kind, path: path.as_bytes() };
            self.read_region(&region, &mut Scratch::default(), &mut spans);
        }
        self.known().find(bytes, &mut spans);
        span::union(&mut spans);
        let spans: Vec<Span> = spans.iter().flat_map(|span| in_lines(bytes, span)).collect();
        let (mut removed, mut line, mut at) = (Vec::with_capacity(spans.len()), 1_u32, 0);
        for span in &spans {
            line += memchr::memchr_iter(b'\n', &bytes[at..span.start]).count() as u32;
            at = span.start;
            removed.push((line, span.name.text()));
        }
        let clean = String::from_utf8(replace(bytes, &spans));
        let clean = clean.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        FileRedaction { text: Redacted::new(clean), removed }
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
        let mut spans = Vec::new();
        if self.enabled {
            let region = Region { bytes: text, prefix: 0, kind: FileKind::Unknown, path: b"" };
            self.read_region(&region, &mut Scratch::default(), &mut spans);
        }
        self.known().find(text, &mut spans);
        span::union(&mut spans);
        spans
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.memory.read().unwrap_or_else(PoisonError::into_inner).known)
    }

    fn learn_all(&self, values: impl IntoIterator<Item = Vec<u8>>) {
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
            return;
        }
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        let before = memory.values.len();
        memory.values.extend(fresh);
        if memory.values.len() > before {
            memory.known = Arc::new(Known::new(memory.values.iter().map(Vec::as_slice)));
        }
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
            let mut allowed: Option<(usize, bool)> = None;
            for section in &walked.sections {
                self.read_section(raw, section, &walked, &mut allowed, &mut scratch, &mut spans);
            }
        }
        Part { walked, spans }
    }

    fn read_section(
        &self,
        raw: &[u8],
        section: &Section,
        walked: &Walked,
        allowed: &mut Option<(usize, bool)>,
        scratch: &mut Scratch,
        spans: &mut Vec<Span>,
    ) {
        let file = section.path.map(|index| &walked.files[index]);
        if section.lines.is_some()
            && let (Some(index), Some(file), false) = (section.path, file, self.allow_paths.is_empty())
        {
            let skip = match allowed {
                Some((known, skip)) if *known == index => *skip,
                _ => self.allow_paths.is_match(String::from_utf8_lossy(&file.path).as_ref()),
            };
            *allowed = Some((index, skip));
            if skip {
                return;
            }
        }
        let (kind, path) = file.map_or((FileKind::Unknown, &b""[..]), |file| (file.kind, file.path.as_slice()));
        let (prefix, kind) = if section.lines.is_some() { (1, kind) } else { (0, FileKind::Unknown) };
        let region = Region { bytes: &raw[section.start..section.end], prefix, kind, path };
        let from = spans.len();
        self.read_region(&region, scratch, spans);
        for span in &mut spans[from..] {
            span.start += section.start;
            span.end += section.start;
        }
    }

    /// Rules and extra patterns, less what is allowed.
    fn read_region(&self, region: &Region<'_>, scratch: &mut Scratch, spans: &mut Vec<Span>) {
        let from = spans.len();
        scan::region(region, scratch, spans);
        let mut at = from;
        while at < spans.len() {
            let value = &region.bytes[spans[at].start..spans[at].end];
            if is_marker(region.bytes, &spans[at]) || self.allow.iter().any(|pattern| pattern.is_match(value)) {
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
        let mut hasher = Sha256::new();
        for span in spans {
            let value = &raw[span.start..span.end];
            let place = places.of(span.start);
            let path = place.path.map(|path| self.path_text(path));
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
        let bytes = replace(text.as_bytes(), &self.spans(text.as_bytes()));
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

/// Whether the span holds nothing but what stands for secrets already removed.
fn is_marker(bytes: &[u8], span: &Span) -> bool {
    let start = span.start - usize::from(span.start > 0 && bytes[span.start - 1] == b'[');
    let end = span.end + usize::from(bytes.get(span.end) == Some(&b']'));
    let mut rest = &bytes[start..end];
    while let Some(at) = memchr::memmem::find(rest, TOKEN.as_bytes()) {
        if rest[..at].iter().any(u8::is_ascii_alphanumeric) {
            return false;
        }
        rest = &rest[at + TOKEN.len()..];
    }
    rest.len() < end - start && !rest.iter().any(u8::is_ascii_alphanumeric)
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

fn replace(raw: &[u8], spans: &[Span]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() + spans.len() * TOKEN.len());
    let mut at = 0;
    for span in spans {
        out.extend_from_slice(&raw[at..span.start]);
        out.extend_from_slice(TOKEN.as_bytes());
        at = span.end;
    }
    out.extend_from_slice(&raw[at..]);
    out
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
