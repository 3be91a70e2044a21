//! The job that posts what others reviewed: it computes the change, the policy and the division by itself, takes the
//! parts that fit, makes one review of them and posts it once. What is in the folders is data.

use std::path::PathBuf;
use std::sync::Arc;

use super::change::{Change, Jobs, prepare, redact};
use super::outcome::{Reviewed, finish, keep, plan, post, report};
use super::part::seal;
use super::passes::{Passes, number};
use super::source::{connect, fetch};
use super::talk::{self, Terms};
use super::{About, Request, configure, guards};
use crate::contracts::{AgentKind, ContextTotals, PartReview, SkipCode, SkipDecision};
use crate::diff::Diff;
use crate::diff::git::tracked_in;
use crate::error::{Error, Failure, Result};
use crate::passes::{self, Joined, Shard};
use crate::prepare::{Loss, Prepared};
use crate::run::events::Event;
use crate::run::record::Run;
use crate::run::workdir::{Artifact, Forbidden, Workdir, unsealed};
use crate::threads::Seal;
use crate::verdict;

/// Where the parts are.
#[derive(Debug, Clone, Default)]
pub struct Folders {
    /// As they were named; empty: those of all parts, in the workdir.
    pub named: Vec<PathBuf>,
    /// How many parts there are; none: as many as the parts say.
    pub of: Option<u32>,
}

/// Merges the parts of a review and posts it once.
pub async fn post_parts(run: &Run, request: &Request, folders: &Folders) -> Result<()> {
    let agent = configure(run, request);
    run.stage("parts");
    let (found, of) = find(run, request, folders)?;
    let gitlab = connect(run, request)?;
    let (fetched, seen) = fetch(run, request, gitlab.as_ref()).await?;
    let seal = seal(request, gitlab.as_ref(), seen.as_ref())?;
    guards::watch(run, request, &fetched).await?;
    let change = redact(run, request, fetched)?;
    let diff = change.diff()?;
    let (prepared, anchors, passes) = prepare(run, request, &change, &diff, Jobs { of, own: None }, &[]).await?;
    let terms = talk::terms(run, request, agent, &change, seen.as_ref());
    let expected = Expected { change: &change, terms: &terms, passes: &passes, of, seal: seal.as_ref() };
    let parts = expected.judge(found)?;
    parts.tell(run);
    let prior = talk::earlier(run, request, gitlab.as_ref(), seen.as_ref()).await?;
    let considered = talk::consider(run, request, (&change, &terms), (&diff, &prepared), (&prior, seen.as_ref()))?;
    let decision = parts.overrule(considered);
    talk::decided(run, &decision)?;
    if decision.should_skip {
        return talk::skipped(run, request, gitlab.as_ref(), seen.as_ref(), &decision).await;
    }
    let settled = parts.settle(run, &diff, &passes, prepared)?;
    let about = About {
        change: &change,
        prepared: &settled,
        anchors: &anchors,
        prior: &prior,
        reviewed: talk::reviewed(&prior, &terms),
        seen: seen.as_ref(),
        issues: &[],
        sight: None,
    };
    if let Some(claim) = talk::unfinished(run, request, &change, &terms, &prior) {
        return finish(run, request, gitlab.as_ref(), claim, &diff, &about, terms).await;
    }
    let Some(joined) = passes::join(&parts.taken) else { return Err(parts.incomplete()) };
    let terms = Terms {
        complete: terms.complete && parts.is_whole(),
        parts: if parts.is_whole() { Vec::new() } else { parts.numbers() },
        fixed: joined.fixed.clone(),
        ..terms
    };
    let reviewed = reviewed(run, request, agent, joined, &parts, &about)?;
    let plan = plan(run, request, &reviewed, &diff, &about, terms, None)?;
    let posted = match parts.told_already(&prior, &change, plan.claim.as_ref()) {
        Some(note) => {
            let message = format!("note {note} tells these parts already, or more of them: nothing is posted");
            run.events.emit(Event::Warning { message });
            Ok(())
        }
        None => post(run, request, gitlab.as_ref(), &plan).await,
    };
    // Where the gate is closed the exit code says so: a warning that is allowed to fail would let it pass.
    let ended = match posted {
        Ok(()) if !parts.is_whole() && !verdict::gate_closed(&run.progress()) => Err(parts.incomplete()),
        posted => posted,
    };
    report(run, reviewed, Some(plan), &about, &ended)?;
    ended
}

/// What the parts found together, on record.
fn reviewed(
    run: &Run,
    request: &Request,
    agent: AgentKind,
    joined: Joined,
    parts: &Parts,
    about: &About<'_>,
) -> Result<Reviewed> {
    let mut reviewed = Reviewed { review: joined.review, validation: joined.validation, run: joined.run };
    let meta = &mut reviewed.review.meta;
    meta.fingerprint = about.change.fingerprint.clone();
    meta.agent = agent;
    meta.model.clone_from(&request.loaded.config.agent.model);
    meta.truncated = about.prepared.report.truncated;
    meta.redaction_found = about.change.redaction.found;
    run.note(|progress| progress.context = parts.context());
    keep(run, &reviewed)?;
    run.events.emit(Event::ReviewValidated {
        findings: reviewed.review.findings.len() as u64,
        truncated: reviewed.review.meta.truncated,
        rejected: reviewed.validation.rejected.len() as u64,
        unplaced: reviewed.review.findings.iter().filter(|finding| finding.unplaced.is_some()).count() as u64,
    });
    Ok(reviewed)
}

/// A folder that was looked at.
struct Found {
    folder: PathBuf,
    /// The part by the folder's name.
    named: Option<Shard>,
    /// The part and its bytes, or why there is none.
    read: Result<(PartReview, String), String>,
}

impl Found {
    /// Which part it is, or would be.
    fn number(&self) -> Option<u32> {
        let named = self.named.map(Shard::part);
        self.read.as_ref().map_or(named, |(part, _)| Some(part.part))
    }
}

/// Reads the folders, and tells how many parts there are.
fn find(run: &Run, request: &Request, folders: &Folders) -> Result<(Vec<Found>, u32)> {
    let inside = |of: u32| {
        let workdir = PathBuf::from(&request.loaded.config.workdir);
        let shards = (1..=of).filter_map(move |part| Shard::new(part, of).ok());
        shards.map(move |shard| workdir.join(shard.folder()))
    };
    let paths: Vec<PathBuf> = match (&folders.named[..], folders.of) {
        ([], Some(of)) => inside(of).collect(),
        (named, _) => named.to_vec(),
    };
    let is_there = |path: &PathBuf| request.current.join(path).symlink_metadata().is_ok();
    if let Some(missing) = folders.named.iter().find(|path| !is_there(path)) {
        return Err(Error::Config(
            Failure::new(format!("there is no folder {}", missing.display()))
                .help("name the folders that `diffsan review --ci --shard I/N` left, or use `--parts N`"),
        ));
    }
    let found: Vec<Found> = paths.into_iter().filter(is_there).map(|path| look(run, request, path)).collect();
    let of = match folders.of {
        Some(of) => of,
        None => agreed(&found)?,
    };
    Ok((found, of))
}

fn look(run: &Run, request: &Request, folder: PathBuf) -> Found {
    let named = folder.file_name().and_then(|name| name.to_str()).and_then(Shard::of_folder);
    let forbidden = Forbidden {
        current: request.current.clone(),
        repository: crate::config::repository_top(&request.current),
        home: request.env.home(),
    };
    let read = || -> Result<(PartReview, String), String> {
        let workdir =
            Workdir::open(&folder, &forbidden, Arc::clone(&run.engine)).map_err(|unusable| unusable.reason)?;
        let workdir = workdir.knowing(tracked_in(&request.current.join(&folder), &request.env).into());
        let bytes = workdir.read(&Artifact::PartReview.file_name()).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "it has no part.json: its job failed, or was stopped".to_owned(),
            _ => format!("part.json is not read: {error}"),
        })?;
        let text = String::from_utf8(bytes).map_err(|_| "part.json is no text".to_owned())?;
        let part = serde_json::from_str(&text).map_err(|error| format!("part.json is no part: {error}"))?;
        Ok((part, text))
    };
    let read = read();
    Found { folder, named, read }
}

/// How many parts there are, where the command does not say: as the parts and their folders do, if they agree.
fn agreed(found: &[Found]) -> Result<u32> {
    let said = |found: &Found| match &found.read {
        Ok((part, _)) => Some(part.of),
        Err(_) => found.named.map(Shard::of),
    };
    let mut all = found.iter().filter_map(said);
    let refused =
        |message: String| {
            Err(Error::Config(Failure::new(message).help(
                "name the folders that `diffsan review --ci --shard I/N` left; `--parts N` says how many there are",
            )))
        };
    let Some(first) = all.next() else {
        let reasons = found.iter().map(|found| {
            let why = found.read.as_ref().err().map(String::as_str).unwrap_or_default();
            format!("{}: {why}", found.folder.display())
        });
        return refused(format!(
            "none of the folders is a part of a review ({})",
            reasons.collect::<Vec<_>>().join("; ")
        ));
    };
    match all.find(|of| *of != first) {
        Some(other) => refused(format!("the folders are of different divisions: of {first} parts, and of {other}")),
        None => Shard::new(1, first).map(Shard::of).or_else(refused),
    }
}

/// What a part must be to count.
struct Expected<'a> {
    change: &'a Change,
    terms: &'a Terms,
    passes: &'a Passes,
    of: u32,
    /// None where nothing is posted: then nothing needs to be signed either.
    seal: Option<&'a Seal>,
}

impl Expected<'_> {
    /// Takes the parts that fit; of each other one it is known why.
    fn judge(&self, found: Vec<Found>) -> Result<Parts> {
        let mut parts = Parts { of: self.of, taken: Vec::new(), lost: Vec::new(), needless: Vec::new() };
        let mut texts: Vec<(u32, PathBuf, String)> = Vec::new();
        let mut refused: Vec<(Option<u32>, String)> = Vec::new();
        for found in found {
            let (number, folder) = (found.number(), found.folder);
            match found.read.and_then(|(part, text)| self.fits(&part, &text).map(|()| (part, text))) {
                Err(why) => refused.push((number, format!("{}: {why}", folder.display()))),
                Ok((part, text)) => match texts.iter().find(|(taken, ..)| *taken == part.part) {
                    Some((_, _, same)) if *same == text => {}
                    Some((_, other, _)) => return Err(twice(&part, &folder, other)),
                    None => {
                        texts.push((part.part, folder, text));
                        parts.taken.push(part);
                    }
                },
            }
        }
        parts.taken.sort_by_key(|part| part.part);
        self.miss(&mut parts, refused);
        Ok(parts)
    }

    /// Says what is missing: every part that has a pass and is not there, or was skipped while others were reviewed.
    fn miss(&self, parts: &mut Parts, mut refused: Vec<(Option<u32>, String)>) {
        let any_review = parts.taken.iter().any(|part| part.outcome.is_some());
        for number in (1..=self.of).filter(|number| !self.passes.division.part(*number).is_empty()) {
            let why = match parts.taken.iter().find(|part| part.part == number) {
                Some(part) if part.outcome.is_some() || !any_review => continue,
                Some(part) => {
                    let reasons: Vec<_> = part.skip_reasons.iter().map(|reason| reason.message.as_str()).collect();
                    format!("it was skipped ({})", reasons.join("; "))
                }
                None => {
                    let own = refused.extract_if(.., |(known, _)| *known == Some(number)).map(|(_, why)| why);
                    let own = own.collect::<Vec<_>>().join("; ");
                    if own.is_empty() { "it is missing".to_owned() } else { own }
                }
            };
            parts.lost.push((number, why));
        }
        parts.needless = refused.into_iter().map(|(_, why)| why).collect();
    }

    /// Whether a part is one of this change, under this policy, by a job of this merge request; else why not.
    fn fits(&self, part: &PartReview, text: &str) -> Result<(), String> {
        if let Some(seal) = self.seal {
            let signed =
                unsealed(text, &part.signature).is_some_and(|text| seal.is_own_document(&text, &part.signature));
            if !signed && !crate::run::fault::is_undefended("part_signature") {
                return Err("it is not signed with this job's token for this merge request".into());
            }
        }
        let reference = &self.change.source.reference;
        let (base, head) =
            (reference.base_sha.clone().unwrap_or_default(), reference.head_sha.clone().unwrap_or_default());
        for (what, said, own) in [
            ("version", part.version.as_str(), crate::VERSION),
            ("commit", &part.head, &head),
            ("base", &part.base, &base),
            ("change", &part.change, &self.terms.change),
            ("policy (agent, model, settings)", &part.policy, &self.terms.policy),
        ] {
            if said != own {
                let (said, own) = (crate::error::clip(said, 12), crate::error::clip(own, 12));
                return Err(format!("it is of another {what}: {said}, and this job's is {own}"));
            }
        }
        if part.of != self.of {
            return Err(format!("it is one of {} parts, and this job posts {}", part.of, self.of));
        }
        let own: Vec<u32> = self.passes.division.part(part.part).into_iter().map(number).collect();
        let is_part = part.skip_reasons.is_empty() == part.outcome.is_some();
        if part.outcome.is_some() && part.passes != own || part.lost.iter().any(|pass| !own.contains(pass)) || !is_part
        {
            return Err("it does not hold the passes that it should".into());
        }
        Ok(())
    }
}

fn twice(part: &PartReview, one: &std::path::Path, other: &std::path::Path) -> Error {
    let message = format!("{} and {} are both part {} of {}", other.display(), one.display(), part.part, part.of);
    Error::Config(Failure::new(message).help("name each part once"))
}

/// The parts that count, and those that are missing.
struct Parts {
    of: u32,
    /// In their order.
    taken: Vec<PartReview>,
    /// Which, and why.
    lost: Vec<(u32, String)>,
    /// Folders that were not taken, and why, though nothing is missing without them.
    needless: Vec<String>,
}

impl Parts {
    /// Every pass of every part has an answer.
    fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.taken.iter().all(|part| part.lost.is_empty())
    }

    /// The parts that were reviewed.
    fn numbers(&self) -> Vec<u32> {
        self.taken.iter().filter(|part| part.outcome.is_some()).map(|part| part.part).collect()
    }

    fn context(&self) -> Option<ContextTotals> {
        let read = self.taken.iter().filter_map(|part| part.outcome.as_ref()?.context.clone());
        read.reduce(|one, other| ContextTotals {
            calls: one.calls + other.calls,
            refused: one.refused + other.refused,
            files: one.files + other.files,
            bytes: one.bytes + other.bytes,
            redactions: one.redactions + other.redactions,
        })
    }

    fn tell(&self, run: &Run) {
        run.events.emit(Event::PartsTaken {
            of: self.of,
            taken: self.taken.len() as u64,
            lost: self.lost.iter().map(|(number, _)| *number).collect(),
        });
        for why in &self.needless {
            run.events.emit(Event::Warning { message: format!("not taken: {why}") });
        }
        for (number, why) in &self.lost {
            run.survive(&lost(*number, self.of, why));
        }
    }

    /// A skip is all parts' or none's: what was reviewed is posted, unless it is in the merge request already.
    fn overrule(&self, decision: SkipDecision) -> SkipDecision {
        let is_final = |code: SkipCode| {
            matches!(code, SkipCode::SameFingerprint | SkipCode::SameChanges | SkipCode::NoDiff | SkipCode::AllIgnored)
        };
        let reviewed = self.taken.iter().any(|part| part.outcome.is_some());
        if reviewed && !decision.reasons.iter().any(|reason| is_final(reason.code)) {
            return SkipDecision { should_skip: false, reasons: Vec::new(), carried: None, ..decision };
        }
        let skipped = self.taken.iter().find(|part| part.passes.len() + part.skip_reasons.len() > 0);
        match skipped {
            Some(part) if !reviewed && !decision.should_skip && self.lost.is_empty() => {
                SkipDecision { should_skip: true, reasons: part.skip_reasons.clone(), ..decision }
            }
            _ => decision,
        }
    }

    /// Says what the missing parts and the failed passes held, and that nobody reviewed it.
    fn settle(&self, run: &Run, diff: &Diff<'_>, passes: &Passes, mut prepared: Prepared) -> Result<Prepared> {
        let held = |pass: usize| passes.division.passes.get(pass).map(|pass| pass.files.as_slice()).unwrap_or_default();
        for (part, _) in &self.lost {
            for pass in passes.division.part(*part) {
                prepared.lose(diff, held(pass), Loss::Part, &format!("part {part} of {} is missing", self.of));
            }
        }
        for pass in self.taken.iter().flat_map(|part| &part.lost) {
            let at = (*pass as usize).saturating_sub(1);
            prepared.lose(diff, held(at), Loss::Pass, &format!("pass {pass} failed"));
        }
        if !self.is_whole() {
            run.note(|progress| progress.coverage = prepared.report.coverage.clone());
            run.workdir.json(Artifact::Truncation, &prepared.report)?;
        }
        Ok(prepared)
    }

    /// The note of an earlier run that tells these parts, or more of them: a superset is news, nothing else is.
    fn told_already(
        &self,
        prior: &crate::threads::digest::Prior,
        change: &Change,
        own: Option<&crate::contracts::Claim>,
    ) -> Option<u64> {
        let (winner, own) = (prior.seen.winner()?, own?);
        let claim = &winner.claim;
        let same = claim.change == own.change && claim.policy == own.policy && claim.target == own.target;
        let here = change.source.reference.head_sha.as_ref() == Some(&claim.head);
        let told = self.numbers().iter().all(|part| claim.parts.contains(part));
        (!self.is_whole() && same && here && told && claim.delivered).then_some(winner.note)
    }

    /// Why the review is not whole.
    fn incomplete(&self) -> Error {
        let mut missing: Vec<String> = self.lost.iter().map(|(number, _)| format!("part {number}")).collect();
        let passes = self.taken.iter().flat_map(|part| part.lost.iter().map(move |pass| (pass, part.part)));
        missing.extend(passes.map(|(pass, part)| format!("pass {pass} of part {part}")));
        let missing = if missing.is_empty() { "part at all".to_owned() } else { missing.join(", ") };
        Error::AgentExec(
            Failure::new(format!("not all of the change was reviewed: of {} parts there is no {missing}", self.of))
                .retryable()
                .with("parts", self.of)
                .with("lost", self.lost.iter().map(|(number, _)| *number).collect::<Vec<_>>())
                .help("start the jobs of those parts again, and then this one: GitLab does not do that by itself"),
        )
    }
}

fn lost(number: u32, of: u32, why: &str) -> Error {
    Error::AgentExec(
        Failure::new(format!("part {number} of {of} was not reviewed: {why}"))
            .retryable()
            .with("part", number)
            .help("start its job again, and then the one that posts"),
    )
}
