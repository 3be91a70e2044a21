//! Integration tests: they run the binary.

mod gitlab;
mod gitlab_client;
