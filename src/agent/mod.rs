//! The programs that review.

pub mod builtin;
