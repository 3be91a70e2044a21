//! Makes text that others wrote harmless in a GitLab note: nothing in it acts, notifies, loads or hides.
//!
//! GitLab's Markdown is read twice there: once for quick actions, once for rendering. This file does
//! not guess how either will read a hostile text; it rewrites the text into a form that has only one reading.
//! Fenced code is moved to column 0 of the document, closed, and fenced longer than what it holds. Inline code must
//! close on the line it opens on. Everywhere else, each character that could begin something gets a backslash, and
//! what a backslash cannot stop (addresses, commit ids) becomes inline code.

use std::collections::{BTreeMap, HashMap};

use crate::prior::MARKER;

mod block;
mod inline;

use block::{Fence, LANGUAGES, quote_fence, table_lines, unfolded};
use inline::*;

/// How often each kind of thing was neutralised.
pub type Counts = BTreeMap<String, u64>;

/// Harmless text, and what was done to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clean {
    pub text: String,
    pub counts: Counts,
}

/// Neutralises Markdown. The result is meant to stand between blank lines at the left margin of a note.
pub fn markdown(text: &str) -> Clean {
    let mut cleaner = Cleaner::default();
    let text = cleaner.visible(text);
    let lines: Vec<&str> = text.trim_matches('\n').split('\n').collect();
    let tables = table_lines(&lines);
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if let Some(fence) = Fence::opened_by(line) {
            at = cleaner.fenced(&lines, at, &fence);
        } else {
            let unfolded = unfolded(line);
            if unfolded.is_some() {
                cleaner.count("html");
            }
            cleaner.prose(unfolded.as_deref().unwrap_or(line), tables.get(at).copied().unwrap_or(false));
            cleaner.out.push('\n');
            at += 1;
        }
    }
    cleaner.finish()
}

/// Neutralises a text that must stay on one line, such as a title or a headline.
pub fn line(text: &str) -> Clean {
    let mut cleaner = Cleaner::default();
    let text = cleaner.visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    cleaner.prose(&text, true);
    cleaner.finish()
}

/// The text as inline code on one line.
pub fn code(text: &str) -> String {
    let text = visible(text, &mut Counts::new()).split_whitespace().collect::<Vec<_>>().join(" ");
    let ticks = "`".repeat(longest_run(&text, b'`') + 1);
    let pad = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// The text as a fenced block that nothing in it can leave.
pub fn fence(info: &str, text: &str) -> String {
    let text = visible(text, &mut Counts::new());
    let ticks = "`".repeat(longest_run(&text, b'`').max(2) + 1);
    let mut block = format!("{ticks}{info}\n");
    for line in text.lines() {
        if is_command(line) {
            block.push(' ');
        }
        block.push_str(line);
        block.push('\n');
    }
    block + &ticks
}

/// At most so many characters of neutralised Markdown; what is cut is said.
pub fn clipped_markdown(text: &str, most: usize) -> Clean {
    let total = text.chars().count();
    let mut clean = markdown(&first_chars(text, most));
    let cut = total > most || clean.text.chars().count() > most;
    if clean.text.chars().count() > most {
        // Cutting may open a fence or inline code again.
        clean.text = markdown(&first_chars(&clean.text, most)).text;
    }
    if cut {
        clean.text.push_str(&format!("\n\n*Cut here: the whole text has {total} characters.*"));
    }
    clean
}

/// At most so many characters, the last of them an ellipsis where there were more.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => first_chars(text, most.saturating_sub(1)) + "…",
    }
}

/// A line that GitLab would take for a quick action if it were not in a fence.
pub fn is_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('/') else { return false };
    let name = rest.bytes().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'_').count();
    name > 0 && rest.as_bytes().get(name).is_none_or(u8::is_ascii_whitespace)
}

/// The text inside `<code>`, for places where GitLab reads HTML and no Markdown.
pub fn html_code(text: &str) -> String {
    let text = visible(text, &mut Counts::new()).split_whitespace().collect::<Vec<_>>().join(" ");
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    format!("<code>{escaped}</code>")
}

/// Control, bidirectional and invisible characters replaced by their names, diffsan's own markers broken, also in
/// code; every line ends in a line feed.
pub fn visible(text: &str, counts: &mut Counts) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                out.push('\n');
            }
            _ if is_hidden(c) => {
                count(counts, "control");
                out.push_str(&format!("[U+{:04X}]", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    let markers = out.matches(MARKER).count();
    for _ in 0..markers {
        count(counts, "marker");
    }
    if markers == 0 { out } else { out.replace(MARKER, "<!-- diffsan :") }
}

/// Adds the counts of one text to those of all.
pub fn add(into: &mut Counts, more: &Counts) {
    for (kind, times) in more {
        *into.entry(kind.clone()).or_default() += times;
    }
}

#[derive(Default)]
struct Cleaner {
    out: String,
    counts: Counts,
}

impl Cleaner {
    fn visible(&mut self, text: &str) -> String {
        visible(text, &mut self.counts)
    }

    fn finish(self) -> Clean {
        Clean { text: self.out.trim_matches('\n').to_owned(), counts: self.counts }
    }

    fn count(&mut self, kind: &str) {
        count(&mut self.counts, kind);
    }

    /// Writes one fenced block in its only form and returns the number of the line after it.
    fn fenced(&mut self, lines: &[&str], opening: usize, fence: &Fence<'_>) -> usize {
        let mut content = Vec::new();
        let mut at = opening + 1;
        let mut closed = false;
        while let Some(line) = lines.get(at).and_then(|line| fence.content(line)) {
            at += 1;
            if fence.closed_by(line) {
                closed = true;
                break;
            }
            content.push(line);
        }
        if !closed {
            self.count("fence");
        }
        let ticks = content.iter().map(|line| longest_run(line, b'`')).max().unwrap_or(0).max(2) + 1;
        let ticks = "`".repeat(ticks);
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        let language = self.language(fence.info);
        self.out.push_str(&ticks);
        self.out.push_str(&language);
        self.out.push('\n');
        for line in content {
            if is_command(line) {
                self.count("quick_action");
                self.out.push(' ');
            }
            self.out.push_str(line);
            self.out.push('\n');
        }
        self.out.push_str(&ticks);
        self.out.push('\n');
        if lines.get(at).is_some_and(|next| !next.trim().is_empty()) {
            self.out.push('\n');
        }
        at
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
                if let Some(length) = bracket_reference(&line[at..]) {
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
        if token.split('-').any(is_commit) || names_issue(token) {
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
}

impl LineFacts {
    fn of(line: &str, in_table: bool) -> Self {
        let first_letter = line.find(|c: char| c == '|' || c.is_alphabetic()).unwrap_or(line.len());
        Self { in_table, first_letter, last_runs: last_runs(line) }
    }
}

fn first_chars(text: &str, most: usize) -> String {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end]).to_owned()
}

fn count(counts: &mut Counts, kind: &str) {
    match counts.get_mut(kind) {
        Some(times) => *times += 1,
        None => _ = counts.insert(kind.to_owned(), 1),
    }
}

#[cfg(test)]
pub(crate) mod tests;
