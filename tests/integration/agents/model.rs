//! A loopback model server that speaks what the agents' programs speak: OpenAI's Responses and Chat Completions,
//! Anthropic's Messages and Google's generateContent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How the model behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Answers with the reply.
    Answers,
    /// Refuses to answer.
    Refuses,
    /// Ends in the middle for want of tokens.
    CutOff,
    /// An HTTP error.
    Status(u16),
    /// Begins to answer and never goes on.
    Stalls,
    /// Takes the request and says nothing, ever.
    Silent,
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The header lines, with lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Received {
    /// Everything in it as one text, to look for what must not be there.
    pub(crate) fn text(&self) -> String {
        format!("{} {} {:?} {}", self.method, self.path, self.headers, self.body)
    }
}

/// The server; it ends when it is dropped.
pub(crate) struct Model {
    address: String,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Drop for Model {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Model {
    pub(crate) async fn start(mode: Mode, reply: &str) -> Self {
        Self::after(Duration::ZERO, mode, reply).await
    }

    /// One that thinks for so long before it answers.
    pub(crate) async fn slow(thinks: Duration, reply: &str) -> Self {
        Self::after(thinks, Mode::Answers, reply).await
    }

    async fn after(thinks: Duration, mode: Mode, reply: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (seen, reply) = (Arc::clone(&received), reply.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, reply) = (Arc::clone(&seen), reply.clone());
                tokio::spawn(async move {
                    let _ = serve(stream, thinks, mode, &reply, &seen).await;
                });
            }
        });
        Self { address, received, task }
    }

    /// The server's root.
    pub(crate) fn url(&self) -> &str {
        &self.address
    }

    /// Everything that arrived.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Everything that arrived since the last look.
    pub(crate) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.received.lock().unwrap())
    }

    /// The requests for an answer.
    pub(crate) fn questions(&self) -> Vec<Received> {
        const ENDS: [&str; 4] = ["/responses", "/chat/completions", "/messages", ":streamGenerateContent"];
        self.received().into_iter().filter(|seen| ENDS.iter().any(|end| endpoint(&seen.path).ends_with(end))).collect()
    }
}

pub(crate) fn endpoint(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

/// One connection, one request: every answer closes it.
async fn serve(
    stream: TcpStream,
    thinks: Duration,
    mode: Mode,
    reply: &str,
    seen: &Mutex<Vec<Received>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let Some(request) = receive(&mut stream).await? else { return Ok(()) };
    seen.lock().unwrap().push(request.clone());
    let mut stream = stream.into_inner();
    if request.method != "POST" {
        return respond(&mut stream, 404, &json!({"error": {"message": "not found"}})).await;
    }
    match mode {
        Mode::Silent => std::future::pending().await,
        Mode::Status(status) => return respond(&mut stream, status, &error_body(&request.path, status)).await,
        _ => {}
    }
    tokio::time::sleep(thinks).await;
    let events = answer(&request, mode, reply);
    if endpoint(&request.path).ends_with(":generateContent") {
        return respond(&mut stream, 200, &events[0]).await;
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    for (index, event) in events.iter().enumerate() {
        if mode == Mode::Stalls && index == 1 {
            stream.flush().await?;
            std::future::pending::<()>().await;
        }
        let name = event["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
        stream.write_all(format!("{name}data: {event}\n\n").as_bytes()).await?;
    }
    if endpoint(&request.path).ends_with("/chat/completions") {
        stream.write_all(b"data: [DONE]\n\n").await?;
    }
    stream.shutdown().await
}

pub(crate) async fn receive(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Received>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut bytes = Vec::new();
    if header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size).await?;
            let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).await?;
            if size == 0 {
                break;
            }
            bytes.extend_from_slice(&chunk[..size]);
        }
    } else {
        bytes.resize(header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0), 0);
        stream.read_exact(&mut bytes).await?;
    }
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into());
    Ok(Some(Received { method, path, headers, body }))
}

pub(crate) async fn respond(stream: &mut TcpStream, status: u16, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let retry = if status == 429 { "retry-after: 1\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n{retry}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

fn error_body(path: &str, status: u16) -> Value {
    let (kind, message) = match status {
        401 => ("authentication_error", "the synthetic key is not valid"),
        429 => ("rate_limit_error", "synthetic rate limit reached"),
        _ => ("server_error", "synthetic server failure"),
    };
    if path.contains("generateContent") || path.contains(":streamGenerateContent") {
        return json!({"error": {"code": status, "message": message, "status": "SYNTHETIC"}});
    }
    json!({"type": "error", "error": {"type": kind, "message": message, "param": null, "code": null}})
}

/// The events of an answer, as the asked endpoint streams them.
fn answer(request: &Received, mode: Mode, reply: &str) -> Vec<Value> {
    let path = endpoint(&request.path);
    if path.ends_with("/responses") {
        responses(mode, reply)
    } else if path.ends_with("/chat/completions") {
        chat(mode, reply)
    } else if path.ends_with("/messages") {
        messages(request, mode, reply)
    } else {
        generate(mode, reply)
    }
}

fn half(text: &str) -> &str {
    let mut at = text.len() / 2;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

fn responses(mode: Mode, reply: &str) -> Vec<Value> {
    let usage = json!({
        "input_tokens": 1234, "input_tokens_details": {"cached_tokens": 1000},
        "output_tokens": 56, "output_tokens_details": {"reasoning_tokens": 7}, "total_tokens": 1290
    });
    let created = json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress", "output": []}});
    if mode == Mode::CutOff {
        let end = json!({
            "type": "response.incomplete",
            "response": {"id": "r1", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "usage": usage}
        });
        return vec![created, end];
    }
    let part = match mode {
        Mode::Refuses => json!({"type": "refusal", "refusal": "I cannot help with that."}),
        _ => json!({"type": "output_text", "text": reply, "annotations": []}),
    };
    let item = json!({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let completed = json!({
        "type": "response.completed",
        "response": {"id": "r1", "status": "completed", "output": [item], "usage": usage}
    });
    vec![created, done, completed]
}

fn chat(mode: Mode, reply: &str) -> Vec<Value> {
    let chunk = |delta: Value, end: Option<&str>| {
        json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
            "usage": {"prompt_tokens": 1234, "completion_tokens": 56, "total_tokens": 1290,
                      "prompt_tokens_details": {"cached_tokens": 1000}}
        })
    };
    let (text, end) = match mode {
        Mode::CutOff => (half(reply), "length"),
        Mode::Refuses => ("", "content_filter"),
        _ => (reply, "stop"),
    };
    vec![
        chunk(json!({"role": "assistant", "content": ""}), None),
        chunk(json!({"content": text}), None),
        chunk(json!({}), Some(end)),
    ]
}

/// The reply is a call of the structured-output tool where that is offered, then a closing text.
fn messages(request: &Received, mode: Mode, reply: &str) -> Vec<Value> {
    let usage = json!({
        "input_tokens": 234, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 56
    });
    let offered = request.body["tools"]
        .as_array()
        .is_some_and(|tools| tools.iter().any(|tool| tool["name"] == "StructuredOutput"));
    let structured = serde_json::from_str::<Value>(reply).ok().filter(|_| offered);
    let called = request.body["messages"].to_string().contains("\"tool_use\"");
    let (block, delta, stop) = match (mode, structured) {
        (Mode::Refuses, _) => (None, None, "refusal"),
        (_, Some(_)) if called => text_block("Done."),
        (_, Some(input)) => (
            Some(json!({"type": "tool_use", "id": "t1", "name": "StructuredOutput", "input": {}})),
            Some(json!({"type": "input_json_delta", "partial_json": input.to_string()})),
            "tool_use",
        ),
        (_, None) => text_block(reply),
    };
    let mut events = vec![json!({
        "type": "message_start",
        "message": {"id": "m1", "type": "message", "role": "assistant", "model": request.body["model"], "content": [],
                    "stop_reason": null, "stop_sequence": null, "usage": usage}
    })];
    if let (Some(block), Some(delta)) = (block, delta) {
        events.push(json!({"type": "content_block_start", "index": 0, "content_block": block}));
        events.push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": 0}));
    }
    events
        .push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn text_block(text: &str) -> (Option<Value>, Option<Value>, &'static str) {
    (Some(json!({"type": "text", "text": ""})), Some(json!({"type": "text_delta", "text": text})), "end_turn")
}

fn generate(mode: Mode, reply: &str) -> Vec<Value> {
    let chunk = |text: &str, end: Option<&str>| {
        let mut candidate = json!({"content": {"role": "model", "parts": [{"text": text}]}, "index": 0});
        if let Some(end) = end {
            candidate["finishReason"] = end.into();
        }
        json!({
            "candidates": [candidate], "modelVersion": "m",
            "usageMetadata": {"promptTokenCount": 1234, "candidatesTokenCount": 56, "totalTokenCount": 1290,
                              "cachedContentTokenCount": 1000, "thoughtsTokenCount": 7}
        })
    };
    match mode {
        Mode::Refuses => vec![chunk("", Some("SAFETY"))],
        Mode::CutOff => vec![chunk(half(reply), None), chunk("", Some("MAX_TOKENS"))],
        _ => vec![chunk(reply, None), chunk("", Some("STOP"))],
    }
}
