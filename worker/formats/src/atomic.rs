//! Files that appear under their name only when complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::{FormatError, tree};

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
    tree::sync(path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// `.<name>.tmp-<pid>` beside `path`.
fn temporary_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".tmp-{}", std::process::id()));
    path.with_file_name(name)
}
