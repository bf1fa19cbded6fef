//! Telling a person on stderr what is going on; silent where nobody looks.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::case::Case;
use crate::config::Config;
use crate::output;
use crate::plan::{Plan, estimate};
use crate::results::Run;
use crate::runner::{Event, settles};

/// How loud to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// A bar, on a terminal.
    Bar,
    /// A line now and then, elsewhere.
    Lines,
    /// Nothing.
    Quiet,
}

impl Voice {
    /// What fits stderr.
    pub fn fitting(quiet: bool) -> Self {
        match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bar,
            (false, false) => Self::Lines,
        }
    }

    /// Says one line.
    pub fn say(self, line: &str) {
        if self != Self::Quiet {
            output::stderr(line);
        }
    }
}

/// Progress of a plan.
pub struct Progress {
    voice: Voice,
    bar: ProgressBar,
    /// Runs left of each case and build, and the time of one: estimated, then as the last one took.
    left: BTreeMap<(String, String), (u32, Duration)>,
    started: Option<Instant>,
    done: u64,
    said: Instant,
}

/// A line on a log at most this often.
const EVERY: Duration = Duration::from_secs(30);

impl Progress {
    /// A plan of which the runs `done` are made.
    pub fn new(voice: Voice, plan: &Plan, config: &Config, done: &[Run]) -> Self {
        let mut left = BTreeMap::new();
        for case in &plan.cases {
            for build in &plan.builds {
                left.insert((case.to_string(), build.clone()), (plan.repeats, estimate(config, case)));
            }
        }
        let bar = ProgressBar::with_draw_target(None, target(voice));
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} runs, {prefix} left  {msg}") {
            bar.set_style(style);
        }
        let mut progress = Self { voice, bar, left, started: None, done: 0, said: Instant::now() };
        progress.bar.set_length(progress.runs_left());
        progress.bar.set_prefix(human(progress.time_left()));
        for run in done {
            progress.count(run, None);
        }
        progress
    }

    /// Runs that are still to be made.
    pub fn runs_left(&self) -> u64 {
        self.left.values().map(|&(runs, _)| u64::from(runs)).sum()
    }

    /// The time they will take.
    pub fn time_left(&self) -> Duration {
        self.left.values().map(|&(runs, each)| each.saturating_mul(runs)).fold(Duration::ZERO, Duration::saturating_add)
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Checking { case } => self.bar.set_message(format!("checking pixels: {}", short(case))),
            Event::Starting { case, .. } => {
                self.started = Some(Instant::now());
                self.bar.set_prefix(human(self.time_left()));
                self.bar.set_message(short(case));
            }
            Event::Again { case, build } => {
                if let Some((runs, _)) = self.left.get_mut(&(case.to_string(), (*build).to_owned())) {
                    *runs += 1;
                }
                self.started = Some(Instant::now());
            }
            Event::Reached { case } => {
                let id = case.to_string();
                self.left.iter_mut().filter(|((case, _), _)| *case == id).for_each(|(_, (runs, _))| *runs = 0);
            }
            Event::Ended(run) => self.ended(run),
        }
    }

    /// Clears the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn ended(&mut self, run: &Run) {
        let took = self.started.take().map(|started| started.elapsed());
        self.count(run, took);
        if !run.outcome.is_ok() {
            let line = format!("{}: {}", run.outcome.kind(), run.case);
            if self.voice == Voice::Bar { self.bar.println(line) } else { self.voice.say(&line) }
        }
        if self.voice == Voice::Lines && self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            let total = self.done + self.runs_left();
            self.voice.say(&format!("{} of {total} runs, {} left", self.done, human(self.time_left())));
        }
    }

    fn count(&mut self, run: &Run, took: Option<Duration>) {
        if let Some((runs, each)) = self.left.get_mut(&(run.case.to_string(), run.build.clone())) {
            // What is settled is not tried again.
            *runs = if settles(&run.outcome) { 0 } else { runs.saturating_sub(1) };
            *each = took.unwrap_or(*each);
        }
        self.done += 1;
        self.bar.set_length(self.done + self.runs_left());
        self.bar.set_position(self.done);
    }
}

fn target(voice: Voice) -> ProgressDrawTarget {
    if voice == Voice::Bar { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// A case for a narrow terminal: dataset, format, layout, state.
fn short(case: &Case) -> String {
    match &case.target {
        Some(t) => format!("{} {}:{} {} {} {}", t.dataset, t.format, t.variant, t.layout, t.pattern, case.state),
        None => case.track.to_string(),
    }
}

/// A duration to two units, for people.
pub fn human(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        for (seconds, text) in [(0, "0 s"), (61, "1 min 01 s"), (3720, "1 h 02 min"), (90_000, "1 d 01 h")] {
            assert_eq!(human(Duration::from_secs(seconds)), text);
        }
    }
}
