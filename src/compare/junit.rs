//! A comparison as JUnit XML: a test case for each row, so that CI systems show verdicts as they show tests.

use std::fmt::Write;

use super::words::{Cells, head};
use super::{Comparison, Row, Verdict};

/// One test suite with a case for each gating row. Rows whose verdict is in `fail_on` are failures; those that gave no
/// answer and are none are skipped.
pub fn render(comparison: &Comparison, fail_on: &[Verdict]) -> String {
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.gates).collect();
    let failed = |row: &&&Row| fail_on.contains(&row.verdict);
    let skipped = |row: &&&Row| !failed(row) && !row.verdict.is_decided();
    let (failures, skips) = (rows.iter().filter(failed).count(), rows.iter().filter(skipped).count());
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let count = rows.len();
    let _ = writeln!(out, "<testsuites name=\"pcb-compare\" tests=\"{count}\" failures=\"{failures}\" errors=\"0\">");
    let _ = writeln!(
        out,
        "  <testsuite name=\"pcb-compare\" tests=\"{count}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skips}\">"
    );
    out.push_str("    <properties>\n");
    for (name, what) in head(comparison) {
        let _ = writeln!(out, "      <property name=\"{}\" value=\"{}\"/>", escaped(name), escaped(&what));
    }
    out.push_str("    </properties>\n");
    for row in &rows {
        out.push_str(&test_case(row, failed(&row), skipped(&row)));
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn test_case(row: &Row, failed: bool, skipped: bool) -> String {
    let cells = Cells::new(row);
    let track = row.case().map_or(String::new(), |case| case.track.to_string());
    let name = escaped(&format!("{} {}", cells.case, cells.metric));
    let line = escaped(&line(&cells));
    let open = format!("    <testcase classname=\"pcb.{}\" name=\"{name}\"", escaped(&track));
    let (verdict, note) = (escaped(&cells.verdict), escaped(&cells.note));
    match (failed, skipped) {
        (true, _) => {
            format!("{open}>\n      <failure type=\"{verdict}\" message=\"{line}\">{note}</failure>\n    </testcase>\n")
        }
        (_, true) => format!("{open}>\n      <skipped message=\"{line}\"/>\n    </testcase>\n"),
        _ => format!("{open}>\n      <system-out>{line}</system-out>\n    </testcase>\n"),
    }
}

/// `regressed: p50 12.3 µs → 15.1 µs, ratio 1.23 [1.20, 1.26], p 0.001; note`.
pub(super) fn line(cells: &Cells) -> String {
    let Cells { verdict, metric, base, new, ratio, p, note, .. } = cells;
    let note = if note.is_empty() { String::new() } else { format!("; {note}") };
    if ratio == "-" {
        return format!("{verdict}{note}");
    }
    format!("{verdict}: {metric} {base} → {new}, ratio {ratio}, p {p}{note}")
}

/// Text as XML may hold it: markup escaped, and no control characters, which no XML 1.0 may have even escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push(' '),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_cannot_break_the_document() {
        assert_eq!(escaped("a<b> & \"c\"\n\u{1b}[0m"), "a&lt;b&gt; &amp; &quot;c&quot; \u{fffd}[0m");
    }
}
