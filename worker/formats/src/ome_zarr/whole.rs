//! Whole planes through the library's own reading: the reference of imported plates, so that our chunk reader is compared
//! with code that is not ours.

use std::path::Path;

use pcb_protocol::Dtype;
use zarrs::array::{ArrayBytes, ArraySubset};

use super::array::{Stored, ZarrArray};
use super::{meta, reader};
use crate::FormatError;
use crate::tiff::PageInfo;

/// Shape and dtype of channel number `channel` of the array in the folder `path`. Axes beside channels, rows and columns
/// count by their first plane.
pub fn plane_info(path: &Path, channel: u32) -> Result<PageInfo, FormatError> {
    let array = ZarrArray::open(path)?;
    let shape = array.array.shape();
    let (c, y, x) = meta::axes(path, shape.len())?;
    let channels = c.map_or(1, |c| shape[c]);
    if u64::from(channel) >= channels {
        return Err(FormatError::corrupt(&array.meta, format!("{channels} channels; expected a channel {channel}")));
    }
    let side = |axis: usize| {
        u32::try_from(shape[axis])
            .map_err(|_| FormatError::corrupt(&array.meta, format!("{shape:?} pixels are impossible")))
    };
    Ok(PageInfo { height: side(y)?, width: side(x)?, dtype: array.stored.dtype() })
}

/// Number of channels of the Zarr array in the folder `path`.
pub fn zarr_channels(path: &Path) -> Result<u32, FormatError> {
    let array = ZarrArray::open(path)?;
    let shape = array.array.shape();
    let (c, _, _) = meta::axes(path, shape.len())?;
    Ok(c.map_or(1, |c| u32::try_from(shape[c]).unwrap_or(u32::MAX)))
}

/// Decodes channel number `channel` of the array in the folder `path` into `out`: (Y, X), native byte order.
pub fn read_plane(path: &Path, channel: u32, dtype: Dtype, out: &mut [u8]) -> Result<(), FormatError> {
    let array = ZarrArray::open(path)?;
    let shape = array.array.shape().to_vec();
    let (c, y, x) = meta::axes(path, shape.len())?;
    let range = |axis: usize| match axis {
        axis if axis == y || axis == x => 0..shape[axis],
        axis if Some(axis) == c => u64::from(channel)..u64::from(channel) + 1,
        _ => 0..1,
    };
    let subset = ArraySubset::new_with_ranges(&(0..shape.len()).map(range).collect::<Vec<_>>());
    let broken = |e: String| FormatError::corrupt(path, format!("channel {channel}: {e}"));
    let bytes: ArrayBytes = array.array.retrieve_array_subset(&subset).map_err(|e| broken(e.to_string()))?;
    let bytes = bytes.into_fixed().map_err(|e| broken(e.to_string()))?;
    if y > x {
        return Err(FormatError::Unsupported(format!("{}: its columns come before its rows", path.display())));
    }
    let bytes = match array.stored {
        Stored::Ours(_) => bytes.into_owned(),
        signed => reader::to_f32(&bytes, signed),
    };
    if bytes.len() != out.len() || array.stored.dtype() != dtype {
        return Err(broken(format!(
            "{} bytes of {}; expected {} of {dtype}",
            bytes.len(),
            array.stored.dtype(),
            out.len()
        )));
    }
    out.copy_from_slice(&bytes);
    Ok(())
}
