//! The plan: which finding goes where, and the exact bodies, before anything is posted.

use std::collections::HashSet;

use crate::contracts::{
    AppConfig, ErrorInfo, Finding, Notify, PlannedDiscussion, PolicyRecord, PostPlan, RedactionReport, ReviewOutput,
    TruncationReport,
};
use crate::diff::Diff;
use crate::look::INLINE_FROM;
use crate::threads::digest::Prior;
use crate::threads::story::{Story, Told};

use super::guards;
use super::position::{self, Place, Refs};
use super::render::{self, Unplaced};
use super::sanitize;
use super::summary;
use super::timezone::Zone;

/// What a plan is made from.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    pub config: &'a AppConfig,
    pub zone: Zone,
    pub review: &'a ReviewOutput,
    /// The whole change, secrets replaced.
    pub diff: &'a Diff<'a>,
    /// Commits of the merge request's newest version; none where there is no merge request to place findings in.
    pub refs: Option<&'a Refs>,
    /// Commit that was reviewed.
    pub head_sha: Option<&'a str>,
    /// Commit that it was compared with.
    pub base_sha: Option<&'a str>,
    pub project_id: Option<&'a str>,
    pub mr_iid: Option<u64>,
    /// What earlier runs left there.
    pub prior: &'a Prior,
    /// What of the review is new.
    pub story: &'a Story,
    /// Addresses of the job and its pipeline.
    pub job: Job<'a>,
    /// The result in one line.
    pub headline: &'a str,
    pub truncation: &'a TruncationReport,
    pub redaction: &'a RedactionReport,
    /// What went wrong on the way.
    pub errors: &'a [ErrorInfo],
    /// Who decided, and what the change would change about that.
    pub policy: Option<&'a PolicyRecord>,
    /// Files whose content is elsewhere, with the reason.
    pub elsewhere: &'a [(String, String)],
}

/// Where the review was made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Job<'a> {
    pub url: Option<&'a str>,
    pub pipeline_url: Option<&'a str>,
    /// The report's path among the job's artifacts.
    pub report: Option<&'a str>,
}

/// Which finding goes where; each of the review is in exactly one list, worst first.
#[derive(Debug, Clone, Default)]
pub struct Placement<'a> {
    /// On a line or file of the merge request.
    pub inline: Vec<(&'a Finding, Place<'a>)>,
    /// In the summary, with the reason.
    pub summary: Vec<(&'a Finding, String)>,
    /// Said by an earlier review already.
    pub repeated: Vec<&'a Finding>,
    /// Refused by a person.
    pub dismissed: Vec<&'a Finding>,
    /// Below `review.min_severity`.
    pub withheld: Vec<&'a Finding>,
    /// The merge request is no longer at the reviewed commit.
    pub head_moved: bool,
}

/// Decides where each finding goes.
pub fn place<'a>(inputs: &Inputs<'a>) -> Placement<'a> {
    let config = &inputs.config.review;
    let head_moved = inputs.refs.zip(inputs.head_sha).is_some_and(|(refs, head)| {
        // Positions are those of the reviewed diff: they fit no diff from another base.
        refs.head_sha != head || inputs.base_sha.is_some_and(|base| refs.base_sha != base)
    });
    let mut placement = Placement { head_moved, ..Placement::default() };
    let mut seen = HashSet::new();
    for (at, finding) in numbered(&inputs.review.findings) {
        let id = render::marker_id(&finding.finding_id);
        let told = inputs.story.told.get(at).unwrap_or(&Told::New);
        if finding.severity < config.min_severity {
            placement.withheld.push(finding);
        } else if let Told::Repeated { .. } | Told::Back { .. } = told {
            placement.repeated.push(finding);
        } else if let Told::Dismissed { .. } = told {
            placement.dismissed.push(finding);
        } else {
            match inline(inputs, finding, head_moved) {
                Err(reason) => placement.summary.push((finding, reason)),
                Ok(_) if !seen.insert(id) => {
                    placement.summary.push((finding, "another finding has the same id".to_owned()));
                }
                Ok(_) if placement.inline.len() >= config.max_inline => {
                    let reason = format!("at most {} findings are placed on lines, worst first", config.max_inline);
                    placement.summary.push((finding, reason));
                }
                Ok(place) => placement.inline.push((finding, place)),
            }
        }
    }
    placement
}

/// Writes the plan down.
pub fn build(inputs: &Inputs<'_>) -> PostPlan {
    let placement = place(inputs);
    let ids = |findings: &[&Finding]| findings.iter().map(|finding| finding.finding_id.clone()).collect::<Vec<_>>();
    let unplaced: Vec<Unplaced<'_>> =
        placement.summary.iter().map(|(finding, reason)| Unplaced { finding, reason }).collect();
    let withheld = ids(&placement.withheld);
    let reported: Vec<&Finding> = worst_first(&inputs.review.findings)
        .into_iter()
        .filter(|finding| finding.severity >= inputs.config.review.min_severity)
        .collect();
    let summary = summary::render(&summary::Parts {
        headline: inputs.headline,
        dismissed: placement.dismissed.len(),
        withheld: withheld.len(),
        conversation: &inputs.story.conversation,
        job: inputs.job,
        findings: &reported,
        unplaced: &unplaced,
        agent_summary: &inputs.review.summary_markdown,
        meta: &inputs.review.meta,
        head_sha: inputs.head_sha,
        head_moved: placement.head_moved,
        truncation: inputs.truncation,
        redaction: inputs.config.secrets.post_warning_to_mr.then_some(inputs.redaction),
        errors: inputs.errors,
        guards: &guards::render(inputs.policy, inputs.elsewhere),
        tag: &inputs.config.gitlab.summary_note_tag,
        zone: inputs.zone,
    });
    let mut sanitized = summary.counts;
    let mut discussions = Vec::with_capacity(placement.inline.len());
    for (finding, place) in &placement.inline {
        let at = inputs.review.findings.iter().position(|known| std::ptr::eq(known, *finding));
        let keys = at.and_then(|at| inputs.story.keys.get(at)).cloned().unwrap_or_default();
        let planned = discussion(finding, place, &mut sanitized);
        discussions.extend(planned.map(|planned| PlannedDiscussion {
            line_key: keys.line,
            block_key: keys.block,
            ..planned
        }));
    }
    PostPlan {
        project_id: inputs.project_id.map(str::to_owned),
        mr_iid: inputs.mr_iid,
        head_sha: inputs.head_sha.map(str::to_owned),
        summary_markdown: summary.markdown,
        summary_meta_collapsible: summary.metadata,
        summary_body: summary.body,
        discussions,
        idempotent_summary: inputs.config.gitlab.idempotent_summary,
        prior_summary_note_id: inputs.prior.summary_note_id,
        repeated: ids(&placement.repeated),
        withheld,
        sanitized,
        claim: None,
        base_sha: inputs.base_sha.map(str::to_owned),
        drafts: inputs.config.gitlab.notify == Notify::Once,
        resolve: Vec::new(),
        reopen: inputs.story.reopen.clone(),
    }
}

fn worst_first(findings: &[Finding]) -> Vec<&Finding> {
    numbered(findings).into_iter().map(|(_, finding)| finding).collect()
}

/// Worst first, each with its number in the review.
fn numbered(findings: &[Finding]) -> Vec<(usize, &Finding)> {
    let mut findings: Vec<_> = findings.iter().enumerate().collect();
    findings.sort_by_key(|(_, finding)| std::cmp::Reverse(finding.severity));
    findings
}

/// The finding's place, or why it has none.
fn inline<'a>(inputs: &Inputs<'a>, finding: &Finding, head_moved: bool) -> Result<Place<'a>, String> {
    if let Some(reason) = &finding.unplaced {
        return Err(reason.clone());
    }
    if head_moved {
        return Err("the branch has moved on since the review".to_owned());
    }
    if inputs.review.meta.second_look.is_some() && finding.severity < INLINE_FROM {
        return Err("small findings are told here only".to_owned());
    }
    let refs = inputs.refs.ok_or("the commits of a merge request are not known")?;
    let place = position::place(inputs.diff, finding, refs)?;
    if place.in_diff { Ok(place) } else { Err("the diff does not show this line".to_owned()) }
}

fn discussion(finding: &Finding, place: &Place<'_>, counts: &mut sanitize::Counts) -> Option<PlannedDiscussion> {
    let (position, fallbacks) = place.positions.split_first()?;
    Some(PlannedDiscussion {
        finding_id: render::marker_id(&finding.finding_id),
        path: finding.path.clone(),
        line_start: finding.line_start,
        line_end: finding.line_end,
        body_markdown: render::discussion(finding, place, counts),
        position: position.clone(),
        fallbacks: fallbacks.to_vec(),
        severity: finding.severity,
        category: finding.category,
        line_key: String::new(),
        block_key: String::new(),
    })
}

#[cfg(test)]
mod tests;
