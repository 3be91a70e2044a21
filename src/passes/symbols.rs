//! Names that a change defines and names that it uses, read from its lines without a parser for each language.

use std::collections::{BTreeMap, HashSet};

use crate::diff::{FileDiff, Line, LineKind};

/// Words that stand before the name of what a line defines.
const KEYWORDS: &[&str] = &[
    "fn",
    "def",
    "class",
    "func",
    "function",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "const",
    "static",
    "module",
    "mod",
    "let",
    "var",
    "val",
    "fun",
    "table",
    "macro_rules!",
    "namespace",
    "object",
    "message",
    "service",
];
/// A shorter name is found everywhere.
const SHORTEST: usize = 4;
/// Most names that are kept of one file.
const MOST: usize = 400;
/// Most names that are told of one file.
const TOLD: usize = 8;

/// The names that changed lines of a file define.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Symbols {
    /// On which sides: removed, added.
    sides: BTreeMap<String, (bool, bool)>,
}

impl Symbols {
    pub(super) fn of(file: &FileDiff<'_>) -> Self {
        let mut symbols = Self::default();
        for line in file.hunks.iter().flat_map(|hunk| hunk.lines()).filter(|line| line.kind != LineKind::Context) {
            let Some(name) = defined(line.content) else { continue };
            if symbols.sides.len() >= MOST && !symbols.sides.contains_key(name) {
                continue;
            }
            let sides = symbols.sides.entry(name.to_owned()).or_default();
            match line.kind {
                LineKind::Removed => sides.0 = true,
                _ => sides.1 = true,
            }
        }
        symbols
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.sides.keys().map(String::as_str)
    }

    /// What the file does to those of its names that are used.
    pub(super) fn touched(&self, used: &HashSet<&str>) -> Vec<String> {
        let touched = self.sides.iter().filter(|(name, _)| used.contains(name.as_str()));
        let told = touched.take(TOLD).map(|(name, sides)| {
            let does = match sides {
                (true, true) => "changes",
                (true, false) => "removes",
                _ => "adds",
            };
            format!("{does} {name}")
        });
        told.collect()
    }
}

/// Every name in the lines of a file's diff, context included.
pub(super) fn words<'a>(file: &FileDiff<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines: Vec<Line<'a>> = file.hunks.iter().flat_map(|hunk| hunk.lines()).collect();
    lines.into_iter().flat_map(|line| names(line.content))
}

fn names(line: &[u8]) -> impl Iterator<Item = &str> {
    line.split(|byte| !is_part(*byte))
        .filter(|word| word.len() >= SHORTEST && !word[0].is_ascii_digit())
        .filter_map(|word| std::str::from_utf8(word).ok())
}

/// The name that a line defines, behind a keyword that says so.
fn defined(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line.get(..line.len().min(300))?).ok()?;
    let mut words = line.split([' ', '\t', '(', ':', '<', '{', '=']).filter(|word| !word.is_empty());
    words.by_ref().take(6).find(|word| KEYWORDS.contains(word))?;
    let name = words.find(|word| !KEYWORDS.contains(word) && *word != "mut")?;
    let name = name.split(|c: char| !c.is_ascii() || !is_part(c as u8)).next()?;
    (name.len() >= SHORTEST && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_read_from_lines_of_many_languages() {
        for (line, name) in [
            ("pub(crate) async fn charge(card: &Card) {", Some("charge")),
            ("    def refund(self, charge):", Some("refund")),
            ("export default class PaymentForm extends Form {", Some("PaymentForm")),
            ("func (s *Server) Handle(w http.ResponseWriter) {", None),
            ("func Handle(w http.ResponseWriter) {", Some("Handle")),
            ("const MAX_RETRIES = 3;", Some("MAX_RETRIES")),
            ("let mut total = 0;", Some("total")),
            ("message ChargeRequest {", Some("ChargeRequest")),
            ("return charge(card)", None),
            ("fn ab() {", None),
            ("class 4four", None),
            ("", None),
        ] {
            assert_eq!(defined(line.as_bytes()), name, "{line}");
        }
    }
}
