//! Folders that appear under their name only when complete: a dataset, a stored form.
//!
//! Beside the folder `NAME` stands `.NAME.tmp-PID` while it is written: `lock`, a file that the writer holds locked for
//! as long as it lives, and `content`, which gets the name. Whose lock can be taken has no writer any more, on
//! whatever machine or in whatever container that was, and is removed by the next writer.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{FormatError, tree};

const LOCK: &str = "lock";
const CONTENT: &str = "content";
/// What stood under the name, where two folders cannot change places in one step.
const OLD: &str = "old";
/// Between the name and the writer's number.
const MARK: &str = ".tmp-";

/// A folder under a temporary name. Dropped before [`Staging::commit`], it is removed.
#[derive(Debug)]
pub struct Staging {
    target: PathBuf,
    outer: PathBuf,
    content: PathBuf,
    /// Locked until dropped, or until the process ends in whatever way.
    _lock: File,
}

impl Staging {
    /// Creates an empty folder that [`Staging::commit`] will call `target`. Leftovers beside it whose writers are gone
    /// are removed.
    pub fn new(target: &Path) -> Result<Self, FormatError> {
        let parent = parent(target);
        sweep(parent);
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!("{MARK}{}", std::process::id()));
        // Another thread, or a process of this number in another container, may have the name already.
        for attempt in 0..1000 {
            let mut name = name.clone();
            if attempt > 0 {
                name.push(format!("-{attempt}"));
            }
            let outer = parent.join(name);
            match fs::create_dir(&outer) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created.map_err(|e| FormatError::io(&outer, e))?,
            }
            if let Some(lock) = hold(&outer)? {
                let content = outer.join(CONTENT);
                let this = Self { target: target.to_owned(), outer, content, _lock: lock };
                fs::create_dir(&this.content).map_err(|e| FormatError::io(&this.content, e))?;
                return Ok(this);
            }
        }
        Err(FormatError::io(target, io::Error::other("too many are being written at once")))
    }

    /// The temporary folder.
    pub fn folder(&self) -> &Path {
        &self.content
    }

    /// Makes the folder durable and gives it its final name. What stands there is an error, or, with `replace`,
    /// replaced in one step and removed.
    pub fn commit(self, replace: bool) -> Result<(), FormatError> {
        tree::sync_tree(&self.content)?;
        let renamed = if replace { self.swap() } else { fs::rename(&self.content, &self.target) };
        renamed.map_err(|e| FormatError::io(&self.target, e))?;
        tree::sync(parent(&self.target))
    }

    fn swap(&self) -> io::Result<()> {
        if exchange(&self.content, &self.target).is_ok() {
            return Ok(());
        }
        // Nothing stands there, or this file system cannot exchange.
        match fs::rename(&self.content, &self.target) {
            Err(_) if self.target.symlink_metadata().is_ok() => {}
            renamed => return renamed,
        }
        let old = self.outer.join(OLD);
        fs::rename(&self.target, &old)?;
        // Should this process end here, the next writer puts back what it finds in `old`.
        fs::rename(&self.content, &self.target).inspect_err(|_| {
            let _ = fs::rename(&old, &self.target);
        })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        clear(&self.outer, &self.target);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    renameat2(AT_FDCWD, a, AT_FDCWD, b, RenameFlags::RENAME_EXCHANGE).map_err(io::Error::from)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The lock of the folder `outer` just created, or `None` when a sweeping process was faster.
fn hold(outer: &Path) -> Result<Option<File>, FormatError> {
    let path = outer.join(LOCK);
    let file = match File::create_new(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|e| FormatError::io(&path, e))?,
    };
    // A file system without locks is no reason to fail: nobody can take them there, so nothing is swept.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return Ok(None);
    }
    let same = |there: fs::Metadata| file.metadata().is_ok_and(|ours| ours.ino() == there.ino());
    let ours = path.metadata().is_ok_and(same);
    Ok(ours.then_some(file))
}

/// Removes leftovers of writers that are gone. What cannot be removed, another user's for example, only takes space.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let Some(name) = staged_name(&entry.file_name()) else { continue };
        let outer = entry.path();
        match File::open(outer.join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => clear(&outer, &parent.join(name)),
            Ok(_) => {}
            // Empty when a writer ended right after creating it; one that holds anything is not ours.
            Err(_) => drop(fs::remove_dir(&outer)),
        }
    }
}

/// The name that a temporary folder would get.
fn staged_name(name: &OsStr) -> Option<OsString> {
    let hidden = name.as_bytes().strip_prefix(b".")?;
    let end = hidden.windows(MARK.len()).rposition(|window| window == MARK.as_bytes())?;
    Some(OsString::from_vec(hidden[..end].to_vec()))
}

/// Removes a temporary folder whose lock is held. The lock goes last, so that what an interrupted removal leaves is
/// found again.
fn clear(outer: &Path, target: &Path) {
    let old = outer.join(OLD);
    if old.symlink_metadata().is_ok() && target.symlink_metadata().is_err() {
        let _ = fs::rename(&old, target);
    }
    for leftover in [outer.join(CONTENT), old] {
        let _ = fs::remove_dir_all(leftover);
    }
    let _ = fs::remove_file(outer.join(LOCK));
    let _ = fs::remove_dir(outer);
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
