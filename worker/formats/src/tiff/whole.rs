//! Whole pages through the `tiff` crate. The reference pixels of imported datasets come from here, so that our own
//! chunk reader is compared with code that is not ours.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use pcb_protocol::Dtype;
use tiff::TiffError;
use tiff::decoder::{Decoder, DecodingResult, Limits};

use crate::FormatError;

use super::directory::TiffFile;
use super::page::{Page, PageInfo};
use super::plane;
use super::sample;

/// Shape and dtype of every page of the TIFF file at `path`, in their order. Each was compared with the chunks that hold
/// its pixels and with the length of the file.
pub fn tiff_pages(path: &Path) -> Result<Vec<PageInfo>, FormatError> {
    let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
    let tiff = TiffFile::open(path, &file)?;
    tiff.directories().map(|directory| Ok(Page::parse(&tiff, &directory?)?.info)).collect()
}

/// Shape and dtype of page number `page` of the TIFF file at `path`.
pub fn plane_info(path: &Path, page: u32) -> Result<PageInfo, FormatError> {
    let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
    Ok(Page::read(path, &file, page)?.info)
}

/// An error unless page number `page` of the TIFF file at `path` has this dtype and shape. Returns the open file.
fn check_plane(path: &Path, page: u32, dtype: Dtype, height: usize, width: usize) -> Result<File, FormatError> {
    let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
    let expected = PageInfo { height: height as u32, width: width as u32, dtype };
    plane::check(path, page, Page::read(path, &file, page)?.info, expected)?;
    Ok(file)
}

/// Decodes page number `page` of the TIFF file at `path` into `out`: (Y, X), native byte order.
pub fn read_plane(
    path: &Path,
    page: u32,
    dtype: Dtype,
    height: usize,
    width: usize,
    out: &mut [u8],
) -> Result<(), FormatError> {
    let file = check_plane(path, page, dtype, height, width)?;
    let pixels = decode(&file, page, out.len()).map_err(|e| tiff_error(path, page, e))?;
    let unsupported = |what| FormatError::Unsupported(format!("{}: page {page}: {what}", path.display()));
    let taken = match &pixels {
        DecodingResult::U8(v) if dtype == Dtype::U8 => copy(v, out),
        DecodingResult::U16(v) if dtype == Dtype::U16 => copy(bytemuck::cast_slice(v), out),
        DecodingResult::F32(v) => copy(bytemuck::cast_slice(v), out),
        DecodingResult::I8(v) => floats(v, out).map_err(unsupported)?,
        DecodingResult::I16(v) => floats(v, out).map_err(unsupported)?,
        DecodingResult::I32(v) => floats(v, out).map_err(unsupported)?,
        DecodingResult::U32(v) => floats(v, out).map_err(unsupported)?,
        _ => false,
    };
    if taken {
        return Ok(());
    }
    Err(FormatError::corrupt(path, format!("page {page} does not decode to {height}x{width} {dtype}")))
}

/// Copies bytes; false when their number is another.
fn copy(pixels: &[u8], out: &mut [u8]) -> bool {
    let same = pixels.len() == out.len();
    if same {
        out.copy_from_slice(pixels);
    }
    same
}

/// Puts whole numbers down as floats of the same value; false when their number is another.
fn floats<T: Copy + Into<i64>>(pixels: &[T], out: &mut [u8]) -> Result<bool, String> {
    let out = out.as_chunks_mut().0;
    for (&pixel, out) in pixels.iter().zip(out.iter_mut()) {
        *out = sample::exact(pixel.into())?.to_ne_bytes();
    }
    Ok(pixels.len() == out.len())
}

fn decode(file: &File, page: u32, bytes: usize) -> Result<DecodingResult, TiffError> {
    let mut limits = Limits::default();
    // The page's shape is the one expected, so its size is no lie.
    limits.decoding_buffer_size = limits.decoding_buffer_size.max(bytes);
    limits.intermediate_buffer_size = limits.intermediate_buffer_size.max(bytes);
    let mut decoder = Decoder::new(BufReader::new(file))?.with_limits(limits);
    decoder.seek_to_image(page as usize)?;
    decoder.read_image()
}

fn tiff_error(path: &Path, page: u32, error: TiffError) -> FormatError {
    match error {
        TiffError::IoError(e) if e.raw_os_error().is_some() => FormatError::io(path, e),
        TiffError::UnsupportedError(e) => FormatError::Unsupported(format!("{}: page {page}: {e}", path.display())),
        e => FormatError::corrupt(path, format!("page {page}: {e}")),
    }
}
