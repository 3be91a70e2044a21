//! What is written to a merge request: places, bodies, and the plan that lists them.

pub mod guards;
pub(crate) mod links;
mod looked;
pub mod plan;
pub mod position;
pub mod protocol;
pub mod render;
pub mod sanitize;
pub mod send;
pub mod suggestion;
pub mod summary;
pub mod timezone;
pub mod wire;

#[cfg(test)]
pub(crate) mod oracle;
