//! Short texts: a failure on stderr, the configuration, a schema, the document of `--format json`.

use std::fmt::Write as _;

use crate::cli::Format;
use crate::config::Loaded;
use crate::contracts::{Document, ErrorInfo, ReviewOutput, RunRecord, SCHEMAS};
use crate::error::{Error, Failure, Result};
use crate::letters::{document, inert};
use crate::run::workdir::{Artifact, Workdir};

/// A failure for whoever started the program: what, why, what next.
pub fn failure(info: &ErrorInfo) -> String {
    let code = info.error_code.name();
    format!("error[{code}]: {}\n{}", printable(&info.message), remedy(info))
}

/// The rest of a failure where its event line has said the code and the message.
pub fn remedy(info: &ErrorInfo) -> String {
    let mut text = String::new();
    if let Some(cause) = &info.cause {
        for line in cause.trim().lines().take(12).filter(|line| *line != info.message) {
            let _ = writeln!(text, "  cause: {}", printable(line));
        }
    }
    if let Some(help) = &info.help {
        let _ = writeln!(text, "  help: {}", printable(help));
    }
    text
}

/// Every configuration value with its source.
pub fn config(loaded: &Loaded, format: Format) -> String {
    if format == Format::Json {
        return document(&loaded.to_json());
    }
    let rows = loaded.rows();
    let keys = rows.iter().map(|(key, ..)| key.len()).max().unwrap_or(0);
    let values: Vec<_> = rows.iter().map(|(_, value, _)| value.to_string()).collect();
    let widest = values.iter().map(String::len).filter(|width| *width <= 40).max().unwrap_or(0);
    let mut text = String::new();
    for ((key, _, source), value) in rows.iter().zip(&values) {
        let _ = writeln!(text, "{key:keys$}  {value:widest$}  # {source}");
    }
    for warning in &loaded.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// One schema, or the list of their names.
pub fn schema(name: Option<&str>) -> Result<String> {
    let Some(name) = name else {
        let width = SCHEMAS.iter().map(|schema| schema.name.len()).max().unwrap_or(0);
        return Ok(SCHEMAS.iter().fold(String::new(), |mut text, schema| {
            let _ = writeln!(text, "{:width$}  {}", schema.name, schema.describes);
            text
        }));
    };
    let schema = crate::contracts::schema(name).ok_or_else(|| {
        Error::Config(
            Failure::new(format!("there is no schema named {name}"))
                .with("name", name)
                .help("`diffsan schema` lists the names"),
        )
    })?;
    Ok(format!("{:#}\n", schema.as_value()))
}

/// The one document that stdout is with `--format json`: the record, and the review where there is one.
pub fn result(record: &RunRecord, workdir: &Workdir) -> String {
    let mut value = serde_json::to_value(Document::new(record)).unwrap_or_default();
    let review: Option<ReviewOutput> = workdir.read_json(Artifact::Review).ok().flatten();
    value["review"] = serde_json::to_value(review).unwrap_or_default();
    document(&value)
}

/// Control characters would let a file name or a model draw on the terminal.
pub fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter == '\n' { letter } else { inert(letter) }).collect()
}
