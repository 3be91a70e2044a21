//! What was said in the merge request before: own claims and threads, who answered them, and what is settled.

mod blocks;
mod change;
mod claim;
pub mod digest;
mod keys;
pub mod marker;
mod seen;
pub mod skip;
pub mod story;

pub use crate::contracts::{Claim, ClaimFinding};
pub use blocks::{Block, MOST_KEPT, blocks, new_since, old_hunks};
pub use change::{change_hash, policy_hash};
pub use claim::{Rank, Seal};
pub use keys::{Keys, Known, Said, Standing, keys, pair, similarity};
pub use marker::ItemMark;
pub use seen::{NoteView, Own, Reply, Seen, SeenClaim, Thread};
