//! Makes text that others wrote harmless in a GitLab note: nothing in it acts, notifies, loads or hides.
//!
//! GitLab's Markdown is read twice there: once for quick actions, once for rendering. This file does
//! not guess how either will read a hostile text; it rewrites the text into a form that has only one reading.
//! Fenced code is moved to column 0 of the document, closed, and fenced longer than what it holds. Inline code must
//! close on the line it opens on. Everywhere else, each character that could begin something gets a backslash, and
//! what a backslash cannot stop (addresses, commit ids) becomes inline code.

//!
//! One pass may lay open what the next would rewrite, so a text is passed until nothing changes: whatever leaves this
//! folder is a fixed point of it. [`Sanitised`] is a whole body that did, and all that the GitLab client takes.

use std::collections::BTreeMap;

use crate::letters::is_hidden;
use crate::threads::marker::MARKER;

mod block;
mod cleaner;
mod inline;
mod own;

use cleaner::Cleaner;
use inline::longest_run;

pub use own::{Own, Sanitised, link};

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
    let own = Own::default();
    settled(text, |text| Cleaner::new(&own).document(text), |text| fence("text", text))
}

/// Neutralises a text that must stay on one line, such as a title or a headline.
pub fn line(text: &str) -> Clean {
    let own = Own::default();
    settled(text, |text| Cleaner::new(&own).line(text), code)
}

/// Neutralises a whole body, but for what diffsan itself wrote in it. It is the last thing that happens to a text
/// before it is sent.
pub fn body(text: &str, own: &Own) -> Sanitised {
    Sanitised::of(text, own)
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

fn first_chars(text: &str, most: usize) -> String {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end]).to_owned()
}

fn count(counts: &mut Counts, kind: &str) {
    match counts.get_mut(kind) {
        Some(times) => *times += 1,
        None => _ = counts.insert(kind.to_owned(), 1),
    }
}

/// Passes a text until a pass changes nothing. None is known that needs many; code stands still whatever it holds.
fn settled(text: &str, pass: impl Fn(&str) -> Clean, as_code: impl Fn(&str) -> String) -> Clean {
    if crate::run::fault::is_undefended("sanitise") {
        return Clean { text: text.to_owned(), counts: Counts::new() };
    }
    let mut clean = pass(text);
    for _ in 0..MOST_PASSES {
        let again = pass(&clean.text).text;
        if again == clean.text {
            return clean;
        }
        clean.text = again;
    }
    clean.text = as_code(text);
    clean
}

const MOST_PASSES: usize = 8;

#[cfg(test)]
pub(crate) mod tests;
