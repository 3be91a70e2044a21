//! Executes a post plan exactly once.
//!
//! GitLab has no idempotency key: a request without an answer may have been carried out. So every item ends with a
//! marker, what is there is read before anything is written, and a write is repeated only after its marker was looked
//! for and not found. The ledger tells a later run, and its readers, what was about to be done and what was done.

mod ledger;
mod look;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::position::rung;
use super::render::{self, Failed};
use super::sanitize::Sanitised;
use super::wire;
use crate::contracts::{PlannedDiscussion, Position, PostItem, PostKind, PostPlan, PostResults};
use crate::error::{Error, Failure};
use crate::gitlab::{Attempts, Client, DiffRefs, MergeRequest, Posted, Trouble};
use crate::redact::Engine;
use crate::run::events::{Event, Events};
use crate::run::workdir::Workdir;
use ledger::Ledger;
use look::{Found, Key, Seen};

/// What became of a plan, and the error that says so.
#[derive(Debug)]
pub struct Sent {
    pub results: PostResults,
    /// `None` when everything is in the merge request.
    pub error: Option<Error>,
}

/// Posts what the plan lists and is not there yet: discussions first, the summary last.
pub async fn send(plan: &PostPlan, client: &Client, workdir: &Workdir, events: &Events, engine: &Engine) -> Sent {
    let ledger = Ledger::open(workdir, events);
    let seen = match Seen::read(client).await {
        Ok(seen) => seen,
        Err(error) => return nothing_posted(plan, error, events, engine),
    };
    let stopped = Mutex::new(None);
    let run = Run { plan, client, events, engine, ledger, seen, stopped };
    let inline = run.inline();
    let mut outcomes = run.discussions(&inline).await;
    let summary = run.summary(&outcomes, &inline).await;
    for outcome in &mut outcomes {
        outcome.close(summary.item.ok);
        run.tell(outcome);
    }
    outcomes.insert(0, summary);
    run.verdict(outcomes)
}

/// Whether discussions can be posted at all.
enum Inline {
    Yes,
    /// The merge request's head is another commit now.
    Moved(String),
    /// GitLab does not say which commits the diff is of.
    Unknown,
}

struct Run<'a> {
    plan: &'a PostPlan,
    client: &'a Client,
    events: &'a Events,
    engine: &'a Engine,
    ledger: Ledger<'a>,
    seen: Seen,
    /// Why no further request makes sense.
    stopped: Mutex<Option<Stop>>,
}

#[derive(Debug, Clone)]
struct Stop {
    reason: String,
    auth: bool,
    note_limit: bool,
}

/// A comment to be created.
struct Write<'a> {
    /// Its name in the ledger.
    item: &'a str,
    body: &'a Sanitised,
    /// `None` for a plain note.
    position: Option<&'a Position>,
}

/// One item on its way into the results.
struct Outcome<'a> {
    item: PostItem,
    error: Option<Error>,
    discussion: Option<&'a PlannedDiscussion>,
    /// It has no place of its own, and the summary is where it belongs then.
    in_summary: bool,
    /// Nothing was asked for it, because of what happened to another item.
    untried: bool,
}

impl<'a> Outcome<'a> {
    fn new(kind: PostKind, discussion: Option<&'a PlannedDiscussion>) -> Self {
        let item = PostItem {
            kind,
            ok: false,
            http_status: None,
            gitlab_id: None,
            retry_count: 0,
            discussion_id: None,
            finding_id: discussion.map(|discussion| discussion.finding_id.clone()),
            rung: None,
            already_there: false,
            error: None,
        };
        Self { item, error: None, discussion, in_summary: false, untried: false }
    }

    fn failed(mut self, error: Error) -> Self {
        self.item.ok = false;
        self.error = Some(error);
        self
    }

    fn not_tried(self, error: Error) -> Self {
        Self { untried: true, ..self.failed(error) }
    }

    fn found(mut self, found: Found) -> Self {
        self.item.ok = true;
        self.item.already_there = true;
        self.item.gitlab_id = found.note_id;
        self.item.discussion_id = found.discussion_id;
        self.item.rung = found.rung.map(str::to_owned);
        self
    }

    /// A finding without a place of its own stands and falls with the summary.
    fn close(&mut self, summary_is_there: bool) {
        if self.is_left_over() && summary_is_there {
            self.item.rung = Some("summary".to_owned());
            self.item.ok = self.in_summary;
        }
    }

    fn is_left_over(&self) -> bool {
        !self.item.ok && self.discussion.is_some()
    }
}

impl<'a> Run<'a> {
    fn inline(&self) -> Inline {
        let found = &self.seen.merge_request;
        if found.state == "closed" || found.state == "merged" {
            let message =
                format!("{} is {} meanwhile; the review is posted all the same", self.client.name(), found.state);
            self.events.emit(Event::Warning { message });
        }
        match (&found.diff_refs, &self.plan.head_sha) {
            (None, _) => Inline::Unknown,
            (Some(DiffRefs { head_sha, .. }), Some(reviewed)) if head_sha != reviewed => {
                let message = format!(
                    "{} was pushed to during the review: {reviewed} was reviewed, its head is {head_sha}. \
                     Nothing is posted on its lines; the summary has every finding.",
                    self.client.name()
                );
                self.events.emit(Event::Warning { message });
                Inline::Moved(head_sha.clone())
            }
            _ => Inline::Yes,
        }
    }

    /// Posts the discussions, a few at a time; the outcomes are in plan order.
    async fn discussions(&self, inline: &Inline) -> Vec<Outcome<'a>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(BTreeMap::new());
        let worker = || async {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(planned) = self.plan.discussions.get(index) else { break };
                let outcome = self.discussion(planned, inline).await;
                done.lock().unwrap_or_else(PoisonError::into_inner).insert(index, outcome);
            }
        };
        // Four at once: each wait of one is work for the others, and GitLab's limiters do not notice.
        tokio::join!(worker(), worker(), worker(), worker());
        done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    async fn discussion(&self, planned: &'a PlannedDiscussion, inline: &Inline) -> Outcome<'a> {
        let outcome = Outcome::new(PostKind::Discussion, Some(planned));
        let key = Key::finding(&planned.finding_id);
        if let Some(found) = self.seen.find(&key).or_else(|| self.ledger.done(&planned.finding_id)) {
            return outcome.found(found);
        }
        if let Some(stop) = self.stop_reason() {
            return outcome.not_tried(stop.error());
        }
        let reason = match inline {
            Inline::Yes => return self.climb_down(planned, &key, outcome).await,
            Inline::Moved(head) => {
                format!("the merge request's head is {head} now, another commit than the reviewed one")
            }
            Inline::Unknown => "GitLab does not say which commits the merge request's diff is of".to_owned(),
        };
        let error =
            Error::GitlabPosition(Failure::new(format!("{} was not posted inline: {reason}", planned.finding_id)));
        Outcome { in_summary: true, ..outcome.failed(error) }
    }

    /// Range, line, file: each only when GitLab refused the place before it.
    async fn climb_down(&self, planned: &'a PlannedDiscussion, key: &Key, mut outcome: Outcome<'a>) -> Outcome<'a> {
        let what = format!("post finding {} on {}", planned.finding_id, planned.path);
        let body = wire::composed(self.engine, &planned.body_markdown);
        for position in std::iter::once(&planned.position).chain(&planned.fallbacks) {
            let mut attempts = self.client.attempts();
            let write = Write { item: &planned.finding_id, body: &body, position: Some(position) };
            let posted = self.exactly_once(key, &write, &mut attempts).await;
            outcome.item.retry_count += attempts.retries();
            match posted {
                Ok(posted) => {
                    self.ledger.settled(&planned.finding_id, &posted);
                    outcome.item.rung = Some(rung(position).to_owned());
                    return self.accepted(outcome, posted, &what);
                }
                Err(trouble) => {
                    self.ledger.failed(&planned.finding_id, trouble.status);
                    outcome.item.http_status = trouble.status;
                    let fell = trouble.is_position();
                    outcome = outcome.failed(self.explain(&what, &trouble));
                    if !fell {
                        return outcome;
                    }
                }
            }
        }
        outcome.in_summary = true;
        outcome
    }

    /// A write that GitLab accepted, which is not yet a comment that stands where it should.
    fn accepted(&self, mut outcome: Outcome<'a>, posted: Posted, what: &str) -> Outcome<'a> {
        outcome.item.http_status = posted.status;
        outcome.item.gitlab_id = posted.note_id;
        outcome.item.discussion_id = posted.discussion_id;
        if posted.note_id.is_none() {
            let failure = Failure::new(format!("could not {what}: GitLab answered 202 and stored nothing"));
            let help = "GitLab took the text for a quick action. Please report this text: it should have been defused.";
            return outcome.failed(Error::GitlabPost(failure.help(help)));
        }
        outcome.item.ok = true;
        if outcome.discussion.is_some() && posted.kind.as_deref() != Some("DiffNote") {
            let message = format!("could not {what} on its line: GitLab stored it as a plain thread");
            outcome.item.rung = None;
            outcome.error = Some(Error::GitlabPosition(Failure::new(message)));
        }
        outcome
    }

    /// Sends a write until it is there: after a lost answer its marker is looked for before it is sent again.
    async fn exactly_once(&self, key: &Key, write: &Write<'_>, attempts: &mut Attempts) -> Result<Posted, Trouble> {
        loop {
            self.ledger.intent(write.item);
            let answer = match write.position {
                Some(position) => self.client.create_discussion(write.body, position, attempts).await,
                None => self.client.create_note(write.body, attempts).await,
            };
            let trouble = match answer {
                Ok(posted) => return Ok(posted),
                Err(trouble) => trouble,
            };
            if trouble.is_final() {
                self.stop(&trouble);
            }
            if !trouble.uncertain() {
                return Err(trouble);
            }
            let waited = self.client.settle(key.path(), &trouble, attempts).await;
            match key.look(self.client, self.seen.user.id).await {
                Ok(Some(found)) => return Ok(found.posted(trouble.status)),
                Ok(None) if waited && attempts.left() => {}
                Ok(None) => return Err(trouble),
                Err(error) => return Err(trouble.and(&format!("whether it arrived could not be read: {error}"))),
            }
        }
    }

    async fn summary(&self, outcomes: &[Outcome<'a>], inline: &Inline) -> Outcome<'a> {
        let outcome = Outcome::new(PostKind::SummaryNote, None);
        let body = wire::composed(self.engine, &self.summary_body(outcomes, inline));
        let outcome = self.write_summary(outcome, &body).await;
        self.events.emit(Event::GitlabPostSummary {
            ok: outcome.item.ok,
            http_status: outcome.item.http_status,
            id: outcome.item.gitlab_id,
            retry: outcome.item.retry_count,
        });
        outcome
    }

    /// The planned summary, and every finding that has no place of its own.
    fn summary_body(&self, outcomes: &[Outcome<'a>], inline: &Inline) -> String {
        let left: Vec<_> = outcomes.iter().filter(|outcome| outcome.is_left_over()).collect();
        let reasons: Vec<_> =
            left.iter().map(|outcome| outcome.error.as_ref().map(Error::to_string).unwrap_or_default()).collect();
        let failed: Vec<_> = left
            .iter()
            .zip(&reasons)
            .filter_map(|(outcome, reason)| Some(Failed { discussion: outcome.discussion?, reason }))
            .collect();
        let body = render::with_failed_items(&self.plan.summary_body, &failed);
        match (inline, &self.plan.head_sha) {
            (Inline::Moved(head), Some(reviewed)) => format!(
                "This review is of commit `{reviewed}`. The branch has moved on to `{head}` since, so no finding was \
                 placed on a line.\n\n{body}"
            ),
            _ => body,
        }
    }

    async fn write_summary(&self, mut outcome: Outcome<'a>, body: &Sanitised) -> Outcome<'a> {
        let what = format!("post the summary of {}", self.client.name());
        let key = Key::summary(self.plan);
        let mut attempts = self.client.attempts();
        let update = match self.plan.idempotent_summary {
            true => self.seen.newest_summary(&key),
            false => self.seen.find(&key),
        };
        if update.is_none()
            && let Some(found) = self.ledger.done(SUMMARY)
        {
            return outcome.found(found);
        }
        let changes = update.as_ref().is_none_or(|found| !found.says(body.as_str()));
        let stop = self.stop_reason();
        match (&update, stop) {
            (Some(found), _) if !changes => return outcome.found(found.clone()),
            (Some(_), Some(stop)) if stop.note_limit => {}
            (_, Some(stop)) => return outcome.not_tried(stop.error()),
            _ => {}
        }
        let mut posted = None;
        if let Some(id) = update.and_then(|found| found.note_id) {
            self.ledger.intent(SUMMARY);
            posted = match self.client.update_note(id, body, &mut attempts).await {
                // Someone deleted it in the meantime.
                Err(trouble) if trouble.status == Some(404) => None,
                other => Some(other),
            };
        }
        let posted = match posted {
            Some(posted) => posted,
            None => {
                let write = Write { item: SUMMARY, body, position: None };
                self.exactly_once(&key, &write, &mut attempts).await
            }
        };
        outcome.item.retry_count = attempts.retries();
        match posted {
            Ok(posted) => {
                self.ledger.settled(SUMMARY, &posted);
                self.accepted(outcome, posted, &what)
            }
            Err(trouble) => {
                self.ledger.failed(SUMMARY, trouble.status);
                outcome.item.http_status = trouble.status;
                let error = self.explain(&what, &trouble);
                outcome.failed(error)
            }
        }
    }

    /// A refusal in words; what is known of the merge request makes it plainer.
    fn explain(&self, what: &str, trouble: &Trouble) -> Error {
        match self.seen.merge_request {
            MergeRequest { discussion_locked: true, .. } if trouble.status == Some(403) => {
                let failure = Failure::new(format!("could not {what}: the merge request's discussion is locked"));
                Error::GitlabAuth(failure.with("http_status", 403).help(
                    "Only members may comment on a locked discussion: make the token's user a member of the project, \
                     or unlock the discussion.",
                ))
            }
            _ => self.client.post_error(what, trouble),
        }
    }

    fn stop(&self, trouble: &Trouble) {
        let stop = Stop {
            reason: trouble.reason(),
            auth: matches!(trouble.status, Some(401 | 403)),
            note_limit: trouble.is_note_limit(),
        };
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(stop);
    }

    fn stop_reason(&self) -> Option<Stop> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, outcome: &Outcome<'_>) {
        let Some(planned) = outcome.discussion else { return };
        self.events.emit(Event::GitlabPostDiscussion {
            ok: outcome.item.ok,
            http_status: outcome.item.http_status,
            path: planned.path.clone(),
            line: planned.position.new_line.or(planned.position.old_line),
            retry: outcome.item.retry_count,
            rung: outcome.item.rung.clone(),
            finding_id: planned.finding_id.clone(),
        });
    }

    fn verdict(&self, outcomes: Vec<Outcome<'_>>) -> Sent {
        verdict(outcomes, self.engine)
    }
}

impl Stop {
    fn error(&self) -> Error {
        let failure = Failure::new(format!("not tried after an earlier refusal: {}", self.reason));
        if self.auth { Error::GitlabAuth(failure) } else { Error::GitlabPost(failure) }
    }
}

/// The summary's name in the ledger.
const SUMMARY: &str = "summary";

/// What is there could not be read, so nothing is written: it might be there already.
fn nothing_posted(plan: &PostPlan, error: Error, events: &Events, engine: &Engine) -> Sent {
    let error = match error {
        Error::GitlabPrior(failure) => Error::GitlabPost(failure),
        other => other,
    };
    let untried = || {
        let failure = Failure::new("not tried: what is in the merge request could not be read");
        if matches!(error, Error::GitlabAuth(_)) { Error::GitlabAuth(failure) } else { Error::GitlabPost(failure) }
    };
    let discussions = plan.discussions.iter().map(|planned| Outcome::new(PostKind::Discussion, Some(planned)));
    let mut outcomes: Vec<_> = discussions.map(|outcome| outcome.not_tried(untried())).collect();
    outcomes.insert(0, Outcome::new(PostKind::SummaryNote, None).failed(error));
    events.emit(Event::GitlabPostSummary { ok: false, http_status: None, id: None, retry: 0 });
    verdict(outcomes, engine)
}

fn verdict(mut outcomes: Vec<Outcome<'_>>, engine: &Engine) -> Sent {
    for outcome in &mut outcomes {
        outcome.item.error = outcome.error.as_ref().map(|error| error.info(engine));
    }
    let items: Vec<_> = outcomes.iter().map(|outcome| outcome.item.clone()).collect();
    let ok = items.iter().all(|item| item.ok);
    let error = (!ok).then(|| worst(outcomes, items.len()));
    Sent { results: PostResults { ok, items }, error }
}

/// The error of the whole: a refused token above all, else how many items are missing and why the first one is.
fn worst(outcomes: Vec<Outcome<'_>>, items: usize) -> Error {
    let mut missing: Vec<_> = outcomes.into_iter().filter(|outcome| !outcome.item.ok).collect();
    missing.sort_by_key(|outcome| outcome.untried);
    let failed = missing.len();
    let mut errors: Vec<_> = missing.into_iter().filter_map(|outcome| outcome.error).collect();
    let auth = errors.iter().position(|error| matches!(error, Error::GitlabAuth(_)));
    if let Some(index) = auth.or((items == 1).then_some(0)) {
        return errors.swap_remove(index);
    }
    let first = errors.first().map(Error::to_string).unwrap_or_default();
    let failure = Failure::new(format!("{failed} of {items} items could not be posted; the first: {first}"))
        .with("failed", failed)
        .with("items", items)
        .help("Run `diffsan post` on this workdir: it posts what is missing, and nothing twice.");
    Error::GitlabPost(failure.retryable())
}
