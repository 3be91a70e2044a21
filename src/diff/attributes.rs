//! What `.gitattributes` say about the files of a change, asked from git itself.

use std::collections::BTreeMap;

use super::Diff;
use super::git::Git;
use crate::policy::PolicyCommit;

/// What `.gitattributes` say about a file. It changes a file's rank only: a branch under review
/// could mark anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Generated,
    Vendored,
    /// Marked as neither, whatever its name looks like.
    Source,
}

/// Whose `.gitattributes` count.
#[derive(Debug, Clone, Copy)]
pub enum Judge<'a> {
    /// Those of the policy commit: a branch does not rank its own files.
    Commit(&'a PolicyCommit),
    /// Those of the working tree, on a laptop.
    Repository(&'a Git),
    Nobody,
}

/// The marks of a diff's files; none where nobody can be asked.
pub async fn marks(judge: Judge<'_>, diff: &Diff<'_>) -> BTreeMap<String, Mark> {
    let mut paths = Vec::new();
    for file in &diff.files {
        paths.extend_from_slice(file.path().as_bytes());
        paths.push(0);
    }
    if paths.is_empty() {
        return BTreeMap::new();
    }
    let names = [GENERATED, VENDORED];
    let answer = match judge {
        Judge::Commit(commit) => commit.attributes(&names, &paths).await,
        Judge::Repository(git) => {
            git.run_with(&[&["check-attr", "-z", "--stdin"][..], &names].concat(), &paths).await.ok()
        }
        Judge::Nobody => None,
    };
    answer.map(|answer| read(&answer)).unwrap_or_default()
}

const GENERATED: &str = "linguist-generated";
const VENDORED: &str = "linguist-vendored";

/// Reads triples of path, attribute and value, each ended by NUL.
fn read(answer: &[u8]) -> BTreeMap<String, Mark> {
    let fields: Vec<_> = answer.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let mut marks = BTreeMap::new();
    for triple in fields.chunks_exact(3) {
        let set = match triple[2].as_ref() {
            "set" | "true" => true,
            "unset" | "false" => false,
            _ => continue,
        };
        let mark = match (triple[1].as_ref(), set) {
            (GENERATED, true) => Mark::Generated,
            (VENDORED, true) => Mark::Vendored,
            _ => Mark::Source,
        };
        let known = marks.entry(triple[0].to_string()).or_insert(mark);
        if *known == Mark::Source {
            *known = mark;
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_mark_wins_over_an_unset_one() {
        let answer = "a\0linguist-generated\0set\0a\0linguist-vendored\0unset\0\
                      b\0linguist-generated\0false\0b\0linguist-vendored\0true\0\
                      c\0linguist-generated\0unset\0c\0linguist-vendored\0unspecified\0\
                      d\0linguist-generated\0unspecified\0d\0linguist-vendored\0unspecified\0";
        let marks = read(answer.as_bytes());
        let want = [("a", Mark::Generated), ("b", Mark::Vendored), ("c", Mark::Source)];
        assert_eq!(marks, want.map(|(path, mark)| (path.to_owned(), mark)).into());
    }
}
