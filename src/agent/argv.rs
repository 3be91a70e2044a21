//! A command line whose flags can be found, replaced and added, whoever wrote it.

use std::path::Path;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argv {
    words: Vec<String>,
    /// Where the agent's own arguments begin: after its name in `npx codex` or `docker run -m 2g image codex`.
    own: usize,
}

impl Argv {
    /// The program alone.
    pub(crate) fn new(program: &str) -> Self {
        Self { words: vec![program.to_owned()], own: 1 }
    }

    /// A custom command, split like a shell would; `None` when a quote is open or nothing is there.
    pub(crate) fn split(command: &str, programs: &[&str]) -> Option<Self> {
        let words = shlex::split(command).filter(|words| !words.is_empty())?;
        let own = words.iter().position(|word| programs.contains(&stem(word))).map_or(1, |at| at + 1);
        Some(Self { words, own })
    }

    /// The program and its arguments.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The words before the agent's own arguments: the program, and what it is wrapped in.
    pub(crate) fn before_own(&self) -> &[String] {
        &self.words[..self.own]
    }

    /// Whether the program is called by one of its usual names.
    pub(crate) fn is_named(&self, programs: &[&str]) -> bool {
        self.before_own().last().is_some_and(|word| programs.contains(&stem(word)))
    }

    /// Whether one of these flags is there, with or without a value.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.words[self.own..self.end()].iter().any(|word| names.iter().any(|name| is(word, name)))
    }

    /// The value of a flag, however it is written; the last one counts.
    pub(crate) fn value(&self, names: &[&str]) -> Option<String> {
        let words = &self.words[self.own..self.end()];
        let mut found = None;
        for (at, word) in words.iter().enumerate() {
            if names.contains(&word.as_str()) {
                found = words.get(at + 1).cloned();
            } else if let Some(name) = names.iter().find(|name| is(word, name) || attached(word, name)) {
                found = Some(word[name.len()..].trim_start_matches('=').to_owned());
            }
        }
        found
    }

    /// Whether one of these words is there.
    pub(crate) fn has_word(&self, words: &[&str]) -> bool {
        self.words[self.own..self.end()].iter().any(|word| words.contains(&word.as_str()))
    }

    /// Adds a word before the end of the flags.
    pub(crate) fn add(&mut self, word: impl Into<String>) {
        let end = self.end();
        self.words.insert(end, word.into());
    }

    /// Adds a flag that stands alone, unless it is there.
    pub(crate) fn flag(&mut self, name: &str) {
        if !self.has(&[name]) {
            self.add(name);
        }
    }

    /// Adds a flag with a value; those that are there stay.
    pub(crate) fn option(&mut self, name: &str, value: impl Into<String>) {
        self.add(name);
        self.add(value);
    }

    /// Gives a flag this value, whatever it was; the first name is the one that is written.
    pub(crate) fn set(&mut self, names: &[&str], value: impl Into<String>) {
        self.drop_options(names);
        if let Some(name) = names.first() {
            self.option(name, value);
        }
    }

    /// Removes flags that stand alone.
    pub(crate) fn drop_flags(&mut self, names: &[&str]) {
        let (own, end) = (self.own, self.end());
        let mut at = 0;
        self.words.retain(|word| {
            at += 1;
            !(at > own && at <= end && names.iter().any(|name| is(word, name)))
        });
    }

    /// Removes flags with their values.
    pub(crate) fn drop_options(&mut self, names: &[&str]) {
        let mut at = self.own;
        while at < self.end() {
            let word = &self.words[at];
            if names.contains(&word.as_str()) {
                let last = (at + 2).min(self.end());
                self.words.drain(at..last);
            } else if names.iter().any(|name| is(word, name) || attached(word, name)) {
                self.words.remove(at);
            } else {
                at += 1;
            }
        }
    }

    /// Where flags end: before `--`, else after the last word.
    fn end(&self) -> usize {
        let flags = &self.words[self.own..];
        self.own + flags.iter().position(|word| word == "--").unwrap_or(flags.len())
    }
}

/// `--flag` or `--flag=value`.
fn is(word: &str, name: &str) -> bool {
    word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || (name.starts_with("--") && rest.starts_with('=')))
}

/// `-mvalue`.
fn attached(word: &str, name: &str) -> bool {
    name.len() == 2 && !word.starts_with("--") && word.len() > 2 && word.starts_with(name)
}

/// A program's name without its folder, and without what npm's `name@version` adds.
fn stem(word: &str) -> &str {
    let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
    name.split('@').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(command: &str, edit: impl Fn(&mut Argv)) -> String {
        let mut argv = Argv::split(command, &["codex"]).unwrap();
        edit(&mut argv);
        shlex::try_join(argv.words().iter().map(String::as_str)).unwrap()
    }

    #[test]
    fn a_command_is_split_as_a_shell_would() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("codex exec", Some(&["codex", "exec"])),
            (r#"'/opt/my tools/codex' exec "a b" c\ d"#, Some(&["/opt/my tools/codex", "exec", "a b", "c d"])),
            ("codex $HOME `id` | cat", Some(&["codex", "$HOME", "`id`", "|", "cat"])),
            ("codex 'open", None),
            ("   ", None),
        ];
        for (command, words) in cases {
            let split = Argv::split(command, &["codex"]);
            assert_eq!(
                split.as_ref().map(|argv| argv.words().iter().map(String::as_str).collect::<Vec<_>>()).as_deref(),
                *words,
                "{command}"
            );
        }
    }

    #[test]
    fn a_flag_gets_its_value_however_it_was_written() {
        let cases = [
            ("codex exec", "codex exec --model new"),
            ("codex exec --model old -x", "codex exec -x --model new"),
            ("codex exec --model=old -m older -molder", "codex exec --model new"),
            ("codex -m old exec", "codex exec --model new"),
            ("codex exec --model", "codex exec --model new"),
            ("codex exec --models 3", "codex exec --models 3 --model new"),
            ("docker run -m 2g image codex exec -m old", "docker run -m 2g image codex exec --model new"),
            ("npx @openai/codex@0.166.0 exec -m old", "npx @openai/codex@0.166.0 exec --model new"),
            ("codex exec -- -m text", "codex exec --model new -- -m text"),
        ];
        for (command, want) in cases {
            assert_eq!(edited(command, |argv| argv.set(&["--model", "-m"], "new")), want, "{command}");
        }
    }

    #[test]
    fn a_flag_that_is_there_is_not_added_again() {
        assert_eq!(edited("codex --json", |argv| argv.flag("--json")), "codex --json");
        assert_eq!(edited("codex exec -- --json", |argv| argv.flag("--json")), "codex exec --json -- --json");
    }

    #[test]
    fn flags_are_removed_only_from_the_agents_own_part() {
        assert_eq!(
            edited("sh --yolo codex --yolo exec --full-auto -- --yolo", |argv| argv
                .drop_flags(&["--yolo", "--full-auto"])),
            "sh --yolo codex exec -- --yolo"
        );
    }
}
