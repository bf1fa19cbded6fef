//! Where the next value may lie.

use super::distribution::t_reach;
use super::{Interval, mean_and_variance};

/// Interval in which the next of some normal values lies: mean ± t(level, n − 1)·s·√(1 + 1/n). Each end by itself is
/// passed with probability 1 − `level`, which is one-sided. Give logarithms of times. `None` for fewer than two values,
/// for a value that is not finite, or a level that is not between ½ and 1.
pub fn prediction_interval(values: &[f64], level: f64) -> Option<Interval> {
    let (mean, _) = mean_and_variance(values)?;
    let half = reach(values, 1.0 + 1.0 / values.len() as f64, level)?;
    Some(Interval { low: mean - half, high: mean + half })
}

/// How far from its expectation something may lie whose variance is `share` times that of the values, known from them
/// alone: t(level, n − 1)·s·√share, one-sided. `None` as in [`prediction_interval`].
pub fn reach(values: &[f64], share: f64, level: f64) -> Option<f64> {
    if values.len() < 2 || values.iter().any(|v| !v.is_finite()) || level <= 0.5 {
        return None;
    }
    let (_, variance) = mean_and_variance(values)?;
    Some(t_reach(2.0 * level - 1.0, values.len() as f64 - 1.0)? * (variance * share).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_scipys() {
        // import numpy as np, scipy.stats as st; x = np.log([100,102,99,101,103,98,100,101,99,102])
        // x.mean() + st.t.ppf(.99, 9) * x.std(ddof=1) * np.sqrt(1.1)  ->  4.656609764178
        let logs: Vec<f64> = [100., 102., 99., 101., 103., 98., 100., 101., 99., 102.].map(f64::ln).to_vec();
        let interval = prediction_interval(&logs, 0.99).expect("ten values");
        assert!((interval.high - 4.656609764178).abs() < 1e-9, "{interval:?}");
        assert!((interval.low - 4.563482875702).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn few_values_predict_nothing() {
        assert_eq!(prediction_interval(&[1.0], 0.99), None);
        assert_eq!(prediction_interval(&[1.0, f64::NAN], 0.99), None);
        assert_eq!(prediction_interval(&[1.0, 2.0], 0.5), None);
        assert_eq!(prediction_interval(&[1.0, 2.0], 1.0), None);
        assert_eq!(prediction_interval(&[3.0, 3.0], 0.99), Some(Interval { low: 3.0, high: 3.0 }));
    }
}
