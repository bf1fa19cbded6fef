//! One row out of the pages that hold it.

use std::collections::VecDeque;

use parquet::basic::Type;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;

/// What reading a row gave.
#[derive(Default)]
pub struct Values {
    /// Repetition level of each entry.
    pub repetitions: Vec<i16>,
    /// Definition level of each entry.
    pub definitions: Vec<i16>,
    pub i32s: Vec<i32>,
    pub i64s: Vec<i64>,
    pub bytes: Vec<ByteArray>,
}

impl Values {
    /// Takes the row after the first `skip` ones of `pages`, each of which is told to begin with a row or not.
    pub fn take(&mut self, descr: ColumnDescPtr, pages: VecDeque<(Page, bool)>, skip: usize) -> Result<()> {
        let Self { repetitions, definitions, i32s, i64s, bytes } = self;
        match descr.physical_type() {
            Type::INT32 => take::<Int32Type>(descr, pages, skip, repetitions, definitions, i32s),
            Type::INT64 => take::<Int64Type>(descr, pages, skip, repetitions, definitions, i64s),
            Type::BYTE_ARRAY => take::<ByteArrayType>(descr, pages, skip, repetitions, definitions, bytes),
            other => Err(ParquetError::NYI(format!("pixels of type {other}"))),
        }
    }

    /// Number of entries, nulls and empty lists included.
    pub fn entries(&self) -> usize {
        self.definitions.len().max(self.repetitions.len())
    }

    /// Number of lists whose elements have the repetition level `innermost`.
    pub fn lists(&self, innermost: i16) -> usize {
        self.repetitions.iter().filter(|&&level| level < innermost).count()
    }

    /// Whether such a list begins with entry `entry`.
    pub fn begins_list(&self, innermost: i16, entry: usize) -> bool {
        self.repetitions.get(entry).is_some_and(|&level| level < innermost)
    }
}

/// Skips `skip` rows and takes the next one.
fn take<T: DataType>(
    descr: ColumnDescPtr,
    pages: VecDeque<(Page, bool)>,
    skip: usize,
    repetitions: &mut Vec<i16>,
    definitions: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<()> {
    repetitions.clear();
    definitions.clear();
    values.clear();
    let mut reader = ColumnReaderImpl::<T>::new(descr, Box::new(Ready(pages)));
    if reader.skip_records(skip)? != skip {
        return Err(ParquetError::General("a page has fewer rows than its index says".into()));
    }
    match reader.read_records(1, Some(definitions), Some(repetitions), values)? {
        (1, ..) => Ok(()),
        _ => Err(ParquetError::General("a page has fewer rows than its index says".into())),
    }
}

/// Pages in memory, and whether each begins with a row.
struct Ready(VecDeque<(Page, bool)>);

impl Iterator for Ready {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Ready {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        Ok(self.0.pop_front().map(|(page, _)| page))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let about = |page: &Page| match page {
            Page::DictionaryPage { .. } => PageMetadata { num_rows: None, num_levels: None, is_dict: true },
            Page::DataPageV2 { num_values, num_rows, .. } => PageMetadata {
                num_rows: Some(*num_rows as usize),
                num_levels: Some(*num_values as usize),
                is_dict: false,
            },
            Page::DataPage { num_values, .. } => {
                PageMetadata { num_rows: None, num_levels: Some(*num_values as usize), is_dict: false }
            }
        };
        Ok(self.0.front().map(|(page, _)| about(page)))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.pop_front();
        Ok(())
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        Ok(self.0.front().is_none_or(|(_, whole)| *whole))
    }
}
