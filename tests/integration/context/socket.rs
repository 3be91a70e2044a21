//! The server's socket: who is let in, and what it makes of what comes.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use diffsan::context::{NONCE, SOCKET};
use diffsan::redact::Output;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use super::support::{Client, Server, TOKEN};
use crate::sandbox::Sandbox;

async fn server() -> Server {
    Server::start(Sandbox::new(), 60, 600_000).await
}

/// A program was not let in: its bridge ends without an answer.
async fn assert_refused(mut client: Client) {
    let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let stdin = client.stdin.as_mut().unwrap();
    let _ = stdin.write_all(format!("{line}\n").as_bytes()).await;
    assert_eq!(client.answer().await, None);
}

#[tokio::test]
async fn a_program_of_the_agents_is_offered_the_three_tools_and_answered() {
    let server = server().await;
    let mut client = server.client();
    let hello =
        client.request("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}})).await.unwrap();
    assert_eq!(hello["result"]["serverInfo"]["name"], "diffsan");
    client.send(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#).await;
    let listed = client.request("tools/list", json!({})).await.unwrap();
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read_file", "search", "list_files"]);
    let (text, is_error) = client.call("read_file", json!({"path": "src/app.py"})).await;
    assert!(text.contains("5\tdef two():") && !is_error);
    let (text, is_error) = client.call("bash", json!({"command": "id"})).await;
    assert!(text.contains("There is no tool `bash`") && is_error);
    let summary = server.serving.summary();
    assert_eq!((summary.calls, summary.refused), (2, 0));
    assert_eq!(summary.files.iter().collect::<Vec<_>>(), ["src/app.py"]);
    let record = server.record();
    assert_eq!(record[0]["tool"], "read_file");
    assert_eq!(record[0]["arguments"], json!({"path": "src/app.py"}));
    assert_eq!((&record[0]["pass"], &record[0]["lines"], &record[0]["error"]), (&json!("1"), &json!(6), &Value::Null));
    assert!(record[1]["error"].as_str().unwrap().contains("There is no tool"));
    assert_eq!(server.serving.eyes.shown.lock().unwrap().len(), 2);
    // It ends with its input.
    drop(client.stdin.take());
    assert!(client.child.wait().await.unwrap().success());
}

#[tokio::test]
async fn only_who_descends_from_an_agent_and_shows_the_nonce_is_let_in() {
    let server = server().await;
    let nonce = server.env(NONCE);
    // The control: both are right.
    assert!(server.client().request("ping", json!({})).await.is_some());
    for wrong in ["", "0", &nonce[..63], &"0".repeat(64), &nonce.to_uppercase()] {
        assert_refused(Client::new(server.bridge(if wrong.is_empty() { " " } else { wrong }), true)).await;
    }
    // A child that is no agent's, and this process itself, know the nonce in vain.
    assert_refused(Client::new(server.bridge(&nonce), false)).await;
    let mut stream = std::os::unix::net::UnixStream::connect(server.env(SOCKET)).unwrap();
    let line = format!("{nonce}\n{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let _ = stream.write_all(line.as_bytes());
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    });
    assert_eq!(read.await.unwrap(), "");
    assert_eq!(server.serving.summary().calls, 0);
}

#[tokio::test]
async fn the_socket_lies_in_a_folder_of_its_users_alone_and_goes_with_the_pass() {
    let server = server().await;
    let socket = std::path::PathBuf::from(server.env(SOCKET));
    let mode = std::fs::metadata(socket.parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let nonce = server.env(NONCE);
    assert!(!server.serving.eyes.args.iter().any(|word| word.contains(&nonce)), "no argv has the nonce");
    let mut client = server.client();
    assert!(client.request("ping", json!({})).await.is_some());
    drop(server.serving);
    assert_eq!(client.answer().await, None, "what is connected ends with the pass");
    assert!(!socket.parent().unwrap().exists());
}

#[tokio::test]
async fn garbage_and_endless_lines_are_answered_and_forgotten() {
    let server = server().await;
    let mut client = server.client();
    for (line, code) in [("{", -32_700), ("[]", -32_600), ("\u{1}\u{2}", -32_700), ("null", -32_600)] {
        client.send(line).await;
        assert_eq!(client.answer().await.unwrap()["error"]["code"], code, "{line}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    client.send(&deep).await;
    assert_eq!(client.answer().await.unwrap()["error"]["code"], -32_700);
    let long = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y".repeat(3 << 20)}}).to_string();
    client.send(&long).await;
    assert!(client.answer().await.unwrap()["error"]["message"].as_str().unwrap().contains("at most"));
    for method in ["resources/list", "prompts/list", "tools/delete", ""] {
        assert_eq!(client.request(method, json!({})).await.unwrap()["error"]["code"], -32_601, "{method}");
    }
    for arguments in
        [json!(null), json!([]), json!("x"), json!({"path": {"a": 1}}), json!({"path": "x".repeat(100_000)})]
    {
        let (text, is_error) = client.call("read_file", arguments).await;
        assert!(is_error && text.len() < 400, "{text}");
    }
    assert!(client.request("ping", json!({})).await.is_some(), "it still answers");
    for line in server.record() {
        assert!(line.to_string().len() < 2_000, "{line}");
    }
}

#[tokio::test]
async fn the_budget_ends_and_the_model_is_told_to_write() {
    let sandbox = Sandbox::new();
    sandbox.write("long.txt", "words of a long file\n".repeat(5_000));
    sandbox.commit("long");
    let server = Server::start(sandbox, 3, 600_000).await;
    let mut client = server.client();
    let (text, _) = client.call("read_file", json!({"path": "long.txt"})).await;
    assert!(
        text.contains("The file goes on: call read_file with from=") && text.ends_with("[2 more calls.]"),
        "{}",
        &text[text.len() - 200..]
    );
    assert!(text.len() <= 32_100);
    client.call("read_file", json!({"path": "nowhere"})).await;
    let (text, _) = client.call("list_files", json!({})).await;
    assert!(text.ends_with("[The reading budget is now used up: write the review.]"), "{text}");
    // A second program of the same pass has no budget of its own; and whoever does not stop is answered all the same.
    let mut second = server.client();
    for client in [&mut client, &mut second] {
        for _ in 0..120 {
            let (text, is_error) = client.call("read_file", json!({"path": "src/app.py"})).await;
            assert!(is_error && text.contains("write the review now"), "{text}");
        }
    }
    let summary = server.serving.summary();
    assert_eq!((summary.calls, summary.refused), (3, 240));
    assert_eq!(server.record().len(), 3 + 100, "a record is bounded, too");

    let sandbox = Sandbox::new();
    sandbox.write("long.txt", "words of a long file\n".repeat(5_000));
    sandbox.commit("long");
    let server = Server::start(sandbox, 60, 5_000).await;
    let mut client = server.client();
    let (text, _) = client.call("read_file", json!({"path": "long.txt"})).await;
    assert!(text.len() <= 5_100, "{}", text.len());
    let mut calls = 1;
    while !client.call("read_file", json!({"path": "long.txt"})).await.0.contains("write the review now") {
        calls += 1;
        assert!(calls < 10);
    }
}

#[tokio::test]
async fn who_does_not_read_its_answers_keeps_nobody_waiting() {
    let sandbox = Sandbox::new();
    sandbox.write("long.txt", "words of a long file\n".repeat(5_000));
    sandbox.commit("long");
    let server = Server::start(sandbox, 1_000, 100_000_000).await;
    let mut slow = server.client();
    for id in 0..30 {
        let call = json!({"id": id, "method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "long.txt"}}});
        slow.send(&call.to_string()).await;
    }
    let mut half = server.client();
    half.stdin.as_mut().unwrap().write_all(b"{\"id\": 1, \"method\": \"pi").await.unwrap();
    let mut others: Vec<Client> = (0..10).map(|_| server.client()).collect();
    for client in &mut others {
        let (text, _) = client.call("read_file", json!({"path": "src/app.py"})).await;
        assert!(text.contains("def two"));
    }
    // Half a line is no message; what comes with the rest of it is.
    half.stdin.as_mut().unwrap().write_all(b"ng\"}\n").await.unwrap();
    assert_eq!(half.answer().await.unwrap()["id"], 1);
    for _ in 0..30 {
        assert!(slow.answer().await.is_some());
    }
}

#[tokio::test]
async fn what_was_removed_is_counted_where_it_left() {
    let sandbox = Sandbox::new();
    sandbox.write("prod.env", format!("A=1\nGITLAB_TOKEN={TOKEN}\n"));
    sandbox.commit("a secret");
    let server = Server::start(sandbox, 60, 600_000).await;
    let counted = || server.engine.audit().get(&Output::Context).cloned().unwrap_or_default().values().sum::<u64>();
    let mut client = server.client();
    assert_eq!(counted(), 0);
    client.call("read_file", json!({"path": "prod.env", "to": 1})).await;
    client.call("search", json!({"pattern": "A=1"})).await;
    assert_eq!(counted(), 0, "only what is shown counts");
    let (text, _) = client.call("read_file", json!({"path": "prod.env"})).await;
    assert!(text.contains("[REDACTED]") && !text.contains(TOKEN));
    assert_eq!(counted(), 1);
    client.call("search", json!({"pattern": "GITLAB_"})).await;
    assert_eq!(counted(), 2);
    let (text, _) = client.call("search", json!({"pattern": TOKEN})).await;
    assert!(text.starts_with("No line matches"));
    assert!(!server.record().iter().any(|line| line.to_string().contains(TOKEN)), "the record has no secret either");
    assert_eq!(server.record()[2]["redactions"], 1);
}

#[test]
fn the_bridge_says_so_when_nobody_is_there() {
    let sandbox = Sandbox::bare();
    let ended = sandbox.run(["context-bridge"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("started by an agent"), "{}", ended.stderr);
    let mut command = sandbox.command(["context-bridge"]);
    command.env(SOCKET, sandbox.root().join("nowhere")).env(NONCE, "x");
    let ended = crate::sandbox::Finished::of(command.output().unwrap());
    assert!(ended.code == 1 && ended.stderr.contains("cannot be reached"), "{}", ended.stderr);
}
