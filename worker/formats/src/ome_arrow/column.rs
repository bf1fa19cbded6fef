//! A column chunk: where its pages lie, and what they may hold. A chunk dataset has thousands, so each is kept small.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::basic::{Compression, CompressionCodec};
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

/// What the footer says of one column chunk.
#[derive(Debug, Clone)]
pub struct Column {
    /// Type and codec; shared by the column chunks of a leaf.
    template: Arc<ColumnChunkMetaData>,
    data_page: i64,
    dictionary_page: Option<i64>,
    compressed: i64,
    /// Bytes of all its pages, unpacked.
    pub uncompressed: i64,
    /// Number of its values, nulls included.
    pub values: i64,
}

impl Column {
    /// The column chunk `meta`, which shares what it can with `other`.
    pub fn of(meta: &ColumnChunkMetaData, other: Option<&Self>) -> Self {
        let alike = |other: &&Self| other.codec() == meta.compression_codec();
        let template = other.filter(alike).map_or_else(|| Arc::new(meta.clone()), |other| other.template.clone());
        Self {
            template,
            data_page: meta.data_page_offset(),
            dictionary_page: meta.dictionary_page_offset(),
            compressed: meta.compressed_size(),
            uncompressed: meta.uncompressed_size(),
            values: meta.num_values(),
        }
    }

    /// How its pages are packed.
    pub fn codec(&self) -> CompressionCodec {
        self.template.compression_codec()
    }

    /// Its leaf.
    pub fn leaf(&self) -> parquet::schema::types::ColumnDescPtr {
        self.template.column_descr_ptr()
    }

    /// Offset and length, which lie in the file.
    pub fn range(&self, bytes: &Bytes) -> Result<(u64, u64)> {
        let start = self.dictionary_page.unwrap_or(self.data_page);
        let range = u64::try_from(start).ok().zip(u64::try_from(self.compressed).ok());
        let inside = |(start, len): &(u64, u64)| start.checked_add(*len).is_some_and(|end| end <= bytes.len() as u64);
        let outside = || ParquetError::General("its footer places a column outside the file".into());
        range.filter(inside).ok_or_else(outside)
    }

    /// A column chunk of its kind with nothing but the page of `len` bytes at `offset`. Not packed, if `plain`.
    pub fn alone(&self, offset: u64, len: u32, plain: bool) -> Result<ColumnChunkMetaData> {
        let builder = ColumnChunkMetaData::clone(&self.template).into_builder();
        let builder = if plain { builder.set_compression(Compression::UNCOMPRESSED) } else { builder };
        builder
            .set_data_page_offset(offset as i64)
            .set_dictionary_page_offset(None)
            .set_total_compressed_size(i64::from(len))
            .build()
    }

    /// Calls `each` with the pages, as they are stored, and with the offset and length of each, header included. Ends when
    /// `each` says that this was enough.
    pub fn walk(&self, bytes: &Bytes, mut each: impl FnMut(Page, u64, u32) -> Result<bool>) -> Result<()> {
        self.range(bytes)?;
        let watched = Arc::new(Watched { bytes: bytes.clone(), header: AtomicU64::new(NONE), end: AtomicU64::new(0) });
        let plain = (ColumnChunkMetaData::clone(&self.template).into_builder())
            .set_compression(Compression::UNCOMPRESSED)
            .set_data_page_offset(self.data_page)
            .set_dictionary_page_offset(self.dictionary_page)
            .set_total_compressed_size(self.compressed)
            .build()?;
        let mut reader = SerializedPageReader::new(watched.clone(), &plain, 0, None)?;
        while let Some(page) = reader.get_next_page()? {
            let (offset, end) = (watched.header.swap(NONE, Ordering::Relaxed), watched.end.load(Ordering::Relaxed));
            if !each(page, offset, u32::try_from(end.saturating_sub(offset)).unwrap_or(u32::MAX))? {
                break;
            }
        }
        Ok(())
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
        self.end.store(start.saturating_add(length as u64), Ordering::Relaxed);
        self.bytes.get_bytes(start, length)
    }
}
