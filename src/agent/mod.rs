//! Agents.

pub mod builtin;
pub mod process;
