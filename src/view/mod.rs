//! What people look at: the terminal, failures explained, reports.

mod plain;

pub use plain::{config, document, failure, schema};
