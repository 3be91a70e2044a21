//! Passwords and tokens that stand in a URL.

use std::sync::LazyLock;

use regex::bytes::Regex;

static USER_INFO: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)\b[a-z][a-z0-9+.-]{1,20}://([^\s/:@'"`<>\\]{0,100}):([^\s/@'"`<>]{1,200})@([^\s/'"`<>?#,;)]{1,200})"#,
    )
    .ok()
});

static PARAMETER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?i-u)https?://([^\s'"`<>/?]{1,200})[^\s'"`<>]{0,500}[?&](?:access_?token|auth_?token|private_?token|api_?key|client_?secret|password|secret|sig|token)=([^\s&'"`<>#]{8,300})"#,
    )
    .ok()
});

/// Whether a URL in the line carries a password or a token that is not a placeholder.
pub(super) fn has_credentials(line: &[u8]) -> bool {
    if memchr::memmem::find(line, b"://").is_none() {
        return false;
    }
    let user_info = USER_INFO.as_ref().is_some_and(|regex| {
        regex.captures_iter(line).any(|url| {
            let part = |index: usize| url.get(index).map_or_else(String::new, |part| text(part.as_bytes()));
            is_real(&part(2)) && part(1) != part(2) && !is_example_host(&part(3))
        })
    });
    user_info
        || PARAMETER.as_ref().is_some_and(|regex| {
            regex.captures_iter(line).any(|url| {
                let part = |index: usize| url.get(index).map_or_else(String::new, |part| text(part.as_bytes()));
                let value = part(2);
                let is_random = value.bytes().any(|byte| byte.is_ascii_digit()) || value.contains("[REDACTED]");
                is_real(&value) && is_random && !is_example_host(&part(1))
            })
        })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Not a variable, a template or a word that stands for a password.
fn is_real(secret: &str) -> bool {
    const WORDS: [&str; 16] = [
        "pass",
        "passwd",
        "password",
        "pwd",
        "secret",
        "token",
        "changeme",
        "example",
        "xxx",
        "xxxx",
        "pw",
        "mypassword",
        "yourpassword",
        "your_password",
        "your-password",
        "x-oauth-basic",
    ];
    let lower = secret.to_ascii_lowercase();
    let is_template =
        secret.contains(['$', '{', '}', '%', '*', '(', ')', '<', '>', '|', '…']) || secret.contains("...");
    let is_masked = secret.len() > 2 && secret.chars().all(|c| secret.starts_with(c));
    // What stands in for a removed secret says that there was one.
    lower.contains("[redacted]") || !(secret.len() < 4 || is_template || is_masked || WORDS.contains(&lower.as_str()))
}

fn is_example_host(host: &str) -> bool {
    let name = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let is = |domain: &str| name == domain || name.ends_with(&format!(".{domain}"));
    ["localhost", "127.0.0.1", "example.com", "example.org", "example.net", "test", "invalid", "host"]
        .into_iter()
        .any(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_urls_are_found_and_placeholders_are_not() {
        let fires = [
            "DATABASE_URL=postgres://app:h7Gq2pLx@db.internal:5432/app",
            "git clone https://oauth2:[REDACTED]@gitlab.corp/group/repo.git",
            "url: 'amqp://svc:Tr0ub4dor@mq.prod/vhost'",
            "redis://:s3cr3tvalue@cache.prod:6379/0",
            "curl 'https://api.corp/v1/items?access_token=9f8e7d6c5b4a39281706'",
            "https://files.corp/x?sig=[REDACTED]",
        ];
        let quiet = [
            "postgres://user:password@db.internal/app",
            "postgres://app:${DB_PASSWORD}@db.internal/app",
            "postgres://app:$DB_PASSWORD@db.internal/app",
            "postgres://postgres:postgres@db/app",
            "https://user:hunter22@example.com/",
            "http://alice:wonder1@localhost:8080/",
            "https://user:<password>@corp/",
            "https://user:{password}@corp/",
            "https://user:%s@corp/",
            "https://u:p@corp/x.git",
            "https://api.example.com/path?access_token=h480djs93hd8",
            "https://user:*****@corp/",
            "https://gitlab.com/group/repo",
            "https://gitlab.com:8443/a@b",
            "mailto:someone@corp",
            "https://api.corp/v1?token=YOUR_TOKEN_HERE",
            "https://api.corp/v1?token=${TOKEN}",
            "ssh://git@gitlab.corp:22/group/repo.git",
            "see http://host/path: then mail me@corp",
        ];
        for line in fires {
            assert!(has_credentials(line.as_bytes()), "{line}");
        }
        for line in quiet {
            assert!(!has_credentials(line.as_bytes()), "{line}");
        }
    }
}
