//! Files that appear under their name only when complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::FormatError;

/// Creates `path` by way of a temporary file beside it: what `fill` writes is synced, then renamed. An error leaves
/// what stood under `path` before.
pub fn write(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), FormatError> {
    let temporary = temporary_name(path);
    let written = File::create(&temporary)
        .and_then(|mut file| {
            fill(&mut file)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|e| FormatError::io(path, e));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
        return written;
    }
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Makes names created in or renamed into `folder` durable.
pub fn sync_folder(folder: &Path) -> Result<(), FormatError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder).and_then(|file| file.sync_all()).map_err(|e| FormatError::io(folder, e))
}

/// `.<name>.tmp-<pid>` beside `path`.
pub fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tmp-{}", std::process::id()))
}
