//! What the vendors' servers say when they turn a request away, in their own words.

use serde_json::{Value, json};

use super::model::Received;

/// The body of an error, in the language of the asked endpoint.
pub(crate) fn refusal(request: &Received, status: u16) -> Value {
    let path = request.path.as_str();
    if path.contains("enerateContent") {
        google(status)
    } else if path.contains("/messages") {
        anthropic(status)
    } else {
        let is_given = |(name, value): &(String, String)| name == "authorization" && value.trim() != "Bearer";
        openai(status, request.headers.iter().any(is_given))
    }
}

fn openai(status: u16, has_key: bool) -> Value {
    let (kind, code, message) = match status {
        401 if !has_key => ("invalid_request_error", None, "Missing bearer or basic authentication in header"),
        401 => (
            "invalid_request_error",
            Some("invalid_api_key"),
            "Incorrect API key provided: s. You can find your API key at https://platform.openai.com/account/api-keys.",
        ),
        404 => (
            "invalid_request_error",
            Some("model_not_found"),
            "The model `no-such-model` does not exist or you do not have access to it.",
        ),
        429 => (
            "insufficient_quota",
            Some("insufficient_quota"),
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        _ => ("server_error", None, "The server had an error while processing your request. Sorry about that!"),
    };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn anthropic(status: u16) -> Value {
    let (kind, message) = match status {
        400 => ("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        401 => ("authentication_error", "invalid x-api-key"),
        404 => ("not_found_error", "model: no-such-model"),
        429 => ("rate_limit_error", "This request would exceed your organization's rate limit of 50,000 input tokens."),
        _ => ("api_error", "Internal server error"),
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
}

fn google(status: u16) -> Value {
    let detail = |kind: &str, more: Value| {
        let mut detail = json!({"@type": format!("type.googleapis.com/google.rpc.{kind}")});
        detail.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([detail])
    };
    let (name, message, details) = match status {
        400 => (
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            detail("ErrorInfo", json!({"reason": "API_KEY_INVALID", "domain": "googleapis.com"})),
        ),
        401 => ("UNAUTHENTICATED", "Request had invalid authentication credentials.", json!([])),
        404 => (
            "NOT_FOUND",
            "models/no-such-model is not found for API version v1beta, or is not supported for generateContent.",
            json!([]),
        ),
        429 => (
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
            detail(
                "QuotaFailure",
                json!({"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}),
            ),
        ),
        _ => ("INTERNAL", "An internal error has occurred.", json!([])),
    };
    json!({"error": {"code": status, "message": message, "status": name, "details": details}})
}
