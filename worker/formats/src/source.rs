//! Planes of other people's files, read in place: what the reference of an imported dataset is.
//!
//! One row for each kind. These paths decode whole planes through a library, so that our own chunk readers are compared
//! with code that is not ours.

use std::path::Path;

use pcb_protocol::Dtype;

use crate::info::SourceKind;
use crate::tiff::PageInfo;
use crate::{FormatError, SourceFile, ome_arrow, ome_zarr, tiff};

/// Shape and element type of the plane that `source` names; its file lies at `path`. Costs headers at most.
pub fn plane_info(path: &Path, source: &SourceFile) -> Result<PageInfo, FormatError> {
    match source.kind {
        SourceKind::Tiff => tiff::plane_info(path, source.page),
        SourceKind::OmeZarr => ome_zarr::plane_info(path, source.page),
        SourceKind::OmeArrow => ome_arrow::plane_info(path, source),
    }
}

/// Decodes a plane into `out`: (Y, X) of `dtype` in native byte order.
pub fn read_plane(
    path: &Path,
    source: &SourceFile,
    dtype: Dtype,
    (height, width): (usize, usize),
    out: &mut [u8],
) -> Result<(), FormatError> {
    match source.kind {
        SourceKind::Tiff => tiff::read_plane(path, source.page, dtype, height, width, out),
        SourceKind::OmeZarr => ome_zarr::read_plane(path, source.page, dtype, (height, width), out),
        SourceKind::OmeArrow => ome_arrow::read_plane(path, source, dtype, (height, width), out),
    }
}

/// An error unless the plane has this dtype and shape.
pub fn check_plane(
    path: &Path,
    source: &SourceFile,
    dtype: Dtype,
    (height, width): (usize, usize),
) -> Result<(), FormatError> {
    let (found, expected) = (plane_info(path, source)?, PageInfo { height: height as u32, width: width as u32, dtype });
    tiff::check(path, source.page, found, expected)
}
