//! A comparison for a terminal or a log.

use std::fmt::Write;

use super::words::{COLUMNS, Cells, RIGHT, foot, head, shown};
use super::{Comparison, Verdict};

/// How to write it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// Colour the verdicts; they are words all the same.
    pub color: bool,
    /// Characters of a line, if it has an end: rows that do not fit then take several lines.
    pub width: Option<usize>,
    /// Show unchanged cases too.
    pub all: bool,
}

/// Spaces between two columns.
const GAP: &str = "  ";

/// Indent of what continues a row.
const INDENT: &str = "    ";

/// Head, rows, summary.
pub fn render(comparison: &Comparison, style: Style) -> String {
    let rows = shown(comparison, style.all);
    let cells: Vec<(Verdict, Cells)> = rows.iter().map(|row| (row.verdict, Cells::new(row))).collect();
    let mut out = String::new();
    for (name, what) in head(comparison) {
        let _ = writeln!(out, "{}", wrapped(&format!("{name:<6}  {what}"), "        ", style.width));
    }
    out.push('\n');
    if !cells.is_empty() {
        out.push_str(&grid(&cells, style));
        out.push('\n');
    }
    for line in foot(comparison, comparison.rows.len() - rows.len()) {
        let _ = writeln!(out, "{}", wrapped(&line, INDENT, style.width));
    }
    out
}

/// One line for each row; several where the columns do not fit.
fn grid(cells: &[(Verdict, Cells)], style: Style) -> String {
    let widths: Vec<usize> = (0..COLUMNS.len() - 1).map(|column| width(cells, column)).collect();
    let line: usize = widths.iter().sum::<usize>() + GAP.len() * (widths.len() - 1);
    let fits = style.width.is_none_or(|width| line <= width);
    let mut out = if fits { padded(&COLUMNS, &widths, &RIGHT) + "\n" } else { String::new() };
    for (verdict, cells) in cells {
        let paint = |text: String| if style.color { painted(&text, &cells.verdict, *verdict) } else { text };
        if fits {
            let columns = padded(&cells.all(), &widths, &RIGHT);
            match style.width {
                Some(width) if !cells.note.is_empty() && columns.chars().count() > width => {
                    let _ = writeln!(out, "{}", paint(padded(&cells.all()[..7], &widths, &RIGHT)));
                    let note = format!("{INDENT}{}", cells.note);
                    let _ = writeln!(out, "{}", wrapped(&note, INDENT, style.width));
                }
                _ => {
                    let _ = writeln!(out, "{}", paint(columns));
                }
            }
        } else {
            out.push_str(&paint(stacked(cells, style.width)));
        }
    }
    out
}

/// A row for a narrow terminal: verdict and case, then the numbers, then the note.
fn stacked(cells: &Cells, width: Option<usize>) -> String {
    let Cells { verdict, case, metric, base, new, ratio, p, note } = cells;
    let mut out = format!("{verdict}{GAP}{case}\n");
    let numbers = format!("{INDENT}{metric} {base} → {new}{GAP}ratio {ratio}{GAP}p {p}");
    let _ = writeln!(out, "{}", wrapped(&numbers, INDENT, width));
    if !note.is_empty() {
        let _ = writeln!(out, "{}", wrapped(&format!("{INDENT}{note}"), INDENT, width));
    }
    out
}

/// Rows of cells in columns under their names; numbers end at the right, and the last column has no width.
pub(crate) fn aligned<const N: usize>(names: &[&str; N], right: &[bool; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].as_str()).chain([names[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N - 1).map(width).collect();
    let rows = rows.iter().map(|row| padded(&row.each_ref().map(String::as_str), &widths, right));
    std::iter::once(padded(names, &widths, right)).chain(rows).map(|line| line + "\n").collect()
}

fn width(cells: &[(Verdict, Cells)], column: usize) -> usize {
    let cells = cells.iter().map(|(_, cells)| cells.all()[column]).chain([COLUMNS[column]]);
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// The cells in their columns; the last one, which has no width, as it is.
fn padded(cells: &[&str], widths: &[usize], right: &[bool]) -> String {
    let pad = |(column, cell): (usize, &&str)| match widths.get(column) {
        None => (*cell).to_owned(),
        Some(&width) if right[column] => format!("{cell:>width$}"),
        Some(&width) => format!("{cell:<width$}"),
    };
    let cells: Vec<String> = cells.iter().enumerate().map(pad).collect();
    cells.join(GAP).trim_end().to_owned()
}

/// The line with its verdict, which it starts with, in colour.
fn painted(line: &str, word: &str, verdict: Verdict) -> String {
    let color = match verdict {
        Verdict::Regressed => 31,
        Verdict::Improved => 32,
        Verdict::NotComparable | Verdict::Missing | Verdict::Inconclusive => 33,
        Verdict::SlowerBelowMargin | Verdict::FasterBelowMargin => 36,
        Verdict::Unchanged => 2,
    };
    match line.strip_prefix(word) {
        Some(rest) => format!("\x1b[{color}m{word}\x1b[0m{rest}"),
        None => line.to_owned(),
    }
}

/// The line broken at spaces, so that no part is wider than it may be unless one word is.
fn wrapped(line: &str, indent: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| line.chars().count() > *width) else { return line.to_owned() };
    let (mut out, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if used + length > width && used > indent.len() {
            out.truncate(out.trim_end().len());
            let _ = write!(out, "\n{indent}");
            used = indent.len();
        }
        out.push_str(word);
        used += word.chars().count();
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_at_spaces() {
        assert_eq!(wrapped("one two three", "  ", Some(8)), "one two\n  three");
        assert_eq!(wrapped("  one-very-long-word x", "  ", Some(8)), "  one-very-long-word\n  x");
        assert_eq!(wrapped("one two three", "  ", None), "one two three");
    }
}
