//! The engine as a whole: every rule's samples, keys in every wrapping, diffs of every kind.

use super::rule::Rule;
use super::*;

fn engine() -> Engine {
    Engine::new(&Settings::default(), []).expect("no patterns, no error")
}

fn all_rules() -> impl Iterator<Item = &'static Rule> {
    rules::RULES.iter().flat_map(|group| group.iter()).chain(contexts::RULES)
}

/// Whether the secret, as often as it is there, and nothing else has gone; another secret on the line may have gone, too,
/// and so may a user that stands before it in one value.
fn is_clean(line: &str, secret: &str, redacted: &str) -> bool {
    if redacted == line.replace(secret, TOKEN) {
        return true;
    }
    let mut rest = line;
    let ordered = redacted.split(TOKEN).all(|piece| {
        let found = rest.find(piece);
        rest = found.map_or("", |at| &rest[at + piece.len()..]);
        found.is_some()
    });
    let removed = line.len() + redacted.matches(TOKEN).count() * TOKEN.len() - redacted.len();
    let joined = redacted.matches(TOKEN).count() > 1 || removed <= secret.len() + 16;
    ordered && joined && !redacted.contains(secret)
}

#[test]
fn every_rule_finds_its_hits_and_leaves_its_misses() {
    let engine = engine();
    let mut failures = Vec::new();
    println!("{:<40} {:>5} {:>6}", "rule", "hits", "misses");
    for rule in all_rules() {
        let mut hits = 0;
        for (line, secret) in rule.hits {
            assert!(line.contains(secret), "{}: the sample does not hold its secret: {line}", rule.name);
            let redacted = engine.redact(Output::Prompt, line);
            if is_clean(line, secret, redacted.as_str()) {
                hits += 1;
            } else {
                failures.push(format!("{} hit\n    {line}\n    {redacted}", rule.name));
            }
        }
        let mut misses = 0;
        for line in rule.misses {
            let redacted = engine.redact(Output::Prompt, line);
            if redacted.as_str() == *line {
                misses += 1;
            } else {
                failures.push(format!("{} miss\n    {line}\n    {redacted}", rule.name));
            }
        }
        println!("{:<40} {:>2}/{:<2} {:>3}/{:<2}", rule.name, hits, rule.hits.len(), misses, rule.misses.len());
    }
    println!("{} rule types", rule_count());
    assert!(failures.is_empty(), "{} samples fail\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_rule_is_well_formed() {
    let mut seen = std::collections::BTreeSet::new();
    for rule in all_rules() {
        assert!(seen.insert(rule.name), "{} is there twice", rule.name);
        assert!(rule.name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'), "{}", rule.name);
        assert!(!rule.hits.is_empty(), "{} has no sample", rule.name);
        let words = match &rule.shape {
            rule::Shape::Pattern { keywords, regex, .. } => {
                vocab::compile(regex).unwrap_or_else(|error| panic!("{}: {error}", rule.name));
                *keywords
            }
            rule::Shape::Assigned { keywords, .. } => *keywords,
            rule::Shape::Prefixed { prefixes, .. } => {
                assert!(prefixes.iter().all(|prefix| prefix.len() >= 2), "{}", rule.name);
                continue;
            }
        };
        for word in words {
            assert!(word.len() >= 3 && *word == word.to_ascii_lowercase(), "{}: {word}", rule.name);
        }
        for allow in rule.allow {
            vocab::compile(allow).unwrap_or_else(|error| panic!("{}: {error}", rule.name));
        }
    }
}
