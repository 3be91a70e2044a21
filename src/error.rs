//! One error for the whole program: what failed, under which stable code, and what to do next.

use std::error::Error as StdError;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::contracts::{ErrorCode, ErrorInfo};
use crate::redact::{Engine, Output};

/// Most characters of a cause or a context value that are kept.
const CLIP: usize = 2_000;

/// Every exit code of the program, with its meaning.
pub const EXIT_CODES: [(u8, &str); 7] = [
    (0, "done, or skipped for a good reason"),
    (1, "the run failed"),
    (2, "usage or configuration is wrong"),
    (3, "the review is fine but the gate says no"),
    (129, "ended by SIGHUP"),
    (130, "ended by SIGINT"),
    (143, "ended by SIGTERM"),
];

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can end a run, one variant per stable code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Config(Box<Failure>),
    #[error(transparent)]
    DiffFetch(Box<Failure>),
    #[error(transparent)]
    DiffParse(Box<Failure>),
    #[error(transparent)]
    Redaction(Box<Failure>),
    #[error(transparent)]
    GitlabPrior(Box<Failure>),
    #[error(transparent)]
    AgentExec(Box<Failure>),
    #[error(transparent)]
    AgentOutput(Box<Failure>),
    #[error(transparent)]
    Format(Box<Failure>),
    #[error(transparent)]
    GitlabAuth(Box<Failure>),
    #[error(transparent)]
    GitlabPosition(Box<Failure>),
    #[error(transparent)]
    GitlabPost(Box<Failure>),
    #[error(transparent)]
    ArtifactWrite(Box<Failure>),
    #[error(transparent)]
    Apply(Box<Failure>),
    #[error("stopped by {signal}")]
    Interrupted { signal: Signal },
}

/// A signal that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Int,
    Term,
    Hup,
}

impl std::fmt::Display for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Int => "SIGINT",
            Self::Term => "SIGTERM",
            Self::Hup => "SIGHUP",
        })
    }
}

/// One failure in words: what was being done to what, why it failed, what to do next.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    message: String,
    help: Option<String>,
    context: Map<String, Value>,
    cause: Option<String>,
    retryable: bool,
}

impl Failure {
    /// A failure with its whole message: what was being done, to what, and why it failed.
    pub fn new(message: impl Into<String>) -> Box<Self> {
        Box::new(Self { message: message.into(), help: None, context: Map::new(), cause: None, retryable: false })
    }

    /// What to do next.
    pub fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }

    /// A fact for scripts.
    pub fn with(mut self: Box<Self>, key: &str, value: impl Into<Value>) -> Box<Self> {
        self.context.insert(key.to_owned(), value.into());
        self
    }

    /// The error underneath, with its whole chain.
    pub fn caused_by(mut self: Box<Self>, cause: &dyn StdError) -> Box<Self> {
        self.cause = Some(chain(cause));
        self
    }

    /// What another program said about it.
    pub fn said(mut self: Box<Self>, words: impl Into<String>) -> Box<Self> {
        self.cause = Some(words.into());
        self
    }

    /// The same run may succeed later without any change.
    pub fn retryable(mut self: Box<Self>) -> Box<Self> {
        self.retryable = true;
        self
    }
}

impl Error {
    /// GitLab does not know the token at all, as opposed to allowing it too little.
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::GitlabAuth(failure) if failure.context.get("http_status") == Some(&401.into()))
    }

    /// The stable name of this failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Config(_) => ErrorCode::ConfigParseError,
            Self::DiffFetch(_) => ErrorCode::DiffFetchFailed,
            Self::DiffParse(_) => ErrorCode::DiffParseFailed,
            Self::Redaction(_) => ErrorCode::RedactionEngineFailed,
            Self::GitlabPrior(_) => ErrorCode::GitlabFetchPriorFailed,
            Self::AgentExec(_) => ErrorCode::AgentExecFailed,
            Self::AgentOutput(_) => ErrorCode::AgentOutputInvalid,
            Self::Format(_) => ErrorCode::FormatFailed,
            Self::GitlabAuth(_) => ErrorCode::GitlabAuthError,
            Self::GitlabPosition(_) => ErrorCode::GitlabPositionInvalid,
            Self::GitlabPost(_) => ErrorCode::GitlabPostFailed,
            Self::ArtifactWrite(_) => ErrorCode::ArtifactWriteFailed,
            Self::Apply(_) => ErrorCode::ApplyFailed,
            Self::Interrupted { .. } => ErrorCode::Interrupted,
        }
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) => 2,
            Self::Interrupted { signal } => signal.exit_code(),
            Self::DiffFetch(_)
            | Self::DiffParse(_)
            | Self::Redaction(_)
            | Self::GitlabPrior(_)
            | Self::AgentExec(_)
            | Self::AgentOutput(_)
            | Self::Format(_)
            | Self::GitlabAuth(_)
            | Self::GitlabPosition(_)
            | Self::GitlabPost(_)
            | Self::ArtifactWrite(_)
            | Self::Apply(_) => 1,
        }
    }

    /// The failure as it is recorded: secrets removed, long texts clipped.
    pub fn info(&self, engine: &Engine) -> ErrorInfo {
        let clean = |text: &str| clip(engine.redact(Output::Error, text).as_str(), CLIP);
        let failure = self.failure();
        ErrorInfo {
            error_code: self.code(),
            message: clean(&self.to_string()),
            retryable: failure.is_some_and(|failure| failure.retryable),
            context: failure.map(|failure| clean_map(&failure.context, &clean)).unwrap_or_default(),
            cause: failure.and_then(|failure| failure.cause.as_deref()).map(clean),
            help: failure.and_then(|failure| failure.help.as_deref()).map(clean),
        }
    }

    fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Config(failure)
            | Self::DiffFetch(failure)
            | Self::DiffParse(failure)
            | Self::Redaction(failure)
            | Self::GitlabPrior(failure)
            | Self::AgentExec(failure)
            | Self::AgentOutput(failure)
            | Self::Format(failure)
            | Self::GitlabAuth(failure)
            | Self::GitlabPosition(failure)
            | Self::GitlabPost(failure)
            | Self::ArtifactWrite(failure)
            | Self::Apply(failure) => Some(failure),
            Self::Interrupted { .. } => None,
        }
    }
}

impl Signal {
    /// 128 and the signal's number, as a shell reports it.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Hup => 129,
            Self::Int => 130,
            Self::Term => 143,
        }
    }
}

/// The first `most` characters; what was cut is said by an ellipsis.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// An error and its sources, outermost first.
pub fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let line = cause.to_string();
        if !text.ends_with(&line) {
            let _ = write!(text, ": {line}");
        }
        next = cause.source();
    }
    text
}

fn clean_map(map: &Map<String, Value>, clean: &impl Fn(&str) -> String) -> Map<String, Value> {
    map.iter().map(|(key, value)| (key.clone(), clean_value(value, clean))).collect()
}

fn clean_value(value: &Value, clean: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(clean(text)),
        Value::Array(values) => values.iter().map(|value| clean_value(value, clean)).collect(),
        Value::Object(map) => Value::Object(clean_map(map, clean)),
        other => other.clone(),
    }
}
