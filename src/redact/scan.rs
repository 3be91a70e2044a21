//! Finds the secrets of a region: picks the lines worth reading, then reads them.

use std::sync::OnceLock;

use super::assign::{self, Assignment, Form};
use super::chance::entropy;
use super::file_kind::FileKind;
use super::rule::{Charset, Shape};
use super::span::{Line, Name, Region, Span};
use super::vocab::{Action, Hit, Loaded, Vocabulary};
use super::{contexts, encoded, filter, keys, manifest, names, prefilter, url};

/// Patterns run on the whole of a line up to this length, and around their keywords on a longer one.
const WHOLE_LINE: usize = 4096;
const WINDOW_BEFORE: usize = 512;
const WINDOW_AFTER: usize = 4096;
/// How many lines away a keyword may stand from its pattern.
const REACH: usize = 2;
/// How far before the operator the vendor's name may stand.
const VENDOR_REACH: usize = 48;

/// Buffers that one thread uses again and again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    lower: Vec<u8>,
    hits: Vec<Hit>,
    ran: Vec<u16>,
}

/// Adds the span of every secret in the region.
pub(super) fn region(region: &Region<'_>, scratch: &mut Scratch, out: &mut Vec<Span>) {
    if FileKind::is_secret_file(region.path) {
        whole_lines(region, out);
    }
    let mut lower = std::mem::take(&mut scratch.lower);
    let mut at = 0;
    let mut resume = 0;
    while at < region.bytes.len() {
        let end = block_end(region.bytes, at);
        lower.clear();
        lower.extend_from_slice(&region.bytes[at..end]);
        lower.make_ascii_lowercase();
        let mut scanner = Scanner {
            region,
            vocabulary: Vocabulary::shared(),
            scratch,
            out,
            block: at,
            lower: &lower,
            depth: 0,
            done: Done::default(),
        };
        resume = scanner.block(resume.max(at), end);
        at = end;
    }
    scratch.lower = lower;
}

/// In a file that holds nothing but a secret, a line is one.
fn whole_lines(region: &Region<'_>, out: &mut Vec<Span>) {
    let mut current = (region.prefix > 0 && !region.bytes.is_empty()).then(|| region.line_at(0));
    while let Some(line) = current {
        let text = region.text(line);
        if text.len() >= 8
            && !text.iter().any(|b| matches!(b, b' ' | b'=' | b':' | b'\t'))
            && names::keeps(names::Promise::Password, Form::Bare, b"", text)
        {
            out.push(Span { start: line.start, end: line.end, name: Name::Generic(names::SECRET) });
        }
        current = region.next(line);
    }
}

/// Secrets of a decoded text, one level below the text itself: is there any?
fn holds_secret(text: &[u8], scratch: &mut Scratch) -> Option<Name> {
    let lower = text.to_ascii_lowercase();
    let region = Region { bytes: text, prefix: 0, kind: FileKind::Config, path: b"" };
    let mut out = Vec::new();
    let mut scanner = Scanner {
        region: &region,
        vocabulary: Vocabulary::shared(),
        scratch,
        out: &mut out,
        block: 0,
        lower: &lower,
        depth: 1,
        done: Done::default(),
    };
    scanner.block(0, text.len());
    out.iter().map(|span| span.name).min()
}

const BLOCK: usize = 64 * 1024;

/// Blocks end with a line.
fn block_end(bytes: &[u8], at: usize) -> usize {
    if bytes.len() - at <= BLOCK {
        return bytes.len();
    }
    memchr::memchr(b'\n', &bytes[at + BLOCK..]).map_or(bytes.len(), |newline| at + BLOCK + newline + 1)
}

/// Up to where multi-line readers have been.
#[derive(Default)]
struct Done {
    fragment: usize,
    manifest: usize,
}

struct Scanner<'s, 'r, 'a> {
    region: &'r Region<'a>,
    vocabulary: &'static Vocabulary,
    scratch: &'s mut Scratch,
    out: &'s mut Vec<Span>,
    /// Where `lower` starts in the region.
    block: usize,
    lower: &'s [u8],
    /// 1 inside decoded text.
    depth: u8,
    done: Done,
}

impl Scanner<'_, '_, '_> {
    /// Reads the candidate lines of a block; gives the position up to which the text needs no further reading.
    fn block(&mut self, from: usize, end: usize) -> usize {
        let bytes = &self.region.bytes[..end];
        let mut candidates = prefilter::Candidates::new(&bytes[self.block..], self.lower);
        let mut at = from;
        while at < end {
            let Some(found) = candidates.next_from(at - self.block) else { break };
            let found = found + self.block;
            let start = memchr::memrchr(b'\n', &bytes[at..found])
                .map_or_else(|| memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |n| n + 1), |newline| at + newline + 1);
            let stop = memchr::memchr(b'\n', &bytes[found..]).map_or(end, |newline| found + newline);
            let line = self.region.line(start, stop);
            at = self.line(line).max(stop + 1);
        }
        at
    }

    /// Reads one line; gives the position up to which multi-line readers have dealt with the text.
    fn line(&mut self, line: Line) -> usize {
        let mut hits = std::mem::take(&mut self.scratch.hits);
        let mut ran = std::mem::take(&mut self.scratch.ran);
        hits.clear();
        ran.clear();
        let text = self.region.text(line);
        let lower = &self.lower[line.start - self.block..line.end - self.block];
        self.vocabulary.find(lower, &mut hits);
        let mut read = line.end;
        let mut named_until = 0;
        for (index, hit) in hits.iter().enumerate() {
            match hit.action {
                Action::Prefixed(rule) => self.prefixed(line, hit.at, rule),
                Action::Assign | Action::Assigned(_) if hit.at >= named_until => {
                    named_until = self.assigned(line, text, lower, hit.at, &hits[..]);
                }
                Action::Assign | Action::Assigned(_) => {}
                Action::Pattern(rule) => self.pattern(line, text, &hits[index..], rule, &mut ran),
                Action::Url => {
                    let from = self.out.len();
                    url::credentials(text, hit.at, self.out);
                    self.shift(from, line.start);
                }
                Action::Dashes => {
                    if read <= line.end && line.start + hit.at < read {
                        read = read.max(self.dashes(line));
                    }
                }
                Action::Manifest => {
                    if line.start >= self.done.manifest && manifest::is_secret_kind(text) {
                        self.done.manifest = manifest::secret_document(self.region, line, self.out);
                    }
                }
            }
        }
        if text.len() < 256 && hits.iter().any(|hit| matches!(hit.action, Action::Assign | Action::Assigned(_))) {
            let whole = 0..text.len();
            let mut found = Vec::new();
            manifest::paired_value(
                self.region,
                line,
                |value| self.vendor(lower, &whole, value, Form::Quoted, &hits),
                &mut found,
            );
            self.out.append(&mut found);
        }
        if text.len() >= 32 && text.len() <= 160 && line.start >= self.done.fragment && keys::solid(text).is_some() {
            self.done.fragment = keys::fragment(self.region, line, self.out);
        }
        self.scratch.hits = hits;
        self.scratch.ran = ran;
        if self.depth == 0 {
            self.encoded(line, text);
        }
        read
    }

    fn shift(&mut self, from: usize, by: usize) {
        for span in &mut self.out[from..] {
            span.start += by;
            span.end += by;
        }
    }

    fn dashes(&mut self, line: Line) -> usize {
        let lower = &self.lower[line.start - self.block..line.end - self.block];
        let telling = [&b"private"[..], b"key"].iter().any(|word| memchr::memmem::find(lower, word).is_some());
        if telling { keys::marked(self.region, line, self.out) } else { line.end }
    }

    fn prefixed(&mut self, line: Line, at: usize, rule: u16) {
        let loaded = &self.vocabulary.rules[usize::from(rule)];
        let Shape::Prefixed { prefixes, body, len } = &loaded.rule.shape else { return };
        let text = self.region.text(line);
        if !is_boundary(text, at) {
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
        let ceiling = text.len().min(start + len.1 + 1);
        let mut end = start + text[start..ceiling].iter().take_while(|&&byte| body.contains(byte)).count();
        if *body == Charset::Dotted {
            while end > start && text[end - 1] == b'.' {
                end -= 1;
            }
        }
        if *body == Charset::Uuid {
            end = end.min(start + 36);
        }
        let value = &text[start..end];
        if body.covers(value, *len) && self.accepts(loaded, &text[at..end], value) {
            self.out.push(Span { start: line.start + at, end: line.start + end, name: Name::Rule(loaded.rule.name) });
        }
    }

    /// Entropy, allow list and masks of a rule that knows the secret's shape.
    fn accepts(&self, loaded: &Loaded, whole: &[u8], value: &[u8]) -> bool {
        entropy(value) >= loaded.rule.entropy && !filter::is_mask(value) && !loaded.allows(whole)
    }

    /// Reads the assignment around `at`; gives the end of its name, so that no name is read twice.
    fn assigned(&mut self, line: Line, text: &[u8], lower: &[u8], at: usize, hits: &[Hit]) -> usize {
        let name = assign::name_around(text, at);
        // The user of a URL is not assigned its password: the URL's own reader knows where that ends.
        if text[..name.start].ends_with(b"://") {
            return name.end;
        }
        if let Some(Assignment { value, form, .. }) = assign::read(text, at, self.region.kind)
            && let Some(rule) = self.judge(text, lower, &name, &text[value.clone()], form, hits)
        {
            self.out.push(Span { start: line.start + value.start, end: line.start + value.end, name: rule });
        } else if manifest::goes_on_below(&text[name.end..])
            && let Some((start, end, form)) = manifest::value_below(self.region, line)
            && let Some(rule) = self.judge(text, lower, &name, &self.region.bytes[start..end], form, hits)
        {
            self.out.push(Span { start, end, name: rule });
        }
        name.end
    }

    /// Which rule, if any, says that a value given to this name is a secret.
    fn judge(
        &self,
        text: &[u8],
        lower: &[u8],
        name: &std::ops::Range<usize>,
        literal: &[u8],
        form: Form,
        hits: &[Hit],
    ) -> Option<Name> {
        if let Some(rule) = self.vendor(lower, name, literal, form, hits) {
            return Some(Name::Rule(rule));
        }
        let promise = names::promise(&text[name.clone()])?;
        names::keeps(promise, form, &text[name.clone()], literal).then(|| Name::Generic(promise.rule()))
    }

    /// The rule whose keyword is in or shortly before the name and whose shape the value has.
    fn vendor(
        &self,
        lower: &[u8],
        name: &std::ops::Range<usize>,
        value: &[u8],
        form: Form,
        hits: &[Hit],
    ) -> Option<&'static str> {
        let reach = name.start.saturating_sub(VENDOR_REACH)..name.end;
        if hits.iter().all(|hit| !matches!(hit.action, Action::Assigned(_)))
            || names::is_about_only(&lower[name.clone()])
            || form == Form::Doubtful && value.len() < 16
        {
            return None;
        }
        hits.iter().filter(|hit| reach.contains(&hit.at)).find_map(|hit| {
            let Action::Assigned(rule) = hit.action else { return None };
            let loaded = &self.vocabulary.rules[usize::from(rule)];
            let Shape::Assigned { value: charset, len, .. } = &loaded.rule.shape else { return None };
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
        let Shape::Pattern { near, .. } = loaded.rule.shape else { return };
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
        let mut other = line;
        for _ in 0..REACH {
            let Some(next) = self.region.next(other) else { break };
            self.search(loaded, next, 0, (next.end - next.start).min(WHOLE_LINE));
            other = next;
        }
        other = line;
        for _ in 0..REACH {
            let Some(before) = self.region.previous(other) else { break };
            self.search(loaded, before, 0, (before.end - before.start).min(WHOLE_LINE));
            other = before;
        }
    }

    fn search(&mut self, loaded: &Loaded, line: Line, start: usize, end: usize) {
        let Some(regex) = loaded.regex() else { return };
        let text = &self.region.text(line)[start..end];
        let generic = contexts::is_one(loaded.rule);
        for captures in regex.captures_iter(text) {
            let Some(found) = captures.iter().skip(1).flatten().next().or_else(|| captures.get(0)) else { continue };
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
            self.out.push(Span {
                start: line.start + start + found.start(),
                end: line.start + start + found.end(),
                name: Name::Rule(loaded.rule.name),
            });
        }
    }

    fn encoded(&mut self, line: Line, text: &[u8]) {
        let mut scratch = Scratch::default();
        let out = &mut *self.out;
        encoded::runs(text, |run| {
            if let Some(name) = holds_secret(&run.text, &mut scratch) {
                out.push(Span { start: line.start + run.start, end: line.start + run.end, name });
            }
        });
    }
}

/// Whether a token may start at `at`: not inside a word, unless an escape (`\n`, `%22`, `\u003d`) stands before it.
fn is_boundary(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return true };
    if !text[before].is_ascii_alphanumeric() {
        return true;
    }
    let head = &text[..at];
    matches!(head, [.., b'\\', b'n' | b't' | b'r'])
        || matches!(head, [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
        || head.len() >= 6 && head[head.len() - 6..].starts_with(b"\\u00")
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

/// The shared prefilter words: what a secret without a long token can be recognised by.
pub(super) fn short_words() -> &'static [&'static [u8]] {
    static WORDS: OnceLock<Vec<&'static [u8]>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut words: Vec<&'static [u8]> = prefilter::WORDS.iter().map(|word| word.as_bytes()).collect();
        for rule in contexts::RULES {
            let Shape::Pattern { keywords, .. } = &rule.shape else { continue };
            for word in *keywords {
                if !words.iter().any(|known| memchr::memmem::find(word.as_bytes(), known).is_some()) {
                    words.push(word.as_bytes());
                }
            }
        }
        words
    })
}
