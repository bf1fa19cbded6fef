//! Command line of `pcb-compare`, and what its verdicts mean for the exit code.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, ValueEnum};
use clap_complete::Shell;
use regex::Regex;

use super::exit;
use crate::compare::{Adjust, Comparison, DEFAULT_ALPHA, Key, METRICS, Metric, Settings, VERDICTS, Verdict};

/// Compares two result files of pcb-run, or the two builds measured in one.
///
/// Each run counts as one value. Runs are compared on logs (Welch's t test; paired by block if one file holds both
/// builds), p-values are adjusted over the cases of a track, and each case gets one verdict. A ratio above 1
/// means that NEW is slower, whatever the metric.
#[derive(Debug, Parser)]
#[command(name = "pcb-compare", version, after_help = AFTER_HELP, max_term_width = 120)]
pub struct Args {
    /// Result file of the base; alone: a file with two builds, the first of which is the base
    #[arg(value_name = "BASE", required_unless_present_any = ["completions", "man"])]
    pub base: Option<PathBuf>,
    /// Result file that is judged
    #[arg(value_name = "NEW")]
    pub new: Option<PathBuf>,
    /// A baseline by name in place of BASE: pcb-compare --baseline main new.json
    #[arg(long, value_name = "NAME", conflicts_with_all = ["new", "by"])]
    pub baseline: Option<String>,
    /// Keep NEW (or the only file) as a baseline of this name too
    #[arg(long, value_name = "NAME")]
    pub save_baseline: Option<String>,
    /// Folder of baselines
    #[arg(long, value_name = "DIR", env = "PCB_BASELINES", default_value = crate::results::baseline::FOLDER)]
    pub baselines: PathBuf,
    /// Noise file of pcb-run --aa: an alarm in the primary metric must pass the noise floor of its case, once five days of
    /// this machine are known
    #[arg(long, value_name = "FILE")]
    pub noise: Option<PathBuf>,
    /// What to compare [default: the primary metric of each track and state]
    #[arg(long, value_name = "METRIC", value_parser = metric())]
    pub metric: Option<Metric>,
    /// Least effect that counts, as 3% or 0.03
    #[arg(long, value_name = "SHARE", value_parser = super::share, default_value = "3%")]
    pub margin: f64,
    /// Level of the tests; intervals have level 1 - ALPHA
    #[arg(long, value_name = "ALPHA", value_parser = alpha, default_value_t = DEFAULT_ALPHA)]
    pub alpha: f64,
    /// How p-values are adjusted over the cases of a track
    #[arg(long, value_name = "METHOD", default_value = "holm")]
    pub adjust: AdjustArg,
    /// Parts of the case id to leave out of the match: track, dataset, format, layout, pattern, crop, tier, host, state
    #[arg(long, value_name = "KEY[,KEY]", value_delimiter = ',')]
    pub across: Vec<Key>,
    /// Compare values of one part of the case id inside BASE, as format=npy:mmap: that base against all others
    ///
    /// format=npy:mmap,hdf5:contiguous names both sides; format alone does where there are just two values.
    #[arg(long, value_name = "KEY[=BASE[,NEW]...]", conflicts_with = "new")]
    pub by: Option<By>,
    /// Only cases whose id matches this regular expression
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<Regex>,
    /// Form of the output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Show unchanged cases too (JSON always has them)
    #[arg(long)]
    pub all: bool,
    /// Verdicts that make the exit code 3 (a change) or 5 (no answer) [default: regressed, missing, not-comparable; with
    /// --by none]
    #[arg(long, value_name = "VERDICT[,VERDICT]", value_delimiter = ',', value_parser = verdict(), hide_possible_values = true)]
    pub fail_on: Option<Vec<Verdict>>,
    /// No verdict makes the exit code other than 0
    #[arg(long)]
    pub no_fail: bool,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file of --output, or the baseline of --save-baseline
    #[arg(long)]
    pub force: bool,
    /// Colour verdicts
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Print a completion script for a shell
    #[arg(long, value_name = "SHELL", hide = true)]
    pub completions: Option<Shell>,
    /// Print the man page
    #[arg(long, hide = true)]
    pub man: bool,
}

/// How p-values are adjusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdjustArg {
    /// Holm: bounds the chance of any false alarm
    Holm,
    /// Benjamini and Hochberg: bounds the share of false ones among the alarms; for looking around
    Bh,
}

/// What `--by` takes: a part of the case id, and its values, the first of which is the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// The part.
    pub key: Key,
    /// The values; without any, the two that the file has.
    pub values: Vec<String>,
}

impl std::str::FromStr for By {
    type Err = pcb_protocol::ParseWordError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, values) = text.split_once('=').map_or((text, None), |(key, values)| (key, Some(values)));
        let values = values.map(|values| values.split(',').map(str::to_owned).collect());
        Ok(Self { key: key.parse()?, values: values.unwrap_or_default() })
    }
}

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for a terminal
    Text,
    /// GitHub Markdown
    Markdown,
    /// One document with every row
    Json,
    /// JUnit XML: a test case for each row
    Junit,
    /// GitHub Actions: annotations, and the Markdown in the job summary
    Github,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal that is not dumb, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Verdicts that fail unless others are named.
const FAILING: &[Verdict] = &[Verdict::Regressed, Verdict::Missing, Verdict::NotComparable];

const AFTER_HELP: &str = "\
Verdicts, the first that holds:
  not-comparable       the sides did not measure the same thing, or not well enough
  regressed, improved  the interval lies beyond the margin, adjusted p < ALPHA, and resampling runs and samples agrees
  unchanged            the interval of level 1 - 2 ALPHA lies within the margin
  slower-below-margin, faster-below-margin
                       adjusted p < ALPHA, but the interval reaches into the margin
  inconclusive         none of these; the note says how many repeats would decide
  missing              one side did not measure it

Exit codes:
  0  no verdict that --fail-on names
  1  error: a file cannot be read or written
  2  wrong command line, or cases that match several others
  3  a change named by --fail-on: regressed by default
  4  nothing to compare
  5  no answer, named by --fail-on: missing, not-comparable by default; 3 wins over 5

Examples:
  pcb-compare last-week.json today.json
  pcb-compare --baseline main today.json
  pcb-compare formats.json --by format=npy:mmap
  pcb-compare py36.json py37.json                      files of pyperf
  pcb-compare ab.json --metric p95 --margin 5% --filter '/warm$' --format markdown";

fn metric() -> impl TypedValueParser<Value = Metric> {
    let names = METRICS.iter().map(|row| PossibleValue::new(row.name).help(row.about));
    PossibleValuesParser::new(names).try_map(|name| {
        METRICS.iter().find(|row| row.name == name).map(|row| row.metric).ok_or_else(|| format!("no metric {name}"))
    })
}

fn verdict() -> impl TypedValueParser<Value = Verdict> {
    let words = VERDICTS.iter().map(|row| PossibleValue::new(row.word).help(row.about));
    PossibleValuesParser::new(words).try_map(|word| {
        VERDICTS.iter().find(|row| row.word == word).map(|row| row.verdict).ok_or_else(|| format!("no verdict {word}"))
    })
}

fn alpha(text: &str) -> Result<f64, String> {
    let alpha: f64 = text.parse().map_err(|e: std::num::ParseFloatError| e.to_string())?;
    if alpha > 0.0 && alpha < 0.5 { Ok(alpha) } else { Err("expected a number above 0 and under 0.5".to_owned()) }
}

impl Args {
    /// How to compare.
    pub fn settings(&self) -> Settings {
        Settings {
            metric: self.metric,
            margin: self.margin,
            alpha: self.alpha,
            adjust: match self.adjust {
                AdjustArg::Holm => Adjust::Holm,
                AdjustArg::Bh => Adjust::Bh,
            },
            floors: BTreeMap::new(),
            across: self.across.clone(),
            filter: self.filter.clone(),
        }
    }

    /// Verdicts that fail.
    pub fn failing(&self) -> &[Verdict] {
        match &self.fail_on {
            _ if self.no_fail => &[],
            Some(verdicts) => verdicts,
            // That one format is slower than another is no failure.
            None if self.by.is_some() => &[],
            None => FAILING,
        }
    }

    /// The exit code that a comparison deserves.
    pub fn exit_code(&self, comparison: &Comparison) -> u8 {
        if comparison.rows.is_empty() {
            return exit::NOTHING;
        }
        let fails = |verdict: &Verdict| self.failing().contains(verdict);
        let failed: Vec<Verdict> = comparison.counts().into_iter().map(|(verdict, _)| verdict).filter(fails).collect();
        match failed.iter().any(|verdict| verdict.is_decided()) {
            true => exit::REGRESSION,
            false if failed.is_empty() => exit::OK,
            false => exit::INCOMPLETE,
        }
    }
}

impl Color {
    /// Whether to colour what goes to a terminal, or to anything else.
    pub fn applies(self, terminal: bool) -> bool {
        let set = |name, plain: fn(&OsString) -> bool| std::env::var_os(name).as_ref().is_some_and(plain);
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                terminal && !set("NO_COLOR", |value| !value.is_empty()) && !set("TERM", |value| value == "dumb")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn levels_lie_between_none_and_half() {
        assert!(alpha("0").is_err() && alpha("0.5").is_err() && alpha("nan").is_err() && alpha("0.01").is_ok());
    }
}
