//! Removes secrets from everything that leaves the process.
//!
//! `walk` takes a diff apart, `prefilter` picks the lines worth reading, `scan` reads them with the rules (`rules`, `contexts`, run by
//! `search`) and the readers of assignments (`assign`, judged by `judge`), URLs, keys, manifests and encodings; `known` removes
//! values that were met before.

mod again;
mod apart;
mod assign;
mod chance;
mod contexts;
mod diffs;
mod encoded;
mod engine;
mod file_kind;
mod filter;
mod judge;
mod keys;
mod known;
mod literal;
mod manifest;
mod material;
mod names;
mod notation;
mod places;
mod prefilter;
mod rule;
mod rules;
mod scan;
mod search;
mod span;
mod spoken;
mod steps;
mod structure;
mod text;
mod token;
mod url;
mod values;
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

/// How sure it is that what a rule removes is a secret in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// A name that promises one, a value met before, a pattern of the user.
    Guess,
    /// A place where secrets stand: a command, a URL, a vendor's name beside a value of the right shape.
    Likely,
    /// A vendor's own shape, a private key.
    Sure,
}

/// How sure the rule of this name is.
pub fn certainty(name: &str) -> Certainty {
    match name {
        "PRIVATE_KEY" | "PGP_PRIVATE_KEY" | "PUTTY_PRIVATE_KEY" => return Certainty::Sure,
        "URL_CREDENTIALS" | "URL_TOKEN" | "DSN_PASSWORD" | "KUBERNETES_SECRET_DATA" => return Certainty::Likely,
        _ => {}
    }
    match all_rules().find(|rule| rule.name == name) {
        Some(rule) if contexts::is_one(rule) => Certainty::Likely,
        Some(rule) if matches!(rule.shape, rule::Shape::Assigned { .. }) => Certainty::Likely,
        Some(_) => Certainty::Sure,
        None => Certainty::Guess,
    }
}

/// Whether a value is a word that texts are full of, so that it must not be removed wherever it stands.
pub fn is_common_word(value: &str) -> bool {
    filter::is_filler(value.as_bytes())
}

fn all_rules() -> impl Iterator<Item = &'static rule::Rule> {
    rules::RULES.iter().chain(contexts::RULES).flat_map(|group| group.iter())
}
