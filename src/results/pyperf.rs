//! Files of pyperf, as if pcb had measured them: each process is a run, each benchmark a case of the track `pyperf`.
//!
//! Format: <https://pyperf.readthedocs.io/en/latest/api.html#pyperf-json>. Metadata that all runs of a benchmark or of
//! the file share stand in the benchmark or the file; those of a run win.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::view::{FileView, PhaseView, RunView, SamplesIn};
use super::{BuildInfo, Header, Outcome, ReadError, VERSION};
use crate::case::Case;
use crate::environment::{Environment, NOT_EXPOSED};

/// The document, as far as comparing needs it.
#[derive(Deserialize)]
struct Suite {
    /// `1.0`; older ones have a number.
    version: Value,
    #[serde(default)]
    metadata: Map<String, Value>,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    metadata: Map<String, Value>,
    runs: Vec<Process>,
}

/// One process: calibrations have no values.
#[derive(Deserialize)]
struct Process {
    #[serde(default)]
    metadata: Map<String, Value>,
    /// (loops, value) in the unit of the values.
    #[serde(default)]
    warmups: Vec<(u64, f64)>,
    #[serde(default)]
    values: Vec<f64>,
}

/// The text of a pyperf file; `None` for another text.
pub(super) fn parse(path: &Path, text: &[u8]) -> Option<Result<FileView, ReadError>> {
    #[derive(Deserialize)]
    struct Peek {
        #[serde(rename = "benchmarks")]
        _benchmarks: Vec<serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Peek>(text).ok()?;
    let broken = |problem| ReadError::Broken { path: path.to_owned(), problem };
    let suite = serde_json::from_slice::<Suite>(text).map_err(|e| broken(format!("a pyperf file: {e}")));
    Some(suite.and_then(|suite| view(&suite).map_err(broken)))
}

fn view(suite: &Suite) -> Result<FileView, String> {
    match &suite.version {
        Value::String(version) if version.starts_with("1.") => {}
        other => {
            return Err(format!("pyperf format version {other}; expected \"1.0\": convert it with pyperf convert"));
        }
    }
    let (mut cases, mut runs) = (Vec::new(), Vec::new());
    for benchmark in &suite.benchmarks {
        let shared = |key: &str| benchmark.metadata.get(key).or_else(|| suite.metadata.get(key));
        let name = shared("name").and_then(Value::as_str).unwrap_or("unnamed");
        if let Some(unit) = shared("unit").and_then(Value::as_str).filter(|unit| *unit != "second") {
            return Err(format!("benchmark {name:?} measures in {unit}; pcb compares times"));
        }
        let case = Case::pyperf(name);
        if cases.contains(&case) {
            return Err(format!("two benchmarks are called {name:?}"));
        }
        cases.push(case);
        let processes = benchmark.runs.iter().filter(|process| !process.values.is_empty());
        for (block, process) in processes.enumerate() {
            runs.push(run(cases.len() - 1, block as u32, process).ok_or_else(|| {
                format!("benchmark {name:?}, process {}: a value that is no positive time", block + 1)
            })?);
        }
    }
    Ok(FileView { header: header(suite), cases, runs, text: Arc::default() })
}

fn run(case: usize, block: u32, process: &Process) -> Option<RunView> {
    let warmups: Vec<f64> = process.warmups.iter().map(|(_, value)| *value).collect();
    let first = if warmups.is_empty() { None } else { Some(phase(&warmups)?) };
    let steady = Some(phase(&process.values)?);
    Some(RunView {
        case,
        build: 0,
        block,
        outcome: Outcome::Ok,
        flags: Vec::new(),
        open: None,
        first,
        steady,
        rate: None,
        first_sample_ns: None,
        bytes_per_sample: 0,
        index_digest: None,
    })
}

/// Statistics of values in seconds. The few values of a process have no tail quantiles.
fn phase(seconds: &[f64]) -> Option<PhaseView> {
    if seconds.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    let mut ns: Vec<f64> = seconds.iter().map(|value| value * 1e9).collect();
    ns.sort_by(f64::total_cmp);
    let middle = ns.len() / 2;
    let median = if ns.len() % 2 == 1 { ns[middle] } else { (ns[middle - 1] + ns[middle]) / 2.0 };
    let total_ns = ns.iter().sum::<f64>().round() as u64;
    let samples = ns.len() as u64;
    let samples_in = SamplesIn::Values(ns.into());
    Some(PhaseView { samples, total_ns, p50_ns: Some(median), p95_ns: None, p99_ns: None, samples_in })
}

/// What pyperf knows of the machine and the interpreter. Its metadata stand in the suite, or all in its benchmarks.
fn header(suite: &Suite) -> Header {
    let benchmarks = || suite.benchmarks.iter();
    let places = || {
        let inner = benchmarks().flat_map(|b| std::iter::once(&b.metadata).chain(b.runs.iter().map(|r| &r.metadata)));
        std::iter::once(&suite.metadata).chain(inner)
    };
    let find = |key: &str| places().find_map(|metadata| metadata.get(key));
    let text = |key: &str| find(key).and_then(Value::as_str).unwrap_or(NOT_EXPOSED).to_owned();
    let cpus = find("cpu_count").and_then(Value::as_u64).unwrap_or(0) as u32;
    let versions = ["python_version", "python_implementation", "perf_version"].map(|key| (key.to_owned(), text(key)));
    let details = ["cpu_config", "cpu_affinity", "aslr", "hostname"].map(|key| (key.to_owned(), text(key)));
    Header {
        version: VERSION,
        started: text("date"),
        complete: true,
        seed: 0,
        repeats: benchmarks().map(|benchmark| benchmark.runs.len()).max().unwrap_or(0) as u32,
        plan_digest: String::new(),
        builds: vec![BuildInfo { name: "pyperf".to_owned(), versions: BTreeMap::from(versions) }],
        config: String::new(),
        datasets: BTreeMap::new(),
        environment: Environment {
            cpu: text("cpu_model_name"),
            usable_cpus: cpus,
            cpus,
            ram_bytes: 0,
            kernel: text("platform"),
            os: NOT_EXPOSED.to_owned(),
            details: BTreeMap::from(details),
        },
        pruned: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Result<FileView, String>> {
        parse(Path::new("p.json"), text.as_bytes()).map(|result| result.map_err(|e| e.to_string()))
    }

    #[test]
    fn processes_are_runs_and_calibrations_are_not() {
        let text = r#"{"version":"1.0","metadata":{"name":"a"},"benchmarks":[{"runs":[
            {"warmups":[[1, 2.0]]},
            {"warmups":[[1, 2.0]],"values":[3e-6, 1e-6]},
            {"values":[5e-6]}]}]}"#;
        let file = parsed(text).expect("a pyperf file").expect("sound");
        assert_eq!(file.cases, [Case::pyperf("a")]);
        let p50: Vec<f64> = file.runs.iter().filter_map(|run| run.steady.as_ref()?.p50_ns).collect();
        assert_eq!(p50.len(), 2);
        assert!((p50[0] - 2000.0).abs() < 1e-6 && (p50[1] - 5000.0).abs() < 1e-6, "{p50:?}");
    }

    #[test]
    fn what_cannot_be_compared_is_said() {
        assert!(parsed("{}").is_none());
        for (text, words) in [
            (r#"{"version":3,"benchmarks":[]}"#, "pyperf convert"),
            (r#"{"version":"1.0","benchmarks":[{"metadata":{"unit":"byte"},"runs":[]}]}"#, "byte"),
            (r#"{"version":"1.0","benchmarks":[{"runs":[{"values":[0.0]}]}]}"#, "no positive time"),
            (r#"{"version":"1.0","benchmarks":[{"runs":[]},{"runs":[]}]}"#, "two benchmarks"),
            (r#"{"version":"1.0","benchmarks":[{"runs":7}]}"#, "pyperf file"),
        ] {
            let error = parsed(text).expect("a pyperf file").expect_err("unsound");
            assert!(error.contains(words), "{error}");
        }
    }
}
