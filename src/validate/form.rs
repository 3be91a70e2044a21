//! The form of an answer: its schema, how an object is known to be meant as one, and what is forgiven in it.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{review, schema};
use crate::contracts::AgentReviewOutput;

/// What an answer can be read into.
pub trait Reply: Serialize + DeserializeOwned + JsonSchema + PartialEq {}

impl<T: Serialize + DeserializeOwned + JsonSchema + PartialEq> Reply for T {}

/// The form of one kind of answer.
#[derive(Debug)]
pub struct Form<T> {
    /// What it is called in messages: `review`.
    pub name: &'static str,
    /// Keys of its object: one that has any of them is meant as an answer.
    pub keys: &'static [&'static str],
    strict: Value,
    shown: Value,
    /// Puts right what can only mean one thing.
    pub(super) forgive: fn(&mut Value),
    /// Everything that is wrong with an object; empty: what the type says is all there is to say.
    pub(super) complain: fn(&Value) -> Vec<String>,
    answer: PhantomData<fn() -> T>,
}

impl Form<AgentReviewOutput> {
    /// The review that an agent writes.
    pub fn review() -> Self {
        let form = Self::new("review", &["summary_markdown", "findings"]);
        Self { forgive: review::forgive, complain: review::complaints, ..form }
    }
}

impl<T: Reply> Form<T> {
    /// A form that forgives nothing.
    pub fn new(name: &'static str, keys: &'static [&'static str]) -> Self {
        let (strict, shown) = (schema::strict_of::<T>(), schema::plain_of::<T>());
        Self { name, keys, strict, shown, forgive: |_| {}, complain: |_| Vec::new(), answer: PhantomData }
    }

    /// The schema for agents that enforce one.
    pub fn strict_schema(&self) -> &Value {
        &self.strict
    }

    /// The schema that a prompt shows, on one line.
    pub fn shown_schema(&self) -> String {
        self.shown.to_string()
    }

    /// Whether an object is meant as an answer.
    pub(super) fn is_answer(&self, value: &Value) -> bool {
        value.as_object().is_some_and(|members| self.keys.iter().any(|key| members.contains_key(*key)))
    }

    /// Whether a text may hold one.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        self.keys.iter().any(|key| text.contains(key))
    }

    /// Whether an object has no key that the schema does not have: a repair that turned text into keys has torn a
    /// string apart.
    pub(super) fn has_only_known_keys(&self, value: &Value) -> bool {
        only_known(value, &self.strict)
    }
}

fn only_known(value: &Value, schema: &Value) -> bool {
    if let Some(variants) = schema.get("anyOf").and_then(Value::as_array) {
        return variants.iter().any(|variant| only_known(value, variant));
    }
    match value {
        Value::Object(members) => members.iter().all(|(key, member)| {
            let known = schema.get("properties").and_then(|properties| properties.get(key));
            known.is_some_and(|known| only_known(member, known))
        }),
        Value::Array(items) => {
            schema.get("items").is_some_and(|known| items.iter().all(|item| only_known(item, known)))
        }
        _ => true,
    }
}
