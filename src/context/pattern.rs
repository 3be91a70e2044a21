//! A regular expression of the agent's: matched line by line, in linear time, on text whose secrets are gone.
//!
//! Taking the secrets out of every file for every search would cost seconds on a large tree, so a file is first asked as it
//! is for words that every match must hold. What a word says there holds for the redacted text as well, because only words
//! are used that cannot touch the token which stands for a secret ([`sure`]): such a word stands in the redacted text
//! only where it stands in the file. Files without it are left out, all others are redacted and then matched; so the
//! answer depends on the redacted text alone.

use std::time::Instant;

use aho_corasick::AhoCorasick;
use regex_automata::Input;
use regex_automata::meta;
use regex_syntax::hir::{Capture, Repetition};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use crate::redact::TOKEN;

/// Most characters of a pattern.
const MAX_PATTERN: usize = 1_000;
/// Most bytes that a compiled pattern may take; it bounds the work for each byte of text.
const MAX_COMPILED: usize = 96 * 1024;
/// Deepest nesting of a pattern.
const MAX_DEPTH: u32 = 60;
/// Most words that are looked for beforehand.
const MAX_WORDS: usize = 32;
/// A shorter word is in every file.
const MIN_WORD: usize = 2;
/// Text between two looks at the clock.
const STRETCH: usize = 64 * 1024;

/// A pattern that can be searched for.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: meta::Regex,
    /// One of these stands in every text that matches.
    words: Option<AhoCorasick>,
}

impl Pattern {
    /// The pattern, or a sentence about what is wrong with it.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err(
                "The pattern is empty: give a regular expression, or use list_files to see what is there.".into()
            );
        }
        if text.chars().count() > MAX_PATTERN {
            return Err(format!("The pattern has more than {MAX_PATTERN} characters: search for something shorter."));
        }
        let hir = regex_syntax::ParserBuilder::new()
            .multi_line(true)
            .crlf(true)
            .nest_limit(MAX_DEPTH)
            .build()
            .parse(text)
            .map_err(|error| refused(&error.to_string()))?;
        let hir = in_one_line(&hir).ok_or_else(|| {
            String::from(
                "The pattern has a line break in it: a search matches within one line. Search for one of the lines.",
            )
        })?;
        let config = meta::Config::new()
            .nfa_size_limit(Some(MAX_COMPILED))
            .onepass_size_limit(Some(MAX_COMPILED))
            .dfa_size_limit(Some(4 * MAX_COMPILED))
            .hybrid_cache_capacity(2 << 20)
            .which_captures(regex_automata::nfa::thompson::WhichCaptures::Implicit);
        let regex = meta::Builder::new().configure(config).build_from_hir(&hir).map_err(|_| {
            String::from("The pattern is too large when it is compiled: use fewer or smaller repetitions.")
        })?;
        Ok(Self { regex, words: required(&hir).and_then(|words| words.build()) })
    }

    /// Whether the redacted text of this file could match; the file itself is `raw`.
    pub(super) fn may_match(&self, raw: &[u8]) -> bool {
        self.words.as_ref().is_none_or(|words| words.is_match(raw))
    }

    /// Hands every line that matches to `take`: its number from 1, where it starts and ends, and where in it the match
    /// starts. False when the clock ran out; `take` says whether to go on.
    pub(super) fn lines(&self, text: &str, deadline: Instant, mut take: impl FnMut(Line) -> bool) -> bool {
        let bytes = text.as_bytes();
        let (mut at, mut number, mut counted) = (0, 1_u32, 0);
        while at < bytes.len() {
            let end = stretch(bytes, at);
            while at < end {
                let Some(found) = self.regex.search(&Input::new(text).span(at..end)) else { break };
                let start = memchr::memrchr(b'\n', &bytes[..found.start()]).map_or(0, |newline| newline + 1);
                let stop = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |newline| start + newline);
                // A match of nothing behind the last line break is on no line.
                if start >= bytes.len() {
                    return true;
                }
                number += memchr::memchr_iter(b'\n', &bytes[counted..start]).count() as u32;
                counted = start;
                let stop_text = stop - usize::from(stop > start && bytes[stop - 1] == b'\r');
                if !take(Line { number, start, end: stop_text, at: found.start().min(stop_text) }) {
                    return true;
                }
                at = stop + 1;
            }
            at = at.max(end);
            if Instant::now() >= deadline {
                return false;
            }
        }
        true
    }
}

/// A line that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) at: usize,
}

/// The end of whole lines from `at` on, not much further than a stretch.
fn stretch(bytes: &[u8], at: usize) -> usize {
    let least = (at + STRETCH).min(bytes.len());
    memchr::memchr(b'\n', &bytes[least..]).map_or(bytes.len(), |newline| least + newline + 1)
}

fn refused(error: &str) -> String {
    let last = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
    format!("The pattern does not compile: {last}. Escape what is meant as it is written: \\( \\[ \\{{ \\. \\* \\+ \\?")
}

/// The same pattern without any way to match a line break; `None` when it asks for one.
fn in_one_line(hir: &Hir) -> Option<Hir> {
    let all = |parts: &[Hir]| parts.iter().map(in_one_line).collect::<Option<Vec<_>>>();
    Some(match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => return None,
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut class = class.clone();
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Hir::class(Class::Bytes(class))
        }
        // Borders of words as ASCII has them: the others are slow where text is not ASCII, and say the same about code.
        HirKind::Look(look) => Hir::look(match look {
            Look::Start => Look::StartCRLF,
            Look::End => Look::EndCRLF,
            Look::WordUnicode => Look::WordAscii,
            Look::WordUnicodeNegate => Look::WordAsciiNegate,
            Look::WordStartUnicode => Look::WordStartAscii,
            Look::WordEndUnicode => Look::WordEndAscii,
            Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
            Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
            other => *other,
        }),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(in_one_line(&repetition.sub)?);
            Hir::repetition(Repetition { sub, ..*repetition })
        }
        HirKind::Capture(capture) => {
            let sub = Box::new(in_one_line(&capture.sub)?);
            Hir::capture(Capture { index: capture.index, name: capture.name.clone(), sub })
        }
        HirKind::Concat(parts) => Hir::concat(all(parts)?),
        HirKind::Alternation(parts) => Hir::alternation(all(parts)?),
    })
}

/// Words of which every match holds at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Words {
    words: Vec<Vec<u8>>,
    /// They count in upper and lower case.
    any_case: bool,
}

impl Words {
    fn one(word: &Run) -> Option<Self> {
        let word_sure = sure(&word.text)?;
        Some(Self { words: vec![word_sure.to_vec()], any_case: word.any_case })
    }

    fn shortest(&self) -> usize {
        self.words.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// The one that tells more: longer words, then fewer.
    fn better(self, other: Option<Self>) -> Self {
        let rank = |words: &Self| (words.shortest().min(8), std::cmp::Reverse(words.words.len()), words.shortest());
        match other {
            Some(other) if rank(&other) > rank(&self) => other,
            _ => self,
        }
    }

    fn build(&self) -> Option<AhoCorasick> {
        AhoCorasick::builder().ascii_case_insensitive(self.any_case).build(&self.words).ok()
    }
}

/// Text that stands in every match as it is.
#[derive(Debug, Clone, Default)]
struct Run {
    text: Vec<u8>,
    any_case: bool,
}

fn required(hir: &Hir) -> Option<Words> {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Class(_) => exact(hir).and_then(|run| Words::one(&run)),
        HirKind::Empty | HirKind::Look(_) => None,
        HirKind::Repetition(repetition) => required(&repetition.sub).filter(|_| repetition.min > 0),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Concat(parts) => in_a_row(parts),
        HirKind::Alternation(parts) => {
            let mut all = Words { words: Vec::new(), any_case: false };
            for part in parts {
                let words = required(part)?;
                all.words.extend(words.words);
                all.any_case |= words.any_case;
            }
            (all.words.len() <= MAX_WORDS).then_some(all)
        }
    }
}

/// The best of the runs of plain text in a row, and of what its other parts require.
fn in_a_row(parts: &[Hir]) -> Option<Words> {
    let mut best: Option<Words> = None;
    let mut run = Run::default();
    let keep = |words: Option<Words>, best: &mut Option<Words>| {
        if let Some(words) = words {
            *best = Some(words.better(best.take()));
        }
    };
    for part in parts {
        match exact(part) {
            Some(more) => {
                run.text.extend(more.text);
                run.any_case |= more.any_case;
            }
            None => {
                keep(Words::one(&std::mem::take(&mut run)), &mut best);
                keep(required(part), &mut best);
            }
        }
    }
    keep(Words::one(&run), &mut best);
    best
}

/// The one text that a part can be, but for the case of letters; borders are no text.
fn exact(hir: &Hir) -> Option<Run> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(Run::default()),
        HirKind::Literal(literal) => Some(Run { text: literal.0.to_vec(), any_case: false }),
        HirKind::Class(Class::Unicode(class)) => {
            let letters: Vec<char> = class.iter().flat_map(|range| range.start()..=range.end()).take(3).collect();
            match letters[..] {
                [upper, lower] if upper.is_ascii() && upper.to_ascii_lowercase() == lower => {
                    Some(Run { text: vec![lower as u8], any_case: true })
                }
                _ => None,
            }
        }
        HirKind::Capture(capture) => exact(&capture.sub),
        _ => None,
    }
}

/// The part of a word that cannot touch a token, so that it stands in the redacted text only where it stands in the file;
/// `None` when no such part is long enough to tell anything.
fn sure(word: &[u8]) -> Option<&[u8]> {
    let token = TOKEN.as_bytes();
    let is = |one: &[u8], other: &[u8]| one.eq_ignore_ascii_case(other);
    let mut word = word;
    loop {
        let most = word.len().min(token.len());
        let tail = (1..=most).rev().find(|&length| is(&word[word.len() - length..], &token[..length]));
        if let Some(length) = tail {
            word = &word[..word.len() - length];
            continue;
        }
        let head = (1..=most).rev().find(|&length| is(&word[..length], &token[token.len() - length..]));
        match head {
            Some(length) => word = &word[length..],
            None => break,
        }
    }
    let inside = |one: &[u8], other: &[u8]| one.windows(other.len().max(1)).any(|part| is(part, other));
    let replaced = memchr::memmem::find(word, "\u{FFFD}".as_bytes()).is_some();
    (word.len() >= MIN_WORD && !inside(token, word) && !inside(word, token) && !replaced).then_some(word)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn words(pattern: &str) -> Option<Vec<String>> {
        let hir = regex_syntax::ParserBuilder::new().multi_line(true).crlf(true).build().parse(pattern).unwrap();
        let words = required(&in_one_line(&hir).unwrap())?.words;
        Some(words.iter().map(|word| String::from_utf8(word.clone()).unwrap()).collect())
    }

    fn numbers(pattern: &str, text: &str) -> Vec<u32> {
        let mut numbers = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        Pattern::new(pattern).unwrap().lines(text, deadline, |line| {
            numbers.push(line.number);
            true
        });
        numbers
    }

    #[test]
    fn the_words_are_those_that_every_match_holds() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("parse_config", Some(&["parse_config"])),
            (r"fn\s+parse_(config|file)\(", Some(&["parse_"])),
            (r"\bfoo\b", Some(&["foo"])),
            ("(alpha|beta)", Some(&["alpha", "beta"])),
            ("(alpha|b)", None),
            ("(alpha)?x", None),
            ("(?:alpha)+", Some(&["alpha"])),
            ("(?i)api", Some(&["api"])),
            ("(?i)sky", None),
            (r"\d+", None),
            (".", None),
            ("REDACTED", None),
            ("(?i)redacted", None),
            (r"password = \[", Some(&["password = "])),
            (r"\[RED", None),
            (r"\] = value", Some(&[" = value"])),
            (r"TED\] = value", Some(&[" = value"])),
            (r"x\[REDACTED\]y", None),
            ("ACT", None),
        ];
        for (pattern, want) in cases {
            assert_eq!(
                words(pattern).as_ref().map(|words| words.iter().map(String::as_str).collect::<Vec<_>>()).as_deref(),
                *want,
                "{pattern}"
            );
        }
    }

    #[test]
    fn a_line_is_what_matches_and_is_counted_once() {
        let text = "one two two\r\ntwo\n\nthree\ntail two";
        assert_eq!(numbers("two", text), [1, 2, 5]);
        assert_eq!(numbers("two$", text), [1, 2, 5]);
        assert_eq!(numbers("^two", text), [2]);
        assert_eq!(numbers(r"\Atwo\z", text), [2]);
        assert_eq!(numbers("^$", text), [3]);
    }

    #[test]
    fn no_match_spans_two_lines() {
        assert_eq!(numbers(r"a[^x]*b", "a\nb\nab\n"), [3]);
        assert_eq!(numbers(r"a\s+b", "a\nb\na b\n"), [3]);
        assert_eq!(numbers(r"(?s)a.*b", "a\nb\na b\n"), [3]);
        assert!(Pattern::new("a\\nb").unwrap_err().contains("within one line"));
    }

    #[test]
    fn long_texts_are_matched_to_their_end() {
        let text = format!("{}needle\n{}needle\n", "x y z\n".repeat(40_000), "z".repeat(300_000));
        assert_eq!(numbers("needle", &text), [40_001, 40_002]);
        assert_eq!(numbers("^", &text).len(), 40_002);
    }

    #[test]
    fn what_cannot_be_used_is_refused_in_a_sentence() {
        for (pattern, why) in [
            ("", "empty"),
            ("(", "does not compile"),
            ("[a", "does not compile"),
            ("\\q", "does not compile"),
            ("(?:(?:(?:x{99}){99}){99}){99}", "too large"),
            (&"(".repeat(500), "does not compile"),
            (&"a".repeat(1_001), "characters"),
        ] {
            let refusal = Pattern::new(pattern).unwrap_err();
            assert!(refusal.contains(why), "{pattern}: {refusal}");
            assert!(!refusal.contains('\n'), "{refusal}");
        }
    }

    proptest! {
        /// The files that are left out are those that do not match once their secrets are gone.
        #[test]
        fn a_file_that_is_left_out_does_not_match_without_its_secrets(
            pattern in r"[a-cED\[\]RT]{1,4}|\(a\|[bRE]{2}\)c?|\\\[[A-E]{1,3}|b.?D",
            raw in r"([a-cDETR\[\] ]|REDACTED|s3cret){0,24}",
            start in 0..20usize,
            length in 0..12usize,
        ) {
            let Ok(pattern) = Pattern::new(&pattern) else { return Ok(()) };
            let (start, end) = (start.min(raw.len()), (start + length).min(raw.len()));
            let redacted = format!("{}{TOKEN}{}", &raw[..start], &raw[end..]);
            let mut matches = false;
            pattern.lines(&redacted, Instant::now() + Duration::from_secs(60), |_| { matches = true; false });
            prop_assert!(!matches || pattern.may_match(raw.as_bytes()), "{redacted:?}");
        }
    }
}
