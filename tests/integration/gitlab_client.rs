//! The GitLab client against the strict fake.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use diffsan::config::Token;
use diffsan::contracts::{ErrorCode, Level, Position, PositionType};
use diffsan::error::Error;
use diffsan::gitlab::{Backoff, Client, ClientConfig, Deadlines, Fate};
use diffsan::post::sanitize::{self, Own, Sanitised};
use diffsan::redact::{Engine, Settings};
use diffsan::run::console::{Console, ConsoleStyle};
use diffsan::run::events::Events;
use diffsan::run::workdir::{Forbidden, Tracked, Workdir};
use serde_json::Value;

use crate::gitlab::{ALICE, BOT, Failure, FakeGitLab, MR, On, PROJECT, TOKEN};
use crate::sandbox::{Sandbox, read_events};

/// A text with nothing of diffsan's own in it, as a client may send it.
pub(crate) fn plain(text: &str) -> Sanitised {
    sanitize::body(text, &Own::nothing())
}

/// A repository with a change, a GitLab that has it as a merge request, and a client.
pub(crate) struct Site {
    pub(crate) sandbox: Sandbox,
    pub(crate) base: String,
    pub(crate) head: String,
    pub(crate) gitlab: FakeGitLab,
    pub(crate) engine: Arc<Engine>,
    pub(crate) workdir: Workdir,
    pub(crate) events: Events,
}

impl Site {
    /// `src/app.py` gets forty new lines at its end.
    pub(crate) fn new() -> Self {
        Self::below("")
    }

    pub(crate) fn below(root: &str) -> Self {
        let sandbox = Sandbox::new();
        let base = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
        sandbox.git(&["checkout", "-q", "-b", "feature"]);
        let mut text = String::from("def one():\n    return 1\n\n\ndef two():\n    return 2\n");
        (0..40).for_each(|line| text.push_str(&format!("value_{line} = {line}\n")));
        sandbox.write("src/app.py", text);
        let head = sandbox.commit("values");
        let gitlab = FakeGitLab::start_below(&sandbox.repo(), &base, &head, root);
        let (engine, workdir, events) = ledger(&sandbox.root().join("workdir"), true);
        Self { sandbox, base, head, gitlab, engine, workdir, events }
    }

    pub(crate) fn config(&self) -> ClientConfig {
        quick(ClientConfig::new(self.gitlab.url(), Token::new(TOKEN), PROJECT.to_string(), MR))
    }

    pub(crate) fn client(&self) -> Client {
        self.client_with(|_| {})
    }

    pub(crate) fn client_with(&self, change: impl FnOnce(&mut ClientConfig)) -> Client {
        let mut config = self.config();
        change(&mut config);
        Client::new(config, self.events.clone()).expect("a client")
    }

    pub(crate) fn events_named(&self, name: &str) -> Vec<Value> {
        let events = read_events(&self.sandbox.root().join("workdir"));
        events.into_iter().filter(|event| event["event"] == name).map(|event| event["data"].clone()).collect()
    }

    /// What anyone with a token can send: GitLab's status and answer.
    async fn raw_note(&self, body: &str) -> (u16, Value) {
        let url = format!("{}/api/v4/projects/{PROJECT}/merge_requests/{MR}/notes", self.gitlab.url());
        // The first of several tests installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let request = reqwest::Client::new().post(url).bearer_auth(TOKEN).json(&serde_json::json!({ "body": body }));
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    /// The position of an added line.
    pub(crate) fn on_line(&self, new_line: u32) -> Position {
        Position {
            position_type: PositionType::Text,
            base_sha: self.base.clone(),
            head_sha: self.head.clone(),
            start_sha: self.base.clone(),
            old_path: "src/app.py".into(),
            new_path: "src/app.py".into(),
            old_line: None,
            new_line: Some(new_line),
            line_range: None,
        }
    }
}

/// A workdir with its engine and its events, quiet on the console.
pub(crate) fn ledger(path: &Path, fresh: bool) -> (Arc<Engine>, Workdir, Events) {
    let settings = Settings { enabled: true, ..Settings::default() };
    let engine = Arc::new(Engine::new(&settings, [TOKEN.to_owned()]).expect("an engine"));
    let forbidden = Forbidden { current: path.parent().expect("a folder").into(), ..Forbidden::default() };
    let workdir = match fresh {
        true => Workdir::create(path, &forbidden, Arc::clone(&engine)),
        false => Workdir::open(path, &forbidden, Arc::clone(&engine))
            .map(|workdir| workdir.knowing(Tracked::Names(Default::default()))),
    };
    let workdir = workdir.expect("a workdir");
    let console = Console::new(ConsoleStyle { level: Level::Error, document: true, ..ConsoleStyle::default() });
    let events = Events::new("test".into(), workdir.events_file().ok(), console, Arc::clone(&engine));
    (engine, workdir, events)
}

/// The real policy with waits that a test can afford.
pub(crate) fn quick(mut config: ClientConfig) -> ClientConfig {
    config.backoff = Backoff {
        base: Duration::from_millis(2),
        max: Duration::from_millis(10),
        limit_window: Duration::from_millis(20),
        patience: Duration::from_secs(20),
    };
    config.deadlines =
        Deadlines { connect: Duration::from_secs(5), idle: Duration::from_secs(20), total: Duration::from_secs(20) };
    config.settle = Duration::from_millis(80);
    config
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, code: ErrorCode) -> (String, String) {
    let error = result.expect_err("refused");
    assert_eq!(error.code(), code, "{error}");
    let engine = Engine::new(&Settings::default(), []).expect("an engine");
    (error.to_string(), error.info(&engine).help.unwrap_or_default())
}

#[tokio::test]
async fn the_user_and_the_merge_request_are_read_with_a_bearer_token() {
    let site = Site::new();
    let client = site.client();
    let user = client.current_user().await.expect("a user");
    assert_eq!((user.id, user.bot), (BOT, true));
    let found = client.merge_request().await.expect("a merge request");
    let refs = found.diff_refs.expect("refs");
    assert_eq!((refs.base_sha, refs.head_sha), (site.base.clone(), site.head.clone()));
    assert_eq!((found.state.as_str(), found.auto_merge, found.draft), ("opened", Some(false), false));
    assert_eq!(found.changes_count.as_deref(), Some("1"));
    let bearer = format!("Bearer {TOKEN}");
    assert!(site.gitlab.requests().iter().all(|request| request.authorization.as_ref() == Some(&bearer)));
}

#[tokio::test]
async fn lists_are_read_to_the_last_page_although_earlier_pages_are_short() {
    let site = Site::new();
    site.gitlab.change(|store| {
        store.add_plain(ALICE, "first");
        store.add_hidden(130);
        store.add_system("added 1 commit");
        store.add_thread(ALICE, "a thread");
        store.add_hidden(90);
        store.add_plain(BOT, "last");
    });
    let client = site.client();
    let (notes, discussions) = tokio::join!(client.notes(), client.discussions());
    let bodies: Vec<_> = notes.expect("notes").into_iter().map(|note| (note.body, note.system)).collect();
    let expected = [("first", false), ("added 1 commit", true), ("a thread", false), ("last", false)];
    assert_eq!(bodies, expected.map(|(body, system)| (body.to_owned(), system)));
    let discussions = discussions.expect("discussions");
    assert_eq!(discussions.iter().map(|note| note.body.as_str()).collect::<Vec<_>>(), expected.map(|(body, _)| body));
    assert!(discussions.iter().all(|note| note.discussion_id.is_some()));
    assert_eq!(site.gitlab.count(&On::get("/notes")), 3);
}

#[tokio::test]
async fn a_list_without_paging_headers_is_read_until_a_page_is_empty() {
    let site = Site::new();
    site.gitlab.change(|store| {
        (0..250).for_each(|number| {
            store.add_plain(ALICE, &number.to_string());
        });
        store.paging_headers = false;
    });
    assert_eq!(site.client().notes().await.expect("notes").len(), 250);
}

#[tokio::test]
async fn the_independent_reads_run_at_the_same_time() {
    let site = Site::new();
    site.gitlab.latency(Duration::from_millis(150));
    let snapshot = site.client().snapshot().await;
    assert!(snapshot.user.is_ok() && snapshot.merge_request.is_ok());
    assert!(snapshot.listing.is_ok() && snapshot.versions.is_ok());
    assert_eq!(site.gitlab.most_in_flight(), 4);
}

#[tokio::test]
async fn a_merge_request_without_shas_is_waited_for_briefly() {
    let site = Site::new();
    site.gitlab.change(|store| store.diff_refs_null = 3);
    let found = site.client().ready_merge_request().await.expect("a merge request");
    assert!(found.diff_refs.is_some());
    assert_eq!(site.gitlab.requests().len(), 4);

    site.gitlab.change(|store| store.diff_refs_null = 99);
    let found = site.client().ready_merge_request().await.expect("a merge request");
    assert_eq!(found.diff_refs, None);
}

#[tokio::test]
async fn a_read_survives_every_passing_trouble_and_each_retry_is_an_event() {
    let troubles = [
        (Failure::throttled(0), Some(429)),
        (Failure::notes_limit(), Some(429)),
        (Failure::bad_gateway(), Some(502)),
        (Failure::internal_error(), Some(500)),
        (Failure::locked(), Some(409)),
        (Failure::Drop, None),
        (Failure::DoneThenDrop, None),
        (Failure::DoneThenCut, Some(200)),
    ];
    for (failure, status) in troubles {
        let site = Site::new();
        site.gitlab.fail_times(2, On::get("/notes"), failure.clone());
        site.client().notes().await.unwrap_or_else(|error| panic!("{failure:?}: {error}"));
        let retries = site.events_named("gitlab.retry");
        assert_eq!(retries.len(), 2, "{failure:?}");
        assert_eq!(retries[1]["status"].as_u64(), status, "{failure:?}");
        assert_eq!((retries[1]["attempt"].as_u64(), retries[1]["method"].as_str()), (Some(3), Some("GET")));
    }
}

#[tokio::test]
async fn a_request_is_sent_at_most_retry_max_times() {
    let site = Site::new();
    site.gitlab.fail_times(9, On::get("/notes"), Failure::bad_gateway());
    let (message, _) =
        refused(site.client_with(|config| config.retry_max = 2).notes().await, ErrorCode::GitlabFetchPriorFailed);
    assert!(message.contains("502 Bad Gateway"), "{message}");
    assert_eq!(site.gitlab.requests().len(), 2);
}

#[tokio::test]
async fn a_refusal_is_not_repeated_and_names_the_fix() {
    let site = Site::new();
    let (message, help) = refused(
        site.client_with(|config| config.token = Token::new("glcbt-synthetic-job-token")).notes().await,
        ErrorCode::GitlabAuthError,
    );
    assert!(message.contains("401 Unauthorized") && help.contains("CI_JOB_TOKEN") && help.contains("protected"));
    assert_eq!(site.gitlab.requests().len(), 1);

    site.gitlab.change(|store| store.token_error = Some("Token was revoked. You have to re-authorize from the user."));
    let (_, help) = refused(site.client().notes().await, ErrorCode::GitlabAuthError);
    assert!(help.contains("revoked"), "{help}");

    site.gitlab.change(|store| (store.token_error, store.project_visible) = (None, false));
    let (message, help) = refused(site.client().merge_request().await, ErrorCode::GitlabFetchPriorFailed);
    assert!(message.contains("404 Project Not Found") && help.contains("CI_MERGE_REQUEST_PROJECT_ID"));
}

#[tokio::test]
async fn a_token_that_could_never_post_is_found_before_anything_is_paid_for() {
    let site = Site::new();
    assert_eq!(site.client().token_info().await.expect("a token").scopes, ["api"]);
    site.client().check_token().await.expect("a good token");
    site.gitlab.change(|store| store.scopes = vec!["read_api".into()]);
    let (message, help) = refused(site.client().check_token().await, ErrorCode::GitlabAuthError);
    assert!(message.contains("[read_api]") && help.contains("scope `api`"), "{message} {help}");
    let attempt = site.client().create_note(&plain("x"), &mut site.client().attempts()).await.expect_err("refused");
    assert!(attempt.words.contains("insufficient_scope"));
    site.gitlab.change(|store| store.token_active = false);
    refused(site.client().check_token().await, ErrorCode::GitlabAuthError);
    site.gitlab.fail_next(On::get("/self"), Failure::json(404, r#"{"message":"404 Not Found"}"#));
    site.client().check_token().await.expect("a token that cannot ask about itself may still be good");
}

#[tokio::test]
async fn an_install_below_a_relative_url_and_a_project_named_by_its_path_work() {
    let site = Site::below("/gitlab");
    for base_url in [site.gitlab.url(), format!("{}/", site.gitlab.url()), format!("{}/api/v4", site.gitlab.url())] {
        let client = site.client_with(|config| {
            config.base_url = base_url;
            config.project = "group/project".into();
        });
        assert_eq!(client.merge_request().await.expect("a merge request").iid, MR);
    }
    let last = site.gitlab.requests().pop().expect("a request");
    assert_eq!(last.path, format!("projects/group%2Fproject/merge_requests/{MR}"));
}

#[tokio::test]
async fn a_write_follows_no_redirect() {
    let site = Site::new();
    let location = format!("{}/api/v4/projects/{PROJECT}/merge_requests/{MR}/notes", site.gitlab.url());
    let moved = Failure::Answer {
        status: 302,
        content_type: "text/html",
        body: String::new(),
        headers: vec![("location", location.clone())],
    };
    site.gitlab.fail_next(On::post("/notes"), moved.clone());
    let client = site.client();
    let trouble = client.create_note(&plain("hello"), &mut client.attempts()).await.expect_err("refused");
    assert_eq!((trouble.fate, trouble.status), (Fate::Refused, Some(302)));
    assert_eq!(site.gitlab.requests().len(), 1);

    site.gitlab.fail_next(On::get("/discussions"), moved);
    assert!(client.discussions().await.is_ok(), "a read may be sent on within the same address");

    let elsewhere = Failure::Answer {
        status: 301,
        content_type: "text/html",
        body: String::new(),
        headers: vec![("location", location.replace("127.0.0.1", "localhost"))],
    };
    site.gitlab.fail_next(On::get("/discussions"), elsewhere);
    let (_, help) = refused(client.discussions().await, ErrorCode::GitlabFetchPriorFailed);
    assert!(help.contains("gitlab.base_url"), "{help}");
}

#[tokio::test]
async fn a_write_without_an_answer_is_never_repeated_blindly() {
    for failure in
        [Failure::DoneThenDrop, Failure::DoneThenCut, Failure::internal_error().after_saving(), Failure::Drop]
    {
        let site = Site::new();
        site.gitlab.fail_next(On::post("/notes"), failure.clone());
        let client = site.client();
        let trouble = client.create_note(&plain("hello"), &mut client.attempts()).await.expect_err("no answer");
        assert!(trouble.uncertain(), "{failure:?}: {trouble:?}");
        assert_eq!(site.gitlab.count(&On::post("/notes")), 1, "{failure:?}");
    }
}

#[tokio::test]
async fn a_write_that_did_nothing_is_repeated() {
    for failure in [Failure::throttled(0), Failure::notes_limit(), Failure::locked()] {
        let site = Site::new();
        site.gitlab.fail_times(2, On::post("/notes"), failure);
        let client = site.client();
        let mut attempts = client.attempts();
        let posted = client.create_note(&plain("hello"), &mut attempts).await.expect("posted");
        assert_eq!((posted.status, attempts.retries(), site.gitlab.notes().len()), (Some(201), 2, 1));
    }
}

#[tokio::test]
async fn a_wait_that_would_take_too_long_is_given_up_at_once() {
    let site = Site::new();
    site.gitlab.fail_next(On::get("/notes"), Failure::throttled(3_600));
    let (message, help) = refused(site.client().notes().await, ErrorCode::GitlabFetchPriorFailed);
    assert!(message.contains("wait 3600 s") && help.contains("diffsan post"), "{message} {help}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_left_after_the_deadline() {
    let site = Site::new();
    site.gitlab.fail_times(9, On::get("/user"), Failure::Hang);
    let client = site.client_with(|config| {
        config.retry_max = 1;
        config.deadlines.total = Duration::from_millis(100);
    });
    let (message, _) = refused(client.current_user().await, ErrorCode::GitlabFetchPriorFailed);
    assert!(message.contains("no answer in time"), "{message}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_clear_error() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let site = Site::new();
    let client = site.client_with(|config| config.base_url = format!("http://127.0.0.1:{port}"));
    let (message, help) = refused(client.current_user().await, ErrorCode::GitlabFetchPriorFailed);
    assert!(message.contains("refused") && help.contains("NO_PROXY"), "{message}");
    assert_eq!(site.events_named("gitlab.retry").len(), 2);
}

#[tokio::test]
async fn a_sign_in_page_instead_of_the_api_is_a_clear_error() {
    let site = Site::new();
    let page = Failure::Answer {
        status: 200,
        content_type: "text/html; charset=utf-8",
        body: "<!DOCTYPE html><html><head><title>Sign in</title></head></html>".into(),
        headers: Vec::new(),
    };
    site.gitlab.fail_next(On::get("/user"), page);
    let (message, help) = refused(site.client().current_user().await, ErrorCode::GitlabFetchPriorFailed);
    assert!(message.contains("a web page: Sign in") && help.contains("base_url"), "{message} {help}");
}

#[tokio::test]
async fn an_error_that_quotes_the_token_is_recorded_without_it() {
    let site = Site::new();
    site.gitlab.fail_times(
        9,
        On::get("/user"),
        Failure::json(502, &format!(r#"{{"message":"upstream saw {TOKEN}"}}"#)),
    );
    let error = site.client().current_user().await.expect_err("refused");
    let info = serde_json::to_string(&error.info(&site.engine)).expect("json");
    let events = std::fs::read_to_string(site.sandbox.root().join("workdir/events.jsonl")).expect("events");
    assert!(info.contains("upstream saw") && events.contains("upstream saw"));
    assert!(!info.contains(TOKEN) && !events.contains(TOKEN));
}

#[tokio::test]
async fn the_diff_comes_in_full_or_file_by_file_with_what_is_missing_named() {
    let site = Site::new();
    let client = site.client();
    let found = client.merge_request().await.expect("a merge request");
    let full = client.diff(&found).await.expect("a diff");
    let git = site.sandbox.git(&["diff", "--full-index", "-M", &site.base, &site.head]);
    assert_eq!((full.source, String::from_utf8_lossy(&full.text).as_ref()), ("raw_diffs", git.as_str()));

    site.gitlab.change(|store| store.raw_diffs = false);
    let listed = client.diff(&found).await.expect("a diff");
    assert_eq!((listed.source, listed.unavailable.len(), listed.incomplete), ("diffs", 0, None));
    let without_index: String = git.split_inclusive('\n').filter(|line| !line.starts_with("index ")).collect();
    assert_eq!(String::from_utf8_lossy(&listed.text), without_index);

    site.gitlab.change(|store| store.collapsed = vec!["src/app.py".into()]);
    let withheld = client.diff(&found).await.expect("a diff");
    assert_eq!((withheld.text.len(), withheld.unavailable[0].path.as_str()), (0, "src/app.py"));
}

#[tokio::test]
async fn versions_come_newest_first() {
    let site = Site::new();
    let newer = site.sandbox.commit("more");
    site.gitlab.push(&site.base, &site.base, &newer);
    let versions = site.client().versions().await.expect("versions");
    assert_eq!((versions.len(), &versions[0].refs.head_sha, &versions[1].refs.head_sha), (2, &newer, &site.head));
}

#[tokio::test]
async fn the_fake_refuses_positions_in_gitlabs_own_words() {
    let site = Site::new();
    let client = site.client();
    let mut attempts = client.attempts();
    let posted = client.create_discussion(&plain("fine"), &site.on_line(7), &mut attempts).await.expect("posted");
    assert_eq!((posted.status, posted.kind.as_deref()), (Some(201), Some("DiffNote")));

    let both = Position { old_line: Some(7), ..site.on_line(7) };
    let context_with_one = Position { new_line: Some(5), ..site.on_line(7) };
    let other_file = Position { old_path: "README.md".into(), new_path: "README.md".into(), ..site.on_line(1) };
    let past_the_end = site.on_line(470);
    for position in [both, context_with_one, other_file, past_the_end] {
        let trouble =
            client.create_discussion(&plain("x"), &position, &mut client.attempts()).await.expect_err("refused");
        assert!(trouble.is_position() && trouble.words.contains("must be a valid line code"), "{trouble:?}");
    }
    let unknown = Position { head_sha: "0".repeat(40), ..site.on_line(7) };
    let trouble = client.create_discussion(&plain("x"), &unknown, &mut client.attempts()).await.expect_err("refused");
    assert_eq!(trouble.status, Some(500));
    let context = Position { old_line: Some(5), new_line: Some(5), ..site.on_line(7) };
    let file = Position { position_type: PositionType::File, new_line: None, ..site.on_line(7) };
    for position in [context, file] {
        client.create_discussion(&plain("fine"), &position, &mut client.attempts()).await.expect("posted");
    }
    assert_eq!(site.gitlab.discussions().len(), 3);
}

#[tokio::test]
async fn the_fake_executes_commands_and_stores_what_is_left() {
    let site = Site::new();
    let (status, posted) = site.raw_note("hello\r\n/label ~bug\nworld  \n").await;
    assert_eq!((status, posted["id"].is_u64()), (201, true));
    assert_eq!(site.gitlab.notes()[0].body, "hello\nworld");
    let (status, swallowed) = site.raw_note("/close").await;
    assert_eq!((status, &swallowed["id"]), (202, &Value::Null));
    assert_eq!(site.gitlab.executed_commands(), ["/label ~bug", "/close"]);
    assert_eq!(site.client().merge_request().await.expect("a merge request").state, "closed");
    site.raw_note("hey @all, see #3 ![](https://x.example/p)").await;
    let effects = site.gitlab.effects();
    assert_eq!(
        (effects.mentions, effects.references, effects.images.len()),
        (vec!["all".into()], vec!["#3".into()], 1)
    );
    assert_eq!(site.raw_note("a\0b").await.0, 400);
}

#[tokio::test]
async fn a_client_can_say_nothing_that_acts() {
    let site = Site::new();
    let client = site.client();
    let said = plain("/close\n\nhey @all, see #3 ![](https://x.example/p) a\0b");
    client.create_note(&said, &mut client.attempts()).await.expect("posted");
    assert_eq!(site.gitlab.notes()[0].body, said.as_str());
    let effects = site.gitlab.effects();
    assert!(effects.mentions.is_empty() && effects.references.is_empty() && effects.images.is_empty());
    assert!(site.gitlab.executed_commands().is_empty());
}

#[tokio::test]
async fn a_gitlab_with_an_ipv6_address_is_reached() {
    // A machine without IPv6 has nothing to reach.
    let Ok(listener) = tokio::net::TcpListener::bind("[::1]:0").await else { return };
    let site = Site::new();
    let behind = site.gitlab.url().trim_start_matches("http://").to_owned();
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut outside, _)) = listener.accept().await {
            let mut inside = tokio::net::TcpStream::connect(&behind).await.expect("the fake");
            let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
        }
    });
    let client = site.client_with(|config| config.base_url = format!("http://[::1]:{port}"));
    assert_eq!(client.current_user().await.expect("a user").id, BOT);
}
