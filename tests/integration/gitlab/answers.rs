//! What GitLab answers to each request, in its own words.

use serde_json::{Map, Value, json};

use super::markdown::Effects;
use super::positions;
use super::repository;
use super::store::{Note, Refs, Store, user};
use super::{BOT, MR, PROJECT};

/// An answer before it becomes HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// A request, taken apart.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: &'a str,
    /// Decoded path segments below the API's root.
    pub(crate) segments: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) content_type: &'a str,
    pub(crate) raw_body: &'a [u8],
    pub(crate) authorization: Option<&'a str>,
    pub(crate) private_token: Option<&'a str>,
}

impl Answer {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        let body = body.to_string().into_bytes();
        Self { status, content_type: "application/json", body, headers: Vec::new() }
    }

    fn text(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, content_type: "text/plain", body: body.into(), headers: Vec::new() }
    }
}

fn message(status: u16, words: &str) -> Answer {
    Answer::json(status, json!({ "message": words }))
}

fn grape_error(words: &str) -> Answer {
    Answer::json(400, json!({ "error": words }))
}

/// The body of a note that does not validate: a Ruby hash, printed.
pub(crate) fn note_errors(errors: &str) -> Value {
    json!({ "message": format!("400 Bad request - Note {{{errors}}}") })
}

const BAD_LINE: &str = r#":line_code=>["can't be blank", "must be a valid line code"]"#;
const INCOMPLETE: &str = r#":position=>["is incomplete"]"#;

/// The whole API, in the order in which GitLab decides.
pub(crate) fn answer(store: &mut Store, call: &Call<'_>) -> Answer {
    if let Some(refusal) = refuse_token(store, call) {
        return refusal;
    }
    if call.raw_body.contains(&0) || std::str::from_utf8(call.raw_body).is_err() || has_nul(call) {
        return Answer::text(400, "Bad Request");
    }
    let segments: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    match (call.method, segments.as_slice()) {
        ("GET", ["user"]) => {
            let mut me = user(BOT);
            me["bot"] = json!(true);
            Answer::json(200, me)
        }
        ("GET", ["personal_access_tokens", "self"]) => Answer::json(
            200,
            json!({
                "id": 5, "name": "diffsan", "revoked": false, "active": store.token_active, "scopes": store.scopes,
                "user_id": BOT, "expires_at": "2027-01-01", "last_used_at": null,
            }),
        ),
        ("GET", ["projects", _, "members", "all", id]) => {
            let id: u64 = id.parse().unwrap_or(0);
            let role = if id == BOT { Some(store.access_level) } else { store.roles.get(&id).copied() };
            let Some(role) = role else { return message(404, "404 Not found") };
            let mut member = user(id);
            member["access_level"] = json!(role);
            Answer::json(200, member)
        }
        (_, ["projects", project, "merge_requests", iid, rest @ ..]) => {
            let known = [PROJECT.to_string(), "group/project".to_owned()];
            if !store.project_visible || !known.iter().any(|name| name == project) {
                return message(404, "404 Project Not Found");
            }
            if *iid != MR.to_string() {
                return message(404, "404 Not found");
            }
            merge_request(store, call, rest)
        }
        (_, ["projects", project, rest @ ..]) if *project == PROJECT.to_string() && store.project_visible => {
            repository::answer(store, call, rest).unwrap_or_else(|| message(404, "404 Not Found"))
        }
        _ => message(404, "404 Not Found"),
    }
}

fn has_nul(call: &Call<'_>) -> bool {
    call.raw_body.windows(6).any(|bytes| bytes == b"\\u0000")
        || call.segments.iter().any(|segment| segment.contains('\0'))
}

fn refuse_token(store: &Store, call: &Call<'_>) -> Option<Answer> {
    let given = call.authorization.and_then(|value| value.strip_prefix("Bearer ")).or(call.private_token);
    if given != Some(store.token.as_str()) {
        return Some(message(401, "401 Unauthorized"));
    }
    if let Some(description) = store.token_error {
        return Some(Answer::json(401, json!({ "error": "invalid_token", "error_description": description })));
    }
    let reading = call.method == "GET";
    let enough = store.scopes.iter().any(|scope| scope == "api" || reading && scope == "read_api");
    let own = call.segments == ["personal_access_tokens", "self"];
    (!enough && !own).then(|| {
        let words = "The request requires higher privileges than provided by the access token.";
        Answer::json(403, json!({ "error": "insufficient_scope", "error_description": words, "scope": "api read_api" }))
    })
}

fn merge_request(store: &mut Store, call: &Call<'_>, rest: &[&str]) -> Answer {
    match (call.method, rest) {
        ("GET", []) => Answer::json(200, store.merge_request()),
        ("GET", ["notes"]) => list_notes(store, call),
        ("GET", ["discussions"]) => {
            let newest = store.newest_shown();
            let rows = store.discussions.iter().filter_map(|discussion| {
                let shown = discussion.notes.iter().filter(|note| note.serial <= newest);
                let (hidden, shown): (Vec<_>, Vec<_>) = shown.partition(|note| note.hidden);
                let notes: Vec<_> = shown.into_iter().map(note_json).collect();
                if notes.is_empty() {
                    return (!hidden.is_empty()).then_some(None);
                }
                let alone = !discussion.is_thread();
                Some(Some(json!({ "id": discussion.id, "individual_note": alone, "notes": notes })))
            });
            let rows = rows.collect();
            page(store, call, rows)
        }
        ("GET", ["discussions", id]) => {
            let Some(discussion) = store.discussions.iter().find(|discussion| discussion.id == *id) else {
                return message(404, "404 Discussion Not Found");
            };
            let notes: Vec<_> = discussion.notes.iter().filter(|note| !note.hidden).map(note_json).collect();
            Answer::json(
                200,
                json!({ "id": discussion.id, "individual_note": !discussion.is_thread(), "notes": notes }),
            )
        }
        ("POST", ["discussions", id, "notes"]) => reply(store, call, id),
        ("PUT", ["discussions", id, "notes", note]) => resolve(store, call, id, note.parse().unwrap_or(0)),
        ("DELETE", ["notes", id]) => delete_note(store, id.parse().unwrap_or(0)),
        ("GET", ["draft_notes"]) => {
            let rows: Vec<_> = store.drafts.iter().map(draft_json).collect();
            Answer::json(200, Value::Array(rows))
        }
        ("POST", ["draft_notes"]) => create_draft(store, call),
        ("POST", ["draft_notes", "bulk_publish"]) => publish(store),
        ("DELETE", ["draft_notes", id]) => {
            let before = store.drafts.len();
            store.drafts.retain(|draft| draft.id.to_string() != *id);
            match store.drafts.len() < before {
                true => Answer::text(204, ""),
                false => message(404, "404 Not found"),
            }
        }
        ("GET", ["versions"]) => {
            let rows = store.versions.iter().enumerate().rev().map(|(at, refs)| Some(version_json(at, refs))).collect();
            page(store, call, rows)
        }
        ("GET", ["closes_issues"]) => Answer::json(200, store.closes.clone()),
        ("GET", ["diffs"]) => list_diffs(store, call),
        ("GET", ["raw_diffs"]) if store.raw_diffs => {
            let refs = store.latest();
            Answer::text(200, positions::raw_diff(&store.repo, &refs.base, &refs.head))
        }
        ("POST", ["notes"]) => create_note(store, call),
        ("POST", ["discussions"]) => create_discussion(store, call),
        ("PUT", ["notes", id]) => update_note(store, call, id.parse().unwrap_or(0)),
        _ => message(404, "404 Not Found"),
    }
}

fn version_json(at: usize, refs: &Refs) -> Value {
    json!({
        "id": 100 + at, "head_commit_sha": refs.head, "base_commit_sha": refs.base, "start_commit_sha": refs.start,
        "created_at": "2026-01-01T00:00:00.000Z", "merge_request_id": 900_067, "state": "collected",
        "real_size": "1", "patch_id_sha": null,
    })
}

pub(crate) fn note_json(note: &Note) -> Value {
    let mut value = json!({
        "id": note.id, "type": note.kind, "body": note.body, "author": user(note.author),
        "created_at": format!("2026-01-01T00:{:02}:{:02}.000Z", note.serial / 60 % 60, note.serial % 60),
        "updated_at": "2026-01-01T01:00:00.000Z", "system": note.system, "noteable_id": 900_067,
        "noteable_type": "MergeRequest", "project_id": PROJECT, "resolvable": note.kind.is_some() && !note.system,
        "confidential": note.internal, "internal": note.internal, "imported": false, "imported_from": "none", "noteable_iid": MR,
        "commands_changes": {},
    });
    if let Some(position) = &note.position {
        value["position"] = position.clone();
        value["commit_id"] = Value::Null;
    }
    if note.kind.is_some() {
        value["resolved"] = json!(note.resolved);
        value["resolved_by"] = note.resolved_by.map(user).unwrap_or(Value::Null);
    }
    value
}

fn list_notes(store: &mut Store, call: &Call<'_>) -> Answer {
    let newest = store.newest_shown();
    let shown = store.all_notes().into_iter().filter(|note| note.serial <= newest);
    let mut rows: Vec<_> = shown.map(|note| (!note.hidden).then(|| note_json(note))).collect();
    match call.query("sort") {
        None | Some("desc") => rows.reverse(),
        Some("asc") => {}
        Some(_) => return grape_error("sort does not have a valid value"),
    }
    page(store, call, rows)
}

fn list_diffs(store: &mut Store, call: &Call<'_>) -> Answer {
    if call.number("per_page").is_some_and(|size| size > 30) {
        return message(500, "500 Internal Server Error");
    }
    let refs = store.latest();
    let files = store.diff(&refs.base, &refs.head, &[]);
    let rows = files.iter().map(|file| {
        let withheld = store.collapsed.contains(&file.new_path) || file.patch.len() > positions::MAX_PATCH_BYTES;
        Some(json!({
            "old_path": file.old_path, "new_path": file.new_path, "a_mode": file.old_mode, "b_mode": file.new_mode,
            "diff": if withheld { "" } else { file.patch.as_str() }, "new_file": file.is_new(),
            "renamed_file": file.is_renamed(), "deleted_file": file.is_deleted(), "generated_file": false,
        }))
    });
    let rows = rows.collect();
    page(store, call, rows)
}

/// Cuts a page, then leaves out what may not be seen: a short page is not the last one.
fn page(store: &Store, call: &Call<'_>, rows: Vec<Option<Value>>) -> Answer {
    let size = match call.number("per_page") {
        Some(0) => return grape_error("per_page has a value not allowed"),
        Some(size) => size.min(100),
        None => 20,
    };
    let number = call.number("page").unwrap_or(1).max(1);
    let pages = rows.len().div_ceil(size).max(1);
    let shown: Vec<_> = rows.iter().skip((number - 1) * size).take(size).flatten().cloned().collect();
    let mut answer = Answer::json(200, Value::Array(shown));
    if store.paging_headers {
        let next = if number < pages { (number + 1).to_string() } else { String::new() };
        let elsewhere = "https://gitlab.internal.example/api/v4/elsewhere?page=2";
        answer.headers = vec![
            ("x-per-page", size.to_string()),
            ("x-page", number.to_string()),
            ("x-next-page", next),
            ("x-prev-page", if number > 1 { (number - 1).to_string() } else { String::new() }),
            ("link", format!("<{elsewhere}>; rel=\"next\", <{elsewhere}>; rel=\"first\"")),
        ];
        // GitLab does not count further.
        if rows.len() <= 10_000 {
            answer.headers.extend([("x-total", rows.len().to_string()), ("x-total-pages", pages.to_string())]);
        }
    }
    answer
}

impl Call<'_> {
    fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.query(name).and_then(|value| value.parse().ok())
    }

    fn params(&self) -> Result<Map<String, Value>, Answer> {
        if !self.content_type.starts_with("application/json") {
            let words = format!("The provided content-type '{}' is not supported.", self.content_type);
            return Err(Answer::json(415, json!({ "error": words })));
        }
        match serde_json::from_slice(self.raw_body) {
            Ok(Value::Object(params)) => Ok(params),
            _ => Err(message(400, "400 Bad request - message body does not match declared format")),
        }
    }
}

fn text_param(params: &Map<String, Value>, name: &str) -> Result<String, Answer> {
    match params.get(name) {
        None => Err(grape_error(&format!("{name} is missing"))),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(grape_error(&format!("{name} is invalid"))),
    }
}

/// Rights and limits that every comment meets.
fn refuse_note(store: &Store, body: &str) -> Option<Answer> {
    if !store.may_comment {
        return Some(message(403, "403 Forbidden"));
    }
    if store.all_notes().len() >= store.max_notes {
        return Some(Answer::json(400, note_errors(r#":base=>["Maximum number of comments exceeded"]"#)));
    }
    if body.trim().is_empty() {
        return Some(Answer::json(400, note_errors(r#":note=>["can't be blank"]"#)));
    }
    if body.chars().count() > 1_000_000 {
        let words = r#":note=>["is too long (maximum is 1000000 characters)"]"#;
        return Some(Answer::json(400, note_errors(words)));
    }
    None
}

/// The answer to a text that was nothing but commands: no note, no id.
fn only_commands(effects: &Effects) -> Option<Answer> {
    effects.body.trim().is_empty().then(|| {
        Answer::json(
            202,
            json!({ "commands_changes": {}, "summary": [format!("Ran {}", effects.commands.join(", "))] }),
        )
    })
}

fn create_note(store: &mut Store, call: &Call<'_>) -> Answer {
    let checked = || -> Result<String, Answer> {
        let body = text_param(&call.params()?, "body")?;
        refuse_note(store, &body).map_or(Ok(body), Err)
    };
    let body = match checked() {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let effects = store.take_text(&body);
    if let Some(accepted) = only_commands(&effects) {
        return accepted;
    }
    let note = store.note(BOT, &effects.body, None, None);
    let answer = Answer::json(201, note_json(&note));
    store.add(note);
    answer
}

fn update_note(store: &mut Store, call: &Call<'_>, id: u64) -> Answer {
    let body = match call.params().and_then(|params| text_param(&params, "body")) {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let Some((author, system)) = store.find_note(id).map(|note| (note.author, note.system)) else {
        return message(404, "404 Note Not Found");
    };
    if author != BOT || system {
        return message(403, "403 Forbidden");
    }
    if body.trim().is_empty() || body.chars().count() > 1_000_000 {
        return Answer::json(400, note_errors(r#":note=>["is invalid"]"#));
    }
    let effects = store.take_text(&body);
    if let Some(accepted) = only_commands(&effects) {
        store.remove_note(id);
        return accepted;
    }
    match store.find_note(id) {
        Some(note) => {
            note.body = effects.body;
            Answer::json(200, note_json(note))
        }
        None => message(404, "404 Note Not Found"),
    }
}

/// A reply takes over its thread's kind and place.
fn reply(store: &mut Store, call: &Call<'_>, id: &str) -> Answer {
    let body = match call.params().and_then(|params| text_param(&params, "body")) {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let Some(at) = store.discussions.iter().position(|discussion| discussion.id == id) else {
        return message(404, "404 Discussion Not Found");
    };
    let effects = store.take_text(&body);
    if let Some(accepted) = only_commands(&effects) {
        return accepted;
    }
    let (kind, position) = (store.discussions[at].notes[0].kind, store.discussions[at].notes[0].position.clone());
    let note = store.note(BOT, &effects.body, kind.or(Some("DiscussionNote")), position);
    let answer = Answer::json(201, note_json(&note));
    store.discussions[at].notes.push(note);
    answer
}

fn resolve(store: &mut Store, call: &Call<'_>, id: &str, note: u64) -> Answer {
    let Ok(params) = call.params() else { return grape_error("body, resolved are missing") };
    let Some(resolved) = params.get("resolved").and_then(Value::as_bool).filter(|_| params.len() == 1) else {
        return grape_error("body, resolved are missing, exactly one parameter must be provided");
    };
    if !store.discussions.iter().any(|discussion| discussion.id == id) {
        return message(404, "404 Discussion Not Found");
    }
    let may = store.may_resolve;
    match store.find_note(note) {
        None => message(404, "404 Note Not Found"),
        Some(_) if !may => message(403, "403 Forbidden"),
        Some(note) if note.kind.is_none() => message(400, "400 Bad request - Note is not resolvable"),
        Some(note) => {
            (note.resolved, note.resolved_by) = (resolved, resolved.then_some(BOT));
            Answer::json(200, note_json(note))
        }
    }
}

fn delete_note(store: &mut Store, id: u64) -> Answer {
    match store.find_note(id).map(|note| (note.author, note.system)) {
        None => message(404, "404 Note Not Found"),
        Some((author, system)) if author != BOT || system => message(403, "403 Forbidden"),
        Some(_) => {
            store.remove_note(id);
            Answer::text(204, "")
        }
    }
}

/// A bad place is not refused here: the draft has no line then, and is lost when it is published.
fn create_draft(store: &mut Store, call: &Call<'_>) -> Answer {
    let checked = || -> Result<(String, Option<Wanted>), Answer> {
        let params = call.params()?;
        let body = text_param(&params, "note")?;
        let wanted = params.get("position").filter(|value| !value.is_null()).map(position_params).transpose()?;
        refuse_note(store, &body).map_or(Ok((body, wanted)), Err)
    };
    let (body, wanted) = match checked() {
        Ok(checked) => checked,
        Err(refusal) => return refusal,
    };
    if wanted.as_ref().is_some_and(|wanted| !schema_fits(wanted)) {
        return Answer::json(400, json!({ "message": { "position": ["must be a valid json schema"] } }));
    }
    let place = wanted.as_ref().and_then(|wanted| place(store, wanted).ok());
    let placed = wanted.is_none() || place.as_ref().is_some_and(|place| !place.vanished);
    let id = store.note(BOT, &body, None, None).id;
    let draft = super::store::Draft { id, body, position: place.map(|place| place.position), placed };
    let answer = Answer::json(201, draft_json(&draft));
    store.drafts.push(draft);
    answer
}

fn draft_json(draft: &super::store::Draft) -> Value {
    let file = draft.position.as_ref().is_some_and(|position| position["position_type"] == "file");
    let line_code = (draft.placed && !file).then(|| format!("{}_0_1", "a".repeat(40)));
    json!({
        "id": draft.id, "author_id": BOT, "merge_request_id": 900_067, "resolve_discussion": false,
        "discussion_id": null, "note": draft.body, "commit_id": null, "line_code": line_code, "position": draft.position,
    })
}

/// Publishes all drafts of the user; those without a place disappear without a word.
fn publish(store: &mut Store) -> Answer {
    if std::mem::take(&mut store.publish_breaks) && store.drafts.len() > 2 {
        // The first is published, the second is lost, the others are drafts still.
        let first = store.drafts.remove(0);
        let effects = store.take_text(&first.body);
        let note = store.note(BOT, &effects.body, Some("DiffNote"), first.position);
        store.add(note);
        store.drafts.remove(0);
        return Answer::text(500, "");
    }
    for draft in std::mem::take(&mut store.drafts) {
        let effects = store.take_text(&draft.body);
        if draft.placed {
            let note = store.note(BOT, &effects.body, Some("DiffNote"), draft.position);
            store.add(note);
        }
    }
    store.announced += 1;
    Answer::text(204, "")
}

/// A position, as far as its types are right.
struct Wanted {
    refs: Refs,
    kind: String,
    old_path: Option<String>,
    new_path: Option<String>,
    old_line: Option<u32>,
    new_line: Option<u32>,
    line_range: Option<Value>,
}

fn create_discussion(store: &mut Store, call: &Call<'_>) -> Answer {
    let checked = || -> Result<(String, Option<Wanted>), Answer> {
        let params = call.params()?;
        let body = text_param(&params, "body")?;
        let wanted = params.get("position").filter(|value| !value.is_null()).map(position_params).transpose()?;
        refuse_note(store, &body).map_or(Ok((body, wanted)), Err)
    };
    let (body, wanted) = match checked() {
        Ok(checked) => checked,
        Err(refusal) => return refusal,
    };
    let place = match wanted.as_ref().map(|wanted| place(store, wanted)).transpose() {
        Ok(place) => place,
        Err(refusal) => return refusal,
    };
    let effects = store.take_text(&body);
    if let Some(accepted) = only_commands(&effects) {
        return accepted;
    }
    let kind = if wanted.is_some() { "DiffNote" } else { "DiscussionNote" };
    let (position, vanished) = place.map_or((None, false), |place| (Some(place.position), place.vanished));
    let note = store.note(BOT, &effects.body, Some(kind), position);
    let shown = note_json(&note);
    let (id, _) = store.add(note);
    if vanished {
        // GitLab has committed the note by the time it notices.
        return message(500, "500 Internal Server Error");
    }
    Answer::json(201, json!({ "id": id, "individual_note": false, "notes": [shown] }))
}

fn position_params(value: &Value) -> Result<Wanted, Answer> {
    let Some(position) = value.as_object() else { return Err(grape_error("position is invalid")) };
    let text = |name: &str| match position.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(grape_error(&format!("position[{name}] is invalid"))),
    };
    let line = |name: &str| match position.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().or_else(|| value.as_str()?.parse().ok()) {
            Some(line) => Ok(u32::try_from(line).ok()),
            None => Err(grape_error(&format!("position[{name}] is invalid"))),
        },
    };
    let needed = |name: &str| text(name)?.ok_or_else(|| grape_error(&format!("position[{name}] is missing")));
    let wanted = Wanted {
        refs: Refs { base: needed("base_sha")?, start: needed("start_sha")?, head: needed("head_sha")? },
        kind: needed("position_type")?,
        old_path: text("old_path")?,
        new_path: text("new_path")?,
        old_line: line("old_line")?,
        new_line: line("new_line")?,
        line_range: position.get("line_range").filter(|range| !range.is_null()).cloned(),
    };
    match matches!(wanted.kind.as_str(), "text" | "image" | "file") {
        true => Ok(wanted),
        false => Err(grape_error("position[position_type] does not have a valid value")),
    }
}

struct Place {
    position: Value,
    /// The stored note's line is not in the merge request's own diff.
    vanished: bool,
}

fn place(store: &mut Store, wanted: &Wanted) -> Result<Place, Answer> {
    let shas = [&wanted.refs.base, &wanted.refs.start, &wanted.refs.head];
    if !shas.iter().all(|sha| store.has_commit(sha)) {
        return Err(message(500, "500 Internal Server Error"));
    }
    if !schema_fits(wanted) {
        return Err(Answer::json(400, note_errors(r#":position=>["must be a valid json schema"]"#)));
    }
    let paths: Vec<&str> = [&wanted.old_path, &wanted.new_path].into_iter().flatten().map(String::as_str).collect();
    let latest = store.latest();
    let in_version = |store: &mut Store, refs: &Refs, paths: &[&str]| {
        let from = store.compared_from(refs)?;
        store.diff(&from, &refs.head, paths).first().cloned()
    };
    if wanted.kind == "file" {
        if wanted.old_path.is_none() || wanted.new_path.is_none() {
            return Err(Answer::json(400, note_errors(INCOMPLETE)));
        }
        let vanished = in_version(store, &wanted.refs, &paths).is_none();
        return Ok(Place { position: shown(wanted, &wanted.refs, None), vanished });
    }
    if wanted.old_line.is_none() && wanted.new_line.is_none() {
        return Err(Answer::json(400, note_errors(&format!("{BAD_LINE}, {INCOMPLETE}"))));
    }
    let swapped = wanted.refs.base == latest.head && wanted.refs.head == latest.base;
    let mut limited: Vec<&str> = paths.clone();
    limited.dedup();
    let file = in_version(store, &wanted.refs, &limited);
    let found = file.as_ref().is_some_and(|file| file.has_line(wanted.old_line, wanted.new_line));
    if !found && !swapped {
        return Err(Answer::json(400, note_errors(BAD_LINE)));
    }
    if store.versions.contains(&wanted.refs) && wanted.refs != latest {
        let traced = trace(store, wanted, &latest);
        let refs = if traced.is_some() { &latest } else { &wanted.refs };
        return Ok(Place { position: shown(wanted, refs, traced), vanished: false });
    }
    let real = store.diff(&latest.base, &latest.head, &[]);
    let vanished = !real.iter().any(|file| {
        let same = Some(&file.new_path) == wanted.new_path.as_ref().or(wanted.old_path.as_ref());
        same && file.has_line(wanted.old_line, wanted.new_line)
    });
    Ok(Place { position: shown(wanted, &wanted.refs, None), vanished: vanished || swapped })
}

/// Where an added or context line of an older version stands in the newest one.
fn trace(store: &mut Store, wanted: &Wanted, latest: &Refs) -> Option<(Option<u32>, Option<u32>)> {
    let (path, new_line) = (wanted.new_path.as_deref()?, wanted.new_line?);
    let between = store.diff(&wanted.refs.head, &latest.head, &[path]);
    let moved = match between.first() {
        None => new_line,
        // In the diff between the two heads the old side is the older version's file.
        Some(change) => (1..).take(100_000).find(|line| change.has_line(Some(new_line), Some(*line)))?,
    };
    let now = store.diff(&latest.base, &latest.head, &[path]);
    let file = now.first()?;
    [None]
        .into_iter()
        .chain((1..=file.old_length).map(Some))
        .find(|old| file.has_line(*old, Some(moved)))
        .map(|old| (old, Some(moved)))
}

fn schema_fits(wanted: &Wanted) -> bool {
    let short = |path: &Option<String>| path.as_ref().is_none_or(|path| path.chars().count() <= 1_000);
    let end_fits = |end: Option<&Value>| {
        end.and_then(Value::as_object).is_some_and(|end| {
            end.iter().all(|(key, value)| match key.as_str() {
                "line_code" => value.as_str().is_some_and(|code| code.len() <= 100),
                "type" => value.is_string() || value.is_null(),
                "old_line" | "new_line" => value.is_u64() || value.is_null(),
                _ => false,
            })
        })
    };
    let range_fits = wanted.line_range.as_ref().is_none_or(|range| {
        end_fits(range.get("start"))
            && end_fits(range.get("end"))
            && range.as_object().is_some_and(|map| map.len() == 2)
    });
    short(&wanted.old_path) && short(&wanted.new_path) && range_fits
}

/// The position as GitLab gives it back: every key, null where there is nothing.
fn shown(wanted: &Wanted, refs: &Refs, traced: Option<(Option<u32>, Option<u32>)>) -> Value {
    let mut value = json!({
        "base_sha": refs.base, "start_sha": refs.start, "head_sha": refs.head,
        "old_path": wanted.old_path, "new_path": wanted.new_path, "position_type": wanted.kind,
    });
    if wanted.kind == "text" {
        let (old, new) = traced.unwrap_or((wanted.old_line, wanted.new_line));
        value["old_line"] = json!(old);
        value["new_line"] = json!(new);
        value["line_range"] = json!(wanted.line_range);
    }
    value
}
