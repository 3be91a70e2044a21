//! What a run means: one deterministic projection of its facts.

use std::collections::BTreeMap;
use std::path::Path;

use crate::contracts::{
    Coverage, Decision, ErrorInfo, Gate, GateStatus, LeftOut, OnPartial, Severity, Verdict, VerdictCounts,
};
use crate::run::record::Progress;

/// Whether the gate stops the pipeline: by a finding that is severe enough, or since something passed unseen.
pub fn gate_closed(progress: &Progress) -> bool {
    (progress.reviewed || progress.carried)
        && progress.fail_on.is_some_and(|bound| {
            is_severe(&progress.counts.by_severity, bound)
                || progress.on_partial == OnPartial::Fail && is_incomplete(progress)
        })
}

/// Whether one of the findings, counted by severity, is at least so bad.
pub(crate) fn is_severe(by_severity: &BTreeMap<String, u64>, bound: Severity) -> bool {
    let there = |severity: &Severity| by_severity.get(severity.name()).is_some_and(|count| *count > 0);
    Severity::ALL.iter().filter(|severity| **severity >= bound).any(there)
}

/// Whether something of the change, or something that it only points to, was not reviewed.
pub fn is_incomplete(progress: &Progress) -> bool {
    is_partial(&progress.coverage) || !progress.elsewhere.is_empty()
}

/// The files that guard the project and that the change touches.
fn guards(progress: &Progress) -> &[String] {
    progress.policy.as_ref().map_or(&[], |policy| &policy.guards_touched)
}

/// The verdict of a run that ended with this exit code.
pub fn verdict(progress: &Progress, error: Option<&ErrorInfo>, exit_code: u8, workdir: &Path) -> Verdict {
    let decision = decide(progress, error);
    Verdict {
        decision,
        headline: headline(decision, progress, error),
        counts: progress.counts.clone(),
        coverage: progress.coverage.clone(),
        gate: gate(progress),
        would_fail_ci: exit_code != 0,
        first_next_action: crate::next::action(decision, progress, error, workdir),
    }
}

/// The one-line result of a run that goes well from here.
pub fn headline_of(progress: &Progress) -> String {
    headline(decide(progress, None), progress, None)
}

/// Whether part of the change was not shown to the agent.
pub fn is_partial(coverage: &Coverage) -> bool {
    coverage.hunks_cut + coverage.hunks_dropped + coverage.hunks_unavailable + coverage.hunks_binary > 0
}

/// What was not reviewed, counted by what kept it from the agent; empty when every hunk was sent in full.
fn not_reviewed(progress: &Progress) -> String {
    let coverage = &progress.coverage;
    let counted = |count: u64, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {more}")),
    };
    let files = |why: LeftOut| coverage.not_reviewed.iter().filter(|file| file.why == why).count() as u64;
    // The list of files is capped; then hunks tell more.
    let ignored = files(LeftOut::Ignored);
    let parts = [
        counted(coverage.hunks_binary, "binary file", "binary files"),
        counted(coverage.hunks_cut + coverage.hunks_dropped, "hunk beyond the limits", "hunks beyond the limits"),
        counted(coverage.hunks_unavailable, "file that GitLab did not hand out", "files that GitLab did not hand out"),
        counted(progress.elsewhere.len() as u64, "file whose content is elsewhere", "files whose content is elsewhere"),
        match coverage.not_reviewed_total > coverage.not_reviewed.len() as u64 || ignored == 0 {
            true => counted(coverage.hunks_ignored, "ignored hunk", "ignored hunks"),
            false => counted(ignored, "ignored file", "ignored files"),
        },
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `1 critical, 2 low`.
pub fn severities(counts: &VerdictCounts) -> String {
    let words: Vec<_> = Severity::ALL
        .iter()
        .rev()
        .filter_map(|severity| counts.by_severity.get(severity.name()).map(|count| (severity, count)))
        .filter(|(_, count)| **count > 0)
        .map(|(severity, count)| format!("{count} {}", severity.name()))
        .collect();
    words.join(", ")
}

fn decide(progress: &Progress, error: Option<&ErrorInfo>) -> Decision {
    if error.is_some() || (!progress.reviewed && progress.skip_reasons.is_empty()) {
        Decision::Unknown
    } else if !progress.skip_reasons.is_empty() {
        Decision::Skipped
    } else if gate_closed(progress) {
        Decision::Blocked
    } else if progress.counts.findings > 0 || !guards(progress).is_empty() {
        Decision::ReviewRequired
    } else if is_incomplete(progress) {
        Decision::InsufficientEvidence
    } else {
        Decision::Passed
    }
}

fn headline(decision: Decision, progress: &Progress, error: Option<&ErrorInfo>) -> String {
    let part = progress.part.map(|part| format!("Part {} of {}: ", part.part, part.of)).unwrap_or_default();
    format!("{part}{}", result(decision, progress, error))
}

fn result(decision: Decision, progress: &Progress, error: Option<&ErrorInfo>) -> String {
    let counts = &progress.counts;
    let findings = format!(
        "{} finding{}{}",
        counts.findings,
        if counts.findings == 1 { "" } else { "s" },
        if counts.findings == 0 { String::new() } else { format!(" ({})", severities(counts)) }
    );
    let findings = if counts.findings == 0 { "No findings".to_owned() } else { findings };
    let rest = not_reviewed(progress);
    let partial = match is_incomplete(progress) {
        true => format!("; part of the change was not reviewed ({rest})"),
        false if rest.is_empty() => String::new(),
        false => format!("; not reviewed: {rest}"),
    };
    match decision {
        Decision::Passed if progress.coverage.is_whole() && progress.part.is_some() => {
            "No findings; all of this part was reviewed".into()
        }
        Decision::Passed if progress.coverage.is_whole() => "No findings; the whole change was reviewed".into(),
        Decision::Passed => format!("No findings{partial}"),
        Decision::ReviewRequired => format!("{findings}{partial}{}", guarded(progress)),
        Decision::InsufficientEvidence => format!("No findings, but part of the change was not reviewed ({rest})"),
        Decision::Blocked => {
            let bound = progress.fail_on.unwrap_or(Severity::Critical);
            match is_severe(&counts.by_severity, bound) {
                true => format!("Blocked: {findings}, and the gate stops at {}{partial}", bound.name()),
                false => format!(
                    "Blocked: part of the change was not reviewed ({rest}), and the gate lets nothing pass unseen \
                     ({findings})"
                ),
            }
        }
        Decision::Skipped => {
            let reasons: Vec<_> = progress.skip_reasons.iter().map(|reason| reason.message.as_str()).collect();
            let carried = match (progress.carried, gate_closed(progress)) {
                (false, _) => String::new(),
                (true, false) => format!(" ({findings})"),
                (true, true) => format!(" ({findings}; the gate stays closed)"),
            };
            format!("Skipped: {}{carried}{}", reasons.join("; "), guarded(progress))
        }
        Decision::Unknown => match error {
            Some(error) => format!("Failed: {} ({})", error.message, error.error_code.name()),
            None => "No review: the run stopped after the prompt, as asked".into(),
        },
    }
}

/// That the change touches what guards the project, where it does.
fn guarded(progress: &Progress) -> String {
    match guards(progress) {
        [] => String::new(),
        files => format!("; the change touches what guards the project ({})", listed(files)),
    }
}

/// The first few of a list of files.
fn listed(files: &[String]) -> String {
    const FEW: usize = 5;
    let named = files.iter().take(FEW).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(FEW) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn gate(progress: &Progress) -> Gate {
    let status = match progress.fail_on {
        None => GateStatus::Off,
        Some(_) if !progress.reviewed && !progress.carried => GateStatus::NotEvaluated,
        Some(_) if gate_closed(progress) => GateStatus::Closed,
        Some(_) => GateStatus::Open,
    };
    Gate { fail_on: progress.fail_on, status, enforced: progress.fail_on.is_some() }
}
