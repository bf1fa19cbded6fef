//! The same build twice: how often a comparison cries wolf here, and what it could find.

use std::collections::BTreeMap;

use super::{Comparison, Row, VERDICTS, Verdict};
use crate::stats::{detectable, quantile, wilson};
use crate::units;

/// The lines that `pcb-run --aa` prints: false alarms, shares of the verdicts, and for each case how far the two sides were
/// apart and which change would most likely be found.
pub fn lines(comparison: &Comparison) -> Vec<String> {
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.gates && row.change.is_some()).collect();
    let alarms = rows.iter().filter(|row| matches!(row.verdict, Verdict::Regressed | Verdict::Improved)).count();
    let share = |count: usize| units::share(count as f64 / rows.len().max(1) as f64);
    let interval = wilson(alarms as u64, rows.len() as u64, 0.95).map_or("not known".to_owned(), |interval| {
        format!("95 % interval {} to {}", units::share(interval.low), units::share(interval.high))
    });
    let verdicts = VERDICTS.iter().filter_map(|known| {
        let count = rows.iter().filter(|row| row.verdict == known.verdict).count();
        (count > 0).then(|| format!("{} {}", share(count), known.word))
    });
    let apart: Vec<f64> = differences(comparison).values().map(|log| log.abs()).collect();
    let at = |q| quantile(&apart, q).map_or("-".to_owned(), |log| units::share(log.exp_m1()));
    let mut lines = vec![
        format!("the same build twice: {alarms} false alarms in {} cases ({interval})", rows.len()),
        format!("verdicts: {}", verdicts.collect::<Vec<_>>().join(", ")),
        format!("the two sides differ by {} in half of the cases, by {} in 95 % of them", at(0.5), at(0.95)),
        "difference and detectable change (80 % power, if all cases are judged together) of each case:".to_owned(),
    ];
    let rest = comparison.rows.iter().filter(|row| row.gates).count() - rows.len();
    if rest > 0 {
        lines.insert(1, format!("{rest} more cases could not be compared: pcb-compare on this file says why"));
    }
    lines.extend(rows.iter().map(|row| line(row, comparison.alpha, rows.len())));
    lines
}

fn line(row: &Row, alpha: f64, tests: usize) -> String {
    let case = row.case().map_or(String::new(), ToString::to_string);
    let Some(change) = row.change else { return format!("  {case}") };
    let log = change.ratio.ln();
    let found =
        detectable(change.se, change.df, alpha / tests as f64).map_or("-".to_owned(), |log| units::share(log.exp_m1()));
    format!("  {:>7}  {found:>7}  {case}", format!("{:+.1} %", log.exp_m1() * 100.0))
}

/// The log ratio of each gating case: what a noise floor is made of.
pub fn differences(comparison: &Comparison) -> BTreeMap<String, f64> {
    let of = |row: &Row| Some((row.case()?.to_string(), row.change?.ratio.ln()));
    comparison.rows.iter().filter(|row| row.gates).filter_map(of).collect()
}
