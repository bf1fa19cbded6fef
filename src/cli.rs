//! Command lines of the binaries; nothing else. One file for each binary.

pub mod compare;
pub mod data;
pub mod report;
pub mod run;

/// Exit codes, the same for every binary.
pub mod exit {
    /// Fine; also unsupported and pruned rows, and inconclusive verdicts.
    pub const OK: u8 = 0;
    /// Error.
    pub const ERROR: u8 = 1;
    /// Wrong command line or config.
    pub const USAGE: u8 = 2;
    /// A regression.
    pub const REGRESSION: u8 = 3;
    /// Nothing selected.
    pub const NOTHING: u8 = 4;
    /// Incomplete, failed rows, missing or not comparable.
    pub const INCOMPLETE: u8 = 5;
    /// The environment was refused (strict).
    pub const REFUSED: u8 = 6;
    /// `--max-time` was reached.
    pub const TIME: u8 = 124;
    /// Interrupted.
    pub const INTERRUPTED: u8 = 130;
}
