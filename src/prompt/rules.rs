//! The project's rules that a change calls for: those whose paths it touches.

use std::fmt::Write as _;

use crate::prepare::{GlobError, globs};

/// A rule with its text at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Globs of the files it is for.
    pub paths: Vec<String>,
    pub text: String,
}

/// The rules for these files, each under its paths; empty when none applies.
pub fn rules(rules: &[Rule], files: &[&str]) -> Result<String, GlobError> {
    let mut text = String::new();
    for rule in rules {
        let set = globs(&rule.paths)?;
        if files.iter().any(|file| set.is_match(file)) {
            let _ = writeln!(text, "For {}:\n{}\n", rule.paths.join(", "), rule.text.trim());
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_when_the_change_touches_its_paths() {
        let rule = |paths: &[&str], text: &str| Rule {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            text: text.to_owned(),
        };
        let all = [rule(&["api/**", "*.proto"], "Stay compatible.\n"), rule(&["web/**"], "No inline styles.")];
        assert_eq!(rules(&all, &["api/v1/pay.py"]).unwrap(), "For api/**, *.proto:\nStay compatible.\n\n");
        assert_eq!(rules(&all, &["deep/down/a.proto"]).unwrap().matches("For ").count(), 1);
        assert_eq!(rules(&all, &["README.md"]).unwrap(), "");
        assert!(rules(&[rule(&["[a"], "x")], &["a"]).is_err());
    }
}
