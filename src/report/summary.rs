//! The runs of a case reduced to one line: a value and an interval for each metric, and what went wrong.

use std::collections::BTreeMap;

use pcb_protocol::State;

use super::Input;
use crate::case::{Case, Track};
use crate::results::{Flag, Outcome, PhaseStats, Run};
use crate::stats::{self, Class, Summary};

/// The runs of one case, of one build, in one file. Numbers are over the runs that are ok, and only where each of
/// those has the number: a metric that some runs lack would be a mean over a selection.
#[derive(Debug, Clone)]
pub struct CaseSummary<'a> {
    /// Place of the file among the inputs.
    pub input: usize,
    /// Name of the worker build.
    pub build: &'a str,
    /// The case.
    pub case: &'a Case,
    /// All runs.
    pub runs: usize,
    /// Runs that are ok.
    pub ok: usize,
    /// How the others ended, by kind.
    pub failures: Vec<Failure>,
    /// Flags of the runs that are ok, each once.
    pub flags: Vec<Flag>,
    /// The number that judges the case unless another is asked for, in ns.
    pub headline: Option<Summary>,
    /// Opening the dataset, in ns.
    pub open_ns: Option<Summary>,
    /// Whole first pass, in ns: of a cold case the headline. None where a run's pass was cut short.
    pub pass_ns: Option<Summary>,
    /// Samples of the first pass over its time.
    pub pass_rate: Option<Summary>,
    /// Median sample, in ns: of the steady state, or of those samples of a cold pass that touched the device.
    pub p50_ns: Option<Summary>,
    /// 95 % quantile, in ns, over the same samples.
    pub p95_ns: Option<Summary>,
    /// Samples per second of the steady state, without clock reads.
    pub rate: Option<Summary>,
    /// What the course of the runs was; none where they have no course.
    pub class: Option<Class>,
    /// What their warm-up cost, in ns; median over runs.
    pub warmup_cost_ns: Option<f64>,
    /// Share of the samples of a cold pass that touched the device; median over runs.
    pub touched: Option<f64>,
    /// Bytes from the device over bytes handed out; median over runs.
    pub device_amplification: Option<f64>,
}

/// Runs of one case that ended the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its word.
    pub kind: &'static str,
    /// How many.
    pub count: usize,
    /// What the first of them said.
    pub message: String,
}

/// One summary for each case, build and file; by dataset, state and then the rest of the id.
pub fn summarize<'a>(inputs: &[Input<'a>]) -> Vec<CaseSummary<'a>> {
    let mut groups: BTreeMap<_, Vec<&'a Run>> = BTreeMap::new();
    for (place, input) in inputs.iter().enumerate() {
        let files_builds = &input.file.header.builds;
        for run in &input.file.runs {
            // Builds keep the order of the command line, so that the base of an A/B stands above the new one.
            let build = files_builds.iter().position(|build| build.name == run.build);
            let dataset = run.case.target.as_ref().map(|target| &target.dataset);
            let key = (run.case.track, dataset, run.case.host, run.case.state, &run.case, place, build, &run.build);
            groups.entry(key).or_default().push(run);
        }
    }
    groups.into_iter().map(|((.., case, input, _, build), runs)| reduce(input, build, case, &runs)).collect()
}

fn reduce<'a>(input: usize, build: &'a str, case: &'a Case, runs: &[&'a Run]) -> CaseSummary<'a> {
    let ok: Vec<&Run> = runs.iter().copied().filter(|run| run.outcome.is_ok()).collect();
    // A cold run has no steady state, and is its first pass; so is one that times nothing.
    let one_pass = case.state == State::Cold || case.track == Track::Null;
    let mut flags: Vec<Flag> = ok.iter().flat_map(|run| run.flags.iter().copied()).collect();
    flags.sort_unstable();
    flags.dedup();
    CaseSummary {
        input,
        build,
        case,
        runs: runs.len(),
        ok: ok.len(),
        failures: failures(runs),
        flags,
        headline: center(&ok, Run::headline),
        open_ns: center(&ok, |run| run.open.map(|open| open.ns as f64)),
        pass_ns: center(&ok, whole_pass),
        pass_rate: center(&ok, pass_rate),
        p50_ns: center(&ok, |run| measured(run, one_pass)?.p50_ns),
        p95_ns: center(&ok, |run| measured(run, one_pass)?.p95_ns),
        rate: center(&ok, |run| run.rate),
        class: stats::class_of_case(&ok.iter().filter_map(|run| run.class).collect::<Vec<_>>()),
        warmup_cost_ns: values(&ok, |run| run.warmup_cost_ns).and_then(|costs| stats::median(&costs)),
        touched: values(&ok, |run| run.touched_share).and_then(|shares| stats::median(&shares)),
        device_amplification: values(&ok, |run| run.amplification?.device).and_then(|ratios| stats::median(&ratios)),
    }
}

/// The phase that quantiles are of.
fn measured(run: &Run, one_pass: bool) -> Option<&PhaseStats> {
    if one_pass { run.first.as_ref() } else { run.steady.as_ref() }
}

fn whole_pass(run: &Run) -> Option<f64> {
    let first = run.first.as_ref()?;
    (!run.flags.contains(&Flag::FirstCapped)).then_some(first.total_ns as f64)
}

fn pass_rate(run: &Run) -> Option<f64> {
    let first = run.first.as_ref()?;
    (first.total_ns > 0).then(|| first.samples as f64 * 1e9 / first.total_ns as f64)
}

/// The metric of every run, or nothing.
fn values(runs: &[&Run], metric: impl Fn(&Run) -> Option<f64>) -> Option<Vec<f64>> {
    runs.iter().map(|run| metric(run)).collect()
}

fn center(runs: &[&Run], metric: impl Fn(&Run) -> Option<f64>) -> Option<Summary> {
    stats::summarize(&values(runs, metric)?)
}

fn failures(runs: &[&Run]) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    for run in runs.iter().filter(|run| !run.outcome.is_ok()) {
        let kind = run.outcome.kind();
        match failures.iter_mut().find(|failure| failure.kind == kind) {
            Some(failure) => failure.count += 1,
            None => failures.push(Failure { kind, count: 1, message: message(&run.outcome) }),
        }
    }
    failures
}

/// What an outcome says besides its word.
pub fn message(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok => String::new(),
        Outcome::TimedOut { after_ns } => format!("after {}", crate::units::time(*after_ns as f64)),
        Outcome::Killed { signal } => format!("by signal {signal}"),
        Outcome::Mismatch { message }
        | Outcome::Unsupported { message }
        | Outcome::Failed { message }
        | Outcome::ShmExhausted { message }
        | Outcome::FdExhausted { message }
        | Outcome::NotCold { message }
        | Outcome::NotWarm { message }
        | Outcome::TooSlow { message } => message.clone(),
    }
}
