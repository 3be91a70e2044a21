//! Secrets told by what stands around them: commands, calls, headers, password files. Rules as data, like `rules`.

mod calls;
mod commands;
mod stored;

use super::rule::Rule;
use super::rules;

/// The rules by group.
pub(super) static RULES: &[&[Rule]] = &[commands::RULES, calls::RULES, stored::RULES];

/// Whether the rule is one of these: their values are filtered like those of generic assignments.
pub(super) fn is_one(rule: &'static Rule) -> bool {
    RULES.iter().any(|group| group.as_ptr_range().contains(&std::ptr::from_ref(rule)))
}

const fn context(
    name: &'static str,
    keywords: &'static [&'static str],
    regex: &'static str,
    hits: &'static [(&'static str, &'static str)],
    misses: &'static [&'static str],
) -> Rule {
    rules::pattern(name, keywords, regex).hits(hits).misses(misses)
}

/// The same rule, with values it lets pass.
const fn letting_pass(rule: Rule, allow: &'static [&'static str]) -> Rule {
    rule.allow(allow)
}

/// Words without a digit are prose about the scheme.
const PROSE: &[&str] = &["^[A-Za-z_.:/-]+$"];
