//! Paths as diff headers spell them: prefixes, C-style quotes, timestamps, and two names on one line.

use std::borrow::Cow;

/// The old and the new path of a file; `None` is the side that does not exist.
pub(super) type Pair = (Option<String>, Option<String>);

/// Pairs of prefixes that git puts before names: its default and `diff.mnemonicPrefix`.
const PREFIXES: [(&[u8], &[u8]); 6] =
    [(b"a/", b"b/"), (b"i/", b"w/"), (b"c/", b"i/"), (b"c/", b"w/"), (b"o/", b"w/"), (b"1/", b"2/")];

/// A path in C-style quotes, as git prints one that is not plain ASCII.
pub(crate) fn unquoted(text: &str) -> Option<String> {
    unquote(text.as_bytes()).map(|name| lossy(&name))
}

/// What follows `rename from ` and the like: a path without a prefix, maybe quoted.
pub(super) fn bare(text: &[u8]) -> String {
    lossy(&unquote(text).unwrap_or(Cow::Borrowed(text)))
}

/// The two names of a `diff --git` line, when they are the same name. Git prints them unquoted even
/// with blanks inside, so only that they are equal tells where the first one ends; for a rename
/// they are not, and the `rename` lines have them.
pub(super) fn git_line(names: &[u8]) -> Option<String> {
    if names.first() == Some(&b'"') {
        let end = quoted_len(names)?;
        let first = unquote(&names[..end])?;
        let second = token(names.get(end + 1..)?);
        return same_name(&first, &second);
    }
    let middle = names.len() / 2;
    let blanks = || memchr::memchr_iter(b' ', names);
    // Prefixes of one length put the border in the exact middle; only odd prefixes need a search.
    std::iter::once(middle)
        .filter(|&at| names.get(at) == Some(&b' '))
        .chain(blanks())
        .take(MAX_BORDERS)
        .find_map(|at| same_name(&names[..at], &token(&names[at + 1..])))
}

/// The names of a `---` and a `+++` line.
pub(super) fn unified(old: &[u8], new: &[u8]) -> Pair {
    let (old, new) = (token(old), token(new));
    let (old, new) = (present(&old), present(&new));
    match (old, new) {
        (Some(old), Some(new)) => {
            let (old, new) = strip_both(old, new);
            (Some(lossy(old)), Some(lossy(new)))
        }
        // Alone, `w/` or `2/` is more likely a folder: only git's default prefixes go.
        (old, new) => (
            old.map(|name| lossy(name.strip_prefix(b"a/").unwrap_or(name))),
            new.map(|name| lossy(name.strip_prefix(b"b/").unwrap_or(name))),
        ),
    }
}

/// Borders tried on one `diff --git` line before the other header lines are asked instead.
const MAX_BORDERS: usize = 64;

/// A name up to the tab before a timestamp, or the content of a quoted one.
fn token(text: &[u8]) -> Cow<'_, [u8]> {
    if text.first() == Some(&b'"')
        && let Some(name) = quoted_len(text).and_then(|end| unquote(&text[..end]))
    {
        return name;
    }
    let end = memchr::memchr(b'\t', text).unwrap_or(text.len());
    Cow::Borrowed(&text[..end])
}

fn present(name: &[u8]) -> Option<&[u8]> {
    (name != b"/dev/null").then_some(name)
}

fn same_name(old: &[u8], new: &[u8]) -> Option<String> {
    if old == b"" || new == b"" {
        return None;
    }
    let (old, new) = strip_both(old, new);
    (old == new).then(|| lossy(old))
}

/// Takes the prefixes off two names. Equal names have none (`--no-prefix`); names that are equal
/// but for their first folder (`diff -r old new`) lose that.
fn strip_both<'n>(old: &'n [u8], new: &'n [u8]) -> (&'n [u8], &'n [u8]) {
    if old == new {
        return (old, new);
    }
    let known = PREFIXES.iter().find_map(|(from, to)| {
        Some((old.strip_prefix(*from)?, new.strip_prefix(*to)?))
            .or_else(|| Some((old.strip_prefix(*to)?, new.strip_prefix(*from)?)))
    });
    known.unwrap_or_else(|| match (after_slash(old), after_slash(new)) {
        (Some(a), Some(b)) if a == b => (a, b),
        _ => (old, new),
    })
}

fn after_slash(name: &[u8]) -> Option<&[u8]> {
    memchr::memchr(b'/', name).map(|at| &name[at + 1..])
}

fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The length of the quoted string that `text` starts with, quotes included.
fn quoted_len(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Undoes git's C-style quoting; `None` when `text` is not one well-formed quoted string.
fn unquote(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr2(b'\\', b'"', inner).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut name = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return None,
            b'\\' => name.push(escaped(&mut bytes)?),
            plain => name.push(plain),
        }
    }
    Some(Cow::Owned(name))
}

fn escaped(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    Some(match bytes.next()? {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        quoted @ (b'"' | b'\\') => quoted,
        high @ b'0'..=b'3' => {
            let mut value = high - b'0';
            for _ in 0..2 {
                let digit = bytes.next().filter(|digit| (b'0'..=b'7').contains(digit))?;
                value = value * 8 + (digit - b'0');
            }
            value
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_on_a_git_line_is_found_whatever_is_in_it() {
        let cases: &[(&str, Option<&str>)] = &[
            ("a/x b/x", Some("x")),
            ("a/src/main.rs b/src/main.rs", Some("src/main.rs")),
            ("a/a b c b/a b c", Some("a b c")),
            ("a/x b/x b/x b/x", Some("x b/x")),
            ("a/ b/ b/ b/", Some(" b/")),
            ("src/a src/a", Some("src/a")),
            ("i/x w/x", Some("x")),
            ("old/x newer/x", Some("x")),
            ("a/x b/y", None),
            (r#""a/\303\244.txt" "b/\303\244.txt""#, Some("ä.txt")),
            (r#""a/q\"\\\t\n" "b/q\"\\\t\n""#, Some("q\"\\\t\n")),
            (r#""a/\377" "b/\377""#, Some("\u{fffd}")),
            (r#""a/x"#, None),
            ("", None),
            (" ", None),
            ("x", None),
        ];
        for (line, name) in cases {
            assert_eq!(git_line(line.as_bytes()).as_deref(), *name, "{line}");
        }
    }

    #[test]
    fn the_names_of_two_header_lines_lose_prefix_quotes_and_timestamp() {
        let cases: &[(&str, &str, Option<&str>, Option<&str>)] = &[
            ("a/x", "b/x", Some("x"), Some("x")),
            ("b/x", "a/x", Some("x"), Some("x")),
            ("a/a b\t", "b/a b\t", Some("a b"), Some("a b")),
            ("/dev/null", "b/b/x", None, Some("b/x")),
            ("a/x", "/dev/null", Some("x"), None),
            ("/dev/null", "x", None, Some("x")),
            ("c/x", "w/x", Some("x"), Some("x")),
            ("src/x", "src/x", Some("src/x"), Some("src/x")),
            ("old/src/x\t2024-01-01 00:00:00", "new/src/x\t2024-01-02", Some("src/x"), Some("src/x")),
            ("x.orig\t2024", "x\t2024", Some("x.orig"), Some("x")),
            (r#""a/\t""#, r#""b/\t"	now"#, Some("\t"), Some("\t")),
        ];
        for (old, new, want_old, want_new) in cases {
            let (got_old, got_new) = unified(old.as_bytes(), new.as_bytes());
            assert_eq!((got_old.as_deref(), got_new.as_deref()), (*want_old, *want_new), "{old} {new}");
        }
    }
}
