//! HDF5 files opened and created, and the library's errors in our words.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use hdf5_metno::file::LibraryVersion;
use hdf5_metno::{Error, File, FileBuilder};

use crate::FormatError;

/// Opens the file at `path` for reading, without its lock (read-only media have none), a chunk cache or sieve buffers.
/// Returns its length too.
pub fn open(path: &Path) -> Result<(File, u64), FormatError> {
    let failed = |e| FormatError::io(path, e);
    // Opened by us first: what the operating system refuses has its own reason then, not the library's words.
    let handle = fs::File::open(path).map_err(failed)?;
    let metadata = handle.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    if metadata.len() == 0 {
        return Err(FormatError::corrupt(path, "empty file; expected HDF5"));
    }
    let mut options = FileBuilder::new();
    options.with_fapl(|access| access.file_locking(false).chunk_cache(0, 0, 0.0).sieve_buf_size(0));
    let file = options.open(library_path(path, &handle)).map_err(|e| refused(path, "opening it", &e))?;
    Ok((file, metadata.len()))
}

/// Creates the file at `path` in the file format of HDF5 1.10: all its metadata carry checksums. The older one of chunk
/// indexes (B-trees), which h5py writes by default, has none, and HDF5 2.2 built with assertions aborts on a damaged one.
pub fn create(path: &Path) -> Result<File, FormatError> {
    let handle = fs::File::create(path).map_err(|e| FormatError::io(path, e))?;
    let mut options = FileBuilder::new();
    let version = LibraryVersion::V110;
    options.with_fapl(|access| access.file_locking(false).libver_bounds(version, version));
    options.create(library_path(path, &handle)).map_err(|e| refused(path, "creating it", &e))
}

/// A name of the open file that the library takes: text, which a path need not be.
fn library_path<'a>(path: &'a Path, handle: &fs::File) -> Cow<'a, Path> {
    match path.to_str() {
        Some(_) => Cow::Borrowed(path),
        None => Cow::Owned(PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))),
    }
}

/// What the library said while `doing` something with the file at `path`.
pub fn refused(path: &Path, doing: &str, error: &Error) -> FormatError {
    if let Some(code) = error.stack().and_then(|stack| stack.iter().find_map(|frame| errno(frame.desc()))) {
        return FormatError::io(path, io::Error::from_raw_os_error(code));
    }
    FormatError::corrupt(path, format!("{doing}: {error}"))
}

/// The error number that the library's file driver puts into its message.
fn errno(message: &str) -> Option<i32> {
    let rest = message.split_once("errno = ")?.1;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok().filter(|&code| code != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_number_is_found_in_the_librarys_words() {
        let words = "unable to open file: name = 'x', errno = 24, error message = 'Too many open files', flags = 0";
        assert_eq!(errno(words), Some(24));
        assert_eq!(errno("file read failed: errno = 0, error message = 'Success'"), None);
        assert_eq!(errno("bad object header version number"), None);
    }
}
