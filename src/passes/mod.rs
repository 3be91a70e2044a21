//! A change that is too large for one prompt, divided: files that belong together stay together. Pure, and decided by the
//! change, the limits and the number of parts alone, so that every job of a pipeline divides it alike.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::diff::{Diff, FileDiff};
use symbols::Symbols;

mod join;
mod shard;
mod symbols;

pub use join::{Joined, join, merge};
pub use shard::{MOST_PARTS, Shard, Share};

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
    /// Files that are reviewed by other jobs.
    pub others: Vec<usize>,
}

/// Files that are shown in one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// Places in the diff, in the diff's order.
    pub files: Vec<usize>,
    /// Characters they take in full.
    pub cost: usize,
    /// The part that reviews it, from 0.
    pub part: usize,
}

/// Less than this is not worth an agent of its own: what every prompt says takes about as much.
const LEAST_SHARE: usize = 8_000;

/// Divides the files of a change. One pass takes them all, however many they are: it is then cut as it always was.
pub fn divide(diff: &Diff<'_>, candidates: &[Candidate], bounds: &Bounds) -> Division {
    let most = bounds.max_passes.max(1);
    let all = Pass::of(candidates.iter());
    let parts = shares(candidates, bounds);
    if parts == 1 && (most == 1 || all.fits(bounds)) {
        return Division { passes: vec![all], ..Division::default() };
    }
    let each = most.div_ceil(parts);
    let (taken, left_out) = select(candidates, bounds, each * parts);
    let mut passes = Vec::new();
    for (part, share) in apportion(diff, &taken, parts, each, bounds).into_iter().enumerate() {
        passes.extend(packed(diff, &share, each, bounds).into_iter().map(|pass| Pass { part, ..pass }));
    }
    let orders: HashMap<usize, usize> = taken.iter().map(|file| (file.index, file.order)).collect();
    passes.sort_by_key(|pass| {
        let valuable = pass.files.iter().filter(|index| orders.get(index) == Some(&0)).count();
        (Reverse(valuable), pass.files.first().copied())
    });
    Division { passes, left_out, others: Vec::new() }
}

/// How many parts the work is worth.
fn shares(candidates: &[Candidate], bounds: &Bounds) -> usize {
    let total: usize = candidates.iter().map(|file| file.cost.min(bounds.max_chars)).sum();
    bounds.parts.min(candidates.len()).min(total / LEAST_SHARE).max(1)
}

/// The files of each part: alike in size, files that belong together in one part where that allows it.
fn apportion(diff: &Diff<'_>, taken: &[Candidate], parts: usize, each: usize, bounds: &Bounds) -> Vec<Vec<Candidate>> {
    if parts == 1 {
        return vec![taken.to_vec()];
    }
    // What is cut anyhow costs no more than there is room for.
    let costs = |file: &Candidate| Candidate { cost: file.cost.min(bounds.max_chars), ..*file };
    let costed: Vec<Candidate> = taken.iter().map(costs).collect();
    let total: usize = costed.iter().map(|file| file.cost).sum();
    // Largest first into the emptiest: parts differ by no more than the largest group, so groups stay a fifth of a part.
    let small = Bounds { max_chars: (total / parts / 5).max(1), ..*bounds };
    let room = Bounds {
        max_chars: bounds.max_chars.saturating_mul(each),
        max_files: bounds.max_files.saturating_mul(each),
        ..*bounds
    };
    let groups = group(diff, &costed, &symbols_of(diff, &costed), &small);
    let by_index: HashMap<usize, Candidate> = taken.iter().map(|file| (file.index, *file)).collect();
    let files = |pass: Pass| pass.files.iter().filter_map(|index| by_index.get(index).copied()).collect();
    pack(&groups, parts, &room).into_iter().map(files).collect()
}

/// The passes of one part: as few as hold its files, and no more than it may have.
fn packed(diff: &Diff<'_>, files: &[Candidate], most: usize, bounds: &Bounds) -> Vec<Pass> {
    let total: usize = files.iter().map(|file| file.cost.min(bounds.max_chars)).sum();
    let least = total.div_ceil(bounds.max_chars.max(1)).max(files.len().div_ceil(bounds.max_files.max(1)));
    let groups = group(diff, files, &symbols_of(diff, files), bounds);
    let mut passes = Vec::new();
    for count in least.clamp(1, most)..=most {
        passes = pack(&groups, count, bounds);
        if passes.iter().all(|pass| pass.fits(bounds)) {
            break;
        }
    }
    passes.retain(|pass| !pass.files.is_empty());
    passes
}

fn symbols_of(diff: &Diff<'_>, files: &[Candidate]) -> Vec<Symbols> {
    files.iter().map(|file| Symbols::of(&diff.files[file.index])).collect()
}

impl Division {
    /// The passes of one part; parts count from 1. Empty where there are fewer passes than parts.
    pub fn part(&self, part: u32) -> Vec<usize> {
        let is_own = |at: &usize| self.passes[*at].part + 1 == part as usize;
        (0..self.passes.len()).filter(is_own).collect()
    }

    /// The division as one part sees it: the files of the other passes are others' to review.
    #[must_use]
    pub fn only(&self, passes: &[usize]) -> Self {
        let (own, others): (Vec<_>, Vec<_>) = self.passes.iter().enumerate().partition(|(at, _)| passes.contains(at));
        Self {
            passes: own.into_iter().map(|(_, pass)| pass.clone()).collect(),
            left_out: self.left_out.clone(),
            others: others.into_iter().flat_map(|(_, pass)| pass.files.clone()).collect(),
        }
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

#[cfg(test)]
mod tests;
