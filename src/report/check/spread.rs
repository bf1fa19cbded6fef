//! Whether the runs of a case agree, and are enough.

use super::{Level, Looked, name, some};
use crate::case::Track;
use crate::results::Run;
use crate::stats::{holm, runs_for_half_width, slope};

type Found = Vec<(Level, String, &'static str)>;

/// Spread of the logs of the runs above which a case is called unstable: half as much again as the third quartile of 586
/// real benchmarks (3.8 %).
const UNSTABLE: f64 = 0.057;

/// Half width of the interval that the advice on repeats is about.
const WANTED: f64 = 0.02;

/// Enough runs of each case.
pub fn repeats(looked: &Looked) -> Found {
    let counts = || looked.cases.iter().filter(|summary| summary.ok > 0).map(|summary| summary.ok);
    match counts().min() {
        Some(1) => vec![(
            Level::Problem,
            "a case has one run: nothing is known of its spread".to_owned(),
            "use --repeats 6 or more",
        )],
        Some(n @ 2..6) => {
            let what = format!("a case has {n} runs: no interval without assumptions exists under 6");
            vec![(Level::Warning, what, "use --repeats 6, or 10 to judge changes")]
        }
        Some(n @ 6..10) => {
            let what =
                format!("a case has {n} runs: a change must be about as large as its spread doubled to be found");
            vec![(Level::Note, what, "use --repeats 10 for a gate")]
        }
        _ => Vec::new(),
    }
}

/// Runs of a case agree.
pub fn stable(looked: &Looked) -> Found {
    let cases = headlines(looked);
    let spread = |(name, runs): &(String, Vec<(&Run, f64)>)| {
        let logs: Vec<f64> = runs.iter().map(|(_, log)| *log).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let spread = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let needed = runs_for_half_width(&logs, WANTED.ln_1p());
        let needed = needed.map_or(String::new(), |n| format!(", about {n} runs would know it to 2 %"));
        (spread, format!("{name} ({:.1} %{needed})", spread * 100.0))
    };
    let mut wild: Vec<(f64, String)> = cases.iter().map(spread).filter(|(spread, _)| *spread > UNSTABLE).collect();
    wild.sort_by(|a, b| b.0.total_cmp(&a.0));
    if wild.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = wild.into_iter().map(|(_, name)| name).collect();
    let what = format!(
        "runs of {} of {} cases differ by more than {:.1} % (standard deviation): {}",
        names.len(),
        cases.len(),
        UNSTABLE * 100.0,
        some(&names)
    );
    vec![(Level::Warning, what, "use --precision 2%, or quiet the machine")]
}

/// Neither block nor position in it matters: slopes of the logs, adjusted by Holm over the cases.
pub fn order(looked: &Looked) -> Found {
    let cases = headlines(looked);
    let mut found = Vec::new();
    let of_blocks = cases.iter().map(|(_, runs)| {
        let x: Vec<f64> = runs.iter().map(|(run, _)| f64::from(run.block)).collect();
        slope(&x, &runs.iter().map(|(_, log)| *log).collect::<Vec<_>>())
    });
    let slopes: Vec<_> = of_blocks.collect();
    let p: Vec<f64> = slopes.iter().map(|slope| slope.map_or(1.0, |slope| slope.p)).collect();
    let drifting: Vec<String> = cases
        .iter()
        .zip(&slopes)
        .zip(holm(&p))
        .filter(|(_, p)| *p < 0.05)
        .filter_map(|(((name, _), slope), _)| {
            Some(format!("{name} ({:+.1} % a block)", slope.as_ref()?.slope.exp_m1() * 100.0))
        })
        .collect();
    if !drifting.is_empty() {
        let advice =
            "the machine changed meanwhile (heat, other load): compare builds inside one plan, where blocks pair up";
        found.push((Level::Warning, format!("drift from block to block: {}", some(&drifting)), advice));
    }
    // All cases together, each around its own mean: does it matter where in its block a run stands?
    let around: Vec<(f64, f64)> = cases
        .iter()
        .flat_map(|(_, runs)| {
            let mean = runs.iter().map(|(_, log)| log).sum::<f64>() / runs.len() as f64;
            runs.iter().map(move |(run, log)| (f64::from(run.position), log - mean))
        })
        .collect();
    let (x, y): (Vec<f64>, Vec<f64>) = around.into_iter().unzip();
    if let Some(slope) = slope(&x, &y).filter(|slope| slope.p < 0.01) {
        let reach = slope.slope * x.iter().copied().fold(0.0, f64::max);
        let what = format!("runs late in a block differ by {:+.1} % from those at its start", reach.exp_m1() * 100.0);
        found.push((Level::Note, what, "the order is drawn anew in each block, so that no case is favoured"));
    }
    found
}

/// Name and (run, log of its headline) of each case with three runs or more, but of the harness's own overhead.
fn headlines<'a>(looked: &Looked<'a>) -> Vec<(String, Vec<(&'a Run, f64)>)> {
    let of = |summary: &super::CaseSummary<'a>| {
        let runs = looked.file.runs.iter().filter(|run| run.case == *summary.case && run.build == summary.build);
        (name(summary), runs.filter_map(|run| Some((run, run.headline()?.ln()))).collect::<Vec<_>>())
    };
    let cases = looked.cases.iter().filter(|summary| summary.case.track != Track::Null);
    cases.map(of).filter(|(_, runs)| runs.len() > 2).collect()
}
