//! `diffsan apply`: a suggested change in the working tree, or a clear no.

use crate::sandbox::Sandbox;

const APP: &str = "def one():\n    x = 1\n    breakpoint()\n    return x\n";
const TEST: &str = "describe('a', () => {\n  it.only('b', () => {\n    expect(1).toBe(1);\n  });\n});\n";

/// A repository whose offline review has two suggestions; their ids.
fn reviewed() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_change();
    sandbox.write("src/app.py", APP);
    sandbox.write("src/a.test.js", TEST);
    sandbox.git(&["add", "-A"]);
    sandbox.run(["--agent", "builtin"]).expect_code(0);
    let review = sandbox.artifact("review.json");
    let findings = review["findings"].as_array().unwrap();
    let fixed = findings.iter().filter(|finding| finding["suggested_patch"].is_object());
    let ids: Vec<_> = fixed.map(|finding| finding["finding_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 2, "{review:#}");
    (sandbox, ids)
}

fn text(sandbox: &Sandbox, path: &str) -> String {
    std::fs::read_to_string(sandbox.repo().join(path)).unwrap()
}

#[test]
fn suggestions_are_applied_together_and_once() {
    let (sandbox, ids) = reviewed();
    let checked = sandbox.run(["apply", "--check", &ids[0], &ids[1]]).expect_code(0);
    assert!(checked.stdout.contains("would apply to src/app.py"), "{}", checked.stdout);
    assert_eq!(text(&sandbox, "src/app.py"), APP, "--check writes nothing");
    let applied = sandbox.run(["apply", &ids[0][..8], &ids[1]]).expect_code(0);
    assert!(applied.stdout.contains("applied to src/a.test.js"), "{}", applied.stdout);
    assert_eq!(text(&sandbox, "src/app.py"), APP.replace("    breakpoint()\n", ""));
    assert_eq!(text(&sandbox, "src/a.test.js"), TEST.replace("it.only", "it"));
    let again = sandbox.run(["apply", &ids[0]]).expect_code(1);
    assert!(again.stderr.contains("cannot be applied"), "{}", again.stderr);
}

#[test]
fn a_file_that_changed_since_is_left_alone() {
    let (sandbox, ids) = reviewed();
    sandbox.write("src/app.py", APP.replace("breakpoint()", "breakpoint(1)"));
    let refused = sandbox.run(["apply", &ids[0], &ids[1]]).expect_code(1);
    assert!(refused.stderr.contains("is not as the review saw it"), "{}", refused.stderr);
    assert_eq!(text(&sandbox, "src/a.test.js"), TEST, "all of them, or none");
    sandbox.write("src/app.py", format!("import os\n\n{APP}"));
    sandbox.run(["apply", &ids[0], &ids[1]]).expect_code(0);
    assert_eq!(text(&sandbox, "src/app.py"), format!("import os\n\n{}", APP.replace("    breakpoint()\n", "")));
}

#[test]
fn a_review_cannot_make_apply_write_elsewhere() {
    let (sandbox, ids) = reviewed();
    let outside = sandbox.root().join("precious");
    std::fs::write(&outside, "one\n").unwrap();
    std::os::unix::fs::symlink(sandbox.root(), sandbox.repo().join("link")).unwrap();
    let review = sandbox.artifact_text("review.json");
    for path in ["../precious", "link/precious", ".git/config", "/etc/hostname"] {
        let patch = "@@ -1 +1 @@\\n-one\\n+two\\n";
        let mut forged: serde_json::Value = serde_json::from_str(&review).unwrap();
        let finding =
            forged["findings"].as_array_mut().unwrap().iter_mut().find(|f| f["finding_id"] == ids[0]).unwrap();
        finding["path"] = path.into();
        finding["suggested_patch"]["content"] = patch.replace("\\n", "\n").into();
        std::fs::write(sandbox.workdir().join("review.json"), forged.to_string()).unwrap();
        let refused = sandbox.run(["apply", &ids[0]]).expect_code(1);
        assert!(refused.stderr.contains("error["), "{}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "one\n", "{path}");
    }
}
