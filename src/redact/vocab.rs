//! Every word that makes a line worth a second look, found in one pass over the line.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::rule::{Charset, Rule, Shape};
use super::{contexts, names, rules};

/// What to do where a word was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// A token may start here.
    Prefixed(u16),
    /// A name may be assigned a value here.
    Assign,
    /// Likewise, and this rule knows the value's shape.
    Assigned(u16),
    /// This rule's pattern may match on the line.
    Pattern(u16),
    /// `://`
    Url,
    /// `-----`
    Dashes,
    /// `secret` as the kind of a manifest.
    Manifest,
}

/// A word at its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub(super) at: usize,
    pub(super) action: Action,
}

/// A rule with its patterns, compiled when first needed.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) rule: &'static Rule,
    regex: OnceLock<Option<Regex>>,
    allow: OnceLock<Vec<Regex>>,
}

impl Loaded {
    pub(super) fn regex(&self) -> Option<&Regex> {
        let Shape::Pattern { regex, .. } = &self.rule.shape else { return None };
        self.regex.get_or_init(|| compile(regex).ok()).as_ref()
    }

    pub(super) fn allows(&self, value: &[u8]) -> bool {
        if self.rule.allow.is_empty() {
            return false;
        }
        self.allow
            .get_or_init(|| self.rule.allow.iter().filter_map(|text| compile(text).ok()).collect())
            .iter()
            .any(|regex| regex.is_match(value))
    }
}

/// Byte semantics, small automata.
pub(super) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).size_limit(4 << 20).dfa_size_limit(4 << 20).build()
}

#[derive(Debug)]
struct Word {
    text: Vec<u8>,
    action: Action,
    /// The next word with the same first three bytes' hash.
    next: u16,
}

/// The words, by a hash of their first three bytes.
#[derive(Debug)]
pub(super) struct Vocabulary {
    heads: Vec<u16>,
    words: Vec<Word>,
    pub(super) rules: Vec<Loaded>,
}

const BITS: u32 = 14;
const NONE: u16 = u16::MAX;

impl Vocabulary {
    /// The one vocabulary of the program, built when first asked for.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<Vocabulary> = OnceLock::new();
        SHARED.get_or_init(Self::build)
    }

    fn build() -> Self {
        let all = rules::RULES.iter().flat_map(|group| group.iter()).chain(contexts::RULES);
        let rules = all.map(|rule| Loaded { rule, regex: OnceLock::new(), allow: OnceLock::new() }).collect();
        let mut built = Self { heads: vec![NONE; 1 << BITS], words: Vec::with_capacity(1024), rules };
        for index in 0..built.rules.len() {
            built.add_rule(index as u16);
        }
        for word in names::TRIGGERS {
            built.add(word.as_bytes(), Action::Assign);
        }
        built.add(b"://", Action::Url);
        built.add(b"@tcp(", Action::Url);
        built.add(b"@unix(", Action::Url);
        built.add(b"-----", Action::Dashes);
        built.add(b"private-lines", Action::Dashes);
        built.add(b"kind", Action::Manifest);
        built
    }

    fn add_rule(&mut self, index: u16) {
        match &self.rules[usize::from(index)].rule.shape {
            Shape::Prefixed { prefixes, body, .. } => {
                for prefix in *prefixes {
                    self.add_prefix(prefix.as_bytes(), *body, index);
                }
            }
            Shape::Assigned { keywords, .. } => {
                for word in *keywords {
                    self.add_loosely(word.as_bytes(), Action::Assigned(index));
                }
            }
            Shape::Pattern { keywords, .. } => {
                for word in *keywords {
                    self.add(word.as_bytes(), Action::Pattern(index));
                }
            }
        }
    }

    /// A prefix of two bytes is entered once for every byte that may follow it.
    fn add_prefix(&mut self, prefix: &[u8], body: Charset, index: u16) {
        if prefix.len() >= 3 {
            self.add(&prefix.to_ascii_lowercase(), Action::Prefixed(index));
            return;
        }
        for next in (0..128_u8).filter(|&byte| {
            body.contains(byte) && !byte.is_ascii_uppercase() || body.contains(byte.to_ascii_uppercase())
        }) {
            let mut word = prefix.to_ascii_lowercase();
            word.push(next.to_ascii_lowercase());
            self.add(&word, Action::Prefixed(index));
        }
    }

    /// A separator may stand within the first three bytes, too.
    fn add_loosely(&mut self, text: &[u8], action: Action) {
        self.add(text, action);
        let [first, second, ..] = *text else { return };
        for separator in *b"_-. " {
            self.add_at(hash(first, separator, second), text, action);
            self.add_at(hash(first, second, separator), text, action);
        }
    }

    fn add(&mut self, text: &[u8], action: Action) {
        if let [first, second, third, ..] = *text {
            self.add_at(hash(first, second, third), text, action);
        }
    }

    fn add_at(&mut self, slot: usize, text: &[u8], action: Action) {
        if self.words.len() >= usize::from(NONE) {
            return;
        }
        let already = self.chain(slot).any(|word| word.text == text && word.action == action);
        if !already {
            self.words.push(Word { text: text.to_vec(), action, next: self.heads[slot] });
            self.heads[slot] = (self.words.len() - 1) as u16;
        }
    }

    fn chain(&self, slot: usize) -> impl Iterator<Item = &Word> {
        let mut next = self.heads[slot];
        std::iter::from_fn(move || {
            let word = self.words.get(usize::from(next))?;
            next = word.next;
            Some(word)
        })
    }

    /// Every word in `lower`, by position.
    pub(super) fn find(&self, lower: &[u8], hits: &mut Vec<Hit>) {
        for (at, window) in lower.windows(3).enumerate() {
            let slot = hash(window[0], window[1], window[2]);
            if self.heads[slot] == NONE {
                continue;
            }
            for word in self.chain(slot) {
                let found = match word.action {
                    Action::Assigned(_) => starts_loosely(&lower[at..], &word.text),
                    _ => lower[at..].starts_with(&word.text),
                };
                if found {
                    hits.push(Hit { at, action: word.action });
                }
            }
        }
    }
}

#[inline]
fn hash(a: u8, b: u8, c: u8) -> usize {
    let packed = u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16;
    (packed.wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}

/// Whether `text` starts with `word` when separators in it are skipped.
fn starts_loosely(text: &[u8], word: &[u8]) -> bool {
    let mut at = 0;
    for &wanted in word {
        while at > 0 && matches!(text.get(at), Some(b'_' | b'-' | b'.' | b' ')) && text[at] != wanted {
            at += 1;
        }
        if text.get(at) != Some(&wanted) {
            return false;
        }
        at += 1;
    }
    true
}

impl Charset {
    /// Whether a secret of this kind may hold the byte.
    pub(super) fn contains(self, byte: u8) -> bool {
        match self {
            Self::Digits => byte.is_ascii_digit(),
            Self::HexLower => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::HexUpper => matches!(byte, b'0'..=b'9' | b'A'..=b'F'),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Lower => matches!(byte, b'0'..=b'9' | b'a'..=b'z'),
            Self::Upper => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
            Self::Base32 => matches!(byte, b'2'..=b'7' | b'A'..=b'Z'),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Token => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::AnyBase64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'),
            Self::Uuid => byte.is_ascii_hexdigit() || byte == b'-',
            Self::Visible => byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b'`'),
        }
    }

    /// Whether the whole value, of a length within `len`, is of this kind.
    pub(super) fn covers(self, value: &[u8], len: (usize, usize)) -> bool {
        (len.0..=len.1).contains(&value.len())
            && value.iter().all(|&byte| self.contains(byte))
            && (self != Self::Uuid || super::filter::is_uuid(value))
    }
}
