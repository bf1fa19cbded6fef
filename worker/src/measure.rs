//! Measures one step again and again. The only caller of the clock.
//!
//! A run is: open (timed on its own) → `First`, one pass over the index list → and where the data is warm: `Warmup`
//! until the course has settled → `Steady` → a window without clock reads for each sample, for samples/s → an
//! instrumented pass, for stage times. The clock runs for a step alone: what it hands out is dropped, compared and
//! sent with the clock stopped. [`Step`] is a type parameter, so that nothing in the timed region is a dyn call but
//! what the step itself makes one.

mod clock;
mod stream;

use pcb_protocol::{Event, Finished, FirstRule, LinkError, Opened, Phase, StageTime, SteadyRule, WarmupRule};

use crate::counters::{self, DeviceReads, Snapshot};
use crate::error::RunError;
use crate::warmup::{Detector, Windows};
use clock::Moment;
use stream::Stream;

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

    let mut run = Run { step, next: Place { epoch: 0, position: 0 }, len: plan.len, stream: Stream::new(send) };
    let mut kept = Vec::with_capacity(plan.keep.len());
    let (first_complete, first_ns) = run.first(plan, &mut kept)?;
    let mut finished = Finished { first_complete, ..Finished::default() };
    let StoredBytes { touched, used } = run.step.stored_bytes();
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
    Ok(Measured { finished, kept, step: run.step })
}

/// Warm-up windows are whole passes where so many of them fit into the rule's longest time: enough for two checks.
const PASSES_IN_MAX_TIME: u64 = 12;

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

/// One timed sample.
#[derive(Debug, Clone, Copy)]
struct Timed {
    start: Moment,
    end: Moment,
}

impl Timed {
    fn ns(self) -> u64 {
        self.end.since(self.start)
    }
}

struct Run<'a, S> {
    step: S,
    next: Place,
    len: usize,
    stream: Stream<'a>,
}

impl<S: Step> Run<'_, S> {
    /// The place of the next sample; after the last of the list comes the first.
    #[inline(always)]
    fn advance(&mut self) -> Place {
        let place = self.next;
        self.next.position += 1;
        if self.next.position >= self.len {
            self.next = Place { epoch: place.epoch + 1, position: 0 };
        }
        place
    }

    /// The timed region.
    #[inline(always)]
    fn timed(&mut self) -> Result<(Place, Timed, S::Output), RunError> {
        let place = self.advance();
        let start = Moment::now();
        let output = self.step.step(place);
        let end = Moment::now();
        Ok((place, Timed { start, end }, output?))
    }

    /// One pass, or as much of it as its cap allows. Whether it is complete, and each sample in ns.
    fn first(&mut self, plan: &Plan, kept: &mut Vec<(Place, S::Output)>) -> Result<(bool, Vec<u64>), RunError> {
        self.stream.begin(Phase::First, Moment::now())?;
        let mut keep = plan.keep.iter().copied().peekable();
        let begin = Moment::now();
        let mut all = Vec::with_capacity(plan.len);
        for position in 0..plan.len {
            let before = plan.observe_device.then(DeviceReads::now);
            let (place, timed, output) = self.timed()?;
            if let Some(before) = before {
                self.stream.push_touched(DeviceReads::now() != before);
            }
            if keep.next_if_eq(&position).is_some() {
                kept.push((place, output));
            } else {
                drop(output);
            }
            self.stream.push(timed)?;
            all.push(timed.ns());
            if timed.end.since(begin) > plan.first.max_ns && position + 1 < plan.len {
                self.stream.flush()?;
                return Ok((false, all));
            }
        }
        self.stream.flush()?;
        Ok((true, all))
    }

    /// What follows begins with the first sample of the list, so that a phase that ends early has seen the same crops
    /// in every run.
    fn begin(&mut self, phase: Phase) -> Result<Moment, RunError> {
        self.rewind();
        let begin = Moment::now();
        self.stream.begin(phase, begin)?;
        Ok(begin)
    }

    fn rewind(&mut self) {
        if self.next.position > 0 {
            self.next = Place { epoch: self.next.epoch + 1, position: 0 };
        }
    }

    /// Samples until the course has settled (true) or a cap is reached (false).
    ///
    /// The rule sees windows of this phase alone, and is asked first when the phase has seen the whole list or its
    /// least time: the first pass pays for what is touched the first time and must not stand for the course. `first_ns`
    /// are the samples of the first pass: where a pass is long, a sample counts relative to the same crop in it.
    fn warm_up(&mut self, rule: &WarmupRule, first_ns: &[u64]) -> Result<bool, RunError> {
        let short = first_ns.iter().sum::<u64>().saturating_mul(PASSES_IN_MAX_TIME) <= rule.max_ns;
        let mut windows = Windows::new(rule.window_ns, if short { self.len } else { 1 });
        let mut detector = Detector::new(rule.tolerance);
        let begin = self.begin(Phase::Warmup)?;
        let mut settled = false;
        for samples in 1.. {
            let (place, timed, output) = self.timed()?;
            drop(output);
            self.stream.push(timed)?;
            let elapsed = timed.end.since(begin);
            let usual = first_ns.get(place.position).map_or(1, |&ns| ns.max(1));
            let value = if short { timed.ns() as f64 } else { timed.ns() as f64 / usual as f64 };
            if let Some(median) = windows.push(timed.ns(), value) {
                settled = detector.push(median, samples >= self.len as u64 || elapsed >= rule.min_ns);
            }
            if settled || elapsed >= rule.max_ns || samples >= rule.max_samples {
                break;
            }
        }
        self.stream.flush()?;
        Ok(settled)
    }

    /// Observes the steady state; returns the mean duration of a sample in ns, at least 1. Ends with a whole pass where
    /// a cap does not come first. The last output is kept: what goes wrong only in use is seen here or nowhere.
    fn steady(&mut self, rule: &SteadyRule, kept: &mut Vec<(Place, S::Output)>) -> Result<u64, RunError> {
        let begin = self.begin(Phase::Steady)?;
        let (mut total, mut samples) = (0, 0);
        let last = loop {
            let (place, timed, output) = self.timed()?;
            self.stream.push(timed)?;
            total += timed.ns();
            samples += 1;
            let elapsed = timed.end.since(begin);
            let enough = elapsed >= rule.min_ns && samples >= rule.min_samples && self.next.position == 0;
            if enough || elapsed >= rule.max_ns || samples >= rule.max_samples {
                break (place, output);
            }
            drop(output);
        };
        self.stream.flush()?;
        if !kept.is_empty() {
            kept.push(last);
        }
        Ok((total / samples).max(1))
    }

    /// Steps for at least `length` ns with a clock read about every 10 ms; returns the number of samples and the
    /// time they took, in ns. Ends with a whole pass where one fits. Dropping what a step hands out is part of it.
    fn rate(&mut self, length: u64, mean_ns: u64) -> Result<(u64, u64), RunError> {
        const BETWEEN_READS: u64 = 10_000_000;
        let batch = (BETWEEN_READS / mean_ns).clamp(1, 1 << 20);
        let whole = mean_ns.saturating_mul(self.len as u64) <= length;
        self.rewind();
        let mut samples = 0;
        let begin = Moment::now();
        while Moment::now().since(begin) < length {
            samples += self.steps(batch)?;
        }
        if whole && self.next.position > 0 {
            samples += self.steps((self.len - self.next.position) as u64)?;
        }
        Ok((samples, Moment::now().since(begin)))
    }

    fn steps(&mut self, count: u64) -> Result<u64, RunError> {
        for _ in 0..count {
            let place = self.advance();
            drop(self.step.step(place)?);
        }
        Ok(count)
    }

    /// Steps for at least `length` ns, told apart by part. Each part includes one clock read.
    fn stages(&mut self, length: u64) -> Result<Vec<StageTime>, RunError> {
        self.rewind();
        let mut totals = [None; Part::ALL.len()];
        let mut samples = 0_u64;
        let begin = Moment::now();
        loop {
            let place = self.advance();
            let mut last = Moment::now();
            let output = self.step.instrumented(place, &mut |part| {
                let now = Moment::now();
                *totals[part as usize].get_or_insert(0) += now.since(last);
                last = now;
            })?;
            drop(output);
            samples += 1;
            if Moment::now().since(begin) >= length {
                break;
            }
        }
        let mean = |total: u64| total as f64 / samples as f64;
        let named = Part::ALL.iter().zip(totals);
        let seen = named.filter_map(|((_, name), total)| {
            total.map(|total| StageTime { stage: (*name).to_owned(), mean_ns: mean(total) })
        });
        Ok(seen.collect())
    }
}

#[cfg(test)]
mod tests;
