//! Chunks of pixels to the bytes that are stored.

use std::io::{self, Write};

use flate2::Compression as Level;
use flate2::write::ZlibEncoder;
use weezl::BitOrder;
use zstd::bulk::Compressor;

use super::compression::{Compression, Predictor};

/// What libzstd and tifffile take when nobody says otherwise.
const ZSTD_LEVEL: i32 = 3;

/// Packs one chunk after the other.
pub struct Packer {
    compression: Compression,
    predictor: Predictor,
    zstd: Compressor<'static>,
    packed: Vec<u8>,
    row: Vec<u8>,
}

impl Packer {
    pub fn new(compression: Compression, predictor: Predictor) -> io::Result<Self> {
        let zstd = Compressor::new(ZSTD_LEVEL)?;
        Ok(Self { compression, predictor, zstd, packed: Vec::new(), row: Vec::new() })
    }

    /// The stored bytes of `chunk`, whose rows of numbers of `size` bytes in native order are `row` bytes long. The
    /// chunk itself is not kept.
    pub fn pack<'a>(&'a mut self, chunk: &'a mut [u8], row: usize, size: usize) -> io::Result<&'a [u8]> {
        for row in chunk.chunks_exact_mut(row) {
            self.predictor.apply(row, size, &mut self.row);
        }
        self.packed = match self.compression {
            Compression::Lzw => {
                let mut encoder = weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8);
                encoder.encode(chunk).map_err(io::Error::other)?
            }
            Compression::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Level::default());
                encoder.write_all(chunk)?;
                encoder.finish()?
            }
            Compression::Zstd => self.zstd.compress(chunk)?,
            // No variant of ours is written with PackBits.
            Compression::None | Compression::PackBits => return Ok(chunk),
        };
        Ok(&self.packed)
    }
}
