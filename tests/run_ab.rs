//! A/B through the whole chain: two fake builds in one plan, real processes, `pcb-compare`'s verdict.
//!
//! The worker spins for a known time, so the true ratio is known. The short test runs always; the one that gives rates
//! takes minutes: `cargo test --release --test run_ab -- --ignored --nocapture`.

mod support;

use std::collections::BTreeMap;
use std::process::Command;

use support::{Bench, stderr};

/// What `pcb-compare` said of the measured case.
struct Said {
    verdict: String,
    low: f64,
    high: f64,
    code: Option<i32>,
}

/// One plan of 10 warm blocks, judged by their medians, which a busy machine leaves alone: base spins 50 µs, new (1 + `delta`) times that, both with 1 % noise from run to run.
fn try_once(delta: f64, seed: u64) -> Said {
    let bench = Bench::new("ok");
    bench.config(10, "'warm'");
    let base = bench.workers("base", &format!("spin 50000 0.01 {seed}"));
    let new = bench.workers("new", &format!("spin {} 0.01 {}", 50_000.0 * (1.0 + delta), seed + 1_000_003));
    let workers = [format!("base={}", base.display()), format!("new={}", new.display())];
    let seed = seed.to_string();
    let (output, file) = bench.run(&["--worker", &workers[0], "--worker", &workers[1], "--seed", &seed]);
    assert!(file.is_some(), "{}", stderr(&output));
    let mut compare = Command::new(env!("CARGO_BIN_EXE_pcb-compare"));
    let output = compare.arg(bench.path("out.json")).args(["--format", "json", "--all"]).output().expect("runs");
    let json: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    let rows = json["comparison"]["rows"].as_array().expect("rows");
    let row = rows
        .iter()
        .find(|row| row["base_case"].as_str().is_some_and(|case| case.starts_with("getitem")))
        .expect("the case");
    Said {
        verdict: row["verdict"].as_str().expect("a verdict").to_owned(),
        low: row["change"]["interval"]["low"].as_f64().expect("an interval"),
        high: row["change"]["interval"]["high"].as_f64().expect("an interval"),
        code: output.status.code(),
    }
}

#[test]
fn a_slowdown_of_a_fifth_is_found_and_sets_the_exit_code() {
    let said = try_once(0.20, 1);
    assert_eq!((said.verdict.as_str(), said.code), ("regressed", Some(3)), "[{}, {}]", said.low, said.high);
    assert!(said.low > 1.1 && said.high < 1.3, "[{}, {}]", said.low, said.high);
}

#[test]
fn the_same_build_twice_is_no_regression() {
    let said = try_once(0.0, 2);
    assert!(!matches!(said.verdict.as_str(), "regressed" | "improved"), "{}", said.verdict);
    assert_eq!(said.code, Some(0));
}

#[test]
#[ignore = "takes minutes; prints rates"]
fn rates_over_fifty_tries() {
    const TRIES: u64 = 50;
    for delta in [0.0, 0.05, 0.10, 0.20] {
        let (mut verdicts, mut inside) = (BTreeMap::new(), 0);
        for seed in 0..TRIES {
            let said = try_once(delta, seed);
            *verdicts.entry(said.verdict).or_insert(0) += 1;
            inside += u64::from(said.low <= 1.0 + delta && 1.0 + delta <= said.high);
        }
        let share = pcb::stats::wilson(inside, TRIES, 0.95);
        println!(
            "{:+.0} %: true size inside the interval in {inside} of {TRIES} ({share:?}); verdicts {verdicts:?}",
            delta * 100.0
        );
        assert!(inside * 10 >= TRIES * 9, "the interval must hold the truth in 90 % of tries");
    }
}
