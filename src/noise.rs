//! The noise floor: how far two measurements of one build lie apart on this machine, from A/A measurements on several days.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::output;
use crate::stats::quantile;

/// Version of the file. 1: first version.
pub const SCHEMA: u32 = 1;

/// Days under which there is no floor.
pub const LEAST_DAYS: usize = 5;

/// Quantile of the differences that the floor is.
pub const QUANTILE: f64 = 0.95;

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseFile {
    /// Version of this layout, 1.
    pub schema: u32,
    /// A/A measurements, in the order made.
    pub measurements: Vec<Measurement>,
}

/// One A/A measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// When it started, RFC 3339 in UTC.
    pub when: String,
    /// The machine: CPU, CPUs that may be used, kernel.
    pub machine: String,
    /// Log ratio of the two sides, by case id.
    pub cases: BTreeMap<String, f64>,
}

/// A noise file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NoiseError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// Another text.
    #[error("{}: no noise file of version {SCHEMA}: {problem}; pcb-run --aa writes one", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// What of a machine must be the same for its noise to be.
pub fn machine(environment: &Environment) -> String {
    format!("{}, {} CPUs, kernel {}", environment.cpu, environment.usable_cpus, environment.kernel)
}

/// Reads a noise file.
pub fn read(path: &Path) -> Result<NoiseFile, NoiseError> {
    let text = std::fs::read(path).map_err(|source| NoiseError::Io { path: path.to_owned(), source })?;
    let broken = |problem: String| NoiseError::Broken { path: path.to_owned(), problem };
    let file: NoiseFile = serde_json::from_slice(&text).map_err(|e| broken(e.to_string()))?;
    match file.schema {
        SCHEMA => Ok(file),
        other => Err(broken(format!("it says schema {other}"))),
    }
}

/// Adds a measurement to a file, which is made if it is missing.
pub fn add(path: &Path, measurement: Measurement) -> anyhow::Result<NoiseFile> {
    let mut file = match read(path) {
        Ok(file) => file,
        Err(NoiseError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            NoiseFile { schema: SCHEMA, measurements: Vec::new() }
        }
        Err(error) => return Err(error.into()),
    };
    file.measurements.push(measurement);
    output::text_file(path, true, &(serde_json::to_string_pretty(&file)? + "\n"))?;
    Ok(file)
}

impl NoiseFile {
    /// The floor of each case on a machine, as a log ratio: the 95 % quantile of |log ratio| over days. Of each day the last
    /// measurement counts; a case has no floor under five days. With so few days the quantile lies between the two largest
    /// differences: it is a floor against calling noise a change, not an estimate of the noise.
    pub fn floors(&self, machine: &str) -> BTreeMap<String, f64> {
        let mut days: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for measurement in self.measurements.iter().filter(|measurement| measurement.machine == machine) {
            let day = measurement.when.get(..10).unwrap_or(&measurement.when);
            for (case, log) in &measurement.cases {
                days.insert((case, day), log.abs());
            }
        }
        let cases: BTreeSet<&str> = days.keys().map(|(case, _)| *case).collect();
        let floor = |case: &str| {
            let logs: Vec<f64> = days.iter().filter(|((other, _), _)| *other == case).map(|(_, log)| *log).collect();
            if logs.len() < LEAST_DAYS { None } else { quantile(&logs, QUANTILE) }
        };
        cases.into_iter().filter_map(|case| Some((case.to_owned(), floor(case)?))).collect()
    }

    /// Days on which a machine was measured.
    pub fn days(&self, machine: &str) -> usize {
        let here = self.measurements.iter().filter(|measurement| measurement.machine == machine);
        here.map(|measurement| measurement.when.get(..10).unwrap_or(&measurement.when)).collect::<BTreeSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: u32, log: f64, machine: &str) -> Measurement {
        let cases = BTreeMap::from([("a".to_owned(), log)]);
        Measurement { when: format!("2026-01-{day:02}T03:00:00Z"), machine: machine.to_owned(), cases }
    }

    #[test]
    fn a_floor_takes_five_days_of_one_machine() {
        let days = |n: u32| (1..=n).map(|i| day(i, 0.01 * f64::from(i) * if i % 2 == 0 { -1.0 } else { 1.0 }, "m"));
        let file = |measurements: Vec<Measurement>| NoiseFile { schema: SCHEMA, measurements };
        assert!(file(days(4).collect()).floors("m").is_empty());
        let twice_a_day = days(4).chain(days(4)).collect();
        assert!(file(twice_a_day).floors("m").is_empty(), "eight measurements on four days");
        let five = file(days(5).collect());
        assert!((five.floors("m")["a"] - 0.048).abs() < 1e-12, "0.04 + 0.8 of the way to 0.05");
        assert!(five.floors("other").is_empty());
        assert_eq!(five.days("m"), 5);
    }

    #[test]
    fn a_file_grows_and_junk_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("noise.json");
        add(&path, day(1, 0.01, "m")).expect("made");
        assert_eq!(add(&path, day(2, 0.02, "m")).expect("added").measurements.len(), 2);
        assert_eq!(read(&path).expect("read").measurements.len(), 2);
        std::fs::write(&path, "{}").expect("written");
        let error = add(&path, day(3, 0.03, "m")).expect_err("junk").to_string();
        assert!(error.contains("noise.json") && error.contains("pcb-run --aa"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("still there"), "{}", "nothing is overwritten");
    }
}
