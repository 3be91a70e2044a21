//! Fences that what stands between them cannot contain.

use sha2::{Digest, Sha256};

/// A mark that no fenced text has in it, and so no fenced text can end its fence.
#[derive(Debug)]
pub(super) struct Fence {
    mark: String,
}

impl Fence {
    /// Derives the mark from the texts themselves: the same texts give the same mark, and no text can hold it.
    pub(super) fn new(texts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        let mut digest = hash.finalize();
        let mut mark = hex(&digest[..12]);
        while texts.iter().any(|text| text.contains(&mark)) {
            digest = Sha256::digest(digest);
            mark.push_str(&hex(&digest[..12]));
        }
        Self { mark }
    }

    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// A text that is data and nothing else.
    pub(super) fn data(&self, name: &str, content: &str) -> String {
        self.around("DATA", name, content)
    }

    /// A text that may guide, within bounds.
    pub(super) fn guidance(&self, name: &str, content: &str) -> String {
        self.around("GUIDANCE", name, content)
    }

    fn around(&self, kind: &str, name: &str, content: &str) -> String {
        let mark = &self.mark;
        let end = if content.ends_with('\n') { "" } else { "\n" };
        format!("<<<<BEGIN {kind} {mark} ({name})\n{content}{end}>>>>END {kind} {mark} ({name})\n")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_the_same_for_the_same_texts_and_another_for_others() {
        assert_eq!(Fence::new(&["a", "b"]).mark(), Fence::new(&["a", "b"]).mark());
        assert_ne!(Fence::new(&["a", "b"]).mark(), Fence::new(&["ab", ""]).mark());
        assert_eq!(Fence::new(&["a"]).mark().len(), 24);
    }

    #[test]
    fn a_fence_ends_on_a_line_of_its_own() {
        let fence = Fence::new(&["x"]);
        for content in ["x", "x\n"] {
            assert!(fence.data("t", content).contains("\nx\n>>>>END DATA"));
        }
    }
}
