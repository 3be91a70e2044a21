//! A document that is signed as it stands on disk: what is verified later is these bytes, not a value read from them.

use serde::Serialize;

use super::{Artifact, Workdir};
use crate::error::Result;

/// The last member of a signed document.
const UNSIGNED: &str = "\"signature\": \"\"";

impl Workdir {
    /// A JSON artifact with a signature over what it is without one.
    pub fn sealed_json<T: Serialize>(
        &self,
        artifact: Artifact,
        value: &T,
        sign: impl FnOnce(&str) -> String,
    ) -> Result<()> {
        let value = serde_json::to_value(value).unwrap_or_default();
        let text = String::from_utf8_lossy(&self.document(value)).into_owned();
        let signature = sign(&text);
        self.write(artifact, sealed(&text, &signature).as_bytes())
    }
}

fn signed(signature: &str) -> String {
    format!("\"signature\": \"{signature}\"")
}

fn sealed(text: &str, signature: &str) -> String {
    replace_last(text, UNSIGNED, &signed(signature)).unwrap_or_else(|| text.to_owned())
}

/// The document as it was signed.
pub fn unsealed(text: &str, signature: &str) -> Option<String> {
    replace_last(text, &signed(signature), UNSIGNED)
}

/// Within a JSON string the quotes of these words are escaped, so they stand in a document once.
fn replace_last(text: &str, old: &str, new: &str) -> Option<String> {
    let at = text.rfind(old)?;
    Some(format!("{}{new}{}", &text[..at], &text[at + old.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_signed_comes_back_and_a_text_with_the_same_words_is_left_alone() {
        let value = serde_json::json!({ "body": "a \"signature\": \"\" b", "signature": "" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let document = sealed(&text, "0a1b");
        assert!(document.ends_with("\"signature\": \"0a1b\"\n}"), "{document}");
        assert_eq!(unsealed(&document, "0a1b").as_deref(), Some(text.as_str()));
        assert_eq!(unsealed(&document, "ffff"), None);
    }
}
