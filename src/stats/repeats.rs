//! How many repeats a question needs.

use super::distribution::{t_reach, z};
use super::{CONFIDENCE, mean_and_variance};

/// Chance of an answer that the planned number of repeats should give.
const POWER: f64 = 0.8;

/// Spread of the logs that repeats average away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// SD of the log of one run; two independent sides.
    Sides(f64),
    /// SD of the log ratio of one block.
    Blocks(f64),
}

/// Repeats a side (or blocks) that tell a log ratio of `delta` from none with 80 % power at two-sided level `alpha`:
/// n = 2·((z(1 − α/2) + z(.8))·SD / δ)², without the 2 for blocks; never under 2.
///
/// For a change of a share e, `delta` is ln(1 + e). `None` where `delta` or `alpha` is not positive.
pub fn repeats_for(noise: Noise, delta: f64, alpha: f64) -> Option<u64> {
    let (sd, sides) = match noise {
        Noise::Sides(sd) => (sd, 2.0),
        Noise::Blocks(sd) => (sd, 1.0),
    };
    let reach = z(1.0 - alpha / 2.0)? + z(POWER)?;
    let n = sides * (reach * sd / delta).powi(2);
    // `as` saturates, and no one waits for that many.
    (delta > 0.0 && n.is_finite()).then(|| (n.ceil() as u64).max(2))
}

/// The least difference of logs that a t test with standard error `se` finds with 80 % power at two-sided level `alpha`:
/// (t(1 − α/2) + t(.8))·SE, within 2 % of the exact one (non-central t) from four degrees of freedom on.
pub fn detectable(se: f64, df: f64, alpha: f64) -> Option<f64> {
    let found = (t_reach(1.0 - alpha, df)? + t_reach(2.0 * POWER - 1.0, df)?) * se;
    (found.is_finite() && se >= 0.0).then_some(found)
}

/// Most repeats that are looked for.
const MOST: u64 = 100_000;

/// The least number of runs whose mean log would have a 95 % interval of ± `half`: t(.975, n − 1)·s/√n ≤ half, with the
/// spread s of the logs given (Kalibera and Jones, ISMM 2013, §7: only the spread of whole runs counts). `None` for fewer
/// than two logs, for more than 100,000 runs, or where `half` is not positive.
pub fn runs_for_half_width(logs: &[f64], half: f64) -> Option<u64> {
    let (_, variance) = mean_and_variance(logs)?;
    if logs.len() < 2 || !variance.is_finite() || half.is_nan() || half <= 0.0 {
        return None;
    }
    let enough = |n: u64| {
        let reach = t_reach(CONFIDENCE, n as f64 - 1.0)?;
        Some(reach * (variance / n as f64).sqrt() <= half)
    };
    // The half width falls with n: halve the range.
    let (mut few, mut many) = (1, MOST);
    if !enough(many)? {
        return None;
    }
    while many - few > 1 {
        let middle = few.midpoint(many);
        if enough(middle)? { many = middle } else { few = middle }
    }
    Some(many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_five_blocks_find_is_known() {
        // Paired blocks, in SD of their differences: 1.68 for 5, 1.00 for 10, 0.66 for 20 (exact non-central t).
        for (n, exact) in [(5.0, 1.68), (10.0, 1.00), (20.0, 0.66)] {
            let found = detectable(1.0 / f64::sqrt(n), n - 1.0, 0.05).expect("a level");
            assert!((found / exact - 1.0).abs() < 0.02, "{n} blocks: {found}");
        }
        assert_eq!(detectable(f64::NAN, 4.0, 0.05), None);
    }

    #[test]
    fn an_interval_is_as_narrow_as_planned() {
        // s = 0.05: t(.975, 26)·0.05/√27 = 0.01978, t(.975, 25)·0.05/√26 = 0.02020.
        let s: f64 = 0.05 / 2.0_f64.sqrt();
        assert_eq!(runs_for_half_width(&[1.0 - s, 1.0 + s], 0.02), Some(27));
        assert_eq!(runs_for_half_width(&[1.0, 1.0], 0.02), Some(2));
        assert_eq!(runs_for_half_width(&[1.0, 9.0], 1e-9), None);
        assert_eq!(runs_for_half_width(&[1.0], 0.02), None);
        assert_eq!(runs_for_half_width(&[1.0, 2.0], f64::NAN), None);
    }

    #[test]
    fn halving_the_effect_takes_four_times_the_repeats() {
        // 2·((1.96 + 0.8416)·0.05/0.05)² = 15.7
        assert_eq!(repeats_for(Noise::Sides(0.05), 0.05, 0.05), Some(16));
        assert_eq!(repeats_for(Noise::Sides(0.05), 0.025, 0.05), Some(63));
        assert_eq!(repeats_for(Noise::Blocks(0.05), 0.05, 0.05), Some(8));
        assert_eq!(repeats_for(Noise::Sides(0.05), 0.0, 0.05), None);
        assert_eq!(repeats_for(Noise::Sides(0.05), f64::NAN, 0.05), None);
    }
}
