//! One row for each pair of cases: its values, and the test that will judge it.

use serde::Serialize;

use super::comparable::{Both, failures, is_unsupported, obstacle};
use super::inputs::{CaseRuns, Input, Inputs};
use super::pairs::Pair;
use super::sides::{Sides, observed, plain};
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
    /// Standard error of the log of the ratio.
    pub se: f64,
    /// t statistic.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// p-value, adjusted over the gating rows of the track: by Holm, unless asked otherwise.
    pub p_adjusted: f64,
    /// Its interval at level 1 − alpha by the two-level bootstrap, which must lie beyond the margin too; only where the
    /// t test says regressed or improved.
    pub bootstrap_interval: Option<Interval>,
    /// Repeats a side (blocks, if paired) that would decide an inconclusive row.
    pub repeats_to_decide: Option<u64>,
}

/// A row before all tests are known.
pub(super) struct Draft<'a> {
    /// The row; its verdict stands only where there is no test.
    pub row: Row,
    /// Its test, upright: above 1 is slower.
    pub test: Option<LogRatio>,
    /// What the test rests on.
    pub sides: Option<Sides<'a>>,
}

/// The row of a pair; none where neither side supports the case.
pub(super) fn draft<'a>(pair: &Pair, inputs: &'a Inputs<'a>, settings: &Settings) -> Option<Draft<'a>> {
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

fn compared<'a>(both: &Both<'a>, inputs: &Inputs<'a>, settings: &Settings) -> Draft<'a> {
    let mut row = both_sides(both, settings);
    if let Some(why) = obstacle(both, inputs, &settings.across) {
        return untested(row, Verdict::NotComparable, why);
    }
    let metric = row.metric;
    let values = |side: &str, runs: &CaseRuns<'a>| observed(metric, runs).map_err(|why| format!("{side}: {why}"));
    let (base, new) = match (values("base", &both.base), values("new", &both.new)) {
        (Ok(base), Ok(new)) => (base, new),
        (Err(why), _) | (_, Err(why)) => return untested(row, Verdict::NotComparable, why),
    };
    for (side, runs) in [("base", &both.base), ("new", &both.new)] {
        row.notes.extend(failures(runs).map(|what| format!("{side}: {what}")));
    }
    let sides = Sides::new(metric, inputs.paired, base, new);
    let test = sides.test();
    if sides.alone > 0 {
        row.notes.push(format!("left out without a partner in their block: {}", sides.alone));
    }
    if test.is_none() {
        row.notes.push("no spread known: measure with --repeats 6 or more".to_owned());
    }
    Draft { row, test, sides: Some(sides) }
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
fn missing<'a>(here: &Input, case: usize, there: &Input, settings: &Settings) -> Draft<'a> {
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

fn untested<'a>(mut row: Row, verdict: Verdict, why: String) -> Draft<'a> {
    row.verdict = verdict;
    row.notes.push(why);
    Draft { row, test: None, sides: None }
}

fn side(metric: Metric, runs: &CaseRuns) -> Side {
    let summary = observed(metric, runs).ok().and_then(|values| stats::summarize(&plain(&values)));
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
