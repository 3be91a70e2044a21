//! What this review adds to what was said before: new, said already, refused, settled.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::{self, Keys, Known, Said, Standing};
use super::marker;
use super::seen::{Reply, Seen, SeenClaim, Thread};
use crate::contracts::{
    Category, Claim, ClaimFinding, Conversation, ConversationItem, EarlierReview, Finding, PlannedResolve, Severity,
};
use crate::diff::Diff;
use crate::post::render;

/// Who is who in the merge request.
#[derive(Debug, Clone, Default)]
pub struct People {
    /// Wrote the merge request.
    pub author: Option<u64>,
    /// The token's user.
    pub own: Option<u64>,
    /// Roles in the project, as GitLab numbers them; who is not here has none that is known.
    pub rights: BTreeMap<u64, u32>,
}

impl People {
    /// May settle a finding of somebody else's change: Developer or more, and not the author.
    fn decides(&self, user: Option<u64>) -> bool {
        user.is_some()
            && user != self.author
            && user.and_then(|user| self.rights.get(&user)).is_some_and(|role| *role >= DEVELOPER)
    }
}

const DEVELOPER: u32 = 30;

/// What is to become of a finding of this review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Nobody was told before.
    New,
    /// An earlier review says it already, here.
    Repeated { note: Option<u64> },
    /// An earlier review says it, in a thread that diffsan resolved since: it is opened again.
    Back { note: Option<u64> },
    /// A person refused it: it is not said again.
    Dismissed { note: Option<u64>, counted: bool, why: String },
}

/// The story up to this review.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// For each finding of the review.
    pub told: Vec<Told>,
    /// The keys of each.
    pub keys: Vec<Keys>,
    /// What the new claim keeps: the review's findings, then the earlier ones that stand.
    pub findings: Vec<ClaimFinding>,
    pub conversation: Conversation,
    /// Threads that diffsan resolved and whose fault is back.
    pub reopen: Vec<PlannedResolve>,
}

impl Story {
    /// Findings by severity that the gate counts: those of this review and those that still stand, without what somebody
    /// with the right to it refused.
    pub fn counted(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for finding in self.findings.iter().filter(|finding| !finding.dismissed) {
            *counts.entry(finding.severity.name().to_owned()).or_default() += 1;
        }
        counts
    }

    /// Earlier findings that stand and were not found again.
    pub fn standing(&self) -> usize {
        self.findings.len() - self.told.len()
    }
}

/// Tells the story. `url` is the merge request's address.
pub fn tell(seen: &Seen, review: &[Finding], diff: &Diff<'_>, people: &People, url: Option<&str>) -> Story {
    let earlier = earlier(seen);
    let standing = standing(&earlier, diff);
    let keys: Vec<Keys> = review.iter().map(|finding| keys::keys(diff, finding)).collect();
    let titles: Vec<String> = review.iter().map(render::title).collect();
    let known = known(review, &keys, &titles, &earlier);
    let link = |note: Option<u64>| Some(format!("{}#note_{}", url?, note?));
    let mut story = Story { keys, ..Story::default() };
    let mut found_again = BTreeSet::new();
    for (at, finding) in review.iter().enumerate() {
        let told = match known[at] {
            Some(Known::Same(before)) => {
                found_again.insert(before);
                let earlier = &earlier[before];
                let told = again(earlier, &story.keys[at], &standing, people);
                story.reopen.extend(
                    earlier.thread.filter(|_| told == Told::Back { note: earlier.finding.note }).and_then(back),
                );
                told
            }
            _ => Told::New,
        };
        let kept = kept(finding, &story.keys[at], &titles[at], &told);
        let mut item = item(&kept, link(kept.note));
        match &told {
            Told::New => {
                if let Some(Known::Moved(before)) = known[at] {
                    item.url = link(earlier[before].finding.note);
                    item.reason = Some("much the same was said where this code stood before".to_owned());
                }
                story.conversation.new.push(item);
            }
            Told::Repeated { .. } => story.conversation.still_open.push(item),
            Told::Back { .. } => {
                item.reason = Some("it is back: diffsan had resolved its thread".to_owned());
                story.conversation.still_open.push(item);
            }
            Told::Dismissed { why, .. } => {
                item.reason = Some(why.clone());
                story.conversation.dismissed.push(item);
            }
        }
        story.told.push(told);
        story.findings.push(kept);
    }
    for (_, before) in earlier.iter().enumerate().filter(|(at, _)| !found_again.contains(at)) {
        let summary = seen.winner().map(|winner| winner.note);
        let mut entry = item(&before.finding, link(before.finding.note.or(summary)));
        match judge(before, &standing, people) {
            Status::Open => {
                story.conversation.still_open.push(entry);
                story.findings.push(ClaimFinding { adopted: before.finding.note.is_some(), ..before.finding.clone() });
            }
            Status::Refused { counted, why } => {
                (entry.counted, entry.reason) = (counted, Some(why));
                story.conversation.dismissed.push(entry);
                let adopted = before.finding.note.is_some();
                story.findings.push(ClaimFinding { dismissed: !counted, adopted, ..before.finding.clone() });
            }
            Status::Settled(why) => {
                (entry.counted, entry.reason) = (false, Some(why));
                story.conversation.resolved.push(entry);
            }
        }
    }
    story.conversation.since = seen.winner().map(|winner| since(winner, url));
    story
}

/// The findings of a claim as they stand now, for a change that is not reviewed again.
pub fn standing_now(seen: &Seen, claim: &Claim, people: &People) -> Vec<ClaimFinding> {
    let now = claim.findings.iter().map(|finding| {
        let thread = finding.note.and_then(|note| seen.thread(note));
        let dismissed = match thread.map(|thread| refusal(thread, people)) {
            Some(Some((counted, _))) => !counted,
            _ => finding.dismissed && thread.is_none(),
        };
        ClaimFinding { dismissed, ..finding.clone() }
    });
    now.collect()
}

/// What a review made without sight of the merge request would have known: its findings get the comments that say them
/// already, and earlier findings that stand are added. `standing` is what the change shows; where that is not known,
/// nothing is added.
pub fn catch_up(seen: &Seen, findings: &mut Vec<ClaimFinding>, standing: Option<&Standing>, people: &People) {
    let mut earlier = earlier(seen);
    // A comment of 0.1.0 has no keys to be known by.
    earlier.retain(|earlier| !earlier.finding.line.is_empty());
    let known = {
        let before: Vec<Said<'_>> =
            earlier.iter().map(|earlier| said_before(&earlier.finding.line, &earlier.finding)).collect();
        let new: Vec<Said<'_>> = findings.iter().map(|finding| said_before(&finding.line, finding)).collect();
        keys::pair(&new, &before)
    };
    let mut found_again = BTreeSet::new();
    for (finding, known) in findings.iter_mut().zip(known) {
        let Some(Known::Same(before)) = known else { continue };
        found_again.insert(before);
        let Some(thread) = earlier[before].thread.filter(|thread| !resolved_by_diffsan(thread, people)) else {
            continue;
        };
        let refused = refusal(thread, people);
        // A refusal holds for the block it was said of.
        if refused.is_none() || earlier[before].finding.block == finding.block {
            finding.dismissed = refused.is_some_and(|(counted, _)| !counted);
            (finding.note, finding.adopted) = (Some(thread.note), true);
        }
    }
    let Some(standing) = standing else { return };
    for (_, before) in earlier.iter().enumerate().filter(|(at, _)| !found_again.contains(at)) {
        let adopted = before.finding.note.is_some();
        match judge(before, standing, people) {
            Status::Settled(_) => {}
            Status::Open => findings.push(ClaimFinding { adopted, ..before.finding.clone() }),
            Status::Refused { counted, .. } => {
                findings.push(ClaimFinding { adopted, dismissed: !counted, ..before.finding.clone() });
            }
        }
    }
}

/// Where the diff stands; only what was said before is compared with it.
fn standing(earlier: &[Earlier<'_>], diff: &Diff<'_>) -> Standing {
    if earlier.is_empty() { Standing::default() } else { Standing::of(diff) }
}

/// Earlier findings that people refused and whose code still stands, with the reason.
pub fn refused(seen: &Seen, diff: &Diff<'_>, people: &People) -> Vec<ConversationItem> {
    let earlier = earlier(seen);
    let standing = standing(&earlier, diff);
    let items = earlier.iter().filter_map(|earlier| match judge(earlier, &standing, people) {
        Status::Refused { counted, why } => {
            Some(ConversationItem { counted, reason: Some(why), ..item(&earlier.finding, None) })
        }
        _ => None,
    });
    items.collect()
}

/// Everybody whose word may settle a finding: their roles have to be known.
pub fn judges(seen: &Seen) -> BTreeSet<u64> {
    let threads = seen.threads.iter();
    threads
        .flat_map(|thread| {
            let reply = thread.replies.iter().filter(|reply| is_refusal(&reply.body)).filter_map(|reply| reply.author);
            thread.resolved_by.into_iter().chain(reply)
        })
        .filter(|user| Some(*user) != seen.author)
        .collect()
}

/// A finding of an earlier review, and the comment that carries it.
struct Earlier<'a> {
    finding: ClaimFinding,
    thread: Option<&'a Thread>,
}

/// What the claim that holds says, and own comments that it does not know of.
fn earlier(seen: &Seen) -> Vec<Earlier<'_>> {
    let claimed = seen.winner().map(|winner| winner.claim.findings.clone()).unwrap_or_default();
    let known: BTreeSet<u64> = claimed.iter().filter_map(|finding| finding.note).collect();
    let claimed =
        claimed.into_iter().map(|finding| Earlier { thread: finding.note.and_then(|note| seen.thread(note)), finding });
    let others = seen.threads.iter().filter(|thread| !known.contains(&thread.note));
    claimed.chain(others.map(|thread| Earlier { finding: from_thread(thread), thread: Some(thread) })).collect()
}

/// A comment as a finding: what its first line says, and its marks.
fn from_thread(thread: &Thread) -> ClaimFinding {
    let text = marker::text(&thread.body);
    let label = text.strip_prefix("**[").and_then(|rest| rest.split_once("]**"));
    let (category, severity) = label.and_then(|(label, _)| label.split_once('/')).unwrap_or_default();
    let title = label.map_or(text, |(_, rest)| rest).trim();
    let line = title.lines().next().unwrap_or_default();
    ClaimFinding {
        id: thread.mark.finding.clone(),
        line: thread.mark.line.clone(),
        block: thread.mark.block.clone(),
        moved: String::new(),
        path: thread.path.clone().unwrap_or_default(),
        start: thread.line.unwrap_or(0),
        end: thread.line.unwrap_or(0),
        side: crate::contracts::Side::New,
        severity: Severity::ALL.into_iter().find(|known| known.name() == severity).unwrap_or(Severity::Info),
        category: category_named(category),
        title: line.chars().take(200).collect(),
        note: Some(thread.note),
        adopted: true,
        dismissed: false,
    }
}

fn category_named(name: &str) -> Category {
    serde_json::from_value(serde_json::Value::from(name)).unwrap_or(Category::Other)
}

fn known(review: &[Finding], keys: &[Keys], titles: &[String], earlier: &[Earlier<'_>]) -> Vec<Option<Known>> {
    // A comment of 0.1.0 has no keys, but its id is made of path, category and line.
    let old = |id: &str| format!("old:{}", render::marker_id(id));
    let before: Vec<(String, &ClaimFinding)> = earlier
        .iter()
        .map(|earlier| {
            let finding = &earlier.finding;
            (if finding.line.is_empty() { old(&finding.id) } else { finding.line.clone() }, finding)
        })
        .collect();
    let before: Vec<Said<'_>> = before.iter().map(|(line, finding)| said_before(line, finding)).collect();
    let new = |at: usize| said(&review[at], &keys[at], &titles[at]);
    let ids: Vec<String> = review.iter().map(|finding| old(&finding.finding_id)).collect();
    let by_keys = keys::pair(&(0..review.len()).map(new).collect::<Vec<_>>(), &before);
    let by_ids: Vec<Said<'_>> = (0..review.len()).map(|at| Said { line: &ids[at], moved: "", ..new(at) }).collect();
    let by_ids = keys::pair(&by_ids, &before);
    by_keys.into_iter().zip(by_ids).map(|(one, other)| one.or(other)).collect()
}

fn said<'a>(finding: &'a Finding, keys: &'a Keys, title: &'a str) -> Said<'a> {
    Said {
        line: &keys.line,
        block: &keys.block,
        moved: &keys.moved,
        title,
        category: finding.category,
        severity: finding.severity,
    }
}

fn said_before<'a>(line: &'a str, finding: &'a ClaimFinding) -> Said<'a> {
    Said {
        line,
        block: &finding.block,
        moved: &finding.moved,
        title: &finding.title,
        category: finding.category,
        severity: finding.severity,
    }
}

/// A finding that an earlier review had: said already, refused, or back again.
fn again(earlier: &Earlier<'_>, keys: &Keys, standing: &Standing, people: &People) -> Told {
    let note = earlier.finding.note;
    let same_block = earlier.finding.block == keys.block;
    match judge(earlier, standing, people) {
        Status::Refused { counted, why } if same_block => Told::Dismissed { note, counted, why },
        // Settled, or refused where the code was another: it is said anew.
        Status::Refused { .. } => Told::New,
        Status::Settled(_) if earlier.thread.is_some_and(|thread| resolved_by_diffsan(thread, people)) => {
            Told::Back { note }
        }
        Status::Settled(_) if earlier.thread.is_some_and(|thread| thread.resolved) => Told::New,
        // It stood in a summary only: there is no comment to point at, so it is told in full.
        _ if note.is_none() => Told::New,
        _ => Told::Repeated { note },
    }
}

enum Status {
    Open,
    Refused { counted: bool, why: String },
    Settled(String),
}

fn judge(earlier: &Earlier<'_>, standing: &Standing, people: &People) -> Status {
    let finding = &earlier.finding;
    let stands = finding.line.is_empty() || finding.block.is_empty() || standing.has_line(&finding.line);
    if !stands {
        return Status::Settled("its line is gone".to_owned());
    }
    if finding.severity == Severity::Info {
        return Status::Settled("it was for information only".to_owned());
    }
    let Some(thread) = earlier.thread else {
        return match finding.dismissed {
            true => Status::Refused { counted: false, why: "it was refused before".to_owned() },
            false => Status::Open,
        };
    };
    if resolved_by_diffsan(thread, people) {
        return Status::Settled("diffsan resolved it".to_owned());
    }
    match refusal(thread, people) {
        Some((counted, why)) => Status::Refused { counted, why },
        None => Status::Open,
    }
}

fn resolved_by_diffsan(thread: &Thread, people: &People) -> bool {
    thread.resolved && thread.resolved_by.is_some() && thread.resolved_by == people.own
}

/// The thread as one to open again.
fn back(thread: &Thread) -> Option<PlannedResolve> {
    let (finding_id, note_id) = (thread.mark.finding.clone(), thread.note);
    Some(PlannedResolve { finding_id, discussion_id: thread.discussion.clone()?, note_id })
}

/// Whether a person refused it: still counted where only the author did.
fn refusal(thread: &Thread, people: &People) -> Option<(bool, String)> {
    if thread.resolved && thread.resolved_by != people.own {
        let decided = people.decides(thread.resolved_by);
        return Some((!decided, "its thread was resolved".to_owned()));
    }
    let reply = thread.replies.last().filter(|reply| is_refusal(&reply.body))?;
    Some((!people.decides(reply.author), said_in_short(reply)))
}

/// A refusal stands at the start of what the person wrote, after what they quoted.
fn is_refusal(body: &str) -> bool {
    const WORDS: &[&str] = &[
        "false positive",
        "false alarm",
        "won't fix",
        "wont fix",
        "wontfix",
        "will not fix",
        "by design",
        "works as designed",
        "as designed",
        "intended",
        "this is intended",
        "as intended",
        "not a bug",
        "not an issue",
        "disagree",
        "i disagree",
        "accepted risk",
        "acceptable",
    ];
    let text = unquoted(body).replace('’', "'").to_lowercase();
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    WORDS
        .iter()
        .any(|word| text.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric())))
}

fn unquoted(body: &str) -> String {
    let lines = body.lines().map(str::trim).filter(|line| !line.starts_with('>') && !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

fn said_in_short(reply: &Reply) -> String {
    if reply.internal {
        return "answered in an internal note".to_owned();
    }
    let text: String = unquoted(&reply.body).chars().take(200).collect();
    format!("answered: {text}")
}

fn kept(finding: &Finding, keys: &Keys, title: &str, told: &Told) -> ClaimFinding {
    let (note, dismissed) = match told {
        Told::New => (None, false),
        Told::Repeated { note } | Told::Back { note } => (*note, false),
        Told::Dismissed { note, counted, .. } => (*note, !counted),
    };
    ClaimFinding {
        id: render::marker_id(&finding.finding_id),
        line: keys.line.clone(),
        block: keys.block.clone(),
        moved: keys.moved.clone(),
        path: finding.path.chars().take(1_000).collect(),
        start: finding.line_start,
        end: finding.line_end,
        side: finding.side,
        severity: finding.severity,
        category: finding.category,
        title: title.to_owned(),
        note,
        adopted: note.is_some(),
        dismissed,
    }
}

fn item(finding: &ClaimFinding, url: Option<String>) -> ConversationItem {
    ConversationItem {
        finding_id: finding.id.clone(),
        title: finding.title.clone(),
        path: finding.path.clone(),
        line: Some(finding.start).filter(|line| *line > 0),
        severity: finding.severity,
        category: Some(finding.category),
        note_id: finding.note,
        url,
        counted: !finding.dismissed,
        reason: None,
    }
}

fn since(winner: &SeenClaim, url: Option<&str>) -> EarlierReview {
    EarlierReview {
        note_id: winner.note,
        url: url.map(|url| format!("{url}#note_{}", winner.note)),
        head_sha: Some(winner.claim.head.clone()).filter(|head| !head.is_empty()),
    }
}

#[cfg(test)]
mod tests;
