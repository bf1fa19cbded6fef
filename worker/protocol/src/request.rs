//! What the controller asks of a worker.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Crop, Layout, Pad, Pattern, State, Tier};

/// What the controller sends.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "two of these are sent a run")]
pub enum Command {
    /// The one request of this process; answered with `Armed` or `Failed`.
    Request(Request),
    /// The cache state is set and proven: open the dataset and measure.
    Go,
    /// The cache state was looked at: compare the kept samples with the reference. Answers `Measured`.
    Compare,
}

/// One case to run once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The controller's protocol version.
    pub protocol: u32,
    /// Seed of the index list, the transforms and the kept samples.
    pub seed: u64,
    /// Threads that libraries may use.
    pub threads: u32,
    /// What to do.
    pub job: Job,
}

/// The kinds of work a worker knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Job {
    /// Time `samples` empty samples: the harness's own overhead.
    Null {
        /// How many samples.
        samples: u64,
    },
    /// Compare `read.samples` crops, spread over the dataset by the seed, with the reference pixels. Not timed.
    Check {
        /// What to read; pattern, tier and state are not used.
        read: ReadJob,
    },
    /// Time `__getitem__`.
    Getitem {
        /// What to read.
        read: ReadJob,
    },
}

/// Everything a reading track needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadJob {
    /// Folder of the dataset (the one with `dataset.json`).
    #[serde(with = "path_bytes")]
    pub dataset: PathBuf,
    /// Format name, for example `npy`.
    pub format: String,
    /// Variant name, for example `mmap`.
    pub variant: String,
    /// Layout.
    pub layout: Layout,
    /// Which objects, in what order.
    pub pattern: Pattern,
    /// What is handed out for one view.
    pub crop: Crop,
    /// What stands past the edges of a site.
    pub pad: Pad,
    /// Transform tier.
    pub tier: Tier,
    /// Cold, warm or as is: decides between one pass and a steady state.
    pub state: State,
    /// Length of the index list in samples; 0 means every object once.
    pub samples: u64,
    /// Run on the decoy before `Armed`, so that code pages, lazy libraries and allocators are warm.
    pub warm_code: bool,
    /// Samples kept from the timed pass and compared with the reference after the clock has stopped.
    pub kept_samples: u32,
    /// Cap of the first pass (and of the whole pass of a cold run).
    pub first: FirstRule,
    /// When a warm run counts as warmed up.
    pub warmup: WarmupRule,
    /// How long the steady state is observed.
    pub steady: SteadyRule,
    /// Length of the window without per-sample clock reads that gives samples/s, in ns; 0 leaves it out.
    pub rate_ns: u64,
    /// Length of the instrumented pass that gives stage times, in ns; 0 leaves it out.
    pub stages_ns: u64,
}

/// Cap of the first pass over the index list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FirstRule {
    /// Time after which the pass stops, in ns.
    pub max_ns: u64,
}

/// Growing halves: at checks n, 1.25 n, …, the third and fourth quarter of the windows so far agree.
///
/// Formula: `ma`, `mb` medians of the third and the fourth quarter of the window medians,
/// SE = 1.2533 · 1.4826 · sqrt(MADa²/na + MADb²/nb); pass if |ma−mb| ≤ tolerance·mb and
/// |ma−mb| ≤ max(tolerance·mb/2, 2·SE). Two passes in a row: steady from the half.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WarmupRule {
    /// Relative difference that still counts as equal, for example 0.01.
    pub tolerance: f64,
    /// Length of one window, in ns.
    pub window_ns: u64,
    /// No check before this much time, in ns, or before a full pass, whichever comes first.
    pub min_ns: u64,
    /// Time after which the run is flagged `not_steady`, in ns.
    pub max_ns: u64,
    /// Samples after which the run is flagged `not_steady`.
    pub max_samples: u64,
}

/// How long the steady state is observed: until both minima are reached, at most until one maximum is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SteadyRule {
    /// At least this long, in ns.
    pub min_ns: u64,
    /// At least this many samples.
    pub min_samples: u64,
    /// At most this long, in ns.
    pub max_ns: u64,
    /// At most this many samples.
    pub max_samples: u64,
}

/// Paths as bytes: serde's own form refuses those that are not UTF-8.
mod path_bytes {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().as_bytes().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(PathBuf::from(OsString::from_vec(Vec::deserialize(deserializer)?)))
    }
}
