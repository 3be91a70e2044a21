//! GitLab's refusals in words that name the fix.

use super::TokenInfo;
use super::http::{Fate, Trouble};
use crate::error::{Error, Failure};

const TOKEN_HELP: &str = "Use a project, group or personal access token with scope `api` and at least the Reporter role \
     in the project (Developer to be safe), not expired and not revoked. CI_JOB_TOKEN cannot post comments. A protected \
     variable is empty in merge request pipelines: remove its protection or protect the branch.";

/// What a request was for: it decides the code of its failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Diff,
    Post,
}

/// A request that failed, in words and with its code.
pub(super) fn error(purpose: Purpose, what: &str, project: &str, trouble: &Trouble) -> Error {
    let mut failure = Failure::new(format!("could not {what}: {}", trouble.reason()));
    if let Some(status) = trouble.status {
        failure = failure.with("http_status", status);
    }
    if let Some(help) = help(project, trouble) {
        failure = failure.help(help);
    }
    if matches!(trouble.fate, Fate::Limited | Fate::Locked | Fate::Unsent | Fate::Lost) {
        failure = failure.retryable();
    }
    match (trouble.status, purpose) {
        (Some(401 | 403), _) => Error::GitlabAuth(failure),
        (Some(400), Purpose::Post) if trouble.is_position() => Error::GitlabPosition(failure),
        (_, Purpose::Read) => Error::GitlabPrior(failure),
        (_, Purpose::Diff) => Error::DiffFetch(failure),
        (_, Purpose::Post) => Error::GitlabPost(failure),
    }
}

/// The run needs a token and the variable it should be in is empty.
pub fn missing_token(names: &[&str]) -> Error {
    let names = names.join(" or ");
    let failure = Failure::new(format!("there is no GitLab token: {names} is empty or not set"));
    Error::GitlabAuth(failure.with("missing_env", names).help(TOKEN_HELP))
}

/// The token answers, but could never post.
pub(super) fn weak_token(info: &TokenInfo) -> Error {
    let message = match info.active {
        true => format!("the GitLab token has the scopes [{}] and needs `api` to post", info.scopes.join(", ")),
        false => "the GitLab token is expired or revoked".to_owned(),
    };
    Error::GitlabAuth(Failure::new(message).with("scopes", info.scopes.clone()).help(TOKEN_HELP))
}

impl Trouble {
    /// GitLab refused the position, not the comment.
    pub fn is_position(&self) -> bool {
        self.status == Some(400) && (self.words.contains("line_code") || self.words.contains("position"))
    }

    /// The merge request has as many comments as GitLab allows.
    pub fn is_note_limit(&self) -> bool {
        self.status == Some(400) && self.words.contains("Maximum number of comments")
    }

    /// No other request of this token to this merge request would fare better.
    pub fn is_final(&self) -> bool {
        matches!(self.status, Some(401 | 403 | 404 | 405)) || self.is_note_limit() || self.fate == Fate::Unreachable
    }
}

fn help(project: &str, trouble: &Trouble) -> Option<String> {
    if let Some(help) = trouble.help {
        return Some(help.to_owned());
    }
    if trouble.is_note_limit() {
        return Some(
            "GitLab allows 5,000 comments on a merge request. Delete some, open a new merge request, or set \
             `gitlab.idempotent_summary = true` so that only one note is kept up to date."
                .into(),
        );
    }
    let words = trouble.words.as_str();
    let help = match trouble.status? {
        401 if words.contains("expired") => format!("The token has expired. {TOKEN_HELP}"),
        401 if words.contains("revoked") => format!("The token was revoked. {TOKEN_HELP}"),
        401 => TOKEN_HELP.to_owned(),
        403 if words.contains("insufficient_scope") => format!("The token's scope is too narrow. {TOKEN_HELP}"),
        403 if words.starts_with("a web page") => {
            "A proxy or firewall in front of GitLab refused the request.".to_owned()
        }
        403 => format!(
            "The token's user may not comment here: its role is too low, the project is archived, or the discussion \
             is locked. {TOKEN_HELP}"
        ),
        404 => format!(
            "The token's user cannot see it, or it is not there. Check that the token belongs to project {project} \
             with at least the Reporter role; a merge request from a fork lives in the target project \
             (CI_MERGE_REQUEST_PROJECT_ID), not in the fork."
        ),
        405 => "The project has moved: set `gitlab.project_id` to its number instead of its path.".to_owned(),
        413 => "A proxy in front of GitLab limits the size of requests.".to_owned(),
        429 => "GitLab's rate limit is reached. Run `diffsan post` later: it continues where this run stopped.".into(),
        200..=299 if words.starts_with("a web page") => {
            "This is not GitLab's API: check `gitlab.base_url`, and any sign-in page or proxy in between.".into()
        }
        _ => return None,
    };
    Some(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::ErrorCode;

    fn refused(status: u16, words: &str) -> Trouble {
        Trouble::refused(status, words)
    }

    #[test]
    fn a_refusal_has_the_code_and_the_help_that_fit() {
        use ErrorCode::*;
        let table = [
            (Purpose::Post, 401, "401 Unauthorized", GitlabAuthError, "CI_JOB_TOKEN"),
            (Purpose::Read, 401, "invalid_token: Token is expired.", GitlabAuthError, "has expired"),
            (Purpose::Diff, 403, "insufficient_scope: x", GitlabAuthError, "scope `api`"),
            (Purpose::Post, 403, "403 Forbidden", GitlabAuthError, "locked"),
            (Purpose::Read, 404, "404 Project Not Found", GitlabFetchPriorFailed, "CI_MERGE_REQUEST_PROJECT_ID"),
            (Purpose::Diff, 404, "404 Not found", DiffFetchFailed, "fork"),
            (Purpose::Post, 405, "Non GET methods", GitlabPostFailed, "project_id"),
            (Purpose::Post, 400, "Note {:base=>[\"Maximum number of comments exceeded\"]}", GitlabPostFailed, "5,000"),
        ];
        for (purpose, status, words, code, fix) in table {
            let trouble = refused(status, words);
            let error = error(purpose, "do it", "7", &trouble);
            assert_eq!(error.code(), code, "{status} {words}");
            assert!(help("7", &trouble).is_some_and(|help| help.contains(fix)), "{status} {words}");
        }
        let position = refused(400, "400 Bad request - Note {line_code: [\"can't be blank\"]}");
        assert_eq!(error(Purpose::Post, "do it", "7", &position).code(), GitlabPositionInvalid);
        assert_eq!(error(Purpose::Read, "do it", "7", &position).code(), GitlabFetchPriorFailed);
    }

    #[test]
    fn a_missing_token_names_its_variables() {
        let error = missing_token(&["GITLAB_TOKEN", "DIFFSAN_GITLAB_TOKEN"]);
        assert_eq!(error.code(), ErrorCode::GitlabAuthError);
        assert!(error.to_string().contains("GITLAB_TOKEN or DIFFSAN_GITLAB_TOKEN"));
    }
}
