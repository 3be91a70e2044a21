//! One child process, on every way to its end.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use diffsan::agent::process::{Deadline, Finished, Spec, run};
use tempfile::TempDir;

use super::support::{SOON, eventually, is_gone};

const MIB: usize = 1024 * 1024;

/// A shell script in a folder of its own, where it can leave the numbers of its processes.
struct Script {
    folder: TempDir,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    wall: Duration,
    idle: Option<Duration>,
    job: Option<Duration>,
    done: Option<fn(&[u8]) -> bool>,
}

impl Script {
    fn new(text: &str) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            args: vec!["-c".into(), text.into()],
            env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            stdin: Vec::new(),
            wall: SOON,
            idle: None,
            job: None,
            done: None,
        }
    }

    async fn run(&self) -> Finished {
        type Done = Box<dyn Fn(&[u8]) -> bool + Send + Sync>;
        let done = self.done.map(|done| Box::new(done) as Done);
        let spec = Spec {
            program: Path::new("/bin/sh"),
            args: &self.args,
            env: &self.env,
            cwd: self.folder.path(),
            stdin: &self.stdin,
            wall: self.wall,
            idle: self.idle,
            job: self.job,
            max_output: MIB,
            done: done.as_deref(),
            linger: Duration::from_millis(500),
        };
        run(&spec, &|_| {}).await.unwrap()
    }

    fn left(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.folder.path().join(name)).ok()?;
        text.ends_with('\n').then(|| text.trim().to_owned())
    }
}

#[tokio::test]
async fn input_and_both_outputs_flow_at_once() {
    let mut script = Script::new("tee /dev/stderr");
    script.stdin = b"0123456789abcdef".repeat(60_000);
    let finished = script.run().await;
    assert_eq!(finished.exit_code, Some(0));
    assert!(finished.stdout == script.stdin && finished.stderr == script.stdin);
}

#[tokio::test]
async fn a_program_that_ignores_its_input_still_answers() {
    let mut script = Script::new("exec 0<&-; echo answer");
    script.stdin = vec![b'x'; 4 * MIB];
    let finished = script.run().await;
    assert_eq!((finished.exit_code, finished.stdout.as_slice()), (Some(0), b"answer\n".as_slice()));
}

#[tokio::test]
async fn only_the_given_environment_is_seen() {
    let mut script = Script::new("env");
    script.env.push(("ONLY".into(), "this".into()));
    let seen = String::from_utf8(script.run().await.stdout).unwrap();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"ONLY"), "{names:?}");
    let known = ["ONLY", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "DIFFSAN_CHILD"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
}

#[tokio::test]
async fn a_high_exit_code_is_no_signal_and_a_signal_is_no_exit_code() {
    let finished = Script::new("exit 145").run().await;
    assert_eq!((finished.exit_code, finished.signal), (Some(145), None));
    let finished = Script::new("kill -9 $$").run().await;
    assert_eq!((finished.exit_code, finished.signal), (None, Some(9)));
}

#[tokio::test]
async fn a_flood_is_cut_off_on_either_output() {
    for script in ["yes", "yes >&2", "(setsid yes) & wait"] {
        let finished = Script::new(script).run().await;
        assert!(finished.flooded, "{script}");
        assert!(finished.duration < SOON, "{script}");
        assert_eq!(finished.stdout.len().max(finished.stderr.len()), MIB, "{script}");
    }
}

#[tokio::test]
async fn a_deadline_ends_even_programs_that_refuse_to_end_and_what_they_started() {
    let mut script = Script::new(
        "trap '' TERM; echo $$ > leader; (trap '' TERM; sleep 600) & echo $! > child; \
         setsid sleep 600 & echo $! > daemon; echo said; wait; sleep 600",
    );
    script.wall = Duration::from_secs(1);
    let finished = script.run().await;
    assert_eq!(finished.timed_out, Some(Deadline::Wall));
    assert_eq!((finished.exit_code, finished.signal), (None, Some(9)));
    assert_eq!(finished.stdout, b"said\n");
    for name in ["leader", "child", "daemon"] {
        let pid = script.left(name).unwrap();
        assert!(is_gone(&pid), "{name} {pid} is still there");
    }
}

#[tokio::test]
async fn the_first_clock_to_run_out_is_named() {
    let short = Some(Duration::from_millis(300));
    for (wall, idle, job, want) in [
        (SOON, short, None, Deadline::Idle),
        (SOON, None, short, Deadline::Job),
        (Duration::from_millis(300), Some(SOON), Some(SOON), Deadline::Wall),
    ] {
        let mut script = Script::new("exec sleep 600");
        (script.wall, script.idle, script.job) = (wall, idle, job);
        let finished = script.run().await;
        assert_eq!(finished.timed_out, Some(want));
        assert_eq!(finished.signal, Some(15));
    }
}

#[tokio::test]
async fn a_deadline_beyond_all_clocks_is_none() {
    let mut script = Script::new("echo answer");
    (script.wall, script.idle, script.job) = (Duration::MAX, Some(Duration::MAX), Some(Duration::MAX));
    assert_eq!(script.run().await.exit_code, Some(0));
}

#[tokio::test]
async fn a_program_that_keeps_talking_is_not_idle() {
    let mut script = Script::new("for i in 1 2 3 4 5 6 7 8; do sleep 0.4; echo $i >&2; done");
    script.idle = Some(Duration::from_millis(2_500));
    let finished = script.run().await;
    assert_eq!((finished.timed_out, finished.exit_code), (None, Some(0)));
}

#[tokio::test]
async fn a_program_is_not_waited_for_once_its_result_is_complete() {
    let mut script = Script::new("echo $$ > leader; echo '{\"result\": 1}'; exec sleep 600");
    script.done = Some(|stdout| stdout.ends_with(b"}\n"));
    let finished = script.run().await;
    assert!(finished.lingered && finished.timed_out.is_none());
    assert!(finished.duration < SOON);
    assert!(is_gone(&script.left("leader").unwrap()));
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_ended_and_does_not_hold_the_output_open() {
    for start in ["sleep 600 &", "setsid sleep 600 &"] {
        let script = Script::new(&format!("{start} echo $! > child; echo answer"));
        let begin = Instant::now();
        let finished = script.run().await;
        assert_eq!((finished.exit_code, finished.stdout.as_slice()), (Some(0), b"answer\n".as_slice()));
        assert!(begin.elapsed() < SOON, "{start}");
        let child = script.left("child").unwrap();
        eventually(start, || is_gone(&child)).await;
    }
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_process() {
    let script = Script::new("trap '' TERM; echo $$ > leader; setsid sleep 600 & echo $! > daemon; wait; sleep 600");
    tokio::select! {
        _ = script.run() => panic!("it cannot end by itself"),
        () = eventually("the script runs", || script.left("daemon").is_some()) => {}
    }
    for name in ["leader", "daemon"] {
        let pid = script.left(name).unwrap();
        eventually(name, || is_gone(&pid)).await;
    }
}

#[tokio::test]
async fn a_missing_program_is_an_error_and_not_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("nothing");
    let spec = Spec {
        program: &program,
        args: &[],
        env: &[],
        cwd: folder.path(),
        stdin: b"",
        wall: SOON,
        idle: None,
        job: None,
        max_output: MIB,
        done: None,
        linger: Duration::ZERO,
    };
    let error = run(&spec, &|_| {}).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn what_left_its_group_and_cleared_its_environment_is_ended_too() {
    // Twice orphaned, in a session of its own, without the mark: only its new parent knows of it.
    let script = Script::new(
        "setsid env -i sh -c '(sleep 600 & echo $! > grandchild; sleep 600) & echo $! > child; exec sleep 600' & \
         while [ ! -s grandchild ] || [ ! -s child ]; do :; done; echo answer",
    );
    let finished = script.run().await;
    assert_eq!(finished.stdout, b"answer\n");
    for name in ["child", "grandchild"] {
        let pid = script.left(name).unwrap();
        assert!(is_gone(&pid), "{name} {pid} is still there");
    }
}

#[tokio::test]
async fn no_descriptor_but_the_three_reaches_the_child() {
    use std::os::fd::AsRawFd as _;
    let file = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let seen = Script::new("ls /proc/self/fd").run().await.stdout;
    let seen = String::from_utf8(seen).unwrap();
    let number = file.as_raw_fd().to_string();
    assert!(!seen.lines().any(|line| line == number), "{seen}");
}
