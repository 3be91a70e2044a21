//! What begins inside a line: inline code, addresses, ids and names that GitLab would make links of.

use std::collections::HashMap;

/// Longer runs of backticks are plain characters; GitLab's own limit is higher.
pub(super) const MOST_TICKS: usize = 16;

/// Words that make a reference close what it names.
pub(super) const CLOSING: &str = "close closes closed closing fix fixes fixed fixing resolve resolves resolved resolving \
    implement implements implemented implementing";

/// Where the last run of backticks of each length begins.
pub(super) fn last_runs(line: &str) -> HashMap<usize, usize> {
    let bytes = line.as_bytes();
    let mut last = HashMap::new();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'`', &bytes[at..]) {
        let length = run(bytes, at + found);
        last.insert(length, at + found);
        at += found + length;
    }
    last
}

pub(super) fn closing_run(bytes: &[u8], from: usize, length: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr::memchr(b'`', bytes.get(at..)?) {
        let here = at + found;
        let ticks = run(bytes, here);
        if ticks == length {
            return Some(here);
        }
        at = here + ticks;
    }
    None
}

pub(super) fn run(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take_while(|byte| **byte == b'`').count()
}

pub(super) fn longest_run(text: &str, mark: u8) -> usize {
    text.as_bytes().split(|byte| *byte != mark).map(<[u8]>::len).max().unwrap_or(0)
}

/// `<br>` in its three spellings.
pub(super) fn line_break(text: &str) -> Option<usize> {
    ["<br>", "<br/>", "<br />"].iter().find(|tag| text.starts_with(**tag)).map(|tag| tag.len())
}

/// `[issue:1]`, `[TOC]` and their kind: GitLab reads these after backslashes are gone. `value_end` is where a value
/// would end.
pub(super) fn bracket_reference(line: &str, at: usize, value_end: impl FnOnce(usize) -> usize) -> Option<usize> {
    let bytes = &line.as_bytes()[at..];
    for tag in ["[[_toc_]]", "[toc]"] {
        if bytes.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes())) {
            return Some(tag.len());
        }
    }
    let name = bytes[1..].iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
    if name == 0 || bytes.get(1 + name) != Some(&b':') {
        return None;
    }
    let value = at + name + 2;
    let end = value_end(value);
    (end > value && line.as_bytes().get(end) == Some(&b']')).then_some(end + 1 - at)
}

/// Where an address ends that begins with the word here; none when none does.
pub(super) fn address_end(line: &str, at: usize, word_end: usize) -> Option<usize> {
    let bytes = line.as_bytes();
    let (word, rest) = (&line[at..word_end], &bytes[word_end..]);
    let name = word.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let prefix = match rest {
        [b':', b'/', b'/', ..] => word_end + 3,
        [b'.', ..] if name.eq_ignore_ascii_case("www") => word_end + 1,
        _ => return None,
    };
    let stop = |byte: &u8| *byte <= b' ' || b"`<>|\"".contains(byte);
    let mut end = word_end + rest.iter().position(stop).unwrap_or(rest.len());
    let mut open = 0_i64;
    for byte in &bytes[at..end] {
        open += i64::from(*byte == b'(') - i64::from(*byte == b')');
    }
    while end > prefix {
        match bytes[end - 1] {
            b')' if open < 0 => open += 1,
            b'.' | b',' | b';' | b':' | b'!' | b'?' | b'\'' | b'*' | b'_' | b'~' | b']' | b'}' | b'\\' => {}
            _ => break,
        }
        end -= 1;
    }
    (end > prefix).then_some(end)
}

/// Seven or more hex digits, letters and digits mixed, as commit ids are.
pub(super) fn is_commit(token: &str) -> bool {
    (7..=64).contains(&token.len())
        && token.bytes().all(|byte| byte.is_ascii_hexdigit())
        && token.bytes().any(|byte| byte.is_ascii_digit())
        && token.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// `GL-1`, another name of `#1`.
pub(super) fn names_issue(token: &str) -> bool {
    let mut pieces = token.split('-').peekable();
    while let Some(piece) = pieces.next() {
        let number = pieces.peek().is_some_and(|next| next.bytes().next().is_some_and(|byte| byte.is_ascii_digit()));
        let word = piece.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or(piece);
        if number && word.eq_ignore_ascii_case("GL") {
            return true;
        }
    }
    false
}

pub(super) fn is_special(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"\\`@$#&~%^!<[]{:".contains(&byte)
}

/// Part of a word, where any byte beyond ASCII may be a letter.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
