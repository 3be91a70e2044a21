//! A question of the agent's and its answer: numbered lines, hits, paths, or a sentence about what to do instead.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Map, Value, json};

use super::pattern::Pattern;
use super::search::{self, Found};
use super::tree::{Content, Kind, Tree, text};

/// The tools by name, in the order in which they are offered.
pub const TOOLS: &[&str] = &["read_file", "search", "list_files"];

/// Most bytes of one answer; agents' programs cut longer ones without telling the model where.
const MAX_ANSWER: usize = 32_000;
/// Kept for what an answer says after its lines.
const REST: usize = 400;
/// Most characters of one line of a file.
const MAX_LINE: usize = 2_000;
/// Most paths of one listing.
const MAX_PATHS: usize = 500;
/// Most characters of a glob or a path.
const MAX_NAME: usize = 400;
/// Paths that are proposed for one that does not exist.
const PROPOSALS: usize = 3;

/// What an agent asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    ReadFile { path: String, from: Option<u64>, to: Option<u64> },
    Search { pattern: String, glob: Option<String> },
    ListFiles { glob: Option<String> },
}

/// What it gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub text: String,
    /// Lines, hits or paths in it.
    pub lines: u64,
    /// The rules that removed something from what is shown.
    pub removed: Vec<String>,
    /// The text is about why there is nothing.
    pub is_error: bool,
    /// The file that was read.
    pub read: Option<String>,
}

impl Answer {
    pub(super) fn sorry(sentence: impl Into<String>) -> Self {
        Self { text: sentence.into(), is_error: true, ..Self::default() }
    }
}

impl Question {
    /// The question that a call asks, or a sentence about what is wrong with it.
    pub fn parse(tool: &str, arguments: &Value) -> Result<Self, String> {
        let none = Map::new();
        let arguments = match arguments {
            Value::Null => &none,
            Value::Object(arguments) => arguments,
            _ => return Err(format!("The arguments of {tool} are an object.")),
        };
        let text = |name: &str| match arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.trim().is_empty())),
            Some(_) => Err(format!("`{name}` is a text.")),
        };
        let number = |name: &str| match arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => whole(value).map(Some).ok_or_else(|| format!("`{name}` is a line number, from 1.")),
        };
        match tool {
            "read_file" => Ok(Self::ReadFile {
                path: text("path")?.ok_or("`path` is missing: name a file of the repository.")?,
                from: number("from")?,
                to: number("to")?,
            }),
            "search" => Ok(Self::Search {
                pattern: text("pattern")?.ok_or("`pattern` is missing: give a regular expression.")?,
                glob: text("glob")?,
            }),
            "list_files" => Ok(Self::ListFiles { glob: text("glob")? }),
            _ => Err(format!("There is no tool `{}`. There are read_file, search and list_files.", clip(tool))),
        }
    }
}

/// Answers from the tree, in at most so many bytes; `stop` ends a search early.
pub fn answer(tree: &Tree, question: &Question, most: usize, stop: &AtomicBool) -> Answer {
    let most = most.min(MAX_ANSWER);
    let answered = match question {
        Question::ReadFile { path, from, to } => read_file(tree, path, *from, *to, most),
        Question::Search { pattern, glob } => search(tree, pattern, glob.as_deref(), most, stop),
        Question::ListFiles { glob } => list_files(tree, glob.as_deref(), most),
    };
    answered.unwrap_or_else(Answer::sorry)
}

/// Whether the tree has a file with that line.
pub fn has_line(tree: &Tree, path: &str, line: u32) -> bool {
    let Ok(place) = locate(tree, path) else { return false };
    let (Ok(mut reader), Ok(wanted)) = (tree.reader(), usize::try_from(line)) else { return false };
    let mut has = false;
    let read = reader.each(&[place], |_, content| {
        let lines = match content {
            Content::Bytes(raw) if tree.entries()[place].kind == Kind::File => {
                text(raw).map_or(0, |text| text.lines().count())
            }
            _ => 0,
        };
        has = (1..=lines).contains(&wanted);
        false
    });
    read.is_ok() && has
}

/// The tools as they are offered to the model.
pub(super) fn offered() -> Value {
    let number = |what: &str| json!({"type": "integer", "minimum": 1, "description": what});
    let text = |what: &str| json!({"type": "string", "description": what});
    let tool = |name: &str, what: &str, properties: Value, required: Value| {
        json!({
            "name": name,
            "description": what,
            "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false},
            "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
        })
    };
    json!([
        tool(
            "read_file",
            "Reads a file of the reviewed commit, with line numbers. Without from and to: the whole file. \
             A long answer says at which line to go on.",
            json!({
                "path": text("path from the repository's top, such as src/app.py"),
                "from": number("first line"),
                "to": number("last line"),
            }),
            json!(["path"])
        ),
        tool(
            "search",
            "Searches the files of the reviewed commit for a regular expression, line by line; answers `path:line: text`. \
             (?i) ignores case. There is no look-around and no back-reference.",
            json!({
                "pattern": text("regular expression, matched within one line"),
                "glob": text("only files like this, such as src/**/*.py or *.go; a folder stands for all below it"),
            }),
            json!(["pattern"])
        ),
        tool(
            "list_files",
            "Lists the files of the reviewed commit with their sizes.",
            json!({"glob": text("only files like this, such as src/** or *.toml; a folder stands for all below it")}),
            json!([])
        ),
    ])
}

fn read_file(tree: &Tree, path: &str, from: Option<u64>, to: Option<u64>, most: usize) -> Result<Answer, String> {
    let place = locate(tree, path)?;
    let entry = &tree.entries()[place];
    let name = &entry.name;
    if entry.kind == Kind::Submodule {
        return Err(format!("{name} is a submodule: its files belong to another repository and cannot be read."));
    }
    let mut answered = Err(format!("{name} could not be read."));
    let mut reader = tree.reader().map_err(|_| format!("{name} could not be read: git does not answer."))?;
    let read = reader.each(&[place], |_, content| {
        answered = match content {
            Content::Missing => Err(format!("{name} is tracked, but its content is not here.")),
            Content::ThroughLink => {
                Err(format!("{name} is, or lies behind, a symbolic link on the disk: links are not followed."))
            }
            Content::Huge(size) => {
                Err(format!("{name} is too large to read: {}. Use search to find lines in smaller files.", bytes(size)))
            }
            Content::Bytes(raw) if entry.kind == Kind::Link => Err(link(tree, name, raw)),
            Content::Bytes(raw) => match text(raw) {
                None => Err(format!("{name} is binary ({}): it cannot be read as text.", bytes(raw.len() as u64))),
                Some(text) => {
                    let redacted = tree.engine().redact_file(name, &text);
                    slice(name, redacted.text.as_str(), &redacted.removed, (from, to), most)
                }
            },
        };
        false
    });
    read.map_err(|_| format!("{name} could not be read: git does not answer."))?;
    answered
}

/// Lines `from` to `to` of a text whose secrets are gone.
fn slice(
    name: &str,
    text: &str,
    removed: &[(u32, String)],
    range: (Option<u64>, Option<u64>),
    most: usize,
) -> Result<Answer, String> {
    let total = text.lines().count() as u64;
    if total == 0 {
        return Ok(Answer { text: format!("{name} is empty."), read: Some(name.to_owned()), ..Answer::default() });
    }
    let (from, to) = (range.0.unwrap_or(1).max(1), range.1.unwrap_or(total).max(1));
    if from > total {
        return Err(format!("{name} has {total} lines: there is no line {from}."));
    }
    let (from, to) = (from.min(to), from.max(to).min(total));
    let room = most.saturating_sub(REST + name.len());
    let mut body = String::new();
    let mut next = from;
    for line in text.lines().skip(usize::try_from(from - 1).unwrap_or(usize::MAX)) {
        let shown = clip_to(line, MAX_LINE);
        if next > to || (next > from && body.len() + shown.len() + 12 > room) {
            break;
        }
        let cut = if shown.len() < line.len() { " … [the line goes on]" } else { "" };
        let _ = writeln!(body, "{next}\t{shown}{cut}");
        next += 1;
    }
    let last = next - 1;
    let mut text = if from == 1 && last == total {
        format!("{name}, {total} lines\n{body}")
    } else {
        format!("{name}, lines {from}-{last} of {total}\n{body}")
    };
    if last < to {
        let _ = write!(text, "[The file goes on: call read_file with from={next} for more.]");
    }
    let shown = removed.iter().filter(|(line, _)| (from..=last).contains(&u64::from(*line)));
    let removed = shown.map(|(_, rule)| rule.clone()).collect();
    Ok(Answer { text, lines: last + 1 - from, removed, is_error: false, read: Some(name.to_owned()) })
}

fn search(tree: &Tree, pattern: &str, glob: Option<&str>, most: usize, stop: &AtomicBool) -> Result<Answer, String> {
    let pattern = Pattern::new(pattern)?;
    let glob = glob.map(|glob| Glob::new(tree, glob)).transpose()?;
    let entries = tree.entries();
    let places: Vec<usize> = (0..entries.len())
        .filter(|&place| entries[place].kind == Kind::File)
        .filter(|&place| glob.as_ref().is_none_or(|glob| glob.matches(&entries[place].name)))
        .collect();
    if places.is_empty() {
        return Err("No file is like this glob. list_files shows what there is.".into());
    }
    let found = search::search(tree, &places, &pattern, stop)
        .map_err(|_| String::from("The files could not be searched: git does not answer."))?;
    Ok(hits(tree, &found, places.len(), most))
}

fn hits(tree: &Tree, found: &Found, asked: usize, most: usize) -> Answer {
    let mut answer = Answer::default();
    let room = most.saturating_sub(REST);
    for hit in &found.hits {
        let line = format!("{}:{}: {}\n", tree.entries()[hit.place].name, hit.line, hit.text);
        if answer.text.len() + line.len() > room && answer.lines > 0 {
            break;
        }
        answer.text.push_str(&line);
        answer.lines += 1;
        answer.removed.extend(hit.removed.iter().cloned());
    }
    let hidden = found.count - answer.lines;
    if found.late {
        let _ = write!(
            answer.text,
            "[The search was stopped after {} of {asked} files: it took too long. Use a glob, or a plainer pattern with a word in it.]",
            found.files
        );
    } else if found.more {
        let _ = write!(answer.text, "[At least {hidden} more hits: use a narrower pattern or a glob.]");
    } else if hidden > 0 {
        let _ = write!(answer.text, "[{hidden} more hits: use a narrower pattern or a glob.]");
    } else if found.count == 0 {
        let _ = write!(answer.text, "No line matches in {} files.", found.files);
    }
    if found.huge > 0 {
        let gap = if answer.text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(answer.text, "{gap}[Files too large to be searched: {}.]", found.huge);
    }
    answer
}

fn list_files(tree: &Tree, glob: Option<&str>, most: usize) -> Result<Answer, String> {
    let glob = glob.map(|glob| Glob::new(tree, glob)).transpose()?;
    let entries = tree.entries();
    let places: Vec<usize> = (0..entries.len())
        .filter(|&place| glob.as_ref().is_none_or(|glob| glob.matches(&entries[place].name)))
        .collect();
    if places.is_empty() {
        return Err("No file is like this glob. Without a glob list_files shows the folders.".into());
    }
    let names: Vec<&str> = places.iter().map(|&place| entries[place].name.as_str()).collect();
    if places.len() > MAX_PATHS {
        return Ok(folders(&names, most));
    }
    let mut reader = tree.reader().map_err(|_| String::from("The files could not be listed: git does not answer."))?;
    let mut answer = Answer::default();
    for (index, &place) in places.iter().enumerate() {
        let entry = &entries[place];
        let what = match entry.kind {
            Kind::Submodule => "submodule".to_owned(),
            Kind::Link => "symbolic link".to_owned(),
            Kind::File => reader.size(place).map_or_else(|| "not here".to_owned(), bytes),
        };
        let line = format!("{} ({what})\n", entry.name);
        if answer.text.len() + line.len() + REST > most && index > 0 {
            let _ = write!(answer.text, "[{} more files: use a narrower glob.]", places.len() - index);
            break;
        }
        answer.text.push_str(&line);
        answer.lines += 1;
    }
    Ok(answer)
}

/// Too many files to list: how many there are in each folder, as deep as there is room for.
fn folders(names: &[&str], most: usize) -> Answer {
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for depth in 1..16 {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in names {
            *counts.entry(head(name, depth)).or_default() += 1;
        }
        let size: usize = counts.keys().map(|name| name.len() + 20).sum();
        if depth > 1 && (counts.len() > MAX_PATHS || size + REST > most) {
            break;
        }
        shown = counts;
    }
    let mut answer = Answer::default();
    let _ = writeln!(answer.text, "{} files, too many to list; by folder:", names.len());
    for (name, count) in shown {
        if answer.text.len() + name.len() + REST > most {
            answer.text.push_str("[and more folders]\n");
            break;
        }
        let _ = if name.ends_with('/') {
            writeln!(answer.text, "{name} ({count} files)")
        } else {
            writeln!(answer.text, "{name}")
        };
        answer.lines += 1;
    }
    answer.text.push_str("[Use a glob such as src/** to list one of them.]");
    answer
}

/// The first folders of a path, or all of it.
fn head(name: &str, depth: usize) -> &str {
    name.match_indices('/').nth(depth - 1).map_or(name, |(at, _)| &name[..=at])
}

/// The entry of a path as a model may write it.
fn locate(tree: &Tree, path: &str) -> Result<usize, String> {
    let path = path.trim();
    let plain = path.strip_prefix("./").unwrap_or(path);
    if plain.chars().count() > MAX_NAME {
        return Err("No path of the repository is that long.".into());
    }
    if let Some(place) = tree.find(plain) {
        return Ok(place);
    }
    if plain.starts_with('/') || plain.starts_with('~') || plain.split(['/', '\\']).any(|part| part == "..") {
        return Err(
            "Only files of the repository can be read: give a path from its top, without a leading / and without `..`."
                .into(),
        );
    }
    if plain.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err("Git's own files are no part of the repository's tree and cannot be read.".into());
    }
    // As a diff writes it.
    if let Some(place) = plain.strip_prefix("a/").or_else(|| plain.strip_prefix("b/")).and_then(|path| tree.find(path))
    {
        return Ok(place);
    }
    let folder = format!("{}/", plain.trim_end_matches('/'));
    let below = tree.entries().iter().filter(|entry| entry.name.starts_with(&folder)).count();
    if below > 0 {
        return Err(format!("{folder} is a folder with {below} files: list_files with glob `{folder}**` shows them."));
    }
    let near = proposals(tree, plain);
    let shown = clip(plain);
    if near.is_empty() {
        return Err(format!("There is no file {shown} in the reviewed commit. list_files shows what there is."));
    }
    Err(format!("There is no file {shown} in the reviewed commit. Did you mean {}?", near.join(" or ")))
}

/// Paths that may have been meant: the same name elsewhere, else the most similar path.
fn proposals(tree: &Tree, path: &str) -> Vec<String> {
    let base = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase();
    let wanted = base(path);
    let mut scored: Vec<(f64, &str)> = tree
        .entries()
        .iter()
        .filter(|entry| entry.kind != Kind::Submodule)
        .filter_map(|entry| {
            let likeness = match base(&entry.name) {
                same if same == wanted => 2.0,
                other => strsim::jaro_winkler(&other, &wanted),
            };
            (likeness > 0.85).then(|| (likeness + strsim::jaro_winkler(&entry.name, path) / 4.0, entry.name.as_str()))
        })
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    scored.iter().take(PROPOSALS).map(|(_, name)| (*name).to_owned()).collect()
}

/// What a link says, without going there.
fn link(tree: &Tree, name: &str, raw: &[u8]) -> String {
    let target = tree.engine().redact_file("", &String::from_utf8_lossy(raw)).text.into_string();
    let target = target.replace(char::is_control, "\u{FFFD}");
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    let mut inside = !target.starts_with('/');
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => inside &= parts.pop().is_some(),
            other => parts.push(other),
        }
    }
    let there = parts.join("/");
    match tree.find(&there).filter(|_| inside) {
        Some(_) => format!("{name} is a symbolic link to {there}: links are not followed, read that file instead."),
        None => format!("{name} is a symbolic link to `{}`: links are not followed.", clip(&target)),
    }
}

/// Which paths are meant.
struct Glob {
    glob: GlobMatcher,
    /// A folder stands for all that is below it.
    folder: Option<String>,
}

impl Glob {
    fn new(tree: &Tree, text: &str) -> Result<Self, String> {
        let plain = text.trim();
        let plain = plain.strip_prefix("./").unwrap_or(plain).trim_start_matches('/');
        if plain.chars().count() > MAX_NAME {
            return Err(format!("The glob has more than {MAX_NAME} characters: use a shorter one."));
        }
        let folder = format!("{}/", plain.trim_end_matches('/'));
        let is_folder = folder.len() > 1 && tree.entries().iter().any(|entry| entry.name.starts_with(&folder));
        // A name alone is meant wherever it stands.
        let anywhere = if plain.contains('/') { plain.to_owned() } else { format!("**/{plain}") };
        let glob = GlobBuilder::new(&anywhere).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| format!("The glob cannot be used: {}.", error.kind()))?;
        Ok(Self { glob: glob.compile_matcher(), folder: is_folder.then_some(folder) })
    }

    fn matches(&self, name: &str) -> bool {
        self.folder.as_deref().is_some_and(|folder| name.starts_with(folder)) || self.glob.is_match(name)
    }
}

/// A number that a model may write as a text or with a fraction of zero.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64()?;
            (number >= 0.0 && number.fract() == 0.0 && number < 1e15).then_some(number as u64)
        }),
        _ => None,
    }
}

fn clip(text: &str) -> String {
    crate::error::clip(&text.replace(char::is_control, "\u{FFFD}"), 120)
}

/// The first characters of a text.
fn clip_to(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// A size as people say it.
fn bytes(size: u64) -> String {
    match size {
        0..1_000 => format!("{size} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", size as f64 / 1e3),
        _ => format!("{:.1} MB", size as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, range: (Option<u64>, Option<u64>), most: usize) -> String {
        slice("f", text, &[], range, most).map_or_else(|sentence| sentence, |answer| answer.text)
    }

    #[test]
    fn lines_are_numbered_and_a_cut_says_where_to_go_on() {
        assert_eq!(cut("a\nb\n", (None, None), 9_000), "f, 2 lines\n1\ta\n2\tb\n");
        assert_eq!(cut("a\r\nb", (Some(2), None), 9_000), "f, lines 2-2 of 2\n2\tb\n");
        assert_eq!(cut("a\nb\nc\n", (Some(3), Some(2)), 9_000), "f, lines 2-3 of 3\n2\tb\n3\tc\n");
        assert_eq!(cut("a\nb\nc\n", (Some(0), Some(1)), 9_000), "f, lines 1-1 of 3\n1\ta\n");
        assert_eq!(cut("a\n", (Some(7), None), 9_000), "f has 1 lines: there is no line 7.");
        assert_eq!(cut("", (None, None), 9_000), "f is empty.");
        let long = "line of text\n".repeat(100);
        let text = cut(&long, (None, None), 1_000);
        assert!(text.ends_with("for more.]") && text.len() <= 1_000, "{text}");
        let next: u64 = text.rsplit_once("from=").unwrap().1.split(' ').next().unwrap().parse().unwrap();
        assert!(text.contains(&format!("\n{}\tline", next - 1)));
        assert!(cut(&long, (Some(next), None), 90_000).ends_with("100\tline of text\n"));
    }

    #[test]
    fn an_endless_line_is_cut() {
        let text = cut(&"x".repeat(1_000_000), (None, None), 9_000);
        assert!(text.len() < 2_200 && text.contains("[the line goes on]"), "{}", text.len());
    }

    #[test]
    fn only_what_was_removed_from_the_shown_lines_counts() {
        let removed = [(1, "A".to_owned()), (2, "B".to_owned()), (3, "C".to_owned())];
        let answer = slice("f", "a\nb\nc\n", &removed, (Some(2), Some(2)), 9_000).unwrap();
        assert_eq!(answer.removed, ["B"]);
    }

    #[test]
    fn arguments_are_read_as_models_write_them() {
        let parse = |tool: &str, text: &str| Question::parse(tool, &serde_json::from_str(text).unwrap());
        let read = |from, to| Ok(Question::ReadFile { path: "a".into(), from, to });
        assert_eq!(parse("read_file", r#"{"path": "a"}"#), read(None, None));
        assert_eq!(parse("read_file", r#"{"path": "a", "from": "3", "to": 4.0}"#), read(Some(3), Some(4)));
        assert_eq!(parse("read_file", r#"{"path": "a", "from": null, "extra": 1}"#), read(None, None));
        assert_eq!(parse("list_files", "null"), Ok(Question::ListFiles { glob: None }));
        assert_eq!(parse("list_files", r#"{"glob": ""}"#), Ok(Question::ListFiles { glob: None }));
        for (tool, arguments, why) in [
            ("read_file", "{}", "`path` is missing"),
            ("read_file", r#"{"path": 3}"#, "`path` is a text"),
            ("read_file", r#"{"path": "a", "from": -1}"#, "line number"),
            ("read_file", r#"{"path": "a", "to": 1.5}"#, "line number"),
            ("search", r#"{"pattern": " "}"#, "`pattern` is missing"),
            ("search", "[]", "object"),
            ("bash", "{}", "There is no tool `bash`"),
        ] {
            assert!(parse(tool, arguments).unwrap_err().contains(why), "{tool} {arguments}");
        }
    }

    #[test]
    fn many_files_are_told_by_folder() {
        let names: Vec<String> = (0..2_000).map(|n| format!("src/{}/part_{n}.rs", n % 7)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).chain(["README.md"]).collect();
        let answer = folders(&names, MAX_ANSWER);
        assert!(answer.text.contains("src/3/ (286 files)") && answer.text.contains("README.md\n"), "{}", answer.text);
        assert_eq!(answer.lines, 8);
    }

    #[test]
    fn the_offer_names_the_tools() {
        let offered = offered();
        let names: Vec<&str> = offered.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, TOOLS);
    }
}
