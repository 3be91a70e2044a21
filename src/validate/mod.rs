//! What an agent answered, made into a review that holds, or into reasons why it does not.

mod extract;
mod findings;
mod lexical;
mod paths;
mod place;
pub mod schema;

pub use extract::{MAX_ANSWER_BYTES, ParseProblems, Parsed, parse_answer};
pub use findings::{Checked, check};

#[cfg(test)]
mod answer_shapes;
#[cfg(test)]
mod finding_checks;
