//! A comparison as JUnit XML: a test case for each row, so that CI systems show verdicts as they show tests.

use std::fmt::Write;

use super::words::{Cells, head};
use super::{Comparison, Row, Verdict};

/// One test suite with a case for each gating row. Rows whose verdict is in `fail_on` are failures; those that gave no
/// answer and are none are skipped.
pub fn render(comparison: &Comparison, fail_on: &[Verdict]) -> String {
    let test = |row: &Row| {
        let cells = Cells::new(row);
        let track = row.case().map_or(String::new(), |case| case.track.to_string());
        TestCase {
            class: format!("pcb.{track}"),
            name: format!("{} {}", cells.case, cells.metric),
            failed: fail_on.contains(&row.verdict),
            skipped: !row.verdict.is_decided(),
            line: line(&cells),
            kind: cells.verdict,
            note: cells.note,
        }
    };
    let properties = head(comparison).into_iter().map(|(name, what)| (name.to_owned(), what)).collect();
    let cases = comparison.rows.iter().filter(|row| row.gates).map(test).collect();
    Suite { name: "pcb-compare", properties, cases }.render()
}

/// A suite of tests.
pub(crate) struct Suite {
    /// Its name.
    pub name: &'static str,
    /// What is told of it.
    pub properties: Vec<(String, String)>,
    /// Its tests.
    pub cases: Vec<TestCase>,
}

/// A test.
pub(crate) struct TestCase {
    /// Where it belongs.
    pub class: String,
    /// Its name.
    pub name: String,
    /// Whether it failed.
    pub failed: bool,
    /// Whether it gave no answer; of no weight where it failed.
    pub skipped: bool,
    /// Its verdict.
    pub kind: String,
    /// What came out, in a line.
    pub line: String,
    /// What a reader should know.
    pub note: String,
}

impl Suite {
    /// The document.
    pub fn render(&self) -> String {
        let failures = self.cases.iter().filter(|case| case.failed).count();
        let skips = self.cases.iter().filter(|case| case.skipped && !case.failed).count();
        let (name, count) = (self.name, self.cases.len());
        let counts = format!("name=\"{name}\" tests=\"{count}\" failures=\"{failures}\" errors=\"0\"");
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(out, "<testsuites {counts}>\n  <testsuite {counts} skipped=\"{skips}\">");
        out.push_str("    <properties>\n");
        for (name, what) in &self.properties {
            let _ = writeln!(out, "      <property name=\"{}\" value=\"{}\"/>", escaped(name), escaped(what));
        }
        out.push_str("    </properties>\n");
        self.cases.iter().for_each(|case| out.push_str(&case.render()));
        out.push_str("  </testsuite>\n</testsuites>\n");
        out
    }
}

impl TestCase {
    fn render(&self) -> String {
        let [class, name, kind, line, note] =
            [&self.class, &self.name, &self.kind, &self.line, &self.note].map(|text| escaped(text));
        let open = format!("    <testcase classname=\"{class}\" name=\"{name}\"");
        match (self.failed, self.skipped) {
            (true, _) => {
                format!(
                    "{open}>\n      <failure type=\"{kind}\" message=\"{line}\">{note}</failure>\n    </testcase>\n"
                )
            }
            (_, true) => format!("{open}>\n      <skipped message=\"{line}\"/>\n    </testcase>\n"),
            _ => format!("{open}>\n      <system-out>{line}</system-out>\n    </testcase>\n"),
        }
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
