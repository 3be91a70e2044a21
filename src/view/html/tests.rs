//! What must hold of the report's text; `tests/integration/report.rs` looks at it in a browser.

use super::*;
use crate::view::shown::sample::{empty, hostile, sample};

#[test]
fn the_policy_names_exactly_the_style_and_the_script_of_the_page() {
    let page = html(&sample()).unwrap();
    let between = |start: &str, end: &str| page.split(start).nth(1).unwrap().split(end).next().unwrap().to_owned();
    for (kind, text) in [("style", between("<style>", "</style>")), ("script", between("<script>", "</script>"))] {
        let digest = STANDARD.encode(Sha256::digest(text));
        // The digest's `+`, `/` and `=` are all fine in an attribute.
        let policy = between("http-equiv=\"Content-Security-Policy\" content=\"", "\">")
            .replace("&#39;", "'")
            .replace("&#x27;", "'");
        assert!(policy.contains(&format!("{kind}-src 'sha256-{digest}'")), "{policy}");
        assert!(policy.starts_with("default-src 'none'; "));
    }
}

#[test]
fn every_finding_stands_on_the_page_once_and_below_its_line() {
    let shown = sample();
    let page = html(&shown).unwrap();
    for finding in &shown.review.findings {
        assert_eq!(page.matches(&format!(">{}</a>", finding.finding_id)).count(), 1, "{}", finding.finding_id);
    }
    assert_eq!(page.matches("<article ").count(), 7);
    let line = page.find("key = &#34;[REDACTED]&#34;</td>").unwrap();
    let card = page.find(">f-3fa9c2d1e4b5</a>").unwrap();
    let next = page.find("total = sum(item.price for item in order.items)</td>").unwrap();
    assert!(line < card && card < next);
}

#[test]
fn hostile_text_is_text() {
    let page = html(&hostile()).unwrap();
    for start in [
        "<script",
        "<img",
        "<iframe",
        "<svg onload",
        "<base",
        "<meta http-equiv=refresh",
        "<details><summary>x",
        "<!-- diffsan",
    ] {
        let own = if start == "<script" { 1 } else { 0 };
        assert_eq!(page.matches(start).count(), own, "{start}");
    }
    assert_eq!(page.matches("</script").count(), 1);
    assert_eq!(page.matches("<style").count(), 1);
    for hidden in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\x1b', '\0', '\u{9b}', '\r'] {
        assert!(!page.contains(hidden), "{hidden:?}");
    }
}

#[test]
fn nothing_in_the_page_names_another_place() {
    let page = html(&sample()).unwrap();
    for attribute in ["src=", "action=", "@import", "url("] {
        assert!(!page.contains(attribute), "{attribute}");
    }
    for target in page.split("href=\"").skip(1) {
        assert!(target.starts_with('#') || target.starts_with("data:image/svg+xml,"), "{}", &target[..40]);
    }
}

#[test]
fn a_large_review_stays_small() {
    let mut shown = sample();
    let mut diff = String::new();
    for file in 0..50 {
        diff.push_str(&format!("--- a/src/module_{file}.rs\n+++ b/src/module_{file}.rs\n@@ -1,0 +1,100 @@\n"));
        diff.extend(
            (1..=100)
                .map(|line| format!("+    let value_{line} = compute_something({line}, \"text number {line}\");\n")),
        );
    }
    shown.diff = diff;
    let one = shown.review.findings[0].clone();
    shown.review.findings = (0..200u32)
        .map(|n| {
            let mut finding = one.clone();
            finding.finding_id = format!("f-{n:012}");
            finding.path = format!("src/module_{}.rs", n % 50);
            (finding.line_start, finding.line_end) = (n / 50 * 20 + 3, n / 50 * 20 + 5);
            finding
        })
        .collect();
    let page = html(&shown).unwrap();
    assert_eq!(page.matches("<article ").count(), 200);
    assert!(page.len() < 2_000_000, "{}", page.len());
}

#[test]
fn a_run_without_findings_says_so() {
    let page = html(&empty()).unwrap();
    assert!(page.contains("Nothing was found."));
    assert!(!page.contains("<article "));
    assert!(!page.contains("id=\"left-out\""));
}

#[test]
fn the_bars_stay_within_their_track() {
    for shown in [sample(), hostile(), empty()] {
        let report = report(&shown, &ROOMS[0]);
        assert!(report.timeline.iter().all(|bar| bar.start + bar.length <= BAR));
        assert!(report.cover.iter().all(|part| part.start + part.length <= BAR));
    }
}
