//! A reviewed run for the tests of the views.

use super::Shown;

/// One run with everything a view can meet.
pub(in crate::view) fn sample() -> Shown {
    let mut shown: Shown = serde_json::from_str(include_str!("../../../fixtures/view/shown.json")).unwrap();
    shown.diff = include_str!("../../../fixtures/view/shown.patch").to_owned();
    shown
}

/// The same run where every text is hostile.
pub(in crate::view) fn hostile() -> Shown {
    serde_json::from_str(include_str!("../../../fixtures/view/hostile.json")).unwrap()
}

/// A run without any finding.
pub(in crate::view) fn empty() -> Shown {
    let mut shown = sample();
    shown.review.findings.clear();
    shown.review.summary_markdown = "Nothing to say.".into();
    shown.truncation = Default::default();
    shown.redaction.found = false;
    shown.redaction.matches.clear();
    shown.validation.rejected.clear();
    (shown.plan, shown.post) = (None, None);
    let verdict = shown.record.verdict.as_mut().unwrap();
    verdict.decision = crate::contracts::Decision::Passed;
    verdict.headline = "No findings; the whole change was reviewed".into();
    verdict.counts = Default::default();
    verdict.gate.status = crate::contracts::GateStatus::Open;
    shown.truncation.coverage.hunks_total = 3;
    shown.truncation.coverage.hunks_sent = 3;
    (shown.truncation.original_files, shown.truncation.final_files) = (2, 2);
    shown
}
