//! Removes secrets from everything that leaves the process.

mod rule;
mod rules;
