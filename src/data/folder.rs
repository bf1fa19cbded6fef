//! The data folder: where it is, which datasets it holds, and how a dataset gets its name only when complete.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use pcb_formats::{Dataset, DatasetInfo, FormatError, Staging};

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

/// What stands where a dataset is to be.
pub(super) enum Standing {
    /// Nothing.
    Nothing,
    /// A dataset.
    Dataset(DatasetInfo),
    /// A dataset once, that cannot be read: why.
    Unreadable(FormatError),
}

/// What stands in a dataset's folder. Anything but a dataset is an error, for it is not ours to replace.
pub(super) fn standing(folder: &Path) -> Result<Standing, DataError> {
    if fs::symlink_metadata(folder).is_err() {
        return Ok(Standing::Nothing);
    }
    if !folder.join("dataset.json").is_file() {
        let problem = "is there but no dataset (it has no dataset.json), so it is left alone; give another --name";
        return Err(DataError::content(folder, problem));
    }
    Ok(Dataset::read_info(folder).map_or_else(Standing::Unreadable, Standing::Dataset))
}

/// The dataset that stands in `folder` and is `same` as wanted, to be kept; `None` when the folder is free or may be
/// replaced. An error for another dataset without `force`, and for everything that is no dataset.
pub(super) fn kept(
    folder: &Path,
    force: bool,
    other: &str,
    same: impl Fn(&DatasetInfo) -> bool,
) -> Result<Option<DatasetInfo>, DataError> {
    let problem = match standing(folder)? {
        _ if force => return Ok(None),
        Standing::Nothing => return Ok(None),
        Standing::Dataset(info) if same(&info) => return Ok(Some(info)),
        Standing::Dataset(info) => format!("is there, {other} ({})", info.origin),
        Standing::Unreadable(error) => format!("is there but cannot be read ({error})"),
    };
    Err(DataError::Exists { path: folder.to_owned(), problem })
}

/// A folder for the dataset `name` in `root`, under a temporary name until it is complete.
pub(super) fn stage(root: &Path, name: &str) -> Result<Staging, DataError> {
    fs::create_dir_all(root).map_err(|e| DataError::io(root, e))?;
    Ok(Staging::new(&root.join(name))?)
}

/// The last part of a path, as text.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
