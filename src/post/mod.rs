//! What is written to a merge request: places, bodies, and the plan that lists them.

pub mod sanitize;
pub mod send;
pub mod timezone;

#[cfg(test)]
pub(crate) mod oracle;
