//! What GitLab's runner says about the pipeline, as far as diffsan reads it.

use super::{Environment, Token};

/// The CI variables of a job; everything is optional, since jobs differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CiContext {
    /// Project the merge request belongs to (`CI_MERGE_REQUEST_PROJECT_ID`), else the pipeline's.
    pub project_id: Option<String>,
    pub mr_iid: Option<u64>,
    pub commit_sha: Option<String>,
    /// Set in merged-results and merge-train pipelines only.
    pub source_branch_sha: Option<String>,
    pub target_branch_sha: Option<String>,
    pub diff_base_sha: Option<String>,
    pub source_branch: Option<String>,
    pub target_branch: Option<String>,
    /// `detached`, `merged_result` or `merge_train`.
    pub event_type: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub labels: Vec<String>,
    pub draft: Option<bool>,
    pub api_v4_url: Option<String>,
    pub server_url: Option<String>,
    /// PEM bundle of the server's roots.
    pub ca_file: Option<String>,
    pub job_timeout_seconds: Option<u64>,
    /// RFC 3339.
    pub job_started_at: Option<String>,
    pub job_url: Option<String>,
    pub pipeline_url: Option<String>,
    pub project_dir: Option<String>,
    /// Carries the job token: never to be printed.
    pub repository_url: Option<String>,
    pub default_branch: Option<String>,
    /// Branch of a branch pipeline; merge request pipelines have none.
    pub branch: Option<String>,
    pub source_project_id: Option<String>,
    /// The pipeline's project, which for a fork's pipeline is the fork.
    pub pipeline_project_id: Option<String>,
    /// Web address of the merge request's target project.
    pub target_project_url: Option<String>,
    /// Web address of the pipeline's project.
    pub project_url: Option<String>,
    /// GitLab protects the target branch; none where it does not say.
    pub target_protected: Option<bool>,
    /// The file that defines the pipeline, where it is not `.gitlab-ci.yml`.
    pub config_path: Option<String>,
    /// Reads repositories that the job may read: never to be printed.
    pub job_token: Option<Token>,
    /// This is a job of GitLab CI.
    pub is_gitlab: bool,
    /// The job's log shows colours and folds sections, and nobody asked it not to.
    pub log_has_colour: bool,
}

impl CiContext {
    pub fn from_env(env: &Environment) -> Self {
        let text = |name: &str| env.get(name).map(str::to_owned);
        let number = |name: &str| env.get(name).and_then(|value| value.trim().parse().ok());
        let labels = env.get("CI_MERGE_REQUEST_LABELS").unwrap_or_default();
        Self {
            project_id: text("CI_MERGE_REQUEST_PROJECT_ID").or_else(|| text("CI_PROJECT_ID")),
            mr_iid: number("CI_MERGE_REQUEST_IID"),
            commit_sha: text("CI_COMMIT_SHA"),
            source_branch_sha: text("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"),
            target_branch_sha: text("CI_MERGE_REQUEST_TARGET_BRANCH_SHA"),
            diff_base_sha: text("CI_MERGE_REQUEST_DIFF_BASE_SHA"),
            source_branch: text("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
            target_branch: text("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
            event_type: text("CI_MERGE_REQUEST_EVENT_TYPE"),
            title: text("CI_MERGE_REQUEST_TITLE"),
            description: text("CI_MERGE_REQUEST_DESCRIPTION"),
            labels: labels.split(',').map(str::trim).filter(|label| !label.is_empty()).map(str::to_owned).collect(),
            draft: env.get("CI_MERGE_REQUEST_DRAFT").map(|value| value == "true"),
            api_v4_url: text("CI_API_V4_URL"),
            server_url: text("CI_SERVER_URL"),
            ca_file: text("CI_SERVER_TLS_CA_FILE"),
            job_timeout_seconds: number("CI_JOB_TIMEOUT"),
            job_started_at: text("CI_JOB_STARTED_AT"),
            job_url: text("CI_JOB_URL"),
            pipeline_url: text("CI_PIPELINE_URL"),
            project_dir: text("CI_PROJECT_DIR"),
            repository_url: text("CI_REPOSITORY_URL"),
            default_branch: text("CI_DEFAULT_BRANCH"),
            branch: text("CI_COMMIT_BRANCH"),
            source_project_id: text("CI_MERGE_REQUEST_SOURCE_PROJECT_ID"),
            pipeline_project_id: text("CI_PROJECT_ID"),
            target_project_url: text("CI_MERGE_REQUEST_PROJECT_URL"),
            project_url: text("CI_PROJECT_URL"),
            target_protected: env.get("CI_MERGE_REQUEST_TARGET_BRANCH_PROTECTED").map(|value| value == "true"),
            config_path: text("CI_CONFIG_PATH"),
            job_token: env.get("CI_JOB_TOKEN").map(Token::new),
            is_gitlab: env.get("GITLAB_CI").is_some(),
            log_has_colour: env.get("GITLAB_CI").is_some()
                && env.get("NO_COLOR").is_none()
                && env.get("CLICOLOR") != Some("0"),
        }
    }
}
