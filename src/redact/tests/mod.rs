//! The engine as a whole: every rule's samples, keys in every wrapping, diffs of every kind.

use super::*;

mod forms;
mod linear;
mod sides;
mod structure;

fn engine() -> Engine {
    Engine::new(&Settings::default(), []).expect("no patterns, no error")
}

/// Whether the secret, as often as it is there, and nothing else has gone; another secret on the line may have gone, too,
/// and so may a user that stands before it in one value.
fn is_clean(line: &str, secret: &str, redacted: &str) -> bool {
    if redacted == line.replace(secret, TOKEN) {
        return true;
    }
    let mut rest = line;
    let ordered = redacted.split(TOKEN).all(|piece| {
        let found = rest.find(piece);
        rest = found.map_or("", |at| &rest[at + piece.len()..]);
        found.is_some()
    });
    let removed = line.len() + redacted.matches(TOKEN).count() * TOKEN.len() - redacted.len();
    let joined = redacted.matches(TOKEN).count() > 1 || removed <= secret.len() + 16;
    ordered && joined && !redacted.contains(secret)
}

#[test]
fn every_rule_finds_its_hits_and_leaves_its_misses() {
    let engine = engine();
    let mut failures = Vec::new();
    println!("{:<40} {:>5} {:>6}", "rule", "hits", "misses");
    for rule in all_rules() {
        let mut hits = 0;
        for (line, secret) in rule.hits {
            assert!(line.contains(secret), "{}: the sample does not hold its secret: {line}", rule.name);
            let redacted = engine.redact(Output::Prompt, line);
            if is_clean(line, secret, redacted.as_str()) {
                hits += 1;
            } else {
                failures.push(format!("{} hit\n    {line}\n    {redacted}", rule.name));
            }
        }
        let mut misses = 0;
        for line in rule.misses {
            let redacted = engine.redact(Output::Prompt, line);
            if redacted.as_str() == *line {
                misses += 1;
            } else {
                failures.push(format!("{} miss\n    {line}\n    {redacted}", rule.name));
            }
        }
        println!("{:<40} {:>2}/{:<2} {:>3}/{:<2}", rule.name, hits, rule.hits.len(), misses, rule.misses.len());
    }
    println!("{} rule types", rule_count());
    assert!(failures.is_empty(), "{} samples fail\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_rule_is_well_formed() {
    let mut seen = std::collections::BTreeSet::new();
    for rule in all_rules() {
        assert!(seen.insert(rule.name), "{} is there twice", rule.name);
        assert!(rule.name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'), "{}", rule.name);
        assert!(!rule.hits.is_empty(), "{} has no sample", rule.name);
        let words = match &rule.shape {
            rule::Shape::Pattern { keywords, regex, .. } => {
                vocab::compile(regex).unwrap_or_else(|error| panic!("{}: {error}", rule.name));
                *keywords
            }
            rule::Shape::Assigned { keywords, .. } => *keywords,
            rule::Shape::Prefixed { prefixes, .. } => {
                assert!(prefixes.iter().all(|prefix| prefix.len() >= 2), "{}", rule.name);
                continue;
            }
        };
        for word in words {
            assert!(word.len() >= 3 && *word == word.to_ascii_lowercase(), "{}: {word}", rule.name);
        }
        for allow in rule.allow {
            vocab::compile(allow).unwrap_or_else(|error| panic!("{}: {error}", rule.name));
        }
    }
}

/// Base64 of the given length that nobody has written by hand.
fn noise(length: usize, seed: u64) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(ALPHABET[(state % 64) as usize])
        })
        .collect()
}

fn key_lines(width: usize, seed: u64) -> Vec<String> {
    let mut lines: Vec<String> = (0..8).map(|line| noise(width, seed + line)).collect();
    lines.push(format!("{}==", noise(18, seed + 99)));
    lines
}

fn diff_of(path: &str, sign: char, lines: &[String]) -> String {
    let body: String = lines.iter().map(|line| format!("{sign}{line}\n")).collect();
    let (old, new) = match sign {
        '+' => (0, lines.len()),
        '-' => (lines.len(), 0),
        _ => (lines.len(), lines.len()),
    };
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -7,{old} +7,{new} @@ fn x\n{body}")
}

fn redact_diff(diff: &str) -> String {
    engine().redact_diff(diff.as_bytes()).bytes.to_text().into_string()
}

/// The longest stretch of any secret line that is still there.
fn longest_left(text: &str, secrets: &[String]) -> usize {
    let left = |secret: &str| {
        (1..=secret.len()).rev().find(|&length| {
            secret.as_bytes().windows(length).any(|part| memchr::memmem::find(text.as_bytes(), part).is_some())
        })
    };
    secrets.iter().filter_map(|secret| left(secret)).max().unwrap_or(0)
}

type Wrap = fn(&[String]) -> Vec<String>;

fn labelled(label: &str, body: &[String]) -> Vec<String> {
    let mut lines = vec![format!("-----BEGIN {label}-----")];
    lines.extend_from_slice(body);
    lines.push(format!("-----END {label}-----"));
    lines
}

fn wrappings() -> Vec<(&'static str, Wrap)> {
    vec![
        ("plain", |body| labelled("RSA PRIVATE KEY", body)),
        ("openssh", |body| labelled("OPENSSH PRIVATE KEY", body)),
        ("encrypted", |body| {
            let mut lines = labelled("RSA PRIVATE KEY", body);
            lines.insert(1, "Proc-Type: 4,ENCRYPTED".to_owned());
            lines.insert(2, "DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF".to_owned());
            lines.insert(3, String::new());
            lines
        }),
        ("pgp", |body| labelled("PGP PRIVATE KEY BLOCK", body)),
        ("yaml", |body| {
            std::iter::once("key: |".to_owned())
                .chain(labelled("EC PRIVATE KEY", body).into_iter().map(|line| format!("    {line}")))
                .collect()
        }),
        ("json", |body| vec![format!("  \"private_key\": \"{}\\n\",", labelled("PRIVATE KEY", body).join("\\n"))]),
        ("twice escaped", |body| {
            vec![format!("{{\\\"k\\\": \\\"{}\\\"}}", labelled("PRIVATE KEY", body).join("\\\\n"))]
        }),
        ("java", |body| {
            labelled("RSA PRIVATE KEY", body).iter().map(|line| format!("        \"{line}\\n\" +")).collect()
        }),
        ("python", |body| labelled("RSA PRIVATE KEY", body).iter().map(|line| format!("    \"{line}\\n\"")).collect()),
        ("visual basic", |body| {
            labelled("RSA PRIVATE KEY", body).iter().map(|line| format!("    \"{line}\" & vbLf & _")).collect()
        }),
        ("array", |body| labelled("RSA PRIVATE KEY", body).iter().map(|line| format!("  '{line}',")).collect()),
        ("comment", |body| labelled("RSA PRIVATE KEY", body).iter().map(|line| format!("// {line}")).collect()),
        ("log", |body| {
            labelled("RSA PRIVATE KEY", body)
                .iter()
                .enumerate()
                .map(|(n, line)| format!("10:00:{n:02} INFO {line}"))
                .collect()
        }),
        ("carriage returns", |body| labelled("RSA PRIVATE KEY", body).iter().map(|line| format!("{line}\r")).collect()),
        ("environment", |body| vec![format!("KEY=\"{}\"", labelled("RSA PRIVATE KEY", body).join("\\n"))]),
        ("one line with spaces", |body| vec![labelled("RSA PRIVATE KEY", body).join(" ")]),
        ("percent", |body| {
            vec![format!("k={}", labelled("RSA PRIVATE KEY", body).join("%0A").replace('+', "%2B").replace('=', "%3D"))]
        }),
        ("without its beginning", |body| labelled("RSA PRIVATE KEY", body)[3..].to_vec()),
        ("without its end", |body| labelled("RSA PRIVATE KEY", body)[..6].to_vec()),
        ("quoted without its end", |body| {
            labelled("RSA PRIVATE KEY", body)[..6].iter().map(|line| format!("  \"{line}\\n\" +")).collect()
        }),
        ("neither beginning nor end", |body| body[2..6].to_vec()),
        ("quoted, neither beginning nor end", |body| {
            body[2..6].iter().map(|line| format!("    \"{line}\\n\"")).collect()
        }),
        ("putty", |body| {
            let mut lines = vec![
                "PuTTY-User-Key-File-3: ssh-rsa".to_owned(),
                "Encryption: none".to_owned(),
                format!("Private-Lines: {}", body.len()),
            ];
            lines.extend_from_slice(body);
            lines.push("Private-MAC: 0123456789abcdef".to_owned());
            lines
        }),
    ]
}

#[test]
fn a_private_key_goes_whole_whatever_it_is_wrapped_in() {
    for (name, wrap) in wrappings() {
        for width in [64, 70] {
            for sign in ['+', '-', ' '] {
                let body = key_lines(width, 7);
                let diff = diff_of("deploy/id.txt", sign, &wrap(&body));
                let redacted = redact_diff(&diff);
                let left = longest_left(&redacted, &body);
                assert!(left < 6, "{name}, {width} wide, {sign:?}: {left} characters left\n{redacted}");
                assert_eq!(redacted.lines().count(), diff.lines().count(), "{name}");
            }
        }
    }
}

#[test]
fn a_cut_anywhere_in_a_key_leaves_no_fragment() {
    let body = key_lines(64, 21);
    let diff = diff_of("id_rsa", '+', &labelled("RSA PRIVATE KEY", &body));
    let redacted = redact_diff(&diff);
    for end in (0..=redacted.len()).filter(|&end| redacted.is_char_boundary(end)) {
        assert!(longest_left(&redacted[..end], &body) < 6);
    }
    let begin = diff.find(&body[0]).expect("the key is in the diff");
    for end in begin..diff.len() {
        let left = longest_left(&redact_diff(&diff[..end]), &body);
        assert!(left < 6, "cut at {end}: {left} characters left");
    }
}

#[test]
fn a_certificate_stays() {
    let diff = diff_of("ca.pem", '+', &labelled("CERTIFICATE", &key_lines(64, 5)));
    assert_eq!(redact_diff(&diff), diff);
}

#[test]
fn code_that_only_speaks_of_secrets_stays() {
    let lines = [
        "password = os.environ[\"DB_PASSWORD\"]",
        "const token = process.env.API_TOKEN;",
        "api_key: str = Field(..., description=\"the key\")",
        "password: String,",
        "if (user.password === hash(password)) {",
        "token = get_token(user, scope=\"read\")",
        "secret_name = \"projects/p/secrets/s\"",
        "API_KEY=${API_KEY}",
        "password: {{ vault_password }}",
        "\"password\": \"<your-password>\",",
        "key = \"ctrl+shift+down\"",
        "public_key = \"0123456789abcdef0123456789abcdef\"",
        "commit = \"3f786850e387550fdab836ed7e6dc881de23001b\"",
        "\"integrity\": \"sha512-Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQ==\",",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "\"password\": \"Mot de passe\",",
        "<input type=\"password\" name=\"password\" placeholder=\"Password\">",
        "token_url = \"https://example.com/oauth/token\"",
        "password = models.CharField(max_length=128)",
        "git clone https://github.com/example/repo.git",
    ];
    for path in ["src/a.py", "src/a.ts", "conf/a.txt"] {
        let diff = diff_of(path, '+', &lines.map(str::to_owned));
        assert_eq!(redact_diff(&diff), diff);
    }
}

#[test]
fn only_the_value_goes_and_the_quotes_stay() {
    let cases = [
        ("a.py", "password = \"Zx81-kQm3\"", "password = \"[REDACTED]\""),
        ("a.yml", "  db_password: Zx81-kQm3 # rotate", "  db_password: [REDACTED] # rotate"),
        (".env", "DB_PASSWORD=Zx81-kQm3", "DB_PASSWORD=[REDACTED]"),
        ("a.json", "  \"client_secret\": \"Zx81kQm3Lw09vTb7\",", "  \"client_secret\": \"[REDACTED]\","),
        (
            "a.xml",
            "<add key=\"ApiToken\" value=\"Zx81kQm3Lw09vTb7\" />",
            "<add key=\"ApiToken\" value=\"[REDACTED]\" />",
        ),
        ("Dockerfile", "ENV API_TOKEN Zx81kQm3Lw09vTb7", "ENV API_TOKEN [REDACTED]"),
        ("a.tf", "  master_password = \"Zx81-kQm3\"", "  master_password = \"[REDACTED]\""),
        ("a.sh", "psql postgres://app:Zx81kQm3@db/app", "psql postgres://app:[REDACTED]@db/app"),
    ];
    for (path, line, expected) in cases {
        let redacted = redact_diff(&diff_of(path, '+', &[line.to_owned()]));
        assert_eq!(redacted, diff_of(path, '+', &[expected.to_owned()]), "{line}");
    }
}

#[test]
fn an_inline_permission_is_not_honoured() {
    let line = "token = \"glpat-Zx81kQm3Lw09vTb7Rn5c\" # gitleaks:allow pragma: allowlist secret".to_owned();
    assert!(!redact_diff(&diff_of("a.py", '+', &[line])).contains("Zx81kQm3"));
}

#[test]
fn the_values_of_a_secret_manifest_go_wherever_its_kind_stands() {
    let before =
        ["kind: Secret", "metadata:", "  name: db", "data:", "  user: YWRtaW4=", "  pw: Wng4MQ==", "type: Opaque"]
            .map(str::to_owned);
    let after = [
        "metadata:",
        "  name: db",
        "stringData:",
        "  pw: correct-horse",
        "  cert: |",
        "    some long text",
        "kind: Secret",
    ]
    .map(str::to_owned);
    let redacted = redact_diff(&diff_of("k8s.yaml", '+', &before));
    assert!(
        !redacted.contains("YWRtaW4=") && !redacted.contains("Wng4MQ==") && redacted.contains("name: db"),
        "{redacted}"
    );
    let redacted = redact_diff(&diff_of("k8s.yaml", '+', &after));
    assert!(!redacted.contains("correct-horse") && !redacted.contains("some long text"), "{redacted}");
}

#[test]
fn an_encoded_secret_loses_its_encoded_form() {
    use base64::Engine as _;
    let secret = "token=glpat-Zx81kQm3Lw09vTb7Rn5c";
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent = secret.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    for encoded in [base64::engine::general_purpose::STANDARD.encode(secret), hex, percent] {
        let redacted = redact_diff(&diff_of("a.txt", '+', &[format!("blob {encoded} end")]));
        assert!(redacted.ends_with("+blob [REDACTED] end\n"), "{redacted}");
    }
}

#[test]
fn a_secret_met_once_is_removed_everywhere_and_in_every_spelling() {
    use base64::Engine as _;
    let engine = engine();
    let diff = diff_of(
        "a.py",
        '+',
        &["api_key = \"Zx81/kQm3+Lw09=vTb7\"".to_owned(), "print(\"Zx81/kQm3+Lw09=vTb7 again\")".to_owned()],
    );
    let redacted = engine.redact_diff(diff.as_bytes()).bytes.to_text();
    assert!(!redacted.as_str().contains("Zx81"), "{redacted}");
    let encoded = base64::engine::general_purpose::STANDARD.encode("x:Zx81/kQm3+Lw09=vTb7");
    for text in ["said Zx81/kQm3+Lw09=vTb7.", "?k=Zx81%2FkQm3%2BLw09%3DvTb7&", &format!("basic {encoded}")] {
        let redacted = engine.redact(Output::AgentOutput, text);
        assert!(redacted.as_str().contains(TOKEN) && !redacted.as_str().contains("kQm3"), "{redacted}");
    }
}

#[test]
fn switched_off_the_engine_still_removes_known_values() {
    let settings = Settings { enabled: false, ..Settings::default() };
    let engine = Engine::new(&settings, ["tok-known-0001".to_owned()]).expect("no patterns, no error");
    let diff =
        diff_of("a.py", '+', &["a = \"glpat-Zx81kQm3Lw09vTb7Rn5c\"".to_owned(), "b = \"tok-known-0001\"".to_owned()]);
    let redaction = engine.redact_diff(diff.as_bytes());
    assert_eq!(redaction.bytes.to_text().as_str(), diff.replace("tok-known-0001", TOKEN));
    assert_eq!(redaction.matches.len(), 1);
}

#[test]
fn extra_patterns_are_named_by_number_and_a_bad_one_is_an_error() {
    let settings =
        Settings { extra_patterns: vec!["nothing".to_owned(), "ACME-([0-9]{6})".to_owned()], ..Settings::default() };
    let engine = Engine::new(&settings, []).expect("the patterns are fine");
    let redaction = engine.redact_diff(diff_of("a.py", '+', &["x = ACME-123456".to_owned()]).as_bytes());
    assert!(redaction.bytes.to_text().as_str().contains("x = ACME-[REDACTED]"));
    assert_eq!(redaction.matches[0].rule, "EXTRA_PATTERN_1");
    let settings = Settings { extra_patterns: vec!["fine".to_owned(), "(".to_owned()], ..Settings::default() };
    let error = Engine::new(&settings, []).expect_err("the second pattern is not one");
    assert!(error.to_string().contains("extra_patterns[1] `(`"), "{error}");
    let settings = Settings { extra_patterns: vec!["(a{1000}){1000}".to_owned()], ..Settings::default() };
    Engine::new(&settings, []).expect_err("a pattern has a size limit");
}

#[test]
fn allowed_values_and_paths_stay() {
    let settings = Settings {
        allow_patterns: vec!["^glpat-Zx81".to_owned()],
        allow_paths: vec!["**/fixtures/**".to_owned()],
        ..Settings::default()
    };
    let engine = Engine::new(&settings, []).expect("the patterns are fine");
    let first = diff_of("a.py", '+', &["t = \"glpat-Zx81kQm3Lw09vTb7Rn5c\"".to_owned()]);
    assert_eq!(engine.redact_diff(first.as_bytes()).bytes.as_bytes(), first.as_bytes());
    let second = diff_of("test/fixtures/a.py", '+', &["t = \"glpat-Lw09vTb7Rn5cZx81kQm3\"".to_owned()]);
    assert_eq!(engine.redact_diff(second.as_bytes()).bytes.as_bytes(), second.as_bytes());
}

#[test]
fn a_match_says_where_and_what_kind_and_nothing_else() {
    let diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -10,3 +20,3 @@\n x = 1\n-old = \"glpat-Zx81kQm3Lw09vTb7Rn5c\"\n+password = \"Zx81-k\"\n y = 2\n";
    let matches = engine().redact_diff(diff.as_bytes()).matches;
    let seen: Vec<_> = matches
        .iter()
        .map(|found| {
            (found.rule.as_str(), found.path.as_deref(), found.line, found.side, found.sha256.is_some(), found.chars)
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("GITLAB_PAT", Some("a.py"), Some(11), Side::Old, true, 26),
            (names::PASSWORD, Some("a.py"), Some(21), Side::New, false, 6)
        ]
    );
}

#[test]
fn the_lines_of_one_key_are_one_match() {
    let diff = diff_of("id_rsa", '+', &labelled("RSA PRIVATE KEY", &key_lines(64, 3)));
    let matches = engine().redact_diff(diff.as_bytes()).matches;
    assert_eq!(matches.len(), 1);
    assert_eq!((matches[0].rule.as_str(), matches[0].line, matches[0].chars), ("PRIVATE_KEY", Some(8), 8 * 64 + 20));
}

#[test]
fn file_names_and_headings_are_redacted_too() {
    let diff = "diff --git a/glpat-Zx81kQm3Lw09vTb7Rn5c.txt b/glpat-Zx81kQm3Lw09vTb7Rn5c.txt\n--- a/glpat-Zx81kQm3Lw09vTb7Rn5c.txt\n+++ b/glpat-Zx81kQm3Lw09vTb7Rn5c.txt\n@@ -1 +1 @@ token = \"glpat-Lw09vTb7Rn5cZx81kQm3\"\n-a\n+password = \"Zx81-kQm3\"\n";
    let redaction = engine().redact_diff(diff.as_bytes());
    let text = redaction.bytes.to_text();
    assert!(!text.as_str().contains("Zx81kQm3") && !text.as_str().contains("Lw09vTb7"), "{text}");
    assert!(redaction.matches.iter().all(|found| !found.path.as_deref().unwrap_or_default().contains("Zx81")));
}

#[test]
fn the_audit_counts_by_output_and_rule() {
    let engine = engine();
    engine.redact(Output::Console, "token glpat-Zx81kQm3Lw09vTb7Rn5c");
    engine.redact(Output::Event, "nothing");
    let audit = engine.audit();
    assert_eq!(audit[&Output::Console]["GITLAB_PAT"], 1);
    assert!(audit[&Output::Event].is_empty());
}

#[test]
fn threads_change_nothing() {
    let lines: Vec<String> = (0..40)
        .map(|n| {
            if n % 20 == 0 {
                format!("  api_key = \"{}\"", noise(32, n).replace(['+', '/'], "x"))
            } else {
                format!("  value_{n} = compute({n})")
            }
        })
        .collect();
    let one = diff_of("src/a.py", '+', &lines);
    let diff = one.repeat(3_000_000 / one.len());
    let alone = engine().redact_diff_with(diff.as_bytes(), 1);
    let together = engine().redact_diff_with(diff.as_bytes(), 4);
    assert_eq!(alone.bytes, together.bytes);
    assert_eq!(alone.matches, together.matches);
}

#[test]
fn what_is_redacted_does_not_show_in_debug() {
    let redacted = engine().redact(Output::Console, "some text");
    assert_eq!(format!("{redacted:?}"), "Redacted(9 bytes)");
}

#[test]
fn there_are_at_least_200_kinds_of_rules() {
    assert!(rule_count() >= 200, "{}", rule_count());
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn secretish() -> impl Strategy<Value = String> {
        let pieces = prop_oneof![
            Just("password = \"".to_owned()),
            Just("\"".to_owned()),
            Just("token: ".to_owned()),
            Just("glpat-Zx81kQm3Lw09vTb7Rn5c".to_owned()),
            Just("-----BEGIN RSA PRIVATE KEY-----".to_owned()),
            Just("-----END RSA PRIVATE KEY-----".to_owned()),
            Just("\\n".to_owned()),
            Just("\n".to_owned()),
            Just("https://u:".to_owned()),
            Just("@host/".to_owned()),
            Just("kind: Secret\ndata:\n  a: ".to_owned()),
            Just("@@ -1,2 +1,2 @@\n".to_owned()),
            Just("+".to_owned()),
            Just("diff --git a/x b/x\n".to_owned()),
            Just("%41%42".to_owned()),
            Just("curl -u a:".to_owned()),
            Just("${".to_owned()),
            Just("<".to_owned()),
            Just("| ".to_owned()),
            "[ -~]{0,12}",
            "[A-Za-z0-9+/]{20,70}",
        ];
        prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_bytes_keep_their_lines_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let redaction = engine().redact_diff(&bytes);
            let count = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
            prop_assert_eq!(count(&bytes), count(redaction.bytes.as_bytes()));
        }

        #[test]
        fn redacting_twice_changes_nothing(text in secretish()) {
            twice_is_once(&text);
        }

        #[test]
        fn a_prefix_of_a_diff_line_stays(text in secretish()) {
            prefixes_stay(&text);
        }
    }

    fn twice_is_once(text: &str) {
        let engine = engine();
        let once = engine.redact_diff(text.as_bytes()).bytes.to_text().into_string();
        let twice = engine.redact_diff(once.as_bytes()).bytes.to_text().into_string();
        assert_eq!(once.lines().count(), text.lines().count());
        assert_eq!(twice, once, "of {text:?}");
    }

    fn prefixes_stay(text: &str) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let diff = diff_of("a.yml", '+', &lines);
        let redacted = redact_diff(&diff);
        for (before, after) in diff.lines().zip(redacted.lines()) {
            assert_eq!(before.chars().next(), after.chars().next(), "of {text:?}: {after}");
        }
    }

    /// What fresh seeds have found.
    #[test]
    fn cases_that_once_broke_a_property() {
        for text in [
            "password = \"diff --git a/x b/x\nglpat-Zx81kQm3Lw09vTb7Rn5c-----BEGIN RSA PRIVATE KEY-----+glpat-Zx81kQm3Lw09vTb7Rn5c\\n",
            "kind: Secret\ndata:\n  a: diff --git a/x b/x\n\\ntoken: %41%42diff --git a/x b/x\n",
            "curl -u a:glpat-Zx81kQm3Lw09vTb7Rn5c%41%42curl -u a:diff --git a/x b/x",
            "diff --git a/x b/x\nkind: Secret\ndata:\n  a: +diff --git a/x b/x",
        ] {
            twice_is_once(text);
            prefixes_stay(text);
        }
    }
}

#[test]
fn the_texts_of_a_json_value_are_redacted_each_by_itself() {
    let value = serde_json::json!({
        "password": ["a label", "Tr0ub4dor&3x"],
        "note": "token glpat-Zx81kQm3Lw09vTb7Rn5c",
        "count": 3,
    });
    let redacted = engine().redact_json(Output::Report, value);
    let expected = serde_json::json!({
        "password": ["a label", "Tr0ub4dor&3x"],
        "note": format!("token {TOKEN}"),
        "count": 3,
    });
    assert_eq!(redacted, expected);
}
