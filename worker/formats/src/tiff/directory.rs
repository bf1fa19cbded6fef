//! Image file directories of classic TIFF and BigTIFF, in either byte order.
//!
//! Read once when a file is opened, with a few preads; nothing is believed before it was compared with the length of
//! the file, so a lying header costs no memory.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::FormatError;

/// A directory holds about 15 entries; this many bytes are read at first, so that most need one call.
const FIRST_READ: u64 = 512;

/// An open TIFF file and how it writes numbers.
pub struct TiffFile<'a> {
    path: &'a Path,
    file: &'a File,
    /// Length of the file in bytes.
    pub len: u64,
    /// Whether numbers are big-endian.
    pub big_endian: bool,
    /// Whether offsets have 64 bits.
    big: bool,
    /// Offset of the first directory.
    first: u64,
}

/// One directory: the tags of one page.
pub struct Directory {
    entries: Vec<Entry>,
    /// Offset of the next directory, 0 at the end.
    next: u64,
}

impl Directory {
    fn entry(&self, tag: u16) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.tag == tag)
    }
}

/// One tag. The value lies in `value` itself when it is short enough, else at the offset that it holds.
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    value: [u8; 8],
}

impl<'a> TiffFile<'a> {
    /// Reads the header of the open `file`, which lies at `path`.
    pub fn open(path: &'a Path, file: &'a File) -> Result<Self, FormatError> {
        let len = file.metadata().map_err(|e| FormatError::io(path, e))?.len();
        let mut this = Self { path, file, len, big_endian: false, big: false, first: 0 };
        if len == 0 {
            return Err(this.corrupt("empty file; expected a TIFF image"));
        }
        let start = this.bytes(0, len.min(16), "header")?;
        let (order, magic) = match &start[..] {
            [b'I', b'I', rest @ ..] => (false, rest),
            [b'M', b'M', rest @ ..] => (true, rest),
            _ => return Err(this.corrupt("not a TIFF file")),
        };
        this.big_endian = order;
        let number = |from: usize, to: usize| magic.get(from..to).map(|bytes| this.number(bytes));
        let (big, first) = match (number(0, 2), number(2, 4), number(4, 6)) {
            (Some(42), ..) => (false, number(2, 6)),
            (Some(43), Some(8), Some(0)) => (true, number(6, 14)),
            (None, ..) => return Err(this.corrupt("truncated in its header")),
            _ => return Err(this.corrupt("not a TIFF file")),
        };
        let Some(first) = first else { return Err(this.corrupt("truncated in its header")) };
        (this.big, this.first) = (big, first);
        Ok(this)
    }

    /// The directory of page number `page`.
    pub fn directory(&self, page: u32) -> Result<Directory, FormatError> {
        let mut found = 0;
        for directory in self.directories() {
            let directory = directory?;
            if found == page {
                return Ok(directory);
            }
            found += 1;
        }
        Err(self.missing(page, found as usize))
    }

    /// An error that says that page number `page` does not exist.
    pub fn missing(&self, page: u32, pages: usize) -> FormatError {
        self.corrupt(format!("page {page} does not exist; the file has {pages} pages"))
    }

    /// All directories in their order. Ends after an error.
    pub fn directories(&self) -> impl Iterator<Item = Result<Directory, FormatError>> + '_ {
        let mut seen = HashSet::new();
        let mut next = self.first;
        std::iter::from_fn(move || {
            if next == 0 {
                return None;
            }
            let offset = std::mem::take(&mut next);
            if !seen.insert(offset) {
                return Some(Err(self.corrupt("its directories form a circle")));
            }
            let directory = self.directory_at(offset);
            if let Ok(directory) = &directory {
                next = directory.next;
            }
            Some(directory)
        })
    }

    fn directory_at(&self, offset: u64) -> Result<Directory, FormatError> {
        let (head, width, tail) = if self.big { (8, 20, 8) } else { (2, 12, 4) };
        let what = "directory";
        let available = self.len.saturating_sub(offset).min(FIRST_READ);
        let mut bytes = self.bytes(offset, available.max(head), what)?;
        let count = self.number(&bytes[..head as usize]);
        // The file's length bounds the count long before the sum could overflow.
        if count > self.len / width {
            return Err(self.corrupt(format!("a directory of {count} entries in a file of {} bytes", self.len)));
        }
        let end = head + count * width;
        if (bytes.len() as u64) < end + tail {
            bytes = self.bytes(offset, end + tail, what)?;
        }
        let (head, end, tail) = (head as usize, end as usize, tail as usize);
        let entries = bytes[head..end].chunks_exact(width as usize).map(|entry| self.entry(entry)).collect();
        Ok(Directory { entries, next: self.number(&bytes[end..end + tail]) })
    }

    fn entry(&self, bytes: &[u8]) -> Entry {
        let inline = if self.big { 12 } else { 8 };
        let mut value = [0; 8];
        value[..bytes.len() - inline].copy_from_slice(&bytes[inline..]);
        Entry {
            tag: self.number(&bytes[..2]) as u16,
            kind: self.number(&bytes[2..4]) as u16,
            count: self.number(&bytes[4..inline]),
            value,
        }
    }

    /// All numbers of `tag`, or `None` when the directory lacks it.
    pub fn numbers(&self, directory: &Directory, tag: u16) -> Result<Option<Vec<u64>>, FormatError> {
        let Some(entry) = directory.entry(tag) else { return Ok(None) };
        let size = self.size(entry)?;
        let bytes = self.value(entry, size)?;
        Ok(Some(bytes.chunks_exact(size).map(|bytes| self.number(bytes)).collect()))
    }

    /// The one number of `tag`, or `default` when the directory lacks it.
    pub fn number_or(&self, directory: &Directory, tag: u16, default: u64) -> Result<u64, FormatError> {
        let Some(entry) = directory.entry(tag) else { return Ok(default) };
        let size = self.size(entry)?;
        if entry.count == 1 && size <= self.inline() {
            return Ok(self.number(&entry.value[..size]));
        }
        match self.numbers(directory, tag)?.as_deref() {
            Some([number]) => Ok(*number),
            // One value for each sample: all must be the same, as libtiff has it.
            Some([first, rest @ ..]) if rest.iter().all(|number| number == first) => Ok(*first),
            numbers => Err(self.corrupt(format!("tag {tag} is {numbers:?}; expected one number"))),
        }
    }

    /// The text of `tag` up to its end mark, or `None` when the directory lacks it. What is not UTF-8 is replaced.
    pub fn text(&self, directory: &Directory, tag: u16) -> Result<Option<String>, FormatError> {
        let Some(entry) = directory.entry(tag).filter(|entry| entry.kind == 2) else { return Ok(None) };
        let bytes = self.value(entry, 1)?;
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(Some(String::from_utf8_lossy(text).into_owned()))
    }

    /// Bytes of one number of `entry`.
    fn size(&self, entry: &Entry) -> Result<usize, FormatError> {
        match entry.kind {
            1 => Ok(1),
            3 => Ok(2),
            4 => Ok(4),
            16 => Ok(8),
            kind => Err(self.corrupt(format!("tag {} has type {kind}; expected whole numbers", entry.tag))),
        }
    }

    /// Bytes that a directory holds of a value itself.
    fn inline(&self) -> usize {
        if self.big { 8 } else { 4 }
    }

    /// The value of `entry`, whose elements have `size` bytes.
    fn value(&self, entry: &Entry, size: usize) -> Result<Vec<u8>, FormatError> {
        let inline = self.inline();
        match entry.count.checked_mul(size as u64) {
            Some(len) if len <= inline as u64 => Ok(entry.value[..len as usize].to_vec()),
            Some(len) => self.bytes(self.number(&entry.value[..inline]), len, "tag"),
            None => Err(self.corrupt(format!("tag {} has {} values", entry.tag, entry.count))),
        }
    }

    /// A whole number in the file's byte order.
    fn number(&self, bytes: &[u8]) -> u64 {
        let shift = |number: u64, &byte: &u8| number << 8 | u64::from(byte);
        if self.big_endian { bytes.iter().fold(0, shift) } else { bytes.iter().rev().fold(0, shift) }
    }

    fn bytes(&self, offset: u64, len: u64, what: &str) -> Result<Vec<u8>, FormatError> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            let problem = format!("truncated: {what} of {len} bytes at {offset}, the file has {} bytes", self.len);
            return Err(self.corrupt(problem));
        }
        let mut bytes = vec![0; len as usize];
        self.file.read_exact_at(&mut bytes, offset).map_err(|e| FormatError::io(self.path, e))?;
        Ok(bytes)
    }

    /// An error of this file.
    pub fn corrupt(&self, problem: impl Into<String>) -> FormatError {
        FormatError::corrupt(self.path, problem)
    }

    /// An error that names this file and what pcb does not read in it.
    pub fn unsupported(&self, what: impl AsRef<str>) -> FormatError {
        FormatError::Unsupported(format!("{}: {}", self.path.display(), what.as_ref()))
    }
}

#[cfg(test)]
mod tests;
