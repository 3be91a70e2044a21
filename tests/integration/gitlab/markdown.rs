//! What GitLab does with the text of a note: which lines it executes, whom it calls, what it loads.

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};

/// The commands GitLab knows on a merge request, substitutions and those of the paid editions included.
const COMMANDS: &[&str] = &[
    "merge",
    "rebase",
    "draft",
    "ready",
    "target_branch",
    "submit_review",
    "request_changes",
    "approve",
    "unapprove",
    "assign_reviewer",
    "reviewer",
    "request_review",
    "unassign_reviewer",
    "remove_reviewer",
    "close",
    "reopen",
    "title",
    "label",
    "labels",
    "unlabel",
    "remove_label",
    "relabel",
    "todo",
    "done",
    "subscribe",
    "unsubscribe",
    "react",
    "award",
    "assign",
    "unassign",
    "milestone",
    "remove_milestone",
    "copy_metadata",
    "estimate",
    "estimate_time",
    "spend",
    "spent",
    "spend_time",
    "remove_estimate",
    "remove_time_estimate",
    "remove_time_spent",
    "lock",
    "unlock",
    "shrug",
    "tableflip",
    "ship",
    "iteration",
    "relate",
    "parent",
    "duplicate",
    "move",
    "epic",
    "weight",
    "health_status",
];

/// What a note's text did to GitLab.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Lines that were executed, in order.
    pub(crate) commands: Vec<String>,
    /// Users and groups that were called.
    pub(crate) mentions: Vec<String>,
    /// Issues, merge requests and the like that were linked.
    pub(crate) references: Vec<String>,
    /// Addresses a reader's browser loads by itself.
    pub(crate) images: Vec<String>,
    /// What is left of the text.
    pub(crate) body: String,
}

/// Takes a text as GitLab does when a note is created or changed.
pub(crate) fn take(text: &str) -> Effects {
    let text = text.replace('\r', "");
    let executed = command_lines(&text);
    let mut effects = Effects::default();
    let mut kept = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        match executed.contains(&(number + 1)) {
            true => effects.commands.push(line.trim_end().to_owned()),
            false => kept.push(line),
        }
    }
    effects.body = kept.join("\n").trim_end().to_owned();
    let body = effects.body.clone();
    walk(&body, &mut |node| observe(node, &mut effects));
    effects
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.alerts = true;
    options.extension.math_dollars = true;
    options.extension.math_code = true;
    options.extension.multiline_block_quotes = true;
    options.parse.escaped_char_spans = true;
    options
}

fn walk(text: &str, see: &mut dyn FnMut(&AstNode<'_>)) {
    let arena = Arena::new();
    let options = options();
    for node in parse_document(&arena, text, &options).descendants() {
        see(node);
    }
}

/// The numbers of the lines that are commands: in a paragraph of the document itself, from its first column on.
fn command_lines(text: &str) -> Vec<usize> {
    let lines: Vec<_> = text.split('\n').collect();
    let arena = Arena::new();
    let options = options();
    let mut found = Vec::new();
    for block in parse_document(&arena, text, &options).children() {
        if !matches!(block.data.borrow().value, NodeValue::Paragraph) {
            continue;
        }
        let span = block.data.borrow().sourcepos;
        let mut tag: Option<String> = None;
        for number in span.start.line..=span.end.line.min(lines.len()) {
            let line = lines[number - 1];
            match &tag {
                Some(open) if *line == format!("</{open}>") => tag = None,
                Some(_) => {}
                None if is_tag(line, &lines[number..span.end.line.min(lines.len())]) => {
                    tag = Some(line[1..line.len() - 1].to_owned());
                }
                None if is_command(line) && starts_as_text(block, number) => found.push(number),
                None => {}
            }
        }
    }
    found
}

/// `<tag>` alone on its line, closed by a later line of the same paragraph.
fn is_tag(line: &str, rest: &[&str]) -> bool {
    let name = line.strip_prefix('<').and_then(|line| line.strip_suffix('>')).unwrap_or_default();
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && rest.contains(&format!("</{name}>").as_str())
}

fn is_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('/') else { return false };
    let name = rest.split(' ').next().unwrap_or_default().trim_end();
    COMMANDS.iter().any(|command| command.eq_ignore_ascii_case(name))
        && rest[name.len()..].chars().next().is_none_or(|next| next == ' ' || rest[name.len()..].trim().is_empty())
}

/// Whether the line's first character is plain text, and not inside code that began on an earlier line.
fn starts_as_text<'a>(paragraph: &'a AstNode<'a>, number: usize) -> bool {
    let inside_code = paragraph.descendants().any(|node| {
        let data = node.data.borrow();
        let span = data.sourcepos;
        matches!(data.value, NodeValue::Code(_)) && span.start.line < number && number <= span.end.line
    });
    let is_text = paragraph.descendants().any(|node| {
        let data = node.data.borrow();
        data.sourcepos.start.line == number && !matches!(data.value, NodeValue::Paragraph)
    });
    !inside_code && is_text
}

fn observe(node: &AstNode<'_>, effects: &mut Effects) {
    match &node.data.borrow().value {
        NodeValue::Text(text) => {
            effects.mentions.extend(marked(text, '@'));
            for sign in ['#', '!', '&', '%', '~', '$'] {
                effects.references.extend(marked(text, sign).into_iter().map(|name| format!("{sign}{name}")));
            }
        }
        NodeValue::Image(link) => effects.images.push(link.url.clone()),
        NodeValue::HtmlInline(html) => html_images(html, effects),
        NodeValue::HtmlBlock(block) => html_images(&block.literal, effects),
        NodeValue::CodeBlock(block) => {
            let language = block.info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            if matches!(language.as_str(), "plantuml" | "kroki" | "mermaid" | "graphviz" | "ditaa") {
                effects.images.push(format!("fence:{language}"));
            }
        }
        _ => {}
    }
}

fn html_images(html: &str, effects: &mut Effects) {
    let lower = html.to_ascii_lowercase();
    for tag in ["<img", "<video", "<audio", "<source", "<picture", "<iframe", "<object", "<embed"] {
        if lower.contains(tag) {
            effects.images.push(html.to_owned());
        }
    }
}

/// The names that follow a sign which stands at the start of a word.
fn marked(text: &str, sign: char) -> Vec<String> {
    let mut names = Vec::new();
    let mut before = None;
    for (at, character) in text.char_indices() {
        if character == sign && before.is_none_or(|before: char| !before.is_alphanumeric() && before != '_') {
            let name: String = text[at + sign.len_utf8()..]
                .chars()
                .take_while(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '-' | '.' | '/'))
                .collect();
            if name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_') {
                names.push(name);
            }
        }
        before = Some(character);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<String> {
        take(text).commands
    }

    #[test]
    fn a_line_is_executed_where_gitlab_would() {
        let table = [
            "/close",
            "/CLOSE",
            "text\n/close\nmore",
            "text\n/close",
            "/close this socket when done",
            "a\r\n/close\r\nb",
            "# heading\n/close",
            "---\n/close",
            "<br>\n\n/close",
            "- item\n\n\n\n/close",
            "- item\n\n/close",
            "> quote\n\n/close",
            "<details>\n<summary>x</summary>\n\n/close\n\n</details>",
            "<!-- marker -->\n/close",
            "```\ncode\n```\n/close",
            "text  \n/close",
        ];
        for text in table {
            assert_eq!(commands(text).len(), 1, "{text:?}");
            assert!(!take(text).body.contains("/close"), "{text:?}");
        }
    }

    #[test]
    fn a_line_is_not_executed_where_gitlab_would_not() {
        let table = [
            " /close",
            "\\/close",
            "&#47;close",
            "\u{200b}/close",
            "\u{a0}/close",
            "\u{2060}/close",
            "/close\tx",
            "/close/x",
            "/labelfoo",
            "- item\n/close",
            "> quote\n/close",
            "| a |\n| - |\n| /close |",
            "> [!note]\n> /close",
            "x[^1]\n\n[^1]: y\n/close",
            "```\n/close\n```",
            "~~~\n/close\n~~~",
            "```suggestion:-0+0\n/close\n```",
            "```\n/close",
            "    /close",
            "`/close`",
            "`code\n/close\nmore`",
            "<details>\n<summary>x</summary>\n/close\n</details>",
            "<!--\n/close\n-->",
            "[a]:\n/close",
            "/close\n===",
            "text in /close the middle",
        ];
        for text in table {
            assert_eq!(commands(text), Vec::<String>::new(), "{text:?}");
        }
    }

    #[test]
    fn mentions_references_and_images_are_seen_outside_code_only() {
        let effects = take("@all and `@code` and \\@escaped, mail a@b.c, see #12 and !3\n\n![x](https://evil/?q=1)\n");
        assert_eq!(effects.mentions, ["all"]);
        assert_eq!(effects.references, ["#12", "!3"]);
        assert_eq!(effects.images, ["https://evil/?q=1"]);
        assert_eq!(take("```mermaid\nx\n```\n<img src=x>").images.len(), 2);
    }
}
