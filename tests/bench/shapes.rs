//! Long lines that repeat what the rules react to, and how long the slowest of them takes.

use std::hint::black_box;

use diffsan::redact::{Engine, Settings};

use crate::common::{Random, processor_time};

/// How many of the slowest are told.
const TOLD: usize = 5;

/// Seconds for each megabyte, with the shape, slowest first.
pub(crate) fn slowest(count: usize, seed: usize) -> Vec<(f64, String)> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (seed as u64).wrapping_mul(0x2545_F491_4F6C_DD1D));
    let mut slowest: Vec<(f64, String)> = Vec::new();
    for index in 0..count {
        let unit = match PIECES.get(index) {
            Some(piece) => (*piece).to_owned(),
            None => (0..=random.below(4)).map(|_| PIECES[random.below(PIECES.len())]).collect(),
        };
        let path = ["a.yml", "a.py", "a.xml", "a.json", "a.sh", "a.txt", ".env"][random.below(7)];
        // Most lines are short, so that many shapes are seen; a few show that nothing grows with the length.
        let bytes = if index % 50 == 49 { 4 << 20 } else { 64 << 10 };
        let line = unit.repeat(bytes / unit.len() + 1);
        let diff = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n");
        let Ok(engine) = Engine::new(&Settings::default(), []) else { continue };
        let worked = processor_time();
        black_box(engine.redact_diff_with(diff.as_bytes(), 1));
        let seconds = (processor_time() - worked).as_secs_f64() / (diff.len() as f64 / 1e6);
        slowest.push((seconds, format!("{path} {unit:?}, {} KB", bytes >> 10)));
        slowest.sort_by(|left, right| right.0.total_cmp(&left.0));
        slowest.truncate(TOLD);
    }
    slowest
}

/// What the rules react to; a shape is up to four of these, repeated.
#[rustfmt::skip]
static PIECES: &[&str] = &[
    "password", "=", "x", " ", "\"", "'", "`", "://", "a:b@", "<", ">", ":", "eyJ", ".", "-----BEGIN RSA PRIVATE KEY-----",
    "-----END PRIVATE KEY-----", "-----ENDPRIVATE-----", "%41", "%", "kind: Secret", "data: {", "token", "key", "secret", "\\\"",
    "\\", "&quot;", "(", "[", "{", "}", ")", "]", ",", ";", "&", "?", "curl -u ", "bearer ", "@tcp(", "\u{200b}", "AAAA", "Zx81",
    "0", "-", "_", "/", "+", "#", "|", "sk-", "AKIA", "ghp_", "mysql -p", "login(", "authorization: basic ", "cookie: session=",
    "snmp community", "machine x login y password ", "AccountKey=", "sig=", "xox", "mongodb+srv://", "export ", "ENV ",
    "--password ", "-p", "$2b$12$", "psk", "wifi", "seed phrase ", "aws_secret_access_key", "discord", "twilio",
];
