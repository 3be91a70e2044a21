//! Secrets whose name stands on another line: Kubernetes Secret manifests and name/value pairs.

use super::assign::Form;
use super::file_kind::FileKind;
use super::span::{Line, Name, Region, Span};
use super::{filter, names, values};

const SECRET_DATA: Name = Name::Rule("KUBERNETES_SECRET_DATA");
const PAIR_REACH: usize = 2;
/// How many lines below its name a value is looked for.
const BELOW_REACH: usize = 4;
const DOCUMENT_LIMIT: usize = 2000;

/// Removes the values of a Secret that stands on one line, as JSON or in YAML's flow style.
pub(super) fn secret_line(line: Line, text: &[u8], out: &mut Vec<Span>) {
    let is_kind = memchr::memmem::find_iter(text, b"kind").take(8).any(|at| {
        let compact: Vec<u8> =
            text[at..].iter().copied().filter(|b| !matches!(b, b' ' | b'"' | b'\'' | b'\\')).take(12).collect();
        compact.starts_with(b"kind:Secret") && !compact.get(11).is_some_and(u8::is_ascii_alphanumeric)
    });
    if !is_kind {
        return;
    }
    let mut read = 0;
    for at in memchr::memmem::find_iter(text, b"ata").map(|at| at + 3) {
        if at < read {
            continue;
        }
        let rest = &text[at..];
        let open = rest.iter().take(8).take_while(|b| matches!(b, b'"' | b'\'' | b'\\' | b':' | b' ')).count();
        if open > 0 && rest.get(open) == Some(&b'{') {
            read = values_in_braces(line, text, at + open + 1, out);
        }
    }
}

/// The quoted values of an object, up to its end, which it gives.
fn values_in_braces(line: Line, text: &[u8], from: usize, out: &mut Vec<Span>) -> usize {
    let end = memchr::memchr(b'}', &text[from..]).map_or(text.len(), |at| from + at);
    let mut at = from;
    while let Some(colon) = memchr::memchr(b':', &text[at..end]) {
        let value = at + colon + 1;
        let start = value + text[value..end].iter().take_while(|b| matches!(b, b' ' | b'"' | b'\'' | b'\\')).count();
        let length = text[start..end].iter().take_while(|b| !matches!(b, b'"' | b'\'' | b'\\' | b',')).count();
        let literal = &text[start..start + length];
        if length > 0 && !filter::is_reference(literal) && !filter::is_filler(literal) {
            out.push(Span { start: line.start + start, end: line.start + start + length, name: SECRET_DATA });
        }
        at = (start + length).max(value);
    }
    end
}

/// Whether the line opens the values of a Secret of which the hunk does not show the kind: `stringData:`, which nothing else has, or
/// `data:` above nothing but base64 of text.
pub(super) fn opens_secret(region: &Region<'_>, line: Line) -> bool {
    const ENOUGH: usize = 64;
    let text = region.text(line);
    let content = text.trim_ascii();
    if region.kind == FileKind::Code || !is_data_key(content) {
        return false;
    }
    let key = indent(text);
    let inside = |line: &Line| region.text(*line).trim_ascii().is_empty() || indent(region.text(*line)) > key;
    let below = std::iter::successors(region.next(line), |line| region.next(*line)).take(ENOUGH).take_while(inside);
    if kind_in_sight(region, line).is_some() {
        return false;
    }
    if content.starts_with(b"stringData") || content.starts_with(b"\"stringData") {
        return true;
    }
    let mut values = 0;
    for line in below {
        match value_of(region, line).map(|(start, end)| &region.bytes[start..end]) {
            Some(value) if is_encoded(value) => values += 1,
            Some(b"") => return false,
            _ if region.text(line).trim_ascii().is_empty() => {}
            _ => return false,
        }
    }
    values > 0
}

/// The kind of the document that the line is part of, where the hunk shows it.
fn kind_in_sight<'a>(region: &Region<'a>, line: Line) -> Option<&'a [u8]> {
    const REACH: usize = 200;
    let above = std::iter::successors(region.previous(line), |line| region.previous(*line));
    let below = std::iter::successors(region.next(line), |line| region.next(*line));
    let kind = |line: Line| region.text(line).trim_ascii().strip_prefix(b"kind:");
    let inside = |line: &Line| !is_border(region.text(*line));
    above.take(REACH).take_while(inside).find_map(kind).or_else(|| below.take(REACH).take_while(inside).find_map(kind))
}

/// Base64 that says something.
fn is_encoded(value: &[u8]) -> bool {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(value);
    value.len() >= 4
        && decoded
            .is_ok_and(|text| text.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) || value.len() >= 24)
}

/// The items of a list right below a name: `- value`.
pub(super) fn items_below(region: &Region<'_>, line: Line) -> Vec<(usize, usize, Form)> {
    const MOST: usize = 100;
    let below = std::iter::successors(region.next(line), |line| region.next(*line)).take(MOST);
    below
        .map_while(|line| {
            let text = region.text(line);
            let item = text.trim_ascii().strip_prefix(b"- ")?.trim_ascii();
            let inner = unquoted(item);
            let start = line.start + memchr::memmem::find(text, inner)?;
            let form = if inner.len() < item.len() { Form::Quoted } else { Form::Bare };
            Some((start, start + inner.len(), form))
        })
        .collect()
}

/// Whether the line is `kind: Secret` (YAML or JSON).
pub(super) fn is_secret_kind(text: &[u8]) -> bool {
    let compact: Vec<u8> = text
        .iter()
        .copied()
        .filter(|b| !matches!(b, b' ' | b'"' | b'\'' | b',' | b'\t' | b'-' | b'{'))
        .take(24)
        .collect();
    compact == b"kind:Secret" || compact.starts_with(b"kind:Secret#") || compact.starts_with(b"kind:Secretmetadata")
}

/// Removes the values below `data:` and `stringData:` of the document that `line` is part of, wherever `kind:` stands in it. Gives
/// the end of what it has read.
pub(super) fn secret_document(region: &Region<'_>, line: Line, out: &mut Vec<Span>) -> usize {
    let mut first = line;
    for _ in 0..DOCUMENT_LIMIT {
        match region.previous(first) {
            Some(before) if !is_border(region.text(before)) => first = before,
            _ => break,
        }
    }
    let mut block: Option<usize> = None;
    let mut scalar: Option<usize> = None;
    let mut current = Some(first);
    let mut read = line.end;
    for _ in 0..2 * DOCUMENT_LIMIT {
        let Some(line) = current else { break };
        let text = region.text(line);
        if is_border(text) {
            break;
        }
        read = read.max(line.end);
        current = region.next(line);
        let depth = indent(text);
        let content = text.trim_ascii();
        if content.is_empty() {
            continue;
        }
        if scalar.is_some_and(|key| depth > key) {
            push(region, line.start + depth, line.end, out);
            continue;
        }
        scalar = None;
        if is_data_key(content) {
            block = Some(depth);
            continue;
        }
        if block.is_some_and(|key| depth <= key) {
            block = None;
        }
        if block.is_none() {
            continue;
        }
        if let Some(value) = value_of(region, line)
            && !push_value(region, value, out)
        {
            scalar = Some(depth);
        }
    }
    read
}

/// For a line such as `name: DB_PASSWORD`, the `value:` within two lines of it.
pub(super) fn paired_value(
    region: &Region<'_>,
    line: Line,
    vendor: impl Fn(&[u8]) -> Option<&'static str>,
    out: &mut Vec<Span>,
) {
    let text = region.text(line);
    let first = text.iter().find(|b| b.is_ascii_alphabetic()).map(u8::to_ascii_lowercase);
    if !matches!(first, Some(b'n' | b'k' | b'i' | b'v' | b'e' | b'f' | b'p')) {
        return;
    }
    let Some((key, value)) = split(text) else {
        return;
    };
    if !matches!(
        key.to_ascii_lowercase().as_slice(),
        b"name" | b"key" | b"id" | b"variable" | b"env" | b"field" | b"parameter_name" | b"parameterkey"
    ) {
        return;
    }
    let name = unquoted(value);
    let promise = names::promise(name);
    let mut check = |other: Line| {
        let text = region.text(other);
        let Some((key, value)) = split(text) else {
            return false;
        };
        if !is_value_key(key) {
            return false;
        }
        let literal = unquoted(value);
        let form = if literal.len() < value.len() {
            Form::Quoted
        } else if region.kind == FileKind::Code {
            Form::Doubtful
        } else {
            Form::Bare
        };
        let kept = promise
            .filter(|promise| values::keeps(*promise, form, name, literal))
            .map(|promise| Name::Generic(promise.rule()));
        if let Some(rule) = vendor(literal).map(Name::Rule).or(kept) {
            let start = other.start + offset(text, literal);
            out.push(Span { start, end: start + literal.len(), name: rule });
        }
        true
    };
    let mut ahead = line;
    for _ in 0..PAIR_REACH {
        match region.next(ahead) {
            Some(next) => {
                if check(next) {
                    return;
                }
                ahead = next;
            }
            None => break,
        }
    }
    let mut behind = line;
    for _ in 0..PAIR_REACH {
        match region.previous(behind) {
            Some(before) => {
                if check(before) {
                    return;
                }
                behind = before;
            }
            None => break,
        }
    }
}

/// Whether a name with this behind it on its line gets its value on a line below: `name = (`, `name: |`, `<name>`, `variable "name" {`.
/// A name in quotes that a comma follows is one of a list, unless a call has begun before it.
pub(super) fn goes_on_below(rest: &[u8], in_call: bool) -> bool {
    let rest = rest.trim_ascii();
    if !in_call && matches!(rest, [b'"' | b'\'', b',', ..]) {
        return false;
    }
    !rest.is_empty()
        && (rest == b"</key>"
            || rest == b"As String = _"
            || is_typed(rest)
            || rest.ends_with(b">") && memchr::memmem::find(rest, b"serializeAs=").is_some()
            || rest.len() <= 8
                && rest.iter().all(|b| b"=:|>-(\\[{+,\"'<_ *)]".contains(b))
                && rest.iter().any(|b| b"=:|>({<,".contains(b)))
}

/// `: &str =`, `: string =`, `= []byte(`, `= String::from(`: a type, or what makes one, and nothing after it.
fn is_typed(rest: &[u8]) -> bool {
    const LONGEST: usize = 32;
    let inside = |b: &u8| b.is_ascii_alphanumeric() || b" &'<>[]_.:|?=(".contains(b);
    rest.len() <= LONGEST
        && rest.iter().all(inside)
        && match (rest.first(), rest.last()) {
            (Some(b':'), Some(b'=')) => rest.iter().filter(|b| **b == b'=').count() == 1,
            (Some(b'='), Some(b'(')) => {
                [&b"[]byte("[..], b"from(", b"new(", b"to_string("].iter().any(|call| rest.ends_with(call))
            }
            _ => false,
        }
}

/// The value on one of the lines below, as a place in the region and the form it has.
pub(super) fn value_below(region: &Region<'_>, line: Line) -> Option<(usize, usize, Form)> {
    let mut current = line;
    for _ in 0..BELOW_REACH {
        current = region.next(current)?;
        let text = region.text(current);
        let content = text.trim_ascii();
        if content.is_empty() {
            continue;
        }
        let place = |inner: &[u8], form: Form| {
            let start = current.start + memchr::memmem::find(text, inner)?;
            (!inner.is_empty()).then_some((start, start + inner.len(), form))
        };
        for (open, close) in
            [(&b"<string>"[..], &b"</string>"[..]), (b"<Value>", b"</Value>"), (b"<value>", b"</value>")]
        {
            if let Some(inner) = content.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
                return place(inner, Form::Element);
            }
        }
        if let Some((key, value)) = split(text)
            && key.iter().all(|b| b.is_ascii_alphabetic() || *b == b'_')
        {
            if is_value_key(key) {
                let inner = unquoted(value);
                return place(inner, if inner.len() < value.len() { Form::Quoted } else { Form::Bare });
            }
            if is_attribute(key) {
                continue;
            }
        }
        let bare = content.trim_ascii_end();
        let stripped = trim_end(bare, b";,)+\\. ");
        if let Some(inner) = literal(stripped) {
            return place(inner, Form::Quoted);
        }
        let token = !content.iter().any(|b| matches!(b, b' ' | b'\t' | b'<' | b'(' | b'{' | b'"'))
            && region.kind != FileKind::Code;
        return token.then(|| place(content, Form::Element)).flatten();
    }
    None
}

fn is_attribute(key: &[u8]) -> bool {
    matches!(
        key,
        b"type"
            | b"description"
            | b"sensitive"
            | b"nullable"
            | b"validation"
            | b"ephemeral"
            | b"label"
            | b"title"
            | b"name"
    )
}

fn is_value_key(key: &[u8]) -> bool {
    matches!(
        key.to_ascii_lowercase().as_slice(),
        b"value"
            | b"default"
            | b"defaultvalue"
            | b"parameter_value"
            | b"parametervalue"
            | b"content"
            | b"initial_value"
            | b"example"
    )
}

/// A string literal that is all there is.
fn literal(text: &[u8]) -> Option<&[u8]> {
    let text = match text {
        [b'b' | b'r' | b'f' | b'u' | b'@', rest @ ..] if matches!(rest.first(), Some(b'"' | b'\'')) => rest,
        _ => text,
    };
    match text {
        [open @ (b'"' | b'\'' | b'`'), inner @ .., close] if open == close && !inner.contains(open) => Some(inner),
        _ => None,
    }
}

fn trim_end<'t>(mut text: &'t [u8], characters: &[u8]) -> &'t [u8] {
    while let Some((last, head)) = text.split_last()
        && characters.contains(last)
    {
        text = head;
    }
    text
}

fn is_border(text: &[u8]) -> bool {
    text.starts_with(b"---") || text.starts_with(b"...")
}

fn is_data_key(content: &[u8]) -> bool {
    if content.len() > 24 {
        return false;
    }
    let key: Vec<u8> = content.iter().copied().filter(|b| !matches!(b, b'"' | b'\'' | b' ' | b'{')).collect();
    matches!(key.as_slice(), b"data:" | b"stringData:")
}

fn indent(text: &[u8]) -> usize {
    text.iter().take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// `key: value`, `"key": "value",`, `key = value`, `- key: value`, with the quotes of the key gone.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"- ").unwrap_or(text).trim_ascii_start();
    let text = text.strip_prefix(b"{").unwrap_or(text).trim_ascii_start();
    let at = text.iter().take(40).position(|b| matches!(b, b':' | b'='))?;
    let key = unquoted(text[..at].trim_ascii());
    let value = text[at + 1..].trim_ascii();
    let value = value.strip_suffix(b",").unwrap_or(value).trim_ascii_end();
    (!value.is_empty() && !key.is_empty()).then_some((key, value))
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] | [b'\'', inner @ .., b'\''] => inner,
        _ => value,
    }
}

fn offset(outer: &[u8], inner: &[u8]) -> usize {
    memchr::memmem::rfind(outer, inner).unwrap_or(0)
}

fn value_of(region: &Region<'_>, line: Line) -> Option<(usize, usize)> {
    let text = region.text(line);
    let colon = text.iter().take(200).position(|&b| b == b':')?;
    let raw = text[colon + 1..].trim_ascii();
    let raw = raw.strip_suffix(b",").unwrap_or(raw);
    let start = text.len() - text[colon + 1..].trim_ascii_start().len();
    let inner = unquoted(raw);
    let shift = usize::from(inner.len() < raw.len());
    Some((line.start + start + shift, line.start + start + shift + inner.len()))
}

/// False when the value goes on below (`key: |`).
fn push_value(region: &Region<'_>, (start, end): (usize, usize), out: &mut Vec<Span>) -> bool {
    let value = &region.bytes[start..end];
    if value.is_empty() || matches!(value.first(), Some(b'|' | b'>')) && value.len() <= 3 {
        return false;
    }
    if !filter::is_reference(value)
        && !matches!(value, b"{}" | b"null" | b"true" | b"false" | b"~")
        && !filter::is_filler(value)
    {
        push(region, start, end, out);
    }
    true
}

fn push(region: &Region<'_>, start: usize, end: usize, out: &mut Vec<Span>) {
    if start < end && end <= region.bytes.len() {
        out.push(Span { start, end, name: SECRET_DATA });
    }
}
