//! Line numbers of offsets in a diff.

use super::engine::Side;
use super::walk::{Section, Walked};

/// Finds lines by offset; offsets must not go back.
pub(super) struct Places<'a> {
    raw: &'a [u8],
    sections: Vec<(&'a Section, &'a Walked)>,
    section: usize,
    /// The line reached in the section: its start and the numbers of the next old and new line.
    at: usize,
    /// Where the line that starts at `at` ends, so that many secrets on one line ask for it once.
    end: usize,
    old: u32,
    new: u32,
}

/// Where an offset is.
pub(super) struct Place<'a> {
    pub(super) path: Option<&'a [u8]>,
    pub(super) line: Option<u32>,
    pub(super) side: Side,
}

impl<'a> Places<'a> {
    pub(super) fn new(raw: &'a [u8], walked: &[&'a Walked]) -> Self {
        let sections =
            walked.iter().flat_map(|walked| walked.sections.iter().map(move |section| (section, *walked))).collect();
        let mut places = Self { raw, sections, section: 0, at: 0, end: 0, old: 0, new: 0 };
        places.enter();
        places
    }

    fn enter(&mut self) {
        if let Some((section, _)) = self.sections.get(self.section) {
            self.at = section.start;
            self.end = line_end(self.raw, section.start, section.end);
            (self.old, self.new) = section.lines.unwrap_or((0, 0));
        }
    }

    pub(super) fn of(&mut self, offset: usize) -> Place<'a> {
        while self.sections.get(self.section).is_some_and(|(section, _)| offset >= section.end) {
            self.section += 1;
            self.enter();
        }
        let Some(&(section, walked)) = self.sections.get(self.section) else {
            return Place { path: None, line: None, side: Side::New };
        };
        let path = section.path.map(|index| walked.files[index].path.as_slice());
        if section.lines.is_none() {
            return Place { path, line: None, side: Side::New };
        }
        while offset >= self.end && self.end < section.end {
            match self.raw[self.at] {
                b'+' => self.new = self.new.saturating_add(1),
                b'-' => self.old = self.old.saturating_add(1),
                b'\\' => {}
                _ => {
                    self.new = self.new.saturating_add(1);
                    self.old = self.old.saturating_add(1);
                }
            }
            self.at = self.end;
            self.end = line_end(self.raw, self.at, section.end);
        }
        match self.raw[self.at] {
            b'-' => Place { path, line: Some(self.old), side: Side::Old },
            _ => Place { path, line: Some(self.new), side: Side::New },
        }
    }
}

fn line_end(raw: &[u8], start: usize, end: usize) -> usize {
    let found = memchr::memchr(b'\n', &raw[start..end]).map_or(end, |newline| start + newline + 1);
    super::steps::add(found - start);
    found
}
