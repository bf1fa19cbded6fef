//! One row for each run, with the header's config, versions and machine in every row. A null is an empty cell; maps
//! are JSON, and the config too. Without runs there is the line with the names of the columns alone.

use serde_json::Value;

use super::{Input, Reporter, columns};
use crate::results::ResultFile;

/// The row of the table of reporters.
pub const REPORTER: Reporter =
    Reporter { name: "csv", about: "one row for each run, config and machine included", render: report };

/// The rows of some files. The column `file` is empty: these files have no names.
pub fn render(files: &[&ResultFile]) -> String {
    report(&Input::unnamed(files))
}

fn report(inputs: &[Input]) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    // Writing into memory fails on rows of unequal length alone, and all have the same cells.
    let names = columns::names(inputs);
    if !names.is_empty() {
        let _ = out.write_record(names);
    }
    for row in columns::rows(inputs) {
        let _ = out.write_record(row.0.iter().map(|(_, value)| cell(value)));
    }
    String::from_utf8(out.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
