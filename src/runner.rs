//! Walks a plan: checks pixels, sets the cache state, runs one worker after another, and hands out rows.

mod build;
mod goal;
mod request;
mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pcb_formats::{Dataset, FormatError};
use pcb_protocol::{Layout, State};

use crate::case::{Case, Target, Track};
use crate::config::Config;
use crate::environment::{self, Load};
use crate::interrupt::Interrupt;
use crate::plan::{Plan, Step};
use crate::residency;
use crate::results::{CacheProof, Noise, Outcome, Run};
use crate::session::{self, NoPauses, Pauses, Report, Spec};

pub use build::{Build, BuildError, find, probe, twice};
use goal::Goal;

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
    /// Forms that could not be written, and why.
    pub unwritten: &'a BTreeMap<Form, Outcome>,
    /// Accept workers built without optimisation.
    pub allow_debug: bool,
    /// Whether the user wants to stop.
    pub interrupt: &'a Interrupt,
    /// When to stop.
    pub until: Option<Instant>,
}

/// A stored form: dataset, `format:variant`, layout.
pub type Form = (String, String, Layout);

/// The form that a case reads.
pub fn form_of(target: &Target) -> Form {
    (target.dataset.clone(), format!("{}:{}", target.format, target.variant), target.layout)
}

/// Why a case is not measured, and what its check printed.
type Refusal = (Outcome, String);

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
    /// A run that lost its cache state is made again.
    Again {
        /// Its case.
        case: &'a Case,
        /// Name of its build.
        build: &'a str,
    },
    /// A case is known as precisely as was asked for, and is left out of this block.
    Reached {
        /// The case.
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
        let mut goal = Goal::new(self.plan.precision, self.plan.builds.len());
        goal.iter_mut().for_each(|goal| done.iter().for_each(|run| goal.add(run)));
        let mut checks = BTreeMap::new();
        // Decided once a block, so that every build of a case has its run in it.
        let mut reached: (u32, BTreeSet<usize>) = (0, BTreeSet::new());
        for step in self.plan.steps() {
            if let Some(goal) = goal.as_ref().filter(|_| reached.0 != step.block) {
                let precise = |index: &usize| goal.reached(&self.plan.cases[*index], step.block);
                reached = (step.block, (0..self.plan.cases.len()).filter(precise).collect());
                for &index in &reached.1 {
                    on(Event::Reached { case: &self.plan.cases[index] })?;
                }
            }
            if reached.1.contains(&step.case) {
                continue;
            }
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
                Some((outcome, log_tail)) => Run { log_tail, ..row::without_run(case, build, step, outcome) },
                None => {
                    on(Event::Starting { step, case })?;
                    let Some(run) = self.run(step) else { return Ok(End::Interrupted) };
                    if lost_cache(&run.outcome) {
                        // The kernel's doing, most often: once more, and both rows stay.
                        on(Event::Ended(Box::new(run)))?;
                        on(Event::Again { case, build })?;
                        match self.run(step) {
                            Some(run) => run,
                            None => return Ok(End::Interrupted),
                        }
                    } else {
                        run
                    }
                }
            };
            if settles(&run.outcome) {
                settled.insert(key);
            }
            goal.iter_mut().for_each(|goal| goal.add(&run));
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
        checks: &mut BTreeMap<(String, usize), Option<Refusal>>,
        on: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<Result<Option<Refusal>, End>, E> {
        let case = &self.plan.cases[step.case];
        let Some(target) = &case.target else { return Ok(Ok(None)) };
        if let Some(outcome) = self.unwritten.get(&form_of(target)) {
            return Ok(Ok(Some((outcome.clone(), String::new()))));
        }
        // Pattern, tier and state change nothing about the pixels that are read.
        let form = format!("{}/{}:{}/{}/{}", target.dataset, target.format, target.variant, target.layout, target.crop);
        if let Some(refused) = checks.get(&(form.clone(), step.build)) {
            return Ok(Ok(refused.clone()));
        }
        on(Event::Checking { case })?;
        let refused = match self.target_of(case) {
            Err(outcome) => Some((outcome, String::new())),
            Ok((dataset, _)) => {
                let job = request::check(self.config, &dataset.root, target);
                let report = self.session(&self.builds[step.build], false, job, &mut NoPauses);
                if report.interrupted {
                    return Ok(Err(End::Interrupted));
                }
                row::check_outcome(&report).map(|outcome| (outcome, report.log_tail))
            }
        };
        // A check that only failed for the moment is made again in the next block.
        if refused.as_ref().is_none_or(|(outcome, _)| settles(outcome)) {
            checks.insert((form, step.build), refused.clone());
        }
        Ok(Ok(refused))
    }

    /// One run; `None` if the user interrupted it.
    fn run(&self, step: Step) -> Option<Run> {
        let case = &self.plan.cases[step.case];
        let build = &self.builds[step.build];
        let started = environment::now();
        let (files, torch, job) = match self.job(case) {
            Ok(job) => job,
            Err(outcome) => return Some(row::without_run(case, &build.name, step, outcome)),
        };
        let mut cache = Cache { state: case.state, files: &files, before: None, after: None, load: None };
        let report = self.session(build, torch, job, &mut cache);
        if report.interrupted {
            return None;
        }
        let Cache { before, mut after, load, .. } = cache;
        if case.state == State::Warm && before.is_some() && after.is_none() {
            // It ended before it could say that it had measured.
            after = Some(residency::count(&files));
        }
        let noise = load.map(|before| Noise { before, after: environment::load() });
        let context =
            row::Context { case, build: &build.name, step, started, before, after, noise, config: self.config };
        Some(row::assemble(context, report))
    }

    /// The files of a case, whether it needs libtorch, and what its worker is asked.
    fn job(&self, case: &Case) -> Result<(Vec<PathBuf>, bool, pcb_protocol::Job), Outcome> {
        match (&case.track, &case.target) {
            (Track::Null | Track::Pyperf, _) | (_, None) => Ok((Vec::new(), false, request::null(self.config))),
            (Track::Getitem, Some(target)) => {
                let (dataset, files) = self.target_of(case)?;
                Ok((files, true, request::getitem(self.config, &dataset.root, target, case.state)))
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

    fn session(&self, build: &Build, torch: bool, job: pcb_protocol::Job, pauses: &mut dyn Pauses) -> Report {
        let hellos = build.hellos.clone();
        let spec = Spec {
            program: if torch { build.torch.clone() } else { build.io.clone() },
            request: request::wrap(self.config.seed, self.config.threads, job),
            timeout: self.config.timeout.get(),
            affinity: self.config.affinity.clone(),
            threads: self.config.threads,
            allow_debug: self.allow_debug,
            expected: hellos.map(|(with_torch, without)| if torch { with_torch } else { without }),
        };
        session::run(&spec, self.interrupt, pauses)
    }
}

/// The page cache around one run.
struct Cache<'a> {
    state: State,
    files: &'a [PathBuf],
    before: Option<CacheProof>,
    after: Option<Result<CacheProof, Outcome>>,
    load: Option<Load>,
}

impl Pauses for Cache<'_> {
    fn armed(&mut self) -> Result<(), Outcome> {
        self.before = match self.state {
            State::Cold => Some(residency::make_cold(self.files)?),
            State::Warm => Some(residency::make_warm(self.files)?),
            State::AsIs => None,
        };
        self.load = Some(environment::load());
        Ok(())
    }

    fn measured(&mut self) {
        if self.state == State::Warm {
            self.after = Some(residency::count(self.files));
        }
    }
}

/// Whether a run came to nothing since pages were there or gone that should not have been.
pub fn lost_cache(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::NotCold { .. } | Outcome::NotWarm { .. })
}

/// Whether an outcome says all there is to say about a case.
pub fn settles(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Mismatch { .. } | Outcome::Unsupported { .. })
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
