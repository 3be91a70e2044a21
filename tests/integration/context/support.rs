//! What the tests of the tools share: a tree, and programs that ask.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use diffsan::child::{self, Guard};
use diffsan::config::Environment;
use diffsan::context::{self, Answer, Budget, Pass, Question, Recorder, Serving, Tree};
use diffsan::diff::git::Git;
use diffsan::redact::{Engine, Settings};
use diffsan::run::workdir::{Forbidden, Workdir};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::sandbox::Sandbox;

/// A secret that the run knows by itself.
pub(crate) const KNOWN: &str = "zebra-known-9431-value";
/// One that a rule finds.
pub(crate) const TOKEN: &str = "glpat-Zx81kQm3Lw09vTb7Rn5c";

pub(crate) fn engine() -> Arc<Engine> {
    Arc::new(Engine::new(&Settings::default(), [KNOWN.to_owned()]).unwrap())
}

pub(crate) fn git(sandbox: &Sandbox, folder: &Path) -> Git {
    let path = std::env::var("PATH").unwrap();
    let home = sandbox.home().to_string_lossy().into_owned();
    Git::new(folder, &Environment::from_pairs([("PATH", path), ("HOME", home)]))
}

pub(crate) async fn commit_tree(sandbox: &Sandbox) -> Tree {
    Tree::of_commit(&git(sandbox, &sandbox.repo()), sandbox.git(&["rev-parse", "HEAD"]).trim(), engine()).await.unwrap()
}

pub(crate) async fn working_tree(sandbox: &Sandbox) -> Tree {
    Tree::of_working_tree(&git(sandbox, &sandbox.repo()), engine()).await.unwrap()
}

/// Asks a tree without any server.
pub(crate) fn ask(tree: &Tree, tool: &str, arguments: Value) -> Answer {
    let question = Question::parse(tool, &arguments).unwrap();
    context::answer(tree, &question, 600_000, &AtomicBool::new(false))
}

/// A server on the commit of a sandbox, and its record.
pub(crate) struct Server {
    pub(crate) sandbox: Sandbox,
    pub(crate) engine: Arc<Engine>,
    pub(crate) serving: Serving,
    _workdir: Workdir,
}

impl Server {
    pub(crate) async fn start(sandbox: Sandbox, max_calls: usize, max_bytes: usize) -> Self {
        let engine = engine();
        let head = sandbox.git(&["rev-parse", "HEAD"]);
        let tree = Tree::of_commit(&git(&sandbox, &sandbox.repo()), head.trim(), Arc::clone(&engine)).await.unwrap();
        let forbidden = Forbidden { current: sandbox.repo(), ..Forbidden::default() };
        let workdir = Workdir::create(Path::new(".diffsan"), &forbidden, Arc::clone(&engine)).unwrap();
        let recorder = Arc::new(Recorder::new(&workdir, Arc::clone(&engine), |_| {}).unwrap());
        let budget = Budget::new(max_calls, max_bytes).unwrap();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_diffsan"));
        let places = [sandbox.root().join("tmp"), PathBuf::from("/tmp")];
        let serving = context::serve(Arc::new(tree), budget, Pass::Number(1), recorder, program, &places).unwrap();
        Self { sandbox, engine, serving, _workdir: workdir }
    }

    pub(crate) fn env(&self, name: &str) -> String {
        self.serving.eyes.env.iter().find(|(known, _)| known == name).unwrap().1.clone()
    }

    /// The lines of `context.jsonl`.
    pub(crate) fn record(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.sandbox.workdir().join("context.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The bridge as an agent's program starts it.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.bridge(&self.env(context::NONCE)), true)
    }

    pub(crate) fn bridge(&self, nonce: &str) -> Child {
        Command::new(&self.serving.eyes.program)
            .args(&self.serving.eyes.args)
            .env_clear()
            .env(context::SOCKET, self.env(context::SOCKET))
            .env(context::NONCE, nonce)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }
}

/// A program that speaks to the server through the bridge.
pub(crate) struct Client {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) answers: Lines<BufReader<ChildStdout>>,
    _guard: Option<Guard>,
    next: u64,
}

impl Client {
    /// `ours` puts it on the list of diffsan's children, as an agent is.
    pub(crate) fn new(mut child: Child, ours: bool) -> Self {
        let guard = ours.then(|| child::register(child.id().unwrap()));
        let stdin = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdin, answers, _guard: guard, next: 0 }
    }

    pub(crate) async fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).await.unwrap();
        stdin.write_all(b"\n").await.unwrap();
        stdin.flush().await.unwrap();
    }

    /// The next answer; `None` when the other side has ended.
    pub(crate) async fn answer(&mut self) -> Option<Value> {
        let line = self.answers.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Option<Value> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
        let answer = self.answer().await?;
        assert_eq!(answer["id"], id);
        Some(answer)
    }

    /// Calls a tool; the text of its answer, and whether it is an error.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await.unwrap();
        let result = &answer["result"];
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"].as_bool().unwrap())
    }
}
