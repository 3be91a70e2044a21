//! Ignore, rank, fit: the part of a change that the agent is shown, and what became of the rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::contracts::{Anchors, Coverage, LeftOut, LimitsConfig, TruncationConfig, TruncationItem, TruncationReport};
use crate::diff::attributes::Mark;
use crate::diff::{Diff, FileDiff, Hunk, anchor};
use crate::passes::{Candidate, Division, Pass};

mod cut;
mod fit;
mod rank;

pub use rank::{GlobError, globs};

use cut::Cut;
use fit::{Fitted, Taken};
use rank::{Rank, Sorter, Verdict};

/// Most entries of a list in `truncation.json`; the totals stand beside the lists.
pub const MAX_LISTED: usize = 500;

/// What to ignore, what to show first, and how much of it.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub max_diff_chars: usize,
    pub max_files: usize,
    pub max_hunks_per_file: usize,
    pub max_passes: usize,
    pub priority_extensions: Vec<String>,
    pub depriority_extensions: Vec<String>,
    pub include_extensions: Option<Vec<String>>,
    pub ignore_globs: Vec<String>,
    /// What `.gitattributes` say about single files.
    pub marks: BTreeMap<String, Mark>,
    /// Hunks that an earlier review has seen as they are, by file and hunk of the diff: they go first when something has
    /// to go. Empty where several jobs share a change, for each of them must pick alike.
    pub reviewed: BTreeSet<(usize, usize)>,
}

/// The prepared diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// What the agent is shown: a patch, most valuable files first.
    pub text: String,
    pub report: TruncationReport,
    /// What became of each hunk, by file and hunk of the diff. A file without hunks (binary, mode,
    /// rename) has one entry.
    pub fates: Vec<Vec<Fate>>,
}

/// What became of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Sent,
    /// Only its first lines were sent.
    Cut {
        lines: usize,
        of: usize,
    },
    Ignored(Ignored),
    Dropped(Limit),
    /// The agent is told that the file changed; there is no text to show.
    Binary,
    /// The pass or the part that showed it has no answer.
    Lost(Loss),
    /// Another job reviews it.
    Others,
}

/// What has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    Pass,
    Part,
}

/// Which setting set a file aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    Glob,
    Extension,
}

/// Which limit left something out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Files,
    Hunks,
    Chars,
    Passes,
}

impl Rules {
    pub fn new(limits: &LimitsConfig, truncation: &TruncationConfig, marks: BTreeMap<String, Mark>) -> Self {
        Self {
            max_diff_chars: limits.max_diff_chars.get(),
            max_files: limits.max_files.get(),
            max_hunks_per_file: limits.max_hunks_per_file.get(),
            max_passes: limits.max_passes.get(),
            priority_extensions: truncation.priority_extensions.clone(),
            depriority_extensions: truncation.depriority_extensions.clone(),
            include_extensions: truncation.include_extensions.clone(),
            ignore_globs: truncation.ignore_globs.clone(),
            marks,
            reviewed: BTreeSet::new(),
        }
    }
}

impl Rules {
    /// Nothing of the file is new.
    fn is_reviewed(&self, index: usize, file: &FileDiff<'_>) -> bool {
        !file.hunks.is_empty() && (0..file.hunks.len()).all(|hunk| self.reviewed.contains(&(index, hunk)))
    }
}

/// Picks what the agent is shown, in one prompt. `text` is the redacted diff and `diff` its parse.
pub fn prepare(text: &str, diff: &Diff<'_>, rules: &Rules) -> Result<Prepared, GlobError> {
    let all = Pass { files: (0..diff.files.len()).collect(), ..Pass::default() };
    let division = Division { passes: vec![all], ..Division::default() };
    let (prepared, texts) = prepare_passes(text, diff, rules, &division)?;
    Ok(Prepared { text: texts.concat(), ..prepared })
}

/// The files that may be shown, with what each would take in full.
pub fn candidates(diff: &Diff<'_>, rules: &Rules) -> Result<Vec<Candidate>, GlobError> {
    let (_, ranked) = ranked(diff, rules)?;
    let candidate = |(index, rank): &(usize, Rank)| Candidate {
        index: *index,
        order: rank.order(),
        cost: fit::cost(*index, &diff.files[*index], rules),
    };
    Ok(ranked.iter().map(candidate).collect())
}

/// Picks what the agent is shown in each pass, each within the limits. The first value is over all of them; its text, which is that
/// of all passes, is left to the caller, so that a large one is there once.
pub fn prepare_passes(
    text: &str,
    diff: &Diff<'_>,
    rules: &Rules,
    division: &Division,
) -> Result<(Prepared, Vec<String>), GlobError> {
    let (verdicts, ranked) = ranked(diff, rules)?;
    let mut in_pass = vec![usize::MAX; diff.files.len()];
    for (number, pass) in division.passes.iter().enumerate() {
        pass.files.iter().for_each(|index| in_pass[*index] = number);
    }
    let fitted: Vec<Vec<Fitted>> = (0..division.passes.len())
        .map(|number| {
            let own = ranked.iter().filter(|(index, _)| in_pass[*index] == number);
            let kept: Vec<(usize, Rank)> = own.take(rules.max_files).copied().collect();
            fit::fit(diff, &kept, rules)
        })
        .collect();
    let texts: Vec<String> = fitted
        .iter()
        .map(|files| files.iter().map(|file| render(&diff.files[file.index], file)).collect::<String>())
        .collect();
    let fitted: Vec<Fitted> = fitted.into_iter().flatten().collect();

    let mut fates: Vec<Vec<Fate>> = diff
        .files
        .iter()
        .zip(&verdicts)
        .map(|(file, verdict)| {
            let fate = match verdict {
                Verdict::Ignore(why) => Fate::Ignored(*why),
                Verdict::Review(_) => Fate::Dropped(Limit::Files),
            };
            vec![fate; file.hunks.len().max(1)]
        })
        .collect();
    for index in &division.left_out {
        fates[*index].fill(Fate::Dropped(Limit::Passes));
    }
    for index in &division.others {
        fates[*index].fill(Fate::Others);
    }
    for file in &fitted {
        fates[file.index] = file.fates(&diff.files[file.index]);
    }
    for (file, fates) in diff.files.iter().zip(&mut fates).filter(|(file, _)| file.is_binary) {
        debug_assert!(file.hunks.is_empty());
        fates.iter_mut().filter(|fate| **fate == Fate::Sent).for_each(|fate| *fate = Fate::Binary);
    }
    let shown = texts.iter().map(|text| chars(text.as_bytes())).sum();
    let included = fitted.iter().filter(|file| file.included).map(|file| diff.files[file.index].path().to_owned());
    let report = Reporter { diff, rules, verdicts: &verdicts, fates: &fates }.report(text, shown, included);
    Ok((Prepared { text: String::new(), report, fates }, texts))
}

/// What is to be done with each file, and those that are not ignored, best first.
type Ranked = (Vec<Verdict>, Vec<(usize, Rank)>);

/// The files that are not ignored, best first, beside what is to be done with each.
fn ranked(diff: &Diff<'_>, rules: &Rules) -> Result<Ranked, GlobError> {
    let sorter = Sorter::new(rules)?;
    let judge = |(index, file): (usize, &FileDiff<'_>)| match sorter.judge(file) {
        Verdict::Review(_) if rules.is_reviewed(index, file) => Verdict::Review(Rank::Reviewed),
        verdict => verdict,
    };
    let verdicts: Vec<Verdict> = diff.files.iter().enumerate().map(judge).collect();
    let mut ranked: Vec<(usize, Rank)> = verdicts
        .iter()
        .enumerate()
        .filter_map(|(index, verdict)| match verdict {
            Verdict::Review(rank) => Some((index, *rank)),
            Verdict::Ignore(_) => None,
        })
        .collect();
    ranked.sort_by_key(|(index, rank)| (rank.order(), *index));
    Ok((verdicts, ranked))
}

impl Prepared {
    /// Says of files that what showed them has no answer, and why: they were not reviewed.
    pub fn lose(&mut self, diff: &Diff<'_>, files: &[usize], loss: Loss, why: &str) {
        let coverage = &mut self.report.coverage;
        for index in files {
            let (Some(fates), Some(file)) = (self.fates.get_mut(*index), diff.files.get(*index)) else { continue };
            let mut shown = false;
            let is_listed = fates.iter().any(|fate| fate.left_out().is_some());
            for fate in fates.iter_mut() {
                match fate {
                    Fate::Sent => coverage.hunks_sent -= 1,
                    Fate::Cut { .. } => coverage.hunks_cut -= 1,
                    _ => continue,
                }
                *fate = Fate::Lost(loss);
                shown = true;
                coverage.hunks_dropped += 1;
                *coverage.reasons.entry(loss.key().to_owned()).or_default() += 1;
            }
            if shown {
                if !is_listed {
                    coverage.leave_out(file.path(), loss.left_out());
                }
                self.report.truncated = true;
                self.report.items_total += 1;
                self.report.final_files = self.report.final_files.saturating_sub(1);
                if self.report.items.len() < MAX_LISTED {
                    self.report.items.push(TruncationItem {
                        kind: "file".into(),
                        path: Some(file.path().to_owned()),
                        details: format!("Not reviewed: {why}"),
                    });
                }
            }
        }
    }

    /// How many lines of a hunk, from its first, the agent is shown.
    pub fn lines_sent(&self, file: usize, hunk: usize) -> usize {
        match self.fates.get(file).and_then(|hunks| hunks.get(hunk)) {
            Some(Fate::Sent) => usize::MAX,
            Some(Fate::Cut { lines, .. }) => *lines,
            _ => 0,
        }
    }

    /// Whether the text, read as a diff, has the files and hunks that are said to be sent.
    pub fn adds_up(&self, diff: &Diff<'_>) -> bool {
        let is_sent = |fate: &&Fate| matches!(fate, Fate::Sent | Fate::Cut { .. } | Fate::Binary);
        let sent = |fates: &[Fate]| fates.iter().filter(is_sent).count();
        let hunks = diff.files.iter().zip(&self.fates).filter(|(file, _)| !file.hunks.is_empty());
        let hunks: usize = hunks.map(|(_, fates)| sent(fates)).sum();
        let files = self.fates.iter().filter(|fates| sent(fates) > 0).count();
        Diff::parse(self.text.as_bytes()).is_ok_and(|shown| shown.files.len() == files && shown.hunk_count() == hunks)
    }

    /// Files that GitLab did not hand out count as left out, each with its reason.
    pub fn add_unavailable(&mut self, files: &[(String, String)], incomplete: Option<&str>) {
        let coverage = &mut self.report.coverage;
        for reason in files.iter().map(|(_, reason)| reason.as_str()).chain(incomplete) {
            coverage.hunks_total += 1;
            coverage.hunks_unavailable += 1;
            *coverage.reasons.entry(format!("unavailable: {reason}")).or_default() += 1;
        }
        for (path, _) in files {
            coverage.leave_out(path, LeftOut::Unavailable);
        }
        self.report.original_files += files.len() as u64;
        let items = files.iter().map(|(path, reason)| TruncationItem {
            kind: "file".into(),
            path: Some(path.clone()),
            details: format!("Not reviewed: {reason}"),
        });
        for item in items {
            self.report.truncated = true;
            self.report.items_total += 1;
            if self.report.items.len() < MAX_LISTED {
                self.report.items.push(item);
            }
        }
    }

    /// The change as far as the agent is shown it: the offline checks look at nothing else.
    pub fn shown<'d>(&self, diff: &Diff<'d>) -> Diff<'d> {
        let mut shown = Diff::default();
        for (index, file) in diff.files.iter().enumerate() {
            let hunks =
                file.hunks.iter().enumerate().filter_map(|(number, hunk)| match self.lines_sent(index, number) {
                    0 => None,
                    lines => Some(Hunk { bytes: cut::first_lines(hunk.bytes, lines), ..hunk.clone() }),
                });
            let hunks: Vec<_> = hunks.collect();
            let is_named = self.fates.get(index).is_some_and(|fates| fates.contains(&Fate::Sent));
            if is_named || !hunks.is_empty() {
                shown.files.push(FileDiff { hunks, ..file.clone() });
            }
        }
        shown
    }

    /// The change blocks of the hunks that the agent is shown, with those marked that it is shown in full.
    pub fn anchors(&self, diff: &Diff<'_>) -> Anchors {
        let is_shown = |fate: &Fate| matches!(fate, Fate::Sent | Fate::Cut { .. });
        let has_shown = |file: usize| self.fates.get(file).is_some_and(|fates| fates.iter().any(is_shown));
        let blocks = anchor::anchors_of(diff, has_shown).into_iter();
        let blocks = blocks.filter(|block| self.lines_sent(block.place.file, block.place.hunk) > 0);
        let anchors = blocks.map(|anchor::Anchor { mut entry, place }| {
            entry.in_prompt = place.lines.end <= self.lines_sent(place.file, place.hunk);
            entry
        });
        Anchors { snapshot: anchor::snapshot_id(&self.text), anchors: anchors.collect() }
    }
}

impl Fate {
    /// Why something of the file was not reviewed.
    fn left_out(&self) -> Option<LeftOut> {
        match self {
            Self::Sent | Self::Others => None,
            Self::Ignored(_) => Some(LeftOut::Ignored),
            Self::Binary => Some(LeftOut::Binary),
            Self::Cut { .. } | Self::Dropped(_) => Some(LeftOut::Limit),
            Self::Lost(loss) => Some(loss.left_out()),
        }
    }
}

impl Loss {
    /// As the ledger counts it.
    fn key(self) -> &'static str {
        match self {
            Self::Pass => "failed_pass",
            Self::Part => "lost_part",
        }
    }

    fn left_out(self) -> LeftOut {
        match self {
            Self::Pass => LeftOut::FailedPass,
            Self::Part => LeftOut::LostPart,
        }
    }
}

impl Ignored {
    /// The configuration key that did it.
    fn key(self) -> &'static str {
        match self {
            Self::Glob => "ignore_globs",
            Self::Extension => "include_extensions",
        }
    }
}

impl Limit {
    /// The configuration key that did it.
    fn key(self) -> &'static str {
        match self {
            Self::Files => "max_files",
            Self::Hunks => "max_hunks_per_file",
            Self::Chars => "max_diff_chars",
            Self::Passes => "max_passes",
        }
    }

    fn value(self, rules: &Rules) -> usize {
        match self {
            Self::Files => rules.max_files,
            Self::Hunks => rules.max_hunks_per_file,
            Self::Chars => rules.max_diff_chars,
            Self::Passes => rules.max_passes,
        }
    }

    fn named(self, rules: &Rules) -> String {
        format!("{}={}", self.key(), self.value(rules))
    }
}

fn render(file: &FileDiff<'_>, fitted: &Fitted) -> String {
    let mut text = String::new();
    if !fitted.included {
        return text;
    }
    push_lines(&mut text, file.header);
    if cut::needs_binary_remark(file) {
        text.push_str(cut::BINARY_REMARK);
    }
    for (hunk, taken) in file.hunks.iter().zip(&fitted.hunks) {
        match taken {
            Taken::Whole => push_lines(&mut text, hunk.bytes),
            Taken::Part(Cut { text: part, .. }) => text.push_str(part),
            Taken::None(_) => {}
        }
    }
    text
}

/// Appends whole lines; the very last line of a diff may lack its line feed.
fn push_lines(text: &mut String, lines: &[u8]) {
    text.push_str(&String::from_utf8_lossy(lines));
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Unicode scalar values of valid UTF-8: every byte that does not continue one. In chunks whose
/// sums fit a byte, which the compiler turns into wide instructions.
fn chars(bytes: &[u8]) -> usize {
    let starts = |chunk: &[u8]| chunk.iter().map(|byte| u8::from(!matches!(byte, 0x80..=0xbf))).sum::<u8>();
    bytes.chunks(192).map(|chunk| usize::from(starts(chunk))).sum()
}

/// Turns the fates into `truncation.json`.
struct Reporter<'a> {
    diff: &'a Diff<'a>,
    rules: &'a Rules,
    verdicts: &'a [Verdict],
    fates: &'a [Vec<Fate>],
}

impl Reporter<'_> {
    fn report(&self, before: &str, shown: usize, included: impl Iterator<Item = String>) -> TruncationReport {
        let items = self.items();
        let ignored = self.diff.files.iter().zip(self.verdicts).filter_map(|(file, verdict)| match verdict {
            Verdict::Ignore(_) => Some(file.path().to_owned()),
            Verdict::Review(_) => None,
        });
        let (included_paths, included_total) = capped(included);
        let (ignored_paths, ignored_total) = capped(ignored);
        let (items, items_total) = capped(items.into_iter());
        TruncationReport {
            truncated: items_total > 0,
            original_chars: count(chars(before.as_bytes())),
            final_chars: count(shown),
            original_files: count(self.diff.files.len()),
            final_files: included_total,
            items,
            items_total,
            ignored_paths,
            ignored_total,
            included_paths,
            included_total,
            coverage: coverage(self.diff, self.fates),
        }
    }

    fn items(&self) -> Vec<TruncationItem> {
        let mut items = Vec::new();
        let mut stopped = false;
        for ((file, verdict), fates) in self.diff.files.iter().zip(self.verdicts).zip(self.fates) {
            let Verdict::Review(rank) = verdict else { continue };
            stopped |= fates.iter().any(|fate| matches!(fate, Fate::Cut { .. } | Fate::Dropped(Limit::Chars)));
            let mut add = |kind: &str, details| {
                items.push(TruncationItem { kind: kind.to_owned(), path: Some(file.path().to_owned()), details });
            };
            if fates.iter().all(|fate| matches!(fate, Fate::Dropped(_))) {
                let whole =
                    [Limit::Files, Limit::Passes].into_iter().find(|limit| fates.contains(&Fate::Dropped(*limit)));
                let limit = whole.unwrap_or(Limit::Chars);
                add("file", dropped_file(*rank, &limit.named(self.rules)));
                continue;
            }
            for limit in [Limit::Hunks, Limit::Chars] {
                let dropped = fates.iter().filter(|fate| **fate == Fate::Dropped(limit)).count();
                if dropped > 0 {
                    add("hunk", format!("Dropped {dropped} of {} hunks ({})", fates.len(), limit.named(self.rules)));
                }
            }
            for (hunk, fate) in file.hunks.iter().zip(fates) {
                if let Fate::Cut { lines, of } = fate {
                    let limit = Limit::Chars.named(self.rules);
                    let start = hunk.new_start;
                    add("hunk", format!("Cut the hunk at line {start} to its first {lines} of {of} lines ({limit})"));
                }
            }
        }
        if stopped {
            let details = format!("Stopped at {}", Limit::Chars.named(self.rules));
            items.push(TruncationItem { kind: "chars".to_owned(), path: None, details });
        }
        items
    }
}

fn dropped_file(rank: Rank, limit: &str) -> String {
    match rank.remark() {
        Some(remark) => format!("Dropped ({remark}), {limit}"),
        None => format!("Dropped ({limit})"),
    }
}

fn coverage(diff: &Diff<'_>, fates: &[Vec<Fate>]) -> Coverage {
    let mut coverage = Coverage::default();
    for (file, fates) in diff.files.iter().zip(fates) {
        if let Some(why) = fates.iter().filter_map(Fate::left_out).max() {
            coverage.leave_out(file.path(), why);
        }
    }
    // What other jobs review is in their ledgers.
    for fate in fates.iter().flatten() {
        let (counter, reason) = match fate {
            Fate::Sent => (&mut coverage.hunks_sent, None),
            Fate::Cut { .. } => (&mut coverage.hunks_cut, Some(Limit::Chars.key())),
            Fate::Ignored(why) => (&mut coverage.hunks_ignored, Some(why.key())),
            Fate::Dropped(limit) => (&mut coverage.hunks_dropped, Some(limit.key())),
            Fate::Binary => (&mut coverage.hunks_binary, Some("binary")),
            Fate::Lost(loss) => (&mut coverage.hunks_dropped, Some(loss.key())),
            Fate::Others => continue,
        };
        *counter += 1;
        coverage.hunks_total += 1;
        match reason.map(|reason| (reason, coverage.reasons.get_mut(reason))) {
            None => {}
            Some((_, Some(count))) => *count += 1,
            Some((reason, None)) => drop(coverage.reasons.insert(reason.to_owned(), 1)),
        }
    }
    coverage
}

/// The first entries of a list, and how many there are in all.
fn capped<T>(list: impl Iterator<Item = T>) -> (Vec<T>, u64) {
    let mut total = 0;
    let mut kept = Vec::new();
    for entry in list {
        total += 1;
        if kept.len() < MAX_LISTED {
            kept.push(entry);
        }
    }
    (kept, total)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
