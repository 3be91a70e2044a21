//! The second look: findings become numbered claims, and an answer becomes verdicts. Pure: what an answer may point at
//! is asked of a function, and the asking is the pipeline's.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;

use crate::contracts::{
    AcceptedFinding, AgentLookOutput, AgentVerdict, CheckCode, CheckNote, Finding, LookStatus, LookVerdict, Looked,
    RejectedFinding, SecondLook, Severity, Side, Validation,
};

/// What holds below this is folded in the summary.
pub const INLINE_FROM: Severity = Severity::Medium;

const MAX_EVIDENCE: usize = 600;
/// No file that a person reviews is longer.
const MAX_LINE: i64 = 10_000_000;

/// A finding as the second reviewer is shown it: what is said and where, never how bad it is said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Counts from 1.
    pub number: u32,
    pub finding_id: String,
    pub path: String,
    /// `src/a.rs:3-4`.
    pub place: String,
    pub category: &'static str,
    pub quote: Option<String>,
    pub body: String,
}

/// An own comment of an earlier review that still stands open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenThread {
    /// GitLab's id of the discussion.
    pub discussion_id: String,
    pub path: String,
    /// What it says.
    pub body: String,
    /// The lines that it was about, as they are now, or as they were where they are gone.
    pub block: String,
}

/// What came of a second look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts {
    by_finding: HashMap<String, Verdict>,
    /// Discussions whose fault is said to be fixed.
    pub fixed: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Verdict {
    verdict: LookVerdict,
    severity: Severity,
    evidence: String,
    path: Option<String>,
    line: Option<u32>,
    /// A refutation whose line does not exist.
    void: bool,
}

/// The findings as claims, by place: an order by severity would give the first reviewer's away.
pub fn claims(findings: &[Finding]) -> Vec<Claim> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| (&finding.path, finding.line_start, finding.line_end, &finding.finding_id));
    let claim = |(index, finding): (usize, &Finding)| Claim {
        number: u32::try_from(index + 1).unwrap_or(u32::MAX),
        finding_id: finding.finding_id.clone(),
        path: finding.path.clone(),
        place: place(finding),
        category: finding.category.name(),
        quote: finding.quote.clone(),
        body: finding.body_markdown.clone(),
    };
    sorted.into_iter().enumerate().map(claim).collect()
}

/// Whether these findings ask for a second look.
pub fn is_due(findings: &[Finding], threads: &[OpenThread], from: Severity) -> bool {
    !threads.is_empty() || findings.iter().any(|finding| finding.severity >= from)
}

/// Reads an answer: one verdict for each claim and each thread, no more and no fewer. What is wrong with it otherwise.
pub fn read(
    answer: &AgentLookOutput,
    claims: &[Claim],
    threads: &[OpenThread],
    line_exists: &dyn Fn(&str, u32) -> bool,
) -> Result<Verdicts, Vec<String>> {
    let mut problems = once_each("claim", claims.len(), answer.verdicts.iter().map(|verdict| verdict.claim));
    problems.extend(once_each("comment", threads.len(), answer.threads.iter().map(|verdict| verdict.thread)));
    for verdict in answer.verdicts.iter().filter(|verdict| verdict.evidence.trim().is_empty()) {
        problems.push(format!("the verdict on claim {} gives no evidence", verdict.claim));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let numbered: HashMap<u32, &Claim> = claims.iter().map(|claim| (claim.number, claim)).collect();
    let by_finding = answer.verdicts.iter().filter_map(|verdict| {
        let claim = numbered.get(&verdict.claim)?;
        Some((claim.finding_id.clone(), judge(verdict, line_exists)))
    });
    let fixed = answer.threads.iter().filter(|verdict| verdict.fixed);
    let fixed = fixed.filter_map(|verdict| threads.get((verdict.thread as usize).checked_sub(1)?));
    Ok(Verdicts { by_finding: by_finding.collect(), fixed: fixed.map(|thread| thread.discussion_id.clone()).collect() })
}

/// Keeps what holds, with the second severity and worst first; the rest goes to the rejected, with the evidence.
pub fn apply(findings: &mut Vec<Finding>, validation: &mut Validation, verdicts: &Verdicts) -> SecondLook {
    let mut record = SecondLook { claims: findings.len() as u64, ..SecondLook::new(LookStatus::Done) };
    let mut kept = Vec::with_capacity(findings.len());
    for mut finding in std::mem::take(findings) {
        let Some(verdict) = verdicts.by_finding.get(&finding.finding_id) else {
            kept.push(finding);
            continue;
        };
        let looked = verdict.looked(finding.severity);
        match verdict.dropped() {
            Some(code) => {
                *(if code == CheckCode::Refuted { &mut record.refuted } else { &mut record.trivial }) += 1;
                finding.look = Some(looked);
                reject(validation, finding, CheckNote { code, message: verdict.said() });
            }
            None => {
                record.holds += 1;
                if verdict.void {
                    let message = "the second look refuted it with a line that does not exist".to_owned();
                    remark(validation, &finding, CheckNote { code: CheckCode::NotConfirmed, message });
                } else {
                    finding.severity = verdict.severity;
                }
                finding.look = Some(looked);
                kept.push(finding);
            }
        }
    }
    kept.sort_by_key(|finding| Reverse(finding.severity));
    *findings = kept;
    record
}

/// Says of each finding that nobody confirmed it.
pub fn unconfirmed(findings: &[Finding], validation: &mut Validation, problem: &str) -> SecondLook {
    for finding in findings {
        let message = "the second look failed".to_owned();
        remark(validation, finding, CheckNote { code: CheckCode::NotConfirmed, message });
    }
    SecondLook {
        claims: findings.len() as u64,
        problem: Some(clip(problem, MAX_EVIDENCE)),
        ..SecondLook::new(LookStatus::Failed)
    }
}

/// Whether a line stands in a diff, on either side.
pub fn in_diff(diff: &crate::diff::Diff<'_>, path: &str, line: u32) -> bool {
    let of_file = diff.files.iter().filter(|file| file.new_path == path || file.old_path == path);
    of_file.flat_map(|file| &file.hunks).any(|hunk| {
        let within = |start: u32, count: u32| (start..start.saturating_add(count)).contains(&line);
        within(hunk.new_start, hunk.new_lines) || within(hunk.old_start, hunk.old_lines)
    })
}

/// What of the shown diff a second look needs: all of it, or, where it is too much for one prompt, the files with claims.
pub fn shown<'t>(text: &'t str, claims: &[Claim], max_chars: usize) -> Cow<'t, str> {
    if text.chars().count() <= max_chars {
        return Cow::Borrowed(text);
    }
    let Ok(diff) = crate::diff::Diff::parse(text.as_bytes()) else { return Cow::Borrowed("") };
    let mut left = max_chars;
    let mut kept = String::new();
    for file in diff.files.iter().filter(|file| claims.iter().any(|claim| claim.path == file.path())) {
        let bytes =
            [file.header].into_iter().chain(file.hunks.iter().map(|hunk| hunk.bytes)).collect::<Vec<_>>().concat();
        let section = String::from_utf8_lossy(&bytes);
        let size = section.chars().count() + 1;
        if size <= left {
            left -= size;
            kept.push_str(&section);
            if !kept.ends_with('\n') {
                kept.push('\n');
            }
        }
    }
    Cow::Owned(kept)
}

fn place(finding: &Finding) -> String {
    let lines = match finding.line_end {
        end if end > finding.line_start => format!("{}-{end}", finding.line_start),
        _ => finding.line_start.to_string(),
    };
    let side = if finding.side == Side::Old { " (before the change)" } else { "" };
    format!("{}:{lines}{side}", finding.path)
}

/// Each number from 1 to `count` once: what is missing, unknown or said twice.
fn once_each(what: &str, count: usize, numbers: impl Iterator<Item = u32>) -> Vec<String> {
    let mut seen = vec![0u32; count];
    let mut problems = Vec::new();
    for number in numbers {
        match (number as usize).checked_sub(1).and_then(|index| seen.get_mut(index)) {
            Some(times) => *times += 1,
            None => problems.push(format!("there is no {what} {number}")),
        }
    }
    for (index, times) in seen.iter().enumerate() {
        match times {
            0 => problems.push(format!("{what} {} has no verdict", index + 1)),
            1 => {}
            _ => problems.push(format!("{what} {} has several verdicts", index + 1)),
        }
    }
    problems.truncate(10);
    problems
}

fn judge(verdict: &AgentVerdict, line_exists: &dyn Fn(&str, u32) -> bool) -> Verdict {
    let path = verdict.path.as_deref().map(|path| path.trim().trim_start_matches("./")).filter(|path| !path.is_empty());
    let line = verdict.line.filter(|line| (1..=MAX_LINE).contains(line)).and_then(|line| u32::try_from(line).ok());
    let read = path.zip(line).filter(|(path, line)| line_exists(path, *line));
    Verdict {
        verdict: verdict.verdict,
        severity: verdict.severity,
        evidence: clip(verdict.evidence.trim(), MAX_EVIDENCE),
        path: read.map(|(path, _)| path.to_owned()),
        line: read.map(|(_, line)| line),
        void: verdict.verdict == LookVerdict::Refuted && read.is_none(),
    }
}

impl Verdict {
    fn dropped(&self) -> Option<CheckCode> {
        match self.verdict {
            LookVerdict::Refuted if !self.void => Some(CheckCode::Refuted),
            LookVerdict::Trivial => Some(CheckCode::Trivial),
            _ => None,
        }
    }

    fn looked(&self, first_severity: Severity) -> Looked {
        Looked { first_severity, evidence: self.evidence.clone(), path: self.path.clone(), line: self.line }
    }

    fn said(&self) -> String {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => format!("{} ({path}:{line})", self.evidence),
            _ => self.evidence.clone(),
        }
    }
}

fn reject(validation: &mut Validation, finding: Finding, reason: CheckNote) {
    let at = validation.accepted.iter().position(|accepted| accepted.finding_id == finding.finding_id);
    let index = at.map(|at| validation.accepted.remove(at).index).unwrap_or_default();
    let path = finding.path.clone();
    validation.rejected.push(RejectedFinding { index, path, reason, finding: Some(Box::new(finding)) });
}

fn remark(validation: &mut Validation, finding: &Finding, note: CheckNote) {
    let same = |accepted: &&mut AcceptedFinding| accepted.finding_id == finding.finding_id;
    if let Some(accepted) = validation.accepted.iter_mut().find(same) {
        accepted.notes.push(note);
    }
}

fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::{AgentThreadVerdict, Anchoring, Category};

    fn finding(id: &str, severity: Severity, line: u32) -> Finding {
        Finding {
            finding_id: id.into(),
            severity,
            category: Category::Correctness,
            path: "src/a.rs".into(),
            line_start: line,
            line_end: line,
            side: Side::New,
            body_markdown: format!("{id} is wrong."),
            quote: None,
            change_anchor: None,
            suggested_patch: None,
            unplaced: None,
            look: None,
        }
    }

    fn accepted(findings: &[Finding]) -> Validation {
        let one = |(index, finding): (usize, &Finding)| AcceptedFinding {
            index: index as u32,
            finding_id: finding.finding_id.clone(),
            path: finding.path.clone(),
            line_start: finding.line_start,
            line_end: finding.line_end,
            placed: true,
            notes: Vec::new(),
        };
        Validation {
            anchoring: Anchoring::Advisory,
            accepted: findings.iter().enumerate().map(one).collect(),
            rejected: Vec::new(),
        }
    }

    fn verdict(claim: u32, verdict: LookVerdict, severity: Severity, line: Option<i64>) -> AgentVerdict {
        let evidence = format!("evidence {claim}");
        AgentVerdict { claim, verdict, severity, evidence, path: Some("./src/a.rs".into()), line }
    }

    fn answer(verdicts: Vec<AgentVerdict>) -> AgentLookOutput {
        AgentLookOutput { verdicts, threads: Vec::new() }
    }

    #[test]
    fn claims_are_numbered_by_place_and_do_not_tell_the_first_severity() {
        let findings = [finding("f-b", Severity::Critical, 9), finding("f-a", Severity::Info, 2)];
        let claims = claims(&findings);
        let shown: Vec<_> = claims.iter().map(|claim| (claim.number, claim.place.as_str())).collect();
        assert_eq!(shown, [(1, "src/a.rs:2"), (2, "src/a.rs:9")]);
        let text = format!("{claims:?}").to_lowercase();
        assert!(Severity::ALL.iter().all(|severity| !text.contains(severity.name())), "{text}");
    }

    #[test]
    fn a_diff_that_is_too_much_is_shown_as_far_as_there_are_claims_in_it() {
        let file =
            |path: &str| format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n");
        let text = [file("src/a.rs"), file("src/b.rs")].concat();
        let claims = claims(&[finding("f-1", Severity::High, 1)]);
        assert_eq!(shown(&text, &claims, text.len()), text);
        assert_eq!(shown(&text, &claims, text.len() - 1), file("src/a.rs"));
        assert_eq!(shown(&text, &claims, 10), "");
    }

    #[test]
    fn what_holds_has_the_second_severity_and_the_rest_is_dropped_with_its_evidence() {
        use LookVerdict::{Holds, Refuted, Trivial};
        let mut findings = vec![
            finding("f-1", Severity::High, 1),
            finding("f-2", Severity::High, 2),
            finding("f-3", Severity::Medium, 3),
            finding("f-4", Severity::Medium, 4),
        ];
        let mut validation = accepted(&findings);
        let claims = claims(&findings);
        let answer = answer(vec![
            verdict(1, Holds, Severity::Low, None),
            verdict(2, Refuted, Severity::Info, Some(7)),
            verdict(3, Trivial, Severity::Low, None),
            verdict(4, Holds, Severity::Critical, Some(4)),
        ]);
        let verdicts = read(&answer, &claims, &[], &|path, line| path == "src/a.rs" && line < 10).unwrap();
        let record = apply(&mut findings, &mut validation, &verdicts);
        let shown: Vec<_> = findings.iter().map(|finding| (finding.finding_id.as_str(), finding.severity)).collect();
        assert_eq!(shown, [("f-4", Severity::Critical), ("f-1", Severity::Low)]);
        assert_eq!(findings[0].look.as_ref().unwrap().first_severity, Severity::Medium);
        assert_eq!((record.claims, record.holds, record.refuted, record.trivial), (4, 2, 1, 1));
        let dropped: Vec<_> =
            validation.rejected.iter().map(|no| (no.index, no.reason.code, no.reason.message.as_str())).collect();
        assert_eq!(
            dropped,
            [(1, CheckCode::Refuted, "evidence 2 (src/a.rs:7)"), (2, CheckCode::Trivial, "evidence 3")]
        );
        assert_eq!(validation.accepted.len(), 2);
        assert_eq!(validation.rejected[0].finding.as_ref().unwrap().body_markdown, "f-2 is wrong.");
    }

    #[test]
    fn a_refutation_without_a_line_that_exists_is_none() {
        for line in [None, Some(99), Some(-1), Some(0), Some(i64::MAX)] {
            let mut findings = vec![finding("f-1", Severity::High, 1)];
            let mut validation = accepted(&findings);
            let claims = claims(&findings);
            let answer = answer(vec![verdict(1, LookVerdict::Refuted, Severity::Info, line)]);
            let verdicts = read(&answer, &claims, &[], &|_, line| line < 10).unwrap();
            let record = apply(&mut findings, &mut validation, &verdicts);
            assert_eq!((findings.len(), findings[0].severity, record.holds), (1, Severity::High, 1), "{line:?}");
            assert_eq!(validation.accepted[0].notes[0].code, CheckCode::NotConfirmed);
        }
    }

    #[test]
    fn an_answer_with_missing_unknown_or_repeated_numbers_is_none() {
        let findings = [finding("f-1", Severity::High, 1), finding("f-2", Severity::High, 2)];
        let claims = claims(&findings);
        let holds = |number| verdict(number, LookVerdict::Holds, Severity::High, None);
        for (verdicts, problem) in [
            (vec![holds(1)], "claim 2 has no verdict"),
            (vec![holds(1), holds(2), holds(3)], "there is no claim 3"),
            (vec![holds(1), holds(2), holds(0)], "there is no claim 0"),
            (vec![holds(1), holds(2), holds(2)], "claim 2 has several verdicts"),
            (vec![holds(1), AgentVerdict { evidence: " ".into(), ..holds(2) }], "claim 2 gives no evidence"),
        ] {
            let problems = read(&answer(verdicts), &claims, &[], &|_, _| true).unwrap_err();
            assert!(problems.iter().any(|said| said.contains(problem)), "{problems:?}");
        }
        let flood = answer((3..500).map(holds).collect());
        assert_eq!(read(&flood, &claims, &[], &|_, _| true).unwrap_err().len(), 10);
    }

    #[test]
    fn threads_that_are_said_to_be_fixed_are_returned() {
        let thread = |id: &str| OpenThread {
            discussion_id: id.into(),
            path: "src/a.rs".into(),
            body: "wrong".into(),
            block: "+x".into(),
        };
        let threads = [thread("d1"), thread("d2")];
        let said = |thread, fixed| AgentThreadVerdict { thread, fixed, evidence: "gone".into() };
        let mut answer = AgentLookOutput { verdicts: Vec::new(), threads: vec![said(2, true), said(1, false)] };
        assert_eq!(read(&answer, &[], &threads, &|_, _| true).unwrap().fixed, ["d2"]);
        answer.threads.pop();
        assert_eq!(read(&answer, &[], &threads, &|_, _| true).unwrap_err(), ["comment 1 has no verdict"]);
    }

    #[test]
    fn a_second_look_is_due_for_severe_findings_and_for_open_threads() {
        let small = [finding("f-1", Severity::Low, 1)];
        assert!(!is_due(&small, &[], Severity::Medium) && is_due(&small, &[], Severity::Low));
        assert!(!is_due(&[], &[], Severity::Info));
    }
}
