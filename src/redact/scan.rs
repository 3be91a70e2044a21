//! Finds the secrets of a region: picks the lines worth reading, then reads them.

use super::assign::{Facts, Form};
use super::chance::entropy;
use super::engine::Side;
use super::file_kind::FileKind;
use super::rule::{Charset, Shape};
use super::span::{Line, Name, Region, Span};
use super::token::{ENOUGH, Tokens, is_boundary, is_telling};
use super::vocab::{Action, Hit, Loaded, Squeezed, Vocabulary};
use super::{encoded, file_kind, filter, keys, manifest, material, names, prefilter, url, values, vocab};

/// Patterns run on the whole of a line up to this length, and around their keywords on a longer one.
pub(super) const WHOLE_LINE: usize = 4096;

/// Buffers that one thread uses again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    lower: Vec<u8>,
    squeezed: Squeezed,
    hits: Vec<Hit>,
    vendors: Vec<Hit>,
    ran: Vec<u16>,
    tokens: Tokens,
}

/// Adds the span of every secret in the region.
pub(super) fn region(region: &Region<'_>, scratch: &mut Scratch, out: &mut Vec<Span>) {
    if FileKind::is_secret_file(region.path) || FileKind::is_user_file(region.path) {
        whole_lines(region, out);
    }
    let file = FileKind::traits(region.path);
    Scanner { region, vocabulary: Vocabulary::shared(), scratch, out, depth: 0, file, done: Done::default() }.read();
}

/// In a file that holds nothing but secrets, a line is one, or what follows the user's name is.
fn whole_lines(region: &Region<'_>, out: &mut Vec<Span>) {
    let users = FileKind::is_user_file(region.path);
    if region.prefix == 0 {
        return;
    }
    for line in region.lines() {
        let text = region.text(line);
        if users && let Some(colon) = memchr::memchr(b':', text) {
            let value = text[colon + 1..].split(|&b| b == b':').next().unwrap_or_default();
            if values::keeps(names::Promise::Password, Form::Bare, b"", value) {
                let start = line.start + colon + 1;
                out.push(Span { start, end: start + value.len(), name: Name::Generic(names::PASSWORD) });
            }
        } else if text.len() >= 8
            && !text.iter().any(|b| matches!(b, b' ' | b'=' | b':' | b'\t'))
            && values::keeps(names::Promise::Password, Form::Bare, b"", text)
        {
            out.push(Span { start: line.start, end: line.end, name: Name::Generic(names::SECRET) });
        }
    }
}

/// Secrets of a decoded text, one level below the text itself: is there any?
fn holds_secret(text: &[u8], scratch: &mut Scratch) -> Option<Name> {
    let region = Region { bytes: text, prefix: 0, kind: FileKind::Config, path: b"", side: Side::New };
    let mut out = Vec::new();
    Scanner {
        region: &region,
        vocabulary: Vocabulary::shared(),
        scratch,
        out: &mut out,
        depth: 1,
        file: file_kind::Traits::default(),
        done: Done::default(),
    }
    .read();
    out.iter().map(|span| span.name).min()
}

/// Up to where multi-line readers have been, in each of the two files.
#[derive(Default)]
pub(super) struct Done {
    key: [usize; 2],
    fragment: [usize; 2],
    manifest: [usize; 2],
    pub(super) command: [usize; 2],
    /// Whether the line at hand was read as one of a manifest.
    one_line: bool,
}

pub(super) struct Scanner<'s, 'r, 'a> {
    pub(super) region: &'r Region<'a>,
    pub(super) vocabulary: &'static Vocabulary,
    pub(super) scratch: &'s mut Scratch,
    pub(super) out: &'s mut Vec<Span>,
    /// 1 inside decoded text.
    pub(super) depth: u8,
    pub(super) file: file_kind::Traits,
    pub(super) done: Done,
}

/// A line with what was found on it at first sight.
pub(super) struct Reading<'l> {
    pub(super) line: Line,
    pub(super) text: &'l [u8],
    pub(super) lower: &'l [u8],
    pub(super) hits: &'l [Hit],
    /// Vendors, by place.
    pub(super) vendors: &'l [Hit],
    pub(super) facts: Facts,
}

impl Scanner<'_, '_, '_> {
    /// Reads the candidate lines.
    pub(super) fn read(&mut self) {
        let bytes = self.region.bytes;
        let mut candidates = prefilter::Candidates::new(bytes);
        let mut at = 0;
        while at < bytes.len() {
            let Some(found) = candidates.next_from(at) else {
                break;
            };
            let start = memchr::memrchr(b'\n', &bytes[at..found]).map_or_else(
                || memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1),
                |newline| at + newline + 1,
            );
            let stop = memchr::memchr(b'\n', &bytes[found..]).map_or(bytes.len(), |newline| found + newline);
            if self.region.kind == FileKind::Code && !may_hold_literal(&bytes[start..stop]) {
                at = stop + 1;
                continue;
            }
            let line = self.region.line(start, stop);
            if !self.region.views(line).all(|view| self.done.key[view.side as usize] >= line.end.max(1)) {
                self.line(line);
            }
            at = stop + 1;
        }
    }

    fn line(&mut self, line: Line) {
        let mut scratch = std::mem::take(self.scratch);
        scratch.hits.clear();
        scratch.vendors.clear();
        scratch.ran.clear();
        scratch.tokens.clear();
        self.done.one_line = false;
        let text = self.region.text(line);
        vocab::pad(text, &mut scratch.lower);
        self.vocabulary.find(&scratch.lower, &mut scratch.hits);
        let runs = prefilter::runs(text);
        if runs.has_token || goes_on(text) {
            self.vocabulary.find_vendors(&scratch.lower, &mut scratch.squeezed, &mut scratch.vendors);
        }
        let reading = Reading {
            line,
            text,
            lower: &scratch.lower[..text.len()],
            hits: &scratch.hits,
            vendors: &scratch.vendors,
            facts: Facts::of(text),
        };
        self.hits(&reading, &mut scratch.ran, &mut scratch.tokens);
        self.names(&reading);
        if (32..=160).contains(&text.len()) && material::solid(text).is_some() {
            for view in self.region.views(line) {
                let done = &mut self.done.fragment[view.side as usize];
                if line.start >= *done {
                    *done = keys::fragment(&view, line, self.out);
                }
            }
        }
        *self.scratch = scratch;
        if self.depth == 0 {
            self.encoded(line, text, runs.longest);
            self.hidden(line, text);
            self.continued(line, text);
        }
    }

    fn hits(&mut self, reading: &Reading<'_>, ran: &mut Vec<u16>, tokens: &mut Tokens) {
        let line = reading.line;
        let mut dashed = false;
        for (index, hit) in reading.hits.iter().enumerate() {
            match hit.action {
                Action::Prefixed(rule) => self.prefixed(line, hit.at, rule, tokens),
                Action::Assign | Action::Assigned(_) => {}
                Action::Pattern(rule) => self.pattern(line, reading.text, &reading.hits[index..], rule, ran),
                Action::Url => {
                    let from = self.out.len();
                    url::credentials(reading.text, hit.at, self.out);
                    self.shift(from, line.start);
                }
                Action::Dashes => {
                    // One look finds every marker of the line.
                    if !dashed {
                        dashed = true;
                        self.dashes(line, reading.lower);
                    }
                }
                Action::Manifest => self.manifest(line, reading.text),
            }
        }
    }

    fn manifest(&mut self, line: Line, text: &[u8]) {
        // One look tells about the whole line.
        if std::mem::replace(&mut self.done.one_line, true) {
            return;
        }
        let is_kind = manifest::is_secret_kind(text);
        for view in self.region.views(line) {
            let done = &mut self.done.manifest[view.side as usize];
            if line.start >= *done && (is_kind || manifest::opens_secret(&view, line)) {
                *done = manifest::secret_document(&view, line, self.out);
            }
        }
        if !is_kind {
            manifest::secret_line(line, text, self.out);
        }
    }

    fn shift(&mut self, from: usize, by: usize) {
        for span in &mut self.out[from..] {
            span.start += by;
            span.end += by;
        }
    }

    fn dashes(&mut self, line: Line, lower: &[u8]) {
        let telling = [&b"private"[..], b"key"].iter().any(|word| memchr::memmem::find(lower, word).is_some());
        for view in self.region.views(line).filter(|_| telling) {
            let done = &mut self.done.key[view.side as usize];
            *done = keys::marked(&view, line, *done, self.out);
        }
    }

    fn prefixed(&mut self, line: Line, at: usize, rule: u16, tokens: &mut Tokens) {
        let loaded = &self.vocabulary.rules[usize::from(rule)];
        let Shape::Prefixed { prefixes, body, len } = &loaded.rule.shape else {
            return;
        };
        let text = self.region.text(line);
        if at < tokens.taken || !is_boundary(text, at) {
            return;
        }
        let Some(prefix) = prefixes
            .iter()
            .filter(|prefix| text[at..].starts_with(prefix.as_bytes()))
            .max_by_key(|prefix| prefix.len())
        else {
            return;
        };
        let start = at + prefix.len();
        let mut end = tokens.run_end(text, start, *body);
        if *body == Charset::Dotted {
            while end > start && text[end - 1] == b'.' {
                end -= 1;
            }
        }
        if *body == Charset::Uuid {
            end = end.min(start + 36);
        }
        let value = &text[start..end];
        let fits = body.covers(value, *len) || is_telling(prefix.as_bytes(), value, *len);
        if fits && self.accepts(loaded, &text[at..end], value) {
            self.out.push(Span { start: line.start + at, end: line.start + end, name: Name::Rule(loaded.rule.name) });
            tokens.taken = end;
        }
    }

    /// Entropy, allow list and masks of a rule that knows the secret's shape.
    pub(super) fn accepts(&self, loaded: &Loaded, whole: &[u8], value: &[u8]) -> bool {
        let head = &value[..value.len().min(ENOUGH)];
        entropy(head) >= loaded.rule.entropy
            && !filter::is_mask(head)
            && !loaded.allows(&whole[..whole.len().min(ENOUGH)])
    }

    fn encoded(&mut self, line: Line, text: &[u8], longest: usize) {
        // `+` and `/` cut the runs of base64 that are measured here.
        const SHORTEST: usize = 10;
        if longest < SHORTEST && memchr::memchr(b'%', text).is_none() {
            return;
        }
        let mut scratch = Scratch::default();
        let out = &mut *self.out;
        encoded::runs(text, |run| {
            if let Some(name) = holds_secret(&run.text, &mut scratch) {
                out.push(Span { start: line.start + run.start, end: line.start + run.end, name });
            }
        });
    }
}

/// In source code a literal has quotes or digits or is long; what is not, nor goes on below, needs no reading. Markers of keys do.
fn may_hold_literal(rest: &[u8]) -> bool {
    const LONG: usize = 16;
    let mut run = 0;
    for &byte in rest {
        if byte.is_ascii_digit() || matches!(byte, b'"' | b'\'' | b'`' | b'@') {
            return true;
        }
        run = if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') { run + 1 } else { 0 };
        if run >= LONG {
            return true;
        }
    }
    memchr::memmem::find(rest, b"-----").is_some() || goes_on(rest)
}

/// Whether a name on the line may have its value below.
fn goes_on(text: &[u8]) -> bool {
    matches!(text.trim_ascii_end().last(), Some(b'=' | b':' | b'(' | b'{' | b'>' | b'|' | b'-' | b'\\' | b'_'))
}
