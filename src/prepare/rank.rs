//! Which files are set aside, and in which order the others are shown.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{Ignored, Rules};
use crate::diff::attributes::Mark;
use crate::diff::{FileDiff, FileStatus, Hunk, LineKind};

/// A glob of the configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad glob `{glob}`: {reason}")]
pub struct GlobError {
    pub glob: String,
    pub reason: String,
}

/// What is to be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ignore(Ignored),
    Review(Rank),
}

/// How valuable a file is to a reviewer, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    Priority,
    Other,
    Depriority,
    Lock,
    Generated,
    Minified,
    Vendored,
    /// An earlier review has seen all of it.
    Reviewed,
}

impl Rank {
    pub(super) fn order(self) -> usize {
        match self {
            Self::Priority => 0,
            Self::Other => 1,
            Self::Depriority => 2,
            Self::Lock | Self::Generated | Self::Minified | Self::Vendored => 3,
            Self::Reviewed => 4,
        }
    }

    /// Why a file of this rank goes first when something has to go.
    pub(super) fn remark(self) -> Option<&'static str> {
        match self {
            Self::Priority | Self::Other => None,
            Self::Depriority => Some("deprioritized extension"),
            Self::Lock => Some("lock file"),
            Self::Generated => Some("generated file"),
            Self::Minified => Some("minified file"),
            Self::Vendored => Some("vendored file"),
            Self::Reviewed => Some("reviewed before"),
        }
    }
}

/// The rules, compiled.
pub(super) struct Sorter<'r> {
    rules: &'r Rules,
    ignore: GlobSet,
    priority: Vec<String>,
    depriority: Vec<String>,
    include: Option<Vec<String>>,
}

impl<'r> Sorter<'r> {
    pub(super) fn new(rules: &'r Rules) -> Result<Self, GlobError> {
        Ok(Self {
            rules,
            ignore: globs(&rules.ignore_globs)?,
            priority: extensions(&rules.priority_extensions),
            depriority: extensions(&rules.depriority_extensions),
            include: rules.include_extensions.as_deref().map(extensions),
        })
    }

    pub(super) fn judge(&self, file: &FileDiff<'_>) -> Verdict {
        let path = file.path();
        if self.ignore.is_match(path) {
            return Verdict::Ignore(Ignored::Glob);
        }
        let name = file_name(path).to_lowercase();
        let ends_in = |list: &[String]| list.iter().any(|extension| name.ends_with(extension.as_str()));
        if self.include.as_deref().is_some_and(|include| !ends_in(include)) {
            return Verdict::Ignore(Ignored::Extension);
        }
        Verdict::Review(match self.machine_made(file, &name) {
            Some(rank) => rank,
            None if ends_in(&self.priority) => Rank::Priority,
            None if ends_in(&self.depriority) => Rank::Depriority,
            None => Rank::Other,
        })
    }

    /// Files that nobody wrote by hand, or nobody here.
    fn machine_made(&self, file: &FileDiff<'_>, name: &str) -> Option<Rank> {
        match self.rules.marks.get(file.path()) {
            Some(Mark::Source) => return None,
            Some(Mark::Generated) => return Some(Rank::Generated),
            Some(Mark::Vendored) => return Some(Rank::Vendored),
            None => {}
        }
        if LOCK_FILES.contains(&name) {
            Some(Rank::Lock)
        } else if folders(file.path()).any(|folder| VENDORED_FOLDERS.contains(&folder)) {
            Some(Rank::Vendored)
        } else if MINIFIED_ENDINGS.iter().any(|end| name.ends_with(end)) || has_huge_lines(file) {
            Some(Rank::Minified)
        } else if is_generated(file, name) {
            Some(Rank::Generated)
        } else {
            None
        }
    }
}

const LOCK_FILES: [&str; 26] = [
    ".terraform.lock.hcl",
    "bun.lock",
    "bun.lockb",
    "cargo.lock",
    "cartfile.resolved",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "flake.lock",
    "gemfile.lock",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.resolved",
    "packages.lock.json",
    "pdm.lock",
    "pipfile.lock",
    "pnpm-lock.yaml",
    "podfile.lock",
    "poetry.lock",
    "pubspec.lock",
    "uv.lock",
    "yarn.lock",
];

const VENDORED_FOLDERS: [&str; 8] =
    ["vendor", "node_modules", "third_party", "third-party", "bower_components", "Pods", "Carthage", ".yarn"];

const MINIFIED_ENDINGS: [&str; 6] = [".min.js", ".min.mjs", ".min.css", ".js.map", ".css.map", ".bundle.js"];

const GENERATED_ENDINGS: [&str; 14] = [
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    "_pb2.py",
    "_pb2.pyi",
    "_pb2_grpc.py",
    "_pb.rb",
    ".g.dart",
    ".freezed.dart",
    ".g.cs",
    ".designer.cs",
    "_generated.go",
    ".snap",
    ".g.h",
];

/// Mean bytes per line beyond which nobody typed a file.
const HUGE_LINE: usize = 500;

/// How far from a file's top its "generated" remark may stand.
const REMARK_LINES: u32 = 10;

fn is_generated(file: &FileDiff<'_>, name: &str) -> bool {
    GENERATED_ENDINGS.iter().any(|end| name.ends_with(end)) || name.contains(".generated.") || says_generated(file)
}

/// The remark that code generators leave near the top of what they write.
fn says_generated(file: &FileDiff<'_>) -> bool {
    let Some(hunk) = file.hunks.first() else { return false };
    let near_top = hunk.lines().take_while(|line| line.new.or(line.old).is_some_and(|number| number <= REMARK_LINES));
    near_top.filter(|line| line.kind != LineKind::Removed || file.status == FileStatus::Deleted).any(|line| {
        let has = |words: &[u8]| memchr::memmem::find(line.content, words).is_some();
        has(b"@generated") || (has(b"enerated") && has(b"DO NOT EDIT"))
    })
}

fn has_huge_lines(file: &FileDiff<'_>) -> bool {
    let bytes: usize = file.hunks.iter().map(|hunk| hunk.bytes.len()).sum();
    let lines: usize = file.hunks.iter().map(Hunk::line_count).sum();
    bytes > lines.saturating_mul(HUGE_LINE)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit('/').skip(1)
}

/// Extensions in one spelling: lower case, with their dot.
fn extensions(list: &[String]) -> Vec<String> {
    list.iter()
        .map(|extension| extension.trim().to_lowercase())
        .filter(|extension| !extension.is_empty())
        .map(|extension| if extension.starts_with('.') { extension } else { format!(".{extension}") })
        .collect()
}

/// Globs as `.gitignore` reads them: without a slash they match in every folder, `*` stays within
/// a folder, a slash at the end means everything below.
pub fn globs(list: &[String]) -> Result<GlobSet, GlobError> {
    let mut set = GlobSetBuilder::new();
    for glob in list {
        let bad = |reason: String| GlobError { glob: glob.clone(), reason };
        if glob.starts_with('!') {
            return Err(bad("a leading `!` has no meaning here; list what to ignore only".to_owned()));
        }
        let pattern = anchored(glob);
        let compiled = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| bad(error.kind().to_string()))?;
        set.add(compiled);
    }
    set.build().map_err(|error| GlobError {
        glob: error.glob().unwrap_or_default().to_owned(),
        reason: error.kind().to_string(),
    })
}

fn anchored(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let (below, glob) = match glob.strip_suffix('/') {
        Some(folder) => ("/**", folder),
        None => ("", glob),
    };
    match glob.strip_prefix('/') {
        Some(rooted) => format!("{rooted}{below}"),
        None if glob.contains('/') => format!("{glob}{below}"),
        None => format!("**/{glob}{below}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Diff;

    fn judge(rules: &Rules, path: &str, line: &str) -> Verdict {
        let text = format!("--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n");
        let diff = Diff::parse(text.as_bytes()).unwrap();
        Sorter::new(rules).unwrap().judge(&diff.files[0])
    }

    #[test]
    fn globs_match_as_in_a_gitignore_file() {
        let cases: &[(&str, &str, bool)] = &[
            ("docs/**", "docs/a.md", true),
            ("docs/**", "docs/deep/a.md", true),
            ("docs/**", "src/docs/a.md", false),
            ("**/*.generated.*", "x.generated.py", true),
            ("**/*.generated.*", "a/b/x.generated.py", true),
            ("*.lock", "a/b.lock", true),
            ("src/*.rs", "src/a/b.rs", false),
            ("src/*.rs", "src/b.rs", true),
            ("/build", "build", true),
            ("/build", "a/build", false),
            ("build/", "a/build/x", true),
            ("./a/b", "a/b", true),
            ("*.{js,ts}", "x/y.ts", true),
            ("with space/*", "with space/a", true),
        ];
        for (glob, path, ignored) in cases {
            let rules = Rules { ignore_globs: vec![(*glob).to_owned()], ..Rules::default() };
            let got = judge(&rules, path, "x") == Verdict::Ignore(Ignored::Glob);
            assert_eq!(got, *ignored, "{glob} {path}");
        }
    }

    #[test]
    fn a_bad_glob_is_named() {
        for glob in ["a[", "a{b", "!keep"] {
            let rules = Rules { ignore_globs: vec!["ok".to_owned(), glob.to_owned()], ..Rules::default() };
            let error = Sorter::new(&rules).err().expect(glob);
            assert_eq!(error.glob, glob);
            assert!(error.to_string().contains(glob), "{error}");
        }
    }

    #[test]
    fn each_file_has_the_rank_its_name_marks_and_content_give_it() {
        let marks = [("m/x.py", Mark::Generated), ("v/x.py", Mark::Vendored), ("vendor/own.py", Mark::Source)];
        let rules = Rules {
            priority_extensions: vec![".py".into(), "JS".into()],
            depriority_extensions: vec![".md".into(), ".lock".into()],
            marks: marks.map(|(path, mark)| (path.to_owned(), mark)).into(),
            ..Rules::default()
        };
        let long = "x".repeat(2000);
        let cases: &[(&str, &str, Rank)] = &[
            ("a.py", "x", Rank::Priority),
            ("A.PY", "x", Rank::Priority),
            ("a.js", "x", Rank::Priority),
            ("a.tf", "x", Rank::Other),
            ("py", "x", Rank::Other),
            ("a.md", "x", Rank::Depriority),
            ("some.lock", "x", Rank::Depriority),
            ("Cargo.lock", "x", Rank::Lock),
            ("web/package-lock.json", "x", Rank::Lock),
            ("api_pb2.py", "x", Rank::Generated),
            ("a.generated.js", "x", Rank::Generated),
            ("a.py", "# @generated by a tool", Rank::Generated),
            ("a.go", "// Code generated by stringer. DO NOT EDIT.", Rank::Generated),
            ("a.min.js", "x", Rank::Minified),
            ("a.js", &long, Rank::Minified),
            ("web/node_modules/a/b.js", "x", Rank::Vendored),
            ("vendor/a.py", "x", Rank::Vendored),
            ("vendor/own.py", "x", Rank::Priority),
            ("m/x.py", "x", Rank::Generated),
            ("v/x.py", "x", Rank::Vendored),
        ];
        for (path, line, rank) in cases {
            assert_eq!(judge(&rules, path, line), Verdict::Review(*rank), "{path}");
        }
    }

    #[test]
    fn an_extension_filter_ignores_the_others() {
        let rules = Rules { include_extensions: Some(vec!["py".into()]), ..Rules::default() };
        assert_eq!(judge(&rules, "a.py", "x"), Verdict::Review(Rank::Other));
        assert_eq!(judge(&rules, "a.js", "x"), Verdict::Ignore(Ignored::Extension));
        assert_eq!(judge(&rules, "Makefile", "x"), Verdict::Ignore(Ignored::Extension));
    }
}
