//! Cutting a rectangle of some channels out of the chunks that it meets.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::array::{Piece, Stored, ZarrArray};
use crate::crop::Rect;
use crate::raw::{self, Rows, grown};
use crate::{FormatError, Probe, Stage};

/// An array whose axes are known.
pub struct Image {
    /// The array.
    pub array: ZarrArray,
    /// Axis of channels; `None` where there is one channel without an axis.
    pub c: Option<usize>,
    /// Axis of rows.
    pub y: usize,
    /// Axis of columns.
    pub x: usize,
}

/// Buffers that are reused.
#[derive(Default)]
pub struct Buffers {
    /// A chunk as stored.
    bytes: Vec<u8>,
    /// Rows of an uncompressed chunk, with the gaps between them.
    rows: Vec<u8>,
    /// The file last opened for the crop being read, and its path: chunks of a shard share one.
    file: Option<(PathBuf, File)>,
}

/// The part of a rectangle that lies in one chunk. In pixels.
struct Overlap {
    /// First row and column within the chunk.
    from: (usize, usize),
    /// First row and column within the rectangle.
    to: (usize, usize),
    /// Rows and columns.
    size: (usize, usize),
}

impl Image {
    /// Shape as (C, Y, X).
    pub fn shape(&self) -> [usize; 3] {
        let shape = self.array.array.shape();
        [self.c.map_or(1, |c| shape[c] as usize), shape[self.y] as usize, shape[self.x] as usize]
    }

    /// Reads `rect` of `channels` into `out`: (C, Y, X) as stored, native byte order. Returns the stored bytes read. Of
    /// other axes the first plane is taken.
    pub fn read_rect(
        &self,
        channels: &[usize],
        rect: Rect,
        out: &mut [u8],
        buffers: &mut Buffers,
        probe: &mut Probe<'_>,
    ) -> Result<u64, FormatError> {
        let (high, wide) = (self.array.chunk[self.y] as usize, self.array.chunk[self.x] as usize);
        let deep = self.c.map_or(1, |c| self.array.chunk[c] as usize);
        buffers.file = None;
        let mut touched = 0;
        let mut at = vec![0; self.array.chunk.len()];
        // A chunk of several channels is read once for all of them.
        let mut depths: Vec<usize> = channels.iter().map(|channel| channel / deep).collect();
        depths.sort_unstable();
        depths.dedup();
        for depth in depths {
            if let Some(c) = self.c {
                at[c] = depth as u64;
            }
            for row in rect.y0 / high..rect.y1.div_ceil(high) {
                for column in rect.x0 / wide..rect.x1.div_ceil(wide) {
                    (at[self.y], at[self.x]) = (row as u64, column as u64);
                    let overlap = overlap(rect, (row * high, column * wide), (high, wide));
                    let wanted = channels.iter().enumerate().filter(|(_, channel)| **channel / deep == depth);
                    let planes: Vec<(usize, usize)> = wanted.map(|(index, channel)| (index, channel % deep)).collect();
                    touched += self.read_chunk(&at, &planes, rect, &overlap, out, buffers, probe)?;
                }
            }
        }
        Ok(touched)
    }

    /// Copies the overlap with one chunk; `planes` are (channel of `out`, channel of the chunk).
    #[expect(clippy::too_many_arguments, reason = "one call, all of it the state of the loop above")]
    fn read_chunk(
        &self,
        at: &[u64],
        planes: &[(usize, usize)],
        rect: Rect,
        overlap: &Overlap,
        out: &mut [u8],
        buffers: &mut Buffers,
        probe: &mut Probe<'_>,
    ) -> Result<u64, FormatError> {
        let pixel = self.array.stored.size();
        let piece = self.array.piece(at)?;
        let Buffers { bytes, rows, file } = buffers;
        let opened = piece.map(|piece| open(piece, self.array.is_raw, file)).transpose()?.flatten();
        let Some((range, len)) = opened else {
            self.each_line(planes, rect, overlap, out, |line, _, _| {
                line.chunks_exact_mut(pixel).for_each(|out| out.copy_from_slice(&self.array.fill));
            });
            return Ok(0);
        };
        let Some((path, file)) = file else { unreachable!("opened above") };
        if self.array.is_raw {
            let offset = range.map_or(0, |(offset, _)| offset);
            let touched = self.read_raw((path, file, offset, len), planes, rect, overlap, out, rows)?;
            probe.ended(Stage::Read);
            return Ok(touched);
        }
        read_all(path, file, range, bytes)?;
        probe.ended(Stage::Read);
        let touched = bytes.len() as u64;
        self.array.decode(path, bytes, |chunk| {
            self.each_line(planes, rect, overlap, out, |line, plane, row| {
                let first = self.pixel(plane, overlap.from.0 + row, overlap.from.1) * pixel;
                self.copy(&chunk[first..], line);
            });
        })?;
        probe.ended(Stage::Decode);
        Ok(touched)
    }

    /// Copies pixels of a row of a chunk, whose neighbours may lie apart where X is not the last axis.
    fn copy(&self, chunk: &[u8], line: &mut [u8]) {
        let pixel = self.array.stored.size();
        let stride = self.stride(self.x) * pixel;
        if stride == pixel {
            line.copy_from_slice(&chunk[..line.len()]);
            return;
        }
        for (index, out) in line.chunks_exact_mut(pixel).enumerate() {
            out.copy_from_slice(&chunk[index * stride..index * stride + pixel]);
        }
    }

    /// Reads the rows of an uncompressed chunk where they lie.
    fn read_raw(
        &self,
        (path, file, offset, len): (&Path, &File, u64, usize),
        planes: &[(usize, usize)],
        rect: Rect,
        overlap: &Overlap,
        out: &mut [u8],
        scratch: &mut Vec<u8>,
    ) -> Result<u64, FormatError> {
        let pixel = self.array.stored.size();
        let expected = self.array.chunk.iter().product::<u64>() as usize * pixel;
        if len != expected {
            let problem = format!("a chunk of {len} bytes; expected {expected}");
            return Err(FormatError::corrupt(path, problem));
        }
        let mut touched = 0;
        for &(index, plane) in planes {
            let first = self.pixel(plane, overlap.from.0, overlap.from.1) * pixel;
            let rows = Rows {
                offset: offset + first as u64,
                count: overlap.size.0,
                len: overlap.size.1 * pixel,
                stride: self.stride(self.y) * pixel,
            };
            let start = ((index * rect.height() + overlap.to.0) * rect.width() + overlap.to.1) * pixel;
            let out = &mut out[start..];
            touched +=
                raw::read_rows(file, rows, out, rect.width() * pixel, scratch).map_err(|e| FormatError::io(path, e))?;
        }
        Ok(touched)
    }

    /// Calls `each(line of out, channel of the chunk, row of the overlap)` for every line of the overlap.
    fn each_line(
        &self,
        planes: &[(usize, usize)],
        rect: Rect,
        overlap: &Overlap,
        out: &mut [u8],
        mut each: impl FnMut(&mut [u8], usize, usize),
    ) {
        let pixel = self.array.stored.size();
        for &(index, plane) in planes {
            for row in 0..overlap.size.0 {
                let start = ((index * rect.height() + overlap.to.0 + row) * rect.width() + overlap.to.1) * pixel;
                each(&mut out[start..start + overlap.size.1 * pixel], plane, row);
            }
        }
    }

    /// Distance of neighbours along an axis of a chunk, in pixels.
    fn stride(&self, axis: usize) -> usize {
        self.array.chunk[axis + 1..].iter().product::<u64>() as usize
    }

    /// Number of a pixel in a chunk.
    fn pixel(&self, channel: usize, row: usize, column: usize) -> usize {
        self.c.map_or(0, |c| channel * self.stride(c)) + row * self.stride(self.y) + column * self.stride(self.x)
    }

    /// Whether rows can be read where they lie: X is the last axis of plain pixels.
    pub fn check_order(&mut self) {
        self.array.is_raw &= self.stride(self.x) == 1;
    }

    /// Element type.
    pub fn stored(&self) -> Stored {
        self.array.stored
    }
}

/// The part of `rect` that lies in the chunk from `(y, x)` on.
fn overlap(rect: Rect, (y, x): (usize, usize), (high, wide): (usize, usize)) -> Overlap {
    let (y0, y1) = (rect.y0.max(y), rect.y1.min(y + high));
    let (x0, x1) = (rect.x0.max(x), rect.x1.min(x + wide));
    Overlap { from: (y0 - y, x0 - x), to: (y0 - rect.y0, x0 - rect.x0), size: (y1 - y0, x1 - x0) }
}

/// Where a piece lies in its file (`None`: all of it), and how long it is, which is known only where `sized`.
type Opened = (Option<(u64, usize)>, usize);

/// Opens the file of a piece, unless it is the one that is open; `None` where there is none, which stands for the fill
/// value. The length of a whole file costs a call.
fn open(piece: Piece, sized: bool, open: &mut Option<(PathBuf, File)>) -> Result<Option<Opened>, FormatError> {
    let Piece { path, range } = piece;
    let file = match open {
        Some((kept, file)) if *kept == path => file,
        _ => {
            let file = match File::open(&path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
                file => file.map_err(|e| FormatError::io(&path, e))?,
            };
            &mut open.insert((path.clone(), file)).1
        }
    };
    let len = match range {
        Some((_, len)) => len,
        None if sized => file.metadata().map_err(|e| FormatError::io(&path, e))?.len() as usize,
        None => 0,
    };
    if sized && len == 0 {
        return Err(empty(&path));
    }
    Ok(Some((range, len)))
}

fn read_all(path: &Path, mut file: &File, range: Option<(u64, usize)>, bytes: &mut Vec<u8>) -> Result<(), FormatError> {
    bytes.clear();
    let read = match range {
        Some((offset, len)) => file.read_exact_at(grown(bytes, len), offset).map(|()| bytes.truncate(len)),
        None => file.read_to_end(bytes).map(drop),
    };
    read.map_err(|e| FormatError::io(path, e))?;
    if bytes.is_empty() { Err(empty(path)) } else { Ok(()) }
}

fn empty(path: &Path) -> FormatError {
    FormatError::corrupt(path, "empty file; expected a chunk")
}
