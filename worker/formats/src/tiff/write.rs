//! Writing TIFF: strips or tiles, of one or more pages. The `tiff` crate's own image encoder knows strips only, so
//! chunks and tags are written through its directory encoder.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use flate2::Compression as Level;
use flate2::write::ZlibEncoder;
use pcb_protocol::Dtype;
use tiff::encoder::{DirectoryEncoder, TiffEncoder, TiffKindStandard};
use tiff::tags::Tag;
use tiff::{TiffError, TiffResult};
use weezl::BitOrder;

use crate::{FormatError, SitePixels};

use super::page::Compression;

/// Bytes of pixels in a strip, about.
const STRIP_BYTES: usize = 64 * 1024;

/// How pages are stored.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Rows and columns of a tile; `None` for strips.
    pub tile: Option<usize>,
    /// How chunks are compressed.
    pub compression: Compression,
}

/// Writes `channels` of a site into one file, a page for each, the first with the text `description`.
pub fn write(
    path: &Path,
    site: &SitePixels,
    channels: std::ops::Range<usize>,
    form: Form,
    description: Option<&str>,
) -> Result<(), FormatError> {
    let plane = site.height * site.width * site.data.dtype().size();
    let bytes = plane as u64 * channels.len() as u64;
    // Deflate and LZW may even grow noise a little; the margin covers that and the directories.
    if bytes + bytes / 8 + (1 << 20) > u64::from(u32::MAX) {
        let problem = format!("{}: {bytes} bytes of pixels do not fit into a classic TIFF of 4 GiB", path.display());
        return Err(FormatError::Unsupported(problem));
    }
    let save = || -> TiffResult<()> {
        let mut file = BufWriter::new(File::create(path)?);
        let mut encoder = TiffEncoder::new(&mut file)?;
        for (page, channel) in channels.enumerate() {
            let pixels = &site.data.bytes()[channel * plane..(channel + 1) * plane];
            let mut directory = encoder.image_directory()?;
            if let (0, Some(text)) = (page, description) {
                directory.write_tag(Tag::ImageDescription, text)?;
            }
            write_page(directory, pixels, site, form)?;
        }
        file.flush()?;
        Ok(())
    };
    save().map_err(|error| match error {
        TiffError::IoError(e) => FormatError::io(path, e),
        e => FormatError::corrupt(path, e.to_string()),
    })
}

fn write_page<W: Write + std::io::Seek>(
    mut directory: DirectoryEncoder<'_, W, TiffKindStandard>,
    pixels: &[u8],
    site: &SitePixels,
    form: Form,
) -> TiffResult<()> {
    let dtype = site.data.dtype();
    let (row, high, wide) = (site.width * dtype.size(), chunk_rows(site, form), chunk_columns(site, form));
    let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
    let mut chunk = Vec::new();
    for top in (0..site.height).step_by(high) {
        for left in (0..site.width).step_by(wide) {
            // Strips end with the image; tiles are stored whole, zeros past its edges.
            let rows = if form.tile.is_some() { high } else { high.min(site.height - top) };
            let (line, from) = (wide * dtype.size(), left * dtype.size());
            chunk.clear();
            chunk.resize(rows * line, 0);
            for (source, out) in pixels[top * row..].chunks_exact(row).zip(chunk.chunks_exact_mut(line)) {
                let source = &source[from..(from + line).min(row)];
                out[..source.len()].copy_from_slice(source);
            }
            let packed = pack(&chunk, form.compression)?;
            offsets.push(u32::try_from(directory.write_data(&packed[..])?)?);
            lengths.push(u32::try_from(packed.len())?);
        }
    }
    directory.write_tag(Tag::ImageWidth, site.width as u32)?;
    directory.write_tag(Tag::ImageLength, site.height as u32)?;
    directory.write_tag(Tag::BitsPerSample, 8 * dtype.size() as u16)?;
    directory.write_tag(Tag::Compression, code(form.compression))?;
    directory.write_tag(Tag::PhotometricInterpretation, 1_u16)?;
    directory.write_tag(Tag::SamplesPerPixel, 1_u16)?;
    directory.write_tag(Tag::SampleFormat, if dtype == Dtype::F32 { 3_u16 } else { 1 })?;
    if form.tile.is_some() {
        directory.write_tag(Tag::TileWidth, wide as u32)?;
        directory.write_tag(Tag::TileLength, high as u32)?;
        directory.write_tag(Tag::TileOffsets, &offsets[..])?;
        directory.write_tag(Tag::TileByteCounts, &lengths[..])?;
    } else {
        directory.write_tag(Tag::RowsPerStrip, high as u32)?;
        directory.write_tag(Tag::StripOffsets, &offsets[..])?;
        directory.write_tag(Tag::StripByteCounts, &lengths[..])?;
    }
    directory.finish()
}

fn chunk_rows(site: &SitePixels, form: Form) -> usize {
    let row = site.width * site.data.dtype().size();
    form.tile.unwrap_or((STRIP_BYTES / row).clamp(1, site.height))
}

fn chunk_columns(site: &SitePixels, form: Form) -> usize {
    form.tile.unwrap_or(site.width)
}

fn code(compression: Compression) -> u16 {
    match compression {
        Compression::None => 1,
        Compression::Lzw => 5,
        Compression::Deflate => 8,
        Compression::PackBits => 32773,
    }
}

fn pack(chunk: &[u8], compression: Compression) -> TiffResult<std::borrow::Cow<'_, [u8]>> {
    Ok(match compression {
        Compression::Lzw => {
            let mut encoder = weezl::encode::Encoder::with_tiff_size_switch(BitOrder::Msb, 8);
            encoder.encode(chunk).map_err(std::io::Error::other)?.into()
        }
        Compression::Deflate => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Level::default());
            encoder.write_all(chunk)?;
            encoder.finish()?.into()
        }
        // No variant of ours is written with PackBits.
        Compression::None | Compression::PackBits => chunk.into(),
    })
}
