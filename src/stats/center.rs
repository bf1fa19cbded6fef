//! Where the runs of a case lie, and how surely.

use super::distribution::{fair_coin_at_most, t_reach};
use super::{CONFIDENCE, Interval, logs, mad, mean_and_variance, quantile_of_sorted};

/// Which center a summary names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Center {
    /// exp of the mean of the logs.
    GeometricMean,
    /// Middle value.
    Median,
}

/// The runs of a case in a few numbers, in their unit.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Number of runs.
    pub n: usize,
    /// What `value` is: geometric mean under 6 runs, median from 6 on.
    pub center: Center,
    /// The center.
    pub value: f64,
    /// Interval of the center; none for one run.
    pub interval: Option<Interval>,
    /// Probability with which `interval` covers: 0.95 for the t interval, the exact one of the order statistics.
    pub coverage: f64,
    /// Median absolute deviation, unscaled.
    pub mad: f64,
}

impl Summary {
    /// Half the width of the interval as a share of the center: √(high/low) − 1. None for one value.
    pub fn precision(&self) -> Option<f64> {
        let Interval { low, high } = self.interval?;
        let half = ((high.ln() - low.ln()) / 2.0).exp_m1();
        half.is_finite().then_some(half)
    }
}

/// Runs from which an order-statistic interval of the median exists.
const MEDIAN_FROM: usize = 6;

/// Summary of positive values: geometric mean with t interval on logs under 6, median with order-statistic interval
/// from 6 on (a distribution-free 95 % interval of the median exists from n = 6).
pub fn summarize(values: &[f64]) -> Option<Summary> {
    let mad = mad(values)?;
    if values.len() < MEDIAN_FROM {
        let (value, interval) = geometric_mean(values)?;
        return Some(Summary {
            n: values.len(),
            center: Center::GeometricMean,
            value,
            interval,
            coverage: CONFIDENCE,
            mad,
        });
    }
    let MedianInterval { k, coverage } = median_interval(values.len())?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let interval = Interval { low: sorted[k - 1], high: sorted[sorted.len() - k] };
    let value = quantile_of_sorted(&sorted, 0.5)?;
    Some(Summary { n: sorted.len(), center: Center::Median, value, interval: Some(interval), coverage, mad })
}

/// Geometric mean, and from two values on its 95 % interval exp(mean ln ± t(.975, n − 1)·s/√n).
pub fn geometric_mean(values: &[f64]) -> Option<(f64, Option<Interval>)> {
    let (mean, variance) = mean_and_variance(&logs(values)?)?;
    let n = values.len() as f64;
    if values.len() < 2 {
        return Some((values[0], None));
    }
    if variance == 0.0 {
        // exp(ln x) is not always x; a constant series is.
        return Some((values[0], Some(Interval { low: values[0], high: values[0] })));
    }
    let half = t_reach(CONFIDENCE, n - 1.0)? * (variance / n).sqrt();
    // With two wildly different values the interval can pass the largest number; its end is then that number.
    let interval = Interval { low: (mean - half).exp(), high: (mean + half).exp().min(f64::MAX) };
    Some((mean.exp(), Some(interval)))
}

/// Order statistics that bound the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianInterval {
    /// The interval is [x₍k₎, x₍n+1−k₎], counted from 1.
    pub k: usize,
    /// Its exact coverage.
    pub coverage: f64,
}

/// The narrowest symmetric order-statistic interval of the median with at least 95 % coverage: the largest k with
/// P(Bin(n, ½) ≤ k − 1) ≤ 2.5 %. `None` under n = 6, where no such interval exists.
pub fn median_interval(n: usize) -> Option<MedianInterval> {
    let count = u64::try_from(n).ok()?;
    let tail = |k: u64| fair_coin_at_most(k - 1, count);
    // The tail grows with k, so the largest k is found by halving.
    let (mut good, mut bad) = (0, count / 2 + 1);
    while bad - good > 1 {
        let middle = (good + bad) / 2;
        if tail(middle)? <= (1.0 - CONFIDENCE) / 2.0 { good = middle } else { bad = middle }
    }
    let coverage = if good == 0 { return None } else { 1.0 - 2.0 * tail(good)? };
    Some(MedianInterval { k: usize::try_from(good).ok()?, coverage })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_runs_have_a_geometric_mean_and_six_a_median() {
        let five = summarize(&[1.0, 2.0, 4.0, 8.0, 16.0]).expect("positive values");
        assert_eq!((five.n, five.center, five.coverage), (5, Center::GeometricMean, 0.95));
        assert!((five.value - 4.0).abs() < 1e-12);
        let six = summarize(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).expect("positive values");
        assert_eq!((six.center, six.value), (Center::Median, 3.5));
        assert!((six.coverage - 0.96875).abs() < 1e-12);
        assert_eq!(six.interval, Some(Interval { low: 1.0, high: 6.0 }));
    }

    #[test]
    fn one_run_has_a_value_and_no_interval() {
        let one = summarize(&[3.0]).expect("a positive value");
        assert_eq!((one.value, one.interval), (3.0, None));
    }

    #[test]
    fn a_constant_series_is_its_own_center() {
        for n in 2..12 {
            let summary = summarize(&vec![0.1; n]).expect("positive values");
            assert_eq!((summary.value, summary.mad), (0.1, 0.0));
            assert_eq!(summary.interval, Some(Interval { low: 0.1, high: 0.1 }));
        }
    }

    #[test]
    fn no_interval_of_the_median_exists_under_six() {
        assert!((0..6).all(|n| median_interval(n).is_none()));
        assert_eq!(median_interval(10).map(|i| i.k), Some(2));
    }
}
