//! What the online warm-up rule leaves: 200 processes of real benchmarks with published steady states (Traini et al.
//! 2022), each replayed to the rule. Bias is |median of the 100 values after it says settled / median of the last 500
//! − 1|. `cargo run --release -p pcb-worker --example warmup_bias`.

use std::path::Path;

use pcb_worker::warmup::Detector;
use serde::Deserialize;

#[derive(Deserialize)]
struct Benchmark {
    /// Time of each iteration of each process, in seconds; an iteration is about 0.1 s of work.
    seconds: Vec<Vec<f64>>,
    class: Published,
}

#[derive(Deserialize)]
struct Published {
    /// `steady state` or `no steady state`, by process.
    forks: Vec<String>,
    /// First steady iteration, by process.
    steady_state_starts: Vec<i64>,
}

/// How many values a rule discards; `None`: it never settles.
type Rule = fn(&[f64]) -> Option<usize>;

const RULES: &[(&str, Rule)] = &[
    ("skip 1", |_| Some(1)),
    ("skip 50", |_| Some(50)),
    ("skip 500", |_| Some(500)),
    ("growing halves 1 %, checks from 10 values", |series| settled(series, 10)),
    ("growing halves 1 %, checks from 40 values", |series| settled(series, 40)),
];

/// Groups by the published first steady iteration.
const GROUPS: [(&str, std::ops::RangeInclusive<i64>); 5] =
    [("all", 0..=3000), ("0", 0..=0), ("1-50", 1..=50), ("51-500", 51..=500), ("501-", 501..=3000)];

fn main() {
    let Some(folder) = std::env::var_os("PCB_TEST_DATA") else {
        println!("skipped: PCB_TEST_DATA is not set");
        return;
    };
    let path = Path::new(&folder).join("stats/steady-state.json");
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let benchmarks: Vec<Benchmark> =
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut processes: Vec<(i64, &[f64])> = Vec::new();
    for benchmark in &benchmarks {
        let Published { forks, steady_state_starts } = &benchmark.class;
        for ((series, class), start) in benchmark.seconds.iter().zip(forks).zip(steady_state_starts) {
            if class == "steady state" {
                processes.push((*start, series));
            }
        }
    }
    println!("{} processes with a published steady state, of {} benchmarks", processes.len(), benchmarks.len());
    println!(
        "(a fifth of the benchmarks each: flat, early, late, mixed, never steady; late ones are rarer in the wild)"
    );
    println!("share of processes with a bias above 5 %, by the first steady iteration as published:\n");
    print!("{:<44}{:>8}{:>9}{:>9}", "rule", "never", "discards", "median");
    GROUPS.iter().for_each(|(name, _)| print!("{name:>12}"));
    println!();
    for (name, rule) in RULES {
        report(name, *rule, &processes);
    }
}

fn report(name: &str, rule: Rule, processes: &[(i64, &[f64])]) {
    let judged: Vec<(i64, Option<usize>, f64)> = processes
        .iter()
        .map(|&(start, series)| {
            let from = rule(series);
            let after = from.map_or(&[][..], |from| &series[from..(from + 100).min(series.len())]);
            let bias = if after.is_empty() {
                f64::NAN
            } else {
                (median(after) / median(&series[series.len() - 500..]) - 1.0).abs()
            };
            (start, from, bias)
        })
        .collect();
    let settled: Vec<_> = judged.iter().filter(|(_, _, bias)| bias.is_finite()).collect();
    let discards: Vec<f64> = settled.iter().filter_map(|(_, from, _)| Some((*from)? as f64)).collect();
    let biases: Vec<f64> = settled.iter().map(|(_, _, bias)| *bias).collect();
    let never = judged.len() - settled.len();
    print!("{name:<44}{never:>8}{:>9.0}{:>8.1}%", median(&discards), 100.0 * median(&biases));
    for (_, range) in &GROUPS {
        let of_group: Vec<_> = settled.iter().filter(|(start, ..)| range.contains(start)).collect();
        let bad = of_group.iter().filter(|(_, _, bias)| *bias > 0.05).count();
        print!("{:>12}", format!("{bad} of {}", of_group.len()));
    }
    println!();
}

/// Values that have been seen when the rule says settled; each is a window of its own, and no check comes before `least`.
fn settled(series: &[f64], least: usize) -> Option<usize> {
    let mut detector = Detector::new(0.01);
    (0..series.len()).find(|&place| detector.push(series[place], place + 1 >= least)).map(|place| place + 1)
}

/// The median of some numbers; NaN of none.
fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}
