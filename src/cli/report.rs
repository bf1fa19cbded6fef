//! Command line of `pcb-report`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use regex::Regex;

use crate::report::{REPORTERS, Reporter};

/// Shows result files of pcb-run: tables, rows for other programs, a plot.
///
/// Tables and the plot reduce the runs of a case: under 6 runs to the geometric mean with its t interval, from 6 on to
/// the median with its order-statistic interval. Several files stand side by side; their runs are never pooled.
#[derive(Debug, Parser)]
#[command(
    name = "pcb-report",
    version,
    after_help = AFTER_HELP,
    max_term_width = 120,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct Args {
    /// What to do other than to show
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Result files
    #[arg(value_name = "FILE", required_unless_present_any = ["completions", "man"])]
    pub files: Vec<PathBuf>,
    /// Form of the output
    #[arg(long, value_name = "FORMAT", default_value = REPORTERS[0].name, value_parser = format())]
    pub format: &'static Reporter,
    /// Write a plot to this file too
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Only cases whose id matches this regular expression
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<Regex>,
    /// Write to this file; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Overwrite files
    #[arg(long)]
    pub force: bool,
    /// Print a completion script for a shell
    #[arg(long, value_name = "SHELL", hide = true)]
    pub completions: Option<Shell>,
    /// Print the man page
    #[arg(long, hide = true)]
    pub man: bool,
}

/// What there is to do beside showing.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Can these results be trusted? Lists what speaks against it, and what to do
    Check {
        /// Result files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Exit code 6 if there is a problem
        #[arg(long)]
        strict: bool,
        /// Form of the output
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: CheckFormat,
    },
}

/// Form of the output of `pcb-report check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Lines
    Text,
    /// GitHub Markdown
    Markdown,
    /// A list of files with their findings
    Json,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  fine
  1  error: a file cannot be read or written, or exists and --force is missing
  2  wrong command line, or result files of different versions
  4  nothing selected: no case, or none that matches --filter
  6  check --strict: a problem was found

Examples:
  pcb-report results/smoke.json
  pcb-report monday.json tuesday.json --filter '/warm$' --format markdown
  pcb-report full.json --svg full.svg --output full.txt
  pcb-report check results/smoke.json --strict
  pcb-report *.json --format csv --output runs.csv --force";

fn format() -> impl TypedValueParser<Value = &'static Reporter> {
    let names = REPORTERS.iter().map(|reporter| PossibleValue::new(reporter.name).help(reporter.about));
    PossibleValuesParser::new(names).try_map(|name| {
        REPORTERS.iter().find(|reporter| reporter.name == name).ok_or_else(|| format!("no format {name}"))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn formats_come_from_the_table() {
        for reporter in REPORTERS {
            let args = Args::try_parse_from(["pcb-report", "a.json", "--format", reporter.name]).expect("known");
            assert_eq!(args.format.name, reporter.name);
        }
        assert!(Args::try_parse_from(["pcb-report", "a.json", "--format", "html"]).is_err());
        assert!(Args::try_parse_from(["pcb-report"]).is_err(), "a file is needed");
    }
}
