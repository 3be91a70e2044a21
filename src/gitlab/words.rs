//! What an error answer says: GitLab has many shapes for it, and proxies have their own.

use serde_json::Value;

use crate::error::clip_words;

/// Most characters of an answer that are kept.
const MOST: usize = 500;

/// The words of an error answer, whatever its shape, on one line.
pub(super) fn error_words(content_type: &str, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words = match serde_json::from_slice::<Value>(body) {
        Ok(value) => json_words(&value).unwrap_or_else(|| text.clone().into_owned()),
        Err(_) if is_page(content_type, &text) => page_words(&text),
        Err(_) => text.into_owned(),
    };
    clip_words(&words.split_whitespace().collect::<Vec<_>>().join(" "), MOST)
}

/// Whether the answer is a web page rather than an API's.
pub(super) fn is_page(content_type: &str, text: &str) -> bool {
    let start = text.trim_start().get(..15).unwrap_or(text).to_ascii_lowercase();
    content_type.starts_with("text/html") || start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// `message` as text, object or `message.error`; `error` with or without its description.
fn json_words(value: &Value) -> Option<String> {
    let object = value.as_object()?;
    if let Some(message) = object.get("message") {
        return Some(match message {
            Value::String(text) => text.clone(),
            Value::Object(fields) if fields.len() == 1 && fields.contains_key("error") => plain(&fields["error"]),
            Value::Object(fields) => {
                fields.iter().map(|(field, said)| format!("{field} {}", plain(said))).collect::<Vec<_>>().join("; ")
            }
            other => plain(other),
        });
    }
    let error = plain(object.get("error")?);
    Some(match object.get("error_description") {
        Some(description) => format!("{error}: {}", plain(description)),
        None => error,
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The title of a page, else its text without the tags.
fn page_words(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let start = at + lower[at..].find('>')? + 1;
        let end = start + lower[start..].find("</title")?;
        page.get(start..end)
    });
    match title.map(str::trim) {
        Some(title) if !title.is_empty() => format!("a web page: {title}"),
        _ => format!("a web page: {}", without_tags(page)),
    }
}

fn without_tags(page: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for character in page.chars().take(MOST * 20) {
        match character {
            '<' => inside = true,
            '>' => {
                inside = false;
                text.push(' ');
            }
            _ if !inside => text.push(character),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_error_body_becomes_one_line_of_words() {
        let table = [
            ("application/json", r#"{"message":"404 Project Not Found"}"#, "404 Project Not Found"),
            (
                "application/json",
                r#"{"message":"400 Bad request - Note {:line_code=\u003e[\"can't be blank\"]}"}"#,
                "400 Bad request - Note {:line_code=>[\"can't be blank\"]}",
            ),
            (
                "application/json",
                r#"{"message":{"position":["must be a valid json schema","x"],"note":"bad"}}"#,
                "position must be a valid json schema, x; note bad",
            ),
            ("application/json", r#"{"message":{"error":"Try again later."}}"#, "Try again later."),
            ("application/json", r#"{"error":"body is missing"}"#, "body is missing"),
            (
                "application/json",
                r#"{"error":"invalid_token","error_description":"Token is expired."}"#,
                "invalid_token: Token is expired.",
            ),
            ("application/json", r#"["odd"]"#, r#"["odd"]"#),
            ("text/plain", "Retry later\n", "Retry later"),
            (
                "text/html",
                "<html><head><title>502 Bad\n Gateway</title></head><body>x</body></html>",
                "a web page: 502 Bad Gateway",
            ),
            ("", "<!DOCTYPE html><body><h1>Blocked</h1></body>", "a web page: Blocked"),
            ("", "", ""),
        ];
        for (content_type, body, expected) in table {
            assert_eq!(error_words(content_type, body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn a_long_body_is_clipped() {
        let long = "ä ".repeat(90_000);
        assert_eq!(error_words("text/plain", long.as_bytes()).chars().count(), MOST);
    }

    #[test]
    fn no_word_is_cut_in_two() {
        let token = "glpat-Zx81kQm3Lw09vTb7Rn5c";
        for before in MOST - token.len() - 2..MOST + 2 {
            let said = error_words("text/plain", format!("{} {token} tail", "x".repeat(before)).as_bytes());
            assert!(said.contains(token) || !said.contains("glpat"), "{before}: {said}");
        }
    }
}
