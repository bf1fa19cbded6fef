//! A report for people: a terminal, a log, or GitHub Markdown.

use std::fmt::Write;

use super::{GateVerdict, LEAST_NIGHTS, LEVEL, Report, Row};
use crate::compare::markdown::escaped;
use crate::compare::text::aligned;

/// Names of the columns; the note needs none.
const COLUMNS: [&str; 8] = ["verdict", "case", "tonight", "usual", "ratio", "bound", "again", ""];

/// Columns that end at the right: numbers do.
const RIGHT: [bool; 8] = [false, false, true, true, true, true, false, false];

/// Rows that need no eye.
fn is_quiet(row: &Row) -> bool {
    matches!(row.verdict, GateVerdict::Fine | GateVerdict::WarmingUp)
}

/// Text; `all` shows the quiet rows too.
pub fn render(report: &Report, all: bool) -> String {
    let mut out = head(report).iter().map(|line| format!("{line}\n")).collect::<String>();
    let cells: Vec<[String; 8]> = shown(report, all).map(cells).collect();
    if !cells.is_empty() {
        let _ = write!(out, "\n{}", aligned(&COLUMNS, &RIGHT, &cells));
    }
    let _ = write!(out, "\n{}", foot(report).iter().map(|line| format!("{line}\n")).collect::<String>());
    out
}

/// GitHub Markdown.
pub fn markdown(report: &Report, all: bool) -> String {
    let mut out: String = head(report).iter().map(|line| format!("- {line}\n")).collect();
    let cells: Vec<[String; 8]> = shown(report, all).map(cells).collect();
    if !cells.is_empty() {
        let rule = RIGHT.map(|right| if right { "---:" } else { "---" });
        let _ = writeln!(out, "\n| {} |\n| {} |", COLUMNS.join(" | ").trim_end(), rule.join(" | "));
    }
    for row in &cells {
        let _ = writeln!(out, "| {} |", row.each_ref().map(|cell| escaped(cell)).join(" | "));
    }
    let foot = foot(report);
    let _ = write!(out, "\n{}", foot.iter().map(|line| format!("{line}\n\n")).collect::<String>().trim_end());
    out.push('\n');
    out
}

fn shown(report: &Report, all: bool) -> impl Iterator<Item = &Row> {
    report.rows.iter().filter(move |row| all || !is_quiet(row))
}

fn head(report: &Report) -> Vec<String> {
    let nights = if report.nights == 1 { "night" } else { "nights" };
    let margin = format!("{:.1} %", report.margin * 100.0);
    let mut lines = vec![
        format!("night {}, {} {nights} before it", report.night, report.nights),
        format!(
            "suspect: above the one-sided {:.0} % prediction bound of the last nights, and more than {margin} above their mean; \
             red: slower again beside the last good build",
            LEVEL * 100.0
        ),
    ];
    if !report.new_segment.is_empty() {
        lines.push(format!("a new segment begins tonight: {}", report.new_segment.join("; ")));
    }
    lines
}

/// The cells of a row, in the order of [`COLUMNS`].
pub(super) fn cells(row: &Row) -> [String; 8] {
    let dash = || "-".to_owned();
    let value = |value: Option<f64>| value.map_or_else(dash, |value| row.metric.show(value));
    let times = |ratio: Option<f64>| ratio.map_or_else(dash, |ratio| format!("{ratio:.3}"));
    let again = row.confirmation.map_or_else(dash, |again| {
        format!("{:.3} [{:.3}, {:.3}]", again.ratio, again.interval.low, again.interval.high)
    });
    let note = match row.verdict {
        GateVerdict::WarmingUp => format!("{} of {LEAST_NIGHTS} nights", row.nights),
        _ => row.notes.join("; "),
    };
    let case = row.case.to_string();
    [
        row.verdict.to_string(),
        case,
        value(row.tonight),
        value(row.usual),
        times(row.ratio),
        times(row.bound),
        again,
        note,
    ]
}

fn foot(report: &Report) -> Vec<String> {
    let counts: Vec<String> = report.counts().iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let mut lines = vec![match &counts[..] {
        [] => "no case was measured".to_owned(),
        counts => format!("{} cases: {}", report.rows.len(), counts.join(", ")),
    }];
    lines.extend(report.shifts.iter().map(|shift| {
        format!("for the eye only: {} has another level since {} ({:.3} times)", shift.case, shift.night, shift.ratio)
    }));
    lines
}
