//! The offline reviewer: deterministic checks of added lines. It asks no model and needs nothing installed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::Regex;

use crate::contracts::{
    AgentFinding, AgentReviewOutput, Category, PatchFormat, RedactionMatch, Severity, Side, SuggestedPatch,
};
use crate::diff::{Diff, FileDiff, Hunk, Line, LineKind};
use crate::redact::{self, Certainty};
use checks::{Check, Family, Fix, Place};

mod checks;
mod hidden;
mod urls;

/// Findings of one check in one file; the last names the lines of the rest.
const MAX_PER_FILE: usize = 5;
/// Longer lines are data or machine-made.
const MAX_LINE_BYTES: usize = 2_000;
const MAX_QUOTE_CHARS: usize = 400;

/// Reviews the added lines of a redacted diff. `secrets` is what the scanner removed from it.
pub fn review(diff: &Diff<'_>, secrets: &[RedactionMatch]) -> AgentReviewOutput {
    let checks = Compiled::new();
    let mut hits = Vec::new();
    for file in diff.files.iter().filter(|file| !file.is_binary && !file.is_submodule) {
        let mut of_file = find(file, secrets, &checks);
        of_file.sort_by_key(|hit| (hit.line, hit.family));
        hits.extend(fold(of_file));
    }
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.severity));
    AgentReviewOutput {
        summary_markdown: summary(diff, &hits),
        findings: hits.into_iter().map(Hit::into_finding).collect(),
    }
}

/// One place that a check fired on.
struct Hit {
    check: &'static str,
    family: Family,
    severity: Severity,
    category: Category,
    path: String,
    line: u32,
    line_end: u32,
    body: String,
    quote: Option<String>,
    patch: Option<String>,
}

impl Hit {
    fn into_finding(self) -> AgentFinding {
        AgentFinding {
            finding_id: None,
            severity: self.severity,
            category: self.category,
            path: self.path,
            line_start: i64::from(self.line),
            line_end: i64::from(self.line_end),
            body_markdown: self.body,
            quote: self.quote,
            change_anchor: None,
            suggested_patch: self.patch.map(|content| SuggestedPatch { format: PatchFormat::UnifiedDiff, content }),
        }
    }
}

/// The line checks, ready to run: one search for all needles picks the few patterns worth trying.
struct Compiled {
    checks: Vec<(&'static Check, OnceLock<Option<Pattern>>)>,
    needles: Option<AhoCorasick>,
    /// For each needle, its check.
    owners: Vec<usize>,
}

struct Pattern {
    matches: Regex,
    except: Option<Regex>,
}

impl Compiled {
    fn new() -> Self {
        let checks: Vec<_> = checks::all().map(|check| (check, OnceLock::new())).collect();
        let needles = checks.iter().flat_map(|(check, _)| check.needles);
        let needles =
            AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).ascii_case_insensitive(true).build(needles).ok();
        let owners =
            checks.iter().enumerate().flat_map(|(index, (check, _))| vec![index; check.needles.len()]).collect();
        Self { checks, needles, owners }
    }

    /// The checks that a line is worth trying, in order.
    fn candidates(&self, line: &[u8]) -> Vec<usize> {
        let Some(needles) = &self.needles else { return Vec::new() };
        let found = needles.find_overlapping_iter(line).map(|hit| self.owners[hit.pattern().as_usize()]);
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The checks that fire on a line of this file.
    fn fired(&self, path: &str, line: &[u8], above: Option<Line<'_>>) -> Vec<&'static Check> {
        let candidates = self.candidates(line).into_iter().map(|index| &self.checks[index]);
        let fired = candidates.filter(|(check, pattern)| {
            applies(check, path)
                && !(check.fine_below_if && above.is_some_and(is_condition))
                && pattern.get_or_init(|| Pattern::new(check)).as_ref().is_some_and(|pattern| pattern.fires(line))
        });
        fired.map(|(check, _)| *check).collect()
    }
}

impl Pattern {
    fn new(check: &Check) -> Option<Self> {
        Some(Self { matches: compile(check.pattern)?, except: check.except.and_then(compile) })
    }

    fn fires(&self, line: &[u8]) -> bool {
        self.matches.is_match(line) && !self.except.as_ref().is_some_and(|except| except.is_match(line))
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("(?-u){pattern}")).ok()
}

fn find(file: &FileDiff<'_>, secrets: &[RedactionMatch], checks: &Compiled) -> Vec<Hit> {
    let path = file.path();
    let is_vendored = is_below(path, &["vendor", "_vendor", "node_modules", "third_party", "third-party"]);
    let is_prose = is_prose(path);
    let mut hits = Vec::new();
    let mut conflict = None;
    for hunk in &file.hunks {
        let mut above = None;
        for line in hunk.lines().filter(|line| line.kind != LineKind::Removed) {
            let (LineKind::Added, Some(number)) = (line.kind, line.new) else {
                above = Some(line);
                continue;
            };
            let content = line.content.strip_suffix(b"\r").unwrap_or(line.content);
            let place = At { path, number, content };
            let secret = secret(place, secrets);
            let is_secret = secret.is_some();
            hits.extend(secret);
            hits.extend(hidden_characters(place, is_prose));
            if !is_secret && content.len() <= MAX_LINE_BYTES && urls::has_credentials(content) {
                hits.push(url_credentials(place));
            }
            mark_conflict(place, &mut conflict, &mut hits);
            if !is_vendored && content.len() <= MAX_LINE_BYTES {
                hits.extend(
                    checks.fired(path, content, above).into_iter().map(|check| line_hit(check, place, above, hunk)),
                );
            }
            if !content.trim_ascii().is_empty() {
                above = Some(line);
            }
        }
    }
    hits
}

/// An added line and where it stands.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a str,
    number: u32,
    content: &'a [u8],
}

impl At<'_> {
    fn hit(self, check: &'static str, family: Family, severity: Severity, category: Category, body: String) -> Hit {
        let quote = String::from_utf8_lossy(self.content).into_owned();
        Hit {
            check,
            family,
            severity,
            category,
            path: self.path.to_owned(),
            line: self.number,
            line_end: self.number,
            body,
            quote: (quote.chars().count() <= MAX_QUOTE_CHARS && !quote.trim().is_empty()).then_some(quote),
            patch: None,
        }
    }
}

fn line_hit(check: &'static Check, at: At<'_>, above: Option<Line<'_>>, hunk: &Hunk<'_>) -> Hit {
    let mut hit = at.hit(check.name, check.family, check.severity, check.category, check.body.to_owned());
    hit.patch = patch(check.fix, at, above, hunk);
    hit
}

fn secret(at: At<'_>, secrets: &[RedactionMatch]) -> Option<Hit> {
    let here = |found: &&RedactionMatch| {
        found.side == Side::New && found.line_hint == Some(at.number) && found.path.as_deref() == Some(at.path)
    };
    let mut rules: Vec<_> = secrets.iter().filter(here).map(|found| found.pattern_name.as_str()).collect();
    rules.dedup();
    let certainty = rules.iter().map(|rule| redact::certainty(rule)).max()?;
    // What stands in tests and examples is seldom in use.
    let is_example = is_below(at.path, EXAMPLES) || is_prose(at.path);
    let severity = match (certainty, is_example) {
        (Certainty::Sure, false) => Severity::Critical,
        (Certainty::Sure, true) | (Certainty::Likely, false) => Severity::High,
        (Certainty::Likely, true) => Severity::Medium,
        (Certainty::Guess, _) => Severity::Info,
    };
    let names = rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ");
    let body = match certainty {
        Certainty::Guess => format!(
            "A value here was not shown to the reviewer, since its name promises a secret ({names}). If it is one, revoke it and \
             take it from a variable or a secret store instead."
        ),
        Certainty::Sure | Certainty::Likely => format!(
            "A secret is committed here ({names}). Everyone who can read the repository has it, and it stays in the history \
             after the line is gone. Revoke it first, then take it from a variable or a secret store instead."
        ),
    };
    Some(at.hit("secret", Family::Secret, severity, Category::Security, body))
}

/// Folders whose secrets are made up, as a rule.
const EXAMPLES: &[&str] = &[
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "testdata",
    "fixtures",
    "examples",
    "example",
    "docs",
    "samples",
    "mocks",
];

fn hidden_characters(at: At<'_>, is_prose: bool) -> Option<Hit> {
    let text = String::from_utf8_lossy(at.content);
    let found = hidden::hidden(&text, is_prose, at.number == 1);
    let worst = found.iter().map(|hit| hit.kind).max()?;
    let mut list = String::new();
    for hit in found.iter().take(4) {
        let code = u32::from(hit.character);
        let _ = write!(list, "{}U+{code:04X} {} at column {}", comma(&list), hidden::name(hit.character), hit.column);
    }
    if found.len() > 4 {
        let _ = write!(list, " and {} more", found.len() - 4);
    }
    let what = match worst {
        hidden::Kind::Bidirectional => {
            "Characters here change the order in which the line is shown: what a reviewer reads is not what runs"
        }
        hidden::Kind::Invisible => "Characters here cannot be seen: names or texts that look equal may differ",
        hidden::Kind::Control => "Control characters stand here: they drive the terminal of whoever prints the file",
    };
    let body = format!("{what}. {list}. Remove them, or write them as escapes.");
    Some(at.hit("hidden-characters", Family::HiddenCharacter, worst.severity(), Category::Security, body))
}

fn url_credentials(at: At<'_>) -> Hit {
    let body = "A URL carries a password or token. It ends up in the history, in logs and in every error message that names \
                the URL. Revoke it, and hand it over in a variable or a header.";
    at.hit("url-credentials", Family::UrlCredential, Severity::High, Category::Security, body.to_owned())
}

/// One finding from `<<<<<<<` to its `>>>>>>>`; a lone end counts too. `=======` alone is a heading's underline.
fn mark_conflict(at: At<'_>, open: &mut Option<usize>, hits: &mut Vec<Hit>) {
    let is = |mark: &[u8]| at.content.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest[0] == b' ');
    let body = "A merge conflict is committed. The markers are not code: this file does not build, or says both versions at \
                once. Resolve the conflict and remove the markers.";
    let (begins, ends) = (is(b"<<<<<<<"), is(b">>>>>>>"));
    if let Some(hit) = open.and_then(|index| hits.get_mut(index)).filter(|_| ends) {
        hit.line_end = at.number;
        *open = None;
    } else if begins || ends {
        *open = begins.then_some(hits.len());
        hits.push(at.hit("conflict", Family::Conflict, Severity::High, Category::Correctness, body.to_owned()));
    }
}

fn applies(check: &Check, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_named =
        check.files.is_empty() || check.files.iter().any(|known| Some(*known) == extension || *known == name);
    is_named
        && match check.place {
            Place::Anywhere => true,
            Place::Tests => is_test(path),
            Place::Product => !is_test(path) && !is_script(path),
            Place::Pipelines => {
                name == ".gitlab-ci.yml" || is_below(path, &[".github", ".gitlab", ".gitlab-ci", "ci", ".circleci"])
            }
        }
}

fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.split('.').next().unwrap_or(name);
    is_below(&lower, &["test", "tests", "spec", "specs", "__tests__", "e2e", "testing", "integration_test"])
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.contains("_test.")
        || name.contains("_spec.")
        || stem.starts_with("test_")
        || ["test", "tests", "spec", "testcase"].iter().any(|end| stem.ends_with(end))
}

/// Programs for a terminal print on purpose.
fn is_script(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let stem = name.split('.').next().unwrap_or(name);
    is_below(
        &lower,
        &[
            "scripts", "script", "bin", "tools", "tool", "examples", "example", "cli", "cmd", "bench", "benches",
            "docs", "demo",
        ],
    ) || name.contains(".config.")
        || ["cli", "gulpfile", "gruntfile", "setup", "build", "manage"].contains(&stem)
}

fn is_prose(path: &str) -> bool {
    const PROSE: [&str; 16] = [
        "md", "markdown", "rst", "txt", "adoc", "po", "pot", "xliff", "xlf", "strings", "arb", "resx", "ftl", "srt",
        "vtt", "csv",
    ];
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    PROSE.contains(&extension)
        || is_below(path, &["locale", "locales", "i18n", "l10n", "lang", "langs", "translations", "LC_MESSAGES"])
}

/// Whether one of the folders stands on the path.
fn is_below(path: &str, folders: &[&str]) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.split('/').any(|part| folders.contains(&part))
}

fn is_condition(line: Line<'_>) -> bool {
    let text = line.content.trim_ascii();
    let word: Vec<u8> = text.iter().copied().take_while(u8::is_ascii_alphabetic).collect();
    let is_else = text.starts_with(b"} else") || text.starts_with(b"} catch");
    is_else
        || [&b"if"[..], b"unless", b"elif", b"elsif", b"else", b"except", b"rescue", b"guard", b"switch", b"case"]
            .contains(&&word[..])
}

/// A patch for the new file, where the line alone says how to put it right.
fn patch(fix: Fix, at: At<'_>, above: Option<Line<'_>>, hunk: &Hunk<'_>) -> Option<String> {
    let line = std::str::from_utf8(at.content).ok()?;
    let fixed = match fix {
        Fix::None => return None,
        Fix::DeleteLine => {
            // A block may not be left without a statement.
            let is_only_statement = above.is_some_and(|above| above.content.trim_ascii_end().ends_with(b":"));
            if !is_whole_statement(line) || is_only_statement {
                return None;
            }
            None
        }
        Fix::Replace(from, to) => Some(line.replacen(from, to, 1)),
    };
    let (before, own, after) = around(at.number, hunk)?;
    let start = at.number - u32::try_from(before.len()).ok()?;
    let kept = before.len() + after.len();
    let (old, new) = (kept + 1, kept + usize::from(fixed.is_some()));
    // A hunk without any line on one side stands behind the line that its header names.
    let from = if new == 0 { start - 1 } else { start };
    let mut text = format!("--- a/{0}\n+++ b/{0}\n@@ -{start},{old} +{from},{new} @@\n", at.path);
    let mut write = |sign: char, line: &Line<'_>, words: &str| {
        let carriage = if line.content.ends_with(b"\r") { "\r" } else { "" };
        let remark = if line.no_newline { "\\ No newline at end of file\n" } else { "" };
        let _ = write!(text, "{sign}{}{carriage}\n{remark}", words.trim_end_matches('\r'));
    };
    before.iter().for_each(|(line, words)| write(' ', line, words));
    write('-', &own, line);
    if let Some(fixed) = &fixed {
        write('+', &own, fixed);
    }
    after.iter().for_each(|(line, words)| write(' ', line, words));
    Some(text)
}

type Context<'a> = Vec<(Line<'a>, String)>;

/// The line itself, and up to three lines of the new file on each side, as far as they are known and are what the file
/// has: a replaced secret is not.
fn around<'a>(number: u32, hunk: &Hunk<'a>) -> Option<(Context<'a>, Line<'a>, Context<'a>)> {
    let near = |line: &Line<'_>| line.new.is_some_and(|new| new.abs_diff(number) <= 3);
    let lines: Vec<_> = hunk.lines().filter(near).collect();
    let own = *lines.iter().find(|line| line.new == Some(number))?;
    let text = |wanted: u32| {
        let line = *lines.iter().find(|line| line.new == Some(wanted))?;
        let words = std::str::from_utf8(line.content).ok()?.to_owned();
        (!words.contains(redact::TOKEN)).then_some((line, words))
    };
    let mut before: Vec<_> = (1..=3u32).map_while(|step| text(number.checked_sub(step)?)).collect();
    before.reverse();
    Some((before, own, (1..=3u32).map_while(|step| text(number + step)).collect()))
}

fn is_whole_statement(line: &str) -> bool {
    let line = line.trim();
    let count = |mark: char| line.matches(mark).count();
    count('(') == count(')')
        && count('{') == count('}')
        && !line.ends_with(['(', ',', '{', '\\', '=', '+', '.'])
        && !line.starts_with(['.', '|', '}'])
        && !line.starts_with("let ")
}

/// Keeps the first hits of a check in a file; the last of them names the lines of the others.
fn fold(hits: Vec<Hit>) -> Vec<Hit> {
    let mut by_check: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, hit) in hits.iter().enumerate() {
        by_check.entry(hit.check).or_default().push(index);
    }
    let mut more: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let mut dropped = vec![false; hits.len()];
    for places in by_check.values().filter(|places| places.len() > MAX_PER_FILE) {
        let (kept, rest) = places.split_at(MAX_PER_FILE);
        more.insert(kept[MAX_PER_FILE - 1], rest.iter().map(|&index| hits[index].line).collect());
        rest.iter().for_each(|&index| dropped[index] = true);
    }
    let kept = hits.into_iter().enumerate().filter(|(index, _)| !dropped[*index]);
    kept.map(|(index, mut hit)| {
        if let Some(lines) = more.get(&index) {
            let shown: Vec<_> = lines.iter().take(20).map(u32::to_string).collect();
            let rest = lines.len().saturating_sub(20);
            let tail = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let _ = write!(hit.body, "\n\nThe same on line {}{tail}.", shown.join(", "));
        }
        hit
    })
    .collect()
}

fn summary(diff: &Diff<'_>, hits: &[Hit]) -> String {
    let files = diff.files.len();
    let mut text = format!(
        "diffsan's offline checks looked at {} in {}. No model was asked: these checks see single lines and cannot tell \
         whether the change does what it should.\n\n",
        counted(diff.additions(), "added line"),
        counted(files as u64, "file"),
    );
    if hits.is_empty() {
        text.push_str("They found nothing.");
    } else {
        let mut families: BTreeMap<Family, u64> = BTreeMap::new();
        hits.iter().for_each(|hit| *families.entry(hit.family).or_default() += 1);
        let mut list = String::new();
        for (family, count) in families {
            let _ = write!(list, "{}{}", comma(&list), counted(count, family_name(family)));
        }
        let _ = write!(text, "They found {list}.");
    }
    text.push_str(
        "\n\nChecked: secrets, conflict markers, bidirectional and invisible characters, credentials in URLs, disabled tests, \
         new suppressions, debugging leftovers.",
    );
    text
}

fn family_name(family: Family) -> &'static str {
    match family {
        Family::Secret => "secret",
        Family::Conflict => "merge conflict",
        Family::HiddenCharacter => "line with hidden characters",
        Family::UrlCredential => "URL with credentials",
        Family::DisabledTest => "disabled test",
        Family::Suppression => "suppression",
        Family::Debugging => "debugging leftover",
    }
}

fn counted(count: u64, what: &str) -> String {
    match (count, what.split_once(' ')) {
        (1, _) => format!("1 {what}"),
        (_, Some((noun, rest))) if rest.starts_with("with") => format!("{count} {noun}s {rest}"),
        _ => format!("{count} {what}s"),
    }
}

fn comma(list: &str) -> &'static str {
    if list.is_empty() { "" } else { ", " }
}

#[cfg(test)]
mod tests;
