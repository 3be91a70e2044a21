//! A review that several jobs share: each leaves its part, and one job makes one review of them and posts it once.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::gitlab::{BOT, FakeGitLab, Moment};
use crate::posting_runs::{Job, copy_folder};
use crate::sandbox::{Finished, Sandbox, read_json};

/// A change of so many new files, large enough for that many parts; the agent finds one fault in each file it is shown.
fn job(files: usize) -> Job {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "feature"]);
    for file in 0..files {
        let lines: String = (0..250).map(|line| format!("value_{line} = compute({file}, {line})\n")).collect();
        sandbox.write(&format!("src/f{file}.py"), lines);
    }
    let job = Job::with(sandbox, "", Vec::new());
    job.sandbox.script("agent.sh", &agent(&job));
    job
}

fn agent(job: &Job) -> String {
    let root = job.sandbox.root().display();
    format!(
        r#"#!/bin/sh
echo ran >> '{root}/runs'
files=$(grep -o '^+++ b/src/f[0-9]*\.py' | sed 's/^+++ b.//' | sort -u)
printf '{{"summary_markdown":"All was read.","findings":['
comma=
for file in $files; do
  printf '%s{{"severity":"high","category":"correctness","path":"%s","line_start":7,"line_end":7,' "$comma" "$file"
  printf '"body_markdown":"The seventh value of %s is wrong."}}' "$file"
  comma=,
done
printf ']}}'
"#
    )
}

fn folder(job: &Job, part: u32, of: u32) -> PathBuf {
    job.sandbox.workdir().join(format!("part-{part}-of-{of}"))
}

/// Runs each part, and says what they left.
fn review_parts(job: &Job, of: u32) -> Vec<Value> {
    let review = |part| {
        job.run(&["--ci", "--shard", &format!("{part}/{of}")]).expect_code(0);
        read_json(&folder(job, part, of).join("part.json"))
    };
    (1..=of).map(review).collect()
}

fn writes(job: &Job) -> usize {
    job.gitlab.requests().iter().filter(|request| request.method != "GET").count()
}

fn record(job: &Job) -> Value {
    job.sandbox.artifact("run.json")
}

fn summary(job: &Job) -> String {
    let own: Vec<_> = job.gitlab.notes().into_iter().filter(|note| note.author == BOT).collect();
    assert_eq!(own.len(), 1, "{own:?}");
    own[0].body.clone()
}

/// Each file's fault once, and one summary.
#[track_caller]
fn assert_once(job: &Job, files: usize, when: &str) {
    assert_eq!(job.posted(), (files, 1), "{when}");
    for file in 0..files {
        let text = format!("The seventh value of src/f{file}.py is wrong.");
        let copies = job.gitlab.discussions().iter().filter(|thread| thread.notes[0].body.contains(&text)).count();
        assert_eq!(copies, 1, "{when}: {text}");
    }
}

#[test]
fn each_part_reviews_its_files_and_one_job_posts_them_once() {
    let job = job(12);
    let parts = review_parts(&job, 4);
    assert_eq!(writes(&job), 0, "a part writes nothing");
    let shown = |part: &Value| part["outcome"]["review"]["findings"].as_array().unwrap().len();
    let sizes: Vec<usize> = parts.iter().map(shown).collect();
    assert_eq!((sizes.iter().sum::<usize>(), sizes.iter().all(|size| *size == 3)), (12, true), "{sizes:?}");
    let hunks = |run: &Value| run["verdict"]["coverage"]["hunks_sent"].as_u64().unwrap();
    let records = (1..=4).map(|part| read_json(&folder(&job, part, 4).join("run.json")));
    let records: Vec<Value> = records.collect();
    assert_eq!(records[1]["part"], serde_json::json!({ "part": 2, "of": 4 }));
    assert!(records[1]["verdict"]["headline"].as_str().unwrap().starts_with("Part 2 of 4: 3 findings"), "{records:?}");

    job.run(&["post", "--parts", "4"]).expect_code(0);
    assert_once(&job, 12, "posted");
    let posted = record(&job);
    assert_eq!(hunks(&posted), records.iter().map(hunks).sum::<u64>(), "the ledger adds up");
    assert_eq!(posted["verdict"]["coverage"]["hunks_total"], 12);
    let calls = job.sandbox.artifact("review.json")["meta"]["calls"].clone();
    assert_eq!((calls.as_array().unwrap().len(), job.agent_runs()), (4, 4));
    assert!(job.sandbox.artifact_text("report.html").contains("The seventh value of src/f11.py is wrong."));

    let before = writes(&job);
    job.run(&["post", "--parts", "4"]).expect_code(0);
    assert_eq!((record(&job)["skip_reasons"][0]["code"].as_str(), writes(&job)), (Some("SAME_FINGERPRINT"), before));
    job.run(&["--ci", "--shard", "2/4"]).expect_code(0);
    assert_eq!(job.agent_runs(), 4, "what is posted is not reviewed again");
}

#[test]
fn a_missing_part_is_said_everywhere_and_a_retry_of_two_jobs_repairs_it() {
    let job = job(12);
    review_parts(&job, 4);
    std::fs::remove_dir_all(folder(&job, 3, 4)).unwrap();
    // Its job was stopped: the folder is there, the part is not.
    std::fs::remove_file(folder(&job, 2, 4).join("part.json")).unwrap();

    let finished = job.run(&["post", "--parts", "4"]).expect_code(1);
    assert!(finished.stderr.contains("of 4 parts there is no part 2, part 3"), "{}", finished.stderr);
    assert_eq!(job.posted(), (6, 1));
    let text = summary(&job);
    for words in ["part of the change was not reviewed", "part 3 of 4 was not reviewed: it is missing", "no part.json"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let coverage = record(&job)["verdict"]["coverage"].clone();
    let (sent, dropped, total) = (&coverage["hunks_sent"], &coverage["hunks_dropped"], &coverage["hunks_total"]);
    assert_eq!((sent.as_u64(), dropped.as_u64(), total.as_u64()), (Some(6), Some(6), Some(12)), "{coverage}");
    assert_eq!(
        (&coverage["reasons"]["lost_part"], &coverage["not_reviewed"][0]["why"]),
        (&6.into(), &"lost_part".into())
    );
    assert!(job.sandbox.artifact_text("report.html").contains("part 3 of 4 is missing"));

    let before = writes(&job);
    job.run(&["post", "--parts", "4"]).expect_code(1);
    assert_eq!(writes(&job), before, "the same parts are no news");
    job.run(&["post", "--parts", "4", "--fail-on", "critical"]).expect_code(3);
    assert_eq!(record(&job)["verdict"]["gate"]["status"], "closed", "nothing passes unseen");

    job.run(&["--ci", "--shard", "3/4"]).expect_code(0);
    job.run(&["post", "--parts", "4"]).expect_code(1);
    assert_eq!(job.posted(), (9, 1), "one more part is news");
    job.run(&["--ci", "--shard", "2/4"]).expect_code(0);
    job.run(&["post", "--parts", "4"]).expect_code(0);
    assert_once(&job, 12, "repaired");
    assert!(!summary(&job).contains("not reviewed"), "{}", summary(&job));
}

#[test]
fn a_posting_job_that_is_killed_at_any_write_and_started_again_leaves_one_copy() {
    let mut job = job(4);
    review_parts(&job, 2);
    job.gitlab = FakeGitLab::start(&job.sandbox.repo(), &job.base, &job.head);
    job.run(&["post", "--parts", "2"]).expect_code(0);
    let requests = job.gitlab.requests();
    let writes: Vec<usize> = (0..requests.len()).filter(|at| requests[*at].method != "GET").collect();
    assert!(writes.len() >= 6, "{writes:?}");
    // To die before a write is to die after the one before it.
    let moments = [(writes[0], Moment::BeforeDoing)].into_iter();
    for (at, moment) in moments.chain(writes.into_iter().map(|at| (at, Moment::BeforeAnswering))) {
        job.gitlab = FakeGitLab::start(&job.sandbox.repo(), &job.base, &job.head);
        job.killed_at(&["post", "--parts", "2"], at, moment);
        job.run(&["post", "--parts", "2"]).expect_code(0);
        assert_once(&job, 4, &format!("killed at request {at}, {moment:?}"));
    }
    assert_eq!(job.agent_runs(), 2, "no agent runs where it is only posted");
}

#[test]
fn a_part_neither_gates_nor_posts_and_the_posting_job_does_both() {
    let job = job(4);
    for part in ["1/2", "2/2"] {
        job.run(&["--ci", "--shard", part, "--fail-on", "low"]).expect_code(0);
    }
    assert_eq!(writes(&job), 0);
    job.run(&["post", "--parts", "2", "--fail-on", "low"]).expect_code(3);
    assert_once(&job, 4, "gated");
}

#[test]
fn more_parts_than_there_is_work_cost_nothing_and_are_not_missed() {
    let job = job(1);
    for part in ["1/3", "2/3", "3/3"] {
        job.run(&["--ci", "--shard", part]).expect_code(0);
    }
    assert_eq!(job.agent_runs(), 1);
    assert_eq!(read_json(&folder(&job, 3, 3).join("run.json"))["skip_reasons"][0]["code"], "EMPTY_PART");
    // GitLab keeps no artifacts of a job that never ran; an empty part is not missed then either.
    std::fs::remove_dir_all(folder(&job, 2, 3)).unwrap();
    job.run(&["post", "--parts", "3"]).expect_code(0);
    assert_once(&job, 1, "one part has it all");
}

#[test]
fn a_failed_agent_leaves_no_part_and_nothing_is_posted_without_any() {
    let job = job(4);
    job.sandbox.script("agent.sh", "#!/bin/sh\nexit 1\n");
    for part in ["1/2", "2/2"] {
        job.run(&["--ci", "--shard", part]).expect_code(1);
        assert!(folder(&job, 1, 2).join("run.json").exists() && !folder(&job, 1, 2).join("part.json").exists());
    }
    job.run(&["post", "--parts", "2"]).expect_code(1);
    assert_eq!((record(&job)["ok"].as_bool(), job.posted()), (Some(false), (0, 0)));
    job.sandbox.script("agent.sh", &agent(&job));
    review_parts(&job, 2);
    job.run(&["post", "--parts", "2"]).expect_code(0);
    assert_once(&job, 4, "repaired");
}

#[test]
fn a_skip_is_all_parts_or_none() {
    let job = job(4);
    let run =
        |args: &[&str]| Finished::of(job.command(args).env("DIFFSAN_SKIP__SKIP_ON_DRAFT", "true").output().unwrap());
    job.gitlab.change(|store| store.draft = true);
    for part in ["1/2", "2/2"] {
        run(&["--ci", "--shard", part]).expect_code(0);
    }
    run(&["post", "--parts", "2"]).expect_code(0);
    assert_eq!(record(&job)["skip_reasons"][0]["code"], "DRAFT");
    // Made ready since: the parts say that they were skipped, and nothing was paid for.
    job.gitlab.change(|store| store.draft = false);
    run(&["post", "--parts", "2"]).expect_code(0);
    assert_eq!((job.agent_runs(), job.posted()), (0, (0, 0)));
    // One part reviewed, the other skipped: what was reviewed is posted, the rest is not reviewed.
    run(&["--ci", "--shard", "1/2"]).expect_code(0);
    run(&["post", "--parts", "2"]).expect_code(1);
    assert!(summary(&job).contains("it was skipped"), "{}", summary(&job));
    // A draft again: what was paid for is posted all the same.
    job.gitlab.change(|store| store.draft = true);
    run(&["post", "--parts", "2"]).expect_code(1);
    assert_eq!(job.posted(), (2, 1));
}

#[test]
fn each_part_takes_the_second_look_at_its_own_findings() {
    let job = job(4);
    let first = job.sandbox.script("first.sh", &agent(&job));
    let verdict = |claim: u32, verdict: &str| {
        format!(
            r#"{{"claim":{claim},"verdict":"{verdict}","severity":"high","evidence":"It is.","path":"%s","line":7}}"#
        )
    };
    let script = format!(
        "#!/bin/sh\ncat >$0.$$\nif ! grep -q 'second of two reviewers' $0.$$; then exec '{}' <$0.$$; fi\n\
         file=$(grep -o '^+++ b/src/f[0-9]*\\.py' $0.$$ | head -n 1 | cut -c 7-)\n\
         printf '{{\"verdicts\":[{},{}],\"threads\":[]}}' \"$file\" \"$file\"\n",
        first.display(),
        verdict(1, "refuted"),
        verdict(2, "holds"),
    );
    job.sandbox.script("agent.sh", &script);
    let run = |args: &[&str]| {
        Finished::of(job.command(args).env("DIFFSAN_REVIEW__SECOND_LOOK", "medium").output().unwrap()).expect_code(0)
    };
    for part in ["1/2", "2/2"] {
        run(&["--ci", "--shard", part]);
    }
    run(&["post", "--parts", "2"]);
    assert_eq!((job.agent_runs(), job.posted()), (2, (2, 1)), "one of two findings of each part holds");
    let meta = job.sandbox.artifact("review.json")["meta"].clone();
    let look = &meta["second_look"];
    assert_eq!((&look["status"], &look["claims"], &look["holds"]), (&"done".into(), &4.into(), &2.into()), "{look}");
    let calls: Vec<_> = meta["calls"].as_array().unwrap().iter().map(|call| call["part"].as_str().unwrap()).collect();
    assert_eq!(calls, ["pass 1", "second look of part 1", "pass 2", "second look of part 2"]);
}

#[test]
fn the_numbers_of_a_parallel_job_are_taken_and_folders_may_be_named() {
    let job = job(4);
    for index in ["1", "2"] {
        let mut command = job.command(&["--ci", "--shard", "auto"]);
        Finished::of(command.env("CI_NODE_INDEX", index).env("CI_NODE_TOTAL", "2").output().unwrap()).expect_code(0);
    }
    std::fs::create_dir(job.sandbox.repo().join("elsewhere")).unwrap();
    for (part, name) in [(1, "elsewhere/a"), (2, "elsewhere/b")] {
        std::fs::rename(folder(&job, part, 2), job.sandbox.repo().join(name)).unwrap();
    }
    job.run(&["post", "elsewhere/a", "elsewhere/b"]).expect_code(0);
    assert_once(&job, 4, "by their folders");
}

#[test]
fn what_cannot_be_a_part_is_refused_in_words() {
    let job = job(4);
    review_parts(&job, 2);
    job.run(&["--ci", "--shard", "1/3"]).expect_code(0);
    copy_folder(&folder(&job, 1, 2), &job.sandbox.repo().join("copy"));
    let (one, two, other) = (".diffsan/part-1-of-2", ".diffsan/part-2-of-2", ".diffsan/part-1-of-3");
    // Reviewed again: the copy is another part 1.
    job.run(&["--ci", "--shard", "1/2"]).expect_code(0);
    for (args, code, words) in [
        (&["--ci", "--shard", "0/4"][..], 2, "parts count from 1"),
        (&["--ci", "--shard", "5/4"], 2, "there is no part 5 of 4"),
        (&["--ci", "--shard", "x"], 2, "neither `auto` nor two numbers"),
        (&["--ci", "--shard", "auto"], 2, "CI_NODE_INDEX and CI_NODE_TOTAL are not set"),
        (&["--no-ci", "--shard", "1/2"], 2, "cannot be used with"),
        (&["post", "--parts", "0"], 2, "0 is not in 1..=200"),
        (&["post", "nowhere", one], 2, "there is no folder nowhere"),
        (&["post", "src", "elsewhere"], 2, "there is no folder elsewhere"),
        (&["post", "src", "."], 2, "none of the folders is a part"),
        (&["post", one, other], 2, "different divisions"),
        (&["post", one, two, "copy"], 2, "are both part 1 of 2"),
        (&["--shard", "1/2"], 2, "a local review has one part"),
    ] {
        let finished = job.run(args).expect_code(code);
        assert!(finished.stderr.contains(words), "{args:?}: {}", finished.stderr);
        assert_eq!(writes(&job), 0, "{args:?}");
    }
    // The same part twice is one.
    job.run(&["post", one, two, one]).expect_code(0);
}

/// What happens to a part before it is posted, and why it is not taken then.
type Mishap = (&'static str, fn(&Job, &Path), &'static str);

#[test]
fn a_part_that_does_not_fit_is_not_believed() {
    fn edit(part: &Path, from: &str, to: &str) {
        let file = part.join("part.json");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        std::fs::write(&file, text.replace(from, to)).unwrap();
    }
    let mishaps: [Mishap; 8] = [
        ("a forged finding", |_, part| edit(part, "The seventh value of", "Nothing is wrong with"), "not signed"),
        ("no signature", |_, part| edit(part, "\"signature\": \"", "\"unsigned\": \""), "not signed"),
        ("another number", |_, part| edit(part, "\"part\": 1", "\"part\": 2"), "it is missing"),
        ("another head", |job, part| edit(part, &job.head, &job.base), "not signed"),
        ("no JSON", |_, part| std::fs::write(part.join("part.json"), "{").unwrap(), "part.json is no part"),
        (
            "a link",
            |_, part| {
                std::fs::rename(part.join("part.json"), part.join("else.json")).unwrap();
                std::os::unix::fs::symlink("else.json", part.join("part.json")).unwrap();
            },
            "it is a symbolic link",
        ),
        (
            "a tracked file",
            |job, _| drop(job.sandbox.git(&["add", "-f", ".diffsan/part-1-of-2/part.json"])),
            "git tracks it",
        ),
        (
            "a huge file",
            |_, part| {
                std::fs::File::options().append(true).open(part.join("part.json")).unwrap().set_len(1 << 30).unwrap()
            },
            "no artifact is larger",
        ),
    ];
    let mut job = job(4);
    review_parts(&job, 2);
    let (own, kept) = (folder(&job, 1, 2), job.sandbox.root().join("kept"));
    copy_folder(&own, &kept);
    for (name, mishap, words) in mishaps {
        job.gitlab = FakeGitLab::start(&job.sandbox.repo(), &job.base, &job.head);
        mishap(&job, &own);
        job.run(&["post", "--parts", "2"]).expect_code(1);
        let text = summary(&job);
        assert!(text.contains(words) && text.contains("part 1 of 2 was not reviewed"), "{name}: {text}");
        assert_eq!(job.posted(), (2, 1), "{name}");
        job.sandbox.git(&["reset", "-q"]);
        std::fs::remove_dir_all(&own).unwrap();
        copy_folder(&kept, &own);
    }
    // Without the signature's defence the forged finding would be posted.
    job.gitlab = FakeGitLab::start(&job.sandbox.repo(), &job.base, &job.head);
    edit(&own, "The seventh value of", "Nothing is wrong with");
    let mut command = job.command(&["post", "--parts", "2"]);
    Finished::of(command.env("DIFFSAN_FAULT", "undefended:part_signature").output().unwrap()).expect_code(0);
    assert!(job.gitlab.discussions().iter().any(|thread| thread.notes[0].body.contains("Nothing is wrong with")));
}

#[test]
fn a_part_of_another_policy_or_commit_is_not_believed() {
    let mut job = job(4);
    review_parts(&job, 2);
    let mut command = job.command(&["post", "--parts", "2"]);
    let finished = Finished::of(command.env("DIFFSAN_REVIEW__LANGUAGE", "German").output().unwrap()).expect_code(1);
    assert!(finished.stderr.contains("of 2 parts there is no part 1, part 2"), "{}", finished.stderr);
    assert!(record(&job)["diagnostics"].to_string().contains("it is of another policy"), "{}", record(&job));

    job.sandbox.write("src/f0.py", "value = 1\n");
    let head = job.sandbox.commit("another commit");
    job.gitlab.push(&job.base, &job.base, &head);
    job.head = head;
    job.run(&["post", "--parts", "2"]).expect_code(1);
    assert!(record(&job)["diagnostics"].to_string().contains("it is of another commit"), "{}", record(&job));
    assert_eq!(job.posted(), (0, 0));
}

#[test]
fn without_posting_the_parts_are_merged_and_judged_without_a_token() {
    let job = job(4);
    for part in ["1/2", "2/2"] {
        let mut command = job.command(&["--ci", "--no-post", "--shard", part]);
        Finished::of(command.env_remove("GITLAB_TOKEN").output().unwrap()).expect_code(0);
    }
    let mut command = job.command(&["post", "--no-post", "--parts", "2", "--fail-on", "high"]);
    Finished::of(command.env_remove("GITLAB_TOKEN").output().unwrap()).expect_code(3);
    assert_eq!(job.sandbox.artifact("gl-code-quality-report.json").as_array().map(Vec::len), Some(4));
    // Where it is posted, a part that nobody signed is none.
    job.run(&["post", "--parts", "2"]).expect_code(1);
    assert_eq!(job.posted(), (0, 0));
}
