//! The agent's eyes: three reading tools on the reviewed code, the only ones it has.
//!
//! `tree` is what can be read, `pattern` and `search` look through it, `tools` turns a question into an answer, `budget`
//! says how much may be asked. `serve` answers over a private socket, `rpc` has the protocol's words, `peer` says who may
//! speak; `bridge` is the program that an agent's CLI starts to get there. `record` keeps what was read.

pub mod bridge;
mod budget;
mod pattern;
mod peer;
mod record;
mod rpc;
mod search;
mod serve;
mod tools;
mod tree;

pub use budget::Budget;
pub use record::{Recorder, Summary};
pub use serve::{NONCE, Pass, SOCKET, Serving, serve};
pub use tools::{Answer, Question, TOOLS, answer, has_line};
pub use tree::{Tree, TreeError};

/// Largest file that is read or searched; more is no source that anyone reads.
pub const MAX_FILE: u64 = 2 * 1024 * 1024;
