//! A comparison for programs: one JSON document with every row.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Comparison;

/// Version of the document. 1: first version.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    /// Gating rows by verdict.
    counts: Map<String, Value>,
    comparison: &'a Comparison,
}

/// The document, indented, with a newline at its end.
pub fn render(comparison: &Comparison) -> serde_json::Result<String> {
    let counts = comparison.counts().into_iter().map(|(verdict, count)| (verdict.to_string(), count.into())).collect();
    let document = Document { version: VERSION, counts, comparison };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
