//! File, environment and flags become one configuration, each value with its source. The only reader of the environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::cli::ReviewArgs;
use crate::contracts::{AgentKind, AppConfig};
use crate::error::{Error, Failure, Result};
use crate::policy::Policy;
use crate::policy::roots::Roots;
use crate::redact::{Engine, Settings};

mod ci;
mod layers;

pub use ci::CiContext;
use layers::Layers;
pub(crate) use layers::walk;

/// The default name of the configuration file.
pub const CONFIG_FILE: &str = ".diffsan.toml";
const PREFIX: &str = "DIFFSAN_";
/// Variables of the prefix that are not configuration keys.
const OTHER_VARIABLES: &[&str] =
    &["DIFFSAN_CONFIG_FILE", "DIFFSAN_GITLAB_TOKEN", "DIFFSAN_OPENAI_API_KEY", "DIFFSAN_FAULT"];
/// Largest configuration, instruction or template file.
pub(crate) const MAX_FILE: u64 = 4 * 1024 * 1024;

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

    /// The same with another value of one variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The home folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// Whether the terminal is one that makes links of texts (OSC 8).
    pub fn has_hyperlinks(&self) -> bool {
        let named =
            |name: &str, known: &[&str]| self.get(name).is_some_and(|value| known.iter().any(|k| value.contains(k)));
        let vte = self.get("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
        self.get("FORCE_HYPERLINK").is_some_and(|force| force != "0")
            || vte.is_some_and(|version| version >= 5_000)
            || ["KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "WEZTERM_PANE"]
                .iter()
                .any(|name| self.get(name).is_some())
            || named("TERM_PROGRAM", &["iTerm", "WezTerm", "vscode", "ghostty", "Hyper", "tmux"])
            || named("TERM", &["kitty", "alacritty", "foot", "ghostty"])
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
            if looks_secret(&name, &value) && is_telling(&value) {
                values.push(value.into_owned());
            } else if let Some(part) = webhook_part(&name, &value) {
                values.push(part.to_owned());
            } else if let Some(password) = url_password(&value) {
                values.push(password.to_owned());
            }
        }
        values
    }
}

fn looks_secret(name: &str, value: &str) -> bool {
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
        "_SALT",
        "_PASS",
    ];
    /// An id is one half of a pair, but some pairs are secret in both halves.
    const LONG_ID: usize = 16;
    if ["TOKEN_ID", "SECRET_ID"].iter().any(|end| name.ends_with(end)) && value.len() >= LONG_ID {
        return true;
    }
    const PLAIN: &[&str] = &["_FILE", "_PATH", "_DIR", "_ID", "_NAME", "_URL", "_SOCK", "_USER", "TOKEN_ENV"];
    !PLAIN.iter().any(|end| name.ends_with(end)) && MARKS.iter().any(|mark| name.contains(mark))
}

/// Whether a value can be removed wherever it stands: no path, no setting, no word that any text may hold.
fn is_telling(value: &str) -> bool {
    const SHORTEST: usize = 5;
    /// A word of this length that is no setting is hardly met by chance.
    const LONG_WORD: usize = 8;
    let is_word = value.bytes().all(|letter| letter.is_ascii_lowercase() || matches!(letter, b'-' | b'_'));
    let is_number = value.bytes().all(|letter| letter.is_ascii_digit());
    let is_path = value.starts_with('/')
        && !value.contains(['+', '='])
        && (value[1..].contains('/') || value.len() < 16 || value.contains('.'));
    value.len() >= if is_word || is_number { LONG_WORD } else { SHORTEST }
        && !is_path
        && !(is_word && crate::redact::is_common_word(value))
}

/// The part of a webhook's address that lets anybody post.
fn webhook_part<'v>(name: &str, value: &'v str) -> Option<&'v str> {
    const SHORTEST: usize = 16;
    let last = value.split('?').next()?.trim_end_matches('/').rsplit('/').next()?;
    (name.contains("WEBHOOK") && value.contains("://") && last.len() >= SHORTEST).then_some(last)
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
    /// A file of the policy commit.
    Policy {
        commit: String,
        path: String,
    },
    Environment(String),
    Flag(&'static str),
}

impl Source {
    /// One word for events.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File(_) => "file",
            Self::Policy { .. } => "policy",
            Self::Environment(_) => "env",
            Self::Flag(_) => "cli",
        }
    }
}

impl Source {
    /// The file's name for people; a file of a commit as git writes it, `1a2b3c4d5e6f:path`.
    pub fn file_name(&self) -> Option<String> {
        match self {
            Self::File(path) => Some(path.display().to_string()),
            Self::Policy { commit, path } => Some(format!("{}:{path}", commit.get(..12).unwrap_or(commit))),
            Self::Default | Self::Environment(_) | Self::Flag(_) => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Policy { .. } => write!(f, "file {}", self.file_name().unwrap_or_default()),
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
    /// Who decided.
    pub policy: Policy,
    /// What deserves a warning.
    pub warnings: Vec<String>,
    /// The project's guidance: file, then inline text.
    pub instructions: Option<String>,
    /// The text of `agent.prompt_template`.
    pub template: Option<String>,
    pub ci: CiContext,
    texts: BTreeMap<NamedFile, String>,
}

/// A file of settings with its text.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    pub source: Source,
    pub text: String,
    /// Guarded keys in it count for nothing.
    pub unguarded_only: bool,
}

/// File, environment and flags, merged.
#[derive(Debug, Clone)]
pub struct Merged {
    pub config: AppConfig,
    pub sources: BTreeMap<String, Source>,
    pub warnings: Vec<String>,
}

/// A file that a key names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedFile {
    /// The dotted key.
    pub key: &'static str,
    /// As the key writes it.
    pub file: String,
}

/// Every file that a configuration names for its text. They are read once, by the rules of whoever names them.
pub fn named_files(config: &AppConfig) -> Vec<NamedFile> {
    let one = |key: &'static str, file: &Option<String>| file.clone().map(|file| NamedFile { key, file });
    [
        one("agent.custom_instructions_file", &config.agent.custom_instructions_file),
        one("agent.prompt_template", &config.agent.prompt_template),
    ]
    .into_iter()
    .flatten()
    .chain(config.review.rules.iter().filter_map(|rule| one(RULES, &rule.file)))
    .collect()
}

/// The key whose rules may name files.
pub const RULES: &str = "review.rules";

/// Merges files (the weakest first), the environment and the flags.
pub fn merge(files: &[SettingsFile], args: &ReviewArgs, env: &Environment) -> Result<Merged> {
    let mut layers = Layers::new();
    let mut warnings = Vec::new();
    for file in files {
        let refused = layers.file(file)?;
        if !refused.is_empty() {
            let name = file.source.file_name().unwrap_or_default();
            warnings.push(format!(
                "{name} is not tracked by git, so its {} do not count; set them by DIFFSAN_* variables of the job",
                refused.join(", ")
            ));
        }
    }
    warnings.extend(layers.environment(env, PREFIX, OTHER_VARIABLES)?);
    for (key, flag, value) in flags(args) {
        layers.flag(key, flag, value)?;
    }
    let (config, sources) = layers.finish();
    Ok(Merged { config, sources, warnings })
}

/// The keys that a file's text sets.
pub fn keys_of(source: &Source, text: &str) -> Result<Vec<String>> {
    let mut layers = Layers::new();
    layers.file(&SettingsFile { source: source.clone(), text: text.to_owned(), unguarded_only: false })?;
    let (_, sources) = layers.finish();
    Ok(sources.into_iter().filter(|(_, source)| *source != Source::Default).map(|(key, _)| key).collect())
}

/// The values that a file's text comes to by itself.
pub fn alone(source: &Source, text: &str) -> Result<AppConfig> {
    let mut layers = Layers::new();
    layers.file(&SettingsFile { source: source.clone(), text: text.to_owned(), unguarded_only: false })?;
    Ok(layers.finish().0)
}

impl Merged {
    /// The configuration of a run, with the texts of the files that it names.
    pub fn finish(self, texts: BTreeMap<NamedFile, String>, policy: Policy, ci: CiContext) -> Result<Loaded> {
        let text_of = |key: &str| texts.iter().find(|(named, _)| named.key == key).map(|(_, text)| text.clone());
        let mut instructions: Vec<String> = text_of("agent.custom_instructions_file").into_iter().collect();
        instructions.push(self.config.agent.custom_instructions.clone());
        instructions.retain(|part| !part.trim().is_empty());
        let loaded = Loaded {
            instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n")),
            template: text_of("agent.prompt_template"),
            config: self.config,
            sources: self.sources,
            warnings: self.warnings,
            policy,
            ci,
            texts,
        };
        check(&loaded)?;
        Ok(loaded)
    }
}

impl Loaded {
    /// The text of a file that a key names.
    pub fn named(&self, key: &str, file: &str) -> Option<&str> {
        self.texts.iter().find(|(named, _)| named.key == key && named.file == file).map(|(_, text)| text.as_str())
    }

    /// One digest over everything that was decided: the values and the texts of the files they name.
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(serde_json::to_vec(&self.config).unwrap_or_default());
        for (named, text) in &self.texts {
            for part in [named.key, &named.file, text] {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
        }
        crate::run::record::hex(&digest.finalize())
    }
}

impl Loaded {
    /// The texts of the files that the configuration names, each with its key.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(named, text)| (named.key, text.as_str()))
    }

    /// The GitLab token and the name of the variable it came from.
    pub fn token(&self, env: &Environment) -> Option<(Token, String)> {
        let configured = self.config.gitlab.token_env.as_str();
        let is_default = self.sources.get("gitlab.token_env").is_none_or(|source| *source == Source::Default);
        let names = if is_default { vec![configured, "DIFFSAN_GITLAB_TOKEN"] } else { vec![configured] };
        names.into_iter().find_map(|name| env.get(name).map(|value| (Token::new(value.trim()), name.to_owned())))
    }

    /// The secret scanner as the configuration wants it.
    pub fn engine(&self, env: &Environment) -> Result<Engine> {
        let secrets = &self.config.secrets;
        let settings = Settings {
            enabled: secrets.enabled,
            extra_patterns: secrets.extra_patterns.clone(),
            allow_patterns: secrets.allow_patterns.clone(),
            allow_paths: secrets.allow_paths.clone(),
        };
        let mut known = env.secret_values();
        known.extend(self.token(env).map(|(token, _)| token.expose().to_owned()));
        Engine::new(&settings, known).map_err(|error| {
            Error::Redaction(
                Failure::new(format!("the secret scanner could not be set up: {error}"))
                    .help("fix secrets.extra_patterns or secrets.allow_patterns; nothing was sent to the agent"),
            )
        })
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

/// The file that the flag or the variable names, and which of them does.
pub fn file_named(args: &ReviewArgs, env: &Environment) -> Option<(PathBuf, &'static str)> {
    let by_flag = args.common.config.clone().map(|path| (path, "--config"));
    by_flag.or_else(|| env.get("DIFFSAN_CONFIG_FILE").map(|path| (PathBuf::from(path), "DIFFSAN_CONFIG_FILE")))
}

/// A named file of settings, or the one in its default place: here, else at the repository's top.
pub fn find_file(args: &ReviewArgs, env: &Environment, current: &Path) -> Result<Option<PathBuf>> {
    if let Some((path, from)) = file_named(args, env) {
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

/// A text file of settings, guidance or a template.
pub fn read_text(path: &Path, what: &str) -> Result<String> {
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
    if let Err(problem) = Roots::new(&config.policy.trust_roots, []) {
        return Err(loaded.invalid("policy.trust_roots", &problem.to_string(), "fix or remove the glob"));
    }
    for skill in &config.agent.skills {
        let near = crate::prompt::lenses().filter(|known| !known.eq_ignore_ascii_case(skill));
        let near = near.map(|known| (strsim::jaro_winkler(known, &skill.to_lowercase()), known));
        let near = near.max_by(|one, other| one.0.total_cmp(&other.0)).filter(|(score, _)| *score > 0.88);
        let is_known = crate::prompt::lenses().any(|known| known.eq_ignore_ascii_case(skill));
        if let Some((_, near)) = near.filter(|_| !is_known) {
            let problem = format!("has `{skill}`, which is no review lens");
            return Err(loaded.invalid("agent.skills", &problem, &format!("did you mean `{near}`?")));
        }
    }
    for rule in &config.review.rules {
        if rule.paths.is_empty() || (rule.text.trim().is_empty() && rule.file.is_none()) {
            let help = "write { paths = [\"api/**\"], text = \"...\" }, or file instead of text";
            return Err(loaded.invalid(RULES, "has a rule without paths or without a text", help));
        }
        if let Err(problem) = crate::prepare::globs(&rule.paths) {
            return Err(loaded.invalid(RULES, &problem.to_string(), "fix or remove the glob"));
        }
    }
    let is_name = |name: &str| {
        let fits = |letter: char| letter.is_alphabetic() || matches!(letter, ' ' | '-' | '(' | ')');
        !name.trim().is_empty() && name.chars().count() <= 40 && name.chars().all(fits)
    };
    if config.review.language.as_deref().is_some_and(|name| !is_name(name)) {
        return Err(loaded.invalid("review.language", "is no name of a language", "write its name, such as German"));
    }
    if config.review.second_agent == Some(AgentKind::Builtin) {
        let help = "name an agent that reads code, or set review.second_look = \"off\"";
        return Err(loaded.invalid("review.second_agent", "cannot be builtin", help));
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
        walk(&value, &mut Vec::new(), &mut |path, value| {
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
