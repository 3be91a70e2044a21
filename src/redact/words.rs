//! An identifier as words, without an allocation.

const BYTES: usize = 96;
const WORDS: usize = 24;

/// The words of an identifier, lower-cased: `dbPassword_2` is `db`, `password`, `2`.
pub(super) struct Words {
    bytes: [u8; BYTES],
    bounds: [(u8, u8); WORDS],
    count: usize,
}

/// The words as slices.
pub(super) struct Slices<'w> {
    items: [&'w [u8]; WORDS],
    count: usize,
}

impl Words {
    /// Of a longer name, the end counts.
    pub(super) fn of(name: &[u8]) -> Self {
        let mut words = Self { bytes: [0; BYTES], bounds: [(0, 0); WORDS], count: 0 };
        let name = &name[name.len().saturating_sub(BYTES)..];
        let mut start = 0;
        for (at, &byte) in name.iter().enumerate() {
            words.bytes[at] = byte.to_ascii_lowercase();
            if !(byte.is_ascii_alphanumeric() || byte >= 0x80) {
                words.push(start, at);
                start = at + 1;
            } else if at > start && is_hump(name[at - 1], byte, name.get(at + 1)) {
                words.push(start, at);
                start = at;
            }
        }
        words.push(start, name.len());
        words
    }

    fn push(&mut self, start: usize, end: usize) {
        if start < end && self.count < self.bounds.len() {
            self.bounds[self.count] = (start as u8, end as u8);
            self.count += 1;
        }
    }

    /// Drops what says nothing at the end of a name: `password_2`, `token1`, `api_key_prod`.
    pub(super) fn drop_suffixes(&mut self) {
        while self.count > 1 {
            let (start, end) = self.bounds[self.count - 1];
            let word = &self.bytes[usize::from(start)..usize::from(end)];
            if !(word.iter().all(u8::is_ascii_digit) || is_suffix(word)) {
                break;
            }
            self.count -= 1;
        }
        for (start, end) in &mut self.bounds[..self.count] {
            while *end > *start + 1 && self.bytes[usize::from(*end) - 1].is_ascii_digit() {
                *end -= 1;
            }
        }
    }

    pub(super) fn slices(&self) -> Slices<'_> {
        let mut items: [&[u8]; WORDS] = [&[]; WORDS];
        for (item, (start, end)) in items.iter_mut().zip(&self.bounds[..self.count]) {
            *item = &self.bytes[usize::from(*start)..usize::from(*end)];
        }
        Slices { items, count: self.count }
    }
}

impl<'w> std::ops::Deref for Slices<'w> {
    type Target = [&'w [u8]];

    fn deref(&self) -> &Self::Target {
        &self.items[..self.count]
    }
}

/// Whether a new word starts with `byte` in a name written in humps.
fn is_hump(before: u8, byte: u8, after: Option<&u8>) -> bool {
    let last_capital = before.is_ascii_uppercase() && after.is_some_and(u8::is_ascii_lowercase);
    byte.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit() || last_capital)
}

fn is_suffix(word: &[u8]) -> bool {
    matches!(
        word,
        b"prod"
            | b"dev"
            | b"test"
            | b"staging"
            | b"base"
            | b"value"
            | b"raw"
            | b"here"
            | b"str"
            | b"string"
            | b"plain"
            | b"default"
            | b"new"
            | b"old"
            | b"text"
    )
}
