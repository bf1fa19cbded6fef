//! Images as rows of Arrow arrays, encoded as ome-arrow does.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Int16Array, Int32Array, ListArray, NullArray, StringArray, StructArray,
    TimestampMicrosecondArray, UInt32Array,
};
use arrow_schema::ArrowError;
use pcb_protocol::Dtype;

use super::parts::{Encoding, Parts, list};
use super::schema;
use super::shape::Element;

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
        self.chunks.end_image();
        self.planes.end_image();
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
