//! Notations in which more than a sign stands between a name and its value: tables, tags, types, braces.

use std::ops::Range;

use super::assign::{Form, Reader, Value};
use super::steps;

impl Reader<'_> {
    /// The next cell of a table.
    pub(super) fn cell(&self, at: usize) -> Value {
        let start = self.skip_spaces(at);
        let window = &self.line[start..];
        let cell = window[..memchr::memchr(b'|', window)?].trim_ascii_end();
        let inner = cell.strip_prefix(b"`").and_then(|rest| rest.strip_suffix(b"`")).unwrap_or(cell);
        let shift = usize::from(inner.len() < cell.len());
        Some((start + shift..start + shift + inner.len(), Form::Element))
    }

    /// `password: Optional[str] = "…"`: where the value starts, when a type and `=` stand before it.
    pub(super) fn skip_annotation(&self, at: usize) -> Option<usize> {
        const TYPE_LIMIT: usize = 48;
        let first = self.at(at);
        if !(first.is_ascii_alphabetic() || matches!(first, b'&' | b'_' | b'*' | b'[')) {
            return None;
        }
        let window = &self.line[at..self.line.len().min(at + TYPE_LIMIT)];
        let equals = window.iter().position(|&b| !(b.is_ascii_alphanumeric() || b" _<>[].|&':?*,".contains(&b)))?;
        if window[equals] != b'=' || window.get(equals + 1) == Some(&b'=') || window.first() == Some(&b'\'') {
            return None;
        }
        let next = self.skip_spaces(at + equals + 1);
        self.literal_quote(next).map(|_| next)
    }

    /// `<td>password</td><td>…`
    pub(super) fn next_cell(&self, at: usize) -> Value {
        let cell = [&b"</td><td>"[..], b"</th><td>"].into_iter().find(|cell| self.line[at..].starts_with(cell))?;
        self.element(at + cell.len())
    }

    /// Behind `['name']` and `["name"]`, two at most: `default['password']['postgres'] =`.
    pub(super) fn past_subscripts(&self, mut at: usize) -> usize {
        const LONGEST: usize = 40;
        for _ in 0..2 {
            let quote = self.at(at + 1);
            if self.at(at) != b'[' || !matches!(quote, b'"' | b'\'') {
                break;
            }
            let window = &self.line[at + 2..self.line.len().min(at + 2 + LONGEST)];
            match memchr::memchr(quote, window) {
                Some(end) if window.get(end + 1) == Some(&b']') => at += end + 4,
                _ => break,
            }
        }
        at
    }

    /// `SecretString::from("…")`: what a secret is made of.
    pub(super) fn constructed(&self, at: usize) -> Value {
        let call = [&b"from("[..], b"new("].into_iter().find(|call| self.line[at..].starts_with(call))?;
        self.quoted(self.skip_spaces(at + call.len()))
    }

    /// `strcmp(password, "…")`
    pub(super) fn is_compared(&self) -> bool {
        const CALLS: [&[u8]; 5] = [b"cmp(", b"compare_digest(", b"equals(", b"assertEquals(", b"Equal("];
        CALLS.iter().any(|call| self.line[..self.name.start].ends_with(call))
    }

    /// Steps over `value=`, `"value": ` and the like.
    pub(super) fn paired(&self, at: usize) -> Option<usize> {
        let mut next = at;
        if let Some((_, taken)) = self.quote(next) {
            next += taken;
        }
        const WORDS: [&[u8]; 4] = [b"value", b"content", b"default", b"data-value"];
        let word = WORDS
            .iter()
            .find(|word| self.line.get(next..next + word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word)))?;
        next += word.len();
        if let Some((_, taken)) = self.quote(next) {
            next += taken;
        }
        next = self.skip_spaces(next);
        matches!(self.at(next), b'=' | b':').then(|| self.skip_spaces(next + 1))
    }

    /// `<password>value</password>`, `<property name="password">value</property>`.
    pub(super) fn after_tag(&self, at: usize, name_quoted: bool) -> Value {
        let before = self.at(self.name.start.wrapping_sub(1));
        if !name_quoted && !matches!(before, b'<' | b':') {
            return None;
        }
        if before == b':' && self.facts.tag >= self.name.start {
            return None;
        }
        let mut next = at + 1;
        for wrapper in [&b"<![CDATA["[..], b"<value>", b"<string>"] {
            if self.line[next..].starts_with(wrapper) {
                next += wrapper.len();
            }
        }
        self.element(next)
    }

    pub(super) fn plist(&self, at: usize) -> Value {
        let next = self.skip_spaces(at + b"</key>".len());
        self.line[next..].starts_with(b"<string>").then(|| self.element(next + b"<string>".len()))?
    }

    fn element(&self, at: usize) -> Value {
        let window = &self.line[at..];
        let end = memchr::memchr2(b'<', b']', window).unwrap_or(window.len());
        steps::add(end);
        let value = trim(window, 0..end);
        Some((at + value.start..at + value.end, Form::Element))
    }

    /// `password{"…"}`, `Password { get; set; } = "…"`.
    pub(super) fn braces(&self, at: usize, name_quoted: bool) -> Value {
        let inside = self.literal_quote(self.skip_spaces(at + 1)).filter(|_| !name_quoted);
        self.quoted(inside.or_else(|| self.initialised(at))?)
    }

    /// `Password { get; set; } = "…"`: where the literal starts.
    fn initialised(&self, at: usize) -> Option<usize> {
        const REACH: usize = 64;
        if self.at(at) != b'{' {
            return None;
        }
        let window = &self.line[at..self.line.len().min(at + REACH)];
        let close = memchr::memchr(b'}', window)?;
        let equals = self.skip_spaces(at + close + 1);
        if self.at(equals) != b'=' {
            return None;
        }
        self.literal_quote(self.skip_spaces(equals + 1))
    }

    /// `secret VARCHAR2(200) := '…'`, `Token As String = "…"`: where the literal starts.
    pub(super) fn skip_type(&self, at: usize) -> Option<usize> {
        const TYPE_LIMIT: usize = 40;
        let window = &self.line[at..self.line.len().min(at + TYPE_LIMIT)];
        let equals = window.iter().position(|&b| !(b.is_ascii_alphanumeric() || b" _<>[]().,*&".contains(&b)))?;
        let operator = match &window[equals..] {
            [b':', b'=', ..] => 2,
            // Not the attribute of a tag: `<Pass encoding="base64">`.
            [b'=', next, ..] if *next != b'=' && matches!(window[..equals].last(), Some(b' ' | b')')) => 1,
            _ => return None,
        };
        let next = self.skip_spaces(at + equals + operator);
        self.literal_quote(next)
    }
}

fn trim(text: &[u8], range: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (range.start, range.end);
    while start < end && text[start].is_ascii_whitespace() {
        start += 1;
    }
    while end > start && text[end - 1].is_ascii_whitespace() {
        end -= 1;
    }
    start..end
}
