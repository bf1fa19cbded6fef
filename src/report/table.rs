//! Tables of cases: one for each track, dataset, host and state, one line for each case.
//!
//! What all lines of a table share stands in its title. A table too wide for a terminal is split by crop, then by
//! pattern, tier and layout.

use pcb_protocol::State;

use super::document::{Heading, Table};
use super::notes::{Mark, Notes};
use super::summary::CaseSummary;
use crate::stats::{Center, Summary};
use crate::units;

/// Name of the worker build where there is only one.
pub const ONLY_BUILD: &str = "default";

/// Characters that a table should fit.
const WIDTH: usize = 120;

/// Characters between two columns.
pub const GAP: usize = 2;

/// A part of what a line is about.
struct Key {
    name: &'static str,
    value: fn(&CaseSummary, &[String]) -> String,
}

const FORMAT: Key = Key { name: "format", value: |summary, _| part(summary, 2) };
const LAYOUT: Key = Key { name: "layout", value: |summary, _| part(summary, 3) };
const PATTERN: Key = Key { name: "pattern", value: |summary, _| part(summary, 4) };
const CROP: Key = Key { name: "crop", value: |summary, _| part(summary, 5) };
const TIER: Key = Key { name: "tier", value: |summary, _| part(summary, 6) };
const BUILD: Key = Key { name: "build", value: |summary, _| summary.build.to_owned() };
const FILE: Key = Key { name: "file", value: |summary, labels| labels[summary.input].clone() };

const KEYS: [&Key; 7] = [&FORMAT, &LAYOUT, &PATTERN, &CROP, &TIER, &BUILD, &FILE];
const SPLIT: [&Key; 4] = [&CROP, &PATTERN, &TIER, &LAYOUT];

/// A number of a line.
struct Metric {
    name: &'static str,
    right: bool,
    show: fn(&CaseSummary) -> Option<String>,
}

/// A time; its name, and where it stands in a summary.
macro_rules! time {
    ($name:literal, $field:ident) => {
        Metric { name: $name, right: true, show: |summary| Some(units::time(summary.$field?.value)) }
    };
}

const OPEN: Metric = time!("open", open_ns);
const RUNS: Metric = Metric { name: "runs", right: true, show: |s| Some(format!("{}/{}", s.ok, s.runs)) };

const WARM: &[Metric] = &[
    time!("p50", p50_ns),
    Metric { name: "95 % interval", right: false, show: |s| interval(s.p50_ns?) },
    time!("p95", p95_ns),
    Metric { name: "samples/s", right: true, show: |s| Some(units::count(s.rate?.value)) },
    time!("first pass", pass_ns),
    OPEN,
    RUNS,
];

const COLD: &[Metric] = &[
    time!("whole pass", pass_ns),
    Metric { name: "95 % interval", right: false, show: |s| interval(s.pass_ns?) },
    Metric { name: "samples/s", right: true, show: |s| Some(units::count(s.pass_rate?.value)) },
    Metric { name: "touched", right: true, show: |s| s.touched.map(units::share) },
    time!("touched p50", p50_ns),
    Metric { name: "device/used", right: true, show: |s| s.device_amplification.map(units::times) },
    OPEN,
    RUNS,
];

/// The tables of some cases; `labels` are the short names of the files.
pub fn tables(cases: &[&CaseSummary], labels: &[String]) -> Vec<Table> {
    let same = |a: &&CaseSummary, b: &&CaseSummary| [0, 1, 7, 8].into_iter().all(|i| part(a, i) == part(b, i));
    cases.chunk_by(same).flat_map(|group| fitting(group, labels)).collect()
}

/// One table, or several where one is too wide and there is something to split it by.
fn fitting(group: &[&CaseSummary], labels: &[String]) -> Vec<Table> {
    let table = table(group, labels);
    let width = table.widths().iter().map(|width| width + GAP).sum::<usize>() - GAP;
    let Some(key) = SPLIT.iter().find(|key| width > WIDTH && varies(key, group, labels)) else { return vec![table] };
    // As they are met: summaries are sorted by size of crop, not by its text.
    let mut values: Vec<String> = Vec::new();
    for summary in group {
        let value = (key.value)(summary, labels);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let share = |value: &String| -> Vec<&CaseSummary> {
        group.iter().copied().filter(|summary| (key.value)(summary, labels) == *value).collect()
    };
    values.iter().flat_map(|value| fitting(&share(value), labels)).collect()
}

fn table(group: &[&CaseSummary], labels: &[String]) -> Table {
    let cold = group.iter().any(|summary| summary.case.state == State::Cold);
    let metrics = if cold { COLD } else { WARM };
    let keys: Vec<&Key> =
        KEYS.into_iter().filter(|key| key.name == FORMAT.name || varies(key, group, labels)).collect();
    let mixed = centers(group).len() > 1;
    let mut notes = Notes::default();
    let row = |summary: &&CaseSummary| {
        let keys = keys.iter().map(|key| (key.value)(summary, labels));
        let dash = |metric: &Metric| (metric.show)(summary).unwrap_or_else(|| "-".to_owned());
        let mark = (mixed && center(summary) == Some(Center::GeometricMean)).then_some(Mark::Geometric);
        keys.chain(metrics.iter().map(dash)).chain([notes.cell(summary, mark)]).collect()
    };
    let rows: Vec<Vec<String>> = group.iter().map(row).collect();
    let heading = |metric: &Metric| Heading { name: metric.name, right: metric.right };
    let headings = keys.iter().map(|key| Heading { name: key.name, right: false });
    let headings = headings.chain(metrics.iter().map(heading)).chain([Heading { name: "", right: false }]).collect();
    Table { title: title(group, labels), about: about(group, cold), headings, rows, notes: notes.lines() }
}

/// `getitem smoke warm, native host: layout object, pattern random, crop all.128x128.u16, tier none`.
fn title(group: &[&CaseSummary], labels: &[String]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let [track, dataset, host, state] = [0, 1, 7, 8].map(|place| part(first, place));
    let said = |key: &&&Key| {
        let value = (key.value)(first, labels);
        key.name != FORMAT.name && !value.is_empty() && value != ONLY_BUILD && !varies(key, group, labels)
    };
    let common = KEYS.iter().filter(said).map(|key| format!("{} {}", key.name, (key.value)(first, labels)));
    let common: Vec<_> = common.collect();
    let colon = if common.is_empty() { "" } else { ": " };
    format!("{track} {dataset} {state}, {host} host{colon}{}", common.join(", "))
}

/// What the numbers of a table are, in a line or two.
fn about(group: &[&CaseSummary], cold: bool) -> Vec<String> {
    let single = group.iter().all(|summary| summary.ok < 2);
    let over = match &centers(group)[..] {
        [] => return vec!["no run is ok".to_owned()],
        _ if single => "one run each: no interval",
        [Center::GeometricMean] => "over runs: geometric mean, 95 % t interval (under 6 runs)",
        _ => "over runs: median, order-statistic interval of at least 95 %",
    };
    let more = [
        "touched: share of samples that touched the device; device/used: bytes read from it over bytes handed out",
        "(below 1x: crops overlap; above: read-ahead, padding, chunks)",
    ];
    let more = if cold { &more[..] } else { &[] };
    [over].iter().chain(more).map(|line| (*line).to_owned()).collect()
}

fn centers(group: &[&CaseSummary]) -> Vec<Center> {
    let mut found = Vec::new();
    for center in group.iter().filter_map(|summary| center(summary)) {
        if !found.contains(&center) {
            found.push(center);
        }
    }
    found
}

/// A center depends on the number of runs alone, so that every number of a line has the same.
fn center(summary: &CaseSummary) -> Option<Center> {
    let known = [summary.pass_ns, summary.p50_ns, summary.rate, summary.open_ns];
    known.into_iter().flatten().next().map(|number| number.center)
}

fn interval(summary: Summary) -> Option<String> {
    Some(units::time_interval(summary.value, summary.interval?))
}

fn varies(key: &Key, group: &[&CaseSummary], labels: &[String]) -> bool {
    let Some(first) = group.first() else { return false };
    group.iter().any(|summary| (key.value)(summary, labels) != (key.value)(first, labels))
}

fn part(summary: &CaseSummary, place: usize) -> String {
    let parts = summary.case.parts();
    parts.get(place).cloned().unwrap_or_default()
}
