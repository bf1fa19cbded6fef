//! Command line of `pcb-gate`, and what its verdicts mean for the exit code.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use regex::Regex;

use super::compare::Format;
use super::exit;
use crate::gate::{GATE_VERDICTS, GateVerdict, Report};

/// Judges a night's result file against the nights before it.
///
/// The folder of nights holds plain result files; the new one is added to it. A case that is slower than its last 30 nights
/// allow is a suspect. With --confirm the suspects are measured again at once, the last good build and the new one in
/// interleaved blocks, and only a case that is slower both times is red.
#[derive(Debug, Parser)]
#[command(
    name = "pcb-gate",
    version,
    after_help = AFTER_HELP,
    max_term_width = 120,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct Args {
    /// What to do other than to judge a night
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Result file of tonight
    #[arg(value_name = "NEW", required_unless_present_any = ["completions", "man"])]
    pub new: Option<PathBuf>,
    /// Folder of nights; made if it is missing
    #[arg(long, value_name = "DIR", required_unless_present_any = ["completions", "man"])]
    pub history: Option<PathBuf>,
    /// Measure suspects again at once: needs --worker base=PATH (the last good build) and --worker new=PATH
    #[arg(long, requires = "worker", conflicts_with = "confirmation")]
    pub confirm: bool,
    /// A worker build for --confirm: NAME=FOLDER or NAME=PROGRAM, base first
    #[arg(long, value_name = "NAME=PATH", requires = "confirm")]
    pub worker: Vec<String>,
    /// Blocks of the second measurement
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(6..))]
    pub repeats: u32,
    /// The second measurement, if it is made already: a result file with the builds base and new
    #[arg(long, value_name = "FILE")]
    pub confirmation: Option<PathBuf>,
    /// Least effect that counts, as 3% or 0.03
    #[arg(long, value_name = "SHARE", value_parser = super::share, default_value = "3%")]
    pub margin: f64,
    /// Form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Show cases that are fine or warming up too (JSON and JUnit always have them)
    #[arg(long)]
    pub all: bool,
    /// Verdicts that make the exit code 3 (red) or 5 (the others) [default: red, creep, suspect, missing, not-comparable]
    #[arg(long, value_name = "VERDICT[,VERDICT]", value_delimiter = ',', value_parser = verdict(), hide_possible_values = true)]
    pub fail_on: Option<Vec<GateVerdict>>,
    /// No verdict makes the exit code other than 0
    #[arg(long)]
    pub no_fail: bool,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file of --output
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Print a completion script for a shell
    #[arg(long, value_name = "SHELL", hide = true)]
    pub completions: Option<Shell>,
    /// Print the man page
    #[arg(long, hide = true)]
    pub man: bool,
}

/// What there is to do beside judging.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take a night for the new normal: the history of its cases begins there
    Accept {
        /// The night, as `pcb-gate show` names it
        night: String,
        /// Why, for those who read it later
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Only cases whose id matches [default: those that were red, suspect or creeping that night; all if none was]
        #[arg(long, value_name = "REGEX")]
        filter: Option<Regex>,
        /// Folder of nights
        #[arg(long, value_name = "DIR")]
        history: PathBuf,
    },
    /// Compare later nights with this one too, as a release: what gets slower a little each night is seen
    Pin {
        /// The night
        night: String,
        /// Why
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
        /// Folder of nights
        #[arg(long, value_name = "DIR")]
        history: PathBuf,
    },
    /// List the nights and what was decided
    Show {
        /// Folder of nights
        #[arg(long, value_name = "DIR")]
        history: PathBuf,
    },
}

/// Verdicts that fail where nothing else is asked for.
const FAILING: &[GateVerdict] =
    &[GateVerdict::Red, GateVerdict::Creep, GateVerdict::Suspect, GateVerdict::Missing, GateVerdict::NotComparable];

const AFTER_HELP: &str = "\
Verdicts, the worst first:
  red                  slower tonight, and again beside the last good build
  creep                the last five nights are slower than the pinned ones
  suspect              slower, and not measured again
  missing, not-comparable
                       no answer tonight
  improved, perhaps-improved, cleared, warming-up, fine
                       nothing to do

Exit codes:
  0  no verdict that --fail-on names
  1  error: a file cannot be read or written, or a second measurement failed
  2  wrong command line, or a file that is no night
  3  slower: red
  4  nothing to judge
  5  no sure answer: creep, suspect, missing, not-comparable; 3 wins over 5

Examples:
  pcb-run nightly --output tonight.json && pcb-gate --history nights tonight.json
  pcb-gate --history nights tonight.json --confirm --worker base=last-good --worker new=target/release
  pcb-gate accept 2026-12-01T02-03-04Z --reason 'checks every crop now' --history nights
  pcb-gate pin 2026-12-01T02-03-04Z --reason 'release 1.2' --history nights";

fn verdict() -> impl TypedValueParser<Value = GateVerdict> {
    let words = GATE_VERDICTS.iter().map(|row| PossibleValue::new(row.word).help(row.about));
    PossibleValuesParser::new(words).try_map(|word| {
        GATE_VERDICTS
            .iter()
            .find(|row| row.word == word)
            .map(|row| row.verdict)
            .ok_or_else(|| format!("no verdict {word}"))
    })
}

impl Args {
    /// Verdicts that fail.
    pub fn failing(&self) -> &[GateVerdict] {
        match &self.fail_on {
            _ if self.no_fail => &[],
            Some(verdicts) => verdicts,
            None => FAILING,
        }
    }

    /// The exit code that a report deserves.
    pub fn exit_code(&self, report: &Report) -> u8 {
        if report.rows.is_empty() {
            return exit::NOTHING;
        }
        let counts = report.counts();
        let failed = || counts.iter().map(|(verdict, _)| verdict).filter(|verdict| self.failing().contains(verdict));
        match (failed().any(|verdict| *verdict == GateVerdict::Red), failed().next()) {
            (true, _) => exit::REGRESSION,
            (false, Some(_)) => exit::INCOMPLETE,
            (false, None) => exit::OK,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
        assert!(Args::try_parse_from(["pcb-gate", "--history", "nights", "new.json"]).is_ok());
        assert!(Args::try_parse_from(["pcb-gate", "new.json"]).is_err(), "a history is needed");
        assert!(Args::try_parse_from(["pcb-gate", "pin", "night", "--history", "nights"]).is_ok());
        assert!(Args::try_parse_from(["pcb-gate", "accept", "night", "--history", "nights"]).is_err(), "and a reason");
    }
}
