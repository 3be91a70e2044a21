//! The spinner on stderr: the stage a run is in, and for how long.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often it turns.
const TICK: Duration = Duration::from_millis(120);

/// A spinner, or nothing where nobody watches. Clones are the same spinner.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A spinner that turns until [`Progress::finish`]; `enabled` says that stderr is a terminal and not asked to be quiet.
    pub fn start(enabled: bool) -> Self {
        if !enabled {
            return Self::default();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner:.cyan} {msg} {elapsed:.dim}") {
            bar.set_style(style.tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ "));
        }
        bar.enable_steady_tick(TICK);
        Self { bar: Some(bar) }
    }

    /// The run is in another stage; the time is counted anew.
    pub fn stage(&self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.reset_elapsed();
            bar.set_message(words(name).to_owned());
        }
    }

    /// Takes the spinner off the screen while something else writes there.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) if !bar.is_finished() => bar.suspend(write),
            _ => write(),
        }
    }

    /// Takes the spinner off the screen for good.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What a stage does, for a person who waits for it.
fn words(stage: &str) -> &str {
    match stage {
        "config" => "reading the configuration",
        "fetch" => "fetching the change",
        "redact" => "removing secrets",
        "prepare" => "fitting the change",
        "skip" => "looking for reasons to skip",
        "prior" => "reading earlier reviews",
        "prompt" => "writing the prompt",
        "agent" => "the agent reviews",
        "validate" => "checking the answer",
        "plan" => "planning what to post",
        "post" => "posting",
        "report" => "writing the reports",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinner_that_is_off_does_nothing_and_lets_others_write() {
        let progress = Progress::start(false);
        progress.stage("agent");
        assert_eq!(progress.suspend(|| 7), 7);
        progress.finish();
        assert!(progress.bar.is_none());
    }

    #[test]
    fn a_finished_spinner_is_off_the_screen_for_every_clone() {
        let progress = Progress { bar: Some(ProgressBar::hidden()) };
        let clone = progress.clone();
        progress.stage("agent");
        assert_eq!(clone.bar.as_ref().unwrap().message(), "the agent reviews");
        clone.finish();
        assert!(progress.bar.as_ref().unwrap().is_finished());
        assert_eq!(progress.suspend(|| 7), 7);
    }
}
