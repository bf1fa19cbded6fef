//! The rows of a table, made from a dataset.

use std::sync::Arc;

use arrow_array::builder::{Int16Builder, Int32Builder, StringBuilder};
use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch, StringArray, UInt8Array, UInt16Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pcb_protocol::{Dtype, Layout};

use crate::ome_arrow::{Encoding, Image, Rows, holds, image_fields};
use crate::reference::for_each_record;
use crate::{Dataset, FormatError, SitePixels};

use super::{Content, IMAGE, PIXELS};

/// Bytes of pixels that are handed on at once; one row at least.
const BATCH: usize = 4 << 20;

/// ome-arrow's own chunk size.
const CHUNK: usize = 512;

/// Columns of a table.
pub fn schema(dataset: &Dataset, layout: Layout, content: Content) -> Result<Schema, FormatError> {
    let id = Field::new(id_column(layout), DataType::Utf8, true);
    let small = |name: &str, kind| Field::new(name, kind, false);
    let fields = match content {
        Content::Images => {
            holds(ENCODING, dataset.info.dtype, dataset.channels())?;
            vec![id, Field::new(IMAGE, DataType::Struct(image_fields(false)), true)]
        }
        Content::Records => vec![id, pixels_field(dataset, dataset.record_shape().iter().product())?],
        Content::Tiles { side } => vec![
            id,
            small("c", DataType::Int16),
            small("y", DataType::Int32),
            small("x", DataType::Int32),
            pixels_field(dataset, side * side)?,
        ],
    };
    Ok(Schema::new(fields))
}

const ENCODING: Encoding = Encoding::Lists { chunks: true };

fn id_column(layout: Layout) -> &'static str {
    match layout {
        Layout::Object => "Metadata_ObjectID",
        Layout::Site => "Metadata_ImageID",
    }
}

/// The field of a list of `len` pixels.
fn pixels_field(dataset: &Dataset, len: usize) -> Result<Field, FormatError> {
    let kind = match dataset.info.dtype {
        Dtype::U8 => DataType::UInt8,
        Dtype::U16 => DataType::UInt16,
        Dtype::F32 => DataType::Float32,
    };
    let Ok(len) = i32::try_from(len) else {
        let problem = format!("records of {len} pixels are more than a list of Arrow can hold");
        return Err(FormatError::Unsupported(problem));
    };
    Ok(Field::new(PIXELS, DataType::FixedSizeList(Arc::new(Field::new("item", kind, false)), len), false))
}

/// Calls `each` with the rows of a table in batches of some megabytes; `progress(done, total)` in sites.
pub fn for_each_batch(
    dataset: &Dataset,
    layout: Layout,
    content: Content,
    progress: &mut dyn FnMut(u64, u64),
    mut each: impl FnMut(&RecordBatch) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let schema = Arc::new(schema(dataset, layout, content)?);
    let mut batch = Batch::new(dataset, schema, content);
    let [_, height, width] = dataset.record_shape();
    match layout {
        Layout::Object => for_each_record(dataset, progress, |object, pixels| {
            batch.push(&Image { id: &dataset.objects.rows[object].id, height, width, pixels })?;
            batch.hand_on(BATCH, &mut each)
        })?,
        Layout::Site => {
            let total = dataset.info.sites.len();
            for (index, named) in dataset.info.sites.iter().enumerate() {
                let SitePixels { height, width, data, .. } = dataset.reference(index)?;
                batch.push(&Image { id: &named.name(), height, width, pixels: data.bytes() })?;
                batch.hand_on(BATCH, &mut each)?;
                progress(index as u64 + 1, total as u64);
            }
        }
    }
    batch.hand_on(1, &mut each)
}

/// Rows that were not handed on yet.
struct Batch<'a> {
    dataset: &'a Dataset,
    schema: Arc<Schema>,
    content: Content,
    images: Rows<'a>,
    ids: StringBuilder,
    channels: Int16Builder,
    y: Int32Builder,
    x: Int32Builder,
    pixels: Vec<u8>,
    bytes: usize,
}

impl<'a> Batch<'a> {
    fn new(dataset: &'a Dataset, schema: Arc<Schema>, content: Content) -> Self {
        let images = Rows::new(ENCODING, dataset.info.dtype, &dataset.info.channels, CHUNK);
        let (ids, channels) = (StringBuilder::new(), Int16Builder::new());
        let (y, x, pixels) = (Int32Builder::new(), Int32Builder::new(), Vec::new());
        Self { dataset, schema, content, images, ids, channels, y, x, pixels, bytes: 0 }
    }

    fn push(&mut self, image: &Image<'_>) -> Result<(), FormatError> {
        self.bytes += image.pixels.len();
        match self.content {
            Content::Images => {
                self.ids.append_value(image.id);
                self.images.push(image).map_err(|e| FormatError::io(&self.dataset.root, e))
            }
            Content::Records => {
                self.ids.append_value(image.id);
                self.pixels.extend_from_slice(image.pixels);
                Ok(())
            }
            Content::Tiles { side } => {
                self.push_tiles(image, side);
                Ok(())
            }
        }
    }

    fn push_tiles(&mut self, image: &Image<'_>, side: usize) {
        let pixel = self.dataset.info.dtype.size();
        let plane = image.height * image.width * pixel;
        for (channel, plane) in image.pixels.chunks_exact(plane).enumerate() {
            for y in (0..image.height).step_by(side) {
                for x in (0..image.width).step_by(side) {
                    self.ids.append_value(image.id);
                    self.channels.append_value(channel as i16);
                    self.y.append_value(y as i32);
                    self.x.append_value(x as i32);
                    let start = self.pixels.len();
                    self.pixels.resize(start + side * side * pixel, 0);
                    let len = side.min(image.width - x) * pixel;
                    let rows = self.pixels[start..].chunks_exact_mut(side * pixel);
                    for (row, out) in (y..image.height).zip(rows) {
                        let from = (row * image.width + x) * pixel;
                        out[..len].copy_from_slice(&plane[from..from + len]);
                    }
                }
            }
        }
    }

    /// Hands the rows to `each` if they have `least` bytes of pixels, and starts anew.
    fn hand_on(
        &mut self,
        least: usize,
        each: &mut impl FnMut(&RecordBatch) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        if self.bytes < least {
            return Ok(());
        }
        self.bytes = 0;
        let batch = self.finish().map_err(|error| match error {
            ArrowError::OffsetOverflowError(pixels) => {
                let problem = format!("{pixels} pixels are more than a list of Arrow can hold");
                FormatError::Unsupported(problem)
            }
            error => FormatError::corrupt(&self.dataset.root, error.to_string()),
        })?;
        each(&batch)
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let ids: StringArray = self.ids.finish();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(ids)];
        match self.content {
            Content::Images => columns.push(Arc::new(self.images.finish()?)),
            Content::Records => {}
            Content::Tiles { .. } => {
                columns.push(Arc::new(self.channels.finish()));
                columns.push(Arc::new(self.y.finish()));
                columns.push(Arc::new(self.x.finish()));
            }
        }
        if self.content != Content::Images {
            columns.push(self.lists()?);
        }
        RecordBatch::try_new(self.schema.clone(), columns)
    }

    fn lists(&mut self) -> Result<ArrayRef, ArrowError> {
        let DataType::FixedSizeList(item, len) = self.schema.field_with_name(PIXELS)?.data_type() else {
            return Err(ArrowError::SchemaError(format!("column {PIXELS} holds no lists")));
        };
        let pixels = std::mem::take(&mut self.pixels);
        let values: ArrayRef = match item.data_type() {
            DataType::UInt8 => Arc::new(UInt8Array::from(pixels)),
            DataType::UInt16 => Arc::new(UInt16Array::from(bytemuck::pod_collect_to_vec::<u8, u16>(&pixels))),
            _ => Arc::new(Float32Array::from(bytemuck::pod_collect_to_vec::<u8, f32>(&pixels))),
        };
        Ok(Arc::new(FixedSizeListArray::try_new(item.clone(), *len, values, None)?))
    }
}
