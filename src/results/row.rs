//! The types of a result file. Every time is in ns, every size in bytes, unless a name says otherwise.

use std::collections::BTreeMap;

use pcb_protocol::{Counters, Opened, StageTime, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::environment::{Environment, Load};
use crate::stats::Class;

/// Version of the result file. 1: first version.
pub const VERSION: u32 = 1;

/// What holds for all runs of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of this layout, 1.
    pub version: u32,
    /// When `pcb-run` started, RFC 3339 in UTC.
    pub started: String,
    /// Whether every run of the plan was made; false after `--max-time`.
    #[serde(default = "yes")]
    pub complete: bool,
    /// Seed of the order of runs, the index lists and the transforms.
    pub seed: u64,
    /// Repeats asked for; with a precision at most so many.
    pub repeats: u32,
    /// SHA-256 over the cases, builds, repeats, seed and rules: files with one digest measured one plan.
    pub plan_digest: String,
    /// Worker builds, in the order given: one, or two for an A/B.
    pub builds: Vec<BuildInfo>,
    /// The resolved config, as TOML.
    pub config: String,
    /// Datasets used: name to digest.
    pub datasets: BTreeMap<String, String>,
    /// The machine.
    pub environment: Environment,
    /// Cases of the sweep that were left out, with the reason.
    pub pruned: Vec<Pruned>,
}

fn yes() -> bool {
    true
}

/// A worker build: its name, what the worker told at start, and the SHA-256 of its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildInfo {
    /// Its name: `default`, or the name given with `--worker NAME=PATH`.
    pub name: String,
    /// What the worker told at start (version, commit, optimisation level, libraries), and the SHA-256 of its file, by
    /// key.
    pub versions: BTreeMap<String, String>,
}

/// A case that was left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pruned {
    /// Its id.
    pub case: Case,
    /// Why.
    pub reason: String,
}

/// One fresh worker process measuring one case once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The case.
    pub case: Case,
    /// Name of the worker build.
    pub build: String,
    /// Block, from 0.
    pub block: u32,
    /// Position of the run in its block, from 0.
    pub position: u32,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What a reader of the numbers should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// From exec to `Hello`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hello_ns: Option<u64>,
    /// From exec to `Armed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub armed_ns: Option<u64>,
    /// What opening the dataset cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<Opened>,
    /// First pass over the index list; of a cold run the whole measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<PhaseStats>,
    /// Between the first pass and the steady state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<PhaseStats>,
    /// Steady state of a warm run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<PhaseStats>,
    /// Samples per second in the window without clock reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The very first sample: what lazy opening, cold code and cold caches cost it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_sample_ns: Option<u64>,
    /// What the samples before the last change of level took beyond what they take at the level after it; 0 of a flat
    /// course, below 0 where they were faster, null where the course has no such level or is too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_cost_ns: Option<f64>,
    /// What the course of a warm run was, from change points over all its samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// Mean stage times of the instrumented pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageTime>,
    /// Counters of the process between `Go` and the last sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// Crops of one sample.
    #[serde(default)]
    pub items_per_sample: u32,
    /// Bytes handed out by one sample.
    #[serde(default)]
    pub bytes_per_sample: u64,
    /// Length of the index list in samples.
    #[serde(default)]
    pub index_len: u64,
    /// Samples kept from the timed passes and compared with the reference afterwards.
    #[serde(default)]
    pub kept_checked: u32,
    /// SHA-256 over the object ids in the order read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_digest: Option<String>,
    /// Stored bytes against bytes used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amplification: Option<Amplification>,
    /// Share of the samples of a cold pass that touched the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_share: Option<f64>,
    /// Proof of the cache state before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CacheProof>,
    /// Cache state after a warm run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<CacheProof>,
    /// Load of the machine around the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// Last lines the worker wrote to stdout or stderr, if any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log_tail: String,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// Complete.
    Ok,
    /// Pixels differ from the reference: never timed, or the timing is void.
    Mismatch {
        /// Where, what was expected, what came.
        message: String,
    },
    /// The format, variant or machine cannot do it.
    Unsupported {
        /// What is missing.
        message: String,
    },
    /// The worker failed.
    Failed {
        /// Its reason.
        message: String,
    },
    /// It ran past the time of a run and was killed.
    TimedOut {
        /// The time allowed, in ns.
        after_ns: u64,
    },
    /// It died by a signal.
    Killed {
        /// Signal number.
        signal: i32,
    },
    /// Shared memory was full.
    ShmExhausted {
        /// Details.
        message: String,
    },
    /// File descriptors ran out.
    FdExhausted {
        /// Details.
        message: String,
    },
    /// Pages could not be dropped from the cache.
    NotCold {
        /// Which file, how many pages, why.
        message: String,
    },
    /// Pages were not resident before or after.
    NotWarm {
        /// Which file, how many pages.
        message: String,
    },
    /// Too few samples in the time allowed for its numbers to mean anything.
    TooSlow {
        /// What was reached.
        message: String,
    },
}

/// Something a reader of the numbers should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// No steady state was found; samples after the warm-up cap are kept.
    NotSteady,
    /// The first pass did not see the whole index list.
    FirstCapped,
    /// Under half of the samples of a cold pass touched the device: no cold p50.
    MostlyReadAhead,
    /// Pages that the run did not need were evicted while it ran: some are gone, yet it read nothing from the device.
    EvictedUnread,
    /// A warm run read from the device although every page was resident before and after: pages were evicted and read
    /// back meanwhile, or the program's own pages were.
    WarmRead,
    /// A cold pass read nothing from the device: a cache below the page cache served it.
    NoDeviceBytes,
}

/// Statistics of one phase. Quantiles are type 7 (numpy, pyperf), over the samples of this run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseStats {
    /// Number of samples.
    pub samples: u64,
    /// Sum of all samples.
    pub total_ns: u64,
    /// Smallest.
    pub min_ns: f64,
    /// Median. Of a cold pass: over the samples that touched the device; null where they are under half.
    pub p50_ns: Option<f64>,
    /// 95 % quantile, over the same samples; null where they are too few (under 72 for an interval, under 20 at all).
    pub p95_ns: Option<f64>,
    /// 99 % quantile; null under 100 samples.
    pub p99_ns: Option<f64>,
    /// Largest.
    pub max_ns: f64,
    /// Distribution of all samples; bucket-rounded, for pictures, not for statistics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// At most 1,000 raw samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

/// HdrHistogram of ns with 3 significant digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// V2 serialization, base64.
    pub v2: String,
}

/// Raw samples, thinned: the head in full, the rest as medians of blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The first samples, in order, in ns.
    pub head: Vec<u64>,
    /// Samples of one block of the rest.
    pub block: u64,
    /// Median of each block, in order, in ns.
    pub medians: Vec<u64>,
}

/// Stored bytes against bytes used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Amplification {
    /// Stored bytes that the reader says it touched over bytes it handed out, in the first pass.
    pub stored: f64,
    /// Bytes from the device over bytes handed out, in the first pass of a cold run.
    pub device: Option<f64>,
}

/// Residency of a dataset's files in the page cache, counted by mincore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheProof {
    /// Files looked at.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their pages.
    pub pages: u64,
    /// Pages resident.
    pub resident: u64,
    /// Attempts to reach the state.
    pub attempts: u32,
    /// Pages that cachestat calls dirty, in write-back, and recently evicted; null where the kernel has no cachestat.
    pub cachestat: Option<[u64; 3]>,
}

/// Load of the machine before and after a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Before `Go`.
    pub before: Load,
    /// After the last message.
    pub after: Load,
}

impl Run {
    /// The number that judges a run unless another is asked for, in ns: the whole pass of a cold one, the median sample of
    /// a warm one's steady state, else of its first pass. None where the run is not ok, or its pass was cut short.
    pub fn headline(&self) -> Option<f64> {
        if !self.outcome.is_ok() {
            return None;
        }
        let first = self.first.as_ref();
        let value = match self.case.state {
            State::Cold if self.flags.contains(&Flag::FirstCapped) => None,
            State::Cold => first.map(|first| first.total_ns as f64),
            State::Warm => self.steady.as_ref().and_then(|steady| steady.p50_ns),
            State::AsIs => self.steady.as_ref().or(first).and_then(|phase| phase.p50_ns),
        };
        value.filter(|value| *value > 0.0)
    }
}

impl Outcome {
    /// Its word, as in the result file and in tables.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Mismatch { .. } => "mismatch",
            Self::Unsupported { .. } => "unsupported",
            Self::Failed { .. } => "failed",
            Self::TimedOut { .. } => "timed_out",
            Self::Killed { .. } => "killed",
            Self::ShmExhausted { .. } => "shm_exhausted",
            Self::FdExhausted { .. } => "fd_exhausted",
            Self::NotCold { .. } => "not_cold",
            Self::NotWarm { .. } => "not_warm",
            Self::TooSlow { .. } => "too_slow",
        }
    }

    /// Whether the numbers of the run count.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok)
    }
}
