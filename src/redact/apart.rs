//! Lines that are read as another text: without the characters that nobody sees, and as one with those they go on in.

use super::scan::{Done, Scanner, Scratch, WHOLE_LINE};
use super::span::{Line, Region, Span};

/// How many lines one command takes at most, before and after the one that is read.
const MOST_LINES: usize = 16;

impl Scanner<'_, '_, '_> {
    /// Characters that cannot be seen may stand inside a name or a token: the line is read without them.
    pub(super) fn hidden(&mut self, line: Line, text: &[u8]) {
        if !text.iter().any(|b| !b.is_ascii()) || !places_of_hidden(text).any(|_| true) {
            return;
        }
        let mut clean = Vec::with_capacity(text.len());
        let mut places = Vec::with_capacity(text.len() + 1);
        let mut at = 0;
        for (start, length) in places_of_hidden(text) {
            places.extend(at..start);
            clean.extend_from_slice(&text[at..start]);
            at = start + length;
        }
        places.extend(at..=text.len());
        clean.extend_from_slice(&text[at..]);
        let region = Region { bytes: &clean, prefix: 0, ..*self.region };
        self.read_apart(&region, |start, end| Some((line.start + places[start], line.start + places[end - 1] + 1)));
    }

    /// A command that goes on below is one command: its lines are read as one.
    pub(super) fn continued(&mut self, line: Line, text: &[u8]) {
        if !self.region.kind.goes_on_with_backslash() {
            return;
        }
        for view in self.region.views(line) {
            let side = view.side as usize;
            let goes_on = |line: Line| view.text(line).trim_ascii_end().ends_with(b"\\");
            let before = view.previous(line).filter(|&before| goes_on(before));
            if line.start < self.done.command[side] || before.is_none() && !text.trim_ascii_end().ends_with(b"\\") {
                continue;
            }
            let above = std::iter::successors(before, |&line| view.previous(line).filter(|&before| goes_on(before)));
            let first = above.take(MOST_LINES).last().unwrap_or(line);
            let mut joined = Vec::new();
            let mut places: Vec<(usize, Line)> = Vec::new();
            let mut current = Some(first);
            while let Some(line) = current.filter(|_| places.len() < 2 * MOST_LINES && joined.len() < WHOLE_LINE) {
                let text = view.text(line).trim_ascii_end();
                places.push((joined.len(), line));
                joined.extend_from_slice(text.strip_suffix(b"\\").unwrap_or(text));
                joined.push(b' ');
                self.done.command[side] = line.end;
                current = if goes_on(line) { view.next(line) } else { None };
            }
            let region = Region { bytes: &joined, prefix: 0, ..view };
            self.read_apart(&region, |start, end| {
                let (from, line) = places[places.partition_point(|(from, _)| *from <= start) - 1];
                let (start, end) = (line.start + start - from, line.start + end - from);
                (end <= line.end).then_some((start, end))
            });
        }
    }

    /// Reads a text made of this one; `place` says where its stretches are in the region.
    fn read_apart(&mut self, region: &Region<'_>, place: impl Fn(usize, usize) -> Option<(usize, usize)>) {
        let mut out = Vec::new();
        let mut scratch = Scratch::default();
        Scanner {
            region,
            vocabulary: self.vocabulary,
            scratch: &mut scratch,
            out: &mut out,
            depth: 1,
            file: self.file,
            done: Done::default(),
        }
        .read();
        self.out.extend(out.into_iter().filter_map(|span| {
            let (start, end) = place(span.start, span.end)?;
            Some(Span { start, end, name: span.name })
        }));
    }
}

/// Zero-width and soft characters, each with its length.
fn places_of_hidden(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    (0..text.len()).filter_map(|at| {
        let length = match text[at..] {
            [0xE2, 0x80, 0x8B..=0x8F, ..] | [0xE2, 0x81, 0xA0..=0xA4, ..] | [0xEF, 0xBB, 0xBF, ..] => 3,
            [0xC2, 0xAD, ..] => 2,
            _ => return None,
        };
        Some((at, length))
    })
}
