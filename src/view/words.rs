//! Which words changed between a removed line and the added one that replaces it.

use similar::{ChangeTag, TextDiff};

/// Longer lines are data; marks in them would help nobody and take long.
const LONGEST: usize = 500;
/// Lines that have less in common than this are simply two lines.
const ALIKE: f32 = 0.5;

/// A stretch of a line, and whether it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) marked: bool,
    pub(super) text: String,
}

/// A line without marks.
pub(super) fn plain(text: String) -> Vec<Stretch> {
    vec![Stretch { marked: false, text }]
}

/// Both lines with their changed words marked; none where they have too little in common.
pub(super) fn marks(removed: &str, added: &str) -> Option<(Vec<Stretch>, Vec<Stretch>)> {
    if removed.len() > LONGEST || added.len() > LONGEST || removed == added {
        return None;
    }
    let diff = TextDiff::configure().diff_words(removed, added);
    if diff.ratio() < ALIKE {
        return None;
    }
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut old, false, change.value());
                push(&mut new, false, change.value());
            }
            ChangeTag::Delete => push(&mut old, true, change.value()),
            ChangeTag::Insert => push(&mut new, true, change.value()),
        }
    }
    Some((old, new))
}

fn push(stretches: &mut Vec<Stretch>, marked: bool, text: &str) {
    match stretches.last_mut() {
        Some(last) if last.marked == marked => last.text.push_str(text),
        _ => stretches.push(Stretch { marked, text: text.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(stretches: &[Stretch]) -> String {
        let draw = |part: &Stretch| if part.marked { format!("[{}]", part.text) } else { part.text.clone() };
        stretches.iter().map(draw).collect()
    }

    #[test]
    fn changed_words_are_marked_on_both_sides() {
        let (old, new) = marks("total = sum(price for item in items)", "total = sum(cost for item in items)").unwrap();
        assert_eq!(drawn(&old), "total = [sum(price] for item in items)");
        assert_eq!(drawn(&new), "total = [sum(cost] for item in items)");
    }

    #[test]
    fn lines_that_are_alike_in_nothing_are_not_marked() {
        assert_eq!(marks("import os", "def three(): return 3"), None);
        assert_eq!(marks("same", "same"), None);
        assert_eq!(marks(&"x ".repeat(400), "x"), None);
    }
}
