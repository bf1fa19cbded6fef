//! Reading the machine's state from /proc, /sys and sysinfo.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, SysconfVar, sysconf};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::{Environment, Load, NOT_EXPOSED, cgroup};
use crate::residency::place;

/// Looks at the machine and at where `data` lies.
pub fn capture(data: &Path) -> Environment {
    let wanted =
        RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(wanted);
    let (cpu, cpus, ram_bytes) = match &system {
        Ok(system) => (
            system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()),
            u32::try_from(system.cpus().len()).unwrap_or(u32::MAX),
            system.total_memory(),
        ),
        Err(_) => (None, 0, 0),
    };
    Environment {
        cpu: cpu.filter(|name| !name.is_empty()).unwrap_or_else(|| NOT_EXPOSED.to_owned()),
        usable_cpus: usable_cpus(),
        cpus,
        ram_bytes,
        kernel: System::kernel_version().unwrap_or_else(|_| NOT_EXPOSED.to_owned()),
        os: System::long_os_version().unwrap_or_else(|_| NOT_EXPOSED.to_owned()),
        details: details(data),
    }
}

/// CPUs this process may use: its affinity mask, and no more than the cgroup's quota rounded up.
pub fn usable_cpus() -> u32 {
    let allowed = u32::try_from(usable_cpu_list().len()).unwrap_or(u32::MAX).max(1);
    match cgroup::limits().cpus {
        Some(quota) => allowed.min(quota.ceil().max(1.0) as u32),
        None => allowed,
    }
}

/// The CPUs of this process's affinity mask.
pub fn usable_cpu_list() -> Vec<usize> {
    let mask = sched_getaffinity(Pid::from_raw(0)).ok();
    mask.map_or(vec![0], |mask| (0..CpuSet::count()).filter(|&cpu| mask.is_set(cpu).unwrap_or(false)).collect())
}

fn details(data: &Path) -> BTreeMap<String, String> {
    let read =
        |path: &str| fs::read_to_string(path).map_or_else(|_| NOT_EXPOSED.to_owned(), |text| text.trim().to_owned());
    let mut details = BTreeMap::new();
    let mut put = |name: &str, value: String| details.insert(name.to_owned(), value);
    put("governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    put("turbo_off_intel", read("/sys/devices/system/cpu/intel_pstate/no_turbo"));
    put("boost", read("/sys/devices/system/cpu/cpufreq/boost"));
    put("smt", read("/sys/devices/system/cpu/smt/active"));
    put("aslr", read("/proc/sys/kernel/randomize_va_space"));
    put("thp", read("/sys/kernel/mm/transparent_hugepage/enabled"));
    put("clocksource", read("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    put("gpu", gpus());
    let limits = cgroup::limits();
    put("cgroup", limits.version.to_owned());
    put("cgroup_cpus", limits.cpus.map_or_else(|| "no limit".to_owned(), |cpus| cpus.to_string()));
    put("cgroup_memory_bytes", limits.memory.map_or_else(|| "no limit".to_owned(), |bytes| bytes.to_string()));
    let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    put("page_bytes", page.map_or_else(|| NOT_EXPOSED.to_owned(), |bytes| bytes.to_string()));
    details.extend(storage("data", data));
    details
}

/// Where a folder is stored, each fact under `PREFIX_…`.
pub fn storage(prefix: &str, folder: &Path) -> Vec<(String, String)> {
    let Some(place) = place(folder) else { return Vec::new() };
    let facts = [
        ("filesystem", place.filesystem),
        ("device", place.device),
        ("mount_options", place.options),
        ("read_ahead_kib", place.read_ahead_kib),
        ("rotational", place.rotational),
    ];
    facts.map(|(name, value)| (format!("{prefix}_{name}"), value)).into()
}

/// Models of NVIDIA cards, without a library; `none` where the driver is not loaded.
fn gpus() -> String {
    let Ok(cards) = fs::read_dir("/proc/driver/nvidia/gpus") else { return "none".to_owned() };
    let model = |folder: &Path| {
        let text = fs::read_to_string(folder.join("information")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("Model:")).map(|name| name.trim().to_owned())
    };
    let models: Vec<String> = cards.flatten().filter_map(|card| model(&card.path())).collect();
    if models.is_empty() { "none".to_owned() } else { models.join(", ") }
}

/// The machine's load now.
pub fn load() -> Load {
    let average = fs::read_to_string("/proc/loadavg").ok();
    let load1 = average.and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0.0);
    Load { load1, steal_ms: steal_ms(), psi_cpu: pressure("cpu"), psi_io: pressure("io") }
}

/// Steal time of all CPUs since boot: field 8 of the `cpu` line of /proc/stat, in clock ticks.
fn steal_ms() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: u64 = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse().ok()).unwrap_or(0);
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().and_then(|hz| u64::try_from(hz).ok()).unwrap_or(100);
    ticks * 1000 / per_second.max(1)
}

/// `some avg10=` of /proc/pressure/`what`, in percent.
fn pressure(what: &str) -> Option<f64> {
    let text = fs::read_to_string(Path::new("/proc/pressure").join(what)).ok()?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split(' ').find_map(|field| field.strip_prefix("avg10="))?.parse().ok()
}

/// The time now, RFC 3339 in UTC, to the ms.
pub fn now() -> String {
    humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string()
}
