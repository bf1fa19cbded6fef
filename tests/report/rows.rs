//! The rows that programs read.

use insta::assert_snapshot;
use pcb::results::{Flag, Outcome, ResultFile};
use serde_json::Value;

use crate::files::{cold, ended, file, id, null, report, warm};

fn every_kind() -> ResultFile {
    let mut flagged = warm(&id("npy:mmap/object/random", "warm"), 12);
    flagged.flags = vec![Flag::NotSteady, Flag::FirstCapped];
    flagged.log_tail = "a warning, with \"quotes\"\nand two lines".to_owned();
    let failed = Outcome::Failed { message: "it, broke".to_owned() };
    file(vec![
        flagged,
        cold(&id("npy:mmap/object/random", "cold"), 2, 80),
        ended(&id("png:8bit/object/random", "warm"), failed),
        null(43),
    ])
}

#[test]
fn a_row_has_every_column() {
    let text = report("jsonl", &every_kind());
    let first: Value = serde_json::from_str(text.lines().next().expect("a row")).expect("JSON");
    let names: Vec<&str> = text.lines().next().map(|line| line.split('"').collect()).unwrap_or_default();
    assert!(names.contains(&"steady_p50_ns") && first["steady_p50_ns"].is_f64());
    assert_snapshot!("columns", columns(&every_kind()));
}

/// Each column with its cells in all rows: a snapshot that can be read.
fn columns(file: &ResultFile) -> String {
    let text = report("csv", file);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().expect("names").clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let line = |(place, name): (usize, &str)| {
        let cells: Vec<_> = rows.iter().map(|row| row[place].replace('\n', "\\n")).collect();
        format!("{name} = {}\n", cells.join(" ; "))
    };
    names.iter().enumerate().map(line).collect()
}

#[test]
fn csv_and_json_lines_say_the_same() {
    let file = every_kind();
    let (csv_text, jsonl) = (report("csv", &file), report("jsonl", &file));
    let mut reader = csv::Reader::from_reader(csv_text.as_bytes());
    let names = reader.headers().expect("names").clone();
    let mut count = 0;
    for (record, line) in reader.records().zip(jsonl.lines()) {
        let object: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(object.as_object().map(serde_json::Map::len), Some(names.len()));
        for (name, cell) in names.iter().zip(&record.expect("a row")) {
            let shown = match &object[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            // Reading a float back from JSON may lose its last digit.
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs();
            let equal = matches!((cell.parse(), shown.parse()), (Ok(a), Ok(b)) if near(a, b));
            assert!(cell == shown || equal, "{name}: {cell} and {shown}");
        }
        count += 1;
    }
    assert_eq!(count, file.runs.len());
}

#[test]
fn without_runs_there_are_names_alone() {
    let names = |file: &ResultFile| report("csv", file).lines().next().map(str::to_owned);
    let empty = report("csv", &file(Vec::new()));
    assert_eq!((empty.lines().count(), empty.lines().next().map(str::to_owned)), (1, names(&every_kind())));
}

#[test]
fn a_config_is_one_line_and_what_is_not_toml_stays_as_it_is() {
    let mut file = every_kind();
    let config = |file: &ResultFile| -> Value {
        let text = report("jsonl", file);
        serde_json::from_str::<Value>(text.lines().next().expect("a row")).expect("JSON")["config"].clone()
    };
    assert_eq!(config(&file), serde_json::json!({ "repeats": 5, "name": "a, b" }));
    file.header.config = "not = = toml".to_owned();
    assert_eq!(config(&file), "not = = toml");
}
