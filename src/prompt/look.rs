//! The prompt of the second look.

use std::fmt::Write as _;

use super::fence::Fence;
use super::{clip, one_line, text};
use crate::look::{Claim, OpenThread};
use crate::redact::TOKEN;

/// Everything the prompt of a second look is made of; its texts have been through the redaction engine.
#[derive(Debug, Clone, Copy)]
pub struct LookInput<'a> {
    /// The schema of the answer, for agents that do not keep to one by themselves.
    pub schema: Option<&'a str>,
    pub eyes: bool,
    pub language: Option<&'a str>,
    pub redaction_found: bool,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    pub claims: &'a [Claim],
    pub threads: &'a [OpenThread],
    /// The diff that the claims were made from.
    pub diff: &'a str,
}

/// Writes the prompt. The same input gives the same text.
pub fn build(input: &LookInput<'_>) -> String {
    let title = one_line(input.title.unwrap_or_default(), 500);
    let description = clip(input.description.unwrap_or_default().trim(), 6_000);
    let claims = claims(input.claims);
    let threads = threads(input.threads);
    let fence = Fence::new(&[&title, &description, &claims, &threads, input.diff]);
    let mut out = String::with_capacity(input.diff.len() + claims.len() + 8_192);
    let sight = if input.eyes { text::LOOK_EYES } else { text::NO_EYES };
    let _ = write!(out, "{}\n\n{sight}\n\n{}", text::LOOK_ROLE, text::data_note(&fence));
    if let Some(schema) = input.schema {
        let _ = write!(out, "{}{}{schema}\n```\n\n", text::JSON_ONLY, text::SCHEMA);
    }
    out.extend([text::LOOK_VERDICTS, text::SEVERITY]);
    if let Some(language) = input.language.map(|language| one_line(language, 60)).filter(|name| !name.is_empty()) {
        out.push_str(&text::look_language(&language));
    }
    if input.redaction_found {
        out.push_str(&text::redacted(TOKEN));
    }
    if !title.is_empty() || !description.is_empty() {
        out.push_str(text::MERGE_REQUEST);
        for (name, content) in [("title", &title), ("description", &description)] {
            if !content.is_empty() {
                let _ = writeln!(out, "{}", fence.data(name, content));
            }
        }
    }
    let _ = writeln!(out, "{}{}", text::LOOK_DIFF, fence.data("diff", input.diff));
    if !claims.is_empty() {
        let _ = writeln!(out, "{}{}", text::LOOK_CLAIMS, fence.data("claims", &claims));
    }
    if !threads.is_empty() {
        let _ = writeln!(out, "{}{}", text::LOOK_THREADS, fence.data("comments", &threads));
    }
    out.push_str(&text::look_closing(input.claims.len(), input.threads.len()));
    if input.schema.is_some() {
        out.push_str(text::CLOSING_JSON);
    }
    out
}

/// The prompt that asks again after an answer that left something out or made something up.
pub fn again(original: &str, problems: &[String]) -> String {
    let problems: String = problems.iter().map(|problem| format!("- {}\n", one_line(problem, 200))).collect();
    format!("{original}\n{}\n{problems}", text::LOOK_AGAIN)
}

fn claims(claims: &[Claim]) -> String {
    let mut text = String::new();
    for claim in claims {
        let _ = writeln!(text, "Claim {} ({}), {}", claim.number, claim.category, one_line(&claim.place, 400));
        if let Some(quote) = &claim.quote {
            let _ = writeln!(text, "Line: {}", one_line(quote, 300));
        }
        let _ = writeln!(text, "{}\n", clip(claim.body.trim(), 3_000));
    }
    text
}

fn threads(threads: &[OpenThread]) -> String {
    let mut text = String::new();
    for (index, thread) in threads.iter().enumerate() {
        let _ = writeln!(text, "Comment {}, {}", index + 1, one_line(&thread.path, 300));
        let _ = writeln!(text, "{}\n", clip(thread.body.trim(), 1_500));
        let _ = writeln!(text, "The lines it was about:\n{}\n", clip(thread.block.trim_end(), 3_000));
    }
    text
}
