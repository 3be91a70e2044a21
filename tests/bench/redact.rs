//! Throughput of the redaction engine on generated diffs of real-looking code, with one secret in 2,000 lines.
//!
//! Each figure stands beside a plain newline count of the same bytes in the same run, and is given by the clock and by processor
//! time, which a busy machine does not blur. `DIFFSAN_BENCH_MB` picks other sizes, `DIFFSAN_BENCH_FILE` adds a diff of your own;
//! `throughput`, `hostile` or `shapes` as an argument, one part. `shapes` repeats what the rules react to in long lines and shows the slowest
//! (`DIFFSAN_BENCH_SHAPES` says how many, `DIFFSAN_BENCH_SEED` which).

#![expect(clippy::disallowed_methods, reason = "a benchmark takes its sizes from variables")]
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use diffsan::redact::{Engine, Output, Settings};

const LINES_PER_SECRET: usize = 2_000;
const ROUNDS: usize = 5;

fn main() {
    let wanted: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|name| name == part);
    start_up();
    if wants("throughput") {
        let sizes: Vec<usize> = env::var("DIFFSAN_BENCH_MB")
            .map_or_else(|_| vec![10, 100], |list| list.split(',').filter_map(|size| size.parse().ok()).collect());
        for megabytes in sizes {
            throughput(&format!("{megabytes} MB"), generate(megabytes * 1_000_000).as_bytes());
        }
        if let Some(diff) = env::var_os("DIFFSAN_BENCH_FILE").and_then(|path| fs::read(path).ok()) {
            throughput("file", &diff);
        }
    }
    if wants("hostile") {
        hostile();
    }
    if wants("shapes") {
        shapes();
    }
}

/// What the rules react to; a shape is up to four of these, repeated.
#[rustfmt::skip]
static PIECES: &[&str] = &[
    "password", "=", "x", " ", "\"", "'", "`", "://", "a:b@", "<", ">", ":", "eyJ", ".", "-----BEGIN RSA PRIVATE KEY-----",
    "-----END PRIVATE KEY-----", "-----ENDPRIVATE-----", "%41", "%", "kind: Secret", "data: {", "token", "key", "secret", "\\\"",
    "\\", "&quot;", "(", "[", "{", "}", ")", "]", ",", ";", "&", "?", "curl -u ", "bearer ", "@tcp(", "\u{200b}", "AAAA", "Zx81",
    "0", "-", "_", "/", "+", "#", "|", "sk-", "AKIA", "ghp_", "mysql -p", "login(", "authorization: basic ", "cookie: session=",
    "snmp community", "machine x login y password ", "AccountKey=", "sig=", "xox", "mongodb+srv://", "export ", "ENV ",
    "--password ", "-p", "$2b$12$", "psk", "wifi", "seed phrase ", "aws_secret_access_key", "discord", "twilio",
];

/// Long lines of every shape: none may take more than a second for each megabyte.
fn shapes() {
    let number = |name: &str, usual: usize| env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (count, seed) = (number("DIFFSAN_BENCH_SHAPES", 200), number("DIFFSAN_BENCH_SEED", 1));
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (seed as u64).wrapping_mul(0x2545_F491_4F6C_DD1D));
    let mut slowest: Vec<(f64, String)> = Vec::new();
    for index in 0..count {
        let unit = match PIECES.get(index) {
            Some(piece) => (*piece).to_owned(),
            None => (0..=random.below(4)).map(|_| PIECES[random.below(PIECES.len())]).collect(),
        };
        let path = ["a.yml", "a.py", "a.xml", "a.json", "a.sh", "a.txt", ".env"][random.below(7)];
        // Most lines are short, so that many shapes are seen; a few show that nothing grows with the length.
        let bytes = if index % 50 == 49 { 4 << 20 } else { 64 << 10 };
        let line = unit.repeat(bytes / unit.len() + 1);
        let diff = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n");
        let Ok(engine) = Engine::new(&Settings::default(), []) else {
            return;
        };
        let worked = processor_time();
        black_box(engine.redact_diff(diff.as_bytes()));
        let seconds = (processor_time() - worked).as_secs_f64() / (diff.len() as f64 / 1e6);
        slowest.push((seconds, format!("{path} {unit:?}, {} KB", bytes >> 10)));
        slowest.sort_by(|left, right| right.0.total_cmp(&left.0));
        slowest.truncate(5);
    }
    for (seconds, shape) in slowest {
        println!("shapes, slowest of {count}: {seconds:.2} s/MB, {shape}");
    }
}

/// The first use of the engine on a small diff: tables and the patterns it needs.
fn start_up() {
    let diff = generate(20_000);
    let (begun, worked) = (Instant::now(), processor_time());
    let Ok(engine) = Engine::new(&Settings::default(), ["not-a-real-token-0001".to_owned()]) else {
        return;
    };
    let built = begun.elapsed();
    let first = begun.elapsed();
    let matches = engine.redact_diff(diff.as_bytes()).matches.len();
    let redacted = begun.elapsed() - first;
    let worked = processor_time() - worked;
    println!(
        "start-up: engine {built:?}, first diff of {} bytes {redacted:?}, {worked:?} of processor time in all ({matches} secrets)",
        diff.len()
    );
}

fn throughput(name: &str, bytes: &[u8]) {
    let floor = best(|| {
        black_box(memchr::memchr_iter(b'\n', bytes).count());
    });
    let cores = thread::available_parallelism().map_or(1, usize::from);
    println!("{name}: newline pass {:.0} MB/s", rate(bytes.len(), floor));
    for threads in [1, cores] {
        let before = peak();
        let mut found = 0;
        let worked = processor_time();
        let took = best(|| {
            if let Ok(engine) = Engine::new(&Settings::default(), ["not-a-real-token-0001".to_owned()]) {
                found = black_box(engine.redact_diff_with(bytes, threads)).matches.len();
            }
        });
        let worked = (processor_time() - worked) / ROUNDS as u32;
        let worked = if threads == 1 { worked } else { took };
        println!(
            "{name}, {threads} thread(s): {:.0} MB/s, {:.0} MB/s of processor time, {:.1}x the newline pass, {found} secrets, peak memory {} -> {} MB",
            rate(bytes.len(), took),
            rate(bytes.len(), worked),
            took.as_secs_f64() / floor.as_secs_f64(),
            before / 1024,
            peak() / 1024,
        );
    }
}

/// Inputs made to be slow: one endless line, and near-misses of everything.
fn hostile() {
    let cases: [(&str, String); 8] = [
        ("one line of code", "let token = fetch(\"https://example.com/a?b=1\", key_value);".repeat(170_000)),
        ("one line of key=", "key=".repeat(2_500_000)),
        ("one line of password=\"", "password=\"".repeat(1_000_000)),
        ("one line of ://", "https://a:".repeat(1_000_000)),
        ("prefixes", "glpat- ghp_ sk- AKIA xoxb- eyJ ".repeat(320_000)),
        ("keywords", "authorization bearer curl mysql login( cookie ".repeat(220_000)),
        ("one base64 line", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo".repeat(290_000)),
        ("begin markers", "-----BEGIN RSA PRIVATE KEY-----\n".repeat(310_000)),
    ];
    let Ok(engine) = Engine::new(&Settings::default(), []) else {
        return;
    };
    for (name, text) in cases {
        let worked = processor_time();
        black_box(engine.redact(Output::Artifact, &text));
        println!(
            "hostile, {name}: {} MB, {:.0} MB per second of processor time",
            text.len() / 1_000_000,
            rate(text.len(), processor_time() - worked)
        );
    }
}

fn best(mut work: impl FnMut()) -> Duration {
    (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn rate(bytes: usize, took: Duration) -> f64 {
    bytes as f64 / 1e6 / took.as_secs_f64()
}

/// The time all threads of the process have run so far: what a busy machine does not blur.
fn processor_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let ran = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(ran.sum())
}

/// The process's peak resident memory so far, in KiB.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}

/// A diff of about `bytes` bytes: files of a few languages, hunks of some tens of lines.
fn generate(bytes: usize) -> String {
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

fn code_line(random: &mut Random) -> String {
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
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
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
