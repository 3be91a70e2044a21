//! What an agent answered, made into a review that holds, or into reasons why it does not.

mod extract;
mod lexical;
pub mod schema;

pub use extract::{MAX_ANSWER_BYTES, ParseProblems, Parsed, parse_answer};

#[cfg(test)]
mod answer_shapes;
