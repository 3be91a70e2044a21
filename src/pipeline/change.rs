//! The change without its secrets, and the part of it that fits.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{Request, chars};
use crate::contracts::{
    Anchors, DiffBundle, DiffSource, FileEntry, Fingerprint, RawDiff, RedactionMatch, RedactionReport, Side,
};
use crate::diff::fetch::Fetched;
use crate::diff::git::Git;
use crate::diff::{Diff, FileDiff, FileStatus, attributes};
use crate::error::{Error, Failure, Result};
use crate::policy;
use crate::prepare::{self, Prepared, Rules};
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
}

pub(super) fn redact(run: &Run, request: &Request, fetched: Fetched) -> Result<Change> {
    run.stage("redact");
    let Fetched { raw, source, .. } = fetched;
    let fingerprint = Fingerprint { algo: "sha256".into(), value: hex(&Sha256::digest(&raw)) };
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
    Ok(Change { fingerprint, source, text: redaction.bytes.to_text(), redaction: report })
}

pub(super) fn parse(text: &[u8]) -> Result<Diff<'_>> {
    Diff::parse(text).map_err(|error| parse_error(&error))
}

pub(super) fn parse_error(error: &crate::diff::ParseError) -> Error {
    Error::DiffParse(
        Failure::new(format!("the diff does not add up: {error}"))
            .with("line", error.line)
            .help("make the diff again with `git diff`; combined diffs (of merges) are not supported"),
    )
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

/// What the agent is shown, and what it is not.
pub(super) async fn prepare(
    run: &Run,
    request: &Request,
    change: &Change,
    diff: &Diff<'_>,
) -> Result<(Prepared, Anchors)> {
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
    let rules = Rules::new(&config.limits, &config.truncation, marks);
    let mut prepared = prepare::prepare(change.text.as_str(), diff, &rules).map_err(|error| {
        request.loaded.invalid("truncation.ignore_globs", &error.to_string(), "fix or remove the glob")
    })?;
    // The prompt is scanned as a whole later; scanning its diff by itself first keeps the two equal.
    prepared.text = run.engine.redact(Output::Prompt, &prepared.text).into_string();
    let progress = run.progress();
    prepared.add_unavailable(&progress.unavailable, progress.incomplete.as_deref());
    let anchors = prepared.anchors(diff);
    run.note(|progress| progress.coverage = prepared.report.coverage.clone());
    run.workdir.text(Artifact::PreparedDiff, &run.engine.redact(Output::Artifact, &prepared.text))?;
    run.workdir.json(Artifact::Truncation, &prepared.report)?;
    run.workdir.json(Artifact::Anchors, &anchors)?;
    run.events.emit(Event::DiffPrepared {
        final_chars: prepared.report.final_chars,
        truncated: prepared.report.truncated,
        redaction_found: change.redaction.found,
        secrets: change.redaction.matches.len() as u64,
        files: prepared.report.final_files,
        ignored: prepared.report.ignored_total,
    });
    Ok((prepared, anchors))
}
