//! One dataset of pixels in an HDF5 file, read box by box.

use std::path::{Path, PathBuf};

use hdf5_metno::filters::Filter;
use hdf5_metno::plist::DatasetCreate;
use hdf5_metno::plist::dataset_create::Layout;
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use hdf5_metno::{Dataset, H5Type};
use ndarray::IxDyn;
use pcb_protocol::Dtype;

use crate::crop::Rect;
use crate::{FormatError, Pixels, Stage};

use super::file::{self, refused};
use super::slab;

/// With gaps up to this many bytes between wanted rows, whole rows are read in one piece: the library makes a system
/// call for each row otherwise.
const WORTHWHILE_GAP: usize = 4096;

/// Chunks of foreign files up to this size are read even when the whole image is smaller.
const LARGEST_SPARE_CHUNK: usize = 1 << 20;

/// A dataset whose last axes are (C, Y, X).
pub struct Image {
    path: PathBuf,
    dataset: Dataset,
    dtype: Dtype,
    /// Width of a plane in pixels.
    width: usize,
    /// Whether rows of a plane stand in the file as they are, one after the other.
    plain_rows: bool,
    filtered: bool,
    grid: Option<Grid>,
}

/// The chunks of an image.
struct Grid {
    /// Shape of a chunk, axis by axis.
    chunk: Vec<usize>,
    /// Mean stored size of a chunk in bytes.
    stored: f64,
}

/// Pixels that were read for a rectangle of some planes.
pub struct Block {
    pixels: Pixels,
    /// Pixels of one plane.
    plane: usize,
    /// Pixels from one row to the next.
    stride: usize,
    /// The rectangle's first column.
    left: usize,
    /// The rectangle's width.
    width: usize,
    /// Bytes of the file that it came from.
    pub touched: u64,
}

impl Image {
    /// Opens the dataset `name` of the file at `path` and checks that it has this dtype and shape. `sieve` is the size
    /// of the library's sieve buffer in bytes.
    pub fn open(path: &Path, name: &str, sieve: usize, dtype: Dtype, shape: &[usize]) -> Result<Self, FormatError> {
        let (file, len) = file::open(path, sieve)?;
        let failed = |e| refused(path, &format!("dataset /{name}"), &e);
        let dataset = file.dataset(name).map_err(failed)?;
        check(path, name, &dataset, dtype, shape)?;
        let creation = dataset.create_plist().map_err(failed)?;
        let filtered = check_filters(path, name, &creation)?;
        let width = shape.last().copied().unwrap_or(1);
        let chunk = creation.get_chunk().map_err(failed)?;
        match (creation.get_layout().map_err(failed)?, &chunk) {
            (Layout::Chunked, Some(chunk)) => check_chunk(path, name, chunk, shape, dtype)?,
            (Layout::Compact, _) => {}
            (Layout::Contiguous, _) if !creation.get_external().map_err(failed)?.is_empty() => {
                return Err(unsupported(path, name, "its pixels lie in other files; pcb reads those of this file"));
            }
            // No address: the library would hand out zeros.
            (Layout::Contiguous, _) if dataset.offset().is_none() => {
                return Err(FormatError::corrupt(path, format!("dataset /{name}: its pixels were never written")));
            }
            (Layout::Contiguous, _) => {}
            (layout, _) => return Err(unsupported(path, name, &format!("its layout is {layout:?}"))),
        }
        let plain_rows = !filtered && chunk.as_ref().is_none_or(|chunk| chunk.last() == Some(&width));
        let grid = chunk.map(|chunk| {
            let chunks: f64 = shape.iter().zip(&chunk).map(|(axis, chunk)| axis.div_ceil(*chunk) as f64).product();
            let whole = (chunk.iter().product::<usize>() * dtype.size()) as f64;
            Grid { chunk, stored: if filtered { len as f64 / chunks.max(1.0) } else { whole } }
        });
        Ok(Self { path: path.to_owned(), dataset, dtype, width, plain_rows, filtered, grid })
    }

    /// The stage that a read is: the library does not part reading from decoding.
    pub fn stage(&self) -> Stage {
        if self.filtered { Stage::ReadDecode } else { Stage::Read }
    }

    /// Reads `rect` of `count` planes from number `first` on; of record number `record` where the image has records.
    pub fn read(
        &self,
        record: Option<usize>,
        (first, count): (usize, usize),
        rect: Rect,
    ) -> Result<Block, FormatError> {
        let pixel = self.dtype.size();
        let gap = (self.width - rect.width()) * pixel;
        let (x, width) = if self.plain_rows && gap <= WORTHWHILE_GAP && rect.height() > 1 {
            (0, self.width)
        } else {
            (rect.x0, rect.width())
        };
        let planes = [(first, count), (rect.y0, rect.height()), (x, width)];
        let place: Vec<(usize, usize)> = record.map(|record| (record, 1)).into_iter().chain(planes).collect();
        let pixels = match self.dtype {
            Dtype::U8 => Pixels::U8(self.elements(&place)?),
            Dtype::U16 => Pixels::U16(self.elements(&place)?),
            Dtype::F32 => Pixels::F32(self.elements(&place)?),
        };
        let touched = match &self.grid {
            Some(grid) if !self.plain_rows => grid.touched(&place),
            _ => (pixels.len() * pixel) as u64,
        };
        let left = rect.x0 - x;
        Ok(Block { pixels, plane: rect.height() * width, stride: width, left, width: rect.width(), touched })
    }

    /// The elements of a box, given as (first, count) of each axis, in C order and native byte order.
    fn elements<T: H5Type>(&self, place: &[(usize, usize)]) -> Result<Vec<T>, FormatError> {
        let array = self.dataset.read_slice::<T, _, IxDyn>(slab(place));
        Ok(array.map_err(|e| refused(&self.path, "reading pixels", &e))?.into_raw_vec_and_offset().0)
    }
}

impl Grid {
    /// Stored bytes of the chunks that a box meets.
    fn touched(&self, place: &[(usize, usize)]) -> u64 {
        let met =
            |(&(start, count), &chunk): (&(usize, usize), &usize)| (start + count).div_ceil(chunk) - start / chunk;
        let chunks: usize = place.iter().zip(&self.chunk).map(met).product();
        (chunks as f64 * self.stored) as u64
    }
}

impl Block {
    /// Plane number `index` of those read, from the rectangle's first pixel on, and its stride in pixels.
    pub fn plane(&self, index: usize) -> (&[u8], usize) {
        let pixel = self.pixels.dtype().size();
        let first = (index * self.plane + self.left) * pixel;
        (&self.pixels.bytes()[first..(index + 1) * self.plane * pixel], self.stride)
    }

    /// Copies the rectangle of all planes into `out`, (C, Y, X) without gaps.
    pub fn copy(&self, out: &mut [u8]) {
        let pixel = self.pixels.dtype().size();
        if self.stride == self.width {
            out.copy_from_slice(self.pixels.bytes());
            return;
        }
        let (len, left) = (self.width * pixel, self.left * pixel);
        for (row, line) in self.pixels.bytes().chunks_exact(self.stride * pixel).zip(out.chunks_exact_mut(len)) {
            line.copy_from_slice(&row[left..left + len]);
        }
    }
}

/// An error unless the dataset has this dtype, in either byte order, and shape.
fn check(path: &Path, name: &str, dataset: &Dataset, dtype: Dtype, shape: &[usize]) -> Result<(), FormatError> {
    let failed = |e| refused(path, &format!("dataset /{name}"), &e);
    let stored = dataset.dtype().and_then(|stored| stored.to_descriptor()).map_err(failed)?;
    let found = match stored {
        TypeDescriptor::Unsigned(IntSize::U1) => Dtype::U8,
        TypeDescriptor::Unsigned(IntSize::U2) => Dtype::U16,
        TypeDescriptor::Float(FloatSize::U4) => Dtype::F32,
        other => return Err(unsupported(path, name, &format!("its dtype is {other}; pcb reads u8, u16 and f32"))),
    };
    if found != dtype {
        let problem = format!("dataset /{name}: dtype {found}; expected {dtype}, as dataset.json says");
        return Err(FormatError::corrupt(path, problem));
    }
    let found = dataset.space().map_err(failed)?.shape();
    if found != shape {
        let problem = format!("dataset /{name}: shape {found:?}; expected {shape:?}, as dataset.json says");
        return Err(FormatError::corrupt(path, problem));
    }
    Ok(())
}

/// Whether the pixels pass through filters; an error that names a filter which this library lacks.
fn check_filters(path: &Path, name: &str, creation: &DatasetCreate) -> Result<bool, FormatError> {
    let filters = creation.get_filters().map_err(|e| refused(path, &format!("filters of dataset /{name}"), &e))?;
    for filter in &filters {
        if !(filter.is_available() && filter.decode_enabled()) {
            let what = format!("filter {} is not in this build of HDF5", filter_name(filter));
            return Err(unsupported(path, name, &what));
        }
    }
    Ok(!filters.is_empty())
}

fn filter_name(filter: &Filter) -> String {
    let name = match filter.id() {
        1 => "deflate",
        4 => "szip",
        307 => "bzip2",
        32000 => "lzf",
        32001 => "blosc",
        32004 => "lz4",
        32008 => "bitshuffle",
        32013 => "zfp",
        32015 => "zstd",
        32026 => "blosc2",
        id => return format!("number {id}"),
    };
    name.to_owned()
}

/// An error for chunks that do not cover the image or would cost more memory than it: the library allocates whole ones.
fn check_chunk(path: &Path, name: &str, chunk: &[usize], shape: &[usize], dtype: Dtype) -> Result<(), FormatError> {
    let bytes = |axes: &[usize]| axes.iter().try_fold(dtype.size(), |product, &axis| product.checked_mul(axis));
    let limit = bytes(shape).map(|bytes| bytes.max(LARGEST_SPARE_CHUNK));
    let sound = chunk.len() == shape.len() && chunk.iter().all(|&axis| axis > 0);
    if sound && bytes(chunk).is_some_and(|bytes| limit.is_some_and(|limit| bytes <= limit)) {
        return Ok(());
    }
    Err(FormatError::corrupt(path, format!("dataset /{name}: impossible chunks {chunk:?} of an image {shape:?}")))
}

fn unsupported(path: &Path, name: &str, what: &str) -> FormatError {
    FormatError::Unsupported(format!("{}: dataset /{name}: {what}", path.display()))
}
