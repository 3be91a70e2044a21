//! Whole reviews, from the prompt to the verdict: passes, the second look, and what both cost. The agent is a script that
//! answers by what it is asked, as any program may.

use serde_json::{Value, json};

use crate::gitlab::{FakeGitLab, MR, PROJECT, TOKEN};
use crate::sandbox::{Finished, Sandbox};

/// A repository whose branch changes three files of different folders.
pub(crate) fn three_files() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "topic"]);
    sandbox.write("api/pay.py", "def charge(card):\n    return gateway.charge(card)\n");
    sandbox.write("jobs/night.py", "def run():\n    return sweep()\n");
    sandbox.write("web/form.py", "def form():\n    return None\n");
    sandbox.commit("three");
    sandbox
}

/// An agent that keeps what it is asked and answers with the first file whose mark stands in the prompt.
struct Script<'a> {
    sandbox: &'a Sandbox,
    cases: Vec<(String, String)>,
}

impl<'a> Script<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, cases: Vec::new() }
    }

    /// The answer to a prompt that holds these words.
    fn when(mut self, words: &str, answer: &Value) -> Self {
        let file = self.sandbox.root().join(format!("answer{}.json", self.cases.len()));
        std::fs::write(&file, answer.to_string()).unwrap();
        self.cases.push((words.to_owned(), format!("cat {}", file.display())));
        self
    }

    /// What it does instead when it is asked this.
    fn does(mut self, words: &str, command: &str) -> Self {
        self.cases.push((words.to_owned(), command.to_owned()));
        self
    }

    fn install(self) -> String {
        let cases: String =
            self.cases.iter().map(|(words, does)| format!("*\"{words}\"*) {does} ;;\n")).collect::<Vec<_>>().concat();
        let text = format!("#!/bin/sh\nprompt=$(cat)\ncase \"$prompt\" in\n{cases}*) exit 9 ;;\nesac\n");
        self.sandbox.script("agent.sh", &text).display().to_string()
    }
}

/// A run with these settings; keys are `agent.command` and the like.
fn run(sandbox: &Sandbox, settings: &[(&str, &str)]) -> Finished {
    let mut command = sandbox.command(["--base", "main", "--format", "json"]);
    for (key, value) in settings {
        command.env(format!("DIFFSAN_{}", key.to_uppercase().replace('.', "__")), value);
    }
    Finished::of(command.output().unwrap())
}

pub(crate) const LOOK: &str = "second of two reviewers";
const REVIEW: &str = "AI code reviewer for GitLab merge requests";

pub(crate) fn finding(path: &str, line: u32, severity: &str, body: &str) -> Value {
    json!({
        "finding_id": null, "severity": severity, "category": "correctness", "path": path, "line_start": line,
        "line_end": line, "body_markdown": body, "quote": null, "change_anchor": null, "suggested_patch": null
    })
}

pub(crate) fn review(findings: &[Value]) -> Value {
    json!({"summary_markdown": "It charges cards.", "findings": findings})
}

/// Four findings on the lines of the three files; their claims are 1 to 4 in this order.
pub(crate) fn four() -> Value {
    review(&[
        finding("api/pay.py", 1, "medium", "The card is not checked before it is charged."),
        finding("api/pay.py", 2, "critical", "A timeout charges the card twice."),
        finding("jobs/night.py", 2, "high", "The sweep is never defined."),
        finding("web/form.py", 2, "low", "The form is always empty."),
    ])
}

pub(crate) fn verdict(claim: u32, verdict: &str, severity: &str, path: &str, line: u32) -> Value {
    json!({
        "claim": claim, "verdict": verdict, "severity": severity, "evidence": format!("Because of what line {line} does."),
        "path": path, "line": line
    })
}

pub(crate) fn look(verdicts: &[Value]) -> Value {
    json!({"verdicts": verdicts, "threads": []})
}

pub(crate) fn half() -> Value {
    look(&[
        verdict(1, "refuted", "low", "api/pay.py", 2),
        verdict(2, "holds", "medium", "api/pay.py", 2),
        verdict(3, "trivial", "info", "jobs/night.py", 2),
        verdict(4, "holds", "low", "web/form.py", 2),
    ])
}

pub(crate) fn severities(sandbox: &Sandbox) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let review = sandbox.artifact("review.json");
    let findings = review["findings"].as_array().unwrap();
    findings.iter().map(|finding| (text(&finding["path"]), text(&finding["severity"]))).collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

#[test]
fn a_second_look_keeps_what_holds_with_its_own_severity_and_records_what_it_drops() {
    let sandbox = three_files();
    let agent = Script::new(&sandbox).when(LOOK, &half()).when(REVIEW, &four()).install();
    let settings = [
        ("agent.agent", "command"),
        ("agent.command", agent.as_str()),
        ("review.second_look", "medium"),
        ("gate.fail_on", "high"),
    ];
    // The first reviewer saw a critical fault; what holds is medium, so the gate stays open.
    run(&sandbox, &settings).expect_code(0);
    assert_eq!(severities(&sandbox), owned(&[("api/pay.py", "medium"), ("web/form.py", "low")]));
    let review = sandbox.artifact("review.json");
    assert_eq!(review["findings"][0]["look"]["first_severity"], "critical");
    assert_eq!(review["meta"]["second_look"]["status"], "done");
    let validation = sandbox.artifact("validation.json");
    let dropped: Vec<_> = validation["rejected"].as_array().unwrap().iter().map(|no| &no["reason"]).collect();
    assert_eq!(dropped[0]["code"], "TRIVIAL");
    assert_eq!(validation["rejected"][0]["finding"]["path"], "jobs/night.py");
    assert_eq!(dropped[1]["code"], "REFUTED");
    assert_eq!(dropped[1]["message"], "Because of what line 2 does. (api/pay.py:2)");
    let counts = &sandbox.artifact("run.json")["verdict"]["counts"];
    assert_eq!((&counts["findings"], &counts["dropped"], &counts["rejected"]), (&json!(2), &json!(2), &json!(0)));
    let prompt = sandbox.artifact_text("prompt.look.txt");
    let claims = prompt.split("# The claims").nth(1).unwrap();
    assert!(claims.contains("Claim 2 (correctness), api/pay.py:2\nA timeout charges the card twice."));
    assert!(["critical", "high", "medium"].iter().all(|word| !claims.contains(word)), "{claims}");
    let plan = sandbox.artifact("post_plan.json").to_string();
    assert!(!plan.contains("sweep is never defined") && plan.contains("2 of 4 findings hold by command"));
    let calls = sandbox.artifact("agent.run.json")["calls"].clone();
    let parts: Vec<_> =
        calls.as_array().unwrap().iter().map(|call| call["part"].as_str().unwrap().to_owned()).collect();
    assert_eq!(parts, ["review", "second look"]);
    assert!(sandbox.events().iter().any(|event| event["event"] == "review.looked" && event["data"]["holds"] == 2));

    // The control: without a second look the same answer closes the gate.
    let settings = [&settings[..2], &[("review.second_look", "off"), ("gate.fail_on", "high")]].concat();
    run(&sandbox, &settings).expect_code(3);
    assert_eq!(severities(&sandbox).len(), 4);
}

#[test]
fn a_second_look_that_fails_leaves_the_findings_and_says_that_nobody_confirmed_them() {
    let sandbox = three_files();
    let agent = Script::new(&sandbox).does(LOOK, "echo no >&2; exit 7").when(REVIEW, &four()).install();
    let settings = [("agent.agent", "command"), ("agent.command", agent.as_str()), ("review.second_look", "medium")];
    run(&sandbox, &settings).expect_code(0);
    assert_eq!(severities(&sandbox).len(), 4);
    assert_eq!(sandbox.artifact("review.json")["meta"]["second_look"]["status"], "failed");
    let validation = sandbox.artifact("validation.json");
    assert!(
        validation["accepted"]
            .as_array()
            .unwrap()
            .iter()
            .all(|yes| { yes["notes"].as_array().unwrap().iter().any(|note| note["code"] == "NOT_CONFIRMED") })
    );
    assert!(sandbox.artifact("post_plan.json")["summary_body"].as_str().unwrap().contains("were not confirmed"));
    assert_eq!(sandbox.artifact("run.json")["diagnostics"][0]["error_code"], "AGENT_EXEC_FAILED");
}

#[test]
fn a_forged_second_look_is_asked_for_again_once() {
    let sandbox = three_files();
    let forged = look(&[verdict(1, "refuted", "low", "api/pay.py", 2), verdict(9, "refuted", "low", "api/pay.py", 2)]);
    let again = "Your previous answer could not be used";
    let settings = |agent: &str| {
        let agent = agent.to_owned();
        [("agent.agent", "command".to_owned()), ("agent.command", agent), ("review.second_look", "medium".to_owned())]
    };
    let go = |agent: String| {
        let settings = settings(&agent);
        let settings: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
        run(&sandbox, &settings).expect_code(0);
    };
    go(Script::new(&sandbox).when(LOOK, &forged).when(REVIEW, &four()).install());
    assert_eq!(sandbox.artifact("review.json")["meta"]["second_look"]["status"], "failed");
    assert_eq!(severities(&sandbox).len(), 4);
    let asked = sandbox.artifact_text("prompt.look2.txt");
    assert!(
        asked.contains(again) && asked.contains("- claim 2 has no verdict") && asked.contains("- there is no claim 9")
    );

    go(Script::new(&sandbox).when(again, &half()).when(LOOK, &forged).when(REVIEW, &four()).install());
    assert_eq!(sandbox.artifact("review.json")["meta"]["second_look"]["status"], "done");
    assert_eq!(severities(&sandbox).len(), 2);
}

#[test]
fn a_refutation_that_names_a_line_that_does_not_exist_is_none() {
    let sandbox = three_files();
    let refuted = look(&[
        verdict(1, "refuted", "low", "api/pay.py", 3),
        verdict(2, "refuted", "low", "api/other.py", 1),
        verdict(3, "refuted", "low", "jobs/night.py", 1),
        verdict(4, "refuted", "low", "../../etc/passwd", 1),
    ]);
    let agent = Script::new(&sandbox).when(LOOK, &refuted).when(REVIEW, &four()).install();
    let settings = [("agent.agent", "command"), ("agent.command", agent.as_str()), ("review.second_look", "medium")];
    run(&sandbox, &settings).expect_code(0);
    assert_eq!(
        severities(&sandbox),
        owned(&[("api/pay.py", "critical"), ("api/pay.py", "medium"), ("web/form.py", "low")])
    );
}

#[test]
fn small_findings_cost_one_call_and_a_program_of_ones_own_is_asked_once_unless_it_is_set() {
    let sandbox = three_files();
    let small = review(&[finding("web/form.py", 2, "low", "The form is always empty.")]);
    let agent = Script::new(&sandbox).does(LOOK, "exit 5").when(REVIEW, &small).install();
    let command = [("agent.agent", "command"), ("agent.command", agent.as_str())];
    run(&sandbox, &[&command[..], &[("review.second_look", "medium")]].concat()).expect_code(0);
    assert_eq!(sandbox.artifact("review.json")["meta"]["second_look"]["status"], "not_needed");
    assert!(sandbox.artifact_text("prompt.txt").contains("the first of two reviewers"));

    let agent = Script::new(&sandbox).does(LOOK, "exit 5").when(REVIEW, &four()).install();
    run(&sandbox, &[("agent.agent", "command"), ("agent.command", agent.as_str())]).expect_code(0);
    assert!(sandbox.artifact("review.json")["meta"]["second_look"].is_null());
    assert!(sandbox.artifact_text("prompt.txt").contains("sees your answer as it is"));
    assert!(!sandbox.workdir().join("prompt.look.txt").exists());
}

#[test]
fn what_does_not_fit_is_reviewed_in_passes_and_a_pass_that_dies_costs_its_files() {
    let sandbox = three_files();
    let of = |path: &str| review(&[finding(path, 2, "high", &format!("Wrong in {path}."))]);
    let agent = Script::new(&sandbox)
        .when("+++ b/api/pay.py", &of("api/pay.py"))
        .does("+++ b/jobs/night.py", "exit 3")
        .when("+++ b/web/form.py", &of("web/form.py"))
        .install();
    let settings = [
        ("agent.agent", "command"),
        ("agent.command", agent.as_str()),
        ("limits.max_files", "1"),
        ("limits.max_passes", "3"),
    ];
    run(&sandbox, &settings).expect_code(0);
    assert_eq!(severities(&sandbox), owned(&[("api/pay.py", "high"), ("web/form.py", "high")]));
    let truncation = sandbox.artifact("truncation.json");
    assert_eq!(truncation["coverage"]["reasons"], json!({"failed_pass": 1}));
    assert_eq!(truncation["items"][0]["path"], "jobs/night.py");
    let run_json = sandbox.artifact("run.json");
    assert!(run_json["verdict"]["headline"].as_str().unwrap().contains("part of the change was not reviewed"));
    assert_eq!(run_json["diagnostics"][0]["error_code"], "AGENT_EXEC_FAILED");
    let calls = sandbox.artifact("agent.run.json")["calls"].clone();
    assert_eq!(calls.as_array().unwrap().len(), 3);
    assert!(calls[1]["error"].as_str().unwrap().contains("code 3"), "{calls}");
    for (pass, path, other) in [(1, "api/pay.py", "web/form.py"), (3, "web/form.py", "api/pay.py")] {
        let prompt = sandbox.artifact_text(&format!("prompt.pass{pass}.txt"));
        assert!(prompt.contains(&format!("# Part {pass} of 3")) && prompt.contains(&format!("+++ b/{path}")));
        assert!(!prompt.contains(&format!("+++ b/{other}")) && prompt.contains(&format!(": {other} (+2 -0)")));
        assert!(sandbox.workdir().join(format!("agent.raw.pass{pass}.txt")).exists());
    }
    assert!(!sandbox.workdir().join("prompt.txt").exists());

    // The control: one prompt leaves two of the three files out.
    run(&sandbox, &[&settings[..3], &[("limits.max_passes", "1")]].concat()).expect_code(0);
    assert_eq!(sandbox.artifact("truncation.json")["coverage"]["hunks_dropped"], 2);
    assert!(sandbox.workdir().join("prompt.txt").exists() && !sandbox.workdir().join("prompt.pass1.txt").exists());
}

#[test]
fn one_second_look_is_over_the_findings_of_all_passes() {
    let sandbox = three_files();
    let of = |path: &str| review(&[finding(path, 2, "high", &format!("Wrong in {path}."))]);
    let verdicts = look(&[
        verdict(1, "holds", "high", "api/pay.py", 2),
        verdict(2, "refuted", "low", "jobs/night.py", 2),
        verdict(3, "holds", "medium", "web/form.py", 2),
    ]);
    let agent = Script::new(&sandbox)
        .when(LOOK, &verdicts)
        .when("+++ b/api/pay.py", &of("api/pay.py"))
        .when("+++ b/jobs/night.py", &of("jobs/night.py"))
        .when("+++ b/web/form.py", &of("web/form.py"))
        .install();
    let settings = [
        ("agent.agent", "command"),
        ("agent.command", agent.as_str()),
        ("limits.max_files", "1"),
        ("limits.max_passes", "3"),
        ("review.second_look", "medium"),
    ];
    run(&sandbox, &settings).expect_code(0);
    assert_eq!(severities(&sandbox), owned(&[("api/pay.py", "high"), ("web/form.py", "medium")]));
    assert_eq!(sandbox.artifact("agent.run.json")["calls"].as_array().unwrap().len(), 4);
    assert_eq!(sandbox.artifact("truncation.json")["truncated"], false);
}

#[test]
fn money_that_is_spent_stops_the_next_call_and_never_one_that_runs() {
    let sandbox = three_files();
    let envelope = json!({
        "type": "result", "subtype": "success", "is_error": false, "total_cost_usd": 0.6, "structured_output": four(),
        "result": "", "usage": {"input_tokens": 10, "output_tokens": 5}
    });
    let file = sandbox.root().join("envelope.json");
    std::fs::write(&file, envelope.to_string()).unwrap();
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *--version*) echo '2.1.300 (Claude Code)'; exit 0;; esac\ncat >/dev/null\ncat {}\n",
        file.display()
    );
    let claude = sandbox.script("claude", &text).display().to_string();
    let settings =
        [("agent.agent", "claude"), ("agent.claude_command", claude.as_str()), ("agent.max_cost_usd", "0.5")];
    run(&sandbox, &settings).expect_code(0);
    assert_eq!(severities(&sandbox).len(), 4, "what was paid for is kept");
    let look = sandbox.artifact("review.json")["meta"]["second_look"].clone();
    assert_eq!(look["status"], "failed");
    assert!(look["problem"].as_str().unwrap().contains("was not started: this run has cost 0.60 USD"), "{look}");
    let calls = sandbox.artifact("agent.run.json")["calls"].clone();
    assert_eq!((&calls[0]["token_usage"]["cost_usd"], &calls[1]["attempts"]), (&json!(0.6), &json!(0)));
}

#[test]
fn the_issues_that_a_merge_request_closes_are_data_in_the_prompt_and_confidential_ones_are_not() {
    let sandbox = three_files();
    let (base, head) = (sandbox.git(&["rev-parse", "main"]), sandbox.git(&["rev-parse", "HEAD"]));
    let gitlab = FakeGitLab::start(&sandbox.repo(), base.trim(), head.trim());
    let issue = |iid: u64, project: u64, confidential: bool, title: &str| json!({"iid": iid, "project_id": project, "confidential": confidential, "title": title, "description": "Do it."});
    gitlab.change(|store| {
        store.description = "Closes #3".into();
        store.closes = json!([
            issue(3, PROJECT, false, "Charge the card once"),
            issue(4, PROJECT, true, "A hole that nobody knows"),
            issue(5, PROJECT + 1, false, "Of another project"),
        ]);
    });
    let prompt = |settings: &[(&str, &str)]| {
        let mut command = sandbox.command(["--ci", "--dry-run"]);
        command
            .env("CI_API_V4_URL", format!("{}/api/v4", gitlab.url()))
            .env("CI_MERGE_REQUEST_PROJECT_ID", PROJECT.to_string())
            .env("CI_MERGE_REQUEST_IID", MR.to_string())
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.trim())
            .env("CI_COMMIT_SHA", head.trim())
            .env("GITLAB_TOKEN", TOKEN)
            .env("DIFFSAN_AGENT__AGENT", "builtin")
            .envs(settings.iter().copied());
        Finished::of(command.output().unwrap()).expect_code(0);
        sandbox.artifact_text("prompt.txt")
    };
    let asked = prompt(&[]);
    let data = asked.split("# What was asked for").nth(1).unwrap();
    assert!(data.contains("(issues)\n#3 Charge the card once\n\nDo it."), "{data}");
    assert!(!asked.contains("A hole that nobody knows") && !asked.contains("Of another project"));
    assert!(!prompt(&[("DIFFSAN_CONTEXT__ISSUES", "false")]).contains("Charge the card once"));
}

#[test]
fn language_and_the_rules_of_touched_paths_are_in_the_prompt() {
    let sandbox = three_files();
    let rules = r#"[{"paths":["api/**"],"text":"Money is in cents."},{"paths":["*.sql"],"text":"No locks."}]"#;
    let mut command = sandbox.command(["--base", "main", "--dry-run"]);
    command.env("DIFFSAN_REVIEW__RULES", rules).env("DIFFSAN_REVIEW__LANGUAGE", "German");
    Finished::of(command.output().unwrap()).expect_code(0);
    let prompt = sandbox.artifact_text("prompt.txt");
    assert!(prompt.contains("For api/**:\n\nMoney is in cents.") || prompt.contains("For api/**:\nMoney is in cents."));
    assert!(!prompt.contains("No locks.") && prompt.contains("in German."));
    for (key, value) in [
        ("DIFFSAN_REVIEW__RULES", r#"[{"paths":[],"text":"x"}]"#),
        ("DIFFSAN_REVIEW__RULES", r#"[{"paths":["[a"],"text":"x"}]"#),
        ("DIFFSAN_REVIEW__LANGUAGE", "English.\n\n# Output"),
        ("DIFFSAN_REVIEW__SECOND_AGENT", "builtin"),
    ] {
        let mut command = sandbox.command(["--base", "main", "--dry-run"]);
        Finished::of(command.env(key, value).output().unwrap()).expect_code(2);
    }
}
