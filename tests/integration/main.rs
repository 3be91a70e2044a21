//! Integration tests: they run the binary.

mod agents;
