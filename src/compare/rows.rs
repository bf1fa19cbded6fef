//! One row for each pair of cases: its values, and the test that will judge it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::comparable::{Both, failures, is_unsupported, obstacle};
use super::inputs::{CaseRuns, Input, Inputs};
use super::pairs::Pair;
use super::{Metric, Settings, Verdict};
use crate::case::{Case, Track};
use crate::results::Header;
use crate::stats::{self, Interval, LogRatio, Summary};

/// A case, compared.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What the comparison says.
    pub verdict: Verdict,
    /// The base side's case.
    pub base_case: Option<Case>,
    /// The new side's case; another one only where keys were left out of the match.
    pub new_case: Option<Case>,
    /// What was compared.
    pub metric: Metric,
    /// The base side.
    pub base: Option<Side>,
    /// The new side.
    pub new: Option<Side>,
    /// How they differ; null where they were not compared.
    pub change: Option<Change>,
    /// Whether the row counts: the harness's own overhead is shown, but never fails a comparison.
    pub gates: bool,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// One side of a row.
#[derive(Debug, Clone, Serialize)]
pub struct Side {
    /// All runs, the failed ones too.
    pub runs: usize,
    /// Runs that are ok.
    pub ok: usize,
    /// Their values, in ns or samples per second; null where a run lacks the metric.
    pub summary: Option<Summary>,
}

/// How the new side differs from the base. A ratio above 1 is slower, whatever the metric.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Change {
    /// Ratio of the geometric means of the runs.
    pub ratio: f64,
    /// Its interval at level 1 − alpha.
    pub interval: Interval,
    /// Its interval at level 1 − 2·alpha, which tells `unchanged`.
    pub equivalence_interval: Interval,
    /// t statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// p-value, adjusted by Holm over the gating rows of the track.
    pub p_adjusted: f64,
    /// Repeats a side (blocks, if paired) that would decide an inconclusive row.
    pub repeats_to_decide: Option<u64>,
}

/// A row before all tests are known.
pub(super) struct Draft {
    /// The row; its verdict stands only where there is no test.
    pub row: Row,
    /// Its test.
    pub test: Option<Test>,
}

/// The test of a row.
#[derive(Clone, Copy)]
pub(super) struct Test {
    /// Its outcome.
    pub ratio: LogRatio,
    /// How many repeats it had, and on how many sides.
    pub repeats: Repeats,
}

/// Repeats that a test rests on.
#[derive(Clone, Copy)]
pub(super) enum Repeats {
    /// Independent runs of base and new.
    Sides(usize, usize),
    /// Blocks with a run of each.
    Blocks(usize),
}

/// The row of a pair; none where neither side supports the case.
pub(super) fn draft(pair: &Pair, inputs: &Inputs, settings: &Settings) -> Option<Draft> {
    match *pair {
        Pair::BaseOnly(base) => Some(missing(&inputs.base, base, &inputs.new, settings)),
        Pair::NewOnly(new) => Some(missing(&inputs.new, new, &inputs.base, settings)),
        Pair::States(base, new) => {
            let both = Both { base: inputs.base.runs(base), new: inputs.new.runs(new) };
            let why = format!("base is {}, new is {}", both.base.case.state, both.new.case.state);
            Some(untested(both_sides(&both, settings), Verdict::NotComparable, why))
        }
        Pair::Both(base, new) => {
            let both = Both { base: inputs.base.runs(base), new: inputs.new.runs(new) };
            let none = is_unsupported(&both.base) && is_unsupported(&both.new);
            if none { None } else { Some(compared(&both, inputs, settings)) }
        }
    }
}

fn compared(both: &Both, inputs: &Inputs, settings: &Settings) -> Draft {
    let mut row = both_sides(both, settings);
    if let Some(why) = obstacle(both, inputs, &settings.across) {
        return untested(row, Verdict::NotComparable, why);
    }
    let metric = row.metric;
    let values = |side: &str, runs: &CaseRuns| values(metric, runs).map_err(|why| format!("{side}: {why}"));
    let (base, new) = match (values("base", &both.base), values("new", &both.new)) {
        (Ok(base), Ok(new)) => (base, new),
        (Err(why), _) | (_, Err(why)) => return untested(row, Verdict::NotComparable, why),
    };
    for (side, runs) in [("base", &both.base), ("new", &both.new)] {
        row.notes.extend(failures(runs).map(|what| format!("{side}: {what}")));
    }
    let (test, unpaired) = if inputs.paired { paired(&base, &new) } else { (unpaired(&base, &new), 0) };
    if unpaired > 0 {
        row.notes.push(format!("left out without a partner in their block: {unpaired}"));
    }
    if test.is_none() {
        row.notes.push("no spread known: measure with --repeats 6 or more".to_owned());
    }
    // A rate is inverted here, once, so that everything after it reads above 1 as slower.
    let upright =
        |test: Test| Test { ratio: if metric.higher_is_better() { test.ratio.inverse() } else { test.ratio }, ..test };
    Draft { row, test: test.map(upright) }
}

/// The metric of each run that is ok, with its block.
fn values(metric: Metric, runs: &CaseRuns) -> Result<Vec<(u32, f64)>, String> {
    let values: Vec<_> = runs.ok.iter().filter_map(|run| Some((run.block, metric.of(runs.case, run)?))).collect();
    match runs.ok.len() - values.len() {
        0 => Ok(values),
        // The rest alone would be a selection.
        lacking => Err(format!("{lacking} of {} runs have no {metric}{}", runs.ok.len(), hint(metric))),
    }
}

fn hint(metric: Metric) -> &'static str {
    match metric {
        Metric::Pass => " (cut short by its time cap? compare --metric rate)",
        Metric::P95 | Metric::P99 => " (too few samples)",
        _ => "",
    }
}

fn unpaired(base: &[(u32, f64)], new: &[(u32, f64)]) -> Option<Test> {
    let plain = |side: &[(u32, f64)]| side.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    let ratio = stats::welch_log(&plain(base), &plain(new))?;
    Some(Test { ratio, repeats: Repeats::Sides(base.len(), new.len()) })
}

/// The paired test, and how many runs have no partner.
fn paired(base: &[(u32, f64)], new: &[(u32, f64)]) -> (Option<Test>, usize) {
    let new_by_block: BTreeMap<u32, f64> = new.iter().copied().collect();
    let base_by_block: BTreeMap<u32, f64> = base.iter().copied().collect();
    let (mut bases, mut news) = (Vec::new(), Vec::new());
    for (block, base) in &base_by_block {
        if let Some(new) = new_by_block.get(block) {
            bases.push(*base);
            news.push(*new);
        }
    }
    let alone = base.len() + new.len() - 2 * bases.len();
    let test = |ratio| Test { ratio, repeats: Repeats::Blocks(bases.len()) };
    (stats::paired_log(&bases, &news).map(test), alone)
}

fn both_sides(both: &Both, settings: &Settings) -> Row {
    let case = both.base.case;
    let metric = metric(case, settings);
    Row {
        verdict: Verdict::Inconclusive,
        base_case: Some(case.clone()),
        new_case: Some(both.new.case.clone()),
        metric,
        base: Some(side(metric, &both.base)),
        new: Some(side(metric, &both.new)),
        change: None,
        gates: gates(case),
        notes: Vec::new(),
    }
}

/// The row of a case that only `here` measured.
fn missing(here: &Input, case: usize, there: &Input, settings: &Settings) -> Draft {
    let runs = here.runs(case);
    let metric = metric(runs.case, settings);
    let why = format!("not in {}{}", there.name, reason(&there.file.header, runs.case));
    let (case, side) = (Some(runs.case.clone()), Some(side(metric, &runs)));
    let is_base = here.is_base;
    let row = Row {
        verdict: Verdict::Missing,
        base_case: if is_base { case.clone() } else { None },
        new_case: if is_base { None } else { case },
        metric,
        base: if is_base { side.clone() } else { None },
        new: if is_base { None } else { side },
        change: None,
        gates: gates(runs.case),
        notes: Vec::new(),
    };
    untested(row, Verdict::Missing, why)
}

/// Why a plan left a case out, if it says so.
fn reason(header: &Header, case: &Case) -> String {
    let pruned = header.pruned.iter().find(|pruned| pruned.case == *case);
    pruned.map_or(String::new(), |pruned| format!(", left out: {}", pruned.reason))
}

fn untested(mut row: Row, verdict: Verdict, why: String) -> Draft {
    row.verdict = verdict;
    row.notes.push(why);
    Draft { row, test: None }
}

fn side(metric: Metric, runs: &CaseRuns) -> Side {
    let plain = |values: Vec<(u32, f64)>| values.into_iter().map(|(_, value)| value).collect::<Vec<_>>();
    let summary = values(metric, runs).ok().and_then(|values| stats::summarize(&plain(values)));
    Side { runs: runs.all.len(), ok: runs.ok.len(), summary }
}

/// The metric asked for; the harness's overhead has only its own.
fn metric(case: &Case, settings: &Settings) -> Metric {
    settings.metric.filter(|_| gates(case)).unwrap_or_else(|| Metric::primary(case))
}

fn gates(case: &Case) -> bool {
    case.track != Track::Null
}

impl Row {
    /// The case that the row is about: the base side's, if it has one.
    pub fn case(&self) -> Option<&Case> {
        self.base_case.as_ref().or(self.new_case.as_ref())
    }
}
