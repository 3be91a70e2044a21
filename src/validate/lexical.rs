//! Repairs the spelling of a complete JSON object: control characters, escapes and commas here, foreign quotes and
//! words by `jsonrepair`, whose work counts only when no text was lost.

use serde_json::Value;

/// Escapes raw control characters, doubles backslashes that escape nothing (`\d`), replaces lone surrogates, and drops
/// comments and trailing commas. Stops at the first quote that is not JSON's own: beyond it, what is a string is a guess.
pub(super) fn fix(object: &str) -> String {
    let mut out = String::with_capacity(object.len() + 64);
    let mut rest = object;
    while let Some(at) = rest.find(['"', ',', '/', '\'', '`', '“', '”', '‘', '’']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('"') {
            rest = fix_string(rest, &mut out);
        } else if let Some(after) = rest.strip_prefix(',') {
            if !skip_blank(after).starts_with(['}', ']']) {
                out.push(',');
            }
            rest = after;
        } else if let Some(after) = comment_end(rest) {
            rest = after;
        } else {
            break;
        }
    }
    out.push_str(rest);
    out
}

/// Lets `jsonrepair` guess, and takes the guess only when every significant character is still there, in order.
pub(super) fn repair(object: &str) -> Option<String> {
    const LIMIT: usize = 1024 * 1024;
    if object.len() > LIMIT {
        return None;
    }
    let said = significant(object)?;
    let repaired = jsonrepair_rs::jsonrepair(object).ok()?;
    let value = serde_json::from_str::<Value>(&repaired).ok()?;
    let rest = follow(&value, &said)?;
    rest.is_empty().then_some(repaired)
}

/// Blanks and comments at the start of a text, passed over.
fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        match comment_end(text) {
            Some(after) => text = after,
            None => return text,
        }
    }
}

fn comment_end(text: &str) -> Option<&str> {
    if let Some(body) = text.strip_prefix("//") {
        return Some(body.find('\n').map_or("", |end| &body[end..]));
    }
    let body = text.strip_prefix("/*")?;
    body.find("*/").map(|end| &body[end + 2..])
}

/// Copies the string at the start of `text` in valid spelling and returns what follows it.
fn fix_string<'a>(text: &'a str, out: &mut String) -> &'a str {
    out.push('"');
    let mut rest = &text[1..];
    while let Some(at) = rest.find(|c| matches!(c, '"' | '\\') || u32::from(c) < 0x20) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match rest.as_bytes()[0] {
            b'"' => {
                out.push('"');
                return &rest[1..];
            }
            b'\\' => rest = fix_escape(rest, out),
            b'\n' => rest = replace(rest, "\\n", out),
            b'\r' => rest = replace(rest, "\\r", out),
            b'\t' => rest = replace(rest, "\\t", out),
            control => rest = replace(rest, &format!("\\u{control:04x}"), out),
        }
    }
    out.push_str(rest);
    ""
}

fn replace<'a>(text: &'a str, with: &str, out: &mut String) -> &'a str {
    out.push_str(with);
    &text[1..]
}

fn fix_escape<'a>(text: &'a str, out: &mut String) -> &'a str {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    match text.as_bytes().get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
            out.push_str(&text[..2]);
            &text[2..]
        }
        Some(b'\'') => {
            out.push('\'');
            &text[2..]
        }
        _ => match unit(text) {
            Some(0xd800..=0xdbff) if unit(&text[6..]).is_some_and(|low| (0xdc00..=0xdfff).contains(&low)) => {
                out.push_str(&text[..12]);
                &text[12..]
            }
            Some(0xd800..=0xdfff) => {
                out.push_str("\\ufffd");
                &text[6..]
            }
            Some(_) => {
                out.push_str(&text[..6]);
                &text[6..]
            }
            None => {
                out.push_str("\\\\");
                &text[1..]
            }
        },
    }
}

/// What a text says, without the marks that JSON is made of; nothing when it has an escape that means nothing.
fn significant(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(c, &mut out);
            continue;
        }
        match chars.next()? {
            'b' | 'f' | 'n' | 'r' | 't' => {}
            c @ ('"' | '\'' | '\\' | '/') => push(c, &mut out),
            'u' => {
                let digits = chars.as_str().get(..4)?;
                // A half of a pair is no character; such texts are left to the agent.
                push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, &mut out);
                chars = chars.as_str()[4..].chars();
            }
            _ => return None,
        }
    }
    Some(out)
}

fn push(c: char, out: &mut String) {
    let is_mark =
        matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '\\' | '{' | '}' | '[' | ']' | ',' | ':' | '\u{feff}');
    if !is_mark && !c.is_whitespace() && !c.is_control() {
        out.push(c);
    }
}

/// Takes what a value says from the start of `said`, in order; nothing when it says something else.
fn follow<'a>(value: &Value, said: &'a str) -> Option<&'a str> {
    let any = |words: &[&str]| words.iter().find_map(|word| said.strip_prefix(word));
    match value {
        Value::Null => any(&["null", "None", "undefined"]),
        Value::Bool(true) => any(&["true", "True"]),
        Value::Bool(false) => any(&["false", "False"]),
        Value::Number(number) => said.strip_prefix(number.to_string().as_str()),
        Value::String(text) => follow_text(text, said),
        Value::Array(items) => items.iter().try_fold(said, |rest, item| follow(item, rest)),
        Value::Object(members) => {
            members.iter().try_fold(said, |rest, (key, member)| follow(member, follow_text(key, rest)?))
        }
    }
}

fn follow_text<'a>(text: &str, said: &'a str) -> Option<&'a str> {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push(c, &mut out));
    said.strip_prefix(out.as_str())
}
