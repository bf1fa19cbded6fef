//! Unpacks pages and chunks, through contexts and buffers that are reused.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::CompressionCodec;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::serialized_reader::SerializedPageReader;
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

use super::column::Column;

/// How the bytes of a chunk are packed, by the names that Arrow gives its codecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    None,
    Zstd,
    /// A frame, not a block: that is what Arrow's codec `lz4` writes.
    Lz4,
}

impl Codec {
    /// The codec called `name`, which is absent in chunks that are not packed.
    pub fn named(name: Option<&str>) -> Option<Self> {
        match name.map(|name| name.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "none" | "uncompressed") => Some(Self::None),
            Some("zstd") => Some(Self::Zstd),
            Some("lz4") => Some(Self::Lz4),
            Some(_) => None,
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Unpacker {
    zstd: Option<Decompressor<'static>>,
}

impl Unpacker {
    fn zstd(&mut self) -> std::io::Result<&mut Decompressor<'static>> {
        match &mut self.zstd {
            Some(ready) => Ok(ready),
            slot => Ok(slot.insert(Decompressor::new()?)),
        }
    }

    /// The page of `len` bytes at `offset`, a part of `column`; unpacked.
    pub fn page(&mut self, bytes: &Bytes, column: &Column, offset: u64, len: u32) -> Result<Page> {
        let next = |plain: bool| {
            let alone = column.alone(offset, len, plain)?;
            let mut reader = SerializedPageReader::new(Arc::new(bytes.clone()), &alone, 0, None)?;
            reader.get_next_page()?.ok_or_else(|| ParquetError::EOF("a page".into()))
        };
        if column.codec() != CompressionCodec::ZSTD {
            return next(false);
        }
        // The library makes a context for each reader of pages; ours is reused, and looks at sizes before it allocates.
        let mut page = next(true)?;
        let limit = usize::try_from(column.uncompressed).unwrap_or(0);
        let (buf, levels) = match &mut page {
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, 0),
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, is_compressed: true, .. } => {
                (buf, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)
            }
            Page::DataPageV2 { .. } => return Ok(page),
        };
        match self.unpack(buf, levels, limit)? {
            Some(unpacked) => *buf = unpacked,
            // A frame written as a stream does not tell its size, but the page's header does.
            None => return next(false),
        }
        Ok(page)
    }

    /// `packed` with all but its first `plain` bytes unpacked; `None` where the frame does not tell its size.
    fn unpack(&mut self, packed: &Bytes, plain: usize, limit: usize) -> Result<Option<Bytes>> {
        let (head, packed) =
            packed.split_at_checked(plain).ok_or_else(|| ParquetError::EOF("levels of a page".into()))?;
        if packed.is_empty() {
            return Ok(Some(Bytes::copy_from_slice(head)));
        }
        let size = get_frame_content_size(packed).map_err(|_| ParquetError::General("a page is no zstd".into()))?;
        let Some(size) = size else { return Ok(None) };
        let size = usize::try_from(size).ok().filter(|size| size.checked_add(plain).is_some_and(|all| all <= limit));
        let Some(size) = size else {
            return Err(ParquetError::General(format!("a page of more than the {limit} bytes of its column")));
        };
        let mut out = Vec::with_capacity(plain + size);
        if plain == 0 {
            self.zstd()?.decompress_to_buffer(packed, &mut out)?;
        } else {
            out.extend_from_slice(head);
            out.extend_from_slice(&self.zstd()?.decompress(packed, size)?);
        }
        if out.len() != plain + size {
            return Err(ParquetError::General(format!("a page of {} bytes; expected {}", out.len(), plain + size)));
        }
        Ok(Some(out.into()))
    }

    /// Unpacks the bytes of a chunk into `out`, which must become full. An error is a problem in words.
    pub fn chunk(&mut self, codec: Codec, packed: &[u8], out: &mut [u8]) -> std::result::Result<(), String> {
        let len = out.len();
        let got = match codec {
            Codec::None => {
                let len = packed.len();
                if len == out.len() {
                    out.copy_from_slice(packed);
                }
                Ok(len)
            }
            Codec::Zstd => self.zstd().and_then(|zstd| zstd.decompress_to_buffer(packed, out)),
            Codec::Lz4 => read_full(&mut lz4_flex::frame::FrameDecoder::new(packed), out),
        };
        match got {
            Ok(got) if got == len => Ok(()),
            Ok(got) => Err(format!("holds {got} bytes of pixels; expected {len}")),
            Err(error) => Err(format!("does not unpack to {len} bytes: {error}")),
        }
    }
}

/// Fills `out` and returns how much there was, one more if that is not all.
fn read_full(from: &mut impl Read, out: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < out.len() {
        match from.read(&mut out[filled..])? {
            0 => return Ok(filled),
            read => filled += read,
        }
    }
    Ok(filled + from.read(&mut [0])?)
}
