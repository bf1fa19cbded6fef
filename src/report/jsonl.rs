//! The rows of `csv` as JSON Lines: numbers are numbers, maps are maps, what is missing is null.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Input, Reporter, columns};

/// The row of the table of reporters.
pub const REPORTER: Reporter =
    Reporter { name: "jsonl", about: "the rows of csv as JSON, one object a line", render: report };

fn report(inputs: &[Input]) -> String {
    columns::rows(inputs).filter_map(|row| serde_json::to_string(&Ordered(row)).ok()).map(|line| line + "\n").collect()
}

/// An object that keeps the order of the columns.
struct Ordered(columns::Row);

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.0.len()))?;
        for (name, value) in &self.0.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
