//! Nothing structural is ever redacted.

use super::*;

#[test]
fn a_value_that_looks_like_a_header_does_not_take_the_header_with_it() {
    let lines = ["password: \"diff --git a/x9 b/x9\"", "token: \"@@ -1,2 +1,2 @@ 9x\"", "api_key: +++b/x12345678901"];
    let mut diff = diff_of("x9", '+', &lines.map(str::to_owned));
    diff.push_str("diff --git a/x9 b/x9\n--- a/x9\n+++ b/x9\n@@ -1,2 +1,2 @@ 9x\n-a\n+b\n c\n");
    let engine =
        Engine::new(&Settings::default(), lines.map(|line| line.split_once(": ").expect("a pair").1.replace('"', "")));
    let redacted = engine.expect("no patterns").redact_diff(diff.as_bytes()).bytes.to_text().into_string();
    let before = crate::diff::Diff::parse(diff.as_bytes()).expect("a diff");
    let after = crate::diff::Diff::parse(redacted.as_bytes()).expect("still a diff");
    assert_eq!(after.shape(), before.shape(), "{redacted}");
}

#[test]
fn a_known_value_never_takes_a_sign_with_it() {
    let engine =
        Engine::new(&Settings::default(), ["+known-value-1".to_owned(), "-known-value-2".to_owned()]).expect("fine");
    let diff = diff_of(
        "a.txt",
        '+',
        &["known-value-1".to_owned(), "x +known-value-1".to_owned(), "-known-value-2".to_owned()],
    );
    let redacted = engine.redact_diff(diff.as_bytes()).bytes.to_text().into_string();
    assert!(redacted.ends_with("\n+[REDACTED]\n+x [REDACTED]\n+[REDACTED]\n"), "{redacted}");
}

#[test]
fn a_scanned_diff_is_not_read_as_prose() {
    let engine = engine();
    // As plain text, the second line would be the value of the first.
    let diff = diff_of("a.py", '+', &["call(\"password\",".to_owned(), "correct_horse_battery)".to_owned()]);
    assert_eq!(engine.redact_scanned_diff(Output::Prompt, diff.clone()).as_str(), diff);
    engine.learn("correct_horse_battery");
    assert!(!engine.redact_scanned_diff(Output::Prompt, diff.clone()).as_str().contains("horse"));
    engine.learn("+correct_horse_battery");
    let prompt = format!("Review this.\n{diff}");
    assert!(engine.redact_known(Output::Prompt, prompt).as_str().ends_with("\n+[REDACTED])\n"));
}

#[test]
fn a_path_is_redacted_alike_in_every_line_that_names_it() {
    let path = "conf/glpat-Zx81kQm3Lw09vTb7Rn5c/a.txt";
    for header in [
        format!("diff --git a/{path} b/{path}\nsimilarity index 90%\nrename from {path}\nrename to {path}x\n"),
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..1111111\nBinary files /dev/null and b/{path} differ\n"
        ),
        format!(
            "diff --git a/{path} b/{path}\nindex 1234567..89abcde 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
        ),
    ] {
        let redacted = redact_diff(&header);
        assert_eq!(redacted, header.replace("glpat-Zx81kQm3Lw09vTb7Rn5c", TOKEN));
        crate::diff::Diff::parse(redacted.as_bytes()).expect("still a diff");
    }
}

#[test]
fn the_data_of_a_binary_patch_stays() {
    let diff = "diff --git a/a.bin b/a.bin\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 3\nKAKIAZ\n\nliteral 0\nHcmV?d00001\n\n";
    let engine = Engine::new(&Settings::default(), ["HcmV?d00001".to_owned()]).expect("fine");
    assert_eq!(engine.redact_diff(diff.as_bytes()).bytes.as_bytes(), diff.as_bytes());
}
