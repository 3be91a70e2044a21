//! What was asked for: the issues that a merge request closes.

use serde::Deserialize;

use super::Client;
use super::http::Request;
use crate::error::Result;
use crate::prompt::Issue;

/// Most issues that are read.
const MOST: usize = 10;

/// As GitLab gives it; issues of other trackers have only some of it.
#[derive(Debug, Deserialize)]
struct Wire {
    #[serde(default)]
    iid: Option<u64>,
    #[serde(default)]
    project_id: Option<u64>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    /// One that does not say is taken for confidential.
    #[serde(default)]
    confidential: Option<bool>,
}

impl Client {
    /// The issues of this project that the merge request closes, but for confidential ones: those who read the review
    /// may not be those who may read them.
    pub async fn closes_issues(&self, project: u64) -> Result<Vec<Issue>> {
        let mut request = Request::get(self.path("/closes_issues"));
        request.query = vec![("per_page", MOST.to_string())];
        let what = format!("read the issues that {} closes", self.name());
        let rows: Vec<Wire> = self.one(request, &what).await?;
        Ok(rows.into_iter().filter_map(|row| row.issue(project)).take(MOST).collect())
    }
}

impl Wire {
    fn issue(self, project: u64) -> Option<Issue> {
        let readable = self.project_id == Some(project) && self.confidential == Some(false);
        readable.then_some(())?;
        Some(Issue {
            iid: self.iid?,
            title: self.title.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidential_issues_and_those_of_other_projects_and_trackers_are_never_taken() {
        let read = |json: &str| serde_json::from_str::<Wire>(json).unwrap().issue(7);
        let own = r#"{"iid":3,"project_id":7,"title":"Ask","description":null,"confidential":false}"#;
        assert_eq!(read(own), Some(Issue { iid: 3, title: "Ask".into(), description: String::new() }));
        for other in [
            r#"{"iid":3,"project_id":7,"title":"Ask","confidential":true}"#,
            r#"{"iid":3,"project_id":7,"title":"Ask"}"#,
            r#"{"iid":3,"project_id":8,"title":"Ask","confidential":false}"#,
            r#"{"id":"JIRA-1","title":"Ask"}"#,
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
