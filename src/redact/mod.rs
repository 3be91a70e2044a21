//! Removes secrets from everything that leaves the process.
//!
//! `walk` takes a diff apart, `prefilter` picks the lines worth reading, `scan` reads them with the rules (`rules`, `contexts`)
//! and the readers of assignments, URLs, keys, manifests and encodings; `known` removes values that were met before.

mod assign;
mod chance;
mod contexts;
mod encoded;
mod engine;
mod file_kind;
mod filter;
mod keys;
mod known;
mod literal;
mod manifest;
mod names;
mod places;
mod prefilter;
mod rule;
mod rules;
mod scan;
mod span;
mod text;
mod url;
mod vocab;
mod walk;
mod words;

#[cfg(test)]
mod tests;

pub use engine::{DiffRedaction, Engine, EngineError, Match, Output, Settings, Side};
pub use text::{Redacted, RedactedBytes};

/// What stands in the place of a secret.
pub const TOKEN: &str = "[REDACTED]";

/// How many kinds of secrets the engine tells apart by rules of its own.
pub fn rule_count() -> usize {
    rules::RULES
        .iter()
        .chain(contexts::RULES)
        .map(|group| group.len())
        .sum()
}
