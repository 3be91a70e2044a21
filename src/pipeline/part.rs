//! A job that reviews one part of a change: it leaves what it found, signed, for the job that posts.

use super::outcome::Reviewed;
use super::passes::{Passes, number};
use super::source::Seen;
use super::talk::{self, Terms};
use super::{Change, Request};
use crate::contracts::{PartOutcome, PartReview, PriorDigest, SkipCode, SkipDecision, SkipReason};
use crate::diff::Diff;
use crate::error::{Error, Failure, Result};
use crate::gitlab::Client;
use crate::look::OpenThread;
use crate::passes::Shard;
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::Artifact;
use crate::threads::Seal;

/// The part that a run takes.
pub(super) struct Part {
    shard: Shard,
    /// None where nothing is posted and so nothing is believed either.
    seal: Option<Seal>,
}

impl Part {
    /// The part that was asked for; none where the run takes all of the change.
    pub(super) fn of(request: &Request, gitlab: Option<&Client>, seen: Option<&Seen>) -> Result<Option<Self>> {
        let Some(shard) = request.shard else { return Ok(None) };
        Ok(Some(Self { shard, seal: seal(request, gitlab, seen)? }))
    }

    /// The threads that this part asks about: those on its files, and of all others the first part.
    pub(super) fn own_threads(&self, threads: Vec<OpenThread>, diff: &Diff<'_>, passes: &Passes) -> Vec<OpenThread> {
        let place = |thread: &OpenThread| {
            let is_it = |index: &usize| diff.files.get(*index).is_some_and(|file| file.path() == thread.path);
            passes.division.passes.iter().find(|pass| pass.files.iter().any(is_it)).map_or(0, |pass| pass.part)
        };
        let own = self.shard.part() as usize;
        threads.into_iter().filter(|thread| place(thread) + 1 == own).collect()
    }

    /// Ends a part for which there is no pass: other parts review all of the change.
    pub(super) fn is_empty(&self, run: &Run, change: &Change, terms: &Terms) -> Result<()> {
        let message = format!("The change is too small for {} parts: there is no part {}", self.shard.of(), self.shard);
        let decision = SkipDecision {
            should_skip: true,
            reasons: vec![SkipReason { code: SkipCode::EmptyPart, message }],
            fingerprint: change.fingerprint.clone(),
            prior_digest: PriorDigest::default(),
            carried: None,
        };
        talk::decided(run, &decision)?;
        self.skipped(run, change, terms, &[], decision.reasons)
    }

    /// Ends a part of a review that is in the merge request, only not wholly: the job that posts finishes it.
    pub(super) fn is_told(&self, run: &Run, change: &Change, terms: &Terms, passes: &[usize]) -> Result<()> {
        let message = "A review of this change is in the merge request already, and the job that posts finishes it";
        let reason = SkipReason { code: SkipCode::SameFingerprint, message: message.into() };
        run.note(|progress| progress.skip_reasons = vec![reason.clone()]);
        self.skipped(run, change, terms, passes, vec![reason])
    }

    /// Leaves word that nothing was reviewed, and why.
    pub(super) fn skipped(
        &self,
        run: &Run,
        change: &Change,
        terms: &Terms,
        passes: &[usize],
        skip_reasons: Vec<SkipReason>,
    ) -> Result<()> {
        self.write(run, PartReview { skip_reasons, ..self.about(change, terms, passes) })
    }

    /// Leaves what was found. A part of which a pass is lost is a failed job, so that somebody starts it again.
    pub(super) fn leave(
        &self,
        run: &Run,
        (change, terms): (&Change, &Terms),
        passes: &Passes,
        lost: &[usize],
        reviewed: &Reviewed,
        fixed: Vec<String>,
    ) -> Result<Result<()>> {
        let outcome = PartOutcome {
            review: reviewed.review.clone(),
            validation: reviewed.validation.clone(),
            run: reviewed.run.clone(),
            fixed,
            context: run.progress().context,
        };
        let lost: Vec<u32> = lost.iter().copied().map(number).collect();
        let about = self.about(change, terms, &passes.own);
        self.write(run, PartReview { lost: lost.clone(), outcome: Some(Box::new(outcome)), ..about })?;
        Ok(if lost.is_empty() { Ok(()) } else { Err(incomplete(self.shard, &lost)) })
    }

    fn about(&self, change: &Change, terms: &Terms, passes: &[usize]) -> PartReview {
        let reference = &change.source.reference;
        PartReview {
            version: crate::VERSION.into(),
            part: self.shard.part(),
            of: self.shard.of(),
            base: reference.base_sha.clone().unwrap_or_default(),
            head: reference.head_sha.clone().unwrap_or_default(),
            change: terms.change.clone(),
            policy: terms.policy.clone(),
            passes: passes.iter().copied().map(number).collect(),
            lost: Vec::new(),
            skip_reasons: Vec::new(),
            outcome: None,
            signature: String::new(),
        }
    }

    fn write(&self, run: &Run, part: PartReview) -> Result<()> {
        let sign = |text: &str| self.seal.as_ref().map(|seal| seal.sign_document(text)).unwrap_or_default();
        run.workdir.sealed_json(Artifact::PartReview, &part, sign)?;
        run.events.emit(Event::PartLeft {
            part: part.part,
            of: part.of,
            passes: part.passes.len() as u64,
            lost: part.lost.len() as u64,
            signed: self.seal.is_some(),
        });
        Ok(())
    }
}

/// What signs the parts of this merge request; none where nothing is posted.
pub(super) fn seal(request: &Request, gitlab: Option<&Client>, seen: Option<&Seen>) -> Result<Option<Seal>> {
    let Some(client) = gitlab else { return Ok(None) };
    let merge_request = seen.and_then(|seen| seen.merge_request.as_ref());
    match merge_request {
        Some(merge_request) => Ok(Some(client.seal(merge_request.project_id))),
        None if !request.is_for_gitlab() => Ok(None),
        // Known before an agent is paid for.
        None => Err(Error::GitlabPrior(
            Failure::new("the merge request could not be read, so that nothing about it can be signed or believed")
                .retryable()
                .help("start the job again; its log says why GitLab did not answer"),
        )),
    }
}

fn incomplete(shard: Shard, lost: &[u32]) -> Error {
    let passes: Vec<String> = lost.iter().map(u32::to_string).collect();
    Error::AgentOutput(
        Failure::new(format!("part {shard} is not wholly reviewed: no answer for pass {}", passes.join(", ")))
            .retryable()
            .help("start this job again, and then the one that posts; what was reviewed is kept until then"),
    )
}
