//! TIFF: a file for each channel of a site (`tiff`) or one multi-page OME-TIFF for each site (`ome-tiff`). Sites are
//! stored in strips or tiles; crops are cut out of the chunks they meet.

mod directory;
mod ome;
mod page;
mod reader;
mod unpack;
mod whole;
mod write;

use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};
use page::Compression;
use reader::TiffReader;
use write::Form;

pub use page::PageInfo;
pub use reader::check;
pub use whole::{plane_info, read_plane, tiff_pages};

/// Version of the writer of both. 1: first version.
const WRITER: u32 = 1;

/// The row of [`crate::FORMATS`] for a file per channel.
pub const TIFF: Format = Format {
    name: "tiff",
    about: "a single-page TIFF for each channel of a site, as most microscopes write; or the files of an import",
    variants: TIFF_VARIANTS,
    writer: WRITER,
    open: |spec| open(spec, "tiff"),
    files: |dataset, variant| files(dataset, variant, "tiff"),
    write: write_tiff,
    resident_bytes: |_| 0,
};

/// The row of [`crate::FORMATS`] for OME-TIFF.
pub const OME_TIFF: Format = Format {
    name: "ome-tiff",
    about: "an OME-TIFF for each site, a page for each channel",
    variants: OME_VARIANTS,
    writer: WRITER,
    open: |spec| open(spec, "ome-tiff"),
    files: |dataset, variant| files(dataset, variant, "ome-tiff"),
    write: write_ome,
    resident_bytes: |_| 0,
};

const fn site(name: &'static str, parameters: &'static str) -> Variant {
    Variant::new(name, Layout::Site, parameters)
}

const STRIP_NONE: Variant = site("strip-none", "strips of 64 KiB (at least one row), uncompressed").role(Role::Default);
const STRIP_LZW: Variant = site("strip-lzw", "strips of 64 KiB (at least one row), LZW without predictor");
const STRIP_DEFLATE: Variant =
    site("strip-deflate", "strips of 64 KiB (at least one row), Deflate 6 without predictor");
const TILE_NONE: Variant = site("tile128-none", "tiles of 128x128, uncompressed").role(Role::Tuned);
const TILE_LZW: Variant = site("tile128-lzw", "tiles of 128x128, LZW without predictor");
const TILE_DEFLATE: Variant = site("tile128-deflate", "tiles of 128x128, Deflate 6 without predictor");

const OME_VARIANTS: &[Variant] = &[STRIP_NONE, STRIP_LZW, STRIP_DEFLATE, TILE_NONE, TILE_LZW, TILE_DEFLATE];

const TIFF_VARIANTS: &[Variant] = &[
    STRIP_NONE,
    STRIP_LZW,
    STRIP_DEFLATE,
    TILE_NONE,
    TILE_LZW,
    TILE_DEFLATE,
    site("source", "the files an imported dataset came from, read in place, however they are stored"),
];

/// How the variant called `stored` is written.
fn form(stored: &str) -> Result<Form, FormatError> {
    let form = |chunks: &str, codec: &str| {
        let tile = match chunks.strip_prefix("tile") {
            Some(side) => Some(side.parse().ok().filter(|side: &usize| side.is_multiple_of(16) && *side > 0)?),
            None if chunks == "strip" => None,
            None => return None,
        };
        let compression = match codec {
            "none" => Compression::None,
            "lzw" => Compression::Lzw,
            "deflate" => Compression::Deflate,
            _ => return None,
        };
        Some(Form { tile, compression })
    };
    let found = stored.split_once('-').and_then(|(chunks, codec)| form(chunks, codec));
    found.ok_or_else(|| FormatError::Unsupported(format!("no way is known to store {stored}")))
}

fn open(spec: &OpenSpec, format: &str) -> Result<Box<dyn Reader>, FormatError> {
    let reader = match (spec.variant.stored, format) {
        ("source", _) => {
            spec.dataset.check_source("tiff")?;
            TiffReader::open(spec, spec.dataset.root.clone(), |dataset, _, site, channel| {
                let source = &dataset.info.sites[site].source[channel];
                (dataset.source_path(source), source.page)
            })
        }
        (_, "tiff") => TiffReader::open(spec, spec.stored_folder(format)?, |dataset, folder, site, channel| {
            (folder.join(channel_file(dataset, site, channel)), 0)
        }),
        _ => TiffReader::open(spec, spec.stored_folder(format)?, |dataset, folder, site, channel| {
            (folder.join(ome_file(dataset, site)), channel as u32)
        }),
    };
    Ok(Box::new(reader?))
}

fn files(dataset: &Dataset, variant: &Variant, format: &str) -> Result<Vec<PathBuf>, FormatError> {
    let folder = dataset.stored_dir(format, variant);
    let sites = 0..dataset.info.sites.len();
    let mut files: Vec<PathBuf> = match (variant.stored, format) {
        ("source", _) => {
            dataset.check_source("tiff")?;
            let sources = dataset.info.sites.iter().flat_map(|site| &site.source);
            sources.map(|source| dataset.source_path(source)).collect()
        }
        (_, "tiff") => sites
            .flat_map(|site| (0..dataset.channels()).map(move |channel| (site, channel)))
            .map(|(site, channel)| folder.join(channel_file(dataset, site, channel)))
            .collect(),
        _ => sites.map(|site| folder.join(ome_file(dataset, site))).collect(),
    };
    files.sort();
    // Several channels of an import may lie in one file.
    files.dedup();
    Ok(files)
}

fn channel_file(dataset: &Dataset, site: usize, channel: usize) -> String {
    format!("{}-c{channel}.tif", dataset.info.sites[site].name())
}

fn ome_file(dataset: &Dataset, site: usize) -> String {
    format!("{}.ome.tif", dataset.info.sites[site].name())
}

fn write_tiff(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    if variant.stored == "source" {
        return dataset.check_source("tiff");
    }
    let form = form(variant.stored)?;
    let total = dataset.info.sites.len();
    for index in 0..total {
        let site = dataset.reference(index)?;
        for channel in 0..site.channels {
            let path = into.join(channel_file(dataset, index, channel));
            write::write(&path, &site, channel..channel + 1, form, None)?;
        }
        progress(index as u64 + 1, total as u64);
    }
    Ok(())
}

fn write_ome(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let form = form(variant.stored)?;
    let total = dataset.info.sites.len();
    for (index, named) in dataset.info.sites.iter().enumerate() {
        let site = dataset.reference(index)?;
        let text = ome::describe(&named.name(), &dataset.info.channels, dataset.info.dtype, named.height, named.width);
        let path = into.join(ome_file(dataset, index));
        write::write(&path, &site, 0..site.channels, form, Some(&text))?;
        progress(index as u64 + 1, total as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_says_how_it_is_stored_and_others_are_errors() {
        for variant in OME_VARIANTS {
            form(variant.stored).expect("known");
        }
        let tile = form("tile128-lzw").expect("known");
        assert_eq!((tile.tile, tile.compression), (Some(128), Compression::Lzw));
        for name in ["source", "strip-zstd", "tile100-none", "tile-none", "tiles128-none", "strip64-none", "strip"] {
            assert!(form(name).is_err(), "{name}");
        }
    }
}
