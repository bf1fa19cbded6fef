//! Measures one step again and again. The only caller of the clock.
//!
//! A run is: open (timed on its own) → `First`, one pass over the index list → and where the data is warm: `Warmup`
//! until the course has settled → `Steady` → a window without clock reads for each sample, for samples/s → an
//! instrumented pass, for stage times. The clock runs for a step alone: what it hands out is dropped, compared and
//! sent with the clock stopped. [`Step`] is a type parameter, so that nothing in the timed region is a dyn call but
//! what the step itself makes one.

mod clock;
mod phases;
mod stream;

use pcb_protocol::{Event, Finished, FirstRule, LinkError, Opened, SteadyRule, WarmupRule};

use crate::counters::{self, Snapshot};
use crate::error::RunError;
use clock::Moment;
use phases::Run;

/// How events reach the controller while measuring.
pub type Send<'a> = &'a dyn Fn(Event) -> Result<(), LinkError>;

/// Which sample of which pass over the index list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Passes completed before.
    pub epoch: u64,
    /// Sample within the index list.
    pub position: usize,
}

/// What is measured: one sample.
pub trait Step {
    /// What a step hands out. It is dropped with the clock stopped, except in the window without clock reads.
    type Output;

    /// Makes one sample.
    fn step(&mut self, place: Place) -> Result<Self::Output, RunError>;

    /// The same, calling `ended` at the end of each part: the time since the last call belongs to it.
    fn instrumented(&mut self, place: Place, ended: &mut dyn FnMut(Part)) -> Result<Self::Output, RunError>;

    /// Bytes so far.
    fn stored_bytes(&self) -> StoredBytes {
        StoredBytes::default()
    }
}

/// A part of a step that an instrumented pass tells from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Bytes from the file.
    Read,
    /// Bytes to pixels.
    Decode,
    /// Both, where a library cannot part them.
    ReadDecode,
    /// Pixels into a tensor: its allocation, and the change of element type.
    Convert,
    /// The transform tier.
    Transform,
}

impl Part {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Read, "read"),
        (Self::Decode, "decode"),
        (Self::ReadDecode, "read+decode"),
        (Self::Convert, "convert"),
        (Self::Transform, "transform"),
    ];
}

/// Bytes in the stored element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredBytes {
    /// Stored bytes touched, by the reader's own account.
    pub touched: u64,
    /// Bytes of pixels handed out.
    pub used: u64,
}

/// What to measure besides the step itself.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Length of the index list.
    pub len: usize,
    /// Cap of the first pass.
    pub first: FirstRule,
    /// Whether each sample of the first pass is asked if it touched the device; 0.5 µs a sample, outside the clock.
    pub observe_device: bool,
    /// Positions of the first pass whose output is kept; sorted. With any, the last output of the steady state is too.
    pub keep: Vec<usize>,
    /// What follows the first pass; `None` where one pass is all (cold, null).
    pub settle: Option<Settle>,
}

/// What follows the first pass of a warm run.
#[derive(Debug, Clone, Copy)]
pub struct Settle {
    /// When the run counts as warmed up.
    pub warmup: WarmupRule,
    /// How long the steady state is observed.
    pub steady: SteadyRule,
    /// Length of the window without clock reads, in ns; 0 leaves it out.
    pub rate_ns: u64,
    /// Length of the instrumented pass, in ns; 0 leaves it out.
    pub stages_ns: u64,
}

/// What came of it.
pub struct Measured<S: Step> {
    /// All that measuring itself knows; what names the index list and the comparison is left at its default.
    pub finished: Finished,
    /// The outputs kept, with their place.
    pub kept: Vec<(Place, S::Output)>,
    /// The step, still open.
    pub step: S,
}

/// Opens and measures. Sends `Opened` and the samples.
pub fn run<S: Step>(
    plan: &Plan,
    open: impl FnOnce() -> Result<S, RunError>,
    send: Send<'_>,
) -> Result<Measured<S>, RunError> {
    let go = Snapshot::now();
    let step = clocked_open(open, send)?;
    let opened = Snapshot::now();

    let mut run = Run::new(step, plan.len, send);
    let mut kept = Vec::with_capacity(plan.keep.len());
    let (first_complete, first_ns) = run.first(plan, &mut kept)?;
    let mut finished = Finished { first_complete, ..Finished::default() };
    let StoredBytes { touched, used } = run.stored_bytes();
    (finished.stored_bytes_touched, finished.stored_bytes_used) = (touched, used);
    let passed = Snapshot::now();
    let first_device_bytes = passed.device_bytes_since(&opened);
    finished.counters = passed.since(&go);

    if let Some(settle) = plan.settle.filter(|_| plan.len > 0) {
        finished.steady_found = Some(run.warm_up(&settle.warmup, &first_ns)?);
        let mean_ns = run.steady(&settle.steady, &mut kept)?;
        finished.counters = Snapshot::now().since(&go);
        if settle.rate_ns > 0 {
            let (samples, ns) = run.rate(settle.rate_ns, mean_ns)?;
            finished.rate = Some(samples as f64 * 1e9 / ns as f64);
            finished.rate_samples = samples;
        }
        if settle.stages_ns > 0 {
            finished.stages = run.stages(settle.stages_ns)?;
        }
    }
    finished.counters.first_device_bytes = first_device_bytes;
    let (device, faults) = Snapshot::now().device_since(&go);
    (finished.device_bytes_to_end, finished.major_faults_to_end) = (device, faults);
    Ok(Measured { finished, kept, step: run.into_step() })
}

/// Runs steps untimed until `steps` are done or `limit_ns` have passed.
pub fn warm_code<S: Step>(step: &mut S, len: usize, steps: usize, limit_ns: u64) -> Result<(), RunError> {
    let begin = Moment::now();
    for number in 0..steps {
        step.step(Place { epoch: (number / len) as u64, position: number % len })?;
        if Moment::now().since(begin) > limit_ns {
            break;
        }
    }
    Ok(())
}

fn clocked_open<S>(open: impl FnOnce() -> Result<S, RunError>, send: Send<'_>) -> Result<S, RunError> {
    let (rss, before) = (counters::rss_bytes(), Snapshot::now());
    let start = Moment::now();
    let step = open();
    let end = Moment::now();
    let after = Snapshot::now();
    let rss_bytes = counters::rss_bytes() as i64 - rss as i64;
    let step = step?;
    send(Event::Opened(Opened {
        ns: end.since(start),
        rss_bytes,
        read_bytes: after.read_bytes_since(&before),
        device_bytes: after.device_bytes_since(&before),
    }))?;
    Ok(step)
}

#[cfg(test)]
mod tests;
