//! The ways in which secrets are written down, and what only looks like one. `«` and `»` stand around what must go.

use super::*;

/// Redacts the lines as a new file and checks that what is marked, and nothing else, is gone.
fn check(cases: &[(&str, &str)]) {
    let mut failures = Vec::new();
    for (path, marked) in cases {
        let lines: Vec<String> = marked.replace(['«', '»'], "").lines().map(str::to_owned).collect();
        let mut expected = String::new();
        for (index, piece) in marked.split(['«', '»']).enumerate() {
            expected.push_str(if index.is_multiple_of(2) { piece } else { TOKEN });
        }
        let expected: Vec<String> = expected.lines().map(str::to_owned).collect();
        let redacted = redact_diff(&diff_of(path, '+', &lines));
        if redacted != diff_of(path, '+', &expected) {
            failures.push(format!(
                "{path}\n    {}\n    {}",
                marked,
                redacted.lines().skip(4).collect::<Vec<_>>().join("\n    ")
            ));
        }
    }
    assert!(failures.is_empty(), "{} of {} fail\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn a_secret_word_in_a_name_beats_a_public_one() {
    check(&[
        (".env", "CURSOR_API_KEY=«Zx81kQm3Lw09vTb7Rn5c»"),
        (".env", "CACHE_SECRET=«Zx81kQm3Lw09vTb7»"),
        (".env", "PRIMARY_TOKEN=«Zx81kQm3Lw09vTb7Rn5c»"),
        ("a.tf", "primary_access_key = \"«Zx81kQm3Lw09vTb7Rn5c»\""),
        ("a.py", "PASSWORD_TEXT = \"«Zx81-kQm3»\""),
        (".env", "AUTH_CODE=«Zx81kQm3Lw09»"),
        ("a.json", "  \"page_token\": \"CAUQAA12345678\","),
        ("a.tf", "public_key = \"AAAAB3NzaC1yc2EZx81kQm3Lw09vTb7Rn5c\""),
    ]);
}

#[test]
fn a_prefix_and_twenty_characters_are_a_token() {
    check(&[
        ("a.txt", "use «sk-proj-Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7RA» there"),
        (
            "a.txt",
            "use «glpat-Zx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cZx81kQm3Lw09vTb7Rn5cQ» there",
        ),
        ("a.txt", "the form is sk-proj-IPOpKF and more"),
    ]);
}

#[test]
fn further_literals_go_too() {
    check(&[
        ("a.py", "password = \"«Zx81-»\" + \"«kQm3Lw»\""),
        ("a.py", "store_password(\"alice\", \"«@74d7]404j|W}6u»\")"),
        ("a.go", "secret := []byte(\"«Zx81kQm3Lw09vTb7»\")"),
        ("a.cs", "public string Password { get; set; } = \"«Zx81-kQm3»\";"),
        ("a.cpp", "std::string password{\"«Zx81-kQm3»\"};"),
        ("a.rs", "let password = SecretString::new(String::from(\"«Zx81-kQm3»\"));"),
        ("a.ts", "const password = env.DB_PASSWORD ?? '«Zx81-kQm3»';"),
        ("a.rb", "basic_auth 'ana', '«Zx81-kQm3»'"),
    ]);
}

#[test]
fn odd_passwords_go_too() {
    check(&[
        ("a.py", "password = \"«Tr0ub4dor plus 3 more»\""),
        ("a.py", "password = \"«correct horse battery staple»\""),
        ("a.py", "password = \"«пар0льМой»\""),
        ("a.yml", "password: \"Please enter your password\""),
        ("a.yml", "password: !!str «Zx81-kQm3»"),
        ("a.yml", "password: &main «Zx81-kQm3»"),
        ("a.yml", "passwords:\n  - «Zx81-kQm3»\n  - \"«Lw09-vTb7»\"\nother: 1"),
        ("a.txt", "the password is «Zx81-kQm3»"),
        ("a.md", "Log in as admin with password `«M4JF9_uVgwS»`."),
        (".env", "PASSWORD=«hPxLu.QyOcw»"),
        ("a.py", "PASSWORD_KEY = \"user.password.v2\""),
        ("a.sh", "curl -s \\\n  -u ana:«Zx81-kQm3» \\\n  https://x.example/"),
        ("a.txt", "postgres://ana:«Zx/81?k#Qm3»@db/x"),
    ]);
}

#[test]
fn nothing_around_a_value_hides_it() {
    check(&[
        ("a.yml", "password: «hunter2[REDACTED]Zx81»"),
        ("a.py", "password = \"«${X}Zx81kQm3»\""),
        ("a.py", "password = \"«Zx81kQm3{{x}}»\""),
        ("a.py", "password = \"«Zx81kQm3secrets.x»\""),
        ("a.txt", "\u{1b}[31m«glpat-Zx81kQm3Lw09vTb7Rn5c»\u{1b}[0m"),
        ("a.txt", "printf '\\x0a«glpat-Zx81kQm3Lw09vTb7Rn5c»'"),
        ("a.txt", "token «glpat-Zx81kQm3\u{200b}Lw09vTb7Rn5c» there"),
        ("a.py", "password = \"prefix-${X}-db\""),
        ("a.yml", "password: \"{{ vault.password }}\""),
    ]);
}

#[test]
fn a_value_goes_to_its_end_however_long_it_is() {
    let long = noise(9000, 5).replace(['+', '/'], "x");
    let cases = [
        (".env", format!("API_TOKEN=«{long}»")),
        (".env", format!("PASSWORD=«{}»", &long[..2000])),
        ("a.py", format!("password = \"«{long}»\"")),
        ("a.py", format!("client_secret = \"«{long}»\"")),
        ("a.txt", format!("https://ana:«{}»@db.example/x", &long[..900])),
        ("a.txt", format!("«glpat-{long}»")),
        ("a.sh", format!("curl -u ana:«{}» https://x", &long[..1500])),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(path, line)| (*path, line.as_str())).collect();
    check(&cases);
}

#[test]
fn a_secret_manifest_is_known_without_its_kind() {
    check(&[
        ("s.yaml", "stringData:\n  user: «bert»\n  pin: \"«x 1 y»\""),
        ("s.yaml", "metadata:\n  name: db\ndata:\n  user: «YWRtaW4=»\n  more: «Y29ycmVjdA==»"),
        ("c.yaml", "kind: ConfigMap\ndata:\n  user: YWRtaW4="),
        ("c.yaml", "data:\n  user: plain text\n  more: YWRtaW4="),
        ("s.json", "{\"kind\": \"Secret\", \"data\": {\"user\": \"«YWRtaW4=»\", \"b\": \"«Y29ycmVjdA==»\"}}"),
    ]);
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    check(&[
        (
            "a.yaml",
            "image: registry.example/valkey:9@sha256:0123456789abcdef23456789abcdef01456789abcdef0123456789abcdef0123",
        ),
        ("yarn.lock", "js-tokens: \"npm:^9.0.0\""),
        ("yarn.lock", "parse-passwd \"^1.0.0\""),
        ("package.json", "    \"js-tokens\": \"npm:^9.0.0\","),
        ("pnpm-lock.yaml", "\"@aws-sdk/credential-providers\": [\"@aws-sdk/core@3.1029.0\""),
        ("a.py", "num_tokens = x.size(0)"),
        ("a.go", "token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)"),
        ("a.ts", "getToolMaxOutputTokens: vi.fn().mockReturnValue(100),"),
        ("a.ts", "baseToken: abi.encodePacked(uint8(1), 0x20),"),
        ("a.toml", "aggregate_pubkey = \"03a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90\""),
        ("a.ts", "idempotencyKey: \"order-2024-created-17\","),
        ("a.ts", ".addEdge(\"pass\", \"iteration_node2\")"),
        ("a.md", "Pass `context2` to the call."),
        (".secrets.baseline", "  \"hashed_secret\": \"0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d\","),
        ("locales/pt.json", "  \"password\": \"Senha\","),
        ("a.json", "  \"password\": \"Senha\","),
        ("a.ts", "const passwordPattern = /^(?=.*[A-Z])(?=.*[0-9]).{8,}$/;"),
        ("a.ts", "password: \"^[a-z0-9]{8,32}$\","),
        ("a.txt", "aws_access_key_id = AKIAIOSFODNN7EXAMPLE"),
        ("a.txt", "amqp://guest:guest@localhost:5672/"),
        ("a.rs", "t.pass(\"tests/ui/pass/*.rs\");"),
        ("a.toml", "needless_pass_by_value = \"allow\""),
        ("a.rs", "let key = from_hex(\"000102030405060708090a0b0c0d0e0f\").unwrap();"),
        ("a.rs", "const KEYS: &str = \"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\";"),
        ("a.py", "token = base64.b64encode(digest[8:16])"),
        ("a.py", "fields = [\n    \"password\",\n    \"correct9horse9battery9staple\",\n]"),
        ("a.rs", "if let Some(token) = detected.as_sse4_2() {"),
        ("a.rs", "let header = r#\"Bearer resource_metadata=\"https://mcp.example.com/x\"\"#;"),
    ]);
}

#[test]
fn a_public_block_stays_and_the_end_of_a_key_takes_no_more_than_the_key() {
    let mut lines = vec!["-----BEGIN PGP PUBLIC KEY BLOCK-----".to_owned(), "Version: 1".to_owned(), String::new()];
    lines.extend(key_lines(64, 9));
    lines.extend(["=abcd".to_owned(), "-----END PGP PUBLIC KEY BLOCK-----".to_owned()]);
    let diff = diff_of("key.asc", '+', &lines);
    assert_eq!(redact_diff(&diff), diff);
    let text =
        format!("{{\"code\": \"{}\", \"sample\": \"-----END PRIVATE KEY-----\"}}", "let x = call(1); ".repeat(2000));
    let diff = diff_of("a.json", '+', &[text]);
    assert_eq!(redact_diff(&diff), diff);
}

#[test]
fn what_is_learned_is_worth_it() {
    let lines = [
        "password: npm:^9.0.0",
        "token: 00000000000000000000000000000001",
        "secret: x.size(0)",
        "api_key: 0123456789abcdef0123456789abcdef",
        "a npm:^9.0.0 b",
        "c 00000000000000000000000000000001 d",
        "e x.size(0) f",
        "g 0123456789abcdef0123456789abcdef h",
    ];
    let redacted = redact_diff(&diff_of("a.yml", '+', &lines.map(str::to_owned)));
    for line in &lines[4..] {
        assert!(redacted.contains(line), "{line}\n{redacted}");
    }
}

#[test]
fn a_known_value_is_found_in_html_and_in_ascii_json() {
    let engine =
        Engine::new(&Settings::default(), ["a<b>&\"c'd-1".to_owned(), "пароль-Zx81".to_owned()]).expect("no patterns");
    for text in [
        "a&lt;b&gt;&amp;&quot;c&#39;d-1",
        "a&lt;b&gt;&amp;&quot;c&#x27;d-1",
        "\\u043f\\u0430\\u0440\\u043e\\u043b\\u044c-Zx81",
    ] {
        assert_eq!(engine.redact_known(Output::Report, (*text).to_owned()).as_str(), TOKEN, "{text}");
    }
}
