//! `--format markdown`: the review as one Markdown document; text of others is as harmless as in a note.

use std::fmt::Write as _;

use super::shown::{self, Group, Row, Shown, counted, duration, line_words, thousands};
use crate::contracts::Finding;
use crate::diff::{Diff, LineKind};
use crate::post::sanitize;

/// Rows of a list before the rest becomes a count.
const LISTED: usize = 50;

/// The review as a document.
pub fn markdown(shown: &Shown) -> String {
    let diff = shown.parsed();
    let mut text = format!("# {}\n\n", sanitize::line(&shown.headline()).text);
    let decision = shown::decision_words(shown.decision());
    let agent = shown.review.meta.agent.name();
    let _ = writeln!(text, "**{decision}.** {} reviewed by {agent}.\n", shown::coverage(shown));
    let summary = sanitize::markdown(&shown.review.summary_markdown).text;
    if !summary.trim().is_empty() {
        let _ = writeln!(text, "{}\n", summary.trim());
    }
    for group in shown::groups(&shown.review) {
        file(&mut text, shown, &diff, &group);
    }
    left_out(&mut text, shown);
    redacted(&mut text, shown);
    rejected(&mut text, shown);
    run(&mut text, shown);
    text
}

fn file(text: &mut String, shown: &Shown, diff: &Diff<'_>, group: &Group<'_>) {
    let _ = writeln!(text, "## {}\n", sanitize::code(group.path));
    for finding in &group.findings {
        one(text, shown, diff, finding);
    }
}

fn one(text: &mut String, shown: &Shown, diff: &Diff<'_>, finding: &Finding) {
    let (severity, category) = (finding.severity.name(), finding.category.name());
    let _ = write!(text, "### [{category}/{severity}] {} ", line_words(finding));
    let _ = writeln!(text, "{}\n", sanitize::code(&finding.finding_id));
    let code = code(&shown::excerpt(diff, finding));
    if !code.is_empty() {
        let _ = writeln!(text, "{}\n", sanitize::fence("diff", &code));
    }
    let _ = writeln!(text, "{}\n", sanitize::markdown(&finding.body_markdown).text.trim());
    if let Some(patch) = &finding.suggested_patch {
        let _ = writeln!(
            text,
            "Suggested change:\n\n{}\n",
            sanitize::fence("diff", &shown::clean(patch.content.trim_end()))
        );
    }
    if let Some(reason) = &finding.unplaced {
        let _ = writeln!(text, "It has no place in the diff: {}.\n", sanitize::line(reason).text);
    }
    if let Some(place) = shown.place(finding) {
        let _ = writeln!(text, "In the merge request: {}.\n", place.words());
    }
}

fn code(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        match row {
            Row::Code { kind, text: line, .. } => {
                let sign = match kind {
                    LineKind::Added => '+',
                    LineKind::Removed => '-',
                    LineKind::Context => ' ',
                };
                let _ = writeln!(text, "{sign}{line}");
            }
            Row::Gap => text.push_str(" …\n"),
        }
    }
    text
}

fn left_out(text: &mut String, shown: &Shown) {
    let left = shown::left_out(shown);
    if left.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Not reviewed\n\n{}\n", left.sums.join(", "));
    for item in left.items.iter().take(LISTED) {
        let path = item.path.as_deref().map(|path| format!("{}: ", sanitize::code(path))).unwrap_or_default();
        let _ = writeln!(text, "- {path}{}", sanitize::line(&item.why).text);
    }
    more(text, left.items.len().saturating_sub(LISTED) as u64 + left.unlisted, "truncation.json");
}

fn redacted(text: &mut String, shown: &Shown) {
    let matches = &shown.redaction.matches;
    if matches.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Redacted\n\n{} removed.\n", counted(matches.len() as u64, "secret"));
    for secret in matches.iter().take(LISTED) {
        let line = secret.line_hint.map(|line| format!(":{line}")).unwrap_or_default();
        let place = format!("{}{line}", secret.path.as_deref().unwrap_or("?"));
        let _ = writeln!(text, "- {} in {}", sanitize::code(&secret.pattern_name), sanitize::code(&place));
    }
    more(text, matches.len().saturating_sub(LISTED) as u64, "redaction.json");
}

fn rejected(text: &mut String, shown: &Shown) {
    let rejected = &shown.validation.rejected;
    if rejected.is_empty() {
        return;
    }
    let _ = writeln!(text, "## Rejected\n");
    for finding in rejected.iter().take(LISTED) {
        let (code, why) = (finding.reason.code.name(), sanitize::line(&finding.reason.message).text);
        let _ = writeln!(text, "- {}: {why} ({code})", sanitize::code(&finding.path));
    }
    more(text, rejected.len().saturating_sub(LISTED) as u64, "validation.json");
}

fn run(text: &mut String, shown: &Shown) {
    let (record, meta) = (&shown.record, &shown.review.meta);
    let _ = writeln!(text, "## Run\n");
    let agent = duration(meta.timings.duration_ms);
    let _ = writeln!(text, "- Time: {} in all, {agent} in the agent", duration(record.duration_ms));
    if let Some(tokens) = shown::tokens(shown) {
        let _ = writeln!(text, "- Tokens: {}", sanitize::line(&tokens).text);
    }
    if let Some(artifacts) = &record.artifacts {
        let _ = writeln!(text, "- Artifacts: {}", sanitize::code(&artifacts.workdir));
    }
    if let Some(action) = record.verdict.as_ref().map(|verdict| &verdict.first_next_action) {
        let command = action.command.as_deref().map(|command| format!("{}: ", sanitize::code(command)));
        let _ = writeln!(text, "- Next: {}{}", command.unwrap_or_default(), sanitize::line(&action.why).text);
    }
}

fn more(text: &mut String, rest: u64, file: &str) {
    if rest > 0 {
        let _ = writeln!(text, "- and {} more in `{file}`", thousands(rest));
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::oracle;
    use crate::view::shown::sample::{empty, hostile, sample};

    #[test]
    fn the_document_reads_well() {
        insta::assert_snapshot!("markdown", markdown(&sample()));
        insta::assert_snapshot!("markdown_empty", markdown(&empty()));
    }

    #[test]
    fn nothing_that_others_wrote_is_live_in_the_document() {
        assert_eq!(oracle::live(&markdown(&hostile())), Vec::<String>::new());
    }
}
