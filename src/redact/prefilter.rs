//! Picks the few lines of a text that are worth reading, at memory speed.

use std::sync::OnceLock;

use aho_corasick::packed;

use super::scan;

/// Words that can stand beside a short secret. Lower-case; the contexts' own words are added to them.
pub(super) static WORDS: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "auth",
    "cred",
    "psk",
    "://",
    "-----",
    "_pw",
    "dbpw",
    "bindpw",
    "rootpw",
    "userpw",
    "senha",
    "kennwort",
    "bearer",
    "cookie",
    "contrase",
    "mdp",
    "haslo",
    "dsn",
    "contribsys",
    "akia",
    "@tcp(",
    "@unix(",
    "private-lines",
    "assword",
    "mot_de_passe",
    "\u{bc00}\u{bc88}\u{d638}",
    "密码",
    "口令",
    "пароль",
    "パスワード",
    "wachtwoord",
    "parola",
    "heslo",
    "salasana",
];

/// The shortest run of token characters that makes a line a candidate by itself.
const RUN: usize = 16;

/// Walks the places of a block that make their line a candidate.
pub(super) struct Candidates<'a> {
    bytes: &'a [u8],
    lower: &'a [u8],
    word: Option<usize>,
    run: Option<usize>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(bytes: &'a [u8], lower: &'a [u8]) -> Self {
        Self { bytes, lower, word: Some(0), run: Some(0) }
    }

    /// The first such place at or after `from`. `from` must not go back.
    pub(super) fn next_from(&mut self, from: usize) -> Option<usize> {
        if self.word.is_some_and(|at| at <= from) {
            self.word = next_word(self.lower, from);
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

enum Searcher {
    Packed(packed::Searcher),
    Automaton(aho_corasick::AhoCorasick),
    Nothing,
}

fn next_word(lower: &[u8], from: usize) -> Option<usize> {
    static SEARCHER: OnceLock<Searcher> = OnceLock::new();
    let searcher = SEARCHER.get_or_init(|| {
        let words = scan::short_words();
        if let Some(searcher) = packed::Config::new().builder().extend(words).build() {
            return Searcher::Packed(searcher);
        }
        aho_corasick::AhoCorasick::new(words).map_or(Searcher::Nothing, Searcher::Automaton)
    });
    match searcher {
        Searcher::Packed(searcher) => searcher.find_in(lower, (from..lower.len()).into()).map(|found| found.start()),
        Searcher::Automaton(searcher) => {
            searcher.find(aho_corasick::Input::new(lower).range(from..)).map(|found| found.start())
        }
        Searcher::Nothing => Some(from),
    }
}

/// The next run of at least 16 token characters that holds a digit, or a separator between mixed cases.
fn next_run(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let probe = at + RUN - 1;
        if probe >= bytes.len() {
            return None;
        }
        if !IS_TOKEN[usize::from(bytes[probe])] {
            at = probe + 1;
            continue;
        }
        let mut start = probe;
        while start > at && IS_TOKEN[usize::from(bytes[start - 1])] {
            start -= 1;
        }
        let mut end = probe + 1;
        while end < bytes.len() && IS_TOKEN[usize::from(bytes[end])] {
            end += 1;
        }
        if end - start >= RUN && is_mixed(&bytes[start..end]) {
            return Some(start);
        }
        at = end + 1;
    }
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
