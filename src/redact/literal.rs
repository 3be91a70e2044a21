//! How far a literal goes: quotes of every kind, wrappers that do not fetch, bare words.

use std::ops::Range;

use super::assign::{Form, Reader, Value};
use super::file_kind::FileKind;
use super::steps;

impl Reader<'_> {
    /// A literal of any form.
    pub(super) fn literal(&self, at: usize) -> Value {
        if self.at(at) == b'$' && self.at(at + 1) == b'\'' {
            return self.quoted(at + 1);
        }
        // `apiKey={"…"}`
        let at = if self.at(at) == b'{' && matches!(self.at(at + 1), b'"' | b'\'' | b'`') { at + 1 } else { at };
        if let Some(start) = self.literal_quote(at) {
            return self.quoted(start);
        }
        if let Some(start) = self.wrapped(at) {
            return self.quoted(start);
        }
        let flag = self.line[self.name.start..].starts_with(b"-");
        let at = self.skip_tag(self.skip_tag(at));
        if let Some(start) = self.literal_quote(at).or_else(|| self.fallback(at)) {
            return self.quoted(start);
        }
        let (value, form) = self.bare(at, Form::Doubtful)?;
        let query = matches!(self.line[..self.name.start], [.., b'?' | b'&'] | [.., b'a', b'm', b'p', b';'])
            && self.at(self.name.end) == b'=';
        let bare = flag || query || self.kind.has_bare_literals() || self.is_setting(&value);
        Some((value, if bare { Form::Bare } else { form }))
    }

    /// In text of unknown kind: `NAME=value` or `name: value` with a line to itself.
    fn is_setting(&self, value: &Range<usize>) -> bool {
        if self.kind != FileKind::Unknown {
            return false;
        }
        let lead = self.lead();
        let lead = lead.strip_prefix(b"- ").unwrap_or(lead).trim_ascii_end();
        let rest = self.rest(value.end);
        let leads = lead.is_empty()
            || matches!(
                lead,
                b"export"
                    | b"set"
                    | b"ENV"
                    | b"ARG"
                    | b"-"
                    | b"setx"
                    | b"$"
                    | b"+"
                    | b"-e"
                    | b"*"
                    | b"**"
                    | b"- **"
                    | b">"
                    | b"#"
                    | b"//"
                    | b"local"
                    | b"readonly"
                    | b"declare"
            );
        let tight = self.at(value.start - 1) == b'=';
        leads && (rest.is_empty() || rest.starts_with(b"#") || tight && lead.is_empty())
    }

    /// Steps over what YAML puts before a value: `!!str`, `&anchor`.
    fn skip_tag(&self, at: usize) -> usize {
        const LONGEST: usize = 40;
        if !self.kind.has_bare_literals() || !matches!(self.at(at), b'!' | b'&') {
            return at;
        }
        let word = self.line[at..]
            .iter()
            .take(LONGEST)
            .take_while(|b| b.is_ascii_alphanumeric() || b"!&_-".contains(b))
            .count();
        let is_tag =
            self.line[at..].starts_with(b"!!str") || self.line[at..].starts_with(b"!!binary") || self.at(at) == b'&';
        if is_tag && self.at(at + word) == b' ' { self.skip_spaces(at + word) } else { at }
    }

    /// `env.PASSWORD ?? "…"`, `getenv("X") || '…'`: where the literal starts that stands in for what is fetched.
    fn fallback(&self, at: usize) -> Option<usize> {
        const REACH: usize = 96;
        let window = &self.line[at..self.line.len().min(at + REACH)];
        if !window.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | b'(')) {
            return None;
        }
        const SIGNS: [&[u8]; 9] = [
            b" ?? ",
            b" || ",
            b" or ",
            b" ?: ",
            b" else ",
            b".unwrap_or(",
            b".unwrap_or_else(|_| ",
            b".orElse(",
            b".getOrElse(",
        ];
        let found =
            SIGNS.iter().filter_map(|sign| memchr::memmem::find(window, sign).map(|found| at + found + sign.len()));
        self.literal_quote(self.skip_spaces(found.min()?))
    }

    /// Where the quote of a literal starts, past a string prefix such as `b`, `r`, `@` or `L`.
    pub(super) fn literal_quote(&self, at: usize) -> Option<usize> {
        if self.quote(at).is_some() {
            return Some(at);
        }
        let prefixed = |length: usize| {
            self.line.get(at..at + length).is_some_and(|p| p.iter().all(|b| b"bBrRuUfFLN@$&".contains(b)))
                && matches!(self.at(at + length), b'"' | b'\'')
        };
        (1..=2).find(|&length| prefixed(length)).map(|length| at + length)
    }

    /// `Some("…")`, `Secret::new(String::from("…"))`, `[]byte("…")`: the literal in wrappers that do not fetch.
    fn wrapped(&self, mut at: usize) -> Option<usize> {
        const DEEPEST: usize = 3;
        for _ in 0..DEEPEST {
            at = self.inside_call(at)?;
            if let Some(start) = self.literal_quote(at) {
                return Some(start);
            }
        }
        None
    }

    /// Where the first argument of such a wrapper starts.
    fn inside_call(&self, at: usize) -> Option<usize> {
        const CALL_LIMIT: usize = 48;
        let at = if self.line[at..].starts_with(b"[]") { at + 2 } else { at };
        let window = &self.line[at..self.line.len().min(at + CALL_LIMIT)];
        let open = window
            .iter()
            .position(|&b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b' ' | b'&' | b'!')))?;
        if window[open] != b'(' && !(window[open] == b'[' && open == 0) {
            return None;
        }
        let callee = window[..open].to_ascii_lowercase();
        const FETCHES: [&[u8]; 24] = [
            b"env",
            b"get",
            b"read",
            b"find",
            b"load",
            b"fetch",
            b"require",
            b"decrypt",
            b"config",
            b"lookup",
            b"import",
            b"input",
            b"prompt",
            b"arg",
            b"option",
            b"format",
            b"open",
            b"resolve",
            b"translate",
            b"i18n",
            b"gettext",
            b"column",
            b"field",
            b"select",
        ];
        if FETCHES.iter().any(|word| super::filter::contains(&callee, word))
            || matches!(callee.as_slice(), b"t" | b"_" | b"$t" | b"__")
        {
            return None;
        }
        let next = self.skip_spaces(at + open + 1);
        Some(next)
    }

    /// A quoted literal at `at`, up to its closing quote or the end of the line.
    pub(super) fn quoted(&self, at: usize) -> Value {
        let start = self.literal_quote(at)?;
        let (quote, taken) = self.quote(start)?;
        let mut from = start + taken;
        if taken == 1 && self.at(from) == quote && self.at(from + 1) == quote {
            from += 2;
        }
        let window = &self.line[from..];
        let end = match (quote, taken) {
            (b'&', _) => memchr::memmem::find(window, b"&quot;").unwrap_or(window.len()),
            (b'%', _) => memchr::memmem::find(window, b"%22").unwrap_or(window.len()),
            (_, 1) => closing(window, quote),
            (_, _) => escaped_closing(window, quote, taken),
        };
        steps::add(end);
        Some((from..from + end, Form::Quoted))
    }

    /// A bare word.
    pub(super) fn bare(&self, at: usize, form: Form) -> Value {
        let window = &self.line[at..];
        let comment = window.starts_with(b"#")
            && (matches!(window.get(1), Some(b' ' | b'#' | b'!') | None) || self.at(at.wrapping_sub(1)) == b' ');
        if comment || window.starts_with(b"//") || window.starts_with(b"/*") {
            return None;
        }
        let flow = !self.kind.is_line_oriented() || self.facts.flow < self.name.start;
        let mut open = Open::default();
        let mut end = (0..window.len()).find(|&at| open.ends_bare(window, at, flow)).unwrap_or(window.len());
        steps::add(end);
        while end > 0 && matches!(window[end - 1], b',' | b';') {
            end -= 1;
        }
        if matches!(window.get(end), Some(b'(' | b'[')) {
            return None;
        }
        Some((at..at + end, form))
    }
}

/// The brackets that a bare value has opened so far.
#[derive(Default)]
struct Open {
    round: bool,
    square: bool,
    curly: bool,
}

impl Open {
    /// Whether a bare value ends before `window[at]`. In a line that may go on (`flow`), brackets and commas end it, too.
    fn ends_bare(&mut self, window: &[u8], at: usize, flow: bool) -> bool {
        let rest = &window[at + 1..];
        match window[at] {
            b' ' | b'\t' | b'"' | b'\'' | b'`' => true,
            b'&' => pair_follows(rest) || rest.starts_with(b"amp;") || rest.starts_with(b"&"),
            b';' => flow || pair_follows(rest),
            b',' => flow && (rest.is_empty() || matches!(rest[0], b' ' | b'"' | b'\'') || pair_follows(rest)),
            b')' => flow && !self.round,
            b']' => flow && !self.square,
            b'}' => flow && !self.curly,
            b'<' | b'>' | b'|' | b'\\' => flow,
            byte => {
                self.round |= byte == b'(';
                self.square |= byte == b'[';
                self.curly |= byte == b'{';
                false
            }
        }
    }
}

/// Whether `name=` comes next.
fn pair_follows(rest: &[u8]) -> bool {
    let inside = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' ');
    let name = rest.iter().take(40).take_while(inside).count();
    name > 0 && rest.get(name) == Some(&b'=')
}

/// The first unescaped `quote`; the end of the window when there is none.
fn closing(window: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < window.len() {
        match memchr::memchr2(quote, b'\\', &window[at..]) {
            None => return window.len(),
            Some(step) if window[at + step] == quote => return at + step,
            Some(step) => at += step + 2,
        }
    }
    window.len()
}

/// The first quote that is escaped as the opening one was.
fn escaped_closing(window: &[u8], quote: u8, taken: usize) -> usize {
    let mut at = 0;
    while let Some(step) = memchr::memchr(quote, &window[at..]) {
        let found = at + step;
        let slashes = window[..found].iter().rev().take_while(|&&b| b == b'\\').count();
        if slashes < taken {
            return found - slashes;
        }
        at = found + 1;
    }
    window.len()
}
