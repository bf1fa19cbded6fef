//! The pages of one column chunk: which of them hold which rows.
//!
//! Files with a page index say so themselves. Without one (pyarrow's default) the column chunk is walked once, when a
//! row of it is first wanted; only the places are kept.

use std::collections::VecDeque;
use std::path::Path;

use bytes::Bytes;
use parquet::basic::{CompressionCodec, Encoding};
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};
use parquet::file::page_index::offset_index::PageLocation;

use crate::FormatError;

use super::column::Column;
use super::file::{ParquetFile, guard};
use super::leaf::Values;
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
    column: Column,
    dictionary: Option<(u64, u32)>,
    pages: Vec<Place>,
    rows: u32,
}

impl ColumnPages {
    /// Finds the pages of leaf `leaf` in row group `group`.
    pub fn find(
        file: &ParquetFile,
        group: usize,
        leaf: usize,
        unpacker: &mut Unpacker,
    ) -> std::result::Result<Self, FormatError> {
        let column = Column::of(file.metadata.row_group(group).column(leaf), None);
        let rows = file.group_rows(group);
        let rows = (rows.end - rows.start) as u32;
        let index = file.metadata.page_index_for_row_group(group);
        match index.offset_index(leaf) {
            Some(index) => guard(&file.path, || Self::indexed(&file.bytes, column, index.page_locations(), rows)),
            None => Self::walk(&file.path, &file.bytes, column, rows, unpacker),
        }
    }

    /// Finds the pages of a column chunk of `rows` rows without a page index.
    pub fn walk(
        path: &Path,
        bytes: &Bytes,
        column: Column,
        rows: u32,
        unpacker: &mut Unpacker,
    ) -> std::result::Result<Self, FormatError> {
        guard(path, || Self::walked(bytes, column, rows, unpacker))
    }

    /// Takes the file's own page index.
    fn indexed(bytes: &Bytes, column: Column, locations: &[PageLocation], rows: u32) -> Result<Self> {
        let (start, len) = column.range(bytes)?;
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
        Ok(Self { column, dictionary, pages, rows })
    }

    /// Walks over the pages and counts the rows that begin in each.
    fn walked(bytes: &Bytes, column: Column, rows: u32, unpacker: &mut Unpacker) -> Result<Self> {
        let mut this = Self { column: column.clone(), dictionary: None, pages: Vec::new(), rows };
        let (flat, mut row) = (column.leaf().max_rep_level() == 0, 0_u32);
        column.walk(bytes, |page, offset, len| {
            if page.is_dictionary_page() {
                this.dictionary = Some((offset, len));
                return Ok(true);
            }
            let mut place = Place { offset, len, first_row: row, whole: true };
            let mut begun = page.num_values();
            if begun > 0 && !flat {
                let levels = this.levels(&this.page(bytes, offset, len, unpacker)?)?;
                (place.whole, begun) = (levels.first == 0, levels.rows);
            }
            this.pages.push(place);
            row = row.saturating_add(begun);
            Ok(row <= rows)
        })?;
        if row == rows {
            return Ok(this);
        }
        Err(ParquetError::General(format!("a column has {row} rows, its row group {rows}")))
    }

    /// Whether its pages are stored as they are: then what is not looked at is not touched.
    pub fn is_plain(&self) -> bool {
        self.column.codec() == CompressionCodec::UNCOMPRESSED
    }

    /// Repetition level of the elements of the innermost lists.
    pub fn innermost(&self) -> i16 {
        self.column.leaf().max_rep_level()
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
        values.take(self.column.leaf(), pages, skip)?;
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
        let page = unpacker.page(bytes, &self.column, offset, len)?;
        if !page.is_data_page() {
            return Ok(page);
        }
        // A page that promises more than its whole column has would cost memory for nothing.
        if i64::from(page.num_values()) > self.column.values {
            return Err(ParquetError::General("a page has more values than its column".into()));
        }
        if page.num_values() > 0 && self.innermost() > 0 {
            self.levels(&page)?;
        }
        Ok(page)
    }

    /// What the repetition levels of an unpacked data page say.
    fn levels(&self, page: &Page) -> Result<Levels> {
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
        let levels = data.and_then(|data| levels::count(data, self.innermost(), page.num_values()));
        levels.ok_or_else(|| ParquetError::General("a page has fewer levels than values".into()))
    }
}
