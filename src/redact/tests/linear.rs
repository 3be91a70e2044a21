//! The time of a line is bounded by its length, whatever stands in it.

use super::*;

/// What the rules react to. Every pair of these is repeated to a long line.
const PIECES: &[&str] = &[
    "password=x ",
    "password=\"",
    "://a:b@",
    "glpat-Zx81kQm3Lw09vTb7Rn5c ",
    "a:password>x ",
    "eyJ.",
    "eyJhbGciOi",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "-----ENDPRIVATE-----",
    "%41%42",
    "kind: Secret data: {",
    "token=",
    "key:",
    "\\\"password\\\":\\\"",
    "&quot;password&quot;:&quot;",
    "<password>",
    "secret=(",
    "((((",
    "[[[[",
    "&a ",
    "curl -u a:",
    "bearer ",
    "'",
    "`",
    "\\",
    "password = a + ",
    "@tcp(",
    "\u{200b}",
    "=====",
    "AAAAAAAA",
    "Zx81",
    " ",
];

/// The steps of a thread, in bytes that readers went over: what a clock would show without its noise.
#[test]
fn twice_the_line_is_at_most_twice_the_work() {
    for (index, first) in PIECES.iter().enumerate() {
        for second in [PIECES[(index + 1) % PIECES.len()], ""] {
            let line = |bytes: usize| format!("{first}{second}").repeat(bytes / (first.len() + second.len()) + 1);
            let work = |text: &str| {
                let before = steps::taken();
                std::hint::black_box(redact_diff(&diff_of("a.yml", '+', &[text.to_owned()])));
                steps::taken() - before
            };
            let (short, long) = (work(&line(4_000)), work(&line(32_000)));
            assert!(long <= 12 * short + 2_000_000, "{first:?}{second:?}: {short} steps, eight times the line {long}");
        }
    }
}
