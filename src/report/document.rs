//! A report before it has a syntax: lines, tables, lines. `text` and `markdown` write the same document.

use super::summary::CaseSummary;
use super::{Input, head, summary, table};
use crate::case::Track;
use crate::units;

/// The whole report.
pub struct Document {
    /// What was measured, when, where.
    pub head: Vec<String>,
    /// The numbers.
    pub tables: Vec<Table>,
    /// What holds for all of them.
    pub foot: Vec<String>,
}

/// One table.
pub struct Table {
    /// What its lines have in common.
    pub title: String,
    /// What its numbers are.
    pub about: Vec<String>,
    /// Its columns.
    pub headings: Vec<Heading>,
    /// Its lines; each has a cell for each column.
    pub rows: Vec<Vec<String>>,
    /// What the marks in its last column mean.
    pub notes: Vec<String>,
}

/// The top of a column.
#[derive(Debug, Clone, Copy)]
pub struct Heading {
    /// Its name.
    pub name: &'static str,
    /// Whether its cells end at the right: numbers do.
    pub right: bool,
}

impl Table {
    /// Characters of each column, its heading included.
    pub fn widths(&self) -> Vec<usize> {
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let width = |(column, heading): (usize, &Heading)| {
            cells(column).map(|cell| cell.chars().count()).chain([heading.name.chars().count()]).max().unwrap_or(0)
        };
        self.headings.iter().enumerate().map(width).collect()
    }
}

/// The report of some files.
pub fn document(inputs: &[Input]) -> Document {
    let summaries = summary::summarize(inputs);
    let labels = head::labels(inputs);
    let (null, cases): (Vec<_>, Vec<_>) = summaries.iter().partition(|summary| summary.case.track == Track::Null);
    let tables = table::tables(&cases, &labels);
    let nothing = tables.is_empty().then(|| "no case was measured".to_owned());
    let foot = nothing.into_iter().chain(overhead(&null, &labels)).chain(left_out(inputs, &labels)).collect();
    Document { head: head::lines(inputs, &labels), tables, foot }
}

/// What the harness adds to each sample, measured in the same plan.
fn overhead(null: &[&CaseSummary], labels: &[String]) -> Vec<String> {
    let line = |summary: &&CaseSummary| {
        let whose = whose(&labels[summary.input], summary.build);
        let runs = format!("{}/{} runs", summary.ok, summary.runs);
        match summary.p50_ns {
            Some(p50) => format!("harness overhead{whose}: {} a sample ({runs})", units::time(p50.value)),
            None => format!("harness overhead{whose}: not known ({runs})"),
        }
    };
    null.iter().map(line).collect()
}

fn whose(label: &str, build: &str) -> String {
    let build = if build == table::ONLY_BUILD { "" } else { build };
    let parts: Vec<_> = [label, build].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Cases that were pruned, counted by reason.
fn left_out(inputs: &[Input], labels: &[String]) -> Vec<String> {
    let mut reasons: Vec<(&str, &str, usize)> = Vec::new();
    for (input, label) in inputs.iter().zip(labels) {
        for pruned in &input.file.header.pruned {
            match reasons.iter_mut().find(|(whose, reason, _)| *whose == label && *reason == pruned.reason) {
                Some((.., count)) => *count += 1,
                None => reasons.push((label, &pruned.reason, 1)),
            }
        }
    }
    let line = |(label, reason, count): (&str, &str, usize)| {
        format!("left out{}: {count} {}: {reason}", whose(label, ""), if count == 1 { "case" } else { "cases" })
    };
    reasons.into_iter().map(line).collect()
}
