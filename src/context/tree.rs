//! What can be read: the files of the reviewed commit, as blobs of git, or the tracked files of a working tree as they
//! are, opened without following a link. Nothing untracked, nothing below `.git`, nothing outside.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::MAX_FILE;
use crate::diff::git::{Git, GitError};
use crate::diff::objects::Objects;
use crate::redact::Engine;

/// Gits that are kept for the next question.
const IDLE: usize = 2;
/// A zero byte among the first bytes makes a file binary, as git has it.
const LOOK: usize = 8_000;

/// The files that an agent can ask for.
#[derive(Debug)]
pub struct Tree {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    place: Place,
    engine: Arc<Engine>,
}

/// One path of the tree.
#[derive(Debug)]
pub(super) struct Entry {
    /// The path as it is shown and asked for: a secret in it is gone.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Bytes; a working tree's are looked up when they are asked for.
    size: Option<u64>,
    key: Key,
    /// Nothing had to be removed from it when so many values were known, plus one; what a commit holds does not change.
    clean: AtomicUsize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Link,
    Submodule,
}

/// Where the bytes are.
#[derive(Debug)]
enum Key {
    Object(String),
    Path(PathBuf),
}

#[derive(Debug)]
enum Place {
    Commit { git: Git, idle: Mutex<Vec<Objects>> },
    Folder(PathBuf),
}

/// What stands at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    Bytes(&'a [u8]),
    /// More than is read, with its size.
    Huge(u64),
    /// A link on the disk where a file is tracked, or on the way to it.
    ThroughLink,
    /// No such object, or no such file any more.
    Missing,
}

/// Why there is nothing to read from.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("git cannot list the files: {0}")]
    Git(#[from] GitError),
    #[error("the working tree cannot be opened")]
    Folder(#[source] io::Error),
}

impl Tree {
    /// The files of a commit.
    pub async fn of_commit(git: &Git, commit: &str, engine: Arc<Engine>) -> Result<Self, TreeError> {
        let listed = git
            .run(&["--no-replace-objects", "ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", commit])
            .await?;
        let entries = listed.split(|&byte| byte == 0).filter_map(|line| commit_entry(line, &engine)).collect();
        let place = Place::Commit { git: git.clone(), idle: Mutex::default() };
        Ok(Self::new(entries, place, engine))
    }

    /// The tracked files of the working tree around git's folder, as they are.
    pub async fn of_working_tree(git: &Git, engine: Arc<Engine>) -> Result<Self, TreeError> {
        let top = git.run(&["rev-parse", "--show-toplevel"]).await?;
        let top = PathBuf::from(OsString::from_vec(top.strip_suffix(b"\n").unwrap_or(&top).to_vec()));
        open_top(&top).map_err(TreeError::Folder)?;
        let listed = git.run(&["ls-files", "-z", "--stage", "--full-name", "--", ":/"]).await?;
        let mut entries: Vec<Entry> =
            listed.split(|&byte| byte == 0).filter_map(|line| working_entry(line, &engine)).collect();
        // A conflict lists a path several times.
        entries.dedup_by(|next, kept| next.name == kept.name);
        Ok(Self::new(entries, Place::Folder(top), engine))
    }

    fn new(mut entries: Vec<Entry>, place: Place, engine: Arc<Engine>) -> Self {
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        let by_name = entries.iter().enumerate().rev().map(|(index, entry)| (entry.name.clone(), index)).collect();
        Self { entries, by_name, place, engine }
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// What the commit holds does not change under a reader.
    pub(super) fn is_commit(&self) -> bool {
        matches!(self.place, Place::Commit { .. })
    }

    /// Someone who reads from it.
    pub(super) fn reader(&self) -> io::Result<Reader<'_>> {
        let way = match &self.place {
            Place::Folder(top) => Way::Folder { top: open_top(top)?, last: None },
            Place::Commit { git, idle } => {
                let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
                match kept {
                    Some(objects) => Way::Objects(objects),
                    None => Way::Objects(Objects::open(git).map_err(io::Error::other)?),
                }
            }
        };
        Ok(Reader { tree: self, way: Some(way), broken: false })
    }
}

impl Entry {
    /// Known to hold nothing that is removed, by an engine that knows so many values.
    pub(super) fn is_clean(&self, known: usize) -> bool {
        self.clean.load(Ordering::Relaxed) == known + 1
    }

    pub(super) fn set_clean(&self, known: usize) {
        self.clean.store(known + 1, Ordering::Relaxed);
    }
}

/// Reads files, one after the other.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    tree: &'a Tree,
    way: Option<Way>,
    broken: bool,
}

#[derive(Debug)]
enum Way {
    Objects(Objects),
    /// The folder that was opened last is kept for its neighbours.
    Folder {
        top: OwnedFd,
        last: Option<(PathBuf, OwnedFd)>,
    },
}

impl Reader<'_> {
    /// Hands the content of each entry to `take`, in their order; it says whether to go on.
    pub(super) fn each(
        &mut self,
        places: &[usize],
        mut take: impl FnMut(usize, Content<'_>) -> bool,
    ) -> io::Result<()> {
        let tree = self.tree;
        match self.way.as_mut() {
            None => Err(io::ErrorKind::NotConnected.into()),
            Some(Way::Folder { top, last }) => {
                for &place in places {
                    let mut bytes = Vec::new();
                    let content = match &tree.entries[place].key {
                        Key::Path(path) => read_file(top, last, path, tree.entries[place].kind, &mut bytes),
                        Key::Object(_) => Content::Missing,
                    };
                    if !take(place, content) {
                        break;
                    }
                }
                Ok(())
            }
            Some(Way::Objects(objects)) => {
                let mut huge = Vec::new();
                let mut ids = Vec::with_capacity(places.len());
                let mut wanted = Vec::with_capacity(places.len());
                for &place in places {
                    let entry = &tree.entries[place];
                    match (entry.size.filter(|size| *size > MAX_FILE), &entry.key) {
                        (Some(size), _) => huge.push((place, size)),
                        (None, Key::Object(id)) => {
                            ids.push(id.as_str());
                            wanted.push(place);
                        }
                        (None, Key::Path(_)) => {}
                    }
                }
                if huge.iter().any(|&(place, size)| !take(place, Content::Huge(size))) {
                    return Ok(());
                }
                let read = objects.each(&ids, MAX_FILE, |index, object| {
                    take(wanted[index], object.map_or(Content::Missing, Content::Bytes))
                });
                self.broken = read.is_err();
                read
            }
        }
    }

    /// How many bytes an entry has, where that is known without a link.
    pub(super) fn size(&mut self, place: usize) -> Option<u64> {
        let entry = &self.tree.entries[place];
        match (entry.size, &entry.key, self.way.as_mut()) {
            (Some(size), ..) => Some(size),
            (None, Key::Path(path), Some(Way::Folder { top, last })) => {
                let (folder, name) = parent(top, last, path).ok()?;
                let stat = rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
                u64::try_from(stat.st_size).ok()
            }
            _ => None,
        }
    }
}

impl Drop for Reader<'_> {
    /// A git that still answers is kept for the next one who asks.
    fn drop(&mut self) {
        if let (Some(Way::Objects(objects)), Place::Commit { idle, .. }, false) =
            (self.way.take(), &self.tree.place, self.broken)
        {
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE {
                idle.push(objects);
            }
        }
    }
}

/// The text of a file; `None` for a binary one.
pub(super) fn text(bytes: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let head = &bytes[..bytes.len().min(LOOK)];
    memchr::memchr(0, head).is_none().then(|| String::from_utf8_lossy(bytes))
}

/// `MODE TYPE ID SIZE<tab>PATH`, the size filled up with blanks.
fn commit_entry(line: &[u8], engine: &Engine) -> Option<Entry> {
    let tab = memchr::memchr(b'\t', line)?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    let mut words = head.split_ascii_whitespace();
    let (mode, _, id, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let key = Key::Object(id.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| id.to_owned())?);
    entry(mode, &line[tab + 1..], size.parse().ok(), key, engine)
}

/// `MODE ID STAGE<tab>PATH`.
fn working_entry(line: &[u8], engine: &Engine) -> Option<Entry> {
    let tab = memchr::memchr(b'\t', line)?;
    let mode = std::str::from_utf8(&line[..tab]).ok()?.split_ascii_whitespace().next()?;
    let path = &line[tab + 1..];
    entry(mode, path, None, Key::Path(PathBuf::from(OsString::from_vec(path.to_vec()))), engine)
}

fn entry(mode: &str, path: &[u8], size: Option<u64>, key: Key, engine: &Engine) -> Option<Entry> {
    let kind = match mode {
        "120000" => Kind::Link,
        "160000" => Kind::Submodule,
        _ => Kind::File,
    };
    let ours = !path.is_empty() && path.split(|&byte| byte == b'/').all(is_plain);
    ours.then(|| {
        let path = String::from_utf8_lossy(path).replace(char::is_control, "\u{FFFD}");
        let name = engine.redact_file("", &path).text.into_string();
        Entry { name, kind, size, key, clean: AtomicUsize::new(0) }
    })
}

/// A part of a path that leads nowhere else. Git makes no others, but a tree can be made without git.
fn is_plain(part: &[u8]) -> bool {
    !part.is_empty() && part != b"." && part != b".." && !part.eq_ignore_ascii_case(b".git")
}

fn open_top(top: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(top, flags, Mode::empty())?)
}

/// The folder of a path, opened part by part so that no link is followed, and the name in it.
fn parent<'a, 'p>(
    top: &'a OwnedFd,
    last: &'a mut Option<(PathBuf, OwnedFd)>,
    path: &'p Path,
) -> io::Result<(&'a OwnedFd, &'p std::ffi::OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(folder) = folder else { return Ok((top, name)) };
    if last.as_ref().is_none_or(|(known, _)| known != folder) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut opened: Option<OwnedFd> = None;
        for part in folder.components() {
            let above = opened.as_ref().unwrap_or(top);
            opened = Some(rustix::fs::openat(above, part.as_os_str(), flags, Mode::empty())?);
        }
        let opened = opened.ok_or(io::ErrorKind::InvalidInput)?;
        *last = Some((folder.to_owned(), opened));
    }
    match last {
        Some((_, opened)) => Ok((opened, name)),
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

fn read_file<'b>(
    top: &OwnedFd,
    last: &mut Option<(PathBuf, OwnedFd)>,
    path: &Path,
    kind: Kind,
    bytes: &'b mut Vec<u8>,
) -> Content<'b> {
    match try_read(top, last, path, kind, bytes) {
        Ok(Some(size)) => Content::Huge(size),
        Ok(None) => Content::Bytes(bytes),
        Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
            // A folder that is a link is no folder to someone who follows none.
            Some(Errno::LOOP | Errno::NOTDIR | Errno::MLINK) => Content::ThroughLink,
            _ => Content::Missing,
        },
    }
}

/// The size of a file that is too large to read, else nothing; its bytes are in `bytes`.
fn try_read(
    top: &OwnedFd,
    last: &mut Option<(PathBuf, OwnedFd)>,
    path: &Path,
    kind: Kind,
    bytes: &mut Vec<u8>,
) -> io::Result<Option<u64>> {
    let (folder, name) = parent(top, last, path)?;
    if kind == Kind::Link
        && let Ok(target) = rustix::fs::readlinkat(folder, name, Vec::new())
    {
        bytes.extend_from_slice(target.as_bytes());
        return Ok(None);
    }
    // A pipe in the place of a file must not be waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > MAX_FILE {
        return Ok(Some(size));
    }
    File::from(file).take(MAX_FILE + 1).read_to_end(bytes)?;
    let read = bytes.len() as u64;
    Ok((read > MAX_FILE).then_some(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_leads_elsewhere_is_no_part_of_the_tree() {
        for (part, plain) in [
            ("src", true),
            (".gitignore", true),
            (".git", false),
            (".GIT", false),
            ("..", false),
            (".", false),
            ("", false),
        ] {
            assert_eq!(is_plain(part.as_bytes()), plain, "{part}");
        }
    }

    #[test]
    fn lines_of_git_become_entries() {
        let engine = Engine::builtin([]);
        let id = "0123456789abcdef0123456789abcdef01234567";
        let line = |mode: &str, size: &str, path: &str| format!("{mode} blob {id} {size}\t{path}").into_bytes();
        let file = commit_entry(&line("100644", "     12", "a\tb"), &engine).unwrap();
        assert_eq!((file.name.as_str(), file.kind, file.size), ("a\u{FFFD}b", Kind::File, Some(12)));
        assert_eq!(commit_entry(&line("120000", "3", "l"), &engine).unwrap().kind, Kind::Link);
        assert_eq!(commit_entry(&line("160000", "-", "m"), &engine).unwrap().kind, Kind::Submodule);
        for path in ["", "/etc/passwd", "a//b", "../x", "a/../b", ".git/config", "a/.Git/config"] {
            assert!(commit_entry(&line("100644", "1", path), &engine).is_none(), "{path}");
        }
        assert!(commit_entry(b"", &engine).is_none());
    }

    #[test]
    fn a_zero_byte_makes_a_file_binary() {
        assert!(text(b"a\0b").is_none());
        assert_eq!(text(b"a\xFFb").unwrap(), "a\u{FFFD}b");
    }
}
