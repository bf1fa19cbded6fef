//! Command line of `pcb-run`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::config::Span;

/// What to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    /// What can be timed.
    Tracks,
    /// Formats and their variants.
    Formats,
    /// The cases of this config.
    Cases,
}

/// Measure how fast image-based-profiling formats hand out single-cell crops, cold and warm.
///
/// Every measurement is one fresh worker process. The pixels are checked before they are timed, and the cache state is
/// proven before every run. Without CONFIG, the usual forms of every format are measured on a small generated plate.
#[derive(Debug, Parser)]
#[command(name = "pcb-run", version, after_help = AFTER, max_term_width = 100)]
pub struct Args {
    /// A TOML file, or a shipped config: default, smoke, jump, nf1, random, grouped, paired, transforms, formats,
    /// full, nightly, features
    #[arg(value_name = "CONFIG")]
    pub config: Option<PathBuf>,
    /// Runs of each case
    #[arg(long, short = 'r', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,
    /// Run each case until half its 95 % interval is within this share of its center: 6 blocks at least, max_repeats (30)
    /// at most
    #[arg(long, value_name = "SHARE", value_parser = super::share, conflicts_with = "repeats")]
    pub precision: Option<f64>,
    /// Only cold: every page of the data proven absent from the page cache before each run
    #[arg(long, conflicts_with = "warm")]
    pub cold: bool,
    /// Only warm: every page proven resident before and after each run
    #[arg(long)]
    pub warm: bool,
    /// Only cases whose id matches this regular expression
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<regex::Regex>,
    /// Override a key of the config, for example repeats=10, crop=64, steady.min_time=1s
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print the runs and the time they take, and stop
    #[arg(long)]
    pub plan: bool,
    /// List what there is, and stop
    #[arg(long, value_enum, value_name = "WHAT")]
    pub list: Option<Listing>,
    /// Go on with an interrupted plan of the same output
    #[arg(long)]
    pub resume: bool,
    /// The result file [default: results/CONFIG-TIME.json]
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write one CSV row for each run
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print the result file to stdout in place of the table; only - is known
    #[arg(long, value_name = "-", value_parser = ["-"])]
    pub json: Option<String>,
    /// Seed of the order of runs, the index lists and the transforms
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Pin workers to these CPUs, for example 1 or 0,2-3
    #[arg(long, value_name = "CPUS")]
    pub affinity: Option<String>,
    /// Time allowed for one run, for example 90s
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
    /// Stop after this time and keep what was measured
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<Span>,
    /// Two runs of each case (or --repeats), in short phases: for a first look, not for a verdict
    #[arg(long)]
    pub quick: bool,
    /// A worker build: NAME=FOLDER or NAME=PROGRAM; give two to compare them block by block
    #[arg(long, value_name = "NAME=PATH")]
    pub worker: Vec<String>,
    /// Measure the one build twice in every block: how often does a comparison cry wolf here? Adds to the noise file
    #[arg(long)]
    pub aa: bool,
    /// Noise file of --aa [default: noise.json in the folder of datasets]
    #[arg(long, value_name = "FILE", requires = "aa")]
    pub noise: Option<PathBuf>,
    /// Keep the result as a baseline of this name too
    #[arg(long, value_name = "NAME")]
    pub save_baseline: Option<String>,
    /// Compare with this baseline at the end; exit code 3 if something regressed
    #[arg(long, value_name = "NAME", conflicts_with = "aa")]
    pub baseline: Option<String>,
    /// Folder of baselines
    #[arg(long, value_name = "DIR", env = "PCB_BASELINES", default_value = crate::results::baseline::FOLDER)]
    pub baselines: PathBuf,
    /// Where datasets lie [env: PCB_DATA] [default: the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Accept workers built without optimisation: their times mean nothing
    #[arg(long)]
    pub allow_debug: bool,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
    /// Start a plan of more than a day without asking
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Nothing on stderr but errors
    #[arg(long, short = 'q')]
    pub quiet: bool,
    /// Print completions for this shell, and stop
    #[arg(long, value_enum, value_name = "SHELL", hide = true)]
    pub completions: Option<clap_complete::Shell>,
    /// Print the man page, and stop
    #[arg(long, hide = true)]
    pub man: bool,
}

const AFTER: &str = "\
Examples:
  pcb-run                                   the usual forms of every format, cold and warm
  pcb-run --repeats 5 --cold                five cold runs of each case
  pcb-run smoke --precision 2%              as many runs of each case as it takes to know it to 2 %
  pcb-run smoke --plan                      what would be run, and for how long
  pcb-run --set format=all                  every variant
  pcb-run --worker base=old/ --worker new=target/release/
  pcb-run smoke --aa                        the same build twice: false alarms, detectable changes
  pcb-run smoke --save-baseline main; pcb-run smoke --baseline main

Exit codes:
  0 fine; 1 error; 2 usage or config; 3 regressed against --baseline; 4 nothing selected;
  5 a run failed, was not cold or not warm, or gave wrong pixels;
  124 --max-time was reached; 130 interrupted";
