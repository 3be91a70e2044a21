//! Cursor's CLI: `cursor-agent`, or `agent` as newer installers call it.

use std::path::Path;

use serde::Deserialize;

use super::login::{self, Handed, Login, Own};
use super::{Agent, Left, Reading, Start, Trouble, last_object};
use crate::contracts::{AgentKind, TokenUsage};
use crate::error::Result;

pub(super) const AGENT: Agent = Agent {
    kind: AgentKind::Cursor,
    programs: &["cursor-agent", "agent"],
    install: "install Cursor's CLI (curl https://cursor.com/install -fsS | bash) and set CURSOR_API_KEY, or choose another agent with agent.agent",
    custom: |config| config.cursor_command.as_deref(),
    tested: None,
    keys: &["CURSOR_API_KEY"],
    variables: &[],
    login,
    max_prompt: None,
    structured: false,
    repairs: true,
    reports_progress: false,
    prepare,
    answer_file: None,
    done: Some(is_done),
    sealed: false,
    own_tools: &[],
    own_with_eyes: &[],
    read,
};

/// Flags that answer the question whether the folder is trusted.
const TRUST: &[&str] = &["--trust", "-f", "--force", "--yolo"];

/// Whether a program called `agent` is Cursor's: its installer links it to a folder of that name.
pub(super) fn is_cursor(file: &Path) -> bool {
    file.canonicalize()
        .is_ok_and(|real| real.components().any(|part| part.as_os_str().to_string_lossy().contains("cursor")))
}

/// Where its login is kept, as others report; not measured.
fn login(own: &Own) -> Option<(Login, Handed)> {
    let path = own.path(Some(("XDG_CONFIG_HOME", "cursor/auth.json")), ".config/cursor/auth.json");
    let text = login::text(&path)?;
    Some((Login::File(path), Handed::file(".config/cursor/auth.json", text)))
}

fn prepare(start: &mut Start<'_>) -> Result<()> {
    if start.config.cursor_command.is_none() {
        start.argv.add("--print");
        start.argv.option("--output-format", "json");
        start.argv.option("--mode", "ask");
    }
    if !start.argv.has(TRUST) {
        start.argv.add("--trust");
    }
    start.set_model(&["--model"]);
    Ok(())
}

/// The result object; `result` is all text of the run, one piece after the other.
#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    result: String,
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Result,
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_tokens: Option<u64>,
}

fn envelope(stdout: &str) -> Option<Envelope> {
    last_object::<Envelope>(stdout).filter(|envelope| matches!(envelope.kind, Kind::Result))
}

/// It may stay around after its result.
fn is_done(stdout: &[u8]) -> bool {
    stdout.trim_ascii_end().ends_with(b"}") && std::str::from_utf8(stdout).is_ok_and(|text| envelope(text).is_some())
}

fn read(left: &Left<'_>) -> Reading {
    let envelope = envelope(left.stdout);
    let usage = envelope.as_ref().map(|envelope| &envelope.usage).map(|usage| TokenUsage {
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cache_read_tokens,
        output_tokens: usage.output_tokens,
        ..TokenUsage::default()
    });
    let enveloped = envelope.is_some();
    let answer = match (left.exit_code, envelope) {
        (Some(0), Some(envelope)) if envelope.is_error => Err(Trouble::Failed(envelope.result)),
        (Some(0), Some(envelope)) => Ok(envelope.result),
        (Some(0), None) => Ok(left.stdout.to_owned()),
        _ => Err(Trouble::Failed(left.said())),
    };
    Reading { answer, enveloped, usage: usage.unwrap_or_default(), requests: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_complete_only_when_its_object_is() {
        let cases: &[(&str, bool)] = &[
            ("", false),
            ("{\"type\":\"result\",\"result\":\"{}\"", false),
            ("{\"type\":\"result\",\"result\":\"{}\"}\n", true),
            ("Updating...\n{\"type\":\"result\",\"result\":\"x\"}", true),
            ("{\"type\":\"assistant\"}\n{\"type\":\"result\",\"result\":\"x\"}\n", true),
            ("{\"type\":\"system\",\"subtype\":\"init\"}\n", false),
            ("{\"summary_markdown\":\"x\",\"findings\":[]}", false),
            ("{\n  \"type\": \"result\",\n  \"result\": \"x\"\n}\n", true),
        ];
        for (stdout, done) in cases {
            assert_eq!(is_done(stdout.as_bytes()), *done, "{stdout}");
        }
    }

    #[test]
    fn what_cursor_left_is_read() {
        let result = |error: bool| format!("{{\"type\":\"result\",\"is_error\":{error},\"result\":\"words\"}}");
        let left = |exit_code: Option<i32>, stdout: &str| {
            read(&Left { exit_code, lingered: false, stdout, stderr: "why", file: None }).answer
        };
        assert_eq!(left(Some(0), &result(false)), Ok("words".into()));
        assert_eq!(left(Some(0), &result(true)), Err(Trouble::Failed("words".into())));
        assert_eq!(left(Some(1), &result(false)), Err(Trouble::Failed("why".into())));
        assert_eq!(left(Some(0), "plain"), Ok("plain".into()));
    }
}
