//! Names and values in sentences: "the password for the box is …", "try … as the password", a comment, a message, a table.

use std::ops::Range;

use super::assign::{Form, Reader, Value};
use super::file_kind::FileKind;
use super::names::{KEY_WORDS, SECRET_WORDS};
use super::steps;

/// What a sentence puts between a name and its value, in any text.
const VERBS: [&[u8]; 7] = [b"is: ", b"is now ", b"is now: ", b"is still ", b"is ", b"was ", b"will be "];
/// What says so only where people write for people.
const PROSE_VERBS: [&[u8]; 15] = [
    b"set to ",
    b"= ",
    b"-> ",
    b"=> ",
    "\u{2192} ".as_bytes(),
    "\u{2013} ".as_bytes(),
    b"- ",
    b"to ",
    b"from ",
    b"ist ",
    b"lautet ",
    b"est ",
    b"es ",
    "\u{e9} ".as_bytes(),
    b"jest ",
];
/// How far behind its name a value is sought.
const REACH: usize = 56;
/// How far before it a comment or a string may start.
const ENOUGH: usize = 200;

impl Reader<'_> {
    /// A value that a sentence gives to the name, which ends before `at`.
    pub(super) fn spoken(&self, at: usize) -> Value {
        let verb = VERBS.iter().find(|verb| self.line[at..].starts_with(verb));
        if let Some(verb) = verb {
            return self.said(at + verb.len());
        }
        if !self.is_prose() {
            return None;
        }
        if let Some(verb) = PROSE_VERBS.iter().find(|verb| self.line[at..].starts_with(verb)) {
            return self.said(at + verb.len());
        }
        if self.at(at) == b'(' && self.quote(at + 1).is_some() {
            return self.said(at + 1);
        }
        if let Some(next) = self.past_remark(at) {
            return self.said(next);
        }
        self.said(at)
    }

    /// The word at `at`, out of its quotes and tags, and without the stop of the sentence.
    pub(super) fn said(&self, at: usize) -> Value {
        let at = self.skip_spaces(at);
        let at = self.past_tag(at).unwrap_or(at);
        let at = at + self.line[at..].iter().take(2).take_while(|b| matches!(b, b'*' | b'_')).count();
        if let Some((quote, taken)) = self.quote(at) {
            // `` ``value`` `` of reStructuredText.
            let at = if quote == b'`' && self.at(at + 1) == b'`' { at + 1 } else { at };
            return (taken < 6).then(|| self.quoted(at)).flatten().map(|(value, _)| (value, Form::Spoken));
        }
        let window = &self.line[at..];
        if window.first().is_some_and(|b| b"([{<&*-".contains(b)) {
            return None;
        }
        let ends = |b: &u8| matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'<' | b'|' | b'\r') || *b >= 0x80;
        let mut end = window.iter().position(ends).unwrap_or(window.len());
        steps::add(end);
        while end > 0 && matches!(window[end - 1], b'.' | b',' | b';' | b':' | b')' | b'*' | b']' | b'\\' | b'_') {
            end -= 1;
        }
        (end > 0).then_some((at..at + end, Form::Spoken))
    }

    /// `for the box is`, `of db01:`, `(expires 2031):`: where the value starts.
    fn past_remark(&self, at: usize) -> Option<usize> {
        const WORDS: [&[u8]; 8] = [b"for ", b"of ", b"on ", b"in ", b"we ", b"used ", b"from ", b"("];
        const SIGNS: [&[u8]; 6] = [b" is ", b": ", b" = ", b" was ", b" -> ", b":"];
        let window = &self.line[at..self.line.len().min(at + REACH)];
        if !WORDS.iter().any(|word| window.starts_with(word)) {
            return None;
        }
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'-' | b'_' | b'.' | b'/' | b'(' | b')');
        let words = window.iter().position(|b| !plain(b)).unwrap_or(window.len());
        let is = memchr::memmem::find(&window[..words], b" is ");
        let end = is.or_else(|| {
            let from = words.saturating_sub(usize::from(window[..words].ends_with(b" ")));
            SIGNS.iter().any(|sign| window[from..].starts_with(sign)).then_some(from)
        })?;
        let sign = SIGNS.iter().find(|sign| window[end..].starts_with(sign))?;
        Some(at + end + sign.len())
    }

    /// Behind `<code>`, `<b>` and the like.
    fn past_tag(&self, at: usize) -> Option<usize> {
        const TAGS: [&[u8]; 9] =
            [b"<code>", b"<b>", b"<strong>", b"<em>", b"<kbd>", b"<tt>", b"<i>", b"<samp>", b"<td>"];
        TAGS.iter().find(|tag| self.line[at..].starts_with(tag)).map(|tag| at + tag.len())
    }

    /// Whether the name stands in prose: a text for people, a comment, a message in a string.
    pub(super) fn is_prose(&self) -> bool {
        if self.kind == FileKind::Unknown || self.is_comment() {
            return true;
        }
        // A string with words in it: the name has a space on one side and an opening quote before that.
        let before = &self.line[self.name.start.saturating_sub(ENOUGH)..self.name.start];
        let quoted = before.iter().rposition(|b| matches!(b, b'"' | b'\'' | b'`'));
        let starts = |at: usize| at == 0 || matches!(before[at - 1], b'(' | b' ' | b'f' | b'@' | b',' | b'$');
        quoted.is_some_and(starts) && matches!(self.at(self.name.end), b' ' | b':')
    }

    /// Whether a user is named before: `user: ci, pass …` gives one, `pass …` asks for it.
    pub(super) fn has_user(&self) -> bool {
        let before = self.line[self.name.start.saturating_sub(ENOUGH / 2)..self.name.start].to_ascii_lowercase();
        [&b"user "[..], b"user:", b"username", b"login:"]
            .iter()
            .any(|word| memchr::memmem::find(&before, word).is_some())
    }

    /// Whether the line is a comment.
    pub(super) fn is_comment(&self) -> bool {
        const SIGNS: [&[u8]; 12] =
            [b"//", b"/*", b"*", b"#", b"--", b"<!--", b";", b"%", b"\"\"\"", b"'''", b"REM ", b"rem "];
        let first = &self.line[self.facts.first.min(self.line.len())..];
        SIGNS.iter().any(|sign| first.starts_with(sign)) && !first.starts_with(b"#define")
    }
}

/// The name with the words before it that say what it is: "secret key", "api token".
pub(super) fn spoken_name(line: &[u8], name: &Range<usize>) -> Range<usize> {
    let mut start = name.start;
    for _ in 0..2 {
        let Some(head) = line[..start].strip_suffix(b" ") else { break };
        let length = head.iter().rev().take(24).take_while(|b| b.is_ascii_alphabetic()).count();
        let word = head[head.len() - length..].to_ascii_lowercase();
        if !KEY_WORDS.contains(&word.as_slice()) && !SECRET_WORDS.contains(&word.as_slice()) {
            break;
        }
        start = head.len() - length;
    }
    start..name.end
}
