//! Executes a post plan: reads what is there, hands it to the protocol, and says what became of everything.

mod ledger;
mod threads;
mod wire;

use std::collections::BTreeMap;

use super::links::Links;
use super::protocol::{self, Delivered, End, Item, Mission, State};
use super::render::{self, Failed};
use crate::contracts::{Claim, PlannedDiscussion, PostItem, PostKind, PostPlan, PostResults};
use crate::error::{Error, Failure};
use crate::gitlab::{Client, DiffRefs, MergeRequest, Snapshot, Trouble, Version};
use crate::redact::Engine;
use crate::run::events::{Event, Events};
use crate::run::workdir::Workdir;
use crate::threads::story::{self, People};
use crate::threads::{ItemMark, NoteView, Own, Seal, Seen, Standing, marker};
use ledger::Ledger;
use threads::{Done, Threads};
use wire::{Said, Wire};

/// What became of a plan, and the error that says so.
#[derive(Debug)]
pub struct Sent {
    pub results: PostResults,
    /// `None` when every finding is in the merge request.
    pub error: Option<Error>,
    /// What counts now, by severity, and how much of it earlier reviews found: where the plan could not know.
    pub counted: Option<(BTreeMap<String, u64>, u64)>,
}

/// Posts what the plan lists and is not there yet: the summary as the claim, the discussions, the summary again.
pub async fn send(plan: &PostPlan, client: &Client, workdir: &Workdir, events: &Events, engine: &Engine) -> Sent {
    send_over(plan, None, client, workdir, (events, engine)).await
}

/// The same, with what the change shows: a plan made without sight of the merge request is told what stands there.
pub async fn send_over(
    plan: &PostPlan,
    standing: Option<&Standing>,
    client: &Client,
    workdir: &Workdir,
    (events, engine): (&Events, &Engine),
) -> Sent {
    let ledger = Ledger::open(workdir, events);
    let site = match Site::read(client, events).await {
        Ok(site) => site,
        Err(error) => return nothing_posted(plan, error, events, engine),
    };
    let plan = &fitted(plan, &site);
    let seal = client.seal(site.merge_request.project_id);
    let places = std::iter::once(&site.merge_request.web_url).chain(client.job_urls());
    let links = Links { places: places.cloned().collect() };
    let markers = summary_markers(plan);
    let mut sending = Sending { plan, client, events, engine, site, seal, links, markers, standing, people: None };
    if plan.claim.as_ref().is_some_and(|claim| claim.generation == 0) {
        // Made by a job that saw nothing of the merge request.
        let tag = plan.claim.as_ref().map(|claim| claim.tag.as_str()).unwrap_or_default();
        let own = Own { author: sending.site.author, tag, seal: &sending.seal };
        let seen = Seen::read(&sending.site.notes, &own);
        sending.people = Some(people(client, &seen, Some(&sending.site.merge_request)).await);
    }
    sending.run(&ledger).await
}

/// Roles are asked for only where somebody's word would settle a finding.
pub(crate) async fn people(client: &Client, own: &Seen, merge_request: Option<&MergeRequest>) -> People {
    const MOST: usize = 20;
    let mut people = People {
        author: merge_request.and_then(|merge_request| merge_request.author_id),
        own: own.author,
        ..People::default()
    };
    for user in story::judges(own).into_iter().filter(|user| Some(*user) != people.author).take(MOST) {
        if let Ok(role) = client.access_level(user).await {
            people.rights.insert(user, role);
        }
    }
    people
}

/// Removes what overlapping runs left double, where a run has nothing to post itself.
pub async fn tidy(
    client: &Client,
    own: &Own<'_>,
    idempotent: bool,
    workdir: &Workdir,
    (engine, events): (&Engine, &Events),
) {
    let ledger = Ledger::open(workdir, events);
    let (links, threads) = (Links::default(), Threads::default());
    let wire = Wire::new(client, (engine, events), &ledger, own.seal, (&links, &[]), &threads, Vec::new());
    if let Ok(removed) = protocol::tidy(&wire, own, idempotent).await
        && removed > 0
    {
        events.emit(Event::Warning {
            message: format!("{removed} notes that overlapping runs left double were removed"),
        });
    }
}

/// The merge request as it is before anything is written.
struct Site {
    /// The token's user, where GitLab tells.
    author: Option<u64>,
    merge_request: MergeRequest,
    versions: Vec<Version>,
    notes: Vec<NoteView>,
}

impl Site {
    async fn read(client: &Client, events: &Events) -> Result<Self, Error> {
        let Snapshot { user, merge_request, listing, versions } = client.snapshot().await;
        let merge_request = merge_request?;
        let listing = listing?;
        for message in listing.unread {
            events.emit(Event::Warning { message });
        }
        let author = match user {
            Ok(user) => Some(user.id),
            Err(error) if error.is_unauthorized() => return Err(error),
            Err(error) => {
                let message = format!("{error}: own notes are known by their signature only");
                events.emit(Event::Warning { message });
                None
            }
        };
        Ok(Self { author, merge_request, versions: versions.unwrap_or_default(), notes: listing.notes })
    }
}

/// Whether discussions can be posted at all.
enum Inline {
    Yes,
    /// The merge request's diff is between other commits now; how to say so.
    Moved {
        why: String,
    },
    /// GitLab does not say which commits the diff is of.
    Unknown,
}

struct Sending<'a> {
    plan: &'a PostPlan,
    client: &'a Client,
    events: &'a Events,
    engine: &'a Engine,
    site: Site,
    seal: Seal,
    links: Links,
    /// Values of the markers that the summary is to have.
    markers: Vec<String>,
    /// What the change shows, where that is known.
    standing: Option<&'a Standing>,
    /// Whose word settles a finding; known where the plan was made without sight of the merge request.
    people: Option<People>,
}

impl Sending<'_> {
    async fn run(&self, ledger: &Ledger<'_>) -> Sent {
        let inline = self.inline();
        let planned: Vec<&PlannedDiscussion> = match inline {
            Inline::Yes => self.plan.discussions.iter().collect(),
            _ => Vec::new(),
        };
        let claim = self.claim();
        let items: Vec<Item> = planned.iter().map(|planned| self.item(planned, &claim)).collect();
        let threads = Threads::new(&self.plan.resolve, &self.plan.reopen, self.site.author);
        let render = |states: &[State]| self.note(&claim, &inline, states, &threads.done());
        let now = self.client.now();
        let late = ledger.late(self.client.pace().settle).into_iter().map(|(write, left)| (write, now + left));
        let mission = Mission {
            claim: &claim,
            items: &items,
            notes: Some(self.site.notes.clone()),
            author: self.site.author,
            seal: &self.seal,
            render: &render,
            late: late.collect(),
            idempotent: self.plan.idempotent_summary,
            drafts: self.plan.drafts,
        };
        let own = (&self.links, self.markers.as_slice());
        let wire = Wire::new(self.client, (self.engine, self.events), ledger, &self.seal, own, &threads, planned);
        let delivered = protocol::deliver(&wire, &mission, &self.client.pace()).await;
        let mut sent = self.results(&wire, delivered, &inline);
        sent.counted = self.people.as_ref().map(|_| self.counted(&claim));
        let done = threads.done();
        let count = |notes: Vec<u64>| u32::try_from(notes.len()).unwrap_or(u32::MAX);
        (sent.results.resolved, sent.results.reopened) = (count(done.resolved), count(done.reopened));
        sent
    }

    fn inline(&self) -> Inline {
        let found = &self.site.merge_request;
        if found.state == "closed" || found.state == "merged" {
            let message =
                format!("{} is {} meanwhile; the review is posted all the same", self.client.name(), found.state);
            self.events.emit(Event::Warning { message });
        }
        let (Some(DiffRefs { head_sha, base_sha, .. }), Some(reviewed)) = (&found.diff_refs, &self.plan.head_sha)
        else {
            return if found.diff_refs.is_none() { Inline::Unknown } else { Inline::Yes };
        };
        let why = if head_sha != reviewed {
            format!("{reviewed} was reviewed, its head is {head_sha}")
        } else if let Some(base) = self.plan.base_sha.as_ref().filter(|base| *base != base_sha) {
            format!("the review compared with {base}, the merge request compares with {base_sha}")
        } else {
            return Inline::Yes;
        };
        let message = format!(
            "{} changed during the review: {why}. Nothing is posted on its lines; the summary has every finding.",
            self.client.name()
        );
        self.events.emit(Event::Warning { message });
        Inline::Moved { why }
    }

    /// What the plan claims; a plan of 0.1.0 has its markers only.
    fn claim(&self) -> Claim {
        let mut claim = self.plan.claim.clone().unwrap_or_else(|| old_claim(self.plan));
        let head = self.plan.head_sha.as_deref().unwrap_or_default();
        let version =
            self.site.versions.iter().filter(|version| version.refs.head_sha == head).map(|version| version.id);
        claim.version = version.max().unwrap_or(claim.version);
        if let Some(people) = &self.people {
            let own = Own { author: self.site.author, tag: &claim.tag, seal: &self.seal };
            let seen = Seen::read(&self.site.notes, &own);
            let again = seen.claims_of(&claim.nonce).map(|seen| seen.claim.generation).max();
            let highest = seen.claims.iter().map(|seen| seen.claim.generation).max().unwrap_or(0);
            claim.generation = again.unwrap_or(highest.saturating_add(1));
            story::catch_up(&seen.without(&claim.nonce), &mut claim.findings, self.standing, people);
        }
        claim
    }

    fn item(&self, planned: &PlannedDiscussion, claim: &Claim) -> Item {
        let text = marker::text(&planned.body_markdown);
        let id = render::marker_id(&planned.finding_id);
        let known = claim.findings.iter().find(|finding| finding.id == id && finding.adopted);
        Item {
            mark: ItemMark {
                line: planned.line_key.clone(),
                block: planned.block_key.clone(),
                finding: id,
                ..ItemMark::default()
            },
            text: self.clean(text),
            adopted: known.and_then(|known| known.note),
        }
    }

    /// The claim and its text, with what became of the items so far.
    fn note(&self, claim: &Claim, inline: &Inline, states: &[State], settled: &Done) -> (Claim, String) {
        let mut claim = claim.clone();
        for (planned, state) in self.plan.discussions.iter().zip(states) {
            let id = render::marker_id(&planned.finding_id);
            if let Some(known) = claim.findings.iter_mut().find(|finding| finding.id == id) {
                known.note = state.note().or(known.note);
            }
        }
        claim.delivered = states.iter().all(|state| matches!(state, State::There { .. } | State::Refused(_)));
        if claim.delivered {
            claim.review = None;
        }
        let text = self.clean(&self.settled(&self.text(inline, states), &claim, settled));
        (claim, text)
    }

    /// The planned summary, and every finding that has no place of its own, or none yet.
    fn text(&self, inline: &Inline, states: &[State]) -> String {
        let reason = |at: usize| match (states.get(at), inline) {
            (Some(State::There { .. }), _) => None,
            (Some(State::Refused(trouble) | State::Unknown(trouble)), _) => Some(trouble.reason()),
            (Some(State::Missing), _) => Some(String::new()),
            (None, Inline::Moved { why }) => Some(why.clone()),
            (None, _) => Some("GitLab does not say which commits the merge request's diff is of".to_owned()),
        };
        let reasons: Vec<_> = (0..self.plan.discussions.len()).map(reason).collect();
        let left: Vec<Failed<'_>> = self
            .plan
            .discussions
            .iter()
            .zip(&reasons)
            .filter_map(|(discussion, reason)| Some(Failed { discussion, reason: reason.as_deref()? }))
            .collect();
        let body = render::with_failed_items(&self.plan.summary_body, &left);
        let body = render::with_links(&body, &self.links(states));
        match (inline, &self.plan.head_sha) {
            (Inline::Moved { why }, Some(reviewed)) => format!(
                "This review is of commit `{reviewed}`. The merge request's diff is another by now, so no finding was \
                 placed on a line: {why}.\n\n{body}"
            ),
            _ => body,
        }
    }

    /// The findings that count, by severity, and how many of them only earlier reviews found.
    fn counted(&self, claim: &Claim) -> (BTreeMap<String, u64>, u64) {
        let mut counts = BTreeMap::new();
        for finding in claim.findings.iter().filter(|finding| !finding.dismissed) {
            *counts.entry(finding.severity.name().to_owned()).or_default() += 1;
        }
        let planned = self.plan.claim.as_ref().map_or(0, |planned| planned.findings.len());
        let standing = claim.findings.iter().skip(planned).filter(|finding| !finding.dismissed).count();
        (counts, standing as u64)
    }

    /// Comments of earlier findings that the plan did not know of and that stand.
    fn still_open(&self, claim: &Claim) -> Vec<u64> {
        let planned = self.plan.claim.as_ref().map_or(0, |planned| planned.findings.len());
        claim
            .findings
            .iter()
            .skip(planned)
            .filter(|finding| !finding.dismissed)
            .filter_map(|finding| finding.note)
            .collect()
    }

    /// The text with what became of earlier threads.
    fn settled(&self, text: &str, claim: &Claim, done: &Done) -> String {
        let url = &self.site.merge_request.web_url;
        let link = |(at, note): (usize, &u64)| format!("[{}]({url}#note_{note})", at + 1);
        let links = |notes: &[u64]| notes.iter().enumerate().map(link).collect::<Vec<_>>().join(", ");
        let still_open = self.still_open(claim);
        let lines = [
            ("Still open from earlier reviews", &still_open),
            ("Resolved by diffsan, since the line is gone and the fault with it", &done.resolved),
            ("Opened again by diffsan, since the fault is back", &done.reopened),
        ];
        let told = lines.into_iter().filter(|(_, notes)| !notes.is_empty()).map(|(what, notes)| match url.is_empty() {
            true => format!("{what}: {}.", notes.len()),
            false => format!("{what}: {}.", links(notes)),
        });
        render::with_section(text, &told.collect::<Vec<_>>().join("\n\n"))
    }

    /// Where the findings of this review stand.
    fn links<'s>(&'s self, states: &[State]) -> Vec<(&'s PlannedDiscussion, String)> {
        let url = &self.site.merge_request.web_url;
        let there = self.plan.discussions.iter().zip(states);
        there
            .filter_map(|(planned, state)| Some((planned, state.note()?)))
            .filter(|_| !url.is_empty())
            .map(|(planned, note)| (planned, format!("{url}#note_{note}")))
            .collect()
    }

    /// A text as it will be sent: without secrets, with nothing in it that acts, and with the markers that belong there.
    fn clean(&self, text: &str) -> String {
        let is_own = |value: &str| self.markers.iter().any(|marker| marker == value);
        super::wire::body(self.engine, text, &self.links.own(text, is_own)).into_string()
    }

    fn results(&self, wire: &Wire<'_>, delivered: Delivered, inline: &Inline) -> Sent {
        let (end, note) = (&delivered.end, delivered.note);
        let mut outcomes = vec![self.summary_outcome(wire.summary(), end, note, delivered.unchanged)];
        for (at, planned) in self.plan.discussions.iter().enumerate() {
            let said = if delivered.items.is_empty() { Said::default() } else { wire.item(at) };
            outcomes.push(self.outcome(planned, delivered.items.get(at), said, end, inline));
        }
        let superseded_by = match end {
            End::Superseded { note, newer } => {
                self.events.emit(Event::Warning { message: superseded(*note, *newer) });
                Some(*note)
            }
            _ => None,
        };
        let mut sent = conclude(outcomes, self.engine, superseded_by.is_some());
        sent.results.superseded_by = superseded_by;
        sent.results.removed = delivered.removed;
        sent
    }

    fn summary_outcome<'p>(&self, said: Said, end: &End, note: Option<u64>, unchanged: bool) -> Outcome<'p> {
        let mut outcome = Outcome::new(PostKind::SummaryNote, None);
        let what = format!("post the summary of {}", self.client.name());
        outcome.item.http_status = said.status;
        outcome.item.retry_count = said.retries;
        outcome.item.gitlab_id = note;
        outcome.item.ok = note.is_some();
        outcome.item.already_there = unchanged;
        outcome.error = match end {
            End::Done => None,
            End::Superseded { note, newer } => Some(Error::GitlabPost(Failure::new(superseded(*note, *newer)))),
            End::Unread(trouble) => Some(self.explain(&format!("read what is in {}", self.client.name()), trouble)),
            End::NotClaimed(trouble) => Some(self.explain(&what, trouble)),
        };
        self.events.emit(Event::GitlabPostSummary {
            ok: outcome.item.ok,
            http_status: outcome.item.http_status,
            id: outcome.item.gitlab_id,
            retry: outcome.item.retry_count,
        });
        outcome
    }

    fn outcome<'p>(
        &self,
        planned: &'p PlannedDiscussion,
        state: Option<&State>,
        said: Said,
        end: &End,
        inline: &Inline,
    ) -> Outcome<'p> {
        let mut outcome = Outcome::new(PostKind::Discussion, Some(planned));
        let claimed = matches!(end, End::Done);
        let what = format!("post finding {} on {}", planned.finding_id, planned.path);
        outcome.item.http_status = said.status;
        outcome.item.retry_count = said.retries;
        match state {
            Some(State::There { note, discussion, already }) => {
                outcome.item.ok = true;
                outcome.item.already_there = *already;
                outcome.item.gitlab_id = Some(*note);
                outcome.item.discussion_id.clone_from(discussion);
                outcome.item.rung = said.rung.filter(|_| !said.plain).map(str::to_owned);
                if said.plain && !already && said.rung.is_some() {
                    let message = format!("could not {what} on its line: GitLab stored it as a plain thread");
                    outcome.error = Some(Error::GitlabPosition(Failure::new(message)));
                } else {
                    outcome.error = said.refused.map(|trouble| self.explain(&what, &trouble));
                }
            }
            Some(State::Refused(trouble)) if claimed => {
                outcome.item.rung = Some("summary".to_owned());
                outcome.delivered = trouble.is_position();
                outcome.error = Some(self.explain(&what, trouble));
            }
            Some(State::Unknown(trouble) | State::Refused(trouble)) => {
                outcome.item.rung = claimed.then(|| "summary".to_owned());
                outcome.error = Some(self.explain(&what, trouble));
            }
            Some(State::Missing) => {
                outcome.untried = true;
                let failure =
                    Failure::new(format!("finding {} was not tried after an earlier refusal", planned.finding_id));
                outcome.error = Some(match end {
                    End::NotClaimed(trouble) if matches!(trouble.status, Some(401 | 403)) => Error::GitlabAuth(failure),
                    _ => Error::GitlabPost(failure),
                });
            }
            None => {
                outcome.item.rung = claimed.then(|| "summary".to_owned());
                outcome.delivered = claimed;
                let why = match inline {
                    Inline::Moved { why } => why,
                    _ => "GitLab does not say which commits the merge request's diff is of",
                };
                let message = format!("{} was not posted inline: {why}", planned.finding_id);
                outcome.error = Some(Error::GitlabPosition(Failure::new(message)));
            }
        }
        self.tell(&outcome, planned);
        outcome
    }

    /// A refusal in words; what is known of the merge request makes it plainer.
    fn explain(&self, what: &str, trouble: &Trouble) -> Error {
        match self.site.merge_request {
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

    fn tell(&self, outcome: &Outcome<'_>, planned: &PlannedDiscussion) {
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
}

/// A plan made without GitLab does not know which commit the target was at: the merge request's own version says.
fn fitted(plan: &PostPlan, site: &Site) -> PostPlan {
    let mut plan = plan.clone();
    let Some(refs) = &site.merge_request.diff_refs else { return plan };
    for planned in &mut plan.discussions {
        for position in std::iter::once(&mut planned.position).chain(&mut planned.fallbacks) {
            if position.base_sha == refs.base_sha && position.head_sha == refs.head_sha {
                position.start_sha.clone_from(&refs.start_sha);
            }
        }
    }
    plan
}

/// One item on its way into the results.
struct Outcome<'a> {
    item: PostItem,
    error: Option<Error>,
    discussion: Option<&'a PlannedDiscussion>,
    /// GitLab refused its place and the summary has it: it is in the merge request all the same.
    delivered: bool,
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
        Self { item, error: None, discussion, delivered: false, untried: false }
    }
}

fn superseded(note: u64, newer: bool) -> String {
    match newer {
        true => format!("nothing was posted: note {note} reviews a newer version of the merge request"),
        false => {
            format!("nothing was posted: note {note} reviews the same version of the merge request, by another run")
        }
    }
}

/// The markers of a summary: its tag, the fingerprint and the digest, each once. The plan was read from a folder, so any
/// other is somebody's text.
fn summary_markers(plan: &PostPlan) -> Vec<String> {
    let tag = plan.claim.as_ref().map_or_else(|| old_claim(plan).tag, |claim| claim.tag.clone());
    // Texts stand above the markers, so that the last of a kind is the summary's own.
    let last = |kind: &str| {
        let value = marker::values(&plan.summary_body, kind).last();
        value.map(|value| format!("{kind}{value}"))
    };
    [Some(tag), last("fingerprint:"), last("prior_digest:")].into_iter().flatten().collect()
}

/// A plan of 0.1.0 says by its markers whose it is; its own text names the review.
fn old_claim(plan: &PostPlan) -> Claim {
    let tag = marker::all(&plan.summary_body).find(|value| !value.contains(':')).unwrap_or_default();
    let fingerprint = marker::values(&plan.summary_body, "fingerprint:").last().unwrap_or_default();
    Claim {
        tag: tag.to_owned(),
        nonce: marker::sum(&format!("{:?} {:?}", plan.summary_body, plan.discussions)),
        generation: 1,
        head: plan.head_sha.clone().unwrap_or_default(),
        fingerprint: fingerprint.to_owned(),
        change: fingerprint.to_owned(),
        ..Claim::default()
    }
}

/// What is there could not be read, so nothing is written: it might be there already.
fn nothing_posted(plan: &PostPlan, error: Error, events: &Events, engine: &Engine) -> Sent {
    let untried = || {
        let failure = Failure::new("not tried: what is in the merge request could not be read");
        if matches!(error, Error::GitlabAuth(_)) { Error::GitlabAuth(failure) } else { Error::GitlabPost(failure) }
    };
    let discussions = plan.discussions.iter().map(|planned| Outcome::new(PostKind::Discussion, Some(planned)));
    let mut outcomes: Vec<_> =
        discussions.map(|outcome| Outcome { error: Some(untried()), untried: true, ..outcome }).collect();
    outcomes.insert(0, Outcome { error: Some(error), ..Outcome::new(PostKind::SummaryNote, None) });
    events.emit(Event::GitlabPostSummary { ok: false, http_status: None, id: None, retry: 0 });
    conclude(outcomes, engine, false)
}

fn conclude(mut outcomes: Vec<Outcome<'_>>, engine: &Engine, superseded: bool) -> Sent {
    for outcome in &mut outcomes {
        outcome.item.error = outcome.error.as_ref().map(|error| error.info(engine));
    }
    let items: Vec<_> = outcomes.iter().map(|outcome| outcome.item.clone()).collect();
    let ok = items.iter().all(|item| item.ok);
    let missing = outcomes.iter().any(|outcome| !outcome.item.ok && !outcome.delivered);
    let error = (missing && !superseded).then(|| worst(outcomes, items.len()));
    Sent {
        results: PostResults { ok, items, superseded_by: None, removed: 0, resolved: 0, reopened: 0 },
        error,
        counted: None,
    }
}

/// The error of the whole: a refused token above all, else how many items are missing and why the first one is.
fn worst(outcomes: Vec<Outcome<'_>>, items: usize) -> Error {
    let mut missing: Vec<_> = outcomes.into_iter().filter(|outcome| !outcome.item.ok && !outcome.delivered).collect();
    missing.sort_by_key(|outcome| (outcome.untried, outcome.discussion.is_some()));
    let failed = missing.len();
    let mut errors: Vec<_> = missing.into_iter().filter_map(|outcome| outcome.error).collect();
    let auth = errors.iter().position(|error| matches!(error, Error::GitlabAuth(_)));
    if let Some(index) = auth.or((items == 1 || matches!(errors.first(), Some(Error::GitlabPrior(_)))).then_some(0)) {
        return errors.swap_remove(index);
    }
    let first = errors.first().map(Error::to_string).unwrap_or_default();
    let failure = Failure::new(format!("{failed} of {items} items could not be posted; the first: {first}"))
        .with("failed", failed)
        .with("items", items)
        .help("Run `diffsan post` on this workdir: it posts what is missing, and nothing twice.");
    Error::GitlabPost(failure.retryable())
}
