//! What a path lies on.

use std::path::Path;

use nix::sys::statfs::{TMPFS_MAGIC, statfs};

// nix has no name for it; linux/magic.h.
const RAMFS_MAGIC: i64 = 0x8584_58f6;

/// The name of a file system whose pages are its only copy, if `path` lies on one.
pub fn undroppable(path: &Path) -> Option<&'static str> {
    let kind = statfs(path).ok()?.filesystem_type();
    if kind == TMPFS_MAGIC {
        return Some("tmpfs");
    }
    #[allow(clippy::unnecessary_cast, reason = "the type differs between architectures")]
    (kind.0 as i64 == RAMFS_MAGIC).then_some("ramfs")
}

/// Where a folder is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// File system type, for example `ext4`.
    pub filesystem: String,
    /// Device, for example `/dev/nvme0n1p2`.
    pub device: String,
    /// Mount options.
    pub options: String,
    /// Read-ahead in KiB, or `not exposed`.
    pub read_ahead_kib: String,
    /// `1` for a device that calls itself rotational (virtual disks lie), or `not exposed`.
    pub rotational: String,
}

/// Looks `path` up in the mount table; the longest mount point that holds it wins.
pub fn place(path: &Path) -> Option<Place> {
    let path = path.canonicalize().ok()?;
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut best: Option<(usize, Place)> = None;
    for line in table.lines() {
        // "36 35 98:0 /root /mount options … - type device super-options", proc_pid_mountinfo(5).
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let (Some(number), Some(mount), Some(options)) = (left.get(2), left.get(4), left.get(5)) else { continue };
        let (Some(kind), Some(device)) = (right.first(), right.get(1)) else { continue };
        let holds = path.starts_with(mount);
        if holds && best.as_ref().is_none_or(|(length, _)| mount.len() >= *length) {
            let place = Place {
                filesystem: (*kind).to_owned(),
                device: (*device).to_owned(),
                options: (*options).to_owned(),
                read_ahead_kib: queue(number, "read_ahead_kb"),
                rotational: queue(number, "rotational"),
            };
            best = Some((mount.len(), place));
        }
    }
    best.map(|(_, place)| place)
}

/// A setting of the block device with this `major:minor`; a partition has it in its parent's folder.
fn queue(number: &str, setting: &str) -> String {
    let base = Path::new("/sys/dev/block").join(number);
    [base.join("queue"), base.join("../queue")]
        .iter()
        .find_map(|folder| std::fs::read_to_string(folder.join(setting)).ok())
        .map_or_else(|| "not exposed".to_owned(), |text| text.trim().to_owned())
}
