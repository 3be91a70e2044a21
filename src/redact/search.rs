//! Runs the patterns of rules on the lines that hold their keywords.

use super::rule::Shape;
use super::scan::{Scanner, WHOLE_LINE};
use super::span::{Line, Name, Span};
use super::vocab::{Action, Hit, Loaded};
use super::{contexts, filter, steps};

const WINDOW_BEFORE: usize = 512;
const WINDOW_AFTER: usize = 4096;
/// How many lines away a keyword may stand from its pattern.
const REACH: usize = 2;

impl Scanner<'_, '_, '_> {
    pub(super) fn pattern(&mut self, line: Line, text: &[u8], hits: &[Hit], rule: u16, ran: &mut Vec<u16>) {
        if ran.contains(&rule) {
            return;
        }
        ran.push(rule);
        let loaded = &self.vocabulary.rules[usize::from(rule)];
        let Shape::Pattern { near, .. } = loaded.rule.shape else {
            return;
        };
        if text.len() <= WHOLE_LINE {
            self.search(loaded, line, 0, text.len());
        } else {
            let places = hits.iter().filter(|hit| hit.action == Action::Pattern(rule)).map(|hit| hit.at);
            for (start, end) in windows(places, text.len()) {
                self.search(loaded, line, start, end);
            }
        }
        if near {
            self.search_near(loaded, line);
        }
    }

    fn search_near(&mut self, loaded: &Loaded, line: Line) {
        for view in self.region.views(line) {
            let below = std::iter::successors(view.next(line), |line| view.next(*line)).take(REACH);
            let above = std::iter::successors(view.previous(line), |line| view.previous(*line)).take(REACH);
            for other in below.chain(above) {
                self.search(loaded, other, 0, (other.end - other.start).min(WHOLE_LINE));
            }
        }
    }

    fn search(&mut self, loaded: &Loaded, line: Line, start: usize, end: usize) {
        let Some(regex) = loaded.regex() else { return };
        let text = &self.region.text(line)[start..end];
        steps::add(text.len());
        let generic = contexts::is_one(loaded.rule);
        for captures in regex.captures_iter(text) {
            let Some(found) = captures.iter().skip(1).flatten().next().or_else(|| captures.get(0)) else {
                continue;
            };
            let value = found.as_bytes();
            if value.is_empty()
                || filter::is_reference(value) && !value.starts_with(b"$")
                || !self.accepts(loaded, value, value)
            {
                continue;
            }
            if generic && (filter::is_placeholder(value) || value.len() <= 5 && value.iter().all(u8::is_ascii_digit)) {
                continue;
            }
            let end =
                start + found.start() + whole_length(&self.region.text(line)[start + found.start()..], value.len());
            self.out.push(Span {
                start: line.start + start + found.start(),
                end: line.start + end,
                name: Name::Rule(loaded.rule.name),
            });
        }
    }
}

/// A pattern has an end; the value may go on.
fn whole_length(text: &[u8], found: usize) -> usize {
    const LONG: usize = 48;
    if found < LONG {
        return found;
    }
    let more =
        text[found..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'));
    found + more.count()
}

/// Stretches around the places, joined where they overlap.
fn windows(places: impl Iterator<Item = usize>, length: usize) -> Vec<(usize, usize)> {
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for at in places {
        let (start, end) = (at.saturating_sub(WINDOW_BEFORE), length.min(at + WINDOW_AFTER));
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            _ => joined.push((start, end)),
        }
    }
    joined
}
