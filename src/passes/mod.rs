//! A change that is too large for one prompt, divided: files that belong together stay together. Pure, and decided by the
//! change, the limits and the number of parts alone, so that every job of a pipeline divides it alike.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::contracts::{AgentFinding, AgentReviewOutput};
use crate::diff::{Diff, FileDiff};
use symbols::Symbols;

mod symbols;

/// A file that may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its place in the diff.
    pub index: usize,
    /// Its rank, best first.
    pub order: usize,
    /// Characters it takes in full.
    pub cost: usize,
}

/// What bounds a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub max_chars: usize,
    pub max_files: usize,
    pub max_passes: usize,
    /// How many jobs share the work; at least so many passes are made where there are files for them.
    pub parts: usize,
}

/// Which files go into which pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Division {
    /// Most valuable first; at least one.
    pub passes: Vec<Pass>,
    /// Files for which there is no pass.
    pub left_out: Vec<usize>,
}

/// Files that are shown in one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// Places in the diff, in the diff's order.
    pub files: Vec<usize>,
    /// Characters they take in full.
    pub cost: usize,
}

/// Divides the files of a change. One pass takes them all, however many they are: it is then cut as it always was.
pub fn divide(diff: &Diff<'_>, candidates: &[Candidate], bounds: &Bounds) -> Division {
    let most = bounds.max_passes.max(1);
    let all = Pass::of(candidates.iter());
    let parts = bounds.parts.clamp(1, candidates.len().max(1));
    if most == 1 && parts == 1 || parts == 1 && all.cost <= bounds.max_chars && all.files.len() <= bounds.max_files {
        return Division { passes: vec![all], left_out: Vec::new() };
    }
    let most = most.max(parts);
    let (taken, left_out) = select(candidates, bounds, most);
    let total: usize = taken.iter().map(|file| file.cost.min(bounds.max_chars)).sum();
    let least = total.div_ceil(bounds.max_chars.max(1)).max(taken.len().div_ceil(bounds.max_files.max(1)));
    let symbols: Vec<Symbols> = taken.iter().map(|file| Symbols::of(&diff.files[file.index])).collect();
    let mut passes = Vec::new();
    for count in least.max(parts).clamp(1, most)..=most {
        let room = room(total, count, parts, bounds);
        let groups = group(diff, &taken, &symbols, &room);
        passes = pack(&groups, count, bounds);
        if passes.iter().all(|pass| pass.fits(bounds)) {
            break;
        }
    }
    passes.retain(|pass| !pass.files.is_empty());
    let orders: HashMap<usize, usize> = taken.iter().map(|file| (file.index, file.order)).collect();
    passes.sort_by_key(|pass| {
        let valuable = pass.files.iter().filter(|index| orders.get(index) == Some(&0)).count();
        (Reverse(valuable), pass.files.first().copied())
    });
    Division { passes, left_out }
}

impl Division {
    /// The passes of one part of several, balanced by size; parts count from 1.
    pub fn part(&self, part: usize, of: usize) -> Vec<usize> {
        let mut by_size: Vec<usize> = (0..self.passes.len()).collect();
        by_size.sort_by_key(|at| (Reverse(self.passes[*at].cost), *at));
        let mut parts: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new()); of.max(1)];
        for at in by_size {
            if let Some(least) = parts.iter_mut().min_by_key(|(size, _)| *size) {
                least.0 += self.passes[at].cost;
                least.1.push(at);
            }
        }
        let mut own = part.checked_sub(1).and_then(|part| parts.into_iter().nth(part)).map_or(Vec::new(), |own| own.1);
        own.sort_unstable();
        own
    }

    /// What the prompt of a pass says of the files in the others: what they do to names that this pass uses.
    pub fn elsewhere(&self, diff: &Diff<'_>, pass: usize) -> Vec<Elsewhere> {
        let Some(own) = self.passes.get(pass) else { return Vec::new() };
        let used: HashSet<&str> = own.files.iter().flat_map(|index| symbols::words(&diff.files[*index])).collect();
        let others = self.passes.iter().enumerate().filter(|(at, _)| *at != pass);
        let files = others.flat_map(|(at, other)| other.files.iter().map(move |index| (at, &diff.files[*index])));
        files
            .map(|(at, file)| Elsewhere {
                pass: at + 1,
                path: file.path().to_owned(),
                additions: file.additions,
                deletions: file.deletions,
                touched: Symbols::of(file).touched(&used),
            })
            .collect()
    }
}

/// A file in another pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Counts from 1.
    pub pass: usize,
    pub path: String,
    pub additions: u32,
    pub deletions: u32,
    /// `changes charge`, `removes refund`: names that this pass uses.
    pub touched: Vec<String>,
}

/// One answer out of several: all findings, the same fault only once.
pub fn merge(answers: Vec<(usize, AgentReviewOutput)>, of: usize) -> AgentReviewOutput {
    let mut merged = AgentReviewOutput { summary_markdown: String::new(), findings: Vec::new() };
    let mut kept: Vec<(usize, AgentFinding)> = Vec::new();
    for (pass, answer) in answers {
        if !merged.summary_markdown.is_empty() {
            merged.summary_markdown.push_str("\n\n");
        }
        merged.summary_markdown.push_str(&format!("Part {pass} of {of}: {}", answer.summary_markdown.trim()));
        for finding in answer.findings {
            let twin = kept.iter().position(|(other, known)| *other != pass && same_fault(known, &finding));
            match twin {
                // Who saw the code tells it better; the severity is the worse of the two until somebody looks again.
                Some(at) => kept[at].1.severity = kept[at].1.severity.max(finding.severity),
                None => kept.push((pass, finding)),
            }
        }
    }
    merged.findings = kept.into_iter().map(|(_, finding)| finding).collect();
    merged
}

impl Pass {
    fn of<'c>(candidates: impl Iterator<Item = &'c Candidate>) -> Self {
        let mut pass = Self::default();
        for file in candidates {
            pass.files.push(file.index);
            pass.cost += file.cost;
        }
        pass.files.sort_unstable();
        pass
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        self.cost <= bounds.max_chars && self.files.len() <= bounds.max_files
    }
}

/// The files there is room for, most valuable first, and those there is none for.
fn select(candidates: &[Candidate], bounds: &Bounds, passes: usize) -> (Vec<Candidate>, Vec<usize>) {
    let mut ranked = candidates.to_vec();
    ranked.sort_by_key(|file| (file.order, file.index));
    let (mut chars, mut files) = (bounds.max_chars.saturating_mul(passes), bounds.max_files.saturating_mul(passes));
    let (mut taken, mut left_out) = (Vec::new(), Vec::new());
    for file in ranked {
        let cost = file.cost.min(bounds.max_chars);
        // A file that is only in part too much is taken, and cut where its pass ends.
        if files == 0 || chars == 0 {
            left_out.push(file.index);
        } else {
            files -= 1;
            chars = chars.saturating_sub(cost);
            taken.push(file);
        }
    }
    left_out.sort_unstable();
    (taken, left_out)
}

/// How large a group may grow. Where jobs share the work, groups stay small enough for the parts to be alike.
fn room(total: usize, passes: usize, parts: usize, bounds: &Bounds) -> Bounds {
    let max_chars = match parts {
        0 | 1 => bounds.max_chars,
        _ => bounds.max_chars.min(total.div_ceil(passes.max(1)).div_ceil(4).max(1)),
    };
    Bounds { max_chars, ..*bounds }
}

/// Files that belong together: by name, by what they mention, by folder; no group larger than its bounds.
fn group(diff: &Diff<'_>, taken: &[Candidate], symbols: &[Symbols], bounds: &Bounds) -> Vec<Vec<Candidate>> {
    let paths: Vec<&str> = taken.iter().map(|file| diff.files[file.index].path()).collect();
    let mut groups = Groups::new(taken);
    for (one, other) in by_name(&paths) {
        groups.join(one, other, bounds);
    }
    let files: Vec<&FileDiff<'_>> = taken.iter().map(|file| &diff.files[file.index]).collect();
    for (one, other) in by_mention(&files, symbols) {
        groups.join(one, other, bounds);
    }
    for (one, other) in by_folder(&paths) {
        groups.join(one, other, bounds);
    }
    groups.finish(taken)
}

/// Groups that grow by joining.
struct Groups {
    /// Which group a file is in; groups are named by their first file.
    of: Vec<usize>,
    members: Vec<Vec<usize>>,
    costs: Vec<usize>,
}

impl Groups {
    fn new(taken: &[Candidate]) -> Self {
        Self {
            of: (0..taken.len()).collect(),
            members: (0..taken.len()).map(|at| vec![at]).collect(),
            costs: taken.iter().map(|file| file.cost).collect(),
        }
    }

    fn join(&mut self, one: usize, other: usize, bounds: &Bounds) {
        let (into, from) = (self.of[one].min(self.of[other]), self.of[one].max(self.of[other]));
        let files = self.members[into].len() + self.members[from].len();
        if into == from || self.costs[into] + self.costs[from] > bounds.max_chars || files > bounds.max_files {
            return;
        }
        let moved = std::mem::take(&mut self.members[from]);
        for at in &moved {
            self.of[*at] = into;
        }
        self.members[into].extend(moved);
        self.costs[into] += std::mem::take(&mut self.costs[from]);
    }

    fn finish(self, taken: &[Candidate]) -> Vec<Vec<Candidate>> {
        let groups = self.members.into_iter().filter(|members| !members.is_empty());
        groups.map(|members| members.into_iter().map(|at| taken[at]).collect()).collect()
    }
}

/// Puts groups into passes, largest first into the emptiest. What fits nowhere is cut where there is most room.
fn pack(groups: &[Vec<Candidate>], count: usize, bounds: &Bounds) -> Vec<Pass> {
    let cost = |group: &Vec<Candidate>| group.iter().map(|file| file.cost).sum::<usize>();
    let mut order: Vec<&Vec<Candidate>> = groups.iter().collect();
    order.sort_by_key(|group| (Reverse(cost(group)), group.iter().map(|file| file.index).min()));
    let mut passes = vec![Pass::default(); count.max(1)];
    for group in order {
        let fits = |pass: &Pass| {
            pass.cost + cost(group) <= bounds.max_chars && pass.files.len() + group.len() <= bounds.max_files
        };
        let emptiest = |fitting: bool| {
            let some = passes.iter().enumerate().filter(|(_, pass)| !fitting || fits(pass));
            some.min_by_key(|(at, pass)| (pass.cost, *at)).map(|(at, _)| at)
        };
        match emptiest(true) {
            Some(at) => passes[at].add(group.iter()),
            // The group is torn apart before a file of it is cut.
            None => {
                for file in group {
                    let roomy = passes.iter().enumerate().min_by_key(|(at, pass)| (pass.cost, *at));
                    if let Some(at) = roomy.map(|(at, _)| at) {
                        passes[at].add(std::iter::once(file));
                    }
                }
            }
        }
    }
    for pass in &mut passes {
        pass.files.sort_unstable();
    }
    passes
}

impl Pass {
    fn add<'c>(&mut self, files: impl Iterator<Item = &'c Candidate>) {
        for file in files {
            self.files.push(file.index);
            self.cost += file.cost;
        }
    }
}

/// Names that say nothing about what is in a file.
const COMMON_STEMS: &[&str] = &[
    "index", "main", "mod", "lib", "init", "__init__", "utils", "util", "types", "test", "tests", "conftest", "setup",
];

/// Tests and what they test: files of the same name but for what marks a test.
fn by_name(paths: &[&str]) -> Vec<(usize, usize)> {
    let mut by_stem: BTreeMap<String, Vec<(usize, bool)>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        let (stem, is_test) = stem(path);
        if stem.len() > 2 && !COMMON_STEMS.contains(&stem.as_str()) {
            by_stem.entry(stem).or_default().push((at, is_test));
        }
    }
    let mut pairs = Vec::new();
    for files in by_stem.values().filter(|files| files.len() <= 8) {
        for (test, _) in files.iter().filter(|(_, is_test)| *is_test) {
            pairs.extend(files.iter().filter(|(_, is_test)| !is_test).map(|(source, _)| (*source, *test)));
        }
    }
    pairs
}

/// A file's name without its endings and what marks a test, and whether there is such a mark.
fn stem(path: &str) -> (String, bool) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut stem = name.split('.').find(|part| !part.is_empty()).unwrap_or(name).to_lowercase();
    let marked = name.to_lowercase();
    let mut is_test = [".test.", ".spec.", ".tests."].iter().any(|mark| marked.contains(mark));
    for mark in ["test_", "_test", "_tests", "_spec", "-test", "-spec", "tests", "test", "spec"] {
        let short = if mark.ends_with('_') { stem.strip_prefix(mark) } else { stem.strip_suffix(mark) };
        if let Some(short) = short.filter(|short| !short.is_empty()) {
            stem = short.trim_end_matches(['_', '-']).to_owned();
            is_test = true;
            break;
        }
    }
    is_test |= path.split('/').rev().skip(1).any(|folder| matches!(folder, "test" | "tests" | "spec" | "__tests__"));
    (stem, is_test)
}

/// Files of which one mentions a name that only the other defines, most mentions first.
fn by_mention(files: &[&FileDiff<'_>], symbols: &[Symbols]) -> Vec<(usize, usize)> {
    let mut definer: HashMap<&str, Option<usize>> = HashMap::new();
    for (at, symbols) in symbols.iter().enumerate() {
        for name in symbols.names() {
            definer.entry(name).and_modify(|known| *known = None).or_insert(Some(at));
        }
    }
    for (at, file) in files.iter().enumerate() {
        let (module, _) = module(file.path());
        if let Some(module) = module {
            definer.entry(module).and_modify(|known| *known = None).or_insert(Some(at));
        }
    }
    let mut mentions: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        let used: BTreeSet<&str> = symbols::words(file).collect();
        for owner in used.iter().filter_map(|word| definer.get(word).copied().flatten()).filter(|owner| *owner != at) {
            *mentions.entry((owner.min(at), owner.max(at))).or_default() += 1;
        }
    }
    let mut pairs: Vec<_> = mentions.into_iter().collect();
    pairs.sort_by_key(|(pair, count)| (Reverse(*count), *pair));
    pairs.into_iter().map(|(pair, _)| pair).collect()
}

/// The name by which other files import one.
fn module(path: &str) -> (Option<&str>, bool) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, code) = name.split_once('.').unwrap_or((name, ""));
    let telling = stem.len() >= 4 && !code.is_empty() && !COMMON_STEMS.contains(&stem);
    (telling.then_some(stem), telling)
}

/// Neighbours in one folder, then in folders below one parent.
fn by_folder(paths: &[&str]) -> Vec<(usize, usize)> {
    let depth = paths.iter().map(|path| path.split('/').count()).max().unwrap_or(1);
    let mut pairs = Vec::new();
    for level in (1..depth).rev() {
        let mut last: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        for (at, path) in paths.iter().enumerate() {
            let parts: Vec<&str> = path.split('/').collect();
            if parts.len() > level {
                let folder = parts[..level].to_vec();
                if let Some(before) = last.insert(folder, at) {
                    pairs.push((before, at));
                }
            }
        }
    }
    pairs
}

/// Whether two findings of different passes tell one fault: on the same lines of the same file, in much the same words.
fn same_fault(one: &AgentFinding, other: &AgentFinding) -> bool {
    let near = one.line_start <= other.line_end.saturating_add(3) && other.line_start <= one.line_end.saturating_add(3);
    let quoted = one.quote.as_deref().map(str::trim).filter(|quote| !quote.is_empty());
    let same_quote = quoted.is_some() && quoted == other.quote.as_deref().map(str::trim);
    let alike = likeness(&one.body_markdown, &other.body_markdown);
    one.path == other.path && ((near && alike >= 0.5) || (same_quote && one.category == other.category && alike >= 0.3))
}

/// Shared words of two texts, of all their words.
fn likeness(one: &str, other: &str) -> f64 {
    let words = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 2);
        words.map(str::to_lowercase).collect()
    };
    let (one, other) = (words(one), words(other));
    let all = one.union(&other).count();
    if all == 0 { 0.0 } else { one.intersection(&other).count() as f64 / all as f64 }
}

#[cfg(test)]
mod tests;
