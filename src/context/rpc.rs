//! The words of MCP that a server of three tools needs: JSON-RPC 2.0, one message a line.

use serde_json::{Value, json};

use super::tools;

/// Versions of the protocol that are understood, newest first.
const VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;

/// What a message asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    /// Nothing: a notification, or an answer to a question that nobody asked.
    Nothing,
    /// This is the answer.
    Reply(Value),
    /// A tool, whose answer is to be sent with this id.
    Call { id: Value, tool: String, arguments: Value },
}

/// Reads one message.
pub(super) fn read(line: &[u8]) -> Asked {
    if line.trim_ascii().is_empty() {
        return Asked::Nothing;
    }
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Asked::Reply(error(&Value::Null, PARSE_ERROR, "this line is not JSON"));
    };
    let (Some(method), true) = (message["method"].as_str(), message.is_object()) else {
        return if message.is_object() && message.get("method").is_none() && message.get("id").is_some() {
            Asked::Nothing
        } else {
            Asked::Reply(error(&Value::Null, INVALID_REQUEST, "this is no request"))
        };
    };
    let Some(id) = message.get("id").filter(|id| id.is_string() || id.is_number()) else { return Asked::Nothing };
    let params = &message["params"];
    match method {
        "initialize" => Asked::Reply(result(id, initialized(params["protocolVersion"].as_str()))),
        "ping" => Asked::Reply(result(id, json!({}))),
        "tools/list" => Asked::Reply(result(id, json!({"tools": tools::offered()}))),
        "tools/call" => Asked::Call {
            id: id.clone(),
            tool: params["name"].as_str().unwrap_or_default().to_owned(),
            arguments: params["arguments"].clone(),
        },
        _ => Asked::Reply(error(id, METHOD_NOT_FOUND, "there are only the methods of tools")),
    }
}

/// The answer to a call.
pub(super) fn called(id: &Value, text: &str, is_error: bool) -> Value {
    result(id, json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
}

/// What is said about a line that is too long to be read.
pub(super) fn too_long(most: usize) -> Value {
    error(&Value::Null, INVALID_REQUEST, &format!("a message has at most {most} bytes"))
}

fn initialized(wanted: Option<&str>) -> Value {
    let version = wanted.filter(|wanted| VERSIONS.contains(wanted)).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "diffsan", "version": crate::VERSION},
    })
}

fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(line: &str) -> Value {
        match read(line.as_bytes()) {
            Asked::Reply(reply) => reply,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn a_session_is_opened_with_a_version_that_both_know() {
        for (wanted, version) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-06-18", "2025-06-18"),
            ("1999-01-01", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            let line =
                json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": wanted}});
            assert_eq!(reply(&line.to_string())["result"]["protocolVersion"], version);
        }
    }

    #[test]
    fn garbage_is_answered_and_notifications_are_not() {
        assert_eq!(reply("{")["error"]["code"], PARSE_ERROR);
        assert_eq!(reply("\u{0}")["error"]["code"], PARSE_ERROR);
        for line in ["[]", "1", "null", "\"x\"", r#"{"method": 3, "id": 1}"#, "{}"] {
            assert_eq!(reply(line)["error"]["code"], INVALID_REQUEST, "{line}");
        }
        for line in [
            "",
            "  ",
            r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
            r#"{"method": "tools/call", "id": null, "params": {"name": "read_file"}}"#,
            r#"{"jsonrpc": "2.0", "id": 4, "result": {}}"#,
        ] {
            assert_eq!(read(line.as_bytes()), Asked::Nothing, "{line}");
        }
        let unknown = reply(r#"{"id": "x", "method": "resources/list"}"#);
        assert_eq!((&unknown["error"]["code"], &unknown["id"]), (&json!(METHOD_NOT_FOUND), &json!("x")));
    }

    #[test]
    fn a_call_keeps_its_id_and_its_arguments() {
        let line = r#"{"id": 7, "method": "tools/call", "params": {"name": "search", "arguments": {"pattern": "x"}}}"#;
        let want = Asked::Call { id: json!(7), tool: "search".into(), arguments: json!({"pattern": "x"}) };
        assert_eq!(read(line.as_bytes()), want);
        let want = Asked::Call { id: json!(8), tool: String::new(), arguments: Value::Null };
        assert_eq!(read(br#"{"id": 8, "method": "tools/call"}"#), want);
    }
}
