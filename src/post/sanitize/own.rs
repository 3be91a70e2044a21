//! A whole body: what in it is diffsan's own, and the type that says the rest is harmless.

use super::block::{FOLD_END, Fence, Fenced};
use super::cleaner::Cleaner;
use super::{Counts, code, fence, is_command, line, settled, visible};
use crate::threads::marker::MARKER;

/// The body of a note, a discussion or a draft as it may be sent. Nothing but the sanitiser makes one, and nothing
/// changes it afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitised(String);

impl Sanitised {
    pub(super) fn of(text: &str, own: &Own) -> Self {
        let as_code = |text: &str| own.between(text, |line| own.is_marker(line), |prose| fence("text", prose));
        Self(settled(text, |text| Cleaner::new(own).document(text), as_code).text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

/// What diffsan itself wrote in a body: it stays as it is. All else in the body is somebody's text.
///
/// What is own is known before anything happens to the body, by its exact words. So a text that is changed on its way,
/// by a redaction for one, can lose what is own but never make something own of what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    markers: Vec<String>,
    suggestions: Vec<Suggestion>,
    links: Vec<String>,
    folds: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Suggestion {
    info: String,
    content: String,
}

impl Own {
    /// What is diffsan's own in a body that diffsan put together from sanitised texts and its own templates. In a body
    /// that was read from somewhere, `is_marker` says which markers (their values) can be diffsan's at all: all that a
    /// forged body can then do is to fold text, and to suggest a change to the commented lines.
    pub fn written_in(body: &str, is_marker: impl Fn(&str) -> bool) -> Self {
        let body = body.replace("\r\n", "\n");
        let lines: Vec<&str> = body.split('\n').collect();
        let markers = lines.iter().filter(|line| marker_value(line).is_some_and(&is_marker));
        let markers = markers.map(|line| (*line).to_owned()).collect();
        let mut own = Self { markers, folds: true, ..Self::default() };
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            at += 1;
            if let Some(fence) = Fence::opened_by(line).filter(|_| !own.is_marker(line)) {
                let block = fence.read(&lines, at, &own);
                at = block.end;
                own.suggestions.extend(suggestion(&fence, &block));
            }
        }
        own
    }

    /// A body in which no marker, suggestion or link is diffsan's; its folded blocks stay.
    pub fn nothing() -> Self {
        Self { folds: true, ..Self::default() }
    }

    /// A link as [`link`] writes it.
    pub fn with_link(mut self, link: String) -> Self {
        self.links.push(link);
        self
    }

    /// The body with its prose rewritten and its own lines as they are: markers, and the borders of folded blocks.
    pub fn rewritten(&self, body: &str, rewrite: impl Fn(&str) -> String) -> String {
        self.between(body, |line| self.is_marker(line) || line == FOLD_END || self.is_fold(line), rewrite)
    }

    fn between(&self, body: &str, is_own: impl Fn(&str) -> bool, rewrite: impl Fn(&str) -> String) -> String {
        let mut out = String::with_capacity(body.len());
        let mut prose = String::new();
        let flush = |prose: &mut String, out: &mut String| {
            if !prose.is_empty() {
                let ended = prose.ends_with('\n');
                out.push_str(&rewrite(&std::mem::take(prose)));
                if ended && !out.ends_with('\n') {
                    out.push('\n');
                }
            }
        };
        for line in body.split_inclusive('\n') {
            if is_own(line.trim_end_matches(['\n', '\r'])) {
                flush(&mut prose, &mut out);
                out.push_str(line);
            } else {
                prose.push_str(line);
            }
        }
        flush(&mut prose, &mut out);
        out
    }

    pub(super) fn is_marker(&self, line: &str) -> bool {
        line.starts_with(MARKER) && self.markers.iter().any(|marker| marker == line)
    }

    pub(super) fn is_suggestion(&self, info: &str, content: &[&str]) -> bool {
        info.starts_with(SUGGESTION)
            && self.suggestions.iter().any(|known| known.info == info && known.content == content.join("\n"))
    }

    /// A line that opens a folded block in diffsan's own form. Its words must stand outside of Markdown's rules, since
    /// GitLab reads them as HTML.
    pub(super) fn is_fold(&self, text: &str) -> bool {
        let title = text.strip_prefix("<details><summary>").and_then(|rest| rest.strip_suffix("</summary>"));
        self.folds && title.is_some_and(is_fold_title)
    }

    /// The own link that the text begins with.
    pub(super) fn link_at(&self, text: &str) -> Option<&str> {
        self.links.iter().find(|link| text.starts_with(link.as_str())).map(String::as_str)
    }

    /// The text with everything visible but its own markers.
    pub(super) fn visible(&self, text: &str, counts: &mut Counts) -> String {
        let counts = std::cell::RefCell::new(counts);
        let text = text.replace("\r\n", "\n");
        self.between(&text, |line| self.is_marker(line), |prose| visible(prose, &mut counts.borrow_mut()))
    }
}

/// A link that diffsan itself offers, to be told to [`Own::with_link`]. The address is one that diffsan knows from the
/// job or from GitLab; the label is any text. `None` for an address that would not stay one.
pub fn link(label: &str, url: &str) -> Option<String> {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'*+,;=%".contains(&byte);
    let is_plain = !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || " .,-".contains(c));
    let label = if is_plain && line(label).text == label { label.to_owned() } else { code(label) };
    (is_web && url.bytes().all(fits)).then(|| format!("[{label}]({url})"))
}

/// The value of a line that is a marker and nothing else.
fn marker_value(line: &str) -> Option<&str> {
    let value = line.strip_prefix(MARKER)?.strip_suffix(" -->")?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._:+/=-".contains(&byte);
    (!value.is_empty() && value.bytes().all(fits)).then_some(value)
}

/// The block as a suggestion that GitLab would offer to apply, in the form that diffsan writes.
fn suggestion(fence: &Fence<'_>, block: &Fenced<'_>) -> Option<Suggestion> {
    let above = fence.info.strip_prefix(SUGGESTION)?.strip_suffix("+0")?;
    let is_number = (1..=3).contains(&above.len()) && above.bytes().all(|byte| byte.is_ascii_digit());
    let content = block.content.join("\n");
    let is_faithful =
        !block.content.iter().any(|line| is_command(line)) && visible(&content, &mut Counts::new()) == content;
    let is_own = is_number && fence.is_plain() && block.closed && is_faithful;
    is_own.then(|| Suggestion { info: fence.info.to_owned(), content })
}

const SUGGESTION: &str = "suggestion:-";

/// Words that nothing reads anything into, `<b>`, and foreign text in `<code>`.
fn is_fold_title(title: &str) -> bool {
    let mut words = String::new();
    let mut rest = title;
    while let Some(open) = rest.find('<') {
        words.push_str(&rest[..open]);
        let tag = &rest[open..];
        let after = ["<b>", "</b>"].iter().find_map(|name| tag.strip_prefix(name));
        let after = after.or_else(|| {
            let (inside, after) = tag.strip_prefix("<code>")?.split_once("</code>")?;
            (!inside.contains(['<', '>'])).then_some(after)
        });
        let Some(after) = after else { return false };
        words.push(' ');
        rest = after;
    }
    words.push_str(rest);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " .,:()/[]*-".contains(c);
    words.chars().all(is_plain) && line(&words).text == words
}
