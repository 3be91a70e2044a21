//! Where a file stands in GitLab at the reviewed commit.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::contracts::{Finding, Side};

/// What stays as it is in the path of an address.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The addresses of one commit's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Links {
    project: String,
    head: String,
    base: Option<String>,
}

impl Links {
    /// Links into this project; none where its address or the commit is not one.
    pub(super) fn new(project: &str, head: &str, base: Option<&str>) -> Option<Self> {
        let is_commit = |id: &&str| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (head, base) = (Some(head).filter(is_commit)?.to_owned(), base.filter(is_commit).map(str::to_owned));
        is_address(project).then(|| Self { project: project.trim_end_matches('/').to_owned(), head, base })
    }

    /// A file of the reviewed commit, at a line.
    pub(super) fn file(&self, path: &str, line: Option<u32>) -> Option<String> {
        Some(self.at(&self.head, path, line.map(|line| (line, line))))
    }

    /// The lines a finding stands on; those that were removed stand in the base.
    pub(super) fn finding(&self, finding: &Finding) -> Option<String> {
        let commit = match finding.side {
            Side::New => &self.head,
            Side::Old => self.base.as_ref()?,
        };
        Some(self.at(commit, &finding.path, Some((finding.line_start, finding.line_end))))
    }

    fn at(&self, commit: &str, path: &str, lines: Option<(u32, u32)>) -> String {
        let lines = match lines {
            Some((from, to)) if from == to => format!("#L{from}"),
            Some((from, to)) => format!("#L{from}-{to}"),
            None => String::new(),
        };
        format!("{}/-/blob/{commit}/{}{lines}", self.project, utf8_percent_encode(path, PATH))
    }
}

/// The address of a file on this machine; terminals hand the number after the hash to an editor as the line.
pub(super) fn file_address(path: &str, line: Option<u32>) -> String {
    let line = line.map(|line| format!("#{line}")).unwrap_or_default();
    format!("file://{}{line}", utf8_percent_encode(path, PATH))
}

/// Whether a text is the address of a web page and nothing else.
pub(super) fn is_address(text: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_graphic() && !b"\"'<>`\\{}|^".contains(&letter);
    (text.starts_with("https://") || text.starts_with("http://")) && text.len() < 2_000 && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_linked_at_its_commit_and_line() {
        let head = "a".repeat(40);
        let links = Links::new("https://gitlab.example/group/app/", &head, None).unwrap();
        let expected = format!("https://gitlab.example/group/app/-/blob/{head}/src/a%20b%23.py#L7");
        assert_eq!(links.file("src/a b#.py", Some(7)), Some(expected));
        for (project, head) in [
            ("javascript:alert(1)", head.as_str()),
            ("https://x.example/\" onclick=\"x", &head),
            ("https://x.example", "main"),
            ("", &head),
        ] {
            assert_eq!(Links::new(project, head, None), None, "{project} {head}");
        }
    }
}
