//! Agents: real processes, real CLIs, loopback model servers.

mod process;
mod support;
