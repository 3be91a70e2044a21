//! Integration tests: they run the binary against real repositories, processes and servers.
#![expect(clippy::disallowed_methods, reason = "tests prepare their own folders and environment")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod agents;
mod answers;
mod anywhere;
mod apply;
mod attacks;
mod commands;
mod configuration;
mod context;
mod contract;
mod conversation;
mod coverage;
mod diff_fetch_ci;
mod diff_fetch_local;
mod diff_hidden;
mod diff_parse;
mod diff_prepare;
mod diff_runs;
mod docs;
mod doctor_table;
mod failures;
mod forge;
mod gitlab;
mod gitlab_client;
mod gitlab_tls;
mod hooks;
mod local_reviews;
mod next_steps;
mod parts;
mod pipelines;
mod policy;
mod posting;
mod posting_runs;
mod read_back;
mod readers;
mod report;
mod report_browser;
mod reviews;
mod sandbox;
mod scene;
mod secrets;
mod terminal;
mod tidy;
mod view;
