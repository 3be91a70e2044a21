//! What GitLab would do with a note: its Markdown parser, and what its filters look for in the parse.

use std::sync::LazyLock;

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use regex::Regex;

/// Everything in the note that acts, notifies, loads, or was not written by diffsan's own templates.
pub(crate) fn live(note: &str) -> Vec<String> {
    let note = note.replace('\r', "");
    let arena = Arena::new();
    let root = parse_document(&arena, &note, &options());
    let mut found = commands(root, &note);
    for node in root.descendants() {
        let node = node.data();
        match &node.value {
            NodeValue::Text(content) => {
                found.extend(TEXT.find_iter(content).map(|hit| format!("text {:?} in {content:?}", hit.as_str())));
            }
            NodeValue::CodeBlock(block) => {
                let name = block.info.split([' ', ':']).next().unwrap_or_default();
                if RENDERED.contains(&name) && !SUGGESTION.is_match(&block.info) {
                    found.push(format!("fence {:?}", block.info));
                }
            }
            NodeValue::HtmlBlock(block) if block.literal.lines().all(|line| OWN_HTML.is_match(line)) => {}
            NodeValue::HtmlInline(html) if html.starts_with("<br") => {}
            NodeValue::HtmlBlock(_)
            | NodeValue::HtmlInline(_)
            | NodeValue::Link(_)
            | NodeValue::Image(_)
            | NodeValue::WikiLink(_)
            | NodeValue::Math(_)
            | NodeValue::FootnoteDefinition(_)
            | NodeValue::MultilineBlockQuote(_) => found.push(format!("{:?}", node.value)),
            _ => {}
        }
    }
    found
}

/// Lines of the note that GitLab executes: those of paragraphs at the top level that begin with a slash and a name.
fn commands<'a>(root: &'a AstNode<'a>, note: &str) -> Vec<String> {
    let lines: Vec<&str> = note.split('\n').collect();
    root.children()
        .filter(|node| matches!(node.data().value, NodeValue::Paragraph))
        .flat_map(|node| {
            let place = node.data().sourcepos;
            lines[place.start.line - 1..place.end.line].to_vec()
        })
        .filter(|line| COMMAND.is_match(line.trim_end()))
        .map(|line| format!("command {line:?}"))
        .collect()
}

static COMMAND: LazyLock<Regex> = LazyLock::new(|| pattern(r"^/[A-Za-z_]+( .*)?$"));

/// What reference filters find in rendered text.
static TEXT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(?:^|\W)@\w|#\d|!\d|~[\w\x22]|%[\w\x22]|\$\w|&\w|\^\w|://\w|\bwww\.\w|\bGL-\d",
        r"|\[\[|\[TOC\]|\[[a-z_]+:[^\s\]|`]+\]",
        r"|[\x00-\x08\x0b-\x1f\x7f\u{202a}-\u{202e}\u{2066}-\u{2069}]"
    ))
});

static SUGGESTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^suggestion:-\d{1,3}\+\d{1,3}$"));

/// diffsan's own HTML: folded blocks, whose foreign words are in `<code>`, and markers.
static OWN_HTML: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:</details>|<details><summary>(?:[A-Za-z0-9 .,:()/\[\]*-]|<code>[^<>]*</code>|</?b>)*</summary>",
        r"|<!-- diffsan:[A-Za-z0-9._:+/=-]+ -->)$"
    ))
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("pattern")
}

const RENDERED: &[&str] =
    &["suggestion", "mermaid", "math", "plantuml", "kroki", "graphviz", "dot", "d2", "json:table"];

fn options() -> Options<'static> {
    let mut options = Options::default();
    let extension = &mut options.extension;
    extension.strikethrough = true;
    extension.table = true;
    extension.autolink = true;
    extension.tasklist = true;
    extension.footnotes = true;
    extension.description_lists = true;
    extension.multiline_block_quotes = true;
    extension.alerts = true;
    extension.math_dollars = true;
    extension.math_code = true;
    extension.wikilinks_title_before_pipe = true;
    options.parse.relaxed_autolinks = true;
    options.parse.escaped_char_spans = true;
    options
}

mod tests {
    use super::live;

    #[test]
    fn the_oracle_sees_what_gitlab_would_do() {
        for note in [
            "/close",
            "text\n/close this socket when done\nmore",
            "<details>\n\n/approve\n\n</details>",
            "<!-- diffsan:x -->\n/close",
            "```\n```\n/close",
            "hello @all",
            "&#64;all",
            "\\\\@all",
            "see #1",
            "a/b!7",
            "~bug",
            "![x](https://evil.example/a.png)",
            "[x](y)",
            "<img src=x>",
            "https://gitlab.example/a/b/-/issues/1",
            "```mermaid\nx\n```",
            "$`x`$",
            ">>>\nx\n>>>",
            "[a]: https://evil.example\n\n[a]",
            "| `a|@all` |\n|---|---|",
            "<b>x</b>",
        ] {
            assert!(!live(note).is_empty(), "{note:?}");
        }
        for note in ["`@all`", "\\@all", "```\n/close\n@all\n```", " /close", "- x\n/close", "plain", "`#1` & b"] {
            assert_eq!(live(note), Vec::<String>::new(), "{note:?}");
        }
    }
}
