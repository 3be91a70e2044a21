//! The only writer of stdout and stderr.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, RwLock};

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::contracts::{EventRecord, Level};
use crate::letters::inert;
use crate::redact::Redacted;
use crate::run::progress::Progress;

/// Most characters of values in one console line.
const MAX_VALUES: usize = 200;

/// How the console should look.
#[derive(Debug, Clone)]
pub struct ConsoleStyle {
    /// Lowest level that is printed.
    pub level: Level,
    /// `key=value` lines instead of sentences.
    pub structured: bool,
    /// stdout belongs to one document; event lines go to stderr.
    pub document: bool,
    pub colour: ColourChoice,
    /// Event lines on a terminal too; elsewhere they are always there.
    pub lines: bool,
    /// Letters beyond ASCII stay as they are.
    pub unicode: bool,
    /// Nothing is written at all.
    pub mute: bool,
}

impl Default for ConsoleStyle {
    fn default() -> Self {
        Self {
            level: Level::Info,
            structured: true,
            document: false,
            colour: ColourChoice::Auto,
            lines: true,
            unicode: true,
            mute: false,
        }
    }
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR or CLICOLOR=0 says no.
    #[default]
    Auto,
    Always,
    Never,
}

/// The door to stdout and stderr; a closed reader never ends a run.
#[derive(Debug, Clone, Default)]
pub struct Console {
    style: Arc<RwLock<ConsoleStyle>>,
    progress: Arc<RwLock<Progress>>,
}

impl Console {
    pub fn new(style: ConsoleStyle) -> Self {
        Self { style: Arc::new(RwLock::new(style)), ..Self::default() }
    }

    /// A console that says nothing.
    pub fn silent() -> Self {
        Self::new(ConsoleStyle { mute: true, ..ConsoleStyle::default() })
    }

    /// Takes this spinner off the screen whenever something is written.
    pub fn yield_to(&self, progress: Progress) {
        if let Ok(mut current) = self.progress.write() {
            *current = progress;
        }
    }

    /// The stage that a watching person sees.
    pub fn stage(&self, name: &str) {
        self.progress().stage(name);
    }

    /// What the agent is doing; the text is one of diffsan's own or redacted.
    pub fn activity(&self, text: &str) {
        self.progress().activity(text);
    }

    /// Nothing is under way any more.
    pub fn still(&self) {
        self.progress().finish();
    }

    /// Takes over what the configuration says.
    pub fn restyle(&self, style: ConsoleStyle) {
        if let Ok(mut current) = self.style.write() {
            *current = style;
        }
    }

    /// One event: info and warnings to stdout, errors to stderr.
    pub(crate) fn event(&self, record: &EventRecord, sentence: &Redacted) {
        let style = self.style();
        if record.level > style.level {
            return;
        }
        let to_stderr = record.level == Level::Error || style.document;
        let is_terminal = if to_stderr { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
        if is_terminal && !style.lines {
            return self.warning(record, sentence);
        }
        let words = if style.structured { key_values(record) } else { sentence.to_string() };
        let colour = level_style(record.level);
        let text = format!("{colour}[diffsan] {words}{colour:#}\n");
        if to_stderr {
            self.write_err(&text);
        } else {
            // The event is in events.jsonl; a console that cannot take it must not end the run.
            let _ = self.write_out(&text);
        }
    }

    /// Whether an error has its event line on stderr; who says it again says only what that line does not.
    pub fn shows_lines(&self) -> bool {
        self.style().lines || !io::stderr().is_terminal()
    }

    /// All that a quiet terminal shows of an event: what the result at the end does not say again.
    fn warning(&self, record: &EventRecord, sentence: &Redacted) {
        if record.level <= Level::Warn && record.event != "error.raised" {
            let colour = level_style(record.level);
            let sentence: String = sentence.as_str().chars().map(inert).collect();
            self.write_err(&format!("{colour}warning:{colour:#} {sentence}\n"));
        }
    }

    /// The result of a command; an error unless it went out whole, or nobody wanted the rest of it.
    pub fn result(&self, text: &str) -> io::Result<()> {
        match self.write_out(text) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// A message for whoever started the program.
    pub fn message(&self, text: &str) {
        self.write_err(text);
    }

    /// Whether what goes to stdout keeps its colours.
    pub fn is_coloured(&self) -> bool {
        self.choice(&io::stdout()) != anstream::ColorChoice::Never
    }

    /// Whether stderr is a terminal that a person watches.
    pub fn stderr_is_terminal(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Asks whoever sits there; nobody there is a no.
    pub fn agrees(&self, question: &str) -> bool {
        if !io::stdin().is_terminal() {
            return false;
        }
        self.write_err(question);
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
    }

    /// Whether stdout is a terminal.
    pub fn stdout_is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Columns of the terminal, where there is one.
    pub fn width(&self) -> Option<usize> {
        rustix::termios::tcgetwinsize(io::stdout())
            .ok()
            .map(|size| usize::from(size.ws_col))
            .filter(|columns| *columns > 0)
    }

    fn style(&self) -> ConsoleStyle {
        self.style.read().map(|style| style.clone()).unwrap_or_default()
    }

    fn write_out(&self, text: &str) -> io::Result<()> {
        if self.style().mute {
            return Ok(());
        }
        let text = self.letters(text, io::stdout().is_terminal());
        let mut out = anstream::AutoStream::new(io::stdout(), self.choice(&io::stdout()));
        self.progress().suspend(|| out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    fn write_err(&self, text: &str) {
        if self.style().mute {
            return;
        }
        let text = self.letters(text, io::stderr().is_terminal());
        let mut err = anstream::AutoStream::new(io::stderr(), self.choice(&io::stderr()));
        let _ = self.progress().suspend(|| err.write_all(text.as_bytes()).and_then(|()| err.flush()));
    }

    /// A terminal without UTF-8 gets letters it has.
    fn letters<'a>(&self, text: &'a str, is_terminal: bool) -> Cow<'a, str> {
        if is_terminal && !self.style().unicode { Cow::Owned(ascii(text)) } else { Cow::Borrowed(text) }
    }

    fn progress(&self) -> Progress {
        self.progress.read().map(|progress| progress.clone()).unwrap_or_default()
    }

    fn choice(&self, stream: &impl anstream::stream::RawStream) -> anstream::ColorChoice {
        match self.style().colour {
            ColourChoice::Auto => anstream::AutoStream::choice(stream),
            ColourChoice::Always => anstream::ColorChoice::AlwaysAnsi,
            ColourChoice::Never => anstream::ColorChoice::Never,
        }
    }
}

/// One letter for one, so that columns stay where they are.
fn ascii(text: &str) -> String {
    let letter = |letter: char| match letter {
        '✓' => '+',
        '✗' => 'x',
        '●' | '·' | '•' => '*',
        '◐' | '○' => 'o',
        '─' | '–' | '—' => '-',
        '┃' | '│' => '|',
        '⋮' => ':',
        '…' => '~',
        '█' => '#',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        ascii if ascii.is_ascii() => ascii,
        _ => '?',
    };
    text.chars().map(letter).collect()
}

fn level_style(level: Level) -> Style {
    match level {
        Level::Error => Style::new().fg_color(Some(AnsiColor::Red.into())),
        Level::Warn => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
        Level::Info | Level::Debug => Style::new().dimmed(),
    }
}

/// `name | key=value key=value`: scalars only, the rest as a count.
fn key_values(record: &EventRecord) -> String {
    let mut values = String::new();
    // What happened comes before its details: a long line is cut at its end.
    let (first, rest): (Vec<_>, Vec<_>) =
        record.data.iter().partition(|(key, _)| matches!(key.as_str(), "error_code" | "message"));
    for (key, value) in first.into_iter().chain(rest) {
        let word = match value {
            Value::Null => continue,
            Value::String(text) => quote(text),
            Value::Array(list) if list.is_empty() => continue,
            Value::Array(list) => scalars(list),
            Value::Object(map) if map.is_empty() => continue,
            Value::Object(map) => map
                .iter()
                .filter(|(_, value)| !value.is_array() && !value.is_object() && !value.is_null())
                .map(|(key, value)| format!("{key}:{}", plain(value)))
                .collect::<Vec<_>>()
                .join(","),
            scalar => scalar.to_string(),
        };
        values.push(' ');
        values.push_str(key);
        values.push('=');
        values.push_str(&word);
    }
    let longest = if record.level == Level::Error { 3 * MAX_VALUES } else { MAX_VALUES };
    format!("{} |{}", record.event, crate::error::clip(&values, longest))
}

fn scalars(list: &[Value]) -> String {
    let words: Vec<_> = list
        .iter()
        .filter_map(|value| match value {
            Value::Object(map) => map.get("code").map(plain),
            Value::Array(_) => None,
            scalar => Some(plain(scalar)),
        })
        .collect();
    words.join(",")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), quote)
}

/// Control characters would let a file name draw on the terminal.
fn quote(text: &str) -> String {
    let clean: String = text.chars().map(inert).collect();
    if clean.contains([' ', '"', '=']) || clean.is_empty() { format!("{clean:?}") } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_utf8_gets_one_ascii_letter_for_each() {
        let text = "✓ a ─ b … “ü” 漢\x1b[0m";
        assert_eq!(ascii(text), "+ a - b ~ \"?\" ?\x1b[0m");
        assert_eq!(ascii(text).chars().count(), text.chars().count());
    }
}
