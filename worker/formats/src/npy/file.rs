//! One .npy file of planes, mapped, kept open, or opened for each read.

use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::crop::Rect;
use crate::raw::{self, Rows};
use crate::{FormatError, mmap};

use super::header::Header;

/// How the bytes of a file are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through a mapping that stays.
    Mapped,
    /// Through a descriptor that stays open.
    Kept,
    /// Through a descriptor opened and closed for each sample; the header is read the first time only.
    Reopened,
}

/// A .npy file whose last two axes are planes (Y, X).
pub struct PlaneFile {
    path: PathBuf,
    access: Access,
    /// Offset of the first plane in bytes.
    data: usize,
    height: usize,
    width: usize,
    pixel: usize,
}

enum Access {
    Mapped(Mmap),
    Kept(File),
    Closed,
}

/// The bytes of a [`PlaneFile`], for one sample.
pub enum Source<'a> {
    /// All of the file.
    Mapped(&'a [u8]),
    /// The file, open.
    Kept(&'a File),
    /// The file, open until this is dropped.
    Opened(File),
}

impl PlaneFile {
    /// Opens the file at `path` and checks that it holds an array of `shape` and the dtype `expected`, in the layout
    /// that is read without conversion.
    pub fn open(path: &Path, way: Way, expected: pcb_protocol::Dtype, shape: &[usize]) -> Result<Self, FormatError> {
        let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
        let header = Header::read(path, &file)?;
        check(path, &header, expected, shape)?;
        let access = match way {
            Way::Mapped => {
                let map = mmap::map(path, &file)?;
                if Some(map.len() as u64) != header.file_len() {
                    return Err(FormatError::corrupt(path, "its length changed while it was opened"));
                }
                Access::Mapped(map)
            }
            Way::Kept => Access::Kept(file),
            Way::Reopened => Access::Closed,
        };
        let [.., height, width] = shape else {
            return Err(FormatError::corrupt(path, format!("shape {shape:?} has no planes")));
        };
        let (height, width) = (*height, *width);
        Ok(Self { path: path.to_owned(), access, data: header.data, height, width, pixel: expected.size() })
    }

    /// Its bytes, for one sample.
    pub fn source(&self) -> Result<Source<'_>, FormatError> {
        Ok(match &self.access {
            Access::Mapped(map) => Source::Mapped(map),
            Access::Kept(file) => Source::Kept(file),
            Access::Closed => Source::Opened(File::open(&self.path).map_err(|e| FormatError::io(&self.path, e))?),
        })
    }

    /// Offset in bytes of the pixel at row `y`, column `x` of plane number `plane`.
    pub fn offset(&self, plane: usize, y: usize, x: usize) -> usize {
        self.data + ((plane * self.height + y) * self.width + x) * self.pixel
    }

    /// Reads the rectangle `rect` of plane number `plane` into `out`, (Y, X) without gaps. Returns the bytes read.
    pub fn read_rect(
        &self,
        source: &Source<'_>,
        plane: usize,
        rect: Rect,
        out: &mut [u8],
        scratch: &mut Vec<u8>,
    ) -> Result<u64, FormatError> {
        let offset = self.offset(plane, rect.y0, rect.x0);
        let (len, stride) = (rect.width() * self.pixel, self.width * self.pixel);
        let rows = Rows { offset: offset as u64, count: rect.height(), len, stride };
        let file = match source {
            Source::Mapped(bytes) => return Ok(raw::copy_rows(bytes, rows, out, len)),
            Source::Kept(file) => file,
            Source::Opened(file) => file,
        };
        raw::read_rows(file, rows, out, len, scratch).map_err(|e| FormatError::io(&self.path, e))
    }

    /// Reads `planes` whole neighbouring planes from number `plane` on into `out`. Returns the bytes read.
    pub fn read_planes(
        &self,
        source: &Source<'_>,
        plane: usize,
        planes: usize,
        out: &mut [u8],
    ) -> Result<u64, FormatError> {
        let rows = Rect { y0: 0, y1: planes * self.height, x0: 0, x1: self.width };
        // Whole planes have no gaps between rows, so nothing passes through the scratch buffer.
        self.read_rect(source, plane, rows, out, &mut Vec::new())
    }
}

/// An error unless the file holds little-endian pixels in C order with this dtype and shape.
pub fn check(path: &Path, header: &Header, expected: pcb_protocol::Dtype, shape: &[usize]) -> Result<(), FormatError> {
    if header.dtype != expected {
        let problem = format!("dtype {}; expected {expected}, as dataset.json says", header.dtype);
        return Err(FormatError::corrupt(path, problem));
    }
    if header.shape != shape {
        let problem = format!("shape {:?}; expected {shape:?}, as dataset.json says", header.shape);
        return Err(FormatError::corrupt(path, problem));
    }
    if header.fortran || (header.big_endian && expected.size() > 1) {
        let problem = "stored forms are little-endian and in C order; write this one anew";
        return Err(FormatError::corrupt(path, problem));
    }
    Ok(())
}
