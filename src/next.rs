//! What to do next: a command that works from where the reader is, or words where no command helps.

use std::path::Path;

use crate::contracts::{Decision, ErrorCode, ErrorInfo, NextAction};
use crate::run::record::Progress;
use crate::verdict;

/// The step after a run that ended so.
pub fn action(decision: Decision, progress: &Progress, error: Option<&ErrorInfo>, workdir: &Path) -> NextAction {
    let next = |actor: &str, kind: &str, command: Option<String>, why: &str| NextAction {
        actor: actor.into(),
        kind: kind.into(),
        // A job's log is read in GitLab: there is no prompt to type a command at.
        command: command.filter(|_| !progress.in_job),
        why: why.into(),
    };
    let explain = progress.worst.as_ref().map(|id| at(&format!("diffsan explain {id}"), workdir));
    match decision {
        Decision::Passed | Decision::ReviewRequired | Decision::InsufficientEvidence if progress.part.is_some() => {
            next("nobody", "post_parts", None, "`diffsan post` of all parts merges them, judges and posts")
        }
        Decision::Passed => next("reviewer", "review", None, "nothing was found; a person still decides"),
        Decision::Skipped => next("nobody", "none", None, "no review was due"),
        Decision::ReviewRequired if progress.counts.findings == 0 => next(
            "reviewer",
            "review_guards",
            Some(format!("diffsan inspect {}", quoted(workdir))),
            "the change touches files that guard the project; a person decides about those",
        ),
        Decision::ReviewRequired if progress.in_job => {
            next("author", "read_findings", None, "fix each finding, or answer it in the merge request")
        }
        Decision::ReviewRequired => next("author", "read_findings", explain, "each finding needs a fix or an answer"),
        Decision::Blocked
            if !progress.fail_on.is_some_and(|bound| verdict::is_severe(&progress.counts.by_severity, bound)) =>
        {
            next(
                "author",
                "make_reviewable",
                Some(format!("diffsan inspect {}", quoted(workdir))),
                "part of the change was not reviewed and the gate is set; make the change smaller, or let a maintainer set \
             gate.on_partial",
            )
        }
        Decision::Blocked => {
            next("author", "fix_findings", explain, "what the gate stops at must be fixed, or answered and run again")
        }
        Decision::InsufficientEvidence => next(
            "reviewer",
            "review_rest",
            Some(format!("diffsan inspect {}", quoted(workdir))),
            "part of the change was not shown to the agent; the report lists it under \"Not reviewed\"",
        ),
        Decision::Unknown => match error {
            None if progress.dry_run => next("author", "read_prompt", None, "prompt.txt is what the agent would get"),
            None => next(
                "maintainer",
                "inspect",
                Some(format!("diffsan inspect {}", quoted(workdir))),
                "the run ended without a review",
            ),
            Some(error) => {
                let kind = if error.retryable { "retry" } else { "fix" };
                let why = error.help.as_deref().unwrap_or(&error.message);
                next("maintainer", kind, remedy(error, progress, workdir), why)
            }
        },
    }
}

/// The command that helps with a failure; none where the message is all there is to go by.
fn remedy(error: &ErrorInfo, progress: &Progress, workdir: &Path) -> Option<String> {
    let again = |command: &str, drop: &[&str]| {
        let args = progress.args.iter().filter(|arg| !drop.contains(&arg.as_str()));
        let words = args.map(|arg| shlex::try_quote(arg).map(|word| word.into_owned()).unwrap_or_default());
        [command.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
    };
    let no_merge_request = error.context.contains_key("missing_env");
    match error.error_code {
        // `config` and `doctor` would fail alike: the message names the file and the key.
        ErrorCode::ConfigParseError if error.help.as_deref().is_some_and(|help| help.contains("`diffsan trust`")) => {
            Some("diffsan trust".into())
        }
        ErrorCode::ConfigParseError | ErrorCode::RedactionEngineFailed => None,
        ErrorCode::DiffFetchFailed | ErrorCode::GitlabAuthError | ErrorCode::AgentExecFailed => {
            Some(again("diffsan doctor", &["--dry-run", "--no-post"]))
        }
        ErrorCode::GitlabPostFailed | ErrorCode::GitlabPositionInvalid if no_merge_request => {
            Some(again("diffsan review --no-ci", &["--ci"]))
        }
        ErrorCode::GitlabPostFailed | ErrorCode::GitlabPositionInvalid => {
            Some(format!("diffsan post {}", quoted(workdir)))
        }
        ErrorCode::Interrupted => Some(again("diffsan review", &[])),
        ErrorCode::DiffParseFailed
        | ErrorCode::GitlabFetchPriorFailed
        | ErrorCode::AgentOutputInvalid
        | ErrorCode::FormatFailed
        | ErrorCode::ArtifactWriteFailed
        | ErrorCode::ApplyFailed => Some(format!("diffsan inspect {}", quoted(workdir))),
    }
}

/// The command, with the folder where it is not the usual one.
fn at(command: &str, workdir: &Path) -> String {
    if workdir == Path::new(".diffsan") {
        command.to_owned()
    } else {
        format!("{command} --workdir {}", quoted(workdir))
    }
}

fn quoted(path: &Path) -> String {
    shlex::try_quote(&path.to_string_lossy()).map(|quoted| quoted.into_owned()).unwrap_or_default()
}
