//! Every kind of secret the engine knows by its own shape, as data.

mod forge;

use super::rule::Rule;

/// The rules by group.
pub(super) static RULES: &[&[Rule]] = &[forge::RULES];
