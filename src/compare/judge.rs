//! From tests to verdicts: adjusts the p-values of each track, decides, and says what would decide the rest.

use std::collections::BTreeMap;

use super::inputs::Inputs;
use super::rows::{Change, Draft, Row};
use super::sides::{Repeats, Sides};
use super::verdict::Evidence;
use super::{Adjust, Settings, Verdict};
use crate::case::Track;
use crate::stats::{Interval, LogRatio, Noise, benjamini_hochberg, holm, repeats_for};

/// Repeats past which a number is of no use to anyone.
const MANY: u64 = 1000;

/// Judges all rows, given by the inputs that they came from, and puts the worst first.
pub(super) fn judge(drafts: Vec<(&Inputs, Vec<Draft>)>, settings: &Settings) -> Vec<Row> {
    let drafts: Vec<(&Inputs, Draft)> =
        drafts.into_iter().flat_map(|(inputs, drafts)| drafts.into_iter().map(move |draft| (inputs, draft))).collect();
    let mut families: BTreeMap<Option<Track>, Vec<usize>> = BTreeMap::new();
    for (index, (_, draft)) in drafts.iter().enumerate() {
        if draft.row.gates && draft.test.is_some() {
            families.entry(draft.row.case().map(|case| case.track)).or_default().push(index);
        }
    }
    // What does not gate is one test by itself.
    let raw = |draft: &Draft| draft.test.map_or(1.0, |test| test.p);
    let mut adjusted: Vec<(f64, usize)> = drafts.iter().map(|(_, draft)| (raw(draft), 1)).collect();
    let adjust = match settings.adjust {
        Adjust::Holm => holm,
        Adjust::Bh => benjamini_hochberg,
    };
    for family in families.values() {
        let p: Vec<f64> = family.iter().map(|&index| raw(&drafts[index].1)).collect();
        for (&index, p) in family.iter().zip(adjust(&p)) {
            adjusted[index] = (p, family.len());
        }
    }
    let decided =
        drafts.into_iter().zip(adjusted).map(|((inputs, draft), (p, tests))| decide(draft, inputs, p, tests, settings));
    let mut rows: Vec<Row> = decided.collect();
    rows.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
    rows
}

/// Rows that gate, then by verdict, then the largest change first; equal ones stay in the order of their ids.
fn order(row: &Row) -> (bool, usize, f64) {
    (!row.gates, row.verdict.place(), row.change.map_or(0.0, |change| -change.ratio.ln().abs()))
}

/// The verdict of one row, whose adjusted p-value rests on `tests` tests.
fn decide(draft: Draft, inputs: &Inputs, p_adjusted: f64, tests: usize, settings: &Settings) -> Row {
    let Draft { mut row, test, sides } = draft;
    let alpha = settings.alpha;
    let evidence = |test: &LogRatio| {
        let level = |level| test.log_interval(level);
        Some(Evidence { interval: level(1.0 - alpha)?, equivalence: level(1.0 - 2.0 * alpha)?, p_adjusted })
    };
    let (Some(sides), Some((test, evidence))) = (sides, test.and_then(|test| Some((test, evidence(&test)?)))) else {
        return row;
    };
    let log_margin = settings.margin.ln_1p();
    let floor = row.case().and_then(|case| settings.floors.get(&case.to_string())).copied();
    let alarm_margin = floor.map_or(log_margin, |floor| floor.max(log_margin));
    row.verdict = Verdict::decide(&evidence, log_margin, alarm_margin, alpha);
    if alarm_margin > log_margin {
        row.notes.push(format!("noise floor {:.1} %", alarm_margin.exp_m1() * 100.0));
    }
    // Only an alarm needs a second voice; it is the dear one.
    let alarm = matches!(row.verdict, Verdict::Regressed | Verdict::Improved);
    let second = if alarm { sides.bootstrap(&row, inputs, 1.0 - alpha) } else { None };
    let agrees = |second: &Interval| match row.verdict {
        Verdict::Regressed => second.low > alarm_margin,
        _ => second.high < -alarm_margin,
    };
    if let Some(second) = second.filter(|second| !agrees(second)) {
        let (verdict, low, high) = (row.verdict, second.low.exp(), second.high.exp());
        row.notes.push(format!("{verdict} by t, but resampling gives [{low:.3}, {high:.3}]"));
        row.verdict = Verdict::Inconclusive;
    }
    let undecided = row.verdict == Verdict::Inconclusive;
    let repeats = if undecided { repeats_to_decide(&test, &sides, log_margin, alpha, tests) } else { None };
    row.notes.extend(repeats.map(|n| advice(n, sides.repeats())));
    if test.has_no_spread() && test.log != 0.0 {
        row.notes.push("no spread at all: is this the resolution of the clock?".to_owned());
    }
    row.change = Some(Change {
        ratio: test.ratio(),
        interval: evidence.interval.exp(),
        equivalence_interval: evidence.equivalence.exp(),
        se: test.se,
        t: test.t,
        df: test.df,
        p: test.p,
        p_adjusted,
        bootstrap_interval: second.map(Interval::exp),
        repeats_to_decide: repeats,
    });
    row
}

/// Repeats with which a difference as large as the observed one would most likely be told from none, or, if that takes
/// fewer, from the margin. The p-value of a row in a family of `tests` may have to be under alpha / tests.
fn repeats_to_decide(test: &LogRatio, sides: &Sides, log_margin: f64, alpha: f64, tests: usize) -> Option<u64> {
    let (noise, now) = noise(test.se, sides.repeats());
    let size = test.log.abs();
    let different = repeats_for(noise, size, alpha / tests as f64);
    let equivalent = repeats_for(noise, log_margin - size, 2.0 * alpha);
    let least = [different, equivalent].into_iter().flatten().min()?;
    // The formula takes the normal distribution for the t distribution, which flatters few repeats.
    Some(least.max(now as u64 + 1))
}

/// The spread that repeats average away, from the standard error that so many have left, and their number.
fn noise(se: f64, repeats: Repeats) -> (Noise, usize) {
    match repeats {
        Repeats::Blocks(n) => (Noise::Blocks(se * (n as f64).sqrt()), n),
        Repeats::Sides(base, new) => (Noise::Sides(se / (1.0 / base as f64 + 1.0 / new as f64).sqrt()), base.min(new)),
    }
}

fn advice(repeats: u64, had: Repeats) -> String {
    let what = match had {
        Repeats::Sides(..) => "repeats a side",
        Repeats::Blocks(_) => "blocks",
    };
    match repeats {
        MANY.. => format!("over {MANY} {what} would be needed to decide"),
        _ => format!("about {repeats} {what} would decide"),
    }
}
