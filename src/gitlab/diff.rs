//! The merge request's diff from GitLab's API, for when git cannot give it.

use std::fmt::Write as _;

use super::explain::{self, Purpose};
use super::http::Request;
use super::{Client, MergeRequest, wire};
use crate::error::Result;

/// Largest raw diff that is read.
const RAW_CAP: usize = 256 << 20;
/// Rows of a page of `/diffs`: older versions answer 500 to more than 30.
const DIFFS_PER_PAGE: u32 = 20;

/// A diff as GitLab gave it, and what it did not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiDiff {
    /// In git's format.
    pub text: Vec<u8>,
    /// `raw_diffs` or `diffs`.
    pub source: &'static str,
    /// Files whose content GitLab withheld.
    pub unavailable: Vec<UnavailableFile>,
    /// Why there may be files that are not even named; `None` when all are.
    pub incomplete: Option<String>,
}

/// A changed file whose content GitLab withheld.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableFile {
    pub path: String,
    pub reason: &'static str,
}

impl Client {
    /// The diff of the merge request's newest version: in full where GitLab can, else file by file.
    pub async fn diff(&self, merge_request: &MergeRequest) -> Result<ApiDiff> {
        let mut raw = Request::get(self.path("/raw_diffs"));
        raw.cap = RAW_CAP;
        // Versions before 17.9 have no such address, and large diffs time out there: the list still may do.
        if let Ok(answer) = self.http.send(&raw, &mut self.attempts()).await
            && (answer.body.is_empty() || answer.body.starts_with(b"diff --git "))
        {
            return Ok(ApiDiff { text: answer.body, source: "raw_diffs", unavailable: Vec::new(), incomplete: None });
        }
        let entries: Vec<wire::DiffEntry> =
            self.all_pages(Request::get(self.path("/diffs")), DIFFS_PER_PAGE).await.map(|pages| pages.rows).map_err(
                |trouble| {
                    explain::error(Purpose::Diff, &format!("read the diff of {}", self.name()), &self.project, &trouble)
                },
            )?;
        Ok(assemble(&entries, merge_request.changes_count.as_deref()))
    }
}

/// One diff from the list's entries; what is collapsed, too large or empty is named instead.
fn assemble(entries: &[wire::DiffEntry], changes_count: Option<&str>) -> ApiDiff {
    let mut text = String::new();
    let mut unavailable = Vec::new();
    for entry in entries {
        match withheld(entry) {
            Some(reason) => unavailable.push(UnavailableFile { path: entry.new_path.clone(), reason }),
            None => file(&mut text, entry),
        }
    }
    let incomplete = match changes_count.map(|count| (count, count.parse::<usize>())) {
        Some((_, Ok(count))) if count == entries.len() => None,
        Some((count, _)) => Some(format!("GitLab counts {count} changed files and lists {}", entries.len())),
        None => None,
    };
    ApiDiff { text: text.into_bytes(), source: "diffs", unavailable, incomplete }
}

/// Why an entry cannot be taken for the file's whole change.
fn withheld(entry: &wire::DiffEntry) -> Option<&'static str> {
    if entry.too_large == Some(true) {
        return Some("too large for GitLab to show");
    }
    if entry.collapsed == Some(true) && entry.diff.is_empty() {
        return Some("collapsed by GitLab");
    }
    let explained = entry.renamed_file || mode_changed(entry) || entry.too_large == Some(false);
    (entry.diff.is_empty() && !explained).then_some("left out by GitLab")
}

fn mode_changed(entry: &wire::DiffEntry) -> bool {
    !entry.new_file && !entry.deleted_file && entry.a_mode != entry.b_mode
}

/// One file as `git diff` writes it.
fn file(text: &mut String, entry: &wire::DiffEntry) {
    let old = quoted("a/", &entry.old_path);
    let new = quoted("b/", &entry.new_path);
    let _ = writeln!(text, "diff --git {old} {new}");
    if entry.new_file {
        let _ = writeln!(text, "new file mode {}", entry.b_mode);
    } else if entry.deleted_file {
        let _ = writeln!(text, "deleted file mode {}", entry.a_mode);
    } else if mode_changed(entry) {
        let _ = writeln!(text, "old mode {}\nnew mode {}", entry.a_mode, entry.b_mode);
    }
    if entry.renamed_file {
        let _ = writeln!(text, "rename from {}", quoted("", &entry.old_path));
        let _ = writeln!(text, "rename to {}", quoted("", &entry.new_path));
    }
    if entry.diff.starts_with("@@") {
        let side = |absent: bool, path: String| match absent {
            true => "/dev/null".to_owned(),
            // git ends a name with spaces with a tab, so that readers know where it stops.
            false if path.contains(' ') && !path.starts_with('"') => format!("{path}\t"),
            false => path,
        };
        let _ = writeln!(text, "--- {}\n+++ {}", side(entry.new_file, old), side(entry.deleted_file, new));
    }
    text.push_str(&entry.diff);
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

/// A path as git writes it: in quotes where it has characters that would break the line.
fn quoted(prefix: &str, path: &str) -> String {
    if !path.chars().any(|character| character.is_control() || matches!(character, '"' | '\\')) {
        return format!("{prefix}{path}");
    }
    let mut text = format!("\"{prefix}");
    for character in path.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            control if control.is_control() => {
                for byte in control.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(text, "\\{byte:03o}");
                }
            }
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(json: &str) -> Vec<wire::DiffEntry> {
        serde_json::from_str(json).expect("entries")
    }

    #[test]
    fn entries_become_the_text_git_would_write() {
        let entries = entries(
            r#"[
            {"old_path":"a b.txt","new_path":"a b.txt","a_mode":"100644","b_mode":"100644","new_file":false,
             "renamed_file":false,"deleted_file":false,"diff":"@@ -1 +1 @@\n-x\n+y\n"},
            {"old_path":"n","new_path":"n","a_mode":"0","b_mode":"100755","new_file":true,
             "renamed_file":false,"deleted_file":false,"diff":"@@ -0,0 +1 @@\n+y\n\\ No newline at end of file"},
            {"old_path":"o","new_path":"q\"\n","a_mode":"100644","b_mode":"100644","new_file":false,
             "renamed_file":true,"deleted_file":false,"diff":""},
            {"old_path":"d","new_path":"d","a_mode":"100644","b_mode":"0","new_file":false,
             "renamed_file":false,"deleted_file":true,"diff":"@@ -1 +0,0 @@\n-x\n"},
            {"old_path":"m","new_path":"m","a_mode":"100644","b_mode":"100755","new_file":false,
             "renamed_file":false,"deleted_file":false,"diff":""},
            {"old_path":"p.png","new_path":"p.png","a_mode":"100644","b_mode":"100644","new_file":false,
             "renamed_file":false,"deleted_file":false,"diff":"Binary files a/p.png and b/p.png differ\n"}]"#,
        );
        let diff = assemble(&entries, Some("6"));
        let expected = "diff --git a/a b.txt b/a b.txt\n--- a/a b.txt\t\n+++ b/a b.txt\t\n@@ -1 +1 @@\n-x\n+y\n\
             diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+y\n\
             \\ No newline at end of file\n\
             diff --git a/o \"b/q\\\"\\n\"\nrename from o\nrename to \"q\\\"\\n\"\n\
             diff --git a/d b/d\ndeleted file mode 100644\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
             diff --git a/m b/m\nold mode 100644\nnew mode 100755\n\
             diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n";
        assert_eq!(String::from_utf8(diff.text).expect("text"), expected);
        assert_eq!((diff.unavailable, diff.incomplete), (vec![], None));
    }

    #[test]
    fn what_gitlab_withholds_is_named_and_never_taken_for_unchanged() {
        let entries = entries(
            r#"[
            {"old_path":"big","new_path":"big","a_mode":"100644","b_mode":"100644","diff":"","too_large":true},
            {"old_path":"folded","new_path":"folded","a_mode":"100644","b_mode":"100644","diff":"","collapsed":true},
            {"old_path":"older","new_path":"older","a_mode":"100644","b_mode":"100644","diff":""},
            {"old_path":"empty","new_path":"empty","a_mode":"0","b_mode":"100644","diff":"","new_file":true,
             "collapsed":false,"too_large":false}]"#,
        );
        let diff = assemble(&entries, Some("1000+"));
        let named: Vec<_> = diff.unavailable.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(named, ["big", "folded", "older"]);
        assert_eq!(diff.text, b"diff --git a/empty b/empty\nnew file mode 100644\n");
        assert_eq!(diff.incomplete.as_deref(), Some("GitLab counts 1000+ changed files and lists 4"));
    }
}
