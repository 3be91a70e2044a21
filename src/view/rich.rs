//! Markdown that others wrote, as HTML: read by a Markdown parser, written with diffsan's own tags only.
//!
//! Every text is escaped and no attribute comes from the text, so that nothing in it can load, run or lead anywhere:
//! a link is shown as its words and its address.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::shown::{clean, code_text};
use crate::error::clip;

/// Deeper nesting keeps its text and loses its boxes.
const DEEPEST: usize = 8;
/// Most characters of an address.
const ADDRESS: usize = 200;

/// The HTML of a Markdown text; its headings become headings of this level.
pub(super) fn html(markdown: &str, heading: u8) -> String {
    let text = clean(markdown);
    let mut writer = Writer { heading, out: String::with_capacity(text.len() * 2), ..Writer::default() };
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        writer.event(event);
    }
    writer.out
}

#[derive(Default)]
struct Writer {
    heading: u8,
    out: String,
    /// What closes each open element; empty for those that are not drawn.
    open: Vec<String>,
    /// Addresses of the links and images that are open, and where their words begin.
    links: Vec<(String, usize)>,
    in_head: bool,
    in_code: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) if self.in_code => {
                let lines: Vec<_> = text.split('\n').map(code_text).collect();
                self.text(&lines.join("\n"));
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.out.push_str("<code>");
                self.text(&text);
                self.out.push_str("</code>");
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::FootnoteReference(name) => self.text(&name),
            Event::TaskListMarker(done) => self.out.push_str(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.element("p"),
            Tag::Heading { .. } => self.element(&format!("h{}", self.heading)),
            Tag::BlockQuote(_) => self.element("blockquote"),
            Tag::CodeBlock(_) => {
                self.in_code = true;
                self.out.push_str("<pre><code>");
                self.open.push("</code></pre>".into());
            }
            Tag::List(Some(first)) if self.open.len() < DEEPEST => {
                self.out.push_str(&format!("<ol start=\"{first}\">"));
                self.open.push("</ol>".into());
            }
            Tag::List(_) => self.element("ul"),
            Tag::Item => self.element("li"),
            Tag::Table(_) => {
                self.out.push_str(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table class=\"list\">",
                );
                self.open.push("</tbody></table></div>".into());
            }
            Tag::TableHead => {
                self.in_head = true;
                self.out.push_str("<thead><tr>");
                self.open.push("</tr></thead><tbody>".into());
            }
            Tag::TableRow => self.element("tr"),
            Tag::TableCell => self.element(if self.in_head { "th" } else { "td" }),
            Tag::Emphasis => self.element("em"),
            Tag::Strong => self.element("strong"),
            Tag::Strikethrough => self.element("del"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.out.len()));
                self.open.push(String::new());
            }
            _ => self.open.push(String::new()),
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Link | TagEnd::Image => self.address(),
            TagEnd::TableHead => self.in_head = false,
            TagEnd::CodeBlock => {
                self.in_code = false;
                while self.out.ends_with('\n') {
                    self.out.pop();
                }
            }
            _ => {}
        }
        if let Some(close) = self.open.pop() {
            self.out.push_str(&close);
        }
    }

    fn element(&mut self, name: &str) {
        if self.open.len() >= DEEPEST && matches!(name, "blockquote" | "ul" | "li" | "em" | "strong" | "del") {
            self.open.push(String::new());
            return;
        }
        self.out.push_str(&format!("<{name}>"));
        self.open.push(format!("</{name}>"));
    }

    /// The address behind a link's words, unless they are the address.
    fn address(&mut self) {
        let Some((address, start)) = self.links.pop() else { return };
        let words = self.out.get(start..).unwrap_or_default().to_owned();
        let address = escaped(&clip(&address, ADDRESS));
        if words == address {
            self.out.truncate(start);
            self.out.push_str(&format!("<span class=\"address\">{address}</span>"));
        } else if !address.is_empty() {
            self.out.push_str(&format!(" <span class=\"address\">({address})</span>"));
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(&escaped(text));
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reviews_look_as_they_were_meant() {
        for (markdown, expected) in [
            ("plain", "<p>plain</p>"),
            ("# Title\n\n### Deep", "<h4>Title</h4><h4>Deep</h4>"),
            ("- a\n- b\n  1. c", "<ul><li>a</li><li>b<ol start=\"1\"><li>c</li></ol></li></ul>"),
            ("`x < y` **b** *i* ~~s~~", "<p><code>x &lt; y</code> <strong>b</strong> <em>i</em> <del>s</del></p>"),
            ("```rs\nlet a = 1;\n```", "<pre><code>let a = 1;</code></pre>"),
            ("[docs](https://x.example/a)", "<p>docs <span class=\"address\">(https://x.example/a)</span></p>"),
            ("<https://x.example>", "<p><span class=\"address\">https://x.example</span></p>"),
            ("![alt](http://x.example/i.png)", "<p>alt <span class=\"address\">(http://x.example/i.png)</span></p>"),
            ("> said", "<blockquote><p>said</p></blockquote>"),
        ] {
            assert_eq!(html(markdown, 4).replace('\n', ""), expected, "{markdown}");
        }
        let table = html("| a | b |\n|---|---|\n| 1 | `2` |\n", 4);
        assert!(table.contains("<thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td>"), "{table}");
    }

    #[test]
    fn raw_html_is_text() {
        let page = html("<script>alert(1)</script>\n\nx <img src=x onerror=y> [a](javascript:alert(1)) <b>", 4);
        for start in ["<script", "<img", "<b>", "href", "<a"] {
            assert!(!page.contains(start), "{page}");
        }
        assert!(page.contains("&lt;script&gt;"));
    }

    #[test]
    fn deep_nesting_stays_shallow() {
        let page = html(&format!("{}x", "> ".repeat(500)), 4);
        assert!(page.matches("<blockquote>").count() <= DEEPEST && page.contains('x'));
        let page = html(&(0..300).map(|n| format!("{}- x\n", "  ".repeat(n))).collect::<String>(), 4);
        assert!(page.matches("<ul>").count() <= 300);
    }

    /// Every tag that may stand in a page, without its attributes.
    const OWN: &[&str] = &[
        "p",
        "h4",
        "blockquote",
        "pre",
        "code",
        "ol",
        "ul",
        "li",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "em",
        "strong",
        "del",
        "span",
        "br",
        "hr",
    ];

    proptest! {
        #[test]
        fn no_text_makes_a_tag_and_every_element_is_closed(text in "[-*>#`|\\[\\]()<>&\"'a-c\n ~_!:/0-9]{0,200}") {
            let page = html(&text, 4);
            let mut open: Vec<String> = Vec::new();
            for tag in page.split('<').skip(1) {
                let tag = tag.split('>').next().unwrap();
                let name = tag.trim_start_matches('/').split(' ').next().unwrap();
                prop_assert!(OWN.contains(&name), "{name} in {page}");
                match tag.strip_prefix('/') {
                    Some(name) => prop_assert_eq!(open.pop(), Some(name.to_owned()), "{}", &page),
                    None if matches!(name, "br" | "hr") => {}
                    None => open.push(name.to_owned()),
                }
            }
            prop_assert!(open.is_empty(), "{page}");
        }
    }
}
