//! What the kernel counts about this process.

use std::fs;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use pcb_protocol::Counters;

/// Block input is counted in units of this many bytes, whatever the device's block size.
const BLOCK: u64 = 512;

/// The counters at one moment. Where the kernel hides one (`/proc/self/io` in some sandboxes), it stands at 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Snapshot {
    user_ns: u64,
    system_ns: u64,
    minor_faults: u64,
    major_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    /// Bytes that system calls read, from page cache or device.
    read_bytes: u64,
    /// The same after this snapshot was taken, for taking it reads a text.
    read_bytes_after: u64,
    /// Bytes read from the device.
    device_bytes: u64,
}

impl Snapshot {
    /// The counters of now.
    pub fn now() -> Self {
        let Some(usage) = usage() else { return Self::default() };
        let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok());
        let read_bytes = field("rchar: ").unwrap_or(0);
        Self {
            user_ns: ns(usage.user_time()),
            system_ns: ns(usage.system_time()),
            minor_faults: count(usage.minor_page_faults()),
            major_faults: count(usage.major_page_faults()),
            voluntary_switches: count(usage.voluntary_context_switches()),
            involuntary_switches: count(usage.involuntary_context_switches()),
            read_bytes,
            read_bytes_after: read_bytes + text.len() as u64,
            device_bytes: field("read_bytes: ").unwrap_or_else(|| count(usage.block_reads()) * BLOCK),
        }
    }

    /// Bytes that system calls read since `earlier`.
    pub fn read_bytes_since(&self, earlier: &Self) -> u64 {
        self.read_bytes.saturating_sub(earlier.read_bytes_after)
    }

    /// Bytes read from the device since `earlier`.
    pub fn device_bytes_since(&self, earlier: &Self) -> u64 {
        self.device_bytes.saturating_sub(earlier.device_bytes)
    }

    /// Bytes read from the device and page faults served by it since `earlier`.
    pub fn device_since(&self, earlier: &Self) -> (u64, u64) {
        (self.device_bytes_since(earlier), self.major_faults - earlier.major_faults)
    }

    /// The differences to `earlier`. `first_device_bytes` is left at 0: the caller knows what was first.
    pub fn since(&self, earlier: &Self) -> Counters {
        Counters {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            peak_rss_bytes: peak_rss_bytes(),
            read_bytes: Some(self.read_bytes_since(earlier)),
            device_bytes: self.device_bytes_since(earlier),
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            first_device_bytes: 0,
        }
    }
}

/// Counters that move when this process waits for a device; read between samples, so one system call and no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceReads {
    major_faults: i64,
    blocks: i64,
}

impl DeviceReads {
    /// The counters of now.
    pub fn now() -> Self {
        match usage() {
            Some(usage) => Self { major_faults: usage.major_page_faults(), blocks: usage.block_reads() },
            None => Self { major_faults: 0, blocks: 0 },
        }
    }
}

/// Resident memory of now, in bytes.
pub fn rss_bytes() -> u64 {
    let pages = || {
        let text = fs::read_to_string("/proc/self/statm").ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    pages().unwrap_or(0) * page_size()
}

/// Peak of resident memory so far, in bytes. Not `ru_maxrss`, which a process inherits from the one it was forked from.
pub fn peak_rss_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    kilobytes.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn usage() -> Option<Usage> {
    getrusage(UsageWho::RUSAGE_SELF).ok()
}

fn ns(time: TimeVal) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1000
}

fn count(value: i64) -> u64 {
    value.max(0) as u64
}

fn page_size() -> u64 {
    use nix::unistd::{SysconfVar, sysconf};
    sysconf(SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |size| size as u64)
}
