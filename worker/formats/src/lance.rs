//! OME-Arrow in Lance: a dataset folder with one version and one data file.
//!
//! Written and read through Lance's own file and table crates, less its thread pools: a reader runs in its thread, and
//! its reads go straight to the file.

mod arrays;
mod file;
mod table;
mod write;

use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::tables::{Content, RecordReader, SiteReader};
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};
use table::LanceTable;

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "lance",
    about: "OME-Arrow in Lance, or the same pixels as lists of one length: a row for each record, or site, or tile",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write,
    resident_bytes: |_| 0,
};

const VARIANTS: &[Variant] = &[
    Variant::new(
        "list",
        Layout::Object,
        "list encoding: planes, and again as chunks of at most 512x512, as lists of u16; Lance file 2.2 with its defaults",
    )
    .stored("object-list")
    .role(Role::Default),
    Variant::new(
        "fsl",
        Layout::Object,
        "a list of one length of pixels for each record; Lance file 2.2 with its defaults: not packed",
    )
    .stored("object-fsl")
    .role(Role::Tuned),
    Variant::new(
        "list",
        Layout::Site,
        "list encoding: planes, and again as chunks of at most 512x512, as lists of u16; Lance file 2.2 with its defaults",
    )
    .stored("site-list")
    .role(Role::Default),
    Variant::new(
        "fsl-tile128",
        Layout::Site,
        "a list of 128x128 pixels for each tile of each channel; Lance file 2.2 with its defaults: not packed",
    )
    .stored("site-fsl-tile128")
    .role(Role::Tuned),
];

/// Folder of the dataset in that of a stored form.
const DATASET: &str = "images.lance";

fn content(variant: &Variant) -> Result<Content, FormatError> {
    match variant.stored {
        "object-list" | "site-list" => Ok(Content::Images),
        "object-fsl" => Ok(Content::Records),
        "site-fsl-tile128" => Ok(Content::Tiles { side: 128 }),
        _ => Err(FormatError::Unsupported(format!("lance: no way is known to store {}", variant.stored))),
    }
}

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    spec.check()?;
    let content = content(spec.variant)?;
    let folder = spec.stored_folder(FORMAT.name)?;
    crate::tables::schema(&spec.dataset, spec.variant.layout, content)?;
    let table = LanceTable::open(&folder.join(DATASET), content)?;
    match spec.variant.layout {
        Layout::Object => Ok(Box::new(RecordReader::new(spec, table, content)?)),
        Layout::Site => Ok(Box::new(SiteReader::new(spec, table, content)?)),
    }
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    content(variant)?;
    let folder = dataset.stored_dir(FORMAT.name, variant).join(DATASET);
    Ok(vec![folder.join(file::MANIFEST), folder.join(file::DATA)])
}

fn write(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    write::write(dataset, variant.layout, content(variant)?, &into.join(DATASET), progress)
}
