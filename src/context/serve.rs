//! The server: answers an agent's questions over a private socket, one pass long.
//!
//! It speaks the few words of MCP itself (`rpc.rs`). The protocol's own Rust SDK (rmcp 3.8.0, server over a stream, no
//! default features) was built beside it: 7 further crates, 1.3 MB in a release binary of 1.8 MB and 151 s of
//! processor time (shared crates rebuilt with it), for six methods of which three are constants; and lines still had to be capped, calls
//! put in turn and connections counted here.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::budget::Budget;
use super::record::{Recorder, Summary};
use super::rpc::{self, Asked};
use super::tools::{self, Answer, Question};
use super::tree::Tree;
use super::{TOOLS, peer};
use crate::agent::Eyes;
use crate::contracts::ContextCall;
use crate::redact::Output;
use crate::run::clock;

/// Variables that tell the bridge the way: the socket's path, and what to show there.
pub const SOCKET: &str = "DIFFSAN_CONTEXT_SOCKET";
pub const NONCE: &str = "DIFFSAN_CONTEXT_NONCE";

/// The hidden command that is the bridge.
const BRIDGE: &str = "context-bridge";
/// Longest message.
const MAX_MESSAGE: usize = 1 << 20;
/// Longest first line, which is the nonce.
const MAX_HELLO: usize = 256;
/// Time to show the nonce.
const HELLO: Duration = Duration::from_secs(5);
/// Time to take an answer.
const TAKE: Duration = Duration::from_secs(60);
/// Most programs that are connected at once; one is usual, and a second attempt starts another.
const MAX_LIVE: usize = 16;
/// Longest path of a socket, on the system where it is shortest.
const MAX_PATH: usize = 100;
/// Calls after the end of the budget that are written down one by one.
const MAX_REFUSED: u64 = 100;

/// Which part of a run asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// A pass, from 1.
    Number(u32),
    /// The second look.
    Look,
}

/// A server of one pass; it ends when this is dropped.
#[derive(Debug)]
pub struct Serving {
    /// What the agent's program is told about it.
    pub eyes: Eyes,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

#[derive(Debug)]
struct Shared {
    tree: Arc<Tree>,
    pass: Pass,
    nonce: String,
    recorder: Arc<Recorder>,
    stop: AtomicBool,
    /// One call at a time: a budget is not spent twice, and a search has the cores for itself.
    turn: tokio::sync::Mutex<()>,
    account: Mutex<Account>,
    shown: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug)]
struct Account {
    budget: Budget,
    summary: Summary,
}

/// Starts a server in the current runtime. The socket is made in the first of `places` that takes it; `program` is diffsan.
pub fn serve(
    tree: Arc<Tree>,
    budget: Budget,
    pass: Pass,
    recorder: Arc<Recorder>,
    program: PathBuf,
    places: &[PathBuf],
) -> io::Result<Serving> {
    let (folder, socket, listener) = bind(places)?;
    let nonce = peer::new_nonce()?;
    let shown = Arc::new(Mutex::default());
    let eyes = Eyes {
        program,
        args: vec![BRIDGE.to_owned()],
        env: vec![(SOCKET.to_owned(), socket.to_string_lossy().into_owned()), (NONCE.to_owned(), nonce.clone())],
        tools: TOOLS,
        shown: Arc::clone(&shown),
    };
    let shared = Arc::new(Shared {
        tree,
        pass,
        nonce,
        recorder,
        stop: AtomicBool::new(false),
        turn: tokio::sync::Mutex::default(),
        account: Mutex::new(Account { budget, summary: Summary::default() }),
        shown,
    });
    let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
    Ok(Serving { eyes, shared, task, _folder: folder })
}

impl Serving {
    /// What was read so far.
    pub fn summary(&self) -> Summary {
        self.shared.account().summary.clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

/// A socket in a folder that only this user can enter.
fn bind(places: &[PathBuf]) -> io::Result<(tempfile::TempDir, PathBuf, UnixListener)> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "there is no folder for a socket");
    for place in places {
        match bind_in(place) {
            Ok(bound) => return Ok(bound),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn bind_in(place: &Path) -> io::Result<(tempfile::TempDir, PathBuf, UnixListener)> {
    let folder = tempfile::Builder::new()
        .prefix("diffsan-eyes-")
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir_in(place)?;
    let socket = folder.path().join("socket");
    if socket.as_os_str().len() > MAX_PATH || socket.to_str().is_none() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidFilename,
            "the temporary folder's path is too long for a socket",
        ));
    }
    let listener = UnixListener::bind(&socket)?;
    Ok((folder, socket, listener))
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    let mut live = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if live.len() < MAX_LIVE => {
                    live.spawn(converse(stream, Arc::clone(&shared)));
                }
                Ok(_) => tracing::debug!("too many programs are connected to the reading tools"),
                // Out of descriptors, most likely: some will come back.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = live.join_next() => {}
        }
    }
}

/// One connection, from its nonce to its end.
async fn converse(stream: UnixStream, shared: Arc<Shared>) {
    if !peer::is_ours(&stream) {
        tracing::debug!("a program that is not the agent's tried to use the reading tools");
        return;
    }
    let (reader, mut writer) = stream.into_split();
    let mut lines = Lines::new(reader);
    match timeout(HELLO, lines.next(MAX_HELLO)).await {
        Ok(Ok(Some(Line::Whole))) if peer::is_nonce(lines.line.trim_ascii(), &shared.nonce) => {}
        _ => return,
    }
    while let Ok(Some(line)) = lines.next(MAX_MESSAGE).await {
        let reply = match line {
            Line::TooLong => rpc::too_long(MAX_MESSAGE),
            Line::Whole => match rpc::read(&lines.line) {
                Asked::Nothing => continue,
                Asked::Reply(reply) => reply,
                Asked::Call { id, tool, arguments } => {
                    let answer = call(&shared, &tool, arguments).await;
                    rpc::called(&id, &answer.text, answer.is_error)
                }
            },
        };
        if send(&mut writer, &reply).await.is_err() {
            return;
        }
    }
}

async fn send(writer: &mut OwnedWriteHalf, message: &Value) -> io::Result<()> {
    let line = format!("{message}\n");
    timeout(TAKE, writer.write_all(line.as_bytes())).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// One call: its turn, its budget, its answer, its line in the record.
async fn call(shared: &Arc<Shared>, tool: &str, arguments: Value) -> Answer {
    let _turn = shared.turn.lock().await;
    let begun = Instant::now();
    let room = shared.account().budget.call();
    let answer = match room {
        Err(spent) => {
            let mut account = shared.account();
            account.summary.refused += 1;
            if account.summary.refused > MAX_REFUSED {
                return Answer::sorry(spent.sentence());
            }
            drop(account);
            Answer::sorry(spent.sentence())
        }
        Ok(most) => match Question::parse(tool, &arguments) {
            Err(sentence) => Answer::sorry(sentence),
            Ok(question) => {
                shared.recorder.begins(tool, &arguments);
                let worker = Arc::clone(shared);
                let work = move || tools::answer(&worker.tree, &question, most, &worker.stop);
                tokio::task::spawn_blocking(work)
                    .await
                    .unwrap_or_else(|_| Answer::sorry("This could not be answered. Go on with the review without it."))
            }
        },
    };
    let answer = if room.is_ok() { shared.counted(answer) } else { answer };
    shared.note(tool, &arguments, &answer, begun.elapsed());
    answer
}

impl Shared {
    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an answer out of the budget, and says when that is nearly over.
    fn counted(&self, mut answer: Answer) -> Answer {
        let mut account = self.account();
        account.budget.spend(answer.text.len());
        match account.budget.calls_left() {
            0 => answer.text.push_str("\n[The reading budget is now used up: write the review.]"),
            left @ 1..=5 => answer.text.push_str(&format!("\n[{left} more calls.]")),
            _ => {}
        }
        let summary = &mut account.summary;
        summary.calls += 1;
        summary.bytes += answer.text.len() as u64;
        summary.redactions += answer.removed.len() as u64;
        summary.files.extend(answer.read.clone());
        self.tree.engine().count_removed(Output::Context, answer.removed.iter().map(String::as_str));
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).push(answer.text.clone());
        answer
    }

    fn note(&self, tool: &str, arguments: &Value, answer: &Answer, took: Duration) {
        let recorder = &self.recorder;
        recorder.line(&ContextCall {
            ts: clock::now_text(),
            pass: self.pass.text(),
            tool: recorder.text(tool),
            arguments: recorder.arguments(arguments),
            lines: answer.lines,
            bytes: answer.text.len() as u64,
            redactions: answer.removed.len() as u64,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            error: answer.is_error.then(|| recorder.text(&answer.text)),
        });
    }
}

impl Pass {
    fn text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Look => "look".to_owned(),
        }
    }
}

/// How a line came.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// In `Lines::line`, without its end.
    Whole,
    /// More than is taken; it was read to its end and forgotten.
    TooLong,
}

/// Lines of a bounded length.
struct Lines {
    reader: BufReader<OwnedReadHalf>,
    line: Vec<u8>,
}

impl Lines {
    fn new(reader: OwnedReadHalf) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new() }
    }

    /// The next line of at most so many bytes; `None` at the end, where a line without an end is none.
    async fn next(&mut self, most: usize) -> io::Result<Option<Line>> {
        self.line.clear();
        let mut fits = true;
        loop {
            let bytes = self.reader.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let (part, ended) = match memchr::memchr(b'\n', bytes) {
                Some(at) => (&bytes[..at], true),
                None => (bytes, false),
            };
            fits &= self.line.len() + part.len() <= most;
            if fits {
                self.line.extend_from_slice(part);
            }
            let count = part.len() + usize::from(ended);
            self.reader.consume(count);
            if ended {
                return Ok(Some(if fits { Line::Whole } else { Line::TooLong }));
            }
        }
    }
}
