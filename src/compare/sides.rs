//! The values that a row rests on, and what tests and resampling say of them.

use std::collections::BTreeMap;

use super::Metric;
use super::inputs::{CaseRuns, Inputs};
use crate::results::view::{FileView, RunView};
use crate::stats::{self, Interval, LogRatio, Pairing, Process};

/// One run that counts.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    /// Its block.
    pub block: u32,
    /// Its value, in the unit of the metric.
    pub value: f64,
    run: &'a RunView,
}

/// Both sides of a row. Of paired ones, the i-th of each side are of one block.
pub(super) struct Sides<'a> {
    metric: Metric,
    pairing: Pairing,
    base: Vec<Observed<'a>>,
    new: Vec<Observed<'a>>,
    /// Runs that were left out for want of a partner.
    pub alone: usize,
}

/// Repeats that a test rests on.
#[derive(Clone, Copy)]
pub(super) enum Repeats {
    /// Independent runs of base and new.
    Sides(usize, usize),
    /// Blocks with a run of each.
    Blocks(usize),
}

/// The metric of each run that is ok; an error where some of them lack it: the rest alone would be a selection.
pub(super) fn observed<'a>(metric: Metric, runs: &CaseRuns<'a>) -> Result<Vec<Observed<'a>>, String> {
    let value = |run: &&'a RunView| Some(Observed { block: run.block, value: metric.of(runs.case, run)?, run });
    let values: Vec<_> = runs.ok.iter().filter_map(value).collect();
    match runs.ok.len() - values.len() {
        0 => Ok(values),
        lacking => Err(format!("{lacking} of {} runs have no {metric}{}", runs.ok.len(), hint(metric))),
    }
}

fn hint(metric: Metric) -> &'static str {
    match metric {
        Metric::Pass => " (cut short by its time cap? compare --metric rate)",
        Metric::P95 | Metric::P99 => " (too few samples)",
        _ => "",
    }
}

impl<'a> Sides<'a> {
    /// The sides, matched by block if they are paired.
    pub fn new(metric: Metric, paired: bool, base: Vec<Observed<'a>>, new: Vec<Observed<'a>>) -> Self {
        if !paired {
            return Self { metric, pairing: Pairing::None, base, new, alone: 0 };
        }
        let all = base.len() + new.len();
        let by_block = |side: Vec<Observed<'a>>| side.into_iter().map(|run| (run.block, run)).collect();
        let (base, mut new): (BTreeMap<u32, Observed>, BTreeMap<u32, Observed>) = (by_block(base), by_block(new));
        let (base, new): (Vec<_>, Vec<_>) =
            base.into_iter().filter_map(|(block, base)| Some((base, new.remove(&block)?))).unzip();
        let alone = all - 2 * base.len();
        Self { metric, pairing: Pairing::Blocks, base, new, alone }
    }

    /// t test on logs.
    pub fn test(&self) -> Option<LogRatio> {
        let (base, new) = (plain(&self.base), plain(&self.new));
        let ratio = match self.pairing {
            Pairing::None => stats::welch_log(&base, &new),
            Pairing::Blocks => stats::paired_log(&base, &new),
        }?;
        Some(if self.metric.higher_is_better() { ratio.inverse() } else { ratio })
    }

    /// How many repeats there are.
    pub fn repeats(&self) -> Repeats {
        match self.pairing {
            Pairing::None => Repeats::Sides(self.base.len(), self.new.len()),
            Pairing::Blocks => Repeats::Blocks(self.base.len()),
        }
    }

    /// Interval of the log of the ratio by the two-level bootstrap.
    pub fn bootstrap(&self, row: &super::Row, inputs: &Inputs, level: f64) -> Option<Interval> {
        let side = |side: &[Observed], file: &FileView, case: Option<&crate::case::Case>| {
            let process = |run: &Observed| Process {
                value: run.value,
                samples: case.map_or(Vec::new(), |case| self.metric.samples(case, run.run, file)),
            };
            side.iter().map(process).collect::<Vec<_>>()
        };
        let base = side(&self.base, inputs.base.file, row.base_case.as_ref());
        let new = side(&self.new, inputs.new.file, row.new_case.as_ref());
        let interval = stats::bootstrap_log_ratio(&base, &new, self.pairing, level)?;
        let inverse = |interval: Interval| Interval { low: -interval.high, high: -interval.low };
        Some(if self.metric.higher_is_better() { inverse(interval) } else { interval })
    }

    /// Logs by block, upright: more is slower. None where a block has several runs.
    pub fn logs(&self) -> Option<[BTreeMap<u32, f64>; 2]> {
        let sign = if self.metric.higher_is_better() { -1.0 } else { 1.0 };
        let side = |side: &[Observed]| {
            let logs: BTreeMap<u32, f64> = side.iter().map(|run| (run.block, sign * run.value.ln())).collect();
            (logs.len() == side.len()).then_some(logs)
        };
        Some([side(&self.base)?, side(&self.new)?])
    }
}

/// The values alone.
pub(super) fn plain(side: &[Observed]) -> Vec<f64> {
    side.iter().map(|run| run.value).collect()
}
