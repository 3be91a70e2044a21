//! File, environment and flags become one configuration, each value with its source. The only reader of the environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::cli::ReviewArgs;
use crate::contracts::{AgentKind, AppConfig};
use crate::error::{Error, Failure, Result};

mod ci;
mod layers;

pub use ci::CiContext;
use layers::Layers;

/// The default name of the configuration file.
pub const CONFIG_FILE: &str = ".diffsan.toml";
const PREFIX: &str = "DIFFSAN_";
/// Variables of the prefix that are not configuration keys.
const OTHER_VARIABLES: &[&str] =
    &["DIFFSAN_CONFIG_FILE", "DIFFSAN_GITLAB_TOKEN", "DIFFSAN_OPENAI_API_KEY", "DIFFSAN_FAULT"];
/// Largest configuration, instruction or template file.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// The process's environment, read once.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Environment({} variables)", self.variables.len())
    }
}

impl Environment {
    /// The environment diffsan was started with.
    #[expect(clippy::disallowed_methods, reason = "this module is the door for the environment")]
    pub fn read() -> Self {
        Self { variables: std::env::vars_os().collect() }
    }

    /// An environment of one's own.
    pub fn from_pairs<K: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { variables: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// The value of a variable; unset, empty and non-UTF-8 ones have none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(OsStr::new(name)).and_then(|value| value.to_str()).filter(|value| !value.is_empty())
    }

    /// Every variable.
    pub fn pairs(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The home folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// Whether the terminal takes UTF-8; where the locale is silent, as in most containers, it does.
    pub fn has_utf8(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| self.get(name));
        locale.is_none_or(|locale| {
            let charset = locale.to_ascii_lowercase();
            charset.ends_with("utf-8") || charset.ends_with("utf8")
        })
    }

    /// Values that must never leave: of variables that look like secrets, and passwords in URLs.
    pub fn secret_values(&self) -> Vec<String> {
        let mut values = Vec::new();
        for (name, value) in &self.variables {
            let (name, value) = (name.to_string_lossy().to_ascii_uppercase(), value.to_string_lossy());
            if looks_secret(&name) && value.len() >= 8 && !value.starts_with('/') && !is_word(&value) {
                values.push(value.into_owned());
            } else if let Some(password) = url_password(&value) {
                values.push(password.to_owned());
            }
        }
        values
    }
}

fn looks_secret(name: &str) -> bool {
    const MARKS: &[&str] = &[
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "ACCESS_KEY",
        "_PAT",
        "AUTH_KEY",
        "_KEY",
        "COOKIE",
        "_PWD",
        "_AUTH",
    ];
    const PLAIN: &[&str] = &["_FILE", "_PATH", "_DIR", "_ID", "_NAME", "_URL", "_SOCK", "_USER", "TOKEN_ENV"];
    !PLAIN.iter().any(|end| name.ends_with(end)) && MARKS.iter().any(|mark| name.contains(mark))
}

/// Words such as `disabled` are settings, not secrets.
fn is_word(value: &str) -> bool {
    value.len() < 16 && value.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-')
}

fn url_password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let (userinfo, _) = rest.split('/').next()?.rsplit_once('@')?;
    let (_, password) = userinfo.split_once(':')?;
    (password.len() >= 8).then_some(password)
}

/// A secret that prints as stars.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself; only for the header it belongs in.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(&'static str),
}

impl Source {
    /// One word for events.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File(_) => "file",
            Self::Environment(_) => "env",
            Self::Flag(_) => "cli",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

/// The configuration of a run, resolved once.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: AppConfig,
    /// Source of each value, by its dotted key.
    pub sources: BTreeMap<String, Source>,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// What deserves a warning.
    pub warnings: Vec<String>,
    /// The project's guidance: file, then inline text.
    pub instructions: Option<String>,
    /// The text of `agent.prompt_template`.
    pub template: Option<String>,
    pub ci: CiContext,
}

/// Reads file, environment and flags. `current` is where diffsan was started.
pub fn load(args: &ReviewArgs, env: &Environment, current: &Path) -> Result<Loaded> {
    let mut layers = Layers::new();
    let file = find_file(args, env, current)?;
    if let Some(path) = &file {
        layers.file(path, &read_text(path, "the configuration file")?)?;
    }
    let warnings = layers.environment(env, PREFIX, OTHER_VARIABLES)?;
    for (key, flag, value) in flags(args) {
        layers.flag(key, flag, value)?;
    }
    let (config, sources) = layers.finish();
    let loaded = Loaded {
        instructions: instructions(&config, current)?,
        template: config
            .agent
            .prompt_template
            .as_deref()
            .map(|file| read_named(current, file, "agent.prompt_template"))
            .transpose()?,
        ci: CiContext::from_env(env),
        config,
        sources,
        file,
        warnings,
    };
    check(&loaded)?;
    Ok(loaded)
}

impl Loaded {
    /// The GitLab token and the name of the variable it came from.
    pub fn token(&self, env: &Environment) -> Option<(Token, String)> {
        let configured = self.config.gitlab.token_env.as_str();
        let is_default = self.sources.get("gitlab.token_env").is_none_or(|source| *source == Source::Default);
        let names = if is_default { vec![configured, "DIFFSAN_GITLAB_TOKEN"] } else { vec![configured] };
        names.into_iter().find_map(|name| env.get(name).map(|value| (Token::new(value.trim()), name.to_owned())))
    }

    /// Whether a key was set anywhere.
    pub fn is_set(&self, key: &str) -> bool {
        self.sources.get(key).is_some_and(|source| *source != Source::Default)
    }
}

/// Writes a configuration file where there is none, or over one that may go.
pub fn write_file(path: &Path, text: &str, replace: bool) -> Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if replace {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    options.open(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        Error::Config(
            Failure::new(format!("could not write {}", path.display()))
                .caused_by(&error)
                .help("`diffsan init --force` replaces an existing file"),
        )
    })
}

/// The value of a dotted key.
pub fn value_of(config: &AppConfig, key: &str) -> Value {
    let value = serde_json::to_value(config).unwrap_or_default();
    value.pointer(&format!("/{}", key.replace('.', "/"))).cloned().unwrap_or_default()
}

/// The value that a configuration file's text gives a dotted key: its default where the text cannot be read.
pub fn value_in_file(text: &str, key: &str) -> Value {
    let mut layers = Layers::new();
    let read = layers.file(Path::new(CONFIG_FILE), text);
    let (config, _) = if read.is_ok() { layers.finish() } else { Layers::new().finish() };
    value_of(&config, key)
}

/// The workdir that a run uses when its configuration cannot be read.
pub fn early_workdir(args: &ReviewArgs, env: &Environment) -> PathBuf {
    args.common
        .workdir
        .clone()
        .or_else(|| env.get("DIFFSAN_WORKDIR").map(PathBuf::from))
        .unwrap_or_else(|| AppConfig::default().workdir.into())
}

/// The repository's top: the nearest folder above with a `.git` in it.
pub fn repository_top(current: &Path) -> Option<PathBuf> {
    current.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

/// Each key that has a flag, with the value given.
fn flags(args: &ReviewArgs) -> Vec<(&'static str, &'static str, Value)> {
    let mut given = Vec::new();
    if args.ci {
        given.push(("mode.ci", "--ci", Value::Bool(true)));
    }
    if args.no_ci {
        given.push(("mode.ci", "--no-ci", Value::Bool(false)));
    }
    let texts = [
        ("mode.base", "--base", args.base.clone()),
        ("agent.agent", "--agent", args.agent.map(|agent| agent.name().to_owned())),
        ("agent.model", "--model", args.model.clone()),
        ("agent.proxy_url", "--proxy-url", args.proxy_url.clone()),
        ("workdir", "--workdir", args.common.workdir.as_ref().map(|path| path.to_string_lossy().into_owned())),
        ("gate.fail_on", "--fail-on", args.fail_on.map(|severity| severity.name().to_owned())),
        ("logging.level", "-v", args.common.verbose.then(|| "debug".to_owned())),
        ("logging.level", "-q", args.common.quiet.then(|| "error".to_owned())),
    ];
    given.extend(texts.into_iter().filter_map(|(key, flag, text)| text.map(|text| (key, flag, Value::String(text)))));
    given
}

fn find_file(args: &ReviewArgs, env: &Environment, current: &Path) -> Result<Option<PathBuf>> {
    let named = args
        .common
        .config
        .clone()
        .map(|path| (path, "--config"))
        .or_else(|| env.get("DIFFSAN_CONFIG_FILE").map(|path| (PathBuf::from(path), "DIFFSAN_CONFIG_FILE")));
    if let Some((path, from)) = named {
        return match std::fs::metadata(current.join(&path)) {
            Ok(meta) if meta.is_file() => Ok(Some(current.join(path))),
            Ok(_) => Err(file_error(&path, from, "is not a file")),
            Err(error) => Err(Error::Config(
                Failure::new(format!("could not read the configuration file {} (from {from})", path.display()))
                    .caused_by(&error)
                    .with("file", path.to_string_lossy())
                    .help("name a file that exists, or leave it out to use .diffsan.toml"),
            )),
        };
    }
    let top = repository_top(current);
    for folder in std::iter::once(current).chain(top.as_deref()) {
        let path = folder.join(CONFIG_FILE);
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_file() => return Ok(Some(path)),
            Ok(_) => return Err(file_error(&path, "its default place", "is not a file")),
            Err(_) => {}
        }
    }
    Ok(None)
}

fn file_error(path: &Path, from: &str, problem: &str) -> Error {
    Error::Config(
        Failure::new(format!("the configuration file {} (from {from}) {problem}", path.display()))
            .with("file", path.to_string_lossy())
            .help("name a TOML file, or remove what is in its place"),
    )
}

fn read_named(current: &Path, file: &str, key: &str) -> Result<String> {
    read_text(&current.join(file), key)
}

fn read_text(path: &Path, what: &str) -> Result<String> {
    use std::io::Read as _;
    let failed = |failure: Box<Failure>| {
        Error::Config(failure.with("file", path.to_string_lossy()).help("check that the file exists and is UTF-8 text"))
    };
    let file = std::fs::File::open(path)
        .map_err(|error| failed(Failure::new(format!("could not read {what} {}", path.display())).caused_by(&error)))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(Failure::new(format!("could not read {what} {}", path.display())).caused_by(&error)))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(failed(Failure::new(format!("{what} {} is larger than {MAX_FILE} bytes", path.display()))));
    }
    String::from_utf8(bytes)
        .map_err(|error| failed(Failure::new(format!("{what} {} is not UTF-8 text", path.display())).caused_by(&error)))
}

fn instructions(config: &AppConfig, current: &Path) -> Result<Option<String>> {
    let mut parts = Vec::new();
    if let Some(file) = &config.agent.custom_instructions_file {
        parts.push(read_named(current, file, "agent.custom_instructions_file")?);
    }
    parts.push(config.agent.custom_instructions.clone());
    parts.retain(|part| !part.trim().is_empty());
    Ok((!parts.is_empty()).then(|| parts.join("\n\n")))
}

/// What no single type can say.
fn check(loaded: &Loaded) -> Result<()> {
    let config = &loaded.config;
    if config.agent.proxy_url.is_some() && config.agent.agent.is_some_and(|agent| agent != AgentKind::Codex) {
        return Err(loaded.invalid(
            "agent.proxy_url",
            "works with the codex agent only",
            "set agent.agent = \"codex\", or remove agent.proxy_url",
        ));
    }
    let tag = &config.gitlab.summary_note_tag;
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
    if tag.is_empty() || tag.len() > 64 || !tag.bytes().all(fits) {
        return Err(loaded.invalid(
            "gitlab.summary_note_tag",
            "must be 1 to 64 of the characters A-Z a-z 0-9 . _ -",
            "choose a plain word such as ai-reviewer",
        ));
    }
    if let Err(problem) = crate::post::timezone::parse(&config.note_timezone) {
        return Err(loaded.invalid("note_timezone", &problem, "use system-local, UTC, an IANA name or an offset"));
    }
    if config.workdir.trim().is_empty() {
        return Err(loaded.invalid("workdir", "must not be empty", "remove it to use .diffsan"));
    }
    Ok(())
}

impl Loaded {
    /// A configuration error about one key, naming where its value came from.
    pub fn invalid(&self, key: &str, problem: &str, help: &str) -> Error {
        let source = self.sources.get(key).cloned().unwrap_or(Source::Default);
        Error::Config(
            Failure::new(format!("{key} {problem} ({source})"))
                .with("key", key)
                .with("source", source.to_string())
                .help(help),
        )
    }

    /// Every key with its value and source, in file order.
    pub fn rows(&self) -> Vec<(String, Value, Source)> {
        let value = serde_json::to_value(&self.config).unwrap_or_default();
        let mut rows = Vec::new();
        layers::walk(&value, &mut Vec::new(), &mut |path, value| {
            let key = path.join(".");
            let source = self.sources.get(&key).cloned().unwrap_or(Source::Default);
            rows.push((key, value.clone(), source));
        });
        rows
    }

    /// The merged configuration as one JSON object: `{key: {value, source}}`.
    pub fn to_json(&self) -> Value {
        let rows = self.rows().into_iter().map(|(key, value, source)| {
            let mut row = Map::new();
            row.insert("value".into(), value);
            row.insert("source".into(), source.to_string().into());
            (key, Value::Object(row))
        });
        Value::Object(rows.collect())
    }
}
