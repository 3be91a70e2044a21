//! Agents.

pub mod process;
