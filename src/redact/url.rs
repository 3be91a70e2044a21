//! Credentials in URLs and in the data source names that look like them.

use super::chance::is_random;
use super::span::{Name, Span};
use super::{filter, steps};

const URL_PASSWORD: Name = Name::Rule("URL_CREDENTIALS");
const URL_TOKEN: Name = Name::Rule("URL_TOKEN");

/// Adds the password, or the token that stands for a user, of the URL whose `://` is at `at`.
pub(super) fn credentials(line: &[u8], at: usize, out: &mut Vec<Span>) {
    if line[at] == b'@' {
        return dsn(line, at, out);
    }
    let start = at + 3;
    let window = &line[start..];
    // The next URL has a reader of its own.
    let window = &window[..memchr::memmem::find(window, b"://").unwrap_or(window.len())];
    let templates = has_template(window);
    let is_end = |b: u8| match b {
        b'<' | b'>' => !templates,
        _ => matches!(b, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\\' | b'|'),
    };
    let window = &window[..window.iter().position(|&b| is_end(b)).unwrap_or(window.len())];
    steps::add(window.len());
    let Some(sign) = separator(window) else {
        return;
    };
    let user_info = &window[..sign];
    match memchr::memchr(b':', user_info) {
        Some(colon) => {
            let (user, password) = (&user_info[..colon], &user_info[colon + 1..]);
            let nominal = matches!(password, b"" | b"x-oauth-basic" | b"x" | b"oauth2");
            if !nominal && password != user && !filter::is_placeholder(password) && has_substance(password) {
                push(out, start + colon + 1, password.len(), URL_PASSWORD);
            }
            if is_token(user) || nominal && user.len() >= 8 && !filter::is_placeholder(user) {
                push(out, start, user.len(), URL_TOKEN);
            }
        }
        None if is_token(user_info) => push(out, start, user_info.len(), URL_TOKEN),
        None => {}
    }
}

/// `<` and `>` may belong to a placeholder such as `<password>` inside the user information.
fn has_template(window: &[u8]) -> bool {
    const ENOUGH: usize = 512;
    let window = &window[..window.len().min(ENOUGH)];
    let has = |byte: u8| memchr::memchr(byte, window).is_some();
    window.first() != Some(&b'<') && has(b'@') && has(b'<') && has(b'>')
}

/// One or two characters, or escapes of nothing but signs, are an example of how URLs are written.
fn has_substance(password: &[u8]) -> bool {
    let plain: Vec<u8> = percent_encoding::percent_decode(&password[..password.len().min(96)]).collect();
    plain.len() >= 3 && plain.iter().filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii()).count() >= 2
}

/// The `@` that ends the user information: the last one of the authority, or one beyond a slash that is part of the password.
fn separator(window: &[u8]) -> Option<usize> {
    let slash = window.iter().position(|&b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(window.len());
    if let Some(sign) = memchr::memrchr(b'@', &window[..slash]) {
        return Some(sign);
    }
    let colon = memchr::memchr(b':', &window[..slash])?;
    let port = window[colon + 1..slash].iter().all(u8::is_ascii_digit);
    if port || memchr::memchr(b'[', &window[..slash]).is_some() {
        return None;
    }
    let sign = memchr::memchr(b'@', &window[slash..])? + slash;
    let host = window[sign + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-')).count();
    let after = window.get(sign + 1 + host);
    let is_host = host >= 3 || host > 0 && matches!(after, None | Some(b':' | b'/' | b'?'));
    (is_host && sign - colon <= 512).then_some(sign)
}

/// `user:password@tcp(host:port)/database`.
fn dsn(line: &[u8], at: usize, out: &mut Vec<Span>) {
    let floor = at.saturating_sub(1024);
    let start = line[floor..at]
        .iter()
        .rposition(|&b| matches!(b, b' ' | b'"' | b'\'' | b'`' | b'\t' | b'=' | b'(' | b')'))
        .map_or(floor, |found| floor + found + 1);
    let Some(colon) = memchr::memchr(b':', &line[start..at]) else {
        return;
    };
    let password = &line[start + colon + 1..at];
    if !filter::is_placeholder(password) && !password.starts_with(b"//") {
        push(out, start + colon + 1, password.len(), Name::Rule("DSN_PASSWORD"));
    }
}

fn is_token(user: &[u8]) -> bool {
    user.len() >= 16
        && !filter::is_placeholder(user)
        && user.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        && (is_random(user) || user.len() >= 20 && user.iter().all(u8::is_ascii_hexdigit))
}

fn push(out: &mut Vec<Span>, start: usize, length: usize, name: Name) {
    if length > 0 {
        out.push(Span { start, end: start + length, name });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<&str> {
        let at = line.find("://").or_else(|| line.find("@tcp(")).expect("the sample holds a URL");
        let mut out = Vec::new();
        credentials(line.as_bytes(), at, &mut out);
        out.iter().map(|span| &line[span.start..span.end]).collect()
    }

    #[test]
    fn passwords_and_tokens_of_urls_are_found() {
        let cases: &[(&str, &[&str])] = &[
            ("postgres://app:Zx81kQm3@db.internal:5432/app", &["Zx81kQm3"]),
            ("redis://:Zx81kQm3@cache:6379/0", &["Zx81kQm3"]),
            ("mysql+pymysql://root:pa/ss/word1@localhost/db", &["pa/ss/word1"]),
            ("mysql://root:p@ssword1@localhost/db", &["p@ssword1"]),
            ("https://oauth2:Qm3Lw09vTb7Rn5cZx81k@gitlab.example.com/a/b.git", &["Qm3Lw09vTb7Rn5cZx81k"]),
            (
                "https://0123456789abcdef0123456789abcdef01234567:x-oauth-basic@github.com",
                &["0123456789abcdef0123456789abcdef01234567"],
            ),
            ("amqp://guest:Zx81kQm3@[::1]:5672/", &["Zx81kQm3"]),
            ("app:Zx81kQm3@tcp(127.0.0.1:3306)/db", &["Zx81kQm3"]),
            ("https://user@example.com/x", &[]),
            ("postgres://user:password@localhost/db", &[]),
            ("postgres://${USER}:${PASSWORD}@localhost/db", &[]),
            ("http://localhost:8080/users/@me", &[]),
            ("https://example.com/@scope/name", &[]),
        ];
        for (line, expected) in cases {
            assert_eq!(&found(line), expected, "{line}");
        }
    }
}
