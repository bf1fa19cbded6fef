//! What a worker reports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a worker sends, in the order of the handshake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// First message of every worker.
    Hello(Hello),
    /// Ready for `Go`: code is warm, nothing of the measured data was touched.
    Armed,
    /// The dataset is open.
    Opened(Opened),
    /// A chunk of samples, at most [`crate::SAMPLES_PER_MESSAGE`].
    Samples(Samples),
    /// Every clock has stopped; the worker waits for [`crate::Command::Compare`] before it touches reference pixels,
    /// which may lie in the measured files.
    Measured,
    /// The reference check is done (`Job::Check` only); `Finished` follows.
    Checked(Checked),
    /// The run is complete.
    Finished(Box<Finished>),
    /// The run cannot be completed.
    Failed(Failure),
}

/// Who the worker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its protocol version.
    pub protocol: u32,
    /// `pcb-worker` or `pcb-worker-io`.
    pub program: String,
    /// Version of pcb it was built from.
    pub version: String,
    /// Commit it was built from, or `unknown`.
    pub commit: String,
    /// Optimisation level it was built with: `0`…`3`, `s`, `z`.
    pub opt_level: String,
    /// Versions of the libraries it uses, for example `libtorch` → `2.13.0`.
    pub versions: BTreeMap<String, String>,
}

/// The part of a run that samples belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// First pass over the index list; of a cold run the whole pass.
    First,
    /// After the first pass, before the steady state.
    Warmup,
    /// Steady state.
    Steady,
}

/// A chunk of timed samples of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// Their phase.
    pub phase: Phase,
    /// Duration of each, in ns.
    pub ns: Vec<u64>,
    /// Whether each touched the device (major fault or block input); empty where it was not observed.
    pub touched: Vec<bool>,
}

/// What opening the dataset cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Opened {
    /// Wall time, in ns.
    pub ns: u64,
    /// Growth of resident memory, in bytes; may be negative.
    pub rss_bytes: i64,
    /// Bytes read by system calls (`rchar`).
    pub read_bytes: u64,
    /// Bytes read from the device.
    pub device_bytes: u64,
}

/// Result of the reference check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Crops compared.
    pub samples: u64,
    /// What differed first, if anything: object, channel, row, column, expected, got.
    pub mismatch: Option<String>,
}

/// What a complete run reports besides its samples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Finished {
    /// Differences between `Go` and the last sample.
    pub counters: Counters,
    /// Crops of one sample: 1, or 2 for paired patterns.
    pub items_per_sample: u32,
    /// Bytes handed out by one sample.
    pub bytes_per_sample: u64,
    /// Bytes read from the device between `Go` and the end of the last window, rate and stages included.
    pub device_bytes_to_end: u64,
    /// Page faults served by the device in the same time.
    pub major_faults_to_end: u64,
    /// Length of the index list in samples.
    pub index_len: u64,
    /// SHA-256 over the object ids in the order read, hex.
    pub index_digest: String,
    /// Whether the first pass saw the whole index list.
    pub first_complete: bool,
    /// Whether warm-up detection found a steady state; `None` where it was not asked.
    pub steady_found: Option<bool>,
    /// Samples per second in the window without clock reads.
    pub rate: Option<f64>,
    /// Samples in that window.
    pub rate_samples: u64,
    /// Stage times of the instrumented pass.
    pub stages: Vec<StageTime>,
    /// Stored bytes the reader touched in the first pass, by its own account.
    pub stored_bytes_touched: u64,
    /// Bytes of pixels it handed out in the first pass, in the stored element type.
    pub stored_bytes_used: u64,
    /// Samples kept from the timed pass and compared with the reference.
    pub kept_checked: u32,
    /// What differed first among them, if anything.
    pub kept_mismatch: Option<String>,
}

/// One stage of the instrumented pass, named `read`, `decode`, `read+decode`, `convert` or `transform`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageTime {
    /// Its name.
    pub stage: String,
    /// Mean time a sample, in ns.
    pub mean_ns: f64,
}

/// Differences of the process's counters between `Go` and the last sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// CPU time in user mode, in ns.
    pub user_ns: u64,
    /// CPU time in the kernel, in ns.
    pub system_ns: u64,
    /// Peak resident memory of the process so far, in bytes (a level, not a difference).
    pub peak_rss_bytes: u64,
    /// Bytes read by system calls; null where the data is mapped, for then it says nothing.
    pub read_bytes: Option<u64>,
    /// Bytes read from the device.
    pub device_bytes: u64,
    /// Page faults served without the device.
    pub minor_faults: u64,
    /// Page faults served by the device.
    pub major_faults: u64,
    /// Context switches the process asked for.
    pub voluntary_switches: u64,
    /// Context switches it was made to do.
    pub involuntary_switches: u64,
    /// Device bytes of the first pass alone.
    pub first_device_bytes: u64,
}

/// Why a run cannot be completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind, which becomes the row's outcome.
    pub kind: FailureKind,
    /// What happened, naming file and place.
    pub message: String,
}

/// The kinds of failure a worker can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The format, variant, tier or dtype cannot do what the case asks.
    Unsupported,
    /// Anything else.
    Failed,
    /// No file descriptors left.
    FdExhausted,
    /// Shared memory is full.
    ShmExhausted,
}
