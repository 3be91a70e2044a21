//! What is forgiven in a review, and what is said about one that does not hold.

use serde_json::Value;

use crate::contracts::AgentFinding;

/// Words in any case, numbers in quotes, a range without its end: each can only mean one thing. Facts about the review
/// are never the agent's to set.
pub(super) fn forgive(review: &mut Value) {
    let Some(members) = review.as_object_mut() else { return };
    members.shift_remove("meta");
    for finding in members.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(finding) = finding.as_object_mut() else { continue };
        for key in ["severity", "category"] {
            if let Some(Value::String(word)) = finding.get_mut(key) {
                *word = word.trim().to_ascii_lowercase();
            }
        }
        for key in ["line_start", "line_end"] {
            if let Some(number) = finding.get(key).and_then(whole_number) {
                finding.insert(key.into(), number.into());
            }
        }
        if finding.get("line_end").is_none_or(Value::is_null)
            && let Some(start) = finding.get("line_start").and_then(Value::as_i64)
        {
            finding.insert("line_end".into(), start.into());
        }
        if let Some(Value::String(format)) =
            finding.get_mut("suggested_patch").and_then(|patch| patch.get_mut("format"))
        {
            *format = format.trim().to_ascii_lowercase();
        }
    }
}

/// `"10"` and `10.0` are 10.
fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) if number.as_i64().is_none() => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15)?;
            format!("{float:.0}").parse().ok()
        }
        _ => None,
    }
}

/// Everything that keeps an object from being a review, worst first.
pub(super) fn complaints(value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    match value.get("summary_markdown") {
        Some(Value::String(_)) => {}
        Some(other) => errors.push(format!("summary_markdown: expected a string, found {}", kind(other))),
        None => errors.push("missing field `summary_markdown`".into()),
    }
    match value.get("findings") {
        Some(Value::Array(findings)) => {
            errors.extend(findings.iter().enumerate().filter_map(|(index, finding)| finding_complaint(index, finding)));
        }
        Some(other) => errors.push(format!("findings: expected an array, found {}", kind(other))),
        None => errors.push("missing field `findings`".into()),
    }
    errors
}

fn finding_complaint(index: usize, finding: &Value) -> Option<String> {
    const REQUIRED: [&str; 6] = ["severity", "category", "path", "line_start", "line_end", "body_markdown"];
    let error = serde_path_to_error::deserialize::<_, AgentFinding>(finding).err()?;
    if let Some(members) = finding.as_object() {
        let missing: Vec<_> =
            REQUIRED.iter().filter(|key| !members.contains_key(**key)).map(|key| format!("`{key}`")).collect();
        if !missing.is_empty() {
            return Some(format!("findings[{index}]: missing {}", missing.join(", ")));
        }
    }
    let path = error.path().to_string();
    let prefix = if path == "." { format!("findings[{index}]") } else { format!("findings[{index}].{path}") };
    Some(format!("{prefix}: {}", error.inner()))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
