//! Child processes that are alive, so that none of them outlives the run: a guard kills its process group when it is
//! dropped, and [`kill_all`] kills every group at once for the ways out on which nothing is dropped.
//!
//! What leaves its group keeps the mark in its environment. What clears that too loses its parent sooner or later, and on
//! Linux the next one is diffsan ([`adopt`]): such orphans belong to nobody else and are ended with the child.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal, test_kill_process_group,
};

use crate::run::clock;

/// Variable that marks a child and everything it starts; descendants that leave the process group keep it.
pub const TAG: &str = "DIFFSAN_CHILD";

static LIVE: Mutex<BTreeMap<u32, Option<String>>> = Mutex::new(BTreeMap::new());

/// The run is over; what is started now has no business any more.
static OVER: AtomicBool = AtomicBool::new(false);

/// Keeps a process group on the list; kills what is left of it when dropped.
#[derive(Debug)]
#[must_use = "the process group is killed when the guard is dropped"]
pub struct Guard {
    group: u32,
    tag: Option<String>,
}

/// Puts the group that `pid` leads on the list.
pub fn register(pid: u32) -> Guard {
    enlist(pid, None)
}

/// Likewise for a child that carries `tag` in [`TAG`]: its descendants are found outside the group too.
pub fn register_tagged(pid: u32, tag: &str) -> Guard {
    enlist(pid, Some(tag.to_owned()))
}

/// A value for [`TAG`] that no other child has.
pub fn new_tag() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}-{}", std::process::id(), clock::now().unix_timestamp_nanos())
}

/// Kills every group on the list at once, and from now on every one that would join it; for panics and signals.
/// True when there was one.
pub fn kill_all() -> bool {
    let live = live();
    OVER.store(true, Ordering::SeqCst);
    for (group, tag) in live.iter() {
        signal(*group, tag.as_deref(), Signal::KILL);
    }
    let any = !live.is_empty();
    drop(live);
    if any {
        end_orphans(&BTreeMap::new());
    }
    any
}

/// Makes diffsan the parent of what its children leave behind, where the system knows such a thing.
pub fn adopt() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Makes diffsan's memory and its environment unreadable to other processes of the same user: a job's tokens are in it.
pub fn make_unreadable() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Keeps other processes of the same user from reading this one's memory and environment, where the system can (Linux). An
/// agent's program runs as the same user, and the environment of a CI job holds more than the agent may see.
pub fn hide_self() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Whether a process is on the list or descends from one that is; `None` where the system does not show who descends from
/// whom.
pub fn descends_from_live(pid: u32) -> Option<bool> {
    const MAX_DEPTH: usize = 64;
    if !Path::new("/proc/self/stat").exists() {
        return None;
    }
    let live: Vec<u32> = live().keys().copied().collect();
    let mut pid = pid;
    for _ in 0..MAX_DEPTH {
        let Some((parent, group)) = family(pid) else { return Some(false) };
        if live.contains(&pid) || live.contains(&group) {
            return Some(true);
        }
        pid = parent;
    }
    Some(false)
}

/// Parent and group of a process.
fn family(pid: u32) -> Option<(u32, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

impl Guard {
    /// Asks the group to end.
    pub fn terminate(&self) {
        signal(self.group, self.tag.as_deref(), Signal::TERM);
    }

    /// Ends the group, and what left it.
    pub fn kill(&self) {
        signal(self.group, self.tag.as_deref(), Signal::KILL);
        end_orphans(&self.others());
    }

    /// The other groups that are alive.
    fn others(&self) -> BTreeMap<u32, Option<String>> {
        let mut others = live().clone();
        others.remove(&self.group);
        others
    }

    /// Whether something of it still runs. The dead that nobody has buried yet do not count: some containers' first
    /// process takes its time for that.
    pub fn is_alive(&self) -> bool {
        let tag = self.tag.as_deref().map(needle);
        if !orphans(&self.others()).is_empty() {
            return true;
        }
        match processes() {
            Some(mut processes) => processes.any(|(_, folder)| {
                let tagged = tag.as_ref().is_some_and(|needle| carries(&folder, needle));
                tagged || is_member(&folder, self.group)
            }),
            None => leader(self.group).is_some_and(|pid| test_kill_process_group(pid).is_ok()),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.kill();
        live().remove(&self.group);
    }
}

fn enlist(pid: u32, tag: Option<String>) -> Guard {
    live().insert(pid, tag.clone());
    let guard = Guard { group: pid, tag };
    if OVER.load(Ordering::SeqCst) {
        guard.kill();
    }
    guard
}

fn live() -> MutexGuard<'static, BTreeMap<u32, Option<String>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals the group, and the tagged processes outside it.
fn signal(group: u32, tag: Option<&str>, signal: Signal) {
    if let Some(pid) = leader(group) {
        let _ = kill_process_group(pid, signal);
    }
    let (Some(needle), Some(processes)) = (tag.map(needle), processes()) else { return };
    for (pid, folder) in processes {
        // The handle is taken before the look, so that a number that was given away meanwhile hits nobody.
        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
            && carries(&folder, &needle)
        {
            let _ = pidfd_send_signal(handle, signal);
        }
    }
}

/// Ends what was left behind by nobody in `others`, and what that leaves behind in turn.
fn end_orphans(others: &BTreeMap<u32, Option<String>>) {
    const GENERATIONS: usize = 64;
    for _ in 0..GENERATIONS {
        let orphans = orphans(others);
        for pid in &orphans {
            let _ = rustix::process::kill_process(*pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(*pid), rustix::process::WaitOptions::NOHANG);
        }
        if orphans.is_empty() {
            return;
        }
    }
}

/// Processes that lost their parent and were given to diffsan. The system gives them to its first thread, which starts no
/// child of its own that is not on the list.
fn orphans(others: &BTreeMap<u32, Option<String>>) -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/self/task/{own}/children")).unwrap_or_default();
    let needles: Vec<_> = others.values().flatten().map(|tag| needle(tag)).collect();
    let belongs = |pid: &Pid| {
        let folder = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
        is_leader(pid)
            || others.keys().any(|group| is_member(&folder, *group))
            || needles.iter().any(|needle| carries(&folder, needle))
    };
    let is_dead = |pid: &Pid| {
        let dead = is_zombie(&PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero())));
        if dead {
            let _ = rustix::process::waitpid(Some(*pid), rustix::process::WaitOptions::NOHANG);
        }
        dead
    };
    let pids = children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    pids.filter(|pid| !belongs(pid) && !is_dead(pid)).collect()
}

/// Whether a process is a child that diffsan started itself.
fn is_leader(pid: &Pid) -> bool {
    u32::try_from(pid.as_raw_nonzero().get()).is_ok_and(|pid| live().contains_key(&pid))
}

fn is_zombie(folder: &Path) -> bool {
    let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

fn leader(group: u32) -> Option<Pid> {
    // `kill(-1)` would be everyone's end.
    i32::try_from(group).ok().and_then(Pid::from_raw).filter(|pid| !pid.is_init())
}

/// Every process with its folder, where the system shows them (Linux); elsewhere the group is all there is.
fn processes() -> Option<impl Iterator<Item = (Pid, PathBuf)>> {
    let entries = fs::read_dir("/proc").ok()?;
    Some(entries.flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((Pid::from_raw(pid)?, entry.path()))
    }))
}

fn needle(tag: &str) -> Vec<u8> {
    format!("{TAG}={tag}\0").into_bytes()
}

fn carries(folder: &Path, needle: &[u8]) -> bool {
    fs::read(folder.join("environ")).is_ok_and(|environ| memmem::find(&environ, needle).is_some())
}

/// By `stat`: after the name in parentheses come the state, the parent and the group.
fn is_member(folder: &Path, group: u32) -> bool {
    let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
    let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
    let mut fields = rest.split(' ');
    let (state, group_of) = (fields.next(), fields.nth(1).and_then(|field| field.parse::<u32>().ok()));
    group_of == Some(group) && !matches!(state, Some("Z" | "X"))
}
