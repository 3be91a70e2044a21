//! Private keys as blocks of text: whole, cut by a hunk, escaped into one line, or split over string literals.

use super::chance::entropy;
use super::material::{Part, key_run, part, same_shape, solid, tail_start, trim_separators};
use super::span::{Line, Name, Region, Span};

const PRIVATE_KEY: Name = Name::Rule("PRIVATE_KEY");
const PGP_KEY: Name = Name::Rule("PGP_PRIVATE_KEY");
const PUTTY_KEY: Name = Name::Rule("PUTTY_PRIVATE_KEY");
const FRAGMENT: Name = Name::Rule("PRIVATE_KEY_FRAGMENT");

/// The lines of a key, but the last, are at least so long.
pub(super) const FULL: usize = 24;
/// So much before the end of a key may be what every line of it starts with; more is another text.
const MOST_LEAD: usize = 80;

/// Lines that may stand between BEGIN and the key: `Proc-Type`, `DEK-Info`, `Version`, `Comment`.
const HEADER_LINES: usize = 6;
/// Widths at which PEM (64), OpenSSH (70) and PGP (76, 64) break their lines.
const KEY_WIDTHS: std::ops::RangeInclusive<usize> = 60..=76;

/// Removes the body of every key whose BEGIN or END stands on `line`. What lies before `done` has been read; gives the end of what
/// is read then.
pub(super) fn marked(region: &Region<'_>, line: Line, done: usize, out: &mut Vec<Span>) -> usize {
    let mut read = line.end;
    let mut at = line.start.max(done).min(line.end);
    let mut open = false;
    while let Some(marker) = next_marker(region.bytes, at, line.end) {
        if marker.begins {
            let body = Body { region, name: marker.name, lead: &region.bytes[line.start..marker.start] };
            read = read.max(body.forward(marker.end, line, out));
            open = true;
        } else if !open {
            let body = Body { region, name: marker.name, lead: &region.bytes[line.start..marker.start] };
            body.backward(marker.start, line, done, out);
        }
        if !marker.begins {
            open = false;
        }
        at = marker.end;
    }
    if region.text(line).starts_with(b"Private-Lines") {
        read = read.max(putty(region, line, out));
    }
    read.max(done)
}

/// Removes lines in the middle of a key of which the hunk shows neither end. Gives the end of the block.
pub(super) fn fragment(region: &Region<'_>, line: Line, out: &mut Vec<Span>) -> usize {
    let Some(core) = solid(region.text(line)) else {
        return line.end;
    };
    let width = core.len();
    let hex = width == 32 && core.iter().all(u8::is_ascii_hexdigit);
    if !(KEY_WIDTHS.contains(&width) && is_dense(core) || hex) || is_public_path(region.path) {
        return line.end;
    }
    let is_full = |line: Line| {
        solid(region.text(line))
            .is_some_and(|core| core.len() == width && (!hex || core.iter().all(u8::is_ascii_hexdigit)))
    };
    let mut lines = vec![line];
    let mut first = line;
    while let Some(before) = region.previous(first).filter(|&before| is_full(before)) {
        lines.push(before);
        first = before;
    }
    let mut last = line;
    while let Some(next) = region.next(last).filter(|&next| is_full(next)) {
        lines.push(next);
        last = next;
    }
    let full = lines.len();
    // A key ends with a shorter line; one may also stand before the block, where a hunk joins two keys.
    let is_end = |line: Line| {
        solid(region.text(line)).is_some_and(|core| {
            core.len() < width && (core.ends_with(b"=") || core.len() >= 8 && is_dense_enough(core))
        })
    };
    if let Some(next) = region.next(last).filter(|&next| !hex && is_end(next)) {
        lines.push(next);
        last = next;
    }
    if let Some(before) = region.previous(first).filter(|&before| !hex && is_end(before)) {
        lines.push(before);
        first = before;
    }
    let above = std::iter::successors(region.previous(first), |line| region.previous(*line));
    let below = std::iter::successors(region.next(last), |line| region.next(*line));
    let telling = is_key_path(region.path);
    let enough = match (telling, hex) {
        // Hexadecimal in lines is a key only where the file is one.
        (false, true) => return last.end,
        (true, true) => 4,
        (true, false) => 1,
        (false, false) => 2,
    };
    let usual = telling || hex || matches!(width, 64 | 70) || starts_like_key(core);
    if usual
        && full >= enough
        && !is_public(region, above)
        && !is_public(region, below)
        && !is_wide_text(region, &lines)
    {
        for line in &lines {
            if let Part::Body(start, end) = part(region.text(*line), b"") {
                out.push(Span { start: line.start + start, end: line.start + end, name: FRAGMENT });
            }
        }
    }
    last.end
}

/// Whether the block goes on to the border of something public: past comments, blank lines and a checksum.
fn is_public(region: &Region<'_>, lines: impl Iterator<Item = Line>) -> bool {
    for line in lines.take(HEADER_LINES) {
        let text = region.text(line);
        if is_public_marker(text) {
            return true;
        }
        let checksum = text.len() <= 8 && text.starts_with(b"=");
        if !checksum && !matches!(part(text, b""), Part::Blank | Part::Header) {
            return false;
        }
    }
    false
}

/// Hexadecimal that says something, line by line, is a test's data.
fn is_wide_text(region: &Region<'_>, lines: &[Line]) -> bool {
    let is_ascii = |line: &Line| {
        let core = solid(region.text(*line)).unwrap_or_default();
        core.len() == 32 && core.chunks_exact(2).filter(|pair| matches!(pair[0], b'2'..=b'7')).count() >= 15
    };
    lines.iter().any(is_ascii)
}

/// A shorter piece of base64 rather than a word.
fn is_dense_enough(core: &[u8]) -> bool {
    core.iter().any(u8::is_ascii_digit)
        && core.iter().any(u8::is_ascii_uppercase)
        && core.iter().any(u8::is_ascii_lowercase)
}

struct Marker {
    begins: bool,
    start: usize,
    end: usize,
    name: Name,
}

/// The next `-----BEGIN … KEY…-----` or `-----END … KEY…-----` before `end`.
fn next_marker(bytes: &[u8], mut at: usize, end: usize) -> Option<Marker> {
    const LABEL_LIMIT: usize = 80;
    while let Some(step) = memchr::memmem::find(&bytes[at..end], b"----") {
        let start = at + step;
        let dashes = bytes[start..end].iter().take_while(|&&b| b == b'-').count();
        let label_start = start + dashes;
        let rest = &bytes[label_start..end.min(label_start + LABEL_LIMIT)];
        let rest_trimmed = rest.trim_ascii_start();
        let begins = starts_ignoring_case(rest_trimmed, b"BEGIN");
        let ends = starts_ignoring_case(rest_trimmed, b"END");
        if begins || ends {
            let label_end = memchr::memmem::find(rest, b"----").unwrap_or(rest.len());
            let label = rest[..label_end].to_ascii_uppercase();
            if let Some(name) = private_label(&label) {
                let close = label_start + label_end;
                let closing = bytes[close..end].iter().take(5).take_while(|&&b| b == b'-').count();
                return Some(Marker { begins, start, end: close + closing, name });
            }
        }
        at = label_start;
    }
    None
}

fn private_label(label: &[u8]) -> Option<Name> {
    let has = |word: &[u8]| memchr::memmem::find(label, word).is_some();
    // Spaces may be written as `+`, `%20`, `_` or left out.
    if has(b"PGP") && has(b"PRIVATE") {
        return Some(PGP_KEY);
    }
    if has(b"PRIVATE") || has(b"ENCRYPTED KEY") || has(b"OPENVPN STATIC") {
        return Some(PRIVATE_KEY);
    }
    // A cut-off label: better taken for a key than let through.
    (label.len() < 12 && !has(b"CERT") && !has(b"PUBLIC") && label.ends_with(b"PRIV")).then_some(PRIVATE_KEY)
}

fn starts_ignoring_case(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
}

struct Body<'r, 'a> {
    region: &'r Region<'a>,
    name: Name,
    /// What stands before the marker on its line, and so before the lines of the key.
    lead: &'r [u8],
}

impl Body<'_, '_> {
    /// From the end of a BEGIN marker to the END marker, or to the first line that is no key.
    fn forward(&self, from: usize, line: Line, out: &mut Vec<Span>) -> usize {
        let bytes = self.region.bytes;
        if let Some(end) = next_marker(bytes, from, line.end) {
            let inside = trim_separators(bytes, from, end.start);
            if inside.0 < inside.1 {
                out.push(Span { start: inside.0, end: inside.1, name: self.name });
            }
            return line.end;
        }
        self.rest_of_line(from, line.end, out);
        let mut headers = 0;
        let mut last = line;
        while let Some(next) = self.region.next(last) {
            if let Some(marker) = next_marker(bytes, next.start, next.end) {
                if !marker.begins {
                    let lead = if same_shape(self.region.text(next), self.lead) { self.lead.len() } else { 0 };
                    push_body(self.region, (next.start + lead).min(marker.start), marker.start, self.name, out);
                    // The rest of this line is read again: another key may start on it.
                    return marker.end.min(next.end).max(last.end);
                }
                break;
            }
            match part(self.region.text(next), self.lead) {
                Part::Body(start, end) => {
                    out.push(Span { start: next.start + start, end: next.start + end, name: self.name });
                    headers = HEADER_LINES;
                }
                Part::Header if headers < HEADER_LINES => headers += 1,
                Part::Blank => {}
                Part::Header | Part::Other => break,
            }
            last = next;
        }
        last.end
    }

    /// From an END marker without a BEGIN back to the first line that is no key.
    fn backward(&self, to: usize, line: Line, done: usize, out: &mut Vec<Span>) {
        let from = tail_start(&self.region.bytes[line.start.max(done)..to]) + line.start.max(done);
        if from < to {
            push_body(self.region, from, to, self.name, out);
        }
        if from - line.start > MOST_LEAD {
            return;
        }
        let mut first = line;
        let mut full = 0;
        while let Some(before) = self.region.previous(first).filter(|before| before.start >= done) {
            match part(self.region.text(before), self.lead) {
                // Above the last line of a key its lines are full.
                Part::Body(start, end) if end - start >= FULL || full == 0 && first.start == line.start => {
                    full += usize::from(end - start >= FULL);
                    out.push(Span { start: before.start + start, end: before.start + end, name: self.name })
                }
                Part::Blank => {}
                Part::Body(..) | Part::Header | Part::Other => break,
            }
            first = before;
        }
    }

    /// What follows BEGIN on its own line when END is not there.
    fn rest_of_line(&self, from: usize, end: usize, out: &mut Vec<Span>) {
        let rest = &self.region.bytes[from..end];
        let Some((start, stop)) = key_run(rest) else {
            return;
        };
        out.push(Span { start: from + start, end: from + stop, name: self.name });
    }
}

fn push_body(region: &Region<'_>, start: usize, end: usize, name: Name, out: &mut Vec<Span>) {
    let (start, end) = trim_separators(region.bytes, start.min(end), end);
    if start < end {
        out.push(Span { start, end, name });
    }
}

/// Upper and lower case, digits, and no order in them.
fn is_dense(core: &[u8]) -> bool {
    core.iter().any(u8::is_ascii_uppercase)
        && core.iter().any(u8::is_ascii_lowercase)
        && core.iter().any(u8::is_ascii_digit)
        && entropy(core) >= 3.8
}

fn starts_like_key(core: &[u8]) -> bool {
    core.starts_with(b"MII")
        || core.starts_with(b"b3BlbnNzaC1rZXkt")
        || core.starts_with(b"MHc")
        || core.starts_with(b"MIG")
        || core.starts_with(b"lQ")
}

fn is_public_marker(text: &[u8]) -> bool {
    let upper = text.to_ascii_uppercase();
    memchr::memmem::find(&upper, b"-----").is_some()
        && (memchr::memmem::find(&upper, b"CERTIFICATE").is_some()
            || memchr::memmem::find(&upper, b"PUBLIC").is_some()
            || memchr::memmem::find(&upper, b"SIGNATURE").is_some()
            || memchr::memmem::find(&upper, b"MESSAGE").is_some())
}

fn is_public_path(path: &[u8]) -> bool {
    [&b".crt"[..], b".cer", b".cert", b".pub", b".csr", b".svg", b".css", b".map", b".ipynb", b".eml"]
        .iter()
        .any(|end| path.ends_with(end))
}

fn is_key_path(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    [&b".pem"[..], b".key", b".ppk", b".p8", b".pk8", b".ovpn"].iter().any(|end| name.ends_with(end))
        || name.starts_with(b"id_")
}

/// The `Private-Lines: n` of a PuTTY file and the lines it announces.
fn putty(region: &Region<'_>, line: Line, out: &mut Vec<Span>) -> usize {
    let mut last = line;
    while let Some(next) = region.next(last) {
        match part(region.text(next), b"") {
            Part::Body(start, end) => {
                out.push(Span { start: next.start + start, end: next.start + end, name: PUTTY_KEY })
            }
            Part::Blank => {}
            Part::Header | Part::Other => break,
        }
        last = next;
    }
    last.end
}
