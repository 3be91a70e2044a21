//! The house rules that no compiler keeps.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder, with its text.
fn sources(folder: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// The text without its inline tests.
fn production(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ").next().unwrap()
}

#[test]
fn every_file_says_what_it_is_for() {
    for (name, text) in sources("src").into_iter().chain(sources("tests")) {
        assert!(text.starts_with("//! "), "{name} does not open with a //! line");
    }
}

#[test]
fn pure_modules_touch_no_file_environment_network_clock_or_runtime() {
    const PURE: &[&str] = &[
        "src/contracts/",
        "src/prepare",
        "src/prior",
        "src/prompt",
        "src/skip",
        "src/validate",
        "src/verdict",
        "src/next",
        "src/apply",
        "src/redact/",
        "src/post/plan",
        "src/post/position",
        "src/post/render",
        "src/post/sanitize",
        "src/diff/mod",
        "src/diff/parse",
        "src/diff/anchor",
        "src/diff/path",
        "src/diff/header",
        "src/agent/builtin",
        "src/view/",
    ];
    const EFFECTS: &[&str] = &[
        "std::fs",
        "std::env::",
        "std::net",
        "std::process::Command",
        "tokio::",
        "reqwest",
        "now_utc",
        "Instant::now",
    ];
    for (name, text) in sources("src") {
        if PURE.iter().any(|pure| name.starts_with(pure)) && !name.ends_with("tests.rs") {
            for effect in EFFECTS {
                assert!(!production(&text).contains(effect), "{name} uses {effect}");
            }
        }
    }
}

#[test]
fn each_effect_has_one_door() {
    let doors: &[(&str, &[&str])] = &[
        ("tokio::process::Command", &["src/agent/process.rs", "src/diff/git.rs"]),
        ("std::process::Command", &["src/diff/git.rs"]),
        ("reqwest::", &["src/gitlab/"]),
        ("vars_os", &["src/config/", "src/run/fault.rs"]),
        ("io::stdout", &["src/run/console.rs", "src/context/bridge.rs"]),
        ("io::stderr", &["src/run/console.rs", "src/context/bridge.rs"]),
        ("UnixListener", &["src/context/serve.rs"]),
    ];
    for (name, text) in sources("src") {
        for (effect, rooms) in doors {
            let at_home = rooms.iter().any(|room| name.starts_with(room));
            assert!(at_home || !production(&text).contains(effect), "{name} uses {effect}; its door is {rooms:?}");
        }
    }
}

#[test]
fn the_top_level_holds_only_what_belongs_there() {
    const ALLOWED: &[&str] = &[
        "Cargo.toml",
        "Cargo.lock",
        "build.rs",
        "Containerfile",
        "proptest-regressions",
        "templates",
        "src",
        "tests",
        "fixtures",
        "docs",
        "README.md",
        "LICENSE",
        "target",
    ];
    for entry in std::fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(name.starts_with('.') || ALLOWED.contains(&name.as_str()), "{name} does not belong at the top");
    }
}

#[test]
fn every_dependency_says_what_it_is_for() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let lines: Vec<_> = manifest.lines().collect();
    let mut section = "";
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]") && line.contains(" = ") && !line.starts_with('#') {
            let commented =
                lines[..index].iter().rev().take_while(|line| !line.is_empty()).any(|line| line.starts_with('#'));
            assert!(commented, "no reason is given for {line}");
        }
    }
}

#[test]
fn nothing_in_the_tree_reads_from_outside_it() {
    for (name, text) in sources("src").into_iter().chain(sources("tests")) {
        let outside = concat!("../", "shared");
        assert!(!text.contains(outside), "{name} reads {outside}");
    }
}

#[test]
fn a_module_with_a_folder_is_the_folders_mod_rs() {
    for folder in ["src", "tests"] {
        for (name, _) in sources(folder) {
            let beside = root().join(name.trim_end_matches(".rs"));
            assert!(!beside.is_dir(), "{name} stands beside its folder; it belongs in it as mod.rs");
        }
    }
}

#[test]
fn the_architecture_page_names_files_that_exist() {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let names = page.split('`').skip(1).step_by(2).filter(|name| {
        name.ends_with(".rs")
            || name.ends_with('/') && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '/')
    });
    let mut seen = 0;
    for name in names {
        let found = ["", "src"].iter().any(|room| root().join(room).join(name).exists());
        assert!(found, "docs/architecture.md names {name}, which does not exist");
        seen += 1;
    }
    assert!(seen > 10, "only {seen} names were found on the page");
}
