//! The merged configuration: every key with its default.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::review::Severity;

/// The merged configuration of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AppConfig {
    /// Folder that receives every artifact of a run, relative to where diffsan was started.
    pub workdir: String,
    /// Time zone of timestamps in the summary note: `system-local`, `local`, `UTC`, an IANA name or an offset such as `+02:00`.
    pub note_timezone: String,
    pub mode: ModeConfig,
    pub limits: LimitsConfig,
    pub truncation: TruncationConfig,
    pub secrets: SecretsConfig,
    pub artifacts: ArtifactsConfig,
    pub skip: SkipConfig,
    pub agent: AgentConfig,
    pub context: ContextConfig,
    pub review: ReviewConfig,
    pub gate: GateConfig,
    pub policy: PolicyConfig,
    pub gitlab: GitlabConfig,
    pub logging: LoggingConfig,
}

impl Default for AppConfig {
    fn default() -> Self {
        Self {
            workdir: ".diffsan".into(),
            note_timezone: "system-local".into(),
            mode: ModeConfig::default(),
            limits: LimitsConfig::default(),
            truncation: TruncationConfig::default(),
            secrets: SecretsConfig::default(),
            artifacts: ArtifactsConfig::default(),
            skip: SkipConfig::default(),
            agent: AgentConfig::default(),
            context: ContextConfig::default(),
            review: ReviewConfig::default(),
            gate: GateConfig::default(),
            policy: PolicyConfig::default(),
            gitlab: GitlabConfig::default(),
            logging: LoggingConfig::default(),
        }
    }
}

/// Where diffsan runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModeConfig {
    /// Review the merge request of this CI pipeline; false reviews a branch locally.
    pub ci: bool,
    /// Base branch of a local review.
    pub base: Option<String>,
}

/// How much of a change the agent is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Most characters (Unicode scalar values) of diff in the prompt.
    pub max_diff_chars: NonZeroUsize,
    /// Most files in the prompt.
    pub max_files: NonZeroUsize,
    /// Most hunks of one file in the prompt.
    pub max_hunks_per_file: NonZeroUsize,
    /// Most prompts for one change; more than 1 reviews what does not fit instead of dropping it.
    pub max_passes: NonZeroUsize,
    /// Most passes under way at once; one by one where `agent.max_cost_usd` bounds the cost.
    pub parallel_passes: NonZeroUsize,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            max_diff_chars: positive(200_000),
            max_files: positive(60),
            max_hunks_per_file: positive(40),
            max_passes: positive(1),
            parallel_passes: positive(2),
        }
    }
}

/// Which files matter most, and which do not matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TruncationConfig {
    /// Files with these extensions come first in the prompt.
    pub priority_extensions: Vec<String>,
    /// Files with these extensions come last and are dropped first.
    pub depriority_extensions: Vec<String>,
    /// When set, files with any other extension are ignored.
    pub include_extensions: Option<Vec<String>>,
    /// Files that are never reviewed; `**/` also matches the repository's top.
    pub ignore_globs: Vec<String>,
}

impl Default for TruncationConfig {
    fn default() -> Self {
        Self {
            priority_extensions: strings(&[".py", ".js", ".ts", ".go", ".java", ".rb", ".php", ".rs"]),
            depriority_extensions: strings(&[".md", ".rst", ".txt", ".lock"]),
            include_extensions: None,
            ignore_globs: strings(&["docs/**", "**/*.generated.*"]),
        }
    }
}

/// The secret scanner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SecretsConfig {
    /// Scan for secrets by rule; values known to be secret in this run are removed either way.
    pub enabled: bool,
    /// Further regular expressions; the first capture group, else the whole match, is the secret.
    pub extra_patterns: Vec<String>,
    /// Say in the summary note how many secrets were found, where and of which kind.
    pub post_warning_to_mr: bool,
    /// Regular expressions of values that are known not to be secrets.
    pub allow_patterns: Vec<String>,
    /// Globs of files whose values are known not to be secrets.
    pub allow_paths: Vec<String>,
}

impl Default for SecretsConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            extra_patterns: Vec::new(),
            post_warning_to_mr: true,
            allow_patterns: Vec::new(),
            allow_paths: Vec::new(),
        }
    }
}

/// What the artifacts hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArtifactsConfig {
    /// What `diff.raw.patch` holds.
    pub raw_diff: RawDiff,
}

/// What `diff.raw.patch` holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RawDiff {
    /// The diff with its secrets replaced.
    #[default]
    Redacted,
    /// The diff as git gave it, secrets included.
    Raw,
    /// No such file.
    #[serde(alias = "none")]
    Off,
}

/// When no review is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SkipConfig {
    /// Skip merge requests that are set to merge by themselves.
    pub skip_on_auto_merge: bool,
    /// Skip a change that was reviewed already.
    pub skip_on_same_fingerprint: bool,
    /// Skip draft merge requests.
    pub skip_on_draft: bool,
    /// Skip merge requests that carry one of these labels.
    pub skip_labels: Vec<String>,
    /// Skip merge requests of these authors, by user name.
    pub skip_authors: Vec<String>,
    /// Skip merge requests whose title matches one of these regular expressions.
    pub skip_titles: Vec<String>,
    /// Skip merge requests whose source branch matches one of these globs.
    pub skip_branches: Vec<String>,
}

impl Default for SkipConfig {
    fn default() -> Self {
        Self {
            skip_on_auto_merge: true,
            skip_on_same_fingerprint: true,
            skip_on_draft: false,
            skip_labels: strings(&["skip-review"]),
            skip_authors: Vec::new(),
            skip_titles: Vec::new(),
            skip_branches: Vec::new(),
        }
    }
}

/// The program that reviews.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// Which agent reviews; unset: inferred from the other keys and from what is installed.
    pub agent: Option<AgentKind>,
    /// Command that starts cursor, split like a shell would.
    pub cursor_command: Option<String>,
    /// Command that starts codex, split like a shell would.
    pub codex_command: Option<String>,
    /// Command that starts claude, split like a shell would.
    pub claude_command: Option<String>,
    /// Command that starts gemini, split like a shell would.
    pub gemini_command: Option<String>,
    /// Command that starts opencode, split like a shell would.
    pub opencode_command: Option<String>,
    /// Command of the `command` agent: prompt on stdin, answer on stdout.
    pub command: Option<String>,
    /// OpenAI-compatible endpoint for codex; its key is `DIFFSAN_OPENAI_API_KEY`.
    pub proxy_url: Option<String>,
    /// Model handed to the agent; wins over one in a custom command.
    pub model: Option<String>,
    /// Attempts in all that an agent without structured output gets for a valid answer.
    pub max_json_retries: NonZeroUsize,
    /// Sentence that asks for a valid answer after an invalid one.
    pub json_repair_prompt: String,
    /// How much the review should say.
    pub verbosity: Verbosity,
    /// Review lenses: `security`, `performance`, `tests`, language names.
    pub skills: Vec<String>,
    /// File that replaces the prompt's role and guidance sections.
    pub prompt_template: Option<String>,
    /// Project guidance for the reviewer.
    pub custom_instructions: String,
    /// File with project guidance; comes before the inline text.
    pub custom_instructions_file: Option<String>,
    /// Names of environment variables that the agent may see beyond the allow-list.
    pub pass_env: Vec<String>,
    /// Seconds after which the agent is killed with its process group.
    pub timeout_seconds: NonZeroUsize,
    /// Seconds of silence after which an agent that reports progress is killed.
    pub idle_seconds: NonZeroUsize,
    /// How hard the model thinks, where the program has such a setting (codex, claude, opencode).
    pub effort: Effort,
    /// Most US dollars that one run may cost, all passes and looks together; known only as far as the agent's program
    /// tells its cost.
    pub max_cost_usd: Option<f64>,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            agent: None,
            cursor_command: None,
            codex_command: None,
            claude_command: None,
            gemini_command: None,
            opencode_command: None,
            command: None,
            proxy_url: None,
            model: None,
            max_json_retries: positive(3),
            json_repair_prompt: "Return ONLY valid JSON that matches the schema.".into(),
            verbosity: Verbosity::Medium,
            skills: Vec::new(),
            prompt_template: None,
            custom_instructions: String::new(),
            custom_instructions_file: None,
            pass_env: Vec::new(),
            timeout_seconds: positive(900),
            idle_seconds: positive(300),
            effort: Effort::High,
            max_cost_usd: None,
        }
    }
}

/// The agents diffsan can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// Cursor's CLI, `cursor-agent` or `agent`.
    Cursor,
    /// OpenAI's Codex CLI.
    Codex,
    /// Anthropic's Claude Code.
    Claude,
    /// Google's Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Any program: prompt on stdin, answer on stdout.
    Command,
    /// The deterministic offline checks; needs nothing installed.
    Builtin,
}

impl AgentKind {
    /// The name as the config spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cursor => "cursor",
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Command => "command",
            Self::Builtin => "builtin",
        }
    }
}

/// How hard a model thinks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// As the program or the model has it by itself; for models that refuse such a setting.
    Auto,
    /// Quick and shallow.
    Low,
    /// In between.
    Medium,
    /// Thorough.
    #[default]
    High,
    /// As hard as the program knows how.
    Max,
}

impl Effort {
    /// The name that programs know; none: nothing is said to them.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Low => Some("low"),
            Self::Medium => Some("medium"),
            Self::High => Some("high"),
            Self::Max => Some("max"),
        }
    }
}

/// How much the review should say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verbosity {
    /// Only what must be fixed.
    Low,
    /// What a careful colleague would say.
    #[default]
    Medium,
    /// Minor points too.
    High,
}

impl Verbosity {
    /// The name as the config spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What the agent may read of the code around the change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    /// Whether the agent gets tools that read the reviewed code: `auto` gives them to programs that can be sealed (codex,
    /// claude, gemini, opencode), `off` to none.
    pub tools: ContextTools,
    /// Most calls of the tools in one pass; 0 is `off`.
    pub max_calls: usize,
    /// Most bytes that the tools hand out in one pass; 0 is `off`.
    pub max_bytes: usize,
    /// Show the agent title and description of the issues that the merge request's description closes: this project's, and
    /// never confidential ones.
    pub issues: bool,
}

impl Default for ContextConfig {
    fn default() -> Self {
        Self { tools: ContextTools::Auto, max_calls: 60, max_bytes: 600_000, issues: true }
    }
}

/// Whether the agent gets reading tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContextTools {
    /// Where its program can be sealed with them.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Which findings reach the merge request, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewConfig {
    /// Findings below it stay in `review.json` and out of the merge request.
    pub min_severity: Severity,
    /// What happens to findings that cite or quote nothing in the diff.
    pub anchoring: Anchoring,
    /// Most inline discussions, worst first; the rest are folded in the summary.
    pub max_inline: usize,
    /// Lowest severity that asks for a second look: with one such finding the agent must confirm all of them before
    /// anyone sees them; `off` takes none.
    pub second_look: SecondLookFrom,
    /// Agent that takes the second look; unset: the one that reviews.
    pub second_agent: Option<AgentKind>,
    /// Language in which people are spoken to; unset: the agent's choice. Code, markers and codes stay as they are.
    pub language: Option<String>,
    /// The project's rules by path; a rule is in the prompt when the change touches its paths.
    pub rules: Vec<PathRule>,
}

/// A rule of the project for some paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PathRule {
    /// Globs of the files it is for.
    pub paths: Vec<String>,
    /// What it says.
    pub text: String,
    /// File that says it; comes before the text.
    pub file: Option<String>,
}

/// Which findings ask for a second look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecondLookFrom {
    /// None.
    Off,
    /// All of them.
    Info,
    /// Small flaws and worse.
    Low,
    /// Real flaws and worse.
    #[default]
    Medium,
    /// Wrong behaviour that users will meet, and worse.
    High,
    /// Data loss, security holes and outages.
    Critical,
}

impl SecondLookFrom {
    /// The lowest severity that does; none when it is off.
    pub fn severity(self) -> Option<Severity> {
        match self {
            Self::Off => None,
            Self::Info => Some(Severity::Info),
            Self::Low => Some(Severity::Low),
            Self::Medium => Some(Severity::Medium),
            Self::High => Some(Severity::High),
            Self::Critical => Some(Severity::Critical),
        }
    }
}

impl Default for ReviewConfig {
    fn default() -> Self {
        Self {
            min_severity: Severity::Info,
            anchoring: Anchoring::Advisory,
            max_inline: 10,
            second_look: SecondLookFrom::Medium,
            second_agent: None,
            language: None,
            rules: Vec::new(),
        }
    }
}

/// What happens to findings that cite or quote nothing in the diff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Anchoring {
    /// They are rejected.
    Strict,
    /// They lose their inline place.
    #[default]
    Advisory,
    /// Quotes and anchors are not looked at.
    Off,
}

/// When the job should say no.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GateConfig {
    /// Lowest severity that makes the run exit with 3.
    pub fail_on: Option<Severity>,
    /// What the gate says when part of the change was not reviewed.
    pub on_partial: OnPartial,
    /// Let skips that an author can cause (label, title, branch, draft, auto-merge) apply although a gate is set.
    pub allow_skips: bool,
}

/// What the gate says when part of the change was not reviewed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnPartial {
    /// It closes: nothing passes unseen.
    #[default]
    Fail,
    /// Only findings close it.
    Pass,
}

/// What guards the project itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// Further globs of files that guard the project: a change of them is never simply passed.
    pub trust_roots: Vec<String>,
}

/// The GitLab instance, project and merge request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitlabConfig {
    /// Talk to GitLab at all; false: no HTTP request, the summary goes to stdout.
    pub enabled: bool,
    /// Site root or `/api/v4` URL; `CI_API_V4_URL` wins when it is set.
    pub base_url: String,
    /// Numeric id or `group/project`; unset: `CI_MERGE_REQUEST_PROJECT_ID`, then `CI_PROJECT_ID`.
    #[serde(deserialize_with = "text_or_number")]
    #[schemars(with = "Option<TextOrNumber>")]
    pub project_id: Option<String>,
    /// Merge request number; unset: `CI_MERGE_REQUEST_IID`.
    pub mr_iid: Option<u64>,
    /// Name of the variable that holds the API token.
    pub token_env: String,
    /// Update the newest own summary note instead of writing a new one.
    pub idempotent_summary: bool,
    /// Marks diffsan's own summary notes: `[A-Za-z0-9._-]{1,64}`.
    pub summary_note_tag: String,
    /// Attempts in all for one request.
    pub retry_max: NonZeroUsize,
    /// PEM file with further root certificates; `CI_SERVER_TLS_CA_FILE` is used as well.
    pub ca_file: Option<String>,
    /// How long GitLab, and what stands in front of it, may still carry out a write that it did not answer, in seconds. A
    /// run that lost an answer waits for so long, where the job's time allows it, and removes what came double.
    pub settle_seconds: u64,
    /// `each`: comments appear one by one, each with its notification. `once`: all together, with one.
    pub notify: Notify,
    /// Resolve own threads that nobody answered, whose line is gone and whose fault the agent calls fixed.
    pub resolve_outdated: bool,
}

/// How comments are announced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// One by one.
    #[default]
    Each,
    /// All together, as draft notes that are published at once.
    Once,
}

impl Default for GitlabConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            base_url: "https://gitlab.com".into(),
            project_id: None,
            mr_iid: None,
            token_env: "GITLAB_TOKEN".into(),
            idempotent_summary: false,
            summary_note_tag: "ai-reviewer".into(),
            retry_max: positive(3),
            ca_file: None,
            settle_seconds: 150,
            notify: Notify::Each,
            resolve_outdated: true,
        }
    }
}

/// Console lines; `events.jsonl` is always complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoggingConfig {
    /// Lowest level that is printed.
    pub level: Level,
    /// `key=value` lines; false: sentences.
    pub structured: bool,
}

impl Default for LoggingConfig {
    fn default() -> Self {
        Self { level: Level::Info, structured: true }
    }
}

/// Level of an event, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The run, or a part of it, failed.
    Error,
    /// Something needs attention; the run goes on.
    Warn,
    /// What happened.
    Info,
    /// Details for debugging.
    Debug,
}

/// A text, or a number that is read as one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum TextOrNumber {
    Text(String),
    Number(u64),
}

fn text_or_number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<TextOrNumber>::deserialize(from)?.map(|value| match value {
        TextOrNumber::Text(text) => text,
        TextOrNumber::Number(number) => number.to_string(),
    }))
}

fn positive(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN)
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
