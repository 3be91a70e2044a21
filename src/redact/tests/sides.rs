//! A hunk is two texts: what stands next to a line depends on the file. The shape of a rotated secret.

use super::*;

/// A hunk with its lines as they are, signs included.
fn hunk(path: &str, lines: &str) -> String {
    let count = |signs: [char; 2]| lines.lines().filter(|line| line.starts_with(signs)).count();
    let (old, new) = (count([' ', '-']), count([' ', '+']));
    format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -7,{old} +7,{new} @@\n{lines}")
}

/// Both the old and the new value go, whatever pairs them with the unchanged line.
#[test]
fn a_rotated_value_below_an_unchanged_name_goes_on_both_sides() {
    let cases = [
        ("k8s.yaml", " - name: DB_PASSWORD\n-  value: OLD\n+  value: NEW\n"),
        ("a.json", " {\n   \"name\": \"DB_PASSWORD\",\n-  \"value\": \"OLD\"\n+  \"value\": \"NEW\"\n }\n"),
        ("a.yml", " db_password: >-\n-  OLD\n+  NEW\n"),
        ("a.yml", " db_password:\n-  OLD\n+  NEW\n"),
        ("a.py", " password = (\n-    \"OLD\"\n+    \"NEW\"\n )\n"),
        ("a.xml", " <property name=\"password\">\n-  <value>OLD</value>\n+  <value>NEW</value>\n </property>\n"),
        ("a.plist", " <key>Password</key>\n-<string>OLD</string>\n+<string>NEW</string>\n"),
        ("a.tf", " variable \"db_password\" {\n   type = string\n-  default = \"OLD\"\n+  default = \"NEW\"\n }\n"),
        ("s.yaml", " kind: Secret\n stringData:\n-  user: OLD\n+  user: NEW\n"),
        ("s.yaml", " kind: Secret\n stringData:\n   blob: |\n-    OLD\n+    NEW\n"),
        ("k8s.yaml", "-  value: OLD\n+  value: NEW\n   name: DB_PASSWORD\n"),
        ("k8s.yaml", " - name: DB_PASSWORD\n-  # the old one, until May\n-  value: OLD\n+  value: NEW\n"),
        ("k8s.yaml", " - name: DB_PASSWORD\n-  value: OLD\n-  extra: 1\n-  more: 2\n+  value: NEW\n"),
    ];
    for (path, lines) in cases {
        let diff = hunk(path, &lines.replace("OLD", "correct-horse-41").replace("NEW", "battery-staple-87"));
        let redacted = redact_diff(&diff);
        assert!(!redacted.contains("correct-horse"), "{lines}\n{redacted}");
        assert!(!redacted.contains("battery-staple"), "{lines}\n{redacted}");
        assert_eq!(redacted.lines().count(), diff.lines().count());
    }
}

/// A key of which some lines were replaced, or that stands among lines of the other file.
#[test]
fn a_rotated_key_goes_on_both_sides() {
    let (old, new) = (key_lines(64, 3), key_lines(64, 400));
    let mut lines = String::from(" -----BEGIN RSA PRIVATE KEY-----\n");
    for (old, new) in old.iter().zip(&new) {
        lines.push_str(&format!("-{old}\n+{new}\n"));
    }
    lines.push_str(" -----END RSA PRIVATE KEY-----\n");
    let redacted = redact_diff(&hunk("deploy/id.txt", &lines));
    assert!(longest_left(&redacted, &old) < 6 && longest_left(&redacted, &new) < 6, "{redacted}");
}

/// The two files are not mixed up: what is a value in one of them says nothing about the other.
#[test]
fn a_line_of_the_other_file_is_no_neighbour() {
    let diff = hunk("a.yaml", "-  name: DB_PASSWORD\n+  name: greeting\n   value: hello-there-42\n");
    let redacted = redact_diff(&diff);
    assert!(redacted.contains("[REDACTED]"), "the old file gives the password: {redacted}");
    let diff =
        hunk("a.yaml", "-  name: DB_PASSWORD\n-  value: correct-horse-41\n+  value: hello-there-42\n   other: 1\n");
    let redacted = redact_diff(&diff);
    assert!(!redacted.contains("correct-horse") && redacted.contains("hello-there-42"), "{redacted}");
}
