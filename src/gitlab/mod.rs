//! The GitLab calls diffsan makes, typed: GitLab's JSON stops here.

mod diff;
mod explain;
mod http;
mod issues;
mod repository;
mod talk;
mod tls;
mod wire;
mod words;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;

pub use diff::{ApiDiff, UnavailableFile};
pub use explain::missing_token;
pub use http::{Attempts, Backoff, Fate, Trouble};
pub use repository::{Branch, TreeEntry};
pub use talk::{DraftNote, Listing};
pub use tls::Deadlines;

use crate::config::Token;
use crate::error::{Error, Failure, Result};
use crate::post::protocol::Pace;
use crate::run::events::Events;
use crate::threads::Seal;
use explain::Purpose;
use http::{Answer, Http, Request};

/// Rows of a page; GitLab gives no more.
const PER_PAGE: u32 = 100;
/// Most pages of one list.
const MOST_PAGES: u32 = 1_000;
/// GitLab took the text for commands, ran them and stored nothing.
const SWALLOWED: u16 = 202;
/// How often a merge request is asked for the SHAs that GitLab is still computing.
const MOST_DIFF_REFS_TRIES: u32 = 5;

/// Where GitLab is, and which merge request is meant.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The site's root or its `/api/v4`.
    pub base_url: String,
    pub token: Token,
    /// A number, or `group/project`.
    pub project: String,
    pub mr_iid: u64,
    /// PEM files with more certificate authorities.
    pub ca_files: Vec<PathBuf>,
    /// Most attempts of one request.
    pub retry_max: u32,
    pub backoff: Backoff,
    pub deadlines: Deadlines,
    /// How long GitLab may still carry out a write that it did not answer.
    pub settle: Duration,
    /// How long the job may still take.
    pub time_left: Option<Duration>,
    /// Addresses of the job and its pipeline.
    pub job_urls: Vec<String>,
}

impl ClientConfig {
    /// With the usual waits and deadlines.
    pub fn new(base_url: impl Into<String>, token: Token, project: impl Into<String>, mr_iid: u64) -> Self {
        Self {
            base_url: base_url.into(),
            token,
            project: project.into(),
            mr_iid,
            ca_files: Vec::new(),
            retry_max: 3,
            backoff: Backoff::default(),
            deadlines: Deadlines::default(),
            settle: Duration::from_secs(150),
            time_left: None,
            job_urls: Vec::new(),
        }
    }
}

/// A user, as far as diffsan cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: u64,
    pub username: String,
    pub bot: bool,
}

/// What a token says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenInfo {
    pub name: String,
    pub scopes: Vec<String>,
    pub active: bool,
    /// `2026-12-31`; `None` when it does not expire.
    pub expires_at: Option<String>,
}

/// A merge request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequest {
    pub iid: u64,
    pub project_id: u64,
    pub title: String,
    pub description: String,
    /// `opened`, `closed`, `locked` or `merged`.
    pub state: String,
    pub draft: bool,
    pub labels: Vec<String>,
    /// `None` while GitLab is still computing them.
    pub diff_refs: Option<DiffRefs>,
    pub sha: Option<String>,
    /// `None` when GitLab does not say.
    pub auto_merge: Option<bool>,
    pub discussion_locked: bool,
    pub web_url: String,
    /// `12`, or `1000+` when GitLab stopped counting.
    pub changes_count: Option<String>,
    pub author_id: Option<u64>,
    /// The author's user name.
    pub author: String,
    pub source_branch: String,
    pub target_branch: String,
}

/// The three commits a position needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRefs {
    pub base_sha: String,
    pub head_sha: String,
    pub start_sha: String,
}

/// One state of the merge request's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub id: u64,
    pub refs: DiffRefs,
    /// `collected`, `overflow`, `without_files`.
    pub state: String,
}

/// What GitLab has of the merge request: each read fails on its own.
#[derive(Debug)]
pub struct Snapshot {
    pub user: Result<User>,
    pub merge_request: Result<MergeRequest>,
    pub listing: Result<Listing>,
    pub versions: Result<Vec<Version>>,
}

/// What GitLab said to a write that it accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// `None` when the answer was lost and the note was found later.
    pub status: Option<u16>,
    /// The note's id; `None` when GitLab stored nothing.
    pub note_id: Option<u64>,
    pub discussion_id: Option<String>,
    /// `DiffNote` when it stands on the diff.
    pub kind: Option<String>,
}

/// One merge request on one GitLab.
#[derive(Debug)]
pub struct Client {
    http: Http,
    project: String,
    mr_iid: u64,
    token: Token,
    settle: Duration,
    time_left: Option<Duration>,
    job_urls: Vec<String>,
    started: Instant,
}

impl Client {
    pub fn new(config: ClientConfig, events: Events) -> Result<Self> {
        let base = api_root(&config.base_url)?;
        let retry = (config.retry_max, config.backoff);
        let http = Http::new(base, config.token.clone(), retry, &config.deadlines, &config.ca_files, events)?;
        Ok(Self {
            http,
            project: config.project,
            mr_iid: config.mr_iid,
            token: config.token,
            settle: config.settle,
            time_left: config.time_left,
            job_urls: config.job_urls,
            started: Instant::now(),
        })
    }

    /// What signs claims about this merge request.
    pub fn seal(&self, project: u64) -> Seal {
        Seal::new(self.token.expose(), project, self.mr_iid)
    }

    /// Addresses of the job and its pipeline: notes may link there.
    pub fn job_urls(&self) -> &[String] {
        &self.job_urls
    }

    /// Time since this client was made.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// How fast writes follow each other, and how long they are waited for.
    pub fn pace(&self) -> Pace {
        Pace {
            settle: self.settle,
            deadline: self.time_left,
            attempts: self.attempts().max,
            step: self.http.backoff().base.min(Duration::from_millis(250)),
            ..Pace::default()
        }
    }

    /// The token's own user: the only author whose markers count.
    pub async fn current_user(&self) -> Result<User> {
        self.one::<wire::User>(Request::get("user"), "read the token's user").await.map(User::from)
    }

    /// The token's scopes and expiry; any scope may ask.
    pub async fn token_info(&self) -> Result<TokenInfo> {
        let request = Request::get("personal_access_tokens/self");
        self.one::<wire::TokenInfo>(request, "read the token's scopes").await.map(TokenInfo::from)
    }

    /// Fails when the token could never post, so that nothing is paid for first: it is refused, expired or too narrow.
    pub async fn check_token(&self) -> Result<()> {
        match self.token_info().await {
            Ok(info) if info.active && info.scopes.iter().any(|scope| scope == "api") => Ok(()),
            Ok(info) => Err(explain::weak_token(&info)),
            Err(error @ Error::GitlabAuth(_)) => Err(error),
            // Tokens of other kinds cannot ask this; the writes will tell.
            Err(_) => Ok(()),
        }
    }

    /// The user's role in the project as GitLab numbers it (Guest 10, Reporter 20, Developer 30, Maintainer 40).
    pub async fn access_level(&self, user: u64) -> Result<u32> {
        let project = utf8_percent_encode(&self.project, NON_ALPHANUMERIC);
        let request = Request::get(format!("projects/{project}/members/all/{user}"));
        self.one::<wire::Member>(request, "read the token's role").await.map(|member| member.access_level)
    }

    pub async fn merge_request(&self) -> Result<MergeRequest> {
        let what = format!("read {}", self.name());
        self.one::<wire::MergeRequest>(Request::get(self.path("")), &what).await.map(MergeRequest::from)
    }

    /// The merge request with its SHAs: GitLab computes them in the seconds after its creation.
    pub async fn ready_merge_request(&self) -> Result<MergeRequest> {
        let request = Request::get(self.path(""));
        let mut attempts = Attempts::new(MOST_DIFF_REFS_TRIES);
        loop {
            let found = self.merge_request().await?;
            attempts.used += 1;
            if found.diff_refs.is_some() || !attempts.left() {
                return Ok(found);
            }
            let waiting = Trouble::not_ready("GitLab is still computing the merge request's diff");
            if self.http.pause(&request, &waiting, &attempts, std::time::Duration::ZERO).await.is_err() {
                return Ok(found);
            }
        }
    }

    /// The user, the merge request, its versions and all that was said, read at the same time.
    pub async fn snapshot(&self) -> Snapshot {
        let what = format!("read what was said in {}", self.name());
        let (user, merge_request, listing, versions) =
            tokio::join!(self.current_user(), self.ready_merge_request(), self.listing(), self.versions());
        let listing = listing.map_err(|trouble| self.read_error(&what, &trouble));
        Snapshot { user, merge_request, listing, versions }
    }

    /// The diff's versions, newest first.
    pub async fn versions(&self) -> Result<Vec<Version>> {
        let what = format!("read the diff versions of {}", self.name());
        let rows = self.pages::<wire::Version>(Request::get(self.path("/versions")), PER_PAGE, &what).await?;
        Ok(rows.into_iter().map(Version::from).collect())
    }

    /// A fresh count of attempts for one request.
    pub fn attempts(&self) -> Attempts {
        self.http.attempts()
    }

    /// A write that failed, in words and with its code.
    pub fn post_error(&self, what: &str, trouble: &Trouble) -> Error {
        explain::error(Purpose::Post, what, &self.project, trouble)
    }

    fn read_error(&self, what: &str, trouble: &Trouble) -> Error {
        explain::error(Purpose::Read, what, &self.project, trouble)
    }

    /// `merge request !67 of project 12345`.
    pub fn name(&self) -> String {
        format!("merge request !{} of project {}", self.mr_iid, self.project)
    }

    fn path(&self, rest: &str) -> String {
        let project = utf8_percent_encode(&self.project, NON_ALPHANUMERIC);
        format!("projects/{project}/merge_requests/{}{rest}", self.mr_iid)
    }

    async fn one<T: DeserializeOwned>(&self, request: Request, what: &str) -> Result<T> {
        let read = async { self.http.send(&request, &mut self.attempts()).await?.json::<T>() };
        read.await.map_err(|trouble| explain::error(Purpose::Read, what, &self.project, &trouble))
    }

    async fn pages<T: DeserializeOwned>(&self, request: Request, per_page: u32, what: &str) -> Result<Vec<T>> {
        let pages = self.all_pages(request, per_page).await;
        pages.map(|pages| pages.rows).map_err(|trouble| self.read_error(what, &trouble))
    }

    /// Every row of a list. A short page is not the last one: GitLab filters after it has cut the pages.
    async fn all_pages<T: DeserializeOwned>(&self, request: Request, per_page: u32) -> Result<Pages<T>, Trouble> {
        let mut rows = Vec::new();
        let mut page = 1;
        let mut total = None;
        for _ in 0..MOST_PAGES {
            let mut request = request.clone();
            request.query.push(("page", page.to_string()));
            request.query.push(("per_page", per_page.to_string()));
            let answer = self.http.send(&request, &mut self.attempts()).await?;
            let mut more: Vec<T> = answer.json()?;
            let next = next_page(&answer, page, more.is_empty());
            rows.append(&mut more);
            let first = *total.get_or_insert(answer.total);
            match next {
                Some(next) => page = next,
                None => {
                    let shifted = first.zip(answer.total).is_some_and(|(first, last)| first != last);
                    return Ok(Pages { rows, shifted });
                }
            }
        }
        Err(Trouble::unreadable(format!("the list has more than {MOST_PAGES} pages")))
    }
}

/// The page after this one. Some versions send no paging headers: then only an empty page is the last.
fn next_page(answer: &Answer, page: u32, empty: bool) -> Option<u32> {
    match answer.paged {
        true => answer.next_page.as_deref()?.parse().ok().filter(|next| *next > page),
        false if empty => None,
        false => Some(page + 1),
    }
}

/// All pages of a list.
struct Pages<T> {
    rows: Vec<T>,
    /// GitLab counted other rows on the last page than on the first: somebody wrote or deleted in between.
    shifted: bool,
}

/// The API's root of a GitLab that is named by its site or by its API.
fn api_root(base_url: &str) -> Result<String> {
    let bad = |why: &str| {
        let help = "Write it like `https://gitlab.example.com` or, as CI_API_V4_URL has it, with `/api/v4` at the end.";
        Error::Config(Failure::new(format!("`gitlab.base_url` {why}")).help(help))
    };
    let url = reqwest::Url::parse(base_url.trim()).map_err(|_| bad("is not an address"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad("must start with `https://` or `http://` and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("must not carry a user or a password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("must not have a `?` or `#` part"));
    }
    let root = url.as_str().trim_end_matches('/');
    Ok(if root.ends_with("/api/v4") { root.to_owned() } else { format!("{root}/api/v4") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_or_its_api_names_the_same_root_and_a_relative_install_keeps_its_path() {
        let table = [
            ("https://gitlab.com", "https://gitlab.com/api/v4"),
            ("https://gitlab.com/", "https://gitlab.com/api/v4"),
            ("https://gitlab.com/api/v4/", "https://gitlab.com/api/v4"),
            ("https://host.example/gitlab", "https://host.example/gitlab/api/v4"),
            ("https://host.example/gitlab/api/v4", "https://host.example/gitlab/api/v4"),
            ("http://[::1]:8080", "http://[::1]:8080/api/v4"),
            (" http://10.0.0.1:81/ ", "http://10.0.0.1:81/api/v4"),
        ];
        for (base, root) in table {
            assert_eq!(api_root(base).expect("a root"), root);
        }
    }

    #[test]
    fn an_address_that_cannot_be_used_is_a_config_error_that_does_not_repeat_it() {
        for bad in ["", "gitlab.com", "ftp://gitlab.com", "https://me:hunter2hunter2@gitlab.com", "https://x/?a=1"] {
            let error = api_root(bad).expect_err("refused");
            assert_eq!(error.exit_code(), 2, "{bad}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
