//! Result files made up for tests.

use std::path::Path;

use pcb::case::Case;
use pcb::compare::{Comparison, Inputs, Row, Settings, compare};
use pcb::environment::Environment;
use pcb::results::view::{self, FileView};
use pcb::results::{BuildInfo, Header, Outcome, PhaseStats, ResultFile, Run, VERSION};
use pcb_protocol::Opened;

/// A warm case of format `name`.
pub fn warm(name: &str) -> String {
    format!("getitem/smoke/{name}/object/random/all.128x128.u16/none/native/warm")
}

/// A cold case of format `name`.
pub fn cold(name: &str) -> String {
    format!("getitem/smoke/{name}/object/random/all.128x128.u16/none/native/cold")
}

/// The id of the overhead case.
pub const NULL: &str = "null/-/-/-/-/-/-/native/asis";

/// A file with one build.
pub fn file(runs: Vec<Run>) -> ResultFile {
    ResultFile { header: header(&["default"]), runs }
}

/// A file with two builds.
pub fn ab(runs: Vec<Run>) -> ResultFile {
    ResultFile { header: header(&["base", "new"]), runs }
}

fn header(builds: &[&str]) -> Header {
    let build = |name: &&str| BuildInfo {
        name: (*name).to_owned(),
        versions: [("version", "0.1.0"), ("commit", "0123abc")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
    };
    Header {
        version: VERSION,
        complete: true,
        started: "2026-01-02T03:04:05Z".to_owned(),
        seed: 7,
        repeats: 5,
        plan_digest: "p".repeat(64),
        builds: builds.iter().map(build).collect(),
        config: String::new(),
        datasets: [("smoke".to_owned(), "d".repeat(64))].into(),
        environment: Environment {
            cpu: "Example CPU".to_owned(),
            usable_cpus: 8,
            cpus: 16,
            ram_bytes: 64 << 30,
            kernel: "6.18.0".to_owned(),
            os: "Linux".to_owned(),
            details: [("governor".to_owned(), "performance".to_owned())].into(),
        },
        pruned: Vec::new(),
    }
}

/// One run for each value, in consecutive blocks. Every time of it follows from the value, in ns: the median sample is
/// the value, the first pass took 1,000 times as long.
pub fn runs(case: &str, values: &[f64]) -> Vec<Run> {
    values.iter().zip(0..).map(|(&value, block)| run(case, "default", block, value)).collect()
}

/// One run.
pub fn run(case: &str, build: &str, block: u32, value: f64) -> Run {
    let case: Case = case.parse().expect("a case id");
    let phase = PhaseStats {
        samples: 1000,
        total_ns: (value * 1000.0) as u64,
        min_ns: value / 2.0,
        p50_ns: Some(value),
        p95_ns: Some(value * 1.5),
        p99_ns: Some(value * 2.0),
        max_ns: value * 3.0,
        histogram: None,
        series: None,
    };
    let steady = (case.state == pcb_protocol::State::Warm).then(|| phase.clone());
    Run {
        index_digest: case.target.as_ref().map(|_| "i".repeat(64)),
        case,
        build: build.to_owned(),
        block,
        position: 0,
        started: "2026-01-02T03:04:05Z".to_owned(),
        outcome: Outcome::Ok,
        flags: Vec::new(),
        hello_ns: Some(20_000_000),
        armed_ns: Some(40_000_000),
        open: Some(Opened { ns: (value * 10.0) as u64, rss_bytes: 4096, read_bytes: 128, device_bytes: 0 }),
        first: Some(phase),
        warmup: None,
        rate: steady.as_ref().map(|_| 1e9 / value),
        steady,
        first_sample_ns: Some((value * 20.0) as u64),
        warmup_cost_ns: None,
        class: None,
        stages: Vec::new(),
        counters: None,
        items_per_sample: 1,
        bytes_per_sample: 32_768,
        index_len: 1000,
        kept_checked: 8,
        amplification: None,
        touched_share: None,
        before: None,
        after: None,
        noise: None,
        log_tail: String::new(),
    }
}

/// Five values around `center` that vary by about `spread` of it.
pub fn around(center: f64, spread: f64) -> [f64; 5] {
    [-1.2, 0.9, 0.1, -0.4, 0.6].map(|z| center * (spread * z).exp())
}

/// Writes a file and reads its slim view back.
pub fn view(file: &ResultFile) -> FileView {
    let folder = tempfile::tempdir().expect("a temporary folder");
    view::read(&written(folder.path(), "file.json", file)).expect("the file just written")
}

/// Writes a file into a folder.
pub fn written(folder: &Path, name: &str, file: &ResultFile) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, serde_json::to_vec(file).expect("a result file")).expect("a writable folder");
    path
}

/// Compares two files.
pub fn compared_as(base: &ResultFile, new: &ResultFile, settings: &Settings) -> Comparison {
    let (base, new) = (view(base), view(new));
    let inputs = Inputs::files(("base.json", &base), ("new.json", &new)).expect("one build each");
    compare(&inputs, settings).expect("unambiguous cases")
}

/// Compares two files with one case each.
pub fn row(base: &ResultFile, new: &ResultFile) -> Row {
    let comparison = compared_as(base, new, &Settings::default());
    assert_eq!(comparison.rows.len(), 1, "{:?}", comparison.rows);
    comparison.rows.into_iter().next().expect("one row")
}
