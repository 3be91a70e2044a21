//! Any program: prompt on stdin, answer on stdout.

use super::{Agent, Left, Reading, Trouble};
use crate::contracts::{AgentKind, TokenUsage};

pub(super) const AGENT: Agent = Agent {
    kind: AgentKind::Command,
    programs: &[],
    install: "set agent.command to a program that reads the prompt from stdin and prints the answer",
    custom: |config| config.command.as_deref(),
    tested: None,
    keys: &[],
    variables: &[],
    login: |_| None,
    max_prompt: None,
    structured: false,
    repairs: true,
    reports_progress: false,
    prepare: |_| Ok(()),
    answer_file: None,
    done: None,
    sealed: false,
    own_tools: &[],
    own_with_eyes: &[],
    read,
};

fn read(left: &Left<'_>) -> Reading {
    let answer = match left.exit_code {
        Some(0) => Ok(left.stdout.to_owned()),
        _ => Err(Trouble::Failed(left.said())),
    };
    Reading { answer, enveloped: false, usage: TokenUsage::default(), requests: Vec::new() }
}
