//! Writing TIFF: strips or tiles, of one or more pages. The `tiff` crate's own image encoder knows strips only, so
//! chunks and tags are written through its directory encoder.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;

use pcb_protocol::Dtype;
use tiff::encoder::{DirectoryEncoder, TiffEncoder, TiffKind, TiffKindBig, TiffKindStandard, TiffValue};
use tiff::tags::Tag;
use tiff::{TiffError, TiffResult};

use crate::FormatError;

use super::compression::Compression;
use super::form::Form;
use super::pack::Packer;

/// Bytes of pixels in a strip, about.
const STRIP_BYTES: usize = 64 * 1024;

/// Pyramids end with the first level that is no larger than this in either direction.
const SMALLEST_LEVEL: usize = 256;

/// What a file is to hold: one page after the other.
pub struct Image<'a> {
    pub dtype: Dtype,
    pub height: usize,
    pub width: usize,
    /// (page, Y, X) in native byte order.
    pub pixels: &'a [u8],
}

/// Writes `image` into a new file, its first page with the text `description`. Files that might not fit into 4 GiB are
/// written as BigTIFF.
pub fn write(path: &Path, image: &Image<'_>, form: Form, description: Option<&str>) -> Result<(), FormatError> {
    let (height, width, pixel) = (image.height, image.width, image.dtype.size());
    let pages = image.pixels.len() / (height * width * pixel);
    let saved = if form.big || !fits_classic(pages, height, width, pixel, form) {
        save::<TiffKindBig>(path, image, form, description)
    } else {
        save::<TiffKindStandard>(path, image, form, description)
    };
    saved.map_err(|error| match error {
        TiffError::IoError(e) => FormatError::io(path, e),
        e => FormatError::corrupt(path, e.to_string()),
    })
}

/// Whether a file of so many pages of `height` x `width` pixels of `pixel` bytes surely needs no offsets of 64 bits.
fn fits_classic(pages: usize, height: usize, width: usize, pixel: usize, form: Form) -> bool {
    let side = form.tile.unwrap_or(1);
    let area = height.next_multiple_of(side) as u64 * width.next_multiple_of(side) as u64;
    let stored = area * (pages * pixel) as u64;
    // A level of a pyramid has a quarter of the pixels of the one before.
    let stored = if form.pyramid { stored + stored / 3 } else { stored };
    // LZW turns a byte of noise into up to 12 bits; the others grow it a little. The rest is for tables and texts.
    let grown = if form.compression == Compression::Lzw { stored + stored / 2 } else { stored };
    grown + stored / 8 + (1 << 20) <= u64::from(u32::MAX)
}

fn save<K: TiffKind>(path: &Path, image: &Image<'_>, form: Form, description: Option<&str>) -> TiffResult<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut encoder = TiffEncoder::<_, K>::new_generic(&mut file)?;
    let mut packer = Packer::new(form.compression, form.predictor(image.dtype))?;
    let plane = image.height * image.width * image.dtype.size();
    for (number, pixels) in image.pixels.chunks_exact(plane).enumerate() {
        let page = Level { dtype: image.dtype, height: image.height, width: image.width, pixels: pixels.into(), form };
        let mut levels = Vec::new();
        if form.pyramid {
            let mut larger = page.halved();
            while let Some(level) = larger {
                let mut directory = encoder.extra_directory()?;
                // A smaller copy of another image.
                directory.write_tag(Tag::NewSubfileType, 1_u32)?;
                level.write(&mut directory, &mut packer)?;
                levels.push(directory.finish_with_offsets()?.offset);
                larger = level.halved();
            }
        }
        let mut directory = encoder.image_directory()?;
        if let (0, Some(text)) = (number, description) {
            directory.write_tag(Tag::ImageDescription, text)?;
        }
        if !levels.is_empty() {
            directory.write_tag(Tag::SubIfd, K::convert_slice(&levels))?;
        }
        page.write(&mut directory, &mut packer)?;
        directory.finish()?;
    }
    file.flush()?;
    Ok(())
}

/// One page, or a smaller copy of one.
struct Level<'a> {
    dtype: Dtype,
    height: usize,
    width: usize,
    /// (Y, X) in native byte order.
    pixels: std::borrow::Cow<'a, [u8]>,
    form: Form,
}

impl Level<'_> {
    /// The next level of a pyramid: every second pixel of every second row, as bioformats2raw has it. `None` when this
    /// one is the last.
    fn halved(&self) -> Option<Level<'static>> {
        if self.height.max(self.width) <= SMALLEST_LEVEL {
            return None;
        }
        let size = self.dtype.size();
        let (height, width) = (self.height.div_ceil(2), self.width.div_ceil(2));
        let mut pixels = Vec::with_capacity(height * width * size);
        for row in self.pixels.chunks_exact(self.width * size).step_by(2) {
            pixels.extend(row.chunks_exact(size).step_by(2).flatten());
        }
        Some(Level { dtype: self.dtype, height, width, pixels: pixels.into(), form: self.form })
    }

    /// Writes chunks and tags; the directory is left open.
    fn write<W: Write + Seek, K: TiffKind>(
        &self,
        directory: &mut DirectoryEncoder<'_, W, K>,
        packer: &mut Packer,
    ) -> TiffResult<()> {
        let size = self.dtype.size();
        let (row, high, wide) = (self.width * size, self.chunk_rows(), self.form.tile.unwrap_or(self.width));
        let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
        let mut chunk = Vec::new();
        for top in (0..self.height).step_by(high) {
            for left in (0..self.width).step_by(wide) {
                // Strips end with the image; tiles are stored whole, zeros past its edges.
                let rows = if self.form.tile.is_some() { high } else { high.min(self.height - top) };
                let (line, from) = (wide * size, left * size);
                chunk.clear();
                chunk.resize(rows * line, 0);
                for (source, out) in self.pixels[top * row..].chunks_exact(row).zip(chunk.chunks_exact_mut(line)) {
                    let source = &source[from..(from + line).min(row)];
                    out[..source.len()].copy_from_slice(source);
                }
                let packed = packer.pack(&mut chunk, line, size)?;
                lengths.push(K::convert_offset(packed.len() as u64)?);
                offsets.push(K::convert_offset(directory.write_data(packed)?)?);
            }
        }
        self.write_tags(directory, (high, wide), K::convert_slice(&offsets), K::convert_slice(&lengths))
    }

    fn write_tags<W: Write + Seek, K: TiffKind>(
        &self,
        directory: &mut DirectoryEncoder<'_, W, K>,
        (high, wide): (usize, usize),
        offsets: impl TiffValue,
        lengths: impl TiffValue,
    ) -> TiffResult<()> {
        directory.write_tag(Tag::ImageWidth, self.width as u32)?;
        directory.write_tag(Tag::ImageLength, self.height as u32)?;
        directory.write_tag(Tag::BitsPerSample, 8 * self.dtype.size() as u16)?;
        directory.write_tag(Tag::Compression, self.form.compression.code())?;
        directory.write_tag(Tag::PhotometricInterpretation, 1_u16)?;
        directory.write_tag(Tag::SamplesPerPixel, 1_u16)?;
        directory.write_tag(Tag::SampleFormat, if self.dtype == Dtype::F32 { 3_u16 } else { 1 })?;
        if self.form.predicted {
            directory.write_tag(Tag::Predictor, self.form.predictor(self.dtype).code())?;
        }
        if self.form.tile.is_some() {
            directory.write_tag(Tag::TileWidth, wide as u32)?;
            directory.write_tag(Tag::TileLength, high as u32)?;
            directory.write_tag(Tag::TileOffsets, offsets)?;
            directory.write_tag(Tag::TileByteCounts, lengths)
        } else {
            directory.write_tag(Tag::RowsPerStrip, high as u32)?;
            directory.write_tag(Tag::StripOffsets, offsets)?;
            directory.write_tag(Tag::StripByteCounts, lengths)
        }
    }

    fn chunk_rows(&self) -> usize {
        let row = self.width * self.dtype.size();
        self.form.tile.unwrap_or((STRIP_BYTES / row).clamp(1, self.height))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_may_pass_4_gib_are_big() {
        let fits = |name, pages, height, width, pixel| {
            fits_classic(pages, height, width, pixel, Form::of(name).expect("known"))
        };
        // 2^31 bytes of pixels, and twice as many.
        assert!(fits("strip-none", 1, 1 << 15, 1 << 15, 2));
        assert!(!fits("strip-none", 2, 1 << 15, 1 << 15, 2));
        assert!(!fits("tile128-lzw", 5, 23_000, 18_000, 2) && fits("tile128-deflate", 5, 20_000, 18_000, 2));
        assert!(fits("tile512-lzw", 1, 1 << 15, 1 << 15, 2) && !fits("tile512-lzw-pyramid", 1, 1 << 15, 1 << 15, 2));
        // Tiles of 512 columns around images of one.
        assert!(fits("strip-none", 1, 1 << 23, 1, 2) && !fits("tile512-none", 1, 1 << 23, 1, 2));
    }

    #[test]
    fn levels_hold_every_second_pixel_down_to_256() {
        let pixels: Vec<u8> = (0..513_u32 * 3).flat_map(|i| (i as u16).to_ne_bytes()).collect();
        let form = Form::of("strip-none-pyramid").expect("known");
        let page = Level { dtype: Dtype::U16, height: 3, width: 513, pixels: pixels.into(), form };
        let half = page.halved().expect("a level");
        let quarter = half.halved().expect("another level");
        assert_eq!([half.height, half.width, quarter.height, quarter.width], [2, 257, 1, 129]);
        let row = (0..129_u16).flat_map(|i| (4 * i).to_ne_bytes());
        assert!(quarter.pixels.iter().copied().eq(row));
        assert!(quarter.halved().is_none());
    }
}
