//! How often `pcb-compare` errs: process medians of 586 real benchmarks, each measured by 10 identical processes,
//! split at random into 5 against 5, in suites of 20 cases. Nothing changed, so every alarm is false; then every new
//! side is made slower by a known factor. Beside it what simpler rules would say on the same runs.
//! `cargo run --release --example error_rates [SPLITS]`.

#[path = "../tests/compare/support.rs"]
#[expect(dead_code, reason = "what the tests need beside it")]
mod support;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use pcb::compare::{Settings, VERDICTS, Verdict};
use pcb::stats::{benjamini_hochberg, holm, mann_whitney_exact, welch_log, wilson};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Cases of one comparison: what Holm adjusts for.
const SUITE: usize = 20;

/// Runs of one side.
const REPEATS: usize = 5;

/// Random splits of all benchmarks, if nothing else is asked for.
const SPLITS: usize = 10;

fn main() -> anyhow::Result<()> {
    let Some(folder) = std::env::var_os("PCB_TEST_DATA") else {
        println!("skipped: PCB_TEST_DATA is not set");
        return Ok(());
    };
    let splits = std::env::args().nth(1).map_or(Ok(SPLITS), |text| text.parse())?;
    let path = Path::new(&folder).join("stats/aa-process-medians.json");
    let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let benchmarks: BTreeMap<String, Vec<f64>> = serde_json::from_slice(&text)?;
    let mut benchmarks: Vec<Vec<f64>> = benchmarks.into_values().collect();

    println!("{} benchmarks x {splits} splits, {REPEATS} against {REPEATS}, suites of {SUITE}", benchmarks.len());
    println!("(95 % Wilson intervals; splits of one benchmark depend on each other, so they are a little too narrow)");
    for slowdown in [0.0, 0.02, 0.05, 0.10, 0.20] {
        let mut tally = Tally::default();
        let mut random = StdRng::seed_from_u64(1);
        for _ in 0..splits {
            benchmarks.shuffle(&mut random);
            for suite in benchmarks.chunks_mut(SUITE) {
                suite.iter_mut().for_each(|processes| processes.shuffle(&mut random));
                tally.add(suite, 1.0 + slowdown);
            }
        }
        tally.print(slowdown);
    }
    Ok(())
}

/// Rules that other tools use, on the same runs.
const SIMPLER: [&str; 4] = ["Welch p < .05", "Mann-Whitney p < .05", "Welch, BH .05", "Welch, Holm .05"];

/// What was counted.
#[derive(Default)]
struct Tally {
    cases: u64,
    verdicts: BTreeMap<Verdict, u64>,
    /// Alarms of simpler rules, without a margin: cases and suites.
    simpler: [(u64, u64); 4],
    suites: u64,
    /// Suites with a regression or an improvement.
    alarmed: u64,
}

impl Tally {
    /// Compares the first processes of each benchmark with the rest, made slower.
    fn add(&mut self, suite: &[Vec<f64>], factor: f64) {
        let (mut base, mut new) = (Vec::new(), Vec::new());
        for (case, processes) in suite.iter().enumerate() {
            let id = support::warm(&format!("npy:v{case}"));
            let ns = |values: &[f64], factor: f64| values.iter().map(|s| s * 1e9 * factor).collect::<Vec<_>>();
            base.extend(support::runs(&id, &ns(&processes[..REPEATS], 1.0)));
            new.extend(support::runs(&id, &ns(&processes[REPEATS..], factor)));
        }
        let comparison = support::compared_as(&support::file(base), &support::file(new), &Settings::default());
        let alarms = |verdict| matches!(verdict, Verdict::Regressed | Verdict::Improved);
        self.suites += 1;
        self.alarmed += u64::from(comparison.rows.iter().any(|row| alarms(row.verdict)));
        self.compare_simply(suite, factor);
        for row in &comparison.rows {
            self.cases += 1;
            *self.verdicts.entry(row.verdict).or_default() += 1;
        }
    }

    fn compare_simply(&mut self, suite: &[Vec<f64>], factor: f64) {
        let sides = |processes: &Vec<f64>| {
            let new: Vec<f64> = processes[REPEATS..].iter().map(|s| s * factor).collect();
            (processes[..REPEATS].to_vec(), new)
        };
        let p = |test: fn(&[f64], &[f64]) -> Option<f64>| -> Vec<f64> {
            suite.iter().map(sides).map(|(base, new)| test(&base, &new).unwrap_or(1.0)).collect()
        };
        let welch = p(|base, new| Some(welch_log(base, new)?.p));
        let rules = [welch.clone(), p(mann_whitney_exact), benjamini_hochberg(&welch), holm(&welch)];
        for (count, p) in self.simpler.iter_mut().zip(rules) {
            let alarms = p.iter().filter(|p| **p < 0.05).count() as u64;
            *count = (count.0 + alarms, count.1 + u64::from(alarms > 0));
        }
    }

    fn print(&self, slowdown: f64) {
        println!("\ntrue change: {:+.0} %", slowdown * 100.0);
        let count = |verdict: Verdict| self.verdicts.get(&verdict).copied().unwrap_or(0);
        for (name, (cases, suites)) in SIMPLER.iter().zip(self.simpler) {
            share(name, cases, self.cases);
            if slowdown == 0.0 {
                share("  suites with any", suites, self.suites);
            }
        }
        for row in VERDICTS.iter().filter(|row| count(row.verdict) > 0) {
            share(row.word, count(row.verdict), self.cases);
        }
        if slowdown == 0.0 {
            share("false alarms", count(Verdict::Regressed) + count(Verdict::Improved), self.cases);
            share("suites with any", self.alarmed, self.suites);
        }
    }
}

fn share(name: &str, hits: u64, trials: u64) {
    let interval =
        wilson(hits, trials, 0.95).map_or(String::new(), |i| format!("[{:.2}, {:.2}]", i.low * 100.0, i.high * 100.0));
    println!("  {name:<20} {:>6.2} %  {interval}  {hits} of {trials}", 100.0 * hits as f64 / trials as f64);
}
