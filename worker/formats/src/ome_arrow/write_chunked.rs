//! Writing typed chunk datasets, as `write_ome_arrow_dataset` does.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use serde_json::json;

use crate::reference::for_each_record;
use crate::{Dataset, FormatError};

use super::chunked::{CHUNKS, IMAGES, INDEX, LAYOUT, MANIFEST};
use super::rows::{Image, binary, little_endian};
use super::schema;
use super::shape::Element;
use super::write::{failed, refused};

/// How a dataset is stored.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Height and width of a chunk of one channel; `None` for a chunk that is the whole image.
    pub tile: Option<usize>,
    pub pages: Pages,
}

/// How chunks become pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// As ome-arrow does: zstd 1, and a row group for each chunk.
    Default,
    /// Nothing packed; a row group for all, one chunk a page, and a page index.
    Single,
}

/// A chunk: number of its image, and its t, c, z, y, x with its sizes in the same order.
type Chunk = (usize, [i32; 10]);
const AXES: [&str; 10] = ["t", "c", "z", "y", "x", "shape_t", "shape_c", "shape_z", "shape_y", "shape_x"];
/// Bytes of pixels that are turned into arrays at once.
const BATCH: usize = 4 << 20;

/// A dataset that is being written.
struct Writer<'a> {
    dataset: &'a Dataset,
    folder: &'a Path,
    form: Form,
    writer: ArrowWriter<File>,
    /// Ids, heights and widths of the images.
    images: Vec<(String, i32, i32)>,
    chunks: Vec<Chunk>,
    /// Pixels of the last chunks, which are not written yet.
    waiting: Vec<Vec<u8>>,
    bytes: usize,
}

impl<'a> Writer<'a> {
    fn create(dataset: &'a Dataset, folder: &'a Path, form: Form) -> Result<Self, FormatError> {
        fs::create_dir(folder).map_err(|e| FormatError::io(folder, e))?;
        let pixels = ColumnPath::from("pixel_bytes");
        let properties = properties(form.pages == Pages::Default).map_err(|e| failed(folder, e))?;
        let properties = match form.pages {
            Pages::Default => properties.set_max_row_group_row_count(Some(1)).set_offset_index_disabled(true),
            Pages::Single => properties
                .set_max_row_group_row_count(None)
                .set_write_batch_size(1)
                .set_column_dictionary_enabled(pixels.clone(), false)
                .set_column_data_page_row_count_limit(pixels.clone(), 1)
                .set_column_data_page_size_limit(pixels.clone(), i32::MAX as usize)
                .set_column_statistics_enabled(pixels, EnabledStatistics::None),
        };
        let path = folder.join(CHUNKS);
        let schema = chunk_batch(0, &[], &[], &[], dataset).map_err(|e| refused(&path, e))?.schema();
        let writer = create(&path, schema, properties)?;
        let (images, chunks, waiting) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { dataset, folder, form, writer, images, chunks, waiting, bytes: 0 })
    }

    fn push(&mut self, image: &Image<'_>) -> Result<(), FormatError> {
        let Image { id, height, width, pixels } = *image;
        let number = self.images.len();
        self.images.push((id.to_owned(), height as i32, width as i32));
        let (channels, pixel) = (self.dataset.channels(), self.dataset.info.dtype.size());
        let Some(tile) = self.form.tile else {
            let place = [0, 0, 0, 0, 0, 1, channels as i32, 1, height as i32, width as i32];
            return self.chunk((number, place), pixels.to_vec());
        };
        for channel in 0..channels {
            for y in (0..height).step_by(tile) {
                for x in (0..width).step_by(tile) {
                    let (high, wide) = (tile.min(height - y), tile.min(width - x));
                    let mut chunk = Vec::with_capacity(high * wide * pixel);
                    for row in y..y + high {
                        let first = ((channel * height + row) * width + x) * pixel;
                        chunk.extend_from_slice(&pixels[first..first + wide * pixel]);
                    }
                    let place = [0, channel as i32, 0, y as i32, x as i32, 1, 1, 1, high as i32, wide as i32];
                    self.chunk((number, place), chunk)?;
                }
            }
        }
        Ok(())
    }

    fn chunk(&mut self, chunk: Chunk, pixels: Vec<u8>) -> Result<(), FormatError> {
        self.chunks.push(chunk);
        self.bytes += pixels.len();
        self.waiting.push(little_endian(pixels, self.dataset.info.dtype.size()));
        if self.bytes >= BATCH { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), FormatError> {
        let path = self.folder.join(CHUNKS);
        let first = self.chunks.len() - self.waiting.len();
        let batch = chunk_batch(first, &self.chunks[first..], &self.images, &self.waiting, self.dataset);
        self.writer.write(&batch.map_err(|e| refused(&path, e))?).map_err(|e| failed(&path, e))?;
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }

    fn close(mut self) -> Result<(), FormatError> {
        self.write()?;
        let Self { dataset, folder, form, writer, images, chunks, .. } = self;
        writer.close().map_err(|e| failed(&folder.join(CHUNKS), e))?;
        let single = form.pages == Pages::Single;
        table(&folder.join(IMAGES), image_batch(&images, dataset, form), !single)?;
        table(&folder.join(INDEX), index_batch(&chunks, &images, single), !single)?;
        let path = folder.join(MANIFEST);
        let text = serde_json::to_vec_pretty(&manifest(&images, chunks.len(), dataset, form));
        fs::write(&path, text.map_err(|e| FormatError::io(&path, e.into()))?).map_err(|e| FormatError::io(&path, e))
    }
}

fn properties(zstd: bool) -> Result<WriterPropertiesBuilder, ParquetError> {
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

fn create(
    path: &Path,
    schema: arrow_schema::SchemaRef,
    properties: WriterPropertiesBuilder,
) -> Result<ArrowWriter<File>, FormatError> {
    let file = File::create(path).map_err(|e| FormatError::io(path, e))?;
    ArrowWriter::try_new(file, schema, Some(properties.build())).map_err(|e| failed(path, e))
}

/// Writes one of the two small tables.
fn table(path: &Path, batch: Result<RecordBatch, ArrowError>, zstd: bool) -> Result<(), FormatError> {
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
fn chunk_batch(
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
fn index_batch(chunks: &[Chunk], images: &[(String, i32, i32)], single: bool) -> Result<RecordBatch, ArrowError> {
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
fn image_batch(images: &[(String, i32, i32)], dataset: &Dataset, form: Form) -> Result<RecordBatch, ArrowError> {
    let count = images.len();
    let same = |text: &str| texts(vec![text; count].into_iter());
    let number = |number: i32| ints(vec![number; count].into_iter());
    let size = |of: fn(&(String, i32, i32)) -> i32| ints(images.iter().map(of));
    let side = |of: fn(&(String, i32, i32)) -> i32| {
        ints(images.iter().map(move |image| form.tile.map_or(of(image), |tile| of(image).min(tile as i32))))
    };
    let (channels, chunked) =
        (dataset.channels() as i32, if form.tile.is_some() { 1 } else { dataset.channels() as i32 });
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
fn manifest(images: &[(String, i32, i32)], chunks: usize, dataset: &Dataset, form: Form) -> serde_json::Value {
    let (height, width) = images.first().map_or((1, 1), |image| (image.1, image.2));
    let shape = match form.tile {
        Some(tile) => json!([1, 1, 1, height.min(tile as i32), width.min(tile as i32)]),
        None => json!([1, dataset.channels(), 1, height, width]),
    };
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

/// Writes a dataset for each site into `into`: the site itself.
pub fn write_sites(
    into: &Path,
    dataset: &Dataset,
    form: Form,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let total = dataset.info.sites.len();
    for (index, named) in dataset.info.sites.iter().enumerate() {
        let site = dataset.reference(index)?;
        let folder = into.join(named.name());
        let mut writer = Writer::create(dataset, &folder, form)?;
        let (height, width, pixels) = (site.height, site.width, site.data.bytes());
        writer.push(&Image { id: &named.name(), height, width, pixels })?;
        writer.close()?;
        progress(index as u64 + 1, total as u64);
    }
    Ok(())
}

/// Writes a dataset for each site that has objects into `into`: their records.
pub fn write_records(
    into: &Path,
    dataset: &Dataset,
    form: Form,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let [_, height, width] = dataset.record_shape();
    let folders: Vec<_> = dataset.info.sites.iter().map(|site| into.join(site.name())).collect();
    let mut open: Option<(u32, Writer<'_>)> = None;
    for_each_record(dataset, progress, |object, pixels| {
        let row = &dataset.objects.rows[object];
        if open.as_ref().is_none_or(|(site, _)| *site != row.site) {
            if let Some((_, writer)) = open.take() {
                writer.close()?;
            }
            open = Some((row.site, Writer::create(dataset, &folders[row.site as usize], form)?));
        }
        match &mut open {
            Some((_, writer)) => writer.push(&Image { id: &row.id, height, width, pixels }),
            None => Ok(()),
        }
    })?;
    open.map_or(Ok(()), |(_, writer)| writer.close())
}
