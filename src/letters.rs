//! Letters that act where they are shown: they move a cursor, hide text or put it in another order.

use std::fmt::Write as _;

use serde_json::Value;

/// Characters that hide or reorder text. Joiners stay: emoji and several scripts need them.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'
        | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// The letter as it may stand on a line of a terminal: a file name or a model must not draw there.
pub fn inert(letter: char) -> char {
    if letter.is_control() || is_hidden(letter) { ' ' } else { letter }
}

/// A JSON document for stdout: such letters, which can only stand in its strings, are escaped.
pub fn document(value: &Value) -> String {
    let mut text = String::new();
    let mut units = [0; 2];
    for letter in format!("{value:#}\n").chars() {
        if letter == '\n' || !is_hidden(letter) {
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut units) {
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_draws_or_reorders_becomes_a_space_and_what_is_read_stays() {
        for letter in ['\u{1b}', '\u{7}', '\n', '\t', '\u{9b}', '\u{202e}', '\u{2066}', '\u{e0041}'] {
            assert_eq!(inert(letter), ' ', "{letter:?}");
        }
        for letter in ['a', 'ü', '漢', '\u{200d}', '👩', '"'] {
            assert_eq!(inert(letter), letter);
        }
    }

    #[test]
    fn a_document_says_the_same_with_its_hidden_letters_escaped() {
        let value = Value::from("a\u{202e}b\u{e0041}ü\n\u{9b}");
        let text = document(&value);
        assert_eq!(text, "\"a\\u202eb\\udb40\\udc41ü\\n\\u009b\"\n");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
