//! Planes and chunks as Arrow arrays.

use std::sync::Arc;

use arrow_array::builder::{LargeBinaryBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, Int16Array, Int32Array, LargeBinaryArray, ListArray, StringArray, StructArray, UInt16Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType};
use pcb_protocol::Dtype;

use super::schema;
use super::shape::Element;

/// How the pixels of an image are stored in its struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Lists of numbers: whole planes, and the same pixels again as chunks if `chunks`.
    Lists { chunks: bool },
    /// Chunks of bytes, each packed with zstd 1 if `zstd`. No planes.
    Bytes { zstd: bool },
}

/// Chunks or planes of all images: (channel, row, column, height, width).
#[derive(Default)]
pub struct Parts {
    /// Number of parts up to each image.
    ends: Vec<usize>,
    places: Vec<[i32; 5]>,
    /// Pixels of all parts, and the number of them up to each part.
    numbers: Vec<u16>,
    number_ends: Vec<usize>,
    bytes: Vec<Vec<u8>>,
    packed: Vec<bool>,
}

impl Parts {
    /// Appends the part `(y, x, height, width)` of a plane whose rows are `stride` pixels long.
    pub fn push(
        &mut self,
        channel: usize,
        (y, x, height, width): (usize, usize, usize, usize),
        stride: usize,
        plane: &[u8],
        dtype: Dtype,
        encoding: Encoding,
    ) -> std::io::Result<()> {
        self.places.push([channel as i32, y as i32, x as i32, height as i32, width as i32]);
        let pixel = dtype.size();
        let rows = (y..y + height).map(|row| &plane[(row * stride + x) * pixel..(row * stride + x + width) * pixel]);
        match (encoding, dtype) {
            (Encoding::Lists { .. }, Dtype::U8) => {
                rows.for_each(|row| self.numbers.extend(row.iter().map(|&x| u16::from(x))))
            }
            (Encoding::Lists { .. }, _) => rows.for_each(|row| {
                self.numbers.extend(row.as_chunks().0.iter().map(|&pixel| u16::from_ne_bytes(pixel)));
            }),
            (Encoding::Bytes { zstd }, _) => {
                let plain = rows.fold(Vec::with_capacity(height * width * pixel), |mut all, row| {
                    all.extend_from_slice(row);
                    all
                });
                let plain = little_endian(plain, pixel);
                let packed = if zstd { Some(zstd::bulk::compress(&plain, 1)?) } else { None };
                // As ome-arrow's `balanced` does: what does not shrink is left alone.
                let packed = packed.filter(|packed| packed.len() < plain.len());
                self.packed.push(packed.is_some());
                self.bytes.push(packed.unwrap_or(plain));
            }
        }
        self.number_ends.push(self.numbers.len());
        Ok(())
    }

    /// The chunks of each image, with bytes or with lists of numbers.
    pub fn chunks(self, bytes: bool, dtype: Dtype) -> Result<ListArray, ArrowError> {
        let count = self.places.len();
        let zeros = || -> ArrayRef { Arc::new(Int32Array::from(vec![0; count])) };
        let place = |axis: usize| -> ArrayRef {
            Arc::new(Int32Array::from_iter_values(self.places.iter().map(|place| place[axis])))
        };
        let mut columns: Vec<ArrayRef> = vec![
            zeros(),
            self.channels(),
            zeros(),
            place(1),
            place(2),
            Arc::new(Int32Array::from(vec![1; count])),
            place(3),
            place(4),
        ];
        if bytes {
            columns.push(Arc::new(StringArray::from_iter_values(vec![Element::of(dtype).name(); count])));
            let mut compression = StringBuilder::new();
            self.packed.iter().for_each(|&packed| compression.append_option(packed.then_some("zstd")));
            columns.push(Arc::new(compression.finish()));
            columns.push(Arc::new(binary(&self.bytes)));
        } else {
            columns.push(Arc::new(self.pixels()?));
        }
        let structs = StructArray::try_new(schema::chunk(bytes), columns, None)?;
        list(lengths(&self.ends), Arc::new(structs))
    }

    /// The planes of each image.
    pub fn planes(self) -> Result<ListArray, ArrowError> {
        let zeros = || -> ArrayRef { Arc::new(Int32Array::from(vec![0; self.places.len()])) };
        let columns: Vec<ArrayRef> = vec![zeros(), zeros(), self.channels(), Arc::new(self.pixels()?)];
        let structs = StructArray::try_new(schema::plane(), columns, None)?;
        list(lengths(&self.ends), Arc::new(structs))
    }

    /// All parts up to here are those of one more image.
    pub fn end_image(&mut self) {
        self.ends.push(self.places.len());
    }

    fn channels(&self) -> ArrayRef {
        Arc::new(Int16Array::from_iter_values(self.places.iter().map(|place| place[0] as i16)))
    }

    fn pixels(&self) -> Result<ListArray, ArrowError> {
        list(lengths(&self.number_ends), Arc::new(UInt16Array::from(self.numbers.clone())))
    }
}

/// Byte strings as an array.
pub fn binary(strings: &[Vec<u8>]) -> LargeBinaryArray {
    let mut builder = LargeBinaryBuilder::with_capacity(strings.len(), strings.iter().map(Vec::len).sum());
    strings.iter().for_each(|string| builder.append_value(string));
    builder.finish()
}

/// Pixels in little-endian byte order, from the native one.
pub fn little_endian(mut pixels: Vec<u8>, pixel: usize) -> Vec<u8> {
    if cfg!(target_endian = "big") {
        pixels.chunks_exact_mut(pixel).for_each(<[u8]>::reverse);
    }
    pixels
}

fn lengths(ends: &[usize]) -> impl Iterator<Item = usize> + '_ {
    ends.iter().scan(0, |last, &end| Some(end - std::mem::replace(last, end)))
}

/// Lists of these lengths over `values`, an error when they have more than Arrow's 32-bit offsets can count.
pub fn list(lengths: impl Iterator<Item = usize>, values: ArrayRef) -> Result<ListArray, ArrowError> {
    if i32::try_from(values.len()).is_err() {
        return Err(ArrowError::OffsetOverflowError(values.len()));
    }
    let kind: DataType = values.data_type().clone();
    ListArray::try_new(schema::element(kind), OffsetBuffer::from_lengths(lengths), values, None)
}
