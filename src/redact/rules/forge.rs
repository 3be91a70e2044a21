//! GitLab, GitHub, Bitbucket and other forges.

use crate::redact::rule::{Charset, Rule, Shape};

pub(in crate::redact) static RULES: &[Rule] = &[Rule {
    name: "GITLAB_PAT",
    shape: Shape::Prefixed { prefixes: &["glpat-"], body: Charset::Dotted, len: (20, 300) },
    entropy: 0.0,
    allow: &[],
    hits: &[
        ("token: glpat-Zx81kQm3Lw09vTb7Rn5c", "glpat-Zx81kQm3Lw09vTb7Rn5c"),
    ],
    misses: &["see glpat- prefixes"],
}];
