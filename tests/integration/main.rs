//! Integration tests: they run the binary.
