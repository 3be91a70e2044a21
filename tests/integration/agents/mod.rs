//! Agents: real processes, real CLIs, loopback model servers.

mod binary;
mod clis;
mod conversations;
mod cursor;
mod hostile;
mod logins;
pub(crate) mod model;
mod process;
pub(crate) mod real;
mod reasons;
mod recipes;
mod seal;
mod standins;
pub(crate) mod support;
mod vendors;
