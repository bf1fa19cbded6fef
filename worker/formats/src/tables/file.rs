//! The file of a table, read in the caller's thread.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::FormatError;

/// The open file at `path` and its length; an error that says so when there is nothing to read.
pub fn open(path: &Path) -> Result<(File, u64), FormatError> {
    let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
    let metadata = file.metadata().map_err(|e| FormatError::io(path, e))?;
    if !metadata.is_file() {
        return Err(FormatError::io(path, io::ErrorKind::IsADirectory.into()));
    }
    match metadata.len() {
        0 => Err(FormatError::corrupt(path, "an empty file")),
        len => Ok((file, len)),
    }
}

/// A file that a library reads through us. It counts bytes, and keeps what the operating system refused: libraries hand on
/// no more than a text.
#[derive(Debug)]
pub struct CountedFile {
    file: File,
    len: u64,
    read: AtomicU64,
    refused: Mutex<Option<io::Error>>,
}

impl CountedFile {
    /// Reads from `file`, which has `len` bytes.
    pub fn new(file: File, len: u64) -> Self {
        Self { file, len, read: AtomicU64::new(0), refused: Mutex::new(None) }
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Bytes read so far.
    pub fn read_so_far(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Number of bytes in `range`, or a problem in words: to be asked before memory is spent on them.
    pub fn check(&self, range: &Range<u64>) -> Result<usize, String> {
        let len = range.end.checked_sub(range.start).filter(|_| range.end <= self.len);
        let (start, end) = (range.start, range.end);
        let len = len.and_then(|len| usize::try_from(len).ok());
        len.ok_or_else(|| format!("bytes {start} to {end} are wanted of {}", self.len))
    }

    /// Fills `out` from byte `offset` on. The error is a text for the library.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), String> {
        self.file.read_exact_at(out, offset).map_err(|error| {
            let text = error.to_string();
            if let Ok(mut refused) = self.refused.lock() {
                *refused = Some(error);
            }
            text
        })?;
        self.read.fetch_add(out.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// What `error` of the library means: a refusal of the operating system, or a file that is not what it should be.
    pub fn error(&self, path: &Path, error: &impl ToString) -> FormatError {
        let refused = self.refused.lock().ok().and_then(|mut refused| refused.take());
        match refused {
            Some(source) => FormatError::io(path, source),
            None => FormatError::corrupt(path, error.to_string()),
        }
    }
}

/// An error of a library that wrote the file at `path`: the operating system's, if there is one among its causes.
pub fn write_error(path: &Path, error: &(dyn std::error::Error + 'static)) -> FormatError {
    let mut source = Some(error);
    while let Some(cause) = source {
        if let Some(refused) = cause.downcast_ref::<io::Error>() {
            let refused = refused.raw_os_error().map_or_else(|| refused.kind().into(), io::Error::from_raw_os_error);
            return FormatError::io(path, refused);
        }
        source = cause.source();
    }
    FormatError::corrupt(path, error.to_string())
}
