//! diffsan: safe AI code review for GitLab merge requests.
//!
//! A run is a line of stages: [`pipeline`] has them in order. Effects have one door each: [`config`] reads the
//! environment, [`diff::git`] runs git, [`agent`] starts agents, [`gitlab`] talks to GitLab, [`run::workdir`]
//! writes files, [`run::console`] prints, [`run::clock`] tells the time; [`policy`] says who decides. Everything else is
//! a function from values to values:
//! [`diff`], [`redact`], [`prepare`], [`passes`], [`look`], [`threads`], [`prompt`], [`validate`],
//! [`post`], [`verdict`], [`next`], [`view`]. [`contracts`] holds the types that reach disk, [`error`] what can go wrong, [`run`] what a
//! run leaves behind.

pub mod agent;
pub mod apply;
pub mod arguments;
pub mod child;
pub mod cli;
pub mod commands;
pub mod config;
pub mod context;
pub mod contracts;
pub mod diff;
pub mod doctor;
pub mod error;
pub mod gitlab;
pub mod letters;
pub mod look;
pub mod next;
pub mod passes;
pub mod pipeline;
pub mod policy;
pub mod post;
pub mod prepare;
pub mod prompt;
pub mod redact;
pub mod run;
pub mod threads;
pub mod validate;
pub mod verdict;
pub mod view;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version, the commit it was built from and the machine it was built for.
pub const BUILD: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("DIFFSAN_BUILD"), ", ", env!("DIFFSAN_TARGET"), ")");
