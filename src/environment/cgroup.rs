//! CPU and memory limits of the control group, version 1, version 2, or none.

use std::fs;
use std::path::{Path, PathBuf};

/// What the control group allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// `v1`, `v2` or `none`.
    pub version: &'static str,
    /// CPUs, if limited.
    pub cpus: Option<f64>,
    /// Memory in bytes, if limited.
    pub memory: Option<u64>,
}

/// Limits of this process's control group.
pub fn limits() -> Limits {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    from(Path::new("/sys/fs/cgroup"), &own)
}

/// `root` is the mount, `own` the text of /proc/self/cgroup: lines `number:controllers:path`.
fn from(root: &Path, own: &str) -> Limits {
    let path_of = |controller: &str| {
        own.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let found = if controller.is_empty() {
                controllers.is_empty()
            } else {
                controllers.split(',').any(|c| c == controller)
            };
            found.then(|| path.trim_start_matches('/').to_owned())
        })
    };
    // A container sees its own group at the mount's root, so both places are tried.
    let read = |base: PathBuf, path: Option<String>, file: &str| {
        path.and_then(|path| fs::read_to_string(base.join(path).join(file)).ok())
            .or_else(|| fs::read_to_string(base.join(file)).ok())
    };
    if let Some(text) = read(root.to_owned(), path_of(""), "cpu.max") {
        let memory = read(root.to_owned(), path_of(""), "memory.max");
        return Limits { version: "v2", cpus: quota(&text), memory: memory.and_then(|text| text.trim().parse().ok()) };
    }
    let number = |folder: &str, controller: &str, file: &str| -> Option<i64> {
        read(root.join(folder), path_of(controller), file)?.trim().parse().ok()
    };
    let (quota, period) = (number("cpu", "cpu", "cpu.cfs_quota_us"), number("cpu", "cpu", "cpu.cfs_period_us"));
    let memory = number("memory", "memory", "memory.limit_in_bytes");
    if quota.is_none() && memory.is_none() {
        return Limits { version: "none", cpus: None, memory: None };
    }
    let cpus = quota.zip(period).filter(|&(quota, period)| quota > 0 && period > 0).map(|(q, p)| q as f64 / p as f64);
    // "No limit" is a huge multiple of the page size.
    let memory = memory.and_then(|bytes| u64::try_from(bytes).ok()).filter(|&bytes| bytes < 1 << 60);
    Limits { version: "v1", cpus, memory }
}

/// `cpu.max`: quota and period in µs, or `max`.
fn quota(text: &str) -> Option<f64> {
    let mut fields = text.split_whitespace();
    let quota: f64 = fields.next()?.parse().ok()?;
    let period: f64 = fields.next()?.parse().ok()?;
    Some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("has one")).expect("made");
            fs::write(path, text).expect("written");
        }
        root
    }

    #[test]
    fn version_2_with_and_without_limits() {
        let root = tree(&[("a/cpu.max", "150000 100000\n"), ("a/memory.max", "1073741824\n")]);
        let limits = from(root.path(), "0::/a\n");
        assert_eq!(limits, Limits { version: "v2", cpus: Some(1.5), memory: Some(1 << 30) });
        let root = tree(&[("cpu.max", "max 100000\n"), ("memory.max", "max\n")]);
        assert_eq!(from(root.path(), "0::/gone\n"), Limits { version: "v2", cpus: None, memory: None });
    }

    #[test]
    fn version_1_and_none() {
        let root = tree(&[
            ("cpu/x/cpu.cfs_quota_us", "200000\n"),
            ("cpu/x/cpu.cfs_period_us", "100000\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let limits = from(root.path(), "4:cpu,cpuacct:/x\n3:memory:/x\n0::/\n");
        assert_eq!(limits, Limits { version: "v1", cpus: Some(2.0), memory: None });
        assert_eq!(from(tree(&[]).path(), "").version, "none");
    }
}
