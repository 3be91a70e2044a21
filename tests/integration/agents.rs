//! Agents: real processes, real CLIs, loopback model servers.

mod clis;
mod cursor;
mod hostile;
mod model;
mod process;
mod support;
