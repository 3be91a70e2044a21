//! Picks the few lines of a text that are worth reading, at memory speed.

use std::sync::OnceLock;

use super::rule::Shape;
use super::{chance, contexts, rules, token};

/// Words that can stand beside a short secret. Lower-case; the contexts' own words are added to them.
#[rustfmt::skip]
static WORDS: &[&str] = &[
    "pass", " pw:", " pw ", "pw is", "pwd", "secret", "token", "key", "auth", "cred", "psk", "://", "-----", "_pw", "dbpw",
    "bindpw", "rootpw", "userpw", "senha", "kennwort", "bearer", "cookie", "contrase", "mdp",
    "haslo", "hasło", "dsn", "contribsys", "@tcp(", "@unix(", "private-lines", "assword", "_salt", "%3d",
    "%3a", "%22", "\u{be44}\u{bc00}\u{bc88}\u{d638}", "密码", "口令", "пароль", "パスワード", "wachtwoord",
    "parola", "heslo", "salasana", "stringdata", "data:", "\u{200b}", "\u{200c}", "\u{200d}", "\u{2060}", "\u{feff}",
];

/// The shortest run of token characters that makes a line a candidate by itself.
const RUN: usize = 16;

/// Walks the places of a block that make their line a candidate.
#[derive(Debug)]
pub(super) struct Candidates<'a> {
    bytes: &'a [u8],
    words: &'static Words,
    word: Option<usize>,
    run: Option<usize>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, words: Words::shared(), word: Some(0), run: Some(0) }
    }

    /// The first such place at or after `from`. `from` must not go back.
    pub(super) fn next_from(&mut self, from: usize) -> Option<usize> {
        if self.word.is_some_and(|at| at <= from) {
            self.word = self.words.next(self.bytes, from);
        }
        if self.run.is_some_and(|at| at <= from) {
            self.run = next_run(self.bytes, from);
        }
        match (self.word, self.run) {
            (Some(word), Some(run)) => Some(word.min(run)),
            (word, run) => word.or(run),
        }
    }
}

/// A set of words, found at every second byte by a bit set over hashes of three bytes: of each word two neighbouring triples are
/// known, its rarest, so that one of them stands at a byte that is looked at.
#[derive(Debug)]
struct Words {
    bits: Box<Bits>,
    /// The four bytes that both triples of a word are part of: what tells `pass` from `class`.
    fours: Box<Bits>,
    /// The words by the upper bits of the same hash, as places in `words`.
    starts: Vec<u16>,
    words: Vec<Word>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    slot: usize,
    text: Vec<u8>,
    /// Where in the word the triple stands; -1 for a triple that starts one byte before it.
    offset: i8,
    /// A prefix: it counts only as it is written, at the start of a word.
    is_prefix: bool,
}

const BITS: u32 = 16;
const START_BITS: u32 = 12;
/// A fixed length spares the search its bounds checks.
type Bits = [u64; 1 << (BITS - 6)];
/// Folds the case of letters; other bytes may fall together, which the comparison sorts out.
const FOLD: u32 = 0x0020_2020;
const STEPS: usize = 8;

impl Words {
    fn shared() -> &'static Self {
        static SHARED: OnceLock<Words> = OnceLock::new();
        SHARED.get_or_init(Self::build)
    }

    fn build() -> Self {
        let mut built = Self {
            bits: Box::new([0; 1 << (BITS - 6)]),
            fours: Box::new([0; 1 << (BITS - 6)]),
            starts: Vec::new(),
            words: Vec::new(),
        };
        let mut words: Vec<&'static [u8]> = WORDS.iter().map(|word| word.as_bytes()).collect();
        for rule in contexts::RULES.iter().flat_map(|group| group.iter()) {
            if let Shape::Pattern { keywords, .. } = &rule.shape {
                words.extend(keywords.iter().map(|word| word.as_bytes()));
            }
        }
        // Hosts that hand out short secrets in a path.
        for rule in rules::RULES.iter().flat_map(|group| group.iter()) {
            if let Shape::Pattern { keywords, .. } = &rule.shape {
                let hosts = keywords.iter().map(|word| word.as_bytes());
                words.extend(hosts.filter(|word| word.len() >= 6 && word.contains(&b'.')));
            }
        }
        words.sort_unstable_by_key(|word| word.len());
        let mut kept: Vec<&[u8]> = Vec::new();
        for word in words {
            if !kept.iter().any(|shorter| word.windows(shorter.len()).any(|part| part == *shorter)) {
                kept.push(word);
                built.add(word, false);
            }
        }
        // A token may have no digit by chance; its prefix, at the start of a word, is rare enough to go by.
        for rule in rules::RULES.iter().flat_map(|group| group.iter()) {
            if let Shape::Prefixed { prefixes, .. } = &rule.shape {
                prefixes
                    .iter()
                    .map(|prefix| prefix.as_bytes())
                    .filter(|prefix| is_rare(prefix))
                    .for_each(|prefix| built.add(prefix, true));
            }
        }
        built.words.sort();
        built.words.dedup();
        built.starts = (0..=1 << START_BITS)
            .map(|start| built.words.partition_point(|word| word.slot >> (BITS - START_BITS) < start) as u16)
            .collect();
        built
    }

    fn add(&mut self, word: &[u8], is_prefix: bool) {
        if let [a, b, c] = *word {
            for other in (0..=u8::MAX).filter(|other| other & 0xA0 == 0x20) {
                // The rarer pair of the word, with any byte on the other side.
                let (four, offset) =
                    if rarity(&[b, c]) >= rarity(&[a, b]) { ([a, b, c, other], 0) } else { ([other, a, b, c], -1) };
                self.mark(four, word, offset, is_prefix);
            }
            return;
        }
        let rarest = (0..word.len().saturating_sub(3)).max_by_key(|&at| rarity(&word[at..at + 4]));
        if let Some(at) = rarest {
            self.mark([word[at], word[at + 1], word[at + 2], word[at + 3]], word, at as i8, is_prefix);
        }
    }

    /// Enters a word by four bytes of it, which start at `offset`.
    fn mark(&mut self, [a, b, c, d]: [u8; 4], word: &[u8], offset: i8, is_prefix: bool) {
        set(&mut self.fours, hash_four(u32::from_le_bytes([a, b, c, d])));
        for (triple, offset) in [([a, b, c, 0], offset), ([b, c, d, 0], offset + 1)] {
            let slot = hash(u32::from_le_bytes(triple));
            set(&mut self.bits, slot);
            self.words.push(Word { slot, text: word.to_vec(), offset, is_prefix });
        }
    }

    /// Where the next word starts.
    fn next(&self, bytes: &[u8], from: usize) -> Option<usize> {
        const WINDOW: usize = 2 * STEPS + 2;
        let mut at = from;
        // Eight places at a time, with one branch for all of them.
        while let Some(window) = bytes.get(at..at + WINDOW).and_then(|window| <&[u8; WINDOW]>::try_from(window).ok()) {
            let mut marks = 0;
            for step in 0..STEPS {
                let four = u32::from_le_bytes([
                    window[2 * step],
                    window[2 * step + 1],
                    window[2 * step + 2],
                    window[2 * step + 3],
                ]);
                marks |= get(&self.bits, hash(four & 0x00FF_FFFF)) << step;
            }
            while marks != 0 {
                let place = at + 2 * marks.trailing_zeros() as usize;
                if self.is_likely(bytes, place)
                    && let Some(start) = self.word_at(bytes, place, from)
                {
                    return Some(start);
                }
                marks &= marks - 1;
            }
            at += 2 * STEPS;
        }
        (at..bytes.len()).find_map(|place| self.word_at(bytes, place, from))
    }

    /// Whether the four bytes at or before `place` start like a word.
    #[inline]
    fn is_likely(&self, bytes: &[u8], place: usize) -> bool {
        let four = |at: usize| {
            bytes
                .get(at..at + 4)
                .and_then(|four| <[u8; 4]>::try_from(four).ok())
                .map_or(1, |four| get(&self.fours, hash_four(u32::from_le_bytes(four))))
        };
        four(place) | place.checked_sub(1).map_or(0, four) != 0
    }

    /// The start of the word whose triple stands at `place`. At the end of the text, a word of three bytes lacks its neighbour.
    #[inline(never)]
    fn word_at(&self, bytes: &[u8], place: usize, from: usize) -> Option<usize> {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
        let slot = hash(u32::from_le_bytes([byte(place), byte(place + 1), byte(place + 2), 0]));
        let start = slot >> (BITS - START_BITS);
        let range = usize::from(self.starts[start])..usize::from(self.starts[start + 1]);
        self.words[range].iter().filter(|word| word.slot == slot).find_map(|word| {
            let start = place.checked_add_signed(-isize::from(word.offset))?;
            let here = bytes.get(start..start + word.text.len()).filter(|_| start >= from)?;
            let found = if word.is_prefix {
                here == word.text && token::is_boundary(bytes, start)
            } else {
                here.eq_ignore_ascii_case(&word.text)
            };
            (found && !(word.text == b"://" && is_plain_url(bytes, start))).then_some(start)
        })
    }
}

/// A URL without `@` has no credentials, one without `%` hides none, and they are many.
fn is_plain_url(bytes: &[u8], start: usize) -> bool {
    const REACH: usize = 1024;
    let window = &bytes[start..bytes.len().min(start + REACH)];
    match memchr::memchr3(b'@', b'%', b'\n', window) {
        Some(at) => window[at] == b'\n',
        None => window.len() < REACH,
    }
}

/// How rare some neighbouring bytes are in code and prose.
fn rarity(bytes: &[u8]) -> u32 {
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    (chance::surprise(bytes) * 16.0) as u32 + 40 * (bytes.len() - letters) as u32
}

/// Whether a prefix has letters that seldom meet, so that its triples are not all over the text.
fn is_rare(prefix: &[u8]) -> bool {
    prefix.len() >= 4 && prefix.windows(4).any(|four| four.windows(3).all(|triple| rarity(triple) >= 84))
}

#[inline]
fn get(bits: &Bits, slot: usize) -> u32 {
    (bits[(slot >> 6) & ((1 << (BITS - 6)) - 1)] >> (slot & 63)) as u32 & 1
}

fn set(bits: &mut Bits, slot: usize) {
    bits[slot >> 6] |= 1 << (slot & 63);
}

#[inline]
fn hash_four(four: u32) -> usize {
    ((four | 0x2020_2020).wrapping_mul(0x85EB_CA6B) >> (32 - BITS)) as usize
}

#[inline]
fn hash(triple: u32) -> usize {
    ((triple | FOLD).wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}

/// The longest runs of token characters on a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs {
    /// The longest at all: encoded text needs a long one.
    pub(super) longest: usize,
    /// Whether one can be a drawn value.
    pub(super) has_token: bool,
}

/// Measures the runs of a line.
pub(super) fn runs(line: &[u8]) -> Runs {
    const SHORTEST: usize = 10;
    let mut runs = Runs { longest: 0, has_token: false };
    let mut start = 0;
    for end in 0..=line.len() {
        if line.get(end).is_some_and(|&byte| IS_TOKEN[usize::from(byte)]) {
            continue;
        }
        let length = end - start;
        if length >= SHORTEST {
            runs.longest = runs.longest.max(length);
            runs.has_token = runs.has_token || is_mixed(&line[start..end]);
        }
        start = end + 1;
    }
    runs
}

/// The next run of at least 16 token characters that holds a digit, or a separator between mixed cases.
fn next_run(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    // The token characters of the last 15 bytes before `at`, as bits.
    let mut carry = 0_u128;
    'blocks: while let Some(block) = bytes.get(at..at + BLOCK).and_then(|block| <&[u8; BLOCK]>::try_from(block).ok()) {
        let joined = u128::from(token_mask(block)) << (RUN - 1) | carry;
        let mut runs = starts_of_runs(joined);
        while runs != 0 {
            let inside = at + runs.trailing_zeros() as usize - (RUN - 1);
            let (start, end) = run_around(bytes, inside, from);
            if end - start >= RUN && is_mixed(&bytes[start..end]) {
                return Some(start);
            }
            if end >= at + BLOCK {
                // The rest of a long run has been looked at, so it is not looked at again block by block.
                at = end;
                carry = 0;
                continue 'blocks;
            }
            runs &= u128::MAX << (end + RUN - at);
        }
        carry = joined >> BLOCK;
        at += BLOCK;
    }
    slow_run(bytes, at.saturating_sub(RUN).max(from), from)
}

/// The end of a text, byte by byte.
fn slow_run(bytes: &[u8], mut at: usize, from: usize) -> Option<usize> {
    while at < bytes.len() {
        if !IS_TOKEN[usize::from(bytes[at])] {
            at += 1;
            continue;
        }
        let (start, end) = run_around(bytes, at, from);
        if end - start >= RUN && is_mixed(&bytes[start..end]) {
            return Some(start);
        }
        at = end + 1;
    }
    None
}

fn run_around(bytes: &[u8], inside: usize, from: usize) -> (usize, usize) {
    let start =
        bytes[from..inside].iter().rposition(|&byte| !IS_TOKEN[usize::from(byte)]).map_or(from, |at| from + at + 1);
    let end =
        bytes[inside..].iter().position(|&byte| !IS_TOKEN[usize::from(byte)]).map_or(bytes.len(), |at| inside + at);
    (start, end.max(start))
}

const BLOCK: usize = 64;

/// One bit for every byte that may belong to a token, eight bytes at a time. Brackets and the like count, too: who asks looks closer.
#[inline]
fn token_mask(block: &[u8; BLOCK]) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let mut mask = 0;
    for (index, chunk) in block.as_chunks::<8>().0.iter().enumerate() {
        let raw = u64::from_le_bytes(*chunk);
        let folded = (raw | (0x20 * ONES)) & !HIGH;
        let letter = folded + (0x80 - 0x61) * ONES;
        let digit = (folded + (0x80 - 0x30) * ONES) & !(folded + (0x80 - 0x3A) * ONES);
        let dash = !((folded ^ (0x2D * ONES)) + 0x7F * ONES);
        let token = (letter | digit | dash) & HIGH & !raw;
        mask |= ((token >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
    }
    mask
}

/// The bits from which on sixteen bits are set.
#[inline]
fn starts_of_runs(mask: u128) -> u128 {
    let two = mask & mask >> 1;
    let four = two & two >> 2;
    let eight = four & four >> 4;
    eight & eight >> 8
}

fn is_mixed(run: &[u8]) -> bool {
    let mut seen = 0_u8;
    for &byte in run {
        seen |= match byte {
            b'0'..=b'9' => 1,
            b'a'..=b'z' => 2,
            b'A'..=b'Z' => 4,
            _ => 8,
        };
    }
    seen & 1 != 0 && seen & 6 != 0 || seen == 14
}

static IS_TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' || byte as u8 == b'-';
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_wherever_it_stands_and_however_it_is_written() {
        for lead in 0..24 {
            for word in ["Password", "TOKEN", "://u@h", "key", "aPiKeY", "пароль"] {
                let text = format!("{}{word}", " ".repeat(lead));
                let found = Candidates::new(text.as_bytes()).next_from(0);
                assert!(found.is_some_and(|at| at >= lead), "{text:?}: {found:?}");
            }
        }
        assert_eq!(Candidates::new(b"nothing to see in this line of text").next_from(0), None);
    }

    #[test]
    fn a_run_of_token_characters_is_found() {
        assert_eq!(Candidates::new(b"x = f(abc0defghijklmnopq)").next_from(0), Some(6));
        assert_eq!(Candidates::new(b"x = f(abcdefghijklmnopqrst)").next_from(0), None);
        for lead in 0..200 {
            let text =
                format!("{}(abc0defghijklmno){}", " , x.y[z]".repeat(lead).split_at(lead).0, " ".repeat(lead % 70));
            assert_eq!(next_run(text.as_bytes(), 0), Some(lead + 1), "{text:?}");
        }
    }
}
