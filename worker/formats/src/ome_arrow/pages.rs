//! The pages of one column chunk: which of them hold which rows.
//!
//! Files with a page index say so themselves. Without one (pyarrow's default) the column chunk is walked once, when a
//! row of it is first wanted; only the places are kept.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;

use crate::FormatError;

use super::file::{ParquetFile, guard};
use super::levels::{self, Levels};
use super::unpack::Unpacker;

/// One data page.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Offset of its header in the file.
    offset: u64,
    /// Length, header included.
    len: u32,
    /// First row of the row group that begins in it.
    first_row: u32,
    /// Whether it begins with the begin of a row. pyarrow may split a row among pages.
    whole: bool,
}

/// The pages of a leaf within a row group.
pub struct ColumnPages {
    meta: ColumnChunkMetaData,
    dictionary: Option<(u64, u32)>,
    pages: Vec<Place>,
    rows: u32,
}

/// What reading a row gave.
#[derive(Default)]
pub struct Values {
    /// Repetition level of each entry.
    pub repetitions: Vec<i16>,
    /// Definition level of each entry.
    pub definitions: Vec<i16>,
    pub i32s: Vec<i32>,
    pub i64s: Vec<i64>,
    pub bytes: Vec<parquet::data_type::ByteArray>,
}

impl ColumnPages {
    /// Finds the pages of leaf `leaf` in row group `group`.
    pub fn find(
        file: &ParquetFile,
        group: usize,
        leaf: usize,
        unpacker: &mut Unpacker,
    ) -> std::result::Result<Self, FormatError> {
        let meta = file.metadata.row_group(group).column(leaf).clone();
        let rows = file.group_rows(group);
        let rows = (rows.end - rows.start) as u32;
        let index = file.metadata.page_index_for_row_group(group);
        match index.offset_index(leaf) {
            Some(index) => guard(&file.path, || Self::indexed(&file.bytes, meta, index.page_locations(), rows)),
            None => Self::walk(&file.path, &file.bytes, meta, rows, unpacker),
        }
    }

    /// Finds the pages of the column chunk `meta` of a row group of `rows` rows without a page index.
    pub fn walk(
        path: &Path,
        bytes: &Bytes,
        meta: ColumnChunkMetaData,
        rows: u32,
        unpacker: &mut Unpacker,
    ) -> std::result::Result<Self, FormatError> {
        guard(path, || Self::walked(bytes, meta, rows, unpacker))
    }

    /// Takes the file's own page index.
    fn indexed(bytes: &Bytes, meta: ColumnChunkMetaData, locations: &[PageLocation], rows: u32) -> Result<Self> {
        let (start, len) = checked_range(bytes, &meta)?;
        let bad = || ParquetError::General("its page index contradicts its row groups".into());
        let mut pages: Vec<Place> = Vec::with_capacity(locations.len());
        for location in locations {
            let offset = u64::try_from(location.offset).map_err(|_| bad())?;
            let size = u32::try_from(location.compressed_page_size).map_err(|_| bad())?;
            let first_row = u32::try_from(location.first_row_index).map_err(|_| bad())?;
            let inside = offset >= start && offset.saturating_add(u64::from(size)) <= start + len;
            let sorted = pages.last().map_or(first_row == 0, |last| last.first_row <= first_row);
            if !inside || !sorted || first_row > rows {
                return Err(bad());
            }
            pages.push(Place { offset, len: size, first_row, whole: true });
        }
        let first = pages.first().map_or(start, |page| page.offset);
        let dictionary = (first > start).then_some((start, (first - start) as u32));
        Ok(Self { meta, dictionary, pages, rows })
    }

    /// Walks over the pages and counts the rows that begin in each.
    fn walked(bytes: &Bytes, meta: ColumnChunkMetaData, rows: u32, unpacker: &mut Unpacker) -> Result<Self> {
        checked_range(bytes, &meta)?;
        let watched = Arc::new(Watched { bytes: bytes.clone(), header: AtomicU64::new(NONE), end: AtomicU64::new(0) });
        // Nothing is unpacked here; `fetch` does that, with its own buffers.
        let plain = meta.clone().into_builder().set_compression(parquet::basic::Compression::UNCOMPRESSED).build()?;
        let mut reader = SerializedPageReader::new(watched.clone(), &plain, rows as usize, None)?;
        let mut this = Self { meta, dictionary: None, pages: Vec::new(), rows };
        let mut row = 0;
        while let Some(page) = reader.get_next_page()? {
            let (offset, end) = (watched.header.swap(NONE, Ordering::Relaxed), watched.end.load(Ordering::Relaxed));
            let len = u32::try_from(end.saturating_sub(offset)).unwrap_or(u32::MAX);
            if page.is_dictionary_page() {
                this.dictionary = Some((offset, len));
                continue;
            }
            let mut place = Place { offset, len, first_row: row, whole: true };
            row += match page.num_values() {
                rows if rows == 0 || this.meta.column_descr().max_rep_level() == 0 => rows,
                _ => {
                    let page = this.page(bytes, offset, len, unpacker)?;
                    let levels = this.levels(&page)?;
                    place.whole = levels.first == 0;
                    levels.rows
                }
            };
            this.pages.push(place);
            if row > rows {
                break;
            }
        }
        if row != rows {
            return Err(ParquetError::General(format!("a column has {row} rows, its row group {rows}")));
        }
        Ok(this)
    }

    /// Number of entries of the row that was read, nulls and empty lists included.
    pub fn entries(&self, values: &Values) -> usize {
        values.definitions.len().max(values.repetitions.len())
    }

    /// Number of innermost lists of the row that was read.
    pub fn lists(&self, values: &Values) -> usize {
        let innermost = self.meta.column_descr().max_rep_level();
        values.repetitions.iter().filter(|&&level| level < innermost).count()
    }

    /// Whether an innermost list begins with entry `entry` of the row that was read.
    pub fn begins_list(&self, values: &Values, entry: usize) -> bool {
        let innermost = self.meta.column_descr().max_rep_level();
        values.repetitions.get(entry).is_some_and(|&level| level < innermost)
    }

    /// Reads row `row` of the row group into `values`. Returns the stored bytes used.
    pub fn read(
        &self,
        path: &Path,
        bytes: &Bytes,
        row: u32,
        values: &mut Values,
        unpacker: &mut Unpacker,
    ) -> std::result::Result<u64, FormatError> {
        guard(path, || self.read_row(bytes, row, values, unpacker))
    }

    fn read_row(&self, bytes: &Bytes, row: u32, values: &mut Values, unpacker: &mut Unpacker) -> Result<u64> {
        // The last page whose first row is no later. A page in which no row begins has the number of the next row.
        let first = self.pages.partition_point(|page| page.first_row <= row).saturating_sub(1);
        let Some(place) = self.pages.get(first).filter(|_| row < self.rows) else {
            return Err(ParquetError::General(format!("row {row} of a row group of {}", self.rows)));
        };
        // Its last row may go on in the pages after it.
        let next = self.pages[first + 1..].iter().take_while(|page| !page.whole && page.first_row == row + 1).count();
        let mut pages = VecDeque::new();
        let mut touched = 0;
        if let Some(page) = self.dictionary_page(bytes, unpacker)? {
            touched += self.dictionary.map_or(0, |(_, len)| u64::from(len));
            pages.push_back(page);
        }
        for place in &self.pages[first..=first + next] {
            touched += u64::from(place.len);
            pages.push_back((self.page(bytes, place.offset, place.len, unpacker)?, place.whole));
        }
        let skip = (row - place.first_row) as usize + usize::from(!place.whole);
        let descr = self.meta.column_descr_ptr();
        let Values { repetitions, definitions, i32s, i64s, bytes } = values;
        match descr.physical_type() {
            Type::INT32 => take::<Int32Type>(descr, pages, skip, repetitions, definitions, i32s)?,
            Type::INT64 => take::<Int64Type>(descr, pages, skip, repetitions, definitions, i64s)?,
            Type::BYTE_ARRAY => take::<ByteArrayType>(descr, pages, skip, repetitions, definitions, bytes)?,
            other => return Err(ParquetError::NYI(format!("pixels of type {other}"))),
        }
        Ok(touched)
    }

    fn dictionary_page(&self, bytes: &Bytes, unpacker: &mut Unpacker) -> Result<Option<(Page, bool)>> {
        match self.dictionary {
            Some((offset, len)) => Ok(Some((self.page(bytes, offset, len, unpacker)?, true))),
            None => Ok(None),
        }
    }

    /// The page at `offset`, unpacked.
    fn page(&self, bytes: &Bytes, offset: u64, len: u32, unpacker: &mut Unpacker) -> Result<Page> {
        let alone = (self.meta.clone().into_builder())
            .set_data_page_offset(offset as i64)
            .set_dictionary_page_offset(None)
            .set_total_compressed_size(i64::from(len))
            .build()?;
        let page = unpacker.page(bytes, alone, &self.meta)?;
        // A page that promises more than its whole column has would cost memory for nothing.
        if i64::from(page.num_values()) > self.meta.num_values() && page.is_data_page() {
            return Err(ParquetError::General("a page has more values than its column".into()));
        }
        if page.is_data_page() && page.num_values() > 0 && self.meta.column_descr().max_rep_level() > 0 {
            self.levels(&page)?;
        }
        Ok(page)
    }

    /// What the repetition levels of an unpacked data page say.
    fn levels(&self, page: &Page) -> Result<Levels> {
        let max = self.meta.column_descr().max_rep_level();
        let (data, encoding) = match page {
            Page::DataPage { buf, rep_level_encoding, .. } => {
                let len = buf.first_chunk().map_or(0, |len| u32::from_le_bytes(*len) as usize);
                (buf.get(4..).and_then(|data| data.get(..len)), *rep_level_encoding)
            }
            Page::DataPageV2 { buf, rep_levels_byte_len, .. } => {
                (buf.get(..*rep_levels_byte_len as usize), Encoding::RLE)
            }
            Page::DictionaryPage { .. } => (None, Encoding::RLE),
        };
        if encoding != Encoding::RLE {
            return Err(ParquetError::NYI(format!("levels encoded as {encoding}")));
        }
        let levels = data.and_then(|data| levels::count(data, max, page.num_values()));
        levels.ok_or_else(|| ParquetError::General("a page has fewer levels than values".into()))
    }
}

/// Offset and length of a column chunk, which lies in its file.
fn checked_range(bytes: &Bytes, meta: &ColumnChunkMetaData) -> Result<(u64, u64)> {
    let start = meta.dictionary_page_offset().unwrap_or(meta.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(meta.compressed_size()).ok());
    let inside = |(start, len): &(u64, u64)| start.checked_add(*len).is_some_and(|end| end <= bytes.len() as u64);
    range.filter(inside).ok_or_else(|| ParquetError::General("its footer places a column outside the file".into()))
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

const NONE: u64 = u64::MAX;

/// The bytes of a file, and where the page read last lies.
struct Watched {
    bytes: Bytes,
    /// Where its header begins; [`NONE`] before it was read.
    header: AtomicU64,
    /// Where its data ends.
    end: AtomicU64,
}

impl Length for Watched {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

impl ChunkReader for Watched {
    type T = std::io::Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let _ = self.header.compare_exchange(NONE, start, Ordering::Relaxed, Ordering::Relaxed);
        let from = usize::try_from(start).unwrap_or(usize::MAX).min(self.bytes.len());
        Ok(std::io::Cursor::new(self.bytes.slice(from..)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.end.store(start + length as u64, Ordering::Relaxed);
        self.bytes.get_bytes(start, length)
    }
}
