//! safetensors: raw tensors behind a JSON header. Records of objects as one tensor, or as a tensor for each object; or a
//! file for each site. Read through a mapping; the header is parsed once, when a file is opened.

mod file;
mod object;
mod site;
mod write;

use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "safetensors",
    about: "safetensors: records in one tensor, a tensor for each record, or a (C, Y, X) file for each site; mapped",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write,
    resident_bytes: |_| 0,
};

const VARIANTS: &[Variant] = &[
    Variant::new("keys", Layout::Object, "one file, a tensor (C, Y, X) for each object id, in table order")
        .stored(KEYS)
        .mapped()
        .role(Role::Default)
        .about("one file, a tensor for each object id; opening parses the names of all"),
    Variant::new("stack", Layout::Object, "one file, one tensor (N, C, Y, X)").stored(STACK).mapped().role(Role::Tuned),
    Variant::new("site", Layout::Site, "a file for each site, one tensor (C, Y, X)")
        .stored(SITE)
        .mapped()
        .role(Role::DefaultAndTuned)
        .about("a file for each site, mapped when first touched"),
];

/// Names of the stored forms.
const KEYS: &str = "object-keys";
const STACK: &str = "object-stack";
const SITE: &str = "site";

/// File of all records of the object layout.
const RECORDS: &str = "crops.safetensors";
/// The tensor of all records.
const IMAGES: &str = "images";
/// The tensor of a site.
const IMAGE: &str = "image";

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    match spec.variant.stored {
        KEYS => Ok(Box::new(object::RecordReader::open(spec, true)?)),
        STACK => Ok(Box::new(object::RecordReader::open(spec, false)?)),
        SITE => Ok(Box::new(site::SiteReader::open(spec)?)),
        _ => Err(unknown(spec.variant)),
    }
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    let folder = dataset.stored_dir(FORMAT.name, variant);
    let mut files = match variant.layout {
        Layout::Object => vec![folder.join(RECORDS)],
        Layout::Site => dataset.site_files(&folder, FORMAT.name),
    };
    files.sort();
    Ok(files)
}

fn write(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    match variant.stored {
        KEYS => write::write_keys(dataset, &into.join(RECORDS), progress),
        STACK => write::write_stack(dataset, &into.join(RECORDS), progress),
        SITE => write::write_sites(dataset, into, progress),
        _ => Err(unknown(variant)),
    }
}

fn unknown(variant: &Variant) -> FormatError {
    FormatError::Unsupported(format!("safetensors: no way is known to read or store {}", variant.stored))
}
