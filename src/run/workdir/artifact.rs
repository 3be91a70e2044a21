//! The names of the files in a workdir.

use super::{PARTIAL, RESERVE};

/// Every file diffsan writes into its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Artifact {
    Run,
    Events,
    GitIgnore,
    RawDiff,
    PreparedDiff,
    Diff,
    Truncation,
    Redaction,
    Anchors,
    PriorDigest,
    Skip,
    Prompt,
    PromptAttempt(u32),
    AgentRequest,
    CodexSchema,
    CodexOutput,
    AgentRaw,
    AgentRawAttempt(u32),
    AgentStdoutAttempt(u32),
    AgentStderr,
    AgentStderrAttempt(u32),
    AgentRun,
    Context,
    Validation,
    Review,
    PartReview,
    Conversation,
    PostPlan,
    PostLedger,
    PostResults,
    Html,
    CodeQuality,
    Sarif,
    /// A file of one question of several.
    OfPart(Part, AgentFile),
}

/// Which question of a run a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The only one.
    Only,
    /// One pass of several, from 1.
    Pass(u32),
    /// The second look.
    Look,
    /// The second look, asked for again.
    LookAgain,
}

/// What is kept of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentFile {
    Prompt,
    PromptAttempt(u32),
    Request,
    CodexSchema,
    CodexOutput,
    Raw,
    RawAttempt(u32),
    StdoutAttempt(u32),
    Stderr,
    StderrAttempt(u32),
    Run,
}

impl Artifact {
    /// Every artifact, numbered ones by their first.
    pub const ALL: &[Self] = &[
        Self::Run,
        Self::Events,
        Self::GitIgnore,
        Self::RawDiff,
        Self::PreparedDiff,
        Self::Diff,
        Self::Truncation,
        Self::Redaction,
        Self::Anchors,
        Self::PriorDigest,
        Self::Skip,
        Self::Prompt,
        Self::PromptAttempt(1),
        Self::AgentRequest,
        Self::CodexSchema,
        Self::CodexOutput,
        Self::AgentRaw,
        Self::AgentRawAttempt(1),
        Self::AgentStdoutAttempt(1),
        Self::AgentStderr,
        Self::AgentStderrAttempt(1),
        Self::AgentRun,
        Self::Context,
        Self::Validation,
        Self::Review,
        Self::PartReview,
        Self::Conversation,
        Self::PostPlan,
        Self::PostLedger,
        Self::PostResults,
        Self::Html,
        Self::CodeQuality,
        Self::Sarif,
    ];

    /// A file of a question.
    pub fn asked(part: Part, file: AgentFile) -> Self {
        match part {
            Part::Only => file.alone(),
            part => Self::OfPart(part, file),
        }
    }

    /// The file's name.
    pub fn file_name(self) -> String {
        match self {
            Self::Run => "run.json".into(),
            Self::Events => "events.jsonl".into(),
            Self::GitIgnore => ".gitignore".into(),
            Self::RawDiff => "diff.raw.patch".into(),
            Self::PreparedDiff => "diff.prepared.patch".into(),
            Self::Diff => "diff.json".into(),
            Self::Truncation => "truncation.json".into(),
            Self::Redaction => "redaction.json".into(),
            Self::Anchors => "anchors.json".into(),
            Self::PriorDigest => "prior_digest.json".into(),
            Self::Skip => "skip.json".into(),
            Self::Prompt => "prompt.txt".into(),
            Self::PromptAttempt(n) => format!("prompt.attempt{n}.txt"),
            Self::AgentRequest => "agent.request.json".into(),
            Self::CodexSchema => "codex-output-schema.json".into(),
            Self::CodexOutput => "codex-output.json".into(),
            Self::AgentRaw => "agent.raw.txt".into(),
            Self::AgentRawAttempt(n) => format!("agent.raw.attempt{n}.txt"),
            Self::AgentStdoutAttempt(n) => format!("agent.stdout.attempt{n}.txt"),
            Self::AgentStderr => "agent.stderr.txt".into(),
            Self::AgentStderrAttempt(n) => format!("agent.stderr.attempt{n}.txt"),
            Self::AgentRun => "agent.run.json".into(),
            Self::Context => "context.jsonl".into(),
            Self::Validation => "validation.json".into(),
            Self::Review => "review.json".into(),
            Self::PartReview => "part.json".into(),
            Self::Conversation => "conversation.json".into(),
            Self::PostPlan => "post_plan.json".into(),
            Self::PostLedger => "post_ledger.jsonl".into(),
            Self::PostResults => "post_results.json".into(),
            Self::Html => "report.html".into(),
            Self::CodeQuality => "gl-code-quality-report.json".into(),
            Self::Sarif => "report.sarif".into(),
            Self::OfPart(part, file) => part.mark(&file.alone().file_name()),
        }
    }

    /// Whether a file of this name is one of diffsan's own.
    pub(super) fn owns(name: &str) -> bool {
        let name = &unmarked(name);
        Self::ALL.iter().any(|artifact| {
            let known = artifact.file_name();
            known == *name || numbered(&known, name)
        }) || name.strip_suffix(PARTIAL).is_some_and(Self::owns)
            || name == RESERVE
    }
}

impl AgentFile {
    /// Its name in a run with one question.
    fn alone(self) -> Artifact {
        match self {
            Self::Prompt => Artifact::Prompt,
            Self::PromptAttempt(n) => Artifact::PromptAttempt(n),
            Self::Request => Artifact::AgentRequest,
            Self::CodexSchema => Artifact::CodexSchema,
            Self::CodexOutput => Artifact::CodexOutput,
            Self::Raw => Artifact::AgentRaw,
            Self::RawAttempt(n) => Artifact::AgentRawAttempt(n),
            Self::StdoutAttempt(n) => Artifact::AgentStdoutAttempt(n),
            Self::Stderr => Artifact::AgentStderr,
            Self::StderrAttempt(n) => Artifact::AgentStderrAttempt(n),
            Self::Run => Artifact::AgentRun,
        }
    }
}

impl Part {
    /// `agent.raw.pass2.txt`, `agent.raw.pass2.attempt1.txt`, `prompt.look.txt`.
    fn mark(self, name: &str) -> String {
        let mark = match self {
            Self::Only => return name.to_owned(),
            Self::Pass(n) => format!(".pass{n}"),
            Self::Look => ".look".to_owned(),
            Self::LookAgain => ".look2".to_owned(),
        };
        let at = name.find(".attempt").or_else(|| name.rfind('.')).unwrap_or(name.len());
        format!("{}{mark}{}", &name[..at], &name[at..])
    }
}

/// A name without the mark of its part.
fn unmarked(name: &str) -> String {
    let is_mark = |part: &str| {
        matches!(part, "look" | "look2")
            || part.strip_prefix("pass").is_some_and(|n| !n.is_empty() && n.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let parts: Vec<&str> = name.split('.').collect();
    match parts.iter().position(|part| is_mark(part)) {
        Some(at) => [&parts[..at], &parts[at + 1..]].concat().join("."),
        None => name.to_owned(),
    }
}

/// `agent.raw.attempt1.txt` stands for every number.
fn numbered(known: &str, name: &str) -> bool {
    known.split_once('1').is_some_and(|(before, after)| {
        before.ends_with("attempt")
            && name
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_part_are_marked_with_it() {
        for (part, file, want) in [
            (Part::Only, AgentFile::Raw, "agent.raw.txt"),
            (Part::Pass(2), AgentFile::Raw, "agent.raw.pass2.txt"),
            (Part::Pass(2), AgentFile::RawAttempt(1), "agent.raw.pass2.attempt1.txt"),
            (Part::Look, AgentFile::Run, "agent.run.look.json"),
        ] {
            assert_eq!(Artifact::asked(part, file).file_name(), want);
        }
    }

    #[test]
    fn only_own_names_are_removed() {
        for (name, own) in [
            ("run.json", true),
            ("agent.raw.attempt12.txt", true),
            ("prompt.attempt3.txt", true),
            ("run.json.partial", true),
            (".reserve", true),
            ("agent.raw.attempt.txt", false),
            ("agent.raw.attemptX.txt", false),
            ("notes.txt", false),
            ("agent.raw.pass12.txt", true),
            ("agent.raw.pass2.attempt1.txt", true),
            ("prompt.look.attempt2.txt", true),
            ("agent.run.look.json", true),
            ("notes.pass1.txt", false),
            ("agent.raw.passX.txt", false),
            ("my.run.json", false),
            ("partial", false),
        ] {
            assert_eq!(Artifact::owns(name), own, "{name}");
        }
    }
}
