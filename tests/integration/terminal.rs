//! What a person sees on a terminal: the binary runs under a real pseudo-terminal.

use std::ffi::OsStr;
use std::process::Stdio;

use crate::sandbox::{Finished, Sandbox};

/// Runs the binary on a terminal of so many columns; what it wrote there, escape codes included.
pub(crate) fn on_terminal(sandbox: &Sandbox, columns: u32, args: &[&str], env: &[(&str, &str)]) -> (i32, String) {
    let words = args.iter().map(|word| shlex::try_quote(word).unwrap()).collect::<Vec<_>>().join(" ");
    let program = env!("CARGO_BIN_EXE_diffsan");
    let line = format!("stty cols {columns} rows 50; exec {program} {words}");
    let mut command = sandbox.hermetic("script");
    command.args(["-qec", &line, "/dev/null"].map(OsStr::new)).current_dir(sandbox.repo()).stdin(Stdio::null());
    command.env("TERM", "xterm-256color").envs(env.iter().copied());
    let finished = Finished::of(command.output().unwrap());
    (finished.code, finished.stdout)
}

/// The text without its escape codes.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string().replace('\r', "")
}

#[test]
fn a_terminal_shows_the_result_and_no_event_line() {
    let sandbox = Sandbox::with_change();
    let (code, screen) = on_terminal(&sandbox, 100, &["--agent", "builtin"], &[]);
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("[diffsan]"), "{screen}");
    assert!(plain(&screen).contains("No findings"), "{screen}");
    let (_, screen) = on_terminal(&sandbox, 100, &["--agent", "builtin", "-v"], &[]);
    assert!(screen.contains("[diffsan] diff.fetched |"), "-v shows the events: {screen}");
    let piped = sandbox.run(["--agent", "builtin"]).expect_code(0);
    assert!(piped.stdout.contains("[diffsan] diff.fetched |"), "a pipe has them: {}", piped.stdout);
}

#[test]
fn the_moving_line_names_the_stage_and_what_the_agent_does() {
    let sandbox = Sandbox::with_change();
    sandbox.script(
        "agent.sh",
        "#!/bin/sh\ncat > /dev/null\nsleep 0.4\necho '{\"summary_markdown\":\"ok\",\"findings\":[]}'\n",
    );
    let env = [("DIFFSAN_AGENT__COMMAND", "../agent.sh")];
    let (code, screen) = on_terminal(&sandbox, 60, &["--agent", "command"], &env);
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("the agent reviews"), "{screen}");
    assert!(screen.contains('⠙') || screen.contains('⠋'), "{screen}");
    let (_, screen) = on_terminal(&sandbox, 60, &["--agent", "command"], &[env[0], ("LC_ALL", "C")]);
    assert!(screen.is_ascii(), "a terminal without UTF-8: {screen}");
    assert!(screen.contains("the agent reviews"), "{screen}");
}

#[test]
fn an_error_is_said_once_on_a_terminal_and_a_warning_too() {
    let sandbox = Sandbox::with_change();
    let (code, screen) = on_terminal(&sandbox, 100, &["--base", "nowhere"], &[("DIFFSAN_FOO", "1")]);
    assert_eq!(code, 1, "{screen}");
    let text = plain(&screen);
    assert_eq!(text.matches("error[DIFF_FETCH_FAILED]").count(), 1, "{text}");
    assert_eq!(text.matches("nowhere").count(), 1, "{text}");
    assert_eq!(text.matches("warning:").count(), 1, "{text}");
    assert!(text.contains("DIFFSAN_FOO"), "{text}");
    assert!(!text.contains("[diffsan]"), "{text}");
}
