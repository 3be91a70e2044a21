//! A merge request lives for days: retries, rebases, pushes, people who answer. Whole runs of the binary.

use serde_json::{Value, json};

use crate::gitlab::{ALICE, BOT, Failure, On, PROJECT};
use crate::posting_runs::{Job, answers, finding};
use crate::sandbox::Finished;

/// Somebody who may decide, and is not the author.
const REVIEWER: u64 = 18;

impl Job {
    /// A new commit on the branch, which becomes the merge request's head.
    fn push(&mut self, message: &str) {
        self.head = self.sandbox.commit(message);
        self.gitlab.push(&self.base, &self.base, &self.head);
    }

    fn gated(&self, args: &[&str]) -> Finished {
        Finished::of(self.command(args).env("DIFFSAN_GATE__FAIL_ON", "high").output().unwrap())
    }

    fn codes(&self) -> Vec<String> {
        let skip = self.sandbox.artifact("skip.json");
        skip["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
    }

    fn summary(&self) -> String {
        let notes = self.gitlab.notes();
        notes.iter().rfind(|note| note.author == BOT).map(|note| note.body.clone()).unwrap_or_default()
    }
}

fn titles(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect()
}

#[test]
fn a_retried_job_keeps_its_verdict_its_closed_gate_and_its_exit_code() {
    let job = Job::new(2);
    job.gated(&["--ci"]).expect_code(3);
    let again = job.gated(&["--ci"]).expect_code(3);
    assert_eq!((job.agent_runs(), job.codes()), (1, vec!["SAME_FINGERPRINT".to_owned()]));
    let run = job.sandbox.artifact("run.json");
    assert_eq!((run["skipped"].as_bool(), run["verdict"]["gate"]["status"].as_str()), (Some(true), Some("closed")));
    let link = format!("#note_{}", job.gitlab.notes()[0].id);
    assert!(again.stdout.contains(&link), "{}", again.stdout);
    job.assert_once(2, "retried");
    // Without the gate the same skip is a clean one.
    job.run(&["--ci"]).expect_code(0);
}

#[test]
fn a_gate_opens_for_a_retry_only_when_somebody_else_with_the_right_refused_the_findings() {
    let job = Job::new(1);
    job.gitlab.change(|store| store.roles = [(ALICE, 40), (REVIEWER, 30), (99, 20)].into_iter().collect());
    job.gated(&["--ci"]).expect_code(3);
    let thread = job.gitlab.discussions()[0].notes[0].id;
    for (by, code) in [(ALICE, 3), (99, 3), (REVIEWER, 0)] {
        job.gitlab.change(|store| store.resolve(thread, by));
        job.gated(&["--ci"]).expect_code(code);
    }
    assert_eq!(job.agent_runs(), 1);
}

#[test]
fn what_could_not_be_posted_is_posted_by_the_next_run_without_asking_the_agent_again() {
    let job = Job::new(3);
    job.gitlab.fail_times(99, On::post("/discussions"), Failure::internal_error());
    job.run(&["--ci"]).expect_code(1);
    assert_eq!(job.posted(), (0, 1));
    assert!((0..3).all(|number| job.summary().contains(&format!("number {number} is wrong"))), "nothing is lost");
    job.gitlab.recover();
    job.run(&["--ci"]).expect_code(0);
    job.assert_once(3, "finished");
    assert_eq!(job.agent_runs(), 1);
    assert!(!job.summary().contains("could not be posted"));
    job.run(&["--ci"]).expect_code(0);
    assert_eq!((job.agent_runs(), job.codes()), (1, vec!["SAME_FINGERPRINT".to_owned()]));
}

#[test]
fn a_rebase_costs_nothing_and_keeps_the_verdict() {
    let mut job = Job::new(2);
    job.gated(&["--ci"]).expect_code(3);
    job.sandbox.git(&["checkout", "-q", "main"]);
    let text = std::fs::read_to_string(job.sandbox.repo().join("src/app.py")).unwrap();
    job.sandbox.write("src/app.py", "# meanwhile\n".repeat(20) + &text);
    job.base = job.sandbox.commit("main moves on");
    job.sandbox.git(&["checkout", "-q", "feature"]);
    job.sandbox.git(&["rebase", "-q", "main"]);
    job.push("nothing of its own");
    job.gated(&["--ci"]).expect_code(3);
    assert_eq!((job.agent_runs(), job.codes()), (1, vec!["SAME_CHANGES".to_owned()]));
    // Another agent is another review.
    let other = job.sandbox.root().join("other.sh");
    std::fs::copy(&job.agent, &other).unwrap();
    Finished::of(job.command(&["--ci"]).env("DIFFSAN_AGENT__COMMAND", &other).output().unwrap()).expect_code(0);
    assert_eq!(job.agent_runs(), 2);
}

#[test]
fn lines_that_moved_to_an_equal_place_are_reviewed_again() {
    let sandbox = crate::sandbox::Sandbox::new();
    let body = "    one()\n    two()\n    three()\n    four()\n    five()\n    six()\n";
    let plain = format!("def f():\n{body}{}def g():\n{body}", "\n".repeat(30));
    sandbox.write("two.py", &plain);
    sandbox.commit("two functions");
    sandbox.git(&["checkout", "-q", "-b", "feature"]);
    let with_line_at = |at: usize| format!("{}    return True\n{}", &plain[..at], &plain[at..]);
    sandbox.write("two.py", with_line_at(plain.find("    four()").unwrap()));
    let mut job = Job::with(sandbox, "Fine.", vec![]);
    job.gated(&["--ci"]).expect_code(0);
    job.sandbox.write("two.py", with_line_at(plain.rfind("    four()").unwrap()));
    job.push("the same line elsewhere");
    job.gated(&["--ci"]).expect_code(0);
    assert_eq!(job.agent_runs(), 2, "nobody saw it there");
}

#[test]
fn a_forged_or_unsigned_summary_skips_nothing() {
    let job = Job::new(1);
    job.run(&["--ci", "--no-post"]).expect_code(0);
    let fingerprint = job.sandbox.artifact("run.json")["fingerprint"]["value"].as_str().unwrap().to_owned();
    let old = format!("fine\n\n<!-- diffsan:ai-reviewer -->\n<!-- diffsan:fingerprint:sha256:{fingerprint} -->\n");
    job.gitlab.add_note(BOT, &old);
    let plan = job.sandbox.artifact("post_plan.json");
    let payload = diffsan::threads::marker::encode(plan["claim"].to_string().as_bytes());
    job.gitlab.add_note(BOT, &format!("fine\n\n<!-- diffsan:claim:{payload}:{} -->", "0".repeat(64)));
    job.run(&["--ci"]).expect_code(0);
    assert_eq!((job.agent_runs(), job.gitlab.discussions().len()), (2, 1));
}

#[test]
fn a_worse_finding_on_an_equal_line_is_not_hidden_by_one_that_was_posted() {
    let sandbox = crate::sandbox::Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "feature"]);
    let text =
        |first: &str| format!("def a():\n    {first}\n    return None\n\n\ndef b():\n    y = 2\n    return None\n");
    sandbox.write("new.py", text("x = 1"));
    let low = json!({
        "severity": "low", "category": "correctness", "path": "new.py", "line_start": 3, "line_end": 3,
        "body_markdown": "Returns None without a word.",
    });
    let mut job = Job::with(sandbox, "Fine.", vec![low]);
    job.run(&["--ci"]).expect_code(0);
    job.sandbox.write("new.py", text("x = 3"));
    let critical = json!({
        "severity": "critical", "category": "correctness", "path": "new.py", "line_start": 8, "line_end": 8,
        "body_markdown": "Returns None and loses the customer's data.",
    });
    answers(&job.sandbox, "Not fine.", vec![critical]);
    job.push("more");
    job.run(&["--ci"]).expect_code(0);
    let bodies: Vec<_> = job.gitlab.discussions().iter().map(|thread| thread.notes[0].body.clone()).collect();
    assert!(bodies.iter().any(|body| body.contains("loses the customer's data")), "{bodies:#?}");
    let story = job.sandbox.artifact("conversation.json");
    assert_eq!(titles(&story["new"]), ["Returns None and loses the customer's data."]);
    assert_eq!(titles(&story["still_open"]), ["Returns None without a word."]);
    assert!(story["still_open"][0]["url"].as_str().unwrap().contains("#note_"));
}

#[test]
fn a_push_to_another_file_repeats_nothing_and_does_not_open_the_gate() {
    let mut job = Job::new(2);
    job.gated(&["--ci"]).expect_code(3);
    job.sandbox.write("other.txt", "more\n");
    answers(&job.sandbox, "Nothing else.", Vec::new());
    job.push("another file");
    job.gated(&["--ci"]).expect_code(3);
    assert_eq!((job.agent_runs(), job.gitlab.discussions().len()), (2, 2));
    let summary = job.summary();
    assert!(summary.contains("0 new, 2 still open, 0 resolved, 0 dismissed"), "{summary}");
    assert_eq!(summary.matches("#note_").count(), 3, "the last review and both findings are linked: {summary}");
    assert_eq!(job.gitlab.effects().references, Vec::<String>::new());
}

#[test]
fn what_a_person_refused_is_not_posted_again_and_is_told() {
    let mut job = Job::new(2);
    job.gitlab.change(|store| store.roles = [(REVIEWER, 30)].into_iter().collect());
    job.run(&["--ci"]).expect_code(0);
    let thread =
        job.gitlab.discussions().iter().find(|thread| thread.notes[0].body.contains("number 0")).unwrap().notes[0].id;
    job.gitlab.change(|store| {
        store.reply_to(thread, REVIEWER, "By design, see the docs");
    });
    job.sandbox.write("other.txt", "more\n");
    job.push("another file");
    job.run(&["--ci"]).expect_code(0);
    assert_eq!(job.gitlab.discussions().len(), 2);
    let story = job.sandbox.artifact("conversation.json");
    assert_eq!(
        (titles(&story["dismissed"]), titles(&story["still_open"])),
        (vec!["number 0 is wrong"], vec!["number 1 is wrong"])
    );
    assert_eq!(story["dismissed"][0]["counted"], false);
    assert!(job.summary().contains("answered: By design"), "{}", job.summary());
}

#[test]
fn two_jobs_of_one_head_at_once_leave_one_copy() {
    let job = Job::new(6);
    job.gitlab.latency(std::time::Duration::from_millis(30));
    let spawn = |workdir: &str| {
        let mut command = job.command(&["--ci", "--workdir", workdir]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let mut jobs = [spawn(".one"), spawn(".two")];
    for child in &mut jobs {
        assert!(child.wait().unwrap().success());
    }
    job.assert_once(6, "both ended");
}

#[test]
fn a_skipped_review_is_a_clean_post_and_the_gate_can_be_in_the_post_job() {
    let job = Job::new(1);
    let mut draft = job.command(&["--ci", "--no-post"]);
    draft.env("DIFFSAN_SKIP__SKIP_LABELS", "[\"later\"]");
    job.gitlab.change(|store| store.labels = vec!["later".into()]);
    Finished::of(draft.output().unwrap()).expect_code(0);
    assert_eq!(job.codes(), ["LABEL"]);
    job.run(&["post"]).expect_code(0);
    assert_eq!(job.posted(), (0, 0));
    job.gitlab.change(|store| store.labels.clear());
    job.run(&["--ci", "--no-post"]).expect_code(0);
    job.run(&["post", "--fail-on", "high"]).expect_code(3);
    job.assert_once(1, "posted by the second job");
    job.run(&["post", "--fail-on", "critical"]).expect_code(0);
}

#[test]
fn a_job_that_may_not_see_gitlab_and_one_that_posts_repeat_nothing_at_the_next_push() {
    let mut job = Job::new(2);
    let blind = |job: &Job| {
        let mut command = job.command(&["--ci"]);
        command.env("DIFFSAN_GITLAB__ENABLED", "false").env_remove("GITLAB_TOKEN");
        Finished::of(command.output().unwrap()).expect_code(0);
    };
    let both = |job: &Job| {
        blind(job);
        job.run(&["post"]).expect_code(0);
    };
    both(&job);
    job.assert_once(2, "the first push");
    job.sandbox.write("other.txt", "more\n");
    let worse = finding("other.txt", 1, "number 2 is wrong");
    let found = (0..2).map(|at| finding("src/app.py", 7 + at, &format!("number {at} is quite wrong")));
    answers(&job.sandbox, "One more.", found.chain([worse]).collect());
    job.push("another file");
    both(&job);
    assert_eq!(job.agent_runs(), 2);
    let bodies: Vec<_> = job.gitlab.discussions().iter().map(|thread| thread.notes[0].body.clone()).collect();
    assert_eq!(bodies.len(), 3, "{bodies:#?}");
    assert!(bodies.iter().any(|body| body.contains("number 2 is wrong")));
    assert_eq!(job.summary().matches("#note_").count(), 3, "each is linked: {}", job.summary());
    // A push elsewhere does not open the gate of the job that posts.
    job.sandbox.write("third.txt", "more\n");
    answers(&job.sandbox, "Nothing else.", Vec::new());
    job.push("a third file");
    blind(&job);
    job.run(&["post", "--fail-on", "high"]).expect_code(3);
    assert_eq!(job.gitlab.discussions().len(), 3);
    assert!(job.summary().contains("Still open from earlier reviews: [1]("), "{}", job.summary());
    assert_eq!(job.sandbox.artifact("run.json")["verdict"]["counts"]["standing"], 3);
}

#[test]
fn a_plan_for_another_project_or_merge_request_is_refused_before_any_request() {
    for (key, value) in [("project_id", json!("777")), ("mr_iid", json!(1))] {
        let job = Job::new(1);
        job.run(&["--ci", "--no-post"]).expect_code(0);
        let mut plan = job.sandbox.artifact("post_plan.json");
        assert_eq!(plan["project_id"], json!(PROJECT.to_string()));
        plan[key] = value;
        std::fs::write(job.sandbox.workdir().join("post_plan.json"), plan.to_string()).unwrap();
        let before = job.gitlab.requests().len();
        let refused = job.run(&["post"]).expect_code(1);
        assert!(refused.stderr.contains("this job is for"), "{}", refused.stderr);
        assert_eq!(job.gitlab.requests().len(), before);
    }
}

#[test]
fn what_a_plan_from_a_folder_says_of_the_change_is_computed_again() {
    let forge = |job: &Job, key: &str, value: Value| {
        let mut plan = job.sandbox.artifact("post_plan.json");
        plan["claim"][key] = value;
        std::fs::write(job.sandbox.workdir().join("post_plan.json"), plan.to_string()).unwrap();
    };
    let table = [
        (None, 1),
        (Some(("fingerprint", json!("sha256:00"))), 2),
        (Some(("change", json!("00"))), 2),
        (Some(("base", json!("00"))), 2),
    ];
    for (forged, agent_runs) in table {
        let job = Job::new(1);
        job.run(&["--ci", "--no-post"]).expect_code(0);
        let is_forged = forged.is_some();
        if let Some((key, value)) = forged {
            forge(&job, key, value);
        }
        job.run(&["post"]).expect_code(0);
        let said = job.sandbox.artifact_text("events.jsonl");
        assert_eq!(said.contains("could not be seen"), is_forged, "{said}");
        job.assert_once(1, "posted");
        job.run(&["--ci"]).expect_code(0);
        assert_eq!(job.agent_runs(), agent_runs, "a review that was not seen to be of this change skips nothing");
    }
    // A plan of another commit is of another job.
    let job = Job::new(1);
    job.run(&["--ci", "--no-post"]).expect_code(0);
    let other = job.sandbox.commit("meanwhile");
    let before = job.gitlab.requests().len();
    let refused = Finished::of(job.command(&["post"]).env("CI_COMMIT_SHA", &other).output().unwrap()).expect_code(1);
    assert!(refused.stderr.contains("this job is for commit"), "{}", refused.stderr);
    assert_eq!(job.gitlab.requests().len(), before);
}

#[test]
fn authors_titles_and_branches_that_are_not_reviewed_are_named() {
    let job = Job::new(1);
    for (variable, value, code) in [
        ("DIFFSAN_SKIP__SKIP_AUTHORS", "[\"user17\"]", "AUTHOR"),
        ("DIFFSAN_SKIP__SKIP_TITLES", "[\"(?i)^make\"]", "TITLE"),
        ("DIFFSAN_SKIP__SKIP_BRANCHES", "[\"feat*\"]", "BRANCH"),
    ] {
        Finished::of(job.command(&["--ci"]).env(variable, value).output().unwrap()).expect_code(0);
        assert_eq!(job.codes(), [code]);
    }
    let broken = Finished::of(job.command(&["--ci"]).env("DIFFSAN_SKIP__SKIP_TITLES", "[\"(\"]").output().unwrap());
    assert!(broken.expect_code(2).stderr.contains("skip.skip_titles"));
    assert_eq!(job.agent_runs(), 0);
}

#[test]
fn the_note_links_to_the_job_its_report_and_the_pipeline() {
    let job = Job::new(1);
    let mut command = job.command(&["--ci"]);
    command
        .env("CI_JOB_URL", "https://gitlab.example/g/p/-/jobs/5")
        .env("CI_PIPELINE_URL", "https://gitlab.example/g/p/-/pipelines/6");
    Finished::of(command.output().unwrap()).expect_code(0);
    let summary = job.summary();
    for link in [
        "[job](https://gitlab.example/g/p/-/jobs/5)",
        "[report](https://gitlab.example/g/p/-/jobs/5/artifacts/file/.diffsan/report.html)",
        "[pipeline](https://gitlab.example/g/p/-/pipelines/6)",
    ] {
        assert!(summary.contains(link), "{link}: {summary}");
    }
    assert!(summary.contains(&format!("`{}` to `{}`", job.base, job.head)), "{summary}");
}

#[test]
fn the_prompt_names_what_is_new_and_why_people_refused_and_what_was_reviewed_is_cut_first() {
    let mut job = Job::new(2);
    job.gitlab.change(|store| store.roles = [(REVIEWER, 30)].into_iter().collect());
    job.run(&["--ci"]).expect_code(0);
    assert!(!job.sandbox.artifact_text("prompt.txt").contains("New since"), "a first review has no last one");
    let thread =
        job.gitlab.discussions().iter().find(|thread| thread.notes[0].body.contains("number 0")).unwrap().notes[0].id;
    job.gitlab.change(|store| {
        store.reply_to(thread, REVIEWER, "> what?\n\nBy design, see the docs");
    });
    job.sandbox.write("notes.md", "more\n");
    job.push("another file");
    let mut narrow = job.command(&["--ci", "--dry-run"]);
    Finished::of(narrow.output().unwrap()).expect_code(0);
    let prompt = job.sandbox.artifact_text("prompt.txt");
    assert!(prompt.contains("New since the last review (the rest was reviewed as it is):\n- notes.md:1\n"), "{prompt}");
    assert!(prompt.contains("Refused by people:\n- src/app.py:7 number 0 is wrong (answered: By design"), "{prompt}");
    // Where only one file fits it is the new one, though code comes first otherwise. Other limits are another policy, so
    // the review to compare with is made under them.
    let one_file = |job: &Job| {
        Finished::of(job.command(&["--ci"]).env("DIFFSAN_LIMITS__MAX_FILES", "1").output().unwrap()).expect_code(0);
        job.sandbox.artifact("truncation.json")["included_paths"].clone()
    };
    assert_eq!(one_file(&job), json!(["src/app.py"]), "the control");
    job.sandbox.write("notes.md", "more\nand more\n");
    job.push("the other file again");
    assert_eq!(one_file(&job), json!(["notes.md"]));
}

#[test]
fn a_part_of_a_change_is_never_the_same_as_another() {
    let mut job = Job::new(1);
    // The clone has nothing, so that the change comes from the API, which withholds one file.
    let gone = "beef".repeat(10);
    job.sandbox.write("big.txt", "one\n");
    job.push("a big file");
    let run = |job: &Job| {
        let mut command = job.command(&["--ci"]);
        command.env("CI_COMMIT_SHA", &gone).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &gone);
        Finished::of(command.output().unwrap()).expect_code(0)
    };
    job.gitlab.change(|store| (store.raw_diffs, store.collapsed) = (false, vec!["big.txt".into()]));
    run(&job);
    let fingerprint = job.sandbox.artifact("run.json")["fingerprint"].clone();
    job.sandbox.write("big.txt", "two\n");
    job.push("only what is withheld");
    run(&job);
    assert_eq!(job.sandbox.artifact("run.json")["fingerprint"], fingerprint, "the parts at hand are the same");
    assert_eq!((job.agent_runs(), job.codes()), (2, Vec::<String>::new()));
}

#[test]
fn with_a_gate_no_author_can_cause_a_skip() {
    let job = Job::new(1);
    job.gitlab.change(|store| {
        (store.labels, store.draft, store.auto_merge) = (vec!["skip-review".into()], true, true);
    });
    let run = |gate: &[(&str, &str)]| {
        let mut command = job.command(&["--ci", "--no-post"]);
        command
            .env("DIFFSAN_SKIP__SKIP_ON_DRAFT", "true")
            .env("DIFFSAN_SKIP__SKIP_TITLES", "[\"(?i)^make\"]")
            .env("DIFFSAN_SKIP__SKIP_BRANCHES", "[\"feat*\"]")
            .envs(gate.iter().copied());
        Finished::of(command.output().unwrap())
    };
    let gate = ("DIFFSAN_GATE__FAIL_ON", "high");
    run(&[gate]).expect_code(3);
    assert_eq!((job.codes(), job.agent_runs()), (Vec::new(), 1));
    // The control: without the gate, and with one that allows it, each of them skips.
    for gate in [&[][..], &[gate, ("DIFFSAN_GATE__ALLOW_SKIPS", "true")]] {
        run(gate).expect_code(0);
        assert_eq!(job.codes(), ["AUTO_MERGE", "DRAFT", "LABEL", "TITLE", "BRANCH"]);
    }
}
