//! Files mapped into memory. The only `unsafe` of this crate.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::FormatError;

/// Maps the whole of `file`, which lies at `path`, for reading.
///
/// Callers compare the mapping's length with what the file's header promises before they touch a pixel, so that a
/// truncated file is an error and not a SIGBUS.
pub fn map(path: &Path, file: &File) -> Result<Mmap, FormatError> {
    // SAFETY: a mapping is only sound while nobody truncates or changes the file. Stored forms are written under a
    // temporary name, renamed once complete, and never changed in place; what a person does to them by hand while a
    // measurement runs is out of our reach, and no reader of mapped files can guard against it.
    unsafe { Mmap::map(file) }.map_err(|e| FormatError::io(path, e))
}
