//! Bare decoders: one chunk in memory, packed by the crates that our writers and readers use, and nothing around it.

use std::error::Error;
use std::io::Write;

use flate2::{Compression, Decompress, FlushDecompress, Status, write::ZlibEncoder};
use pcb_formats::Variant;
use weezl::BitOrder;
use zarrs::array::codec::bytes_to_bytes::blosc;

/// How chunks are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    None,
    Lzw,
    Deflate { level: u32, shuffled: bool },
    Zstd { level: i32 },
    Blosc { zstd: bool, level: u8 },
}

impl Codec {
    /// What the words of a variant's parameters say; the level is the number that follows the codec's name in its parameters.
    pub fn of(variant: &Variant) -> Self {
        let words = variant.parameters.to_lowercase();
        let level = |name: &str, usual: u32| {
            let after = words.split_once(name).map(|(_, rest)| rest.trim_start_matches([' ', '-', '=', ':']));
            let digits = after.map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
            digits.and_then(|digits| digits.parse().ok()).unwrap_or(usual)
        };
        if words.contains("blosc") {
            Self::Blosc { zstd: words.contains("zstd"), level: level("level", 5) as u8 }
        } else if words.contains("lzw") {
            Self::Lzw
        } else if words.contains("deflate") || words.contains("gzip") {
            let level = if words.contains("gzip") { level("gzip", 6) } else { level("deflate", 6) };
            Self::Deflate { level, shuffled: words.contains("shuffle") }
        } else if words.contains("zstandard") || words.contains("zstd") {
            let name = if words.contains("zstandard") { "zstandard" } else { "zstd" };
            Self::Zstd { level: level(name, 3) as i32 }
        } else {
            Self::None
        }
    }

    /// Packs the pixels of a chunk, of `pixel` bytes each.
    pub fn pack(self, plain: &[u8], pixel: usize) -> Result<Vec<u8>, Box<dyn Error>> {
        Ok(match self {
            Self::None => plain.to_vec(),
            Self::Lzw => weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8).encode(plain)?,
            Self::Deflate { level, shuffled } => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
                encoder.write_all(&if shuffled { shuffle(plain, pixel) } else { plain.to_vec() })?;
                encoder.finish()?
            }
            Self::Zstd { level } => zstd::bulk::compress(plain, level)?,
            Self::Blosc { zstd, level } => {
                let level = level.try_into().map_err(|level| format!("blosc has no level {level}"))?;
                let inner = if zstd { blosc::BloscCompressor::Zstd } else { blosc::BloscCompressor::LZ4 };
                blosc::blosc_compress_bytes(plain, level, blosc::BloscShuffleMode::Shuffle, pixel, inner, 0, 1)?
            }
        })
    }
}

/// Bytes of equal rank beside each other, as HDF5 shuffles.
fn shuffle(plain: &[u8], pixel: usize) -> Vec<u8> {
    (0..pixel).flat_map(|rank| plain.iter().skip(rank).step_by(pixel).copied()).collect()
}

/// Decoders that are kept from chunk to chunk.
pub struct Decoders {
    lzw: weezl::decode::Decoder,
    inflate: Decompress,
    zstd: zstd::bulk::Decompressor<'static>,
}

impl Decoders {
    pub fn new() -> Result<Self, Box<dyn Error>> {
        let lzw = weezl::decode::Decoder::with_tiff_size_switch(BitOrder::Msb, 8);
        Ok(Self { lzw, inflate: Decompress::new(true), zstd: zstd::bulk::Decompressor::new()? })
    }

    /// Decodes a chunk of `out.len()` bytes. LZW, which has no checksum, ends after the `needed` bytes up to the last row
    /// wanted.
    pub fn decode(&mut self, codec: Codec, packed: &[u8], out: &mut [u8], needed: usize) -> Result<(), Box<dyn Error>> {
        match codec {
            Codec::None => out.copy_from_slice(packed),
            Codec::Lzw => {
                self.lzw.reset();
                let (mut read, mut written) = (0, 0);
                while written < needed {
                    let step = self.lzw.decode_bytes(&packed[read..], &mut out[written..needed]);
                    (read, written) = (read + step.consumed_in, written + step.consumed_out);
                    if step.status.is_err() || step.consumed_in + step.consumed_out == 0 {
                        return Err("LZW ended early".into());
                    }
                }
            }
            Codec::Deflate { .. } => {
                self.inflate.reset(true);
                let status = self.inflate.decompress(packed, out, FlushDecompress::Finish)?;
                if status != Status::StreamEnd {
                    return Err("deflate did not end".into());
                }
            }
            Codec::Zstd { .. } => {
                self.zstd.decompress_to_buffer(packed, out)?;
            }
            Codec::Blosc { .. } => {
                blosc::blosc_decompress_bytes(packed, out.len(), 1)?;
            }
        }
        Ok(())
    }
}
