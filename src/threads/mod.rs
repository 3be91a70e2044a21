//! What was said in the merge request before: own claims and threads, who answered them, and what is settled.

/// An own thread, or a finding of an earlier summary, that still stands: what a second look is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenThread {
    /// GitLab's id of the discussion; the finding's id where it stands in a summary only.
    pub id: String,
    /// The file it stands on.
    pub path: String,
    /// The changed lines it is about as they are now, as a piece of the diff, secrets replaced.
    pub block: String,
    /// The finding's first sentence.
    pub title: String,
    /// The finding in full, without markers.
    pub body: String,
}
