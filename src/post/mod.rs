//! What is written to a merge request: places, bodies, and the plan that lists them.

pub mod position;
pub mod sanitize;
pub mod timezone;

#[cfg(test)]
pub(crate) mod oracle;
