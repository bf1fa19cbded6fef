//! The words of the gate.

use std::fmt;

use serde::{Serialize, Serializer};

/// What the gate says of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateVerdict {
    /// Slower twice: tonight, and again beside the last good build.
    Red,
    /// Slower than the pinned nights by now; nothing has confirmed it but the nights.
    Creep,
    /// Slower tonight; not measured again.
    Suspect,
    /// Measured in an earlier night of this kind, not tonight.
    Missing,
    /// No run of it counts tonight.
    NotComparable,
    /// Faster twice.
    Improved,
    /// Faster tonight; not measured again.
    PerhapsImproved,
    /// Slower tonight, but not beside the last good build.
    Cleared,
    /// Too few nights to judge.
    WarmingUp,
    /// Where it usually is.
    Fine,
}

/// One row of the table of verdicts.
pub struct GateVerdictRow {
    /// The verdict.
    pub verdict: GateVerdict,
    /// Its word.
    pub word: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
}

/// Every verdict, in the order in which they are shown.
pub const GATE_VERDICTS: &[GateVerdictRow] = &[
    row(GateVerdict::Red, "red", "slower tonight, and again beside the last good build"),
    row(GateVerdict::Creep, "creep", "the last five nights are slower than the pinned ones"),
    row(GateVerdict::Suspect, "suspect", "slower tonight, and not measured again"),
    row(GateVerdict::Missing, "missing", "measured in an earlier night, not tonight"),
    row(GateVerdict::NotComparable, "not-comparable", "no run of it counts tonight"),
    row(GateVerdict::Improved, "improved", "faster tonight, and again beside the last good build"),
    row(GateVerdict::PerhapsImproved, "perhaps-improved", "faster tonight, and not measured again"),
    row(GateVerdict::Cleared, "cleared", "slower tonight, but not beside the last good build: the machine"),
    row(GateVerdict::WarmingUp, "warming-up", "fewer than ten nights of this kind"),
    row(GateVerdict::Fine, "fine", "where it usually is"),
];

const fn row(verdict: GateVerdict, word: &'static str, about: &'static str) -> GateVerdictRow {
    GateVerdictRow { verdict, word, about }
}

impl GateVerdict {
    /// Its word.
    pub fn word(self) -> &'static str {
        GATE_VERDICTS.iter().find(|row| row.verdict == self).map_or("?", |row| row.word)
    }

    /// Its place in [`GATE_VERDICTS`].
    pub(super) fn place(self) -> usize {
        GATE_VERDICTS.iter().position(|row| row.verdict == self).unwrap_or(GATE_VERDICTS.len())
    }
}

impl fmt::Display for GateVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Serialize for GateVerdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_one_row() {
        for row in GATE_VERDICTS {
            assert_eq!(GATE_VERDICTS.iter().filter(|other| other.verdict == row.verdict).count(), 1, "{}", row.word);
        }
        assert_eq!(GATE_VERDICTS.len(), 10);
    }
}
