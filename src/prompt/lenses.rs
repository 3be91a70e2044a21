//! Review lenses: what `agent.skills` names and what the languages of the change call for, spelled out.

use std::cmp::Reverse;
use std::fmt::Write as _;

use crate::diff::Diff;

/// A lens: the names it goes by, and what to look at through it.
struct Lens {
    names: &'static [&'static str],
    guidance: &'static str,
}

/// Most languages whose lenses a prompt has without being asked.
const MOST_LANGUAGES: usize = 4;

/// Which lens goes with which file names: endings, or whole names.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("rust", &[".rs"]),
    ("python", &[".py", ".pyi"]),
    ("javascript", &[".js", ".mjs", ".cjs"]),
    ("typescript", &[".ts", ".mts", ".cts"]),
    ("react", &[".tsx", ".jsx", ".vue", ".svelte"]),
    ("go", &[".go"]),
    ("java", &[".java"]),
    ("kotlin", &[".kt", ".kts"]),
    ("c", &[".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"]),
    ("csharp", &[".cs"]),
    ("ruby", &[".rb", ".rake"]),
    ("php", &[".php"]),
    ("swift", &[".swift"]),
    ("shell", &[".sh", ".bash", ".zsh"]),
    ("database", &[".sql"]),
    ("docker", &["dockerfile", "containerfile", ".dockerfile"]),
    ("terraform", &[".tf", ".tfvars"]),
    ("ci", &[".gitlab-ci.yml", ".gitlab-ci.yaml"]),
];

/// Every name a lens goes by.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    LENSES.iter().flat_map(|lens| lens.names.iter().copied())
}

/// The languages of a change by how many of its lines they have, most first.
pub(super) fn languages(diff: &Diff<'_>) -> Vec<&'static str> {
    let mut lines = vec![0u64; LANGUAGES.len()];
    for file in &diff.files {
        let name = file.path().rsplit('/').next().unwrap_or_default().to_lowercase();
        let is = |ending: &&str| name.ends_with(ending) && (ending.starts_with('.') || name == **ending);
        if let Some(at) = LANGUAGES.iter().position(|(_, endings)| endings.iter().any(is)) {
            lines[at] += u64::from(file.additions) + u64::from(file.deletions);
        }
    }
    let mut found: Vec<usize> = (0..LANGUAGES.len()).filter(|at| lines[*at] > 0).collect();
    found.sort_by_key(|at| Reverse(lines[*at]));
    found.into_iter().take(MOST_LANGUAGES).map(|at| LANGUAGES[at].0).collect()
}

/// The section of the prompt that spells the lenses out, those that were asked for first; empty when there are none.
pub(super) fn render(skills: &[String], languages: &[&'static str]) -> String {
    let mut seen: Vec<&'static [&'static str]> = Vec::new();
    let mut section = String::new();
    for skill in skills.iter().map(String::as_str).chain(languages.iter().copied()) {
        let name = super::one_line(skill, 80);
        let lens = LENSES.iter().find(|lens| lens.names.iter().any(|known| known.eq_ignore_ascii_case(&name)));
        match lens {
            _ if name.is_empty() => {}
            Some(lens) if seen.contains(&lens.names) => {}
            Some(lens) => {
                seen.push(lens.names);
                let _ = writeln!(section, "- {}: {}", lens.names[0], lens.guidance);
            }
            None => {
                let _ = writeln!(section, "- {name}: look at the change as someone would who knows this well.");
            }
        }
    }
    if section.is_empty() {
        return section;
    }
    format!("# Lenses\n\nLook at the change through each of these as well:\n\n{section}\n")
}

const LENSES: &[Lens] = &[
    Lens {
        names: &["security", "sec", "appsec"],
        guidance: "follow each value from outside (requests, files, messages, environment, other services) to where it is used: \
            queries, commands, paths, templates, redirects, deserialisers, logs. Check that identity and permission are \
            verified on the server for every new way in, for the object asked for and not only for the kind of user. Look at \
            what is now reachable that was not, at defaults that open something, at comparison of secrets, randomness, token \
            lifetimes, cookies, CORS, file permissions, and at new dependencies and what they may do.",
    },
    Lens {
        names: &["performance", "perf"],
        guidance: "ask how the work grows with the data. Queries and calls inside loops, missing limits and pages, whole files or \
            tables in memory, needless copies and serialisation, indexes that new queries need, locks held over slow calls, \
            blocking calls in asynchronous code, caches without bound or with keys that never repeat. Name the size at which it \
            hurts.",
    },
    Lens {
        names: &["tests", "testing", "test"],
        guidance: "for each risky line ask which test in this change would fail if it were wrong. Look for tests that assert \
            nothing, assert what they set up themselves, mock the thing under test, depend on time, order, network or each \
            other, or were loosened to pass. Name the missing case by its input and its expected result.",
    },
    Lens {
        names: &["concurrency", "async"],
        guidance: "look for check-then-act, shared state without a lock, locks taken in different orders or held across an await, \
            lost wake-ups, cancelled work that leaves state behind, tasks that nobody waits for, and retries that run at the \
            same time as what they retry.",
    },
    Lens {
        names: &["api", "compatibility", "api-design"],
        guidance: "look at everything others build on: public signatures, wire formats, status codes, defaults, error values, \
            configuration keys, event names. Say who breaks, with which call or message, and how it can be done without \
            breaking them.",
    },
    Lens {
        names: &["database", "migrations", "sql"],
        guidance: "look at locks that a migration takes on a large table, at what the running version does while and after it \
            runs, at columns dropped or made mandatory before the code let go of them, at missing indexes and constraints, at \
            transactions that are too wide or too narrow, at NULL in conditions, and at text put into a query.",
    },
    Lens {
        names: &["docs", "documentation"],
        guidance: "look for documentation, examples, help texts and comments in the diff that the code in the diff contradicts, \
            and for new settings or commands that a user could not learn about.",
    },
    Lens {
        names: &["accessibility", "a11y"],
        guidance: "look for controls that a keyboard or a screen reader cannot use: clickable elements that are no buttons or \
            links, missing labels and alternative texts, focus that gets lost or trapped, meaning by colour alone, and motion \
            that cannot be stopped.",
    },
    Lens {
        names: &["rust"],
        guidance: "look for panics reachable from input (`unwrap`, indexing, slicing text at byte offsets, arithmetic), unsound \
            `unsafe`, errors dropped with `let _` or `.ok()`, locks or borrows held across `.await`, blocking calls on an async \
            runtime, futures that lose work when dropped, needless clones in hot paths, and integer casts with `as`.",
    },
    Lens {
        names: &["python", "py"],
        guidance: "look for mutable default arguments, bare or too broad `except`, late binding in closures, names that shadow \
            others, truthiness where `None` and empty differ, naive datetimes, files and sessions not closed, blocking calls in \
            `async` code, text put into SQL or shells, `pickle` and `yaml.load` on foreign data, and imports with effects.",
    },
    Lens {
        names: &["javascript", "js", "node", "nodejs"],
        guidance: "look for promises nobody awaits or catches, `forEach` with async callbacks, loose equality, `this` lost in \
            callbacks, mutation of shared objects, prototype pollution, HTML built from text, listeners and timers that are \
            never removed, and floating-point money.",
    },
    Lens {
        names: &["typescript", "ts"],
        guidance: "look for `any`, casts and non-null assertions that hide a real case, unions that are not handled in full, types \
            of foreign data that nobody checked at run time, promises nobody awaits, and optional values read as if they were \
            there.",
    },
    Lens {
        names: &["react", "vue", "frontend"],
        guidance: "look for effects with missing or too many dependencies, state that is derived and stored twice, updates after \
            unmount, stale closures, keys by index in lists that change, work in every render, HTML set from text, and requests \
            whose late answer overwrites a newer one.",
    },
    Lens {
        names: &["go", "golang"],
        guidance: "look for errors ignored or shadowed by `:=`, goroutines that never end, maps written from several of them, \
            channels closed twice or never, `defer` in loops, nil interfaces that are not nil, slices that share memory, contexts \
            not passed on, response bodies not closed, and loop variables captured in older Go.",
    },
    Lens {
        names: &["java"],
        guidance: "look for null where Optional or a check is expected, `equals` without `hashCode`, resources outside \
            try-with-resources, checked exceptions swallowed, unsynchronised shared state, mutable values handed out, streams \
            used twice, time zones and default charsets, and transactions that a self-call bypasses.",
    },
    Lens {
        names: &["kotlin"],
        guidance: "look for `!!`, platform types read as non-null, coroutines in the wrong scope or dispatcher, cancellation \
            swallowed by `catch (e: Exception)`, lazy state shared between threads, and data classes that leak what they hold.",
    },
    Lens {
        names: &["c", "c++", "cpp"],
        guidance: "look for lengths and indices not checked, signed overflow and narrowing, use after free or move, double free, \
            missing null checks after allocation, uninitialised values, format strings, ownership that is unclear on error \
            paths, iterators invalidated by changes, and data races.",
    },
    Lens {
        names: &["csharp", "c#", "dotnet", ".net"],
        guidance: "look for `async void`, `.Result` and `.Wait()`, missing `ConfigureAwait` in libraries, disposables not disposed, \
            null despite nullable annotations, LINQ run several times, culture-dependent parsing and comparison, and \
            events that keep objects alive.",
    },
    Lens {
        names: &["ruby", "rails"],
        guidance: "look for N+1 queries, mass assignment, SQL and HTML built from text, `rescue` without a class, callbacks with \
            side effects, `update_column` that skips checks, missing scopes for the current user, time without zone, and \
            migrations that lock.",
    },
    Lens {
        names: &["php", "laravel"],
        guidance: "look for loose comparison, SQL and HTML built from text, mass assignment, uploads trusted by name, \
            `unserialize` on foreign data, missing CSRF or permission checks, and queries inside loops.",
    },
    Lens {
        names: &["swift", "ios"],
        guidance: "look for force unwraps and `try!`, reference cycles in closures, work on the wrong thread or actor, tasks that \
            outlive their view, and secrets in user defaults.",
    },
    Lens {
        names: &["shell", "bash", "sh"],
        guidance: "look for unquoted variables, paths with blanks, errors lost in pipes or command substitutions, `rm` on a \
            variable that may be empty, temporary files with known names, `eval` and word splitting on foreign text, and options \
            that the target's tools do not have.",
    },
    Lens {
        names: &["docker", "containers", "kubernetes", "k8s", "helm"],
        guidance: "look for images without a pinned version, processes that run as root, secrets in layers or build arguments, \
            missing limits, probes that kill a slow start, writable host mounts, wide permissions, and rollouts that take the \
            old version down before the new one serves.",
    },
    Lens {
        names: &["terraform", "infrastructure", "iac", "ansible"],
        guidance: "look for changes that replace or delete what holds data, networks and buckets open to everyone, permissions with \
            wildcards, secrets in state or variables, and resources whose names or counts shift others.",
    },
    Lens {
        names: &["ci", "gitlab-ci", "pipelines"],
        guidance: "look for variables and tokens that jobs of forks can read, scripts that run text from branch names or titles, \
            caches and artifacts that one branch can poison for another, rules that skip a check, and images without a pinned \
            version.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(skills: &[&str]) -> String {
        render(&skills.iter().map(|skill| (*skill).to_owned()).collect::<Vec<_>>(), &[])
    }

    fn diff_of(files: &[(&str, usize)]) -> String {
        let one = |(path, lines): &(&str, usize)| {
            let added = "+x\n".repeat(*lines);
            format!(
                "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{lines} @@\n{added}"
            )
        };
        files.iter().map(one).collect()
    }

    #[test]
    fn the_languages_of_a_change_have_their_lenses_most_lines_first_and_at_most_four() {
        let of = |files: &[(&str, usize)]| {
            let text = diff_of(files);
            languages(&Diff::parse(text.as_bytes()).unwrap())
        };
        assert_eq!(
            of(&[("a/b.PY", 1), ("c.rs", 2), ("README", 9), ("docker/Dockerfile", 1)]),
            ["rust", "python", "docker"]
        );
        assert_eq!(of(&[("my.dockerfile.md", 3), ("notdockerfile", 3), ("x.rst", 1)]), [""; 0]);
        assert_eq!(
            of(&[("a.go", 1), ("a.rb", 2), ("a.ts", 3), ("a.tsx", 4), ("a.c", 5)]),
            ["c", "react", "typescript", "ruby"]
        );
    }

    #[test]
    fn every_language_has_a_lens_and_what_was_asked_for_is_not_said_twice() {
        for (name, _) in LANGUAGES {
            assert!(LENSES.iter().any(|lens| lens.names[0] == *name), "{name}");
        }
        let text = render(&["py".to_owned()], &["python", "rust"]);
        assert_eq!(text.matches("- python: ").count(), 1);
        assert!(text.find("- python: ") < text.find("- rust: "));
    }

    #[test]
    fn known_lenses_are_spelled_out_once_whatever_name_they_go_by() {
        let text = rendered(&["Security", "perf", "sec", "RUST"]);
        assert_eq!(text.matches("- security: ").count(), 1);
        assert!(text.contains("- performance: ask how") && text.contains("- rust: look for panics"));
    }

    #[test]
    fn an_unknown_lens_is_passed_on_by_its_name_on_one_line() {
        let text = rendered(&["Haskell", "a\n# New rules\nx"]);
        assert!(text.contains("- Haskell: look at the change as someone would"));
        assert!(text.contains("- a # New rules x: "), "{text}");
    }

    #[test]
    fn no_lens_is_no_section() {
        assert_eq!(rendered(&[]), "");
        assert_eq!(rendered(&["  "]), "");
    }

    #[test]
    fn every_lens_has_names_of_its_own() {
        let names: Vec<_> = LENSES.iter().flat_map(|lens| lens.names).collect();
        let unique: std::collections::HashSet<_> = names.iter().collect();
        assert_eq!(names.len(), unique.len());
    }
}
