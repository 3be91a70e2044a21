//! Diffs made up for tests, together with what a parser must find in them.

use proptest::prelude::*;

/// One line of a generated file on its way from old to new.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Keep(String),
    Add(String),
    Remove(String),
}

/// Lines that try to look like everything a diff is made of.
pub(crate) fn tricky_line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[a-zé漢\t\r ]{0,8}",
        Just("++ b/other.py".to_owned()),
        Just("-- a/other.py".to_owned()),
        Just("@@ -1,3 +1,4 @@".to_owned()),
        Just("diff --git a/x b/x".to_owned()),
        Just("\\ No newline at end of file".to_owned()),
        Just("-- ".to_owned()),
        Just(String::new()),
    ]
}

pub(crate) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        4 => tricky_line().prop_map(Edit::Keep),
        1 => tricky_line().prop_map(Edit::Add),
        1 => tricky_line().prop_map(Edit::Remove),
    ];
    prop::collection::vec(edit, 1..60)
        .prop_filter("something changed", |edits| edits.iter().any(|e| !matches!(e, Edit::Keep(_))))
}

/// Renders the edits as git would, with `context` lines around each change.
pub(crate) fn render(path: &str, edits: &[Edit], context: usize) -> String {
    let mut text = format!("diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n");
    for (from, to) in spans(edits, context) {
        let before = |side: fn(&Edit) -> bool| edits[..from].iter().filter(|edit| side(edit)).count();
        let within = |side: fn(&Edit) -> bool| edits[from..to].iter().filter(|edit| side(edit)).count();
        let range = |side| match within(side) {
            0 => format!("{},0", before(side)),
            lines => format!("{},{lines}", before(side) + 1),
        };
        text.push_str(&format!("@@ -{} +{} @@\n", range(is_old), range(is_new)));
        for edit in &edits[from..to] {
            let (prefix, line) = match edit {
                Edit::Keep(line) => (' ', line),
                Edit::Add(line) => ('+', line),
                Edit::Remove(line) => ('-', line),
            };
            text.push_str(&format!("{prefix}{line}\n"));
        }
    }
    text
}

pub(crate) fn is_old(edit: &Edit) -> bool {
    !matches!(edit, Edit::Add(_))
}

pub(crate) fn is_new(edit: &Edit) -> bool {
    !matches!(edit, Edit::Remove(_))
}

/// The ranges of edits that become hunks.
fn spans(edits: &[Edit], context: usize) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        if matches!(edit, Edit::Keep(_)) {
            continue;
        }
        let (from, to) = (at.saturating_sub(context), (at + context + 1).min(edits.len()));
        match spans.last_mut() {
            Some(last) if last.1 >= from => last.1 = to,
            _ => spans.push((from, to)),
        }
    }
    spans
}
