//! What of a diff is the diff's own: the signs before lines, counts, modes, the words of headers. None of it is ever removed.

use std::ops::Range;

use super::span::Span;
use super::walk::{Section, Walked, parse_hunk};

/// Takes everything structural out of the spans, which are sorted and apart. Paths are redacted by what they say alone, so that all
/// lines of a header name a file alike; `in_path` gives the spans of one.
pub(super) fn clip(
    raw: &[u8],
    walked: &[&Walked],
    spans: Vec<Span>,
    in_path: impl Fn(&[u8]) -> Vec<Span>,
) -> Vec<Span> {
    let mut kept = Vec::with_capacity(spans.len());
    let mut rest = spans.as_slice();
    for section in walked.iter().flat_map(|walked| &walked.sections) {
        let count = rest.partition_point(|span| span.start < section.end);
        let (here, later) = rest.split_at(count);
        rest = later;
        if here.is_empty() {
            continue;
        }
        if section.lines.is_some() {
            kept.extend(here.iter().filter_map(|span| behind_sign(raw, section, *span)));
        } else {
            clip_header(raw, section, here, &in_path, &mut kept);
        }
    }
    kept
}

/// Leaves the sign of a diff's line out of a span, in a text that may hold one; false when nothing is left of it.
pub(super) fn keep_sign(text: &[u8], span: &mut Span) -> bool {
    let starts_line = span.start == 0 || text[span.start - 1] == b'\n';
    if starts_line && matches!(text[span.start], b'+' | b'-' | b' ') {
        span.start += 1;
    }
    span.start < span.end
}

/// A span of a hunk without the sign that its line starts with.
fn behind_sign(raw: &[u8], section: &Section, mut span: Span) -> Option<Span> {
    if span.start == section.start || raw[span.start - 1] == b'\n' {
        span.start += 1;
    }
    let end = memchr::memchr(b'\n', &raw[span.start.min(span.end)..span.end]);
    span.end = end.map_or(span.end, |newline| span.start + newline);
    (span.start < span.end).then_some(span)
}

fn clip_header(
    raw: &[u8],
    section: &Section,
    spans: &[Span],
    in_path: &impl Fn(&[u8]) -> Vec<Span>,
    kept: &mut Vec<Span>,
) {
    let mut start = section.start;
    let mut is_data = false;
    while start < section.end {
        let end = memchr::memchr(b'\n', &raw[start..section.end]).map_or(section.end, |newline| start + newline);
        let line = raw[start..end].trim_ascii_end();
        match free(line, is_data) {
            Free::Nothing => {}
            Free::Text(free) => {
                let (from, to) = (start + free.start, start + free.end);
                let clipped =
                    spans.iter().map(|span| Span { start: span.start.max(from), end: span.end.min(to), ..*span });
                kept.extend(clipped.filter(|span| span.start < span.end));
            }
            Free::Paths(paths) => {
                for path in paths.into_iter().flatten() {
                    kept.extend(in_path(&line[path.clone()]).into_iter().map(|span| span.shifted(start + path.start)));
                }
            }
        }
        is_data |= line == b"GIT binary patch";
        start = end + 1;
    }
}

/// What of a line between hunks may be removed.
enum Free {
    Nothing,
    Text(Range<usize>),
    Paths([Option<Range<usize>>; 2]),
}

fn free(line: &[u8], is_data: bool) -> Free {
    const WORDS: [&[u8]; 11] = [
        b"index ",
        b"old mode ",
        b"new mode ",
        b"deleted file mode ",
        b"new file mode ",
        b"similarity index ",
        b"dissimilarity index ",
        b"GIT binary patch",
        b"literal ",
        b"delta ",
        b"Submodule ",
    ];
    const NAMED: [&[u8]; 7] =
        [b"--- ", b"+++ ", b"rename from ", b"rename to ", b"copy from ", b"copy to ", b"* Unmerged path "];
    if is_data || WORDS.iter().any(|word| line.starts_with(word)) {
        return Free::Nothing;
    }
    if line.starts_with(b"@@ -") && parse_hunk(line).is_some() {
        let heading = memchr::memmem::find(&line[4..], b" @@").map_or(line.len(), |at| at + 7);
        return Free::Text(heading..line.len());
    }
    if let Some(names) = line.strip_prefix(b"diff --git ") {
        return Free::Paths(two_names(names, b"diff --git ".len(), b" "));
    }
    if let Some(names) = line.strip_prefix(b"Binary files ").and_then(|rest| rest.strip_suffix(b" differ")) {
        return Free::Paths(two_names(names, b"Binary files ".len(), b" and "));
    }
    if let Some(word) = NAMED.iter().find(|word| line.starts_with(word)) {
        let end = memchr::memchr(b'\t', line).unwrap_or(line.len());
        return Free::Paths([name(line, word.len()..end), None]);
    }
    Free::Text(0..line.len())
}

/// The two names of a header line, `shift` bytes into it.
fn two_names(names: &[u8], shift: usize, between: &[u8]) -> [Option<Range<usize>>; 2] {
    let moved = |range: Range<usize>| range.start + shift..range.end + shift;
    let split = middle(names, between).or_else(|| {
        [&b"b/"[..], b"\"b/", b"/dev/null"].iter().find_map(|start| {
            let mark = [between, start].concat();
            memchr::memmem::rfind(names, &mark)
        })
    });
    match split {
        Some(at) => [name(names, 0..at), name(names, at + between.len()..names.len())].map(|name| name.map(moved)),
        None => [Some(moved(0..names.len())), None],
    }
}

/// The same name twice needs no other sign of where it ends.
fn middle(names: &[u8], between: &[u8]) -> Option<usize> {
    let half = names.len().checked_sub(between.len())? / 2;
    let (left, right) = (&names[..half], &names[names.len() - half..]);
    let same = left.len() > 2 && left[2..] == right[2..];
    (same && names[half..names.len() - half] == *between).then_some(half)
}

/// The part of a name that is the repository's, not the diff's `a/`.
fn name(line: &[u8], mut range: Range<usize>) -> Option<Range<usize>> {
    if let [b'"', .., b'"'] = &line[range.clone()] {
        range = range.start + 1..range.end - 1;
    }
    match &line[range.clone()] {
        b"/dev/null" => None,
        [b'a'..=b'z', b'/', _, ..] => Some(range.start + 2..range.end),
        _ => Some(range),
    }
}
