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
        let Shape::Pattern { regex, .. } = &self.rule.shape else {
            return None;
        };
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

/// All words and rules of the program.
#[derive(Debug)]
pub(super) struct Vocabulary {
    words: Index,
    /// Names of vendors, without separators.
    vendors: Index,
    pub(super) rules: Vec<Loaded>,
}

impl Vocabulary {
    /// The one vocabulary of the program, built when first asked for.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<Vocabulary> = OnceLock::new();
        SHARED.get_or_init(Self::build)
    }

    fn build() -> Self {
        let all = rules::RULES
            .iter()
            .flat_map(|group| group.iter())
            .chain(contexts::RULES.iter().flat_map(|group| group.iter()));
        let rules = all.map(|rule| Loaded { rule, regex: OnceLock::new(), allow: OnceLock::new() }).collect();
        let mut built = Self { words: Index::new(), vendors: Index::new(), rules };
        for index in 0..built.rules.len() {
            built.add_rule(index as u16);
        }
        for word in names::TRIGGERS {
            built.words.add(word.as_bytes(), Action::Assign);
        }
        for (word, action) in [
            (&b"://"[..], Action::Url),
            (b"@tcp(", Action::Url),
            (b"@unix(", Action::Url),
            (b"-----", Action::Dashes),
            (b"private-lines", Action::Dashes),
            (b"kind", Action::Manifest),
            (b"data:", Action::Manifest),
            (b"data\"", Action::Manifest),
        ] {
            built.words.add(word, action);
        }
        built.words.flatten();
        built.vendors.flatten();
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
                    let squeezed: Vec<u8> = word.bytes().filter(|&byte| !is_separator(byte)).collect();
                    self.vendors.add(&squeezed, Action::Assigned(index));
                }
            }
            Shape::Pattern { keywords, .. } => {
                for word in *keywords {
                    self.words.add(word.as_bytes(), Action::Pattern(index));
                }
            }
        }
    }

    /// A prefix of two bytes is entered once for every byte that may follow it.
    fn add_prefix(&mut self, prefix: &[u8], body: Charset, index: u16) {
        if prefix.len() >= 3 {
            self.words.add(&prefix.to_ascii_lowercase(), Action::Prefixed(index));
            return;
        }
        for next in (0..128_u8).filter(|&byte| {
            body.contains(byte) && !byte.is_ascii_uppercase() || body.contains(byte.to_ascii_uppercase())
        }) {
            let mut word = prefix.to_ascii_lowercase();
            word.push(next.to_ascii_lowercase());
            self.words.add(&word, Action::Prefixed(index));
        }
    }

    /// Adds a hit for every word in the line that [`pad`] prepared, by position.
    pub(super) fn find(&self, padded: &[u8], hits: &mut Vec<Hit>) {
        self.words.find(padded, |at, action| hits.push(Hit { at, action }));
    }

    /// Adds a hit for every vendor named in the line that [`pad`] prepared, whatever separates the parts of the name.
    pub(super) fn find_vendors(&self, padded: &[u8], squeezed: &mut Squeezed, hits: &mut Vec<Hit>) {
        squeezed.fill(padded);
        self.vendors.find(&squeezed.bytes, |at, action| hits.push(Hit { at: squeezed.places[at] as usize, action }));
    }
}

/// A line without separators, and where its bytes were.
#[derive(Debug, Default)]
pub(super) struct Squeezed {
    bytes: Vec<u8>,
    places: Vec<u32>,
}

impl Squeezed {
    fn fill(&mut self, padded: &[u8]) {
        self.bytes.clear();
        self.bytes.resize(padded.len(), 0);
        self.places.clear();
        self.places.resize(padded.len(), 0);
        let mut kept = 0;
        for (at, &byte) in padded.iter().enumerate() {
            self.bytes[kept] = byte;
            self.places[kept] = at as u32;
            kept += usize::from(!is_separator(byte));
        }
        self.bytes.truncate(kept);
    }
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b'_' | b'-' | b'.' | b' ')
}

#[derive(Debug)]
struct Word {
    /// The first eight bytes as a number, and which of its bits count.
    head: u64,
    mask: u64,
    text: Vec<u8>,
    action: Action,
    /// The next word with the same hash.
    next: u16,
}

/// Words by a hash of their first three bytes: a bit set says where a word may start, a table which.
#[derive(Debug)]
struct Index {
    bits: Box<Bits>,
    /// Words of four bytes or more also by those, words of three again by their own: few places pass both tests.
    fours: Box<Bits>,
    threes: Box<Bits>,
    heads: Vec<u16>,
    words: Vec<Word>,
    /// The chains one after the other, so that a look at one touches one place of memory; `starts` says where each begins.
    flat: Vec<Flat>,
    starts: Vec<u16>,
}

/// What of a word is compared first.
#[derive(Debug)]
struct Flat {
    head: u64,
    mask: u64,
    word: u16,
}

const BITS: u32 = 16;
const HEAD_BITS: u32 = 12;
const NONE: u16 = u16::MAX;
const STEP: usize = 8;
/// Bytes after the text that searches may read.
const MARGIN: usize = 16;

impl Index {
    fn new() -> Self {
        let empty = || Box::new([0; 1 << (BITS - 6)]);
        Self {
            bits: empty(),
            fours: empty(),
            threes: empty(),
            heads: vec![NONE; 1 << HEAD_BITS],
            words: Vec::with_capacity(2048),
            flat: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Lays the chains out; nothing is added after it.
    fn flatten(&mut self) {
        for &first in &self.heads {
            self.starts.push(self.flat.len() as u16);
            let mut next = first;
            while let Some(word) = self.words.get(usize::from(next)) {
                self.flat.push(Flat { head: word.head, mask: word.mask, word: next });
                next = word.next;
            }
        }
        self.starts.push(self.flat.len() as u16);
    }

    fn add(&mut self, text: &[u8], action: Action) {
        let [first, second, third, ..] = *text else {
            return;
        };
        let slot = hash(u32::from_le_bytes([first, second, third, 0]));
        let chain = slot >> (BITS - HEAD_BITS);
        if self.words.len() >= usize::from(NONE)
            || self.chain(chain).any(|word| word.text == text && word.action == action)
        {
            return;
        }
        let mut head = [0; 8];
        let length = text.len().min(8);
        head[..length].copy_from_slice(&text[..length]);
        let mask = u64::MAX >> (64 - 8 * length);
        self.bits[slot >> 6] |= 1 << (slot & 63);
        match text.get(3) {
            Some(&fourth) => {
                let four = hash_four(u32::from_le_bytes([first, second, third, fourth]));
                self.fours[four >> 6] |= 1 << (four & 63);
            }
            None => self.threes[slot >> 6] |= 1 << (slot & 63),
        }
        self.words.push(Word {
            head: u64::from_le_bytes(head),
            mask,
            text: text.to_vec(),
            action,
            next: self.heads[chain],
        });
        self.heads[chain] = (self.words.len() - 1) as u16;
    }

    fn chain(&self, slot: usize) -> impl Iterator<Item = &Word> {
        let mut next = self.heads[slot];
        std::iter::from_fn(move || {
            let word = self.words.get(usize::from(next))?;
            next = word.next;
            Some(word)
        })
    }

    /// Calls `each` for every word in `padded`, which ends with [`MARGIN`] zeros.
    fn find(&self, padded: &[u8], mut each: impl FnMut(usize, Action)) {
        let mut at = 0;
        while let Some(window) =
            padded.get(at..at + STEP + 3).and_then(|window| <&[u8; STEP + 3]>::try_from(window).ok())
        {
            let mut marks = 0_u32;
            for step in 0..STEP {
                let four = u32::from_le_bytes([window[step], window[step + 1], window[step + 2], window[step + 3]]);
                marks |= get(&self.bits, hash(four & 0x00FF_FFFF)) << step;
            }
            while marks != 0 {
                self.words_at(padded, at + marks.trailing_zeros() as usize, &mut each);
                marks &= marks - 1;
            }
            at += STEP;
        }
    }

    fn words_at(&self, padded: &[u8], at: usize, each: &mut impl FnMut(usize, Action)) {
        let Some(here) = padded.get(at..at + 8).and_then(|head| <[u8; 8]>::try_from(head).ok()).map(u64::from_le_bytes)
        else {
            return;
        };
        let slot = hash(here as u32 & 0x00FF_FFFF);
        if get(&self.fours, hash_four(here as u32)) | get(&self.threes, slot) == 0 {
            return;
        }
        let chain = slot >> (BITS - HEAD_BITS);
        let range = usize::from(self.starts[chain])..usize::from(self.starts[chain + 1]);
        for flat in self.flat[range].iter().filter(|flat| here & flat.mask == flat.head) {
            let word = &self.words[usize::from(flat.word)];
            if word.text.len() <= 8 || padded[at..].starts_with(&word.text) {
                each(at, word.action);
            }
        }
    }
}

/// A fixed length spares the search its bounds checks.
type Bits = [u64; 1 << (BITS - 6)];

#[inline]
fn get(bits: &Bits, slot: usize) -> u32 {
    (bits[(slot >> 6) & ((1 << (BITS - 6)) - 1)] >> (slot & 63)) as u32 & 1
}

#[inline]
fn hash_four(packed: u32) -> usize {
    (packed.wrapping_mul(0x85EB_CA6B) >> (32 - BITS)) as usize
}

#[inline]
fn hash(packed: u32) -> usize {
    (packed.wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}

/// Fills `padded` with the text, lower-cased, and the margin that searches need.
pub(super) fn pad(text: &[u8], padded: &mut Vec<u8>) {
    padded.clear();
    padded.reserve(text.len() + MARGIN);
    padded.extend_from_slice(text);
    padded.make_ascii_lowercase();
    padded.extend_from_slice(&[0; MARGIN]);
}

impl Charset {
    /// Whether a secret of this kind may hold the byte.
    pub(super) fn contains(self, byte: u8) -> bool {
        match self {
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
