//! Judges a night against the nights before it. Pure: a [`History`] in, a [`Report`] out.
//!
//! A case is *suspect* where tonight lies above the one-sided 99 % prediction bound of its last 30 nights, and by more than
//! the margin above their mean. It is *red* only if a second measurement, of the last good build interleaved with the new
//! one, finds it slower again: two of two.

mod history;
pub mod json;
pub mod junit;
mod rule;
pub mod text;
mod verdict;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::case::Case;
use crate::compare::{Comparison, Metric};
use crate::stats::{Hunt, hunt};

pub use history::{CaseNight, Event, Fingerprint, History, Kind, Night, NightError};
pub use rule::{Confirmation, judge_case};
pub use verdict::{GATE_VERDICTS, GateVerdict};

/// Nights of a case before which nothing is judged.
pub const LEAST_NIGHTS: usize = 10;

/// Nights that the bound rests on, at most.
pub const NIGHTS: usize = 30;

/// Nights whose mean is compared with the pinned one.
pub const RECENT: usize = 5;

/// One-sided level at which the last nights differ from the pinned ones.
pub const CREEP_LEVEL: f64 = 0.9999;

/// Nights that a new level must have lasted for to be shown.
const LEAST_LEVEL: usize = 3;

/// One-sided level of the prediction bound.
pub const LEVEL: f64 = 0.99;

/// How to judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Least effect that counts, as a share.
    pub margin: f64,
    /// Level of the test of a confirmation.
    pub alpha: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin: crate::compare::DEFAULT_MARGIN, alpha: crate::compare::DEFAULT_ALPHA }
    }
}

/// What is said of one case tonight.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What the gate says.
    pub verdict: GateVerdict,
    /// The case.
    pub case: Case,
    /// What is compared.
    pub metric: Metric,
    /// Nights that the bound rests on.
    pub nights: usize,
    /// Tonight's value: geometric mean over its runs, in ns or samples/s; null where there is none.
    pub tonight: Option<f64>,
    /// Geometric mean over the nights before.
    pub usual: Option<f64>,
    /// Tonight over usual; above 1 is slower, whatever the metric.
    pub ratio: Option<f64>,
    /// The ratio that one of a hundred unchanged nights passes.
    pub bound: Option<f64>,
    /// What the second measurement found.
    pub confirmation: Option<Confirmation>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Where the level of a case changed in the past. For the eye only: no rate of false alarms is known for these.
#[derive(Debug, Clone, Serialize)]
pub struct PastShift {
    /// The case.
    pub case: Case,
    /// First night of the new level.
    pub night: String,
    /// New level over the one before; above 1 is slower.
    pub ratio: f64,
}

/// What came out.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Name of the night that was judged.
    pub night: String,
    /// Nights before it that are in the folder.
    pub nights: usize,
    /// What differs from the night before, where that makes tonight the first of its kind.
    pub new_segment: Vec<String>,
    /// Least effect that counts, as a share.
    pub margin: f64,
    /// A row for each case; the worst first.
    pub rows: Vec<Row>,
    /// Change points of the past, for the eye only.
    pub shifts: Vec<PastShift>,
}

/// Judges `tonight` against a history, which may hold it already; `confirmation` compares the last good build with the new
/// one in interleaved blocks.
pub fn judge(history: &History, tonight: &Night, confirmation: Option<&Comparison>, settings: &Settings) -> Report {
    let before = history.before(tonight);
    let confirmed = confirmation.map(confirmations).unwrap_or_default();
    let mut rows: Vec<Row> = Vec::new();
    for (id, case) in &tonight.cases {
        let past = history.segment(id, tonight);
        let pinned = history.pinned(id, tonight);
        rows.push(judge_case(case, &past, pinned.as_deref(), confirmed.get(id).copied(), settings));
    }
    // What a night of this kind had, and tonight has not: the plan is the same, so nobody took it out.
    let mut gone: BTreeMap<&String, (&CaseNight, &str)> = BTreeMap::new();
    for night in before.iter().filter(|night| night.fingerprint == tonight.fingerprint) {
        let missing = night.cases.iter().filter(|(id, _)| !tonight.cases.contains_key(*id));
        gone.extend(missing.map(|(id, case)| (id, (case, night.name.as_str()))));
    }
    rows.extend(gone.into_values().map(|(case, night)| rule::missing(case, night)));
    rows.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
    let new_segment = before.last().map_or(Vec::new(), |last| last.fingerprint.differences(&tonight.fingerprint));
    Report {
        night: tonight.name.clone(),
        nights: before.len(),
        new_segment,
        margin: settings.margin,
        rows,
        shifts: shifts(history, tonight, settings),
    }
}

fn order(row: &Row) -> (usize, f64) {
    (row.verdict.place(), row.ratio.map_or(0.0, |ratio| -ratio.ln().abs()))
}

/// What a comparison of two interleaved builds says of each case.
fn confirmations(comparison: &Comparison) -> BTreeMap<String, Confirmation> {
    let of = |row: &crate::compare::Row| {
        let change = row.change?;
        let confirmation = Confirmation { ratio: change.ratio, interval: change.interval, p: change.p_adjusted };
        Some((row.case()?.to_string(), confirmation))
    };
    comparison.rows.iter().filter_map(of).collect()
}

/// Change points of each case over all nights of tonight's kind, larger than the margin.
fn shifts(history: &History, tonight: &Night, settings: &Settings) -> Vec<PastShift> {
    let nights: Vec<&Night> = history.before(tonight).into_iter().chain([tonight]).collect();
    let alike: Vec<&Night> = nights.into_iter().filter(|night| night.fingerprint == tonight.fingerprint).collect();
    let mut found = Vec::new();
    for (id, case) in &tonight.cases {
        let series = alike.iter().filter_map(|night| Some((night, night.cases.get(id)?.mean_log()?.exp())));
        let (names, values): (Vec<&&Night>, Vec<f64>) = series.unzip();
        let found_there = hunt(&values, Hunt { magnitude: settings.margin, ..Hunt::default() });
        // A level of the last nights alone is what the rule above is for.
        for shift in found_there.into_iter().filter(|shift| shift.index + LEAST_LEVEL <= values.len()) {
            let (night, ratio) = (names[shift.index].name.clone(), shift.after / shift.before);
            found.push(PastShift { case: case.case.clone(), night, ratio });
        }
    }
    found
}

impl Report {
    /// How many rows have each verdict, in the order of [`GATE_VERDICTS`], without those that none has.
    pub fn counts(&self) -> Vec<(GateVerdict, usize)> {
        let count = |verdict| self.rows.iter().filter(|row| row.verdict == verdict).count();
        GATE_VERDICTS.iter().map(|row| (row.verdict, count(row.verdict))).filter(|(_, count)| *count > 0).collect()
    }

    /// Ids of the rows with a verdict.
    pub fn with(&self, verdict: GateVerdict) -> Vec<String> {
        self.rows.iter().filter(|row| row.verdict == verdict).map(|row| row.case.to_string()).collect()
    }
}
