//! The change without its secrets, and the part of it that fits.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::passes::Passes;
use super::{Request, chars};
use crate::contracts::{
    Anchors, DiffBundle, DiffSource, FileEntry, Fingerprint, RawDiff, RedactionMatch, RedactionReport, Side,
};
use crate::diff::fetch::Fetched;
use crate::diff::git::Git;
use crate::diff::{Diff, FileDiff, FileStatus, ParseReason, attributes};
use crate::error::{Error, Failure, Result};
use crate::passes::{self, Bounds, Shard};
use crate::policy;
use crate::prepare::{self, Prepared, Rules};
use crate::prompt;
use crate::redact::{self, Output, Redacted};
use crate::run::events::Event;
use crate::run::record::{Run, hex};
use crate::run::workdir::Artifact;

/// The change without its secrets, line for line.
pub(super) struct Change {
    pub(super) fingerprint: Fingerprint,
    pub(super) source: DiffSource,
    pub(super) text: Redacted,
    pub(super) redaction: RedactionReport,
    /// Hash of the change, wherever in the history it stands.
    pub(super) hash: String,
    /// The shape of the diff before anything was removed from it.
    shape: u64,
}

impl Change {
    /// The files, hunks and lines of the change: those it had before its secrets were removed.
    pub(super) fn diff(&self) -> Result<Diff<'_>> {
        let diff = parse(self.text.as_str().as_bytes())?;
        if diff.shape() == self.shape { Ok(diff) } else { Err(broken("the diff without its secrets")) }
    }
}

/// A patch that does not add up is not sent: a reader would take its lines for others.
fn broken(what: &str) -> Error {
    Error::Redaction(
        Failure::new(format!("{what} does not add up to the diff it was made of; nothing was sent"))
            .help("this is a bug in diffsan: please report it, with the shape of the change if you can"),
    )
}

/// The fingerprint of a diff as it came.
pub(super) fn fingerprint(raw: &[u8]) -> Fingerprint {
    Fingerprint { algo: "sha256".into(), value: hex(&Sha256::digest(raw)) }
}

pub(super) fn redact(run: &Run, request: &Request, fetched: Fetched) -> Result<Change> {
    run.stage("redact");
    let Fetched { raw, source, .. } = fetched;
    let fingerprint = fingerprint(&raw);
    run.note(|progress| progress.fingerprint = Some(fingerprint.clone()));
    // A diff that does not add up must not be shown as one, so it is read before anything is kept of it.
    let parsed = Diff::parse(&raw);
    let redaction = run.engine.redact_diff(&raw);
    match request.loaded.config.artifacts.raw_diff {
        RawDiff::Redacted => run.workdir.bytes(Artifact::RawDiff, &redaction.bytes)?,
        RawDiff::Raw => run.workdir.unredacted_diff(&raw)?,
        RawDiff::Off => {}
    }
    let diff = parsed.map_err(|error| parse_error(&error))?;
    let shape = diff.shape();
    let bundle = DiffBundle { source: source.clone(), files: diff.files.iter().map(entry).collect() };
    run.workdir.json(Artifact::Diff, &bundle)?;
    run.events.emit(Event::DiffFetched {
        chars: chars(&String::from_utf8_lossy(&raw)),
        files: diff.files.len() as u64,
        base_sha: source.reference.base_sha.clone(),
        head_sha: source.reference.head_sha.clone(),
        source: source.kind.clone(),
    });
    let report = RedactionReport {
        enabled: request.loaded.config.secrets.enabled,
        found: !redaction.matches.is_empty(),
        matches: redaction.matches.iter().map(found).collect(),
        redaction_token: redact::TOKEN.into(),
    };
    run.workdir.json(Artifact::Redaction, &report)?;
    let hash = crate::threads::change_hash(&diff);
    Ok(Change { fingerprint, source, text: redaction.bytes.into_text(), redaction: report, shape, hash })
}

fn parse(text: &[u8]) -> Result<Diff<'_>> {
    Diff::parse(text).map_err(|error| parse_error(&error))
}

pub(super) fn parse_error(error: &crate::diff::ParseError) -> Error {
    Error::DiffParse(Failure::new(format!("the diff does not add up: {error}")).with("line", error.line).help(
        match &error.reason {
            ParseReason::Unmerged { .. } => "resolve the merge conflict first (`git status` lists the files)",
            ParseReason::Combined => "a merge has no plain diff; make one with `git diff MERGE^1 MERGE`",
            _ => "make the diff again with `git diff`",
        },
    ))
}

pub(super) fn entry(file: &FileDiff<'_>) -> FileEntry {
    let moved = matches!(file.status, FileStatus::Renamed | FileStatus::Copied);
    FileEntry {
        path: file.path().to_owned(),
        old_path: moved.then(|| file.old_path.clone()),
        status: file.status.name().to_owned(),
        additions: file.additions.into(),
        deletions: file.deletions.into(),
        is_binary: file.is_binary,
    }
}

pub(super) fn found(secret: &redact::Match) -> RedactionMatch {
    RedactionMatch {
        pattern_name: secret.rule.clone(),
        path: secret.path.clone(),
        line_hint: secret.line,
        side: match secret.side {
            redact::Side::New => Side::New,
            redact::Side::Old => Side::Old,
        },
        match_sha256: secret.sha256.clone(),
        match_length: secret.chars as u64,
    }
}

/// How many jobs share a review, and whose passes are asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jobs {
    pub(super) of: u32,
    /// One part's, from 1; none: all of them.
    pub(super) own: Option<u32>,
}

impl Jobs {
    /// This job does it all, or its part.
    pub(super) fn of(shard: Option<Shard>) -> Self {
        Self { of: shard.map_or(1, Shard::of), own: shard.map(Shard::part) }
    }
}

/// What the agent is shown, and what it is not.
pub(super) async fn prepare(
    run: &Run,
    request: &Request,
    change: &Change,
    diff: &Diff<'_>,
    jobs: Jobs,
    reviewed: &[String],
) -> Result<(Prepared, Anchors, Passes)> {
    run.stage("prepare");
    let config = &request.loaded.config;
    let marks = match change.source.kind.as_str() {
        "git-diff" => {
            let git = Git::new(&request.current, &request.env);
            let is_job = policy::is_job(&request.args, &request.env);
            let judge = match request.loaded.policy.commit() {
                Some(commit) => attributes::Judge::Commit(commit),
                None if is_job => attributes::Judge::Nobody,
                None => attributes::Judge::Repository(&git),
            };
            attributes::marks(judge, diff).await
        }
        _ => BTreeMap::new(),
    };
    let rules = Rules {
        reviewed: crate::threads::old_hunks(diff, reviewed),
        ..Rules::new(&config.limits, &config.truncation, marks)
    };
    let bad_glob = |error: prepare::GlobError| {
        request.loaded.invalid("truncation.ignore_globs", &error.to_string(), "fix or remove the glob")
    };
    let bounds = Bounds {
        max_chars: rules.max_diff_chars,
        max_files: rules.max_files,
        max_passes: rules.max_passes,
        parts: jobs.of as usize,
    };
    let division = passes::divide(diff, &prepare::candidates(diff, &rules).map_err(bad_glob)?, &bounds);
    let own = jobs.own.map_or_else(|| (0..division.passes.len()).collect(), |part| division.part(part));
    let (mut prepared, texts) =
        prepare::prepare_passes(change.text.as_str(), diff, &rules, &division.only(&own)).map_err(bad_glob)?;
    // What was scanned before is only searched for values that were learned since.
    let texts = texts.into_iter().map(|text| run.engine.redact_scanned_diff(Output::Prompt, text));
    let mut texts: Vec<Redacted> = texts.collect();
    let whole = if texts.len() == 1 { texts.remove(0) } else { Redacted::concat(&texts) };
    run.workdir.text(Artifact::PreparedDiff, &whole)?;
    prepared.text = whole.into_string();
    if !prepared.adds_up(diff) {
        return Err(broken("the prepared diff"));
    }
    let progress = run.progress();
    prepared.add_unavailable(&progress.unavailable, progress.incomplete.as_deref());
    // What policy sets aside is not missed.
    run.note(|progress| progress.elsewhere.retain(|(path, _)| !prepared.report.ignored_paths.contains(path)));
    let anchors = prepared.anchors(diff);
    run.note(|progress| progress.coverage = prepared.report.coverage.clone());
    run.workdir.json(Artifact::Truncation, &prepared.report)?;
    let passes = Passes::new(division, own, texts);
    let shown = (0..passes.own.len()).map(|pass| passes.text(&prepared, pass));
    run.workdir.json(Artifact::Anchors, prompt::cited(shown, &anchors).as_ref().unwrap_or(&anchors))?;
    run.events.emit(Event::DiffPrepared {
        final_chars: prepared.report.final_chars,
        truncated: prepared.report.truncated,
        redaction_found: change.redaction.found,
        secrets: change.redaction.matches.len() as u64,
        files: prepared.report.final_files,
        ignored: prepared.report.ignored_total,
    });
    Ok((prepared, anchors, passes))
}
