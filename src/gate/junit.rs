//! A report for CI systems: JUnit XML, and GitHub workflow commands.

use super::{GateVerdict, Report, Row, text};
use crate::compare::github::commands;
use crate::compare::junit::{Suite, TestCase};

/// One test suite with a case for each row: those whose verdict is in `fail_on` fail, those that gave no answer and are none
/// of them are skipped.
pub fn render(report: &Report, fail_on: &[GateVerdict]) -> String {
    let test = |row: &Row| TestCase {
        class: format!("pcb.{}", row.case.track),
        name: format!("{} {}", row.case, row.metric.name()),
        failed: fail_on.contains(&row.verdict),
        skipped: matches!(row.verdict, GateVerdict::WarmingUp | GateVerdict::Missing | GateVerdict::NotComparable),
        kind: row.verdict.to_string(),
        line: line(row),
        note: row.notes.join("; "),
    };
    let properties = vec![("night".to_owned(), report.night.clone()), ("nights".to_owned(), report.nights.to_string())];
    Suite { name: "pcb-gate", properties, cases: report.rows.iter().map(test).collect() }.render()
}

/// `::error` for verdicts in `fail_on`, `::warning` for other rows that need an eye, `::notice` for improvements.
pub fn github(report: &Report, fail_on: &[GateVerdict]) -> String {
    let told = report.rows.iter().filter_map(|row| {
        let kind = match row.verdict {
            verdict if fail_on.contains(&verdict) => "error",
            GateVerdict::Fine | GateVerdict::WarmingUp => return None,
            GateVerdict::Improved | GateVerdict::PerhapsImproved => "notice",
            _ => "warning",
        };
        Some((kind, line(row), row.case.to_string()))
    });
    commands("pcb-gate", &told.collect::<Vec<_>>())
}

/// `red: 15.1 µs, usually 12.3 µs, ratio 1.228, bound 1.061, again 1.23 [1.2, 1.26]`.
fn line(row: &Row) -> String {
    let [verdict, _, tonight, usual, ratio, bound, again, note] = text::cells(row);
    let note = if note.is_empty() { String::new() } else { format!("; {note}") };
    if ratio == "-" {
        return format!("{verdict}{note}");
    }
    format!("{verdict}: {tonight}, usually {usual}, ratio {ratio}, bound {bound}, again {again}{note}")
}
