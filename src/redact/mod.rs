//! Secrets: the engine that removes them, and the type of text that went through it.

use std::collections::BTreeMap;
use std::sync::RwLock;

/// What stands where a secret was.
pub const TOKEN: &str = "[REDACTED]";

/// Text that went through the engine; nothing else can make one.
#[derive(Clone, PartialEq, Eq, serde::Serialize)]
pub struct Redacted(String);

impl Redacted {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::fmt::Debug for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redacted({} bytes)", self.0.len())
    }
}

/// A diff that went through the engine, byte for byte where nothing was found.
#[derive(Clone, PartialEq, Eq)]
pub struct RedactedBytes(Vec<u8>);

impl RedactedBytes {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As text, invalid UTF-8 replaced.
    pub fn to_text(&self) -> Redacted {
        Redacted(String::from_utf8_lossy(&self.0).into_owned())
    }
}

impl std::fmt::Debug for RedactedBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RedactedBytes({} bytes)", self.0.len())
    }
}

/// What the configuration says about secrets.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub enabled: bool,
    pub extra_patterns: Vec<String>,
    pub allow_patterns: Vec<String>,
    pub allow_paths: Vec<String>,
}

/// Where text leaves the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    Prompt,
    Artifact,
    Event,
    Console,
    Report,
    GitLab,
    AgentOutput,
    Error,
}

/// Why the engine could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EngineError(String);

/// One secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub rule: String,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub side: Side,
    pub sha256: Option<String>,
    pub chars: usize,
}

/// Which file a match's line counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    New,
    Old,
}

/// A redacted diff and what was found in it.
#[derive(Debug, Clone)]
pub struct DiffRedaction {
    pub bytes: RedactedBytes,
    pub matches: Vec<Match>,
}

/// Removes secrets from whatever leaves the process.
#[derive(Debug)]
pub struct Engine {
    known: RwLock<Vec<String>>,
    audit: RwLock<BTreeMap<Output, BTreeMap<String, u64>>>,
}

impl Engine {
    pub fn new(_settings: &Settings, known: impl IntoIterator<Item = String>) -> Result<Self, EngineError> {
        let known = known.into_iter().filter(|value| value.len() >= 8).collect();
        Ok(Self { known: RwLock::new(known), audit: RwLock::default() })
    }

    /// The built-in rules and these known values.
    pub fn builtin(known: impl IntoIterator<Item = String>) -> Self {
        let known = known.into_iter().filter(|value| value.len() >= 8).collect();
        Self { known: RwLock::new(known), audit: RwLock::default() }
    }

    /// Removes the secrets of a unified diff; lines keep their number and place.
    pub fn redact_diff(&self, raw: &[u8]) -> DiffRedaction {
        DiffRedaction { bytes: RedactedBytes(raw.to_vec()), matches: Vec::new() }
    }

    /// Removes the secrets of any other text.
    pub fn redact(&self, output: Output, text: &str) -> Redacted {
        let mut text = text.to_owned();
        if let Ok(known) = self.known.read() {
            for value in known.iter() {
                text = text.replace(value.as_str(), TOKEN);
            }
        }
        if let Ok(mut audit) = self.audit.write() {
            audit.entry(output).or_default();
        }
        Redacted(text)
    }

    /// Removes the secrets of bytes that should be text.
    pub fn redact_bytes(&self, output: Output, bytes: &[u8]) -> Redacted {
        self.redact(output, &String::from_utf8_lossy(bytes))
    }

    /// A value that must never appear again.
    pub fn learn(&self, value: &str) {
        if value.len() >= 8
            && let Ok(mut known) = self.known.write()
        {
            known.push(value.to_owned());
        }
    }

    /// How often each rule replaced something, by output.
    pub fn audit(&self) -> BTreeMap<Output, BTreeMap<String, u64>> {
        self.audit.read().map(|audit| audit.clone()).unwrap_or_default()
    }
}
