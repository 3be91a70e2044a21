//! The line checks as data: what each looks for, where, what it says, and samples that must and must not fire.

use crate::contracts::{Category, Severity};

mod debugging;
mod disabled;
mod suppressions;

/// Every line check.
pub(super) fn all() -> impl Iterator<Item = &'static Check> {
    [debugging::LEFTOVERS, disabled::DISABLED_TESTS, suppressions::SUPPRESSIONS].into_iter().flatten()
}

/// One thing to look for in added lines.
#[derive(Debug)]
pub(super) struct Check {
    /// Stable name, for people and tests.
    pub(super) name: &'static str,
    /// What the summary counts it under.
    pub(super) family: Family,
    /// Extensions or whole file names it applies to; empty: every file.
    pub(super) files: &'static [&'static str],
    pub(super) place: Place,
    /// One of these stands in every line that the pattern matches.
    pub(super) needles: &'static [&'static str],
    pub(super) pattern: &'static str,
    /// A line that matches this as well is fine.
    pub(super) except: Option<&'static str>,
    /// Fine below an `if`: then it happens only where it must.
    pub(super) fine_below_if: bool,
    pub(super) severity: Severity,
    pub(super) category: Category,
    /// First sentence: what it is. Then: what it does, and what to do.
    pub(super) body: &'static str,
    pub(super) fix: Fix,
    /// A path and added lines of which the last must fire, once.
    #[cfg_attr(not(test), expect(dead_code, reason = "samples stand beside what they are samples of"))]
    pub(super) fires: &'static [(&'static str, &'static str)],
    /// A path and added lines that must not fire.
    #[cfg_attr(not(test), expect(dead_code, reason = "samples stand beside what they are samples of"))]
    pub(super) quiet: &'static [(&'static str, &'static str)],
}

/// What the summary counts a check under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Secret,
    Conflict,
    HiddenCharacter,
    UrlCredential,
    DisabledTest,
    Suppression,
    Debugging,
}

/// Which files a check applies to, beside their names' endings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Anywhere,
    /// Files that look like tests.
    Tests,
    /// Files that are neither tests nor scripts: programs that print are meant to.
    Product,
    /// Pipeline definitions.
    Pipelines,
}

/// How a finding can be put right without knowing more than the line.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fix {
    None,
    /// Delete the line, where it is a whole statement.
    DeleteLine,
    /// Replace the first text with the second, once.
    Replace(&'static str, &'static str),
}

const JS: &[&str] = &["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "astro"];
const PYTHON: &[&str] = &["py", "pyi"];
const RUBY: &[&str] = &["rb", "rake", "gemspec", "erb", "Gemfile", "Rakefile"];
const PHP: &[&str] = &["php", "phtml", "inc"];
const RUST: &[&str] = &["rs"];
const GO: &[&str] = &["go"];
const JVM: &[&str] = &["java", "kt", "kts", "scala", "groovy"];
const C: &[&str] = &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm", "cu"];
const CSHARP: &[&str] = &["cs"];
const SWIFT: &[&str] = &["swift"];
const ELIXIR: &[&str] = &["ex", "exs"];
const DART: &[&str] = &["dart"];
const SHELL: &[&str] = &["sh", "bash", "zsh", "ksh"];

/// What most checks have in common.
const BASE: Check = Check {
    name: "",
    family: Family::Debugging,
    files: &[],
    place: Place::Anywhere,
    needles: &[],
    pattern: "",
    except: None,
    fine_below_if: false,
    severity: Severity::Low,
    category: Category::Maintainability,
    body: "",
    fix: Fix::DeleteLine,
    fires: &[],
    quiet: &[],
};
