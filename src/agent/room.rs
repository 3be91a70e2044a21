//! The private folder an agent runs in, and the environment it may see.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Access, FlockOperation, OFlags, access, flock};
use tempfile::TempDir;

use crate::config::Environment;
use crate::run::fault;

/// Variables of a child.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// Variables every agent may see: where programs are, the locale, the way to the network.
const COMMON: &[&str] = &[
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Where a user's own settings are: no agent starts with them.
const HOMES: &[&str] = &["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// The CI's own credentials: no setting lets an agent see them.
const NEVER: &[&str] = &[
    "CI_BUILD_TOKEN",
    "CI_DEPENDENCY_PROXY_PASSWORD",
    "CI_DEPLOY_PASSWORD",
    "CI_JOB_JWT",
    "CI_JOB_JWT_V1",
    "CI_JOB_JWT_V2",
    "CI_JOB_TOKEN",
    "CI_REGISTRY_PASSWORD",
    "CI_REPOSITORY_URL",
    "DIFFSAN_GITLAB_TOKEN",
    "GITLAB_TOKEN",
];

/// How the name of a room begins.
const PREFIX: &str = "diffsan-agent-";
/// The file in a room that is locked while the room is in use.
const LOCK: &str = "lock";

/// Rooms that are in use, for the ways out on which nothing is dropped.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A private folder: an empty repository to work in, a home, a place for temporary files, and around them the files
/// diffsan hands over. It is removed with all that is in it.
#[derive(Debug)]
pub(crate) struct Room {
    folder: TempDir,
    checkout: Option<PathBuf>,
    /// Held for as long as the room is in use.
    _lock: File,
}

/// Removes every room that is still there: one may hold a login.
#[expect(clippy::disallowed_methods, reason = "a room is no artifact")]
pub fn remove_all() {
    for folder in open_rooms().drain(..) {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// Removes the rooms of runs that were killed before they could: nobody holds their locks any more.
#[expect(clippy::disallowed_methods, reason = "a room is no artifact")]
fn remove_abandoned(place: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let is_room = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let lock = || OpenOptions::new().write(true).custom_flags(flags).open(entry.path().join(LOCK));
        if is_room && lock().is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let path = self.folder.path().to_owned();
        open_rooms().retain(|open| *open != path);
    }
}

fn open_rooms() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Room {
    /// Makes one outside the checkout that `start` lies in: agents look for settings in the folders above them.
    pub(crate) fn new(start: &Path, temporary: Option<&str>) -> io::Result<Self> {
        let checkout = checkout(start);
        let places = temporary.map(PathBuf::from).into_iter().chain([PathBuf::from("/tmp"), PathBuf::from("/var/tmp")]);
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "every temporary folder lies inside the checkout");
        for place in
            places.filter_map(|place| place.canonicalize().ok()).filter(|place| !is_inside(place, checkout.as_deref()))
        {
            match Self::inside(&place, checkout.clone()) {
                Ok(room) => return Ok(room),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn inside(place: &Path, checkout: Option<PathBuf>) -> io::Result<Self> {
        remove_abandoned(place);
        let folder =
            tempfile::Builder::new().prefix(PREFIX).permissions(Permissions::from_mode(0o700)).tempdir_in(place)?;
        open_rooms().push(folder.path().to_owned());
        let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let room = Self { folder, checkout, _lock: lock };
        // Programs that look for settings in the folders above stop at the top of a repository.
        for name in ["work/.git/objects", "work/.git/refs/heads", "home", "tmp"] {
            room.make_folder(name)?;
        }
        room.write("work/.git/HEAD", b"ref: refs/heads/main\n")?;
        room.write("work/.git/config", b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n")?;
        // Programs that look for an `.env` upwards find this one and stop.
        room.write(".env", b"")?;
        Ok(room)
    }

    /// The working directory: a repository with nothing in it.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// The private home.
    pub(crate) fn home(&self, env: &Environment) -> PathBuf {
        match env.get("HOME").filter(|_| fault::is_undefended("home")) {
            Some(own) => own.into(),
            None => self.path("home"),
        }
    }

    /// A file or folder beside the working directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a folder, and those above it.
    pub(crate) fn make_folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Writes a file that the agent shall find.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.path(name);
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(bytes)?;
        Ok(path)
    }

    /// Reads a file that the agent wrote; `None` when there is none. The agent may have put anything there: a link is not
    /// followed, and what is no file does not keep anyone waiting.
    pub(crate) fn read(&self, name: &str, most: usize) -> io::Result<Option<Vec<u8>>> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let file = match OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(self.path(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the agent made {name} something else than a file"),
            ));
        }
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// What the agent may see: the common variables and those that `allowed` names.
    pub(crate) fn environment(&self, env: &Environment, allowed: &[&str]) -> Variables {
        let is_allowed = |name: &str| COMMON.contains(&name) || name.starts_with("LC_") || allowed.contains(&name);
        let mut seen: Variables = env
            .pairs()
            .filter(|(name, value)| !value.is_empty() && name.to_str().is_some_and(is_allowed))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for name in HOMES {
            seen.remove(OsStr::new(name));
        }
        seen.insert("HOME".into(), self.home(env).into());
        seen.insert("TMPDIR".into(), self.path("tmp").into());
        seen.insert("NO_COLOR".into(), "1".into());
        seen
    }

    /// An absolute folder that the branch under review does not fill.
    pub(crate) fn is_outside(&self, folder: &str) -> bool {
        let folder = Path::new(folder);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        real.is_absolute() && !is_inside(&real, self.checkout.as_deref())
    }
}

/// Whether no agent may see a variable, whatever the configuration asks for: the CI's credentials and the API token.
pub(crate) fn is_refused(name: &str, token: &str) -> bool {
    NEVER.contains(&name) || name == token
}

/// Where a program is: as named when the name has a folder in it (relative to `start`), else in the first absolute
/// folder of `path` that has it.
pub fn find_program(name: &str, path: Option<&OsStr>, start: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(start.join(name)).filter(|file| is_program(file));
    }
    // A relative folder on the path would be looked up in the checkout.
    std::env::split_paths(path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

fn is_inside(folder: &Path, checkout: Option<&Path>) -> bool {
    checkout.is_some_and(|checkout| folder.starts_with(checkout))
}

/// The top of the working tree around a folder.
fn checkout(start: &Path) -> Option<PathBuf> {
    let start = start.canonicalize().ok()?;
    start.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(place: &Path) -> Room {
        Room::inside(place, None).unwrap()
    }

    #[test]
    fn a_file_that_the_agent_wrote_is_read_up_to_a_limit_and_nothing_else_is_read_at_all() {
        let place = tempfile::tempdir().unwrap();
        let room = room(place.path());
        assert_eq!(room.read("answer", 4).unwrap(), None);
        room.write("answer", b"0123456789").unwrap();
        assert_eq!(room.read("answer", 4).unwrap().unwrap(), b"0123");
        std::os::unix::fs::symlink(room.path("answer"), room.path("link")).unwrap();
        assert!(room.read("link", 4).is_err(), "a link is not followed");
        assert!(room.read("work", 4).is_err(), "a folder is no answer");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            room.path("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(room.read("pipe", 4).is_err(), "a pipe keeps nobody waiting");
    }

    #[test]
    fn a_room_that_nobody_uses_any_more_is_removed_by_the_next_one() {
        let place = tempfile::tempdir().unwrap();
        let (used, abandoned) = (room(place.path()), room(place.path()));
        // As after a `kill -9`: the lock is gone with the process, the folder stays.
        let left = abandoned.folder.path().to_owned();
        flock(&abandoned._lock, FlockOperation::Unlock).unwrap();
        DirBuilder::new().create(place.path().join("diffsan-agent-of-somebody")).unwrap();
        let next = room(place.path());
        assert!(!left.exists());
        assert!(used.work().exists() && next.work().exists());
        assert!(
            place.path().join("diffsan-agent-of-somebody").exists(),
            "a folder without a lock is not known to be one"
        );
    }
}
