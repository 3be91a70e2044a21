//! What one run costs, by the size of the change: requests to GitLab, characters and tokens of the prompts, seconds of
//! diffsan itself, bytes of artifacts. The table of docs/scale.md is what this prints.
//!
//! GitLab is a loopback server that knows the merge request and keeps what is written; the agent answers at once with one
//! finding for every 400 changed lines. Tokens are estimated: four characters each.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints figures and prepares its own folder"
)]

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

/// Files and changed lines of the changes that are measured.
const SIZES: [(usize, usize); 6] = [(1, 20), (5, 200), (20, 1_000), (60, 4_000), (400, 16_000), (2_000, 80_000)];

fn main() {
    println!(
        "| files | lines | parts | prompts | prompt characters | tokens, about | requests | of them writes | seconds | artifact bytes |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (files, lines) in SIZES {
        measure(files, lines, 1);
    }
    for (files, lines, parts) in [(400, 16_000, 4), (2_000, 80_000, 16)] {
        measure(files, lines, parts);
    }
    let (one, four) = (wall(1), wall(4));
    println!(
        "\n400 files, an agent that takes a second for 10,000 characters: one job {one:.1} s, four jobs and the one that"
    );
    println!("posts {four:.1} s, {:.1} times less", one / four);
}

/// Seconds until the review of 400 files is posted, where the agent takes its time; the jobs of the parts run together.
fn wall(parts: usize) -> f64 {
    let place = Place::new(400, 16_000, 10_000);
    let start = Instant::now();
    place.review(parts, true);
    start.elapsed().as_secs_f64()
}

/// Reviews and posts one change, and prints its row.
fn measure(files: usize, lines: usize, parts: usize) {
    let place = Place::new(files, lines, 0);
    let start = Instant::now();
    place.review(parts, false);
    let seconds = start.elapsed().as_secs_f64();
    let (prompts, chars, bytes) = artifacts(&place.folder.path().join("repo/.diffsan"));
    let seen = place.gitlab.seen.lock().expect("the server's memory");
    let tokens = chars / 4;
    println!(
        "| {files} | {lines} | {parts} | {prompts} | {chars} | {tokens} | {} | {} | {seconds:.1} | {bytes} |",
        seen.requests, seen.writes
    );
}

/// A merge request with a change of some size.
struct Place {
    folder: tempfile::TempDir,
    gitlab: GitLab,
    base: String,
    head: String,
    passes: String,
}

impl Place {
    /// An agent that takes a second for so many characters; none: it answers at once.
    fn new(files: usize, lines: usize, pace: usize) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let repo = folder.path().join("repo");
        std::fs::create_dir(&repo).expect("a repository");
        git(&repo, &["init", "-q", "-b", "main"]);
        git(&repo, &["commit", "-q", "--allow-empty", "-m", "start"]);
        let base = git(&repo, &["rev-parse", "HEAD"]);
        let each = lines / files;
        for file in 0..files {
            let text: String = (0..each).map(|line| format!("    total_{line} = weigh({file}, {line})\n")).collect();
            let path = repo.join(format!("src/m{}/f{file}.py", file % 16));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        git(&repo, &["add", "-A"]);
        git(&repo, &["commit", "-q", "-m", "change"]);
        let head = git(&repo, &["rev-parse", "HEAD"]);
        let gitlab = GitLab::start(&base, &head);
        agent(folder.path(), lines / 400, pace);
        let passes = files.div_ceil(50).max(lines * 40 / 200_000 + 1).to_string();
        Self { folder, gitlab, base, head, passes }
    }

    /// Reviews and posts: by one job, or by so many and one that posts.
    fn review(&self, parts: usize, together: bool) {
        if parts == 1 {
            return finish(self.start(&["--ci"]));
        }
        let start = |part: usize| self.start(&["--ci", "--shard", &format!("{part}/{parts}")]);
        if together {
            let jobs: Vec<Child> = (1..=parts).map(start).collect();
            jobs.into_iter().for_each(finish);
        } else {
            (1..=parts).for_each(|part| finish(start(part)));
        }
        finish(self.start(&["post", "--parts", &parts.to_string()]));
    }

    fn start(&self, arguments: &[&str]) -> Child {
        // A released program can be measured too.
        let program = std::env::var_os("DIFFSAN_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_diffsan").into());
        Command::new(program)
            .args(arguments)
            .args(["-q", "--agent", "command"])
            .current_dir(self.folder.path().join("repo"))
            .env("CI_API_V4_URL", format!("http://{}/api/v4", self.gitlab.address))
            .env("CI_MERGE_REQUEST_PROJECT_ID", "7")
            .env("CI_MERGE_REQUEST_IID", "3")
            .env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &self.base)
            .env("CI_COMMIT_SHA", &self.head)
            .env("GITLAB_TOKEN", "token-of-the-bench")
            .env("DIFFSAN_AGENT__COMMAND", self.folder.path().join("agent.sh"))
            .env("DIFFSAN_LIMITS__MAX_PASSES", &self.passes)
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts")
    }
}

fn finish(mut job: Child) {
    assert!(job.wait().expect("it ends").success(), "a job failed");
}

/// An agent that finds something on the first lines of the first file it is shown.
fn agent(folder: &Path, findings: usize, pace: usize) {
    let one = |line: usize| {
        format!(
            r#"{{"severity":"medium","category":"correctness","path":"%s","line_start":{line},"line_end":{line},"body_markdown":"Value {line} is weighed twice, so the total of this step is too large by its weight."}}"#
        )
    };
    let found: Vec<String> = (1..=findings.clamp(1, 8)).map(one).collect();
    let names = "\"$file\" ".repeat(found.len());
    let wait = if pace == 0 { String::new() } else { format!("sleep $(($(wc -c <$0.$$) / {pace}))") };
    let script = format!(
        "#!/bin/sh\ncat >$0.$$\nfile=$(grep -o '^+++ b/src/[a-z0-9/]*\\.py' $0.$$ | head -n 1 | cut -c 7-)\n{wait}\n\
         printf '{{\"summary_markdown\":\"Read.\",\"findings\":[{}]}}' {names}\n",
        found.join(",")
    );
    let path = folder.join("agent.sh");
    std::fs::write(&path, script).expect("the agent is written");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("the agent can run");
}

/// Prompts, their characters, and the bytes of everything in the folder.
fn artifacts(folder: &Path) -> (usize, usize, u64) {
    let mut found = (0, 0, 0);
    for entry in std::fs::read_dir(folder).expect("the workdir").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            let inner = artifacts(&path);
            found = (found.0 + inner.0, found.1 + inner.1, found.2 + inner.2);
            continue;
        }
        found.2 += entry.metadata().map_or(0, |metadata| metadata.len());
        if name.starts_with("prompt") {
            found.0 += 1;
            found.1 += std::fs::read_to_string(&path).unwrap_or_default().chars().count();
        }
    }
    found
}

fn git(repo: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"])
        .args(arguments)
        .current_dir(repo)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// As much of GitLab as a run asks for.
struct GitLab {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    requests: usize,
    writes: usize,
    discussions: Vec<Value>,
}

impl GitLab {
    fn start(base: &str, head: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(Seen::default()));
        let refs = json!({ "base_sha": base, "head_sha": head, "start_sha": base });
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, refs) = (Arc::clone(&shared), refs.clone());
                std::thread::spawn(move || serve(stream, &seen, &refs));
            }
        });
        Self { address, seen }
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Seen>, refs: &Value) {
    let mut writer = stream.try_clone().expect("a connection");
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let (method, rest) = line.split_once(' ').unwrap_or_default();
        let path = rest.split([' ', '?']).next().unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) <= 2 {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut seen = seen.lock().expect("the server's memory");
        let (status, answer) = answer(&mut seen, method, &path, &body, refs);
        let text = answer.to_string();
        let head = format!(
            "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nx-next-page: \r\n\r\n",
            text.len()
        );
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(text.as_bytes())).is_err() {
            return;
        }
    }
}

fn answer(seen: &mut Seen, method: &str, path: &str, body: &Value, refs: &Value) -> (u16, Value) {
    seen.requests += 1;
    let user = json!({ "id": 42, "username": "bot", "name": "Bot", "state": "active" });
    if method != "GET" {
        seen.writes += 1;
    }
    let end = path.rsplit('/').next().unwrap_or_default();
    match (method, end) {
        ("GET", "user") => (200, user),
        ("GET", "versions") => (
            200,
            json!([{ "id": 1, "head_commit_sha": refs["head_sha"], "base_commit_sha": refs["base_sha"],
                     "start_commit_sha": refs["start_sha"], "state": "collected" }]),
        ),
        ("GET", "3") => (
            200,
            json!({ "id": 30, "iid": 3, "project_id": 7, "title": "A change", "description": "", "state": "opened", "draft": false,
                    "source_branch": "topic", "target_branch": "main", "labels": [], "author": { "id": 5, "username": "dev" },
                    "web_url": "http://gitlab.invalid/g/p/-/merge_requests/3", "diff_refs": refs,
                    "merge_when_pipeline_succeeds": false, "sha": refs["head_sha"] }),
        ),
        ("GET", "discussions") => (200, Value::Array(seen.discussions.clone())),
        ("GET", "notes") => {
            let notes =
                seen.discussions.iter().flat_map(|thread| thread["notes"].as_array().cloned().unwrap_or_default());
            (200, notes.collect())
        }
        ("POST", "notes" | "discussions") => {
            let id = seen.discussions.len() + 100;
            let single = end == "notes";
            let note = json!({ "id": id, "type": if single { Value::Null } else { "DiffNote".into() }, "body": body["body"],
                               "author": user, "system": false, "resolvable": !single, "resolved": false,
                               "position": body["position"], "created_at": "2026-01-02T03:04:05Z" });
            let thread = json!({ "id": format!("{id:040x}"), "individual_note": single, "notes": [note.clone()] });
            seen.discussions.push(thread.clone());
            (201, if single { note } else { thread })
        }
        ("PUT", id) => {
            let id: u64 = id.parse().unwrap_or(0);
            let notes = seen.discussions.iter_mut().filter_map(|thread| thread["notes"].get_mut(0));
            let Some(note) = notes.into_iter().find(|note| note["id"] == id) else { return (404, json!({})) };
            note["body"] = body["body"].clone();
            (200, note.clone())
        }
        _ => (404, json!({ "message": "404 Not Found" })),
    }
}
