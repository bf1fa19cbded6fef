//! A report for programs: one JSON document with every row.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Report;

/// Version of the document. 1: first version.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    /// Rows by verdict.
    counts: Map<String, Value>,
    report: &'a Report,
}

/// The document, indented, with a newline at its end.
pub fn render(report: &Report) -> serde_json::Result<String> {
    let counts = report.counts().into_iter().map(|(verdict, count)| (verdict.to_string(), count.into())).collect();
    Ok(serde_json::to_string_pretty(&Document { version: VERSION, counts, report })? + "\n")
}
