//! What was said in the merge request before, whether it still holds, and what this review adds to it.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::source::Seen;
use super::{About, Change, Request};
use crate::contracts::{
    AgentKind, CarriedReview, Claim, Conversation, PlannedResolve, PriorDigest, ReviewOutput, Severity, SkipCode,
    SkipDecision,
};
use crate::diff::Diff;
use crate::error::Result;
use crate::gitlab::{Client, MergeRequest};
use crate::look::OpenThread;
use crate::post::render::line_range;
use crate::prepare::Prepared;
use crate::prompt::{Refused, Since};
use crate::run::events::Event;
use crate::run::record::{Run, hex};
use crate::run::workdir::Artifact;
use crate::threads::digest::{self, Prior};
use crate::threads::skip::{self, Held, Patterns};
use crate::threads::story::{self, Story};
use crate::threads::{self, Own, SeenClaim, Standing, Thread, marker, policy_hash};
use crate::verdict::is_severe;

/// What must be equal for an earlier review to hold.
pub(super) struct Terms {
    pub(super) change: String,
    pub(super) policy: String,
    pub(super) target: String,
    /// The whole change is at hand: a part is never the same as another part.
    pub(super) complete: bool,
    /// Discussions whose fault the agent calls fixed.
    pub(super) fixed: Vec<String>,
    /// The parts that there are, where some are missing.
    pub(super) parts: Vec<u32>,
}

/// What earlier runs said in this merge request.
pub(super) async fn earlier(
    run: &Run,
    request: &Request,
    gitlab: Option<&Client>,
    seen: Option<&Seen>,
) -> Result<Prior> {
    run.stage("prior");
    let tag = &request.loaded.config.gitlab.summary_note_tag;
    let mut prior = Prior::default();
    if let (Some(seen), Some(client)) = (seen, gitlab) {
        let project = seen.merge_request.as_ref().map_or(0, |merge_request| merge_request.project_id);
        let seal = client.seal(project);
        let own = crate::threads::Seen::read(&seen.notes, &Own { author: seen.own_user, tag, seal: &seal });
        if let Some(author) = own.author {
            prior = digest::read(author, tag, &seen.notes);
        }
        prior.people = crate::post::send::people(client, &own, seen.merge_request.as_ref()).await;
        prior.seen = own;
    }
    if prior.digest == PriorDigest::default() {
        run.workdir.empty_json(Artifact::PriorDigest)?;
    } else {
        run.workdir.json(Artifact::PriorDigest, &prior.digest)?;
    }
    Ok(prior)
}

/// The terms of this review. The gate is no part of them: it is computed anew.
pub(super) fn terms(run: &Run, request: &Request, agent: AgentKind, change: &Change, seen: Option<&Seen>) -> Terms {
    let loaded = &request.loaded;
    let mut config = serde_json::to_value(&loaded.config).unwrap_or_default();
    if let Some(config) = config.as_object_mut() {
        for shapes_nothing in ["gate", "workdir", "logging", "artifacts", "note_timezone", "skip", "mode", "gitlab"] {
            config.remove(shapes_nothing);
        }
    }
    let target = seen
        .and_then(|seen| seen.merge_request.as_ref())
        .map(|merge_request| merge_request.target_branch.clone())
        .or_else(|| loaded.ci.target_branch.clone())
        .unwrap_or_default();
    let prompt = crate::prompt::VERSION.to_string();
    let config = config.to_string();
    let parts = [
        ("version", crate::VERSION),
        ("prompt", prompt.as_str()),
        ("agent", agent.name()),
        ("target", target.as_str()),
        ("config", config.as_str()),
    ];
    let policy = policy_hash(parts.into_iter().chain(loaded.texts()));
    let progress = run.progress();
    let complete = progress.incomplete.is_none() && progress.unavailable.is_empty();
    Terms { change: change.hash.clone(), policy, target, complete, fixed: Vec::new(), parts: Vec::new() }
}

/// Whether a review is due, and that on record.
pub(super) fn decide(
    run: &Run,
    request: &Request,
    about: (&Change, &Terms),
    shown: (&Diff<'_>, &Prepared),
    seen: (&Prior, Option<&Seen>),
) -> Result<SkipDecision> {
    let decision = consider(run, request, about, shown, seen)?;
    decided(run, &decision)?;
    Ok(decision)
}

/// The blocks of changed lines that a review under the same policy has seen.
pub(super) fn reviewed<'a>(prior: &'a Prior, terms: &Terms) -> &'a [String] {
    let winner = prior.seen.winner().filter(|winner| winner.claim.policy == terms.policy);
    winner.map(|winner| winner.claim.blocks.as_slice()).unwrap_or_default()
}

/// What an agent is told of the time since the last review: what is new, and what people refused.
pub(super) fn since(about: &About<'_>, diff: &Diff<'_>) -> Since {
    let refused = story::refused(&about.prior.seen, diff, &about.prior.people);
    let refused = refused.into_iter().map(|item| Refused {
        place: item.line.map_or(item.path.clone(), |line| format!("{}:{line}", item.path)),
        title: item.title,
        why: item.reason.unwrap_or_default(),
    });
    let new = (!about.reviewed.is_empty()).then(|| {
        let blocks = threads::new_since(diff, about.reviewed).into_iter();
        blocks.map(|block| format!("{}:{}", block.path, line_range(block.lines.0, block.lines.1))).collect()
    });
    Since { new, refused: refused.collect() }
}

/// What this review has seen of the change, and what earlier ones have and still stands.
fn seen_blocks(about: &About<'_>, diff: &Diff<'_>) -> Vec<String> {
    let keys = |diff: &Diff<'_>| threads::blocks(diff).into_iter().map(|block| block.key);
    let known: BTreeSet<&String> = about.reviewed.iter().collect();
    let mut seen: BTreeSet<String> = keys(diff).filter(|key| known.contains(key)).collect();
    seen.extend(keys(&about.prepared.shown(diff)));
    seen.into_iter().take(threads::MOST_KEPT).collect()
}

/// Whether a review is due.
pub(super) fn consider(
    run: &Run,
    request: &Request,
    (change, terms): (&Change, &Terms),
    (diff, prepared): (&Diff<'_>, &Prepared),
    (prior, seen): (&Prior, Option<&Seen>),
) -> Result<SkipDecision> {
    run.stage("skip");
    let (config, ci) = (&request.loaded.config, &request.loaded.ci);
    let merge_request = seen.and_then(|seen| seen.merge_request.as_ref());
    let in_ci = config.mode.ci;
    let allowed = skip::allowed(&config.skip, &request.gate());
    let patterns =
        Patterns::new(&allowed).map_err(|(key, why)| request.loaded.invalid(key, &why, "fix or remove the pattern"))?;
    let held = held(prior, change, terms, merge_request).filter(|held| request.believes(held));
    let text = |here: Option<&String>, job: &Option<String>| {
        here.cloned().or_else(|| job.clone().filter(|_| in_ci)).unwrap_or_default()
    };
    let mut decision = skip::decide(&skip::Inputs {
        config: &allowed,
        patterns: &patterns,
        fingerprint: &change.fingerprint,
        prior: &prior.digest,
        held: held.as_ref(),
        diff_is_empty: diff.files.is_empty(),
        all_ignored: prepared.report.ignored_total == diff.files.len() as u64,
        auto_merge: merge_request.and_then(|merge_request| merge_request.auto_merge),
        draft: merge_request.map(|merge_request| merge_request.draft).or(ci.draft.filter(|_| in_ci)),
        labels: match merge_request {
            Some(merge_request) => &merge_request.labels,
            None if in_ci => &ci.labels,
            None => &[],
        },
        author: merge_request.map(|merge_request| merge_request.author.as_str()).unwrap_or_default(),
        title: &text(merge_request.map(|merge_request| &merge_request.title), &ci.title),
        branch: &text(merge_request.map(|merge_request| &merge_request.source_branch), &ci.source_branch),
    });
    if let Some(words) = run.progress().compared {
        let empty = decision.reasons.iter_mut().filter(|reason| reason.code == SkipCode::NoDiff);
        empty.for_each(|reason| reason.message = format!("{}: compared {words}", reason.message));
    }
    Ok(decision)
}

/// Puts the decision on record.
pub(super) fn decided(run: &Run, decision: &SkipDecision) -> Result<()> {
    run.workdir.json(Artifact::Skip, decision)?;
    run.note(|progress| progress.skip_reasons = decision.reasons.clone());
    run.events.emit(Event::SkipDecided {
        should_skip: decision.should_skip,
        reasons: decision.reasons.clone(),
        fingerprint: decision.fingerprint.to_string(),
    });
    Ok(())
}

/// Ends a run that has nothing to review: the earlier verdict stands, and what overlapping runs left is cleared up.
pub(super) async fn skipped(
    run: &Run,
    request: &Request,
    gitlab: Option<&Client>,
    seen: Option<&Seen>,
    decision: &SkipDecision,
) -> Result<()> {
    if let Some(carried) = &decision.carried {
        carry(run, carried);
    }
    let same = |code: SkipCode| matches!(code, SkipCode::SameFingerprint | SkipCode::SameChanges);
    let reviewed = decision.reasons.iter().any(|reason| same(reason.code));
    let (Some(client), Some(seen)) = (gitlab.filter(|_| request.posts() && reviewed), seen) else { return Ok(()) };
    let Some(merge_request) = &seen.merge_request else { return Ok(()) };
    let config = &request.loaded.config.gitlab;
    let seal = client.seal(merge_request.project_id);
    let own = Own { author: seen.own_user, tag: &config.summary_note_tag, seal: &seal };
    let doubled = crate::threads::Seen::read(&seen.notes, &own);
    if crate::post::protocol::is_doubled(&doubled, config.idempotent_summary) {
        crate::post::send::tidy(client, &own, config.idempotent_summary, &run.workdir, (&run.engine, &run.events))
            .await;
    }
    Ok(())
}

/// The verdict of an earlier review becomes this run's.
pub(super) fn carry(run: &Run, carried: &CarriedReview) {
    run.note(|progress| {
        progress.carried = true;
        progress.coverage = carried.coverage.clone();
        progress.counts.findings = carried.by_severity.values().sum();
        progress.counts.by_severity = carried.by_severity.clone();
    });
}

/// A review of this very change, not wholly delivered: it is finished without asking an agent again.
pub(super) fn unfinished(run: &Run, request: &Request, change: &Change, terms: &Terms, prior: &Prior) -> Option<Claim> {
    let asks_nothing = request.args.dry_run || request.rehearsal;
    if asks_nothing || !request.loaded.config.skip.skip_on_same_fingerprint {
        return None;
    }
    let winner = prior.seen.winner()?;
    let claim = &winner.claim;
    let same = claim.fingerprint == change.fingerprint.to_string() && agrees(claim, terms);
    let head = change.source.reference.head_sha.as_ref() == Some(&claim.head);
    if !same || !head || claim.delivered || claim.review.is_none() {
        return None;
    }
    let message =
        format!("note {} has a review of this change that was not wholly posted: it is finished", winner.note);
    run.events.emit(Event::Warning { message });
    Some(claim.clone())
}

/// What this review adds, as `conversation.json` tells it.
pub(super) fn story(
    run: &Run,
    about: &About<'_>,
    review: &ReviewOutput,
    diff: &Diff<'_>,
    again: Option<&Claim>,
) -> Result<Story> {
    let merge_request = about.merge_request();
    let url = merge_request.map(|merge_request| merge_request.web_url.as_str()).filter(|url| !url.is_empty());
    // A review that is finished is compared with what was there before it.
    let seen = again.map(|claim| about.prior.seen.without(&claim.nonce));
    let seen = seen.as_ref().unwrap_or(&about.prior.seen);
    let mut story = story::tell(seen, &review.findings, diff, &about.prior.people, url);
    let reference = &about.change.source.reference;
    let before = seen.winner().map(|winner| &winner.claim);
    let costs = [before.and_then(|claim| claim.cost_usd), review.meta.token_usage.cost_usd];
    let known = costs.iter().any(Option::is_some);
    story.conversation = Conversation {
        base_sha: reference.base_sha.clone(),
        head_sha: reference.head_sha.clone(),
        reviews: before.map_or(0, |claim| claim.reviews) + 1,
        cost_usd: known.then(|| costs.iter().flatten().sum()),
        unread: about.seen.map(|seen| seen.unread.clone()).unwrap_or_default(),
        ..story.conversation
    };
    if merge_request.is_some() {
        run.workdir.json(Artifact::Conversation, &story.conversation)?;
    }
    Ok(story)
}

/// What the summary will say for machines.
pub(super) fn claim(
    request: &Request,
    about: &About<'_>,
    terms: &Terms,
    (review, diff): (&ReviewOutput, &Diff<'_>),
    story: &Story,
) -> Claim {
    let reference = &about.change.source.reference;
    let head = reference.head_sha.clone().unwrap_or_default();
    let versions = about.seen.map(|seen| seen.versions.as_slice()).unwrap_or_default();
    let version = versions.iter().filter(|version| version.refs.head_sha == head).map(|version| version.id).max();
    let highest = about.prior.seen.claims.iter().map(|claim| claim.claim.generation).max();
    let nonce = format!("{} {} {head}", crate::run::clock::now().unix_timestamp_nanos(), std::process::id());
    Claim {
        tag: request.loaded.config.gitlab.summary_note_tag.clone(),
        nonce: hex(&Sha256::digest(nonce))[..16].to_owned(),
        // 0 where nothing could be seen: the job that posts sees.
        generation: about.seen.map_or(0, |_| highest.unwrap_or(0).saturating_add(1)),
        version: version.unwrap_or(0),
        target: terms.target.clone(),
        base: reference.base_sha.clone().unwrap_or_default(),
        head,
        fingerprint: about.change.fingerprint.to_string(),
        change: terms.change.clone(),
        policy: terms.policy.clone(),
        complete: terms.complete,
        parts: terms.parts.clone(),
        coverage: about.prepared.report.coverage.clone(),
        guards: false,
        blocks: seen_blocks(about, diff),
        findings: story.findings.clone(),
        delivered: false,
        reviews: story.conversation.reviews,
        cost_usd: story.conversation.cost_usd,
        review: Some(Box::new(review.clone())),
        sum: String::new(),
        write: String::new(),
    }
}

/// Own threads that nobody answered and whose line is gone: the agent is asked whether their fault is.
pub(super) fn outdated(request: &Request, prior: &Prior, diff: &Diff<'_>) -> Vec<OpenThread> {
    const MOST: usize = 30;
    if !request.is_for_gitlab() || !request.loaded.config.gitlab.resolve_outdated || prior.seen.threads.is_empty() {
        return Vec::new();
    }
    let standing = Standing::of(diff);
    let gone = |thread: &&Thread| {
        !thread.answered() && !thread.resolved && !thread.mark.is_old() && !standing.has_line(&thread.mark.line)
    };
    let ask = |thread: &Thread| {
        Some(OpenThread {
            discussion_id: thread.discussion.clone()?,
            path: thread.path.clone()?,
            body: marker::text(&thread.body).to_owned(),
            block: block(diff, thread.path.as_deref()?),
        })
    };
    prior.seen.threads.iter().filter(gone).filter_map(ask).take(MOST).collect()
}

/// The file's change as it is now.
fn block(diff: &Diff<'_>, path: &str) -> String {
    const CHARS: usize = 6_000;
    let hunks = diff.file(path).map(|file| file.hunks.as_slice()).unwrap_or_default();
    let text: String = hunks.iter().map(|hunk| String::from_utf8_lossy(hunk.bytes)).collect();
    text.chars().take(CHARS).collect()
}

/// The threads that are to be resolved.
pub(super) fn resolvable(prior: &Prior, fixed: &[String]) -> Vec<PlannedResolve> {
    let threads = prior.seen.threads.iter().filter(|thread| !thread.answered() && !thread.resolved);
    threads
        .filter_map(|thread| {
            let discussion_id = thread.discussion.clone().filter(|id| fixed.contains(id))?;
            Some(PlannedResolve { finding_id: thread.mark.finding.clone(), discussion_id, note_id: thread.note })
        })
        .collect()
}

impl Request {
    /// Whether an earlier review may stand for this one. The same lines may stand in another place after a rebase, so
    /// they keep a gate closed and do not open it: that takes the very same diff.
    fn believes(&self, held: &Held) -> bool {
        let closed = |bound: Severity| is_severe(&held.review.by_severity, bound);
        held.same_bytes || self.gate().fail_on.is_none_or(closed)
    }
}

fn agrees(claim: &Claim, terms: &Terms) -> bool {
    terms.complete && claim.complete && claim.policy == terms.policy && claim.target == terms.target
}

/// The best signed and delivered review of the same change under the same terms.
fn held(prior: &Prior, change: &Change, terms: &Terms, merge_request: Option<&MergeRequest>) -> Option<Held> {
    let fingerprint = change.fingerprint.to_string();
    // Equal lines on another base are a rebase; on the same base they have moved, and nobody saw them there.
    let base = change.source.reference.base_sha.as_ref();
    let rebased = |claim: &Claim| claim.change == terms.change && base.is_some_and(|base| *base != claim.base);
    let same = |claim: &Claim| claim.fingerprint == fingerprint || rebased(claim);
    let holds =
        |seen: &&SeenClaim| seen.trusted && seen.claim.delivered && agrees(&seen.claim, terms) && same(&seen.claim);
    let found = prior.seen.claims.iter().filter(holds).max_by_key(|seen| seen.rank())?;
    let standing = story::standing_now(&prior.seen, &found.claim, &prior.people);
    let mut by_severity = std::collections::BTreeMap::new();
    for finding in standing.iter().filter(|finding| !finding.dismissed) {
        *by_severity.entry(finding.severity.name().to_owned()).or_default() += 1;
    }
    let url = merge_request.map(|merge_request| merge_request.web_url.as_str()).filter(|url| !url.is_empty());
    Some(Held {
        same_bytes: found.claim.fingerprint == fingerprint,
        review: CarriedReview {
            note_id: found.note,
            url: url.map(|url| format!("{url}#note_{}", found.note)),
            head_sha: Some(found.claim.head.clone()),
            by_severity,
            coverage: found.claim.coverage.clone(),
        },
    })
}
