//! A GitLab without HTTP and with its own clock: it applies writes late, loses answers, shows old lists, and people are
//! at work in it. Everything follows from a seed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use diffsan::gitlab::Trouble;
use diffsan::post::protocol::Forge;
use diffsan::threads::{ItemMark, NoteView};

/// Milliseconds since the world began.
pub(crate) type Time = u64;

pub(crate) const BOT: u64 = 7;
pub(crate) const PERSON: u64 = 99;
/// Latest moment at which a write is carried out after it was sent.
const LATEST: Time = 149_000;
/// When a client gives up on an answer.
const GIVE_UP: Time = 30_000;
/// How old a list may be.
const LAG: Time = 3_000;

/// A small generator of its own, so that a seed means the same for ever.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }

    /// True so many times in a hundred.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) id: u64,
    pub(crate) discussion: u64,
    pub(crate) author: u64,
    pub(crate) created: Time,
    pub(crate) deleted: Option<Time>,
    pub(crate) deleted_by_bot: bool,
    /// Each text with the time from which it stood.
    pub(crate) texts: Vec<(Time, String)>,
    pub(crate) resolved: Option<Time>,
    /// A person edited or deleted it, or resolved its thread.
    pub(crate) touched: bool,
}

impl Note {
    pub(crate) fn body(&self) -> &str {
        &self.texts[self.texts.len() - 1].1
    }

    fn view(&self, at: Time) -> Option<NoteView> {
        if self.created > at || self.deleted.is_some_and(|deleted| deleted <= at) {
            return None;
        }
        let (_, body) = self.texts.iter().rev().find(|(from, _)| *from <= at)?;
        Some(NoteView {
            id: self.id,
            body: body.clone(),
            author_id: Some(self.author),
            discussion_id: Some(self.discussion.to_string()),
            resolved: self.resolved.is_some_and(|resolved| resolved <= at),
            resolved_by: self.resolved.map(|_| PERSON),
            ..NoteView::default()
        })
    }
}

#[derive(Debug)]
enum Write {
    Note(String),
    Reply(u64, String),
    Text(u64, String),
    Delete(u64),
    Draft(String, bool),
    DropDraft(u64),
    Publish,
}

#[derive(Debug)]
struct Draft {
    id: u64,
    body: String,
    placed: bool,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) dice: Dice,
    pub(crate) notes: Vec<Note>,
    drafts: Vec<Draft>,
    pending: Vec<(Time, u64, Write)>,
    done: Vec<(u64, u64)>,
    timers: BTreeSet<Time>,
    serial: u64,
    /// How many writes in a hundred go wrong.
    pub(crate) faults: u64,
    pub(crate) log: Vec<String>,
}

impl World {
    pub(crate) fn new(seed: u64, faults: u64) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self {
            now: 0,
            dice: Dice::new(seed),
            notes: Vec::new(),
            drafts: Vec::new(),
            pending: Vec::new(),
            done: Vec::new(),
            timers: BTreeSet::new(),
            serial: 0,
            faults,
            log: Vec::new(),
        }))
    }

    /// Notes that stand now.
    pub(crate) fn standing(&self) -> Vec<NoteView> {
        self.notes.iter().filter_map(|note| note.view(self.now)).collect()
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.pending.is_empty()
    }

    pub(crate) fn wake_at(&mut self, time: Time) {
        self.timers.insert(time);
    }

    /// The next moment at which something happens.
    pub(crate) fn next(&self) -> Option<Time> {
        let pending = self.pending.iter().map(|(at, ..)| *at).min();
        let timer = self.timers.iter().next().copied();
        pending.into_iter().chain(timer).min()
    }

    pub(crate) fn advance(&mut self, to: Time) {
        self.now = self.now.max(to);
        self.timers.retain(|timer| *timer > self.now);
        let now = self.now;
        let mut due: Vec<_> = std::mem::take(&mut self.pending);
        due.sort_by_key(|(at, ticket, _)| (*at, *ticket));
        for (at, ticket, write) in due {
            if at > now {
                self.pending.push((at, ticket, write));
            } else if let Some(id) = self.apply(write) {
                self.done.push((ticket, id));
            }
        }
    }

    fn add(&mut self, discussion: Option<u64>, author: u64, body: String) -> u64 {
        self.serial += 1;
        let id = self.serial;
        self.notes.push(Note {
            id,
            discussion: discussion.unwrap_or(id),
            author,
            created: self.now,
            deleted: None,
            deleted_by_bot: false,
            texts: vec![(self.now, body.trim_end().to_owned())],
            resolved: None,
            touched: false,
        });
        id
    }

    fn apply(&mut self, write: Write) -> Option<u64> {
        let now = self.now;
        match write {
            Write::Note(body) => Some(self.add(None, BOT, body)),
            Write::Reply(discussion, body) => Some(self.add(Some(discussion), BOT, body)),
            Write::Text(id, body) => {
                let note = self.notes.iter_mut().find(|note| note.id == id && note.deleted.is_none())?;
                note.texts.push((now, body.trim_end().to_owned()));
                Some(id)
            }
            Write::Delete(id) => {
                let note = self.notes.iter_mut().find(|note| note.id == id)?;
                assert_eq!(note.author, BOT, "only own notes are deleted");
                if note.deleted.is_none() {
                    (note.deleted, note.deleted_by_bot) = (Some(now), true);
                }
                Some(id)
            }
            Write::Draft(body, placed) => {
                self.serial += 1;
                self.drafts.push(Draft { id: self.serial, body, placed });
                Some(self.serial)
            }
            Write::DropDraft(id) => {
                self.drafts.retain(|draft| draft.id != id);
                Some(id)
            }
            Write::Publish => {
                // A draft without a place is lost without a word.
                for draft in std::mem::take(&mut self.drafts) {
                    if draft.placed {
                        self.add(None, BOT, draft.body);
                    }
                }
                Some(0)
            }
        }
    }

    /// Somebody answers, resolves, edits or deletes.
    pub(crate) fn meddle(&mut self) {
        let now = self.now;
        let own: Vec<usize> = (0..self.notes.len())
            .filter(|at| self.notes[*at].author == BOT && self.notes[*at].deleted.is_none())
            .collect();
        let pick = self.dice.below(own.len() as u64) as usize;
        let Some(at) = own.get(pick).copied() else { return };
        let what = self.dice.below(4);
        let note = &mut self.notes[at];
        self.log.push(format!("{now}: person does {what} to {}", note.id));
        match what {
            0 => {
                let discussion = note.discussion;
                self.add(Some(discussion), PERSON, "I do not think so".into());
            }
            1 => (note.resolved, note.touched) = (Some(now), true),
            2 => {
                let edited = format!("edited: {}", note.body());
                note.texts.push((now, edited));
                note.touched = true;
            }
            _ => (note.deleted, note.touched) = (Some(now), true),
        }
    }
}

/// A client of the world, as a run has one.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) world: Rc<RefCell<World>>,
    pub(crate) name: String,
    /// The titles and places of the run's items: whether GitLab places them.
    pub(crate) placed: Vec<bool>,
}

/// How a write fares.
enum Fare {
    Answered,
    /// GitLab answers 500, having done it or not.
    Broken {
        done: bool,
    },
    /// No answer; it is done much later, or never.
    Lost {
        done: bool,
    },
}

impl Door {
    async fn until(&self, time: Time) {
        self.world.borrow_mut().wake_at(time);
        Until { world: Rc::clone(&self.world), time }.await;
    }

    async fn travel(&self) {
        let (now, time) = {
            let mut world = self.world.borrow_mut();
            (world.now, world.dice.below(400))
        };
        self.until(now + 5 + time).await;
    }

    /// Sends a write; what GitLab says to it.
    async fn send(&self, write: Write) -> Result<u64, Trouble> {
        let (ticket, answer, fare) = {
            let mut world = self.world.borrow_mut();
            let faults = world.faults;
            let fare = match (world.dice.chance(faults), world.dice.below(4)) {
                (false, _) => Fare::Answered,
                (true, 0) => Fare::Broken { done: true },
                (true, 1) => Fare::Broken { done: false },
                (true, 2) => Fare::Lost { done: false },
                (true, _) => Fare::Lost { done: true },
            };
            world.serial += 1;
            let ticket = world.serial;
            let sent = world.now;
            let soon = sent + 5 + world.dice.below(400);
            let late = sent + 5 + world.dice.below(LATEST);
            let line = format!("{sent}: {} sends {}", self.name, short(&write));
            world.log.push(line);
            let (done, at, answer) = match fare {
                Fare::Answered => (true, soon, soon + 5 + world.dice.below(200)),
                Fare::Broken { done } => (done, soon, soon + 5),
                Fare::Lost { done } => (done, late, sent + GIVE_UP),
            };
            if done {
                world.pending.push((at, ticket, write));
            }
            (ticket, answer, fare)
        };
        self.until(answer).await;
        match fare {
            Fare::Answered => {
                let world = self.world.borrow();
                let done = world.done.iter().find(|(known, _)| *known == ticket).map(|(_, id)| *id);
                done.ok_or_else(|| Trouble::refused(404, "404 Not found"))
            }
            Fare::Broken { .. } => Err(Trouble::refused(500, "500 Internal Server Error").as_uncertain()),
            Fare::Lost { .. } => Err(Trouble::lost("no answer in time")),
        }
    }

    fn snapshot(&self) -> (Time, Vec<NoteView>) {
        let mut world = self.world.borrow_mut();
        let lag = match world.dice.chance(70) {
            true => 0,
            false => world.dice.below(LAG),
        };
        let at = world.now.saturating_sub(lag);
        (at, world.notes.iter().filter_map(|note| note.view(at)).collect())
    }
}

fn short(write: &Write) -> String {
    match write {
        Write::Note(body) | Write::Draft(body, _) => match ItemMark::read(body) {
            Some(mark) => format!("item {} of {}", mark.finding, mark.nonce),
            None => "claim".into(),
        },
        other => format!("{other:?}").chars().take(40).collect(),
    }
}

struct Until {
    world: Rc<RefCell<World>>,
    time: Time,
}

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.world.borrow().now >= self.time { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Forge for Door {
    async fn list(&self) -> Result<Vec<NoteView>, Trouble> {
        self.travel().await;
        let fails = {
            let mut world = self.world.borrow_mut();
            let faults = world.faults / 4;
            world.dice.chance(faults)
        };
        if fails {
            return Err(Trouble::lost("no list"));
        }
        let (_, notes) = self.snapshot();
        self.travel().await;
        Ok(notes)
    }

    async fn thread(&self, discussion: &str) -> Result<Option<Vec<NoteView>>, Trouble> {
        self.travel().await;
        let world = self.world.borrow();
        let notes: Vec<_> =
            world.standing().into_iter().filter(|note| note.discussion_id.as_deref() == Some(discussion)).collect();
        Ok((!notes.is_empty()).then_some(notes))
    }

    async fn create_note(&self, body: &str) -> Result<u64, Trouble> {
        self.send(Write::Note(body.to_owned())).await
    }

    async fn update_note(&self, id: u64, body: &str) -> Result<(), Trouble> {
        self.send(Write::Text(id, body.to_owned())).await.map(|_| ())
    }

    async fn delete_note(&self, id: u64) -> Result<(), Trouble> {
        self.send(Write::Delete(id)).await.map(|_| ())
    }

    async fn create_item(&self, item: usize, body: &str) -> Result<u64, Trouble> {
        if !self.placed[item] {
            self.travel().await;
            return Err(Trouble::refused(400, "line_code can't be blank"));
        }
        self.send(Write::Note(body.to_owned())).await
    }

    async fn reply(&self, discussion: &str, body: &str) -> Result<(), Trouble> {
        self.send(Write::Reply(discussion.parse().unwrap_or(0), body.to_owned())).await.map(|_| ())
    }

    async fn settle_threads(&self) {}

    async fn drafts(&self) -> Result<Vec<(u64, String)>, Trouble> {
        self.travel().await;
        Ok(self.world.borrow().drafts.iter().map(|draft| (draft.id, draft.body.clone())).collect())
    }

    async fn create_draft(&self, item: usize, body: &str) -> Result<bool, Trouble> {
        let id = self.send(Write::Draft(body.to_owned(), self.placed[item])).await?;
        if !self.placed[item] {
            self.send(Write::DropDraft(id)).await?;
        }
        Ok(self.placed[item])
    }

    async fn delete_draft(&self, id: u64) -> Result<(), Trouble> {
        self.send(Write::DropDraft(id)).await.map(|_| ())
    }

    async fn publish(&self) -> Result<(), Trouble> {
        self.send(Write::Publish).await.map(|_| ())
    }

    fn unique(&self) -> String {
        let mut world = self.world.borrow_mut();
        world.serial += 1;
        format!("w{}", world.serial)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.world.borrow().now)
    }

    async fn sleep(&self, time: Duration) {
        let now = self.world.borrow().now;
        self.until(now + u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)).await;
    }

    fn warn(&self, message: String) {
        let mut world = self.world.borrow_mut();
        let line = format!("{}: {} warns: {message}", world.now, self.name);
        world.log.push(line);
    }
}

/// A run under way.
pub(crate) struct Task {
    pub(crate) future: Pin<Box<dyn Future<Output = ()>>>,
    /// When it is killed.
    pub(crate) killed_at: Option<Time>,
}

/// Runs everything to its end; people meddle at these times. Returns when nothing is left to happen.
pub(crate) fn play(world: &Rc<RefCell<World>>, mut tasks: Vec<(Time, Task)>, mut people: Vec<Time>) {
    let mut running: Vec<Task> = Vec::new();
    for (start, task) in &tasks {
        let mut world = world.borrow_mut();
        world.wake_at(*start);
        task.killed_at.into_iter().for_each(|at| world.wake_at(at));
    }
    people.iter().for_each(|at| world.borrow_mut().wake_at(*at));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        let now = world.borrow().now;
        let (due, later): (Vec<_>, Vec<_>) = tasks.into_iter().partition(|(start, _)| *start <= now);
        tasks = later;
        running.extend(due.into_iter().map(|(_, task)| task));
        running.retain(|task| task.killed_at.is_none_or(|at| at > now));
        while let Some(at) = people.iter().position(|at| *at <= now) {
            people.swap_remove(at);
            world.borrow_mut().meddle();
        }
        running.retain_mut(|task| task.future.as_mut().poll(&mut context).is_pending());
        let next = world.borrow().next();
        match next {
            Some(next) if next > now => world.borrow_mut().advance(next),
            Some(_) => {
                let now = world.borrow().now;
                world.borrow_mut().advance(now);
            }
            None => return,
        }
    }
}
