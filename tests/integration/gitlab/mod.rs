//! A GitLab that is strict: a real HTTP server over a real repository, which refuses what GitLab would refuse,
//! in GitLab's own words, and executes what GitLab would execute.

mod answers;
mod markdown;
mod positions;
mod repository;
mod server;
mod store;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

pub(crate) use markdown::Effects;
pub(crate) use store::{Discussion, Note, Refs, Store};

/// The token the fake accepts.
pub(crate) const TOKEN: &str = "glpat-synthetic-fake-token-0001";
/// The token's own user.
pub(crate) const BOT: u64 = 4242;
/// Somebody else.
pub(crate) const ALICE: u64 = 17;
pub(crate) const PROJECT: u64 = 12345;
pub(crate) const MR: u64 = 67;

/// A running fake; it ends with the value.
#[derive(Debug)]
pub(crate) struct FakeGitLab {
    address: SocketAddr,
    root: String,
    shared: Arc<Shared>,
    runtime: Option<tokio::runtime::Runtime>,
}

/// What the server and the test both see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) requests: Vec<Recorded>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) latency: Duration,
    pub(crate) hold: Option<Hold>,
    pub(crate) root: String,
    pub(crate) in_flight: usize,
    pub(crate) most_in_flight: usize,
}

/// One request, as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) method: String,
    /// Below the API's root, with the query.
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Value,
    /// 0 while there is no answer.
    pub(crate) status: u16,
}

/// Freezes the server at a request: from then on nothing is done or answered.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) at: usize,
    pub(crate) moment: Moment,
    pub(crate) reached: std::sync::mpsc::Sender<()>,
    pub(crate) frozen: bool,
}

/// When a request is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// It arrived and nothing was done.
    BeforeDoing,
    /// It was done and not answered.
    BeforeAnswering,
}

/// Requests that a failure is meant for.
#[derive(Debug, Clone)]
pub(crate) struct On {
    method: &'static str,
    path_end: String,
    body_has: Option<String>,
}

impl On {
    pub(crate) fn get(path_end: &str) -> Self {
        Self { method: "GET", path_end: path_end.into(), body_has: None }
    }

    pub(crate) fn post(path_end: &str) -> Self {
        Self { method: "POST", path_end: path_end.into(), body_has: None }
    }

    pub(crate) fn put(path_end: &str) -> Self {
        Self { method: "PUT", path_end: path_end.into(), body_has: None }
    }

    /// Only those whose body has this text.
    pub(crate) fn with(mut self, text: &str) -> Self {
        self.body_has = Some(text.into());
        self
    }

    pub(crate) fn matches(&self, request: &Recorded) -> bool {
        let path = request.path.split('?').next().unwrap_or_default();
        request.method == self.method
            && format!("/{path}").ends_with(&self.path_end)
            && self.body_has.as_ref().is_none_or(|text| request.body.to_string().contains(text.as_str()))
    }
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// An answer instead of the real one; nothing is done.
    Answer { status: u16, content_type: &'static str, body: String, headers: Vec<(&'static str, String)> },
    /// It is done, and then this is answered.
    DoneBut(Box<Self>),
    /// The connection ends without an answer; nothing is done.
    Drop,
    /// It is done, and the connection ends without an answer.
    DoneThenDrop,
    /// It is done, and the answer breaks off in the middle.
    DoneThenCut,
    /// No answer, ever.
    Hang,
    /// No answer, and it is done after so long.
    DoneLater(Duration),
}

impl Failure {
    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::Answer { status, content_type: "application/json", body: body.into(), headers: Vec::new() }
    }

    /// The limiter in front of GitLab, which says how long to wait.
    pub(crate) fn throttled(seconds: u64) -> Self {
        Self::Answer {
            status: 429,
            content_type: "text/plain",
            body: "Retry later\n".into(),
            headers: vec![
                ("retry-after", seconds.to_string()),
                ("ratelimit-name", "throttle_authenticated_api".into()),
            ],
        }
    }

    /// The limiter of notes, which does not.
    pub(crate) fn notes_limit() -> Self {
        let body = r#"{"message":{"error":"This endpoint has been requested too many times. Try again later."}}"#;
        Self::json(429, body)
    }

    /// A proxy's page.
    pub(crate) fn bad_gateway() -> Self {
        let body = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>";
        Self::Answer { status: 502, content_type: "text/html", body: body.into(), headers: Vec::new() }
    }

    pub(crate) fn internal_error() -> Self {
        Self::json(500, r#"{"message":"500 Internal Server Error"}"#)
    }

    pub(crate) fn locked() -> Self {
        Self::json(409, r#"{"message":"409 Conflict: Resource lock"}"#)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::json(401, r#"{"message":"401 Unauthorized"}"#)
    }

    pub(crate) fn after_saving(self) -> Self {
        Self::DoneBut(Box::new(self))
    }
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) on: On,
    pub(crate) failure: Failure,
    pub(crate) times: u32,
}

impl FakeGitLab {
    /// A GitLab with one open merge request: what `head` changed since `base`.
    pub(crate) fn start(repo: &Path, base: &str, head: &str) -> Self {
        Self::start_below(repo, base, head, "")
    }

    /// The same, installed below a relative URL.
    pub(crate) fn start_below(repo: &Path, base: &str, head: &str, root: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime for the fake");
        let refs = Refs { base: base.into(), start: base.into(), head: head.into() };
        let state = State {
            store: Store::new(repo, refs),
            requests: Vec::new(),
            rules: Vec::new(),
            latency: Duration::ZERO,
            hold: None,
            root: root.into(),
            in_flight: 0,
            most_in_flight: 0,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state) });
        let address = server::start(&runtime, Arc::clone(&shared));
        Self { address, root: root.into(), shared, runtime: Some(runtime) }
    }

    /// The site's root, as `gitlab.base_url` takes it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.root)
    }

    /// Changes anything about GitLab: the merge request, rights, limits, versions.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Store)) {
        change(&mut self.state().store);
    }

    /// Lets the next matching request fail.
    pub(crate) fn fail_next(&self, on: On, failure: Failure) {
        self.fail_times(1, on, failure);
    }

    /// Lets the next so many matching requests fail.
    pub(crate) fn fail_times(&self, times: u32, on: On, failure: Failure) {
        self.state().rules.push(Rule { on, failure, times });
    }

    /// Nothing goes wrong any more.
    pub(crate) fn recover(&self) {
        self.state().rules.clear();
    }

    /// How long each answer takes.
    pub(crate) fn latency(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Freezes the server at its n-th request from now, counted from 0; the receiver hears when that is reached.
    pub(crate) fn hold_at(&self, n: usize, moment: Moment) -> Receiver<()> {
        let (reached, receiver) = std::sync::mpsc::channel();
        let mut state = self.state();
        let at = state.requests.len() + n;
        state.hold = Some(Hold { at, moment, reached, frozen: false });
        receiver
    }

    /// Lets the server work again; requests that were held stay without an answer.
    pub(crate) fn release(&self) {
        self.state().hold = None;
    }

    /// A new push: the merge request's head moves.
    pub(crate) fn push(&self, base: &str, start: &str, head: &str) {
        self.change(|store| store.push(Refs { base: base.into(), start: start.into(), head: head.into() }));
    }

    /// Somebody writes a plain note.
    pub(crate) fn add_note(&self, author: u64, body: &str) -> u64 {
        self.state().store.add_plain(author, body)
    }

    pub(crate) fn discussions(&self) -> Vec<Discussion> {
        self.state().store.discussions.iter().filter(|discussion| discussion.is_thread()).cloned().collect()
    }

    /// Plain notes.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let state = self.state();
        let plain = state.store.discussions.iter().filter(|discussion| !discussion.is_thread());
        plain.flat_map(|discussion| discussion.notes.clone()).filter(|note| !note.system).collect()
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.state().requests.clone()
    }

    /// Most requests that were under way at the same time.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.state().most_in_flight
    }

    /// How many requests of this method ended on this path.
    pub(crate) fn count(&self, on: &On) -> usize {
        self.state().requests.iter().filter(|request| on.matches(request)).count()
    }

    /// Every command that a note made GitLab execute.
    pub(crate) fn executed_commands(&self) -> Vec<String> {
        self.state().store.effects.commands.clone()
    }

    /// Everything that notes did beside being there.
    pub(crate) fn effects(&self) -> Effects {
        self.state().store.effects.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FakeGitLab {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
