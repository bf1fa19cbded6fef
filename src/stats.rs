//! Numbers from slices of numbers; knows no other module.
//!
//! The process is the unit of replication: each run reduces to one number, and everything here works over those. A
//! function answers `None` where its input cannot carry the answer (too few values, a NaN, a logarithm of nothing), so
//! that no NaN ever leaves this module. How often comparisons built on it err is measured by `examples/error_rates.rs`.

mod adjust;
mod bootstrap;
mod center;
mod change_points;
mod course;
mod distribution;
mod e_divisive;
mod hierarchical;
mod log_ratio;
mod mann_whitney;
mod prediction;
mod quantile;
mod repeats;
mod share;
mod slope;

pub use adjust::{benjamini_hochberg, holm};
pub use bootstrap::{Pairing, Process, bootstrap_log_ratio};
pub use center::{Center, MedianInterval, Summary, geometric_mean, median_interval, summarize};
pub use change_points::change_points;
pub use course::{Class, Course, class_of_case, classify, course};
pub use e_divisive::{Hunt, Shift, hunt};
pub use hierarchical::{Levels, levels};
pub use log_ratio::{LogRatio, paired_log, welch_log};
pub use mann_whitney::mann_whitney_exact;
pub use prediction::{prediction_interval, reach};
pub use quantile::{mad, median, min_samples, quantile, quantile_of_sorted};
pub use repeats::{Noise, detectable, repeats_for, runs_for_half_width};
pub use share::wilson;
pub use slope::{Slope, slope};

/// A closed interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Level of the intervals of summaries.
pub const CONFIDENCE: f64 = 0.95;

/// The logarithms, or `None` if a value has none that is finite.
fn logs(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|&v| (v > 0.0 && v.is_finite()).then(|| v.ln())).collect()
}

/// Mean and sample variance (n − 1; 0 for one value). Measured from the first value, so that a constant series has
/// exactly its own mean and no variance, whatever its length.
fn mean_and_variance(values: &[f64]) -> Option<(f64, f64)> {
    let (&first, n) = (values.first()?, values.len() as f64);
    let shift = values.iter().map(|v| v - first).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - first - shift).powi(2)).sum();
    Some((first + shift, if values.len() > 1 { squares / (n - 1.0) } else { 0.0 }))
}
