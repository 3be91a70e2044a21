//! Stand-ins until the answer branch has them.
use crate::redact::{Engine, Output, Redacted, Settings};
use crate::validate::ParseProblems;

pub(crate) fn strict_schema() -> serde_json::Value {
    serde_json::json!({"type":"object","additionalProperties":false,"required":["summary_markdown","findings"],"properties":{"summary_markdown":{"type":"string"},"findings":{"type":"array","items":{"type":"object"}}}})
}
pub(crate) fn repair(original: &Redacted, problems: &ParseProblems, sentence: &str) -> Redacted {
    let engine = Engine::new(&Settings::default(), []).unwrap();
    engine.redact(
        Output::Prompt,
        &format!("{original}\n\n{}\n{}\n{sentence}", problems.errors.join("\n"), problems.excerpt),
    )
}
