//! Diffs as a whole: parts for threads, what is learned from one part for all, where each secret was.

use sha2::{Digest, Sha256};

use super::engine::{DiffRedaction, Engine, Match, Output, ROUNDS, Side, text_of};
use super::file_kind::FileKind;
use super::known::Known;
use super::places::Places;
use super::scan::Scratch;
use super::span::{self, Name, Region, Span};
use super::text::{Redacted, RedactedBytes};
use super::walk::{self, Section, Walked};
use super::{again, chance, filter, structure};

/// Smaller diffs are read by one thread.
const THREAD_BYTES: usize = 1 << 20;
/// A hash of a shorter secret would give it away.
const HASHABLE: usize = 12;

impl Engine {
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
    pub fn redact_scanned_diff(&self, output: Output, text: String) -> Redacted {
        let raw = text.as_bytes();
        let mut spans = Vec::new();
        self.known().find(raw, &mut spans);
        if spans.is_empty() {
            self.count(output, std::iter::empty());
            return Redacted::new(text);
        }
        span::union(&mut spans);
        let walked = walk::walk(raw, 0, raw.len());
        let spans = structure::clip(raw, &[&walked], spans, |path| self.spans(path));
        self.count(output, spans.iter().map(|span| span.name));
        text_of(again::replace(raw, &spans))
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

/// The lines of a section as the readers see them.
fn region_of<'a>(raw: &'a [u8], section: &Section, walked: &'a Walked) -> Region<'a> {
    let bytes = &raw[section.start..section.end];
    let file = section.path.filter(|_| section.lines.is_some()).map(|index| &walked.files[index]);
    let path = section.path.map_or(&b""[..], |index| &walked.files[index].path);
    let kind = file.map_or(FileKind::Unknown, |file| file.kind);
    Region { bytes, prefix: usize::from(section.lines.is_some()), kind, path, side: Side::New }
}

/// What is found once is removed everywhere, if it can be nothing else: no mask, no word, no identifier, no version, no code.
fn worth_learning(span: &Span, raw: &[u8]) -> Option<Vec<u8>> {
    const SHORTEST: usize = 8;
    const LONG: usize = 16;
    let value = &raw[span.start..span.end];
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let drawn = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let odd = value.iter().filter(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'.' | b'-' | b'/')).count();
    let mixed = drawn && (odd > 0 || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase));
    let plain = filter::is_escaped(value)
        || filter::is_mask(value)
        || filter::is_sequence(value)
        || filter::is_version(value)
        || filter::is_expression(value)
        || has(u8::is_ascii_whitespace);
    let telling = match span.name {
        // A line that only looks like a key's may be anything.
        Name::Known | Name::Rule("PRIVATE_KEY_FRAGMENT") => false,
        Name::Rule(_) | Name::Extra(_) => drawn || value.len() >= LONG,
        Name::Generic(_) => {
            drawn && chance::is_random(value) || mixed || value.len() >= LONG && chance::is_random(value)
        }
    };
    (telling && !plain && value.len() >= SHORTEST).then(|| value.to_vec())
}

fn is_key(name: Name) -> bool {
    matches!(name, Name::Rule("PRIVATE_KEY" | "PGP_PRIVATE_KEY" | "PUTTY_PRIVATE_KEY" | "PRIVATE_KEY_FRAGMENT"))
}

fn chars(value: &[u8]) -> usize {
    String::from_utf8_lossy(value).chars().count()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
