//! OME-Arrow in Parquet: a table with a column of images, or a typed chunk dataset; as ome-arrow 0.1.0 writes them.
//!
//! A big-endian array given to that version's byte encoding is stored with its bytes swapped and called `uint16` all the
//! same: nothing in the file tells, and its pixels come out swapped here as they do there.

mod catalogue;
mod chunked;
mod chunked_index;
mod column;
mod copy;
mod file;
mod index;
mod leaf;
mod levels;
mod pages;
mod parts;
mod reader;
mod rows;
mod schema;
mod shape;
mod source;
mod table;
mod target;
mod unpack;
mod whole;
mod write;
mod write_chunked;
mod write_tables;

use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};
use reader::{Kind, RecordReader, SiteReader, TABLE};
use source::SourceReader;

pub use catalogue::{ArrowImage, arrow_columns, arrow_images, read_arrow_dataset, read_arrow_image};
pub use parts::Encoding;
#[cfg(any(feature = "lance", feature = "vortex"))]
pub use rows::{Image, Rows};
#[cfg(any(feature = "lance", feature = "vortex"))]
pub use schema::image as image_fields;
pub use whole::{plane_info, read_plane};
pub use write::{COLUMN as ARROW_COLUMN, holds};

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "ome-arrow",
    about: "OME-Arrow in Parquet: a row for each image, or a chunk dataset for each site; or the tables of an import",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write,
    resident_bytes: |_| 0,
};

const fn object(name: &'static str, stored: &'static str, parameters: &'static str) -> Variant {
    Variant::new(name, Layout::Object, parameters).stored(stored).mapped()
}

const fn site(name: &'static str, stored: &'static str, parameters: &'static str) -> Variant {
    Variant::new(name, Layout::Site, parameters).stored(stored).mapped()
}

const VARIANTS: &[Variant] = &[
    object(
        "list",
        "object-list",
        "list encoding: planes, and again as chunks of at most 512x512, as lists of u16; Parquet zstd 1 with \
         dictionaries, default pages without index, row groups of 128 MiB of pixels",
    )
    .role(Role::Default),
    object(
        "bytes-zstd",
        "object-bytes-zstd",
        "byte encoding: chunks of at most 512x512, each zstd 1; Parquet uncompressed with dictionaries, default pages \
         without index, row groups of 128 MiB of pixels",
    ),
    object(
        "dataset",
        "object-dataset",
        "a chunk dataset for each site, a chunk for each record; Parquet zstd 1, a row group for each chunk",
    ),
    object(
        "bytes-page1",
        "object-bytes-page1",
        "byte encoding: chunks of at most 512x512, uncompressed; Parquet uncompressed, pixels without dictionary, one \
         row a page, page index, row groups of 128 MiB of pixels",
    )
    .role(Role::Tuned),
    object(
        "list-delta-page1",
        "object-list-delta-page1",
        "list encoding without chunks: planes as lists of u16, DELTA_BINARY_PACKED; Parquet uncompressed, one row a \
         page, page index, row groups of 128 MiB of pixels",
    ),
    site(
        "list",
        "site-list",
        "list encoding: planes, and again as chunks of at most 512x512, as lists of u16; Parquet zstd 1 with \
         dictionaries, default pages without index, row groups of 128 MiB of pixels",
    )
    .role(Role::Default),
    site(
        "bytes-zstd-tile128",
        "site-bytes-zstd-tile128",
        "byte encoding: chunks of 128x128, each zstd 1; Parquet uncompressed, pixels without dictionary, one row a page, \
         page index, row groups of 128 MiB of pixels",
    ),
    site(
        "bytes-tile128",
        "site-bytes-tile128",
        "byte encoding: chunks of 128x128, uncompressed; Parquet uncompressed, pixels without dictionary, one row a \
         page, page index, row groups of 128 MiB of pixels",
    ),
    site(
        "dataset-tile256",
        "site-dataset-tile256",
        "a chunk dataset for each site, chunks of 256x256 (preset fast_crop_2d); Parquet zstd 1, a row group for each \
         chunk",
    ),
    site(
        "dataset-tile128-page1",
        "site-dataset-tile128-page1",
        "a chunk dataset for each site, chunks of all channels and 128x128 in one row group; Parquet uncompressed, pixels \
         without dictionary, one chunk a page, page index",
    )
    .role(Role::Tuned),
    site("source", "source", "")
        .about("the tables an imported dataset came from, read in place, however they are stored"),
];

/// How a variant is written.
enum Form {
    Table(write::Form),
    Folders(write_chunked::Form),
}

/// How the variant called `stored` is written.
fn form(stored: &str) -> Result<Form, FormatError> {
    /// ome-arrow's own chunk size.
    const TILE: usize = 512;
    let table = |encoding, tile, pages| Ok(Form::Table(write::Form { encoding, tile, pages }));
    let folders = |tile, together, pages| Ok(Form::Folders(write_chunked::Form { tile, together, pages }));
    let (raw, zstd) = (Encoding::Bytes { zstd: false }, Encoding::Bytes { zstd: true });
    match stored {
        "object-list" | "site-list" => {
            table(Encoding::Lists { chunks: true }, TILE, write::Pages::Default { zstd: true })
        }
        "object-bytes-zstd" => table(zstd, TILE, write::Pages::Default { zstd: false }),
        "object-bytes-page1" => table(raw, TILE, write::Pages::Single),
        "object-list-delta-page1" => table(Encoding::Lists { chunks: false }, TILE, write::Pages::SingleDelta),
        "site-bytes-zstd-tile128" => table(zstd, 128, write::Pages::Single),
        "site-bytes-tile128" => table(raw, 128, write::Pages::Single),
        "object-dataset" => folders(None, true, write_chunked::Pages::Default),
        "site-dataset-tile256" => folders(Some(256), false, write_chunked::Pages::Default),
        "site-dataset-tile128-page1" => folders(Some(128), true, write_chunked::Pages::Single),
        _ => Err(FormatError::Unsupported(format!("ome-arrow: no way is known to store {stored}"))),
    }
}

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    if spec.variant.stored == "source" {
        imported(&spec.dataset)?;
        return Ok(Box::new(SourceReader::open(spec)?));
    }
    let kind = match form(spec.variant.stored)? {
        Form::Table(form) => {
            holds(form.encoding, spec.dataset.info.dtype, spec.dataset.channels())?;
            Kind::Table
        }
        Form::Folders(_) => Kind::Folders,
    };
    match spec.variant.layout {
        Layout::Object => Ok(Box::new(RecordReader::open(spec, kind)?)),
        Layout::Site => Ok(Box::new(SiteReader::open(spec, kind)?)),
    }
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    let folder = dataset.stored_dir(FORMAT.name, variant);
    if variant.stored == "source" {
        imported(dataset)?;
        let sources = dataset.info.sites.iter().flat_map(|site| &site.source);
        let mut files: Vec<PathBuf> = sources.map(|source| dataset.source_path(source)).collect();
        files.sort();
        files.dedup();
        return Ok(files);
    }
    if let Form::Table(_) = form(variant.stored)? {
        return Ok(vec![folder.join(TABLE)]);
    }
    let mut sites: Vec<usize> = match variant.layout {
        Layout::Object => dataset.objects.rows.iter().map(|row| row.site as usize).collect(),
        Layout::Site => (0..dataset.info.sites.len()).collect(),
    };
    sites.dedup();
    let of_site = |site: usize| {
        let folder = folder.join(dataset.info.sites[site].name());
        chunked::FILES.map(|name| folder.join(name))
    };
    let mut files: Vec<PathBuf> = sites.into_iter().flat_map(of_site).collect();
    files.sort();
    Ok(files)
}

fn write(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    if variant.stored == "source" {
        return imported(dataset);
    }
    let table = into.join(TABLE);
    match (form(variant.stored)?, variant.layout) {
        (Form::Table(form), Layout::Object) => write::write_records(&table, dataset, &form, progress),
        (Form::Table(form), Layout::Site) => write::write_sites(&table, dataset, &form, progress),
        (Form::Folders(form), Layout::Object) => write_chunked::write_records(into, dataset, form, progress),
        (Form::Folders(form), Layout::Site) => write_chunked::write_sites(into, dataset, form, progress),
    }
}

/// An error unless the dataset was imported from OME-Arrow tables.
fn imported(dataset: &Dataset) -> Result<(), FormatError> {
    if dataset.info.source_format() == Some(FORMAT.name) {
        return Ok(());
    }
    Err(FormatError::Unsupported(format!("dataset {}: it has no OME-Arrow source files", dataset.info.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_says_how_it_is_stored_and_others_are_errors() {
        for variant in VARIANTS.iter().filter(|variant| variant.stored != "source") {
            assert!(form(variant.stored).is_ok(), "{}", variant.name);
        }
        assert!(form("source").is_err() && form("list").is_err());
    }
}
