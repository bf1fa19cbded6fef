//! Records of objects, (C, Y, X) each, in one file.

use memmap2::Mmap;

use crate::record::Part;
use crate::{FormatError, OpenSpec, Probe, Reader, Stage};

use super::file::TensorFile;
use super::{FORMAT, IMAGES, RECORDS};

/// Reads records out of the mapping of one file.
pub struct RecordReader {
    part: Part,
    map: Mmap,
    offsets: Offsets,
    /// Bytes of a record.
    len: usize,
}

/// Where records lie, in bytes.
enum Offsets {
    /// One after the other from here on.
    Stack(usize),
    /// Each object's own, by its row of the object table.
    Keys(Vec<usize>),
}

impl RecordReader {
    /// Opens the file of records; `keys` says that each has a tensor named by its object's id.
    pub fn open(spec: &OpenSpec, keys: bool) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let (rows, dtype) = (&spec.dataset.objects.rows, spec.dataset.info.dtype);
        let file = TensorFile::open(&spec.stored_folder(FORMAT.name)?.join(RECORDS))?;
        let shape = spec.dataset.record_shape();
        let offsets = if keys {
            let offsets: Result<_, _> = rows.iter().map(|row| file.offset(&row.id, dtype, &shape)).collect();
            Offsets::Keys(offsets?)
        } else {
            let [channels, height, width] = shape;
            Offsets::Stack(file.offset(IMAGES, dtype, &[rows.len(), channels, height, width])?)
        };
        Ok(Self { part, map: file.into_map(), offsets, len: shape.iter().product::<usize>() * dtype.size() })
    }
}

impl Reader for RecordReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (site, window) = self.part.spec.window(object)?;
        let offset = match &self.offsets {
            Offsets::Stack(first) => first + object * self.len,
            Offsets::Keys(offsets) => offsets[object],
        };
        let record = &self.map[offset..offset + self.len];
        if self.part.whole {
            out.copy_from_slice(record);
        } else {
            self.part.cut(record, out);
        }
        self.part.pad(site, window, out);
        probe.ended(Stage::Read);
        Ok(out.len() as u64)
    }
}
