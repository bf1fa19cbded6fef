//! TIFF: a file for each channel of a site (`tiff`) or one multi-page OME-TIFF for each site or record (`ome-tiff`).
//! Pages are stored in strips or tiles; crops are cut out of the chunks they meet.

mod channels;
mod compression;
mod directory;
mod form;
mod object;
mod ome;
mod pack;
mod page;
mod plane;
mod predict;
mod reader;
mod sample;
mod unpack;
mod whole;
mod write;

use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};
use form::Form;
use object::RecordReader;
use reader::TiffReader;
use write::Image;

pub use channels::{TiffChannel, tiff_channels};
pub use page::PageInfo;
pub use plane::check;
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
    about: "an OME-TIFF for each site or record, a page for each channel",
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

const STRIP_NONE: Variant = site("strip-none", "strips of 64 KiB (at least one row), uncompressed");
const STRIP_NONE_MAPPED: Variant = site("strip-none-mmap", "strips of 64 KiB (at least one row), uncompressed")
    .stored("strip-none")
    .about("strips of 64 KiB (at least one row), uncompressed, mapped")
    .mapped();
const STRIP_LZW: Variant = site("strip-lzw", "strips of 64 KiB (at least one row), LZW without predictor");
const STRIP_LZW_PREDICTOR: Variant = site(
    "strip-lzw-predictor",
    "strips of 64 KiB (at least one row), LZW with horizontal predictor (f32: floating point predictor)",
);
const STRIP_DEFLATE: Variant =
    site("strip-deflate", "strips of 64 KiB (at least one row), Deflate 6 without predictor");
/// A crop of 64 to 256 pixels meets 2 to 9 such tiles, each read with one call; tiles of 64 need up to 25 calls
/// for a few KiB less, tiles of 256 read twice the bytes.
const TILE_NONE: Variant = site("tile128-none", "tiles of 128x128, uncompressed");
const TILE_NONE_MAPPED: Variant = site("tile128-none-mmap", "tiles of 128x128, uncompressed")
    .stored("tile128-none")
    .about("tiles of 128x128, uncompressed, mapped")
    .mapped()
    .role(Role::Tuned);
const TILE_LZW: Variant = site("tile128-lzw", "tiles of 128x128, LZW without predictor");
const TILE_LZW_PREDICTOR: Variant =
    site("tile128-lzw-predictor", "tiles of 128x128, LZW with horizontal predictor (f32: floating point predictor)");
const TILE_DEFLATE: Variant = site("tile128-deflate", "tiles of 128x128, Deflate 6 without predictor");
const TILE_ZSTD: Variant = site("tile256-zstd", "tiles of 256x256, Zstandard 3 without predictor");
const PYRAMID: Variant = site(
    "tile512-lzw-pyramid",
    "tiles of 512x512, LZW without predictor; halves down to 256 pixels in SubIFDs, as raw2ometiff lays them out",
);
const BIG_ZSTD: Variant = site("bigtiff-tile128-zstd", "BigTIFF; tiles of 128x128, Zstandard 3 without predictor");

/// Default: what `tifffile.imwrite(…, ome=True)` and Bio-Formats' exporter write when nobody says otherwise. Of records,
/// which are one strip a page, it is the best as well.
const OME_VARIANTS: &[Variant] = &[
    STRIP_NONE.role(Role::Default),
    STRIP_NONE_MAPPED,
    STRIP_LZW,
    STRIP_DEFLATE,
    TILE_NONE,
    TILE_NONE_MAPPED,
    TILE_LZW,
    TILE_LZW_PREDICTOR,
    TILE_DEFLATE,
    TILE_ZSTD,
    PYRAMID,
    BIG_ZSTD,
    Variant::new(
        "strip-none",
        Layout::Object,
        "a file for each record, strips of 64 KiB (at least one row), uncompressed",
    )
    .stored("object-strip-none")
    .about("a file for each record, uncompressed, opened and closed for each sample")
    .role(Role::DefaultAndTuned),
    Variant::new(
        "strip-zstd",
        Layout::Object,
        "a file for each record, strips of 64 KiB (at least one row), Zstandard 3 without predictor",
    )
    .stored("object-strip-zstd")
    .about("a file for each record, Zstandard 3, opened and closed for each sample"),
];

/// Default: LZW strips, as Harmony writes the plates of Operetta and Opera Phenix (JUMP).
const TIFF_VARIANTS: &[Variant] = &[
    STRIP_NONE,
    STRIP_NONE_MAPPED,
    STRIP_LZW.role(Role::Default),
    STRIP_LZW_PREDICTOR,
    STRIP_DEFLATE,
    TILE_NONE,
    TILE_NONE_MAPPED,
    TILE_LZW,
    TILE_DEFLATE,
    TILE_ZSTD,
    PYRAMID,
    BIG_ZSTD,
    site("source", "the files an imported dataset came from, read in place, however they are stored"),
];

fn open(spec: &OpenSpec, format: &str) -> Result<Box<dyn Reader>, FormatError> {
    if spec.variant.layout == Layout::Object {
        return Ok(Box::new(RecordReader::open(spec)?));
    }
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
        _ if variant.layout == Layout::Object => {
            (0..dataset.objects.rows.len()).map(|object| folder.join(object::file_name(object))).collect()
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
    let form = Form::of(variant.stored)?;
    let total = dataset.info.sites.len();
    for index in 0..total {
        let site = dataset.reference(index)?;
        let (dtype, height, width) = (site.data.dtype(), site.height, site.width);
        for (channel, pixels) in site.data.bytes().chunks_exact(height * width * dtype.size()).enumerate() {
            let path = into.join(channel_file(dataset, index, channel));
            write::write(&path, &Image { dtype, height, width, pixels }, form, None)?;
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
    let form = Form::of(variant.stored)?;
    if variant.layout == Layout::Object {
        return object::write(dataset, form, into, progress);
    }
    let total = dataset.info.sites.len();
    for (index, named) in dataset.info.sites.iter().enumerate() {
        let site = dataset.reference(index)?;
        let text = ome::describe(&named.name(), &dataset.info.channels, dataset.info.dtype, named.height, named.width);
        let path = into.join(ome_file(dataset, index));
        let (dtype, height, width) = (site.data.dtype(), site.height, site.width);
        write::write(&path, &Image { dtype, height, width, pixels: site.data.bytes() }, form, Some(&text))?;
        progress(index as u64 + 1, total as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_tables_says_how_it_is_stored() {
        for variant in OME_VARIANTS.iter().chain(TIFF_VARIANTS).filter(|variant| variant.stored != "source") {
            let form = Form::of(variant.stored).expect("known");
            let name = variant.name.strip_suffix("-mmap").unwrap_or(variant.name);
            assert_eq!(form, Form::of(name).expect("known"), "{}", variant.name);
            assert_eq!(variant.mapped, variant.name.ends_with("-mmap"), "{}", variant.name);
        }
    }
}
