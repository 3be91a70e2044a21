//! `diffsan explain`: every error, skip and check code, and each finding, in plain words.

use std::fmt::Write as _;

use crate::contracts::{CheckCode, ErrorCode, Finding, SkipCode};

/// What a code means and what to do about it.
#[derive(Debug, Clone, Copy)]
pub struct Explanation {
    /// The code as artifacts spell it.
    pub code: &'static str,
    /// What kind of code it is.
    pub kind: &'static str,
    pub meaning: &'static str,
    pub what_to_do: &'static str,
}

/// Every code, errors first.
pub fn all() -> Vec<Explanation> {
    let errors = ErrorCode::ALL.into_iter().map(error);
    let skips = SkipCode::ALL.into_iter().map(skip);
    let checks = CheckCode::ALL.into_iter().map(check);
    errors.chain(skips).chain(checks).collect()
}

/// The explanation of a code, however it is cased.
pub fn code(name: &str) -> Option<Explanation> {
    let name = name.trim().replace('-', "_");
    all().into_iter().find(|known| known.code.eq_ignore_ascii_case(&name))
}

/// A code for a person to read.
pub fn text(explanation: &Explanation) -> String {
    let Explanation { code, kind, meaning, what_to_do } = explanation;
    format!("{code} ({kind})\n\n{meaning}\n\nWhat to do: {what_to_do}\n")
}

/// A finding for a person to read.
pub fn finding(finding: &Finding) -> String {
    let mut text = format!("{} [{}/{}]\n", finding.finding_id, finding.category.name(), finding.severity.name());
    let lines = if finding.line_start == finding.line_end {
        finding.line_start.to_string()
    } else {
        format!("{}-{}", finding.line_start, finding.line_end)
    };
    let _ = writeln!(text, "{}:{lines}\n", finding.path);
    let _ = writeln!(text, "{}", finding.body_markdown.trim());
    if let Some(quote) = &finding.quote {
        let _ = writeln!(text, "\nThe line it is about:\n    {}", quote.trim());
    }
    if let Some(patch) = &finding.suggested_patch {
        let _ = writeln!(
            text,
            "\nA change that would fix it (`diffsan apply {}`):\n{}",
            finding.finding_id,
            patch.content.trim_end()
        );
    }
    if let Some(reason) = &finding.unplaced {
        let _ = writeln!(text, "\nIt has no place in the diff: {reason}");
    }
    super::plain::printable(&text)
}

fn error(code: ErrorCode) -> Explanation {
    let (meaning, what_to_do) = match code {
        ErrorCode::ConfigParseError => (
            "The configuration cannot be used: a file that is missing or is not TOML, an unknown key, a value of the \
             wrong type, or a workdir that cannot be written to. Nothing was fetched or sent. Exit code 2.",
            "Read the message: it names the file or variable, the key and the nearest known key. `diffsan config` \
             shows the merged configuration with the source of every value.",
        ),
        ErrorCode::DiffFetchFailed => (
            "The change under review could not be had: git is missing or failed, this is no repository, or a commit of \
             the merge request is neither here nor on the remote nor to be had from GitLab's API.",
            "Run `diffsan doctor` in the same job. In CI, check that the job runs in a merge request pipeline and may \
             fetch from the remote; GIT_STRATEGY must not be `none`.",
        ),
        ErrorCode::DiffParseFailed => (
            "The text that should be a diff is not one that adds up: a hunk whose lines do not match its header, a \
             combined diff, or something else altogether. diffsan refuses to guess.",
            "With --diff-file, make the file again with `git diff`. From git itself this is a defect: please report it \
             with diff.raw.patch.",
        ),
        ErrorCode::RedactionEngineFailed => (
            "The secret scanner could not be set up, usually because a pattern in secrets.extra_patterns or \
             secrets.allow_patterns is not a valid regular expression. Nothing was sent to the agent.",
            "Fix the pattern that the message quotes.",
        ),
        ErrorCode::GitlabFetchPriorFailed => (
            "What was said in the merge request before could not be read. The review goes on without it: it may repeat \
             earlier findings in its text, and an unchanged change is reviewed again.",
            "Usually nothing: it is a warning. If it stays, check that the token may read the merge request.",
        ),
        ErrorCode::AgentExecFailed => (
            "The agent did not run to an answer: its program is missing, it ended with an error or a signal, it took \
             longer than agent.timeout_seconds, or it wrote without end.",
            "Read agent.stderr.txt and agent.run.json. `diffsan doctor` checks that the agent is installed and has a \
             key. A larger agent.timeout_seconds helps where the model is slow.",
        ),
        ErrorCode::AgentOutputInvalid => (
            "The agent ended, but what it said is not a review: empty, refused, cut short or not of the required form, \
             also after it was asked again. Nothing was posted.",
            "Read agent.raw.txt for what it said and validation errors in agent.run.json. A smaller \
             limits.max_diff_chars or a stronger model usually helps; a retry may.",
        ),
        ErrorCode::FormatFailed => (
            "A result could not be rendered, or diffsan itself failed (the context then says `panic`).",
            "Please report it with run.json and events.jsonl.",
        ),
        ErrorCode::GitlabAuthError => (
            "GitLab refused the token, or there is none. This is found before the agent is paid for.",
            "Provide a project or group access token with scope `api` and at least the Reporter role in the variable \
             that gitlab.token_env names. A protected variable is empty in pipelines of unprotected branches, and \
             CI_JOB_TOKEN cannot write notes. Without any token, gitlab.enabled = false still gives the reports.",
        ),
        ErrorCode::GitlabPositionInvalid => (
            "GitLab refused to place a comment on a line. The finding was tried on the line, then on the file, and is \
             in the summary in full if both were refused.",
            "Nothing for the author of the change. If it happens often, please report it with post_plan.json and \
             post_results.json.",
        ),
        ErrorCode::GitlabPostFailed => (
            "Something could not be posted: the summary note or at least one discussion. post_results.json has every \
             outcome.",
            "`diffsan post WORKDIR` finishes what is left: no agent runs, and nothing appears twice.",
        ),
        ErrorCode::ArtifactWriteFailed => (
            "A file could not be written to the workdir, usually because the disk is full.",
            "Free some space or point --workdir at another file system, then run again.",
        ),
        ErrorCode::ApplyFailed => (
            "`diffsan apply` could not make a suggested change: the file is not as it was when it was reviewed, or the \
             finding has no change to apply. Nothing was changed.",
            "Review again, or make the change by hand; `diffsan explain ID` shows it.",
        ),
        ErrorCode::Interrupted => (
            "The run was told to stop: a cancelled job, a job timeout or Ctrl-C. The agent was ended with it. Exit code \
             130 (SIGINT) or 143 (SIGTERM).",
            "Run it again. What was posted before is found and not posted twice.",
        ),
    };
    Explanation { code: code.name(), kind: "error", meaning, what_to_do }
}

fn skip(code: SkipCode) -> Explanation {
    let (meaning, what_to_do) = match code {
        SkipCode::AutoMerge => (
            "The merge request is set to merge by itself once its pipeline succeeds, so nobody waits for a review.",
            "Set skip.skip_on_auto_merge = false to review it all the same.",
        ),
        SkipCode::SameFingerprint => (
            "Exactly this change was reviewed before, and the summary of that review is in the merge request.",
            "Set skip.skip_on_same_fingerprint = false to review it again.",
        ),
        SkipCode::NoDiff => ("There is no change to review.", "Check the base: --base, --staged and --unstaged."),
        SkipCode::AllIgnored => (
            "Every changed file is ignored by truncation.ignore_globs or truncation.include_extensions.",
            "Change those settings if the files deserve a review.",
        ),
        SkipCode::Draft => ("The merge request is a draft.", "Mark it as ready, or set skip.skip_on_draft = false."),
        SkipCode::Label => {
            ("The merge request carries a label of skip.skip_labels.", "Remove the label, or change skip.skip_labels.")
        }
        SkipCode::SameChanges => (
            "The same change was reviewed before a rebase: every path, mode and line of it is the same, and so is the policy. \
             The verdict of that review holds.",
            "Set skip.skip_on_same_fingerprint = false to review it again.",
        ),
        SkipCode::Author => ("The author is one of skip.skip_authors.", "Change skip.skip_authors."),
        SkipCode::Title => ("The title matches one of skip.skip_titles.", "Change the title, or skip.skip_titles."),
        SkipCode::Branch => ("The source branch matches one of skip.skip_branches.", "Change skip.skip_branches."),
        SkipCode::EmptyPart => (
            "The change is too small for that many parts: other parts review all of it, and this one cost nothing.",
            "Nothing; the job that posts knows of it.",
        ),
    };
    Explanation { code: code.name(), kind: "skip", meaning, what_to_do }
}

fn check(code: CheckCode) -> Explanation {
    const NOTHING: &str = "Nothing: it is recorded in validation.json.";
    let (meaning, what_to_do) = match code {
        CheckCode::Duplicate => ("The answer has the same finding twice; one was dropped.", NOTHING),
        CheckCode::EmptyBody => ("The finding says nothing, so it was rejected.", NOTHING),
        CheckCode::PathOutside => {
            ("The finding names a path outside the repository; it is in the summary without a place.", NOTHING)
        }
        CheckCode::PathNormalised => ("The path was written differently and is now as the diff names it.", NOTHING),
        CheckCode::FileNotInDiff => (
            "The change does not touch the file that the finding names, so it cannot stand on a line.",
            "Read it in the summary and judge whether the change causes it.",
        ),
        CheckCode::LineNotInDiff => (
            "The diff does not contain the lines that the finding names, so it cannot stand on them.",
            "Read it in the summary.",
        ),
        CheckCode::LineImpossible => ("The line numbers cannot be: zero, negative or beyond any file.", NOTHING),
        CheckCode::RangeAdjusted => ("The range of lines was reversed or too long and was put right.", NOTHING),
        CheckCode::LineCorrected => ("The quoted line stands at another number; the number was corrected.", NOTHING),
        CheckCode::QuoteNotFound => (
            "The line that the finding quotes is nowhere in the diff; the finding lost its place.",
            "Be wary of this finding: the agent may have made the line up.",
        ),
        CheckCode::QuoteAmbiguous => ("The quoted line stands in several places; the nearest was taken.", NOTHING),
        CheckCode::AnchorNotFound => (
            "The change block that the finding cites does not exist; the finding lost its place.",
            "Be wary of this finding.",
        ),
        CheckCode::AnchorMismatch => {
            ("The change block that the finding cites belongs to another file or place.", NOTHING)
        }
        CheckCode::NotAnchored => (
            "The finding cites and quotes nothing in the diff; with review.anchoring = \"strict\" it is rejected.",
            "Use review.anchoring = \"advisory\" to keep such findings in the summary.",
        ),
        CheckCode::Refuted => (
            "A second look at the code disproved the finding; nobody is shown it.",
            "Read the evidence in validation.json if you doubt it; review.second_look = \"off\" takes no second look.",
        ),
        CheckCode::Trivial => (
            "A second look found that the finding is so, but that nobody would act on it; nobody is shown it.",
            NOTHING,
        ),
        CheckCode::NotConfirmed => (
            "The second look failed, or refuted the finding with a line that does not exist; the finding stays.",
            "Judge it yourself: it was seen by one reviewer only.",
        ),
        CheckCode::IdDerived => ("diffsan 0.1.0 derived an id, since the agent's own was malformed or taken.", NOTHING),
    };
    Explanation { code: code.name(), kind: "check", meaning, what_to_do }
}
