//! The tables as GitHub Markdown.

use std::fmt::Write;

use super::document::{Document, Table, document};
use super::{Input, Reporter};

/// The row of the table of reporters.
pub const REPORTER: Reporter = Reporter { name: "markdown", about: "tables as GitHub Markdown", render: report };

fn report(inputs: &[Input]) -> String {
    let Document { head, tables, foot } = document(inputs);
    let mut out = list(&head);
    for table in &tables {
        let _ =
            write!(out, "\n### {}\n\n{}\n\n{}", escaped(&table.title), escaped(&table.about.join("; ")), grid(table));
        if !table.notes.is_empty() {
            let _ = write!(out, "\n{}", list(&table.notes));
        }
    }
    let _ = write!(out, "\n{}", list(&foot));
    out
}

fn list(lines: &[String]) -> String {
    let item = |line: &String| {
        let indent = if line.starts_with(' ') { "  " } else { "" };
        format!("{indent}- {}\n", escaped(line.trim_start()))
    };
    lines.iter().map(item).collect()
}

fn grid(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let names = row(table.headings.iter().map(|heading| heading.name.to_owned()).collect());
    let rule =
        row(table.headings.iter().map(|heading| if heading.right { "---:" } else { "---" }.to_owned()).collect());
    let rows = table.rows.iter().map(|cells| row(cells.iter().map(|cell| escaped(cell)).collect()));
    [names, rule].into_iter().chain(rows).collect()
}

/// Messages come from anywhere: none of them may end a cell or turn into markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let link = letter == '(' && out.ends_with(']');
        if link || matches!(letter, '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '~') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}
