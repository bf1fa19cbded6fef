//! What of a run is compared.

use std::fmt;

use pcb_protocol::State;
use serde::{Serialize, Serializer};

use crate::case::{Case, Track};
use crate::results::Flag;
use crate::results::view::{FileView, PhaseView, RunView};
use crate::units;

/// One number of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Median sample.
    P50,
    /// 95 % quantile of the samples.
    P95,
    /// 99 % quantile of the samples.
    P99,
    /// Samples per second.
    Rate,
    /// Median sample of the first pass.
    First,
    /// The very first sample.
    FirstSample,
    /// Opening the dataset.
    Open,
    /// The whole first pass. Without the opening, which is a result of its own.
    Pass,
}

/// One row of the table of metrics.
pub struct MetricRow {
    /// The metric.
    pub metric: Metric,
    /// Its name.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
}

/// Every metric.
pub const METRICS: &[MetricRow] = &[
    row(Metric::P50, "p50", "median sample: of the steady state, or of a cold pass those that touched the device"),
    row(Metric::P95, "p95", "95 % quantile of the same samples"),
    row(Metric::P99, "p99", "99 % quantile of the same samples"),
    row(Metric::Rate, "rate", "samples/s: of the steady state, or of a cold pass"),
    row(Metric::First, "first", "median sample of the first pass"),
    row(Metric::FirstSample, "first-sample", "the very first sample"),
    row(Metric::Open, "open", "time to open the dataset"),
    row(Metric::Pass, "pass", "time of the whole first pass, without the opening"),
];

const fn row(metric: Metric, name: &'static str, about: &'static str) -> MetricRow {
    MetricRow { metric, name, about }
}

impl Metric {
    /// The metric that judges a case unless another one is asked for: the median sample of a warm `getitem`, the whole
    /// pass of a cold one (read-ahead serves most of its samples from memory), the median sample of `null`.
    pub fn primary(case: &Case) -> Self {
        match (case.track, case.state) {
            (Track::Getitem, State::Cold) => Self::Pass,
            (Track::Getitem, State::Warm | State::AsIs) => Self::P50,
            (Track::Null, _) => Self::First,
            (Track::Pyperf, _) => Self::P50,
        }
    }

    /// Its value, in ns or samples per second. `None` where the run has none, or none that is positive.
    pub fn of(self, case: &Case, run: &RunView) -> Option<f64> {
        let first = run.first.as_ref();
        let value = match self {
            Self::P50 => phase(case, run)?.p50_ns?,
            Self::P95 => phase(case, run)?.p95_ns?,
            Self::P99 => phase(case, run)?.p99_ns?,
            Self::Rate if case.state == State::Warm => run.rate?,
            Self::Rate => run.rate.or_else(|| first.map(|p| p.samples as f64 * 1e9 / p.total_ns as f64))?,
            Self::First => first?.p50_ns?,
            Self::FirstSample => run.first_sample_ns? as f64,
            Self::Open => run.open?.ns as f64,
            // A pass that its time cap cut short took as long as the cap, however fast it read.
            Self::Pass if run.flags.contains(&Flag::FirstCapped) => return None,
            Self::Pass => first?.total_ns as f64,
        };
        (value > 0.0 && value.is_finite()).then_some(value)
    }

    /// What the file keeps of the samples whose median the metric is; none for a metric that is no median of samples,
    /// nor for a cold case, whose median is over those samples alone that touched the device.
    pub(super) fn samples(self, case: &Case, run: &RunView, file: &FileView) -> Vec<f64> {
        let phase = match self {
            Self::P50 if case.state != State::Cold => phase(case, run),
            Self::First if case.state != State::Cold => run.first.as_ref(),
            _ => None,
        };
        phase.map_or(Vec::new(), |phase| file.samples(phase))
    }

    /// Whether more is better; ratios of such metrics are inverted, so that above 1 always means slower.
    pub fn higher_is_better(self) -> bool {
        self == Self::Rate
    }

    /// A value as people read it: `12.3 µs`, `81.3k/s`.
    pub fn show(self, value: f64) -> String {
        if self.higher_is_better() { format!("{}/s", units::count(value)) } else { units::time(value) }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        METRICS.iter().find(|row| row.metric == self).map_or("?", |row| row.name)
    }
}

/// The phase whose quantiles speak for a run.
fn phase<'a>(case: &Case, run: &'a RunView) -> Option<&'a PhaseView> {
    match case.state {
        State::Warm => run.steady.as_ref(),
        State::Cold => run.first.as_ref(),
        State::AsIs => run.steady.as_ref().or(run.first.as_ref()),
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
