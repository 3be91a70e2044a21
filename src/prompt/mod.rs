//! The prompt: what the agent is asked, and every text of the change between fences that it cannot break out of.

use std::fmt::Write as _;

use crate::contracts::{Anchors, Fingerprint, PriorDigest, TruncationReport, Verbosity};
use crate::diff::Diff;
use crate::passes::Elsewhere;
use crate::redact::TOKEN;
use crate::validate::{ParseProblems, schema};
use fence::Fence;

mod digest;
mod fence;
mod index;
mod lenses;
mod look;
mod rules;
mod text;

pub use digest::{Refused, Since};
pub use index::cited;
pub use rules::{Rule, rules};

pub use look::{LookInput, again as look_again, build as build_look};

/// The names that `agent.skills` knows.
pub fn lenses() -> impl Iterator<Item = &'static str> {
    lenses::names()
}

/// Which wording this is; it goes up when what an agent is told changes its meaning. 0.1.0 had 1.
pub const VERSION: u32 = 2;

/// Everything a prompt is made of; its texts have been through the redaction engine.
#[derive(Debug, Clone, Copy)]
pub struct PromptInput<'a> {
    /// The agent keeps to a schema by itself, so the prompt need not spell it out.
    pub structured_output: bool,
    /// The agent has diffsan's reading tools.
    pub eyes: bool,
    /// A second look checks the findings before the author sees them.
    pub second_look: bool,
    pub verbosity: Verbosity,
    /// Names of review lenses, beside those of the languages in the change.
    pub skills: &'a [String],
    /// The language people are spoken to in; none leaves it to the agent.
    pub language: Option<&'a str>,
    /// The project's rules for the paths of this change, rendered; empty when there are none.
    pub rules: &'a str,
    /// Project guidance, file and inline text together; empty when there is none.
    pub custom_instructions: &'a str,
    /// Replaces the role and the guidance, nothing else.
    pub template: Option<&'a str>,
    /// Which part of the change this is; none when it is all there is.
    pub pass: Option<PassNote<'a>>,
    pub truncation: &'a TruncationReport,
    /// A secret was removed from the diff.
    pub redaction_found: bool,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    /// The issues that the merge request closes.
    pub issues: &'a [Issue],
    pub digest: &'a PriorDigest,
    /// What happened since the last review.
    pub since: &'a Since,
    pub fingerprint: &'a Fingerprint,
    /// The prepared diff; it stands in the prompt byte for byte.
    pub diff: &'a str,
    pub anchors: &'a Anchors,
    /// Most characters the agent takes; extras go before anything of the change does.
    pub max_chars: Option<usize>,
}

/// One pass of several.
#[derive(Debug, Clone, Copy)]
pub struct PassNote<'a> {
    /// Counts from 1.
    pub number: usize,
    pub of: usize,
    /// The files of the others.
    pub elsewhere: &'a [Elsewhere],
}

/// What was asked for: an issue that the merge request closes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub iid: u64,
    pub title: String,
    pub description: String,
}

/// Writes the prompt. The same input gives the same text.
pub fn build(input: &PromptInput<'_>) -> String {
    let whole = Extras { lines: true, digest: true, issues: true };
    let ladder = [
        whole,
        Extras { lines: false, ..whole },
        Extras { lines: false, issues: false, ..whole },
        Extras { lines: false, issues: false, digest: false },
    ];
    let fits = |prompt: &String| input.max_chars.is_none_or(|limit| prompt.chars().count() <= limit);
    let mut prompt = compose(input, ladder[0]);
    for extras in &ladder[1..] {
        if fits(&prompt) {
            break;
        }
        prompt = compose(input, *extras);
    }
    prompt
}

/// The prompt that asks again after an answer that could not be used. An agent remembers nothing, so the first prompt
/// stands in it whole.
pub fn repair(original: &str, problems: &ParseProblems, sentence: &str, schema: &str) -> String {
    let fence = Fence::new(&[original, &problems.excerpt]);
    let errors: String = problems.errors.iter().take(10).map(|error| format!("- {}\n", one_line(error, 300))).collect();
    let advice = if problems.truncated { text::CUT_OFF } else { "" };
    format!(
        "{original}\n{heading}\n{advice}\nWhat was wrong with it:\n\n{errors}\nThe answer, or its beginning and end, as \
         data:\n\n{excerpt}\n{rules}{schema}\n```\n\n{sentence}\n",
        heading = text::REPAIR,
        excerpt = fence.data("previous answer", &problems.excerpt),
        rules = text::SCHEMA,
    )
}

/// What a prompt can do without.
#[derive(Clone, Copy)]
struct Extras {
    lines: bool,
    digest: bool,
    issues: bool,
}

/// The texts that came from the merge request, clipped, and the guidance of its project.
struct Foreign {
    title: String,
    description: String,
    guidance: String,
    rules: String,
    issues: String,
    left_out: String,
    elsewhere: String,
    digest: String,
    lines: Option<String>,
}

fn compose(input: &PromptInput<'_>, extras: Extras) -> String {
    let diff = Diff::parse(input.diff.as_bytes()).ok();
    let foreign = Foreign {
        title: one_line(input.title.unwrap_or_default(), 500),
        description: clip(input.description.unwrap_or_default().trim(), 6_000),
        guidance: clip(input.custom_instructions.trim(), 40_000),
        rules: clip(input.rules.trim(), 20_000),
        issues: if extras.issues { issues(input.issues) } else { String::new() },
        left_out: left_out(input.truncation),
        elsewhere: input.pass.map(|pass| elsewhere(pass.elsewhere)).unwrap_or_default(),
        digest: if extras.digest { digest::render(input.digest, input.since) } else { String::new() },
        lines: diff
            .as_ref()
            .filter(|_| extras.lines)
            .and_then(|diff| index::render(diff, input.diff.len(), input.anchors)),
    };
    let fence = Fence::new(&[
        &input.fingerprint.value,
        &foreign.title,
        &foreign.description,
        &foreign.guidance,
        &foreign.rules,
        &foreign.issues,
        &foreign.left_out,
        &foreign.elsewhere,
        &foreign.digest,
        input.diff,
        foreign.lines.as_deref().unwrap_or_default(),
    ]);
    let languages = diff.as_ref().map(lenses::languages).unwrap_or_default();
    let mut out = String::with_capacity(input.diff.len() + input.diff.len() / 4 + 16_384);
    instructions(&mut out, input, &foreign, &fence, &languages);
    data(&mut out, input, &foreign, &fence);
    out.push_str(if input.second_look { text::CLOSING_FIRST } else { text::CLOSING_ALONE });
    if !input.structured_output {
        out.push_str(text::CLOSING_JSON);
    }
    out
}

fn instructions(
    out: &mut String,
    input: &PromptInput<'_>,
    foreign: &Foreign,
    fence: &Fence,
    languages: &[&'static str],
) {
    let template = input.template.map(str::trim).filter(|template| !template.is_empty());
    let role = if input.second_look { text::ROLE_FIRST } else { text::ROLE_ALONE };
    out.push_str(template.unwrap_or(role));
    let sight = if input.eyes { text::EYES } else { text::NO_EYES };
    let _ = write!(out, "\n\n{sight}\n\n{}", text::data_note(fence));
    if !input.structured_output {
        let _ = write!(out, "{}{}{}\n```\n\n", text::JSON_ONLY, text::SCHEMA, schema::plain_text());
    }
    out.push_str(text::FIELDS);
    if template.is_none() {
        guidance(out, input);
    }
    let _ = write!(
        out,
        "# How much to say\n\nRequested verbosity: {}. {}\n\n",
        input.verbosity.name(),
        text::verbosity(input.verbosity)
    );
    if let Some(language) = input.language.map(|language| one_line(language, 60)).filter(|name| !name.is_empty()) {
        out.push_str(&text::language(&language));
    }
    out.push_str(&lenses::render(input.skills, languages));
    if !foreign.guidance.is_empty() {
        let _ = writeln!(out, "{}{}", text::PROJECT_GUIDANCE, fence.guidance("project", &foreign.guidance));
    }
    if !foreign.rules.is_empty() {
        let _ = writeln!(out, "{}{}", text::PROJECT_RULES, fence.guidance("rules", &foreign.rules));
    }
}

/// How to review: what a template replaces, beside the role.
fn guidance(out: &mut String, input: &PromptInput<'_>) {
    let method = if input.second_look { text::METHOD_FIRST } else { text::METHOD_ALONE };
    let unseen = if input.eyes { text::NOT_CHECKED } else { text::NOT_SEEN };
    let sections =
        [text::METHOD, method, text::LOOK_FOR, text::SEVERITY, text::NOT_WANTED, unseen, text::NOT_WANTED_REST];
    out.extend(sections);
}

fn data(out: &mut String, input: &PromptInput<'_>, foreign: &Foreign, fence: &Fence) {
    if let Some(pass) = input.pass {
        let _ = writeln!(out, "{}{}", text::pass(pass.number, pass.of), fence.data("other parts", &foreign.elsewhere));
    }
    if input.truncation.truncated {
        let report = input.truncation;
        out.push_str(&text::partial(report.final_files, report.original_files));
        if !foreign.left_out.is_empty() {
            let _ = writeln!(out, "What was left out:\n\n{}", fence.data("left out", &foreign.left_out));
        }
    }
    if input.redaction_found {
        out.push_str(&text::redacted(TOKEN));
    }
    if !foreign.title.is_empty() || !foreign.description.is_empty() {
        out.push_str(text::MERGE_REQUEST);
        for (name, content) in [("title", &foreign.title), ("description", &foreign.description)] {
            if !content.is_empty() {
                let _ = writeln!(out, "{}", fence.data(name, content));
            }
        }
    }
    if !foreign.issues.is_empty() {
        let _ = writeln!(out, "{}{}", text::ISSUES, fence.data("issues", &foreign.issues));
    }
    if !foreign.digest.is_empty() {
        let _ = writeln!(out, "{}{}", text::EARLIER, fence.data("earlier review", &foreign.digest));
    }
    let _ = writeln!(out, "{}{}", text::DIFF, fence.data("diff", input.diff));
    if let Some(lines) = &foreign.lines {
        let _ = writeln!(out, "{}{}", text::LINES, fence.data("lines", lines));
    }
}

/// What the limits cut, by name; counts stand in the instructions.
fn left_out(report: &TruncationReport) -> String {
    const LISTED: usize = 30;
    let named = report.items.iter().filter_map(|item| Some((item.path.as_deref()?, item.details.as_str())));
    let mut list: String = named
        .clone()
        .take(LISTED)
        .map(|(path, why)| format!("{}: {}\n", one_line(path, 200), one_line(why, 120)))
        .collect();
    let more = named.count().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(list, "and {more} more");
    }
    list
}

/// What was asked for, within its budget.
fn issues(issues: &[Issue]) -> String {
    const LISTED: usize = 5;
    let mut text = String::new();
    for issue in issues.iter().take(LISTED) {
        let _ = writeln!(text, "#{} {}\n", issue.iid, one_line(&issue.title, 300));
        let description = clip(issue.description.trim(), 4_000);
        if !description.is_empty() {
            let _ = writeln!(text, "{description}\n");
        }
    }
    if issues.len() > LISTED {
        let _ = writeln!(text, "and {} more", issues.len() - LISTED);
    }
    clip(text.trim_end(), 10_000)
}

/// The files of the other passes, and what they do to names that this one uses.
fn elsewhere(files: &[Elsewhere]) -> String {
    const LISTED: usize = 200;
    let mut text = String::new();
    // What touches this pass comes first, for the list may be cut.
    let mut files: Vec<&Elsewhere> = files.iter().collect();
    files.sort_by_key(|file| file.touched.is_empty());
    for file in files.iter().take(LISTED) {
        let does = if file.touched.is_empty() { String::new() } else { format!(": {}", file.touched.join(", ")) };
        let (path, pass) = (one_line(&file.path, 200), file.pass);
        let _ = writeln!(text, "part {pass}: {path} (+{} -{}){}", file.additions, file.deletions, one_line(&does, 300));
    }
    if files.len() > LISTED {
        let _ = writeln!(text, "and {} more", files.len() - LISTED);
    }
    clip(&text, 12_000)
}

fn one_line(text: &str, limit: usize) -> String {
    clip(&text.split_whitespace().collect::<Vec<_>>().join(" "), limit)
}

fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
