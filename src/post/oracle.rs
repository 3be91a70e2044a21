//! What GitLab would do with a note: its Markdown parser, and what its filters look for in the parse.

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use regex::Regex;

/// Everything in the note that acts, notifies, loads, or was not written by diffsan's own templates.
pub(crate) fn live(note: &str) -> Vec<String> {
    let note = note.replace('\r', "");
    let arena = Arena::new();
    let root = parse_document(&arena, &note, &options());
    let mut found = commands(root, &note);
    let text = Regex::new(TEXT).expect("pattern");
    for node in root.descendants() {
        let node = node.data();
        match &node.value {
            NodeValue::Text(content) => {
                found.extend(text.find_iter(content).map(|hit| format!("text {:?} in {content:?}", hit.as_str())));
            }
            NodeValue::CodeBlock(block) => {
                let name = block.info.split([' ', ':']).next().unwrap_or_default();
                if RENDERED.contains(&name) && !own_suggestion(&block.info) {
                    found.push(format!("fence {:?}", block.info));
                }
            }
            NodeValue::HtmlBlock(block) if own_html(&block.literal) => {}
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
    let command = Regex::new(r"^/[A-Za-z_]+( .*)?$").expect("pattern");
    root.children()
        .filter(|node| matches!(node.data().value, NodeValue::Paragraph))
        .flat_map(|node| {
            let place = node.data().sourcepos;
            lines[place.start.line - 1..place.end.line].to_vec()
        })
        .filter(|line| command.is_match(line.trim_end()))
        .map(|line| format!("command {line:?}"))
        .collect()
}

/// What reference filters find in rendered text.
const TEXT: &str = concat!(
    r"(?i)(?:^|\W)@\w|#\d|!\d|~[\w\x22]|%[\w\x22]|\$\w|&\w|\^\w|://\w|\bwww\.\w|\bGL-\d",
    r"|\[\[|\[TOC\]|\[[a-z_]+:[^\s\]]+\]",
    r"|[\x00-\x08\x0b-\x1f\x7f\u{202a}-\u{202e}\u{2066}-\u{2069}]"
);

const RENDERED: &[&str] =
    &["suggestion", "mermaid", "math", "plantuml", "kroki", "graphviz", "dot", "d2", "json:table"];

fn own_suggestion(info: &str) -> bool {
    Regex::new(r"^suggestion:-\d{1,3}\+\d{1,3}$").expect("pattern").is_match(info)
}

/// diffsan's own HTML: folded blocks, whose foreign words are in `<code>`, and markers.
fn own_html(html: &str) -> bool {
    let own = concat!(
        r"^(?:</details>|<details><summary>(?:[A-Za-z0-9 .,:()/\[\]*-]|<code>[^<>]*</code>|</?b>)*</summary>",
        r"|<!-- diffsan:[A-Za-z0-9._:+/=-]+ -->)$"
    );
    let own = Regex::new(own).expect("pattern");
    html.lines().all(|line| own.is_match(line))
}

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
