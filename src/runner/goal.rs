//! When a case has been measured often enough. Pure.

use std::collections::BTreeMap;

use crate::case::Case;
use crate::config::LEAST_BLOCKS;
use crate::results::Run;
use crate::stats;

/// A wanted precision, and the runs so far.
pub struct Goal {
    /// Half width that the interval of each case may have, as a share of its center.
    precision: f64,
    builds: usize,
    /// Headline of each run, by case and build.
    values: BTreeMap<String, BTreeMap<String, Vec<f64>>>,
}

impl Goal {
    /// A goal of a plan with so many builds; none where no precision is wanted.
    pub fn new(precision: Option<f64>, builds: usize) -> Option<Self> {
        precision.map(|precision| Self { precision, builds, values: BTreeMap::new() })
    }

    /// Counts a run.
    pub fn add(&mut self, run: &Run) {
        if let Some(value) = run.headline() {
            let case = self.values.entry(run.case.to_string()).or_default();
            case.entry(run.build.clone()).or_default().push(value);
        }
    }

    /// Whether a case need not be run again in this block: the interval of every build is narrow enough.
    pub fn reached(&self, case: &Case, block: u32) -> bool {
        let precise = |values: &Vec<f64>| {
            let summary = stats::summarize(values).filter(|summary| summary.n >= LEAST_BLOCKS as usize);
            summary.and_then(|summary| summary.precision()).is_some_and(|precision| precision <= self.precision)
        };
        let builds = self.values.get(&case.to_string());
        block >= LEAST_BLOCKS
            && builds.is_some_and(|builds| builds.len() == self.builds && builds.values().all(precise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Step;
    use crate::results::{Outcome, PhaseStats};

    const ID: &str = "getitem/d/npy:mmap/site/random/all.8x8.u16/none/native/warm";

    fn run(build: &str, p50: f64) -> Run {
        let step = Step { block: 0, position: 0, case: 0, build: 0 };
        let case = ID.parse().expect("an id");
        let steady: PhaseStats = serde_json::from_value(serde_json::json!({
            "samples": 1000, "total_ns": 1, "min_ns": p50, "p50_ns": p50, "p95_ns": null, "p99_ns": null, "max_ns": p50,
        }))
        .expect("statistics");
        Run { steady: Some(steady), ..super::super::row::without_run(&case, build, step, Outcome::Ok) }
    }

    #[test]
    fn a_case_is_done_when_every_build_is_precise() {
        let mut goal = Goal::new(Some(0.02), 2).expect("a goal");
        let case = ID.parse().expect("an id");
        for value in [100.0, 101.0, 99.0, 100.5, 99.5, 100.0] {
            goal.add(&run("base", value));
        }
        assert!(!goal.reached(&case, 6), "new was not measured");
        for value in [100.0, 101.0, 99.0, 100.5, 99.5] {
            goal.add(&run("new", value));
        }
        assert!(!goal.reached(&case, 6), "five runs have no distribution-free interval");
        goal.add(&run("new", 100.0));
        assert!(goal.reached(&case, 6));
        assert!(!goal.reached(&case, 5), "six blocks at least");
        assert!(Goal::new(None, 1).is_none());
    }

    #[test]
    fn noise_and_failures_are_not_precise() {
        let mut goal = Goal::new(Some(0.02), 1).expect("a goal");
        let case = ID.parse().expect("an id");
        for value in [100.0, 120.0, 80.0, 100.5, 99.5, 100.0] {
            goal.add(&run("default", value));
        }
        assert!(!goal.reached(&case, 6));
        let failed = Outcome::Failed { message: String::new() };
        (0..6).for_each(|_| goal.add(&Run { outcome: failed.clone(), ..run("default", 100.0) }));
        assert_eq!(goal.values[ID]["default"].len(), 6, "what failed has no number");
    }
}
