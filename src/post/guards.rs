//! What a reader must know about a change that touches what guards the project, or that points to content elsewhere.

use std::fmt::Write as _;

use super::sanitize;
use crate::contracts::PolicyRecord;

/// Most names in one list.
const LISTED: usize = 20;
const NAME_CHARS: usize = 200;

/// The section of the summary; empty where there is nothing to tell.
pub fn render(policy: Option<&PolicyRecord>, elsewhere: &[(String, String)]) -> String {
    let mut text = String::new();
    if let Some(policy) = policy {
        if !policy.guards_touched.is_empty() {
            let files = names(&policy.guards_touched);
            let _ =
                writeln!(text, "- This change touches what guards the project: {files}. A person decides about it.");
        }
        if !policy.pending.is_empty() {
            let keys = names(&policy.pending);
            let _ = writeln!(text, "- It changes the settings of this review ({keys}). They take effect once merged.");
        }
    }
    if !elsewhere.is_empty() {
        let files: Vec<String> =
            elsewhere.iter().map(|(path, reason)| format!("{} ({reason})", code(path))).take(LISTED).collect();
        let more = more(elsewhere.len());
        let _ = writeln!(text, "- Content that is not in this change was not reviewed: {}{more}.", files.join(", "));
    }
    text.trim_end().to_owned()
}

fn names(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| code(name)).collect();
    format!("{}{}", shown.join(", "), more(names.len()))
}

fn more(count: usize) -> String {
    match count.saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

fn code(name: &str) -> String {
    sanitize::code(&sanitize::clip(name, NAME_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::PolicySource;

    #[test]
    fn what_guards_and_what_is_pending_are_named_and_nothing_in_a_name_acts() {
        let policy = PolicyRecord {
            source: PolicySource::Target,
            file: None,
            commit: None,
            branch: None,
            via: None,
            pending: vec!["gate.fail_on".into()],
            guards_touched: vec![".gitlab/`@all`\n/approve.yml".into()],
        };
        let text = render(Some(&policy), &[("lib".into(), "a submodule".into())]);
        assert!(text.contains("gate.fail_on") && text.contains("take effect once merged"), "{text}");
        assert!(text.contains("lib") && text.contains("a submodule"));
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.lines().any(|line| line.starts_with('/')));
        assert_eq!(render(None, &[]), "");
    }
}
