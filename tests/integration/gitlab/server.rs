//! The fake's HTTP side: connections that can be cut, failures on demand, a log of every request.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request, State as Shares};
use axum::http::{Response, StatusCode};
use axum::serve::{IncomingStream, Listener};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

use super::answers::{self, Answer, Call};
use super::{Failure, Moment, Recorded, Shared};

/// A connection that a handler can cut.
#[derive(Debug, Clone)]
pub(crate) struct Wire(Option<Arc<std::net::TcpStream>>);

impl Wire {
    /// Promises the whole answer and sends half of it.
    fn cut_after_half(&self, answer: &Answer) {
        if let Some(mut stream) = self.0.as_deref() {
            let (status, length) = (answer.status, answer.body.len());
            let head =
                format!("HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&answer.body[..length / 2]);
        }
        self.cut();
    }

    fn cut(&self) {
        if let Some(stream) = &self.0 {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

struct Door(TcpListener);

impl Listener for Door {
    type Io = TcpStream;
    type Addr = Wire;

    async fn accept(&mut self) -> (TcpStream, Wire) {
        loop {
            let Ok((stream, _)) = self.0.accept().await else { continue };
            let split = || -> std::io::Result<(TcpStream, Wire)> {
                stream.set_nodelay(true)?;
                let stream = stream.into_std()?;
                let wire = Wire(Some(Arc::new(stream.try_clone()?)));
                Ok((TcpStream::from_std(stream)?, wire))
            };
            if let Ok(accepted) = split() {
                return accepted;
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Wire> {
        Ok(Wire(None))
    }
}

impl Connected<IncomingStream<'_, Door>> for Wire {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.remote_addr().clone()
    }
}

/// Serves on a free port of loopback.
pub(crate) fn start(runtime: &tokio::runtime::Runtime, shared: Arc<Shared>) -> SocketAddr {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.set_nonblocking(true).expect("non-blocking");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(async move {
        let door = Door(TcpListener::from_std(listener).expect("a listener"));
        let app = axum::Router::new().fallback(handle).with_state(shared);
        let _ = axum::serve(door, app.into_make_service_with_connect_info::<Wire>()).await;
    });
    address
}

async fn handle(
    Shares(shared): Shares<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 64 << 20).await.unwrap_or_default();
    let _counted = InFlight::new(&shared);
    let latency = lock(&shared).latency;
    tokio::time::sleep(latency).await;

    let (number, failure) = arrive(&shared, &parts, &body);
    let Some(failure) = failure else { return held().await };
    if let Some(Failure::DoneLater(time)) = &failure {
        // The connection ends at once; what was asked for happens all the same, later.
        let (time, shared, wire, parts, body) = (*time, Arc::clone(&shared), wire.clone(), parts.clone(), body.clone());
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            do_it(&shared, &parts, &body);
        });
        wire.cut();
        return held().await;
    }
    let doing = !matches!(failure, Some(Failure::Answer { .. } | Failure::Drop | Failure::Hang));
    let done = doing.then(|| do_it(&shared, &parts, &body));
    if freeze(&shared, number, Moment::BeforeAnswering) {
        return held().await;
    }
    let answer = match (failure, done) {
        (None, Some(done)) => done,
        (Some(Failure::DoneThenCut), Some(done)) => {
            wire.cut_after_half(&done);
            return held().await;
        }
        (Some(Failure::Answer { status, content_type, body, headers }), _) => {
            Answer { status, content_type, body: body.into_bytes(), headers }
        }
        (Some(Failure::DoneBut(then)), Some(done)) => match *then {
            Failure::Answer { status, content_type, body, headers } => {
                Answer { status, content_type, body: body.into_bytes(), headers }
            }
            _ => done,
        },
        (Some(Failure::Drop | Failure::DoneThenDrop), _) => {
            wire.cut();
            return held().await;
        }
        _ => return held().await,
    };
    lock(&shared).requests[number].status = answer.status;
    respond(answer)
}

/// Carries out a request.
fn do_it(shared: &Shared, parts: &axum::http::request::Parts, body: &Bytes) -> Answer {
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let mut state = lock(shared);
    let root = format!("{}/api/v4/", state.root);
    let path = parts.uri.path();
    let Some(below) = path.strip_prefix(&root) else {
        return Answer {
            status: 404,
            content_type: "text/html",
            body: b"<html><title>404</title></html>".to_vec(),
            headers: vec![],
        };
    };
    let call = Call {
        method: parts.method.as_str(),
        segments: below.split('/').map(decode).collect(),
        query: pairs(parts.uri.query().unwrap_or_default()),
        content_type: header("content-type").unwrap_or_default(),
        raw_body: body,
        authorization: header("authorization"),
        private_token: header("private-token"),
    };
    answers::answer(&mut state.store, &call)
}

/// Counts a request for as long as it is under way.
struct InFlight(Arc<Shared>);

impl InFlight {
    fn new(shared: &Arc<Shared>) -> Self {
        let mut state = lock(shared);
        state.in_flight += 1;
        state.most_in_flight = state.most_in_flight.max(state.in_flight);
        Self(Arc::clone(shared))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        lock(&self.0).in_flight -= 1;
    }
}

/// Logs a request and says what is to go wrong with it; `None` when the server is frozen.
fn arrive(shared: &Shared, parts: &axum::http::request::Parts, body: &Bytes) -> (usize, Option<Option<Failure>>) {
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut state = lock(shared);
    let root = format!("{}/api/v4/", state.root);
    let path = parts.uri.path_and_query().map(|path| path.as_str()).unwrap_or_default();
    let recorded = Recorded {
        method: parts.method.to_string(),
        path: path.strip_prefix(&root).unwrap_or(path).to_owned(),
        authorization: header("authorization"),
        body: serde_json::from_slice(body).unwrap_or(Value::Null),
        status: 0,
    };
    let number = state.requests.len();
    let rule = state.rules.iter_mut().find(|rule| rule.times > 0 && rule.on.matches(&recorded));
    let failure = rule.map(|rule| {
        rule.times -= 1;
        rule.failure.clone()
    });
    state.requests.push(recorded);
    drop(state);
    if freeze(shared, number, Moment::BeforeDoing) {
        return (number, None);
    }
    (number, Some(failure))
}

/// Whether this request is held here, or the server is frozen already.
fn freeze(shared: &Shared, number: usize, moment: Moment) -> bool {
    let mut state = lock(shared);
    let Some(hold) = &mut state.hold else { return false };
    if hold.frozen {
        return true;
    }
    if number == hold.at && moment == hold.moment {
        hold.frozen = true;
        let _ = hold.reached.send(());
        return true;
    }
    false
}

async fn held() -> Response<Body> {
    std::future::pending().await
}

fn respond(answer: Answer) -> Response<Body> {
    let mut builder = Response::builder()
        .status(StatusCode::from_u16(answer.status).expect("a status"))
        .header("content-type", answer.content_type);
    for (name, value) in &answer.headers {
        builder = builder.header(*name, value);
    }
    builder.body(Body::from(answer.body)).expect("an answer")
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, super::State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn pairs(query: &str) -> Vec<(String, String)> {
    query.split('&').filter_map(|pair| pair.split_once('=')).map(|(key, value)| (decode(key), decode(value))).collect()
}
