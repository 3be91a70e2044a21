//! The agent's eyes: what the tools answer, and who may ask.

mod programs;
mod socket;
mod support;
mod tools;
