//! The folder of a run: every artifact has a name here, appears whole or not at all, and never through a link.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::contracts::SCHEMA_VERSION;
use crate::error::{Error, Failure, Result};
use crate::passes::Shard;
use crate::redact::{Engine, Output, Redacted, RedactedBytes};

mod artifact;
mod sealed;

pub use artifact::{AgentFile, Artifact, Part};
pub use sealed::unsealed;

/// Ending of a file that is being written.
const PARTIAL: &str = ".partial";
/// Room kept free so that a full disk still takes the final record.
const RESERVE: &str = ".reserve";
const RESERVE_BYTES: usize = 64 * 1024;
/// The folder's `.gitignore`: nothing in it is for git.
const IGNORE_ALL: &[u8] = b"*\n";
/// Largest artifact that is read back.
const MAX_READ: u64 = 256 * 1024 * 1024;

const UNREADABLE: &str = "run the review again, or name the workdir of another run";

/// The folder of a run; the only writer of files in it.
#[derive(Debug)]
pub struct Workdir {
    path: PathBuf,
    dir: OwnedFd,
    engine: Arc<Engine>,
    written: Mutex<BTreeSet<String>>,
    /// Files that this process made: all others are somebody's word.
    made: Mutex<BTreeSet<String>>,
    tracked: Tracked,
    closed: AtomicBool,
}

/// What git tracks in the folder. A commit can bring files with the names of artifacts; a run never does.
#[derive(Debug, Default)]
pub enum Tracked {
    /// Nobody asked: nothing that this process did not make is read.
    #[default]
    Unknown,
    /// The names, as git lists them.
    Names(BTreeSet<OsString>),
    /// Why git cannot tell.
    NotTold(String),
}

impl<E: std::error::Error> From<Result<BTreeSet<OsString>, E>> for Tracked {
    fn from(answer: Result<BTreeSet<OsString>, E>) -> Self {
        answer.map_or_else(|error| Self::NotTold(crate::error::chain(&error)), Self::Names)
    }
}

/// A file that grows line by line.
#[derive(Debug)]
pub struct AppendFile(File);

impl AppendFile {
    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        self.0.flush()
    }
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the workdir {} cannot be used: {reason}", path.display())]
pub struct Unusable {
    pub path: PathBuf,
    pub reason: String,
    /// The disk is full: nothing is wrong with the folder itself.
    pub is_full: bool,
}

impl Unusable {
    fn new(path: &Path, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into(), is_full: false }
    }

    fn because(path: &Path, error: io::Error) -> Self {
        let code = error.raw_os_error().map(Errno::from_raw_os_error);
        let is_full = matches!(code, Some(Errno::NOSPC | Errno::DQUOT));
        Self { path: path.into(), reason: explain(error), is_full }
    }
}

/// Folders that must never become a workdir.
#[derive(Debug, Clone, Default)]
pub struct Forbidden {
    /// Where diffsan was started.
    pub current: PathBuf,
    /// The repository's top, where there is one.
    pub repository: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

impl Workdir {
    /// Opens the folder for a new run: made where it is missing, its stale artifacts removed, nobody else's touched.
    pub fn create(path: &Path, forbidden: &Forbidden, engine: Arc<Engine>) -> Result<Self, Unusable> {
        let workdir = Self::open_dir(path, forbidden, engine, true)?;
        workdir.check_own()?;
        workdir.prepare().map_err(|error| Unusable::because(path, error))?;
        Ok(workdir)
    }

    /// Opens the folder of an earlier run to go on with it.
    pub fn open(path: &Path, forbidden: &Forbidden, engine: Arc<Engine>) -> Result<Self, Unusable> {
        let workdir = Self::open_dir(path, forbidden, engine, false)?;
        let own = workdir.list().into_iter().map(|(name, _)| name).filter(|name| Artifact::owns(name));
        workdir.written.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
        Ok(workdir)
    }

    /// Opens the folder to put single files into it: made where it is missing, what is there stays.
    pub fn add_to(path: &Path, forbidden: &Forbidden, engine: Arc<Engine>) -> Result<Self, Unusable> {
        let workdir = Self::open_dir(path, forbidden, engine, true)?;
        workdir.check_own()?;
        let ignored = workdir.put(&Artifact::GitIgnore.file_name(), IGNORE_ALL);
        ignored.map_err(|error| Unusable::because(path, error))?;
        Ok(workdir)
    }

    /// Opens the folder of a run to look at it: through links, without the lock, and nothing is written there.
    pub fn look(path: &Path, current: &Path, engine: Arc<Engine>) -> Result<Self, Unusable> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(current.join(path), flags, Mode::empty())
            .map_err(|error| Unusable::because(path, error.into()))?;
        Ok(Self {
            path: path.into(),
            dir,
            engine,
            written: Mutex::default(),
            made: Mutex::default(),
            tracked: Tracked::Unknown,
            closed: AtomicBool::new(true),
        })
    }

    /// Whether a run is writing here right now: somebody holds the folder's lock. Asking takes no lock.
    pub fn is_live(&self) -> bool {
        let Ok(stat) = rustix::fs::fstat(&self.dir) else { return false };
        let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
        let file = format!(" {major:02x}:{minor:02x}:{} ", stat.st_ino);
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        locks.lines().any(|line| line.contains("FLOCK") && line.contains("WRITE") && line.contains(&file))
    }

    /// Whether there are traces of a run.
    pub fn has_run(&self) -> bool {
        let names = [Artifact::Run, Artifact::Events].map(Artifact::file_name);
        self.list().iter().any(|(name, _)| names.contains(name))
    }

    /// Whether a run could use the folder; nothing is kept there.
    pub fn probe(path: &Path, forbidden: &Forbidden, engine: Arc<Engine>) -> Result<(), Unusable> {
        let unusable = |error: io::Error| Unusable::because(path, error);
        if forbidden.current.join(path).symlink_metadata().is_ok() {
            let workdir = Self::open_dir(path, forbidden, engine, false)?;
            workdir.check_own()?;
            workdir.put(RESERVE, b"").map_err(unusable)?;
            workdir.release_reserve();
            return Ok(());
        }
        forbidden.check(path).map_err(|reason| Unusable::new(path, reason))?;
        let full = forbidden.current.join(path);
        let parent = full.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(&forbidden.current);
        rustix::fs::access(parent, rustix::fs::Access::WRITE_OK).map_err(|error| unusable(error.into()))
    }

    /// Name and size of every file in the folder, sorted.
    pub fn list(&self) -> Vec<(String, u64)> {
        let mut files = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if let Ok(stat) = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW)
                && rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file()
            {
                files.push((name.to_string_lossy().into_owned(), u64::try_from(stat.st_size).unwrap_or(0)));
            }
        }
        files.sort();
        files
    }

    fn open_dir(path: &Path, forbidden: &Forbidden, engine: Arc<Engine>, make: bool) -> Result<Self, Unusable> {
        let unusable = |reason: String| Unusable::new(path, reason);
        let allowed = forbidden.check(path).map_err(unusable);
        if make {
            allowed?;
        } else if allowed.is_err() {
            // Somebody stands in the folder of a run and goes on with it.
            let here = Self::look(path, &forbidden.current, Arc::clone(&engine)).ok().filter(Self::has_run);
            here.filter(Self::is_own).map_or(allowed, |_| Ok(()))?;
        }
        let dir = open_folder(&forbidden.current, path, make).map_err(|error| Unusable::because(path, error))?;
        match rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(unusable("another diffsan is using it right now".into())),
            // Some network file systems have no locks; a run without one is better than none.
            Err(_) => {}
        }
        Ok(Self {
            path: path.into(),
            dir,
            engine,
            written: Mutex::default(),
            made: Mutex::default(),
            tracked: Tracked::Unknown,
            closed: AtomicBool::new(false),
        })
    }

    /// With what git tracks here, so that the files of an earlier run can be read.
    #[must_use]
    pub fn knowing(mut self, tracked: Tracked) -> Self {
        self.tracked = tracked;
        self
    }

    /// The folder as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the files this run wrote, sorted.
    pub fn written(&self) -> Vec<String> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// A JSON artifact: versioned, every text in it redacted.
    pub fn json<T: Serialize>(&self, artifact: Artifact, value: &T) -> Result<()> {
        let value = serde_json::to_value(value).map_err(|error| {
            Error::Format(Failure::new(format!("could not render {}", artifact.file_name())).caused_by(&error))
        })?;
        self.write(artifact, &self.document(value))
    }

    /// `{}`: the artifact of something that is not there.
    pub fn empty_json(&self, artifact: Artifact) -> Result<()> {
        self.write(artifact, b"{}\n")
    }

    /// A JSON array in someone else's format, its texts redacted.
    pub fn foreign_json(&self, artifact: Artifact, value: Value) -> Result<()> {
        self.write(artifact, pretty(&self.clean(value)).as_bytes())
    }

    /// A text artifact.
    pub fn text(&self, artifact: Artifact, text: &Redacted) -> Result<()> {
        self.write(artifact, text.as_str().as_bytes())
    }

    /// A patch that keeps its bytes.
    pub fn bytes(&self, artifact: Artifact, bytes: &RedactedBytes) -> Result<()> {
        self.write(artifact, bytes.as_bytes())
    }

    /// The raw diff of someone who asked for it with `artifacts.raw_diff = "raw"`.
    pub fn unredacted_diff(&self, bytes: &[u8]) -> Result<()> {
        self.write(Artifact::RawDiff, bytes)
    }

    /// One more line of a JSONL artifact, flushed.
    pub fn append_line<T: Serialize>(&self, artifact: Artifact, value: &T) -> Result<()> {
        let value = serde_json::to_value(value).map(|value| self.clean(value)).unwrap_or_default();
        let append = || -> io::Result<()> {
            let mut file = self.append_to(artifact)?;
            file.write_all(format!("{value}\n").as_bytes())
        };
        append().map_err(|error| self.write_failed(artifact, &error))
    }

    /// A JSONL artifact, opened for appending; its writer redacts.
    pub(crate) fn append_file(&self, artifact: Artifact) -> Result<AppendFile> {
        self.append_to(artifact).map_err(|error| self.write_failed(artifact, &error))
    }

    /// `events.jsonl`, opened for appending.
    pub fn events_file(&self) -> Result<AppendFile> {
        self.append_to(Artifact::Events).map_err(|error| self.write_failed(Artifact::Events, &error))
    }

    /// An artifact of an earlier stage or run; `None` when it is not there.
    pub fn read_json<T: DeserializeOwned>(&self, artifact: Artifact) -> Result<Option<T>> {
        let name = artifact.file_name();
        let bytes = match self.read(&name) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let message = format!("could not read {}: {error}", self.path.join(&name).display());
                return Err(Error::Format(Failure::new(message).caused_by(&error).help(UNREADABLE)));
            }
        };
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        serde_path_to_error::deserialize(&mut reader).map(Some).map_err(|error| {
            let message = format!("{} is damaged, or of another version: {error}", self.path.join(&name).display());
            Error::Format(Failure::new(message).caused_by(&error).help(UNREADABLE))
        })
    }

    /// The bytes of a file in the folder: a regular one of a sane size, never through a link, and of an earlier run only
    /// if no commit brought it.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let bytes = self.bytes_of(name)?;
        self.check_origin(name)?;
        Ok(bytes)
    }

    /// The same, whoever brought it: to see what the folder is, never to believe what stands in it.
    fn bytes_of(&self, name: &str) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.dir, name, flags, Mode::empty()).map_err(|error| match error {
            Errno::LOOP => io::Error::other("it is a symbolic link"),
            error => error.into(),
        })?;
        let stat = rustix::fs::fstat(&file)?;
        if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > MAX_READ {
            return Err(io::Error::other(format!("it has {size} bytes; no artifact is larger than {MAX_READ}")));
        }
        let mut bytes = Vec::new();
        File::from(file).take(MAX_READ).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn check_origin(&self, name: &str) -> io::Result<()> {
        if self.made.lock().unwrap_or_else(PoisonError::into_inner).contains(name) {
            return Ok(());
        }
        match &self.tracked {
            Tracked::Names(names) if !names.contains(OsStr::new(name)) => Ok(()),
            Tracked::Names(_) => {
                Err(io::Error::other("git tracks it, so it came with a commit and not from a run; it is not read"))
            }
            Tracked::NotTold(why) => {
                Err(io::Error::other(format!("it is not known whether a commit brought it: {why}")))
            }
            Tracked::Unknown => Err(io::Error::other("it is not known whether a commit brought it")),
        }
    }

    /// Removes one of the run's own files, so that a stale one cannot be mistaken for new.
    pub fn remove(&self, artifact: Artifact) -> Result<()> {
        match rustix::fs::unlinkat(&self.dir, artifact.file_name().as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.write_failed(artifact, &error.into())),
        }
    }

    /// The final record: written even on a full disk, as far as the kept reserve goes, and the last thing written.
    pub fn finish<T: Serialize>(&self, record: &T) -> Result<()> {
        let _ = rustix::fs::unlinkat(&self.dir, RESERVE, AtFlags::empty());
        let result = self.json(Artifact::Run, record);
        self.closed.store(true, Ordering::SeqCst);
        result
    }

    /// Gives the reserve back before the last events are written.
    pub fn release_reserve(&self) {
        let _ = rustix::fs::unlinkat(&self.dir, RESERVE, AtFlags::empty());
    }

    fn prepare(&self) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(&self.dir)? {
            let entry = entry?;
            if entry.file_name().to_str().is_ok_and(Artifact::owns) {
                rustix::fs::unlinkat(&self.dir, entry.file_name(), AtFlags::empty())?;
            }
        }
        self.put(RESERVE, &[0; RESERVE_BYTES])?;
        self.put(&Artifact::GitIgnore.file_name(), IGNORE_ALL)
    }

    /// Refuses a folder with files that no run left: they would be mixed with the artifacts, or replaced by them.
    fn check_own(&self) -> Result<(), Unusable> {
        if self.is_own() {
            return Ok(());
        }
        Err(Unusable::new(&self.path, "it has files in it and is not a folder of diffsan's"))
    }

    /// Whether the folder is empty, an earlier run's, or has diffsan's own name: a change that commits files into
    /// `.diffsan` must not be able to stop its review.
    fn is_own(&self) -> bool {
        if has_own_name(&self.path) {
            return true;
        }
        let entries = rustix::fs::Dir::read_from(&self.dir).into_iter().flatten().flatten();
        let names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let is_other = |name: &&str| !matches!(*name, "." | "..") && Shard::of_folder(name).is_none();
        let names: Vec<_> = names.iter().map(String::as_str).filter(is_other).collect();
        let holds = |artifact: Artifact, key: &str| {
            let bytes = self.bytes_of(&artifact.file_name()).unwrap_or_default();
            let first = bytes.split(|byte| *byte == b'\n').next().filter(|_| artifact == Artifact::Events);
            let value: Value = serde_json::from_slice(first.unwrap_or(&bytes)).unwrap_or_default();
            value.get(key).is_some()
        };
        // Many folders are ignored as a whole; only a baseline, which leaves no record, is known by it.
        let is_baseline = |name: &str| {
            [Artifact::GitIgnore, Artifact::CodeQuality].iter().any(|artifact| artifact.file_name() == name)
                || name.starts_with(RESERVE)
        };
        let ignored = || self.bytes_of(&Artifact::GitIgnore.file_name()).is_ok_and(|bytes| bytes == IGNORE_ALL);
        names.iter().all(|name| name.starts_with(RESERVE))
            || (names.iter().all(|name| is_baseline(name)) && ignored())
            || holds(Artifact::Run, "run_id")
            || holds(Artifact::Events, "run_id")
    }

    fn document(&self, value: Value) -> Vec<u8> {
        let mut document = serde_json::Map::new();
        document.insert("schema_version".into(), SCHEMA_VERSION.into());
        if let Value::Object(fields) = self.clean(value) {
            document.extend(fields);
        }
        pretty(&Value::Object(document)).into_bytes()
    }

    fn clean(&self, value: Value) -> Value {
        self.engine.redact_json(Output::Artifact, value)
    }

    fn write(&self, artifact: Artifact, bytes: &[u8]) -> Result<()> {
        let name = artifact.file_name();
        self.put(&name, bytes).map_err(|error| self.write_failed(artifact, &error))
    }

    /// Writes beside the target and renames, so that a reader never sees half a file.
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let partial = format!("{name}{PARTIAL}");
        let _ = rustix::fs::unlinkat(&self.dir, partial.as_str(), AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, partial.as_str(), flags, Mode::from_raw_mode(0o644))?;
        let written = File::from(file).write_all(bytes);
        let renamed = written
            .and_then(|()| rustix::fs::renameat(&self.dir, partial.as_str(), &self.dir, name).map_err(io::Error::from));
        if renamed.is_err() {
            let _ = rustix::fs::unlinkat(&self.dir, partial.as_str(), AtFlags::empty());
        }
        renamed?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        if name != RESERVE {
            self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        }
        Ok(())
    }

    fn append_to(&self, artifact: Artifact) -> io::Result<AppendFile> {
        let name = artifact.file_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let is_new = rustix::fs::statat(&self.dir, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_err();
        let file = rustix::fs::openat(&self.dir, name.as_str(), flags, Mode::from_raw_mode(0o644))?;
        if is_new {
            self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
        }
        self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        Ok(AppendFile(File::from(file)))
    }

    fn write_failed(&self, artifact: Artifact, error: &io::Error) -> Error {
        let path = self.path.join(artifact.file_name());
        let help = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOSPC | Errno::DQUOT) => "the disk is full: free some space, or point --workdir elsewhere",
            Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => "point --workdir at a folder that can be written to",
            _ => "check the workdir and its file system",
        };
        Error::ArtifactWrite(
            Failure::new(format!("could not write {}", path.display()))
                .caused_by(error)
                .help(help)
                .with("artifact", artifact.file_name()),
        )
    }
}

impl Drop for Workdir {
    /// Given back by hand: a child that is just being started has a copy of the folder's handle for a moment.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.dir, FlockOperation::Unlock);
    }
}

impl Forbidden {
    fn check(&self, path: &Path) -> Result<(), String> {
        let full = normal(&self.current.join(path));
        let real = full.canonicalize().unwrap_or_else(|_| full.clone());
        for place in [&full, &real] {
            if self.current.starts_with(place) {
                return Err("it is the current folder or one above it".into());
            }
            if self.repository.as_deref().is_some_and(|top| top.starts_with(place)) {
                return Err("it is the repository's top or a folder above it".into());
            }
            if self.home.as_deref().is_some_and(|home| home.starts_with(place)) {
                return Err("it is the home folder or a folder above it".into());
            }
            if place.components().any(|part| part.as_os_str() == OsStr::new(".git")) {
                return Err("it is inside a .git folder".into());
            }
        }
        Ok(())
    }
}

/// Whether a folder is diffsan's by its name: `.diffsan`, or the folder of a part in it.
fn has_own_name(path: &Path) -> bool {
    let own = Some(OsStr::new(".diffsan"));
    let is_part = path.file_name().and_then(OsStr::to_str).is_some_and(|name| Shard::of_folder(name).is_some());
    path.file_name() == own || is_part && path.parent().and_then(Path::file_name) == own
}

/// Resolves `.` and `..` by name alone.
fn normal(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

/// Opens a folder; below the current one no part of the way may be a link, since a change can commit one.
fn open_folder(current: &Path, path: &Path, make: bool) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if path.is_absolute() {
        let parent = path.parent().unwrap_or(path);
        if make {
            make_folders(parent)?;
        }
        let parent = rustix::fs::open(parent, flags, Mode::empty())?;
        let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        return enter(&parent, name, make);
    }
    let mut dir = rustix::fs::open(current, flags, Mode::empty())?;
    for part in path.components() {
        match part {
            Component::CurDir => {}
            other => dir = enter(&dir, other.as_os_str(), make)?,
        }
    }
    Ok(dir)
}

fn enter(parent: &OwnedFd, name: &OsStr, make: bool) -> io::Result<OwnedFd> {
    if make {
        match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

#[expect(clippy::disallowed_methods, reason = "this module is the door for files")]
fn make_folders(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

fn explain(error: io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::LOOP) => "it is, or goes through, a symbolic link".into(),
        Some(Errno::NOTDIR) => "it is, or goes through, something that is not a folder (a symbolic link counts)".into(),
        _ => error.to_string(),
    }
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dangerous_folders_are_refused() {
        let forbidden = Forbidden {
            current: "/work/repo/sub".into(),
            repository: Some("/work/repo".into()),
            home: Some("/home/me".into()),
        };
        for (path, allowed) in [
            (".diffsan", true),
            ("out/diffsan", true),
            ("/tmp/elsewhere", true),
            ("/home/me/diffsan", true),
            (".", false),
            ("..", false),
            ("/", false),
            ("/work/repo", false),
            ("/work", false),
            ("/home/me", false),
            ("/home", false),
            ("x/..", false),
            ("../.git/diffsan", false),
        ] {
            assert_eq!(forbidden.check(Path::new(path)).is_ok(), allowed, "{path}");
        }
    }
}
