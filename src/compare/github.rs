//! A comparison as GitHub workflow commands: an annotation for each row that says something. The job summary is
//! [`super::markdown`].

use std::fmt::Write;

use super::junit::line;
use super::words::Cells;
use super::{Comparison, Verdict};

/// GitHub shows ten annotations of each kind and step, and says nothing of the rest.
const MOST: usize = 10;

/// One command a line: `::error` for verdicts in `fail_on`, `::warning` for other changes and rows without an answer,
/// `::notice` for improvements. Unchanged rows have none.
pub fn render(comparison: &Comparison, fail_on: &[Verdict]) -> String {
    let rows = comparison.rows.iter().filter(|row| row.gates);
    let told = rows.filter_map(|row| {
        let cells = Cells::new(row);
        Some((level(row.verdict, fail_on)?, line(&cells), cells.case))
    });
    commands("pcb-compare", &told.collect::<Vec<_>>())
}

/// The commands for rows of (kind, what is said, title): of each kind no more than GitHub shows, and how many are left.
pub(crate) fn commands(program: &str, rows: &[(&'static str, String, String)]) -> String {
    let mut out = String::new();
    for kind in ["error", "warning", "notice"] {
        let rows: Vec<_> = rows.iter().filter(|(of, ..)| *of == kind).collect();
        let told = if rows.len() > MOST { MOST - 1 } else { rows.len() };
        for (_, line, title) in &rows[..told] {
            let _ = writeln!(out, "::{kind} title={}::{}", property(title), message(line));
        }
        if told < rows.len() {
            let rest = rows.len() - told;
            let _ = writeln!(out, "::{kind} title={program}::{rest} more rows like these; the job summary has all");
        }
    }
    out
}

fn level(verdict: Verdict, fail_on: &[Verdict]) -> Option<&'static str> {
    match verdict {
        _ if fail_on.contains(&verdict) => Some("error"),
        Verdict::Unchanged => None,
        Verdict::Improved | Verdict::FasterBelowMargin => Some("notice"),
        Verdict::Regressed
        | Verdict::SlowerBelowMargin
        | Verdict::NotComparable
        | Verdict::Missing
        | Verdict::Inconclusive => Some("warning"),
    }
}

/// Escapes as the runner's toolkit does for messages.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes as the runner's toolkit does for properties, which colons and commas would end.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_message_starts_another_command() {
        assert_eq!(message("a\n::error::b 5%"), "a%0A::error::b 5%25");
        assert_eq!(property("npy:mmap,x"), "npy%3Ammap%2Cx");
    }
}
