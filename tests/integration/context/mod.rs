//! The agent's eyes: what the tools answer, and who may ask.

mod socket;
mod support;
mod tools;
