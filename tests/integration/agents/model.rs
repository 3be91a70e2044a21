//! A loopback model server that speaks what the agents' programs speak: OpenAI's Responses and Chat Completions,
//! Anthropic's Messages and Google's generateContent. What it says is a script: a turn for every request.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::support::eventually;
use super::vendors;

/// What the model does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    /// Says this, in the tool that takes the answer where there is one.
    Say(String),
    /// Calls a tool: the end of an offered tool's name, or the whole name of one that is not offered.
    Call(&'static str, Value),
    /// Refuses to answer.
    Refuse,
    /// Waits until this file is there, then says this.
    After(PathBuf, String),
    /// Says the half of this and ends for want of tokens.
    CutOff(String),
    /// An HTTP error, in its vendor's words.
    Fail(u16),
    /// Begins to answer and never goes on.
    Stall,
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

    fn endpoint(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }

    /// Names of the tools that the model is offered, in any of the languages and wherever they stand; those of a namespace
    /// with its name.
    pub(crate) fn tools(&self) -> Vec<String> {
        fn collect(offered: &Value, space: &str, names: &mut Vec<String>) {
            for tool in offered.as_array().into_iter().flatten() {
                let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
                let inner = [&tool["tools"], &tool["functionDeclarations"]];
                if inner.iter().all(|inner| inner.is_null()) {
                    names.push(format!("{space}{}", name.or(tool["type"].as_str()).unwrap_or("?")));
                }
                let space = name.map(|name| format!("{space}{name}/")).unwrap_or_default();
                inner.iter().for_each(|inner| collect(inner, &space, names));
            }
        }
        let mut names = Vec::new();
        collect(&self.body["tools"], "", &mut names);
        for item in self.body["input"].as_array().into_iter().flatten() {
            collect(&item["tools"], "", &mut names);
        }
        names.sort();
        names
    }

    /// The system prompt, in any of the languages.
    pub(crate) fn system(&self) -> String {
        let body = &self.body;
        let messages = ["input", "messages"].iter().filter_map(|key| body[key].as_array()).flatten();
        let roles = messages.filter(|message| message["role"] == "system" || message["role"] == "developer");
        let spoken: Vec<_> =
            roles.filter(|message| !message["content"].is_null()).map(|m| m["content"].to_string()).collect();
        format!("{}{}{}{}", body["system"], body["systemInstruction"], body["instructions"], spoken.concat())
    }
}

type Script = dyn Fn(&Received, usize) -> Turn + Send + Sync;

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
    /// One that says the same to everybody.
    pub(crate) async fn says(reply: &str) -> Self {
        Self::always(Turn::Say(reply.to_owned())).await
    }

    /// One that does the same with every request.
    pub(crate) async fn always(turn: Turn) -> Self {
        Self::start(Duration::ZERO, move |_, _| turn.clone()).await
    }

    /// One that thinks for so long before it answers.
    pub(crate) async fn slow(thinks: Duration, reply: &str) -> Self {
        let reply = reply.to_owned();
        Self::start(thinks, move |_, _| Turn::Say(reply.clone())).await
    }

    /// One that calls one tool after the other and then replies.
    pub(crate) async fn calling(calls: Vec<(&'static str, Value)>, reply: &str) -> Self {
        let reply = reply.to_owned();
        Self::scripted(move |_, done| match calls.get(done) {
            Some((tool, arguments)) => Turn::Call(tool, arguments.clone()),
            None => Turn::Say(reply.clone()),
        })
        .await
    }

    /// One that goes by a script: a request, and how many results of tools are in its conversation, to a turn.
    pub(crate) async fn scripted(script: impl Fn(&Received, usize) -> Turn + Send + Sync + 'static) -> Self {
        Self::start(Duration::ZERO, script).await
    }

    async fn start(thinks: Duration, script: impl Fn(&Received, usize) -> Turn + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (seen, script): (_, Arc<Script>) = (Arc::clone(&received), Arc::new(script));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                tokio::spawn(async move {
                    let _ = serve(stream, thinks, &*script, &seen).await;
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

    /// Everything that arrived, as one text.
    pub(crate) fn heard(&self) -> String {
        self.received().iter().map(Received::text).collect::<Vec<_>>().join("\n")
    }

    /// Everything that arrived since the last look.
    pub(crate) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut self.received.lock().unwrap())
    }

    /// The requests for an answer, in their order.
    pub(crate) fn questions(&self) -> Vec<Received> {
        const ENDS: [&str; 6] =
            ["/responses", "/chat/completions", "/messages", ":streamRawPredict", "/invoke", ":streamGenerateContent"];
        self.received().into_iter().filter(|seen| ENDS.iter().any(|end| seen.endpoint().ends_with(end))).collect()
    }
}

/// One connection, one request: every answer closes it.
async fn serve(
    stream: TcpStream,
    thinks: Duration,
    script: &Script,
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
    let turn = script(&request, done);
    match &turn {
        Turn::Silent => std::future::pending().await,
        Turn::Fail(status) => return respond(&mut stream, *status, &vendors::refusal(&request, *status)).await,
        Turn::After(file, _) => eventually("the file that the model waits for", || file.exists()).await,
        _ => {}
    }
    tokio::time::sleep(thinks).await;
    let events = events(&request, &turn, done);
    if [":generateContent", "/invoke"].iter().any(|end| request.endpoint().ends_with(end)) {
        return respond(&mut stream, 200, &events[0]).await;
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    for (index, event) in events.iter().enumerate() {
        if matches!(turn, Turn::Stall) && index == 1 {
            stream.flush().await?;
            std::future::pending::<()>().await;
        }
        let name = event["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
        stream.write_all(format!("{name}data: {event}\n\n").as_bytes()).await?;
    }
    if request.endpoint().ends_with("/chat/completions") {
        stream.write_all(b"data: [DONE]\n\n").await?;
    }
    stream.shutdown().await
}

async fn receive(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Received>> {
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

async fn respond(stream: &mut TcpStream, status: u16, body: &Value) -> std::io::Result<()> {
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

/// How many results of tools are in a conversation.
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

/// What is said in one turn, the same in all languages.
enum Said<'a> {
    Text(&'a str),
    Call { name: &'a str, arguments: &'a Value },
    Nothing,
}

/// The events of a turn, as the asked endpoint streams them.
fn events(request: &Received, turn: &Turn, number: usize) -> Vec<Value> {
    let (name, answer);
    let said = match turn {
        Turn::Call(tool, arguments) => {
            let offered = request.tools().into_iter().find(|name| name.ends_with(tool));
            name = offered.unwrap_or_else(|| (*tool).to_owned());
            Said::Call { name: &name, arguments }
        }
        Turn::Say(text) | Turn::After(_, text) => match structured(request, text) {
            Structured::No => Said::Text(text),
            Structured::Told => Said::Text("Done."),
            Structured::Wanted(value) => {
                answer = value;
                Said::Call { name: STRUCTURED, arguments: &answer }
            }
        },
        Turn::CutOff(text) => Said::Text(half(text)),
        Turn::Stall => Said::Text("never"),
        Turn::Refuse | Turn::Fail(_) | Turn::Silent => Said::Nothing,
    };
    let cut = matches!(turn, Turn::CutOff(_));
    let path = request.endpoint();
    if path.ends_with("/responses") {
        responses(&said, cut, number)
    } else if path.ends_with("/chat/completions") {
        chat(&said, cut, number)
    } else if path.ends_with("/invoke") {
        vec![message(&said)]
    } else if path.ends_with("/messages") || path.ends_with(":streamRawPredict") {
        messages(request, &said, cut, number)
    } else {
        generate(&said, cut)
    }
}

/// The tool through which Claude Code takes a structured answer.
const STRUCTURED: &str = "StructuredOutput";

enum Structured {
    Wanted(Value),
    Told,
    No,
}

fn structured(request: &Received, text: &str) -> Structured {
    if !request.tools().iter().any(|name| name == STRUCTURED) {
        return Structured::No;
    }
    match serde_json::from_str(text) {
        Ok(_) if request.body["messages"].to_string().contains("\"name\":\"StructuredOutput\"") => Structured::Told,
        Ok(value) => Structured::Wanted(value),
        Err(_) => Structured::No,
    }
}

fn half(text: &str) -> &str {
    let mut at = text.len() / 2;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

fn responses(said: &Said<'_>, cut: bool, number: usize) -> Vec<Value> {
    let usage = json!({
        "input_tokens": 1234, "input_tokens_details": {"cached_tokens": 1000},
        "output_tokens": 56, "output_tokens_details": {"reasoning_tokens": 7}, "total_tokens": 1290
    });
    let created = json!({"type": "response.created", "response": {"id": "r1", "status": "in_progress", "output": []}});
    if cut {
        let end = json!({
            "type": "response.incomplete",
            "response": {"id": "r1", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "usage": usage}
        });
        return vec![created, end];
    }
    let message = |part: Value| json!({"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]});
    let item = match said {
        Said::Text(text) => message(json!({"type": "output_text", "text": text, "annotations": []})),
        Said::Nothing => message(json!({"type": "refusal", "refusal": "I cannot help with that."})),
        Said::Call { name, arguments } => {
            let mut item = json!({
                "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
                "status": "completed", "name": name, "arguments": arguments.to_string()
            });
            if let Some((space, name)) = name.split_once('/') {
                item["namespace"] = space.into();
                item["name"] = name.into();
            }
            item
        }
    };
    let mut started = item.clone();
    let mut delta = match said {
        Said::Call { arguments, .. } => {
            started["arguments"] = "".into();
            json!({"type": "response.function_call_arguments.delta", "delta": arguments.to_string()})
        }
        Said::Text(text) => json!({"type": "response.output_text.delta", "delta": text, "content_index": 0}),
        Said::Nothing => json!({"type": "response.refusal.delta", "delta": "I cannot", "content_index": 0}),
    };
    if started["content"].is_array() {
        started["content"] = json!([]);
    }
    delta["item_id"] = item["id"].clone();
    delta["output_index"] = 0.into();
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": started});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let completed = json!({
        "type": "response.completed",
        "response": {"id": "r1", "status": "completed", "output": [item], "usage": usage}
    });
    vec![created, added, delta, done, completed]
}

fn chat(said: &Said<'_>, cut: bool, number: usize) -> Vec<Value> {
    let chunk = |delta: Value, end: Option<&str>| {
        json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}],
            "usage": {"prompt_tokens": 1234, "completion_tokens": 56, "total_tokens": 1290,
                      "prompt_tokens_details": {"cached_tokens": 1000}}
        })
    };
    let (delta, end) = match said {
        Said::Text(text) => (json!({"content": text}), if cut { "length" } else { "stop" }),
        Said::Nothing => (json!({"content": ""}), "content_filter"),
        Said::Call { name, arguments } => {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": format!("call_{number}"), "type": "function", "function": function});
            (json!({"content": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    vec![chunk(json!({"role": "assistant", "content": ""}), None), chunk(delta, None), chunk(json!({}), Some(end))]
}

fn messages(request: &Received, said: &Said<'_>, cut: bool, number: usize) -> Vec<Value> {
    let usage = json!({
        "input_tokens": 234, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 56
    });
    let (block, stop) = match said {
        Said::Nothing => (None, "refusal"),
        Said::Text(text) => {
            let delta = json!({"type": "text_delta", "text": text});
            (Some((json!({"type": "text", "text": ""}), delta)), if cut { "max_tokens" } else { "end_turn" })
        }
        Said::Call { name, arguments } => {
            let block = json!({"type": "tool_use", "id": format!("call_{number}"), "name": name, "input": {}});
            let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
            (Some((block, delta)), "tool_use")
        }
    };
    let mut events = vec![json!({
        "type": "message_start",
        "message": {"id": "m1", "type": "message", "role": "assistant", "model": request.body["model"], "content": [],
                    "stop_reason": null, "stop_sequence": null, "usage": usage}
    })];
    if let Some((block, delta)) = block {
        events.push(json!({"type": "content_block_start", "index": 0, "content_block": block}));
        events.push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": 0}));
    }
    events
        .push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// A message that is not streamed, as Bedrock has them too.
fn message(said: &Said<'_>) -> Value {
    let (block, stop) = match said {
        Said::Nothing => (json!({"type": "text", "text": ""}), "refusal"),
        Said::Text(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Said::Call { name, arguments } => {
            (json!({"type": "tool_use", "id": "call_1", "name": name, "input": arguments}), "tool_use")
        }
    };
    json!({
        "id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [block], "stop_reason": stop,
        "stop_sequence": null, "usage": {"input_tokens": 234, "output_tokens": 56}
    })
}

fn generate(said: &Said<'_>, cut: bool) -> Vec<Value> {
    let chunk = |part: Value, end: Option<&str>| {
        let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
        if let Some(end) = end {
            candidate["finishReason"] = end.into();
        }
        json!({
            "candidates": [candidate], "modelVersion": "m",
            "usageMetadata": {"promptTokenCount": 1234, "candidatesTokenCount": 56, "totalTokenCount": 1290,
                              "cachedContentTokenCount": 1000, "thoughtsTokenCount": 7}
        })
    };
    let empty = || json!({"text": ""});
    match said {
        Said::Nothing => vec![chunk(empty(), Some("SAFETY"))],
        Said::Text(text) => {
            vec![chunk(json!({"text": text}), None), chunk(empty(), Some(if cut { "MAX_TOKENS" } else { "STOP" }))]
        }
        Said::Call { name, arguments } => {
            vec![chunk(json!({"functionCall": {"name": name, "args": arguments}}), Some("STOP"))]
        }
    }
}
