//! The grammar of "a name is given a value" in code, configuration, markup and on command lines, read by hand.

use std::ops::Range;

use super::file_kind::FileKind;

/// A name with the value it is given on the same line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    pub(super) form: Form,
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
}

const NAME_LIMIT: usize = 96;
const VALUE_LIMIT: usize = 4096;
/// Bare values end at a space; nothing longer than this is one.
const BARE_LIMIT: usize = 1024;
const GAP_LIMIT: usize = 48;

/// Reads the assignment whose name covers `at`, if there is one. `line` is without its diff prefix.
pub(super) fn read(line: &[u8], at: usize, kind: FileKind) -> Option<Assignment> {
    let name = name_around(line, at);
    let reader = Reader { line, kind, name: name.clone() };
    let (value, form) = reader.value()?;
    (!value.is_empty()).then_some(Assignment { name, value, form })
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
        if line[end] == b'-' && line.get(end + 1) == Some(&b'>') {
            break;
        }
        end += 1;
    }
    while end > at && matches!(line[end - 1], b'.' | b'-') {
        end -= 1;
    }
    start..end
}

struct Reader<'a> {
    line: &'a [u8],
    kind: FileKind,
    name: Range<usize>,
}

type Value = Option<(Range<usize>, Form)>;

impl Reader<'_> {
    fn at(&self, at: usize) -> u8 {
        self.line.get(at).copied().unwrap_or(0)
    }

    fn skip_spaces(&self, mut at: usize) -> usize {
        let ceiling = self.line.len().min(at + GAP_LIMIT);
        while at < ceiling && matches!(self.line[at], b' ' | b'\t') {
            at += 1;
        }
        at
    }

    /// The quote at `at`, escaped or not: (quote, bytes it takes).
    fn quote(&self, at: usize) -> Option<(u8, usize)> {
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
        if let Some(value) = self.chained(at, name_quoted) {
            return self.quoted(value);
        }
        let tight = at;
        at = self.skip_spaces(at);
        let gap = at > tight;
        match self.at(at) {
            b'=' => self.after_equals(at),
            b':' => self.after_colon(at),
            b'?' | b'|' | b'+' if self.at(at + 1) == b'=' => self.literal(self.skip_spaces(at + 2)),
            b'|' if self.line[at..].starts_with(b"||=") => self.literal(self.skip_spaces(at + 3)),
            b'?' | b'|' if self.at(at + 1) == self.at(at) => self.quoted(self.skip_spaces(at + 2)),
            b'?' if self.at(at + 1) == b':' => self.after_colon(at + 1),
            b'!' if self.at(at + 1) == b'=' => self.quoted(self.skip_spaces(at + if self.at(at + 2) == b'=' { 3 } else { 2 })),
            b',' if name_quoted || closed > 0 => self.after_comma(at),
            b'(' if !gap && !name_quoted => self.quoted(self.skip_spaces(at + 1)),
            b'>' if !gap => self.after_tag(at, name_quoted),
            b'<' if self.line[at..].starts_with(b"</key>") => self.plist(at),
            b'<' if self.at(at + 1) == b'-' => self.literal(self.skip_spaces(at + 2)),
            b'|' if self.line.trim_ascii_start().starts_with(b"|") => self.cell(at + 1),
            _ if gap => self.after_space(at, name_quoted),
            _ => None,
        }
    }

    /// `find("#password").type("…")`: where the argument of the call that follows starts.
    fn chained(&self, at: usize, name_quoted: bool) -> Option<usize> {
        const CALLS: [&[u8]; 9] = [b"type", b"send_keys", b"sendkeys", b"fill", b"setvalue", b"set_value", b"val", b"set", b"clearandtype"];
        if !name_quoted || self.at(at) != b'.' {
            return None;
        }
        let word = self.line[at + 1..].iter().take(16).take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let call = self.line[at + 1..at + 1 + word].to_ascii_lowercase();
        (self.at(at + 1 + word) == b'(' && CALLS.contains(&call.as_slice())).then(|| self.skip_spaces(at + word + 2))
    }

    /// The next cell of a table.
    fn cell(&self, at: usize) -> Value {
        let start = self.skip_spaces(at);
        let window = &self.line[start..self.line.len().min(start + VALUE_LIMIT)];
        let cell = window[..memchr::memchr(b'|', window)?].trim_ascii_end();
        let inner = cell.strip_prefix(b"`").and_then(|rest| rest.strip_suffix(b"`")).unwrap_or(cell);
        let shift = usize::from(inner.len() < cell.len());
        Some((start + shift..start + shift + inner.len(), Form::Element))
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
            b':' => return if matches!(self.at(next + 1), b'=' | b' ') { self.literal(self.skip_spaces(next + 2)) } else { None },
            _ => {}
        }
        if self.in_braces() && self.line[..self.name.start].ends_with(b"${") {
            return self.braced(next);
        }
        next = self.skip_spaces(next);
        if let Some(after_type) = self.skip_annotation(next) {
            return self.literal(after_type);
        }
        self.literal(next)
    }

    fn in_braces(&self) -> bool {
        self.name.start > 0 && self.at(self.name.start - 1) == b'{'
    }

    /// The default inside `${NAME:-default}`.
    fn braced(&self, at: usize) -> Value {
        let window = &self.line[at..self.line.len().min(at + VALUE_LIMIT)];
        let end = window.iter().position(|&b| matches!(b, b'}' | b'"'))?;
        Some((at..at + end, Form::Bare))
    }

    /// `password: Optional[str] = "…"`: where the value starts, when a type and `=` stand before it.
    fn skip_annotation(&self, at: usize) -> Option<usize> {
        const TYPE_LIMIT: usize = 48;
        let first = self.at(at);
        if !(first.is_ascii_alphabetic() || matches!(first, b'&' | b'_' | b'*' | b'[')) {
            return None;
        }
        let window = &self.line[at..self.line.len().min(at + TYPE_LIMIT)];
        let equals = window.iter().position(|&b| !(b.is_ascii_alphanumeric() || b" _<>[].|&':?*,".contains(&b)))?;
        if window[equals] != b'=' || window.get(equals + 1) == Some(&b'=') || window.first() == Some(&b'\'') {
            return None;
        }
        let next = self.skip_spaces(at + equals + 1);
        self.literal_quote(next).map(|_| next)
    }

    /// `define("NAME", "value")`, `getenv("NAME", "default")`, `{"name": "NAME", "value": "…"}`.
    fn after_comma(&self, at: usize) -> Value {
        let next = self.skip_spaces(at + 1);
        if let Some(value) = self.paired(next) {
            return self.literal(value);
        }
        self.quoted(next)
    }

    /// Steps over `value=`, `"value": ` and the like.
    fn paired(&self, at: usize) -> Option<usize> {
        let mut next = at;
        if let Some((_, taken)) = self.quote(next) {
            next += taken;
        }
        const WORDS: [&[u8]; 4] = [b"value", b"content", b"default", b"data-value"];
        let word = WORDS.iter().find(|word| self.line.get(next..next + word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word)))?;
        next += word.len();
        if let Some((_, taken)) = self.quote(next) {
            next += taken;
        }
        next = self.skip_spaces(next);
        matches!(self.at(next), b'=' | b':').then(|| self.skip_spaces(next + 1))
    }

    /// `<password>value</password>`, `<property name="password">value</property>`.
    fn after_tag(&self, at: usize, name_quoted: bool) -> Value {
        let before = self.at(self.name.start.wrapping_sub(1));
        if !name_quoted && !matches!(before, b'<' | b':') {
            return None;
        }
        if before == b':' && !self.line[..self.name.start].contains(&b'<') {
            return None;
        }
        let mut next = at + 1;
        for wrapper in [&b"<![CDATA["[..], b"<value>", b"<string>"] {
            if self.line[next..].starts_with(wrapper) {
                next += wrapper.len();
            }
        }
        self.element(next)
    }

    fn plist(&self, at: usize) -> Value {
        let next = self.skip_spaces(at + b"</key>".len());
        self.line[next..].starts_with(b"<string>").then(|| self.element(next + b"<string>".len()))?
    }

    fn element(&self, at: usize) -> Value {
        let window = &self.line[at..self.line.len().min(at + VALUE_LIMIT)];
        let end = window.iter().position(|&b| matches!(b, b'<' | b']')).unwrap_or(window.len());
        let value = trim(window, 0..end);
        Some((at + value.start..at + value.end, Form::Element))
    }

    /// `--password value`, `ENV PASSWORD value`, `PASSWORD 'value'`, `name="password" value="…"`.
    fn after_space(&self, at: usize, name_quoted: bool) -> Value {
        if let Some(value) = self.paired(at) {
            return self.literal(value);
        }
        for word in [&b"or "[..], b"|| ", b"BY ", b"by ", b"to "] {
            if self.line[at..].starts_with(word) {
                return self.quoted(self.skip_spaces(at + word.len()));
            }
        }
        for word in [&b"is "[..], b"is: ", b"was "] {
            if self.line[at..].starts_with(word) {
                let at = self.skip_spaces(at + word.len());
                return if self.quote(at).is_some() { self.quoted(at) } else { self.bare(at, Form::Doubtful) };
            }
        }
        if let Some(value) = self.skip_type(at) {
            return self.quoted(value);
        }
        if name_quoted {
            return None;
        }
        if self.line[self.name.start..].starts_with(b"-") {
            return self.argument(at);
        }
        if self.quote(at).is_some() {
            return self.quoted(at);
        }
        let lead = self.line[..self.name.start].trim_ascii();
        if lead.eq_ignore_ascii_case(b"env") || lead.eq_ignore_ascii_case(b"arg") || lead == b"setenv" {
            return self.bare(at, Form::Bare);
        }
        if lead.is_empty() && self.kind.has_directives() {
            let (value, form) = self.bare(at, Form::Bare)?;
            let rest = self.line[value.end..].trim_ascii();
            return (rest.is_empty() || rest.starts_with(b"#")).then_some((value, form));
        }
        None
    }

    /// `secret VARCHAR2(200) := '…'`, `Token As String = "…"`: where the literal starts.
    fn skip_type(&self, at: usize) -> Option<usize> {
        const TYPE_LIMIT: usize = 40;
        let window = &self.line[at..self.line.len().min(at + TYPE_LIMIT)];
        let equals = window.iter().position(|&b| !(b.is_ascii_alphanumeric() || b" _<>[]().,*&".contains(&b)))?;
        let operator = match &window[equals..] {
            [b':', b'=', ..] => 2,
            // Not the attribute of a tag: `<Pass encoding="base64">`.
            [b'=', next, ..] if *next != b'=' && matches!(window[..equals].last(), Some(b' ' | b')')) => 1,
            _ => return None,
        };
        let next = self.skip_spaces(at + equals + operator);
        self.literal_quote(next)
    }

    /// The word after a command-line flag.
    fn argument(&self, at: usize) -> Value {
        if self.at(at) == b'-' {
            return None;
        }
        if self.quote(at).is_some() { self.quoted(at) } else { self.bare(at, Form::Bare) }
    }

    /// A literal of any form.
    fn literal(&self, at: usize) -> Value {
        if self.at(at) == b'$' && self.at(at + 1) == b'\'' {
            return self.quoted(at + 1);
        }
        if let Some(start) = self.literal_quote(at) {
            return self.quoted(start);
        }
        if let Some(start) = self.wrapped(at) {
            return self.quoted(start);
        }
        let flag = self.line[self.name.start..].starts_with(b"-");
        let (value, form) = self.bare(at, Form::Doubtful)?;
        let query = matches!(self.line[..self.name.start], [.., b'?' | b'&'] | [.., b'a', b'm', b'p', b';']) && self.at(self.name.end) == b'=';
        let bare = flag || query || self.kind.has_bare_literals() || self.is_setting(&value);
        Some((value, if bare { Form::Bare } else { form }))
    }

    /// In text of unknown kind: `NAME=value` or `name: value` with a line to itself.
    fn is_setting(&self, value: &Range<usize>) -> bool {
        if self.kind != FileKind::Unknown {
            return false;
        }
        let lead = self.line[..self.name.start].trim_ascii();
        let lead = lead.strip_prefix(b"- ").unwrap_or(lead).trim_ascii_end();
        let rest = self.line[value.end..].trim_ascii();
        let leads = lead.is_empty() || matches!(lead, b"export" | b"set" | b"ENV" | b"ARG" | b"-" | b"setx" | b"$" | b"+" | b"-e" | b"*" | b"**" | b"- **" | b">" | b"#" | b"//" | b"local" | b"readonly" | b"declare");
        let tight = self.at(value.start - 1) == b'=';
        leads && (rest.is_empty() || rest.starts_with(b"#") || tight && lead.is_empty())
    }

    /// Where the quote of a literal starts, past a string prefix such as `b`, `r`, `@` or `L`.
    fn literal_quote(&self, at: usize) -> Option<usize> {
        if self.quote(at).is_some() {
            return Some(at);
        }
        let prefixed = |length: usize| {
            self.line.get(at..at + length).is_some_and(|p| p.iter().all(|b| b"bBrRuUfFLN@$&".contains(b)))
                && matches!(self.at(at + length), b'"' | b'\'')
        };
        (1..=2).find(|&length| prefixed(length)).map(|length| at + length)
    }

    /// `Some("…")`, `String::from("…")`, `new SecretKey("…")`: a wrapper that does not fetch.
    fn wrapped(&self, at: usize) -> Option<usize> {
        const CALL_LIMIT: usize = 48;
        let window = &self.line[at..self.line.len().min(at + CALL_LIMIT)];
        let open = window.iter().position(|&b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b' ' | b'&' | b'!')))?;
        if window[open] != b'(' && !(window[open] == b'[' && open == 0) {
            return None;
        }
        let callee = window[..open].to_ascii_lowercase();
        const FETCHES: [&[u8]; 24] = [
            b"env", b"get", b"read", b"find", b"load", b"fetch", b"require", b"decrypt", b"config", b"lookup", b"import", b"input", b"prompt",
            b"arg", b"option", b"format", b"open", b"resolve", b"translate", b"i18n", b"gettext", b"column", b"field", b"select",
        ];
        if FETCHES.iter().any(|word| memchr::memmem::find(&callee, word).is_some()) || matches!(callee.as_slice(), b"t" | b"_" | b"$t" | b"__") {
            return None;
        }
        let next = self.skip_spaces(at + open + 1);
        self.literal_quote(next)
    }

    /// A quoted literal at `at`, up to its closing quote or the end of the line.
    fn quoted(&self, at: usize) -> Value {
        let start = self.literal_quote(at)?;
        let (quote, taken) = self.quote(start)?;
        let mut from = start + taken;
        if taken == 1 && self.at(from) == quote && self.at(from + 1) == quote {
            from += 2;
        }
        let window = &self.line[from..self.line.len().min(from + VALUE_LIMIT)];
        let end = match (quote, taken) {
            (b'&', _) => memchr::memmem::find(window, b"&quot;").unwrap_or(window.len()),
            (b'%', _) => memchr::memmem::find(window, b"%22").unwrap_or(window.len()),
            (_, 1) => closing(window, quote),
            (_, _) => escaped_closing(window, quote, taken),
        };
        Some((from..from + end, Form::Quoted))
    }

    /// A bare word.
    fn bare(&self, at: usize, form: Form) -> Value {
        let window = &self.line[at..self.line.len().min(at + BARE_LIMIT)];
        let comment = window.starts_with(b"#") && (matches!(window.get(1), Some(b' ' | b'#' | b'!') | None) || self.at(at.wrapping_sub(1)) == b' ');
        if comment || window.starts_with(b"//") || window.starts_with(b"/*") {
            return None;
        }
        let flow = !self.kind.is_line_oriented() || self.line[..self.name.start].iter().any(|b| matches!(b, b'{' | b'(' | b'?' | b'[' | b';'));
        let mut end = (0..window.len()).find(|&at| ends_bare(window, at, flow)).unwrap_or(window.len());
        while end > 0 && matches!(window[end - 1], b',' | b';') {
            end -= 1;
        }
        if matches!(window.get(end), Some(b'(' | b'[')) {
            return None;
        }
        Some((at..at + end, form))
    }
}

/// Whether a bare value ends before `window[at]`. In a line that may go on (`flow`), brackets and commas end it, too.
fn ends_bare(window: &[u8], at: usize, flow: bool) -> bool {
    let rest = &window[at + 1..];
    let pair_follows = || {
        let name = rest.iter().take(40).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' ')).count();
        name > 0 && rest.get(name) == Some(&b'=')
    };
    match window[at] {
        b' ' | b'\t' | b'"' | b'\'' | b'`' => true,
        b'&' => pair_follows() || rest.starts_with(b"amp;") || rest.starts_with(b"&"),
        b';' => flow || pair_follows(),
        b',' => flow && (rest.is_empty() || matches!(rest[0], b' ' | b'"' | b'\'') || pair_follows()),
        b')' => flow && !window[..at].contains(&b'('),
        b']' => flow && !window[..at].contains(&b'['),
        b'}' => flow && !window[..at].contains(&b'{'),
        b'<' | b'>' | b'|' | b'\\' => flow,
        _ => false,
    }
}

/// The first unescaped `quote`; the end of the window when there is none.
fn closing(window: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < window.len() {
        match memchr::memchr2(quote, b'\\', &window[at..]) {
            None => return window.len(),
            Some(step) if window[at + step] == quote => return at + step,
            Some(step) => at += step + 2,
        }
    }
    window.len()
}

/// The first quote that is escaped as the opening one was.
fn escaped_closing(window: &[u8], quote: u8, taken: usize) -> usize {
    let mut at = 0;
    while let Some(step) = memchr::memchr(quote, &window[at..]) {
        let found = at + step;
        let slashes = window[..found].iter().rev().take_while(|&&b| b == b'\\').count();
        if slashes < taken {
            return found - slashes;
        }
        at = found + 1;
    }
    window.len()
}

fn trim(text: &[u8], range: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (range.start, range.end);
    while start < end && text[start].is_ascii_whitespace() {
        start += 1;
    }
    while end > start && text[end - 1].is_ascii_whitespace() {
        end -= 1;
    }
    start..end
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
            let found = read(line.as_bytes(), at, *kind).unwrap_or_else(|| panic!("no value in {line}"));
            assert_eq!(&line[found.value], *expected, "{line}");
        }
    }

    #[test]
    fn a_name_without_a_value_gives_none() {
        for line in ["if password:", "password == other", "fn password(&self) -> &str {", "password", "the password of the user is long"] {
            let at = line.find("password").expect("the sample names a password");
            let found = read(line.as_bytes(), at, FileKind::Code);
            assert!(found.is_none(), "{line}: {found:?}");
        }
    }
}
