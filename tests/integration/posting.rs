//! A plan is executed exactly once, whatever GitLab, the network and the runner do.

use std::time::Duration;

use diffsan::contracts::{
    Category, Claim, ClaimFinding, ErrorCode, LineRange, LineRangeEnd, PlannedDiscussion, PlannedResolve, Position,
    PositionType, PostItem, PostKind, PostPlan, PriorDigest, Severity,
};
use diffsan::gitlab::Client;
use diffsan::post::send::{Sent, send};
use diffsan::run::workdir::Artifact;
use diffsan::threads::{digest, marker};
use serde_json::Value;

use crate::gitlab::{ALICE, BOT, Failure, FakeGitLab, Moment, On};
use crate::gitlab_client::{Site, ledger, quick};

const TAG: &str = "<!-- diffsan:ai-reviewer -->";
const FINGERPRINT: &str = "<!-- diffsan:fingerprint:sha256:aaaa -->";

fn finding_id(number: u32) -> String {
    format!("f-{number:012x}")
}

fn planned(site: &Site, number: u32) -> PlannedDiscussion {
    let id = finding_id(number);
    PlannedDiscussion {
        path: "src/app.py".into(),
        line_start: 7 + number,
        line_end: 7 + number,
        body_markdown: format!("**[security/high]** finding number {number}\n\n<!-- diffsan:finding:{id} -->"),
        position: site.on_line(7 + number),
        fallbacks: Vec::new(),
        severity: Severity::High,
        category: Category::Security,
        finding_id: id,
        line_key: format!("line-{number}"),
        block_key: "block".into(),
    }
}

/// What a review of this version claims.
fn claim(nonce: &str, discussions: u32) -> Claim {
    let finding = |number: u32| ClaimFinding {
        id: finding_id(number),
        line: format!("line-{number}"),
        block: "block".into(),
        moved: String::new(),
        path: "src/app.py".into(),
        start: 7 + number,
        end: 7 + number,
        side: Default::default(),
        severity: Severity::High,
        category: Category::Security,
        title: format!("finding number {number}"),
        note: None,
        adopted: false,
        dismissed: false,
    };
    Claim {
        tag: "ai-reviewer".into(),
        nonce: nonce.into(),
        generation: 1,
        change: "change".into(),
        complete: true,
        findings: (0..discussions).map(finding).collect(),
        ..Claim::default()
    }
}

fn plan(site: &Site, discussions: u32) -> PostPlan {
    let summary_markdown = format!("**{discussions} findings**\n\nThe change is fine.");
    PostPlan {
        project_id: None,
        mr_iid: None,
        head_sha: Some(site.head.clone()),
        summary_body: format!("{summary_markdown}\n\n{TAG}\n{FINGERPRINT}\n\n<details>\n\nmeta\n\n</details>\n"),
        summary_markdown,
        summary_meta_collapsible: "<details></details>".into(),
        discussions: (0..discussions).map(|number| planned(site, number)).collect(),
        idempotent_summary: false,
        prior_summary_note_id: None,
        repeated: Vec::new(),
        withheld: Vec::new(),
        sanitized: Default::default(),
        claim: Some(claim("first", discussions)),
        base_sha: None,
        drafts: false,
        resolve: Vec::new(),
        reopen: Vec::new(),
    }
}

async fn post(site: &Site, plan: &PostPlan) -> Sent {
    post_with(site, plan, &site.client()).await
}

async fn post_with(site: &Site, plan: &PostPlan, client: &Client) -> Sent {
    send(plan, client, &site.workdir, &site.events, &site.engine).await
}

/// Everything of the plan is in GitLab exactly once.
#[track_caller]
fn assert_once(gitlab: &FakeGitLab, plan: &PostPlan) {
    let threads = gitlab.discussions();
    for discussion in &plan.discussions {
        let text = marker::text(&discussion.body_markdown);
        let copies = threads.iter().filter(|thread| marker::text(&thread.notes[0].body) == text).count();
        assert_eq!(copies, 1, "{}", discussion.finding_id);
    }
    assert_eq!(threads.len(), plan.discussions.len());
    assert_eq!(gitlab.notes().iter().filter(|note| note.body.contains(FINGERPRINT)).count(), 1);
}

fn statuses(sent: &Sent) -> Vec<(bool, Option<u16>, u32)> {
    sent.results.items.iter().map(|item| (item.ok, item.http_status, item.retry_count)).collect()
}

fn item<'a>(sent: &'a Sent, id: &str) -> &'a PostItem {
    sent.results.items.iter().find(|item| item.finding_id.as_deref() == Some(id)).expect("an item")
}

#[tokio::test]
async fn the_summary_claims_first_and_is_completed_last_and_the_results_are_in_plan_order() {
    let site = Site::new();
    let plan = plan(&site, 9);
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok && sent.error.is_none(), "{:?}", sent.error);
    assert_once(&site.gitlab, &plan);

    let items = &sent.results.items;
    assert_eq!(items[0].kind, PostKind::SummaryNote);
    let ids: Vec<_> = items[1..].iter().map(|item| item.finding_id.clone().unwrap_or_default()).collect();
    assert_eq!(ids, (0..9).map(finding_id).collect::<Vec<_>>());
    for item in &items[1..] {
        assert_eq!((item.http_status, item.rung.as_deref(), item.already_there), (Some(201), Some("line"), false));
        let thread =
            site.gitlab.discussions().into_iter().find(|thread| Some(&thread.id) == item.discussion_id.as_ref());
        assert_eq!(thread.map(|thread| thread.notes[0].id), item.gitlab_id);
    }
    let writes: Vec<_> = site.gitlab.requests().into_iter().filter(|request| request.method != "GET").collect();
    let claimed = writes[0].body["body"].as_str().unwrap_or_default();
    assert!(
        writes[0].path.ends_with("/notes")
            && (0..9).all(|number| claimed.contains(&format!("finding number {number}")))
    );
    let last = &writes[writes.len() - 1];
    assert_eq!(last.method, "PUT");
    let completed = last.body["body"].as_str().unwrap_or_default();
    assert!(!completed.contains("finding number 3") && completed.contains("#note_"), "{completed}");
    assert_eq!(site.events_named("gitlab.post.discussion").len(), 9);
    let summary = &site.events_named("gitlab.post.summary")[0];
    assert_eq!((summary["ok"].as_bool(), summary["http_status"].as_u64()), (Some(true), Some(201)));
}

#[tokio::test]
async fn at_most_sixteen_discussions_are_under_way_at_once() {
    let site = Site::new();
    site.gitlab.latency(Duration::from_millis(50));
    post(&site, &plan(&site, 30)).await;
    assert_eq!(site.gitlab.most_in_flight(), 16);
}

#[tokio::test]
async fn two_429_and_a_502_still_end_well_and_are_counted() {
    let site = Site::new();
    let plan = plan(&site, 3);
    site.gitlab.fail_next(On::post("/discussions").with(&finding_id(0)), Failure::throttled(0));
    site.gitlab.fail_next(On::post("/notes"), Failure::notes_limit());
    site.gitlab.fail_next(On::post("/discussions").with(&finding_id(1)), Failure::bad_gateway());
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok);
    assert_eq!(
        statuses(&sent),
        [(true, Some(201), 1), (true, Some(201), 1), (true, Some(201), 1), (true, Some(201), 0)]
    );
    assert_once(&site.gitlab, &plan);
    assert_eq!(site.events_named("gitlab.retry").len(), 2, "what may have been done is looked for, not repeated");
}

#[tokio::test]
async fn a_write_without_an_answer_is_never_there_twice() {
    let huge = Failure::json(201, &format!("{{\"x\":\"{}\"}}", "y".repeat(17 << 20)));
    let failures = [
        Failure::DoneThenDrop,
        Failure::DoneThenCut,
        Failure::internal_error().after_saving(),
        Failure::bad_gateway().after_saving(),
        Failure::json(201, "{}").after_saving(),
        Failure::json(201, "not json").after_saving(),
        huge.after_saving(),
        Failure::Drop,
        Failure::internal_error(),
    ];
    for failure in failures {
        let name = format!("{failure:?}").chars().take(80).collect::<String>();
        for on in [On::post("/discussions"), On::post("/notes")] {
            let site = Site::new();
            let plan = plan(&site, 3);
            site.gitlab.fail_next(on, failure.clone());
            let sent = post(&site, &plan).await;
            assert!(sent.results.ok, "{name}: {:?}", sent.error);
            assert_once(&site.gitlab, &plan);
        }
    }
}

#[tokio::test]
async fn answers_that_are_always_lost_still_end_with_one_copy() {
    let site = Site::new();
    let plan = plan(&site, 5);
    site.gitlab.fail_times(99, On::post("/discussions"), Failure::DoneThenDrop);
    site.gitlab.fail_times(99, On::post("/notes"), Failure::internal_error().after_saving());
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok, "{:?}", sent.error);
    assert_once(&site.gitlab, &plan);
}

#[tokio::test]
async fn a_server_that_stays_broken_costs_retry_max_attempts_and_the_summary_has_the_finding() {
    let site = Site::new();
    let plan = plan(&site, 3);
    site.gitlab.fail_times(99, On::post("/discussions").with(&finding_id(1)), Failure::internal_error());
    let sent = post(&site, &plan).await;
    assert!(!sent.results.ok);
    let broken = item(&sent, &finding_id(1));
    assert_eq!((broken.ok, broken.http_status, broken.retry_count), (false, Some(500), 2));
    assert_eq!(broken.rung.as_deref(), Some("summary"));
    let error = sent.error.expect("an error");
    assert_eq!(error.code(), ErrorCode::GitlabPostFailed);
    assert!(error.to_string().starts_with("1 of 4 items could not be posted"), "{error}");
    assert!(site.gitlab.notes()[0].body.contains("finding number 1"));

    // Later GitLab works again: the same plan ends with everything once, and the summary up to date.
    site.gitlab.recover();
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok, "{:?}", sent.error);
    assert_once(&site.gitlab, &plan);
    assert!(!site.gitlab.notes()[0].body.contains("could not be posted"));
}

#[tokio::test]
async fn a_refused_token_stops_at_once() {
    let site = Site::new();
    let plan = plan(&site, 20);
    site.gitlab.fail_times(99, On::post("/discussions"), Failure::unauthorized());
    let sent = post(&site, &plan).await;
    assert_eq!(sent.error.expect("an error").code(), ErrorCode::GitlabAuthError);
    assert!(site.gitlab.count(&On::post("/discussions")) <= 16);
    assert_eq!(sent.results.items.iter().filter(|item| item.ok).count(), 1, "the claim has every finding");
    assert_eq!(sent.results.items.len(), 21);
    let codes = sent.results.items[1..].iter().map(|item| item.error.as_ref().expect("an error").error_code);
    assert!(codes.into_iter().all(|code| code == ErrorCode::GitlabAuthError));
}

#[tokio::test]
async fn nothing_is_written_when_what_is_there_cannot_be_read() {
    for (paths, failure, code) in [
        (["/discussions", "/notes"], Failure::internal_error(), ErrorCode::GitlabFetchPriorFailed),
        (["/user", "/user"], Failure::unauthorized(), ErrorCode::GitlabAuthError),
    ] {
        let site = Site::new();
        for path in paths {
            site.gitlab.fail_times(99, On::get(path), failure.clone());
        }
        let sent = post(&site, &plan(&site, 2)).await;
        assert_eq!(sent.error.expect("an error").code(), code, "{paths:?}");
        assert_eq!(sent.results.items.len(), 3);
        assert!(site.gitlab.requests().iter().all(|request| request.method == "GET"));
    }
}

#[tokio::test]
async fn a_refused_place_falls_down_the_ladder_and_leaves_the_rest_posted() {
    let site = Site::new();
    let mut plan = plan(&site, 5);
    let impossible = |line: u32| Position { old_line: Some(1), ..site.on_line(line) };
    let end = |line: u32| LineRangeEnd { line_code: format!("{}_0_{line}", "a".repeat(40)), line_type: "new".into() };
    let range = |line: u32| Position {
        line_range: Some(LineRange { start: end(line - 1), end: end(line) }),
        ..site.on_line(line)
    };
    let refused_range = Position { line_range: range(9).line_range, ..impossible(9) };
    let file = Position { position_type: PositionType::File, new_line: None, ..site.on_line(9) };
    plan.discussions[0].position = range(9);
    plan.discussions[1].position = refused_range.clone();
    plan.discussions[1].fallbacks = vec![site.on_line(9), file.clone()];
    plan.discussions[2].position = refused_range.clone();
    plan.discussions[2].fallbacks = vec![impossible(10), file];
    plan.discussions[3].position = refused_range;
    plan.discussions[3].fallbacks = vec![impossible(10)];
    let sent = post(&site, &plan).await;

    assert!(!sent.results.ok && sent.error.is_none(), "the finding is in the summary: {:?}", sent.error);
    let oks: Vec<_> = sent.results.items.iter().map(|item| item.ok).collect();
    assert_eq!(oks, [true, true, true, true, false, true]);
    let refused = site.events_named("gitlab.post.discussion").iter().filter(|event| event["ok"] == false).count();
    assert_eq!(refused, 1);
    let rungs: Vec<_> = sent.results.items[1..].iter().map(|item| item.rung.as_deref().unwrap_or_default()).collect();
    assert_eq!(rungs, ["range", "line", "file", "summary", "line"]);
    let codes: Vec<_> =
        sent.results.items[1..].iter().map(|item| item.error.as_ref().map(|error| error.error_code)).collect();
    let refused = Some(ErrorCode::GitlabPositionInvalid);
    assert_eq!(codes, [None, refused, refused, refused, None]);
    assert_eq!(site.gitlab.discussions().len(), 4);
    let summary = &site.gitlab.notes()[0].body;
    assert!(summary.contains("finding number 3") && !summary.contains("finding number 2"), "{summary}");
}

#[tokio::test]
async fn a_second_run_of_the_same_plan_writes_nothing() {
    let site = Site::new();
    let plan = plan(&site, 5);
    post(&site, &plan).await;
    let writes = site.gitlab.requests().iter().filter(|request| request.method != "GET").count();

    let elsewhere = ledger(&site.sandbox.root().join("another"), true);
    let again = send(&plan, &site.client(), &elsewhere.1, &elsewhere.2, &elsewhere.0).await;
    assert!(again.results.ok && again.results.items.iter().all(|item| item.already_there));
    assert!(again.results.items.iter().all(|item| item.gitlab_id.is_some()));
    assert_eq!(site.gitlab.requests().iter().filter(|request| request.method != "GET").count(), writes);
    assert_once(&site.gitlab, &plan);
}

#[tokio::test]
async fn what_someone_deleted_is_not_posted_again_while_the_summary_says_that_it_was_there() {
    let site = Site::new();
    let plan = plan(&site, 2);
    let note = post(&site, &plan).await.results.items[1].gitlab_id;
    site.gitlab.change(|store| note.into_iter().for_each(|id| store.remove_note(id)));
    let again = post(&site, &plan).await;
    assert!(again.results.ok && again.results.items.iter().all(|item| item.already_there), "{:?}", again.results);
    assert_eq!((site.gitlab.discussions().len(), site.gitlab.notes().len()), (1, 1));
}

#[tokio::test]
async fn a_ledger_that_says_done_posts_nothing_less() {
    let site = Site::new();
    let plan = plan(&site, 2);
    let forged: String = ["summary".to_owned(), finding_id(0), finding_id(1)]
        .iter()
        .map(|item| format!("{{\"item\":\"{item}\",\"state\":\"done\",\"gitlab_id\":1,\"http_status\":201}}\n"))
        .collect();
    std::fs::write(site.sandbox.root().join("workdir/post_ledger.jsonl"), forged).expect("written");
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok && sent.results.items.iter().all(|item| !item.already_there));
    assert_once(&site.gitlab, &plan);
}

#[tokio::test]
async fn someone_elses_markers_do_not_count() {
    let site = Site::new();
    let plan = plan(&site, 2);
    let forged: Vec<_> = plan.discussions.iter().map(|planned| planned.body_markdown.clone()).collect();
    site.gitlab.change(|store| {
        forged.iter().for_each(|body| {
            store.add_thread(ALICE, body);
        });
        store.add_plain(ALICE, &plan.summary_body);
        store.add_system(&forged[0]);
    });
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok && sent.results.items.iter().all(|item| !item.already_there));
    let own = site.gitlab.discussions().iter().filter(|thread| thread.notes[0].author == BOT).count();
    assert_eq!(own, 2);
    assert_eq!(site.gitlab.notes().iter().filter(|note| note.author == BOT).count(), 1);
}

#[tokio::test]
async fn a_run_cut_off_at_any_request_is_finished_by_the_next_with_one_copy_of_everything() {
    let site = Site::new();
    let plan = plan(&site, 11);
    // Four reads, the claim, a look, eleven discussions, a look, and the claim again.
    const REQUESTS: usize = 19;
    for boundary in 0..REQUESTS {
        for moment in [Moment::BeforeDoing, Moment::BeforeAnswering] {
            let gitlab = FakeGitLab::start(&site.sandbox.repo(), &site.base, &site.head);
            let mut config = site.config();
            config.base_url = gitlab.url();
            let path = site.sandbox.root().join(format!("killed-{boundary}-{moment:?}"));
            {
                let (engine, workdir, events) = ledger(&path, true);
                let client = Client::new(quick(config.clone()), events.clone()).expect("a client");
                let reached = gitlab.hold_at(boundary, moment);
                let held = tokio::task::spawn_blocking(move || reached.recv());
                // The future is dropped where it stands, like a process that is killed.
                tokio::select! {
                    _ = send(&plan, &client, &workdir, &events, &engine) => panic!("not held at {boundary}"),
                    held = held => held.expect("joined").expect("reached"),
                }
            }
            gitlab.release();
            let (engine, workdir, events) = ledger(&path, false);
            let client = Client::new(quick(config), events.clone()).expect("a client");
            let sent = send(&plan, &client, &workdir, &events, &engine).await;
            assert!(sent.results.ok, "{boundary} {moment:?}: {:?}", sent.error);
            assert_once(&gitlab, &plan);
        }
    }
}

#[tokio::test]
async fn a_moved_head_keeps_everything_out_of_the_lines_and_the_summary_has_it_in_full() {
    let site = Site::new();
    let plan = plan(&site, 3);
    let newer = site.sandbox.commit("more");
    site.gitlab.push(&site.base, &site.base, &newer);
    let sent = post(&site, &plan).await;
    assert!(sent.error.is_none() && site.gitlab.discussions().is_empty());
    assert!(sent.results.items[1..].iter().all(|item| item.rung.as_deref() == Some("summary")));
    let body = &site.gitlab.notes()[0].body;
    assert!(body.starts_with(&format!("This review is of commit `{}`", site.head)) && body.contains(&newer));
    assert!((0..3).all(|number| body.contains(&format!("finding number {number}"))));
    assert!(site.events_named("warning")[0]["message"].as_str().is_some_and(|text| text.contains(&newer)));
}

#[tokio::test]
async fn a_review_against_another_base_than_the_merge_requests_places_nothing_on_lines() {
    let site = Site::new();
    let plan = PostPlan { base_sha: Some(site.head.clone()), ..plan(&site, 2) };
    let sent = post(&site, &plan).await;
    assert!(sent.error.is_none() && site.gitlab.discussions().is_empty());
    let body = &site.gitlab.notes()[0].body;
    assert!((0..2).all(|number| body.contains(&format!("finding number {number}"))), "{body}");
    assert!(body.contains(&format!("the merge request compares with `{}`", site.base)), "{body}");
}

#[tokio::test]
async fn a_head_that_moves_after_it_was_read_still_gets_its_discussions() {
    let site = Site::new();
    let plan = plan(&site, 3);
    site.sandbox.write("other.txt", "x\n");
    let newer = site.sandbox.commit("more");
    let refs = crate::gitlab::Refs { base: site.base.clone(), start: site.base.clone(), head: newer.clone() };
    site.gitlab.change(|store| store.push_after_read = Some(refs));
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok, "{:?}", sent.error);
    assert_once(&site.gitlab, &plan);
    let position = site.gitlab.discussions()[0].notes[0].position.clone().expect("a position");
    assert_eq!(position["head_sha"], Value::from(newer), "GitLab traces an older version's line to the newest one");
}

#[tokio::test]
async fn a_closed_or_merged_request_gets_the_review_and_a_warning() {
    for state in ["closed", "merged"] {
        let site = Site::new();
        site.gitlab.change(|store| store.state = state.into());
        let plan = plan(&site, 1);
        assert!(post(&site, &plan).await.results.ok);
        assert_once(&site.gitlab, &plan);
        assert!(site.events_named("warning")[0]["message"].as_str().is_some_and(|text| text.contains(state)));
    }
}

#[tokio::test]
async fn a_locked_discussion_and_a_low_role_are_told_apart() {
    for (locked, words) in [(true, "discussion is locked"), (false, "403 Forbidden")] {
        let site = Site::new();
        site.gitlab.change(|store| (store.may_comment, store.locked) = (false, locked));
        let error = post(&site, &plan(&site, 2)).await.error.expect("an error");
        assert_eq!(error.code(), ErrorCode::GitlabAuthError);
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.info(&site.engine).help.is_some());
    }
}

#[tokio::test]
async fn a_full_merge_request_is_a_clear_error_and_a_kept_summary_is_still_updated() {
    let site = Site::new();
    let mut plan = plan(&site, 6);
    site.gitlab.change(|store| store.max_notes = 0);
    let sent = post(&site, &plan).await;
    let error = sent.error.expect("an error");
    let first = sent.results.items[0].error.clone().expect("an error");
    assert!(error.to_string().contains("Maximum number of comments exceeded"), "{error}");
    assert!(first.help.is_some_and(|help| help.contains("5,000")));
    assert_eq!(site.gitlab.count(&On::post("/discussions")), 0);

    let note = site.gitlab.add_note(BOT, &format!("old\n\n{TAG}"));
    plan.idempotent_summary = true;
    plan.prior_summary_note_id = Some(note);
    let sent = post(&site, &plan).await;
    assert!(sent.results.items[0].ok && !sent.results.ok);
    assert!((0..6).all(|number| site.gitlab.notes()[0].body.contains(&format!("finding number {number}"))));
}

#[tokio::test]
async fn a_text_that_gitlab_took_for_a_command_is_a_loud_failure() {
    let site = Site::new();
    let plan = plan(&site, 2);
    let swallowed = r#"{"commands_changes":{},"summary":["Ran /label"]}"#;
    site.gitlab.fail_times(9, On::post("/discussions").with(&finding_id(0)), Failure::json(202, swallowed));
    let sent = post(&site, &plan).await;
    let swallowed = item(&sent, &finding_id(0));
    assert_eq!((swallowed.ok, swallowed.http_status, swallowed.gitlab_id), (false, Some(202), None));
    assert!(swallowed.error.as_ref().is_some_and(|error| error.message.contains("stored nothing")));
    assert!(!sent.results.ok);
}

#[tokio::test]
async fn a_comment_that_gitlab_did_not_put_on_its_line_is_reported() {
    let site = Site::new();
    let plan = plan(&site, 1);
    let plain = r#"{"id":"abc","individual_note":false,"notes":[{"id":5,"type":"DiscussionNote","body":"x"}]}"#;
    site.gitlab.fail_next(On::post("/discussions"), Failure::json(201, plain));
    let sent = post(&site, &plan).await;
    let posted = item(&sent, &finding_id(0));
    assert_eq!((posted.ok, posted.rung.as_deref(), posted.gitlab_id), (true, None, Some(5)));
    assert!(posted.error.as_ref().is_some_and(|error| error.message.contains("plain thread")));
}

#[tokio::test]
async fn an_idempotent_summary_updates_the_newest_own_note_and_nobody_elses() {
    let site = Site::new();
    let mut plan = plan(&site, 0);
    plan.idempotent_summary = true;
    let foreign = site.gitlab.add_note(ALICE, &format!("mine\n\n{TAG}"));
    let sent = post(&site, &plan).await;
    assert_eq!((sent.results.items[0].http_status, site.gitlab.notes().len()), (Some(201), 2));
    let own = sent.results.items[0].gitlab_id.expect("an id");

    let fresh = ledger(&site.sandbox.root().join("second"), true);
    plan.prior_summary_note_id = Some(foreign);
    plan.claim = Some(Claim { generation: 2, ..claim("second", 0) });
    plan.summary_body = plan.summary_body.replace("sha256:aaaa", "sha256:bbbb");
    let sent = send(&plan, &site.client(), &fresh.1, &fresh.2, &fresh.0).await;
    assert_eq!((sent.results.items[0].http_status, sent.results.items[0].gitlab_id), (Some(200), Some(own)));
    let bodies: Vec<_> = site.gitlab.notes().into_iter().map(|note| note.body).collect();
    assert_eq!(bodies.len(), 2);
    assert!(bodies[0].starts_with("mine") && bodies[1].contains("sha256:bbbb"));
}

#[tokio::test]
async fn an_idempotent_summary_whose_note_is_gone_is_created() {
    let site = Site::new();
    let mut plan = plan(&site, 0);
    plan.idempotent_summary = true;
    let note = site.gitlab.add_note(BOT, &format!("old\n\n{TAG}"));
    plan.prior_summary_note_id = Some(note);
    site.gitlab
        .fail_next(On::put(&format!("/notes/{note}")), Failure::json(404, r#"{"message":"404 Note Not Found"}"#));
    let sent = post(&site, &plan).await;
    assert_eq!(sent.results.items[0].http_status, Some(201));
}

#[tokio::test]
async fn a_new_review_of_the_same_version_takes_the_place_of_the_first() {
    let site = Site::new();
    let mut plan = plan(&site, 0);
    let first = post(&site, &plan).await.results.items[0].gitlab_id;
    plan.prior_summary_note_id = first;
    plan.claim = Some(Claim { generation: 2, ..claim("second", 0) });
    plan.summary_markdown = "**0 findings**\n\nOn second thought.".into();
    plan.summary_body = format!("{}\n\n{TAG}\n{FINGERPRINT}\n", plan.summary_markdown);
    let fresh = ledger(&site.sandbox.root().join("second"), true);
    let sent = send(&plan, &site.client(), &fresh.1, &fresh.2, &fresh.0).await;
    assert!(!sent.results.items[0].already_there && sent.results.items[0].gitlab_id != first);
    assert_eq!((site.gitlab.notes().len(), sent.results.removed), (1, 1));
    assert!(site.gitlab.notes()[0].body.contains("On second thought."));
}

#[tokio::test]
async fn a_late_run_of_an_older_head_writes_nothing_over_the_newer_review() {
    for idempotent in [false, true] {
        let site = Site::new();
        let mut late = plan(&site, 2);
        late.idempotent_summary = idempotent;
        let newer = site.sandbox.commit("more");
        site.gitlab.push(&site.base, &site.base, &newer);
        let mut plan = plan(&site, 0);
        (plan.head_sha, plan.claim, plan.idempotent_summary) = (Some(newer), Some(claim("newer", 0)), idempotent);
        let first = post(&site, &plan).await.results.items[0].gitlab_id;
        let fresh = ledger(&site.sandbox.root().join("late"), true);
        let sent = send(&late, &site.client(), &fresh.1, &fresh.2, &fresh.0).await;
        assert!(sent.error.is_none(), "{:?}", sent.error);
        assert_eq!(sent.results.superseded_by, first);
        assert_eq!((site.gitlab.discussions().len(), site.gitlab.notes().len()), (0, 1));
    }
}

#[tokio::test]
async fn either_list_is_enough_and_without_the_discussions_nothing_is_removed() {
    for path in ["/discussions", "/notes"] {
        let site = Site::new();
        let mut plan = plan(&site, 3);
        post(&site, &plan).await;
        site.gitlab.fail_times(99, On::get(path), Failure::internal_error());
        plan.claim = Some(Claim { generation: 2, ..claim("second", 3) });
        let fresh = ledger(&site.sandbox.root().join("second"), true);
        let sent = send(&plan, &site.client(), &fresh.1, &fresh.2, &fresh.0).await;
        assert!(sent.results.ok, "{path}: {:?}", sent.error);
        let (threads, notes) = if path == "/discussions" { (6, 2) } else { (3, 1) };
        assert_eq!((site.gitlab.discussions().len(), site.gitlab.notes().len()), (threads, notes), "{path}");
    }
}

#[tokio::test]
async fn a_user_that_cannot_be_read_is_a_warning_and_own_notes_are_known_by_their_signature() {
    let site = Site::new();
    let plan = plan(&site, 3);
    site.gitlab.fail_times(99, On::get("/user"), Failure::json(403, r#"{"message":"403 Forbidden"}"#));
    for round in ["first", "second"] {
        let fresh = ledger(&site.sandbox.root().join(round), true);
        let sent = send(&plan, &site.client(), &fresh.1, &fresh.2, &fresh.0).await;
        assert!(sent.results.ok, "{round}: {:?}", sent.error);
        assert_once(&site.gitlab, &plan);
    }
}

#[tokio::test]
async fn a_write_that_arrives_after_its_repetition_is_removed_again() {
    let site = Site::new();
    let plan = plan(&site, 3);
    let client = site.client_with(|config| config.settle = Duration::from_millis(900));
    site.gitlab
        .fail_next(On::post("/discussions").with(&finding_id(1)), Failure::DoneLater(Duration::from_millis(400)));
    let sent = post_with(&site, &plan, &client).await;
    assert!(sent.results.ok, "{:?}", sent.error);
    assert_eq!(sent.results.removed, 1);
    assert_once(&site.gitlab, &plan);
}

#[tokio::test]
async fn lists_that_lag_behind_cost_time_and_no_copy() {
    let site = Site::new();
    let plan = plan(&site, 5);
    site.gitlab.change(|store| store.lag = 4);
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok, "{:?}", sent.error);
    assert_once(&site.gitlab, &plan);
}

#[tokio::test]
async fn a_gitlab_that_stalls_is_given_up_within_the_time_of_three_requests() {
    for path in ["/discussions", "/notes"] {
        let site = Site::new();
        let plan = plan(&site, 30);
        let client = site.client_with(|config| {
            config.deadlines.total = Duration::from_millis(300);
            config.settle = Duration::from_secs(600);
        });
        site.gitlab.fail_times(999, On::post(path), Failure::Hang);
        site.gitlab.fail_times(999, On::get("/discussions"), Failure::Hang);
        let sent = post_with(&site, &plan, &client).await;
        assert!(!sent.results.ok && sent.error.is_some());
        let stalled = site.gitlab.requests().iter().filter(|request| request.status == 0).count();
        assert!(stalled <= 16 + 3, "{path}: {stalled} requests were waited for");
    }
}

#[tokio::test]
async fn broken_rows_and_notes_of_nobody_stop_nothing() {
    let site = Site::new();
    let plan = plan(&site, 2);
    let rows = r#"[{"id":"a","notes":[{"id":1,"body":"x","author":null,"system":false}]},{"id":7},"row",null,
        {"id":"b","notes":[{"id":2,"body":null,"author":{"id":null}}]},
        {"id":"c","notes":[{"id":3,"body":"<!-- otherbot:claim:x -->","author":{"id":4242}}]}]"#;
    site.gitlab.fail_next(On::get("/discussions"), Failure::json(200, rows));
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok, "{:?}", sent.error);
    assert_once(&site.gitlab, &plan);
    let said = site.events_named("warning");
    assert!(said[0]["message"].as_str().is_some_and(|text| text.contains("passed over")), "{said:?}");
}

#[tokio::test]
async fn many_pages_of_foreign_and_quoted_markers_are_read_to_the_end_and_hide_no_own_one() {
    let site = Site::new();
    let plan = plan(&site, 1);
    post(&site, &plan).await;
    let claim = site.gitlab.notes()[0].body.clone();
    site.gitlab.change(|store| {
        let quoted: String = claim.lines().map(|line| format!("> {line}\n")).collect();
        for number in 0..450 {
            let body = match number % 4 {
                0 => &claim,
                1 => &quoted,
                2 => "<!-- reviewdog:claim:e30= -->",
                _ => "fine",
            };
            store.add_plain(ALICE, body);
        }
    });
    let before = site.gitlab.requests().len();
    let sent = post(&site, &plan).await;
    assert!(sent.results.items.iter().all(|item| item.already_there), "{:?}", sent.results);
    assert!(site.gitlab.requests()[before..].iter().all(|request| request.method == "GET"));
}

#[tokio::test]
async fn drafts_appear_together_and_one_that_has_no_place_falls_back_first() {
    let site = Site::new();
    let mut plan = plan(&site, 4);
    plan.drafts = true;
    plan.discussions[1].position = Position { old_line: Some(1), ..site.on_line(9) };
    plan.discussions[2].position = Position { old_line: Some(1), ..site.on_line(9) };
    plan.discussions[2].fallbacks = vec![site.on_line(9)];
    let sent = post(&site, &plan).await;
    assert!(sent.error.is_none(), "{:?}", sent.error);
    let rungs: Vec<_> = sent.results.items[1..].iter().map(|item| item.rung.as_deref().unwrap_or_default()).collect();
    assert_eq!(rungs, ["line", "summary", "line", "line"]);
    assert_eq!((site.gitlab.discussions().len(), site.gitlab.count(&On::post("/discussions"))), (3, 0));
    assert!(site.gitlab.notes()[0].body.contains("finding number 1"));
    site.gitlab.change(|store| assert_eq!((store.announced, store.drafts.len()), (1, 0)));
}

#[tokio::test]
async fn drafts_of_a_killed_run_go_first_and_somebodys_own_draft_is_never_published() {
    let site = Site::new();
    let mut plan = plan(&site, 2);
    plan.drafts = true;
    let left =
        format!("left\n\n<!-- diffsan:item:ai-reviewer:dead:l:b:s:w -->\n<!-- diffsan:finding:{} -->", finding_id(7));
    site.gitlab.change(|store| store.add_draft(&left));
    assert!(post(&site, &plan).await.results.ok);
    assert_once(&site.gitlab, &plan);

    let other = Site::new();
    other.gitlab.change(|store| store.add_draft("my own thoughts"));
    assert!(post(&other, &plan_of(&other, &plan)).await.results.ok);
    assert_eq!(other.gitlab.discussions().len(), 2);
    other.gitlab.change(|store| assert_eq!((store.announced, store.drafts.len()), (0, 1)));
}

/// The same plan for another site.
fn plan_of(site: &Site, plan: &PostPlan) -> PostPlan {
    let discussions = (0..).zip(&plan.discussions).map(|(number, _)| planned(site, number)).collect();
    PostPlan { head_sha: Some(site.head.clone()), discussions, ..plan.clone() }
}

#[tokio::test]
async fn a_publication_that_breaks_in_the_middle_is_finished() {
    for failure in [Failure::internal_error(), Failure::internal_error().after_saving(), Failure::DoneThenDrop] {
        let site = Site::new();
        let mut plan = plan(&site, 3);
        plan.drafts = true;
        site.gitlab.fail_next(On::post("/bulk_publish"), failure.clone());
        let sent = post(&site, &plan).await;
        assert!(sent.results.ok, "{failure:?}: {:?}", sent.error);
        assert_once(&site.gitlab, &plan);
    }
}

#[tokio::test]
async fn a_publication_that_publishes_some_loses_some_and_leaves_some_is_finished() {
    let site = Site::new();
    let mut plan = plan(&site, 5);
    plan.drafts = true;
    site.gitlab.change(|store| store.publish_breaks = true);
    let sent = post(&site, &plan).await;
    assert!(sent.results.ok, "{:?}", sent.error);
    assert_once(&site.gitlab, &plan);
    site.gitlab.change(|store| assert_eq!(store.drafts.len(), 0));
}

#[tokio::test]
async fn a_run_with_drafts_that_is_killed_at_any_request_is_finished_with_one_copy() {
    let site = Site::new();
    let mut plan = plan(&site, 3);
    plan.drafts = true;
    // Four reads, the claim, a look, the drafts, three of them, the drafts, their publication, a look, the claim again.
    for boundary in 0..14 {
        for moment in [Moment::BeforeDoing, Moment::BeforeAnswering] {
            let gitlab = FakeGitLab::start(&site.sandbox.repo(), &site.base, &site.head);
            let mut config = site.config();
            config.base_url = gitlab.url();
            let path = site.sandbox.root().join(format!("drafts-{boundary}-{moment:?}"));
            {
                let (engine, workdir, events) = ledger(&path, true);
                let client = Client::new(quick(config.clone()), events.clone()).expect("a client");
                let reached = gitlab.hold_at(boundary, moment);
                let held = tokio::task::spawn_blocking(move || reached.recv());
                tokio::select! {
                    _ = send(&plan, &client, &workdir, &events, &engine) => panic!("not held at {boundary}"),
                    held = held => held.expect("joined").expect("reached"),
                }
            }
            gitlab.release();
            let (engine, workdir, events) = ledger(&path, false);
            let client = Client::new(quick(config), events.clone()).expect("a client");
            let sent = send(&plan, &client, &workdir, &events, &engine).await;
            assert!(sent.results.ok, "{boundary} {moment:?}: {:?}", sent.error);
            assert_once(&gitlab, &plan);
        }
    }
}

#[tokio::test]
async fn an_own_thread_is_resolved_only_where_nobody_answered_and_a_missing_right_is_a_warning() {
    for (answered, may) in [(false, true), (true, true), (false, false)] {
        let site = Site::new();
        let mut plan = plan(&site, 1);
        let thread = post(&site, &plan).await.results.items[1].clone();
        let (note_id, discussion_id) = (thread.gitlab_id.expect("an id"), thread.discussion_id.expect("an id"));
        site.gitlab.change(|store| {
            store.may_resolve = may;
            if answered {
                store.reply_to(note_id, ALICE, "really?");
            }
        });
        plan.resolve = vec![PlannedResolve { finding_id: finding_id(0), discussion_id, note_id }];
        let sent = post(&site, &plan).await;
        assert!(sent.results.ok, "{:?}", sent.error);
        let resolved = site.gitlab.discussions()[0].notes[0].resolved;
        let expected = may && !answered;
        assert_eq!((resolved, sent.results.resolved), (expected, u32::from(expected)));
        let told = "Resolved by diffsan, since the line is gone and the fault with it: [1](";
        assert_eq!(site.gitlab.notes()[0].body.contains(told), expected, "{}", site.gitlab.notes()[0].body);
        if expected {
            // Posted once more it says the same, and nothing is written.
            let before = site.gitlab.requests().len();
            assert_eq!(post(&site, &plan).await.results.resolved, 1);
            assert!(site.gitlab.requests()[before..].iter().all(|request| request.method == "GET"));
            (plan.resolve, plan.reopen) = (Vec::new(), plan.resolve);
            assert_eq!(post(&site, &plan).await.results.reopened, 1);
            assert!(!site.gitlab.discussions()[0].notes[0].resolved);
            assert!(site.gitlab.notes()[0].body.contains("Opened again by diffsan"), "{}", site.gitlab.notes()[0].body);
        }
    }
}

#[tokio::test]
async fn a_comment_with_an_internal_answer_is_never_removed() {
    let site = Site::new();
    post(&site, &plan(&site, 1)).await;
    let first = site.gitlab.discussions()[0].notes[0].id;
    site.gitlab.change(|store| {
        let reply = store.reply_to(first, ALICE, "for members");
        let notes = store.discussions.iter_mut().flat_map(|thread| &mut thread.notes);
        notes.filter(|note| note.id == reply).for_each(|note| note.internal = true);
    });
    // Another review of the same version takes its place, but for what somebody answered.
    let mut newer = plan(&site, 1);
    newer.claim = Some(Claim { generation: 2, ..claim("newer", 1) });
    post(&site, &newer).await;
    assert!(site.gitlab.discussions().iter().any(|thread| thread.notes[0].id == first));
}

#[tokio::test]
async fn a_secret_in_a_body_is_not_posted_and_the_markers_stay() {
    let site = Site::new();
    let mut plan = plan(&site, 1);
    let marker = format!("<!-- diffsan:finding:{} -->", finding_id(0));
    plan.discussions[0].body_markdown = format!("look: {}\n\n{marker}", crate::gitlab::TOKEN);
    plan.summary_body = format!("saw {}\n\n{TAG}\n{FINGERPRINT}\n", crate::gitlab::TOKEN);
    assert!(post(&site, &plan).await.results.ok);
    let (thread, summary) = (site.gitlab.discussions()[0].notes[0].body.clone(), site.gitlab.notes()[0].body.clone());
    assert!(thread.starts_with("look: [REDACTED]\n\n<!-- diffsan:item:") && thread.ends_with(&marker), "{thread}");
    assert!(
        summary.starts_with("saw [REDACTED]\n\n") && summary.contains(&format!("{TAG}\n{FINGERPRINT}")),
        "{summary}"
    );
}

#[tokio::test]
async fn the_ledger_has_the_intent_before_and_the_result_after_each_write() {
    let site = Site::new();
    let mut plan = plan(&site, 2);
    plan.discussions[1].position = Position { old_line: Some(1), ..site.on_line(9) };
    post(&site, &plan).await;
    let text = std::fs::read_to_string(site.sandbox.root().join("workdir/post_ledger.jsonl")).expect("a ledger");
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
    let states = |item: &str| -> Vec<_> {
        let own = entries.iter().filter(|entry| entry["item"] == item);
        own.map(|entry| (entry["state"].as_str().unwrap_or_default().to_owned(), entry["http_status"].as_u64()))
            .collect()
    };
    let pair = |state: &str, status| vec![("intent".to_owned(), None), (state.to_owned(), status)];
    assert_eq!(states(&finding_id(0)), pair("done", Some(201)));
    assert_eq!(states(&finding_id(1)), pair("failed", Some(400)));
    assert_eq!(states("summary"), pair("done", Some(201)));
}

#[tokio::test]
async fn a_plan_that_went_through_the_workdir_is_recognised_by_its_markers() {
    let site = Site::new();
    let mut plan = plan(&site, 3);
    let fingerprint = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let digest =
        digest::encode(&PriorDigest { summary_hint: Some("The change is fine.".into()), ..Default::default() });
    let markers = [
        TAG.to_owned(),
        marker::marker(&format!("fingerprint:sha256:{fingerprint}")),
        marker::marker(&format!("prior_digest:{digest}")),
    ];
    plan.summary_body = format!("{}\n\n{}\n", plan.summary_markdown, markers.join("\n"));
    site.workdir.json(Artifact::PostPlan, &plan).expect("written");
    let read: PostPlan = site.workdir.read_json(Artifact::PostPlan).expect("readable").expect("there");
    assert_eq!(read, plan);

    assert!(post(&site, &plan).await.results.ok);
    let fresh = ledger(&site.sandbox.root().join("second"), true);
    let again = send(&read, &site.client(), &fresh.1, &fresh.2, &fresh.0).await;
    assert!(again.results.items.iter().all(|item| item.already_there));
    assert!(markers.iter().all(|marker| site.gitlab.notes()[0].body.contains(marker.as_str())));
}
