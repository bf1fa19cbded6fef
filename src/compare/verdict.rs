//! The words of a comparison.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::stats::Interval;

/// What a comparison of one case says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The two sides did not measure the same thing, or not well enough.
    NotComparable,
    /// Surely slower by more than the margin.
    Regressed,
    /// Surely faster by more than the margin.
    Improved,
    /// Surely within the margin.
    Unchanged,
    /// Surely slower, perhaps by less than the margin.
    SlowerBelowMargin,
    /// Surely faster, perhaps by less than the margin.
    FasterBelowMargin,
    /// Too much noise to tell.
    Inconclusive,
    /// One side did not measure it.
    Missing,
}

/// One row of the table of verdicts.
pub struct VerdictRow {
    /// The verdict.
    pub verdict: Verdict,
    /// Its word.
    pub word: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
}

/// Every verdict, in the order in which they are shown.
pub const VERDICTS: &[VerdictRow] = &[
    row(Verdict::Regressed, "regressed", "surely slower by more than the margin"),
    row(Verdict::Improved, "improved", "surely faster by more than the margin"),
    row(Verdict::SlowerBelowMargin, "slower-below-margin", "surely slower, perhaps by less than the margin"),
    row(Verdict::FasterBelowMargin, "faster-below-margin", "surely faster, perhaps by less than the margin"),
    row(Verdict::NotComparable, "not-comparable", "the sides did not measure the same thing"),
    row(Verdict::Missing, "missing", "one side did not measure it"),
    row(Verdict::Inconclusive, "inconclusive", "too much noise to tell; the note says how many repeats would do"),
    row(Verdict::Unchanged, "unchanged", "surely within the margin"),
];

const fn row(verdict: Verdict, word: &'static str, about: &'static str) -> VerdictRow {
    VerdictRow { verdict, word, about }
}

/// The tests of one case, all on the log of the ratio.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence {
    /// Interval at level 1 − alpha.
    pub interval: Interval,
    /// Interval at level 1 − 2·alpha: wholly inside the margin, both one-sided tests of equivalence reject (TOST).
    pub equivalence: Interval,
    /// p-value, adjusted for all tests made.
    pub p_adjusted: f64,
}

impl Verdict {
    /// The first that holds: regressed or improved (interval wholly beyond the margin, adjusted p under alpha),
    /// unchanged (TOST), slower or faster below the margin (adjusted p under alpha), inconclusive. Alarms may have a wider
    /// margin than equivalence.
    pub(super) fn decide(evidence: &Evidence, log_margin: f64, alarm_margin: f64, alpha: f64) -> Self {
        let Evidence { interval, equivalence, p_adjusted } = *evidence;
        let differs = p_adjusted < alpha;
        if differs && interval.low > alarm_margin {
            Self::Regressed
        } else if differs && interval.high < -alarm_margin {
            Self::Improved
        } else if equivalence.low >= -log_margin && equivalence.high <= log_margin {
            Self::Unchanged
        } else if differs && interval.low > 0.0 {
            Self::SlowerBelowMargin
        } else if differs && interval.high < 0.0 {
            Self::FasterBelowMargin
        } else {
            Self::Inconclusive
        }
    }

    /// Whether the runs decided: neither noise nor a lack of comparable runs.
    pub fn is_decided(self) -> bool {
        !matches!(self, Self::NotComparable | Self::Missing | Self::Inconclusive)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        VERDICTS.iter().find(|row| row.verdict == self).map_or("?", |row| row.word)
    }

    /// Its place in [`VERDICTS`].
    pub(super) fn place(self) -> usize {
        VERDICTS.iter().position(|row| row.verdict == self).unwrap_or(VERDICTS.len())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(low: f64, high: f64, p_adjusted: f64) -> Verdict {
        let interval = Interval { low, high };
        Verdict::decide(&Evidence { interval, equivalence: interval, p_adjusted }, 0.03, 0.03, 0.05)
    }

    #[test]
    fn the_first_verdict_that_holds_is_given() {
        assert_eq!(decide(0.04, 0.06, 0.01), Verdict::Regressed);
        assert_eq!(decide(-0.06, -0.04, 0.01), Verdict::Improved);
        assert_eq!(decide(0.01, 0.02, 0.01), Verdict::Unchanged);
        assert_eq!(decide(0.02, 0.06, 0.01), Verdict::SlowerBelowMargin);
        assert_eq!(decide(-0.06, -0.02, 0.01), Verdict::FasterBelowMargin);
        assert_eq!(decide(0.04, 0.06, 0.2), Verdict::Inconclusive);
        assert_eq!(decide(-0.04, 0.06, 0.9), Verdict::Inconclusive);
    }

    proptest::proptest! {
        #[test]
        fn a_floor_makes_nothing_an_alarm_and_nothing_equal(
            low in -0.3..0.3_f64, width in 0.0..0.3_f64, p_adjusted in 0.0..1.0_f64, floor in 0.0..0.3_f64,
        ) {
            let interval = Interval { low, high: low + width };
            let evidence = Evidence { interval, equivalence: interval, p_adjusted };
            let plain = Verdict::decide(&evidence, 0.03, 0.03, 0.05);
            let floored = Verdict::decide(&evidence, 0.03, floor.max(0.03), 0.05);
            let alarm = |verdict| matches!(verdict, Verdict::Regressed | Verdict::Improved);
            proptest::prop_assert!(plain == floored || (alarm(plain) && !alarm(floored)));
            proptest::prop_assert_eq!(plain == Verdict::Unchanged, floored == Verdict::Unchanged);
        }
    }

    #[test]
    fn every_verdict_has_one_row() {
        for row in VERDICTS {
            assert_eq!(VERDICTS.iter().filter(|other| other.verdict == row.verdict).count(), 1, "{}", row.word);
        }
        assert_eq!(VERDICTS.len(), 8);
    }
}
