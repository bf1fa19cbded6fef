//! How many repeats a question needs.

use super::distribution::z;

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

#[cfg(test)]
mod tests {
    use super::*;

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
