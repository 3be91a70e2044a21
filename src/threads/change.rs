//! What must be equal for two reviews to be of the same change, under the same policy.

use sha2::{Digest as _, Sha256};

use crate::diff::{Diff, LineKind};
use crate::run::record::hex;

/// Hash of a change: paths, modes, verbatim hunks without their numbers, and where no hunk shows a content, its object
/// ids. A rebase keeps it; a removed check does not.
pub fn change_hash(diff: &Diff<'_>) -> String {
    let mut hash = Sha256::new_with_prefix("diffsan-change-2\0");
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for file in &diff.files {
        part(b"file");
        part(file.old_path.as_bytes());
        part(file.new_path.as_bytes());
        part(file.status.name().as_bytes());
        part(format!("{:?} {:?}", file.old_mode, file.new_mode).as_bytes());
        if file.hunks.is_empty() || file.is_binary || file.is_submodule {
            part(index_line(file.header));
        }
        for hunk in &file.hunks {
            part(b"hunk");
            for line in hunk.lines() {
                let kind: &[u8] = match line.kind {
                    LineKind::Added => b"+",
                    LineKind::Removed => b"-",
                    LineKind::Context => b" ",
                };
                part(kind);
                part(line.content);
                part(if line.no_newline { b"\\" } else { b"" });
            }
        }
    }
    hex(&hash.finalize())
}

/// Hash of what shapes a review: each part has a name, so that none can pass for another.
pub fn policy_hash<'a>(parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut hash = Sha256::new_with_prefix("diffsan-policy-1\0");
    for (name, value) in parts {
        for text in [name, value] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
    }
    hex(&hash.finalize())
}

/// `index <old>..<new>`: the contents that the diff does not show.
fn index_line(header: &[u8]) -> &[u8] {
    header.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"index ")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> String {
        change_hash(&Diff::parse(text.as_bytes()).expect("a diff"))
    }

    const TEXT: &str =
        "diff --git a/a b/a\nindex 111..222 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@ fn x\n x\n-old\n+log(t)\n";

    #[test]
    fn a_rebase_keeps_the_change_and_everything_else_makes_another() {
        let rebased = TEXT.replace("@@ -1,2 +1,2 @@ fn x", "@@ -91,2 +101,2 @@ fn y").replace("111..222", "333..444");
        assert_eq!(hash(TEXT), hash(&rebased));
        for (from, to) in [
            ("-old\n", "-verify(t)\n"),
            ("+log(t)", "+ log(t)"),
            ("\n x\n", "\n y\n"),
            ("100644", "100755"),
            ("a/a b/a\n", "a/a b/a\nold mode 100644\nnew mode 100755\n"),
        ] {
            assert_ne!(hash(TEXT), hash(&TEXT.replacen(from, to, 1)), "{from:?}");
        }
        assert_ne!(hash(TEXT), hash(&format!("{TEXT}\\ No newline at end of file\n")));
    }

    #[test]
    fn a_removed_check_is_another_change() {
        let alone = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n x\n+log(t)\n";
        let instead = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-verify(t)\n+log(t)\n";
        assert_ne!(hash(alone), hash(instead));
    }

    #[test]
    fn what_no_hunk_shows_is_told_by_its_object_id() {
        let binary =
            |id: &str| format!("diff --git a/p b/p\nindex 111..{id} 100644\nBinary files a/p and b/p differ\n");
        assert_ne!(hash(&binary("222")), hash(&binary("333")));
        let mode = |to: &str| format!("diff --git a/p b/p\nold mode 100644\nnew mode {to}\n");
        assert_ne!(hash(&mode("100755")), hash(&mode("120000")));
    }

    #[test]
    fn parts_of_a_policy_cannot_be_shifted_into_each_other() {
        assert_ne!(policy_hash([("a", "bc")]), policy_hash([("ab", "c")]));
        assert_ne!(policy_hash([("a", "b"), ("c", "d")]), policy_hash([("a", "bc"), ("", "d")]));
    }
}
