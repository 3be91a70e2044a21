//! Agents: real processes, real CLIs, loopback model servers.

mod binary;
mod clis;
mod cursor;
mod hostile;
mod model;
mod process;
mod recipes;
mod seal;
mod support;
