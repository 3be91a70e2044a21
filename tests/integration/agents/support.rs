//! What the agent tests share.

use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for something that must happen soon.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Waits until a condition holds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < end, "not within {SOON:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether no process of that number does anything any more.
pub(crate) fn is_gone(pid: &str) -> bool {
    std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z')))
        .unwrap_or(true)
}
