//! Judges runs against runs: two result files, or two builds measured in one plan. Pure: views in, [`Comparison`] out.
//!
//! Cases are matched on their ids without `state` (`pairs`), checked for whether they measured the same thing
//! (`comparable`), reduced to one number a run ([`Metric`]), compared on logs, and judged ([`Verdict`]).

pub mod aa;
mod comparable;
mod differences;
pub mod github;
mod inputs;
pub mod json;
mod judge;
pub mod junit;
pub mod markdown;
mod metric;
mod overall;
mod pairs;
mod rows;
mod sides;
pub mod text;
mod verdict;
mod words;

pub use differences::Difference;
pub use inputs::{Inputs, InputsError, Source};
pub use metric::{METRICS, Metric, MetricRow};
pub use overall::Overall;
pub use pairs::{Ambiguous, Key};
pub use rows::{Change, Row, Side};
pub use verdict::{VERDICTS, Verdict};

use std::collections::BTreeMap;

use regex::Regex;

/// Least effect that counts, if nothing else is asked for: 3 %.
pub const DEFAULT_MARGIN: f64 = 0.03;

/// Level of the tests, if nothing else is asked for.
pub const DEFAULT_ALPHA: f64 = 0.05;

/// How p-values are adjusted for the number of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjust {
    /// Bounds the chance of any false alarm: for decisions.
    #[default]
    Holm,
    /// Bounds the share of false ones among the alarms (Benjamini and Hochberg): for looking around.
    Bh,
}

/// How to compare.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The metric of every case; `None`: the primary one of its track and state.
    pub metric: Option<Metric>,
    /// Least effect that counts, as a share: a ratio above 1 + margin, or below 1 / (1 + margin).
    pub margin: f64,
    /// Level of the tests. Intervals have level 1 − alpha, those for equivalence 1 − 2·alpha.
    pub alpha: f64,
    /// How p-values are adjusted over the cases of a track.
    pub adjust: Adjust,
    /// Noise floors by case id, as log ratios: where one is above the margin, an alarm must pass it. They never make two
    /// sides equal.
    pub floors: BTreeMap<String, f64>,
    /// Keys left out of the match, beside `state`.
    pub across: Vec<Key>,
    /// Only cases whose id this finds.
    pub filter: Option<Regex>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            metric: None,
            margin: DEFAULT_MARGIN,
            alpha: DEFAULT_ALPHA,
            adjust: Adjust::Holm,
            floors: BTreeMap::new(),
            across: Vec::new(),
            filter: None,
        }
    }
}

/// What came out.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Comparison {
    /// The older or reference side.
    pub base: Source,
    /// The side that is judged.
    pub new: Source,
    /// Whether runs were paired by block.
    pub paired: bool,
    /// The metric asked for; null: the primary one of each track and state.
    pub metric: Option<Metric>,
    /// Least effect that counts, as a share.
    pub margin: f64,
    /// Level of the tests.
    pub alpha: f64,
    /// How p-values were adjusted over the cases of a track.
    pub adjust: Adjust,
    /// Keys left out of the match, beside `state`.
    pub across: Vec<Key>,
    /// What differs between the two sides' machines, programs and plans.
    pub differences: Vec<Difference>,
    /// The part of the case ids whose values were compared inside one file; null: two files or two builds.
    pub by: Option<Key>,
    /// With `by`: cases that the other value does not have, which therefore have no row.
    pub alone: usize,
    /// Cases that neither side supports, which therefore have no row.
    pub unsupported: usize,
    /// The geometric mean over all cases; with `by` one for each value. Empty where there are fewer than two cases.
    pub overall: Vec<Overall>,
    /// One row for each case; the worst first.
    pub rows: Vec<Row>,
}

/// Nothing can be compared as asked.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Several cases match.
    #[error(transparent)]
    Ambiguous(#[from] Ambiguous),
    /// No pair of sides.
    #[error("nothing to compare")]
    NothingGiven,
    /// States are compared without saying by what.
    #[error("--across state compares cold with warm, whose primary metrics differ: choose one with --metric")]
    StatesWithoutMetric,
}

/// Compares values of `key` inside one file: see [`Inputs::values`]. All rows are judged as one comparison.
pub fn compare_values(inputs: &[Inputs], key: Key, settings: &Settings) -> Result<Comparison, CompareError> {
    let mut settings = settings.clone();
    if !settings.across.contains(&key) {
        settings.across.push(key);
    }
    let Some(first) = inputs.first() else { return Err(CompareError::NothingGiven) };
    let (mut all, mut unsupported, mut alone) = (Vec::new(), 0, 0);
    for inputs in inputs {
        let (mut drafts, neither) = draft(inputs, &settings)?;
        unsupported += neither;
        // Not every format has every layout: inside one file that is no gap in the measurement.
        let found = drafts.len();
        drafts.retain(|draft| draft.row.verdict != Verdict::Missing);
        alone += found - drafts.len();
        all.push((inputs, drafts));
    }
    Ok(Comparison { by: Some(key), alone, ..judged(first, all, unsupported, &settings) })
}

/// Compares.
pub fn compare(inputs: &Inputs, settings: &Settings) -> Result<Comparison, CompareError> {
    let (drafts, unsupported) = draft(inputs, settings)?;
    Ok(judged(inputs, vec![(inputs, drafts)], unsupported, settings))
}

/// The rows before they are judged, and how many cases neither side supports.
fn draft<'a>(inputs: &'a Inputs<'a>, settings: &Settings) -> Result<(Vec<rows::Draft<'a>>, usize), CompareError> {
    if settings.metric.is_none() && settings.across.iter().any(Key::is_state) {
        return Err(CompareError::StatesWithoutMetric);
    }
    let filter = settings.filter.as_ref();
    let (base, new) = (inputs.base.cases(filter), inputs.new.cases(filter));
    let pairs = pairs::match_cases(&base, &new, &settings.across)?;
    let all = pairs.len();
    let drafts: Vec<_> = pairs.iter().filter_map(|pair| rows::draft(pair, inputs, settings)).collect();
    let unsupported = all - drafts.len();
    Ok((drafts, unsupported))
}

fn judged(
    first: &Inputs,
    drafts: Vec<(&Inputs, Vec<rows::Draft>)>,
    unsupported: usize,
    settings: &Settings,
) -> Comparison {
    let overall = |(inputs, drafts): &(&Inputs, Vec<_>)| {
        overall::overall(drafts, inputs.paired, inputs.values_of(), settings.alpha)
    };
    Comparison {
        base: first.base.source(),
        new: first.new.source(),
        paired: first.paired,
        metric: settings.metric,
        margin: settings.margin,
        alpha: settings.alpha,
        adjust: settings.adjust,
        across: settings.across.clone(),
        differences: differences::between(first),
        unsupported,
        by: None,
        alone: 0,
        overall: drafts.iter().filter_map(overall).collect(),
        rows: judge::judge(drafts, settings),
    }
}

impl Comparison {
    /// How many gating rows have each verdict, in the order of [`VERDICTS`], without those that none has.
    pub fn counts(&self) -> Vec<(Verdict, usize)> {
        let count = |verdict| self.rows.iter().filter(|row| row.gates && row.verdict == verdict).count();
        VERDICTS.iter().map(|row| (row.verdict, count(row.verdict))).filter(|(_, count)| *count > 0).collect()
    }
}
