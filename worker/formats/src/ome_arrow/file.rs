//! A Parquet file: its footer, and the columns of its leaves.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMask, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};

use crate::{FormatError, mmap};

/// An open file. Its bytes are mapped; its footer is read once.
#[derive(Clone)]
pub struct ParquetFile {
    pub path: PathBuf,
    /// All of it.
    pub bytes: Bytes,
    pub metadata: Arc<ParquetMetaData>,
    /// Row number at which each row group begins, and the number of rows.
    starts: Vec<u64>,
}

impl ParquetFile {
    /// Opens the file at `path` and reads its footer, with the places of the pages of those leaves that `indexed`
    /// chooses by their path.
    pub fn open(path: &Path, indexed: impl Fn(&[String]) -> bool) -> Result<Self, FormatError> {
        let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
        let about = file.metadata().map_err(|e| FormatError::io(path, e))?;
        if about.is_dir() {
            return Err(FormatError::corrupt(path, "a folder; expected a Parquet file"));
        }
        if about.len() == 0 {
            return Err(FormatError::corrupt(path, "empty file; expected a Parquet file"));
        }
        let bytes = Bytes::from_owner(mmap::map(path, &file)?);
        let metadata = guard(path, || {
            let options = ParquetMetaDataOptions::new()
                .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
                .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
                .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
            let mut reader = ParquetMetaDataReader::new().with_metadata_options(Some(options));
            reader.try_parse(&bytes)?;
            let metadata = reader.finish()?;
            let columns = metadata.file_metadata().schema_descr().columns().iter();
            let leaves = columns.enumerate().filter(|(_, leaf)| indexed(leaf.path().parts())).map(|(index, _)| index);
            let mask = ColumnChunkMask::columns(leaves);
            let mut reader = ParquetMetaDataReader::new_with_metadata(metadata)
                .with_offset_index_policy(PageIndexPolicy::Optional)
                .with_offset_index_mask(mask);
            reader.read_page_indexes(&bytes)?;
            reader.finish()
        })?;
        let mut starts = vec![0];
        for group in metadata.row_groups() {
            let rows = u64::try_from(group.num_rows()).ok();
            let end = rows.and_then(|rows| rows.checked_add(starts[starts.len() - 1]));
            let end = end.filter(|&end| u32::try_from(end).is_ok());
            starts.push(end.ok_or_else(|| FormatError::corrupt(path, "an impossible number of rows"))?);
        }
        Ok(Self { path: path.to_owned(), bytes, metadata: Arc::new(metadata), starts })
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Rows of row group `group`, as row numbers of the file.
    pub fn group_rows(&self, group: usize) -> std::ops::Range<u64> {
        self.starts[group]..self.starts[group + 1]
    }

    /// Row group that holds row `row`.
    pub fn group_of(&self, row: u64) -> Result<usize, FormatError> {
        if row < self.rows() {
            return Ok(self.starts.partition_point(|&start| start <= row) - 1);
        }
        Err(self.corrupt(format!("row {row}: the table has {} rows", self.rows())))
    }

    /// Indices of the leaves whose path `wanted` chooses.
    pub fn leaves(&self, wanted: impl Fn(&[String]) -> bool) -> Vec<usize> {
        let columns = self.metadata.file_metadata().schema_descr().columns().iter();
        columns.enumerate().filter(|(_, leaf)| wanted(leaf.path().parts())).map(|(index, _)| index).collect()
    }

    /// Names of the columns.
    pub fn columns(&self) -> Vec<String> {
        let root = self.metadata.file_metadata().schema_descr().root_schema();
        root.get_fields().iter().map(|field| field.name().to_owned()).collect()
    }

    /// Rows of row group `group` (of all, if `None`), with these leaves only, `batch` rows at a time. For metadata: pixels
    /// are read leaf by leaf.
    pub fn batches(&self, leaves: &[usize], group: Option<usize>, batch: usize) -> Result<Batches, FormatError> {
        let build = || {
            // What Arrow wrote about its own types is not needed, and could contradict the columns.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let metadata = ArrowReaderMetadata::try_new(self.metadata.clone(), options)?;
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), metadata);
            let mask = ProjectionMask::leaves(builder.parquet_schema(), leaves.iter().copied());
            let builder = builder.with_projection(mask).with_batch_size(batch);
            match group {
                Some(group) => builder.with_row_groups(vec![group]).build(),
                None => builder.build(),
            }
        };
        Ok(Batches { path: self.path.clone(), reader: guard(&self.path, build)? })
    }

    /// An error about this file.
    pub fn corrupt(&self, problem: impl Into<String>) -> FormatError {
        FormatError::corrupt(&self.path, problem)
    }
}

/// Record batches of a file, one after the other. Ends after an error.
pub struct Batches {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = &mut self.reader;
        guard(&self.path, || reader.next().transpose().map_err(ParquetError::from)).transpose()
    }
}

/// Calls `read`, which decodes what may be damaged. The `parquet` crate checks most of what it decodes, yet here and
/// there an impossible level or offset ends in one of its own assertions; that too is a damaged file.
pub fn guard<T>(path: &Path, read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, FormatError> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(ParquetError::NYI(what))) => Err(FormatError::Unsupported(format!("{}: {what}", path.display()))),
        Ok(Err(error)) => Err(FormatError::corrupt(path, format!("damaged Parquet file: {error}"))),
        Err(_) => Err(FormatError::corrupt(path, "damaged Parquet file: its pages contradict each other")),
    }
}
