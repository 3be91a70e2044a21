//! Log lines on stderr for whoever debugs diffsan itself (`-v`). Unlike events they may be reworded.

use std::io::{self, Write};
use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::redact::{Engine, Output};
use crate::run::console::Console;

/// Shows diffsan's own log lines from now on, secrets removed; those of libraries stay out.
pub fn start(console: &Console, engine: &Arc<Engine>) {
    let door = Door { console: console.clone(), engine: Arc::clone(engine) };
    let lines = tracing_subscriber::fmt::layer().without_time().with_target(false).with_ansi(false).with_writer(door);
    let own = Targets::new().with_target("diffsan", LevelFilter::DEBUG);
    // A second start in one process changes nothing.
    let _ = tracing_subscriber::registry().with(lines.with_filter(own)).try_init();
}

#[derive(Debug, Clone)]
struct Door {
    console: Console,
    engine: Arc<Engine>,
}

/// One line, written when it is complete.
#[derive(Debug)]
struct Line {
    door: Door,
    text: Vec<u8>,
}

impl MakeWriter<'_> for Door {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line { door: self.clone(), text: Vec::new() }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.text.is_empty() {
            let text = self.door.engine.redact_bytes(Output::Console, &self.text);
            self.door.console.message(&format!("[diffsan] {}", text.as_str().trim_start()));
        }
    }
}
