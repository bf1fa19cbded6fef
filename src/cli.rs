//! Command lines of the binaries; nothing else. One file for each binary.

pub mod compare;
pub mod data;
pub mod report;
pub mod run;

use std::io;

use clap_complete::Shell;

/// The completion script for `shell`, or the man page without one.
pub fn about(mut command: clap::Command, shell: Option<Shell>) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let name = command.get_name().to_owned();
    match shell {
        Some(shell) => clap_complete::generate(shell, &mut command, name, &mut text),
        None => clap_mangen::Man::new(command).render(&mut text)?,
    }
    Ok(text)
}

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
