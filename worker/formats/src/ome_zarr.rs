//! OME-Zarr: an HCS plate of arrays (C, Y, X), `PLATE.zarr/ROW/COLUMN/FIELD/0`, in chunks that are files of their own or
//! lie in shards. Zarr 2 with OME-Zarr 0.4, Zarr 3 with OME-Zarr 0.5.
//!
//! A chunk that is missing holds the fill value, as the format has it: a lost file shows as black pixels, which the
//! comparison with the reference finds.

mod array;
mod axes;
mod codec;
mod describe;
mod document;
mod parse;
mod place;
mod plate;
mod reader;
mod region;
mod shard;
mod whole;
mod write;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::tree::tree_files;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};
use describe::Version;
use reader::{Locate, ZarrReader};
use write::{Codec, Form};

pub use plate::{OmeField, OmePlate, ome_zarr_plate};
pub use whole::{plane_info, read_plane};

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "ome-zarr",
    about: "an OME-Zarr plate, an array (C, Y, X) for each site; or the plates of an import",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write,
    resident_bytes: |_| 0,
};

const fn site(name: &'static str, parameters: &'static str) -> Variant {
    Variant::new(name, Layout::Site, parameters)
}

const VARIANTS: &[Variant] = &[
    site(
        "v2-chunk1024-blosc",
        "Zarr 2, OME-Zarr 0.4; chunks of 1x1024x1024, Blosc LZ4 5 with byte shuffle, as bioformats2raw writes",
    )
    .role(Role::Default),
    site("v2-tile128-zstd", "Zarr 2, OME-Zarr 0.4; chunks of 1x128x128, zstd 3"),
    site(
        "v3-chunk1024-zstd",
        "Zarr 3, OME-Zarr 0.5; chunks of 1x1024x1024, zstd 3, which zarr-python's default of 0 stands for",
    ),
    site("v3-tile128-zstd", "Zarr 3, OME-Zarr 0.5; chunks of 1x128x128, zstd 3"),
    site("v3-tile128-blosc", "Zarr 3, OME-Zarr 0.5; chunks of 1x128x128, Blosc zstd 5 with byte shuffle"),
    site("v3-tile128-none", "Zarr 3, OME-Zarr 0.5; chunks of 1x128x128, uncompressed"),
    site(
        "v3-shard1024-tile128-zstd",
        "Zarr 3, OME-Zarr 0.5; shards of 1x1024x1024 with chunks of 1x128x128, zstd 3; index kept, at the end",
    ),
    site(
        "v3-shard1024-tile128-none",
        "Zarr 3, OME-Zarr 0.5; shards of 1x1024x1024 with chunks of 1x128x128, uncompressed; index kept, at the end",
    )
    .role(Role::Tuned),
    site("source", "the plates an imported dataset came from, read in place, however they are stored"),
];

/// How the variant called `stored` is written.
fn form(stored: &str) -> Result<Form, FormatError> {
    let form = || {
        let mut parts = stored.split('-');
        let version = match parts.next()? {
            "v2" => Version::V2,
            "v3" => Version::V3,
            _ => return None,
        };
        let side = |text: &str| text.parse().ok().filter(|&side: &usize| side > 0);
        let mut part = parts.next()?;
        let shard = part.strip_prefix("shard").map(side);
        if shard.is_some() {
            part = parts.next()?;
        }
        let chunk = side(part.strip_prefix("tile").or_else(|| part.strip_prefix("chunk"))?)?;
        let codec = match (parts.next()?, version) {
            ("none", _) => Codec::None,
            ("zstd", _) => Codec::Zstd,
            ("blosc", Version::V2) => Codec::Blosc("lz4"),
            ("blosc", Version::V3) => Codec::Blosc("zstd"),
            _ => return None,
        };
        let shard = match shard {
            None => None,
            Some(side) => Some(side.filter(|_| version == Version::V3)?),
        };
        parts.next().is_none().then_some(Form { version, chunk, shard, codec })
    };
    form().ok_or_else(|| FormatError::Unsupported(format!("ome-zarr: no way is known to store {stored}")))
}

/// Arrays of a form that we wrote.
struct Stored {
    folder: PathBuf,
    arrays: Vec<PathBuf>,
}

impl Locate for Stored {
    fn locate(&self, _: &Dataset, site: usize, channel: usize) -> (PathBuf, usize) {
        (self.folder.join(&self.arrays[site]), channel)
    }
}

/// Arrays of an import.
struct Imported;

impl Locate for Imported {
    fn locate(&self, dataset: &Dataset, site: usize, channel: usize) -> (PathBuf, usize) {
        let source = &dataset.info.sites[site].source[channel];
        (dataset.source_path(source), source.page as usize)
    }
}

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    if spec.variant.stored == "source" {
        imported(&spec.dataset)?;
        return Ok(Box::new(ZarrReader::open(spec, Imported)?));
    }
    let stored = Stored { folder: spec.stored_folder(FORMAT.name)?, arrays: place::arrays(&spec.dataset) };
    Ok(Box::new(ZarrReader::open(spec, stored)?))
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    if variant.stored != "source" {
        let mut files = Vec::new();
        for plate in place::plates(dataset) {
            files.extend(tree_files(&dataset.stored_dir(FORMAT.name, variant).join(&plate.folder))?);
        }
        files.sort();
        return Ok(files);
    }
    imported(dataset)?;
    let sources = dataset.info.sites.iter().flat_map(|site| &site.source);
    // All channels of a site lie in one array.
    let arrays: BTreeSet<PathBuf> = sources.map(|source| dataset.source_path(source)).collect();
    let mut files = BTreeSet::new();
    for array in &arrays {
        files.extend(tree_files(array)?);
        // The image's metadata, which name the axes.
        let image = array.parent().unwrap_or(array);
        files.extend(document::NAMES.map(|name| image.join(name)).into_iter().filter(|file| file.is_file()));
    }
    Ok(files.into_iter().collect())
}

fn write(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    match variant.stored {
        "source" => imported(dataset),
        stored => write::write(dataset, form(stored)?, into, progress),
    }
}

/// An error unless the dataset was imported from OME-Zarr plates.
fn imported(dataset: &Dataset) -> Result<(), FormatError> {
    if dataset.info.source_format() == Some(FORMAT.name) {
        return Ok(());
    }
    Err(FormatError::Unsupported(format!("dataset {}: it has no OME-Zarr source files", dataset.info.name)))
}

/// Folder of the array of each site of `dataset`, in the order of its sites, below the folder that a form was written
/// into.
pub fn ome_zarr_arrays(dataset: &Dataset) -> Vec<PathBuf> {
    place::arrays(dataset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_says_how_it_is_stored_and_others_are_errors() {
        for variant in VARIANTS.iter().filter(|variant| variant.stored != "source") {
            form(variant.stored).expect("known");
        }
        let shards = form("v3-shard1024-tile128-zstd").expect("known");
        assert_eq!((shards.chunk, shards.shard, shards.codec), (128, Some(1024), Codec::Zstd));
        assert_eq!(form("v2-chunk1024-blosc").expect("known").codec, Codec::Blosc("lz4"));
        for name in [
            "source",
            "v4-tile128-none",
            "v3-tile0-none",
            "v3-tile-none",
            "v3-strip128-none",
            "v3-tile128-lzw",
            "v3-tile128",
            "v3-tile128-none-x",
            "v2-shard1024-tile128-none",
            "v3-shard-tile128-none",
        ] {
            assert!(form(name).is_err(), "{name}");
        }
    }
}
