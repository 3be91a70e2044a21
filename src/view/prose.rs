//! Markdown that others wrote, as plain blocks: for the terminal it is wrapped, for the report it becomes HTML.

use anstyle::{AnsiColor, Style};
use textwrap::Options;

use super::shown::{clean, code_text, fit};

/// One block of a Markdown text, hidden characters made visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    Heading(String),
    Paragraph(String),
    /// Its marker (`-` or `1.`), its depth and its text.
    Item {
        marker: String,
        depth: usize,
        text: String,
    },
    Code(Vec<String>),
}

/// The blocks of a text. Only what reviews use is known; everything else is a paragraph.
pub(super) fn blocks(markdown: &str) -> Vec<Block> {
    let text = clean(markdown);
    let mut blocks = Vec::new();
    let mut open = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if let Some(fence) = fence(trimmed) {
            let closes =
                |line: &str| line.trim().len() >= fence.len() && line.trim().trim_start_matches(&fence[..1]).is_empty();
            let code = lines.by_ref().take_while(|line| !closes(line)).map(code_text).collect();
            blocks.push(Block::Code(code));
            open = false;
        } else if trimmed.is_empty() {
            open = false;
        } else if let Some(heading) = heading(trimmed) {
            blocks.push(Block::Heading(heading.to_owned()));
            open = false;
        } else if let Some((marker, text)) = item(trimmed) {
            let depth = (line.len() - line.trim_start().len()) / 2;
            blocks.push(Block::Item { marker, depth: depth.min(4), text: text.to_owned() });
            open = true;
        } else {
            match blocks.last_mut() {
                Some(Block::Paragraph(text) | Block::Item { text, .. }) if open => {
                    text.push(' ');
                    text.push_str(trimmed);
                }
                _ => blocks.push(Block::Paragraph(trimmed.to_owned())),
            }
            open = true;
        }
    }
    blocks
}

/// The text for a terminal, between blank lines, each line indented.
pub(super) fn terminal(markdown: &str, width: usize, indent: &str) -> String {
    let mut text = String::new();
    let mut last_was_item = false;
    for block in blocks(markdown) {
        let is_item = matches!(block, Block::Item { .. });
        if !(is_item && last_was_item) {
            text.push('\n');
        }
        last_was_item = is_item;
        match block {
            Block::Heading(words) => {
                let style = Style::new().bold();
                for line in wrapped(&words, width - indent.len()) {
                    text.push_str(&format!("{indent}{style}{line}{style:#}\n"));
                }
            }
            Block::Paragraph(words) => text.push_str(&styled(&hanging(&words, width, indent))),
            Block::Item { marker, depth, text: words } => {
                let lead = format!("{indent}{}{marker} ", "  ".repeat(depth));
                text.push_str(&styled(&hanging(&words, width, &lead)));
            }
            Block::Code(lines) => {
                let style = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
                for line in lines {
                    let line = fit(&line, width.saturating_sub(indent.len() + 4)).into_owned();
                    text.push_str(format!("{indent}    {style}{line}{style:#}").trim_end());
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// The lines of a text of one paragraph.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    textwrap::wrap(text, width.max(10)).into_iter().map(|line| line.into_owned()).collect()
}

/// A paragraph whose first line has a lead and whose others are indented as far.
pub(super) fn hanging(text: &str, width: usize, lead: &str) -> String {
    let blanks = " ".repeat(lead.chars().count());
    let options = Options::new(width.max(lead.len() + 10)).initial_indent(lead).subsequent_indent(&blanks);
    let mut filled = textwrap::fill(text, options);
    filled.push('\n');
    filled
}

/// Inline code in colour, where it begins and ends on one line.
fn styled(text: &str) -> String {
    let style = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        for span in spans(line) {
            match span {
                Span::Text(text) => out.push_str(text),
                Span::Code(code) => out.push_str(&format!("{style}`{code}`{style:#}")),
                Span::Strong(words) => {
                    let bold = Style::new().bold();
                    out.push_str(&format!("{bold}{words}{bold:#}"));
                }
            }
        }
    }
    out
}

/// A stretch of a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span<'a> {
    Text(&'a str),
    Code(&'a str),
    Strong(&'a str),
}

/// Inline code and bold words; everything else stays as it was written.
pub(super) fn spans(text: &str) -> Vec<Span<'_>> {
    let mut spans = Vec::new();
    let mut rest = text;
    let mut plain = 0;
    while let Some(at) = rest.get(plain..).and_then(|tail| tail.find(['`', '*'])).map(|at| at + plain) {
        let (before, from) = rest.split_at(at);
        match marked(from) {
            Some((span, length)) => {
                if !before.is_empty() {
                    spans.push(Span::Text(before));
                }
                spans.push(span);
                rest = &from[length..];
                plain = 0;
            }
            None => plain = at + from.chars().take_while(|letter| from.starts_with(*letter)).count(),
        }
    }
    if !rest.is_empty() {
        spans.push(Span::Text(rest));
    }
    spans
}

fn marked(text: &str) -> Option<(Span<'_>, usize)> {
    if let Some(after) = text.strip_prefix("**") {
        let end = after.find("**").filter(|end| *end > 0 && !after.starts_with([' ', '*']))?;
        return Some((Span::Strong(&after[..end]), end + 4));
    }
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    if ticks == 0 || ticks > 2 {
        return None;
    }
    let (mark, after) = text.split_at(ticks);
    let end = after.find(mark).filter(|end| !after[end + ticks..].starts_with('`'))?;
    let code = after[..end].trim();
    (!code.is_empty()).then_some((Span::Code(code), end + 2 * ticks))
}

fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
    let length = line.chars().take_while(|letter| *letter == mark).count();
    (length >= 3 && !line[length..].contains('`')).then(|| &line[..length])
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim())
}

fn item(line: &str) -> Option<(String, &str)> {
    if let Some(text) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(("-".to_owned(), text.trim()));
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let text = line.get(digits..)?.strip_prefix(". ").filter(|_| (1..=3).contains(&digits))?;
    Some((format!("{}.", &line[..digits]), text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_blocks() {
        let text = "# Head\nOne\ntwo\n\n- a\n  more\n- b\n1. c\n```rust\nlet x;\n\ty\n```\nend";
        let item = |marker: &str, text: &str| Block::Item { marker: marker.into(), depth: 0, text: text.into() };
        assert_eq!(
            blocks(text),
            [
                Block::Heading("Head".into()),
                Block::Paragraph("One two".into()),
                item("-", "a more"),
                item("-", "b"),
                item("1.", "c"),
                Block::Code(vec!["let x;".into(), "    y".into()]),
                Block::Paragraph("end".into()),
            ]
        );
    }

    #[test]
    fn inline_code_and_bold_words_are_found_and_loose_marks_stay() {
        for (text, expected) in [
            ("a `b` c", vec![Span::Text("a "), Span::Code("b"), Span::Text(" c")]),
            ("**x** y", vec![Span::Strong("x"), Span::Text(" y")]),
            ("2 * 3 ** 4", vec![Span::Text("2 * 3 ** 4")]),
            ("`` a`b ``", vec![Span::Code("a`b")]),
            ("loose ` tick", vec![Span::Text("loose ` tick")]),
            ("```", vec![Span::Text("```")]),
            ("é`x`", vec![Span::Text("é"), Span::Code("x")]),
            ("", vec![]),
        ] {
            assert_eq!(spans(text), expected, "{text}");
        }
    }

    #[test]
    fn wrapped_lines_keep_to_the_width_and_to_their_indent() {
        let text = terminal("- some words that go on and on\n\nA `code` word that is long enough", 24, "  ");
        assert!(
            text.lines().all(|line| anstream::adapter::strip_str(line).to_string().chars().count() <= 24),
            "{text}"
        );
        assert!(text.contains("  - some"));
        assert!(text.contains("\n    "));
    }
}
