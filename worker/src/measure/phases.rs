//! The phases of a run, one loop each. The timed region is [`Run::timed`].

use pcb_protocol::{Phase, StageTime, SteadyRule, WarmupRule};

use super::clock::Moment;
use super::stream::Stream;
use super::{Part, Place, Plan, Send, Step, StoredBytes};
use crate::counters::DeviceReads;
use crate::error::RunError;
use crate::warmup::{Detector, Windows};

/// Warm-up windows are whole passes where so many of them fit into the rule's longest time: enough for two checks.
const PASSES_IN_MAX_TIME: u64 = 12;

/// One timed sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    start: Moment,
    pub(super) end: Moment,
}

impl Timed {
    pub(super) fn ns(self) -> u64 {
        self.end.since(self.start)
    }
}

/// A run in progress.
pub(super) struct Run<'a, S> {
    step: S,
    next: Place,
    len: usize,
    stream: Stream<'a>,
}

impl<'a, S: Step> Run<'a, S> {
    /// A run of `step` over an index list of `len` samples.
    pub(super) fn new(step: S, len: usize, send: Send<'a>) -> Self {
        Self { step, next: Place { epoch: 0, position: 0 }, len, stream: Stream::new(send) }
    }

    /// Bytes of the step so far.
    pub(super) fn stored_bytes(&self) -> StoredBytes {
        self.step.stored_bytes()
    }

    /// The step, still open.
    pub(super) fn into_step(self) -> S {
        self.step
    }

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
    pub(super) fn first(
        &mut self,
        plan: &Plan,
        kept: &mut Vec<(Place, S::Output)>,
    ) -> Result<(bool, Vec<u64>), RunError> {
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
    pub(super) fn warm_up(&mut self, rule: &WarmupRule, first_ns: &[u64]) -> Result<bool, RunError> {
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
    pub(super) fn steady(&mut self, rule: &SteadyRule, kept: &mut Vec<(Place, S::Output)>) -> Result<u64, RunError> {
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
    pub(super) fn rate(&mut self, length: u64, mean_ns: u64) -> Result<(u64, u64), RunError> {
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
    pub(super) fn stages(&mut self, length: u64) -> Result<Vec<StageTime>, RunError> {
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
