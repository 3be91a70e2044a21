//! Values that must never appear again in this run, found in every spelling that diffsan itself produces.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::span::{Name, Span};

/// Values of this length or more are removed wherever they stand; shorter ones only as whole words.
const ANYWHERE: usize = 8;
/// Shorter values are too common to be told from chance.
const SHORTEST: usize = 4;
/// The shortest encoded form that is looked for.
const ENCODED: usize = 8;
/// The longest piece that is compared at once.
const LONGEST: usize = 256;
/// What URLs leave as it is.
const UNRESERVED: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Every so many bytes of the text are looked at.
const STRIDE: usize = 4;
const STEPS: usize = 8;
/// A fixed length spares the search its bounds checks.
type Bits = [u64; 1 << (BITS - 6)];
const BITS: u32 = 18;

/// Whether a value that is assigned to be removed everywhere is long enough for that.
pub(super) fn is_learnable(value: &[u8]) -> bool {
    value.len() >= SHORTEST
}

/// Finds all known values in one pass, however many they are: every fourth place of the text is looked at, since any form of eight
/// bytes or more has one of its first four quadruples there.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Which quadruples a form may have there, by hash.
    bits: Option<Box<Bits>>,
    /// The forms by their first eight bytes, sorted.
    forms: HashMap<[u8; ANYWHERE], Vec<Vec<u8>>>,
    /// Values too short for that, sought as whole words.
    words: Option<aho_corasick::AhoCorasick>,
}

impl Known {
    pub(super) fn new<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Self {
        let mut known = Self::default();
        let mut words = Vec::new();
        for value in values {
            if value.len() < SHORTEST {
                continue;
            }
            if value.len() < ANYWHERE {
                words.push(value.to_vec());
            }
            for form in forms(value) {
                known.insert(&form);
            }
        }
        words.sort();
        words.dedup();
        if !words.is_empty() {
            known.words = aho_corasick::AhoCorasick::builder()
                .match_kind(aho_corasick::MatchKind::LeftmostLongest)
                .build(&words)
                .ok();
        }
        known
    }

    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty() && self.words.is_none()
    }

    /// A long form is entered in pieces, so that none of it survives.
    fn insert(&mut self, form: &[u8]) {
        let mut rest = form;
        while rest.len() > LONGEST {
            self.insert_piece(rest[..LONGEST].to_vec());
            let step = LONGEST.min(rest.len() - LONGEST);
            rest = &rest[step..];
        }
        self.insert_piece(rest.to_vec());
    }

    fn insert_piece(&mut self, form: Vec<u8>) {
        let Some(head) = form.get(..ANYWHERE).and_then(|head| <[u8; ANYWHERE]>::try_from(head).ok()) else {
            return;
        };
        let bits = self.bits.get_or_insert_with(|| Box::new([0; 1 << (BITS - 6)]));
        for four in head.windows(4).take(STRIDE) {
            let slot = hash(four);
            bits[slot >> 6] |= 1 << (slot & 63);
        }
        let forms = self.forms.entry(head).or_default();
        if let Err(at) = forms.binary_search(&form) {
            forms.insert(at, form);
        }
    }

    /// Adds the span of every known value in `text`.
    pub(super) fn find(&self, text: &[u8], out: &mut Vec<Span>) {
        self.find_forms(text, out);
        let Some(words) = &self.words else { return };
        for found in words.find_iter(text) {
            if is_word(text, found.start(), found.end()) {
                out.push(Span { start: found.start(), end: found.end(), name: Name::Known });
            }
        }
    }

    fn find_forms(&self, text: &[u8], out: &mut Vec<Span>) {
        const WINDOW: usize = STRIDE * STEPS;
        let Some(bits) = self.bits.as_deref() else {
            return;
        };
        let mut at = 0;
        while let Some(window) = text.get(at..at + WINDOW).and_then(|window| <&[u8; WINDOW]>::try_from(window).ok()) {
            let mut marks = 0;
            for step in 0..STEPS {
                marks |= get(bits, hash(&window[STRIDE * step..STRIDE * step + 4])) << step;
            }
            while marks != 0 {
                self.forms_at(bits, text, at + STRIDE * marks.trailing_zeros() as usize, out);
                marks &= marks - 1;
            }
            at += WINDOW;
        }
        while at + 4 <= text.len() {
            self.forms_at(bits, text, at, out);
            at += STRIDE;
        }
    }

    /// The forms that have the quadruple at `place` among their first four.
    fn forms_at(&self, bits: &Bits, text: &[u8], place: usize, out: &mut Vec<Span>) {
        for start in place.saturating_sub(STRIDE - 1)..=place {
            let Some(head) = text.get(start..start + ANYWHERE) else {
                continue;
            };
            // All four quadruples must be known, which settles nearly every false alarm.
            if head.windows(4).take(STRIDE).all(|four| get(bits, hash(four)) != 0)
                && let Some(length) = self.form_at(text, start)
            {
                out.push(Span { start, end: start + length, name: Name::Known });
            }
        }
    }

    fn form_at(&self, text: &[u8], start: usize) -> Option<usize> {
        let head: &[u8; ANYWHERE] = text.get(start..start + ANYWHERE)?.try_into().ok()?;
        let forms = self.forms.get(head)?;
        let mut here = &text[start..text.len().min(start + LONGEST)];
        // The longest form that the text starts with stands before the place that the text would have, and every form between
        // starts with it, too: so it is no longer than what the nearest one shares with the text.
        loop {
            let place = forms.partition_point(|form| form.as_slice() <= here);
            let near = forms[..place].last()?;
            if here.starts_with(near) {
                return Some(near.len());
            }
            let shared = near.iter().zip(here).take_while(|(left, right)| left == right).count();
            here = &here[..shared];
        }
    }
}

#[inline]
fn get(bits: &Bits, slot: usize) -> u32 {
    (bits[(slot >> 6) & ((1 << (BITS - 6)) - 1)] >> (slot & 63)) as u32 & 1
}

#[inline]
fn hash(four: &[u8]) -> usize {
    let packed = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    (packed.wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}

/// Whether the bytes around a match are no part of a longer word.
fn is_word(text: &[u8], start: usize, end: usize) -> bool {
    let joins = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    !joins(start.checked_sub(1).and_then(|at| text.get(at))) && !joins(text.get(end))
}

/// The value as it is, URL-encoded, JSON-escaped, and the part of its base64 that does not depend on what stands around it,
/// at each of the three offsets.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::with_capacity(8);
    if value.len() >= ANYWHERE {
        forms.push(value.to_vec());
    }
    let percent = percent_encoding::percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string();
    let component = percent_encoding::percent_encode(value, UNRESERVED).to_string();
    forms.push(component.to_ascii_lowercase().into_bytes());
    forms.push(component.into_bytes());
    forms.push(percent.into_bytes());
    let text = String::from_utf8_lossy(value);
    if let Some(once) = json_escaped(&text) {
        forms.extend(json_escaped(&once).map(String::into_bytes));
        forms.push(once.replace('/', "\\/").into_bytes());
        forms.push(ascii_escaped(&once).into_bytes());
        forms.push(once.into_bytes());
    }
    forms.extend(["&#39;", "&#x27;", "&apos;"].map(|apostrophe| html_escaped(&text, apostrophe).into_bytes()));
    // A value that is all lower case has a lower-cased percent form equal to itself; one that is not would match foreign text.
    forms.retain(|form| {
        form.len() >= ANYWHERE && (form.as_slice() == value || form.as_slice() != value.to_ascii_lowercase())
    });
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        forms.extend(base64_cores(engine, value));
    }
    forms.sort();
    forms.dedup();
    forms
}

/// The text as it stands in a JSON string.
fn json_escaped(text: &str) -> Option<String> {
    let json = serde_json::to_string(text).ok()?;
    Some(json[1..json.len() - 1].to_owned())
}

/// Likewise, with everything beyond ASCII as `\\u…`.
fn ascii_escaped(text: &str) -> String {
    let mut units = [0; 2];
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// The text as it stands in HTML; an apostrophe has several spellings there.
fn html_escaped(text: &str, apostrophe: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', apostrophe)
}

/// The characters of the base64 of `…value…` that only the value decides.
fn base64_cores(engine: &base64::engine::GeneralPurpose, value: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..3_usize).filter_map(move |offset| {
        let mut padded = vec![0; offset];
        padded.extend_from_slice(value);
        let encoded = engine.encode(&padded).into_bytes();
        let from = (offset * 8).div_ceil(6);
        let to = (offset + value.len()) * 8 / 6;
        let core = encoded.get(from..to.min(encoded.len()))?;
        // What nearly any other text could be encoded to says nothing.
        (core.len() >= ENCODED && !super::filter::is_mask(core) && !super::filter::is_sequence(core))
            .then(|| core.to_vec())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[&str], text: &str) -> Vec<String> {
        let known = Known::new(values.iter().map(|value| value.as_bytes()));
        let mut spans = Vec::new();
        known.find(text.as_bytes(), &mut spans);
        super::super::span::union(&mut spans);
        spans.iter().map(|span| text[span.start..span.end].to_owned()).collect()
    }

    #[test]
    fn a_value_is_found_in_every_spelling() {
        let value = "p@ss/w\"rd+Zx81=é";
        let json = serde_json::to_string(value).expect("text is JSON");
        let spellings = [
            value.to_owned(),
            percent_encoding::percent_encode(value.as_bytes(), percent_encoding::NON_ALPHANUMERIC).to_string(),
            json[1..json.len() - 1].to_owned(),
        ];
        for spelling in spellings {
            assert_eq!(found(&[value], &format!("a {spelling} b")), std::slice::from_ref(&spelling), "{spelling}");
        }
        for lead in ["", "x", "xy", "xyz"] {
            let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{lead}{value}tail"));
            let left: usize = found(&[value], &encoded).iter().map(String::len).sum();
            assert!(left + 8 >= value.len() * 4 / 3, "{encoded}: {left}");
        }
    }

    #[test]
    fn a_short_value_goes_only_as_a_whole_word() {
        assert_eq!(found(&["root1"], "root1 and root12 and (root1)"), ["root1", "root1"]);
        assert!(found(&["abc"], "abc").is_empty());
    }

    #[test]
    fn many_values_with_a_common_beginning_are_all_found() {
        let values: Vec<String> = (0..2000).map(|n| format!("prefix-prefix-{n:05}")).collect();
        let refs: Vec<&str> = values.iter().map(String::as_str).collect();
        let text = values.join(" ");
        assert_eq!(found(&refs, &text).len(), 2000);
    }
}
