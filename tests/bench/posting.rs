//! From the plan to the last post: thirty discussions and a summary on a GitLab that takes 100 ms for each request.
#![expect(clippy::print_stdout, clippy::expect_used, clippy::unwrap_used, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark prepares its own folders")]

#[expect(dead_code, reason = "the benchmark needs a part of the fake")]
#[path = "../integration/gitlab/mod.rs"]
mod gitlab;
#[expect(dead_code, reason = "the benchmark needs a part of the sandbox")]
#[path = "../integration/sandbox.rs"]
mod sandbox;

use std::sync::Arc;
use std::time::{Duration, Instant};

use diffsan::config::Token;
use diffsan::contracts::{Category, Level, PlannedDiscussion, Position, PositionType, PostPlan, Severity};
use diffsan::gitlab::{Client, ClientConfig};
use diffsan::post::send::send;
use diffsan::redact::{Engine, Settings};
use diffsan::run::console::{Console, ConsoleStyle};
use diffsan::run::events::Events;
use diffsan::run::workdir::{Forbidden, Workdir};

use gitlab::{FakeGitLab, MR, PROJECT, TOKEN};
use sandbox::Sandbox;

const DISCUSSIONS: u32 = 30;
const LATENCY: Duration = Duration::from_millis(100);
const ROUNDS: usize = 5;

fn main() {
    let sandbox = Sandbox::new();
    let base = sandbox.git(&["rev-parse", "HEAD"]).trim().to_owned();
    sandbox.write("new.py", (0..40).map(|n| format!("value_{n} = {n}\n")).collect::<String>());
    let head = sandbox.commit("values");
    let plan = plan(&base, &head);
    let mut times: Vec<Duration> = (0..ROUNDS).map(|round| post(&sandbox, &plan, (&base, &head), round)).collect();
    times.sort();
    let median = times[ROUNDS / 2];
    // What is there, the claim, a look; the discussions, sixteen at a time, and a look; the claim again.
    let path = LATENCY * 7;
    let sum = LATENCY * (4 + 1 + 1 + DISCUSSIONS + 1 + 1);
    println!("{DISCUSSIONS} discussions and a summary at {} ms a request", LATENCY.as_millis());
    println!("  plan to last post (median of {ROUNDS})  {:>7} ms", median.as_millis());
    println!("  one request                      {:>7} ms  ({:.1} x)", LATENCY.as_millis(), ratio(median, LATENCY));
    println!("  longest chain of requests        {:>7} ms  ({:.1} x)", path.as_millis(), ratio(median, path));
    println!("  one request after the other      {:>7} ms  ({:.1} x)", sum.as_millis(), ratio(median, sum));
    assert!(median < LATENCY * 10, "the requests wait for each other");
}

fn post(sandbox: &Sandbox, plan: &PostPlan, (base, head): (&str, &str), round: usize) -> Duration {
    let fake = FakeGitLab::start(&sandbox.repo(), base, head);
    fake.latency(LATENCY);
    let engine = Arc::new(Engine::new(&Settings { enabled: true, ..Settings::default() }, []).expect("an engine"));
    let forbidden = Forbidden { current: sandbox.root().into(), ..Forbidden::default() };
    let path = sandbox.root().join(format!("workdir-{round}"));
    let workdir = Workdir::create(&path, &forbidden, Arc::clone(&engine)).expect("a workdir");
    let console = Console::new(ConsoleStyle { level: Level::Error, document: true, ..ConsoleStyle::default() });
    let events = Events::new("bench".into(), workdir.events_file().ok(), console, Arc::clone(&engine));
    let config = ClientConfig::new(fake.url(), Token::new(TOKEN), PROJECT.to_string(), MR);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let start = Instant::now();
    let client = Client::new(config, events.clone()).expect("a client");
    let sent = runtime.block_on(send(plan, &client, &workdir, &events, &engine));
    let took = start.elapsed();
    assert!(sent.results.ok, "{:?}", sent.error);
    assert_eq!(fake.discussions().len(), DISCUSSIONS as usize);
    took
}

fn plan(base: &str, head: &str) -> PostPlan {
    let position = |line: u32| Position {
        position_type: PositionType::Text,
        base_sha: base.into(),
        head_sha: head.into(),
        start_sha: base.into(),
        old_path: "new.py".into(),
        new_path: "new.py".into(),
        old_line: None,
        new_line: Some(line),
        line_range: None,
    };
    let discussions = (1..=DISCUSSIONS).map(|line| PlannedDiscussion {
        finding_id: format!("f-{line:012x}"),
        path: "new.py".into(),
        line_start: line,
        line_end: line,
        body_markdown: format!("**[style/low]** line {line}\n\n<!-- diffsan:finding:f-{line:012x} -->"),
        position: position(line),
        fallbacks: Vec::new(),
        severity: Severity::Low,
        category: Category::Style,
        line_key: format!("line-{line}"),
        block_key: "block".into(),
    });
    PostPlan {
        project_id: None,
        mr_iid: None,
        head_sha: Some(head.into()),
        summary_markdown: "done".into(),
        summary_meta_collapsible: String::new(),
        summary_body: "done\n\n<!-- diffsan:ai-reviewer -->\n<!-- diffsan:fingerprint:sha256:aa -->\n".into(),
        discussions: discussions.collect(),
        idempotent_summary: false,
        prior_summary_note_id: None,
        repeated: Vec::new(),
        withheld: Vec::new(),
        sanitized: Default::default(),
        claim: None,
        base_sha: None,
        drafts: false,
        resolve: Vec::new(),
        reopen: Vec::new(),
    }
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}
