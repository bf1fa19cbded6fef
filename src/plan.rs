//! What will be run, in which order. Pure: the same inputs give the same plan.

mod expand;
mod order;

use sha2::{Digest, Sha256};

use crate::case::{Case, Track};
use crate::config::Config;
use crate::results::Pruned;
use pcb_protocol::State;
use std::time::Duration;

pub use expand::{Facts, PlanError, expand};

/// A resolved and ordered plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The cases, in the order of the config; `null` is the last.
    pub cases: Vec<Case>,
    /// Cases left out, with the reason.
    pub pruned: Vec<Pruned>,
    /// Names of the worker builds: one, or two for an A/B.
    pub builds: Vec<String>,
    /// Number of blocks; with `precision` at most so many.
    pub repeats: u32,
    /// Half width, as a share, of the interval with which a case is known well enough to be left out of further blocks.
    pub precision: Option<f64>,
    /// Seed of the order.
    pub seed: u64,
    /// SHA-256 over cases, builds, repeats, seed and config: equal digests, equal plans.
    pub digest: String,
}

/// One run of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Block, from 0.
    pub block: u32,
    /// Position in the block, from 0.
    pub position: u32,
    /// Index into [`Plan::cases`].
    pub case: usize,
    /// Index into [`Plan::builds`].
    pub build: usize,
}

impl Plan {
    /// Orders `cases` into blocks. `config` is what they came from.
    pub fn new(config: &Config, cases: Vec<Case>, pruned: Vec<Pruned>, builds: Vec<String>) -> Self {
        let digest = digest(config, &cases, &builds);
        let precision = (config.precision > 0.0).then_some(config.precision);
        let repeats = if precision.is_some() { config.max_repeats } else { config.repeats };
        Self { cases, pruned, builds, repeats, precision, seed: config.seed, digest }
    }

    /// The runs, in order. A block is made when it is reached: a plan may be huge.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        (0..self.repeats).flat_map(|block| order::block(self.seed, block, self.cases.len(), self.builds.len()))
    }

    /// Number of runs.
    pub fn runs(&self) -> u64 {
        u64::from(self.repeats).saturating_mul((self.cases.len() * self.builds.len()) as u64)
    }

    /// The time all runs will take, by the rules of the config; what a cold pass takes is a guess.
    pub fn estimate(&self, config: &Config) -> Duration {
        let once = self.cases.iter().map(|case| estimate(config, case)).fold(Duration::ZERO, Duration::saturating_add);
        let builds = u32::try_from(self.builds.len()).unwrap_or(u32::MAX);
        once.saturating_mul(self.repeats).saturating_mul(builds)
    }
}

/// The time one run of `case` will take.
pub fn estimate(config: &Config, case: &Case) -> Duration {
    const START: Duration = Duration::from_millis(500);
    const PASS: Duration = Duration::from_millis(500);
    if case.track == Track::Null {
        return Duration::from_millis(100);
    }
    match case.state {
        State::Cold => START + PASS,
        State::Warm | State::AsIs => {
            let windows = [config.warmup.min_time, config.steady.min_time, config.rate, config.stages];
            windows.iter().fold(START + PASS, |sum, window| sum.saturating_add(window.get()))
        }
    }
}

fn digest(config: &Config, cases: &[Case], builds: &[String]) -> String {
    let mut hash = Sha256::new();
    // How long we are willing to wait changes no number.
    let config = Config { timeout: Config::default().timeout, max_time: Config::default().max_time, ..config.clone() };
    hash.update(toml::to_string(&config).unwrap_or_default());
    for text in cases.iter().map(ToString::to_string).chain(builds.iter().cloned()) {
        hash.update(text);
        hash.update([0]);
    }
    format!("{:x}", hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64, builds: &[&str]) -> Plan {
        let config = Config { seed, repeats: 4, ..Config::default() };
        let cases = ["cold", "warm", "asis"]
            .map(|state| format!("getitem/d/npy:mmap/object/random/all.8x8.u16/none/native/{state}"))
            .iter()
            .map(|id| id.parse().expect("an id"))
            .collect();
        Plan::new(&config, cases, vec![], builds.iter().map(|b| (*b).to_owned()).collect())
    }

    #[test]
    fn every_block_has_every_case_of_every_build_once() {
        let plan = plan(7, &["base", "new"]);
        let steps: Vec<Step> = plan.steps().collect();
        assert_eq!((steps.len(), plan.runs()), (4 * 3 * 2, 4 * 3 * 2));
        for block in 0..4 {
            let mut seen: Vec<_> = steps.iter().filter(|s| s.block == block).map(|s| (s.case, s.build)).collect();
            seen.sort_unstable();
            assert_eq!(seen, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
        }
    }

    #[test]
    fn two_builds_of_a_case_are_neighbours_and_alternate_abba() {
        let plan = plan(7, &["base", "new"]);
        for pair in plan.steps().collect::<Vec<_>>().chunks(2) {
            assert_eq!(pair[0].case, pair[1].case);
            assert_eq!(pair[0].build, (pair[0].block % 2) as usize, "ABBA by block");
            assert_ne!(pair[0].build, pair[1].build);
        }
    }

    #[test]
    fn a_huge_plan_is_counted_without_being_made() {
        let config = Config { repeats: u32::MAX, ..Config::default() };
        let plan = Plan::new(&config, vec![Case::null(); 1000], vec![], vec!["default".into()]);
        assert_eq!(plan.runs(), u64::from(u32::MAX) * 1000);
        assert!(plan.estimate(&config) > Duration::from_secs(1 << 30));
    }

    #[test]
    fn the_seed_decides_the_order_and_nothing_else_does() {
        assert_eq!(plan(7, &["default"]), plan(7, &["default"]));
        let orders: std::collections::HashSet<Vec<usize>> =
            (0..20).map(|seed| plan(seed, &["default"]).steps().map(|s| s.case).collect()).collect();
        assert!(orders.len() > 15, "orders differ between seeds");
        assert_ne!(plan(7, &["default"]).digest, plan(8, &["default"]).digest);
    }
}
