//! Snapshots of the terminal, and what must hold of every one of them.

use unicode_width::UnicodeWidthStr as _;

use super::*;
use crate::view::shown::sample::{empty, hostile, sample};

const WIDTHS: [usize; 5] = [40, 60, 80, 120, 200];

fn plain(shown: &Shown, width: usize) -> String {
    anstream::adapter::strip_str(&terminal(shown, &Look { width, is_ci_log: false, root: None })).to_string()
}

#[test]
fn the_review_reads_well() {
    insta::assert_snapshot!("narrow", plain(&sample(), 40));
    insta::assert_snapshot!("usual", plain(&sample(), 80));
    insta::assert_snapshot!("wide", plain(&sample(), 200));
    insta::assert_snapshot!("empty", plain(&empty(), 80));
}

#[test]
fn the_styles_stand_where_they_should() {
    let text = terminal(&sample(), &Look { width: 80, is_ci_log: false, root: None });
    insta::assert_snapshot!("styled", text.replace('\x1b', "␛"));
}

#[test]
fn a_job_log_folds_into_sections() {
    let text = terminal(&sample(), &Look { width: 100, is_ci_log: true, root: None });
    insta::assert_snapshot!("job_log", text.replace('\x1b', "␛").replace('\r', "␍"));
    let starts: Vec<_> = text.match_indices("section_start:").collect();
    assert_eq!(starts.len(), text.matches("section_end:").count());
    assert!(!text.contains("\x1b[2m"), "GitLab does not render dimmed text");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for shown in [sample(), hostile(), empty()] {
        for width in WIDTHS {
            for line in plain(&shown, width).lines() {
                assert!(line.width() <= width, "{} > {width}: {line:?}", line.width());
            }
        }
    }
}

#[test]
fn carets_stand_under_the_quoted_part() {
    let text = plain(&sample(), 80);
    let lines: Vec<_> = text.lines().collect();
    let mut seen = 0;
    for pair in lines.windows(2).filter(|pair| pair[1].contains('^')) {
        let column = pair[1].find('^').unwrap();
        let mut at = 0;
        let under = pair[0].chars().find(|letter| {
            let here = at;
            at += unicode_width::UnicodeWidthChar::width(*letter).unwrap_or(0);
            here == column
        });
        assert!(under.is_some_and(|letter| !letter.is_whitespace()), "{pair:#?}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn nothing_that_others_wrote_drives_the_terminal() {
    let own =
        "\x1b\\[[0-9;]*m|\x1b\\[0Ksection_(?:start|end):[0-9]+:diffsan_[0-9]+(?:\\[collapsed=true\\])?\r\x1b\\[0K";
    let own = regex::Regex::new(own).unwrap();
    for is_ci_log in [false, true] {
        let text = terminal(&hostile(), &Look { width: 80, is_ci_log, root: None });
        let rest = own.replace_all(&text, "");
        let foreign: Vec<_> = rest.chars().filter(|letter| letter.is_control() && *letter != '\n').collect();
        assert!(foreign.is_empty(), "{foreign:?}");
        assert!(!rest.contains(['\u{202e}', '\u{2066}', '\u{200b}']));
    }
}
