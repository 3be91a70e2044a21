//! The project's repository as GitLab's API shows it: branches, listings and blobs.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::answers::{Answer, Call};
use super::store::Store;

/// Answers what is below `projects/:id` and `projects/:id/repository`; none where GitLab knows no such address.
pub(crate) fn answer(store: &Store, call: &Call<'_>, rest: &[&str]) -> Option<Answer> {
    let query = |name: &str| {
        let found = call.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let not_found = || Answer::json(404, json!({ "message": "404 Not Found" }));
    match (call.method, rest) {
        ("GET", []) => Some(Answer::json(200, json!({ "id": super::PROJECT, "default_branch": "main" }))),
        ("GET", ["repository", "branches", name]) => {
            let Some(tip) =
                git(&store.repo, &["rev-parse", "--verify", "-q", &format!("refs/heads/{name}^{{commit}}")])
            else {
                return Some(Answer::json(404, json!({ "message": "404 Branch Not Found" })));
            };
            let tip = String::from_utf8_lossy(&tip).trim().to_owned();
            let protected = store.protected.iter().any(|known| known == name);
            Some(Answer::json(
                200,
                json!({ "name": name, "protected": protected, "default": *name == "main", "commit": { "id": tip } }),
            ))
        }
        ("GET", ["repository", "tree"]) => {
            let (commit, path) = (query("ref"), query("path"));
            let tree = if path.is_empty() { format!("{commit}^{{tree}}") } else { format!("{commit}:{path}") };
            let Some(listed) = git(&store.repo, &["ls-tree", "-z", &tree]) else { return Some(not_found()) };
            let text = String::from_utf8_lossy(&listed).into_owned();
            let rows: Vec<_> = text
                .split('\0')
                .filter_map(|row| {
                    let (facts, name) = row.split_once('\t')?;
                    let facts: Vec<&str> = facts.split(' ').collect();
                    let full = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
                    Some(json!({ "id": facts[2], "name": name, "type": facts[1], "path": full, "mode": facts[0] }))
                })
                .collect();
            let (page, size) = (query("page").parse().unwrap_or(1usize), query("per_page").parse().unwrap_or(20usize));
            let shown: Vec<_> = rows.iter().skip((page - 1) * size).take(size).cloned().collect();
            let next = if page * size < rows.len() { (page + 1).to_string() } else { String::new() };
            let mut answer = Answer::json(200, json!(shown));
            answer.headers.push(("x-next-page", next));
            Some(answer)
        }
        ("GET", ["repository", "blobs", id, "raw"]) => {
            let Some(body) = git(&store.repo, &["cat-file", "blob", id]) else { return Some(not_found()) };
            Some(Answer { status: 200, content_type: "text/plain", body, headers: Vec::new() })
        }
        _ => None,
    }
}

fn git(repo: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git").arg("-C").arg(repo).args(args).output().unwrap();
    output.status.success().then_some(output.stdout)
}
