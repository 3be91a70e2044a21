//! What the summary says of the second look, and of what each call cost.

use crate::contracts::{AgentCall, LookStatus, ReviewMeta, SecondLook};

use super::summary::{duration, tokens};

/// A sentence for readers who must know that nobody confirmed what they read.
pub(super) fn warning(meta: &ReviewMeta) -> Option<&'static str> {
    let failed = meta.second_look.as_ref().is_some_and(|look| look.status == LookStatus::Failed);
    failed.then_some("The second look at these findings failed: they are one reviewer's word and were not confirmed.")
}

/// Lines of the metadata.
pub(super) fn metadata(meta: &ReviewMeta) -> Vec<String> {
    let look = meta.second_look.as_ref().map(|look| format!("- Second look: {}", told(look)));
    let calls = meta.calls.iter().filter(|_| meta.calls.len() > 1).map(|call| format!("- Call: {}", cost(call)));
    look.into_iter().chain(calls).collect()
}

fn told(look: &SecondLook) -> String {
    match look.status {
        LookStatus::NotNeeded => "not needed, no finding is severe enough".into(),
        LookStatus::Failed => "failed, the findings were not confirmed".into(),
        LookStatus::Done => {
            let by = look.agent.map(|agent| format!(" by {}", agent.name())).unwrap_or_default();
            let (holds, claims) = (look.holds, look.claims);
            let dropped: Vec<String> = [(look.refuted, "refuted"), (look.trivial, "trivial")]
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{count} {what}"))
                .collect();
            let dropped = if dropped.is_empty() { String::new() } else { format!("; dropped: {}", dropped.join(", ")) };
            format!("{holds} of {claims} findings hold{by}{dropped}")
        }
    }
}

fn cost(call: &AgentCall) -> String {
    let requests = match call.requests {
        Some(1) => ", 1 request".to_owned(),
        Some(requests) => format!(", {requests} requests"),
        None => String::new(),
    };
    let used = tokens(&call.token_usage);
    let used = if used.is_empty() { used } else { format!(", {used}") };
    let failed = if call.error.is_some() { ", no answer" } else { "" };
    format!("{} ({}): {}{requests}{used}{failed}", call.part, call.agent.name(), duration(call.duration_ms))
}
