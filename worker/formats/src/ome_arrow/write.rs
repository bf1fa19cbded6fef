//! Writing nested tables: one row for each image.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding as ColumnEncoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use pcb_protocol::Dtype;

use crate::reference::for_each_record;
use crate::{Dataset, FormatError};

use super::parts::Encoding;
use super::rows::{Image, Rows};
use super::schema;

/// Name of the column of images, as `to_ome_parquet` has it.
pub const COLUMN: &str = "image";
/// Bytes of pixels that are turned into arrays at once.
const BATCH: usize = 4 << 20;
/// Bytes of pixels in a row group. pyarrow's own limit is a number of rows so large that a plate would be one row
/// group, which the writer would have to hold.
const ROW_GROUP: usize = 128 << 20;

/// How a table is stored.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub encoding: Encoding,
    /// Height and width of a chunk.
    pub tile: usize,
    pub pages: Pages,
}

/// How a table's columns become pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// As pyarrow does: zstd 1 or nothing, a dictionary, many rows a page, no page index.
    Default { zstd: bool },
    /// One row a page and a page index: nothing is packed but what the encoding packs.
    Single,
    /// The same with pixels of lists as differences.
    SingleDelta,
}

fn properties(form: &Form) -> Result<WriterProperties, ParquetError> {
    let builder = WriterProperties::builder().set_created_by("pcb".to_owned()).set_max_row_group_row_count(None);
    let single = |builder: WriterPropertiesBuilder| {
        let columns: [&[&str]; 3] = [
            &[COLUMN, "planes", "list", "element", "pixels", "list", "element"],
            &[COLUMN, "chunks", "list", "element", "pixels", "list", "element"],
            &[COLUMN, "chunks", "list", "element", "pixel_bytes"],
        ];
        let path = |parts: &[&str]| ColumnPath::new(parts.iter().map(|&part| part.to_owned()).collect());
        columns.into_iter().map(path).fold(builder.set_write_batch_size(1), |builder, column| {
            builder
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_data_page_row_count_limit(column.clone(), 1)
                .set_column_data_page_size_limit(column.clone(), i32::MAX as usize)
                .set_column_statistics_enabled(column, EnabledStatistics::None)
        })
    };
    Ok(match form.pages {
        Pages::Default { zstd } => {
            let packed = if zstd { Compression::ZSTD(ZstdLevel::try_new(1)?) } else { Compression::UNCOMPRESSED };
            builder
                .set_compression(packed)
                .set_statistics_enabled(EnabledStatistics::Chunk)
                .set_offset_index_disabled(true)
                .build()
        }
        Pages::Single => single(builder).build(),
        Pages::SingleDelta => {
            let path = [COLUMN, "planes", "list", "element", "pixels", "list", "element"];
            let path = ColumnPath::new(path.iter().map(|&part| part.to_owned()).collect());
            single(builder).set_column_encoding(path, ColumnEncoding::DELTA_BINARY_PACKED).build()
        }
    })
}

/// A table that is being written.
struct Writer<'a> {
    path: &'a Path,
    /// Name of the column of ids.
    ids: &'a str,
    rows: Rows<'a>,
    writer: ArrowWriter<File>,
    /// Bytes of pixels in the batch and in the row group so far.
    batch: usize,
    group: usize,
}

impl<'a> Writer<'a> {
    fn create(path: &'a Path, dataset: &'a Dataset, form: &Form, ids: &'a str) -> Result<Self, FormatError> {
        let (dtype, channels) = (dataset.info.dtype, &dataset.info.channels);
        holds(form.encoding, dtype, channels.len())?;
        let bytes = matches!(form.encoding, Encoding::Bytes { .. });
        let image = Field::new(COLUMN, DataType::Struct(schema::image(bytes)), true);
        let schema = Arc::new(Schema::new(vec![Field::new(ids, DataType::Utf8, true), image]));
        let file = File::create(path).map_err(|e| FormatError::io(path, e))?;
        let properties = properties(form).map_err(|e| failed(path, e))?;
        let writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(|e| failed(path, e))?;
        let rows = Rows::new(form.encoding, dtype, channels, form.tile);
        Ok(Self { path, ids, rows, writer, batch: 0, group: 0 })
    }

    fn push(&mut self, image: &Image<'_>) -> Result<(), FormatError> {
        self.rows.push(image).map_err(|e| FormatError::io(self.path, e))?;
        self.batch += image.pixels.len();
        if self.batch >= BATCH {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), FormatError> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        let ids: ArrayRef = Arc::new(StringArray::from_iter_values(self.rows.ids()));
        let batch = self.rows.finish().and_then(|images| {
            RecordBatch::try_from_iter_with_nullable([
                (self.ids, ids, true),
                (COLUMN, Arc::new(images) as ArrayRef, true),
            ])
        });
        let batch = batch.map_err(|e| refused(self.path, e))?;
        self.writer.write(&batch).map_err(|e| failed(self.path, e))?;
        self.group += std::mem::take(&mut self.batch);
        if self.group >= ROW_GROUP {
            self.group = 0;
            self.writer.flush().map_err(|e| failed(self.path, e))?;
        }
        Ok(())
    }

    fn close(mut self) -> Result<(), FormatError> {
        self.write()?;
        self.writer.close().map(|_| ()).map_err(|e| failed(self.path, e))
    }
}

/// An error unless an encoding can hold these pixels.
pub fn holds(encoding: Encoding, dtype: Dtype, channels: usize) -> Result<(), FormatError> {
    if matches!(encoding, Encoding::Lists { .. }) && dtype == Dtype::F32 {
        let problem = "OME-Arrow's list encoding holds 16-bit numbers only; f32 needs a variant that stores bytes";
        return Err(FormatError::Unsupported(problem.into()));
    }
    if i16::try_from(channels).is_err() {
        let problem = format!("OME-Arrow counts channels with 16 bits; the dataset has {channels}");
        return Err(FormatError::Unsupported(problem));
    }
    Ok(())
}

/// Writes a row for each record into the file `path`.
pub fn write_records(
    path: &Path,
    dataset: &Dataset,
    form: &Form,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let mut writer = Writer::create(path, dataset, form, "Metadata_ObjectID")?;
    let [_, height, width] = dataset.record_shape();
    for_each_record(dataset, progress, |object, pixels| {
        let id = &dataset.objects.rows[object].id;
        writer.push(&Image { id, height, width, pixels })
    })?;
    writer.close()
}

/// Writes a row for each site into the file `path`.
pub fn write_sites(
    path: &Path,
    dataset: &Dataset,
    form: &Form,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let mut writer = Writer::create(path, dataset, form, "Metadata_ImageID")?;
    let total = dataset.info.sites.len();
    for (index, named) in dataset.info.sites.iter().enumerate() {
        let site = dataset.reference(index)?;
        let (height, width, pixels) = (site.height, site.width, site.data.bytes());
        writer.push(&Image { id: &named.name(), height, width, pixels })?;
        progress(index as u64 + 1, total as u64);
    }
    writer.close()
}

/// An error of writing the file at `path`.
pub fn failed(path: &Path, error: ParquetError) -> FormatError {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => FormatError::io(path, *error),
            Err(source) => FormatError::corrupt(path, source.to_string()),
        },
        ParquetError::ArrowError(problem) => FormatError::corrupt(path, problem),
        error => FormatError::corrupt(path, error.to_string()),
    }
}

/// An error of building arrays for the file at `path`.
pub fn refused(path: &Path, error: ArrowError) -> FormatError {
    match error {
        ArrowError::OffsetOverflowError(pixels) => {
            let problem = format!("{}: {pixels} pixels are more than a list of Arrow can hold", path.display());
            FormatError::Unsupported(problem)
        }
        error => FormatError::corrupt(path, error.to_string()),
    }
}
