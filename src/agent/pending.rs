//! Stand-ins until the answer branch has them.
use crate::redact::{Engine, Output, Redacted, Settings};
use crate::validate::ParseProblems;

pub(crate) fn repair(original: &Redacted, problems: &ParseProblems, sentence: &str) -> Redacted {
    let engine = Engine::new(&Settings::default(), []).unwrap();
    engine.redact(
        Output::Prompt,
        &format!("{original}\n\n{}\n{}\n{sentence}", problems.errors.join("\n"), problems.excerpt),
    )
}
