//! What people look at: the terminal, failures explained, reports.

pub mod doctor;
pub mod explain;
pub mod init;
pub mod inspect;
mod plain;

pub use plain::{config, document, failure, schema};
