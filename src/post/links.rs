//! Links that diffsan itself offers in a note: to its own notes, to the job and to the pipeline. No other stays live.

use crate::post::sanitize::Own;

/// Where own links may lead.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// Beginnings of addresses that the job or GitLab named.
    pub(crate) places: Vec<String>,
}

impl Links {
    /// What is diffsan's own in a body: these markers, and links that lead to one of the places.
    pub(crate) fn own(&self, body: &str, is_marker: impl Fn(&str) -> bool) -> Own {
        let links = body.lines().flat_map(|line| self.links(line));
        links.fold(Own::written_in(body, is_marker), |own, link| own.with_link(link.to_owned()))
    }

    fn links<'t>(&self, line: &'t str) -> Vec<&'t str> {
        let mut found = Vec::new();
        for (middle, _) in line.match_indices("](") {
            let Some(start) = line[..middle].rfind('[') else { continue };
            let Some(length) = line[middle + 2..].find(')') else { continue };
            let (label, url) = (&line[start + 1..middle], &line[middle + 2..middle + 2 + length]);
            if is_label(label) && self.leads(url) {
                found.push(&line[start..middle + 3 + length]);
            }
        }
        found
    }

    fn leads(&self, url: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/#%".contains(&byte);
        let below = |place: &String| {
            url.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['#', '/']))
        };
        url.bytes().all(fits) && self.places.iter().filter(|place| !place.is_empty()).any(below)
    }
}

/// Plain words, or a place as inline code.
fn is_label(label: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || " .,-:".contains(c);
    let code = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || " .,-:/_+@".contains(c));
    let inner = label.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    !label.is_empty() && (label.chars().all(plain) || inner.is_some_and(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::sanitize;

    #[test]
    fn only_links_to_known_places_stay_live() {
        let links = Links { places: vec!["https://gitlab.example/g/p/-/merge_requests/1".into()] };
        let table = [
            ("[`a.py:3`](https://gitlab.example/g/p/-/merge_requests/1#note_5)", true),
            ("[job](https://gitlab.example/g/p/-/merge_requests/12)", false),
            ("[x](https://evil.example/https://gitlab.example/g/p/-/merge_requests/1)", false),
            ("[![p](https://evil.example/p.png)](https://gitlab.example/g/p/-/merge_requests/1#note_5)", false),
            ("[x](https://gitlab.example/g/p/-/merge_requests/1#note_5 \"t\")", false),
        ];
        for (text, live) in table {
            let own = links.own(text, |_| false);
            assert_eq!(sanitize::body(text, &own).as_str() == text, live, "{text}");
        }
    }
}
