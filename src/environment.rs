//! The machine a file was measured on, and its load around a run.

mod cgroup;
mod probe;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use probe::{capture, load, now, storage, usable_cpu_list, usable_cpus};

pub(crate) use cgroup::limits as cgroup_limits;

/// What a value is called that the machine does not show.
pub const NOT_EXPOSED: &str = "not exposed";

/// The machine. A value that the machine does not show is `not exposed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// CPU model name.
    pub cpu: String,
    /// CPUs this process may use (affinity and cgroup quota).
    pub usable_cpus: u32,
    /// CPUs of the machine.
    pub cpus: u32,
    /// RAM in bytes.
    pub ram_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Operating system.
    pub os: String,
    /// Everything else, by name: governor, turbo, smt, aslr, thp, cgroup limits, gpu, and for each dataset folder
    /// file system, device, read-ahead.
    pub details: BTreeMap<String, String>,
}

/// Load of the machine at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Load average over 1 minute.
    pub load1: f64,
    /// Steal time of all CPUs since boot, in ms.
    pub steal_ms: u64,
    /// Share of the last 10 s in which some task waited for a CPU, in percent; null where the kernel has no PSI.
    pub psi_cpu: Option<f64>,
    /// Share of the last 10 s in which some task waited for I/O, in percent; null where the kernel has no PSI.
    pub psi_io: Option<f64>,
}
