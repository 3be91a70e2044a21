//! One request to GitLab: a bearer token, deadlines, capped answers, and a retry policy per method.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Method, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::tls::{self, Authorities, Deadlines};
use super::words::{error_words, is_page};
use crate::config::Token;
use crate::error::{Result, chain, clip_words};
use crate::run::clock;
use crate::run::events::{Event, Events};

/// Most bytes of an error answer that are read.
const ERROR_CAP: usize = 16 * 1024;
/// So many requests in a row without an answer in time, and GitLab is not asked again.
const MOST_STALLED: u32 = 3;
/// Most redirects of a read that are followed, all on GitLab's own address.
const MOST_HOPS: u32 = 3;

/// How long to wait before a request is repeated.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    /// The first wait; each further one doubles it.
    pub base: Duration,
    /// The longest wait of that kind.
    pub max: Duration,
    /// The window of the limiter that does not say how long to wait: its next one is waited for.
    pub limit_window: Duration,
    /// The longest time one request is waited for in all.
    pub patience: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(500),
            max: Duration::from_secs(20),
            limit_window: Duration::from_secs(60),
            patience: Duration::from_secs(180),
        }
    }
}

/// How often a request was sent, and how often it may be.
#[derive(Debug, Clone, Copy)]
pub struct Attempts {
    pub used: u32,
    pub max: u32,
}

impl Attempts {
    pub fn new(max: u32) -> Self {
        Self { used: 0, max: max.max(1) }
    }

    /// Attempts beyond the first.
    pub fn retries(&self) -> u32 {
        self.used.saturating_sub(1)
    }

    pub fn left(&self) -> bool {
        self.used < self.max
    }
}

/// One request, without what all have in common.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Below the API's root, percent-encoded.
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Value>,
    /// Most bytes of the answer.
    pub(super) cap: usize,
}

impl Request {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), query: Vec::new(), body: None, cap: 64 << 20 }
    }

    pub(super) fn write(method: Method, path: impl Into<String>, body: Value) -> Self {
        Self { method, path: path.into(), query: Vec::new(), body: Some(body), cap: 16 << 20 }
    }

    /// Doing it twice is the same as doing it once.
    fn repeatable(&self) -> bool {
        self.method != Method::POST
    }
}

/// A good answer, read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The next page's number; `None` on the last page.
    pub(super) next_page: Option<String>,
    /// Whether the answer says anything about pages.
    pub(super) paged: bool,
    /// How many rows the whole list has.
    pub(super) total: Option<usize>,
    pub(super) body: Vec<u8>,
    content_type: String,
}

impl Answer {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Trouble> {
        let mut reader = serde_json::Deserializer::from_slice(&self.body);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let words = match is_page(&self.content_type, &String::from_utf8_lossy(&self.body)) {
                true => error_words(&self.content_type, &self.body),
                false => error.to_string(),
            };
            Trouble::new(Fate::Unreadable, Some(self.status), words)
        })
    }
}

/// Why there is no good answer.
#[derive(Debug, Clone)]
pub struct Trouble {
    pub fate: Fate,
    pub status: Option<u16>,
    /// What GitLab or the network said, clipped.
    pub words: String,
    pub help: Option<&'static str>,
    wait: Option<Duration>,
    timed_out: bool,
}

/// What is known of a request that has no good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// GitLab said no, and will say so again.
    Refused,
    /// GitLab did nothing because it is asked too often.
    Limited,
    /// GitLab did nothing because something else was at work there.
    Locked,
    /// It never reached GitLab.
    Unsent,
    /// It never will: the address or the certificate is wrong.
    Unreachable,
    /// A 5xx, or no answer: it may have been done.
    Lost,
    /// The answer came and cannot be used: too large, or not what the API promises.
    Unreadable,
}

impl Trouble {
    fn new(fate: Fate, status: Option<u16>, words: impl AsRef<str>) -> Self {
        Self { fate, status, words: clip_words(words.as_ref(), 1_000), help: None, wait: None, timed_out: false }
    }

    /// A final no.
    pub fn refused(status: u16, words: &str) -> Self {
        Self::new(Fate::Refused, Some(status), words)
    }

    /// No answer came, so that nobody knows what was done.
    pub fn lost(words: &str) -> Self {
        Self::new(Fate::Lost, None, words)
    }

    /// GitLab took a draft and found no line for it.
    pub fn no_place() -> Self {
        Self::new(Fate::Refused, Some(400), "GitLab found no line for the draft: line_code is empty")
    }

    /// The same trouble with something that may have been done all the same.
    pub fn as_uncertain(self) -> Self {
        Self { fate: Fate::Lost, ..self }
    }

    /// Whether a write may still be carried out: nothing, or something in between, answered. A 500 is GitLab's own, and
    /// it has ended there; what it did can be seen at once.
    pub fn lands_late(&self) -> bool {
        self.fate == Fate::Lost && self.status != Some(500)
    }

    /// Not a failure: what was asked for is not there yet.
    pub(super) fn not_ready(words: &str) -> Self {
        Self::new(Fate::Unsent, None, words)
    }

    pub(super) fn unreadable(words: impl AsRef<str>) -> Self {
        Self::new(Fate::Unreadable, None, words)
    }

    /// The same trouble with one more thing to say.
    pub fn and(mut self, more: &str) -> Self {
        self.words = clip_words(&format!("{}; {more}", self.words), 1_000);
        self
    }

    /// Whether a write may have been done all the same.
    pub fn uncertain(&self) -> bool {
        matches!(self.fate, Fate::Lost | Fate::Unreadable)
    }

    /// What happened, as the end of a sentence.
    pub fn reason(&self) -> String {
        match (self.status, self.words.is_empty()) {
            (Some(status), true) => format!("GitLab answered {status}"),
            (Some(status), false) => format!("GitLab answered {status} ({})", self.words),
            (None, _) => self.words.clone(),
        }
    }
}

/// The door to GitLab.
#[derive(Debug)]
pub(super) struct Http {
    client: reqwest::Client,
    base: String,
    token: Token,
    backoff: Backoff,
    retry_max: u32,
    events: Events,
    /// Requests in a row that got no answer in time.
    stalled: AtomicU32,
}

impl Http {
    pub(super) fn new(
        base: String,
        token: Token,
        retry: (u32, Backoff),
        deadlines: &Deadlines,
        ca_files: &[std::path::PathBuf],
        events: Events,
    ) -> Result<Self> {
        let (client, authorities) = tls::client(deadlines, ca_files)?;
        if authorities == Authorities::Bundled && base.starts_with("https://") {
            events.emit(Event::Warning {
                message: "this machine has no certificate authorities: the bundled list of Mozilla's is used".into(),
            });
        }
        Ok(Self { client, base, token, retry_max: retry.0, backoff: retry.1, events, stalled: AtomicU32::new(0) })
    }

    pub(super) fn attempts(&self) -> Attempts {
        Attempts::new(self.retry_max)
    }

    pub(super) fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// Sends a request, and repeats it where that cannot do it twice.
    pub(super) async fn send(&self, request: &Request, attempts: &mut Attempts) -> Result<Answer, Trouble> {
        let mut waited = Duration::ZERO;
        loop {
            if self.stalled.load(Ordering::Relaxed) >= MOST_STALLED {
                return Err(stalls());
            }
            attempts.used += 1;
            let trouble = match self.once(request).await {
                Ok(answer) => {
                    self.stalled.store(0, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(trouble) => trouble,
            };
            match trouble.timed_out {
                true => drop(self.stalled.fetch_add(1, Ordering::Relaxed)),
                false => self.stalled.store(0, Ordering::Relaxed),
            }
            let again = match trouble.fate {
                Fate::Limited | Fate::Locked | Fate::Unsent => true,
                Fate::Lost => request.repeatable(),
                Fate::Refused | Fate::Unreachable | Fate::Unreadable => false,
            };
            if !again || !attempts.left() {
                return Err(trouble);
            }
            waited += self.pause(request, &trouble, attempts, waited).await?;
        }
    }

    /// Waits before the next attempt, or gives up when that would take too long.
    pub(super) async fn pause(
        &self,
        request: &Request,
        trouble: &Trouble,
        attempts: &Attempts,
        waited: Duration,
    ) -> Result<Duration, Trouble> {
        let wait = self.backoff.wait(trouble, attempts.used, clock::now().unix_timestamp_nanos());
        if waited + wait > self.backoff.patience {
            let words = format!("{} (it asks to wait {} s, which is too long)", trouble.words, wait.as_secs());
            return Err(Trouble { words, ..trouble.clone() });
        }
        self.events.emit(Event::GitlabRetry {
            method: method_name(&request.method),
            path: request.path.clone(),
            status: trouble.status,
            attempt: attempts.used + 1,
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            reason: trouble.reason(),
        });
        tokio::time::sleep(wait).await;
        Ok(wait)
    }

    async fn once(&self, request: &Request) -> Result<Answer, Trouble> {
        let mut url = self.url(request)?;
        for _ in 0..=MOST_HOPS {
            let mut builder = self
                .client
                .request(request.method.clone(), url.clone())
                .header(AUTHORIZATION, format!("Bearer {}", self.token.expose()));
            if let Some(body) = &request.body {
                builder = builder.json(body);
            }
            let response = builder.send().await.map_err(|error| network_trouble(&error))?;
            tracing::debug!(method = %request.method, path = request.path, status = response.status().as_u16(), "GitLab answers");
            if !response.status().is_redirection() {
                return read(response, request).await;
            }
            url = next_hop(&url, request, response.status().as_u16(), response.headers())?;
        }
        Err(Trouble::new(Fate::Refused, None, "GitLab redirects in circles"))
    }

    /// String append: an install below a relative URL keeps its path.
    fn url(&self, request: &Request) -> Result<Url, Trouble> {
        let text = format!("{}/{}", self.base, request.path);
        let mut url = Url::parse(&text)
            .map_err(|error| Trouble::new(Fate::Unreachable, None, format!("{text} is not an address: {error}")))?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        Ok(url)
    }
}

impl Backoff {
    /// How long to wait after the given attempt; `now` is the wall clock in nanoseconds.
    fn wait(&self, trouble: &Trouble, attempt: u32, now: i128) -> Duration {
        if let Some(asked) = trouble.wait {
            return asked;
        }
        if trouble.fate == Fate::Limited {
            // The limiter's windows start on the full minute; a little slack covers clocks that differ.
            let window = self.limit_window.as_nanos().max(1);
            let into = u128::try_from(now).unwrap_or(0) % window;
            let rest = u64::try_from(window - into).unwrap_or(u64::MAX);
            return Duration::from_nanos(rest) + self.limit_window / 60;
        }
        self.base.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX)).min(self.max)
    }
}

/// A read may be sent on within GitLab's own address; a write never is, since it would become a read.
fn next_hop(from: &Url, request: &Request, status: u16, headers: &HeaderMap) -> Result<Url, Trouble> {
    let target = headers.get(LOCATION).and_then(|value| value.to_str().ok()).and_then(|text| from.join(text).ok());
    let Some(target) = target else {
        return Err(Trouble::new(Fate::Refused, Some(status), "a redirect without an address"));
    };
    if request.method == Method::GET && target.origin() == from.origin() {
        return Ok(target);
    }
    let mut trouble = Trouble::new(Fate::Refused, Some(status), format!("a redirect to {}", without_query(&target)));
    trouble.help = Some(
        "The token is not sent to another address. In a job GitLab's address is CI_API_V4_URL, which follows its external \
         URL; elsewhere it is `gitlab.base_url`. Use where GitLab really is (https instead of http, the right host), and \
         name the project by its number.",
    );
    Err(trouble)
}

fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.into()
}

async fn read(mut response: reqwest::Response, request: &Request) -> Result<Answer, Trouble> {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let content_type = header(&headers, CONTENT_TYPE.as_str()).unwrap_or_default().to_owned();
    let good = response.status().is_success();
    let cap = if good { request.cap } else { ERROR_CAP };
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() <= cap => body.extend_from_slice(&chunk),
            Ok(Some(_)) if good => {
                let words = format!("the answer is larger than {cap} bytes");
                return Err(Trouble::new(Fate::Unreadable, Some(status), words));
            }
            Ok(Some(_) | None) => break,
            Err(error) if good => {
                let words = format!("the answer broke off: {}", chain(&error.without_url()));
                return Err(Trouble::new(Fate::Lost, Some(status), words));
            }
            Err(_) => break,
        }
    }
    if !good {
        return Err(answer_trouble(status, &headers, &content_type, &body));
    }
    let next = header(&headers, "x-next-page");
    let next_page = next.map(str::trim).filter(|page| !page.is_empty()).map(str::to_owned);
    let total = header(&headers, "x-total").and_then(|total| total.trim().parse().ok());
    Ok(Answer { status, next_page, paged: next.is_some(), total, body, content_type })
}

/// What an answer that is not a success means for the request.
fn answer_trouble(status: u16, headers: &HeaderMap, content_type: &str, body: &[u8]) -> Trouble {
    let words = error_words(content_type, body);
    let fate = match status {
        429 => Fate::Limited,
        409 => Fate::Locked,
        408 | 500.. => Fate::Lost,
        _ => Fate::Refused,
    };
    let seconds = header(headers, RETRY_AFTER.as_str()).and_then(|text| text.trim().parse().ok());
    let wait = match fate {
        Fate::Limited | Fate::Lost => seconds.map(Duration::from_secs),
        _ => None,
    };
    Trouble { wait, ..Trouble::new(fate, Some(status), words) }
}

/// What a failure without an answer means for the request.
fn network_trouble(error: &reqwest::Error) -> Trouble {
    let words = chain(error);
    if error.is_builder() {
        return Trouble::new(Fate::Unreachable, None, words);
    }
    if !error.is_connect() {
        let timed_out = error.is_timeout();
        let words = if timed_out { format!("no answer in time: {words}") } else { words };
        return Trouble { timed_out, ..Trouble::new(Fate::Lost, None, words) };
    }
    match tls::handshake_help(&words) {
        Some(help) => Trouble { help: Some(help), ..Trouble::new(Fate::Unreachable, None, words) },
        None => {
            let help = "Check `gitlab.base_url`, and HTTPS_PROXY and NO_PROXY where a proxy is in between.";
            Trouble { help: Some(help), ..Trouble::new(Fate::Unsent, None, words) }
        }
    }
}

/// GitLab does not answer: waiting for each further request would only cost the job's time.
fn stalls() -> Trouble {
    let words = format!("GitLab did not answer {MOST_STALLED} requests in a row in time; it was not asked again");
    let help = "GitLab or something in front of it stalls. Run the job again later: it goes on where this one stopped.";
    Trouble { help: Some(help), ..Trouble::new(Fate::Unreachable, None, words) }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        _ => "GET",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(headers: &[(&'static str, &str)]) -> Trouble {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a header"));
        }
        answer_trouble(429, &map, "text/plain", b"Retry later")
    }

    #[test]
    fn a_status_tells_whether_a_write_may_have_been_done() {
        let table = [
            (400, Fate::Refused),
            (401, Fate::Refused),
            (403, Fate::Refused),
            (404, Fate::Refused),
            (405, Fate::Refused),
            (408, Fate::Lost),
            (409, Fate::Locked),
            (413, Fate::Refused),
            (429, Fate::Limited),
            (500, Fate::Lost),
            (502, Fate::Lost),
            (503, Fate::Lost),
            (524, Fate::Lost),
        ];
        for (status, fate) in table {
            assert_eq!(answer_trouble(status, &HeaderMap::new(), "", b"").fate, fate, "{status}");
        }
    }

    #[test]
    fn the_wait_is_what_gitlab_asks_for_else_the_next_window_else_doubling() {
        let backoff = Backoff::default();
        assert_eq!(backoff.wait(&limited(&[("retry-after", "7")]), 1, 0), Duration::from_secs(7));
        let at_45_seconds = 45_000_000_000;
        assert_eq!(backoff.wait(&limited(&[]), 1, at_45_seconds), Duration::from_secs(16));
        let lost = answer_trouble(502, &HeaderMap::new(), "", b"");
        let waits: Vec<_> = (1..8).map(|attempt| backoff.wait(&lost, attempt, 0).as_millis()).collect();
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000]);
        assert_eq!(backoff.wait(&lost, 99, 0), backoff.max);
    }

    #[test]
    fn only_a_read_follows_a_redirect_and_only_to_the_same_address() {
        let from = Url::parse("https://gitlab.example/api/v4/projects/a%2Fb").expect("a url");
        let hop = |request: &Request, to: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(LOCATION, to.parse().expect("a header"));
            next_hop(&from, request, 301, &headers).map(String::from).map_err(|trouble| trouble.words)
        };
        let get = Request::get("x");
        let post = Request::write(Method::POST, "x", Value::Null);
        assert_eq!(hop(&get, "/api/v4/projects/7").as_deref(), Ok("https://gitlab.example/api/v4/projects/7"));
        assert!(hop(&get, "https://evil.example/api/v4/projects/7?x=1").is_err_and(|words| !words.contains("x=1")));
        assert!(hop(&get, "http://gitlab.example/api/v4/projects/7").is_err());
        assert!(hop(&post, "/api/v4/projects/7").is_err());
    }
}
