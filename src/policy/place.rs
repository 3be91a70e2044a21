//! Where a named file lies: in the checkout, which the branch fills, or outside.

use std::path::{Component, Path, PathBuf};

/// The folders that the branch under review fills.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checkout {
    tops: Vec<PathBuf>,
}

impl Checkout {
    /// The job's checkout, and the repository around a folder.
    pub(crate) fn new(project_dir: Option<&str>, current: &Path) -> Self {
        let named = project_dir.map(PathBuf::from).filter(|folder| folder.is_absolute());
        let mut tops = Vec::new();
        for top in named.into_iter().chain(crate::config::repository_top(current)) {
            let real = top.canonicalize().ok();
            for top in std::iter::once(normal(&top)).chain(real) {
                if !tops.contains(&top) {
                    tops.push(top);
                }
            }
        }
        Self { tops }
    }

    /// The file's path in the repository, when either its name or what the name leads to is inside.
    pub(crate) fn inside(&self, file: &Path) -> Option<String> {
        let named = normal(file);
        let real = file.canonicalize().ok();
        std::iter::once(&named).chain(&real).find_map(|file| {
            let below = self.tops.iter().find_map(|top| file.strip_prefix(top).ok())?;
            Some(below.to_string_lossy().into_owned())
        })
    }

    /// Whether something of the branch may be there.
    pub(crate) fn holds(&self, file: &Path) -> bool {
        self.inside(file).is_some()
    }
}

/// The path without `.` and `..`, by its letters alone: a link of the branch must not lead the look elsewhere.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// A name in a file of the repository, as a path in the repository; none when it leads out of it.
pub(crate) fn in_repository(naming: &str, name: &str) -> Option<String> {
    if name.starts_with('/') {
        return None;
    }
    let folder = naming.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make their own folders")]

    use super::*;

    #[test]
    fn a_name_in_a_file_is_resolved_from_that_file_and_stays_in_the_repository() {
        assert_eq!(in_repository(".diffsan.toml", "guide.md").as_deref(), Some("guide.md"));
        assert_eq!(in_repository("ci/diffsan.toml", "guide.md").as_deref(), Some("ci/guide.md"));
        assert_eq!(in_repository("ci/diffsan.toml", "../docs/./guide.md").as_deref(), Some("docs/guide.md"));
        for out in ["../guide.md", "/etc/passwd", "a/../../x", ".", ""] {
            assert_eq!(in_repository(".diffsan.toml", out), None, "{out}");
        }
    }

    #[test]
    fn a_file_is_inside_by_its_name_and_by_what_the_name_leads_to() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (top, other) = (root.join("repo"), root.join("repo.tmp"));
        for folder in [&top, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::create_dir(top.join(".git")).unwrap();
        std::fs::write(top.join("real.toml"), "").unwrap();
        std::fs::write(other.join("job.toml"), "").unwrap();
        std::os::unix::fs::symlink(other.join("job.toml"), top.join("link.toml")).unwrap();
        std::os::unix::fs::symlink(top.join("real.toml"), root.join("way-in.toml")).unwrap();
        let checkout = Checkout::new(None, &top);
        let inside = |path: PathBuf| checkout.inside(&path);
        assert_eq!(inside(top.join("a/../real.toml")).as_deref(), Some("real.toml"));
        assert_eq!(inside(top.join("link.toml")).as_deref(), Some("link.toml"));
        assert_eq!(inside(root.join("way-in.toml")).as_deref(), Some("real.toml"));
        assert_eq!(inside(top.join("gone/x")).as_deref(), Some("gone/x"));
        assert_eq!(inside(other.join("job.toml")), None);
        assert_eq!(inside(top.join("../repo.tmp/job.toml")), None);
    }
}
