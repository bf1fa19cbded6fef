//! A comparison in words, before it has a syntax: `text` and `markdown` write the same lines and cells.

use super::{Adjust, Change, Comparison, Difference, Key, Overall, Row, Source, Verdict};
use crate::case::Case;

/// Most differences between the sides that are told one by one.
const MOST_DIFFERENCES: usize = 12;

/// One row in cells.
pub(super) struct Cells {
    /// The verdict; of a row that does not gate in brackets.
    pub verdict: String,
    /// Case id; where keys were left out of the match, both values: `npy:mmap→tiff:lzw`.
    pub case: String,
    /// Name of the metric.
    pub metric: &'static str,
    /// Value of the base.
    pub base: String,
    /// Value of the new side.
    pub new: String,
    /// `1.052 [1.031, 1.074]`.
    pub ratio: String,
    /// Adjusted p-value.
    pub p: String,
    /// What a reader should know.
    pub note: String,
}

/// Names of the columns; the note needs none.
pub(super) const COLUMNS: [&str; 8] = ["verdict", "case", "metric", "base", "new", "ratio", "p", ""];

/// Columns that end at the right: numbers do.
pub(super) const RIGHT: [bool; 8] = [false, false, false, true, true, false, true, false];

impl Cells {
    /// The cells of a row.
    pub fn new(row: &Row) -> Self {
        let value = |side: &Option<super::Side>| {
            let value = side.as_ref().and_then(|side| side.summary).map(|summary| row.metric.show(summary.value));
            value.unwrap_or_else(|| "-".to_owned())
        };
        Self {
            verdict: if row.gates { row.verdict.to_string() } else { format!("({})", row.verdict) },
            case: case(row.base_case.as_ref(), row.new_case.as_ref()),
            metric: row.metric.name(),
            base: value(&row.base),
            new: value(&row.new),
            ratio: row.change.as_ref().map_or_else(|| "-".to_owned(), ratio),
            p: row.change.map_or_else(|| "-".to_owned(), |change| p(change.p_adjusted)),
            note: row.notes.join("; "),
        }
    }

    /// In the order of [`COLUMNS`].
    pub fn all(&self) -> [&str; 8] {
        [&self.verdict, &self.case, self.metric, &self.base, &self.new, &self.ratio, &self.p, &self.note]
    }
}

fn case(base: Option<&Case>, new: Option<&Case>) -> String {
    match (base, new) {
        (Some(base), Some(new)) if base != new => {
            let (base, new) = (base.parts(), new.parts());
            let both = |(a, b): (&String, &String)| if a == b { a.clone() } else { format!("{a}→{b}") };
            base.iter().zip(&new).map(both).collect::<Vec<_>>().join("/")
        }
        (Some(case), _) | (None, Some(case)) => case.to_string(),
        (None, None) => String::new(),
    }
}

fn ratio(change: &Change) -> String {
    format!("{} [{}, {}]", times(change.ratio), times(change.interval.low), times(change.interval.high))
}

fn times(ratio: f64) -> String {
    match ratio {
        _ if !(0.001..1e6).contains(&ratio) => format!("{ratio:.1e}"),
        _ if ratio < 9.9995 => format!("{ratio:.3}"),
        _ if ratio < 999.5 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

fn p(p: f64) -> String {
    if p < 0.0001 { "<.0001".to_owned() } else { format!("{p:.4}").trim_start_matches('0').to_owned() }
}

/// The lines above the rows: a name and what it is.
pub(super) fn head(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let mut lines = match comparison.by {
        None => vec![("base", source(&comparison.base)), ("new", source(&comparison.new))],
        Some(key) => {
            let Source { file, started, .. } = &comparison.base;
            vec![("file", format!("{file}, {started}")), ("by", format!("values of {key}, base→new"))]
        }
    };
    if !comparison.differences.is_empty() {
        lines.push(("differ", differences(&comparison.differences)));
    }
    lines.push(("metric", metric(comparison)));
    let across: Vec<Key> = comparison.across.iter().copied().filter(|key| comparison.by != Some(*key)).collect();
    if !across.is_empty() {
        let keys: Vec<&str> = across.iter().map(|key| key.name()).collect();
        lines.push(("across", format!("cases are matched without {}", keys.join(", "))));
    }
    lines.push(("test", test(comparison)));
    lines
}

fn source(source: &Source) -> String {
    format!("{}, build {}, {}", source.file, source.build, source.started)
}

fn differences(differences: &[Difference]) -> String {
    let value = |side: &Option<String>| side.as_deref().map_or("none", short).to_owned();
    let one = |d: &Difference| format!("{} {} → {}", d.what, value(&d.base), value(&d.new));
    let told: Vec<String> = differences.iter().take(MOST_DIFFERENCES).map(one).collect();
    match differences.len().saturating_sub(MOST_DIFFERENCES) {
        0 => told.join("; "),
        more => format!("{}; and {more} more (--format json has all)", told.join("; ")),
    }
}

/// Commits and digests are told apart by their first characters.
fn short(text: &str) -> &str {
    let digest = text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digest { text.get(..10).unwrap_or(text) } else { text }
}

fn metric(comparison: &Comparison) -> String {
    let what = match comparison.metric {
        Some(metric) => metric.name().to_owned(),
        None => "the primary one of each track and state (getitem: warm p50, cold pass)".to_owned(),
    };
    format!("{what}; ratio above 1: new is slower")
}

fn test(comparison: &Comparison) -> String {
    let (alpha, margin) = (comparison.alpha, percent(comparison.margin));
    let kind = if comparison.paired { "paired by block" } else { "Welch" };
    let level = percent(1.0 - alpha);
    let adjust = match comparison.adjust {
        Adjust::Holm => "Holm",
        Adjust::Bh => "Benjamini-Hochberg",
    };
    format!(
        "margin {margin}; t on logs, {kind}, {level} intervals, p < {alpha} after {adjust} in each track; {}",
        n(comparison)
    )
}

/// Runs a side, over the rows that were tested.
fn n(comparison: &Comparison) -> String {
    let tested = comparison.rows.iter().filter(|row| row.change.is_some());
    let sides = tested.flat_map(|row| [&row.base, &row.new]).flatten();
    let ok: Vec<usize> = sides.map(|side| side.ok).collect();
    match (ok.iter().min(), ok.iter().max()) {
        (Some(least), Some(most)) if least == most => format!("{most} runs a side"),
        (Some(least), Some(most)) => format!("{least} to {most} runs a side"),
        _ => "no tests".to_owned(),
    }
}

/// `3 %`, with as many decimals as it needs.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// The lines below the rows: the geometric means, then what was found.
pub(super) fn foot(comparison: &Comparison, hidden: usize) -> Vec<String> {
    comparison.overall.iter().map(overall).chain([summary(comparison, hidden)]).collect()
}

/// `geometric mean over 12 cases: 1.003 [0.998, 1.008]`.
fn overall(overall: &Overall) -> String {
    let of = overall.of.as_ref().map_or(String::new(), |[base, new]| format!(" {base}→{new}"));
    let interval = match overall.interval {
        Some(interval) => format!(" [{}, {}]", times(interval.low), times(interval.high)),
        None => " (no interval: no two blocks have every case)".to_owned(),
    };
    format!("geometric mean over {} cases{of}: {}{interval}", overall.cases, times(overall.ratio))
}

/// What was found, in a line.
fn summary(comparison: &Comparison, hidden: usize) -> String {
    let count = |(verdict, count): (Verdict, usize)| match verdict {
        Verdict::Unchanged if hidden > 0 => format!("{count} unchanged ({hidden} not shown; --all shows them)"),
        _ => format!("{count} {verdict}"),
    };
    let counts: Vec<String> = comparison.counts().into_iter().map(count).collect();
    let total = comparison.rows.iter().filter(|row| row.gates).count();
    let cases = if total == 1 { "case" } else { "cases" };
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let unsupported = match comparison.unsupported {
        0 => String::new(),
        n => format!("; {n} supported by neither side left out"),
    };
    let alone = match comparison.alone {
        0 => String::new(),
        n => format!("; {n} without a counterpart left out"),
    };
    format!("{total} {cases}{counts}{unsupported}{alone}")
}

/// The rows to show: all, or those that say something.
pub(super) fn shown(comparison: &Comparison, all: bool) -> Vec<&Row> {
    comparison.rows.iter().filter(|row| all || row.verdict != Verdict::Unchanged || !row.gates).collect()
}
