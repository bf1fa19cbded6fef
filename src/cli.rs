//! Command lines of the binaries; nothing else. One file for each binary.

pub mod compare;
pub mod data;
pub mod gate;
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

/// A share: `3%` or `0.03`. A plain number of 1 or more is refused: `3` could be meant either way.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 0.01));
    let share = number.parse::<f64>().map_err(|e| e.to_string())? * unit;
    match share {
        _ if unit == 1.0 && share >= 1.0 => Err(format!("is it {text}% or {text} times? write {text}%")),
        _ if (0.0..=10.0).contains(&share) => Ok(share),
        _ => Err("expected 0% to 1000%".to_owned()),
    }
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

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_may_be_percentages() {
        assert_eq!(share("0.05"), Ok(0.05));
        assert!((share("5%").expect("a share") - 0.05).abs() < 1e-12);
        assert!((share("5 %").expect("a share") - 0.05).abs() < 1e-12);
        assert_eq!(share("3").expect_err("ambiguous"), "is it 3% or 3 times? write 3%");
        for text in ["-1%", "", "%", "nan", "2000%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
