//! OME-Zarr: an HCS plate of wells and fields, each field an array of (C, Y, X) in chunks. Version 0.4 of the metadata
//! stands on Zarr 2, version 0.5 on Zarr 3.

mod array;
mod crop;
mod meta;
mod reader;
mod whole;
mod write;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};

pub use meta::{Field, PlateFields, plate_fields};
pub use whole::{plane_info, read_plane, zarr_channels};

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "ome-zarr",
    about: "an OME-Zarr HCS plate, a (C, Y, X) array for each site; a chunk or shard is a file. Keeps the indexes of \
            shards, no decoded chunk",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write: write::write,
    resident_bytes: |_| 0,
};

const fn site(name: &'static str, parameters: &'static str) -> Variant {
    Variant::new(name, Layout::Site, parameters)
}

const VARIANTS: &[Variant] = &[
    site("v2-chunk1024-blosc", "Zarr 2 (OME-Zarr 0.4), chunks of 1x1024x1024, Blosc lz4 level 5 with shuffle")
        .role(Role::Default),
    site("v2-tile128-zstd", "Zarr 2 (OME-Zarr 0.4), chunks of 1x128x128, zstd level 3"),
    site("v3-chunk1024-zstd", "Zarr 3 (OME-Zarr 0.5), chunks of 1x1024x1024, zstd level 0"),
    site("v3-tile128-zstd", "Zarr 3 (OME-Zarr 0.5), chunks of 1x128x128, zstd level 3"),
    site("v3-tile128-blosc", "Zarr 3 (OME-Zarr 0.5), chunks of 1x128x128, Blosc zstd level 3 with shuffle"),
    site("v3-tile128-none", "Zarr 3 (OME-Zarr 0.5), chunks of 1x128x128, uncompressed"),
    site(
        "v3-shard1024-tile128-zstd",
        "Zarr 3 (OME-Zarr 0.5), shards of 1x1024x1024, chunks of 1x128x128, zstd level 3",
    ),
    site(
        "v3-shard1024-tile128-none",
        "Zarr 3 (OME-Zarr 0.5), shards of 1x1024x1024, chunks of 1x128x128, uncompressed",
    )
    .role(Role::Tuned),
    site("source", "the plate an imported dataset came from, read in place, however it is stored"),
];

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    Ok(Box::new(reader::ZarrReader::open(spec)?))
}

/// The folder of each site's array: within the stored form, or the source's.
fn arrays(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    if variant.stored == "source" {
        dataset.check_source(FORMAT.name)?;
        return Ok(dataset.info.sites.iter().map(|site| dataset.source_path(&site.source[0])).collect());
    }
    let folder = dataset.stored_dir(FORMAT.name, variant);
    Ok(places(dataset).into_iter().map(|place| folder.join(place.array())).collect())
}

/// Metadata and chunks of every array; groups are not read.
fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    let mut files = Vec::new();
    for array in arrays(dataset, variant)? {
        walk(&array, &mut files)?;
        if variant.stored == "source" {
            // The axes of foreign arrays are told by their group.
            files.extend(meta::group_files(&array));
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), FormatError> {
    let failed = |e| FormatError::io(folder, e);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() { walk(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// Where a site stands in the plates of a stored form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// Folder of the plate, ending in `.zarr`.
    plate: String,
    /// Letters of the well.
    row: String,
    /// Digits of the well.
    column: String,
    /// Field of the well, from 0.
    field: usize,
}

impl Place {
    fn well(&self) -> String {
        format!("{}/{}/{}", self.plate, self.row, self.column)
    }

    fn array(&self) -> String {
        format!("{}/{}/0", self.well(), self.field)
    }
}

/// The place of each site. Names of folders are alphanumeric, as the specification wants them: `A01` is row `A`, column
/// `01`; a well that is no letters and digits becomes a row of its own.
fn places(dataset: &Dataset) -> Vec<Place> {
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let mut fields: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    let place = |site: &crate::Site| {
        let split = site.well.find(|c: char| c.is_ascii_digit()).unwrap_or(site.well.len());
        let (row, column) = site.well.split_at(split);
        let sound = |text: &str, fits: fn(&char) -> bool| !text.is_empty() && text.chars().all(|c| fits(&c));
        let (row, column) = if sound(row, char::is_ascii_alphabetic) && sound(column, char::is_ascii_digit) {
            (row.to_owned(), column.to_owned())
        } else {
            (format!("W{}", plain(&site.well)), "1".to_owned())
        };
        let plate = format!("{}.zarr", plain(&site.plate));
        let next = fields.entry((plate.clone(), row.clone(), column.clone())).or_insert(0);
        let field = *next;
        *next += 1;
        Place { plate, row, column, field }
    };
    dataset.info.sites.iter().map(place).collect()
}
