//! Each check against its samples, and what a review of them says.

use std::collections::HashSet;

use super::*;

/// A diff that adds these lines at the top of a file.
fn adding(path: &str, lines: &str) -> String {
    let count = lines.split('\n').count();
    let body: String = lines.split('\n').map(|line| format!("+{line}\n")).collect();
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{body}"
    )
}

fn reviewed(diff: &str) -> AgentReviewOutput {
    review(&Diff::parse(diff.as_bytes()).unwrap(), &[])
}

fn secret_at(path: &str, line: u32, rule: &str) -> RedactionMatch {
    RedactionMatch {
        pattern_name: rule.into(),
        path: Some(path.into()),
        line_hint: Some(line),
        side: Side::New,
        match_sha256: None,
        match_length: 20,
    }
}

#[test]
fn every_check_fires_on_its_own_samples_and_on_no_harmless_one() {
    for check in checks::all() {
        assert!(!check.fires.is_empty() && check.quiet.len() >= 2, "{} needs samples", check.name);
        for (path, lines) in check.fires {
            let findings = reviewed(&adding(path, lines)).findings;
            let own: Vec<_> = findings.iter().filter(|finding| finding.body_markdown == check.body).collect();
            assert_eq!(own.len(), 1, "{} on {path}: {lines:?} gave {findings:#?}", check.name);
            let last = lines.split('\n').count() as i64;
            assert_eq!((own[0].line_start, own[0].line_end), (last, last), "{}", check.name);
            assert_eq!(own[0].quote.as_deref(), lines.split('\n').next_back(), "{}", check.name);
            assert_eq!((own[0].severity, own[0].category), (check.severity, check.category), "{}", check.name);
        }
        for (path, lines) in check.quiet {
            let diff = adding(path, lines);
            let compiled = Compiled::new();
            let parsed = Diff::parse(diff.as_bytes()).unwrap();
            let hits = find(&parsed.files[0], &[], &compiled);
            assert!(
                hits.iter().all(|hit| hit.check != check.name),
                "{} must not fire on {path}: {lines:?}",
                check.name
            );
        }
    }
}

#[test]
fn every_pattern_compiles_and_every_name_is_its_own() {
    let mut names = HashSet::new();
    for check in checks::all() {
        assert!(compile(check.pattern).is_some(), "{}", check.name);
        assert!(check.except.is_none_or(|except| compile(except).is_some()), "{}", check.name);
        assert!(names.insert(check.name), "{} stands twice", check.name);
        assert!(check.body.contains(". "), "{} should say what it does and what to do", check.name);
    }
}

#[test]
fn no_sample_fires_two_checks() {
    for check in checks::all() {
        for (path, lines) in check.fires {
            let findings = reviewed(&adding(path, lines)).findings;
            assert_eq!(findings.len(), 1, "{}: {lines:?} {findings:#?}", check.name);
        }
    }
}

#[test]
fn removed_and_unchanged_lines_are_not_looked_at() {
    let diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n breakpoint()\n-breakpoint()\n+x = 1\n y = 2\n";
    assert!(reviewed(diff).findings.is_empty());
}

#[test]
fn a_finding_names_the_line_of_the_new_file() {
    let diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -10,3 +20,4 @@ def f():\n a = 1\n-b = 2\n+b = 3\n+breakpoint()\n c = 4\n";
    let findings = reviewed(diff).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].path.as_str(), findings[0].line_start), ("a.py", 22));
}

#[test]
fn a_conflict_is_one_finding_from_its_first_marker_to_its_last() {
    let text = "a\n<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> feature\nb";
    let findings = reviewed(&adding("a.py", text)).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].line_start, findings[0].line_end), (2, 6));
    assert_eq!(findings[0].quote.as_deref(), Some("<<<<<<< HEAD"));
}

#[test]
fn a_lone_end_marker_is_a_conflict_and_a_heading_is_not() {
    assert_eq!(reviewed(&adding("a.py", ">>>>>>> feature")).findings.len(), 1);
    for text in ["Title\n=======", "<<<<<<<<", ">>>>>>>>>>", "    <<<<<<< HEAD in prose", "a <<<<<<< b", ">>> x = 1"] {
        assert!(reviewed(&adding("a.rst", text)).findings.is_empty(), "{text}");
    }
}

#[test]
fn a_secret_in_an_added_line_is_told_by_its_rule_and_once() {
    let diff = adding("deploy/env.sh", "export A=1\nexport TOKEN=https://x:[REDACTED]@gitlab.corp/");
    let parsed = Diff::parse(diff.as_bytes()).unwrap();
    let secrets = [secret_at("deploy/env.sh", 2, "GITLAB_PAT"), secret_at("deploy/env.sh", 2, "GITLAB_PAT")];
    let findings = review(&parsed, &secrets).findings;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!((findings[0].severity, findings[0].category), (Severity::Critical, Category::Security));
    assert!(findings[0].body_markdown.contains("`GITLAB_PAT`") && findings[0].line_start == 2);

    let guessed = [secret_at("deploy/env.sh", 1, "GENERIC_SECRET_ASSIGNMENT")];
    let findings = review(&parsed, &guessed).findings;
    assert!(
        findings.iter().any(|finding| finding.severity == Severity::Info && finding.line_start == 1),
        "{findings:#?}"
    );
    assert!(!findings.iter().any(|finding| finding.line_start == 1 && finding.body_markdown.contains("is committed")));
}

#[test]
fn how_bad_a_secret_is_goes_by_the_rule_and_by_where_it_stands() {
    let severity = |path: &str, rule: &str| {
        let diff = adding(path, "a = [REDACTED]");
        let parsed = Diff::parse(diff.as_bytes()).unwrap();
        review(&parsed, &[secret_at(path, 1, rule)]).findings[0].severity
    };
    assert_eq!(severity("src/a.py", "PRIVATE_KEY"), Severity::Critical);
    assert_eq!(severity("tests/a.py", "PRIVATE_KEY"), Severity::High);
    assert_eq!(severity("src/a.py", "CURL_USER"), Severity::High);
    assert_eq!(severity("docs/a.sh", "CURL_USER"), Severity::Medium);
    for guess in ["GENERIC_PASSWORD_ASSIGNMENT", "KNOWN_VALUE", "EXTRA_PATTERN_0", "PRIVATE_KEY_FRAGMENT"] {
        assert_eq!(severity("src/a.py", guess), Severity::Info, "{guess}");
    }
}

#[test]
fn a_secret_of_an_unchanged_or_removed_line_is_not_this_changes_fault() {
    let diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n k=[REDACTED]\n-k=[REDACTED]\n+k=1\n";
    let parsed = Diff::parse(diff.as_bytes()).unwrap();
    let removed = RedactionMatch { side: Side::Old, ..secret_at("a", 2, "X") };
    assert!(review(&parsed, &[secret_at("a", 1, "X"), removed]).findings.is_empty());
}

#[test]
fn text_that_merely_says_redacted_is_no_secret() {
    assert!(reviewed(&adding("a.rs", "pub const TOKEN: &str = \"[REDACTED]\";")).findings.is_empty());
}

#[test]
fn hidden_characters_are_named_with_their_columns() {
    let findings = reviewed(&adding("a.go", "ok := 1\nif role != \u{202e}\"admin\" {")).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].severity, findings[0].line_start), (Severity::High, 2));
    assert!(
        findings[0].body_markdown.contains("U+202E RIGHT-TO-LEFT OVERRIDE at column 12"),
        "{}",
        findings[0].body_markdown
    );
}

#[test]
fn deleting_a_leftover_is_suggested_as_a_patch_that_fits_the_new_file() {
    let findings = reviewed(&adding("a.py", "x = 1\nbreakpoint()")).findings;
    let patch = &findings[0].suggested_patch.as_ref().unwrap().content;
    assert_eq!(patch, "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,1 @@\n x = 1\n-breakpoint()\n");
    assert!(Diff::parse(patch.as_bytes()).is_ok());
}

#[test]
fn a_focused_test_is_suggested_without_its_focus() {
    let findings = reviewed(&adding("a.test.js", "  it.only('adds', () => {")).findings;
    let patch = &findings[0].suggested_patch.as_ref().unwrap().content;
    assert!(patch.ends_with("-  it.only('adds', () => {\n+  it('adds', () => {\n"), "{patch}");
    let findings = reviewed(&adding("a.spec.js", "  fdescribe('x', () => {")).findings;
    assert!(findings[0].suggested_patch.as_ref().unwrap().content.ends_with("+  describe('x', () => {\n"));
}

#[test]
fn no_patch_is_suggested_that_would_break_the_code() {
    for (path, text) in [
        ("a.py", "if x:\n    breakpoint()"),
        ("src/a.ts", "console.log("),
        ("src/a.ts", "console.log('a', {"),
        ("a.rs", "let y = dbg!(f(x));"),
    ] {
        let findings = reviewed(&adding(path, text)).findings;
        assert_eq!(findings.len(), 1, "{text}");
        assert_eq!(findings[0].suggested_patch, None, "{text}");
    }
}

#[test]
fn the_same_fault_many_times_in_a_file_is_five_findings_and_a_list() {
    let text = vec!["console.log(1);"; 40].join("\n");
    let findings = reviewed(&adding("src/a.ts", &text)).findings;
    assert_eq!(findings.len(), 5);
    let last = &findings[4].body_markdown;
    assert!(last.contains("The same on line 6, 7,") && last.ends_with("25 and 15 more."), "{last}");
}

#[test]
fn the_worst_comes_first_and_the_order_is_stable() {
    let diff = adding("a.py", "x = f()  # noqa\nbreakpoint()\n<<<<<<< HEAD\ny = g()  # type: ignore");
    let severities: Vec<_> =
        reviewed(&diff).findings.iter().map(|finding| (finding.severity, finding.line_start)).collect();
    assert_eq!(severities, [(Severity::High, 2), (Severity::High, 3), (Severity::Low, 1), (Severity::Low, 4)]);
    assert_eq!(reviewed(&diff), reviewed(&diff));
}

#[test]
fn the_summary_says_what_was_checked_and_that_no_model_was_asked() {
    let clean = reviewed(&adding("a.py", "x = 1\ny = 2")).summary_markdown;
    assert!(clean.contains("2 added lines in 1 file. No model was asked"), "{clean}");
    assert!(clean.contains("They found nothing."));
    let found = reviewed(&adding("a.py", "breakpoint()\nz = 'a\u{202e}b'\nz = 'a\u{202e}b'")).summary_markdown;
    assert!(found.contains("They found 2 lines with hidden characters, 1 debugging leftover."), "{found}");
}

#[test]
fn vendored_and_binary_files_are_left_alone() {
    assert!(reviewed(&adding("vendor/lib/a.php", "var_dump($x);")).findings.is_empty());
    assert!(
        reviewed("diff --git a/a.png b/a.png\nindex 1..2 100644\nBinary files a/a.png and b/a.png differ\n")
            .findings
            .is_empty()
    );
}

#[test]
fn carriage_returns_and_bytes_that_are_not_utf8_do_not_hide_a_leftover() {
    assert_eq!(reviewed(&adding("a.js", "debugger;\r")).findings.len(), 1);
    let mut diff = adding("a.php", "var_dump('X');").into_bytes();
    let at = diff.iter().position(|byte| *byte == b'X').unwrap();
    diff[at] = 0xff;
    let findings = review(&Diff::parse(&diff).unwrap(), &[]).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].suggested_patch, None);
}

#[test]
fn every_suggestion_of_every_check_is_one_that_git_applies() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for (path, line) in checks::all().flat_map(|check| check.fires) {
        for text in
            [format!("a = 1\n{line}\nb = 2\nc = 3\nd = 4\ne = 5"), line.to_string(), format!("a\r\n{line}\r\nb\r")]
        {
            for finding in reviewed(&adding(path, &text)).findings {
                let Some(patch) = finding.suggested_patch else { continue };
                let file = folder.path().join(path);
                #[expect(clippy::disallowed_methods, reason = "a test writes what it applies to")]
                {
                    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                    std::fs::write(&file, format!("{text}\n")).unwrap();
                }
                let mut git = Command::new("git");
                git.args(["apply", "--check"]).current_dir(folder.path()).env("GIT_CEILING_DIRECTORIES", "/");
                let mut child = git.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                child.stdin.take().unwrap().write_all(patch.content.as_bytes()).unwrap();
                let output = child.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{path}: {said}\n{}", patch.content);
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried}");
}
