//! What an agent read: a line of `context.jsonl` for each call, and the sum of a pass.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::contracts::ContextCall;
use crate::error::{Result, clip};
use crate::redact::{Engine, Output};
use crate::run::workdir::{AppendFile, Artifact, Workdir};

/// Most characters of one argument, or of an error, in the record.
const MAX_TEXT: usize = 300;
/// Most arguments of one call in the record.
const MAX_ARGUMENTS: usize = 8;

/// Writes down what is read, as it is read; all passes of a run share one.
pub struct Recorder {
    file: Mutex<AppendFile>,
    engine: Arc<Engine>,
    watch: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

/// What a pass read in all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Calls that were answered from the tree, errors included.
    pub calls: u64,
    /// Calls after the budget was used up.
    pub refused: u64,
    /// Bytes of all answers.
    pub bytes: u64,
    /// Secrets that were replaced in them.
    pub redactions: u64,
    /// The files that were read.
    pub files: BTreeSet<String>,
}

impl Recorder {
    /// One that appends to the workdir; `watch` is told in a few words what is being read.
    pub fn new(workdir: &Workdir, engine: Arc<Engine>, watch: impl Fn(&str) + Send + Sync + 'static) -> Result<Self> {
        let file = Mutex::new(workdir.append_file(Artifact::Context)?);
        // The output counts as covered from here on, read or not.
        engine.count_removed(Output::Context, []);
        Ok(Self { file, engine, watch: Box::new(watch) })
    }

    /// Tells what is being read.
    pub(super) fn begins(&self, tool: &str, arguments: &Value) {
        let what = ["path", "pattern", "glob"].iter().find_map(|name| arguments[*name].as_str()).unwrap_or_default();
        let text = self.engine.redact(Output::Console, &format!("{tool} {what}"));
        (self.watch)(&clip(text.as_str().trim_end(), 80));
    }

    /// One line; a full disk must not end the review.
    pub(super) fn line(&self, call: &ContextCall) {
        let Ok(mut line) = serde_json::to_string(call) else { return };
        line.push('\n');
        let _ = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }

    /// A text for the record.
    pub(super) fn text(&self, text: &str) -> String {
        self.engine.redact(Output::Artifact, &clip(text, MAX_TEXT)).into_string()
    }

    /// The arguments for the record: what is no plain value is left out.
    pub(super) fn arguments(&self, arguments: &Value) -> Map<String, Value> {
        let given = arguments.as_object().into_iter().flatten().take(MAX_ARGUMENTS);
        given
            .filter_map(|(name, value)| match value {
                Value::String(text) => Some((self.text(name), Value::String(self.text(text)))),
                Value::Number(_) | Value::Bool(_) => Some((self.text(name), value.clone())),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            })
            .collect()
    }
}
