//! Images as rows of Arrow arrays, encoded as ome-arrow does.

use std::sync::Arc;

use arrow_array::builder::{LargeBinaryBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, Float32Array, Int16Array, Int32Array, LargeBinaryArray, ListArray, NullArray, StringArray,
    StructArray, TimestampMicrosecondArray, UInt16Array, UInt32Array,
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

/// One image: its id and its (C, Y, X) pixels in native byte order.
pub struct Image<'a> {
    pub id: &'a str,
    pub height: usize,
    pub width: usize,
    pub pixels: &'a [u8],
}

/// Collects images until they are made into an array.
pub struct Rows<'a> {
    encoding: Encoding,
    dtype: Dtype,
    channels: &'a [String],
    /// Height and width of a chunk.
    tile: usize,
    ids: Vec<String>,
    sizes: Vec<(i32, i32)>,
    chunks: Parts,
    planes: Parts,
}

/// Chunks or planes of all images: (channel, row, column, height, width).
#[derive(Default)]
struct Parts {
    /// Number of parts up to each image.
    ends: Vec<usize>,
    places: Vec<[i32; 5]>,
    /// Pixels of all parts, and the number of them up to each part.
    numbers: Vec<u16>,
    number_ends: Vec<usize>,
    bytes: Vec<Vec<u8>>,
    packed: Vec<bool>,
}

impl<'a> Rows<'a> {
    pub fn new(encoding: Encoding, dtype: Dtype, channels: &'a [String], tile: usize) -> Self {
        let (ids, sizes, chunks, planes) = (Vec::new(), Vec::new(), Parts::default(), Parts::default());
        Self { encoding, dtype, channels, tile, ids, sizes, chunks, planes }
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Ids of the images.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Appends an image.
    pub fn push(&mut self, image: &Image<'_>) -> std::io::Result<()> {
        let Image { id, height, width, pixels } = *image;
        self.ids.push(id.to_owned());
        self.sizes.push((height as i32, width as i32));
        let plane = height * width * self.dtype.size();
        let (with_chunks, with_planes) = match self.encoding {
            Encoding::Lists { chunks } => (chunks, true),
            Encoding::Bytes { .. } => (true, false),
        };
        for (channel, plane) in pixels.chunks_exact(plane).enumerate() {
            if with_planes {
                let whole = (0, 0, height, width);
                self.planes.push(channel, whole, width, plane, self.dtype, self.encoding)?;
            }
            for y in (0..height).step_by(self.tile).take_while(|_| with_chunks) {
                for x in (0..width).step_by(self.tile) {
                    let part = (y, x, self.tile.min(height - y), self.tile.min(width - x));
                    self.chunks.push(channel, part, width, plane, self.dtype, self.encoding)?;
                }
            }
        }
        self.chunks.ends.push(self.chunks.places.len());
        self.planes.ends.push(self.planes.places.len());
        Ok(())
    }

    /// All images pushed so far as an array of structs; starts anew.
    pub fn finish(&mut self) -> Result<StructArray, ArrowError> {
        let bytes = matches!(self.encoding, Encoding::Bytes { .. });
        let count = self.ids.len();
        let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(vec![text; count])) };
        let ids: ArrayRef = Arc::new(StringArray::from_iter_values(&self.ids));
        let nulls: ArrayRef = Arc::new(StringArray::new_null(count));
        let columns: Vec<ArrayRef> = vec![
            text("ome.arrow"),
            text(schema::VERSION),
            ids.clone(),
            ids,
            nulls,
            Arc::new(TimestampMicrosecondArray::new_null(count)),
            Arc::new(self.meta()?),
            Arc::new(self.grid()?),
            Arc::new(std::mem::take(&mut self.chunks).chunks(bytes, self.dtype)?),
            Arc::new(std::mem::take(&mut self.planes).planes()?),
            Arc::new(NullArray::new(count)),
        ];
        self.ids.clear();
        self.sizes.clear();
        StructArray::try_new(schema::image(bytes), columns, None)
    }

    fn meta(&self) -> Result<StructArray, ArrowError> {
        let count = self.ids.len();
        let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(vec![text; count])) };
        let ones = || -> ArrayRef { Arc::new(Int32Array::from(vec![1; count])) };
        let scale = || -> ArrayRef { Arc::new(Float32Array::from(vec![1.0; count])) };
        let size = |of: fn(&(i32, i32)) -> i32| -> ArrayRef {
            Arc::new(Int32Array::from_iter_values(self.sizes.iter().map(of)))
        };
        let columns: Vec<ArrayRef> = vec![
            text("XYCT"),
            text(Element::of(self.dtype).name()),
            size(|size| size.1),
            size(|size| size.0),
            ones(),
            Arc::new(Int16Array::from(vec![self.channels.len() as i16; count])),
            ones(),
            scale(),
            scale(),
            scale(),
            text("µm"),
            text("µm"),
            text("µm"),
            Arc::new(self.channels()?),
        ];
        StructArray::try_new(schema::meta(), columns, None)
    }

    fn channels(&self) -> Result<ListArray, ArrowError> {
        let (count, channels) = (self.ids.len(), self.channels.len());
        let total = count * channels;
        let names = (0..count).flat_map(|_| self.channels.iter());
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values((0..total).map(|i| format!("ch-{}", i % channels)))),
            Arc::new(StringArray::from_iter_values(names)),
            Arc::new(Float32Array::from(vec![0.0; total])),
            Arc::new(Float32Array::from(vec![0.0; total])),
            Arc::new(StringArray::from_iter_values(vec!["Unknown"; total])),
            Arc::new(UInt32Array::from(vec![u32::MAX; total])),
        ];
        let structs = StructArray::try_new(schema::channel(), columns, None)?;
        list(vec![channels; count].into_iter(), Arc::new(structs))
    }

    fn grid(&self) -> Result<StructArray, ArrowError> {
        let count = self.ids.len();
        let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(vec![text; count])) };
        let ones = || -> ArrayRef { Arc::new(Int32Array::from(vec![1; count])) };
        let side = |of: fn(&(i32, i32)) -> i32| -> ArrayRef {
            let tile = i32::try_from(self.tile).unwrap_or(i32::MAX);
            Arc::new(Int32Array::from_iter_values(self.sizes.iter().map(|size| of(size).min(tile))))
        };
        let columns: Vec<ArrayRef> = vec![
            text("TCZYX"),
            ones(),
            Arc::new(Int16Array::from(vec![1; count])),
            ones(),
            side(|size| size.0),
            side(|size| size.1),
            text("ZYX"),
        ];
        StructArray::try_new(schema::grid(), columns, None)
    }
}

impl Parts {
    /// Appends the part `(y, x, height, width)` of a plane whose rows are `stride` pixels long.
    fn push(
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

    fn chunks(self, bytes: bool, dtype: Dtype) -> Result<ListArray, ArrowError> {
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

    fn planes(self) -> Result<ListArray, ArrowError> {
        let zeros = || -> ArrayRef { Arc::new(Int32Array::from(vec![0; self.places.len()])) };
        let columns: Vec<ArrayRef> = vec![zeros(), zeros(), self.channels(), Arc::new(self.pixels()?)];
        let structs = StructArray::try_new(schema::plane(), columns, None)?;
        list(lengths(&self.ends), Arc::new(structs))
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
fn list(lengths: impl Iterator<Item = usize>, values: ArrayRef) -> Result<ListArray, ArrowError> {
    if i32::try_from(values.len()).is_err() {
        return Err(ArrowError::OffsetOverflowError(values.len()));
    }
    let kind: DataType = values.data_type().clone();
    ListArray::try_new(schema::element(kind), OffsetBuffer::from_lengths(lengths), values, None)
}
