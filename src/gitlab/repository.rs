//! The project's repository through the API: branches, listings and files of a commit.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::explain::{self, Purpose};
use super::http::Request;
use super::{Client, PER_PAGE, wire};
use crate::error::Result;

/// A branch, as far as diffsan cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its newest commit.
    pub commit: String,
    pub protected: bool,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    pub id: String,
    pub name: String,
    /// `blob`, `tree` or `commit`.
    pub kind: String,
    pub mode: String,
}

impl Client {
    /// The project's default branch; none in an empty project.
    pub async fn default_branch(&self) -> Result<Option<String>> {
        let request = Request::get(self.project_path(""));
        let project: wire::Project = self.one(request, &format!("read project {}", self.project)).await?;
        Ok(project.default_branch)
    }

    pub async fn branch(&self, name: &str) -> Result<Branch> {
        let encoded = utf8_percent_encode(name, NON_ALPHANUMERIC);
        let request = Request::get(self.project_path(&format!("/repository/branches/{encoded}")));
        let branch: wire::Branch = self.one(request, &format!("read the branch {name}")).await?;
        Ok(Branch { commit: branch.commit.id, protected: branch.protected })
    }

    /// What a folder of a commit holds; the top is the empty path.
    pub async fn folder(&self, commit: &str, path: &str) -> Result<Vec<TreeEntry>> {
        let mut request = Request::get(self.project_path("/repository/tree"));
        request.query = vec![("ref", commit.to_owned()), ("path", path.to_owned())];
        let rows: Vec<wire::TreeEntry> = self.pages(request, PER_PAGE, &format!("list `{path}` of {commit}")).await?;
        let entry = |row: wire::TreeEntry| TreeEntry { id: row.id, name: row.name, kind: row.kind, mode: row.mode };
        Ok(rows.into_iter().map(entry).collect())
    }

    /// A file's content by its id.
    pub async fn blob(&self, id: &str, most: u64) -> Result<Vec<u8>> {
        let mut request = Request::get(self.project_path(&format!("/repository/blobs/{id}/raw")));
        request.cap = usize::try_from(most).unwrap_or(usize::MAX);
        let answer = self.http.send(&request, &mut self.attempts()).await;
        let explained = answer.map_err(|trouble| explain::error(Purpose::Diff, "read a file", &self.project, &trouble));
        Ok(explained?.body)
    }

    fn project_path(&self, rest: &str) -> String {
        format!("projects/{}{rest}", utf8_percent_encode(&self.project, NON_ALPHANUMERIC))
    }
}
