//! Walks a plan: checks pixels, sets the cache state, runs one worker after another, and hands out rows.

mod build;
mod request;
mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pcb_formats::{Dataset, FormatError};
use pcb_protocol::State;

use crate::case::{Case, Track};
use crate::config::Config;
use crate::environment;
use crate::interrupt::Interrupt;
use crate::plan::{Plan, Step};
use crate::residency;
use crate::results::{CacheProof, Noise, Outcome, Run};
use crate::session::{self, Report, Spec};

pub use build::{Build, BuildError, find, probe};

/// Everything a plan needs to be run.
pub struct Runner<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The config it came from.
    pub config: &'a Config,
    /// The worker programs, in the plan's order.
    pub builds: &'a [Build],
    /// The datasets of its cases, by name.
    pub datasets: &'a BTreeMap<String, Arc<Dataset>>,
    /// Accept workers built without optimisation.
    pub allow_debug: bool,
    /// Whether the user wants to stop.
    pub interrupt: &'a Interrupt,
    /// When to stop.
    pub until: Option<Instant>,
}

/// What happens, in order.
pub enum Event<'a> {
    /// A case is about to be compared with its reference.
    Checking {
        /// The case.
        case: &'a Case,
    },
    /// A run is about to start.
    Starting {
        /// Its step.
        step: Step,
        /// Its case.
        case: &'a Case,
    },
    /// A run has ended, or was not made since its case cannot be measured.
    Ended(Box<Run>),
}

/// Why the walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every step is done.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// `--max-time` was reached.
    OutOfTime,
}

impl Runner<'_> {
    /// Runs every step that is not among `done` (case, build, block), and reports through `on`, which may fail.
    pub fn execute<E>(&self, done: &[Run], on: &mut dyn FnMut(Event<'_>) -> Result<(), E>) -> Result<End, E> {
        let mut made: BTreeSet<(String, String, u32)> = BTreeSet::new();
        // A case that was settled without a time (mismatch, unsupported) is not tried again in later blocks.
        let mut settled: BTreeSet<(String, String)> = BTreeSet::new();
        for run in done {
            made.insert((run.case.to_string(), run.build.clone(), run.block));
            if settles(&run.outcome) {
                settled.insert((run.case.to_string(), run.build.clone()));
            }
        }
        let mut checks = BTreeMap::new();
        for &step in &self.plan.steps {
            let case = &self.plan.cases[step.case];
            let build = &self.plan.builds[step.build];
            let key = (case.to_string(), build.clone());
            if settled.contains(&key) || made.contains(&(key.0.clone(), key.1.clone(), step.block)) {
                continue;
            }
            if let Some(end) = self.end() {
                return Ok(end);
            }
            let refused = match self.check(step, &mut checks, on)? {
                Ok(refused) => refused,
                Err(end) => return Ok(end),
            };
            let run = match refused {
                Some(outcome) => row::without_run(case, build, step, outcome),
                None => {
                    on(Event::Starting { step, case })?;
                    match self.run(step) {
                        Some(run) => run,
                        None => return Ok(End::Interrupted),
                    }
                }
            };
            if settles(&run.outcome) {
                settled.insert(key);
            }
            on(Event::Ended(Box::new(run)))?;
        }
        Ok(End::Complete)
    }

    fn end(&self) -> Option<End> {
        if self.interrupt.stopped() {
            return Some(End::Interrupted);
        }
        self.until.is_some_and(|until| Instant::now() >= until).then_some(End::OutOfTime)
    }

    /// Compares the case's reader with the reference, once for each form, crop and build. `Some` refuses the case.
    fn check<E>(
        &self,
        step: Step,
        checks: &mut BTreeMap<(String, usize), Option<Outcome>>,
        on: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<Result<Option<Outcome>, End>, E> {
        let case = &self.plan.cases[step.case];
        let Some(target) = &case.target else { return Ok(Ok(None)) };
        // Pattern, tier and state change nothing about the pixels that are read.
        let form = format!("{}/{}:{}/{}/{}", target.dataset, target.format, target.variant, target.layout, target.crop);
        if let Some(outcome) = checks.get(&(form.clone(), step.build)) {
            return Ok(Ok(outcome.clone()));
        }
        on(Event::Checking { case })?;
        let outcome = match self.target_of(case) {
            Err(outcome) => Some(outcome),
            Ok((dataset, _)) => {
                let job = request::check(self.config, &dataset.root, target);
                let report = self.session(&self.builds[step.build].io, job, &mut || Ok(()));
                if report.interrupted {
                    return Ok(Err(End::Interrupted));
                }
                row::check_outcome(&report)
            }
        };
        checks.insert((form, step.build), outcome.clone());
        Ok(Ok(outcome))
    }

    /// One run; `None` if the user interrupted it.
    fn run(&self, step: Step) -> Option<Run> {
        let case = &self.plan.cases[step.case];
        let build = &self.builds[step.build];
        let started = environment::now();
        let (mut before, mut load_before) = (None, None);
        let (files, program, job) = match self.job(case, build) {
            Ok(job) => job,
            Err(outcome) => return Some(row::without_run(case, &build.name, step, outcome)),
        };
        let report = self.session(program, job, &mut || {
            before = set_state(case.state, &files)?;
            load_before = Some(environment::load());
            Ok(())
        });
        if report.interrupted {
            return None;
        }
        let after = match (case.state, &before) {
            (State::Warm, Some(_)) => Some(residency::count(&files)),
            _ => None,
        };
        let noise = load_before.map(|before| Noise { before, after: environment::load() });
        let context =
            row::Context { case, build: &build.name, step, started, before, after, noise, config: self.config };
        Some(row::assemble(context, report))
    }

    /// The files, program and job of a case.
    fn job<'b>(
        &self,
        case: &Case,
        build: &'b Build,
    ) -> Result<(Vec<PathBuf>, &'b PathBuf, pcb_protocol::Job), Outcome> {
        match (&case.track, &case.target) {
            (Track::Null, _) | (_, None) => Ok((Vec::new(), &build.io, request::null(self.config))),
            (Track::Getitem, Some(target)) => {
                let (dataset, files) = self.target_of(case)?;
                Ok((files, &build.torch, request::getitem(self.config, &dataset.root, target, case.state)))
            }
        }
    }

    /// The dataset of a case and every file its reader may read.
    fn target_of(&self, case: &Case) -> Result<(&Arc<Dataset>, Vec<PathBuf>), Outcome> {
        let target = case.target.as_ref().ok_or_else(|| Outcome::Failed { message: "no target".into() })?;
        let dataset = self
            .datasets
            .get(&target.dataset)
            .ok_or_else(|| Outcome::Failed { message: format!("dataset {} is not open", target.dataset) })?;
        let files = pcb_formats::find(&target.format, &target.variant, target.layout)
            .and_then(|(format, variant)| (format.files)(dataset, variant))
            .map_err(|error| outcome_of(&error))?;
        Ok((dataset, files))
    }

    fn session(
        &self,
        program: &std::path::Path,
        job: pcb_protocol::Job,
        before_go: &mut dyn FnMut() -> Result<(), Outcome>,
    ) -> Report {
        let spec = Spec {
            program: program.to_owned(),
            request: request::wrap(self.config.seed, job),
            timeout: self.config.timeout.get(),
            affinity: self.config.affinity.clone(),
            threads: self.config.threads,
            allow_debug: self.allow_debug,
        };
        session::run(&spec, self.interrupt, before_go)
    }
}

/// Whether an outcome says all there is to say about a case.
fn settles(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Mismatch { .. } | Outcome::Unsupported { .. })
}

fn set_state(state: State, files: &[PathBuf]) -> Result<Option<CacheProof>, Outcome> {
    match state {
        State::Cold => residency::make_cold(files).map(Some),
        State::Warm => residency::make_warm(files).map(Some),
        State::AsIs => Ok(None),
    }
}

fn outcome_of(error: &FormatError) -> Outcome {
    let message = error.to_string();
    match error.kind() {
        pcb_protocol::FailureKind::Unsupported => Outcome::Unsupported { message },
        pcb_protocol::FailureKind::FdExhausted => Outcome::FdExhausted { message },
        pcb_protocol::FailureKind::ShmExhausted => Outcome::ShmExhausted { message },
        pcb_protocol::FailureKind::Failed => Outcome::Failed { message },
    }
}
