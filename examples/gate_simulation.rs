//! How often the gate is red, by its own code, on nights that are made up: `cargo run --release --example gate_simulation`.
//!
//! A night has 20 cases of six runs. Its level moves with a standard deviation of 2 % from night to night (one case from
//! another independent), runs around it with 1 %. Three kinds of nights: normal; with spikes (one night in twenty is 10 %
//! slower as a whole case); and with memory (AR(1), 0.5). A suspect is measured again in ten blocks: what moves nights moves
//! both builds there, and only the noise of the runs is left.

use std::collections::BTreeMap;

use pcb::gate::{CaseNight, Confirmation, Event, Fingerprint, GateVerdict, History, Kind, Night, Settings, judge_case};
use pcb::stats::{paired_log, wilson};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const CASES: usize = 20;
const RUNS: usize = 6;
const BLOCKS: usize = 10;
const NIGHT: f64 = 0.02;
const RUN: f64 = 0.01;

/// Nights of one history, and histories of one line of the table.
const NIGHTS: usize = 100;
const HISTORIES: usize = 60;

/// How nights move.
#[derive(Clone, Copy)]
enum Noise {
    Normal,
    Spikes,
    Memory,
}

fn main() {
    println!("unchanged builds, {HISTORIES} histories of {CASES} cases and {NIGHTS} nights, the first ten warming up");
    println!("{:<10}{:>12}{:>28}{:>28}{:>28}", "nights", "case-nights", "suspect", "red", "creep (pinned: night 30)");
    for (name, noise) in [("normal", Noise::Normal), ("spikes", Noise::Spikes), ("memory", Noise::Memory)] {
        let mut tally = Tally::default();
        for seed in 0..HISTORIES {
            simulate(noise, seed as u64, NIGHTS, &|_| 0.0, None, &mut |_, verdict| tally.count(verdict));
        }
        println!(
            "{name:<10}{:>12}{:>28}{:>28}{:>28}",
            tally.judged,
            tally.share(tally.suspect),
            tally.share(tally.red),
            tally.share(tally.creep)
        );
    }
    println!("\na step at night 40: share of cases that are red");
    println!("{:<16}{:>16}{:>24}{:>24}", "nights", "step", "that night", "within three nights");
    for (name, noise) in [("normal", Noise::Normal), ("spikes", Noise::Spikes), ("memory", Noise::Memory)] {
        for step in [0.05, 0.10] {
            detected(name, noise, step);
        }
    }
    println!("\nfollowed over 40 nights after night 40 (normal nights)");
    followed("+10 %, accepted that night", 0.10, Some(Kind::Accepted));
    followed("-10 %, found by the gate", -0.10, None);
}

#[derive(Default)]
struct Tally {
    judged: u64,
    suspect: u64,
    red: u64,
    creep: u64,
}

impl Tally {
    fn count(&mut self, verdict: GateVerdict) {
        self.judged += u64::from(verdict != GateVerdict::WarmingUp);
        self.suspect += u64::from(matches!(verdict, GateVerdict::Red | GateVerdict::Cleared));
        self.red += u64::from(verdict == GateVerdict::Red);
        self.creep += u64::from(verdict == GateVerdict::Creep);
    }

    /// `1.21 % [1.13, 1.30]`.
    fn share(&self, hits: u64) -> String {
        let interval = wilson(hits, self.judged, 0.95);
        let interval = interval.map_or(String::new(), |i| format!(" [{:.4}, {:.4}]", i.low * 100.0, i.high * 100.0));
        format!("{:.4} %{interval}", 100.0 * hits as f64 / self.judged.max(1) as f64)
    }
}

fn detected(name: &str, noise: Noise, step: f64) {
    let (mut first, mut three, mut cases) = (0, 0, 0);
    for seed in 0..HISTORIES {
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        let level = |night: usize| if night < 40 { 0.0 } else { step.ln_1p() };
        simulate(noise, seed as u64, 43, &level, None, &mut |(case, night), verdict| {
            if night >= 40 && verdict == GateVerdict::Red {
                found.entry(case).or_insert(night);
            }
        });
        cases += CASES;
        first += found.values().filter(|night| **night == 40).count();
        three += found.len();
    }
    let share = |n: usize| format!("{:.1} %", 100.0 * n as f64 / cases as f64);
    println!("{name:<16}{:>16}{:>24}{:>24}", format!("{:+.0} %", step * 100.0), share(first), share(three));
}

/// What the gate says of the 40 nights after a step.
fn followed(name: &str, step: f64, accept: Option<Kind>) {
    let mut counts: BTreeMap<GateVerdict, usize> = BTreeMap::new();
    let mut all = 0;
    for seed in 0..HISTORIES {
        let level = |night: usize| if night < 40 { 0.0 } else { step.ln_1p() };
        simulate(Noise::Normal, seed as u64, 81, &level, accept, &mut |(_, night), verdict| {
            if night > 40 {
                *counts.entry(verdict).or_default() += 1;
                all += 1;
            }
        });
    }
    let counts: Vec<String> =
        counts.iter().map(|(verdict, n)| format!("{:.2} % {verdict}", 100.0 * *n as f64 / all as f64)).collect();
    println!("{name:<28}{}", counts.join(", "));
}

/// One history. `level` is the log of the true time by night; `accept` is decided of all cases at night 40. `tell` hears the
/// verdict of each case and night, after a suspect was measured again.
fn simulate(
    noise: Noise,
    seed: u64,
    nights: usize,
    level: &dyn Fn(usize) -> f64,
    accept: Option<Kind>,
    tell: &mut dyn FnMut((usize, usize), GateVerdict),
) {
    let mut random = StdRng::seed_from_u64(seed);
    let settings = Settings::default();
    let ids: Vec<String> =
        (0..CASES).map(|case| format!("getitem/d/npy:v{case}/site/random/all.8x8.u16/none/native/warm")).collect();
    let mut history = History::default();
    let mut moved = vec![0.0; CASES];
    for night in 0..nights {
        let tonight = night_of(&ids, night, level(night), noise, &mut moved, &mut random);
        for (index, id) in ids.iter().enumerate() {
            let (case, past) = (&tonight.cases[id], history.segment(id, &tonight));
            let pinned = history.pinned(id, &tonight);
            let first = judge_case(case, &past, pinned.as_deref(), None, &settings).verdict;
            let again = matches!(first, GateVerdict::Suspect | GateVerdict::PerhapsImproved);
            // The last good build is the one before the step, unless that was accepted.
            let good = if accept.is_some() && night > 40 { level(night) } else { history_level(level, night) };
            let confirmation = if again { confirm(level(night) - good, &mut random) } else { None };
            let verdict = judge_case(case, &past, pinned.as_deref(), confirmation, &settings).verdict;
            let kind = match verdict {
                GateVerdict::Red => Some(Kind::Bad),
                GateVerdict::Improved => Some(Kind::Improved),
                _ => None,
            };
            for kind in kind.into_iter().chain(accept.filter(|_| night == 40)) {
                let (when, night, cases) = (String::new(), tonight.name.clone(), vec![id.clone()]);
                history.decide(Event { when, night, kind, cases, reason: String::new() });
            }
            tell((index, night), verdict);
        }
        if night == 30 {
            let (when, night) = (String::new(), tonight.name.clone());
            history.decide(Event { when, night, kind: Kind::Pinned, cases: Vec::new(), reason: String::new() });
        }
        history.push(tonight);
    }
}

/// The level of the last good build: for the nights after a slowdown that before it; after an improvement the new one, once
/// it has been found.
fn history_level(level: &dyn Fn(usize) -> f64, night: usize) -> f64 {
    if level(night) < level(0) && night > 40 { level(night) } else { level(0) }
}

fn night_of(ids: &[String], night: usize, level: f64, noise: Noise, moved: &mut [f64], random: &mut StdRng) -> Night {
    let mut cases = BTreeMap::new();
    for (id, moved) in ids.iter().zip(moved) {
        let (fresh, spike) = (normal(random), random.random_bool(0.05));
        let effect = match noise {
            Noise::Normal => NIGHT * fresh,
            Noise::Spikes => NIGHT * fresh + if spike { 0.1 } else { 0.0 },
            Noise::Memory => {
                *moved = 0.5 * *moved + 0.75_f64.sqrt() * fresh;
                NIGHT * *moved
            }
        };
        let logs = (0..RUNS).map(|_| 9.0 + level + effect + RUN * normal(random)).collect();
        let case: pcb::case::Case = id.parse().unwrap_or_else(|e| panic!("{id}: {e}"));
        let metric = pcb::compare::Metric::primary(&case);
        cases.insert(id.clone(), CaseNight { case, metric, logs, runs: RUNS });
    }
    let name = format!("{night:04}");
    Night { name: name.clone(), started: name, fingerprint: Fingerprint::of(BTreeMap::new()), cases }
}

/// The second measurement of a build that is `change` slower, in logs, than the last good one.
fn confirm(change: f64, random: &mut StdRng) -> Option<Confirmation> {
    let side = |change: f64, random: &mut StdRng| -> Vec<f64> {
        (0..BLOCKS).map(|_| (change + RUN * normal(random)).exp()).collect()
    };
    let test = paired_log(&side(0.0, random), &side(change, random))?;
    Some(Confirmation { ratio: test.ratio(), interval: test.interval(0.95)?, p: test.p })
}

/// A standard normal value (Box and Muller).
fn normal(random: &mut StdRng) -> f64 {
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
}
