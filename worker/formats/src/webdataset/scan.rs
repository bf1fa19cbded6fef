//! The members of a tar file, from its headers.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use tar::Archive;

use crate::FormatError;

/// Blocks that tar files consist of.
pub const BLOCK: u64 = 512;

/// One file in a tar file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, with folders.
    pub name: String,
    /// Where its bytes begin, in bytes.
    pub offset: u64,
    /// How many there are.
    pub len: u64,
}

/// The files in the tar file at `path`, in their order. Headers have checksums; the members' bytes are only checked to
/// lie within the file.
pub fn tar_members(path: &Path) -> Result<Vec<Member>, FormatError> {
    let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
    check_end(path, &file)?;
    let len = file.metadata().map_err(|e| FormatError::io(path, e))?.len();
    let broken = |error: std::io::Error| match error.raw_os_error() {
        Some(_) => FormatError::io(path, error),
        None => FormatError::corrupt(path, format!("not a tar file: {error}")),
    };
    let mut archive = Archive::new(file);
    let mut members = Vec::new();
    for entry in archive.entries_with_seek().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path().map_err(broken)?.to_string_lossy().into_owned();
        let (offset, size) = (entry.raw_file_position(), entry.size());
        if offset.checked_add(size).is_none_or(|end| end > len) {
            return Err(FormatError::corrupt(path, format!("truncated: {name} ends past the file's {len} bytes")));
        }
        members.push(Member { name, offset, len: size });
    }
    Ok(members)
}

/// An error unless the file ends as a tar file does: whole blocks, the last two of them zeros.
pub fn check_end(path: &Path, mut file: &File) -> Result<u64, FormatError> {
    let failed = |e| FormatError::io(path, e);
    let len = file.metadata().map_err(failed)?.len();
    if len == 0 {
        return Err(FormatError::corrupt(path, "empty file; expected a tar file"));
    }
    let mut end = [0; 2 * BLOCK as usize];
    if len % BLOCK == 0 && len >= 2 * BLOCK {
        file.seek(SeekFrom::Start(len - 2 * BLOCK)).and_then(|_| file.read_exact(&mut end)).map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        if end.iter().all(|&byte| byte == 0) {
            return Ok(len);
        }
    }
    Err(FormatError::corrupt(path, format!("truncated: {len} bytes that do not end in two blocks of zeros")))
}
