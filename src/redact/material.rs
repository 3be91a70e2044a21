//! Key material in a line: where it starts and ends between quotes, escapes and what a log puts before it.

use super::keys::FULL;

/// Where the lines of a key start that end a text: runs of its alphabet with no more than escapes, quotes and joints between them,
/// the last of any length, the others as long as a key's lines are.
pub(super) fn tail_start(text: &[u8]) -> usize {
    const JOINT: usize = 12;
    let mut start = text.len();
    let mut end = text.len();
    let mut runs = 0;
    loop {
        let joint = text[..end]
            .iter()
            .rev()
            .take_while(|b| matches!(b, b' ' | b'\\' | b'"' | b'\'' | b',' | b'+' | b'.' | b'\t'))
            .count();
        // The letter of an escape (`\n`) belongs to the joint, too.
        let mut stop = end - joint;
        if stop >= 2 && matches!(text[stop - 1], b'n' | b'r') && text[stop - 2] == b'\\' {
            stop -= 2;
            stop -= text[..stop].iter().rev().take_while(|&&b| b == b'\\').count();
        } else if stop >= 3 && text[stop - 3] == b'%' {
            stop -= 3;
        }
        let run = text[..stop].iter().rev().take_while(|&&b| is_key_byte(b)).count();
        // An escape's letter right before the run is not the run's.
        let run = run - usize::from(run < stop && run > 0 && text[stop - run - 1] == b'\\');
        if end - stop > JOINT || run < if runs == 0 { 4 } else { FULL } {
            return if runs > 1 || text.len() - start >= FULL { start } else { text.len() };
        }
        runs += 1;
        start = stop - run;
        end = start;
    }
}

/// The stretch of key characters (with escapes, quotes and joints between them) at the start of `rest`.
pub(super) fn key_run(rest: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    let mut first = None;
    let mut last = 0;
    let mut solid = 0;
    while at < rest.len() {
        match rest[at] {
            b'\\' => {
                at += if matches!(rest.get(at + 1), Some(b'n' | b'r' | b't' | b'\\' | b'"' | b'/')) { 2 } else { 1 }
            }
            b'%' => at += 3,
            b if is_key_byte(b) => {
                let run = rest[at..].iter().take_while(|&&b| is_key_byte(b)).count();
                if run >= 4 || first.is_some() {
                    first.get_or_insert(at);
                    last = at + run;
                    solid += run;
                }
                at += run;
            }
            b' ' | b'\t' | b'"' | b'\'' | b'.' | b',' | b'|' | b'`' => at += 1,
            _ => break,
        }
    }
    let first = first?;
    (solid >= 4).then_some((first, last))
}

pub(super) enum Part {
    /// Base64 (or hexadecimal), and where in the line it stands.
    Body(usize, usize),
    /// `Proc-Type: 4,ENCRYPTED` and the like.
    Header,
    Blank,
    Other,
}

/// What a line between BEGIN and END is. `lead` is what stood before BEGIN: log prefixes, comment signs.
pub(super) fn part(text: &[u8], lead: &[u8]) -> Part {
    let skip = if same_shape(text, lead) { lead.len() } else { 0 };
    let (start, end) = trim_separators(text, skip, text.len());
    if start == end {
        return Part::Blank;
    }
    let core = &text[start..end];
    if core.iter().all(|&b| is_key_byte(b)) {
        return Part::Body(start, end);
    }
    if let Some((start, end)) = literal(text) {
        return Part::Body(start, end);
    }
    let colon = core.iter().position(|&b| b == b':');
    if let Some(colon) = colon
        && core[..colon].iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
        && core[..colon].first().is_some_and(u8::is_ascii_uppercase)
    {
        return Part::Header;
    }
    // Several literals or escapes on one line.
    let solid: usize = core.split(|&b| !is_key_byte(b)).filter(|run| run.len() >= 16).map(<[u8]>::len).sum();
    if solid * 10 >= core.len() * 7 { Part::Body(start, end) } else { Part::Other }
}

/// Whether the line starts as `lead` does, any digit standing for any other.
pub(super) fn same_shape(text: &[u8], lead: &[u8]) -> bool {
    !lead.is_empty()
        && text.len() >= lead.len()
        && text.iter().zip(lead).all(|(left, right)| left == right || left.is_ascii_digit() && right.is_ascii_digit())
}

/// A string literal that holds nothing but key material, whatever joins it to the next line.
fn literal(text: &[u8]) -> Option<(usize, usize)> {
    let open = text.iter().position(|b| matches!(b, b'"' | b'\'' | b'`'))?;
    let length = memchr::memchr(text[open], &text[open + 1..])?;
    let (start, end) = trim_separators(text, open + 1, open + 1 + length);
    let tail = &text[open + 1 + length..];
    let joined = tail.len() < 24 && memchr::memchr(text[open], &tail[1..]).is_none();
    (start < end && joined && text[start..end].iter().all(|&b| is_key_byte(b))).then_some((start, end))
}

pub(super) fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Moves both ends inwards over everything that is not key material.
pub(super) fn trim_separators(bytes: &[u8], mut start: usize, mut end: usize) -> (usize, usize) {
    loop {
        let rest = &bytes[start..end];
        match rest.first() {
            Some(
                b' ' | b'\t' | b'"' | b'\'' | b'`' | b'#' | b'*' | b'|' | b'>' | b',' | b';' | b'.' | b'(' | b')'
                | b'-' | b'<' | b':' | b'[' | b']' | b'\r' | b'\n' | b'&',
            ) => {
                start += 1;
            }
            Some(b'+' | b'/') if matches!(rest.get(1), Some(b' ' | b'"' | b'\'' | b'/' | b'\t')) => start += 1,
            Some(b'\\') => start += if matches!(rest.get(1), Some(b'n' | b'r' | b't')) { 2 } else { 1 },
            Some(b'%')
                if rest.len() >= 3
                    && rest[1].is_ascii_hexdigit()
                    && rest[2].is_ascii_hexdigit()
                    && !matches!(&rest[1..3], b"2B" | b"2F" | b"3D" | b"2b" | b"2f" | b"3d") =>
            {
                start += 3
            }
            _ => break,
        }
        if start >= end {
            return (end, end);
        }
    }
    loop {
        let rest = &bytes[start..end];
        match rest {
            [] => break,
            [.., b'\\', b'n' | b'r' | b't'] => end -= 2,
            [
                ..,
                b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b'.' | b')' | b'(' | b'-' | b'|' | b'<'
                | b'>' | b']' | b'[' | b'\r' | b'\n' | b'}' | b'{' | b'*' | b'#',
            ] => end -= 1,
            [.., b' ' | b'"' | b'\'', b'+'] => end -= 1,
            [.., b'%', high, low]
                if high.is_ascii_hexdigit()
                    && low.is_ascii_hexdigit()
                    && !matches!([*high, *low], [b'2', b'B' | b'F' | b'b' | b'f'] | [b'3', b'D' | b'd']) =>
            {
                end -= 3
            }
            _ => break,
        }
    }
    (start, end)
}

/// The base64 of a line that holds nothing else.
pub(super) fn solid(text: &[u8]) -> Option<&[u8]> {
    let (start, end) = trim_separators(text, 0, text.len());
    let core = &text[start..end];
    if core.len() >= 4 && core.iter().all(|&b| is_key_byte(b)) {
        return Some(core);
    }
    literal(text).map(|(start, end)| &text[start..end]).filter(|core| core.len() >= 4)
}
