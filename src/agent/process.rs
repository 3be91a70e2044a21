//! One child process: fed, drained, bounded in time and output, and gone afterwards with everything it started.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use time::OffsetDateTime;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep_until, timeout};

use crate::child::{self, Guard};
use crate::run::clock;

/// Time between asking a group to end and ending it.
const GRACE: Duration = Duration::from_secs(2);
/// Time the outputs may stay open after the program itself has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// Time to wait for killed processes to be gone.
const GONE: Duration = Duration::from_secs(2);
/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(30);
/// A deadline further away is none; a larger number could not be added to a clock.
pub(super) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
const CHUNK: usize = 64 * 1024;

/// Says whether an output is complete.
pub type Done<'a> = dyn Fn(&[u8]) -> bool + Send + Sync + 'a;

/// What to run, and how far.
pub struct Spec<'a> {
    pub program: &'a Path,
    pub args: &'a [OsString],
    /// The whole environment; nothing is inherited.
    pub env: &'a [(OsString, OsString)],
    pub cwd: &'a Path,
    /// Written and closed while the outputs are drained.
    pub stdin: &'a [u8],
    /// Most time from start to end.
    pub wall: Duration,
    /// Most time without a byte on either output.
    pub idle: Option<Duration>,
    /// Most time until the CI job needs what is left of its own.
    pub job: Option<Duration>,
    /// Most bytes on either output.
    pub max_output: usize,
    /// Says that stdout holds the whole result, so that a program that stays around is not waited for.
    pub done: Option<&'a Done<'a>>,
    /// Time it may take to exit by itself then.
    pub linger: Duration,
}

impl std::fmt::Debug for Spec<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spec").field("program", &self.program).field("args", &self.args).finish_non_exhaustive()
    }
}

/// Which clock ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    Wall,
    Idle,
    Job,
}

/// How it ended.
#[derive(Debug)]
pub struct Finished {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: Option<Deadline>,
    /// It wrote more than it may.
    pub flooded: bool,
    /// Its result was complete but it had to be ended.
    pub lingered: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub started_at: OffsetDateTime,
    pub ended_at: OffsetDateTime,
    pub duration: Duration,
}

/// Runs a child to its end; an error means that it did not start. `beat` is called now and then while it works.
pub async fn run(spec: &Spec<'_>, beat: &(dyn Fn(Duration) + Send + Sync)) -> io::Result<Finished> {
    let (started_at, start) = (clock::now(), Instant::now());
    let tag = child::new_tag();
    let mut child = spawn(spec, &tag)?;
    tracing::debug!(program = ?spec.program, pid = child.id(), "the agent's program starts");
    let guard = child::register_tagged(child.id().ok_or(io::ErrorKind::NotFound)?, &tag);
    let mut watch = Watch::new(spec, &guard, start);
    let mut stdout = Capture::new(child.stdout.take(), spec.max_output);
    let mut stderr = Capture::new(child.stderr.take(), spec.max_output);
    let mut status = None;
    {
        let mut feed = pin!(feed(child.stdin.take(), spec.stdin));
        let mut fed = false;
        while watch.phase != Phase::Over && (status.is_none() || stdout.is_open() || stderr.is_open()) {
            tokio::select! {
                () = &mut feed, if !fed => fed = true,
                () = stdout.read(), if stdout.is_open() => watch.heard(&stdout),
                () = stderr.read(), if stderr.is_open() => watch.heard(&stderr),
                ended = child.wait(), if status.is_none() => { status = ended.ok(); watch.exited(); }
                () = sleep_until(watch.next()) => watch.tick(beat),
            }
            if let Some(done) = spec.done
                && watch.phase == Phase::Running
                && std::mem::take(&mut stdout.fresh)
                && done(&stdout.bytes)
            {
                watch.enter(Phase::Complete);
            }
        }
    }
    let (timed_out, flooded, lingered) = (watch.timed_out, watch.flooded, watch.lingered);
    let status = reap(child, status, guard).await;
    tracing::debug!(?status, ?timed_out, flooded, lingered, "the agent's program is over");
    Ok(Finished {
        exit_code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        timed_out,
        flooded,
        lingered,
        stdout: stdout.bytes,
        stderr: stderr.bytes,
        started_at,
        ended_at: clock::now(),
        duration: start.elapsed(),
    })
}

fn spawn(spec: &Spec<'_>, tag: &str) -> io::Result<Child> {
    child::adopt();
    // What diffsan inherited from whoever started it is not the child's.
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    Command::new(spec.program)
        .args(spec.args)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .env(child::TAG, tag)
        .current_dir(spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// A program that does not read its input to the end may still answer, so a broken pipe is no error.
async fn feed(stdin: Option<ChildStdin>, bytes: &[u8]) {
    if let Some(mut stdin) = stdin
        && stdin.write_all(bytes).await.is_ok()
    {
        let _ = stdin.shutdown().await;
    }
}

/// Waits until the program is reaped and what it started is gone.
async fn reap(mut child: Child, status: Option<ExitStatus>, guard: Guard) -> Option<ExitStatus> {
    guard.kill();
    let status = match status {
        Some(status) => Some(status),
        None => timeout(GONE, child.wait()).await.ok().and_then(Result::ok),
    };
    let give_up = Instant::now() + GONE;
    let mut pause = Duration::from_millis(1);
    while guard.is_alive() && Instant::now() < give_up {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
        guard.kill();
    }
    status
}

/// One output, up to its cap.
struct Capture<R> {
    reader: Option<R>,
    scratch: Vec<u8>,
    bytes: Vec<u8>,
    max: usize,
    flooded: bool,
    /// Something came since the last look.
    fresh: bool,
}

impl<R: AsyncRead + Unpin> Capture<R> {
    fn new(reader: Option<R>, max: usize) -> Self {
        Self { reader, scratch: vec![0; CHUNK], bytes: Vec::new(), max, flooded: false, fresh: false }
    }

    fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    async fn read(&mut self) {
        let Some(reader) = self.reader.as_mut() else { return };
        match reader.read(&mut self.scratch).await {
            Ok(0) | Err(_) => self.reader = None,
            Ok(count) => {
                let kept = count.min(self.max - self.bytes.len());
                self.bytes.extend_from_slice(&self.scratch[..kept]);
                self.flooded |= kept < count;
                self.fresh = true;
            }
        }
    }
}

/// Where a child is on its way to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The result is there; it may exit by itself.
    Complete,
    /// It has ended; something it started may hold its outputs open.
    Exited,
    /// It was asked to end.
    Terminated,
    /// It was ended.
    Killed,
    /// Nothing more is waited for.
    Over,
}

/// The clocks of one child.
struct Watch<'a> {
    guard: &'a Guard,
    start: Instant,
    limits: Vec<(Instant, Deadline)>,
    idle: Option<Duration>,
    last_heard: Instant,
    next_beat: Instant,
    linger: Duration,
    phase: Phase,
    phase_ends: Instant,
    timed_out: Option<Deadline>,
    flooded: bool,
    lingered: bool,
}

impl<'a> Watch<'a> {
    fn new(spec: &Spec<'_>, guard: &'a Guard, start: Instant) -> Self {
        let mut limits = vec![(start + spec.wall.min(LONGEST), Deadline::Wall)];
        limits.extend(spec.job.map(|job| (start + job.min(LONGEST), Deadline::Job)));
        Self {
            guard,
            start,
            limits,
            idle: spec.idle.map(|idle| idle.min(LONGEST)),
            last_heard: start,
            next_beat: start + BEAT,
            linger: spec.linger,
            phase: Phase::Running,
            phase_ends: start,
            timed_out: None,
            flooded: false,
            lingered: false,
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.phase_ends = Instant::now()
            + match phase {
                Phase::Complete => self.linger,
                Phase::Exited => DRAIN,
                Phase::Terminated => GRACE,
                Phase::Killed => GONE,
                Phase::Running | Phase::Over => Duration::ZERO,
            };
    }

    fn heard<R>(&mut self, capture: &Capture<R>) {
        self.last_heard = Instant::now();
        if capture.flooded && !self.flooded {
            self.flooded = true;
            self.kill();
        }
    }

    fn exited(&mut self) {
        match self.phase {
            Phase::Running | Phase::Complete => self.enter(Phase::Exited),
            // It obeyed; what it started gets no further grace.
            Phase::Terminated => self.kill(),
            Phase::Exited | Phase::Killed | Phase::Over => {}
        }
    }

    fn kill(&mut self) {
        self.guard.kill();
        self.enter(Phase::Killed);
    }

    fn terminate(&mut self) {
        self.guard.terminate();
        self.enter(Phase::Terminated);
    }

    /// The deadline that comes first.
    fn limit(&self) -> Option<(Instant, Deadline)> {
        let idle = self.idle.map(|idle| (self.last_heard + idle, Deadline::Idle));
        self.limits.iter().copied().chain(idle).min_by_key(|(at, _)| *at)
    }

    fn next(&self) -> Instant {
        match (self.phase, self.limit()) {
            (Phase::Running, Some((at, _))) => at.min(self.next_beat),
            (Phase::Running, None) => self.next_beat,
            _ => self.phase_ends,
        }
    }

    fn tick(&mut self, beat: &(dyn Fn(Duration) + Send + Sync)) {
        let now = Instant::now();
        match self.phase {
            Phase::Running => {
                if now >= self.next_beat {
                    self.next_beat += BEAT;
                    beat(now - self.start);
                }
                if let Some((at, deadline)) = self.limit()
                    && now >= at
                {
                    self.timed_out = Some(deadline);
                    self.terminate();
                }
            }
            Phase::Complete => {
                self.lingered = true;
                self.terminate();
            }
            Phase::Exited | Phase::Terminated => self.kill(),
            Phase::Killed => self.phase = Phase::Over,
            Phase::Over => {}
        }
    }
}
