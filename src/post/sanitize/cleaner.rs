//! The rewriting itself: one pass over a text.

use std::cell::Cell;
use std::collections::HashMap;

use super::block::{FOLD_END, Fence, LANGUAGES, ends_blank, is_blank, quote_fence, table_lines, unfolded};
use super::inline::*;
use super::own::Own;
use super::{Clean, Counts, count, is_command, visible};

/// Rewrites a text from top to bottom, once.
pub(super) struct Cleaner<'a> {
    /// What diffsan itself wrote in it.
    own: &'a Own,
    out: String,
    counts: Counts,
    /// Own folded blocks that are open.
    folds: usize,
}

impl<'a> Cleaner<'a> {
    pub(super) fn new(own: &'a Own) -> Self {
        Self { own, out: String::new(), counts: Counts::new(), folds: 0 }
    }

    /// A text of any number of lines.
    pub(super) fn document(mut self, text: &str) -> Clean {
        let text = self.own.visible(text, &mut self.counts);
        let lines: Vec<&str> = text.trim_matches('\n').split('\n').collect();
        let tables = table_lines(&lines);
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let next = lines.get(at + 1).copied();
            if self.own.is_marker(line) {
                self.close_folds();
                self.out.push_str(line);
                self.out.push('\n');
            } else if let Some(fence) = Fence::opened_by(line) {
                at = self.fenced(&lines, at, &fence);
                continue;
            } else if self.own.is_fold(line) {
                self.folds += 1;
                self.standing_alone(line, next);
            } else if *line == FOLD_END && self.folds > 0 {
                self.folds -= 1;
                self.standing_alone(line, next);
            } else {
                let unfolded = unfolded(line);
                if unfolded.is_some() {
                    self.count("html");
                }
                self.prose(unfolded.as_deref().unwrap_or(line), tables.get(at).copied().unwrap_or(false));
                self.out.push('\n');
            }
            at += 1;
        }
        self.close_folds();
        self.finish()
    }

    /// A text of one line.
    pub(super) fn line(mut self, text: &str) -> Clean {
        let text = visible(text, &mut self.counts).split_whitespace().collect::<Vec<_>>().join(" ");
        self.prose(&text, true);
        self.finish()
    }

    fn finish(self) -> Clean {
        Clean { text: self.out.trim_matches('\n').to_owned(), counts: self.counts }
    }

    /// A line of HTML between blank lines: whatever touches it would be read as HTML too.
    fn standing_alone(&mut self, line: &str, next: Option<&str>) {
        self.gap();
        self.out.push_str(line);
        self.out.push('\n');
        if next.is_some_and(|next| !is_blank(next)) {
            self.out.push('\n');
        }
    }

    /// Nothing that diffsan writes leaves one open.
    fn close_folds(&mut self) {
        for _ in 0..std::mem::take(&mut self.folds) {
            self.count("html");
            self.standing_alone(FOLD_END, Some("-"));
        }
    }

    /// A blank line after what was written so far.
    fn gap(&mut self) {
        if !self.out.is_empty() && !ends_blank(&self.out) {
            self.out.push('\n');
        }
    }

    fn count(&mut self, kind: &str) {
        count(&mut self.counts, kind);
    }

    /// Writes one fenced block in its only form and returns the number of the line after it.
    fn fenced(&mut self, lines: &[&str], opening: usize, fence: &Fence<'_>) -> usize {
        let block = fence.read(lines, opening + 1, self.own);
        if !block.closed {
            self.count("fence");
        }
        let ticks = block.content.iter().map(|line| longest_run(line, b'`')).max().unwrap_or(0).max(2) + 1;
        let ticks = "`".repeat(ticks);
        self.gap();
        let language = match self.own.is_suggestion(fence.info, &block.content) {
            true => fence.info.to_owned(),
            false => self.language(fence.info),
        };
        self.out.push_str(&ticks);
        self.out.push_str(&language);
        self.out.push('\n');
        for line in block.content {
            if is_command(line) {
                self.count("quick_action");
                self.out.push(' ');
            }
            self.out.push_str(line);
            self.out.push('\n');
        }
        self.out.push_str(&ticks);
        self.out.push('\n');
        if lines.get(block.end).is_some_and(|next| !is_blank(next)) {
            self.out.push('\n');
        }
        block.end
    }

    fn language(&mut self, info: &str) -> String {
        let name = info.split([' ', '\t', '{', ',']).next().unwrap_or_default().to_ascii_lowercase();
        if info.trim().is_empty() || LANGUAGES.split(' ').any(|known| known == name) {
            return name;
        }
        self.count("fence_language");
        "text".to_owned()
    }

    /// Writes one line that is not fenced code.
    fn prose(&mut self, line: &str, in_table: bool) {
        let bytes = line.as_bytes();
        let quote = quote_fence(line);
        let facts = LineFacts::of(line, in_table);
        let mut at = 0;
        if bytes.first() == Some(&b'/') && bytes.get(1).is_some_and(u8::is_ascii_alphabetic) {
            self.escape("quick_action");
        } else if line.starts_with("::include") {
            self.escape("include");
        }
        while at < bytes.len() {
            if quote == Some(at) {
                self.escape("quote");
            }
            let plain = bytes[at..].iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len() - at);
            let stop = quote.filter(|quote| *quote > at).map_or(at + plain, |quote| quote.min(at + plain));
            if stop > at {
                self.out.push_str(&line[at..stop]);
                at = stop;
                continue;
            }
            at = self.special(line, at, &facts);
        }
    }

    /// Writes what begins with the special byte at `at`, and returns where it ends.
    fn special(&mut self, line: &str, at: usize, facts: &LineFacts) -> usize {
        let bytes = line.as_bytes();
        let next = bytes.get(at + 1).copied();
        let names = |more: &[u8]| next.is_some_and(|byte| is_word(byte) || more.contains(&byte));
        match bytes[at] {
            b'\\' if next.is_some_and(|byte| byte.is_ascii_punctuation()) => {
                self.out.push_str(&line[at..at + 2]);
                return at + 2;
            }
            b'`' => return self.ticks(line, at, facts),
            b'@' if next.is_some_and(|byte| !byte.is_ascii_whitespace()) => self.escape("mention"),
            b'$' => self.reference(),
            b'#' if names(b"") => self.reference(),
            b'&' if names(b"#\"") => self.reference(),
            b'~' | b'%' | b'^' if names(b"\"{[") => self.reference(),
            b'!' if next == Some(b'[') => self.escape("image"),
            b'!' if next.is_some_and(|byte| byte.is_ascii_digit()) => self.reference(),
            b'<' if next.is_some_and(|byte| byte.is_ascii_alphabetic() || b"/!?".contains(&byte)) => {
                if let Some(length) = line_break(&line[at..]).filter(|_| facts.first_letter < at) {
                    self.out.push_str(&line[at..at + length]);
                    return at + length;
                }
                self.escape("html");
            }
            b'[' => {
                if let Some(link) = self.own.link_at(&line[at..]) {
                    self.out.push_str(link);
                    return at + link.len();
                }
                if let Some(length) = bracket_reference(line, at, |from| facts.value_end(line, from)) {
                    self.count("reference");
                    return self.wrap(line, at, at + length);
                }
                if next.is_some_and(|byte| b"[+-".contains(&byte)) {
                    self.escape("bracket");
                }
            }
            b']' if next == Some(b'(') => {
                self.count("link");
                self.out.push_str("] ");
                return at + 1;
            }
            b']' if next == Some(b':') => {
                self.count("link");
                self.out.push_str("]\\:");
                return at + 2;
            }
            b'{' if next.is_some_and(|byte| b"+-".contains(&byte)) => self.escape("bracket"),
            b':' if bytes[at..].starts_with(b"://") => {
                self.count("url");
                self.out.push_str(":\\/");
                return at + 2;
            }
            byte if byte.is_ascii_alphanumeric() => return self.word(line, at),
            _ => {}
        }
        self.out.push_str(&line[at..at + 1]);
        at + 1
    }

    /// Copies inline code that closes on its line; any other backtick becomes a plain character.
    fn ticks(&mut self, line: &str, at: usize, facts: &LineFacts) -> usize {
        let bytes = line.as_bytes();
        let length = run(bytes, at);
        let inside = at + length;
        if length <= MOST_TICKS
            && facts.last_runs.get(&length).is_some_and(|last| *last >= inside)
            && let Some(close) = closing_run(bytes, inside, length)
        {
            let end = close + length;
            if facts.in_table {
                self.out.push_str(&line[at..inside]);
                self.without_pipes(&line[inside..close]);
                self.out.push_str(&line[close..end]);
            } else {
                self.out.push_str(&line[at..end]);
            }
            return end;
        }
        self.count("backtick");
        for _ in 0..length {
            self.out.push_str("\\`");
        }
        inside
    }

    /// A table is cut at its pipes before inline code is read; an escaped one stays inside.
    fn without_pipes(&mut self, code: &str) {
        let mut chars = code.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '|' {
                self.out.push('\\');
            }
            self.out.push(c);
            if c == '\\'
                && let Some(escaped) = chars.next_if(char::is_ascii_punctuation)
            {
                self.out.push(escaped);
            }
        }
    }

    /// A word; as inline code where GitLab would make a link of it.
    fn word(&mut self, line: &str, at: usize) -> usize {
        let rest = &line.as_bytes()[at..];
        let length = rest.iter().position(|byte| !is_word(*byte) && *byte != b'-').unwrap_or(rest.len());
        if let Some(end) = address_end(line, at, at + length) {
            self.keyword();
            self.count("url");
            return self.wrap(line, at, end);
        }
        let token = line[at..at + length].trim_end_matches(['_', '-']);
        let end = at + token.len();
        if token.split(|c: char| c == '-' || !c.is_ascii()).any(is_commit) || names_issue(token) {
            self.keyword();
            self.count("reference");
            return self.wrap(line, at, end);
        }
        self.out.push_str(token);
        end
    }

    /// Writes a part of the line as inline code that no neighbour can join.
    fn wrap(&mut self, line: &str, from: usize, to: usize) -> usize {
        if self.out.ends_with(['`', '\\']) {
            self.out.push(' ');
        }
        self.out.push('`');
        self.out.push_str(&line[from..to]);
        self.out.push('`');
        if line.as_bytes().get(to) == Some(&b'`') {
            self.out.push(' ');
        }
        to
    }

    fn escape(&mut self, kind: &str) {
        self.count(kind);
        self.out.push('\\');
    }

    fn reference(&mut self) {
        self.keyword();
        self.escape("reference");
    }

    /// Counts a closing keyword right before what comes now.
    fn keyword(&mut self) {
        let before = self.out.trim_end_matches([' ', ':']);
        let word = before.rfind(|c: char| !c.is_ascii_alphabetic()).map_or(before, |at| {
            let rest = &before[at..];
            rest.trim_start_matches(|c: char| !c.is_ascii_alphabetic())
        });
        if CLOSING.split(' ').any(|closing| closing.eq_ignore_ascii_case(word)) {
            self.count("closing_keyword");
        }
    }
}

/// What is known about a line before it is read, so that reading it stays linear.
struct LineFacts {
    in_table: bool,
    /// Behind it no tag can open a block of HTML.
    first_letter: usize,
    /// The last run of backticks of each length.
    last_runs: HashMap<usize, usize>,
    /// The last answer of `value_end`.
    value_end: Cell<usize>,
}

impl LineFacts {
    fn of(line: &str, in_table: bool) -> Self {
        let first_letter = line.find(|c: char| c == '|' || c.is_alphabetic()).unwrap_or(line.len());
        Self { in_table, first_letter, last_runs: last_runs(line), value_end: Cell::new(0) }
    }

    /// Where the value of a reference in brackets that begins here would end.
    fn value_end(&self, line: &str, at: usize) -> usize {
        if self.value_end.get() < at {
            let rest = &line[at..];
            let ends = |c: char| c.is_whitespace() || "]`|".contains(c);
            self.value_end.set(rest.find(ends).map_or(line.len(), |end| at + end));
        }
        self.value_end.get()
    }
}
