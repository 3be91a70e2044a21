//! Every kind of secret the engine knows by its own shape, as data.
//!
//! Each rule carries its own samples: lines with the secret that must go, and lines that must stay. All values
//! are synthetic. Formats are those the providers publish.

mod ai;
mod ai_tools;
mod azure;
mod cloud;
mod content;
mod crypto;
mod database;
mod forge;
mod hosting;
mod infra;
mod mail;
mod messaging;
mod observability;
mod payment;
mod quality;
mod registry;
mod saas;
mod settings;
mod social;
mod stored;

use super::rule::{Charset, Rule, Shape};

/// The rules by group.
pub(super) static RULES: &[&[Rule]] = &[
    forge::RULES,
    cloud::RULES,
    azure::RULES,
    ai::RULES,
    ai_tools::RULES,
    payment::RULES,
    crypto::RULES,
    messaging::RULES,
    mail::RULES,
    registry::RULES,
    observability::RULES,
    quality::RULES,
    database::RULES,
    hosting::RULES,
    infra::RULES,
    saas::RULES,
    content::RULES,
    social::RULES,
    stored::RULES,
    settings::RULES,
];

type Samples = &'static [(&'static str, &'static str)];
type Texts = &'static [&'static str];

/// A token that is recognised by how it starts.
const fn prefixed(name: &'static str, prefixes: Texts, body: Charset, len: (usize, usize)) -> Rule {
    rule(name, Shape::Prefixed { prefixes, body, len })
}

/// A value that only the name in front of it gives away.
const fn assigned(name: &'static str, keywords: Texts, value: Charset, len: (usize, usize)) -> Rule {
    rule(name, Shape::Assigned { keywords, value, len })
}

/// A shape that needs a regex; a keyword is on the same line.
pub(super) const fn pattern(name: &'static str, keywords: Texts, regex: &'static str) -> Rule {
    rule(name, Shape::Pattern { keywords, regex, near: false })
}

/// Like [`pattern`], but the keyword may be up to two lines away.
pub(super) const fn nearby(name: &'static str, keywords: Texts, regex: &'static str) -> Rule {
    rule(name, Shape::Pattern { keywords, regex, near: true })
}

const fn rule(name: &'static str, shape: Shape) -> Rule {
    Rule {
        name,
        shape,
        entropy: 0.0,
        allow: &[],
        #[cfg(test)]
        hits: &[],
        #[cfg(test)]
        misses: &[],
    }
}

impl Rule {
    const fn entropy(mut self, bits: f32) -> Self {
        self.entropy = bits;
        self
    }

    pub(super) const fn allow(mut self, patterns: Texts) -> Self {
        self.allow = patterns;
        self
    }

    #[cfg(test)]
    pub(super) const fn hits(mut self, samples: Samples) -> Self {
        self.hits = samples;
        self
    }

    #[cfg(test)]
    pub(super) const fn misses(mut self, lines: Texts) -> Self {
        self.misses = lines;
        self
    }

    // The samples stand beside the rule in the source and stay out of the program.
    #[cfg(not(test))]
    pub(super) const fn hits(self, _: Samples) -> Self {
        self
    }

    #[cfg(not(test))]
    pub(super) const fn misses(self, _: Texts) -> Self {
        self
    }
}
