//! Chunks of a TIFF page, from stored bytes to pixels in native byte order.

use flate2::{Decompress, FlushDecompress, Status};
use weezl::{BitOrder, LzwStatus};
use zstd::bulk::Decompressor;

use super::compression::{Compression, Predictor};
use super::page::Page;

/// Decoder states, kept so that no chunk allocates.
pub struct Unpacker {
    lzw: weezl::decode::Decoder,
    inflate: Decompress,
    zstd: Decompressor<'static>,
    /// A row of a predictor that sorts bytes.
    row: Vec<u8>,
}

impl Default for Unpacker {
    fn default() -> Self {
        Self {
            lzw: weezl::decode::Decoder::with_tiff_size_switch(BitOrder::Msb, 8),
            inflate: Decompress::new(true),
            zstd: Decompressor::default(),
            row: Vec::new(),
        }
    }
}

impl Unpacker {
    /// Decodes the first `rows` rows at least of a chunk of `page` into `out`, which holds a whole chunk of
    /// `page.chunk_height` rows of numbers as stored, in native byte order. `rows` are stored by the chunk.
    ///
    /// LZW and PackBits stop after the rows that are needed; Deflate goes on to its checksum, Zstandard to its end.
    pub fn unpack(&mut self, page: &Page, packed: &[u8], rows: usize, out: &mut [u8]) -> Result<(), String> {
        let needed = rows * page.row_bytes();
        let pixels = &mut out[..needed];
        match page.compression {
            Compression::None => match packed.get(..needed) {
                Some(packed) => pixels.copy_from_slice(packed),
                None => return Err(short(packed.len(), needed)),
            },
            Compression::Lzw => self.lzw(packed, pixels)?,
            Compression::Deflate => self.inflate(packed, out, needed)?,
            Compression::PackBits => unpack_bits(packed, pixels)?,
            Compression::Zstd => match self.zstd.decompress_to_buffer(packed, out) {
                Ok(written) if written >= needed => {}
                Ok(written) => return Err(short(written, needed)),
                Err(e) => return Err(format!("not Zstandard data of at most {} bytes: {e}", out.len())),
            },
        }
        self.restore(page, &mut out[..needed]);
        Ok(())
    }

    /// Undoes byte order and predictor of whole rows.
    fn restore(&mut self, page: &Page, pixels: &mut [u8]) {
        // The floating point predictor has a byte order of its own.
        if page.is_swapped() && page.predictor != Predictor::Float {
            match page.sample.size() {
                2 => pixels.as_chunks_mut::<2>().0.iter_mut().for_each(|number| number.reverse()),
                _ => pixels.as_chunks_mut::<4>().0.iter_mut().for_each(|number| number.reverse()),
            }
        }
        if page.predictor != Predictor::None {
            for row in pixels.chunks_exact_mut(page.row_bytes()) {
                page.predictor.undo(row, page.sample.size(), &mut self.row);
            }
        }
    }

    fn lzw(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), String> {
        if let [0, second, ..] = packed
            && second & 1 == 1
        {
            return Err("LZW with the least significant bit first, as before TIFF 5.0".to_owned());
        }
        self.lzw.reset();
        let (mut read, mut written) = (0, 0);
        while written < out.len() {
            let step = self.lzw.decode_bytes(&packed[read..], &mut out[written..]);
            read += step.consumed_in;
            written += step.consumed_out;
            match step.status {
                Ok(LzwStatus::Ok) => {}
                Ok(LzwStatus::Done | LzwStatus::NoProgress) => break,
                Err(e) => return Err(format!("not LZW data: {e}")),
            }
        }
        if written < out.len() { Err(short(written, out.len())) } else { Ok(()) }
    }

    fn inflate(&mut self, packed: &[u8], out: &mut [u8], needed: usize) -> Result<(), String> {
        self.inflate.reset(true);
        match self.inflate.decompress(packed, out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) if self.inflate.total_out() >= needed as u64 => Ok(()),
            Ok(Status::StreamEnd) => Err(short(self.inflate.total_out() as usize, needed)),
            Ok(Status::Ok | Status::BufError) if self.inflate.total_out() < needed as u64 => {
                Err(short(self.inflate.total_out() as usize, needed))
            }
            Ok(Status::Ok | Status::BufError) => Err("does not end after its last pixel".to_owned()),
            Err(e) => Err(format!("not deflate data: {e}")),
        }
    }
}

fn short(got: usize, expected: usize) -> String {
    format!("decodes to {got} bytes; expected {expected}")
}

/// PackBits: a count, then so many bytes as they are, or one byte so many times.
fn unpack_bits(mut packed: &[u8], out: &mut [u8]) -> Result<(), String> {
    let (mut written, expected) = (0, out.len());
    while written < expected {
        let Some((&count, rest)) = packed.split_first() else { return Err(short(written, expected)) };
        packed = rest;
        let left = &mut out[written..];
        match count {
            0..128 => {
                let len = usize::from(count) + 1;
                let Some((run, rest)) = packed.split_at_checked(len) else { return Err(short(written, expected)) };
                let len = len.min(left.len());
                left[..len].copy_from_slice(&run[..len]);
                (packed, written) = (rest, written + len);
            }
            128 => {}
            129.. => {
                let Some((&byte, rest)) = packed.split_first() else { return Err(short(written, expected)) };
                let len = (257 - usize::from(count)).min(left.len());
                left[..len].fill(byte);
                (packed, written) = (rest, written + len);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::page::PageInfo;
    use super::super::sample::Sample;
    use super::*;

    /// Two rows of three pixels in one strip.
    fn page(sample: Sample, compression: Compression, big_endian: bool, predictor: Predictor) -> Page {
        Page {
            info: PageInfo { height: 2, width: 3, dtype: sample.dtype() },
            sample,
            big_endian,
            compression,
            predictor,
            chunk_height: 2,
            chunk_width: 3,
            across: 1,
            chunks: vec![(0, 0)],
        }
    }

    fn unpacked(page: &Page, packed: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = vec![0; 2 * page.row_bytes()];
        Unpacker::default().unpack(page, packed, 2, &mut out).map(|()| out)
    }

    #[test]
    fn differences_add_up_along_each_row_in_the_files_own_byte_order() {
        let packed = [0x01, 0xff, 0x00, 0x02, 0xff, 0xff, 0x00, 0x00, 0x12, 0x34, 0x00, 0x01];
        let expected: [u16; 6] = [0x01ff, 0x0201, 0x0200, 0, 0x1234, 0x1235];
        let big = page(Sample::U16, Compression::None, true, Predictor::Horizontal);
        assert_eq!(unpacked(&big, &packed).expect("sound"), bytemuck::cast_slice::<u16, u8>(&expected));
        let small = page(Sample::U8, Compression::None, true, Predictor::Horizontal);
        assert_eq!(unpacked(&small, &[250, 5, 5, 1, 255, 1]).expect("sound"), [250, 255, 4, 1, 0, 1]);
    }

    #[test]
    fn big_endian_floats_keep_their_bits() {
        let values = [1.5_f32, f32::NAN, -0.0, f32::NEG_INFINITY, f32::from_bits(0x7f80_0001), 3e-42];
        let packed: Vec<u8> = values.iter().flat_map(|value| value.to_bits().to_be_bytes()).collect();
        let big = page(Sample::F32, Compression::None, true, Predictor::None);
        assert_eq!(unpacked(&big, &packed).expect("sound"), bytemuck::cast_slice::<f32, u8>(&values));
    }

    #[test]
    fn pack_bits_repeats_and_copies() {
        let bits = page(Sample::U8, Compression::PackBits, false, Predictor::None);
        // Three times 9, nothing, then 1 2 3 as they are.
        assert_eq!(unpacked(&bits, &[254, 9, 128, 2, 1, 2, 3]).expect("sound"), [9, 9, 9, 1, 2, 3]);
        assert!(unpacked(&bits, &[254, 9, 2, 1, 2]).is_err());
        assert!(unpacked(&bits, &[254]).is_err());
    }

    #[test]
    fn data_that_is_too_short_says_how_much_there_was() {
        for compression in [Compression::None, Compression::PackBits] {
            let error =
                unpacked(&page(Sample::U8, compression, false, Predictor::None), &[1, 7, 7]).expect_err("short");
            assert!(error.contains("expected 6"), "{error}");
        }
        assert!(
            unpacked(&page(Sample::U8, Compression::Lzw, false, Predictor::None), &[0, 1, 2])
                .expect_err("old")
                .contains("5.0")
        );
        assert!(unpacked(&page(Sample::U8, Compression::Lzw, false, Predictor::None), &[0x80]).is_err());
        assert!(unpacked(&page(Sample::U8, Compression::Deflate, false, Predictor::None), &[]).is_err());
        let zstd = page(Sample::U8, Compression::Zstd, false, Predictor::None);
        let packed = |bytes: &[u8]| zstd::bulk::compress(bytes, 1).expect("packed");
        assert_eq!(unpacked(&zstd, &packed(&[1, 2, 3, 4, 5, 6])), Ok(vec![1, 2, 3, 4, 5, 6]));
        assert!(unpacked(&zstd, &packed(&[1, 2])).expect_err("short").contains("expected 6"));
        assert!(unpacked(&zstd, &packed(&[0; 7])).is_err(), "more than the chunk");
        assert!(unpacked(&zstd, &[]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(packed in prop::collection::vec(any::<u8>(), 0..100), rows in 0_usize..3) {
            let all = [Compression::None, Compression::Lzw, Compression::Deflate, Compression::PackBits, Compression::Zstd];
            for compression in all {
                for predictor in [Predictor::None, Predictor::Horizontal, Predictor::Float] {
                    let page = page(Sample::F32, compression, true, predictor);
                    let mut out = vec![0; 24];
                    let _ = Unpacker::default().unpack(&page, &packed, rows, &mut out);
                }
            }
        }
    }
}
