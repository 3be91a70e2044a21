//! Several answers made one: of the passes of a run, and of the parts that several jobs reviewed. The same fault told
//! twice is one finding.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use sha2::{Digest as _, Sha256};

use crate::contracts::{
    AgentCall, AgentFinding, AgentReviewOutput, AgentRun, Category, CheckCode, CheckNote, Finding, LookStatus,
    PartOutcome, PartReview, RejectedFinding, ReviewOutput, SecondLook, Timings, TokenUsage, Validation,
};
use crate::run::record::hex;

/// One answer out of several: all findings, the same fault only once.
pub fn merge(answers: Vec<(usize, AgentReviewOutput)>, of: usize) -> AgentReviewOutput {
    let mut merged = AgentReviewOutput { summary_markdown: String::new(), findings: Vec::new() };
    let mut kept: Vec<(usize, AgentFinding)> = Vec::new();
    for (pass, answer) in answers {
        if !merged.summary_markdown.is_empty() {
            merged.summary_markdown.push_str("\n\n");
        }
        merged.summary_markdown.push_str(&format!("Part {pass} of {of}: {}", answer.summary_markdown.trim()));
        for finding in answer.findings {
            let twin = kept.iter().position(|(other, known)| *other != pass && same_fault(known, &finding));
            match twin {
                // Who saw the code tells it better; the severity is the worse of the two until somebody looks again.
                Some(at) => kept[at].1.severity = kept[at].1.severity.max(finding.severity),
                None => kept.push((pass, finding)),
            }
        }
    }
    merged.findings = kept.into_iter().map(|(_, finding)| finding).collect();
    merged
}

/// What the parts of a review found together.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    pub review: ReviewOutput,
    pub validation: Validation,
    pub run: AgentRun,
    /// Discussions whose fault a part calls fixed.
    pub fixed: Vec<String>,
}

/// One review out of those of the parts, in their order; none where no part has one.
pub fn join(parts: &[PartReview]) -> Option<Joined> {
    let mut reviewed = parts.iter().filter_map(|part| Some((part, part.outcome.as_deref()?)));
    let (first, outcome) = reviewed.next()?;
    let mut joined = Joined {
        review: outcome.review.clone(),
        validation: outcome.validation.clone(),
        run: outcome.run.clone(),
        fixed: outcome.fixed.clone(),
    };
    joined.run.calls = calls(first, outcome);
    let mut ids: HashSet<String> = joined.review.findings.iter().map(|finding| finding.finding_id.clone()).collect();
    // Who told it: a part may say two things of neighbouring lines, that is its own doing.
    let mut tellers = vec![first.part; joined.review.findings.len()];
    for (part, outcome) in reviewed {
        let offset = joined.validation.accepted.len() + joined.validation.rejected.len();
        let mut validation = shifted(&outcome.validation, u32::try_from(offset).unwrap_or(u32::MAX));
        for finding in &outcome.review.findings {
            let told = joined.review.findings.iter().zip(&tellers);
            let twin =
                told.enumerate().find(|(_, (known, teller))| **teller != part.part && same_fault(*known, finding));
            if let Some((at, (known, teller))) = twin {
                reject(&mut validation, finding, &known.finding_id, *teller);
                let known = &mut joined.review.findings[at];
                known.severity = known.severity.max(finding.severity);
                continue;
            }
            let mut finding = finding.clone();
            if !ids.insert(finding.finding_id.clone()) {
                let other = derived(&finding.finding_id, part.part);
                rename(&mut validation, &finding.finding_id, &other);
                ids.insert(other.clone());
                finding.finding_id = other;
            }
            joined.review.findings.push(finding);
            tellers.push(part.part);
        }
        joined.validation.accepted.append(&mut validation.accepted);
        joined.validation.rejected.append(&mut validation.rejected);
        joined.fixed.extend(outcome.fixed.iter().filter(|id| !joined.fixed.contains(id)).cloned().collect::<Vec<_>>());
        add(&mut joined, part, outcome);
    }
    joined.review.findings.sort_by_key(|finding| Reverse(finding.severity));
    joined.review.meta.calls.clone_from(&joined.run.calls);
    joined.run.token_usage = usage(&joined.run.calls);
    joined.review.meta.token_usage.clone_from(&joined.run.token_usage);
    Some(joined)
}

/// Adds how another part went.
fn add(joined: &mut Joined, part: &PartReview, outcome: &PartOutcome) {
    joined.review.summary_markdown.push_str("\n\n");
    joined.review.summary_markdown.push_str(&outcome.review.summary_markdown);
    joined.run.attempts.extend(outcome.run.attempts.iter().cloned());
    joined.run.calls.extend(calls(part, outcome));
    let (meta, other) = (&mut joined.review.meta, &outcome.review.meta);
    meta.timings = both(&meta.timings, &other.timings);
    meta.second_look = looked(meta.second_look.take(), other.second_look.clone());
}

/// The calls of a part; those that are no pass are named with it.
fn calls(part: &PartReview, outcome: &PartOutcome) -> Vec<AgentCall> {
    let named = |call: &AgentCall| match call.part.starts_with("pass ") {
        true => call.clone(),
        false => AgentCall { part: format!("{} of part {}", call.part, part.part), ..call.clone() },
    };
    outcome.run.calls.iter().map(named).collect()
}

fn usage(calls: &[AgentCall]) -> TokenUsage {
    calls.iter().fold(TokenUsage::default(), |mut sum, call| {
        sum.add(&call.token_usage);
        sum
    })
}

/// From the first start to the last end.
fn both(one: &Timings, other: &Timings) -> Timings {
    let started_at = (&one.started_at).min(&other.started_at).clone();
    let ended_at = (&one.ended_at).max(&other.ended_at).clone();
    let duration_ms = crate::run::clock::between(&started_at, &ended_at);
    Timings { started_at, ended_at, duration_ms }
}

/// A second look that failed for one part leaves findings unconfirmed, so it failed.
fn looked(one: Option<SecondLook>, other: Option<SecondLook>) -> Option<SecondLook> {
    let (Some(one), Some(other)) = (one.clone(), other.clone()) else { return one.or(other) };
    let rank = |look: &SecondLook| match look.status {
        LookStatus::NotNeeded => 0,
        LookStatus::Done => 1,
        LookStatus::Failed => 2,
    };
    let leading = if rank(&other) > rank(&one) { &other } else { &one };
    Some(SecondLook {
        status: leading.status,
        agent: leading.agent.or(one.agent).or(other.agent),
        problem: leading.problem.clone(),
        claims: one.claims + other.claims,
        holds: one.holds + other.holds,
        refuted: one.refuted + other.refuted,
        trivial: one.trivial + other.trivial,
    })
}

/// The checks of a part, numbered on.
fn shifted(validation: &Validation, by: u32) -> Validation {
    let mut validation = validation.clone();
    validation.accepted.iter_mut().for_each(|entry| entry.index = entry.index.saturating_add(by));
    validation.rejected.iter_mut().for_each(|entry| entry.index = entry.index.saturating_add(by));
    validation
}

/// Records that another part said it before.
fn reject(validation: &mut Validation, finding: &Finding, known: &str, part: u32) {
    let Some(at) = validation.accepted.iter().position(|entry| entry.finding_id == finding.finding_id) else { return };
    let entry = validation.accepted.remove(at);
    let message = format!("part {part} says the same in {known}");
    let reason = CheckNote { code: CheckCode::Duplicate, message };
    validation.rejected.push(RejectedFinding { index: entry.index, path: entry.path, reason, finding: None });
}

fn rename(validation: &mut Validation, id: &str, other: &str) {
    let own = validation.accepted.iter_mut().filter(|entry| entry.finding_id == id);
    own.for_each(|entry| other.clone_into(&mut entry.finding_id));
}

/// Another id for a finding whose own is taken by another part's.
fn derived(id: &str, part: u32) -> String {
    format!("f-{}", &hex(&Sha256::digest(format!("diffsan-part-1 {part} {id}")))[..12])
}

impl<'a> From<&'a Finding> for Told<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            path: &finding.path,
            lines: (finding.line_start.into(), finding.line_end.into()),
            quote: finding.quote.as_deref(),
            category: finding.category,
            body: &finding.body_markdown,
        }
    }
}

/// What a finding tells, whoever told it.
struct Told<'a> {
    path: &'a str,
    lines: (i64, i64),
    quote: Option<&'a str>,
    category: Category,
    body: &'a str,
}

impl<'a> From<&'a AgentFinding> for Told<'a> {
    fn from(finding: &'a AgentFinding) -> Self {
        Self {
            path: &finding.path,
            lines: (finding.line_start, finding.line_end),
            quote: finding.quote.as_deref(),
            category: finding.category,
            body: &finding.body_markdown,
        }
    }
}

/// Whether two findings of different passes tell one fault: on the same lines of the same file, in much the same words.
fn same_fault<'a>(one: impl Into<Told<'a>>, other: impl Into<Told<'a>>) -> bool {
    let (one, other) = (one.into(), other.into());
    let near = one.lines.0 <= other.lines.1.saturating_add(3) && other.lines.0 <= one.lines.1.saturating_add(3);
    let quoted = one.quote.map(str::trim).filter(|quote| !quote.is_empty());
    let same_quote = quoted.is_some() && quoted == other.quote.map(str::trim);
    let alike = likeness(one.body, other.body);
    one.path == other.path && ((near && alike >= 0.5) || (same_quote && one.category == other.category && alike >= 0.3))
}

/// Shared words of two texts, of all their words.
fn likeness(one: &str, other: &str) -> f64 {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 2);
        words.map(str::to_lowercase).collect()
    };
    let (one, other) = (words(one), words(other));
    let all = one.union(&other).count();
    if all == 0 { 0.0 } else { one.intersection(&other).count() as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::{AcceptedFinding, AgentKind, Anchoring, Fingerprint, ReviewMeta, Severity, Side};

    fn finding(id: &str, line: u32, body: &str, severity: Severity) -> Finding {
        Finding {
            finding_id: id.into(),
            severity,
            category: Category::Correctness,
            path: "a.py".into(),
            line_start: line,
            line_end: line,
            side: Side::New,
            body_markdown: body.into(),
            quote: None,
            change_anchor: None,
            suggested_patch: None,
            unplaced: None,
            look: None,
        }
    }

    fn part(number: u32, findings: Vec<Finding>, status: LookStatus) -> PartReview {
        let timings = |second: u32| Timings {
            started_at: format!("2026-01-02T03:04:{second:02}Z"),
            ended_at: format!("2026-01-02T03:05:{second:02}Z"),
            duration_ms: 60_000,
        };
        let call = |part: &str| AgentCall {
            part: part.into(),
            agent: AgentKind::Codex,
            model: None,
            attempts: 1,
            requests: None,
            duration_ms: 10,
            token_usage: TokenUsage { input_tokens: Some(100), cost_usd: Some(0.25), ..TokenUsage::default() },
            error: None,
        };
        let accepted = findings.iter().enumerate().map(|(index, finding)| AcceptedFinding {
            index: u32::try_from(index).unwrap(),
            finding_id: finding.finding_id.clone(),
            path: finding.path.clone(),
            line_start: finding.line_start,
            line_end: finding.line_end,
            placed: true,
            notes: Vec::new(),
        });
        let outcome = PartOutcome {
            validation: Validation {
                anchoring: Anchoring::default(),
                accepted: accepted.collect(),
                rejected: Vec::new(),
            },
            run: AgentRun {
                agent: AgentKind::Codex,
                version: None,
                model: None,
                argv: Vec::new(),
                env_names: Vec::new(),
                attempts: Vec::new(),
                token_usage: TokenUsage::default(),
                calls: vec![call(&format!("pass {number}")), call("second look")],
            },
            review: ReviewOutput {
                summary_markdown: format!("Part {number} of 3: fine."),
                findings,
                meta: ReviewMeta {
                    fingerprint: Fingerprint { algo: "sha256".into(), value: "aa".into() },
                    agent: AgentKind::Codex,
                    model: None,
                    timings: timings(number),
                    token_usage: TokenUsage::default(),
                    truncated: false,
                    redaction_found: false,
                    second_look: Some(SecondLook { claims: 2, holds: 1, refuted: 1, ..SecondLook::new(status) }),
                    calls: Vec::new(),
                },
            },
            fixed: vec!["d0".into(), format!("d{number}")],
            context: None,
        };
        PartReview {
            version: "0".into(),
            part: number,
            of: 3,
            base: String::new(),
            head: String::new(),
            change: String::new(),
            policy: String::new(),
            passes: vec![number],
            lost: Vec::new(),
            skip_reasons: Vec::new(),
            outcome: Some(Box::new(outcome)),
            signature: String::new(),
        }
    }

    #[test]
    fn the_same_fault_of_two_parts_is_one_finding_and_every_cost_is_counted() {
        let told = "The timeout is retried after the charge went through, so the card is charged twice.";
        let again = "A timeout after the charge went through is retried, and the card is charged twice.";
        let other = "The log line names the wrong card.";
        let parts = [
            part(1, vec![finding("f-1", 10, told, Severity::Medium)], LookStatus::Done),
            part(2, vec![finding("f-2", 12, again, Severity::High)], LookStatus::NotNeeded),
            part(3, vec![finding("f-1", 90, other, Severity::Critical)], LookStatus::Failed),
        ];
        let joined = join(&parts).expect("a review");
        let kept: Vec<_> = joined.review.findings.iter().map(|kept| (kept.line_start, kept.severity)).collect();
        assert_eq!(kept, [(90, Severity::Critical), (10, Severity::High)]);
        let ids: HashSet<_> = joined.review.findings.iter().map(|kept| &kept.finding_id).collect();
        assert_eq!(ids.len(), 2, "an id that two parts gave is not one finding's");
        let accepted: HashSet<_> = joined.validation.accepted.iter().map(|entry| &entry.finding_id).collect();
        assert_eq!(accepted, ids);
        assert_eq!(joined.validation.rejected[0].reason.code, CheckCode::Duplicate);
        assert_eq!(joined.review.meta.token_usage.input_tokens, Some(600));
        assert_eq!(joined.review.meta.token_usage.cost_usd, Some(1.5));
        let calls: Vec<_> = joined.run.calls.iter().map(|call| call.part.as_str()).collect();
        assert_eq!(calls[..3], ["pass 1", "second look of part 1", "pass 2"]);
        assert_eq!(joined.fixed, ["d0", "d1", "d2", "d3"]);
        let look = joined.review.meta.second_look.expect("a look");
        assert_eq!((look.status, look.claims, look.refuted), (LookStatus::Failed, 6, 3));
        let timings = joined.review.meta.timings;
        assert_eq!(
            (timings.started_at.as_str(), timings.ended_at.as_str()),
            ("2026-01-02T03:04:01Z", "2026-01-02T03:05:03Z")
        );
        assert_eq!(timings.duration_ms, 62_000);
    }

    #[test]
    fn parts_without_a_review_are_none() {
        assert_eq!(join(&[]), None);
        assert_eq!(join(&[PartReview { outcome: None, ..part(1, Vec::new(), LookStatus::Done) }]), None);
    }
}
