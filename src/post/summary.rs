//! The summary note: result, the agent's words, findings without a line, markers, and what a reader should know.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::plan::Job;
use crate::contracts::{
    Conversation, ConversationItem, ErrorInfo, Finding, LeftOut, PriorDigest, PriorFinding, RedactionReport,
    ReviewMeta, Severity, Side, TokenUsage, TruncationReport,
};
use crate::threads::{digest as prior, marker};

use super::looked;
use super::render::{self, BODY_CHARS, Unplaced, details, line_range};
use super::sanitize::{self, Counts};
use super::timezone::Zone;

/// What the note is made of.
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    /// The result in one line.
    pub headline: &'a str,
    /// How many of the review's findings a person refused before.
    pub dismissed: usize,
    /// How many are not severe enough to be posted.
    pub withheld: usize,
    /// Every finding that is not withheld, worst first.
    pub findings: &'a [&'a Finding],
    /// Those that have no line, worst first.
    pub unplaced: &'a [Unplaced<'a>],
    pub agent_summary: &'a str,
    pub meta: &'a ReviewMeta,
    /// Commit that was reviewed.
    pub head_sha: Option<&'a str>,
    /// The merge request is at another commit by now.
    pub head_moved: bool,
    pub truncation: &'a TruncationReport,
    /// None where the note should not tell.
    pub redaction: Option<&'a RedactionReport>,
    pub errors: &'a [ErrorInfo],
    /// What is new since the last review.
    pub conversation: &'a Conversation,
    pub job: Job<'a>,
    /// What the change touches that guards the project, ready to be shown.
    pub guards: &'a str,
    /// `gitlab.summary_note_tag`.
    pub tag: &'a str,
    pub zone: Zone,
}

/// The rendered note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Result line, agent's summary and findings without a line.
    pub markdown: String,
    /// The folded metadata.
    pub metadata: String,
    /// The whole note.
    pub body: String,
    /// What was neutralised.
    pub counts: Counts,
}

/// Renders the note; it stays below GitLab's limit, and what is cut is said.
pub fn render(parts: &Parts<'_>) -> Summary {
    let mut counts = Counts::new();
    let opening = sections([
        result(parts, &mut counts),
        since(parts.conversation),
        parts.guards.to_owned(),
        words(parts, &mut counts),
    ]);
    let metadata = metadata(parts);
    let closing = sections([
        markers(parts),
        metadata.clone(),
        truncation(parts.truncation),
        secrets(parts.redaction),
        errors(parts.errors),
    ]);
    let room = BODY_CHARS.saturating_sub(opening.chars().count() + closing.chars().count() + 1_000);
    let markdown = sections([opening, unplaced(parts.unplaced, room, &mut counts)]);
    let body = sections([markdown.clone(), closing]);
    Summary { markdown, metadata, body, counts }
}

const SUMMARY_CHARS: usize = 100_000;
const HEADLINE_CHARS: usize = 300;
const LISTED: usize = 50;
const LISTED_PLACES: usize = 20;
const LISTED_ERRORS: usize = 20;
const SHOWN_CHARS: usize = 300;
const MESSAGE_CHARS: usize = 1_000;

fn sections<const N: usize>(parts: [String; N]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn result(parts: &Parts<'_>, counts: &mut Counts) -> String {
    let headline = sanitize::line(&sanitize::clip(parts.headline, HEADLINE_CHARS));
    sanitize::add(counts, &headline.counts);
    let mut text = format!("**diffsan:** {}", headline.text);
    let places = [
        (parts.unplaced.len(), "below"),
        (parts.dismissed, "refused before and not posted again"),
        (parts.withheld, "not severe enough to be posted"),
    ];
    let places: Vec<String> =
        places.iter().filter(|(count, _)| *count > 0).map(|(count, place)| format!("{count} {place}")).collect();
    if !places.is_empty() {
        let _ = write!(text, "\n\nFindings: {}.", places.join(", "));
    }
    if let Some(warning) = looked::warning(parts.meta) {
        let _ = write!(text, "\n\n{warning}");
    }
    if parts.head_moved {
        let head =
            parts.head_sha.map_or("an earlier commit".to_owned(), |head| format!("commit {}", sanitize::code(head)));
        let _ = write!(
            text,
            "\n\nThis review is of {head}. The branch has moved on since, so no finding was placed on a line."
        );
    }
    text
}

/// What changed since the last review, with links to what was said before.
fn since(story: &Conversation) -> String {
    let counts = [
        (story.new.len(), "new"),
        (story.still_open.len(), "still open"),
        (story.resolved.len(), "resolved"),
        (story.dismissed.len(), "dismissed"),
    ];
    let Some(before) = &story.since else { return String::new() };
    let last = before.url.as_deref().and_then(|url| sanitize::link("the last review", url));
    let counts: Vec<String> = counts.iter().map(|(count, what)| format!("{count} {what}")).collect();
    let mut text = format!("Since {}: {}.", last.unwrap_or_else(|| "the last review".to_owned()), counts.join(", "));
    for (what, items) in
        [("Still open", &story.still_open), ("Resolved", &story.resolved), ("Dismissed", &story.dismissed)]
    {
        if !items.is_empty() {
            let mut lines: Vec<String> = items.iter().take(LISTED).map(told).collect();
            if items.len() > LISTED {
                lines.push(format!("- and {} more", items.len() - LISTED));
            }
            let _ = write!(text, "\n\n{}", details(&format!("{what} ({})", items.len()), &lines.join("\n")));
        }
    }
    text
}

/// One finding of the story on one line.
fn told(item: &ConversationItem) -> String {
    let line = item.line.map(|line| format!(":{line}")).unwrap_or_default();
    let fits = |c: char| if c.is_alphanumeric() || " .,-/_+@".contains(c) { c } else { '?' };
    let path: String = sanitize::clip(&item.path, 200).chars().map(fits).collect();
    let place = sanitize::code(&format!("{path}{line}"));
    let place = match &item.url {
        Some(url) if !path.is_empty() => format!("[{place}]({url})"),
        _ => place,
    };
    let title = sanitize::line(&sanitize::clip(&item.title, SHOWN_CHARS)).text;
    let reason = item.reason.as_deref().map(|reason| sanitize::line(&sanitize::clip(reason, SHOWN_CHARS)).text);
    let reason = reason.map(|reason| format!(" *({reason})*")).unwrap_or_default();
    format!("- **{}** {place} {title}{reason}", item.severity.name())
}

fn words(parts: &Parts<'_>, counts: &mut Counts) -> String {
    let clean = sanitize::clipped_markdown(parts.agent_summary, SUMMARY_CHARS);
    sanitize::add(counts, &clean.counts);
    clean.text
}

/// The findings without a line, worst first: in full as far as there is room, then by name, then by number.
fn unplaced(findings: &[Unplaced<'_>], room: usize, counts: &mut Counts) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut text = format!("### Unpositioned findings ({})", findings.len());
    let mut left = room.saturating_sub(text.chars().count());
    let mut rest = findings.iter();
    while let Some(finding) = rest.as_slice().first() {
        let mut seen = Counts::new();
        let block = render::folded(finding, &mut seen);
        let size = block.chars().count() + 2;
        // What cannot be shown in full still has to be named.
        if size + rest.len() * NAMED_CHARS > left {
            break;
        }
        left -= size;
        sanitize::add(counts, &seen);
        let _ = write!(text, "\n\n{block}");
        rest.next();
    }
    if rest.len() > 0 {
        let _ = write!(
            text,
            "\n\nThere is no room here for {} more; they are in full in the artifact `review.json`:\n",
            rest.len()
        );
    }
    while let Some(next) = rest.next() {
        let line = named(next.finding);
        let size = line.chars().count() + 1;
        if size > left {
            let _ = write!(text, "\n- and {} more", rest.len() + 1);
            break;
        }
        left -= size;
        let _ = write!(text, "\n{line}");
    }
    text
}

/// Room that one line of [`named`] takes at most, on average.
const NAMED_CHARS: usize = 300;

fn named(finding: &Finding) -> String {
    let path = sanitize::code(&sanitize::clip(&finding.path, 100));
    let range = line_range(finding.line_start, finding.line_end);
    let title = sanitize::line(&render::title(finding)).text;
    format!("- **{}** {path}:{range} {title}", finding.severity.name())
}

fn markers(parts: &Parts<'_>) -> String {
    let meta = parts.meta;
    let digest = PriorDigest {
        prior_fingerprint: Some(meta.fingerprint.clone()),
        findings: parts.findings.iter().take(prior::MOST_FINDINGS).map(|finding| known(finding)).collect(),
        summary_hint: Some(hint(parts.agent_summary)).filter(|hint| !hint.is_empty()),
        ..PriorDigest::default()
    };
    let fingerprint = format!("fingerprint:{}", meta.fingerprint);
    let digest = format!("prior_digest:{}", prior::encode(&digest));
    [marker::marker(parts.tag), marker::marker(&fingerprint), marker::marker(&digest)].join("\n")
}

fn known(finding: &Finding) -> PriorFinding {
    PriorFinding {
        finding_id: render::marker_id(&finding.finding_id),
        path: sanitize::clip(&finding.path, 1_000),
        line_range: line_range(finding.line_start, finding.line_end),
        title: render::title(finding),
        severity: finding.severity,
    }
}

fn hint(summary: &str) -> String {
    let words: Vec<&str> = summary.split_whitespace().take(prior::HINT_CHARS).collect();
    sanitize::clip(&words.join(" "), prior::HINT_CHARS)
}

fn metadata(parts: &Parts<'_>) -> String {
    let meta = parts.meta;
    let shown = |text: &str| sanitize::code(&sanitize::clip(text, SHOWN_CHARS));
    let mut lines = vec![format!("- Fingerprint: {}", shown(&meta.fingerprint.to_string()))];
    match (&parts.conversation.base_sha, parts.head_sha) {
        (Some(base), Some(head)) => lines.push(format!("- Reviewed commits: {} to {}", shown(base), shown(head))),
        (None, Some(head)) => lines.push(format!("- Reviewed commit: {}", shown(head))),
        _ => {}
    }
    lines.extend(job(&parts.job));
    let model = meta.model.as_deref().map(|model| format!(", model {}", shown(model))).unwrap_or_default();
    lines.push(format!("- Agent: {}{model}", shown(meta.agent.name())));
    lines.push(format!("- Findings: {}", by_severity(parts.findings)));
    let times =
        [&meta.timings.started_at, &meta.timings.ended_at].map(|time| sanitize::line(&parts.zone.show(time)).text);
    let [started, ended] = times;
    lines.push(format!("- Started: {started}"));
    lines.push(format!("- Ended: {ended}, after {}", duration(meta.timings.duration_ms)));
    let tokens = tokens(&meta.token_usage);
    if !tokens.is_empty() {
        lines.push(format!("- Tokens: {tokens}"));
    }
    if let Some(cost) = parts.conversation.cost_usd.filter(|_| parts.conversation.reviews > 1) {
        lines.push(format!("- Cost so far: {cost:.4} US dollars in {} reviews", parts.conversation.reviews));
    }
    lines.extend(looked::metadata(meta));
    let yes = |flag: bool| if flag { "yes" } else { "no" };
    lines.push(format!("- Truncated: {}; secrets found: {}", yes(meta.truncated), yes(meta.redaction_found)));
    lines.push(format!("- diffsan {}", env!("CARGO_PKG_VERSION")));
    details("Metadata", &lines.join("\n"))
}

/// Links to the job, its report and the pipeline.
fn job(job: &Job<'_>) -> Option<String> {
    let report = job.url.zip(job.report).map(|(url, path)| format!("{url}/artifacts/file/{path}"));
    let links = [("job", job.url), ("report", report.as_deref()), ("pipeline", job.pipeline_url)];
    let links: Vec<String> = links.into_iter().filter_map(|(label, url)| sanitize::link(label, url?)).collect();
    (!links.is_empty()).then(|| format!("- Made by: {}", links.join(", ")))
}

/// `3 (1 high, 2 low)`.
fn by_severity(findings: &[&Finding]) -> String {
    let mut counts: BTreeMap<std::cmp::Reverse<Severity>, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(std::cmp::Reverse(finding.severity)).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(severity, count)| format!("{count} {}", severity.0.name())).collect();
    if counts.is_empty() { "0".to_owned() } else { format!("{} ({})", findings.len(), counts.join(", ")) }
}

pub(super) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{seconds}.{} s", milliseconds % 1_000 / 100),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

pub(super) fn tokens(usage: &TokenUsage) -> String {
    let counts = [
        (usage.input_tokens, "in"),
        (usage.cached_input_tokens, "from cache"),
        (usage.output_tokens, "out"),
        (usage.reasoning_tokens, "for reasoning"),
    ];
    let mut parts: Vec<String> =
        counts.iter().filter_map(|(count, what)| count.map(|count| format!("{count} {what}"))).collect();
    parts.extend(usage.cost_usd.map(|cost| format!("{cost:.4} US dollars")));
    parts.join(", ")
}

/// What the agent was not shown, with how many of how many.
fn truncation(report: &TruncationReport) -> String {
    let coverage = &report.coverage;
    let aside: Vec<_> =
        coverage.not_reviewed.iter().filter(|file| matches!(file.why, LeftOut::Ignored | LeftOut::Binary)).collect();
    if !report.truncated && coverage.hunks_unavailable == 0 && aside.is_empty() {
        return String::new();
    }
    let seen = report.final_files.saturating_sub(coverage.hunks_binary);
    let mut lines = vec![format!(
        "The agent saw {seen} of {} files and {} of {} characters of the diff.",
        report.original_files, report.final_chars, report.original_chars
    )];
    if coverage.hunks_total > 0 {
        let counts = [
            (coverage.hunks_cut, "cut"),
            (coverage.hunks_dropped, "dropped"),
            (coverage.hunks_ignored, "ignored by configuration"),
            (coverage.hunks_binary, "in binary files"),
            (coverage.hunks_unavailable, "not handed out by GitLab"),
        ];
        let rest: String =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
        lines.push(format!("\nHunks: {} of {} shown in full{rest}.", coverage.hunks_sent, coverage.hunks_total));
    }
    let shown_path = |path: &str| sanitize::code(&sanitize::clip(path, SHOWN_CHARS));
    let total = usize::try_from(report.items_total).unwrap_or(usize::MAX).max(report.items.len());
    if !report.items.is_empty() || !aside.is_empty() {
        lines.push(String::new());
    }
    for item in report.items.iter().take(LISTED) {
        let path = item.path.as_deref().map(|path| shown_path(path) + ": ");
        let what = sanitize::line(&sanitize::clip(&item.details, SHOWN_CHARS)).text;
        lines.push(format!("- {}{what}", path.unwrap_or_default()));
    }
    if total > LISTED.min(report.items.len()) {
        lines.push(format!(
            "- {} of {total} are listed here; the artifact `truncation.json` has more",
            report.items.len().min(LISTED)
        ));
    }
    lines.extend(aside.iter().map(|file| format!("- {}: {}", shown_path(&file.path), file.why.words())));
    if coverage.not_reviewed_total > coverage.not_reviewed.len() as u64 {
        lines.push(format!("- {} files in all; the artifact `truncation.json` has more", coverage.not_reviewed_total));
    }
    let label = match report.truncated || coverage.hunks_unavailable > 0 {
        true => format!("Partial review: {seen} of {} files", report.original_files),
        false => format!("Not reviewed: {} of {} files", aside.len(), report.original_files),
    };
    details(&label, &lines.join("\n"))
}

/// How many secrets, where and of which kind; never what they are.
fn secrets(report: Option<&RedactionReport>) -> String {
    let Some(report) = report.filter(|report| report.found) else {
        return String::new();
    };
    let total = report.matches.len();
    let advice = if total == 1 {
        "1 possible secret. The agent did not see it, but whoever can read the branch can: remove it, and revoke it if it is real"
            .to_owned()
    } else {
        format!(
            "{total} possible secrets. The agent did not see them, but whoever can read the branch can: remove them, and revoke those that are real"
        )
    };
    let mut text = format!("### Secret Scan Warning\n\nThis change contains {advice}.\n");
    for found in report.matches.iter().take(LISTED_PLACES) {
        let kind = sanitize::code(&sanitize::clip(&found.pattern_name, 100));
        let path = found.path.as_deref().map(|path| sanitize::code(&sanitize::clip(path, SHOWN_CHARS)));
        let line = found.line_hint.map(|line| format!(":{line}")).unwrap_or_default();
        let side = if found.side == Side::Old { " (removed line)" } else { "" };
        let place = path.map(|path| format!(" in {path}{line}{side}")).unwrap_or_default();
        let _ = write!(text, "\n- {kind}{place}");
    }
    if total > LISTED_PLACES {
        let _ = write!(text, "\n- {LISTED_PLACES} of {total} are listed here; the artifact `redaction.json` has all");
    }
    text
}

fn errors(errors: &[ErrorInfo]) -> String {
    if errors.is_empty() {
        return String::new();
    }
    let shown = |error: &ErrorInfo| {
        let message = sanitize::line(&sanitize::clip(&error.message, MESSAGE_CHARS)).text;
        let help = error.help.as_deref().map(|help| sanitize::line(&sanitize::clip(help, MESSAGE_CHARS)).text);
        format!(
            "- `{}`: {message}{}",
            error.error_code.name(),
            help.map(|help| format!(" ({help})")).unwrap_or_default()
        )
    };
    let mut lines: Vec<String> = errors.iter().take(LISTED_ERRORS).map(shown).collect();
    if errors.len() > LISTED_ERRORS {
        lines.push(format!("- {LISTED_ERRORS} of {} are listed here; the artifact `run.json` has all", errors.len()));
    }
    details(&format!("Run errors ({})", errors.len()), &lines.join("\n"))
}
