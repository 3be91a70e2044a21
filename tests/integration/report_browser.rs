//! A real browser for the tests: headless Chromium, driven over its pipe.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    last: u64,
    session: Option<String>,
    /// Everything the page reported, in order.
    pub(crate) events: Vec<Value>,
    home: tempfile::TempDir,
    heard: Arc<Mutex<Option<Instant>>>,
}

/// A browser that says nothing for so long hangs, and is ended.
const PATIENCE: Duration = Duration::from_secs(90);

impl Browser {
    /// None, and a loud word, where Chromium is not installed; in CI that is a failure.
    #[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = program() else {
            let words = "NOT RUN: this test needs Chromium and found none; .ci/setup installs it";
            assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{words}");
            eprintln!("\n*** {words} ***\n");
            return None;
        };
        let home = tempfile::tempdir().unwrap();
        let (to, from) = (home.path().join("to"), home.path().join("from"));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        let child = Command::new("sh")
            .args(["-c", r#"in="$1" out="$2"; shift 2; exec "$@" 3<"$in" 4>"$out""#, "sh"])
            .args([&to, &from, &program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"])
            .args(["--disable-background-networking", "--hide-scrollbars", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let heard = Arc::new(Mutex::new(Some(Instant::now())));
        watch(child.id(), Arc::clone(&heard));
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let mut browser = Self { child, to, from, last: 0, session: None, events: Vec::new(), home, heard };
        browser.attach();
        Some(browser)
    }

    /// Opens a page and waits until it is loaded.
    pub(crate) fn open(&mut self, html: &str) -> PathBuf {
        let path = self.home.path().join("page.html");
        std::fs::write(&path, html).unwrap();
        self.events.clear();
        self.call("Page.navigate", json!({ "url": format!("file://{}", path.display()) }));
        self.wait("Page.loadEventFired");
        path
    }

    /// The page's size and colours.
    pub(crate) fn look(&mut self, width: u32, scheme: &str, media: &str) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
    }

    /// The value of an expression in the page; a promise is waited for.
    #[track_caller]
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// A key that is pressed and let go.
    pub(crate) fn press(&mut self, key: &str, code: &str, number: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event =
                json!({ "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number, "text": text });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Every address the page asked for.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        requests.map(|event| event["params"]["request"]["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Errors and warnings of the page, exceptions and refused loads included.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let bad = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Page.javascriptDialogOpening") => true,
            Some("Runtime.consoleAPICalled") => {
                ["error", "warning", "assert"].contains(&event["params"]["type"].as_str().unwrap())
            }
            Some("Log.entryAdded") => {
                ["error", "warning"].contains(&event["params"]["entry"]["level"].as_str().unwrap())
            }
            _ => false,
        };
        self.events.iter().filter(bad).map(|event| event["params"].to_string()).collect()
    }

    /// One command of the protocol and its answer.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.read();
            if answer["id"] == self.last {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let session = self.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    fn wait(&mut self, method: &str) {
        while !self.events.iter().any(|event| event["method"] == method) {
            let event = self.read();
            self.events.push(event);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "Chromium ended, or did not answer for {PATIENCE:?}");
        *self.heard.lock().unwrap() = Some(Instant::now());
        serde_json::from_slice(&bytes).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        *self.heard.lock().unwrap() = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends a browser that was not heard of for too long, so that reads of it end too; stops when it is gone.
fn watch(pid: u32, heard: Arc<Mutex<Option<Instant>>>) {
    std::thread::spawn(move || {
        loop {
            let last = *heard.lock().unwrap();
            let Some(last) = last else { return };
            if last.elapsed() > PATIENCE {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
                return;
            }
            std::thread::park_timeout(Duration::from_millis(200));
        }
    });
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|file| Path::is_file(file))
}
