//! Characters that a reader of the code cannot see, or that make it read otherwise than it runs.

use crate::contracts::Severity;

/// A hidden character of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Counts characters from 1.
    pub(super) column: usize,
    pub(super) character: char,
    pub(super) kind: Kind,
}

/// What a hidden character does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Drives a terminal or ends a string early.
    Control,
    /// Takes no room.
    Invisible,
    /// Changes the order in which the text is shown.
    Bidirectional,
}

impl Kind {
    pub(super) fn severity(self) -> Severity {
        match self {
            Self::Bidirectional => Severity::High,
            Self::Invisible | Self::Control => Severity::Medium,
        }
    }
}

/// The hidden characters of a line. Prose and translations may hold what languages need; code may not. `first` is true
/// for the first line of a file, which may begin with a byte order mark.
pub(super) fn hidden(line: &str, is_prose: bool, first: bool) -> Vec<Hidden> {
    if line.is_ascii() && !line.bytes().any(|byte| is_control(char::from(byte))) {
        return Vec::new();
    }
    let chars: Vec<char> = line.chars().collect();
    let mut found = Vec::new();
    for (index, &character) in chars.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(index + 1).copied();
        let is_mark = first && index == 0 && character == '\u{feff}';
        if let Some(kind) = kind(character, before, after, is_prose).filter(|_| !is_mark) {
            found.push(Hidden { column: index + 1, character, kind });
        }
    }
    if chars.contains(&'\u{1f3f4}') {
        found.retain(|hidden| !is_tag(hidden.character));
    }
    found
}

/// The character's name, where it has one that says what it does.
pub(super) fn name(character: char) -> &'static str {
    match character {
        '\0' => "NULL",
        '\u{8}' => "BACKSPACE",
        '\u{1b}' => "ESCAPE",
        '\u{7f}' => "DELETE",
        '\u{ad}' => "SOFT HYPHEN",
        '\u{61c}' => "ARABIC LETTER MARK",
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => "HANGUL FILLER",
        '\u{180e}' => "MONGOLIAN VOWEL SEPARATOR",
        '\u{200b}' => "ZERO WIDTH SPACE",
        '\u{200c}' => "ZERO WIDTH NON-JOINER",
        '\u{200d}' => "ZERO WIDTH JOINER",
        '\u{200e}' => "LEFT-TO-RIGHT MARK",
        '\u{200f}' => "RIGHT-TO-LEFT MARK",
        '\u{2028}' => "LINE SEPARATOR",
        '\u{2029}' => "PARAGRAPH SEPARATOR",
        '\u{202a}' => "LEFT-TO-RIGHT EMBEDDING",
        '\u{202b}' => "RIGHT-TO-LEFT EMBEDDING",
        '\u{202c}' => "POP DIRECTIONAL FORMATTING",
        '\u{202d}' => "LEFT-TO-RIGHT OVERRIDE",
        '\u{202e}' => "RIGHT-TO-LEFT OVERRIDE",
        '\u{2060}'..='\u{2064}' => "INVISIBLE JOINER OR OPERATOR",
        '\u{2066}' => "LEFT-TO-RIGHT ISOLATE",
        '\u{2067}' => "RIGHT-TO-LEFT ISOLATE",
        '\u{2068}' => "FIRST STRONG ISOLATE",
        '\u{2069}' => "POP DIRECTIONAL ISOLATE",
        '\u{feff}' => "ZERO WIDTH NO-BREAK SPACE",
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => "VARIATION SELECTOR",
        '\u{e0000}'..='\u{e007f}' => "TAG CHARACTER",
        _ => "CONTROL CHARACTER",
    }
}

fn kind(character: char, before: Option<char>, after: Option<char>, is_prose: bool) -> Option<Kind> {
    match character {
        '\u{202d}' | '\u{202e}' => Some(Kind::Bidirectional),
        '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' => (!is_prose).then_some(Kind::Bidirectional),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            (!is_prose && beside_ascii(before, after)).then_some(Kind::Bidirectional)
        }
        '\u{200c}' | '\u{200d}' | '\u{ad}' => (!is_prose && beside_ascii(before, after)).then_some(Kind::Invisible),
        '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}' | '\u{180e}' | '\u{feff}' => {
            (!is_prose).then_some(Kind::Invisible)
        }
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => Some(Kind::Invisible),
        // One selector dresses the sign before it; a chain of them carries a message.
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            before.is_some_and(is_selector).then_some(Kind::Invisible)
        }
        c if is_tag(c) => Some(Kind::Invisible),
        c if is_control(c) => Some(Kind::Control),
        _ => None,
    }
}

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\r' | '\u{c}')
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Joiners and marks belong between letters of some scripts; next to ASCII on both sides they serve nobody.
fn beside_ascii(before: Option<char>, after: Option<char>) -> bool {
    let ascii = |neighbour: Option<char>| neighbour.is_none_or(|c| c.is_ascii());
    ascii(before) && ascii(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_found_in_code_and_what_languages_need_is_left_alone() {
        type Row = (&'static str, bool, &'static [(usize, Kind)]);
        let rows: &[Row] = &[
            ("plain ascii\twith a tab\r", false, &[]),
            ("café – naïve 日本語 שלום", false, &[]),
            (
                "if access != \u{202e}\"admin\u{2066}\" {",
                false,
                &[(14, Kind::Bidirectional), (21, Kind::Bidirectional)],
            ),
            ("is\u{200b}Admin", false, &[(3, Kind::Invisible)]),
            ("is\u{200d}Admin", false, &[(3, Kind::Invisible)]),
            ("\"👩\u{200d}💻 codes\"", false, &[]),
            ("می\u{200c}خواهم", false, &[]),
            ("text with \u{200b} in prose", true, &[]),
            ("\u{2067}rtl\u{2069} in prose", true, &[]),
            ("an override \u{202e} in prose", true, &[(13, Kind::Bidirectional)]),
            ("const \u{3164} = 1", false, &[(7, Kind::Invisible)]),
            ("\u{1b}[2J", false, &[(1, Kind::Control)]),
            ("a\u{0}b", false, &[(2, Kind::Control)]),
            ("page\u{c}break", false, &[]),
            ("❤\u{fe0f} once", false, &[]),
            ("x\u{fe01}\u{fe02}", false, &[(3, Kind::Invisible)]),
            ("🏴\u{e0067}\u{e0062}\u{e007f}", false, &[]),
            ("hi\u{e0067}\u{e0062}", false, &[(3, Kind::Invisible), (4, Kind::Invisible)]),
            ("mid\u{feff}dle", false, &[(4, Kind::Invisible)]),
        ];
        for (line, is_prose, expected) in rows {
            let found: Vec<_> = hidden(line, *is_prose, false).iter().map(|hit| (hit.column, hit.kind)).collect();
            assert_eq!(&found, expected, "{line:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_may_begin_a_file_but_not_another_line() {
        assert!(hidden("\u{feff}using System;", false, true).is_empty());
        assert_eq!(hidden("\u{feff}using System;", false, false).len(), 1);
    }
}
