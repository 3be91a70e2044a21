//! Looks through the files of a tree, on as many cores as there are, for the lines that match once secrets are gone.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::pattern::{Line, Pattern};
use super::tree::{Content, Reader, Tree, text};

/// Most hits that are shown.
pub(super) const MAX_HITS: usize = 100;
/// Hits beyond this number are not counted: the pattern says too little.
pub(super) const MAX_COUNT: u64 = 2_000;
/// Longest time for one search.
const DEADLINE: Duration = Duration::from_secs(10);
/// Files that a worker takes at once.
const CHUNK: usize = 200;
const MAX_WORKERS: usize = 4;
/// Most characters of a line that is shown.
const MAX_LINE: usize = 300;
/// Characters before the match that are shown of a long line.
const LEAD: usize = 80;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) hits: Vec<Hit>,
    /// Lines that match, up to [`MAX_COUNT`].
    pub(super) count: u64,
    /// There may be more.
    pub(super) more: bool,
    /// Files that were looked through, and those that are too large for that.
    pub(super) files: usize,
    pub(super) huge: usize,
    /// The clock ran out.
    pub(super) late: bool,
}

/// One line that matches.
#[derive(Debug)]
pub(super) struct Hit {
    /// The entry.
    pub(super) place: usize,
    pub(super) line: u32,
    pub(super) text: String,
    /// The rules that removed something from the line.
    pub(super) removed: Vec<String>,
}

/// What a worker found in its files.
#[derive(Debug, Default)]
struct Part {
    hits: Vec<Hit>,
    count: u64,
    files: usize,
    huge: usize,
}

/// Searches these entries; `stop` ends it early.
pub(super) fn search(tree: &Tree, places: &[usize], pattern: &Pattern, stop: &AtomicBool) -> io::Result<Found> {
    let chunks: Vec<&[usize]> = places.chunks(CHUNK).collect();
    let work = Work {
        tree,
        stop,
        deadline: Instant::now() + DEADLINE,
        chunks: &chunks,
        next: AtomicUsize::new(0),
        late: AtomicBool::new(false),
        parts: Mutex::new((0..chunks.len()).map(|_| None).collect()),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS);
    let workers = cores.min(chunks.len()).max(1);
    if workers == 1 {
        work.run(&mut tree.reader()?, pattern)?;
    } else {
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..workers)
                .map(|_| scope.spawn(|| tree.reader().and_then(|mut reader| work.run(&mut reader, &pattern.clone()))))
                .collect();
            started.into_iter().try_for_each(|worker| {
                worker.join().unwrap_or_else(|_| Err(io::Error::other("a worker of the search failed")))
            })
        })?;
    }
    let late = work.late.load(Ordering::Relaxed);
    Ok(join(work.parts.into_inner().unwrap_or_else(PoisonError::into_inner), late))
}

struct Work<'a> {
    tree: &'a Tree,
    stop: &'a AtomicBool,
    deadline: Instant,
    chunks: &'a [&'a [usize]],
    next: AtomicUsize,
    late: AtomicBool,
    parts: Mutex<Vec<Option<Part>>>,
}

impl Work<'_> {
    fn run(&self, reader: &mut Reader<'_>, pattern: &Pattern) -> io::Result<()> {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = self.chunks.get(index) else { return Ok(()) };
            if self.is_over() {
                return Ok(());
            }
            let mut part = Part::default();
            reader.each(chunk, |place, content| {
                self.look(place, content, pattern, &mut part);
                !self.is_over()
            })?;
            let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts[index] = Some(part);
            // Counted from the first file on without a gap, so that the answer does not depend on who was faster.
            let count: u64 = parts.iter().map_while(Option::as_ref).map(|part| part.count).sum();
            if count > MAX_COUNT {
                self.next.store(self.chunks.len(), Ordering::Relaxed);
                return Ok(());
            }
        }
    }

    fn is_over(&self) -> bool {
        if Instant::now() >= self.deadline || self.stop.load(Ordering::Relaxed) {
            self.late.store(true, Ordering::Relaxed);
        }
        self.late.load(Ordering::Relaxed)
    }

    /// One file. It is matched without its secrets, or not at all.
    fn look(&self, place: usize, content: Content<'_>, pattern: &Pattern, part: &mut Part) {
        let raw = match content {
            Content::Bytes(raw) => raw,
            Content::Huge(_) => {
                part.huge += 1;
                return;
            }
            Content::ThroughLink | Content::Missing => return,
        };
        part.files += 1;
        let entry = &self.tree.entries()[place];
        if !pattern.may_match(raw) {
            return;
        }
        let Some(text) = text(raw) else { return };
        // A value that was learned since may stand in a file that held none before.
        let known = self.tree.engine().known_count();
        if self.tree.is_commit() && entry.is_clean(known) {
            self.take_lines(place, &text, &[], pattern, part);
            return;
        }
        let redacted = self.tree.engine().redact_file(&entry.name, &text);
        if redacted.removed.is_empty() {
            entry.set_clean(known);
        }
        self.take_lines(place, redacted.text.as_str(), &redacted.removed, pattern, part);
    }

    fn take_lines(&self, place: usize, text: &str, removed: &[(u32, String)], pattern: &Pattern, part: &mut Part) {
        let in_time = pattern.lines(text, self.deadline, |line| {
            part.count += 1;
            if part.hits.len() < MAX_HITS {
                let rules = removed.iter().filter(|(number, _)| *number == line.number);
                let removed = rules.map(|(_, rule)| rule.clone()).collect();
                part.hits.push(Hit { place, line: line.number, text: shown(text, line), removed });
            }
            part.count <= MAX_COUNT
        });
        if !in_time {
            self.late.store(true, Ordering::Relaxed);
        }
    }
}

/// The parts without a gap from the first on.
fn join(parts: Vec<Option<Part>>, late: bool) -> Found {
    let mut found = Found { late, more: late, ..Found::default() };
    for part in parts {
        let Some(part) = part else {
            found.more = true;
            break;
        };
        found.count += part.count;
        found.files += part.files;
        found.huge += part.huge;
        let room = MAX_HITS - found.hits.len();
        found.hits.extend(part.hits.into_iter().take(room));
        if found.count > MAX_COUNT {
            found.count = MAX_COUNT;
            found.more = true;
            break;
        }
    }
    found
}

/// A line, or of a long one what is around the match.
fn shown(text: &str, line: Line) -> String {
    let whole = &text[line.start..line.end];
    if whole.chars().nth(MAX_LINE).is_none() {
        return whole.to_owned();
    }
    let before = &text[line.start..line.at];
    let start = before.char_indices().rev().nth(LEAD).map_or(0, |(at, _)| at);
    let rest = &whole[start..];
    let end = rest.char_indices().nth(MAX_LINE).map_or(rest.len(), |(at, _)| at);
    let (head, tail) = (if start > 0 { "…" } else { "" }, if end < rest.len() { "…" } else { "" });
    format!("{head}{}{tail}", &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_its_match() {
        let text = format!("{}needle{}", "a".repeat(1_000), "b".repeat(1_000));
        let line = Line { number: 1, start: 0, end: text.len(), at: 1_000 };
        let part = shown(&text, line);
        assert!(part.starts_with("…aaa") && part.contains("needle") && part.ends_with("b…"), "{part}");
        assert_eq!(part.chars().count(), MAX_LINE + 2);
        assert_eq!(shown("short", Line { number: 1, start: 0, end: 5, at: 2 }), "short");
        let wide = "é".repeat(2_000);
        assert!(shown(&wide, Line { number: 1, start: 0, end: wide.len(), at: 200 }).starts_with("…é"));
    }

    #[test]
    fn a_gap_ends_what_is_counted() {
        let part = |count| Some(Part { count, files: 1, ..Part::default() });
        let found = join(vec![part(3), None, part(5)], false);
        assert_eq!((found.count, found.files, found.more), (3, 1, true));
        let found = join(vec![part(3), part(5)], false);
        assert_eq!((found.count, found.files, found.more), (8, 2, false));
        let found = join(vec![part(MAX_COUNT), part(1), part(7)], false);
        assert_eq!((found.count, found.more), (MAX_COUNT, true));
    }
}
