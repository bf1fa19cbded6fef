//! Whole planes through `zarrs`' own reading of arrays. The reference pixels of imported plates come from here, so that
//! our own reader of chunks is compared with code that is not ours.

use std::path::Path;
use std::sync::Arc;

use pcb_protocol::Dtype;
use zarrs::array::{Array, ArrayBytes, ArraySubset, CodecOptions};
use zarrs::filesystem::FilesystemStore;

use crate::crop::Rect;
use crate::tiff::PageInfo;
use crate::tree::tree_bytes;
use crate::{FormatError, Probe};

use super::array::Image;
use super::region::{Buffers, Region};

/// Images up to this many bytes may consist of missing chunks alone.
const SMALL: u64 = 1 << 28;
/// No codec here packs more tightly than this (zstd, the same byte over and over).
const TIGHTEST: u64 = 1 << 15;

/// Shape and dtype of channel `channel` of the image whose array lies in `folder`.
pub fn plane_info(folder: &Path, channel: u32) -> Result<PageInfo, FormatError> {
    let image = Image::open(folder)?;
    image.check_channel(channel as usize)?;
    let info = info(&image)?;
    check_size(&image)?;
    Ok(info)
}

/// Number of channels of the image whose array lies in `folder`.
pub fn channels(folder: &Path) -> Result<u64, FormatError> {
    Ok(Image::open(folder)?.shape[0])
}

/// Decodes channel `channel` of the image whose array lies in `folder` into `out`: (Y, X), native byte order.
pub fn read_plane(
    folder: &Path,
    channel: u32,
    dtype: Dtype,
    (height, width): (usize, usize),
    out: &mut [u8],
) -> Result<(), FormatError> {
    let image = Image::open(folder)?;
    image.check(height as u32, width as u32, dtype)?;
    let (document, stored) = (image.document.clone(), image.stored);
    let place = image.ranges([channel as usize, 0, 0], [1, height, width]);
    // `zarrs` believes what chunks say about their length. Our own reader does not, and goes first: what it decodes is
    // sound, if wrong.
    let mut buffers = Buffers::new().map_err(|e| FormatError::io(folder, e))?;
    let mut region = Region::new(image, &[channel as usize])?;
    region.read(Rect { y0: 0, y1: height, x0: 0, x1: width }, out, &mut buffers, &mut Probe::none())?;
    let bytes = through_zarrs(folder, &place).map_err(|e| FormatError::corrupt(&document, e))?;
    if bytes.len() != height * width * stored.size() {
        let problem = format!("channel {channel} decodes to {} bytes; expected {height}x{width} pixels", bytes.len());
        return Err(FormatError::corrupt(&document, problem));
    }
    stored.copy(&bytes, out);
    Ok(())
}

fn through_zarrs(folder: &Path, place: &[std::ops::Range<u64>]) -> Result<Vec<u8>, String> {
    let store = FilesystemStore::new(folder).map_err(|e| e.to_string())?;
    let array = Array::open(Arc::new(store), "/").map_err(|e| e.to_string())?;
    let options = CodecOptions::default().with_concurrent_target(1);
    let subset = ArraySubset::new_with_ranges(place);
    let pixels: ArrayBytes<'_> = array.retrieve_array_subset_opt(&subset, &options).map_err(|e| e.to_string())?;
    Ok(pixels.into_fixed().map_err(|e| e.to_string())?.into_owned())
}

fn info(image: &Image) -> Result<PageInfo, FormatError> {
    let [_, height, width] = image.shape;
    match (u32::try_from(height), u32::try_from(width)) {
        (Ok(height), Ok(width)) => Ok(PageInfo { height, width, dtype: image.stored.dtype() }),
        _ => Err(FormatError::corrupt(&image.document, format!("an image of {height}x{width} pixels"))),
    }
}

/// An error when the array promises far more pixels than its files could hold: memory is spent on them next.
fn check_size(image: &Image) -> Result<(), FormatError> {
    let pixel = image.stored.dtype().size() as u64;
    let bytes = image.shape.iter().try_fold(pixel, |bytes, len| bytes.checked_mul(*len)).unwrap_or(u64::MAX);
    if bytes <= SMALL {
        return Ok(());
    }
    let stored = tree_bytes(&image.folder)?;
    if bytes / TIGHTEST <= stored {
        return Ok(());
    }
    let problem = format!("shape {:?} promises {bytes} bytes of pixels, all its files have {stored}", image.shape);
    Err(FormatError::corrupt(&image.document, problem))
}
