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
use super::mapped::Mapped;
use super::slab;

/// With gaps up to this many bytes between wanted rows, whole rows are read in one piece.
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
    storage: Storage,
}

/// What lies in the file.
enum Storage {
    /// Pixels as they are, in columns of this width (that of a chunk, or of the image), whose rows follow each other.
    Plain { column: usize },
    /// Chunks of this shape that went through filters, and their mean size in bytes.
    Filtered { chunk: Vec<usize>, mean: f64 },
    /// Pixels in one piece, reached past the library.
    Mapped(Mapped),
}

impl Image {
    /// Opens the dataset `name` of the file at `path` and checks that it has this dtype and shape. A contiguous one is
    /// mapped if `mapped`, and read by the library otherwise.
    pub fn open(path: &Path, name: &str, dtype: Dtype, shape: &[usize], mapped: bool) -> Result<Self, FormatError> {
        let (file, len) = file::open(path)?;
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
        let storage = match chunk {
            None if mapped => Storage::Mapped(Mapped::open(path, name, &dataset, dtype, shape)?),
            Some(chunk) if filtered => {
                let chunks: f64 = shape.iter().zip(&chunk).map(|(axis, chunk)| axis.div_ceil(*chunk) as f64).product();
                // Looking all of them up costs a walk through their index; the file holds little else.
                Storage::Filtered { chunk, mean: len as f64 / chunks.max(1.0) }
            }
            Some(chunk) => Storage::Plain { column: chunk.last().map_or(width, |&column| column.min(width)) },
            None => Storage::Plain { column: width },
        };
        Ok(Self { path: path.to_owned(), dataset, dtype, width, storage })
    }

    /// The stage that a read is: the library does not part reading from decoding.
    pub fn stage(&self) -> Stage {
        match self.storage {
            Storage::Plain { .. } | Storage::Mapped(_) => Stage::Read,
            Storage::Filtered { .. } => Stage::ReadDecode,
        }
    }

    /// Reads `rect` of `count` planes from number `first` on into `out`, (C, Y, X) without gaps; of record number `record`
    /// where the image has records. Returns the bytes read.
    pub fn read(
        &self,
        record: Option<usize>,
        (first, count): (usize, usize),
        rect: Rect,
        out: &mut [u8],
    ) -> Result<u64, FormatError> {
        let place = |x, width| -> Vec<(usize, usize)> {
            let planes = [(first, count), (rect.y0, rect.height()), (x, width)];
            record.map(|record| (record, 1)).into_iter().chain(planes).collect()
        };
        let column = match &self.storage {
            Storage::Filtered { chunk, mean } => {
                let place = place(rect.x0, rect.width());
                out.copy_from_slice(self.pixels(&place)?.bytes());
                return Ok((chunks_met(&place, chunk) as f64 * mean) as u64);
            }
            Storage::Mapped(mapped) => return Ok(mapped.read(record.unwrap_or(0), (first, count), rect, out)),
            Storage::Plain { column } => *column,
        };
        let (pixel, mut touched) = (self.dtype.size(), 0);
        for left in (rect.x0 / column * column..rect.x1).step_by(column) {
            let right = (left + column).min(self.width);
            let wanted = rect.x0.max(left)..rect.x1.min(right);
            // The library makes a call for each row, unless whole ones are asked for.
            let whole = rect.height() > 1 && (right - left - wanted.len()) * pixel <= WORTHWHILE_GAP;
            let (x, width) = if whole { (left, right - left) } else { (wanted.start, wanted.len()) };
            let pixels = self.pixels(&place(x, width))?;
            let source = Lines { stride: width * pixel, first: (wanted.start - x) * pixel };
            let target = Lines { stride: rect.width() * pixel, first: (wanted.start - rect.x0) * pixel };
            copy(pixels.bytes(), source, out, target, wanted.len() * pixel);
            touched += pixels.bytes().len() as u64;
        }
        Ok(touched)
    }

    /// The pixels of a box, given as (first, count) of each axis.
    fn pixels(&self, place: &[(usize, usize)]) -> Result<Pixels, FormatError> {
        Ok(match self.dtype {
            Dtype::U8 => Pixels::U8(self.elements(place)?),
            Dtype::U16 => Pixels::U16(self.elements(place)?),
            Dtype::F32 => Pixels::F32(self.elements(place)?),
        })
    }

    /// The elements of a box, given as (first, count) of each axis, in C order and native byte order.
    fn elements<T: H5Type>(&self, place: &[(usize, usize)]) -> Result<Vec<T>, FormatError> {
        let array = self.dataset.read_slice::<T, _, IxDyn>(slab(place));
        Ok(array.map_err(|e| refused(&self.path, "reading pixels", &e))?.into_raw_vec_and_offset().0)
    }
}

/// Number of chunks that a box meets.
fn chunks_met(place: &[(usize, usize)], chunk: &[usize]) -> usize {
    let met = |(&(start, count), &chunk): (&(usize, usize), &usize)| (start + count).div_ceil(chunk) - start / chunk;
    place.iter().zip(chunk).map(met).product()
}

/// Lines of a buffer: from one to the next, and where the wanted part of each begins, in bytes.
#[derive(Debug, Clone, Copy)]
struct Lines {
    stride: usize,
    first: usize,
}

/// Copies `len` bytes of every line.
fn copy(source: &[u8], from: Lines, out: &mut [u8], to: Lines, len: usize) {
    if from.stride == len && to.stride == len {
        out.copy_from_slice(source);
        return;
    }
    for (source, out) in source.chunks_exact(from.stride).zip(out.chunks_exact_mut(to.stride)) {
        out[to.first..to.first + len].copy_from_slice(&source[from.first..from.first + len]);
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
