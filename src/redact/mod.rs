//! Removes secrets from everything that leaves the process.
//!
//! `walk` takes a diff apart, `prefilter` picks the lines worth reading, `scan` reads them with the rules (`rules`, `contexts`)
//! and the readers of assignments, URLs, keys, manifests and encodings; `known` removes values that were met before.

mod again;
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
mod structure;
mod text;
mod url;
mod vocab;
mod walk;
mod words;

#[cfg(test)]
mod tests;

pub use engine::{DiffRedaction, Engine, EngineError, FileRedaction, Match, Output, Settings, Side};
pub use text::{Redacted, RedactedBytes};

/// What stands in the place of a secret.
pub const TOKEN: &str = "[REDACTED]";

/// How many kinds of secrets the engine tells apart by rules of its own.
pub fn rule_count() -> usize {
    all_rules().count()
}

/// The samples that every rule carries.
pub fn samples() -> impl Iterator<Item = Samples> {
    all_rules().map(|rule| Samples { rule: rule.name, hits: rule.hits, misses: rule.misses })
}

/// What proves a rule.
#[derive(Debug, Clone, Copy)]
pub struct Samples {
    /// The rule's name.
    pub rule: &'static str,
    /// Lines with the secret in each.
    pub hits: &'static [(&'static str, &'static str)],
    /// Lines that stay as they are.
    pub misses: &'static [&'static str],
}

fn all_rules() -> impl Iterator<Item = &'static rule::Rule> {
    rules::RULES.iter().chain(contexts::RULES).flat_map(|group| group.iter())
}
