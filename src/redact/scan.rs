//! Finds the secrets of a region: picks the lines worth reading, then reads them.

use std::ops::Range;

use super::assign::{self, Assignment, Facts, Form};
use super::chance::entropy;
use super::engine::Side;
use super::file_kind::FileKind;
use super::rule::{Charset, Shape};
use super::span::{Line, Name, Region, Span};
use super::token::{ENOUGH, Tokens, is_boundary, is_telling};
use super::vocab::{Action, Hit, Loaded, Squeezed, Vocabulary};
use super::{contexts, encoded, file_kind, filter, keys, manifest, names, prefilter, steps, url, vocab};

/// Patterns run on the whole of a line up to this length, and around their keywords on a longer one.
pub(super) const WHOLE_LINE: usize = 4096;
const WINDOW_BEFORE: usize = 512;
const WINDOW_AFTER: usize = 4096;
/// How many lines away a keyword may stand from its pattern.
const REACH: usize = 2;
/// How far before the operator the vendor's name may stand.
const VENDOR_REACH: usize = 48;

/// So many names are read on any line; on a long one, a name for so many bytes on average.
const NAME_BUDGET: usize = 4096;
const NAMES_PER_BYTES: usize = 12;

/// A bare word that long is no setting.
const ENDLESS: usize = 768;
/// The longest token that a badge's URL carries.
const SHORT_QUERY: usize = 12;

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
            if names::keeps(names::Promise::Password, Form::Bare, b"", value) {
                let start = line.start + colon + 1;
                out.push(Span { start, end: start + value.len(), name: Name::Generic(names::PASSWORD) });
            }
        } else if text.len() >= 8
            && !text.iter().any(|b| matches!(b, b' ' | b'=' | b':' | b'\t'))
            && names::keeps(names::Promise::Password, Form::Bare, b"", text)
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
struct Reading<'l> {
    line: Line,
    text: &'l [u8],
    lower: &'l [u8],
    hits: &'l [Hit],
    /// Vendors, by place.
    vendors: &'l [Hit],
    facts: Facts,
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
        if (32..=160).contains(&text.len()) && keys::solid(text).is_some() {
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

    /// Reads the assignment of every name that says something.
    fn names(&mut self, reading: &Reading<'_>) {
        let triggers = reading.hits.iter().filter(|hit| hit.action == Action::Assign);
        let mut places: Vec<usize> = triggers.chain(reading.vendors).map(|hit| hit.at).collect();
        if places.is_empty() {
            return;
        }
        places.sort_unstable();
        let mut named_until = 0;
        let mut budget = NAME_BUDGET.max(reading.text.len() / NAMES_PER_BYTES);
        for at in places {
            if at < named_until {
                continue;
            }
            if budget == 0 {
                // A line made to exhaust the reader is not let through.
                self.out.push(Span {
                    start: reading.line.start + at,
                    end: reading.line.end,
                    name: Name::Generic("UNREADABLE_LINE"),
                });
                break;
            }
            budget -= 1;
            named_until = self.assigned(reading, at);
        }
        if reading.text.len() < 256 {
            let mut found = Vec::new();
            let whole = 0..reading.text.len();
            for view in self.region.views(reading.line) {
                let vendor = |value: &[u8]| self.vendor(reading, &whole, value, Form::Quoted);
                manifest::paired_value(&view, reading.line, vendor, &mut found);
            }
            self.out.append(&mut found);
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
    fn accepts(&self, loaded: &Loaded, whole: &[u8], value: &[u8]) -> bool {
        let head = &value[..value.len().min(ENOUGH)];
        entropy(head) >= loaded.rule.entropy
            && !filter::is_mask(head)
            && !loaded.allows(&whole[..whole.len().min(ENOUGH)])
    }

    /// Reads the assignment around `at`; gives the end of its name, so that no name is read twice.
    fn assigned(&mut self, reading: &Reading<'_>, at: usize) -> usize {
        let text = reading.text;
        let name = assign::name_around(text, at);
        // The user of a URL is not assigned its password: the URL's own reader knows where that ends.
        if text[..name.start].ends_with(b"://") {
            return name.end;
        }
        let assignment = assign::read(text, at, self.region.kind, reading.facts);
        if let Some(assignment) = &assignment
            && let Some(rule) = self.judge_whole(reading, &name, assignment)
        {
            let mut end = name.end;
            for value in std::iter::once(&assignment.value).chain(&assignment.more).filter(|value| !value.is_empty()) {
                let start = reading.line.start + value.start;
                self.out.push(Span { start, end: reading.line.start + value.end, name: rule });
                end = end.max(value.end);
            }
            return end;
        }
        // Names inside an endless bare word have the same end: to read them all would take for ever.
        if let Some(Assignment { value, form: Form::Bare | Form::Doubtful, .. }) = &assignment
            && value.len() >= ENDLESS
        {
            return value.end;
        }
        let rest = &text[name.end..reading.facts.last.max(name.end)];
        let in_call = reading.facts.flow < name.start;
        if manifest::goes_on_below(rest, in_call) {
            self.list_below(reading, &name, rest);
            for view in self.region.views(reading.line) {
                if let Some((start, end, form)) = manifest::value_below(&view, reading.line)
                    && let Some(rule) = self.judge(reading, &name, &self.region.bytes[start..end], form)
                {
                    self.out.push(Span { start, end, name: rule });
                }
            }
        }
        name.end
    }

    /// Likewise for a value in one or several pieces: one of them may say it, or all of them together.
    fn judge_whole(&self, reading: &Reading<'_>, name: &Range<usize>, assignment: &Assignment) -> Option<Name> {
        let Assignment { value, form, more, .. } = assignment;
        let first = self.judge(reading, name, &reading.text[value.clone()], *form);
        if first.is_some() || more.is_empty() {
            return first;
        }
        let pieces = std::iter::once(value).chain(more).map(|piece| &reading.text[piece.clone()]);
        let whole: Vec<u8> = pieces.clone().flat_map(|piece| piece.iter().copied().take(ENOUGH)).collect();
        self.judge(reading, name, &whole, *form)
            .or_else(|| pieces.skip(1).find_map(|piece| self.judge(reading, name, piece, *form)))
    }

    /// `passwords:` and a list of them.
    fn list_below(&mut self, reading: &Reading<'_>, name: &Range<usize>, rest: &[u8]) {
        if rest.trim_ascii() != b":" {
            return;
        }
        for view in self.region.views(reading.line) {
            for (start, end, form) in manifest::items_below(&view, reading.line) {
                if let Some(rule) = self.judge(reading, name, &self.region.bytes[start..end], form) {
                    self.out.push(Span { start, end, name: rule });
                }
            }
        }
    }

    /// Which rule, if any, says that a value given to this name is a secret.
    fn judge(&self, reading: &Reading<'_>, name: &Range<usize>, literal: &[u8], form: Form) -> Option<Name> {
        if let Some(rule) = self.vendor(reading, name, literal, form) {
            return Some(Name::Rule(rule));
        }
        let text = &reading.text[name.clone()];
        // A lock file is a list of names and releases; a translation says the word, not the secret.
        if self.file.is_lock {
            return None;
        }
        let promise = names::promise(text)?;
        if self.file.is_translation && !literal.iter().any(u8::is_ascii_digit) {
            return None;
        }
        if literal.len() <= SHORT_QUERY && form == Form::Bare && is_badge(reading, name) {
            return None;
        }
        names::keeps(promise, form, text, literal).then(|| Name::Generic(promise.rule()))
    }

    /// The rule whose keyword is in or shortly before the name and whose shape the value has.
    fn vendor(&self, reading: &Reading<'_>, name: &Range<usize>, value: &[u8], form: Form) -> Option<&'static str> {
        let from = name.start.saturating_sub(VENDOR_REACH);
        let first = reading.vendors.partition_point(|hit| hit.at < from);
        let near = &reading.vendors[first..];
        let near = &near[..near.partition_point(|hit| hit.at < name.end)];
        if near.is_empty()
            || form == Form::Doubtful && value.len() < 16
            || names::is_about_only(&reading.text[name.clone()])
        {
            return None;
        }
        near.iter().find_map(|hit| {
            let Action::Assigned(rule) = hit.action else {
                return None;
            };
            let loaded = &self.vocabulary.rules[usize::from(rule)];
            let Shape::Assigned { value: charset, len, .. } = &loaded.rule.shape else {
                return None;
            };
            let fits =
                charset.covers(value, *len) && self.accepts(loaded, value, value) && !filter::is_placeholder(value);
            fits.then_some(loaded.rule.name)
        })
    }

    fn pattern(&mut self, line: Line, text: &[u8], hits: &[Hit], rule: u16, ran: &mut Vec<u16>) {
        if ran.contains(&rule) {
            return;
        }
        ran.push(rule);
        let loaded = &self.vocabulary.rules[usize::from(rule)];
        let Shape::Pattern { near, .. } = loaded.rule.shape else {
            return;
        };
        if text.len() <= WHOLE_LINE {
            self.search(loaded, line, 0, text.len());
        } else {
            let places = hits.iter().filter(|hit| hit.action == Action::Pattern(rule)).map(|hit| hit.at);
            for (start, end) in windows(places, text.len()) {
                self.search(loaded, line, start, end);
            }
        }
        if near {
            self.search_near(loaded, line);
        }
    }

    fn search_near(&mut self, loaded: &Loaded, line: Line) {
        for view in self.region.views(line) {
            let below = std::iter::successors(view.next(line), |line| view.next(*line)).take(REACH);
            let above = std::iter::successors(view.previous(line), |line| view.previous(*line)).take(REACH);
            for other in below.chain(above) {
                self.search(loaded, other, 0, (other.end - other.start).min(WHOLE_LINE));
            }
        }
    }

    fn search(&mut self, loaded: &Loaded, line: Line, start: usize, end: usize) {
        let Some(regex) = loaded.regex() else { return };
        let text = &self.region.text(line)[start..end];
        steps::add(text.len());
        let generic = contexts::is_one(loaded.rule);
        for captures in regex.captures_iter(text) {
            let Some(found) = captures.iter().skip(1).flatten().next().or_else(|| captures.get(0)) else {
                continue;
            };
            let value = found.as_bytes();
            if value.is_empty()
                || filter::is_reference(value) && !value.starts_with(b"$")
                || !self.accepts(loaded, value, value)
            {
                continue;
            }
            if generic && (filter::is_placeholder(value) || value.len() <= 5 && value.iter().all(u8::is_ascii_digit)) {
                continue;
            }
            let end =
                start + found.start() + whole_length(&self.region.text(line)[start + found.start()..], value.len());
            self.out.push(Span {
                start: line.start + start + found.start(),
                end: line.start + end,
                name: Name::Rule(loaded.rule.name),
            });
        }
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

/// A pattern has an end; the value may go on.
fn whole_length(text: &[u8], found: usize) -> usize {
    const LONG: usize = 48;
    if found < LONG {
        return found;
    }
    let more =
        text[found..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'));
    found + more.count()
}

/// Whether the name is a parameter of a badge's URL: who may see the page may see that token.
fn is_badge(reading: &Reading<'_>, name: &Range<usize>) -> bool {
    const REACH: usize = 160;
    let before = &reading.lower[name.start.saturating_sub(REACH)..name.start];
    matches!(before.last(), Some(b'?' | b'&' | b';'))
        && ["badge", "shields.io"].iter().any(|word| memchr::memmem::find(before, word.as_bytes()).is_some())
}

/// Stretches around the places, joined where they overlap.
fn windows(places: impl Iterator<Item = usize>, length: usize) -> Vec<(usize, usize)> {
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for at in places {
        let (start, end) = (at.saturating_sub(WINDOW_BEFORE), length.min(at + WINDOW_AFTER));
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            _ => joined.push((start, end)),
        }
    }
    joined
}
