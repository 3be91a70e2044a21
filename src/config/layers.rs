//! One layer after the other over the defaults; what a layer does not understand is an error that names the key.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Environment, SettingsFile, Source};
use crate::contracts::AppConfig;
use crate::error::{Error, Failure, Result};

/// The configuration as it grows, and where each value came from.
pub(super) struct Layers {
    merged: Value,
    config: AppConfig,
    sources: BTreeMap<String, Source>,
    keys: Vec<String>,
}

impl Layers {
    pub(super) fn new() -> Self {
        let config = AppConfig::default();
        let merged = serde_json::to_value(&config).unwrap_or_default();
        let mut keys = Vec::new();
        walk(&merged, &mut Vec::new(), &mut |path, _| keys.push(path.join(".")));
        let sources = keys.iter().map(|key| (key.clone(), Source::Default)).collect();
        Self { merged, config, sources, keys }
    }

    pub(super) fn finish(self) -> (AppConfig, BTreeMap<String, Source>) {
        (self.config, self.sources)
    }

    /// A file: a TOML table of known keys; returns the keys in it that may not count.
    pub(super) fn file(&mut self, file: &SettingsFile) -> Result<Vec<String>> {
        let (source, text) = (&file.source, &file.text);
        let table: toml::Table = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
            let name = source.file_name().unwrap_or_default();
            Error::Config(
                located(Failure::new(format!("{name}{place} is not valid TOML: {}", error.message())), source)
                    .help("fix the syntax; `diffsan init` writes a file to start from"),
            )
        })?;
        let value = serde_json::to_value(table)
            .map_err(|error| problem(source, None, &error.to_string(), "use TOML's plain value types"))?;
        let mut refused = Vec::new();
        for (key, value) in self.leaves(&value) {
            if file.unguarded_only && crate::policy::guarded::is_guarded(&key) {
                refused.push(key);
            } else {
                self.set(&key, value, source)?;
            }
        }
        Ok(refused)
    }

    /// `DIFFSAN_*`: nested keys with `__`; returns a warning for each variable that is no key.
    pub(super) fn environment(&mut self, env: &Environment, prefix: &str, others: &[&str]) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        for (name, value) in env.pairs() {
            let Some(name) = name.to_str().filter(|name| name.starts_with(prefix) && !others.contains(name)) else {
                continue;
            };
            let source = Source::Environment(name.to_owned());
            let Some(value) = value.to_str() else {
                return Err(problem(&source, None, "is not UTF-8 text", "set it to plain text"));
            };
            let path: Vec<_> = name[prefix.len()..].to_lowercase().split("__").map(str::to_owned).collect();
            let key = path.join(".");
            if value.is_empty() {
                continue;
            }
            if self.keys.contains(&key) {
                self.text(&key, value, &source)?;
            } else if self.is_section(&key) {
                let object = serde_json::from_str::<Value>(value).ok().filter(Value::is_object).ok_or_else(|| {
                    problem(&source, Some(&key), "must be a JSON object", "set single keys with __ instead")
                })?;
                self.object(nest(&path, object), &source)?;
            } else if path.len() > 1 {
                return Err(self.unknown(&key, &source));
            } else {
                warnings.push(self.unknown_variable(name, &key, prefix));
            }
        }
        Ok(warnings)
    }

    /// One flag.
    pub(super) fn flag(&mut self, key: &str, flag: &'static str, value: Value) -> Result<()> {
        self.set(key, value, &Source::Flag(flag))
    }

    fn object(&mut self, value: Value, source: &Source) -> Result<()> {
        for (key, value) in self.leaves(&value) {
            self.set(&key, value, source)?;
        }
        Ok(())
    }

    fn leaves(&self, value: &Value) -> Vec<(String, Value)> {
        let mut leaves = Vec::new();
        walk_known(value, &self.keys, &mut Vec::new(), &mut |path, value| leaves.push((path.join("."), value.clone())));
        leaves
    }

    /// A variable's text: as text where the key takes one, else as JSON.
    fn text(&mut self, key: &str, text: &str, source: &Source) -> Result<()> {
        if self.clone_with(key, Value::String(text.to_owned())).is_ok() {
            return self.set(key, Value::String(text.to_owned()), source);
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => self.set(key, value, source),
            Err(_) => self.set(key, Value::String(text.to_owned()), source),
        }
    }

    fn set(&mut self, key: &str, value: Value, source: &Source) -> Result<()> {
        if self.is_section(key) {
            return Err(problem(source, Some(key), "must be a table of keys", "write it as a [table]"));
        }
        if !self.keys.iter().any(|known| known == key) {
            return Err(self.unknown(key, source));
        }
        if value == "" && self.current(key).is_some_and(Value::is_null) {
            // TOML has no null: an empty text is how a file says "unset".
            return Ok(());
        }
        let meant = self.meant(key, &value);
        let (merged, config) = self.clone_with(key, meant).map_err(|(path, reason)| {
            let help = suggestion(&reason).unwrap_or_else(|| format!("`diffsan schema config` says what {key} takes"));
            problem(source, Some(&path), &reason, &help)
        })?;
        self.merged = merged;
        self.config = config;
        self.sources.insert(key.to_owned(), source.clone());
        Ok(())
    }

    fn clone_with(&self, key: &str, value: Value) -> Result<(Value, AppConfig), (String, String)> {
        let mut merged = self.merged.clone();
        let pointer = format!("/{}", key.replace('.', "/"));
        if let Some(place) = merged.pointer_mut(&pointer) {
            *place = value;
        }
        match serde_path_to_error::deserialize(&merged) {
            Ok(config) => Ok((merged, config)),
            Err(error) => Err((error.path().to_string(), error.inner().to_string())),
        }
    }

    /// What was meant by a value that is not quite one of the key's: `yes`, `1` or `TRUE` for true, `HIGH` for `high`,
    /// an empty text for nothing.
    fn meant(&self, key: &str, value: &Value) -> Value {
        let fits = |other: &Value| self.clone_with(key, other.clone()).is_ok();
        let word = match value {
            Value::String(text) => text.trim().to_lowercase(),
            Value::Number(number) => number.to_string(),
            _ => return value.clone(),
        };
        if fits(value) {
            return value.clone();
        }
        let guess = match word.as_str() {
            "true" | "yes" | "on" | "1" => Value::Bool(true),
            "false" | "no" | "off" | "0" => Value::Bool(false),
            "" => Value::Null,
            _ => Value::String(word.clone()),
        };
        let guesses = [guess, Value::String(word)];
        guesses.into_iter().find(|guess| fits(guess)).unwrap_or_else(|| value.clone())
    }

    fn current(&self, key: &str) -> Option<&Value> {
        self.merged.pointer(&format!("/{}", key.replace('.', "/")))
    }

    fn is_section(&self, key: &str) -> bool {
        let start = format!("{key}.");
        self.keys.iter().any(|known| known.starts_with(&start))
    }

    fn unknown(&self, key: &str, source: &Source) -> Error {
        let help = match self.nearest(key) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`diffsan schema config` lists every key".into(),
        };
        problem(source, Some(key), "is not a known key", &help)
    }

    fn unknown_variable(&self, name: &str, key: &str, prefix: &str) -> String {
        match self.nearest(key) {
            Some(near) => {
                let variable = format!("{prefix}{}", near.replace('.', "__").to_uppercase());
                format!("the variable {name} is not a configuration key; did you mean {variable}?")
            }
            None => format!("the variable {name} is not a configuration key and is ignored"),
        }
    }

    /// The known key that is spelt most alike; the last part counts on its own too.
    fn nearest(&self, key: &str) -> Option<&str> {
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        self.keys
            .iter()
            .map(|known| {
                let whole = strsim::jaro_winkler(known, key);
                let part = if key.contains('.') { 0.0 } else { strsim::jaro_winkler(&last(known), key) };
                (whole.max(part), known.as_str())
            })
            .filter(|(score, _)| *score > 0.85)
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .map(|(_, known)| known)
    }
}

/// Calls `leaf` for every value that is not a table, with its path.
pub(crate) fn walk<'v>(value: &'v Value, path: &mut Vec<String>, leaf: &mut impl FnMut(&[String], &'v Value)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push(key.clone());
                walk(value, path, leaf);
                path.pop();
            }
        }
        other => leaf(path, other),
    }
}

/// Like [`walk`], but a table where a key is expected is that key's value.
fn walk_known(value: &Value, keys: &[String], path: &mut Vec<String>, leaf: &mut impl FnMut(&[String], &Value)) {
    match value {
        Value::Object(map) if !keys.contains(&path.join(".")) && !map.is_empty() => {
            for (key, value) in map {
                path.push(key.clone());
                walk_known(value, keys, path, leaf);
                path.pop();
            }
        }
        // An empty table sets nothing; only an unknown one is worth an error.
        Value::Object(map)
            if map.is_empty() && keys.iter().any(|key| key.starts_with(&format!("{}.", path.join(".")))) => {}
        Value::Object(map) if map.is_empty() && path.is_empty() => {}
        other => leaf(path, other),
    }
}

fn nest(path: &[String], value: Value) -> Value {
    path.iter().rev().fold(value, |inner, key| {
        let mut map = Map::new();
        map.insert(key.clone(), inner);
        Value::Object(map)
    })
}

/// The known value that is spelt most alike; serde names the given one first, then the known ones.
fn suggestion(reason: &str) -> Option<String> {
    let rest = reason.strip_prefix("unknown variant ")?;
    let mut words = rest.split('`').skip(1).step_by(2);
    let given = words.next()?.to_lowercase();
    let (score, near) = words
        .map(|known| (strsim::jaro_winkler(known, &given), known))
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    (score > 0.7).then(|| format!("did you mean `{near}`?"))
}

fn problem(source: &Source, key: Option<&str>, reason: &str, help: &str) -> Error {
    let place = match (source, key) {
        (Source::File(_) | Source::Policy { .. }, key) => {
            let name = source.file_name().unwrap_or_default();
            key.map_or(name.clone(), |key| format!("{name}: {key}"))
        }
        (Source::Environment(name), _) => format!("environment variable {name}"),
        (Source::Flag(flag), _) => format!("flag {flag}"),
        (Source::Default, key) => key.unwrap_or_default().to_owned(),
    };
    let mut failure = Failure::new(format!("{place}: {reason}")).with("source", source.to_string()).help(help);
    if let Some(key) = key {
        failure = failure.with("key", key);
    }
    Error::Config(located(failure, source))
}

/// The file, and the commit it is of, as facts of a failure.
fn located(failure: Box<Failure>, source: &Source) -> Box<Failure> {
    match source {
        Source::File(path) => failure.with("file", path.to_string_lossy()),
        Source::Policy { commit, path } => failure.with("file", path.as_str()).with("commit", commit.as_str()),
        Source::Default | Source::Environment(_) | Source::Flag(_) => failure,
    }
}
