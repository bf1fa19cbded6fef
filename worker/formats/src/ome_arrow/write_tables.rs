//! The tables of a chunk dataset, as ome-arrow has them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use serde_json::json;

use crate::{Dataset, FormatError};

use super::chunked::{CHUNKS, LAYOUT};
use super::parts::binary;
use super::schema;
use super::shape::Element;
use super::write::{failed, refused};
use super::write_chunked::{Form, Pages};

/// A chunk: number of its image, and its t, c, z, y, x with its sizes in the same order.
pub type Chunk = (usize, [i32; 10]);
const AXES: [&str; 10] = ["t", "c", "z", "y", "x", "shape_t", "shape_c", "shape_z", "shape_y", "shape_x"];
/// What all tables of a dataset are written with.
pub fn properties(zstd: bool) -> Result<WriterPropertiesBuilder, ParquetError> {
    let pair = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let about = vec![
        pair("ome.arrow.type", "ome.arrow"),
        pair("ome.arrow.version", schema::VERSION),
        pair("ome.arrow.layout", LAYOUT),
    ];
    let packed = if zstd { Compression::ZSTD(ZstdLevel::try_new(1)?) } else { Compression::UNCOMPRESSED };
    Ok(WriterProperties::builder()
        .set_created_by("pcb".to_owned())
        .set_key_value_metadata(Some(about))
        .set_compression(packed)
        .set_statistics_enabled(EnabledStatistics::Chunk))
}

/// Creates the table at `path`.
pub fn create(
    path: &Path,
    schema: SchemaRef,
    properties: WriterPropertiesBuilder,
) -> Result<ArrowWriter<File>, FormatError> {
    let file = File::create(path).map_err(|e| FormatError::io(path, e))?;
    ArrowWriter::try_new(file, schema, Some(properties.build())).map_err(|e| failed(path, e))
}

/// Writes one of the two small tables.
pub fn table(path: &Path, batch: Result<RecordBatch, ArrowError>, zstd: bool) -> Result<(), FormatError> {
    let batch = batch.map_err(|e| refused(path, e))?;
    let properties = properties(zstd).map_err(|e| failed(path, e))?;
    let mut writer = create(path, batch.schema(), properties)?;
    writer.write(&batch).and_then(|()| writer.close().map(|_| ())).map_err(|e| failed(path, e))
}

/// Columns that may be null, as all of ome-arrow's are.
fn columns<'a>(list: impl IntoIterator<Item = (&'a str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_from_iter_with_nullable(list.into_iter().map(|(name, array)| (name, array, true)))
}

fn texts<'a>(texts: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

fn ints(numbers: impl Iterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(numbers))
}

/// Places of chunks, column by column.
fn places(chunks: &[Chunk]) -> impl Iterator<Item = (&'static str, ArrayRef)> + '_ {
    AXES.into_iter().enumerate().map(|(axis, name)| (name, ints(chunks.iter().map(move |(_, place)| place[axis]))))
}

/// Rows of `chunks.parquet`, the first of which has number `first`.
pub fn chunk_batch(
    first: usize,
    chunks: &[Chunk],
    images: &[(String, i32, i32)],
    pixels: &[Vec<u8>],
    dataset: &Dataset,
) -> Result<RecordBatch, ArrowError> {
    let dtype = Element::of(dataset.info.dtype).name();
    let mut list = vec![
        ("image_id", texts(chunks.iter().map(|(image, _)| images[*image].0.as_str()))),
        ("chunk_id", ids(first, chunks.len())),
    ];
    list.extend(places(chunks));
    list.push(("dtype", texts(chunks.iter().map(|_| dtype))));
    list.push(("pixel_bytes", Arc::new(binary(pixels))));
    columns(list)
}

fn ids(first: usize, count: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((first..first + count).map(|id| id as i64)))
}

/// Rows of `index.parquet`; all chunks are in one row group if `single`, else each in its own.
pub fn index_batch(chunks: &[Chunk], images: &[(String, i32, i32)], single: bool) -> Result<RecordBatch, ArrowError> {
    let (zeros, numbers) = (ints(chunks.iter().map(|_| 0)), ints(0..chunks.len() as i32));
    let (groups, rows) = if single { (zeros, numbers) } else { (numbers, zeros) };
    let mut list = vec![
        ("image_id", texts(chunks.iter().map(|(image, _)| images[*image].0.as_str()))),
        ("chunk_id", ids(0, chunks.len())),
        ("row_group_id", groups),
        ("row_index_in_group", rows),
        ("fragment_path", texts(chunks.iter().map(|_| CHUNKS))),
    ];
    list.extend(places(chunks));
    columns(list)
}

/// Rows of `images.parquet`.
pub fn image_batch(images: &[(String, i32, i32)], dataset: &Dataset, form: Form) -> Result<RecordBatch, ArrowError> {
    let count = images.len();
    let same = |text: &str| texts(vec![text; count].into_iter());
    let number = |number: i32| ints(vec![number; count].into_iter());
    let size = |of: fn(&(String, i32, i32)) -> i32| ints(images.iter().map(of));
    let side = |of: fn(&(String, i32, i32)) -> i32| {
        ints(images.iter().map(move |image| form.tile.map_or(of(image), |tile| of(image).min(tile as i32))))
    };
    let channels = dataset.channels() as i32;
    let chunked = if form.together { channels } else { 1 };
    let compression: ArrayRef = Arc::new(StringArray::from(vec![compression(form); count]));
    let described = channels_json(&dataset.info.channels);
    columns([
        ("image_id", texts(images.iter().map(|image| image.0.as_str()))),
        ("name", texts(images.iter().map(|image| image.0.as_str()))),
        ("image_type", Arc::new(StringArray::new_null(count))),
        ("dtype", same(Element::of(dataset.info.dtype).name())),
        ("size_t", number(1)),
        ("size_c", number(channels)),
        ("size_z", number(1)),
        ("size_y", size(|image| image.1)),
        ("size_x", size(|image| image.2)),
        ("layout", same(layout(form))),
        ("chunk_t", number(1)),
        ("chunk_c", number(chunked)),
        ("chunk_z", number(1)),
        ("chunk_y", side(|image| image.1)),
        ("chunk_x", side(|image| image.2)),
        ("compression", compression),
        ("channels_json", same(&described)),
    ])
}

fn layout(form: Form) -> &'static str {
    if form.tile.is_some() { "tile" } else { "image" }
}

fn compression(form: Form) -> Option<&'static str> {
    (form.pages == Pages::Default).then_some("zstd")
}

fn channels_json(names: &[String]) -> String {
    let channel = |(index, name): (usize, &String)| {
        json!({
            "id": format!("ch-{index}"),
            "name": name,
            "emission_um": 0.0,
            "excitation_um": 0.0,
            "illumination": "Unknown",
            "color_rgba": u32::MAX,
        })
    };
    serde_json::Value::from_iter(names.iter().enumerate().map(channel)).to_string()
}

/// What `_ome_arrow_dataset.json` says.
pub fn manifest(images: &[(String, i32, i32)], chunks: usize, dataset: &Dataset, form: Form) -> serde_json::Value {
    let (height, width) = images.first().map_or((1, 1), |image| (image.1, image.2));
    let channels = if form.together { dataset.channels() } else { 1 };
    let side = |size: i32| form.tile.map_or(size, |tile| size.min(tile as i32));
    let shape = json!([1, channels, 1, side(height), side(width)]);
    json!({
        "type": "ome.arrow",
        "version": schema::VERSION,
        "layout": LAYOUT,
        "image_count": images.len(),
        "chunk_count": chunks,
        "choice": {
            "layout": layout(form),
            "chunk_shape": shape,
            "compression": compression(form),
            "rationale": "chosen by pcb",
        },
        "package_versions": { "pcb": env!("CARGO_PKG_VERSION") },
    })
}
