//! Who may speak to the server: a process of the same user, below an agent that diffsan started, that shows the nonce.

use std::fs::File;
use std::io::{self, Read as _};

use tokio::net::UnixStream;

use crate::child;
use crate::run::record::hex;

/// A number that nobody guesses.
pub(super) fn new_nonce() -> io::Result<String> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Whether the other end belongs to an agent. Where the system does not tell parents, the user and the nonce must do.
pub(super) fn is_ours(stream: &UnixStream) -> bool {
    let Ok(peer) = stream.peer_cred() else { return false };
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return false;
    }
    match peer.pid().and_then(|pid| u32::try_from(pid).ok()) {
        Some(pid) => child::descends_from_live(pid).unwrap_or(true),
        None => !cfg!(target_os = "linux"),
    }
}

/// Whether this is the nonce; how long it takes does not tell how much of it is right.
pub(super) fn is_nonce(shown: &[u8], nonce: &str) -> bool {
    let nonce = nonce.as_bytes();
    shown.len() == nonce.len() && shown.iter().zip(nonce).fold(0, |wrong, (one, other)| wrong | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_nonce_counts() {
        let nonce = new_nonce().unwrap();
        assert_eq!(nonce.len(), 64);
        assert_ne!(nonce, new_nonce().unwrap());
        assert!(is_nonce(nonce.as_bytes(), &nonce));
        assert!(!is_nonce(&nonce.as_bytes()[..63], &nonce));
        assert!(!is_nonce(b"", &nonce));
        assert!(!is_nonce("0".repeat(64).as_bytes(), &nonce));
    }
}
