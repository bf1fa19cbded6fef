//! How many times slower one series is than another: t tests on logarithms.

use super::distribution::{t_reach, t_two_sided};
use super::{Interval, logs, mean_and_variance};

/// Outcome of a t test on logs: `new` over `base`.
///
/// Everything is antisymmetric to the last bit: swapping the series negates `log` and `t` and leaves the rest alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogRatio {
    /// Difference of the mean logs, D.
    pub log: f64,
    /// Standard error of `log`.
    pub se: f64,
    /// D / SE; 0 where both are 0, and the largest number (with D's sign) where only SE is.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value. Without any spread: 1 for equal series, 0 for different ones.
    pub p: f64,
}

/// Welch's t test on logs: D = mean ln new − mean ln base, SE² = s²/n + s²/n, df by Satterthwaite.
///
/// If neither series varies at all (a coarse clock, a counter) no t statistic exists: equal series then have p = 1,
/// different ones p = 0, and [`LogRatio::has_no_spread`] says so. `None` for fewer than two values on a side, or for
/// a value that is not positive and finite.
pub fn welch_log(base: &[f64], new: &[f64]) -> Option<LogRatio> {
    if base.len() < 2 || new.len() < 2 {
        return None;
    }
    let ((base_mean, base_var), (new_mean, new_var)) =
        (mean_and_variance(&logs(base)?)?, mean_and_variance(&logs(new)?)?);
    let (base_n, new_n) = (base.len() as f64, new.len() as f64);
    let (a, b) = (base_var / base_n, new_var / new_n);
    let df = if a + b > 0.0 {
        // Shares of the whole variance, so that squares of tiny variances do not vanish.
        let (a, b) = (a / (a + b), b / (a + b));
        1.0 / (a * a / (base_n - 1.0) + b * b / (new_n - 1.0))
    } else {
        base_n + new_n - 2.0
    };
    LogRatio::new(new_mean - base_mean, (a + b).sqrt(), df)
}

/// Paired t test on logs: d = ln new − ln base for each pair (block), SE = s/√n, df = n − 1.
///
/// Series without spread are treated as in [`welch_log`]. `None` for fewer than two pairs, unequal lengths, or a value
/// that is not positive and finite.
pub fn paired_log(base: &[f64], new: &[f64]) -> Option<LogRatio> {
    if base.len() != new.len() || base.len() < 2 {
        return None;
    }
    let differences: Vec<f64> = logs(new)?.iter().zip(logs(base)?).map(|(new, base)| new - base).collect();
    let (mean, variance) = mean_and_variance(&differences)?;
    let n = differences.len() as f64;
    LogRatio::new(mean, (variance / n).sqrt(), n - 1.0)
}

impl LogRatio {
    fn new(log: f64, se: f64, df: f64) -> Option<Self> {
        let (t, p) = if se > 0.0 {
            let t = (log / se).clamp(f64::MIN, f64::MAX);
            (t, t_two_sided(t, df)?)
        } else if log == 0.0 {
            (0.0, 1.0)
        } else {
            (f64::MAX.copysign(log), 0.0)
        };
        Some(Self { log, se, t, df, p })
    }

    /// exp(D): above 1, `new` takes longer. Bounded by the range of f64.
    pub fn ratio(&self) -> f64 {
        exp(self.log)
    }

    /// Interval of the logarithm of the ratio, D ± t·SE, at a two-sided level such as 0.95.
    pub fn log_interval(&self, level: f64) -> Option<Interval> {
        let half = if self.has_no_spread() { 0.0 } else { t_reach(level, self.df)? * self.se };
        Some(Interval { low: self.log - half, high: self.log + half })
    }

    /// Interval of the ratio.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        self.log_interval(level).map(|interval| interval.exp())
    }

    /// The same with the sides swapped, bit by bit; for metrics of which more is better.
    pub fn inverse(self) -> Self {
        Self { log: -self.log, t: -self.t, ..self }
    }

    /// Whether neither series varied, so that p and interval rest on no spread at all.
    pub fn has_no_spread(&self) -> bool {
        self.se == 0.0
    }
}

impl Interval {
    /// The interval of exp(x) from that of x. Bounded by the range of f64.
    pub fn exp(self) -> Self {
        Self { low: exp(self.low), high: exp(self.high) }
    }
}

/// exp that stays a positive finite number.
fn exp(log: f64) -> f64 {
    log.exp().clamp(f64::MIN_POSITIVE, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_without_spread_are_equal_or_different() {
        let equal = welch_log(&[0.1; 3], &[0.1; 7]).expect("two values a side");
        assert_eq!((equal.ratio(), equal.t, equal.p), (1.0, 0.0, 1.0));
        let different = welch_log(&[0.1; 3], &[0.2; 7]).expect("two values a side");
        assert_eq!(different.p, 0.0);
        assert!(different.has_no_spread() && different.t > 1e300);
        assert!((different.ratio() - 2.0).abs() < 1e-12);
        let paired = paired_log(&[1.0, 1.0], &[1.0, 1.0]).expect("two pairs");
        assert_eq!((paired.ratio(), paired.p), (1.0, 1.0));
    }

    #[test]
    fn one_value_on_a_side_tells_nothing() {
        assert_eq!(welch_log(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(paired_log(&[1.0], &[1.0]), None);
        assert_eq!(welch_log(&[1.0, 0.0], &[1.0, 2.0]), None);
        assert_eq!(welch_log(&[1.0, f64::NAN], &[1.0, 2.0]), None);
    }

    #[test]
    fn blocks_that_drift_together_are_told_apart_only_when_paired() {
        let base = [1.0, 2.0, 4.0, 8.0, 16.0];
        let new = [1.1, 2.21, 4.39, 8.8, 17.6];
        let paired = paired_log(&base, &new).expect("pairs");
        assert!(paired.p < 1e-6);
        assert!(welch_log(&base, &new).expect("runs").p > 0.8);
    }
}
