//! Every key through every layer.

use serde_json::{Value, json};

use crate::sandbox::{Finished, Sandbox};

/// Each key with two other values than its default: one for the file, one for the environment.
fn values() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("workdir", json!("out1"), json!("out2")),
        ("note_timezone", json!("UTC"), json!("Europe/Berlin")),
        ("mode.ci", json!(true), json!(true)),
        ("mode.base", json!("one"), json!("two")),
        ("limits.max_diff_chars", json!(1000), json!(2000)),
        ("limits.max_files", json!(1), json!(2)),
        ("limits.max_hunks_per_file", json!(3), json!(4)),
        ("limits.max_passes", json!(2), json!(3)),
        ("limits.parallel_passes", json!(1), json!(3)),
        ("truncation.priority_extensions", json!([".a"]), json!([".b"])),
        ("truncation.depriority_extensions", json!([".c"]), json!([".d"])),
        ("truncation.include_extensions", json!([".e"]), json!([".f"])),
        ("truncation.ignore_globs", json!(["a/**"]), json!([])),
        ("secrets.enabled", json!(false), json!(false)),
        ("secrets.extra_patterns", json!(["a+"]), json!(["b+"])),
        ("secrets.post_warning_to_mr", json!(false), json!(false)),
        ("secrets.allow_patterns", json!(["a"]), json!(["b"])),
        ("secrets.allow_paths", json!(["a"]), json!(["b"])),
        ("artifacts.raw_diff", json!("raw"), json!("off")),
        ("skip.skip_on_auto_merge", json!(false), json!(false)),
        ("skip.skip_on_same_fingerprint", json!(false), json!(false)),
        ("skip.skip_on_draft", json!(true), json!(true)),
        ("skip.skip_labels", json!(["a"]), json!(["b"])),
        ("skip.skip_authors", json!(["a"]), json!(["b"])),
        ("skip.skip_titles", json!(["a"]), json!(["b"])),
        ("skip.skip_branches", json!(["a"]), json!(["b"])),
        ("agent.agent", json!("codex"), json!("claude")),
        ("agent.cursor_command", json!("a"), json!("b")),
        ("agent.codex_command", json!("a"), json!("b")),
        ("agent.claude_command", json!("a"), json!("b")),
        ("agent.gemini_command", json!("a"), json!("b")),
        ("agent.opencode_command", json!("a"), json!("b")),
        ("agent.command", json!("a"), json!("b")),
        ("agent.proxy_url", json!("http://127.0.0.1:1"), json!("http://127.0.0.1:2")),
        ("agent.model", json!("m1"), json!("m2")),
        ("agent.effort", json!("low"), json!("medium")),
        ("agent.max_cost_usd", json!(0.5), json!(1.5)),
        ("agent.max_json_retries", json!(1), json!(2)),
        ("agent.json_repair_prompt", json!("a"), json!("b")),
        ("agent.verbosity", json!("low"), json!("high")),
        ("agent.skills", json!(["security"]), json!(["tests"])),
        ("agent.prompt_template", json!("one.md"), json!("two.md")),
        ("agent.custom_instructions", json!("a"), json!("b")),
        ("agent.custom_instructions_file", json!("one.md"), json!("two.md")),
        ("agent.pass_env", json!(["A"]), json!(["B"])),
        ("agent.timeout_seconds", json!(1), json!(2)),
        ("agent.idle_seconds", json!(1), json!(2)),
        ("context.tools", json!("off"), json!("off")),
        ("context.max_calls", json!(1), json!(2)),
        ("context.max_bytes", json!(1000), json!(2000)),
        ("context.issues", json!(false), json!(false)),
        ("review.second_look", json!("off"), json!("high")),
        ("review.second_agent", json!("codex"), json!("claude")),
        ("review.language", json!("German"), json!("French")),
        ("review.rules", rule("a/**"), rule("b/**")),
        ("review.min_severity", json!("low"), json!("high")),
        ("review.anchoring", json!("strict"), json!("off")),
        ("review.max_inline", json!(0), json!(5)),
        ("gate.fail_on", json!("low"), json!("high")),
        ("gate.on_partial", json!("pass"), json!("pass")),
        ("gate.allow_skips", json!(true), json!(true)),
        ("policy.trust_roots", json!(["a/**"]), json!(["b/**"])),
        ("gitlab.enabled", json!(false), json!(false)),
        ("gitlab.base_url", json!("https://a.invalid"), json!("https://b.invalid")),
        ("gitlab.project_id", json!("a/b"), json!("17")),
        ("gitlab.mr_iid", json!(1), json!(2)),
        ("gitlab.token_env", json!("A"), json!("B")),
        ("gitlab.idempotent_summary", json!(true), json!(true)),
        ("gitlab.summary_note_tag", json!("a"), json!("b")),
        ("gitlab.retry_max", json!(1), json!(2)),
        ("gitlab.settle_seconds", json!(1), json!(2)),
        ("gitlab.notify", json!("once"), json!("once")),
        ("gitlab.resolve_outdated", json!(false), json!(false)),
        ("gitlab.ca_file", json!("one.pem"), json!("two.pem")),
        ("logging.level", json!("warn"), json!("debug")),
        ("logging.structured", json!(false), json!(false)),
    ]
}

/// A list of one rule of the project.
fn rule(paths: &str) -> Value {
    json!([{ "paths": [paths], "text": "Say so.", "file": null }])
}

/// Each key that has a flag, with the arguments and the value they give.
const FLAGS: &[(&str, &[&str], &str)] = &[
    ("mode.ci", &["--no-ci"], "false"),
    ("mode.base", &["--base", "three"], "\"three\""),
    ("agent.agent", &["--agent", "gemini"], "\"gemini\""),
    ("agent.model", &["--model", "m3"], "\"m3\""),
    ("agent.proxy_url", &["--proxy-url", "http://127.0.0.1:3"], "\"http://127.0.0.1:3\""),
    ("workdir", &["--workdir", "out3"], "\"out3\""),
    ("gate.fail_on", &["--fail-on", "critical"], "\"critical\""),
    ("logging.level", &["-q"], "\"error\""),
];

fn shown(sandbox: &Sandbox, args: &[&str], variable: Option<(&str, &str)>) -> Value {
    let mut command = sandbox.command(["config", "--format", "json"]);
    command.args(args).envs(variable);
    let finished = Finished::of(command.output().unwrap()).expect_code(0);
    serde_json::from_str(&finished.stdout).unwrap()
}

fn toml(key: &str, value: &Value) -> String {
    // An inline table has no word for nothing, and `=` where JSON has a colon.
    let value = value.to_string().replace(",\"file\":null", "").replace("\":", "\"=");
    match key.rsplit_once('.') {
        Some((section, key)) => format!("[{section}]\n{key} = {value}\n"),
        None => format!("{key} = {value}\n"),
    }
}

#[test]
fn every_key_goes_through_default_file_environment_and_flag() {
    let sandbox = Sandbox::bare();
    for name in ["one.md", "two.md"] {
        sandbox.write(name, "guidance\n");
    }
    let defaults = shown(&sandbox, &[], None);
    let table = values();
    let keys: Vec<_> = table.iter().map(|(key, ..)| *key).collect();
    let known: Vec<_> = defaults.as_object().unwrap().keys().map(String::as_str).collect();
    for key in &known {
        assert!(keys.contains(key), "{key} is not in the table");
    }
    for (key, in_file, in_environment) in &table {
        assert_eq!(defaults[*key]["source"], "default", "{key}");
        assert_ne!(&defaults[*key]["value"], in_file, "{key}");
        sandbox.write(".diffsan.toml", toml(key, in_file));
        let row = &shown(&sandbox, &[], None)[*key];
        let shown_value =
            if *key == "gitlab.ca_file" { json!(sandbox.repo().join("one.pem")) } else { in_file.clone() };
        assert_eq!(row["value"], shown_value, "{key} from the file");
        assert!(row["source"].as_str().unwrap().starts_with("file "), "{row}");
        let variable = format!("DIFFSAN_{}", key.to_uppercase().replace('.', "__"));
        let text = in_environment.as_str().map_or_else(|| in_environment.to_string(), str::to_owned);
        let row = &shown(&sandbox, &[], Some((&variable, &text)))[*key];
        let shown_value =
            if *key == "gitlab.ca_file" { json!(sandbox.repo().join("two.pem")) } else { in_environment.clone() };
        assert_eq!(row["value"], shown_value, "{key} from the environment");
        assert_eq!(row["source"], format!("environment {variable}"));
        for (_, args, value) in FLAGS.iter().filter(|(flagged, ..)| flagged == key) {
            let row = &shown(&sandbox, args, Some((&variable, &text)))[*key];
            assert_eq!(row["value"].to_string(), *value, "{key} from its flag");
            assert_eq!(row["source"], format!("flag {}", args[0]));
        }
    }
}

#[test]
fn whole_sections_come_from_the_environment_as_json() {
    let sandbox = Sandbox::bare();
    let rows = shown(&sandbox, &[], Some(("DIFFSAN_LIMITS", r#"{"max_files": 7}"#)));
    assert_eq!(rows["limits.max_files"]["value"], 7);
    assert_eq!(rows["limits.max_hunks_per_file"]["source"], "default");
}

#[test]
fn the_file_is_found_at_the_repositorys_top_from_a_folder_below() {
    let sandbox = Sandbox::new();
    sandbox.write(".diffsan.toml", "[limits]\nmax_files = 9\n");
    let mut command = sandbox.command(["config", "--format", "json"]);
    command.current_dir(sandbox.repo().join("src"));
    let finished = Finished::of(command.output().unwrap()).expect_code(0);
    let rows: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(rows["limits.max_files"]["value"], 9);
}

#[test]
fn no_value_of_a_secret_variable_is_shown() {
    let sandbox = Sandbox::bare();
    let mut command = sandbox.command(["config"]);
    command.env("GITLAB_TOKEN", "tok-3f9a8b7c6d5e").env("DIFFSAN_AGENT__MODEL", "tok-3f9a8b7c6d5e");
    let finished = Finished::of(command.output().unwrap()).expect_code(0);
    assert!(!finished.stdout.contains("tok-3f9a8b7c6d5e"), "{}", finished.stdout);
}

#[test]
fn what_people_type_for_yes_and_for_a_name_is_understood() {
    let sandbox = Sandbox::with_change();
    for (variable, value, key, expected) in [
        ("DIFFSAN_SECRETS__ENABLED", "True", "secrets.enabled", "true"),
        ("DIFFSAN_SECRETS__ENABLED", "yes", "secrets.enabled", "true"),
        ("DIFFSAN_SECRETS__ENABLED", "0", "secrets.enabled", "false"),
        ("DIFFSAN_SKIP__SKIP_ON_DRAFT", "1", "skip.skip_on_draft", "true"),
        ("DIFFSAN_SKIP__SKIP_ON_DRAFT", "ON", "skip.skip_on_draft", "true"),
        ("DIFFSAN_GATE__FAIL_ON", "HIGH", "gate.fail_on", "\"high\""),
        ("DIFFSAN_ARTIFACTS__RAW_DIFF", "Off", "artifacts.raw_diff", "\"off\""),
        ("DIFFSAN_AGENT__AGENT", "Builtin", "agent.agent", "\"builtin\""),
    ] {
        let mut command = sandbox.command(["config", "--format", "json"]);
        let finished = Finished::of(command.env(variable, value).output().unwrap()).expect_code(0);
        let document: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(document[key]["value"].to_string(), expected, "{variable}={value}");
    }
    sandbox
        .write(".diffsan.toml", "[gate]\nfail_on = \"High\"\n[skip]\nskip_on_draft = \"yes\"\n[agent]\nmodel = \"\"\n");
    let document: Value =
        serde_json::from_str(&sandbox.run(["config", "--format", "json"]).expect_code(0).stdout).unwrap();
    assert_eq!(document["gate.fail_on"]["value"], "high");
    assert_eq!(document["skip.skip_on_draft"]["value"], true);
    assert_eq!(document["agent.model"]["source"], "default", "an empty text leaves a key unset");
    sandbox.run(["--fail-on", "LOW", "--agent", "Builtin", "--format", "JSON"]).expect_code(0);
}

#[test]
fn a_misspelt_value_gets_the_right_one_suggested() {
    let sandbox = Sandbox::with_change();
    for (variable, value, near) in [
        ("DIFFSAN_GATE__FAIL_ON", "hihg", "did you mean `high`?"),
        ("DIFFSAN_AGENT__VERBOSITY", "meduim", "did you mean `medium`?"),
        ("DIFFSAN_AGENT__SKILLS", "[\"secrity\"]", "did you mean `security`?"),
        ("DIFFSAN_AGENT__AGENT", "coedx", "did you mean `codex`?"),
    ] {
        let mut command = sandbox.command(["config"]);
        let finished = Finished::of(command.env(variable, value).output().unwrap()).expect_code(2);
        assert!(finished.stderr.contains(near), "{variable}: {}", finished.stderr);
    }
    let mut command = sandbox.command(["config"]);
    Finished::of(command.env("DIFFSAN_AGENT__SKILLS", "[\"Security\", \"our own rules\"]").output().unwrap())
        .expect_code(0);
}

#[test]
fn every_commented_line_of_init_can_be_uncommented() {
    let sandbox = Sandbox::bare();
    sandbox.run(["init"]).expect_code(0);
    let text = std::fs::read_to_string(sandbox.repo().join(".diffsan.toml")).unwrap();
    std::fs::remove_file(sandbox.repo().join(".diffsan.toml")).unwrap();
    let key = |line: &str| {
        let (key, _) = line.strip_prefix("# ")?.split_once(" = ")?;
        key.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'_').then(|| key.to_owned())
    };
    let lines: Vec<&str> = text.lines().collect();
    let keys = lines.iter().filter(|line| key(line).is_some()).count();
    assert!(keys > 40, "{keys} keys");
    let own = sandbox.root().join("own.toml");
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| key(line).is_some()) {
        let mut one = lines.clone();
        one[at] = line.strip_prefix("# ").unwrap();
        std::fs::write(&own, one.join("\n")).unwrap();
        let finished = sandbox.run(["config", "--config", own.to_str().unwrap()]);
        assert_eq!(finished.code, 0, "{line}\n{}", finished.stderr);
    }
}

#[test]
fn flags_may_stand_before_the_command() {
    let sandbox = Sandbox::with_change();
    sandbox.write("other.toml", "[gate]\nfail_on = \"low\"\n");
    let shown = sandbox.run(["--config", "other.toml", "config"]).expect_code(0).stdout;
    assert!(shown.contains("other.toml"), "{shown}");
    sandbox.run(["--agent", "builtin", "-q", "review"]).expect_code(0);
    sandbox.run(["-q", "inspect"]).expect_code(0);
}
