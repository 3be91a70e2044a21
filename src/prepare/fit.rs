//! The character budget: most valuable files first, and no file so much that the others starve.

use super::cut::{self, BINARY_REMARK, Cut, cut};
use super::rank::Rank;
use super::{Fate, Limit, Rules, chars};
use crate::diff::{Diff, FileDiff};

/// What of a file is shown; `hunks` goes with the hunks of the file.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) index: usize,
    pub(super) included: bool,
    pub(super) hunks: Vec<Taken>,
}

#[derive(Debug, Clone)]
pub(super) enum Taken {
    Whole,
    Part(Cut),
    None(Limit),
}

impl Fitted {
    pub(super) fn fates(&self, file: &FileDiff<'_>) -> Vec<Fate> {
        if file.hunks.is_empty() {
            return vec![if self.included { Fate::Sent } else { Fate::Dropped(Limit::Chars) }];
        }
        let fate = |taken: &Taken| match taken {
            Taken::Whole => Fate::Sent,
            Taken::Part(cut) => Fate::Cut { lines: cut.lines, of: cut.of },
            Taken::None(limit) => Fate::Dropped(*limit),
        };
        self.hunks.iter().map(fate).collect()
    }
}

/// Decides what of each file is shown. `ranked` has the file indices, best first.
pub(super) fn fit(diff: &Diff<'_>, ranked: &[(usize, Rank)], rules: &Rules) -> Vec<Fitted> {
    let mut files: Vec<Share<'_>> =
        ranked.iter().map(|(index, rank)| Share::new(*index, rank.order(), &diff.files[*index], rules)).collect();
    let mut budget = rules.max_diff_chars;
    for order in 0..=LAST_ORDER {
        let later: usize =
            files.iter().filter(|file| (order + 1..MACHINE_MADE).contains(&file.order)).map(Share::cost).sum();
        let reserved = later.min(budget / RESERVED);
        let class: Vec<&mut Share<'_>> = files.iter_mut().filter(|file| file.order == order).collect();
        budget -= share_out(class, budget - reserved);
    }
    for file in &mut files {
        budget = file.grow(budget);
    }
    files.into_iter().map(Share::finish).collect()
}

/// What a file would take in full.
pub(super) fn cost(index: usize, file: &FileDiff<'_>, rules: &Rules) -> usize {
    Share::new(index, 0, file, rules).cost()
}

/// The order of machine-made files: for them, and for what comes after them, nothing is held back.
const MACHINE_MADE: usize = 3;
/// The order of what was reviewed before.
const LAST_ORDER: usize = 4;

/// The part of the budget held back for files of lower rank: one in so many characters.
const RESERVED: usize = 4;

/// A share of the budget below this shows too little of a file to be worth its header.
const LEAST_SHARE: usize = 600;

/// A beginning of a hunk below this is not worth showing beside whole hunks.
const LEAST_CUT: usize = 400;

/// Gives files of one rank equal shares, as far as they need them; returns what was used.
fn share_out(mut files: Vec<&mut Share<'_>>, budget: usize) -> usize {
    if files.is_empty() {
        return 0;
    }
    let mut level = fair_level(files.iter().map(|file| file.cost()).collect(), budget);
    if level < LEAST_SHARE {
        files.truncate((budget / LEAST_SHARE).max(1));
        level = fair_level(files.iter().map(|file| file.cost()).collect(), budget);
    }
    files.into_iter().map(|file| file.fill(level)).sum()
}

/// The largest share such that everyone who needs less gets all of it and the sum stays in budget.
fn fair_level(mut costs: Vec<usize>, budget: usize) -> usize {
    costs.sort_unstable();
    let mut left = budget;
    for (served, cost) in costs.iter().enumerate() {
        let share = left / (costs.len() - served);
        if *cost > share {
            return share;
        }
        left -= cost;
    }
    usize::MAX
}

/// One file on its way into the budget.
struct Share<'a> {
    index: usize,
    order: usize,
    file: &'a FileDiff<'a>,
    header: usize,
    sizes: Vec<usize>,
    taken: Vec<Taken>,
    /// The hunks that may be shown, most valuable first.
    wanted: Vec<usize>,
    included: bool,
}

impl<'a> Share<'a> {
    fn new(index: usize, order: usize, file: &'a FileDiff<'a>, rules: &Rules) -> Self {
        let mut wanted: Vec<usize> = (0..file.hunks.len()).collect();
        // What is new is worth more than what was reviewed before, and code that was written more than code that is gone.
        wanted.sort_by_key(|&hunk| (rules.reviewed.contains(&(index, hunk)), file.hunks[hunk].additions == 0));
        wanted.truncate(rules.max_hunks_per_file.max(1));
        let mut taken = vec![Taken::None(Limit::Hunks); file.hunks.len()];
        for &hunk in &wanted {
            taken[hunk] = Taken::None(Limit::Chars);
        }
        let remark = if cut::needs_binary_remark(file) { BINARY_REMARK.len() } else { 0 };
        Self {
            index,
            order,
            file,
            header: lines_size(file.header) + remark,
            sizes: file.hunks.iter().map(|hunk| lines_size(hunk.bytes)).collect(),
            taken,
            wanted,
            included: false,
        }
    }

    /// What the file would take in full.
    fn cost(&self) -> usize {
        self.header + self.wanted.iter().map(|&hunk| self.sizes[hunk]).sum::<usize>()
    }

    /// Takes as much as fits in `budget`; returns what that is.
    fn fill(&mut self, budget: usize) -> usize {
        let Some(mut left) = budget.checked_sub(self.header) else { return 0 };
        let before = left;
        let mut first_too_big = None;
        for &hunk in &self.wanted {
            if self.sizes[hunk] <= left {
                left -= self.sizes[hunk];
                self.taken[hunk] = Taken::Whole;
            } else if first_too_big.is_none() {
                first_too_big = Some(hunk);
            }
        }
        if let Some(hunk) = first_too_big
            && (left >= LEAST_CUT || left == before)
        {
            left -= self.take_part(hunk, left).unwrap_or(0);
        }
        self.included = self.wanted.is_empty() || left < before;
        if self.included { self.header + before - left } else { 0 }
    }

    /// Takes more from what others left over; returns what is left then.
    fn grow(&mut self, mut left: usize) -> usize {
        if !self.included {
            return left - self.fill(left);
        }
        for hunk in self.wanted.clone() {
            let has = match &self.taken[hunk] {
                Taken::Whole => continue,
                Taken::Part(cut) => cut.chars,
                Taken::None(_) => 0,
            };
            if self.sizes[hunk] <= has + left {
                left -= self.sizes[hunk] - has;
                self.taken[hunk] = Taken::Whole;
            } else if has > 0
                && let Some(size) = self.take_part(hunk, has + left)
            {
                left = has + left - size;
            }
        }
        left
    }

    fn take_part(&mut self, hunk: usize, budget: usize) -> Option<usize> {
        let cut = cut(self.file, &self.file.hunks[hunk], budget)?;
        let size = cut.chars;
        self.taken[hunk] = Taken::Part(cut);
        Some(size)
    }

    fn finish(self) -> Fitted {
        Fitted { index: self.index, included: self.included, hunks: self.taken }
    }
}

/// Characters of whole lines, with the line feed that the very last one may lack.
fn lines_size(lines: &[u8]) -> usize {
    chars(lines) + usize::from(!lines.is_empty() && !lines.ends_with(b"\n"))
}
