//! Secrets under one layer of base64, hexadecimal or percent encoding.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// Shorter runs cannot hold a secret together with what tells it.
const SHORTEST_BASE64: usize = 20;
const SHORTEST_HEX: usize = 32;
/// What is decoded of one run at most; the head of a longer one decides.
const LONGEST: usize = 64 * 1024;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// A run of encoded text in a line and what it says.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: Vec<u8>,
}

/// Every run in the line that decodes to text.
pub(super) fn runs(line: &[u8], mut each: impl FnMut(Decoded)) {
    let mut at = 0;
    while at < line.len() {
        if !is_run_byte(line[at]) {
            at += 1;
            continue;
        }
        let length = line[at..].iter().take_while(|&&b| is_run_byte(b)).count();
        let end = at + length;
        if length >= SHORTEST_BASE64 {
            decode_run(line, at, end, &mut each);
        }
        at = end;
    }
    percent(line, &mut each);
}

fn is_run_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
}

fn decode_run(line: &[u8], start: usize, end: usize, each: &mut impl FnMut(Decoded)) {
    let run = &line[start..end];
    if run.len() >= SHORTEST_HEX && run.len().is_multiple_of(2) && run.iter().all(u8::is_ascii_hexdigit) {
        if let Some(text) = hex(&run[..run.len().min(LONGEST)]) {
            each(Decoded { start, end, text });
        }
        return;
    }
    // `name=` in front of a value is no base64: the run starts after the last `=` that is not padding.
    let mut from = start;
    let body = run.len() - run.iter().rev().take_while(|&&b| b == b'=').count();
    if let Some(equals) = memchr::memrchr(b'=', &run[..body]) {
        from = start + equals + 1;
    }
    let run = &line[from..end];
    if run.len() < SHORTEST_BASE64 {
        return;
    }
    if let Some(text) = base64(run) {
        each(Decoded { start: from, end, text });
    }
}

fn base64(run: &[u8]) -> Option<Vec<u8>> {
    let run = &run[..run.len().min(LONGEST)];
    let engine = if run.iter().any(|b| matches!(b, b'-' | b'_')) { &URL_SAFE } else { &STANDARD };
    let trimmed = run.len() - run.iter().rev().take_while(|&&b| b == b'=').count();
    // The head decides cheaply: identifiers and hashes do not decode to text.
    let head = engine.decode(&run[..16.min(trimmed) / 4 * 4]).ok()?;
    if !is_text(&head) {
        return None;
    }
    let usable = if trimmed % 4 == 1 { trimmed - 1 } else { trimmed };
    let text = engine.decode(&run[..usable]).ok()?;
    is_text(&text).then_some(text)
}

fn hex(run: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|value| value as u8);
    let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    let head: Vec<u8> = run[..16].chunks_exact(2).map_while(byte).collect();
    if !is_text(&head) {
        return None;
    }
    let text: Vec<u8> = run.chunks_exact(2).map_while(byte).collect();
    is_text(&text).then_some(text)
}

/// Runs with at least two percent escapes.
fn percent(line: &[u8], each: &mut impl FnMut(Decoded)) {
    let mut at = 0;
    while let Some(step) = memchr::memchr(b'%', &line[at..]) {
        let sign = at + step;
        if !is_escape(line, sign) {
            at = sign + 1;
            continue;
        }
        let inside = |b: u8| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'%' | b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b':' | b'*' | b'!')
        };
        let start = line[at..sign].iter().rposition(|&b| !inside(b)).map_or(at, |found| at + found + 1);
        let length = line[start..].iter().take_while(|&&b| inside(b)).count();
        let run = &line[start..start + length.min(LONGEST)];
        let escapes = (0..run.len()).filter(|&at| is_escape(run, at)).count();
        if escapes >= 2 && run.len() >= 16 {
            each(Decoded { start, end: start + length, text: percent_encoding::percent_decode(run).collect() });
        }
        at = start + length.max(1);
    }
}

fn is_escape(line: &[u8], at: usize) -> bool {
    line[at] == b'%'
        && line.get(at + 1).is_some_and(u8::is_ascii_hexdigit)
        && line.get(at + 2).is_some_and(u8::is_ascii_hexdigit)
}

/// Nearly all printable.
fn is_text(bytes: &[u8]) -> bool {
    let odd = bytes.iter().filter(|b| !(b.is_ascii_graphic() || matches!(b, b' ' | b'\n' | b'\r' | b'\t'))).count();
    !bytes.is_empty() && odd * 20 <= bytes.len()
}
