//! A comparison as GitHub Markdown.

use std::fmt::Write;

use super::Comparison;
use super::words::{COLUMNS, Cells, RIGHT, foot, head, shown};

/// Head, rows, summary.
pub fn render(comparison: &Comparison, all: bool) -> String {
    let rows = shown(comparison, all);
    let mut out = String::new();
    for (name, what) in head(comparison) {
        let _ = writeln!(out, "- {name}: {}", escaped(&what));
    }
    if !rows.is_empty() {
        let rule = RIGHT.map(|right| if right { "---:" } else { "---" });
        let _ = writeln!(out, "\n| {} |\n| {} |", COLUMNS.join(" | ").trim_end(), rule.join(" | "));
    }
    for row in &rows {
        let _ = writeln!(out, "| {} |", Cells::new(row).all().map(escaped).join(" | "));
    }
    for line in foot(comparison, comparison.rows.len() - rows.len()) {
        let _ = writeln!(out, "\n**{line}**");
    }
    out
}

/// Messages come from anywhere: none of them may end a cell or turn into markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push(' '),
            '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '~' | '#' => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}
