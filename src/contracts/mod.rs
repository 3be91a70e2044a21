//! What goes to disk and over the wire between stages: serde types without logic, and their JSON Schemas.

pub mod agent;
pub mod config;
pub mod context;
pub mod contract;
pub mod conversation;
pub mod diff;
pub mod look;
pub mod part;
pub mod post;
pub mod prior;
pub mod review;
pub mod run;

pub use agent::*;
pub use config::*;
pub use context::*;
pub use contract::*;
pub use conversation::*;
pub use diff::*;
pub use look::*;
pub use part::*;
pub use post::*;
pub use prior::*;
pub use review::*;
pub use run::*;

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

/// Version of every JSON artifact; it grows when a reader must change.
pub const SCHEMA_VERSION: u32 = 1;

/// An artifact on disk: its version, then its fields.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Document<T> {
    /// Version of this format.
    pub schema_version: u32,
    #[serde(flatten)]
    pub body: T,
}

impl<T> Document<T> {
    /// The body under the current version.
    pub fn new(body: T) -> Self {
        Self { schema_version: SCHEMA_VERSION, body }
    }
}

/// A schema that `diffsan schema NAME` prints.
#[derive(Debug, Clone, Copy)]
pub struct NamedSchema {
    /// What to ask for.
    pub name: &'static str,
    /// The file it describes, or where the value is used.
    pub describes: &'static str,
    /// Draft 2020-12, from the Rust type.
    pub schema: fn() -> Schema,
}

/// Every schema, in the order of a run.
pub const SCHEMAS: &[NamedSchema] = &[
    NamedSchema { name: "config", describes: ".diffsan.toml", schema: || schema_for!(AppConfig) },
    NamedSchema { name: "run", describes: "run.json", schema: || schema_for!(Document<RunRecord>) },
    NamedSchema { name: "event", describes: "events.jsonl, one line", schema: || schema_for!(EventRecord) },
    NamedSchema { name: "diff", describes: "diff.json", schema: || schema_for!(Document<DiffBundle>) },
    NamedSchema {
        name: "truncation",
        describes: "truncation.json",
        schema: || schema_for!(Document<TruncationReport>),
    },
    NamedSchema { name: "redaction", describes: "redaction.json", schema: || schema_for!(Document<RedactionReport>) },
    NamedSchema { name: "anchors", describes: "anchors.json", schema: || schema_for!(Document<Anchors>) },
    NamedSchema { name: "prior_digest", describes: "prior_digest.json", schema: || schema_for!(PriorDigest) },
    NamedSchema { name: "skip", describes: "skip.json", schema: || schema_for!(Document<SkipDecision>) },
    NamedSchema {
        name: "agent_request",
        describes: "agent.request.json",
        schema: || schema_for!(Document<AgentRequest>),
    },
    NamedSchema { name: "answer", describes: "the agent's answer", schema: || schema_for!(AgentReviewOutput) },
    NamedSchema { name: "agent_run", describes: "agent.run.json", schema: || schema_for!(Document<AgentRun>) },
    NamedSchema { name: "context", describes: "context.jsonl, one line", schema: || schema_for!(ContextCall) },
    NamedSchema { name: "validation", describes: "validation.json", schema: || schema_for!(Document<Validation>) },
    NamedSchema { name: "review", describes: "review.json", schema: || schema_for!(Document<ReviewOutput>) },
    NamedSchema { name: "part", describes: "part.json", schema: || schema_for!(Document<PartReview>) },
    NamedSchema {
        name: "conversation",
        describes: "conversation.json",
        schema: || schema_for!(Document<Conversation>),
    },
    NamedSchema { name: "post_plan", describes: "post_plan.json", schema: || schema_for!(Document<PostPlan>) },
    NamedSchema { name: "post_ledger", describes: "post_ledger.jsonl, one line", schema: || schema_for!(LedgerEntry) },
    NamedSchema { name: "post_results", describes: "post_results.json", schema: || schema_for!(Document<PostResults>) },
    NamedSchema {
        name: "contract",
        describes: "what `diffsan contract` prints",
        schema: || schema_for!(Document<MachineContract>),
    },
];

/// The schema of that name.
pub fn schema(name: &str) -> Option<Schema> {
    SCHEMAS.iter().find(|known| known.name == name).map(|known| (known.schema)())
}
