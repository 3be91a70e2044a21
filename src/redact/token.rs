//! Tokens by their prefix: where one may start, how far it goes, when it is long enough.

use super::chance::entropy;
use super::rule::Charset;
use super::steps;

/// More than this of a token says nothing new about it.
pub(super) const ENOUGH: usize = 512;

/// Runs of token characters that were measured on a line: many prefixes may stand in one run.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Where the last run of each alphabet starts and ends.
    runs: Vec<(Charset, usize, usize)>,
    /// The end of the last token that was found.
    pub(super) taken: usize,
}

impl Tokens {
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.taken = 0;
    }

    /// The end of the run of `body` that `start` is part of.
    pub(super) fn run_end(&mut self, text: &[u8], start: usize, body: Charset) -> usize {
        let known = self.runs.iter_mut().find(|(charset, ..)| *charset == body);
        if let Some((_, from, to)) = &known
            && (*from..*to).contains(&start)
        {
            return *to;
        }
        let end = start + text[start..].iter().take_while(|&&byte| body.contains(byte)).count();
        steps::add(end - start);
        match known {
            Some((_, from, to)) => (*from, *to) = (start, end),
            None => self.runs.push((body, start, end)),
        }
        end
    }
}

/// A vendor's prefix and enough of its alphabet are a token, whatever length the vendor gives its tokens today.
pub(super) fn is_telling(prefix: &[u8], value: &[u8], len: (usize, usize)) -> bool {
    const TELLING: usize = 20;
    let joint = prefix.iter().any(|b| matches!(b, b'-' | b'_' | b'.'));
    let rare = prefix.len() >= 5 && joint || prefix.len() >= 8;
    let head = &value[..value.len().min(ENOUGH)];
    let drawn =
        || head.iter().any(u8::is_ascii_digit) && head.iter().any(u8::is_ascii_alphabetic) && entropy(head) >= 3.3;
    rare && (value.len() > len.1 || value.len() >= TELLING) && value.len() >= TELLING.min(len.0) && drawn()
}

/// Whether a token may start at `at`: not inside a word, unless an escape (`\n`, `%22`, `\u003d`) stands before it.
pub(super) fn is_boundary(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    if !text[before].is_ascii_alphanumeric() {
        return true;
    }
    let head = &text[..at];
    matches!(head, [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f' | b'v' | b'0' | b'e'])
        || matches!(head, [.., b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7'])
        || is_colour(head)
        || ESCAPES.iter().any(|(mark, digits)| is_escape(head, mark, *digits))
}

/// What stands before the hexadecimal digits of a character: in code, in JSON, in URLs, in mails.
const ESCAPES: [(&[u8], usize); 5] = [(b"\\x", 2), (b"\\u", 4), (b"\\U", 8), (b"%", 2), (b"=", 2)];

fn is_escape(head: &[u8], mark: &[u8], digits: usize) -> bool {
    let Some(at) = head.len().checked_sub(digits) else { return false };
    head[..at].ends_with(mark) && head[at..].iter().all(u8::is_ascii_hexdigit)
}

/// Whether the text ends with the code of a terminal's colour: `ESC [ 31 m`.
fn is_colour(head: &[u8]) -> bool {
    const LONGEST: usize = 16;
    let Some(body) = head.strip_suffix(b"m") else {
        return false;
    };
    let digits = body.iter().rev().take(LONGEST).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    body[..body.len() - digits].ends_with(b"[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_starts_where_a_word_or_an_escape_ends() {
        for head in ["", " ", "\"", "\\n", "\\x22", "%22", "\\u003d", "\\u201c", "\\U0001f600", "=3D", "\u{1b}[1m", "é"]
        {
            assert!(is_boundary(format!("{head}ghp_").as_bytes(), head.len()), "{head:?}");
        }
        for head in ["a", "xyz", "u201c", "x22", "\\u20g", "3D"] {
            assert!(!is_boundary(format!("{head}ghp_").as_bytes(), head.len()), "{head:?}");
        }
    }
}
