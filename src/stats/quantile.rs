//! Quantiles and spread that a few wild values cannot move.

use super::CONFIDENCE;

/// Type-7 quantile (numpy `linear`, pyperf, R's default): linear between order statistics at position (n − 1)·q.
///
/// `None` for no values, for a value that is not finite, or for `q` outside 0…1.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&sorted, q)
}

/// [`quantile`] of finite values already in ascending order, for several quantiles of one series.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let position = sorted.len().checked_sub(1)? as f64 * q;
    let low = sorted[position.floor() as usize];
    let high = sorted[position.ceil() as usize];
    let share = position.fract();
    // Weighted rather than low + share·(high − low), which overflows; clamped, so that rounding stays between them.
    Some((low * (1.0 - share) + high * share).clamp(low, high))
}

/// Median.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Median absolute deviation from the median, unscaled (pyperf's; times 1.4826 it estimates a normal SD).
pub fn mad(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|v| (v - center).abs()).collect();
    median(&deviations)
}

/// Least number of independent samples for which a two-sided 95 % order-statistic interval of the `q` quantile exists:
/// the least n with qⁿ ≤ 2.5 % and (1 − q)ⁿ ≤ 2.5 %. A quantile of fewer samples is *insufficient*.
///
/// 6 for the median, 36 for p90, 72 for p95, 368 for p99, 3,688 for p99.9. `None` for `q` outside 0…1, exclusive.
pub fn min_samples(q: f64) -> Option<u64> {
    (q > 0.0 && q < 1.0).then(|| (((1.0 - CONFIDENCE) / 2.0).ln() / q.max(1.0 - q).ln()).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_order_statistics() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.0), Some(1.0));
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 1.0), Some(4.0));
        assert_eq!(quantile(&[7.0], 0.95), Some(7.0));
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
    }

    #[test]
    fn no_values_and_no_numbers_have_no_quantile() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::NAN], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::INFINITY], 0.5), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
    }

    #[test]
    fn thin_percentiles_are_known() {
        let least: Vec<_> = [0.5, 0.9, 0.95, 0.99, 0.999].into_iter().map(min_samples).collect();
        assert_eq!(least, [Some(6), Some(36), Some(72), Some(368), Some(3688)]);
        assert_eq!(min_samples(1.0), None);
    }
}
