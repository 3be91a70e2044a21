//! The page of a run that has no review to show: what happened, why, and what to do.

use askama::Template;

use super::{Fact, STYLE, StageBar, Verdict, bars, fact, policy, web};
use crate::contracts::{Decision, EventRecord, RunRecord};
use crate::error::{Error, Failure, Result};
use crate::view::explain;
use crate::view::shown::{self, clean, duration, one_line};

/// The page of a run that failed, was skipped or stopped early.
pub fn outcome(record: &RunRecord, events: &[EventRecord]) -> Result<String> {
    page(record, events)
        .render()
        .map_err(|error| Error::Format(Failure::new("report.html could not be rendered").caused_by(&error)))
}

#[derive(Template)]
#[template(path = "outcome.html", config = "src/view/templates/askama.toml")]
struct Outcome {
    policy: String,
    style: &'static str,
    version: &'static str,
    headline: String,
    decision: Verdict,
    /// What happened, a paragraph each.
    what: Vec<String>,
    cause: Option<String>,
    todo: Vec<String>,
    command: Option<String>,
    timeline: Vec<StageBar>,
    details: Vec<Fact>,
    warnings: Vec<String>,
    files: Vec<String>,
}

fn page(record: &RunRecord, events: &[EventRecord]) -> Outcome {
    let decision = record.verdict.as_ref().map_or(Decision::Unknown, |verdict| verdict.decision);
    let words = match (decision, &record.error) {
        (Decision::Unknown, Some(_)) => "Failed",
        (Decision::Unknown, None) => "No review",
        (known, _) => shown::decision_words(known),
    };
    let headline = record.verdict.as_ref().map(|verdict| one_line(&verdict.headline)).unwrap_or_default();
    let headline = headline.strip_prefix(&format!("{words}: ")).map_or(headline.clone(), str::to_owned);
    let next = record.verdict.as_ref().map(|verdict| &verdict.first_next_action);
    Outcome {
        policy: policy(),
        style: STYLE,
        version: crate::VERSION,
        headline,
        decision: Verdict { name: shown::decision_name(decision), words },
        what: what(record),
        cause: record.error.as_ref().and_then(|error| error.cause.as_deref()).map(clean),
        todo: todo(record),
        command: next.and_then(|next| next.command.as_deref()).map(one_line),
        timeline: bars(events),
        details: details(record),
        warnings: record
            .diagnostics
            .iter()
            .map(|problem| format!("{} ({})", one_line(&problem.message), problem.error_code.name()))
            .collect(),
        files: record.artifacts.iter().flat_map(|artifacts| &artifacts.files).map(|name| one_line(name)).collect(),
    }
}

fn what(record: &RunRecord) -> Vec<String> {
    if let Some(error) = &record.error {
        let stage = record.stage.as_deref().map(|stage| format!(" in stage {}", one_line(stage))).unwrap_or_default();
        let meaning = explain::code(error.error_code.name()).map(|known| known.meaning.to_owned());
        let said = format!("The run failed{stage} with {}: {}", error.error_code.name(), one_line(&error.message));
        return [said].into_iter().chain(meaning).collect();
    }
    let reasons: Vec<_> = record
        .skip_reasons
        .iter()
        .map(|reason| format!("{} ({})", one_line(&reason.message), reason.code.name()))
        .collect();
    if reasons.is_empty() { vec!["The run ended without a review.".into()] } else { reasons }
}

fn todo(record: &RunRecord) -> Vec<String> {
    if let Some(error) = &record.error {
        let known = explain::code(error.error_code.name()).map(|known| known.what_to_do.to_owned());
        return error.help.as_deref().map(one_line).into_iter().chain(known).collect();
    }
    let known = record.skip_reasons.iter().filter_map(|reason| explain::code(reason.code.name()));
    let known: Vec<_> = known.map(|known| known.what_to_do.to_owned()).collect();
    let next = record.verdict.as_ref().map(|verdict| one_line(&verdict.first_next_action.why));
    if known.is_empty() { next.into_iter().collect() } else { known }
}

fn details(record: &RunRecord) -> Vec<Fact> {
    let code = |label: &'static str, value: String| Fact { code: true, ..fact(label, value) };
    let mut details = vec![
        fact("Time", duration(record.duration_ms)),
        fact("Exit code", record.exit_code.to_string()),
        code("Run", one_line(&record.run_id)),
    ];
    details.extend(web(record));
    if let Some(artifacts) = &record.artifacts {
        details.push(code("Artifacts", one_line(&artifacts.workdir)));
    }
    details
}
