//! The data folder: where it is, which datasets it holds, and how a dataset gets its name only when complete.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use pcb_formats::{Dataset, DatasetInfo};

use super::DataError;

/// Kept free beside what the work itself takes: tables, folders, other programs.
const RESERVE: u64 = 16 << 20;

/// The data folder: `given`, else `$PCB_DATA`, else `$XDG_CACHE_HOME/pcb/data`, else `~/.cache/pcb/data`.
pub fn root(given: Option<&Path>) -> Result<PathBuf, DataError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = given.map(Path::to_owned).or_else(|| set("PCB_DATA")) {
        return Ok(folder);
    }
    // A relative XDG_CACHE_HOME is to be ignored, says the XDG specification.
    let cache = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| set("HOME").map(|home| home.join(".cache")));
    cache
        .map(|cache| cache.join("pcb/data"))
        .ok_or_else(|| DataError::Usage("no place for data: HOME is not set; give --data DIR or set PCB_DATA".into()))
}

/// The folder of a dataset: `name` in the data folder `root`, or a path to a dataset's folder.
pub fn dataset_folder(root: &Path, name: &Path) -> Result<PathBuf, DataError> {
    let in_root = root.join(name);
    for folder in [in_root.as_path(), name] {
        if folder.join("dataset.json").is_file() {
            return Ok(folder.to_owned());
        }
    }
    let known: Vec<String> = datasets(root)?.iter().map(|folder| file_name(folder)).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(DataError::Usage(format!(
        "no dataset {:?} in {} (there: {known}); make or import it first",
        name,
        root.display()
    )))
}

/// Folders of all datasets in the data folder, sorted. None when there is no data folder yet.
pub fn datasets(root: &Path) -> Result<Vec<PathBuf>, DataError> {
    let entries = match fs::read_dir(root) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| DataError::io(root, e))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| DataError::io(root, e))?.path();
        if !file_name(&path).starts_with('.') && path.join("dataset.json").is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Bytes of all files under `folder`. What cannot be read counts as nothing.
pub fn tree_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => tree_bytes(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Bytes free to this user on the file system of `folder`, or of its nearest parent that exists.
pub fn free_bytes(folder: &Path) -> Result<u64, DataError> {
    let folder = std::path::absolute(folder).map_err(|e| DataError::io(folder, e))?;
    let standing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let stat = statvfs(standing).map_err(|e| DataError::io(standing, e.into()))?;
    // Their types differ between platforms.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    Ok(stat.blocks_available() as u64 * stat.fragment_size() as u64)
}

/// An error unless `needed` bytes fit on the file system of `folder`.
pub(super) fn check_space(folder: &Path, needed: u64) -> Result<(), DataError> {
    let free = free_bytes(folder)?;
    if free >= needed.saturating_add(RESERVE) {
        return Ok(());
    }
    Err(DataError::Space { folder: folder.to_owned(), needed: needed.saturating_add(RESERVE), free })
}

/// An error unless `name` can stand in a path and in a case id.
pub(super) fn check_name(name: &str) -> Result<(), DataError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && name.chars().all(fits) && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Ok(());
    }
    let expected = "letters, digits, '.', '_' and '-', the first of them a letter or digit";
    Err(DataError::Usage(format!("{name:?} is no name for a dataset; expected {expected}")))
}

/// What stands in a dataset's folder: `None` if nothing, an error if something that is no dataset.
pub(super) fn standing(folder: &Path) -> Result<Option<DatasetInfo>, DataError> {
    if fs::symlink_metadata(folder).is_err() {
        return Ok(None);
    }
    match Dataset::read_info(folder) {
        Ok(info) => Ok(Some(info)),
        Err(e) => Err(DataError::Exists { path: folder.to_owned(), problem: format!("is there but no dataset ({e})") }),
    }
}

/// A dataset's folder under a temporary name. Dropped before [`Staging::commit`], it is removed.
pub(super) struct Staging {
    folder: PathBuf,
}

impl Staging {
    /// Creates the folder for a dataset `name`. Those that dead processes left behind are removed.
    pub(super) fn new(root: &Path, name: &str) -> Result<Self, DataError> {
        fs::create_dir_all(root).map_err(|e| DataError::io(root, e))?;
        remove_stale(root)?;
        let folder = root.join(format!(".{name}.tmp-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).map_err(|e| DataError::io(&folder, e))?;
        Ok(Self { folder })
    }

    /// The temporary folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the folder its final name; `replace` removes what stood there.
    pub(super) fn commit(self, target: &Path, replace: bool) -> Result<(), DataError> {
        let old = self.folder.with_extension(format!("old.tmp-{}", std::process::id()));
        let replaced = replace && target.exists();
        if replaced {
            let _ = fs::remove_dir_all(&old);
            fs::rename(target, &old).map_err(|e| DataError::io(target, e))?;
        }
        if let Err(e) = fs::rename(&self.folder, target) {
            if replaced {
                let _ = fs::rename(&old, target);
            }
            return Err(DataError::io(target, e));
        }
        sync_parent(target)?;
        if replaced {
            fs::remove_dir_all(&old).map_err(|e| DataError::io(&old, e))?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After a commit it is gone already.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Makes a new name durable.
fn sync_parent(path: &Path) -> Result<(), DataError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(parent).and_then(|folder| folder.sync_all()).map_err(|e| DataError::io(parent, e))
}

/// Removes temporary folders whose process is gone.
fn remove_stale(root: &Path) -> Result<(), DataError> {
    for entry in fs::read_dir(root).map_err(|e| DataError::io(root, e))?.flatten() {
        let name = file_name(&entry.path());
        let pid = name.starts_with('.').then(|| name.rsplit_once(".tmp-")).flatten().map(|(_, pid)| pid);
        let Some(Ok(pid)) = pid.map(str::parse::<i32>) else { continue };
        let gone = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None) == Err(nix::errno::Errno::ESRCH);
        if pid > 0 && gone {
            fs::remove_dir_all(entry.path()).map_err(|e| DataError::io(entry.path(), e))?;
        }
    }
    Ok(())
}

/// The last part of a path, as text.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
