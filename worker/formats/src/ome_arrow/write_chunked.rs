//! Writing typed chunk datasets, as `write_ome_arrow_dataset` does.

use std::fs::{self, File};
use std::path::Path;

use parquet::arrow::ArrowWriter;
use parquet::file::properties::EnabledStatistics;
use parquet::schema::types::ColumnPath;

use crate::reference::for_each_record;
use crate::{Dataset, FormatError};

use super::chunked::{CHUNKS, IMAGES, INDEX, MANIFEST};
use super::parts::little_endian;
use super::rows::Image;
use super::write::{failed, refused};
use super::write_tables::{Chunk, chunk_batch, create, image_batch, index_batch, manifest, properties, table};

/// How a dataset is stored.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Height and width of a chunk; `None` for chunks as large as the image.
    pub tile: Option<usize>,
    /// Whether a chunk holds all channels.
    pub together: bool,
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
        let tile = self.form.tile.unwrap_or(usize::MAX);
        let deep = if self.form.together { channels } else { 1 };
        for channel in (0..channels).step_by(deep) {
            for y in (0..height).step_by(tile) {
                for x in (0..width).step_by(tile) {
                    let (high, wide) = (tile.min(height - y), tile.min(width - x));
                    let mut chunk = Vec::with_capacity(deep * high * wide * pixel);
                    for plane in channel..channel + deep {
                        for row in y..y + high {
                            let first = ((plane * height + row) * width + x) * pixel;
                            chunk.extend_from_slice(&pixels[first..first + wide * pixel]);
                        }
                    }
                    let place = [0, channel, 0, y, x, 1, deep, 1, high, wide].map(|number| number as i32);
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
