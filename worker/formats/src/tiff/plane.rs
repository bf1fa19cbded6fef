//! Rectangles out of one page: only the chunks that they meet are read, and none outlives the read.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::crop::Rect;
use crate::raw::{self, Rows, grown};
use crate::{FormatError, Probe, Stage};

use super::page::{Page, PageInfo};
use super::unpack::Unpacker;

/// How the bytes of a file are reached.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Read at their offsets.
    File(&'a File),
    /// All of the file, mapped.
    Mapped(&'a [u8]),
}

/// One page of an open file.
#[derive(Clone, Copy)]
pub struct Plane<'a> {
    pub path: &'a Path,
    pub source: Source<'a>,
    pub page: &'a Page,
}

/// Reused from chunk to chunk.
#[derive(Default)]
pub struct Buffers {
    unpacker: Unpacker,
    packed: Vec<u8>,
    chunk: Vec<u8>,
    scratch: Vec<u8>,
}

/// An error unless the page has the shape and dtype that dataset.json says.
pub fn check(path: &Path, page: u32, got: PageInfo, expected: PageInfo) -> Result<(), FormatError> {
    if got == expected {
        return Ok(());
    }
    let problem = format!(
        "page {page} is {}x{} {}; expected {}x{} {}, as dataset.json says",
        got.height, got.width, got.dtype, expected.height, expected.width, expected.dtype
    );
    Err(FormatError::corrupt(path, problem))
}

impl Plane<'_> {
    /// Reads the rectangle `rect` into `out`, (Y, X) without gaps. Returns the stored bytes read.
    pub fn read_rect(
        &self,
        rect: Rect,
        out: &mut [u8],
        buffers: &mut Buffers,
        probe: &mut Probe<'_>,
    ) -> Result<u64, FormatError> {
        let page = self.page;
        let (high, wide) = (page.chunk_height, page.chunk_width);
        let mut touched = 0;
        for down in rect.y0 / high..rect.y1.div_ceil(high) {
            for across in rect.x0 / wide..rect.x1.div_ceil(wide) {
                let chunk = down * page.across + across;
                let (top, left) = (down * high, across * wide);
                // The part of the rectangle that this chunk holds, in the chunk's own rows and columns.
                let part = Rect {
                    y0: rect.y0.max(top) - top,
                    y1: rect.y1.min(top + high) - top,
                    x0: rect.x0.max(left) - left,
                    x1: rect.x1.min(left + wide) - left,
                };
                let first = (top + part.y0 - rect.y0) * rect.width() + left + part.x0 - rect.x0;
                let out = &mut out[first * page.info.dtype.size()..];
                touched += self.read_part(chunk, part, out, rect.width(), buffers, probe)?;
            }
        }
        Ok(touched)
    }

    /// Reads `part` of chunk number `chunk` into `out`, whose rows are `stride` pixels apart.
    fn read_part(
        &self,
        chunk: usize,
        part: Rect,
        out: &mut [u8],
        stride: usize,
        buffers: &mut Buffers,
        probe: &mut Probe<'_>,
    ) -> Result<u64, FormatError> {
        let page = self.page;
        let (stored, pixel) = (page.sample.size(), page.info.dtype.size());
        let (offset, len) = page.chunks[chunk];
        let (row, line, stride) = (page.row_bytes(), part.width() * stored, stride * pixel);
        let first = part.y0 * row + part.x0 * stored;
        if page.is_raw() {
            let rows = Rows { offset: offset + first as u64, count: part.height(), len: line, stride: row };
            let touched = match self.source {
                Source::File(file) => raw::read_rows(file, rows, out, stride, &mut buffers.scratch),
                Source::Mapped(bytes) => Ok(raw::copy_rows(bytes, rows, out, stride)),
            };
            let touched = touched.map_err(|e| FormatError::io(self.path, e))?;
            probe.ended(Stage::Read);
            return Ok(touched);
        }
        let packed = match self.source {
            Source::File(file) => {
                let packed = grown(&mut buffers.packed, len);
                file.read_exact_at(packed, offset).map_err(|e| FormatError::io(self.path, e))?;
                packed
            }
            Source::Mapped(bytes) => &bytes[offset as usize..offset as usize + len],
        };
        probe.ended(Stage::Read);
        let pixels = grown(&mut buffers.chunk, page.chunk_height * row);
        let place = |problem| format!("chunk {chunk} at byte {offset} {problem}");
        let unpacked = buffers.unpacker.unpack(page, packed, part.y1, pixels);
        unpacked.map_err(|problem| FormatError::corrupt(self.path, place(problem)))?;
        let unsupported = |problem: String| {
            FormatError::Unsupported(format!("{}: {}", self.path.display(), place(format!("has {problem}"))))
        };
        for (source, out) in pixels[first..].chunks(row).zip(out.chunks_mut(stride)).take(part.height()) {
            let (source, out) = (&source[..line], &mut out[..part.width() * pixel]);
            if page.sample.is_converted() {
                page.sample.to_floats(source, out).map_err(unsupported)?;
            } else {
                out.copy_from_slice(source);
            }
        }
        probe.ended(Stage::Decode);
        Ok(len as u64)
    }
}
