//! Reads what is given to the names of a line, and judges whether it is a secret.

use std::ops::Range;

use super::assign::{self, Assignment, Form};
use super::rule::Shape;
use super::scan::{Reading, Scanner};
use super::span::{Name, Span};
use super::spoken::spoken_name;
use super::token::ENOUGH;
use super::vocab::Action;
use super::{filter, manifest, names, values};

/// How far before the operator the vendor's name may stand.
const VENDOR_REACH: usize = 48;

/// So many names are read on any line; on a long one, a name for so many bytes on average.
const NAME_BUDGET: usize = 4096;
const NAMES_PER_BYTES: usize = 12;

/// A bare word that long is no setting.
const ENDLESS: usize = 768;
/// The longest token that a badge's URL carries.
const SHORT_QUERY: usize = 12;

impl Scanner<'_, '_, '_> {
    /// Reads the assignment of every name that says something.
    pub(super) fn names(&mut self, reading: &Reading<'_>) {
        let triggers = reading.hits.iter().filter(|hit| hit.action == Action::Assign);
        let mut places: Vec<usize> = triggers.chain(reading.vendors).map(|hit| hit.at).collect();
        if places.is_empty() {
            return;
        }
        places.sort_unstable();
        let mut named_until = 0;
        let mut budget = NAME_BUDGET.max(reading.text.len() / NAMES_PER_BYTES);
        for at in places {
            if at < named_until {
                continue;
            }
            if budget == 0 {
                // A line made to exhaust the reader is not let through.
                self.out.push(Span {
                    start: reading.line.start + at,
                    end: reading.line.end,
                    name: Name::Generic("UNREADABLE_LINE"),
                });
                break;
            }
            budget -= 1;
            named_until = self.assigned(reading, at);
        }
        if reading.text.len() < 256 {
            let mut found = Vec::new();
            let whole = 0..reading.text.len();
            for view in self.region.views(reading.line) {
                let vendor = |value: &[u8]| self.vendor(reading, &whole, value, Form::Quoted);
                manifest::paired_value(&view, reading.line, vendor, &mut found);
            }
            self.out.append(&mut found);
        }
    }

    /// Reads the assignment around `at`; gives the end of its name, so that no name is read twice.
    fn assigned(&mut self, reading: &Reading<'_>, at: usize) -> usize {
        let text = reading.text;
        let name = assign::name_around(text, at);
        // The user of a URL is not assigned its password: the URL's own reader knows where that ends.
        if text[..name.start].ends_with(b"://") {
            return name.end;
        }
        let assignment = assign::read(text, at, self.region.kind, reading.facts);
        if let Some(assignment) = &assignment
            && let Some(rule) = self.judge_whole(reading, &name, assignment)
        {
            let mut end = name.end;
            for value in std::iter::once(&assignment.value).chain(&assignment.more).filter(|value| !value.is_empty()) {
                let start = reading.line.start + value.start;
                self.out.push(Span { start, end: reading.line.start + value.end, name: rule });
                end = end.max(value.end);
            }
            return end;
        }
        // Names inside an endless bare word have the same end: to read them all would take for ever.
        if let Some(Assignment { value, form: Form::Bare | Form::Doubtful | Form::Spoken, .. }) = &assignment
            && value.len() >= ENDLESS
        {
            return value.end;
        }
        let rest = &text[name.end..reading.facts.last.max(name.end)];
        let in_call = reading.facts.flow < name.start;
        if manifest::goes_on_below(rest, in_call) {
            self.list_below(reading, &name, rest);
            for view in self.region.views(reading.line) {
                if let Some((start, end, form)) = manifest::value_below(&view, reading.line)
                    && let Some(rule) = self.judge(reading, &name, &self.region.bytes[start..end], form)
                {
                    self.out.push(Span { start, end, name: rule });
                }
            }
        }
        name.end
    }

    /// Likewise for a value in one or several pieces: one of them may say it, or all of them together.
    fn judge_whole(&self, reading: &Reading<'_>, name: &Range<usize>, assignment: &Assignment) -> Option<Name> {
        let Assignment { value, form, more, .. } = assignment;
        let first = self.judge(reading, name, &reading.text[value.clone()], *form);
        if first.is_some() || more.is_empty() {
            return first;
        }
        let pieces = std::iter::once(value).chain(more).map(|piece| &reading.text[piece.clone()]);
        let whole: Vec<u8> = pieces.clone().flat_map(|piece| piece.iter().copied().take(ENOUGH)).collect();
        self.judge(reading, name, &whole, *form)
            .or_else(|| pieces.skip(1).find_map(|piece| self.judge(reading, name, piece, *form)))
    }

    /// `passwords:` and a list of them.
    fn list_below(&mut self, reading: &Reading<'_>, name: &Range<usize>, rest: &[u8]) {
        if rest.trim_ascii() != b":" {
            return;
        }
        for view in self.region.views(reading.line) {
            for (start, end, form) in manifest::items_below(&view, reading.line) {
                if let Some(rule) = self.judge(reading, name, &self.region.bytes[start..end], form) {
                    self.out.push(Span { start, end, name: rule });
                }
            }
        }
    }

    /// Which rule, if any, says that a value given to this name is a secret.
    fn judge(&self, reading: &Reading<'_>, name: &Range<usize>, literal: &[u8], form: Form) -> Option<Name> {
        if let Some(rule) = self.vendor(reading, name, literal, form) {
            return Some(Name::Rule(rule));
        }
        let text = &reading.text[name.clone()];
        // A lock file is a list of names and releases; a translation says the word, not the secret.
        if self.file.is_lock {
            return None;
        }
        // "secret key" in a sentence is one name.
        let spoken = spoken_name(reading.text, name);
        let promise = names::promise(&reading.text[spoken]).or_else(|| names::promise(text))?;
        if self.file.is_translation && !literal.iter().any(u8::is_ascii_digit) {
            return None;
        }
        if literal.len() <= SHORT_QUERY && form == Form::Bare && is_badge(reading, name) {
            return None;
        }
        values::keeps(promise, form, text, literal).then(|| Name::Generic(promise.rule()))
    }

    /// The rule whose keyword is in or shortly before the name and whose shape the value has.
    fn vendor(&self, reading: &Reading<'_>, name: &Range<usize>, value: &[u8], form: Form) -> Option<&'static str> {
        let from = name.start.saturating_sub(VENDOR_REACH);
        let first = reading.vendors.partition_point(|hit| hit.at < from);
        let near = &reading.vendors[first..];
        let near = &near[..near.partition_point(|hit| hit.at < name.end)];
        if near.is_empty()
            || matches!(form, Form::Doubtful | Form::Spoken) && value.len() < 16
            || names::is_about_only(&reading.text[name.clone()])
        {
            return None;
        }
        near.iter().find_map(|hit| {
            let Action::Assigned(rule) = hit.action else {
                return None;
            };
            let loaded = &self.vocabulary.rules[usize::from(rule)];
            let Shape::Assigned { value: charset, len, .. } = &loaded.rule.shape else {
                return None;
            };
            let fits =
                charset.covers(value, *len) && self.accepts(loaded, value, value) && !filter::is_placeholder(value);
            fits.then_some(loaded.rule.name)
        })
    }
}

/// Whether the name is a parameter of a badge's URL: who may see the page may see that token.
fn is_badge(reading: &Reading<'_>, name: &Range<usize>) -> bool {
    const REACH: usize = 160;
    let before = &reading.lower[name.start.saturating_sub(REACH)..name.start];
    matches!(before.last(), Some(b'?' | b'&' | b';'))
        && ["badge", "shields.io"].iter().any(|word| memchr::memmem::find(before, word.as_bytes()).is_some())
}
