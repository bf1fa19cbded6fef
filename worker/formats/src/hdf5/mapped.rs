//! A contiguous dataset through a mapping of its file: the library tells where the pixels lie, and is not asked again.
//! What `numpy.memmap(file, offset=dataset.id.get_offset())` does in Python.

use std::fs::File;
use std::path::Path;

use hdf5_metno::Dataset;
use hdf5_metno::datatype::ByteOrder;
use memmap2::Mmap;
use pcb_protocol::Dtype;

use crate::crop::Rect;
use crate::{FormatError, mmap};

/// The pixels of a dataset whose last axes are (C, Y, X).
pub struct Mapped {
    map: Mmap,
    /// Offset of the first pixel in bytes.
    first: usize,
    /// Planes of a record, height and width.
    shape: [usize; 3],
    pixel: usize,
}

impl Mapped {
    /// Maps the pixels of `dataset`, called `name`, which is contiguous and has this dtype and shape.
    pub fn open(
        path: &Path,
        name: &str,
        dataset: &Dataset,
        dtype: Dtype,
        shape: &[usize],
    ) -> Result<Self, FormatError> {
        let swapped = if cfg!(target_endian = "big") { ByteOrder::LittleEndian } else { ByteOrder::BigEndian };
        let stored = dataset.dtype().map_err(|e| super::file::refused(path, &format!("dataset /{name}"), &e))?;
        if stored.byte_order() == swapped {
            let what = format!("{}: dataset /{name}: pixels in the other byte order cannot be mapped", path.display());
            return Err(FormatError::Unsupported(what));
        }
        let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
        let map = mmap::map(path, &file)?;
        let bytes = shape.iter().try_fold(dtype.size(), |product, &axis| product.checked_mul(axis));
        let first = dataset.offset().and_then(|offset| usize::try_from(offset).ok());
        let (Some(bytes), Some(first)) = (bytes, first) else {
            return Err(FormatError::corrupt(path, format!("dataset /{name}: its pixels have no place in the file")));
        };
        if first.checked_add(bytes).is_none_or(|end| end > map.len()) {
            let (len, expected) = (map.len(), bytes);
            let problem =
                format!("truncated: dataset /{name} has {expected} bytes at {first}, the file has {len} bytes");
            return Err(FormatError::corrupt(path, problem));
        }
        let &[.., channels, height, width] = shape else {
            return Err(FormatError::corrupt(path, format!("dataset /{name}: shape {shape:?} has no planes")));
        };
        Ok(Self { map, first, shape: [channels, height, width], pixel: dtype.size() })
    }

    /// Reads `rect` of `count` planes from number `plane` of record `record` on into `out`, (C, Y, X) without gaps. Returns
    /// the bytes read.
    pub fn read(&self, record: usize, (plane, count): (usize, usize), rect: Rect, out: &mut [u8]) -> u64 {
        let [channels, height, width] = self.shape;
        let first = record * channels + plane;
        let at = |plane: usize, y, x| self.first + ((plane * height + y) * width + x) * self.pixel;
        if (rect.height(), rect.width()) == (height, width) {
            let start = at(first, 0, 0);
            out.copy_from_slice(&self.map[start..start + out.len()]);
            return out.len() as u64;
        }
        let len = rect.width() * self.pixel;
        let planes = out.chunks_exact_mut(rect.area() * self.pixel).take(count);
        for (plane, out) in planes.enumerate() {
            for (row, line) in out.chunks_exact_mut(len).enumerate() {
                let start = at(first + plane, rect.y0 + row, rect.x0);
                line.copy_from_slice(&self.map[start..start + len]);
            }
        }
        (count * rect.area() * self.pixel) as u64
    }
}
