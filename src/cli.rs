//! The command line: commands, flags, help; no logic.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::contracts::{AgentKind, Severity};
use crate::passes::{MOST_PARTS, Share};
use crate::run::console::ColourChoice;

/// Safe AI code review for GitLab merge requests, and for the branch on your laptop.
#[derive(Debug, Parser)]
#[command(name = "diffsan", version = crate::BUILD, about, propagate_version = true, args_conflicts_with_subcommands = true)]
#[command(after_help = "Without a command diffsan reviews: `diffsan` is `diffsan review`.\n\
    Exit codes: 0 done or skipped, 1 the run failed, 2 usage or configuration is wrong, \
    3 the gate says no, 130/143 interrupted.")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub review: ReviewArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Review a change: the merge request of this pipeline with --ci, else this branch.
    Review(ReviewArgs),
    /// Post, or finish posting, a review that is in a workdir, or in the folders of its parts: no agent runs, nothing
    /// appears twice.
    Post(PostArgs),
    /// Apply the suggested change of a finding to the working tree.
    Apply(ApplyArgs),
    /// Say what happened in a run and what to do next, from its artifacts alone.
    Inspect(InspectArgs),
    /// Write the reports of a run again from its workdir.
    Report(ReportArgs),
    /// Check everything a run needs, and spend nothing.
    Doctor(ReviewArgs),
    /// Write a commented .diffsan.toml and print the CI job to paste.
    Init(InitArgs),
    /// Print the merged configuration with the source of every value.
    Config(ConfigArgs),
    /// Show what the repository's settings would start or send where, and remember that you agree.
    Trust(TrustArgs),
    /// Print all a script needs to drive diffsan: commands, exit codes, artifacts, events, codes and keys, as JSON.
    Contract,
    /// Print the JSON Schema of an artifact, the config or the agent's answer; without a name, the list.
    Schema(SchemaArgs),
    /// Explain a finding of the last review, or an error, skip or check code.
    Explain(ExplainArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Print the manual page.
    #[command(hide = true)]
    Man,
    /// What an agent's program starts to reach the reading tools of the diffsan that started it.
    #[command(hide = true)]
    ContextBridge,
}

/// What `review` takes.
#[derive(Debug, Clone, Default, Args)]
pub struct ReviewArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Review the merge request of this CI pipeline.
    #[arg(long, overrides_with = "no_ci")]
    pub ci: bool,
    /// Review locally, whatever the configuration says.
    #[arg(long, overrides_with = "ci")]
    pub no_ci: bool,
    /// Base of a local review: everything on this branch that REV does not have.
    #[arg(long, value_name = "REV", conflicts_with_all = ["staged", "unstaged", "diff_file"])]
    pub base: Option<String>,
    /// Review what is staged.
    #[arg(long, conflicts_with_all = ["unstaged", "diff_file"])]
    pub staged: bool,
    /// Review what is changed but not staged.
    #[arg(long, conflicts_with = "diff_file")]
    pub unstaged: bool,
    /// Review files that git does not track yet, too.
    #[arg(long, conflicts_with_all = ["staged", "diff_file"])]
    pub untracked: bool,
    /// Review a unified diff from a file, or from stdin with `-`; needs no repository.
    #[arg(long, value_name = "PATH|-")]
    pub diff_file: Option<PathBuf>,
    /// The agent that reviews.
    #[arg(long, value_enum, ignore_case = true, value_name = "NAME")]
    pub agent: Option<AgentKind>,
    /// The model the agent should use.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// OpenAI-compatible endpoint for codex; its key is DIFFSAN_OPENAI_API_KEY.
    #[arg(long, value_name = "URL")]
    pub proxy_url: Option<String>,
    /// Do everything up to and including prompt.txt, then stop: no agent, nothing posted.
    #[arg(long)]
    pub dry_run: bool,
    /// Do everything but write to GitLab; post_plan.json says what would be written.
    #[arg(long)]
    pub no_post: bool,
    /// Review one part of the change into its own folder and post nothing; `diffsan post --parts N` merges the parts.
    /// `auto` takes the numbers of GitLab's `parallel` job.
    #[arg(long, value_name = "I/N|auto", conflicts_with_all = ["no_ci", "base", "staged", "unstaged", "untracked", "diff_file"])]
    pub shard: Option<Share>,
    /// Review only what lies below these paths: `diffsan -- src docs/api`.
    #[arg(last = true, value_name = "PATHS", conflicts_with = "diff_file")]
    pub paths: Vec<String>,
    /// Exit with 3 when a finding is at least this severe.
    #[arg(long, value_enum, ignore_case = true, value_name = "SEVERITY")]
    pub fail_on: Option<Severity>,
}

impl ReviewArgs {
    /// The flags that decide what is reviewed and by whom, as they would be typed again.
    pub fn words(&self) -> Vec<String> {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let switches = [
            ("--ci", self.ci),
            ("--no-ci", self.no_ci),
            ("--staged", self.staged),
            ("--unstaged", self.unstaged),
            ("--untracked", self.untracked),
            ("--dry-run", self.dry_run),
            ("--no-post", self.no_post),
        ];
        let values = [
            ("--base", self.base.clone()),
            ("--diff-file", self.diff_file.as_ref().map(path)),
            ("--agent", self.agent.map(|agent| agent.name().to_owned())),
            ("--model", self.model.clone()),
            ("--proxy-url", self.proxy_url.clone()),
            ("--fail-on", self.fail_on.map(|severity| severity.name().to_owned())),
            ("--shard", self.shard.map(|share| share.to_string())),
            ("--config", self.common.config.as_ref().map(path)),
            ("--workdir", self.common.workdir.as_ref().map(path)),
        ];
        let switches = switches.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag.to_owned());
        let values = values.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        let paths = if self.paths.is_empty() { Vec::new() } else { vec!["--".to_owned()] };
        switches.chain(values.flatten()).chain(paths).chain(self.paths.iter().cloned()).collect()
    }
}

/// What every command takes.
#[derive(Debug, Clone, Default, Args)]
pub struct CommonArgs {
    /// The configuration file; default: DIFFSAN_CONFIG_FILE, else .diffsan.toml here or at the repository's top.
    #[arg(long, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Folder for the artifacts of the run.
    #[arg(long, value_name = "DIR")]
    pub workdir: Option<PathBuf>,
    /// How results are printed; `json` and `markdown` make stdout one document and move event lines to stderr.
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    pub format: Format,
    /// Print debug events too.
    #[arg(short, long, action = ArgAction::SetTrue, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print errors and the result only.
    #[arg(short, long)]
    pub quiet: bool,
    /// When to use colours.
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "WHEN")]
    pub color: ColourChoice,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// Markdown.
    Markdown,
}

/// What `config` takes.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    #[command(flatten)]
    pub review: ReviewArgs,
}

/// What `trust` takes.
#[derive(Debug, Clone, Args)]
pub struct TrustArgs {
    /// Agree without being asked.
    #[arg(short, long, conflicts_with = "forget")]
    pub yes: bool,
    /// Take an earlier agreement back.
    #[arg(long)]
    pub forget: bool,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What `schema` takes.
#[derive(Debug, Clone, Args)]
pub struct SchemaArgs {
    /// Name of the schema.
    pub name: Option<String>,
}

/// What the commands about an earlier run take.
#[derive(Debug, Clone, Args)]
pub struct WorkdirArgs {
    /// Workdir of the run; default: the configured one.
    #[arg(value_name = "WORKDIR")]
    pub path: Option<PathBuf>,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What `post` takes.
#[derive(Debug, Clone, Args)]
pub struct PostArgs {
    /// Workdir of a finished review, or the folders of its parts; default: the configured workdir.
    #[arg(value_name = "WORKDIR")]
    pub paths: Vec<PathBuf>,
    /// Merge the parts that `review --shard I/N` left: N of them, in the workdir unless they are named.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PARTS)))]
    pub parts: Option<u32>,
    /// The agent that reviewed the parts.
    #[arg(long, value_enum, ignore_case = true, value_name = "NAME")]
    pub agent: Option<AgentKind>,
    /// The model that it was asked to use.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The endpoint that it was given.
    #[arg(long, value_name = "URL")]
    pub proxy_url: Option<String>,
    /// Merge the parts, judge and report, but write nothing to GitLab.
    #[arg(long)]
    pub no_post: bool,
    /// Exit with 3 when a finding of the review is at least this severe.
    #[arg(long, value_enum, ignore_case = true, value_name = "SEVERITY")]
    pub fail_on: Option<Severity>,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What `apply` takes.
#[derive(Debug, Clone, Args)]
pub struct ApplyArgs {
    /// Ids of findings of the last review, or beginnings of them.
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<String>,
    /// Only say whether the changes fit; no file is written.
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What `inspect` takes.
#[derive(Debug, Clone, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    pub run: WorkdirArgs,
    /// Say how a run stands that is still going, and do not wait for its end.
    #[arg(long)]
    pub no_follow: bool,
}

/// What `report` takes.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub run: WorkdirArgs,
    /// Write the empty code-quality report that merge requests are compared with; for the default branch.
    #[arg(long)]
    pub baseline: bool,
}

/// What `init` takes.
#[derive(Debug, Clone, Args)]
pub struct InitArgs {
    /// The agent to set up.
    #[arg(long, value_enum, ignore_case = true, value_name = "NAME")]
    pub agent: Option<AgentKind>,
    /// Replace an existing .diffsan.toml.
    #[arg(long)]
    pub force: bool,
    /// Print a job instead of the component's include.
    #[arg(long)]
    pub job: bool,
}

/// What `explain` takes.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// A finding's id, or a code such as AGENT_EXEC_FAILED; without it, the list of codes.
    #[arg(value_name = "WHAT")]
    pub what: Option<String>,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What `completions` takes.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
