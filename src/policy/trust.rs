//! What the user agreed to: files of repositories, by their bytes, remembered in the user's own folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::laptop::users_folder;
use super::place::Checkout;
use super::{Start, guarded};
use crate::config::{self, Environment, Source};
use crate::error::{Error, Failure, Result};
use crate::run::record::hex;

/// Most lines of a named file that are shown.
const MOST_LINES: usize = 200;

/// A file of settings as it is now, with the repository's files that its guarded keys name.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The file's real path.
    place: PathBuf,
    sha256: String,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Guarded keys with their values.
    keys: Vec<(String, serde_json::Value)>,
}

impl Subject {
    pub(super) fn new(path: &Path, text: &str, current: &Path) -> Self {
        let source = Source::File(path.to_owned());
        let mut keys = config::keys_of(&source, text).unwrap_or_default();
        keys.retain(|key| guarded::is_guarded(key));
        let values = config::alone(&source, text).unwrap_or_default();
        let keys: Vec<_> = keys.into_iter().map(|key| (key.clone(), config::value_of(&values, &key))).collect();
        let folder = path.parent().unwrap_or(current);
        let files = keys.iter().flat_map(|(key, value)| named(key, value, folder, current)).collect();
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { place, sha256: hex(&Sha256::digest(text)), files, keys }
    }
}

/// The repository's files that a guarded value names: programs, scripts, certificates.
fn named(key: &str, value: &serde_json::Value, folder: &Path, current: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let text = value.as_str().unwrap_or_default();
    let words = match guarded::is_command(key) {
        true => shlex::split(text).unwrap_or_default(),
        false => vec![text.to_owned()],
    };
    let checkout = Checkout::new(None, current);
    let places = words.iter().flat_map(|word| [current.join(word), folder.join(word)]);
    places
        .filter(|file| checkout.holds(file))
        .filter_map(|file| file.canonicalize().ok().filter(|file| file.is_file()))
        .filter_map(|file| std::fs::read(&file).ok().map(|bytes| (file, bytes)))
        .collect()
}

/// What is remembered.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    #[serde(default)]
    trusted: Vec<Trusted>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Trusted {
    file: PathBuf,
    sha256: String,
    /// Digests of the files that it names.
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
}

/// Whether the user agreed to exactly these bytes.
pub(super) fn is_trusted(subject: &Subject, env: &Environment, current: &Path) -> bool {
    let memory = users_folder(env, current).map(|folder| recall(&folder)).unwrap_or_default();
    memory.trusted.iter().any(|known| {
        let same = |(file, bytes): (&PathBuf, &Vec<u8>)| known.files.get(file) == Some(&hex(&Sha256::digest(bytes)));
        known.file == subject.place && known.sha256 == subject.sha256 && subject.files.iter().all(same)
    })
}

/// The repository's file with guarded keys; an error where there is nothing to agree to.
pub fn subject(start: Start<'_>) -> Result<Subject> {
    let nothing = |words: String| Error::Config(Failure::new(words).help("nothing needs to be done"));
    let path = config::find_file(start.args, start.env, start.current)?
        .ok_or_else(|| nothing("there is no file of settings here, so there is nothing to trust".into()))?;
    let text = config::read_text(&path, "the configuration file")?;
    config::keys_of(&Source::File(path.clone()), &text)?;
    let subject = Subject::new(&path, &text, start.current);
    if subject.keys.is_empty() {
        return Err(nothing(format!("{} starts no program and redirects nothing", path.display())));
    }
    Ok(subject)
}

/// What the file would start or send where. Everything is escaped: it may be a stranger's.
pub fn shown(subject: &Subject) -> String {
    let mut text = format!("{:?} sets:\n", subject.place.to_string_lossy());
    for (key, value) in &subject.keys {
        let value = match value.as_str() {
            Some(words) => format!("{words:?}"),
            None => value.to_string().escape_debug().to_string(),
        };
        let _ = writeln!(text, "  {key} = {value}");
    }
    for (file, bytes) in &subject.files {
        let _ = writeln!(text, "\n{:?} ({} bytes):", file.to_string_lossy(), bytes.len());
        let content = String::from_utf8_lossy(bytes);
        for line in content.lines().take(MOST_LINES) {
            let _ = writeln!(text, "  | {}", line.escape_debug());
        }
        let more = content.lines().count().saturating_sub(MOST_LINES);
        if more > 0 {
            let _ = writeln!(text, "  … and {more} more lines: read the file itself before you agree");
        }
    }
    text
}

/// Remembers that the user agrees; where that is.
pub fn remember(subject: &Subject, start: Start<'_>) -> Result<PathBuf> {
    let folder = own_folder(start)?;
    let mut memory = recall(&folder);
    memory.trusted.retain(|known| known.file != subject.place);
    memory.trusted.push(Trusted {
        file: subject.place.clone(),
        sha256: subject.sha256.clone(),
        files: subject.files.iter().map(|(file, bytes)| (file.clone(), hex(&Sha256::digest(bytes)))).collect(),
    });
    keep(&folder, &memory)
}

/// Takes the agreement back; whether there was one.
pub fn forget(subject: &Subject, start: Start<'_>) -> Result<bool> {
    let folder = own_folder(start)?;
    let mut memory = recall(&folder);
    let before = memory.trusted.len();
    memory.trusted.retain(|known| known.file != subject.place);
    let found = memory.trusted.len() < before;
    if found {
        keep(&folder, &memory)?;
    }
    Ok(found)
}

fn own_folder(start: Start<'_>) -> Result<PathBuf> {
    users_folder(start.env, start.current).ok_or_else(|| {
        Error::Config(
            Failure::new("there is no folder of your own to remember this in")
                .help("set HOME, or XDG_CONFIG_HOME to a folder outside the repository"),
        )
    })
}

fn recall(folder: &Path) -> Memory {
    std::fs::read(memory_file(folder)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn keep(folder: &Path, memory: &Memory) -> Result<PathBuf> {
    let file = memory_file(folder);
    let write = || -> std::io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut whole = tempfile::NamedTempFile::new_in(folder)?;
        whole.write_all(serde_json::to_string_pretty(memory)?.as_bytes())?;
        whole.persist(&file)?;
        Ok(())
    };
    write().map_err(|error| {
        Error::Config(
            Failure::new(format!("could not write {}", file.display()))
                .caused_by(&error)
                .help("make the folder writable, or set XDG_CONFIG_HOME to one that is"),
        )
    })?;
    Ok(file)
}

fn memory_file(folder: &Path) -> PathBuf {
    folder.join("trusted.json")
}
