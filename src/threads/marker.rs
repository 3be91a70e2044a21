//! The hidden lines by which diffsan knows its own notes again, in every form it ever wrote.
//!
//! A marker counts only where it stands alone on a line, outside of code and quotes: people quote notes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::run::record::hex;

/// Start of every marker.
pub const MARKER: &str = "<!-- diffsan:";

/// `<!-- diffsan:<value> -->`.
pub fn marker(value: &str) -> String {
    format!("{MARKER}{value} -->")
}

/// The marker that ends the body of a finding's discussion.
pub fn finding_marker(finding_id: &str) -> String {
    marker(&format!("finding:{finding_id}"))
}

/// What a comment on a line says about itself, on the line above its finding's marker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemMark {
    /// Which reviewer wrote it: `gitlab.summary_note_tag`.
    pub tag: String,
    /// The review it belongs to.
    pub nonce: String,
    /// Key of the line.
    pub line: String,
    /// Key of the block of changed lines.
    pub block: String,
    /// Id of the finding.
    pub finding: String,
    /// Digest of the text above, by which an edit is seen.
    pub sum: String,
    /// Names the request that wrote it: two copies of one finding are told apart by it.
    pub write: String,
}

impl ItemMark {
    /// The text with its two markers.
    pub fn sign(&self, text: &str) -> String {
        let text = text.trim_end();
        let Self { tag, nonce, line, block, write, .. } = self;
        let mark = format!("item:{tag}:{nonce}:{line}:{block}:{}:{write}", sum(text));
        format!("{text}\n\n{}\n{}", marker(&mark), finding_marker(&self.finding))
    }

    /// Reads the mark of a comment; one of 0.1.0 has the finding's id only.
    pub fn read(body: &str) -> Option<Self> {
        let finding = last(body)?.strip_prefix("finding:")?;
        let finding = word(finding)?.to_owned();
        let body = body.trim_end();
        let above = body[..body.rfind('\n').unwrap_or(0)].trim_end();
        let Some(item) = last(above).and_then(|value| value.strip_prefix("item:")) else {
            return Some(Self { finding, ..Self::default() });
        };
        let mut parts = item.split(':').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        Some(Self { tag: next(), nonce: next(), line: next(), block: next(), sum: next(), write: next(), finding })
    }

    /// Whether this comment was written by 0.1.0, which kept no keys.
    pub fn is_old(&self) -> bool {
        self.nonce.is_empty()
    }

    /// Whether somebody changed the text after it was posted.
    pub fn edited(&self, body: &str) -> bool {
        !self.is_old() && self.sum != sum(text(body))
    }
}

/// What a person reads in an own note: everything before its first marker line.
pub fn text(body: &str) -> &str {
    let mut at = 0;
    for (line, is_code) in fenced(body) {
        if !is_code && value(line).is_some() {
            return body[..at].trim();
        }
        at += line.len();
    }
    body.trim()
}

/// Digest of a text as GitLab stores it: no carriage returns, nothing at its end.
pub fn sum(text: &str) -> String {
    let text = text.replace('\r', "");
    hex(&Sha256::digest(text.trim()))[..12].to_owned()
}

/// The values of the markers that begin with `kind`, in order; `kind` ends with its colon.
pub fn values<'a>(body: &'a str, kind: &'a str) -> impl Iterator<Item = &'a str> {
    all(body).filter_map(move |value| value.strip_prefix(kind)).filter_map(word)
}

/// Whether a note carries a reviewer's tag.
pub fn has_tag(body: &str, tag: &str) -> bool {
    all(body).any(|value| value == tag)
}

/// The value of the marker that is the last line.
pub fn last(body: &str) -> Option<&str> {
    body.trim_end().lines().next_back().and_then(value)
}

/// A payload as a marker carries it.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A payload from a marker; nothing when it is no such thing, or too long to be ours.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    (text.len() <= PAYLOAD_BYTES).then(|| STANDARD.decode(text).ok()).flatten()
}

/// The fingerprint in the metadata of the Python original, for notes that lost their markers.
pub fn metadata_fingerprint(body: &str) -> Option<&str> {
    fenced(body).filter(|(_, is_code)| !is_code).find_map(|(line, _)| {
        let rest = line.trim().trim_start_matches(['-', '*', ' ']).strip_prefix("Fingerprint:")?;
        let value = rest.trim_start_matches(['*', ' ']).strip_prefix('`')?;
        word(value.split('`').next()?)
    })
}

/// Whether a note without any marker is a summary of the Python original, by its metadata.
pub fn is_unmarked_summary(body: &str) -> bool {
    all(body).next().is_none() && metadata_fingerprint(body).is_some()
}

/// A longer payload is not one of ours.
pub const PAYLOAD_BYTES: usize = 600 * 1024;

/// The values of all markers of a body, in order.
pub fn all(body: &str) -> impl Iterator<Item = &str> {
    fenced(body).filter(|(_, is_code)| !is_code).filter_map(|(line, _)| value(line))
}

/// The value of a line that is a marker and nothing else.
fn value(line: &str) -> Option<&str> {
    // The Python original allowed blanks on the inner sides.
    let inner = line.trim_end().strip_prefix("<!--")?.strip_suffix("-->")?;
    inner.trim().strip_prefix("diffsan:").filter(|value| !value.is_empty() && !value.contains(['<', '>']))
}

fn word(value: &str) -> Option<&str> {
    (!value.is_empty() && !value.contains(['\n', ' ', '<', '>'])).then_some(value)
}

/// The lines of a body with their ends, and whether each is inside a code fence.
fn fenced(body: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut open: Option<(char, usize)> = None;
    body.split_inclusive('\n').map(move |line| {
        let start = line.trim_start_matches(' ');
        let mark = start.chars().next().filter(|c| matches!(c, '`' | '~') && line.len() - start.len() < 4);
        let Some(mark) = mark else { return (line, open.is_some()) };
        let run = start.chars().take_while(|c| *c == mark).count();
        match open {
            None if run >= 3 => {
                open = Some((mark, run));
                (line, true)
            }
            Some((by, length)) if by == mark && run >= length && start[run..].trim().is_empty() => {
                open = None;
                (line, true)
            }
            _ => (line, open.is_some()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_counts_alone_on_its_line_and_nowhere_else() {
        let tag = marker("ai-reviewer");
        for (body, counts) in [
            (format!("text\n\n{tag}\nmore"), true),
            (format!("{tag}  \r\n"), true),
            ("<!--diffsan:ai-reviewer-->".to_owned(), true),
            (format!("> {tag}"), false),
            (format!(" {tag}"), false),
            (format!("see {tag}"), false),
            (format!("{tag} indeed"), false),
            (format!("```\n{tag}\n```"), false),
            (format!("````\n```\n{tag}\n````\n"), false),
            (format!("```\ncode\n```\n{tag}"), true),
            (format!("~~~\n```\n{tag}"), false),
        ] {
            assert_eq!(has_tag(&body, "ai-reviewer"), counts, "{body:?}");
        }
        assert!(!has_tag(&tag, "ai-review"));
    }

    #[test]
    fn an_item_tells_its_review_its_keys_and_whether_it_was_edited() {
        let mark = ItemMark {
            tag: "ai-reviewer".into(),
            nonce: "aa".into(),
            line: "11".into(),
            block: "22".into(),
            finding: "f-000000000001".into(),
            sum: String::new(),
            write: "w1".into(),
        };
        let body = mark.sign("**[security/high]** wrong\n");
        let read = ItemMark::read(&body).expect("a mark");
        assert_eq!(ItemMark { sum: String::new(), ..read.clone() }, mark);
        assert!(!read.edited(&body) && !read.is_old());
        assert!(read.edited(&body.replace("wrong", "right")));
        assert_eq!(text(&body), "**[security/high]** wrong");
        assert!(body.ends_with("<!-- diffsan:finding:f-000000000001 -->"));

        let old = ItemMark::read(&format!("said\n\n{}", finding_marker("f-1"))).expect("0.1.0's");
        assert!(old.is_old() && old.finding == "f-1" && !old.edited("anything"));
        assert_eq!(ItemMark::read(&format!("{}\nquoted below", finding_marker("f-1"))), None);
    }

    #[test]
    fn the_python_originals_metadata_line_is_read_where_no_marker_is() {
        let body = "## Review\n\n- **Fingerprint:** `sha256:abcd`\n";
        assert_eq!(metadata_fingerprint(body), Some("sha256:abcd"));
        assert_eq!(metadata_fingerprint("```\n**Fingerprint:** `sha256:abcd`\n```"), None);
        assert_eq!(metadata_fingerprint("**Fingerprint:** none"), None);
    }
}
