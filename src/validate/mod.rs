//! What an agent answered, made into a review that holds, or into reasons why it does not.

mod extract;
mod findings;
mod form;
mod lexical;
mod paths;
mod place;
mod review;
pub mod schema;
mod shown;
mod unique;

pub use extract::{MAX_ANSWER_BYTES, ParseProblems, Parsed, parse_answer, read};
pub use findings::{Checked, check};
pub use form::{Form, Reply};
pub use shown::Shown;

#[cfg(test)]
mod answer_forgery;
#[cfg(test)]
mod answer_shapes;
#[cfg(test)]
mod finding_checks;
