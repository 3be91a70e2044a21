//! Reads what is left after a removal: a value that ends differently now must not be found by a second run only.

use super::TOKEN;
use super::span::Span;

/// The text with the token in the place of every span. Spans are sorted and apart.
pub(super) fn replace(raw: &[u8], spans: &[Span]) -> Vec<u8> {
    let removed: usize = spans.iter().map(|span| span.end - span.start).sum();
    let mut out = Vec::with_capacity(raw.len() - removed + spans.len() * TOKEN.len());
    let mut at = 0;
    for span in spans {
        out.extend_from_slice(&raw[at..span.start]);
        out.extend_from_slice(TOKEN.as_bytes());
        at = span.end;
    }
    out.extend_from_slice(&raw[at..]);
    out
}

/// The spans of the redacted text as spans of the text, less what is removed already. Both lists are sorted and apart.
pub(super) fn fresh(found: &[Span], removed: &[Span]) -> Vec<Span> {
    let mut before = Before { removed, index: 0, taken: 0 };
    let mut fresh = Vec::new();
    for span in found {
        let start = before.place(span.start, |removed| removed.start);
        let end = before.place(span.end, |removed| removed.end);
        let covered = removed[..before.index.min(removed.len())].iter().rev().take(2).chain(removed.get(before.index));
        if start < end && !covered.into_iter().any(|removed| removed.start <= start && end <= removed.end) {
            fresh.push(Span { start, end, ..*span });
        }
    }
    fresh
}

/// Walks the redacted text and knows where each of its places was.
struct Before<'s> {
    removed: &'s [Span],
    /// The first removed span that does not end before the place.
    index: usize,
    /// What all spans before it took away, less what the tokens added: the place in the text is so much further.
    taken: isize,
}

impl Before<'_> {
    /// Where `at` was; inside a token, the end of the removed span that is asked for.
    fn place(&mut self, at: usize, edge: impl Fn(&Span) -> usize) -> usize {
        while let Some(span) = self.removed.get(self.index) {
            let start = span.start.saturating_add_signed(-self.taken);
            if at <= start {
                break;
            }
            if at < start + TOKEN.len() {
                return edge(span);
            }
            self.taken += (span.end - span.start) as isize - TOKEN.len() as isize;
            self.index += 1;
        }
        at.saturating_add_signed(self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::span::Name;
    use super::*;

    #[test]
    fn a_place_of_the_redacted_text_is_one_of_the_text() {
        let span = |start, end| Span { start, end, name: Name::Known };
        let text = b"ab SECRET cd HIDDENSTRING ef";
        let removed = [span(3, 9), span(13, 25)];
        let left = replace(text, &removed);
        assert_eq!(left, b"ab [REDACTED] cd [REDACTED] ef");
        assert_eq!(fresh(&[span(0, 2)], &removed), [span(0, 2)]);
        assert_eq!(fresh(&[span(3, 13), span(14, 16), span(20, 30)], &removed), [span(10, 12), span(13, 28)]);
        assert_eq!(fresh(&[span(4, 12)], &removed), []);
    }
}
