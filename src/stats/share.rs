//! Rates of events, such as false alarms.

use super::Interval;
use super::distribution::z;

/// Wilson's score interval of a binomial share at a two-sided level:
/// (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n). `None` for no trials or more hits than trials.
pub fn wilson(hits: u64, trials: u64, level: f64) -> Option<Interval> {
    if trials == 0 || hits > trials {
        return None;
    }
    let (n, z) = (trials as f64, z((1.0 + level) / 2.0)?);
    let share = hits as f64 / n;
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + z * z / n;
    Some(Interval { low: ((middle - half) / whole).max(0.0), high: ((middle + half) / whole).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_agrees_with_published_values() {
        // statsmodels.stats.proportion.proportion_confint(5, 50, method="wilson")
        let interval = wilson(5, 50, 0.95).expect("trials");
        assert!((interval.low - 0.04347545).abs() < 1e-6 && (interval.high - 0.21360224).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn nothing_seen_is_not_nothing() {
        let interval = wilson(0, 300, 0.95).expect("trials");
        assert_eq!(interval.low, 0.0);
        assert!(interval.high > 0.012 && interval.high < 0.013);
        assert_eq!(wilson(0, 0, 0.95), None);
        assert_eq!(wilson(2, 1, 0.95), None);
    }
}
