//! The class that pcb gives the course of a process against the published one: 200 processes of 20 real benchmarks,
//! 3,000 iterations each (Traini et al. 2022). `cargo run --release --example warmup_classes`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use pcb::stats::{Class, classify};
use serde::Deserialize;

#[derive(Deserialize)]
struct Benchmark {
    seconds: Vec<Vec<f64>>,
    class: Published,
}

#[derive(Deserialize)]
struct Published {
    forks: Vec<String>,
    steady_state_starts: Vec<i64>,
}

/// The published classes, by whether and where a steady state begins.
const ROWS: [&str; 5] = ["steady from 0", "steady from 1-50", "steady from 51-500", "steady from 501-", "never steady"];

const COLUMNS: [Class; 4] = [Class::Flat, Class::Warmup, Class::Slowdown, Class::Unsteady];

fn main() -> anyhow::Result<()> {
    let Some(folder) = std::env::var_os("PCB_TEST_DATA") else {
        println!("skipped: PCB_TEST_DATA is not set");
        return Ok(());
    };
    let path = Path::new(&folder).join("stats/steady-state.json");
    let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let benchmarks: Vec<Benchmark> = serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
    for tolerance in [0.01, 0.05] {
        confusion(&benchmarks, tolerance);
    }
    Ok(())
}

fn confusion(benchmarks: &[Benchmark], tolerance: f64) {
    let mut counts: BTreeMap<(usize, Class), usize> = BTreeMap::new();
    let mut apart = Vec::new();
    for benchmark in benchmarks {
        let Published { forks, steady_state_starts } = &benchmark.class;
        for ((series, fork), &start) in benchmark.seconds.iter().zip(forks).zip(steady_state_starts) {
            let published = match (fork == "steady state", start) {
                (false, _) => 4,
                (true, ..=0) => 0,
                (true, ..=50) => 1,
                (true, ..=500) => 2,
                (true, _) => 3,
            };
            let course = classify(series, tolerance);
            *counts.entry((published, course.as_ref().map_or(Class::Unclear, |c| c.class))).or_default() += 1;
            if let Some(from) = course.and_then(|course| course.steady_from).filter(|_| published < 4) {
                apart.push((from as i64 - start).abs());
            }
        }
    }
    println!("levels within {:.0} % count as one (theirs: 5 %); rows: published, columns: ours", tolerance * 100.0);
    println!("{:<20}{}", "", COLUMNS.map(|class| format!("{:>10}", class.word())).concat());
    let count = |row: usize, class: Class| counts.get(&(row, class)).copied().unwrap_or(0);
    for (row, name) in ROWS.iter().enumerate() {
        println!("{name:<20}{}", COLUMNS.map(|class| format!("{:>10}", count(row, class))).concat());
    }
    let settles = |row: usize| COLUMNS[..3].iter().map(|&class| count(row, class)).sum::<usize>();
    let (ours, theirs) = (
        (0..4).map(settles).sum::<usize>(),
        (0..4).map(|row| settles(row) + count(row, Class::Unsteady)).sum::<usize>(),
    );
    println!(
        "steady in both: {ours} of {theirs}; never steady in both: {} of {}",
        count(4, Class::Unsteady),
        settles(4) + count(4, Class::Unsteady)
    );
    apart.sort_unstable();
    let within = apart.iter().filter(|&&apart| apart <= 50).count();
    println!("first steady iteration within 50 of the published one: {within} of {}\n", apart.len());
}
