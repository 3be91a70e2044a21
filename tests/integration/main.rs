//! Integration tests: they run the binary against real repositories, processes and servers.
#![expect(clippy::disallowed_methods, reason = "tests prepare their own folders and environment")]

mod agents;
mod docs;
mod failures;
mod gitlab;
mod gitlab_client;
mod sandbox;
mod tidy;
