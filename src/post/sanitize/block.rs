//! Blocks of Markdown whose reading depends on where they stand: fences, tables, quotes.

use super::own::Own;

/// An opening code fence, wherever it stands.
pub(super) struct Fence<'a> {
    mark: u8,
    length: usize,
    /// Markers of block quotes before it.
    quotes: usize,
    /// Columns before it, after the last such marker.
    indent: usize,
    pub(super) info: &'a str,
}

impl<'a> Fence<'a> {
    pub(super) fn opened_by(line: &'a str) -> Option<Self> {
        let bytes = line.as_bytes();
        let (mut at, mut quotes, mut indent) = (0, 0, 0);
        loop {
            match bytes.get(at)? {
                b' ' => (at, indent) = (at + 1, indent + 1),
                b'\t' => (at, indent) = (at + 1, indent + 4 - indent % 4),
                b'>' => (at, quotes, indent) = (at + 1, quotes + 1, 0),
                mark @ (b'`' | b'~') => {
                    let length = bytes[at..].iter().take_while(|byte| *byte == mark).count();
                    let info = line[at + length..].trim();
                    let opens = length >= 3 && (*mark == b'~' || !info.contains('`'));
                    return opens.then_some(Self { mark: *mark, length, quotes, indent, info });
                }
                _ => {
                    let marker = list_marker(&bytes[at..])?;
                    (at, indent) = (at + marker, indent + marker);
                }
            }
        }
    }

    /// The line without the quote markers and the indentation of the fence; none when the quote ended before it.
    pub(super) fn content<'l>(&self, line: &'l str) -> Option<&'l str> {
        let mut rest = line;
        for _ in 0..self.quotes {
            rest = rest.trim_start_matches([' ', '\t']).strip_prefix('>')?;
        }
        let spaces = rest.bytes().take_while(|byte| *byte == b' ').count().min(self.indent);
        match rest.as_bytes().first() {
            Some(b'\t') if self.indent > 0 => Some(&rest[1..]),
            _ => Some(&rest[spaces..]),
        }
    }

    /// Reads on from the line after the opening one. An own marker ends every fence: nothing can swallow it.
    pub(super) fn read<'l>(&self, lines: &[&'l str], from: usize, own: &Own) -> Fenced<'l> {
        let mut block = Fenced { content: Vec::new(), end: from, closed: false };
        while let Some(line) = lines.get(block.end).filter(|line| !own.is_marker(line)) {
            let Some(content) = self.content(line) else { break };
            block.end += 1;
            if self.closed_by(content) {
                block.closed = true;
                break;
            }
            block.content.push(content);
        }
        block
    }

    /// It stands at the left margin, in the form that diffsan writes.
    pub(super) fn is_plain(&self) -> bool {
        self.mark == b'`' && self.quotes == 0 && self.indent == 0
    }

    pub(super) fn closed_by(&self, content: &str) -> bool {
        let trimmed = content.trim();
        trimmed.len() >= self.length && trimmed.bytes().all(|byte| byte == self.mark)
    }
}

/// What a fence holds.
pub(super) struct Fenced<'l> {
    pub(super) content: Vec<&'l str>,
    /// The line after it.
    pub(super) end: usize,
    pub(super) closed: bool,
}

/// The end of a folded block.
pub(super) const FOLD_END: &str = "</details>";

/// Blank as Markdown means it: other white space is content.
pub(super) fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ' || byte == b'\t')
}

/// Whether the last line written is blank.
pub(super) fn ends_blank(text: &str) -> bool {
    text.strip_suffix('\n').is_some_and(|text| is_blank(text.rsplit('\n').next().unwrap_or(text)))
}

/// Length of a list marker and the blank behind it.
pub(super) fn list_marker(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mark = bytes.get(digits)?;
    let is_marker = if digits == 0 { b"-*+".contains(mark) } else { digits <= 9 && b".)".contains(mark) };
    (is_marker && matches!(bytes.get(digits + 1), Some(b' ' | b'\t'))).then_some(digits + 2)
}

/// Which lines may belong to a table: all those around a row of dashes and pipes.
pub(super) fn table_lines(lines: &[&str]) -> Vec<bool> {
    let mut tables = vec![false; lines.len()];
    let mut from = 0;
    for block in lines.split_inclusive(|line| is_blank(line)) {
        let to = from + block.len();
        if block.iter().any(|line| is_delimiter_row(line)) {
            tables[from..to].fill(true);
        }
        from = to;
    }
    tables
}

pub(super) fn is_delimiter_row(line: &str) -> bool {
    line.contains('-') && line.bytes().all(|byte| b"|:- \t>*+.)0123456789".contains(&byte))
}

/// Where a line opens GitLab's multi-line quote, which has no end of its own.
pub(super) fn quote_fence(line: &str) -> Option<usize> {
    let at = line.find(">>>")?;
    line.bytes().take(at).all(|byte| b" \t>*+-.)0123456789".contains(&byte)).then_some(at)
}

/// A line that only opens or closes a folded block, as it reads without folding: its title, or nothing.
pub(super) fn unfolded(line: &str) -> Option<String> {
    let tags = line.trim();
    if tags == FOLD_END {
        return Some(String::new());
    }
    let inside = ["<details>", "<details open>"].iter().find_map(|tag| tags.strip_prefix(tag)).map(str::trim);
    let summary = inside.unwrap_or(tags).strip_prefix("<summary>").and_then(|rest| rest.strip_suffix("</summary>"));
    match (inside, summary.map(str::trim)) {
        (_, Some(title)) if !title.is_empty() && !title.contains('<') => Some(format!("**{title}**")),
        (Some(""), None) => Some(String::new()),
        _ => None,
    }
}

/// Languages that a fence may name; GitLab hands some others to renderers, to servers, or to the "apply" button.
pub(super) const LANGUAGES: &str = "\
    asm awk bash bat c c++ cmake conf console cpp cs csharp css csv cuda cxx d dart diff docker dockerfile \
    elixir elm erb erlang fish fortran fsharp go golang gradle graphql groovy h haml haskell hcl hpp html \
    http ini java javascript js json json5 jsonc jsonl jsx julia kotlin kt latex less lisp log lua make \
    makefile markdown matlab md nginx nim nix objc ocaml pascal patch perl php plain plaintext powershell \
    prolog properties proto protobuf ps1 py python r rb regex rs rst ruby rust sass scala scheme scss sh \
    shell solidity sql svelte swift tcl terraform text tf toml ts tsx txt typescript vb verilog vhdl vim vue \
    wasm xml yaml yml zig zsh";
