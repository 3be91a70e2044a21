//! A repository of diffsan's own, in which two trees are compared.
//!
//! What git prints of a change depends on attributes, drivers, configuration, replace refs and grafts. A checkout has
//! them all, and the branch under review wrote some of them. So the comparison happens where there are none: in an
//! empty repository without a working tree that borrows the checkout's objects.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::fetch::diff_command_below;
use super::git::{Git, GitError};

/// An empty repository with the objects of another one. It is gone when it is dropped.
#[derive(Debug)]
pub struct Private {
    folder: tempfile::TempDir,
    git: Git,
    checkout: Git,
    /// Where the checkout keeps its objects.
    objects: PathBuf,
}

impl Private {
    /// `id` is any id of the checkout's objects: it tells their format.
    pub async fn beside(checkout: &Git, id: &str) -> Result<Self, GitError> {
        let objects = path_of(checkout, "objects").await?;
        let folder = tempfile::Builder::new().prefix("diffsan-git-").tempdir().map_err(GitError::Private)?;
        lay_out(folder.path(), &objects, id.len() == SHA256_DIGITS).map_err(GitError::Private)?;
        let git = checkout.isolated(&folder.path().join(GIT), folder.path());
        Ok(Self { folder, git, checkout: checkout.clone(), objects })
    }

    /// What changed between two commits or trees, by the one fixed invocation.
    pub async fn diff(&self, from: &str, to: &str) -> Result<Vec<u8>, GitError> {
        self.diff_below(from, to, &[]).await
    }

    /// The same for what lies below some paths, named from the repository's top; all where there are none.
    pub async fn diff_below(&self, from: &str, to: &str, paths: &[String]) -> Result<Vec<u8>, GitError> {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let ends = [from, to];
        let command = diff_command_below(&ends, &paths);
        match self.git.run(&command).await {
            // A clone that leaves out blobs gets them when it needs them itself; this one could not ask anybody.
            Err(error @ GitError::Failed { .. }) if self.is_partial().await => {
                self.checkout.run_remote(&command).await?;
                self.git.run(&command).await.map_err(|_| error)
            }
            other => other,
        }
    }

    /// The index of the checkout as a tree.
    pub async fn staged(&self) -> Result<String, GitError> {
        let index = self.borrow_index().await?;
        index.line(&WRITE_TREE).await
    }

    /// The tracked files of the checkout as they are, and as `git add` would store them: line ends, filters and
    /// encodings are those of the user, as in every commit he makes here.
    pub async fn working_tree(&self) -> Result<String, GitError> {
        let index = self.borrow_index().await?;
        index.run(&ADD_TRACKED).await?;
        index.line(&WRITE_TREE).await
    }

    /// Paths that an unfinished merge left without a decision.
    pub async fn unmerged(&self) -> Result<Vec<String>, GitError> {
        let listed = self.checkout.run(&["ls-files", "--unmerged", "-z", "--full-name", ":/"]).await?;
        let paths = listed.split(|byte| *byte == 0).filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
        let paths: BTreeSet<String> = paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        Ok(paths.into_iter().collect())
    }

    /// Git in the checkout with a copy of its index, so that what it adds goes into this repository.
    async fn borrow_index(&self) -> Result<Git, GitError> {
        let from = path_of(&self.checkout, "index").await?;
        let to = self.folder.path().join("index");
        copy_index(&from, &to).map_err(GitError::Private)?;
        Ok(self.checkout.with_store(&to, &self.folder.path().join(GIT).join("objects"), &quoted(&self.objects)))
    }

    async fn is_partial(&self) -> bool {
        self.checkout
            .line(&["config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"])
            .await
            .is_ok()
    }
}

const GIT: &str = "git";
const SHA256_DIGITS: usize = 64;

/// Objects that a partial clone lacks need not be there for their tree to be written.
const WRITE_TREE: [&str; 2] = ["write-tree", "--missing-ok"];
/// What is stored is only compared, so nothing is packed tightly and nothing is refused.
const ADD_TRACKED: [&str; 10] = [
    "-c",
    "core.safecrlf=false",
    "-c",
    "core.looseCompression=0",
    "-c",
    "core.splitIndex=false",
    "-c",
    "submodule.recurse=false",
    "add",
    "--update",
];

#[expect(clippy::disallowed_methods, reason = "a repository of its own in a temporary folder")]
fn lay_out(folder: &Path, objects: &Path, sha256: bool) -> std::io::Result<()> {
    let git = folder.join(GIT);
    for part in ["objects/info", "objects/pack", "refs/heads"] {
        std::fs::create_dir_all(git.join(part))?;
    }
    let format = match sha256 {
        true => "[core]\n\tbare = true\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
        false => "[core]\n\tbare = true\n\trepositoryformatversion = 0\n",
    };
    std::fs::write(git.join("config"), format)?;
    std::fs::write(git.join("HEAD"), "ref: refs/heads/none\n")?;
    let mut alternates = quoted(objects).into_vec();
    alternates.push(b'\n');
    std::fs::write(git.join("objects/info/alternates"), alternates)
}

/// A path of the checkout's repository, absolute.
async fn path_of(git: &Git, name: &str) -> Result<PathBuf, GitError> {
    let mut path = git.run(&["rev-parse", "--path-format=absolute", "--git-path", name]).await?;
    if path.last() == Some(&b'\n') {
        path.pop();
    }
    Ok(OsString::from_vec(path).into())
}

/// A path as git reads it in lists of object folders, whatever characters it has.
fn quoted(path: &Path) -> OsString {
    let mut text = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            b'\n' => text.extend(b"\\n"),
            _ => text.push(*byte),
        }
    }
    text.push(b'"');
    OsString::from_vec(text)
}

/// Copies an index with its time: git trusts what it noted about a file only if the index is younger than the file.
#[expect(clippy::disallowed_methods, reason = "a repository of its own in a temporary folder")]
fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    let modified = match std::fs::metadata(from) {
        Ok(metadata) => metadata.modified()?,
        // Nothing was ever added.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match std::fs::remove_file(to) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        Err(error) => return Err(error),
    };
    std::fs::copy(from, to)?;
    std::fs::File::options().write(true).open(to)?.set_modified(modified)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn a_folder_of_any_name_can_be_borrowed_from() {
        assert_eq!(quoted(Path::new("/a \"b\":\\c\nd")), OsStr::new("\"/a \\\"b\\\":\\\\c\\nd\""));
    }
}
