//! diffsan: safe AI code review for GitLab merge requests.

pub mod agent;
pub mod child;
pub mod cli;
pub mod clock;
pub mod config;
pub mod console;
pub mod contracts;
pub mod diff;
pub mod error;
pub mod events;
pub mod gitlab;
pub mod pipeline;
pub mod post;
pub mod prepare;
pub mod prior;
pub mod prompt;
pub mod redact;
pub mod skip;
pub mod validate;
pub mod view;
pub mod workdir;
