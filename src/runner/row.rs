//! What a worker did, to a row. Pure.

mod course;

use pcb_protocol::{Finished, Phase, State};

use crate::case::{Case, Track};
use crate::config::Config;
use crate::environment;
use crate::plan::Step;
use crate::results::thin::{self, MIN_TOUCHED_SHARE};
use crate::results::{Amplification, CacheProof, Flag, Noise, Outcome, Run, phase_stats};
use crate::session::{PhaseSamples, Report};
use crate::stats::Class;

/// Under this many samples in the time allowed, no number of a warm run means anything.
const FEWEST_STEADY: usize = 20;

/// What the controller knows of a run.
pub struct Context<'a> {
    /// The case.
    pub case: &'a Case,
    /// Name of the build.
    pub build: &'a str,
    /// The step.
    pub step: Step,
    /// When it started.
    pub started: String,
    /// Proof of the state before.
    pub before: Option<CacheProof>,
    /// State after a warm run.
    pub after: Option<Result<CacheProof, Outcome>>,
    /// Load before and after.
    pub noise: Option<Noise>,
    /// The config.
    pub config: &'a Config,
}

/// A row for a case that was not run.
pub fn without_run(case: &Case, build: &str, step: Step, outcome: Outcome) -> Run {
    Run {
        case: case.clone(),
        build: build.to_owned(),
        block: step.block,
        position: step.position,
        started: environment::now(),
        outcome,
        flags: Vec::new(),
        hello_ns: None,
        armed_ns: None,
        open: None,
        first: None,
        warmup: None,
        steady: None,
        rate: None,
        first_sample_ns: None,
        warmup_cost_ns: None,
        class: None,
        stages: Vec::new(),
        counters: None,
        items_per_sample: 0,
        bytes_per_sample: 0,
        index_len: 0,
        kept_checked: 0,
        index_digest: None,
        amplification: None,
        touched_share: None,
        before: None,
        after: None,
        noise: None,
        log_tail: String::new(),
    }
}

/// What a reference check says of its case: `None` is good.
pub fn check_outcome(report: &Report) -> Option<Outcome> {
    match (&report.outcome, &report.checked) {
        (Some(Outcome::Ok), Some(checked)) => match &checked.mismatch {
            None if checked.samples > 0 => None,
            None => Some(Outcome::Failed { message: "the reference check compared nothing".into() }),
            Some(message) => Some(Outcome::Mismatch { message: message.clone() }),
        },
        (Some(Outcome::Ok), None) | (None, _) => {
            Some(Outcome::Failed { message: "the worker finished without a reference check".into() })
        }
        (Some(outcome), _) => Some(of_the_check(outcome.clone())),
    }
}

/// The same outcome, saying that it was the check and not a run that came to it.
fn of_the_check(outcome: Outcome) -> Outcome {
    let said = |message: String| format!("reference check: {message}");
    match outcome {
        Outcome::Failed { message } => Outcome::Failed { message: said(message) },
        Outcome::Unsupported { message } => Outcome::Unsupported { message },
        Outcome::FdExhausted { message } => Outcome::FdExhausted { message: said(message) },
        Outcome::ShmExhausted { message } => Outcome::ShmExhausted { message: said(message) },
        Outcome::TimedOut { after_ns } => {
            Outcome::Failed { message: said(format!("timed out after {:.1} s", after_ns as f64 / 1e9)) }
        }
        Outcome::Killed { signal } => Outcome::Failed { message: said(format!("killed by signal {signal}")) },
        other => other,
    }
}

/// The row of a run.
pub fn assemble(context: Context<'_>, report: Report) -> Run {
    let case = context.case;
    let finished = report.finished.clone().unwrap_or_default();
    let phase = |phase| report.phases.get(&phase);
    let touched_share = touched_share(case, phase(Phase::First));
    let mut flags = flags(case, &finished, touched_share, report.finished.is_some());
    if let Some(Ok(proof)) = &context.after {
        match (proof.resident < proof.pages, read_nothing(&finished)) {
            (true, true) => flags.push(Flag::EvictedUnread),
            // `memory` has no files to be warm: it reads its reference when it is opened.
            (false, false) if proof.files > 0 => flags.push(Flag::WarmRead),
            // Gone and read again: not warm. Neither: warm.
            (true, false) | (false, _) => {}
        }
    }
    let outcome = outcome(&context, &report, &finished);
    let stats = |samples: Option<&PhaseSamples>| {
        let samples = samples?;
        let touched =
            (case.state == State::Cold && samples.touched.len() == samples.ns.len()).then_some(&samples.touched[..]);
        phase_stats(&samples.ns, touched)
    };
    let warm = case.state == State::Warm;
    let (class, warmup_cost_ns) =
        if warm { course::course(&report, finished.index_len) } else { (Class::Unclear, None) };
    let base = without_run(case, context.build, context.step, outcome);
    Run {
        started: context.started,
        flags,
        hello_ns: report.hello_ns,
        armed_ns: report.armed_ns,
        open: report.opened,
        first: stats(phase(Phase::First)),
        warmup: stats(phase(Phase::Warmup)),
        steady: stats(phase(Phase::Steady)),
        rate: finished.rate,
        first_sample_ns: phase(Phase::First).and_then(|samples| samples.ns.first().copied()),
        warmup_cost_ns,
        class: warm.then_some(class),
        stages: finished.stages.clone(),
        counters: report.finished.as_ref().map(|finished| finished.counters),
        items_per_sample: finished.items_per_sample,
        bytes_per_sample: finished.bytes_per_sample,
        index_len: finished.index_len,
        kept_checked: finished.kept_checked,
        index_digest: Some(finished.index_digest.clone()).filter(|digest| !digest.is_empty()),
        amplification: amplification(case, &finished),
        touched_share,
        before: context.before,
        after: context.after.and_then(Result::ok),
        noise: context.noise,
        log_tail: report.log_tail,
        ..base
    }
}

/// The worker's own outcome, unless the pixels, the cache or the clock void it.
fn outcome(context: &Context<'_>, report: &Report, finished: &Finished) -> Outcome {
    let told = report.outcome.clone().unwrap_or_else(|| Outcome::Failed { message: "the run has no end".into() });
    if !told.is_ok() {
        return told;
    }
    if let Some(message) = &finished.kept_mismatch {
        return Outcome::Mismatch { message: message.clone() };
    }
    if let Some(missing) = missing(context, report, finished) {
        return Outcome::Failed { message: format!("the worker finished without {missing}") };
    }
    match &context.after {
        Some(Err(outcome)) => return outcome.clone(),
        Some(Ok(proof)) if proof.resident < proof.pages && !read_nothing(finished) => {
            let message = format!(
                "{} of {} pages were gone when the run ended, and it read {} bytes from the device: the kernel evicted them meanwhile",
                proof.pages - proof.resident,
                proof.pages,
                finished.device_bytes_to_end
            );
            return Outcome::NotWarm { message };
        }
        _ => {}
    }
    too_slow(context, report, finished).unwrap_or(Outcome::Ok)
}

/// Whether every page that the run needed was in memory. Kernels evict idle pages by themselves, also those between the
/// crops that are read: then the count afterwards misses some, and this is the proof that stands.
fn read_nothing(finished: &Finished) -> bool {
    finished.device_bytes_to_end == 0 && finished.major_faults_to_end == 0
}

/// What a run must have for its numbers to count, and lacks.
fn missing(context: &Context<'_>, report: &Report, finished: &Finished) -> Option<&'static str> {
    let case = context.case;
    let first = report.phases.get(&Phase::First);
    let has = |phase| report.phases.get(&phase).is_some_and(|samples| !samples.ns.is_empty());
    if !has(Phase::First) {
        return Some("a first pass");
    }
    if case.track == Track::Null {
        return None;
    }
    if report.opened.is_none() {
        return Some("saying what opening cost");
    }
    if finished.kept_checked == 0 {
        return Some("comparing a sample with the reference");
    }
    if case.state == State::Cold {
        let marked = first.is_some_and(|first| first.touched.len() == first.ns.len());
        return (!marked).then_some("saying which samples touched the device");
    }
    (!has(Phase::Steady)).then_some("a steady state")
}

fn too_slow(context: &Context<'_>, report: &Report, finished: &Finished) -> Option<Outcome> {
    if context.case.track == Track::Null {
        return None;
    }
    if context.case.state == State::Cold {
        let seen = report.phases.get(&Phase::First).map_or(0, |samples| samples.ns.len());
        let message = format!(
            "the cold pass saw {seen} of {} samples in {}; raise first.max_time or lower samples",
            finished.index_len, context.config.first.max_time
        );
        return (!finished.first_complete).then_some(Outcome::TooSlow { message });
    }
    let steady = report.phases.get(&Phase::Steady).map_or(0, |samples| samples.ns.len());
    let message = format!("{steady} samples in {}; raise steady.max_time", context.config.steady.max_time);
    (steady < FEWEST_STEADY).then_some(Outcome::TooSlow { message })
}

fn flags(case: &Case, finished: &Finished, touched_share: Option<f64>, complete: bool) -> Vec<Flag> {
    let mut flags = Vec::new();
    if finished.steady_found == Some(false) {
        flags.push(Flag::NotSteady);
    }
    if complete && case.track != Track::Null && !finished.first_complete {
        flags.push(Flag::FirstCapped);
    }
    if touched_share.is_some_and(|share| share < MIN_TOUCHED_SHARE) {
        flags.push(Flag::MostlyReadAhead);
    }
    if complete && case.state == State::Cold && finished.counters.first_device_bytes == 0 {
        flags.push(Flag::NoDeviceBytes);
    }
    flags
}

fn touched_share(case: &Case, first: Option<&PhaseSamples>) -> Option<f64> {
    let touched = &first?.touched;
    if case.state != State::Cold || touched.is_empty() {
        return None;
    }
    thin::touched_share(touched)
}

fn amplification(case: &Case, finished: &Finished) -> Option<Amplification> {
    if finished.stored_bytes_used == 0 {
        return None;
    }
    let over_used = |bytes: u64| bytes as f64 / finished.stored_bytes_used as f64;
    let device = (case.state == State::Cold).then(|| over_used(finished.counters.first_device_bytes));
    Some(Amplification { stored: over_used(finished.stored_bytes_touched), device })
}

#[cfg(test)]
mod tests;
