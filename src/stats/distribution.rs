//! The few distribution functions in use. Callers pass degrees of freedom of 1 or more, which Welch's always are.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// Two-sided p-value of a t statistic.
pub(super) fn t_two_sided(t: f64, df: f64) -> Option<f64> {
    let tail = StudentsT::new(0.0, 1.0, df).ok()?.cdf(-t.abs());
    tail.is_finite().then(|| (2.0 * tail).min(1.0))
}

/// The t value that a two-sided interval of this level reaches: the quantile at (1 + level) / 2.
pub(super) fn t_reach(level: f64, df: f64) -> Option<f64> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, df).ok()?.inverse_cdf((1.0 + level) / 2.0);
    t.is_finite().then_some(t)
}

/// Quantile of the standard normal distribution.
pub(super) fn z(q: f64) -> Option<f64> {
    (q > 0.0 && q < 1.0).then(|| Normal::standard().inverse_cdf(q))
}

/// P(Bin(n, ½) ≤ k).
pub(super) fn fair_coin_at_most(k: u64, n: u64) -> Option<f64> {
    Some(Binomial::new(0.5, n).ok()?.cdf(k))
}
