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
        Err(self.corrupt(format!("page {page} does not exist; the file has {found} pages")))
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
        let Some(entry) = directory.entries.iter().find(|entry| entry.tag == tag) else { return Ok(None) };
        let size: usize = match entry.kind {
            1 => 1,
            3 => 2,
            4 => 4,
            16 => 8,
            kind => return Err(self.corrupt(format!("tag {tag} has type {kind}; expected whole numbers"))),
        };
        let inline = if self.big { 8 } else { 4 };
        let bytes = match entry.count.checked_mul(size as u64) {
            Some(len) if len <= inline => entry.value[..len as usize].to_vec(),
            Some(len) => self.bytes(self.number(&entry.value[..inline as usize]), len, "tag")?,
            None => return Err(self.corrupt(format!("tag {tag} has {} values", entry.count))),
        };
        Ok(Some(bytes.chunks_exact(size).map(|bytes| self.number(bytes)).collect()))
    }

    /// The one number of `tag`, or `default` when the directory lacks it.
    pub fn number_or(&self, directory: &Directory, tag: u16, default: u64) -> Result<u64, FormatError> {
        match self.numbers(directory, tag)?.as_deref() {
            None => Ok(default),
            Some([number]) => Ok(*number),
            // One value for each sample: all must be the same, as libtiff has it.
            Some([first, rest @ ..]) if rest.iter().all(|number| number == first) => Ok(*first),
            Some(numbers) => Err(self.corrupt(format!("tag {tag} is {numbers:?}; expected one number"))),
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
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::super::page::Page;
    use super::*;

    /// Whatever the bytes are: an answer, no panic, no memory beyond what the file's length allows.
    fn read_anyhow(bytes: &[u8]) {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(bytes).expect("written");
        let file_of = File::open(file.path()).expect("opened");
        for page in 0..3 {
            match Page::read(file.path(), &file_of, page) {
                Ok(page) => assert!(page.chunks.len() <= bytes.len()),
                Err(error) => {
                    let name = file.path().display().to_string();
                    assert!(error.to_string().contains(&name), "{error} does not name the file");
                }
            }
        }
        let _ = super::super::tiff_pages(file.path());
    }

    /// A sound page of 4x4 u8 in one strip: header, pixels, directory.
    fn sound(big_endian: bool, big: bool) -> Vec<u8> {
        let number = |value: u64, size: usize| -> Vec<u8> {
            let bytes = value.to_le_bytes()[..size].to_vec();
            if big_endian { bytes.into_iter().rev().collect() } else { bytes }
        };
        let word = if big { 8 } else { 4 };
        let start = if big { 16 } else { 8 };
        let mut bytes = if big_endian { b"MM".to_vec() } else { b"II".to_vec() };
        if big {
            bytes.extend([number(43, 2), number(8, 2), number(0, 2)].concat());
        } else {
            bytes.extend(number(42, 2));
        }
        bytes.extend(number(start + 16, word));
        bytes.extend(0..16);
        let tags = [(256, 4), (257, 4), (258, 8), (259, 1), (262, 1), (273, start), (277, 1), (278, 4), (279, 16)];
        bytes.extend(number(tags.len() as u64, if big { 8 } else { 2 }));
        for (tag, value) in tags {
            bytes.extend([number(tag, 2), number(4, 2), number(1, word), number(value, 4)].concat());
            if big {
                bytes.extend([0; 4]);
            }
        }
        bytes.extend(number(0, word));
        bytes
    }

    #[test]
    fn classic_and_big_tiff_in_both_orders_are_read() {
        for (big_endian, big) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
            file.write_all(&sound(big_endian, big)).expect("written");
            let open = File::open(file.path()).expect("opened");
            let page = Page::read(file.path(), &open, 0).expect("a sound page");
            assert_eq!((page.info.height, page.info.width, page.chunk_height), (4, 4, 4));
            assert_eq!(page.chunks, [(if big { 16 } else { 8 }, 16)]);
            let missing = Page::read(file.path(), &open, 1).expect_err("there is one page");
            assert!(missing.to_string().contains("has 1 pages"), "{missing}");
        }
    }

    #[test]
    fn a_chain_that_bites_its_tail_ends() {
        let mut bytes = sound(false, false);
        let at = bytes.len() - 4;
        bytes[at..].copy_from_slice(&24_u32.to_le_bytes());
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(&bytes).expect("written");
        let error = super::super::tiff_pages(file.path()).expect_err("a circle");
        assert!(error.to_string().contains("circle"), "{error}");
    }

    #[test]
    fn every_truncation_is_an_error() {
        for (big_endian, big) in [(false, false), (true, true)] {
            let bytes = sound(big_endian, big);
            for len in 0..bytes.len() {
                read_anyhow(&bytes[..len]);
                let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
                file.write_all(&bytes[..len]).expect("written");
                let open = File::open(file.path()).expect("opened");
                assert!(Page::read(file.path(), &open, 0).is_err(), "{len}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), big: bool, order: bool) {
            read_anyhow(&bytes);
            let mut headed = sound(order, big);
            headed.truncate(if big { 16 } else { 8 });
            headed.extend(bytes);
            read_anyhow(&headed);
        }

        #[test]
        fn no_changed_bytes_make_it_panic(
            changes in prop::collection::vec((0_usize..200, any::<u8>()), 1..4),
            big: bool,
            order: bool,
        ) {
            let mut bytes = sound(order, big);
            for (at, byte) in changes {
                let len = bytes.len();
                bytes[at % len] = byte;
            }
            read_anyhow(&bytes);
        }
    }
}
