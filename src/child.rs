//! Child processes that are alive, so that none of them outlives the run: a guard kills its process group when it is
//! dropped, and [`kill_all`] kills every group at once for the ways out on which nothing is dropped.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use crate::clock;

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
pub fn kill_all() {
    let live = live();
    OVER.store(true, Ordering::SeqCst);
    for (group, tag) in live.iter() {
        signal(*group, tag.as_deref(), Signal::KILL);
    }
}

impl Guard {
    /// Asks the group to end.
    pub fn terminate(&self) {
        signal(self.group, self.tag.as_deref(), Signal::TERM);
    }

    /// Ends the group; true when something was still there.
    pub fn kill(&self) -> bool {
        signal(self.group, self.tag.as_deref(), Signal::KILL)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.kill();
        live().remove(&self.group);
    }
}

fn enlist(pid: u32, tag: Option<String>) -> Guard {
    let mut live = live();
    live.insert(pid, tag.clone());
    let guard = Guard { group: pid, tag };
    if OVER.load(Ordering::SeqCst) {
        guard.kill();
    }
    guard
}

fn live() -> MutexGuard<'static, BTreeMap<u32, Option<String>>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals the group and the tagged processes outside it; true when there was one.
fn signal(group: u32, tag: Option<&str>, signal: Signal) -> bool {
    let leader = i32::try_from(group).ok().and_then(Pid::from_raw);
    // `kill(-1)` would be everyone's end.
    let in_group = leader.filter(|pid| !pid.is_init()).is_some_and(|pid| kill_process_group(pid, signal).is_ok());
    let outside = tag.is_some_and(|tag| signal_tagged(tag, signal));
    in_group || outside
}

/// Finds tagged processes where the system shows environments (Linux); elsewhere the group is all there is.
fn signal_tagged(tag: &str, signal: Signal) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let needle = format!("{TAG}={tag}\0");
    let mut found = false;
    for entry in processes.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            found |= signal_if_tagged(pid, &entry.path(), needle.as_bytes(), signal);
        }
    }
    found
}

/// The handle is taken before the look, so that a number that was given away meanwhile hits nobody.
fn signal_if_tagged(pid: Pid, folder: &Path, needle: &[u8], signal: Signal) -> bool {
    let handle = pidfd_open(pid, PidfdFlags::empty());
    let tagged = fs::read(folder.join("environ")).is_ok_and(|environ| memmem::find(&environ, needle).is_some());
    tagged && handle.is_ok_and(|handle| pidfd_send_signal(handle, signal).is_ok())
}
