//! A loopback model that calls tools by a script and then answers, in the languages that the agents' programs speak.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::agents::model::{Received, endpoint, receive, respond};

/// One call of the script.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The end of an offered tool's name, or the whole name of one that is not offered.
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// The server; it ends when it is dropped.
pub(crate) struct Model {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Drop for Model {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Model {
    /// Calls one tool after the other and then replies; an endless one goes on with the last call for ever.
    pub(crate) async fn start(calls: Vec<Call>, reply: &str, endless: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (seen, reply) = (Arc::clone(&received), reply.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, reply, calls) = (Arc::clone(&seen), reply.clone(), calls.clone());
                tokio::spawn(async move {
                    let _ = serve(stream, &calls, &reply, endless, &seen).await;
                });
            }
        });
        Self { url, received, task }
    }

    /// The requests for an answer, in their order.
    pub(crate) fn questions(&self) -> Vec<Received> {
        const ENDS: [&str; 4] = ["/responses", "/chat/completions", "/messages", ":streamGenerateContent"];
        let received = self.received.lock().unwrap().clone();
        received.into_iter().filter(|seen| ENDS.iter().any(|end| endpoint(&seen.path).ends_with(end))).collect()
    }

    /// Everything that reached the model, as one text.
    pub(crate) fn heard(&self) -> String {
        self.received.lock().unwrap().iter().map(Received::text).collect::<Vec<_>>().join("\n")
    }
}

async fn serve(
    stream: TcpStream,
    calls: &[Call],
    reply: &str,
    endless: bool,
    seen: &Mutex<Vec<Received>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let Some(request) = receive(&mut stream).await? else { return Ok(()) };
    seen.lock().unwrap().push(request.clone());
    let mut stream = stream.into_inner();
    if request.method != "POST" {
        return respond(&mut stream, 404, &json!({"error": {"message": "not found"}})).await;
    }
    let done = results(&request.body);
    let next = calls.get(done).or_else(|| calls.last().filter(|_| endless));
    let events = match next {
        Some(call) => {
            let name = offered(&request.body)
                .into_iter()
                .find(|name| name.ends_with(call.tool))
                .unwrap_or_else(|| call.tool.to_owned());
            ask(&request, &name, &call.arguments, done)
        }
        None => answer(&request, reply),
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    for event in &events {
        let name = event["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
        stream.write_all(format!("{name}data: {event}\n\n").as_bytes()).await?;
    }
    if endpoint(&request.path).ends_with("/chat/completions") {
        stream.write_all(b"data: [DONE]\n\n").await?;
    }
    stream.shutdown().await
}

/// Names of the tools that a request offers, those of a namespace with its name.
pub(crate) fn offered(body: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        let inner: Vec<&Value> =
            ["tools", "functionDeclarations"].iter().filter_map(|key| tool[*key].as_array()).flatten().collect();
        match tool["name"].as_str().or(tool["function"]["name"].as_str()) {
            Some(name) if inner.is_empty() => names.push(name.to_owned()),
            Some(space) => {
                names.extend(inner.iter().filter_map(|tool| Some(format!("{space}/{}", tool["name"].as_str()?))));
            }
            None => names.extend(inner.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))),
        }
    }
    names
}

/// How many results of tools are in the conversation.
fn results(body: &Value) -> usize {
    match body {
        Value::Object(map) => {
            let kind = map.get("type").and_then(Value::as_str);
            let is_result = matches!(kind, Some("function_call_output" | "tool_result" | "custom_tool_call_output"))
                || map.get("role").and_then(Value::as_str) == Some("tool")
                || map.contains_key("functionResponse");
            usize::from(is_result)
                + map.iter().filter(|(key, _)| *key != "tools").map(|(_, value)| results(value)).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(results).sum(),
        _ => 0,
    }
}

fn ask(request: &Received, name: &str, arguments: &Value, number: usize) -> Vec<Value> {
    let path = endpoint(&request.path);
    let id = format!("call_{number}");
    if path.ends_with("/responses") {
        let mut item = json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": id, "status": "completed",
            "name": name, "arguments": arguments.to_string()
        });
        if let Some((space, name)) = name.split_once('/') {
            item["namespace"] = space.into();
            item["name"] = name.into();
        }
        responses(&item)
    } else if path.ends_with("/chat/completions") {
        let call = json!({"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
        vec![
            chunk(json!({"role": "assistant", "content": null, "tool_calls": [call]}), None),
            chunk(json!({}), Some("tool_calls")),
        ]
    } else if path.ends_with("/messages") {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
        messages(request, &block, &delta, "tool_use")
    } else {
        generate(&json!({"functionCall": {"name": name, "args": arguments}}))
    }
}

fn answer(request: &Received, reply: &str) -> Vec<Value> {
    let path = endpoint(&request.path);
    if path.ends_with("/responses") {
        let part = json!({"type": "output_text", "text": reply, "annotations": []});
        responses(
            &json!({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}),
        )
    } else if path.ends_with("/chat/completions") {
        vec![chunk(json!({"role": "assistant", "content": reply}), None), chunk(json!({}), Some("stop"))]
    } else if path.ends_with("/messages") {
        let told = request.body["messages"].to_string().contains("\"StructuredOutput\"");
        let wanted = offered(&request.body).iter().any(|name| name == "StructuredOutput");
        if wanted && !told {
            let block = json!({"type": "tool_use", "id": "answer", "name": "StructuredOutput", "input": {}});
            return messages(request, &block, &json!({"type": "input_json_delta", "partial_json": reply}), "tool_use");
        }
        let text = if wanted { "Done." } else { reply };
        messages(
            request,
            &json!({"type": "text", "text": ""}),
            &json!({"type": "text_delta", "text": text}),
            "end_turn",
        )
    } else {
        generate(&json!({"text": reply}))
    }
}

fn responses(item: &Value) -> Vec<Value> {
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15
    });
    vec![
        json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": [item], "usage": usage}}),
    ]
}

fn chunk(delta: Value, end: Option<&str>) -> Value {
    json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    })
}

fn messages(request: &Received, block: &Value, delta: &Value, stop: &str) -> Vec<Value> {
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    vec![
        json!({"type": "message_start", "message": {
            "id": "m1", "type": "message", "role": "assistant", "model": request.body["model"], "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage
        }}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]
}

fn generate(part: &Value) -> Vec<Value> {
    vec![json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0, "finishReason": "STOP"}],
        "modelVersion": "m",
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    })]
}
