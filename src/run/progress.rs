//! The one moving line on a terminal: the stage a run is in, for how long, and what the agent is doing.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::letters::inert;

/// How often it turns.
const TICK: Duration = Duration::from_millis(120);
/// Most characters of an activity; a terminal shows what fits.
const ACTIVITY: usize = 300;

/// The moving line, or nothing where nobody watches. Clones are the same line.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
}

/// What the line may use on this terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ink {
    pub colour: bool,
    pub unicode: bool,
}

impl Progress {
    /// A line that moves until [`Progress::finish`]; none unless a person watches stderr.
    pub fn start(ink: Option<Ink>) -> Self {
        let Some(ink) = ink else { return Self::default() };
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style(ink));
        bar.enable_steady_tick(TICK);
        Self { bar: Some(bar) }
    }

    /// The run is in another stage; the time is counted anew.
    pub fn stage(&self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.reset_elapsed();
            bar.set_prefix(words(name).to_owned());
            bar.set_message("");
        }
    }

    /// What goes on within the stage: a call the agent made, a file it read.
    pub fn activity(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(one_line(text));
        }
    }

    /// Takes the line off the screen while something else writes there.
    pub fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) if !bar.is_finished() => bar.suspend(write),
            _ => write(),
        }
    }

    /// Takes the line off the screen for good.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn style(ink: Ink) -> ProgressStyle {
    let template = if ink.colour {
        "{spinner:.cyan} {prefix} {elapsed:.dim} {wide_msg:.dim}"
    } else {
        "{spinner} {prefix} {elapsed} {wide_msg}"
    };
    let turning = if ink.unicode { "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ " } else { "-\\|/ " };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()).tick_chars(turning)
}

/// A file's name or an agent's words must not move the cursor.
fn one_line(text: &str) -> String {
    text.chars().take(ACTIVITY).map(inert).collect()
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
    fn a_line_that_is_off_does_nothing_and_lets_others_write() {
        let progress = Progress::start(None);
        progress.stage("agent");
        progress.activity("read_file src/app.py");
        assert_eq!(progress.suspend(|| 7), 7);
        progress.finish();
        assert!(progress.bar.is_none());
    }

    #[test]
    fn an_activity_stands_beside_its_stage_and_goes_with_it() {
        let progress = Progress { bar: Some(ProgressBar::hidden()) };
        let bar = progress.bar.clone().unwrap();
        progress.stage("agent");
        progress.activity("read_file a\x1b[2Jb\n.py");
        assert_eq!((bar.prefix().as_str(), bar.message().as_str()), ("the agent reviews", "read_file a [2Jb .py"));
        progress.stage("validate");
        assert_eq!((bar.prefix().as_str(), bar.message().as_str()), ("checking the answer", ""));
    }

    #[test]
    fn a_finished_line_is_off_the_screen_for_every_clone() {
        let progress = Progress { bar: Some(ProgressBar::hidden()) };
        let clone = progress.clone();
        clone.finish();
        assert!(progress.bar.as_ref().unwrap().is_finished());
        assert_eq!(progress.suspend(|| 7), 7);
    }
}
