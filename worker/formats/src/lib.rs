//! Datasets, and readers and writers of every format pcb measures. Knows no torch, no track, no clock.
//!
//! A [`Dataset`] is a folder: `dataset.json`, `objects.parquet`, `reference/` (raw sites, never measured),
//! `decoy/` (a small dataset of the same shape) and `formats/<format>:<stored>/`. A row of [`FORMATS`] knows how
//! to write one stored form and how to open a [`Reader`] on it. Adding a format is one file and one row.

mod atomic;
pub mod crop;
mod dataset;
mod digest;
mod error;
mod format;
mod hdf5;
mod info;
#[cfg(feature = "lance")]
mod lance;
mod libraries;
mod memory;
#[expect(unsafe_code, reason = "mapping a file is unsafe; see the module's reason")]
mod mmap;
mod npy;
mod objects;
mod ome_arrow;
mod ome_zarr;
mod pixels;
mod png;
mod raw;
mod record;
mod reference;
mod safetensors;
mod source;
mod staging;
pub mod store;
#[cfg(any(feature = "lance", feature = "vortex"))]
mod tables;
mod tiff;
mod tree;
#[cfg(feature = "vortex")]
mod vortex;
mod webdataset;

pub use dataset::Dataset;
pub use digest::site_digest;
pub use error::FormatError;
pub use format::{FORMATS, Format, OpenSpec, Probe, Reader, Role, Stage, Variant, find, unknown_format};
pub use info::{DatasetInfo, Record, Site, SourceFile, SourceKind, VERSION};
pub use libraries::libraries;
pub use npy::{Array, read_npy, write_npy, write_site_npy};
pub use objects::{Object, ObjectTable};
pub use ome_arrow::{ARROW_COLUMN, ArrowImage, arrow_columns, arrow_images, read_arrow_dataset, read_arrow_image};
pub use ome_zarr::{OmeField, OmePlate, ome_zarr_arrays, ome_zarr_plate};
pub use pixels::{Pixels, SitePixels};
pub use reference::ReferenceCrops;
pub use source::plane_info;
pub use staging::Staging;
pub use tiff::{PageInfo, TiffChannel, tiff_channels, tiff_pages};
pub use tree::tree_bytes;
pub use webdataset::{Member, tar_members};
