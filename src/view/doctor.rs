//! `diffsan doctor`: what a run needs, as a table with a fix for every failing row.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::json;

use crate::cli::Format;
use crate::letters::document;

/// One thing a run needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    pub check: &'static str,
    pub state: State,
    /// What was found.
    pub detail: String,
    /// What to do when it is not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// A run works, but differently than expected.
    Warn,
    /// A run would fail.
    Fail,
    /// This run does not need it.
    Skip,
}

impl Row {
    pub fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, state: State::Ok, detail: detail.into(), fix: None }
    }

    pub fn skip(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, state: State::Skip, detail: detail.into(), fix: None }
    }

    pub fn warn(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, state: State::Warn, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub fn fail(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, state: State::Fail, detail: detail.into(), fix: Some(fix.into()) }
    }
}

/// The table.
pub fn render(rows: &[Row], format: Format) -> String {
    let fails = rows.iter().filter(|row| row.state == State::Fail).count();
    if format == Format::Json {
        return document(&json!({ "ok": fails == 0, "checks": rows }));
    }
    let width = rows.iter().map(|row| row.check.len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let (word, style) = match row.state {
            State::Ok => ("ok  ", AnsiColor::Green),
            State::Warn => ("warn", AnsiColor::Yellow),
            State::Fail => ("FAIL", AnsiColor::Red),
            State::Skip => ("-   ", AnsiColor::BrightBlack),
        };
        let style = Style::new().fg_color(Some(style.into()));
        let _ = writeln!(text, "{style}{word}{style:#}  {:width$}  {}", row.check, row.detail);
        if let Some(fix) = &row.fix {
            let _ = writeln!(text, "      {:width$}  fix: {fix}", "");
        }
    }
    let _ = match fails {
        0 => writeln!(text, "\nA run would work."),
        1 => writeln!(text, "\nA run would fail: 1 check does not pass."),
        more => writeln!(text, "\nA run would fail: {more} checks do not pass."),
    };
    text
}
