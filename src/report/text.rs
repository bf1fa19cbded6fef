//! The tables for a terminal.

use std::fmt::Write;

use super::document::{Document, Heading, Table, document};
use super::table::GAP;
use super::{Input, Reporter};
use crate::results::ResultFile;

/// The row of the table of reporters.
pub const REPORTER: Reporter = Reporter { name: "text", about: "tables for a terminal", render: report };

/// The tables that `pcb-run` prints.
pub fn render(files: &[&ResultFile]) -> String {
    report(&Input::unnamed(files))
}

fn report(inputs: &[Input]) -> String {
    let Document { head, tables, foot } = document(inputs);
    let mut out = lines(&head);
    for table in &tables {
        let _ = write!(out, "\n{}\n{}\n{}", table.title, lines(&table.about), grid(table));
        out.push_str(&lines(&table.notes));
    }
    let _ = write!(out, "\n{}", lines(&foot));
    out
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn grid(table: &Table) -> String {
    let widths = table.widths();
    let line = |cells: &[&str]| {
        let padded =
            cells.iter().zip(&table.headings).zip(&widths).map(|((cell, heading), &width)| pad(cell, heading, width));
        format!("{}\n", padded.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end())
    };
    let names: Vec<&str> = table.headings.iter().map(|heading| heading.name).collect();
    let rows = table.rows.iter().map(|row| line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    [line(&names)].into_iter().chain(rows).collect()
}

fn pad(cell: &str, heading: &Heading, width: usize) -> String {
    if heading.right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
}
