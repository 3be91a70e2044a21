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
        let mut places = Self { raw, sections, section: 0, at: 0, old: 0, new: 0 };
        places.enter();
        places
    }

    fn enter(&mut self) {
        if let Some((section, _)) = self.sections.get(self.section) {
            self.at = section.start;
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
        loop {
            let end = memchr::memchr(b'\n', &self.raw[self.at..section.end])
                .map_or(section.end, |newline| self.at + newline + 1);
            if offset < end || end >= section.end {
                break;
            }
            match self.raw[self.at] {
                b'+' => self.new = self.new.saturating_add(1),
                b'-' => self.old = self.old.saturating_add(1),
                b'\\' => {}
                _ => {
                    self.new = self.new.saturating_add(1);
                    self.old = self.old.saturating_add(1);
                }
            }
            self.at = end;
        }
        match self.raw[self.at] {
            b'-' => Place { path, line: Some(self.old), side: Side::Old },
            _ => Place { path, line: Some(self.new), side: Side::New },
        }
    }
}
