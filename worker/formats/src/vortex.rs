//! OME-Arrow in Vortex: one file.
//!
//! Written and read through Vortex's own file and layout crates, without an executor of its own: a reader runs in its
//! thread, and its reads go straight to the file.

mod arrays;
mod file;
mod table;
mod write;

use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::tables::{self, Content, RecordReader, SiteReader};
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};
use table::VortexTable;

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "vortex",
    about: "OME-Arrow in Vortex, or the same pixels as lists of one length: a row for each record, or site, or tile",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write,
    resident_bytes: |_| 0,
};

const LIST: &str = "list encoding: planes, and again as chunks of at most 512x512, as lists of u16; Vortex's default \
                    layout: blocks of 8192 rows, packed as its compressor chooses";

const VARIANTS: &[Variant] = &[
    Variant::new("list", Layout::Object, LIST).stored("object-list").role(Role::Default),
    Variant::new("fsl", Layout::Object, "a list of one length of pixels for each record, each a segment, not packed")
        .stored("object-fsl")
        .role(Role::Tuned),
    Variant::new(
        "fsl-packed",
        Layout::Object,
        "a list of one length of pixels for each record, each a segment, packed as Vortex's compressor chooses",
    )
    .stored("object-fsl-packed"),
    Variant::new("list", Layout::Site, LIST).stored("site-list").role(Role::Default),
    Variant::new(
        "fsl-tile128",
        Layout::Site,
        "a list of 128x128 pixels for each tile of each channel, each a segment, not packed",
    )
    .stored("site-fsl-tile128")
    .role(Role::Tuned),
];

/// File of the rows in the folder of a stored form.
const FILE: &str = "images.vortex";

/// How the pixels of a row are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Segments {
    /// As Vortex does by default.
    Default,
    /// Each row alone.
    Rows { packed: bool },
}

fn form(variant: &Variant) -> Result<(Content, Segments), FormatError> {
    match variant.stored {
        "object-list" | "site-list" => Ok((Content::Images, Segments::Default)),
        "object-fsl" => Ok((Content::Records, Segments::Rows { packed: false })),
        "object-fsl-packed" => Ok((Content::Records, Segments::Rows { packed: true })),
        "site-fsl-tile128" => Ok((Content::Tiles { side: 128 }, Segments::Rows { packed: false })),
        _ => Err(FormatError::Unsupported(format!("vortex: no way is known to store {}", variant.stored))),
    }
}

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    spec.check()?;
    let (content, _) = form(spec.variant)?;
    let folder = spec.stored_folder(FORMAT.name)?;
    tables::schema(&spec.dataset, spec.variant.layout, content)?;
    let table = VortexTable::open(&folder.join(FILE), content)?;
    match spec.variant.layout {
        Layout::Object => Ok(Box::new(RecordReader::new(spec, table, content)?)),
        Layout::Site => Ok(Box::new(SiteReader::new(spec, table, content)?)),
    }
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    form(variant)?;
    Ok(vec![dataset.stored_dir(FORMAT.name, variant).join(FILE)])
}

fn write(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let (content, segments) = form(variant)?;
    write::write(dataset, variant.layout, content, segments, &into.join(FILE), progress)
}
