//! Files that guard the project: a change of them is never simply passed.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::diff::{Diff, FileDiff, LineKind};

/// What guards a project wherever it is: its pipeline, its owners, its policy, and what agents are told.
const ROOTS: &[&str] = &[
    ".gitlab-ci.yml",
    ".gitlab/**",
    "**/CODEOWNERS",
    "**/.diffsan.toml",
    "**/.gitattributes",
    ".gitmodules",
    "**/AGENTS.md",
    "**/AGENTS.override.md",
    "**/CLAUDE.md",
    "**/CLAUDE.local.md",
    "**/GEMINI.md",
    "**/.cursor/**",
    "**/.cursorrules",
    "**/.claude/**",
    "**/.codex/**",
    "**/.gemini/**",
    "**/.opencode/**",
    "**/opencode.json",
    "**/opencode.jsonc",
    "**/.mcp.json",
];

/// A glob of `policy.trust_roots` that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("`{glob}` is no glob: {why}")]
pub struct BadGlob {
    glob: String,
    why: String,
}

/// The files that guard one project.
#[derive(Debug)]
pub struct Roots {
    globs: GlobSet,
    paths: Vec<String>,
}

impl Roots {
    /// The usual ones, those of `policy.trust_roots`, and single paths: the pipeline's file, what the policy names.
    pub fn new<'a>(further: &[String], paths: impl IntoIterator<Item = &'a str>) -> Result<Self, BadGlob> {
        let mut globs = GlobSetBuilder::new();
        for glob in ROOTS.iter().copied().chain(further.iter().map(String::as_str)) {
            let bad = |error: globset::Error| BadGlob { glob: glob.to_owned(), why: error.kind().to_string() };
            let built = GlobBuilder::new(glob).literal_separator(true).case_insensitive(true).build();
            globs.add(built.map_err(bad)?);
        }
        let globs = globs.build().map_err(|error| BadGlob { glob: String::new(), why: error.to_string() })?;
        Ok(Self { globs, paths: paths.into_iter().map(str::to_owned).collect() })
    }

    /// The guarding files that a change touches, on either side of a rename; a changed submodule link is one.
    pub fn touched(&self, diff: &Diff<'_>) -> Vec<String> {
        let mut touched: Vec<String> = Vec::new();
        for file in &diff.files {
            let names = [&file.old_path, &file.new_path];
            let guards = |path: &&&String| self.globs.is_match(path.as_str()) || self.paths.contains(path);
            let found = names.iter().find(guards).copied().or(file.is_submodule.then_some(&file.new_path));
            touched.extend(found.filter(|path| !touched.contains(path)).cloned());
        }
        touched
    }
}

/// The pipeline's file, when it is one of this repository: `CI_CONFIG_PATH` may also name another project or an address.
pub fn pipeline_file(config_path: Option<&str>) -> Option<&str> {
    config_path.map(str::trim).filter(|path| !path.is_empty() && !path.contains(['@', ':']))
}

/// Files whose content is elsewhere, with what stands for it in the diff: nobody reviewed that content.
pub fn elsewhere(diff: &Diff<'_>) -> Vec<(String, &'static str)> {
    let reason = |file: &FileDiff<'_>| match file.is_submodule {
        true => Some("a submodule: what it holds is not in this change"),
        false => is_pointer(file).then_some("a Git LFS pointer: what it stands for is not in this change"),
    };
    diff.files.iter().filter_map(|file| Some((file.path().to_owned(), reason(file)?))).collect()
}

/// On its new side the file begins as pointers of Git LFS do.
fn is_pointer(file: &FileDiff<'_>) -> bool {
    const STARTS: [&[u8]; 2] =
        [b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/"];
    file.hunks.first().is_some_and(|hunk| {
        let first = hunk.lines().find(|line| line.kind != LineKind::Removed);
        first.is_some_and(|line| line.new == Some(1) && STARTS.iter().any(|start| line.content.starts_with(start)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(diff: &str, further: &[&str], paths: &[&str]) -> Vec<String> {
        let further: Vec<String> = further.iter().map(|glob| (*glob).to_owned()).collect();
        let diff = Diff::parse(diff.as_bytes()).expect("a diff");
        Roots::new(&further, paths.iter().copied()).expect("globs").touched(&diff)
    }

    fn file(path: &str) -> String {
        format!("diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n")
    }

    #[test]
    fn what_guards_the_project_is_found_wherever_it_lies_and_nothing_else_is() {
        let guards = [
            ".gitlab-ci.yml",
            ".gitlab/ci/x.yml",
            "CODEOWNERS",
            "docs/CODEOWNERS",
            ".diffsan.toml",
            "sub/.gitattributes",
            ".gitmodules",
            "AGENTS.md",
            "api/claude.md",
            ".cursor/rules/x.mdc",
            "web/.cursor/rules/x.mdc",
        ];
        for path in guards {
            assert_eq!(touched(&file(path), &[], &[]), [path]);
        }
        for path in ["src/app.py", "gitlab-ci.yml", "docs/CODEOWNERS.md", "x/.gitlab-ci.yml", "cursor/x"] {
            assert_eq!(touched(&file(path), &[], &[]), Vec::<String>::new(), "{path}");
        }
        assert_eq!(touched(&file("deploy/prod.yml"), &["deploy/**"], &[]), ["deploy/prod.yml"]);
        assert_eq!(touched(&file("ci/main.yml"), &[], &["ci/main.yml"]), ["ci/main.yml"]);
        assert!(Roots::new(&["[".to_owned()], []).is_err());
    }

    #[test]
    fn a_rename_away_from_a_guarding_place_touches_it() {
        let diff =
            "diff --git a/CODEOWNERS b/notes.txt\nsimilarity index 100%\nrename from CODEOWNERS\nrename to notes.txt\n";
        assert_eq!(touched(diff, &[], &[]), ["CODEOWNERS"]);
    }

    #[test]
    fn a_changed_submodule_guards_and_is_content_from_elsewhere() {
        let diff = "diff --git a/lib b/lib\nindex 1..2 160000\n--- a/lib\n+++ b/lib\n@@ -1 +1 @@\n\
                    -Subproject commit 1111111111111111111111111111111111111111\n\
                    +Subproject commit 2222222222222222222222222222222222222222\n";
        assert_eq!(touched(diff, &[], &[]), ["lib"]);
        let diff = Diff::parse(diff.as_bytes()).expect("a diff");
        assert_eq!(elsewhere(&diff).len(), 1);
    }

    #[test]
    fn an_lfs_pointer_stands_for_content_that_nobody_reviewed() {
        let pointer = "diff --git a/m.bin b/m.bin\nindex 1..2 100644\n--- a/m.bin\n+++ b/m.bin\n@@ -1,3 +1,3 @@\n \
                       version https://git-lfs.github.com/spec/v1\n-oid sha256:aa\n+oid sha256:bb\n size 12\n";
        let diff = Diff::parse(pointer.as_bytes()).expect("a diff");
        assert_eq!(
            elsewhere(&diff),
            [("m.bin".to_owned(), "a Git LFS pointer: what it stands for is not in this change")]
        );
        let text = file("notes.txt");
        assert_eq!(elsewhere(&Diff::parse(text.as_bytes()).expect("a diff")), []);
    }

    #[test]
    fn a_pipeline_file_of_another_project_is_none_of_ours() {
        assert_eq!(pipeline_file(Some("ci/main.yml")), Some("ci/main.yml"));
        for none in [None, Some(""), Some("x.yml@group/project"), Some("https://host/x.yml")] {
            assert_eq!(pipeline_file(none), None);
        }
    }
}
