//! What a picture shows, before it has pixels: bands of rows, a cell for each state.

use std::collections::BTreeMap;

use pcb_protocol::{Crop, State};

use super::canvas::Look;
use crate::report::summary::{self, CaseSummary};
use crate::report::table::ONLY_BUILD;
use crate::report::{Input, head};
use crate::results::Flag;
use crate::stats::{Center, Interval, Summary};

/// A picture.
pub struct Picture {
    pub title: String,
    /// States measured, the fastest first.
    pub states: Vec<State>,
    pub bands: Vec<Band>,
    /// Lines below.
    pub notes: Vec<String>,
}

/// Rows of one dataset and crop.
pub struct Band {
    /// Nothing where there is one band alone: the title of the picture has it.
    pub title: String,
    pub rows: Vec<Row>,
}

/// One case, in every state it was measured in.
pub struct Row {
    pub label: String,
    pub look: Look,
    pub cells: BTreeMap<State, Cell>,
}

/// What stands in a panel.
pub enum Cell {
    Value {
        /// In ns.
        value: f64,
        interval: Option<Interval>,
        /// What follows the number: a mark, how many runs of how many.
        more: String,
    },
    /// Why there is no value.
    Word(String),
}

/// Parts of a case id, in a row's label or in the title.
const TRACK: usize = 0;
const DATASET: usize = 1;
const FORMAT: usize = 2;
const LAYOUT: usize = 3;
const PATTERN: usize = 4;
const CROP: usize = 5;
const TIER: usize = 6;
const HOST: usize = 7;

impl Cell {
    fn new(summary: &CaseSummary) -> Self {
        let number = if summary.case.state == State::Cold { summary.pass_ns } else { summary.p50_ns };
        let Some(Summary { value, interval, .. }) = number else {
            let word = summary.failures.first().map_or("no value", |failure| failure.kind);
            let word = if summary.flags.contains(&Flag::FirstCapped) { "pass cut short" } else { word };
            return Self::Word(word.to_owned());
        };
        let unsteady = if summary.flags.contains(&Flag::NotSteady) { " ~" } else { "" };
        let runs =
            if summary.ok < summary.runs { format!(" ({}/{} runs)", summary.ok, summary.runs) } else { String::new() };
        Self::Value { value, interval, more: format!("{unsteady}{runs}") }
    }

    /// The values that an axis has to show.
    pub fn extent(&self) -> Vec<f64> {
        match self {
            Self::Word(_) => Vec::new(),
            Self::Value { value, interval, .. } => {
                let ends = interval.map(|interval| [interval.low, interval.high]);
                ends.into_iter().flatten().chain([*value]).collect()
            }
        }
    }
}

/// The picture of some files, with at most `most` rows.
pub fn picture(inputs: &[Input], most: usize) -> Picture {
    let summaries = summary::summarize(inputs);
    let cases: Vec<&CaseSummary> = summaries.iter().filter(|summary| summary.case.target.is_some()).collect();
    let labels = head::labels(inputs);
    let mut bands = bands(&cases, &labels);
    let all: usize = bands.iter().map(|band| band.rows.len()).sum();
    let mut room = most;
    for band in &mut bands {
        band.rows.truncate(room);
        room -= band.rows.len();
    }
    bands.retain(|band| !band.rows.is_empty());
    let mut states: Vec<State> = [State::Warm, State::AsIs, State::Cold].into();
    states.retain(|state| cases.iter().any(|summary| summary.case.state == *state));
    let mut notes = notes(&cases);
    if all > most {
        notes.push(format!("{most} of {all} cases are shown; choose others with --filter"));
    }
    Picture { title: common(&cases).join(", "), states, bands, notes }
}

/// What all cases share.
fn common(cases: &[&CaseSummary]) -> Vec<String> {
    let said = |(place, name): (usize, &str)| {
        let first = part(cases.first()?, place);
        (!varies(cases, place)).then(|| format!("{name}{first}"))
    };
    let parts = [(TRACK, ""), (DATASET, "dataset "), (CROP, "crop "), (PATTERN, "pattern "), (TIER, "tier ")];
    parts.into_iter().filter_map(said).collect()
}

fn bands(cases: &[&CaseSummary], labels: &[String]) -> Vec<Band> {
    let formats = looks(cases);
    let mut bands: BTreeMap<_, BTreeMap<_, Row>> = BTreeMap::new();
    for summary in cases {
        let Some(target) = &summary.case.target else { continue };
        let label = label(summary, cases, labels);
        let look = formats.get(target.format.as_str()).copied().unwrap_or(Look(0));
        let row = |label: &String| Row { label: label.clone(), look, cells: BTreeMap::new() };
        let band = bands.entry((&target.dataset, &target.crop)).or_default();
        let row = band.entry((target, summary.case.host, summary.input, summary.build)).or_insert_with(|| row(&label));
        row.cells.insert(summary.case.state, Cell::new(summary));
    }
    let band = |((dataset, crop), rows): ((&String, &Crop), BTreeMap<_, Row>)| {
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by(|a, b| order(a).total_cmp(&order(b)));
        let dataset = varies(cases, DATASET).then(|| format!("dataset {dataset}"));
        let crop = varies(cases, CROP).then(|| format!("crop {crop}"));
        Band { title: dataset.into_iter().chain(crop).collect::<Vec<_>>().join(", "), rows }
    };
    bands.into_iter().map(band).collect()
}

/// The fastest first; what has no number last.
fn order(row: &Row) -> f64 {
    let value = |state: State| match row.cells.get(&state) {
        Some(Cell::Value { value, .. }) => Some(*value),
        _ => None,
    };
    // A row without a warm number follows all that have one.
    value(State::Warm).or(value(State::AsIs)).or(value(State::Cold).map(|pass| pass * 1e9)).unwrap_or(f64::INFINITY)
}

/// Formats whose look is the same in every picture, whatever else is in it.
const FIXED: [&str; 4] = ["memory", "npy", "tiff", "ome-tiff"];

/// One look for each format, whatever its variants: the fixed ones, then the others in the order of their names.
fn looks<'a>(cases: &[&'a CaseSummary]) -> BTreeMap<&'a str, Look> {
    let mut formats: Vec<&str> =
        cases.iter().filter_map(|s| s.case.target.as_ref()).map(|t| t.format.as_str()).collect();
    formats.sort_unstable();
    formats.dedup();
    formats.retain(|format| !FIXED.contains(format));
    FIXED.into_iter().chain(formats).enumerate().map(|(place, format)| (format, Look(place))).collect()
}

/// `tiff:tile128-deflate / site`, and what else tells a row from the others.
fn label(summary: &CaseSummary, cases: &[&CaseSummary], labels: &[String]) -> String {
    let mut words = vec![part(summary, FORMAT), part(summary, LAYOUT)];
    words.extend(
        [PATTERN, TIER, HOST].into_iter().filter(|&place| varies(cases, place)).map(|place| part(summary, place)),
    );
    let more = [labels[summary.input].as_str(), if summary.build == ONLY_BUILD { "" } else { summary.build }];
    words.extend(more.into_iter().filter(|word| !word.is_empty()).map(str::to_owned));
    words.join(" / ")
}

fn notes(cases: &[&CaseSummary]) -> Vec<String> {
    let centers: Vec<Center> =
        cases.iter().filter_map(|s| s.pass_ns.or(s.p50_ns)).map(|number| number.center).collect();
    let single = cases.iter().all(|summary| summary.ok < 2);
    let what = match (centers.contains(&Center::Median), centers.contains(&Center::GeometricMean)) {
        _ if single => Some("dots: one run each, no interval"),
        (true, true) => Some(
            "dots and bars over runs: median, order-statistic interval of at least 95 %; under 6 runs geometric mean, 95 % t interval",
        ),
        (true, false) => Some("dots and bars over runs: median, order-statistic interval of at least 95 %"),
        (false, true) => Some("dots and bars over runs: geometric mean, 95 % t interval (under 6 runs)"),
        (false, false) => None,
    };
    let unsteady = cases.iter().any(|summary| summary.flags.contains(&Flag::NotSteady));
    let mark = unsteady.then_some("~ no steady state was found in at least one run");
    let narrow = (!single).then_some("bars that would end inside their dot are left out");
    what.into_iter().chain(narrow).chain(mark).map(str::to_owned).collect()
}

fn varies(cases: &[&CaseSummary], place: usize) -> bool {
    cases.first().is_some_and(|first| cases.iter().any(|summary| part(summary, place) != part(first, place)))
}

fn part(summary: &CaseSummary, place: usize) -> String {
    summary.case.parts().get(place).cloned().unwrap_or_default()
}
