//! Text that has been through the engine.

use std::fmt;

use serde::{Serialize, Serializer};

/// Text without secrets; only the engine can make one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Redacted(String);

impl Redacted {
    pub(super) fn new(text: String) -> Self {
        Self(text)
    }

    /// Several texts as one.
    pub fn concat(texts: &[Self]) -> Self {
        Self(texts.iter().map(Self::as_str).collect())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, to build upon.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redacted({} bytes)", self.0.len())
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for Redacted {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Serialize for Redacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A diff without secrets, as bytes: it may hold files that are not UTF-8.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct RedactedBytes(Vec<u8>);

impl RedactedBytes {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As text, without a copy where it is UTF-8.
    pub fn into_text(self) -> Redacted {
        let lossy = |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
        Redacted(String::from_utf8(self.0).unwrap_or_else(lossy))
    }

    /// As text; what is not UTF-8 becomes the replacement character.
    pub fn to_text(&self) -> Redacted {
        Redacted(String::from_utf8_lossy(&self.0).into_owned())
    }
}

impl fmt::Debug for RedactedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedactedBytes({} bytes)", self.0.len())
    }
}
