//! The schema of an answer, for those who must obey it: generated from the type, then made strict.
//!
//! OpenAI's strict mode wants every object closed and every key required, with `null` for what may be absent, and knows
//! neither `oneOf` nor Rust's number formats; Claude Code refuses a `$schema` of draft 2020-12. What is left after
//! [`strict_of`] pleases both.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::contracts::AgentReviewOutput;

/// The schema of a type for agents that enforce one.
pub fn strict_of<T: JsonSchema>() -> Value {
    transform::<T>(true)
}

/// The schema of a type as a prompt shows it: keys that may be absent are not required.
pub fn plain_of<T: JsonSchema>() -> Value {
    transform::<T>(false)
}

/// [`plain_of`] the review, on one line.
pub fn plain_text() -> String {
    plain_of::<AgentReviewOutput>().to_string()
}

fn transform<T: JsonSchema>(strict: bool) -> Value {
    let generated = schemars::schema_for!(T).to_value();
    let definitions = generated.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    node(&generated, &definitions, strict)
}

/// One node, with its references replaced by what they name.
fn node(schema: &Value, definitions: &Map<String, Value>, strict: bool) -> Value {
    let mut out = Map::new();
    let named = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
    if let Some(Value::Object(target)) =
        named.and_then(|name| definitions.get(name)).map(|target| node(target, definitions, strict))
    {
        out = target;
    }
    if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
        out.insert("type".into(), json!("string"));
        out.insert("enum".into(), variants.iter().filter_map(|variant| variant.get("const")).cloned().collect());
    }
    for key in ["type", "enum"] {
        if let Some(value) = schema.get(key) {
            out.insert(key.into(), value.clone());
        }
    }
    if let Some(said) = description(schema) {
        out.insert("description".into(), said.into());
    }
    if let Some(variants) = schema.get("anyOf").and_then(Value::as_array) {
        out.insert("anyOf".into(), variants.iter().map(|variant| node(variant, definitions, strict)).collect());
    }
    if let Some(items) = schema.get("items") {
        out.insert("items".into(), node(items, definitions, strict));
    }
    if let Some(members) = schema.get("properties").and_then(Value::as_object) {
        let required = match strict {
            true => members.keys().cloned().map(Value::from).collect(),
            false => schema.get("required").cloned().unwrap_or_else(|| json!([])),
        };
        let members = members.iter().map(|(name, member)| (name.clone(), node(member, definitions, strict)));
        out.insert("properties".into(), Value::Object(members.collect()));
        out.insert("required".into(), required);
        out.insert("additionalProperties".into(), json!(false));
    }
    Value::Object(out)
}

/// What a node says of itself, and of each value it lists.
fn description(schema: &Value) -> Option<String> {
    let said = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    let Some(variants) = schema.get("oneOf").and_then(Value::as_array) else { return said };
    let each = variants.iter().filter_map(|variant| {
        Some(format!("{}: {}", variant.get("const")?.as_str()?, variant.get("description")?.as_str()?))
    });
    let each = each.collect::<Vec<_>>().join(" ");
    Some(said.map_or_else(|| each.clone(), |said| format!("{said} {each}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict() -> Value {
        strict_of::<AgentReviewOutput>()
    }

    /// OpenAI's rules for strict schemas; what is wrong, by path.
    fn breaches(schema: &Value, path: &str, depth: usize) -> Vec<String> {
        const KNOWN: [&str; 8] =
            ["type", "properties", "required", "additionalProperties", "items", "enum", "description", "anyOf"];
        let mut found = Vec::new();
        let Some(node) = schema.as_object() else { return vec![format!("{path}: not an object")] };
        found.extend(node.keys().filter(|key| !KNOWN.contains(&key.as_str())).map(|key| format!("{path}: {key}")));
        if depth > 10 {
            found.push(format!("{path}: deeper than 10 levels"));
        }
        if !node.contains_key("type") && !node.contains_key("anyOf") {
            found.push(format!("{path}: neither type nor anyOf"));
        }
        if let Some(members) = node.get("properties").and_then(Value::as_object) {
            let required: Vec<_> = node
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            if node.get("additionalProperties") != Some(&Value::Bool(false)) {
                found.push(format!("{path}: open object"));
            }
            for (name, member) in members {
                if !required.contains(&name.as_str()) {
                    found.push(format!("{path}.{name}: not required"));
                }
                found.extend(breaches(member, &format!("{path}.{name}"), depth + 1));
            }
        }
        for (index, variant) in node.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
            found.extend(breaches(variant, &format!("{path}|{index}"), depth));
        }
        if let Some(items) = node.get("items") {
            found.extend(breaches(items, &format!("{path}[]"), depth + 1));
        }
        found
    }

    #[test]
    fn the_strict_schema_obeys_openais_rules_and_names_no_draft() {
        let schema = strict();
        assert_eq!(breaches(&schema, "$", 1), Vec::<String>::new());
        assert_eq!(schema["type"], "object");
        for refused in ["$schema", "$ref", "$defs", "oneOf", "const", "default", "2020-12", "minimum"] {
            assert!(!strict().to_string().contains(&format!("\"{refused}\"")), "{refused}");
        }
        assert!(
            strict().to_string().len() < 16 * 1024,
            "{} bytes are too many for an argument",
            strict().to_string().len()
        );
    }

    #[test]
    fn the_rule_checker_itself_finds_what_schemars_emits() {
        let generated = schemars::schema_for!(AgentReviewOutput).to_value();
        let found = breaches(&generated, "$", 1);
        assert!(found.iter().any(|breach| breach.contains("$schema")), "{found:?}");
        assert!(found.iter().any(|breach| breach.contains("open object")), "{found:?}");
    }

    #[test]
    fn what_may_be_absent_is_null_in_the_strict_schema() {
        let finding = &strict()["properties"]["findings"]["items"];
        assert_eq!(finding["properties"]["quote"]["type"], json!(["string", "null"]));
        assert_eq!(finding["properties"]["suggested_patch"]["anyOf"][1], json!({"type": "null"}));
        assert_eq!(finding["properties"]["severity"]["enum"], json!(["info", "low", "medium", "high", "critical"]));
        assert_eq!(finding["properties"]["line_start"]["type"], "integer");
    }

    #[test]
    fn the_schema_of_a_prompt_requires_only_what_must_be_there() {
        let plain: Value = serde_json::from_str(&plain_text()).unwrap();
        let finding = &plain["properties"]["findings"]["items"];
        assert_eq!(
            finding["required"],
            json!(["severity", "category", "path", "line_start", "line_end", "body_markdown"])
        );
        assert_eq!(plain["required"], json!(["summary_markdown", "findings"]));
    }

    #[test]
    fn an_answer_that_obeys_the_schema_parses() {
        let answer = json!({"summary_markdown": "s", "findings": [{
            "finding_id": null, "severity": "low", "category": "docs", "path": "a", "line_start": 1, "line_end": 1,
            "body_markdown": "b", "quote": null, "change_anchor": null, "suggested_patch": null,
        }]});
        for schema in [strict(), serde_json::from_str(&plain_text()).unwrap()] {
            let validator = jsonschema::validator_for(&schema).unwrap();
            assert!(validator.is_valid(&answer));
            assert!(!validator.is_valid(&json!({"summary_markdown": "s"})));
        }
        assert!(super::super::parse_answer(&answer.to_string()).is_ok());
    }
}
