//! Paths as agents write them, made into paths as the diff has them.

use icu_normalizer::ComposingNormalizerBorrowed;

use super::findings::{clip, note};
use crate::contracts::{CheckCode, CheckNote};
use crate::diff::Diff;

/// The path as the diff names it, or the path without its decoration where the diff does not touch the file.
pub(super) fn normalise(path: &str, diff: &Diff<'_>, checkout_prefix: Option<&str>) -> Result<String, CheckNote> {
    if let Some(file) = diff.file(path) {
        return Ok(file.path().to_owned());
    }
    let mut path = match crate::diff::unquoted(path.trim().trim_matches('`')) {
        Some(unquoted) => unquoted,
        None => path.trim().trim_matches(['`', '"', '\'']).to_owned(),
    };
    if path.contains('\\') && !path.contains('/') {
        path = path.replace('\\', "/");
    }
    if let Some(inside) = checkout_prefix.and_then(|prefix| below(&path, prefix)) {
        path = inside.to_owned();
    }
    let outside = || note(CheckCode::PathOutside, format!("`{}` is outside the repository", printable(&path, 200)));
    if path.starts_with('/') || path.starts_with('~') || path.get(1..3) == Some(":/") {
        return Err(outside());
    }
    let plain = simplify(&path).ok_or_else(outside)?;
    let mut tries = vec![plain.clone()];
    tries.extend(["a/", "b/"].iter().filter_map(|prefix| plain.strip_prefix(prefix)).map(str::to_owned));
    let unnumbered: Vec<_> = tries.iter().filter_map(|name| without_line(name)).map(str::to_owned).collect();
    tries.extend(unnumbered);
    if let Some(file) = tries.iter().find_map(|name| diff.file(name)) {
        return Ok(file.path().to_owned());
    }
    if let Some(path) = tries.iter().find_map(|name| composed(name, diff)) {
        return Ok(path);
    }
    let has_folder = |prefix: &str| diff.files.iter().any(|file| file.path().starts_with(prefix));
    let bare = ["a/", "b/"].into_iter().find_map(|prefix| {
        let bare = plain.strip_prefix(prefix)?;
        (!has_folder(prefix)).then_some(bare)
    });
    Ok(printable(bare.unwrap_or(&plain), 1_000))
}

/// The one file whose path is the same text in another Unicode form: `é` as one character or as two.
fn composed(path: &str, diff: &Diff<'_>) -> Option<String> {
    if path.is_ascii() {
        return None;
    }
    let nfc = ComposingNormalizerBorrowed::new_nfc();
    let path = nfc.normalize(path);
    let mut same = diff.files.iter().filter(|file| nfc.normalize(file.path()) == path);
    match (same.next(), same.next()) {
        (Some(file), None) => Some(file.path().to_owned()),
        _ => None,
    }
}

/// A path that can be shown: one line, no control characters, not endless.
pub(super) fn printable(path: &str, limit: usize) -> String {
    clip(&path.replace(char::is_control, "\u{fffd}"), limit)
}

fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    path.strip_prefix(prefix.trim_end_matches('/'))?.strip_prefix('/')
}

/// Without `.`, `..` and empty parts; nothing when it climbs out.
fn simplify(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// `src/a.py:42` without its line.
fn without_line(path: &str) -> Option<&str> {
    let (name, line) = path.rsplit_once(':')?;
    (!line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')).then_some(name)
}
