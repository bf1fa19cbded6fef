//! What `pcb-run --precision` promises and keeps: runs are added from 6 on until half the 95 % interval of their median is
//! within the wanted share, or a cap is reached. How often does the interval at which it stops cover the truth?
//! `cargo run --release --example precision_coverage [TRIALS]`.
//!
//! Stopping when an interval looks narrow favours samples whose spread looks small, so coverage falls below that of a
//! fixed number of runs. Noise: log-normal with the between-process coefficients of variation of 586 real benchmarks (median
//! 1.6 %, third quartile 3.8 %, ninth decile 7.5 %), and those benchmarks' own process medians drawn with replacement.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use pcb::config::{Config, LEAST_BLOCKS};
use pcb::stats::{median, summarize, wilson};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Trials of each line, if nothing else is asked for.
const TRIALS: usize = 20_000;

/// The precision that is wanted.
const WANTED: f64 = 0.02;

/// One simulated measurement: the value of another run.
type Noise<'a> = Box<dyn Fn(&mut StdRng) -> f64 + 'a>;

fn main() -> anyhow::Result<()> {
    let trials = std::env::args().nth(1).map_or(Ok(TRIALS), |text| text.parse())?;
    println!(
        "until half the interval is within {:.0} %, {LEAST_BLOCKS} to {} runs; {trials} trials a line",
        WANTED * 100.0,
        Config::default().max_repeats
    );
    println!(
        "{:<34}{:>22}{:>12}{:>10}{:>22}",
        "noise", "covered when stopped", "mean runs", "capped", "covered, fixed 10 runs"
    );
    for cv in [0.005, 0.016, 0.038, 0.075] {
        let sigma = f64::ln_1p(cv * cv).sqrt();
        line(
            &format!("log-normal, CV {:.1} %", cv * 100.0),
            1.0,
            &|random: &mut StdRng| (sigma * normal(random)).exp(),
            trials,
        );
    }
    let Some(folder) = std::env::var_os("PCB_TEST_DATA") else {
        println!("real process medians: skipped: PCB_TEST_DATA is not set");
        return Ok(());
    };
    let path = Path::new(&folder).join("stats/aa-process-medians.json");
    let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let benchmarks: BTreeMap<String, Vec<f64>> = serde_json::from_slice(&text)?;
    real(&benchmarks.into_values().collect::<Vec<_>>(), trials);
    Ok(())
}

/// Draws from the ten process medians of each benchmark in turn; the truth is their median.
fn real(benchmarks: &[Vec<f64>], trials: usize) {
    let mut tally = Tally::default();
    let mut random = StdRng::seed_from_u64(1);
    for trial in 0..trials {
        let processes = &benchmarks[trial % benchmarks.len()];
        let Some(truth) = median(processes) else { continue };
        let noise: Noise = Box::new(move |random: &mut StdRng| processes[random.random_range(0..processes.len())]);
        tally.add(truth, &noise, &mut random);
    }
    tally.print("586 real benchmarks, resampled");
}

fn line(name: &str, truth: f64, noise: &dyn Fn(&mut StdRng) -> f64, trials: usize) {
    let mut tally = Tally::default();
    let mut random = StdRng::seed_from_u64(1);
    (0..trials).for_each(|_| tally.add(truth, noise, &mut random));
    tally.print(name);
}

#[derive(Default)]
struct Tally {
    trials: u64,
    covered: u64,
    covered_fixed: u64,
    runs: u64,
    capped: u64,
}

impl Tally {
    /// One case measured by the rule, and once more with ten runs.
    fn add(&mut self, truth: f64, noise: &dyn Fn(&mut StdRng) -> f64, random: &mut StdRng) {
        let cap = Config::default().max_repeats as usize;
        let mut values: Vec<f64> = (0..LEAST_BLOCKS).map(|_| noise(random)).collect();
        let precise = |values: &[f64]| {
            let summary = summarize(values);
            summary.and_then(|summary| summary.precision()).is_some_and(|half| half <= WANTED)
        };
        while !precise(&values) && values.len() < cap {
            values.push(noise(random));
        }
        self.trials += 1;
        self.runs += values.len() as u64;
        self.capped += u64::from(!precise(&values));
        self.covered += u64::from(covers(&values, truth));
        let fixed: Vec<f64> = (0..10).map(|_| noise(random)).collect();
        self.covered_fixed += u64::from(covers(&fixed, truth));
    }

    fn print(&self, name: &str) {
        let share = |hits: u64| {
            let interval = wilson(hits, self.trials, 0.95);
            let interval =
                interval.map_or(String::new(), |i| format!(" [{:.1}, {:.1}]", i.low * 100.0, i.high * 100.0));
            format!("{:.1} %{interval}", 100.0 * hits as f64 / self.trials as f64)
        };
        let mean = self.runs as f64 / self.trials as f64;
        let capped = format!("{:.1} %", 100.0 * self.capped as f64 / self.trials as f64);
        println!("{name:<34}{:>22}{mean:>12.1}{capped:>10}{:>22}", share(self.covered), share(self.covered_fixed));
    }
}

fn covers(values: &[f64], truth: f64) -> bool {
    let interval = summarize(values).and_then(|summary| summary.interval);
    interval.is_some_and(|interval| interval.low <= truth && truth <= interval.high)
}

/// A standard normal value (Box and Muller).
fn normal(random: &mut StdRng) -> f64 {
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
}
