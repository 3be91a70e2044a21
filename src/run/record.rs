//! One run and its record: whatever happens, `run.json` and `events.jsonl` say how it ended.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::config::Environment;
use crate::contracts::{
    ContentElsewhere, ContextTotals, Coverage, ErrorInfo, Fingerprint, GateStatus, OnPartial, PartOf, PolicyRecord,
    PrivacyAudit, RunArtifacts, RunRecord, RunWeb, Severity, SkipReason, TokenUsage, VerdictCounts,
};
use crate::diff::git::tracked_in;
use crate::error::{Error, Failure};
use crate::redact::{Engine, Output};
use crate::run::console::Console;
use crate::run::events::{Event, Events};
use crate::run::workdir::{Artifact, Forbidden, Unusable, Workdir};
use crate::verdict;

/// A run under way: where it writes, and what is known of it so far.
#[derive(Debug)]
pub struct Run {
    pub events: Events,
    pub workdir: Workdir,
    pub engine: Arc<Engine>,
    pub console: Console,
    id: String,
    started: Instant,
    progress: Mutex<Progress>,
}

/// What a run knows of itself so far; what it has at its end goes into `run.json`.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub stage: Option<&'static str>,
    /// This is a GitLab job: whoever reads about it cannot type a command there.
    pub in_job: bool,
    /// The flags it was started with.
    pub args: Vec<String>,
    pub web: Option<RunWeb>,
    /// What a local review compared with what.
    pub compared: Option<String>,
    /// Id of the worst finding.
    pub worst: Option<String>,
    pub fingerprint: Option<Fingerprint>,
    pub skip_reasons: Vec<SkipReason>,
    pub diagnostics: Vec<ErrorInfo>,
    pub coverage: Coverage,
    /// Files that GitLab did not hand out, with the reason.
    pub unavailable: Vec<(String, String)>,
    /// Why there may be files that are not even named.
    pub incomplete: Option<String>,
    pub counts: VerdictCounts,
    pub fail_on: Option<Severity>,
    /// There is a validated review.
    pub reviewed: bool,
    /// There is none, but the verdict of an earlier review of the same change holds.
    pub carried: bool,
    /// The run stopped after the prompt because it was asked to.
    pub dry_run: bool,
    pub token_usage: Option<TokenUsage>,
    /// What the agent read beyond the change.
    pub context: Option<ContextTotals>,
    /// Who decided, and what the change would change about that.
    pub policy: Option<PolicyRecord>,
    /// Files whose content is elsewhere (submodules, Git LFS), with the reason: nobody reviewed it.
    pub elsewhere: Vec<(String, String)>,
    pub on_partial: OnPartial,
    /// It reviews one part of a change, and neither posts nor gates.
    pub part: Option<PartOf>,
}

/// How to open the folder of a run.
#[derive(Debug)]
pub struct Opening<'a> {
    pub workdir: PathBuf,
    pub current: &'a Path,
    pub env: &'a Environment,
    pub engine: Arc<Engine>,
    pub console: Console,
    pub command: &'static str,
    pub ci: bool,
    /// Go on with an earlier run instead of starting a new one.
    pub resume: bool,
    /// The flags it was started with, to name them again.
    pub args: Vec<String>,
}

impl Run {
    /// Opens the workdir, or a folder in its stead, and records that the run started.
    ///
    /// The second value is set when the configured workdir cannot be used; the run must end with it.
    pub fn open(opening: Opening<'_>) -> Result<(Self, Option<Error>), Error> {
        let forbidden = Forbidden {
            current: opening.current.to_owned(),
            repository: crate::config::repository_top(opening.current),
            home: opening.env.home(),
        };
        let open = |path: &Path| {
            let engine = Arc::clone(&opening.engine);
            if opening.resume {
                let tracked = tracked_in(&opening.current.join(path), opening.env).into();
                Workdir::open(path, &forbidden, engine).map(|workdir| workdir.knowing(tracked))
            } else {
                Workdir::create(path, &forbidden, engine)
            }
        };
        let (workdir, problem) = match open(&opening.workdir) {
            Ok(workdir) => (workdir, None),
            Err(unusable) if opening.resume => return Err(unusable_error(&unusable, None)),
            Err(unusable) => {
                let fallback = fallback(&unusable, &forbidden, &opening)?;
                let problem = unusable_error(&unusable, Some(fallback.path()));
                (fallback, Some(problem))
            }
        };
        let id = run_id();
        let file = workdir.events_file()?;
        let events = Events::new(id.clone(), Some(file), opening.console.clone(), Arc::clone(&opening.engine));
        let run = Self {
            events,
            workdir,
            engine: opening.engine,
            console: opening.console,
            id,
            started: Instant::now(),
            progress: Mutex::new(Progress {
                in_job: opening.env.get("GITLAB_CI").is_some(),
                args: opening.args.clone(),
                web: web(opening.env),
                ..Progress::default()
            }),
        };
        if !opening.resume {
            // A run that is killed outright leaves this, not the record of an earlier run and not nothing.
            let _ = run.workdir.json(Artifact::Run, &run.unfinished());
        }
        run.events.emit(Event::RunStarted {
            version: crate::VERSION,
            ci: opening.ci,
            workdir: run.workdir.path().to_string_lossy().into_owned(),
            command: opening.command,
            args: opening.args,
            job: opening.env.get("GITLAB_CI").map(|_| opening.env.get("CI_JOB_URL").unwrap_or_default().to_owned()),
        });
        Ok((run, problem))
    }

    /// Changes what is known of the run.
    pub fn note(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The stage that begins now.
    pub fn stage(&self, name: &'static str) {
        self.note(|progress| progress.stage = Some(name));
        self.events.emit(Event::StageStarted { stage: name });
        self.console.stage(name);
        crate::run::fault::point(name);
    }

    /// What the agent is doing now, for a person who watches.
    pub fn activity(&self, text: &str) {
        self.console.activity(self.engine.redact(Output::Console, text).as_str());
    }

    /// Goes on from what an earlier run recorded in the same folder.
    pub fn take_over(&self, earlier: RunRecord) {
        self.note(|progress| {
            progress.fingerprint = earlier.fingerprint;
            progress.token_usage = earlier.token_usage;
            progress.skip_reasons = earlier.skip_reasons;
            if let Some(verdict) = earlier.verdict {
                progress.coverage = verdict.coverage;
                progress.counts = verdict.counts;
                progress.fail_on = progress.fail_on.or(verdict.gate.fail_on);
                // A skipped review that carries no verdict has none to be judged by.
                let judged = verdict.gate.status != GateStatus::NotEvaluated;
                (progress.reviewed, progress.carried) = (!earlier.skipped, earlier.skipped && judged);
            }
        });
    }

    /// What is known so far.
    pub fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A problem that the run survives: an event, and a diagnostic in the record.
    pub fn survive(&self, error: &Error) {
        let info = error.info(&self.engine);
        self.events.emit(Event::survived(&info));
        self.note(|progress| progress.diagnostics.push(info));
    }

    /// The run as it would be recorded if it ended now.
    pub fn record(&self, error: Option<&Error>) -> RunRecord {
        let progress = self.progress();
        let info = error.map(|error| error.info(&self.engine));
        let exit_code = match error {
            Some(error) => error.exit_code(),
            None if verdict::gate_closed(&progress) => 3,
            None => 0,
        };
        RunRecord {
            ok: error.is_none(),
            skipped: error.is_none() && !progress.skip_reasons.is_empty(),
            skip_reasons: progress.skip_reasons.clone(),
            fingerprint: progress.fingerprint.clone(),
            verdict: Some(verdict::verdict(&progress, info.as_ref(), exit_code, self.workdir.path())),
            error: info,
            artifacts: Some(self.artifacts()),
            version: crate::VERSION.into(),
            run_id: self.id.clone(),
            exit_code,
            stage: progress.stage.map(str::to_owned),
            duration_ms: self.elapsed_ms(),
            diagnostics: progress.diagnostics,
            privacy_audit: Some(self.audit(progress.context)),
            token_usage: progress.token_usage,
            web: progress.web,
            compared: progress.compared,
            policy: progress.policy,
            elsewhere: progress.elsewhere.into_iter().map(|(path, reason)| ContentElsewhere { path, reason }).collect(),
            part: progress.part,
        }
    }

    /// Writes the record, then the last event.
    pub fn finish(&self, result: Result<(), Error>) -> RunRecord {
        self.console.still();
        self.workdir.release_reserve();
        if let Err(error) = &result {
            self.events.emit(Event::fatal(&error.info(&self.engine)));
        }
        let record = self.record(result.as_ref().err());
        if let Err(error) = self.workdir.finish(&record) {
            self.console.message(&format!("diffsan: {}\n", error.info(&self.engine).message));
        }
        let (ok, skipped, duration_ms, exit_code) = (record.ok, record.skipped, record.duration_ms, record.exit_code);
        self.events.emit(Event::RunFinished { ok, skipped, duration_ms, exit_code });
        record
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn artifacts(&self) -> RunArtifacts {
        let files = self.workdir.written();
        let there = |artifact: Artifact| {
            let name = artifact.file_name();
            files.contains(&name).then_some(name)
        };
        RunArtifacts {
            workdir: self.workdir.path().to_string_lossy().into_owned(),
            prompt: there(Artifact::Prompt),
            raw_output: there(Artifact::AgentRaw),
            review: there(Artifact::Review),
            files,
        }
    }

    fn audit(&self, context: Option<ContextTotals>) -> PrivacyAudit {
        let outputs = self.engine.audit();
        let replacements = outputs.values().flat_map(|rules| rules.values()).sum();
        PrivacyAudit {
            outputs: outputs.into_iter().map(|(output, rules)| (output_name(output).to_owned(), rules)).collect(),
            replacements,
            context,
        }
    }

    fn unfinished(&self) -> RunRecord {
        let error = ErrorInfo {
            error_code: crate::contracts::ErrorCode::Interrupted,
            message: "the run did not finish: it is still under way, or it was killed outright".into(),
            retryable: true,
            context: serde_json::Map::new(),
            cause: None,
            help: Some("run it again; events.jsonl has the last thing that happened".into()),
        };
        RunRecord {
            ok: false,
            skipped: false,
            skip_reasons: Vec::new(),
            fingerprint: None,
            error: Some(error),
            artifacts: None,
            version: crate::VERSION.into(),
            run_id: self.id.clone(),
            exit_code: 1,
            stage: None,
            duration_ms: 0,
            verdict: None,
            diagnostics: Vec::new(),
            privacy_audit: None,
            token_usage: None,
            web: self.progress().web,
            compared: None,
            policy: None,
            elsewhere: Vec::new(),
            part: None,
        }
    }
}

/// What the job's variables say about where it runs.
fn web(env: &Environment) -> Option<RunWeb> {
    env.get("GITLAB_CI")?;
    let text = |name: &str| env.get(name).map(str::to_owned);
    let target = text("CI_MERGE_REQUEST_PROJECT_URL");
    let merge_request =
        target.zip(text("CI_MERGE_REQUEST_IID")).map(|(url, iid)| format!("{url}/-/merge_requests/{iid}"));
    Some(RunWeb {
        project_url: text("CI_MERGE_REQUEST_SOURCE_PROJECT_URL").or_else(|| text("CI_PROJECT_URL")),
        merge_request_url: merge_request,
        job_url: text("CI_JOB_URL"),
    })
}

/// `.diffsan` here, else a folder of one's own in the temporary folder.
fn fallback(unusable: &Unusable, forbidden: &Forbidden, opening: &Opening<'_>) -> Result<Workdir, Error> {
    let here = Path::new(".diffsan");
    let engine = || Arc::clone(&opening.engine);
    let folder = if opening.workdir != here
        && let Ok(folder) = Workdir::create(here, forbidden, engine())
    {
        Ok(folder)
    } else {
        tempfile::Builder::new().prefix("diffsan-").tempdir().map_err(|error| error.to_string()).and_then(|folder| {
            Workdir::create(&folder.keep(), forbidden, engine()).map_err(|unusable| unusable.to_string())
        })
    };
    let folder = folder.map_err(|reason| {
        Error::Config(
            Failure::new(format!("{unusable}; no other folder can be used either: {reason}"))
                .help("point --workdir at a folder that can be written to"),
        )
    })?;
    let path = forbidden.current.join(folder.path());
    opening.console.message(&format!("diffsan: the record of this run is in {}\n", path.display()));
    Ok(folder)
}

fn unusable_error(unusable: &Unusable, instead: Option<&Path>) -> Error {
    let failure = Failure::new(unusable.to_string()).with("workdir", unusable.path.to_string_lossy());
    let failure = match instead {
        Some(path) => failure.with("fallback", path.to_string_lossy()),
        None => failure,
    };
    if unusable.is_full {
        return Error::ArtifactWrite(failure.help("the disk is full: free some space, or point --workdir elsewhere"));
    }
    Error::Config(failure.help("point --workdir, DIFFSAN_WORKDIR or `workdir` at a folder of diffsan's own"))
}

fn output_name(output: Output) -> &'static str {
    match output {
        Output::Prompt => "prompt",
        Output::Artifact => "artifacts",
        Output::Event => "events",
        Output::Console => "console",
        Output::Report => "reports",
        Output::GitLab => "gitlab",
        Output::AgentOutput => "agent_output",
        Output::Error => "errors",
        Output::Context => "context",
    }
}

fn run_id() -> String {
    let seed = format!("{} {}", crate::run::clock::now().unix_timestamp_nanos(), std::process::id());
    hex(&Sha256::digest(seed.as_bytes())[..8])
}

/// Lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
