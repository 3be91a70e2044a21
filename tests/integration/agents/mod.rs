//! Agents: real processes, real CLIs, loopback model servers.

mod binary;
mod clis;
mod cursor;
mod hostile;
pub(crate) mod model;
mod process;
mod recipes;
mod seal;
pub(crate) mod support;
