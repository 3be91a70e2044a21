//! Tells what only looks like a secret: placeholders, references, checksums, identifiers.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, Input, MatchKind, StartKind};

/// Whether the value stands for a secret without being one: a variable, a template, a mask, a dummy.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    is_reference(value) || is_mask(value) || is_filler(value) || is_dummy(value)
}

/// The passwords of examples: `password123`, `abc123`.
fn is_dummy(value: &[u8]) -> bool {
    let digits = value.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (word, number) = value.split_at(value.len() - digits);
    matches!(
        word.to_ascii_lowercase().as_slice(),
        b"password" | b"abc" | b"secret" | b"foo" | b"changeme" | b"qwerty" | b"test" | b"dummy" | b"example"
    ) && matches!(number, b"1" | b"12" | b"123" | b"1234" | b"12345")
}

/// A template, a variable or a pointer to where the secret is kept.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let Some((&first, rest)) = value.split_first() else {
        return true;
    };
    let last = value[value.len() - 1];
    match first {
        b'$' => {
            return match rest.first() {
                Some(b'{' | b'(') => is_template(value),
                Some(b'[') => true,
                // Not the `$2b$` of a hash, nor a password that happens to start so.
                Some(next) if next.is_ascii_alphabetic() || *next == b'_' => {
                    rest.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-' | b'>'))
                        && !(rest.iter().any(u8::is_ascii_digit) && crate::redact::chance::is_random(rest))
                }
                None => true,
                _ => rest.iter().all(|&b| b == b'$'),
            };
        }
        b'<' => {
            return last == b'>' || rest.iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b' '));
        }
        b'%' if last == b'%' && value.len() > 1 => return true,
        b'%' => return rest.len() <= 4 || matches!(rest[0], b'(' | b'{'),
        // Ciphertext of Jenkins and Maven stands in braces, too.
        b'{' | b'[' | b'('
            if matches!((first, last), (b'{', b'}') | (b'[', b']') | (b'(', b')')) && !value.starts_with(b"{{") =>
        {
            return value.len() < 24 || !rest.iter().any(u8::is_ascii_digit) || !crate::redact::chance::is_random(rest);
        }
        b'@' if matches!(rest.first(), Some(b'{' | b'@' | b'(')) => return true,
        b'#' if matches!(rest.first(), Some(b'{')) => return true,
        b'!' if matches!(rest, b"vault" | b"secret" | b"reference" | b"env_var" | b"include") => {
            return true;
        }
        b'!' if rest.first().is_some_and(u8::is_ascii_uppercase) && rest.iter().all(u8::is_ascii_alphabetic) => {
            return true;
        }
        b'_' if value.len() > 4 && value.starts_with(b"__") && value.ends_with(b"__") => {
            return true;
        }
        _ => {}
    }
    const STARTS: [&[u8]; 28] = [
        b"process.env",
        b"os.environ",
        b"os.getenv(",
        b"getenv(",
        b"secrets.",
        b"import.meta.env",
        b"vault:",
        b"op://",
        b"ssm:",
        b"arn:aws:",
        b"env.",
        b"env:",
        b"var.",
        b"local.",
        b"data.",
        b"file:",
        b"file(",
        b"lookup(",
        b"ENC[",
        b"enc:",
        b"sops:",
        b"projects/",
        b"/run/secrets",
        b"{cipher}",
        b"module.",
        b"self.",
        b"this.",
        b"awskms:",
    ];
    STARTS.iter().any(|start| value.starts_with(start)) || is_template(value)
}

/// Whether a value is filled in by something else: with its `${…}`, `{{…}}` and the like taken out, hardly anything is left of it.
fn is_template(value: &[u8]) -> bool {
    const ENOUGH: usize = 512;
    const MARKS: [(&[u8], &[u8]); 8] = [
        (b"${", b"}"),
        (b"{{", b"}}"),
        (b"$(", b")"),
        (b"<%", b"%>"),
        (b"#{", b"}"),
        (b"%{", b"}"),
        (b"%(", b")s"),
        (b"{", b"}"),
    ];
    let value = &value[..value.len().min(ENOUGH)];
    if !value.iter().any(|b| matches!(b, b'{' | b'(' | b'<')) {
        return false;
    }
    let mut left = Vec::with_capacity(value.len());
    let (mut at, mut found) = (0, false);
    while at < value.len() {
        let Some((open, close)) = MARKS.iter().find(|(open, _)| value[at..].starts_with(open)) else {
            left.push(value[at]);
            at += 1;
            continue;
        };
        let inside = at + open.len();
        // A lone brace is a template's only around a name: `{token}`, `{0}`.
        let is_name = |text: &[u8]| text.iter().all(|b| b.is_ascii_alphanumeric() || b"_.:-[]'\" ".contains(b));
        match memchr::memmem::find(&value[inside..], close) {
            Some(end) if open.len() > 1 || is_name(&value[inside..inside + end]) => {
                found = true;
                at = inside + end + close.len();
            }
            None if open.len() > 1 => {
                found = true;
                at = value.len();
            }
            _ => {
                left.push(value[at]);
                at += 1;
            }
        }
    }
    found && !has_substance(&left)
}

/// Whether what stands around templates is more than words that name things.
fn has_substance(text: &[u8]) -> bool {
    let digits = text.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = text.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let longest = text.split(|b| !b.is_ascii_alphanumeric()).map(<[u8]>::len).max().unwrap_or(0);
    letters >= 3 && digits >= 1 && longest >= 6 || longest >= 16
}

/// Whether `part` is in `text`; for texts too short to prepare a search.
pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// `xxxxxxxx`, `********`, `0000`, `abcdefgh`, `12345678`, `......`.
pub(super) fn is_mask(value: &[u8]) -> bool {
    const ENOUGH: usize = 256;
    let value = &value[..value.len().min(ENOUGH)];
    let mut seen = [false; 256];
    let mut distinct = 0;
    for &byte in value {
        let byte = usize::from(byte.to_ascii_lowercase());
        if !seen[byte] {
            seen[byte] = true;
            distinct += 1;
        }
    }
    if distinct <= 2 && value.len() >= 3 {
        return true;
    }
    let marks = value.iter().filter(|b| matches!(b, b'*' | b'.' | b'x' | b'X' | b'?' | b'#' | b'-' | b'_')).count();
    if value.len() >= 6 && marks * 5 >= value.len() * 4 {
        return true;
    }
    value.len() >= 12 && longest_run(value) * 2 >= value.len()
        || value.len() >= 16 && longest_staircase(value) * 3 >= value.len() * 2
        || longest_repeat(value) >= 12 && distinct <= 4
}

/// An alphabet, a counter in hexadecimal, a block that is repeated: `ABC…xyz012`, `000102…`, `0123456789abcdef` twice.
pub(super) fn is_sequence(value: &[u8]) -> bool {
    const SHORTEST: usize = 16;
    const ENOUGH: usize = 256;
    let value = &value[..value.len().min(ENOUGH)];
    if value.len() < SHORTEST {
        return false;
    }
    let steps = value.windows(2).filter(|pair| matches!(pair[1].wrapping_sub(pair[0]), 0 | 1 | 255)).count();
    if steps * 3 >= value.len() * 2 {
        return true;
    }
    let repeats = |period: usize| (period..value.len()).filter(|&at| value[at] == value[at - period]).count();
    if (2..=16).any(|period| value.len() >= 2 * period && repeats(period) * 10 >= (value.len() - period) * 9) {
        return true;
    }
    let body = value.strip_prefix(b"0x").unwrap_or(value);
    if !body.len().is_multiple_of(2) || !body.iter().all(u8::is_ascii_hexdigit) {
        return false;
    }
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    let bytes: Vec<u8> = body.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    let even = |pair: &&[u8]| matches!(pair[1].wrapping_sub(pair[0]), 0 | 1 | 0x11 | 0x22 | 0xff);
    bytes.windows(2).filter(even).count() * 3 >= bytes.len() * 2
}

/// The longest run of one character, or of `****`.
fn longest_run(value: &[u8]) -> usize {
    longest(value, |left, right| left == right)
}

/// The longest run in which every character follows the one before it: `abcdef`, `123456`.
fn longest_staircase(value: &[u8]) -> usize {
    longest(value, |left, right| right == left.wrapping_add(1) || (left, right) == (b'9', b'0'))
}

fn longest_repeat(value: &[u8]) -> usize {
    if value.len() < 4 {
        return 0;
    }
    let mut best = 0;
    let mut run = 0;
    for at in 2..value.len() {
        run = if value[at] == value[at - 2] { run + 1 } else { 0 };
        best = best.max(run + 2);
    }
    best
}

fn longest(value: &[u8], follows: impl Fn(u8, u8) -> bool) -> usize {
    let (mut best, mut run) = (1, 1);
    for pair in value.windows(2) {
        run = if follows(pair[0], pair[1]) { run + 1 } else { 1 };
        best = best.max(run);
    }
    best
}

/// Nothing but words that people write where a secret belongs: `your-api-key-here`, `changeme`, `my_token`.
pub(super) fn is_filler(value: &[u8]) -> bool {
    const LONGEST: usize = 80;
    if value.len() > LONGEST {
        return false;
    }
    let mut at = 0;
    let mut words = 0;
    while at < value.len() {
        if !value[at].is_ascii_alphabetic() {
            if value[at].is_ascii_digit() {
                return false;
            }
            at += 1;
            continue;
        }
        let Some(len) = filler_word(&value[at..]) else {
            return false;
        };
        words += 1;
        at += len;
    }
    words > 0
}

fn filler_word(rest: &[u8]) -> Option<usize> {
    static WORDS: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(StartKind::Anchored)
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(FILLER_WORDS)
            .ok()
    });
    let found = words.as_ref()?.find(Input::new(rest).anchored(Anchored::Yes))?;
    Some(found.end())
}

/// A UUID in its usual spelling.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Hexadecimal of the length of a common digest (MD5 to SHA-512).
pub(super) fn is_hex_digest(value: &[u8]) -> bool {
    matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128) && value.iter().all(u8::is_ascii_hexdigit)
}

/// `sha256-…`, `sha512:…`, `h1:…`, `md5=…`: a checksum that says so.
pub(super) fn is_labelled_digest(value: &[u8]) -> bool {
    const LABELS: [&[u8]; 12] = [
        b"sha1", b"sha224", b"sha256", b"sha384", b"sha512", b"md5", b"h1:", b"blake2", b"blake3", b"etag", b"crc32",
        b"W/",
    ];
    LABELS.iter().any(|label| value.starts_with(label))
}

/// A dotted, dashed or snake-cased name, a path, a plain URL, a version, a number: something written, not drawn.
pub(super) fn is_written(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':' | b'_' | b','))
        || value.starts_with(b"/")
            && memchr::memchr(b'/', &value[1..]).is_some()
            && !crate::redact::chance::is_random(value)
        || value.starts_with(b"./")
        || value.starts_with(b"../")
        || value.starts_with(b"~/")
        || value.starts_with(b"http://")
        || value.starts_with(b"https://")
        || value.starts_with(b"data:")
        || value.starts_with(b"urn:")
}

/// A call, a subscript, a member access: code that fetches the value rather than the value.
pub(super) fn is_expression(value: &[u8]) -> bool {
    let start = value.iter().take_while(|b| matches!(b, b'&' | b'*' | b'!' | b'(' | b'[' | b'$' | b'@')).count();
    let Some(&first) = value.get(start) else {
        return true;
    };
    if !(first.is_ascii_alphabetic() || first == b'_') {
        return false;
    }
    let rest = &value[start..];
    const JOINTS: [&[u8]; 5] = [b"::", b"->", b"?.", b"!.", b"."];
    let mut at = 0;
    let mut members = 0;
    loop {
        at += rest[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let joint = JOINTS.iter().find(|joint| rest[at..].starts_with(joint));
        match (joint, rest.get(at)) {
            (Some(joint), _) if rest.get(at + joint.len()).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') => {
                members += 1;
                at += joint.len();
            }
            (_, Some(b'(')) => return true,
            (_, Some(b'[')) => return members > 0 || rest.contains(&b']') && !is_marked(rest),
            // A macro's `!` and a generic's `<T>` may stand before the bracket.
            (_, Some(b'!' | b'<')) => return matches!(rest.get(at + 1), Some(b'(' | b'[')) || members > 0,
            (_, None) => return members > 0 && (start > 0 || is_path(rest)),
            _ => return false,
        }
    }
}

/// Whether something was removed from the value already.
fn is_marked(value: &[u8]) -> bool {
    memchr::memmem::find(value, crate::redact::TOKEN.as_bytes()).is_some()
}

/// `detected.dot2_token`: members whose names are written, numbers and all.
fn is_path(value: &[u8]) -> bool {
    let is_word = |word: &[u8]| {
        let digits = word.iter().filter(|b| b.is_ascii_digit()).count();
        digits * 2 <= word.len() && !crate::redact::chance::is_random(word) && !crate::redact::chance::is_ragged(word)
    };
    value.split(|b| matches!(b, b'.' | b':')).all(is_word)
}

/// Mostly percent escapes: the spelling of something else.
pub(super) fn is_escaped(value: &[u8]) -> bool {
    let value = &value[..value.len().min(256)];
    let escapes =
        value.windows(3).filter(|three| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit)).count();
    escapes * 6 >= value.len()
}

/// `^1.0.0`, `npm:^9.0.0`, `>=2.1`, `name@3.1029.0`: which release, not what secret.
pub(super) fn is_version(value: &[u8]) -> bool {
    const ENOUGH: usize = 160;
    let value = &value[..value.len().min(ENOUGH)];
    let is_number = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'x' | b'*');
    let (before, number) = value.split_at(value.iter().rposition(|b| !is_number(b)).map_or(0, |at| at + 1));
    let dots = number.iter().filter(|&&b| b == b'.').count();
    dots >= 1
        && number[0].is_ascii_digit()
        && match before.last() {
            None | Some(b'^' | b'~' | b'=' | b'>' | b'<' | b'@' | b' ') => true,
            Some(b'v') => before.len() == 1,
            _ => false,
        }
}

/// A pattern that values are checked against.
pub(super) fn is_regex(value: &[u8]) -> bool {
    const PARTS: [&[u8]; 7] = [b"(?=", b"(?:", b"[a-z", b"[A-Z", b"[0-9", b"\\d{", b"\\w+"];
    let value = &value[..value.len().min(512)];
    let marked = value.iter().any(|b| matches!(b, b'[' | b'(' | b'\\'));
    let closed = value.starts_with(b"^") || value.ends_with(b"$") || value.starts_with(b"/") && value.ends_with(b"/");
    marked && (closed || PARTS.iter().any(|part| contains(value, part)))
}

/// Lower-case, longest match first; a value made only of these is no secret.
#[rustfmt::skip]
static FILLER_WORDS: &[&str] = &[
    "a", "access", "account", "add", "admin", "an", "and", "any", "api", "app", "application",
    "apps", "arg", "argument", "as", "asd", "asdf", "at", "auth", "authentication",
    "authorization", "azure", "aws", "bar", "base", "basic", "baz", "be", "bearer", "bot", "by",
    "cannot", "cert", "change", "changed", "changeit", "changeme", "chat", "check", "client",
    "cloud", "code", "company", "config", "confirm", "connection", "container", "cookie",
    "correct", "create", "credential", "credentials", "creds", "current", "custom", "customer",
    "data", "database", "db", "default", "deploy", "dev", "development", "disabled", "do",
    "docker", "dummy", "email", "empty", "enabled", "encrypted", "encryption", "endpoint",
    "enter", "env", "environment", "error", "example", "expired", "fake", "false", "field",
    "file", "fill", "fixme", "foo", "foobar", "for", "forgot", "from", "function", "generate",
    "generated", "get", "github", "gitlab", "google", "goes", "hash", "hashed", "header", "here",
    "hidden", "host", "id", "in", "incorrect", "input", "insert", "insecure", "into", "invalid",
    "is", "it", "its", "jwt", "key", "keys", "label", "link", "local", "localhost", "login",
    "long", "lorem", "ipsum", "master", "me", "message", "missing", "mock", "must", "my", "mysql",
    "name", "needs", "new", "nil", "no", "none", "not", "null", "number", "of", "oauth", "old",
    "omitted", "on", "one", "only", "openai", "optional", "or", "otp", "owner", "param",
    "parameter", "pass", "passcode", "passphrase", "passwd", "password", "passwords", "paste",
    "path", "personal", "pin", "placeholder", "please", "postgres", "private", "prod",
    "production", "project", "provide", "provided", "public", "put", "pw", "pwd", "qwerty",
    "random", "real", "redacted", "refresh", "remove", "repeat", "replace", "replaced", "request",
    "required", "reset", "root", "salt", "same", "sample", "schema", "secret", "secrets",
    "secure", "seed", "select", "sensitive", "server", "service", "session", "set", "shared",
    "should", "sign", "signature", "signing", "some", "something", "stage", "staging", "strict",
    "string", "strong", "stub", "super", "supersecret", "system", "tba", "tbd", "team", "temp",
    "temporary", "tenant", "test", "tester", "testing", "text", "that", "the", "this", "to",
    "todo", "token", "tokens", "true", "type", "undefined", "unique", "phrase", "unknown",
    "unset", "update", "url", "use", "user", "username", "users", "uuid", "valid", "value",
    "values", "var", "variable", "via", "webhook", "with", "word", "wrong", "www", "xxx", "xxxx",
    "xxxxx", "xxxxxx", "yes", "you", "your", "yours", "yyy", "zzz", "x", "y", "com", "org", "net",
    "io", "dot", "mail", "hello", "world", "bogus", "nope", "whatever", "blah", "abc", "abcd",
    "abcde", "abcdef", "xyz",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_is_told_from_a_value() {
        for value in [
            "${TOKEN}",
            "$TOKEN",
            "{{ secret }}",
            "<token>",
            "<your-key>",
            "%TOKEN%",
            "changeme",
            "your-api-key-here",
            "xxxxxxxxxxxx",
            "************",
            "YOUR_API_KEY",
            "[REDACTED]",
            "vault:secret/x",
            "sk-xxxxxxxxxxxxxxxxxxxx",
            "MySecretPassword",
            "op://vault/item",
            "%s",
            "{token}",
            "password",
        ] {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        for value in [
            "hunter2",
            "testing123",
            "S3cr3t!",
            "swordfish",
            "$2b$12$abcdefghijkl",
            "Tr0ub4dor&3",
            "correcthorse9",
            "Pa$$w0rd",
        ] {
            assert!(!is_placeholder(value.as_bytes()), "{value}");
        }
    }
}
