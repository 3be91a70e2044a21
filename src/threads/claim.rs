//! The claim: what a summary note says, for machines, about the review it tells. Signed, so that a later run may
//! believe its verdict.

use std::cmp::Reverse;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::marker;
use crate::contracts::Claim;
use crate::run::record::hex;

/// GitLab takes a million characters; the rest is for the marker's own words.
const MOST_CHARS: usize = 990_000;

/// No payload of a claim begins so: a signed document is never a claim, and the other way round.
const DOCUMENT: &str = "document\0";

/// What orders claims: the newest version, then the highest generation, then the complete one, then the first note.
pub type Rank = (u64, u32, bool, Reverse<u64>);

impl Claim {
    pub fn rank(&self, note: u64) -> Rank {
        (self.version, self.generation, self.complete, Reverse(note))
    }

    /// The body of the note: its text, with this claim as its last line.
    pub fn body(&self, text: &str, seal: &Seal) -> String {
        let text = text.trim_end();
        let mut claim = Self { sum: marker::sum(text), ..self.clone() };
        let room = MOST_CHARS.saturating_sub(text.chars().count()).min(marker::PAYLOAD_BYTES);
        let encode = |claim: &Self| marker::encode(&serde_json::to_vec(claim).unwrap_or_default());
        let mut payload = encode(&claim);
        if payload.len() > room {
            // The note itself tells the review; a later run asks the agent again.
            (claim.review, claim.blocks) = (None, Vec::new());
            payload = encode(&claim);
        }
        while payload.len() > room && !claim.findings.is_empty() {
            // The worst are kept.
            claim.findings.sort_by_key(|finding| Reverse(finding.severity));
            claim.findings.truncate(claim.findings.len() / 2);
            payload = encode(&claim);
        }
        let signature = seal.sign(&payload);
        format!("{text}\n\n{}", marker::marker(&format!("claim:{payload}:{signature}")))
    }

    /// Reads the claim of a note.
    pub fn read(body: &str, seal: &Seal) -> Option<Read> {
        let (payload, signature) = marker::last(body)?.strip_prefix("claim:")?.split_once(':')?;
        let claim: Self = serde_json::from_slice(&marker::decode(payload)?).ok()?;
        let end = body.trim_end().rfind('\n').unwrap_or(0);
        let edited = claim.sum != marker::sum(&body[..end]);
        Some(Read { trusted: seal.verify(payload, signature), edited, claim })
    }
}

/// A claim as a note has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    pub claim: Claim,
    /// This token signed it, for this merge request.
    pub trusted: bool,
    /// Somebody changed the note's text since.
    pub edited: bool,
}

/// Signs what later runs are to believe: keyed by the token, bound to one merge request.
#[derive(Clone)]
pub struct Seal {
    key: [u8; 32],
    about: String,
}

impl Seal {
    pub fn new(token: &str, project: u64, mr_iid: u64) -> Self {
        let key = Sha256::new_with_prefix("diffsan-claim-1\0").chain_update(token).finalize();
        Self { key: key.into(), about: format!("{project}!{mr_iid}\0") }
    }

    /// Signs a document that another job of the same merge request is to believe.
    pub fn sign_document(&self, text: &str) -> String {
        self.sign(&format!("{DOCUMENT}{text}"))
    }

    /// Whether this token signed the document, for this merge request.
    pub fn is_own_document(&self, text: &str, signature: &str) -> bool {
        self.verify(&format!("{DOCUMENT}{text}"), signature)
    }

    fn mac(&self, payload: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(self.about.as_bytes());
        mac.update(payload.as_bytes());
        Some(mac)
    }

    fn sign(&self, payload: &str) -> String {
        self.mac(payload).map(|mac| hex(&mac.finalize().into_bytes())).unwrap_or_default()
    }

    fn verify(&self, payload: &str, signature: &str) -> bool {
        let bytes: Option<Vec<u8>> = (0..signature.len())
            .step_by(2)
            .map(|at| signature.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
            .collect();
        self.mac(payload).zip(bytes).is_some_and(|(mac, bytes)| mac.verify_slice(&bytes).is_ok())
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim { tag: "ai-reviewer".into(), nonce: "n1".into(), version: 3, generation: 1, ..Claim::default() }
    }

    #[test]
    fn a_claim_is_believed_only_with_the_token_and_for_the_merge_request_it_was_written_with() {
        let seal = Seal::new("secret", 12, 3);
        let body = claim().body("**diffsan:** fine\n", &seal);
        let read = Claim::read(&body, &seal).expect("a claim");
        assert!(read.trusted && !read.edited);
        assert_eq!(read.claim.nonce, "n1");
        for other in [Seal::new("other", 12, 3), Seal::new("secret", 13, 3), Seal::new("secret", 12, 4)] {
            assert!(!Claim::read(&body, &other).expect("a claim").trusted);
        }
        let forged = Claim { delivered: true, ..claim() }.body("x", &Seal::new("guess", 12, 3));
        assert!(!Claim::read(&forged, &seal).expect("a claim").trusted);
    }

    #[test]
    fn a_document_is_believed_only_as_it_was_signed_and_is_no_claim() {
        let seal = Seal::new("secret", 12, 3);
        let signature = seal.sign_document("text");
        assert!(seal.is_own_document("text", &signature));
        assert!(!seal.is_own_document("text.", &signature) && !seal.is_own_document("text", ""));
        assert!(!Seal::new("secret", 12, 4).is_own_document("text", &signature));
        assert!(!seal.verify("text", &signature) && !seal.is_own_document("text", &seal.sign("text")));
    }

    #[test]
    fn an_edited_text_is_seen_and_a_quoted_claim_is_none() {
        let seal = Seal::new("secret", 1, 1);
        let body = claim().body("fine", &seal);
        assert!(Claim::read(&body.replace("fine", "bad"), &seal).expect("a claim").edited);
        let quoted: String = body.lines().map(|line| format!("> {line}\n")).collect();
        assert_eq!(Claim::read(&quoted, &seal), None);
        assert_eq!(Claim::read(&format!("{body}\n\nand an answer"), &seal), None);
    }

    #[test]
    fn broken_claims_are_none() {
        let seal = Seal::new("secret", 1, 1);
        for body in ["", "<!-- diffsan:claim::x -->", "<!-- diffsan:claim:%%:00 -->", "<!-- diffsan:claim:bnVsbA== -->"]
        {
            assert_eq!(Claim::read(body, &seal), None, "{body}");
        }
        let odd = claim().body("t", &seal).replace(" -->", "0 -->");
        assert!(!Claim::read(&odd, &seal).expect("a claim").trusted);
    }

    #[test]
    fn the_newest_version_wins_then_the_generation_then_the_complete_then_the_first_note() {
        let rank = |version, generation, complete, note| Claim { version, generation, complete, ..claim() }.rank(note);
        assert!(rank(2, 1, false, 9) > rank(1, 9, true, 1));
        assert!(rank(1, 2, false, 9) > rank(1, 1, true, 1));
        assert!(rank(1, 1, true, 9) > rank(1, 1, false, 1));
        assert!(rank(1, 1, true, 1) > rank(1, 1, true, 9));
    }
}
