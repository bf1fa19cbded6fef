//! Samples on their way to the controller: in chunks, between samples.

use pcb_protocol::{Event, Phase, SAMPLES_PER_MESSAGE, Samples};

use super::Send;
use super::clock::Moment;
use super::phases::Timed;
use crate::error::RunError;

/// A chunk is sent when it is this old, in ns, even if it is not full: a worker that is killed leaves what it had.
const OLDEST: u64 = 1_000_000_000;

/// Buffers samples of one phase at a time. Never called while a sample is timed, and reads no clock: the samples'
/// own end tells how old a chunk is.
pub(super) struct Stream<'a> {
    send: Send<'a>,
    phase: Phase,
    ns: Vec<u64>,
    touched: Vec<bool>,
    /// When the last chunk was sent or the phase began.
    since: Moment,
}

impl<'a> Stream<'a> {
    pub(super) fn new(send: Send<'a>) -> Self {
        let ns = Vec::with_capacity(SAMPLES_PER_MESSAGE);
        Self { send, phase: Phase::First, ns, touched: Vec::with_capacity(SAMPLES_PER_MESSAGE), since: Moment::now() }
    }

    /// What follows belongs to `phase`.
    pub(super) fn begin(&mut self, phase: Phase, now: Moment) -> Result<(), RunError> {
        self.flush()?;
        self.phase = phase;
        self.since = now;
        Ok(())
    }

    /// Whether the next sample touched the device; for every sample of a phase or for none.
    #[inline]
    pub(super) fn push_touched(&mut self, touched: bool) {
        self.touched.push(touched);
    }

    #[inline]
    pub(super) fn push(&mut self, timed: Timed) -> Result<(), RunError> {
        self.ns.push(timed.ns());
        if self.ns.len() >= SAMPLES_PER_MESSAGE || timed.end.since(self.since) >= OLDEST {
            self.since = timed.end;
            self.flush()?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), RunError> {
        if self.ns.is_empty() {
            return Ok(());
        }
        // The message gets copies: the buffers keep their memory, and the next sample finds them warm.
        let samples = Samples { phase: self.phase, ns: self.ns.clone(), touched: self.touched.clone() };
        self.ns.clear();
        self.touched.clear();
        Ok((self.send)(Event::Samples(samples))?)
    }
}

impl Drop for Stream<'_> {
    /// A run that ends with an error or a panic still leaves what it measured.
    fn drop(&mut self) {
        self.touched.truncate(self.ns.len());
        let _ = self.flush();
    }
}
