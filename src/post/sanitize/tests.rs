//! Tests of `sanitize`.

use proptest::prelude::*;

use super::*;
use crate::post::oracle;

fn clean(text: &str) -> String {
    markdown(text).text
}

#[test]
fn quick_actions_are_defused_in_every_context() {
    for text in [
        "/close",
        "/CLOSE",
        "a\n/close\nb",
        "a\r\n/close\r\n",
        "a\r/close",
        "/clo\rse",
        "# h\n/close",
        "---\n/close",
        "<br>\n/close",
        "- a\n\n/close",
        "> a\n\n/close",
        "<details>\n\n/close\n\n</details>",
        "<!-- marker -->\n/close",
        "```\nx\n```\n/close",
        "- ```\n/close",
        "> ```\n/close",
        "~~~\n```\n~~~\n/close",
        "`a\n/close\nb`",
        "/close this socket when done",
        "<pre>\n/close\n</pre>",
        ">>>\n\n/close\n\n>>>",
        "| a |\n|---|\n/close",
        "[x]: y\n/close",
        "a\\\n/close",
    ] {
        let cleaned = clean(text);
        assert_eq!(oracle::live(&cleaned), Vec::<String>::new(), "{text:?} -> {cleaned:?}");
        assert!(!cleaned.lines().any(is_command), "{text:?} -> {cleaned:?}");
    }
    assert_eq!(markdown("a\n/close").counts["quick_action"], 1);
}

#[test]
fn what_could_act_is_rewritten_and_stays_readable() {
    for (text, expected) in [
        ("ask @all and @a.b", r"ask \@all and \@a.b"),
        ("Closes #12, see g/p!3", r"Closes \#12, see g/p\!3"),
        ("~bug %v1 $5 &7 ^alert", r"\~bug \%v1 \$5 \&7 \^alert"),
        ("&#64;all", r"\&\#64;all"),
        (r"\\@all", r"\\\@all"),
        (r"\@all", r"\@all"),
        ("at 1a2b3c4d5e", "at `1a2b3c4d5e`"),
        ("see GL-12", "see `GL-12`"),
        ("see https://x.example/a/-/issues/1.", "see `https://x.example/a/-/issues/1`."),
        ("(https://x.example/a_(b))", "(`https://x.example/a_(b)`)"),
        ("[text](https://x.example)", "[text] (`https://x.example`)"),
        ("![alt](https://x.example/p.png)", r"\![alt] (`https://x.example/p.png`)"),
        ("[a]: https://x.example", r"[a]\: `https://x.example`"),
        ("<img src=x>", r"\<img src=x>"),
        ("<!-- diffsan:finding:f-1 -->", r"\<!-- diffsan :finding:f-1 -->"),
        ("Vec<String> a < b", r"Vec\<String> a < b"),
        ("a<br>b", "a<br>b"),
        ("<br>b", r"\<br>b"),
        ("[[_TOC_]] [TOC]", "`[[_TOC_]]` `[TOC]`"),
        ("[issue:12]", "`[issue:12]`"),
        ("{+ a +} [- b -]", r"{+ a +} \[- b -]"),
        (">>>\nx", "\\>>>\nx"),
        ("a\u{202e}b\u{0}", "a[U+202E]b[U+0000]"),
        ("`a`https://x.example", "`a` `https://x.example`"),
        ("a ` b", r"a \` b"),
        ("$`x`$", r"\$`x`\$"),
        ("::include{file=x}", r"\::include{file=x}"),
        ("a | b\n--|--\n`x|y` | z", "a | b\n--|--\n`x\\|y` | z"),
    ] {
        let expected = expected.replace("{+ a", r"\{+ a");
        assert_eq!(clean(text), expected, "{text:?}");
        assert_eq!(oracle::live(&expected), Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn ordinary_text_and_code_stay_as_they_are() {
    for text in [
        "The loop never ends: `i` is not advanced (see `src/a.rs`).",
        "Use `@decorator`, `#1` and `a | b`.",
        "1. one\n2. two\n\n- a\n- b\n\n> quoted",
        "# Title\n\nText with **bold**, *em*, ~~ and 100%.",
        "a && b; x < y; 3 > 2; C#; wow!",
        "```rust\nlet a = &b[0]; // @all #1\n/usr/bin/env\n```",
        "``` \nx\n```".trim_start(),
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "a family 👨\u{200d}👩\u{200d}👧",
    ] {
        let expected = text.replace("``` \n", "```\n");
        assert_eq!(clean(text), expected);
    }
}

#[test]
fn fences_are_closed_and_take_the_only_form() {
    for (text, expected) in [
        ("```rust\nx", "```rust\nx\n```"),
        ("a\n```\nx\n```\nb", "a\n\n```\nx\n```\n\nb"),
        ("~~~~ py\n```\n~~~~", "````py\n```\n````"),
        ("1. do\n   ```sh\n   ls\n     -l\n   ```\n2. done", "1. do\n\n```sh\nls\n  -l\n```\n\n2. done"),
        ("> ```\n> x\nafter", "```\nx\n```\n\nafter"),
        ("```suggestion:-0+0\nx\n```", "```text\nx\n```"),
        ("```mermaid\nx\n```", "```text\nx\n```"),
        ("```json:table\n{}\n```", "```text\n{}\n```"),
        ("```Rust,ignore\nx\n```", "```rust\nx\n```"),
        ("```\n/close\n/usr/bin\n```", "```\n /close\n/usr/bin\n```"),
        ("```\n<!-- diffsan:x -->\n```", "```\n<!-- diffsan :x -->\n```"),
    ] {
        assert_eq!(clean(text), expected, "{text:?}");
    }
}

#[test]
fn foreign_folds_are_laid_open() {
    for (text, expected) in [
        ("<details>\n<summary>More @all</summary>\n\ntext\n\n</details>", "**More \\@all**\n\ntext"),
        ("<details><summary>More</summary>\ntext", "**More**\ntext"),
        ("a\n</details>\nb", "a\n\nb"),
        ("<summary>/close</summary>", "**/close**"),
        ("<details>x</details>", "\\<details>x\\</details>"),
        ("<summary><img src=x></summary>", "\\<summary>\\<img src=x>\\</summary>"),
    ] {
        assert_eq!(clean(text), expected.trim_matches('\n'), "{text:?}");
    }
}

#[test]
fn every_kind_is_counted() {
    let counts = markdown("Closes #1 @a ![x](y) <b> https://x.example\n/close\n<!-- diffsan:x -->\n```mermaid").counts;
    let kinds: Vec<&str> = counts.keys().map(String::as_str).collect();
    assert_eq!(
        kinds,
        [
            "closing_keyword",
            "fence",
            "fence_language",
            "html",
            "image",
            "link",
            "marker",
            "mention",
            "quick_action",
            "reference",
            "url"
        ]
    );
}

#[test]
fn one_line_and_code_forms_hold_anything() {
    assert_eq!(line("a\n/close @b").text, r"a /close \@b");
    assert_eq!(code("src/@all/`x`.rs"), "``src/@all/`x`.rs``");
    assert_eq!(code("a\nb"), "`a b`");
    assert_eq!(fence("diff", "+```\n"), "````diff\n+```\n````");
    assert_eq!(fence("diff", ""), "```diff\n```");
    assert_eq!(fence("diff", "+a\r\n/close\n"), "```diff\n+a\n /close\n```");
    assert_eq!(code("<!-- diffsan:x -->"), "`<!-- diffsan :x -->`");
    assert_eq!(html_code("<a&\"b\">"), "<code>&lt;a&amp;&quot;b&quot;&gt;</code>");
}

#[test]
fn anything_takes_linear_time() {
    let mut ticks = String::new();
    for length in 1..900 {
        ticks.push_str(&"`".repeat(length));
        ticks.push(' ');
    }
    for seed in [
        "a-", "`", "[", "](", "<br>1 ", "@", "http://,", "/close\n", "```\n", "> ", "1 <", "#1", "\\", "|-\n", "\u{1}",
        &ticks,
    ] {
        let text = seed.repeat((400_000 / seed.len()).max(1));
        let clean = markdown(&text);
        assert!(clean.text.len() < 9 * text.len());
    }
}

#[test]
fn a_cut_text_says_so_and_is_still_closed() {
    let cut = clipped_markdown(&format!("```rust\n{}\n```", "x".repeat(100)), 50).text;
    assert_eq!(cut, format!("```rust\n{}\n```\n\n*Cut here: the whole text has 112 characters.*", "x".repeat(42)));
    let grown = clipped_markdown(&"@a ".repeat(20), 60).text;
    assert!(grown.contains("60 characters.*") && grown.chars().count() < 120, "{grown}");
    assert_eq!(clipped_markdown("short", 5).text, "short");
    assert_eq!(clip("abcdef", 4), "abc…");
}

#[test]
fn found_by_search() {
    for (text, expected) in [
        ("[[x:!](", "\\[`[x:!]`("),
        ("all\u{a0}GL-1x", "`all\u{a0}GL-1x`"),
        ("a|b\n-|-\n\u{a0}\n`x|@all`|", "a|b\n-|-\n\u{a0}\n`x\\|@all`|"),
    ] {
        assert_eq!(clean(text), expected, "{text:?}");
        assert_eq!(oracle::live(expected), Vec::<String>::new(), "{text:?}");
    }
    let long = format!("[x:{}]", "y".repeat(200));
    assert_eq!(clean(&long), format!("`{long}`"));
}

#[test]
fn what_diffsan_wrote_in_a_body_stays_and_nothing_else_does() {
    let note = "**[style/low]** text\n\n<details><summary><b>low</b> style: <code>@a</code>:1-2</summary>\n\nx\n\n\
                </details>\n\n```suggestion:-2+0\nlet a = 1;\n```\n\n<!-- diffsan:finding:f-1 -->";
    let own = Own::written_in(note, |value| value == "finding:f-1");
    assert_eq!(body(note, &own).as_str(), note);
    let other = "<!-- diffsan:finding:f-2 -->\n```suggestion:-0+0\nlet a = 2;\n```\n<details><summary>#1</summary>\n@all\n</details>";
    let cleaned = "\\<!-- diffsan :finding:f-2 -->\n\n```text\nlet a = 2;\n```\n\n**\\#1**\n\\@all";
    assert_eq!(body(other, &own).as_str(), cleaned);
    assert_eq!(
        body(note, &Own::nothing()).as_str(),
        note.replace("suggestion:-2+0", "text").replace("<!-- diffsan:", "\\<!-- diffsan :")
    );
    let swallowed = format!("```\n{note}");
    assert!(body(&swallowed, &own).as_str().ends_with("\n````\n\n<!-- diffsan:finding:f-1 -->"));
    let unclosed = "<details><summary>Metadata</summary>\n\ntext\n\n<!-- diffsan:finding:f-1 -->\n\n</details>";
    let closed = "<details><summary>Metadata</summary>\n\ntext\n\n</details>\n\n<!-- diffsan:finding:f-1 -->";
    assert_eq!(body(unclosed, &own).as_str(), closed);
}

#[test]
fn only_an_own_link_is_one() {
    let report = link("the report", "https://gitlab.example/g/p/-/jobs/1/artifacts/file/report.html").expect("a link");
    let own = Own::nothing().with_link(report.clone());
    let note = format!("See {report}, not [the report](https://evil.example/x) or `{report}`.");
    let cleaned = format!("See {report}, not [the report] (`https://evil.example/x`) or `{report}`.");
    assert_eq!(body(&note, &own).as_str(), cleaned);
    assert_eq!(link("x", "javascript:alert(1)"), None);
    assert_eq!(link("x", "https://e.example/a)b"), None);
    assert_eq!(link("a](b", "https://e.example/"), Some("[`a](b`](https://e.example/)".to_owned()));
}

#[test]
fn a_fold_that_says_something_live_is_laid_open() {
    for title in ["GL-1", "[issue:1]", "1a2b3c4d5e", "<code>a</code><img src=x>", "<code><b></code>", "a @all"] {
        let note = format!("<details><summary>{title}</summary>\n\nx\n\n</details>");
        let cleaned = body(&note, &Own::nothing());
        assert!(!cleaned.as_str().contains("\n\n</details>"), "{cleaned:?}");
        assert_eq!(oracle::live(cleaned.as_str()), Vec::<String>::new(), "{cleaned:?}");
    }
}

pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "/close",
        "/a b",
        "\n",
        "\n\n",
        "\r",
        " ",
        "    ",
        "\t",
        "`",
        "``",
        "```",
        "````",
        "~~~",
        "~",
        ">",
        "> ",
        ">>>",
        "- ",
        "1. ",
        "@all",
        "@",
        "#1",
        "!1",
        "!",
        "[",
        "]",
        "(",
        ")",
        "](",
        "]:",
        "[a]: ",
        "[^1]",
        "[^1]: ",
        "<",
        ">",
        "<!--",
        "-->",
        "<details>",
        "<summary>",
        "</summary>",
        "</details>",
        "<pre>",
        "</pre>",
        "<script>",
        "<br>",
        "<a href=\"",
        "\"",
        "'",
        "|",
        "|-|-|\n",
        "---\n",
        "\\",
        "$",
        "$$",
        "&",
        "&#64;",
        "&commat;",
        ";",
        "all",
        "x",
        "https://e.example/a",
        "www.e.example",
        "1a2b3c4d",
        "GL-1",
        "{+",
        "+}",
        "[[",
        "]]",
        "*",
        "_",
        ":",
        "suggestion",
        "mermaid",
        "=",
        "\u{202e}",
        "\u{0}",
        "é",
        "^",
        "%",
        "%1",
        "~b",
        "-",
        "+",
        "<https://a",
        "\u{a0}",
        "[x:",
        "[issue:1]",
        "<details><summary>Metadata</summary>\n",
        "<code>",
        "|a|b|\n",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_acts_in_any_cleaned_text(text in hostile()) {
        let cleaned = clean(&text);
        prop_assert_eq!(oracle::live(&cleaned), Vec::<String>::new(), "{:?} -> {:?}", text, cleaned);
    }

    #[test]
    fn cleaning_twice_changes_nothing(text in hostile()) {
        let once = clean(&text);
        prop_assert_eq!(clean(&once), once);
    }

    #[test]
    fn a_whole_body_does_nothing_and_stands_still(text in hostile()) {
        let own = Own::written_in(&text, |_| true);
        let cleaned = body(&text, &own);
        prop_assert_eq!(oracle::live(cleaned.as_str()), Vec::<String>::new(), "{:?} -> {:?}", text, cleaned);
        prop_assert_eq!(body(cleaned.as_str(), &own), cleaned);
    }

    #[test]
    fn a_cleaned_text_cannot_swallow_what_follows(text in hostile()) {
        let note = format!("{}\n\n@canary\n\n/canary", clean(&text));
        let found = oracle::live(&note);
        prop_assert_eq!(found.len(), 2, "{:?} -> {:?}: {:?}", text, note, found);
    }

    #[test]
    fn one_line_stays_one_line_in_which_nothing_acts(text in hostile()) {
        let cleaned = line(&text).text;
        prop_assert!(!cleaned.contains('\n'));
        let note = format!("**Result:** {cleaned}\n\n| a | b |\n|---|---|\n| {cleaned} | @canary |");
        let found = oracle::live(&note);
        prop_assert!(found.iter().all(|hit| hit.contains("canary")), "{:?} -> {:?}: {:?}", text, note, found);
    }

    #[test]
    fn inline_code_holds_anything(text in hostile()) {
        let note = format!("a {} b", code(&text));
        prop_assert_eq!(oracle::live(&note), Vec::<String>::new(), "{:?}", note);
    }
}
