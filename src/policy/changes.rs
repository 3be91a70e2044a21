//! What a merge request changes in the policy: it takes effect once merged, and people are told.

use super::{Entry, Policy};
use crate::config::{self, Source};
use crate::diff::Diff;
use crate::diff::git::Git;

/// The keys and files of the policy that the change would set differently. Only names that diffsan knows by itself, or
/// paths of the diff, are in it: the branch's own words are not.
pub async fn pending(policy: &Policy, diff: &Diff<'_>, git: &Git, head: Option<&str>) -> Vec<String> {
    let (Some(commit), Some(head)) = (policy.commit(), head) else { return Vec::new() };
    let touches = |path: &str| diff.files.iter().any(|file| file.new_path == path || file.old_path == path);
    let mut pending = Vec::new();
    if let Some(path) = policy.path().filter(|path| touches(path)) {
        let before = match commit.entry(path).await {
            Ok(Some(Entry::File(bytes))) => String::from_utf8_lossy(&bytes).into_owned(),
            _ => String::new(),
        };
        let after = git.run(&["cat-file", "blob", &format!("{head}:{path}")]).await.unwrap_or_default();
        pending.extend(differing(&before, &String::from_utf8_lossy(&after)));
    }
    pending.extend(policy.named.iter().filter(|path| touches(path)).cloned());
    pending
}

fn differing(before: &str, after: &str) -> Vec<String> {
    let source = Source::File(config::CONFIG_FILE.into());
    let one = config::alone(&source, before).unwrap_or_default();
    let Ok(other) = config::alone(&source, after) else {
        return vec!["settings that are not valid".to_owned()];
    };
    let keys = |text: &str| config::keys_of(&source, text).unwrap_or_default();
    let mut all = keys(before);
    all.extend(keys(after));
    all.sort();
    all.dedup();
    all.retain(|key| config::value_of(&one, key) != config::value_of(&other, key));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_that_would_change_are_pending_and_no_word_of_the_branch_is_shown() {
        let before = "[gate]\nfail_on = \"high\"\n[limits]\nmax_files = 7\n";
        let after = "[limits]\nmax_files = 7\n[agent]\ncommand = \"evil\"\n";
        assert_eq!(differing(before, after), ["agent.command", "gate.fail_on"]);
        assert_eq!(differing("", "[limits]\nmax_files = 60\n"), Vec::<String>::new());
        assert_eq!(differing("", "\"/approve\" = 1\n"), ["settings that are not valid"]);
    }
}
