//! The grammar of "a name is given a value" in code, configuration, markup and on command lines, read by hand.

use std::ops::Range;

use super::file_kind::FileKind;
use super::steps;

/// A name with the value it is given on the same line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    pub(super) form: Form,
    /// Further literals that are joined to the first: `"a" + "b"`.
    pub(super) more: Vec<Range<usize>>,
}

/// How the value is written, which says how far to trust that it is a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Between quotes: a literal in any language.
    Quoted,
    /// Between tags.
    Element,
    /// Bare, where the file's language has bare literals (YAML, env, shell, properties) or on a command line.
    Bare,
    /// Bare in source code or unknown text: an identifier as a rule.
    Doubtful,
    /// In a sentence: a word as a rule.
    Spoken,
}

const NAME_LIMIT: usize = 96;
/// The colon of Chinese and Japanese texts.
const COLON: &[u8] = "\u{ff1a}".as_bytes();
const GAP_LIMIT: usize = 48;

/// What is asked about the whole line again and again, once for each of its names: found once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Facts {
    /// The text between the spaces at both ends.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The first character after which commas and brackets end a bare word.
    pub(super) flow: usize,
    /// The first `<`.
    pub(super) tag: usize,
}

impl Facts {
    pub(super) fn of(line: &[u8]) -> Self {
        steps::add(line.len());
        let first = line.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(line.len());
        let last = line.iter().rposition(|b| !b.is_ascii_whitespace()).map_or(first, |at| at + 1);
        let flow = line.iter().position(|b| matches!(b, b'{' | b'(' | b'?' | b'[' | b';')).unwrap_or(line.len());
        Self { first, last, flow, tag: memchr::memchr(b'<', line).unwrap_or(line.len()) }
    }
}

/// Reads the assignment whose name covers `at`, if there is one. `line` is without its diff prefix.
pub(super) fn read(line: &[u8], at: usize, kind: FileKind, facts: Facts) -> Option<Assignment> {
    let name = name_around(line, at);
    let reader = Reader { line, kind, name: name.clone(), facts };
    let (value, form) = reader.value()?;
    if value.is_empty() {
        return None;
    }
    let more = if form == Form::Quoted { reader.joined(&value) } else { Vec::new() };
    Some(Assignment { name, value, form, more })
}

/// The identifier around `at`, with the dots and dashes that configuration keys are made of.
pub(super) fn name_around(line: &[u8], at: usize) -> Range<usize> {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$') || byte >= 0x80;
    let floor = at.saturating_sub(NAME_LIMIT);
    let mut start = at;
    while start > floor && inside(line[start - 1]) {
        start -= 1;
    }
    // `\n` and `\t` written out in a string are not part of the name that follows them.
    if start > 0 && line[start - 1] == b'\\' && start < at && matches!(line[start], b'n' | b't' | b'r') {
        start += 1;
    }
    let ceiling = line.len().min(at + NAME_LIMIT);
    let mut end = at;
    while end < ceiling && inside(line[end]) {
        if line[end] == b'-' && line.get(end + 1) == Some(&b'>') || line[end..].starts_with(COLON) {
            break;
        }
        end += 1;
    }
    while end > at && matches!(line[end - 1], b'.' | b'-') {
        end -= 1;
    }
    start..end
}

/// A line at a name.
pub(super) struct Reader<'a> {
    pub(super) line: &'a [u8],
    pub(super) kind: FileKind,
    pub(super) name: Range<usize>,
    pub(super) facts: Facts,
}

pub(super) type Value = Option<(Range<usize>, Form)>;

impl Reader<'_> {
    pub(super) fn at(&self, at: usize) -> u8 {
        self.line.get(at).copied().unwrap_or(0)
    }

    pub(super) fn skip_spaces(&self, mut at: usize) -> usize {
        let ceiling = self.line.len().min(at + GAP_LIMIT);
        while at < ceiling && matches!(self.line[at], b' ' | b'\t') {
            at += 1;
        }
        at
    }

    /// The quote at `at`, escaped or not: (quote, bytes it takes).
    pub(super) fn quote(&self, at: usize) -> Option<(u8, usize)> {
        match self.at(at) {
            quote @ (b'"' | b'\'' | b'`') => Some((quote, 1)),
            b'\\' if matches!(self.at(at + 1), b'"' | b'\'') => Some((self.at(at + 1), 2)),
            b'\\' if self.at(at + 1) == b'\\' && matches!(self.at(at + 2), b'"' | b'\'') => Some((self.at(at + 2), 3)),
            b'&' if self.line[at..].starts_with(b"&quot;") => Some((b'&', 6)),
            b'%' if self.line[at..].starts_with(b"%22") => Some((b'%', 3)),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        let mut at = self.name.end;
        let mut name_quoted = false;
        if let Some((_, taken)) = self.quote(at) {
            name_quoted = true;
            at += taken;
        }
        let mut closed = 0;
        while closed < 2 && matches!(self.at(at), b']' | b')' | b'*') {
            at += 1;
            closed += 1;
        }
        // `input[name=password]"`
        if let Some((_, taken)) = self.quote(at).filter(|_| closed > 0 && !name_quoted) {
            name_quoted = true;
            at += taken;
        }
        at = self.past_subscripts(at);
        if let Some(value) = self.chained(at, name_quoted) {
            return self.quoted(value);
        }
        let tight = at;
        at = self.skip_spaces(at);
        let gap = at > tight;
        match self.at(at) {
            b'=' => self.after_equals(at),
            b':' => self.after_colon(at),
            _ if self.line[at..].starts_with(COLON) => self.said(at + COLON.len()),
            b'?' | b'|' | b'+' if self.at(at + 1) == b'=' => self.literal(self.skip_spaces(at + 2)),
            b'|' if self.line[at..].starts_with(b"||=") => self.literal(self.skip_spaces(at + 3)),
            b'?' | b'|' if self.at(at + 1) == self.at(at) => self.quoted(self.skip_spaces(at + 2)),
            b'?' | b'!' if self.at(at + 1) == b':' => self.after_colon(at + 1),
            b'!' if self.at(at + 1) == b'=' => {
                self.quoted(self.skip_spaces(at + if self.at(at + 2) == b'=' { 3 } else { 2 }))
            }
            b',' if (name_quoted || closed > 0) && !self.is_verb() => self.after_comma(at),
            b',' if self.is_compared() => self.quoted(self.skip_spaces(at + 1)),
            b'(' if !gap && !name_quoted && !self.is_verb() => self.argument_of_call(at + 1),
            // `std::string password{"…"}`
            b'{' => self.braces(at, name_quoted),
            b'>' if !gap => self.after_tag(at, name_quoted),
            b'<' if self.line[at..].starts_with(b"</key>") => self.plist(at),
            b'<' if self.line[at..].starts_with(b"</t") => self.next_cell(at),
            b'<' if self.at(at + 1) == b'-' => self.literal(self.skip_spaces(at + 2)),
            b'|' if self.line.trim_ascii_start().starts_with(b"|") => self.cell(at + 1),
            _ if gap => self.after_space(at, name_quoted),
            _ => None,
        }
    }

    /// `find("#password").type("…")`: where the argument of the call that follows starts.
    fn chained(&self, at: usize, name_quoted: bool) -> Option<usize> {
        const CALLS: [&[u8]; 9] =
            [b"type", b"send_keys", b"sendkeys", b"fill", b"setvalue", b"set_value", b"val", b"set", b"clearandtype"];
        if !name_quoted || self.at(at) != b'.' {
            return None;
        }
        let word = self.line[at + 1..].iter().take(16).take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let call = self.line[at + 1..at + 1 + word].to_ascii_lowercase();
        (self.at(at + 1 + word) == b'(' && CALLS.contains(&call.as_slice())).then(|| self.skip_spaces(at + word + 2))
    }

    fn after_equals(&self, at: usize) -> Value {
        let mut next = at + 1;
        while matches!(self.at(next), b'=' | b'>' | b'~') {
            next += 1;
        }
        let comparison = self.at(at + 1) == b'=';
        next = self.skip_spaces(next);
        if comparison { self.quoted(next) } else { self.literal(next) }
    }

    fn after_colon(&self, at: usize) -> Value {
        let mut next = at + 1;
        match self.at(next) {
            b'=' => return self.literal(self.skip_spaces(next + 1)),
            // `${NAME:-default}` of a shell; `Type::member` of code.
            b'-' | b'+' | b'?' if self.in_braces() => return self.braced(next + 1),
            // `::=` of make, `:: ` of LDIF; otherwise a path of code.
            b':' => {
                return if matches!(self.at(next + 1), b'=' | b' ') {
                    self.literal(self.skip_spaces(next + 2))
                } else {
                    self.constructed(next + 1)
                };
            }
            _ => {}
        }
        if self.in_braces() && self.line[..self.name.start].ends_with(b"${") {
            return self.braced(next);
        }
        // `**Password:** …`
        if self.line[next..].starts_with(b"**") {
            return self.said(next + 2);
        }
        next = self.skip_spaces(next);
        if let Some(after_type) = self.skip_annotation(next) {
            return self.literal(after_type);
        }
        if self.at(next) == b'<' || self.quote(next).is_none() && self.is_prose() && self.kind != FileKind::Config {
            let said = self.said(next);
            return self.literal(next).filter(|(_, form)| *form == Form::Bare).or(said);
        }
        self.literal(next)
    }

    fn in_braces(&self) -> bool {
        self.name.start > 0 && self.at(self.name.start - 1) == b'{'
    }

    /// The default inside `${NAME:-default}`.
    fn braced(&self, at: usize) -> Value {
        let window = &self.line[at..];
        let end = memchr::memchr2(b'}', b'"', window)?;
        steps::add(end);
        Some((at..at + end, Form::Bare))
    }

    /// `pass("…")`, ``Pass `x` to``: what is done, not what is named.
    fn is_verb(&self) -> bool {
        let name = &self.line[self.name.clone()];
        name.rsplit(|&b| b == b'.').next().is_some_and(|word| word.eq_ignore_ascii_case(b"pass"))
    }

    /// `password("…")`, `store_password("user", "…")`: the last of one or two literals.
    fn argument_of_call(&self, at: usize) -> Value {
        let first = self.quoted(self.skip_spaces(at))?;
        let close = self.quote(first.0.end).map_or(first.0.end, |(_, taken)| first.0.end + taken);
        let comma = self.skip_spaces(close);
        let is_single_word =
            !self.line[self.name.clone()].iter().any(|b| matches!(b, b'_' | b'-') || b.is_ascii_uppercase());
        if self.at(comma) != b',' || is_single_word {
            return Some(first);
        }
        self.quoted(self.skip_spaces(comma + 1)).or(Some(first))
    }

    /// The literals that follow the first one, with nothing but a sign that joins them between; in a list, a comma.
    fn joined(&self, first: &Range<usize>) -> Vec<Range<usize>> {
        const MOST: usize = 16;
        let before = self.line[..first.start.saturating_sub(1)].trim_ascii_end();
        let is_list = before.ends_with(b"[") && before.len() > self.name.end;
        let mut more = Vec::new();
        let mut at = first.end;
        while more.len() < MOST {
            let Some((_, taken)) = self.quote(at) else { break };
            let mut next = self.skip_spaces(at + taken);
            if is_list && self.at(next) == b',' {
                next += 1;
            } else if matches!(self.at(next), b'+' | b'.' | b'&' | b'~') {
                next += 1 + usize::from(self.at(next + 1) == b'.');
            } else if next == at + taken {
                break;
            }
            let Some((value, _)) = self.literal_quote(self.skip_spaces(next)).and_then(|start| self.quoted(start))
            else {
                break;
            };
            at = value.end;
            more.push(value);
        }
        more
    }

    /// `define("NAME", "value")`, `getenv("NAME", "default")`, `{"name": "NAME", "value": "…"}`.
    fn after_comma(&self, at: usize) -> Value {
        let next = self.skip_spaces(at + 1);
        if let Some(value) = self.paired(next) {
            return self.literal(value);
        }
        self.quoted(next)
    }

    /// `--password value`, `ENV PASSWORD value`, `PASSWORD 'value'`, `name="password" value="…"`.
    fn after_space(&self, at: usize, name_quoted: bool) -> Value {
        if let Some(value) = self.paired(at) {
            return self.literal(value);
        }
        // `$PW out.txt` names a variable and then something else.
        if self.is_verb() && !self.has_user() || self.line[self.name.clone()].contains(&b'$') {
            return None;
        }
        for word in [&b"or "[..], b"|| ", b"BY ", b"by "] {
            if self.line[at..].starts_with(word) {
                return self.quoted(self.skip_spaces(at + word.len()));
            }
        }
        if let Some(value) = self.skip_type(at) {
            return self.quoted(value);
        }
        if name_quoted {
            return self.is_comment().then(|| self.spoken(at)).flatten();
        }
        if self.line[self.name.start..].starts_with(b"-") {
            return self.argument(at);
        }
        if self.quote(at).is_some() {
            let (value, form) = self.quoted(at)?;
            // Prose puts names in back-ticks as well as values.
            return Some((value, if self.at(at) == b'`' { Form::Doubtful } else { form }));
        }
        let lead = self.lead();
        if lead.eq_ignore_ascii_case(b"env") || lead.eq_ignore_ascii_case(b"arg") || lead == b"setenv" {
            return self.bare(at, Form::Bare);
        }
        if lead.is_empty() && self.kind.has_directives() {
            let (value, form) = self.bare(at, Form::Bare)?;
            let rest = self.rest(value.end);
            if rest.is_empty() || rest.starts_with(b"#") {
                return Some((value, form));
            }
        }
        self.spoken(at)
    }

    /// What stands before the name; the beginning is enough of a long one.
    pub(super) fn lead(&self) -> &[u8] {
        const ENOUGH: usize = 64;
        let start = self.facts.first.min(self.name.start);
        let end = self.name.start.min(start + ENOUGH);
        self.line[start..end].trim_ascii_end()
    }

    /// What stands behind `at`, likewise.
    pub(super) fn rest(&self, at: usize) -> &[u8] {
        const ENOUGH: usize = 64;
        let end = self.facts.last.max(at).min(self.line.len());
        let start = self.skip_spaces(at).min(end);
        &self.line[start..end.min(start + ENOUGH)]
    }

    /// The word after a command-line flag.
    fn argument(&self, at: usize) -> Value {
        if self.at(at) == b'-' {
            return None;
        }
        if self.quote(at).is_some() { self.quoted(at) } else { self.bare(at, Form::Bare) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_behind_its_name_in_every_notation() {
        let cases: &[(&str, &str, FileKind)] = &[
            (r#"password = "hunter2""#, "hunter2", FileKind::Code),
            (r#"password: str = "hunter2""#, "hunter2", FileKind::Code),
            (r#"let password: &'static str = "hunter2";"#, "hunter2", FileKind::Code),
            (r#"  "password": "hunter2","#, "hunter2", FileKind::Data),
            (r#"{\"password\":\"hunter2\",\"a\":1}"#, "hunter2", FileKind::Code),
            ("password: hunter2", "hunter2", FileKind::Config),
            ("DB_PASSWORD=hunter2", "hunter2", FileKind::Config),
            ("export DB_PASSWORD='hunter2'", "hunter2", FileKind::Shell),
            ("ENV DB_PASSWORD hunter2", "hunter2", FileKind::Config),
            ("tool --password hunter2 --verbose", "hunter2", FileKind::Shell),
            ("tool --password=hunter2 --verbose", "hunter2", FileKind::Shell),
            ("<password>hunter2</password>", "hunter2", FileKind::Markup),
            (r#"<add key="DbPassword" value="hunter2" />"#, "hunter2", FileKind::Markup),
            (r#"<property name="password">hunter2</property>"#, "hunter2", FileKind::Markup),
            (r#"<user password="hunter2"/>"#, "hunter2", FileKind::Markup),
            ("<key>password</key><string>hunter2</string>", "hunter2", FileKind::Markup),
            (r#"define('DB_PASSWORD', 'hunter2');"#, "hunter2", FileKind::Code),
            (r#"os.environ.get("DB_PASSWORD", "hunter2")"#, "hunter2", FileKind::Code),
            (r#"process.env.DB_PASSWORD || 'hunter2'"#, "hunter2", FileKind::Code),
            (r#"{"name": "DB_PASSWORD", "value": "hunter2"}"#, "hunter2", FileKind::Data),
            (r#"user.setPassword("hunter2");"#, "hunter2", FileKind::Code),
            (r#"password: Some("hunter2".into()),"#, "hunter2", FileKind::Code),
            (r#"config["password"] = "hunter2""#, "hunter2", FileKind::Code),
            (r#":password => 'hunter2',"#, "hunter2", FileKind::Code),
            ("Server=db;Uid=u;Password=hunter2;Port=1", "hunter2", FileKind::Unknown),
            ("https://x/y?password=hunter2&z=1", "hunter2", FileKind::Unknown),
            ("${DB_PASSWORD:-hunter2}", "hunter2", FileKind::Shell),
            ("password := `hunter2`", "hunter2", FileKind::Code),
            ("CREATE USER u WITH PASSWORD 'hunter2';", "hunter2", FileKind::Code),
        ];
        for (line, expected, kind) in cases {
            let at = line.to_ascii_lowercase().find("password").expect("the sample names a password");
            let found = read(line.as_bytes(), at, *kind, Facts::of(line.as_bytes()))
                .unwrap_or_else(|| panic!("no value in {line}"));
            assert_eq!(&line[found.value], *expected, "{line}");
        }
    }

    #[test]
    fn a_name_without_a_value_gives_none() {
        for line in [
            "if password:",
            "password == other",
            "fn password(&self) -> &str {",
            "password",
            "the password of the user is long",
        ] {
            let at = line.find("password").expect("the sample names a password");
            let found = read(line.as_bytes(), at, FileKind::Code, Facts::of(line.as_bytes()));
            assert!(found.is_none(), "{line}: {found:?}");
        }
    }
}
