//! How a run ended: the canonical summary, its error and its verdict.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::config::Level;
use super::context::ContextTotals;
use super::diff::Coverage;
use super::prior::SkipReason;
use super::review::{Fingerprint, Severity, TokenUsage};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// The run did what it was asked to, or skipped for a good reason.
    pub ok: bool,
    /// No review was due.
    pub skipped: bool,
    /// Why no review was due.
    pub skip_reasons: Vec<SkipReason>,
    /// Fingerprint of the change; null when the run ended before there was one.
    pub fingerprint: Option<Fingerprint>,
    /// Why the run failed; null when it did not.
    pub error: Option<ErrorInfo>,
    /// Where to find what the run left.
    pub artifacts: Option<RunArtifacts>,
    /// Version of diffsan.
    #[serde(default)]
    pub version: String,
    /// Id of this run, the same in each of its events.
    #[serde(default)]
    pub run_id: String,
    /// The process's exit code.
    #[serde(default)]
    pub exit_code: u8,
    /// Stage the run ended in.
    #[serde(default)]
    pub stage: Option<String>,
    /// Milliseconds from start to end.
    #[serde(default)]
    pub duration_ms: u64,
    /// What it means, for people and scripts.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// Problems that did not end the run.
    #[serde(default)]
    pub diagnostics: Vec<ErrorInfo>,
    /// Which outputs the secret scanner covered, and what it replaced there: counts only.
    #[serde(default)]
    pub privacy_audit: Option<PrivacyAudit>,
    /// What the agent reported it used.
    #[serde(default)]
    pub token_usage: Option<TokenUsage>,
    /// Where it ran; null outside a GitLab job.
    #[serde(default)]
    pub web: Option<RunWeb>,
    /// What a local review compared with what, and what it left out, in words; null in CI.
    #[serde(default)]
    pub compared: Option<String>,
    /// Who decided the settings; null when the run ended before that was known.
    #[serde(default)]
    pub policy: Option<PolicyRecord>,
    /// Files that stand for content that is not in the change (submodules, Git LFS): nobody reviewed it.
    #[serde(default)]
    pub elsewhere: Vec<ContentElsewhere>,
    /// Which part of a review it was; absent when it was all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOf>,
}

/// One part of a review that several jobs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartOf {
    /// Counts from 1.
    pub part: u32,
    /// How many there are.
    pub of: u32,
}

/// A file that stands for content that is not in the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentElsewhere {
    pub path: String,
    /// What it is, in words.
    pub reason: String,
}

/// Where a job's run can be looked at in GitLab.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunWeb {
    /// The project that has the reviewed commit.
    pub project_url: Option<String>,
    /// The merge request.
    pub merge_request_url: Option<String>,
    /// The job.
    pub job_url: Option<String>,
}

/// Who decided the settings of a run, and what the change would change about that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyRecord {
    pub source: PolicySource,
    /// The file of settings that was read; null: only defaults, variables and flags.
    pub file: Option<String>,
    /// The commit that the file and what it names were read from.
    pub commit: Option<String>,
    /// The branch whose newest commit that was.
    pub branch: Option<String>,
    /// How it was read: `git` or `api`.
    pub via: Option<String>,
    /// Keys and files of the policy that the change sets differently: they take effect once merged.
    #[serde(default)]
    pub pending: Vec<String>,
    /// Files that guard the project and that the change touches.
    #[serde(default)]
    pub guards_touched: Vec<String>,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicySource {
    /// The target branch, through the policy commit.
    Target,
    /// The job: a file that it names or wrote.
    Job,
    /// The user of this machine.
    Local,
}

/// Where to find what a run left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunArtifacts {
    /// The folder.
    pub workdir: String,
    /// The prompt, when one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The agent's answer, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<String>,
    /// The review, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// Every file this run wrote.
    #[serde(default)]
    pub files: Vec<String>,
}

/// Which outputs the secret scanner covered, and what it replaced there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrivacyAudit {
    /// Output, then rule, then number of replacements; a covered output without any has an empty map.
    pub outputs: BTreeMap<String, BTreeMap<String, u64>>,
    /// Replacements in all.
    pub replacements: u64,
    /// What the agent read beyond the change; not there when it had no tools for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextTotals>,
}

/// Why a run failed, or what went wrong on the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorInfo {
    /// Stable name of the failure.
    pub error_code: ErrorCode,
    /// What was being done, to what, and why it failed.
    pub message: String,
    /// The same run may succeed later without any change.
    pub retryable: bool,
    /// Facts about it.
    pub context: Map<String, Value>,
    /// The chain of causes, clipped and with secrets removed.
    pub cause: Option<String>,
    /// What to do next.
    #[serde(default)]
    pub help: Option<String>,
}

/// Stable names of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The configuration cannot be used.
    ConfigParseError,
    /// The change could not be had.
    DiffFetchFailed,
    /// The change is not a diff that adds up.
    DiffParseFailed,
    /// The secret scanner could not be set up; nothing was sent.
    RedactionEngineFailed,
    /// Earlier notes could not be read; the run went on without them.
    GitlabFetchPriorFailed,
    /// The agent did not run to an answer.
    AgentExecFailed,
    /// The agent's answer is not a review.
    AgentOutputInvalid,
    /// A result could not be rendered, or diffsan itself failed.
    FormatFailed,
    /// GitLab refused the token, or there is none.
    GitlabAuthError,
    /// GitLab refused a position.
    GitlabPositionInvalid,
    /// Something could not be posted.
    GitlabPostFailed,
    /// An artifact could not be written.
    ArtifactWriteFailed,
    /// A suggested change does not fit the files any more.
    ApplyFailed,
    /// The run was told to stop.
    Interrupted,
}

impl ErrorCode {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::ConfigParseError,
        Self::DiffFetchFailed,
        Self::DiffParseFailed,
        Self::RedactionEngineFailed,
        Self::GitlabFetchPriorFailed,
        Self::AgentExecFailed,
        Self::AgentOutputInvalid,
        Self::FormatFailed,
        Self::GitlabAuthError,
        Self::GitlabPositionInvalid,
        Self::GitlabPostFailed,
        Self::ArtifactWriteFailed,
        Self::ApplyFailed,
        Self::Interrupted,
    ];

    /// The name as the contract spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConfigParseError => "CONFIG_PARSE_ERROR",
            Self::DiffFetchFailed => "DIFF_FETCH_FAILED",
            Self::DiffParseFailed => "DIFF_PARSE_FAILED",
            Self::RedactionEngineFailed => "REDACTION_ENGINE_FAILED",
            Self::GitlabFetchPriorFailed => "GITLAB_FETCH_PRIOR_FAILED",
            Self::AgentExecFailed => "AGENT_EXEC_FAILED",
            Self::AgentOutputInvalid => "AGENT_OUTPUT_INVALID",
            Self::FormatFailed => "FORMAT_FAILED",
            Self::GitlabAuthError => "GITLAB_AUTH_ERROR",
            Self::GitlabPositionInvalid => "GITLAB_POSITION_INVALID",
            Self::GitlabPostFailed => "GITLAB_POST_FAILED",
            Self::ArtifactWriteFailed => "ARTIFACT_WRITE_FAILED",
            Self::ApplyFailed => "APPLY_FAILED",
            Self::Interrupted => "INTERRUPTED",
        }
    }
}

/// What a run means: one deterministic projection for people and scripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub decision: Decision,
    /// The result in one line.
    pub headline: String,
    pub counts: VerdictCounts,
    /// What of the change was shown to the agent.
    pub coverage: Coverage,
    pub gate: Gate,
    /// The exit code is not 0.
    pub would_fail_ci: bool,
    /// The one thing to do next.
    pub first_next_action: NextAction,
}

/// What a run decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The whole change was reviewed and nothing was found.
    Passed,
    /// There are findings, or changes of what guards the project, to look at.
    ReviewRequired,
    /// Nothing was found, but part of the change was not reviewed.
    InsufficientEvidence,
    /// The gate says no.
    Blocked,
    /// No review was due.
    Skipped,
    /// The run failed.
    Unknown,
}

/// Findings by severity and by place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictCounts {
    /// Findings that hold.
    pub findings: u64,
    /// Findings that hold, by severity.
    pub by_severity: BTreeMap<String, u64>,
    /// On a line of the merge request.
    pub inline: u64,
    /// In the summary only.
    pub summary: u64,
    /// Did not hold.
    pub rejected: u64,
    /// Said by an earlier run already.
    pub repeated: u64,
    /// Found by an earlier run, not again by this one, and still standing; among `findings`.
    #[serde(default)]
    pub standing: u64,
    /// Refused by a person.
    #[serde(default)]
    pub dismissed: u64,
    /// Looked at a second time and dropped.
    #[serde(default)]
    pub dropped: u64,
}

/// Whether findings stop the pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Lowest severity that does.
    pub fail_on: Option<Severity>,
    pub status: GateStatus,
    /// The exit code follows the status.
    pub enforced: bool,
}

/// State of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    /// No gate is configured.
    Off,
    /// No finding is severe enough.
    Open,
    /// At least one finding is, or part of the change was not reviewed.
    Closed,
    /// There is no review to judge.
    NotEvaluated,
}

/// The one thing to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextAction {
    /// Who: `author`, `reviewer`, `maintainer` or `nobody`.
    pub actor: String,
    /// What kind of action.
    pub kind: String,
    /// The command to run, where there is one.
    pub command: Option<String>,
    /// Why.
    pub why: String,
}

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    /// RFC 3339, UTC.
    pub ts: String,
    pub level: Level,
    /// Name of the event.
    pub event: String,
    /// Facts about it.
    pub data: Map<String, Value>,
    /// Id of the run.
    #[serde(default)]
    pub run_id: String,
    /// Counts from 0 within a run.
    #[serde(default)]
    pub seq: u64,
    /// Version of this format.
    #[serde(default)]
    pub schema_version: u32,
}
