//! What the benchmarks share: generated code with a few secrets in it, and clocks that a busy machine does not blur.
#![expect(dead_code, reason = "each benchmark uses its part")]
#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a benchmark that cannot go on stops")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

/// One line in so many holds a secret.
const LINES_PER_SECRET: usize = 2_000;

/// The time all threads of the process have run so far: what a busy machine does not blur.
pub(crate) fn processor_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ran = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(ran.sum())
}

/// The process's peak resident memory so far, in KiB.
pub(crate) fn peak() -> usize {
    high_water(Path::new("/proc/self/status"))
}

/// The time that children which have ended ran, and their own children with them; in steps of ten milliseconds.
pub(crate) fn children_time() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(13).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    TICK * ticks
}

/// The processor time of a command, the mean of `rounds` runs.
pub(crate) fn time_of(rounds: u32, mut command: impl FnMut() -> Command) -> Duration {
    let before = children_time();
    for _ in 0..rounds {
        let status = command().stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
        assert!(status.success(), "{:?} failed", command());
    }
    (children_time() - before) / rounds
}

/// The peak resident memory of a command's own process, in bytes; looked at again and again while it runs.
pub(crate) fn peak_of(mut command: Command) -> usize {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        peak = peak.max(high_water(Path::new(&status)));
        match child.try_wait().expect("it can be waited for") {
            Some(status) if status.success() => return peak * 1024,
            Some(status) => panic!("{command:?}: {status}"),
            None => thread::sleep(Duration::from_micros(500)),
        }
    }
}

fn high_water(status: &Path) -> usize {
    let status = fs::read_to_string(status).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// A repository whose last commit is a change of about `bytes` bytes of code, as `git diff` prints it.
pub(crate) fn repository(folder: &Path, bytes: usize) {
    const FILE: usize = 40_000;
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(folder).args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]).args(args);
        assert!(command.stdout(Stdio::null()).status().expect("git starts").success(), "git {args:?} failed");
    };
    git(&["init", "-q", "-b", "main"]);
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    // About half of a diff's bytes are context and half are lines that changed, old and new.
    let files = bytes.div_ceil(FILE);
    let mut after = Vec::with_capacity(files);
    for file in 0..files {
        let extension = ["rs", "py", "ts", "go", "java", "yml"][random.below(6)];
        let path = format!("src/module_{}/part_{file}.{extension}", file % 97);
        let (mut old, mut new, mut size) = (String::new(), String::new(), 0);
        while size < FILE {
            for _ in 0..6 {
                let line = code_line(&mut random);
                size += line.len() + 2;
                let _ = writeln!(old, "{line}");
                let _ = writeln!(new, "{line}");
            }
            for _ in 0..3 {
                let (before, now) = (code_line(&mut random), code_line(&mut random));
                size += before.len() + now.len() + 4;
                let _ = writeln!(old, "{before}");
                let _ = writeln!(new, "{now}");
            }
        }
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder is made");
        fs::write(&path, old).expect("the file is written");
        after.push((path, new));
    }
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "before"]);
    for (path, text) in after {
        fs::write(path, text).expect("the file is written");
    }
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "after"]);
    git(&["gc", "-q"]);
}

/// A diff of about `bytes` bytes: files of a few languages, hunks of some tens of lines.
pub(crate) fn generate(bytes: usize) -> String {
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let mut diff = String::with_capacity(bytes + 4096);
    let mut lines = 0;
    let mut file = 0;
    while diff.len() < bytes {
        let extension = ["rs", "py", "ts", "go", "java", "yml"][random.below(6)];
        let path = format!("src/module_{}/part_{file}.{extension}", file % 97);
        let _ = write!(
            diff,
            "diff --git a/{path} b/{path}\nindex {:07x}..{:07x} 100644\n--- a/{path}\n+++ b/{path}\n",
            random.below(1 << 28),
            random.below(1 << 28)
        );
        for hunk in 0..=random.below(6) {
            let (body, old, new) = hunk_body(&mut random, &mut lines);
            let start = hunk * 120 + 1;
            let _ = write!(diff, "@@ -{start},{old} +{start},{new} @@ fn section_{hunk}()\n{body}");
        }
        file += 1;
    }
    diff
}

fn hunk_body(random: &mut Random, lines: &mut usize) -> (String, usize, usize) {
    let (mut body, mut old, mut new) = (String::new(), 0, 0);
    for _ in 0..20 + random.below(40) {
        let sign = [' ', ' ', '+', '+', '-'][random.below(5)];
        old += usize::from(sign != '+');
        new += usize::from(sign != '-');
        *lines += 1;
        let _ = if lines.is_multiple_of(LINES_PER_SECRET) {
            writeln!(body, "{sign}{}", secret_line(random))
        } else {
            writeln!(body, "{sign}{}", code_line(random))
        };
    }
    (body, old, new)
}

fn secret_line(random: &mut Random) -> String {
    match random.below(4) {
        0 => format!("    api_key = \"{}\"", random.text(32)),
        1 => format!("  token: glpat-{}", random.text(20)),
        2 => format!("DATABASE_URL=postgres://app:{}@db.internal:5432/app", random.text(14)),
        _ => format!("    const KEY = \"AKIA{}\";", random.upper(16)),
    }
}

pub(crate) fn code_line(random: &mut Random) -> String {
    let (a, b, c) =
        (WORDS[random.below(WORDS.len())], WORDS[random.below(WORDS.len())], WORDS[random.below(WORDS.len())]);
    let n = random.below(1000);
    match random.below(24) {
        0 => String::new(),
        1 => "    }".to_owned(),
        2 => format!("    let {a}_{b} = self.{c}.iter().map(|{a}| {a}.{b}()).collect::<Vec<_>>();"),
        3 => format!("        if {a}.{b} != null && {c} > {n} {{"),
        4 => format!("    return {a}.{b}({c}, {n})"),
        5 => format!("    # the {a} of a {b} is kept until the {c} is done"),
        6 => format!("  {a}_{b}: {c}"),
        7 => format!("    def {a}_{b}(self, {c}: str, count: int = {n}) -> None:"),
        8 => format!("        raise ValueError(f\"{a} {b} not found in {{{c}}}\")"),
        9 => format!("import {{ {a}, {b} }} from './{c}/{a}-{b}';"),
        10 => format!("    public static final String {} = \"{b}-{c}\";", a.to_uppercase()),
        11 => format!("        assert_eq!({a}({n}), \"{b} {c}\");"),
        12 => format!("    for (int i = 0; i < {a}.length; i++) {{ {b}[i] = {c}({n}); }}"),
        13 => format!("        \"{a}\": \"{b} {c}\","),
        14 => format!("    <div className=\"{a}-{b}\" onClick={{() => {c}({n})}}>"),
        15 => format!("func ({a} *{b}) {c}(ctx context.Context) error {{"),
        16 => format!("        key = {a}.get({b}, {c})"),
        17 => format!("    // see https://docs.example.com/{a}/{b}#{c}"),
        18 => format!("    \"resolved\": \"https://registry.example.com/{a}/-/{a}-{n}.2.1.tgz\","),
        19 => format!("    user = authenticate({a}, {b})"),
        20 => format!("        const {a}{n} = await {b}.{c}({{ id: {n} }});"),
        21 => format!("    token = next({a})"),
        22 => format!("version = \"{n}.{}.{}\"", n % 7, n % 13),
        _ => format!("    {a}({b}, {c}); {b}.{c} += {n};"),
    }
}

static WORDS: &[&str] = &[
    "account", "buffer", "cache", "client", "config", "context", "cursor", "device", "entry", "event", "field",
    "filter", "handler", "index", "item", "layout", "line", "loader", "manager", "message", "method", "module", "node",
    "object", "option", "order", "packet", "parser", "path", "payload", "point", "process", "queue", "record",
    "region", "render", "request", "response", "result", "route", "schema", "section", "server", "service", "shape",
    "state", "status", "stream", "string", "table", "target", "thread", "value", "vector", "version", "view", "window",
    "worker", "writer", "zone", "keyboard",
];

/// A small generator, so that every run measures the same bytes.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn text(&mut self, length: usize) -> String {
        self.pick(length, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    }

    fn upper(&mut self, length: usize) -> String {
        self.pick(length, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    }

    fn pick(&mut self, length: usize, alphabet: &[u8]) -> String {
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }
}
