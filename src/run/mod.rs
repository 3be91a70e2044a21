//! One run and what it leaves: its record, its events, its folder, its clock, and what it says meanwhile.

pub mod clock;
pub mod console;
pub mod events;
pub(crate) mod fault;
pub mod log;
pub mod progress;
pub mod record;
pub mod workdir;
