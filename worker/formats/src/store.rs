//! Writing, verifying and finding stored forms of a dataset.
//!
//! A stored form is the folder `formats/<format>:<stored>`, written as a [`Staging`] folder: a full disk or Ctrl-C
//! leaves nothing under the final name. `form.json` beside its files says what it was written from; a form that was
//! written from other pixels or by another writer counts as missing and is written again.

mod manifest;
mod verify;

use std::fs;

use crate::{Dataset, FORMATS, Format, FormatError, Staging, Variant, tree_bytes};
use manifest::Manifest;

pub use verify::{check_objects, verify};

/// Whether the stored form of this variant is complete on disk and holds this dataset. Forms without a folder of their
/// own: `memory` always is, `source` is when the dataset
/// was imported from files of this format.
pub fn exists(dataset: &Dataset, format: &Format, variant: &Variant) -> bool {
    match variant.stored {
        "none" => true,
        "source" => dataset.info.source_format() == Some(format.name),
        _ => {
            let found = Manifest::read(&dataset.stored_dir(format.name, variant));
            found.is_some_and(|found| found == Manifest::of(dataset, format, variant))
        }
    }
}

/// Writes the stored form under a temporary name beside its final one, syncs it, and renames it.
/// A form that [`exists`] is left alone; one written from something else is replaced in one step.
pub fn write(
    dataset: &Dataset,
    format: &Format,
    variant: &Variant,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    if exists(dataset, format, variant) {
        return Ok(());
    }
    rewrite(dataset, format, variant, progress)
}

/// Does what [`write()`] does also where the form [`exists`], since its files may be damaged: it is replaced in one step.
pub fn rewrite(
    dataset: &Dataset,
    format: &Format,
    variant: &Variant,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let place = dataset.stored_dir(format.name, variant);
    if matches!(variant.stored, "none" | "source") {
        // Nothing of ours to write; the format says why it is not there.
        return (format.write)(dataset, variant, &place, progress);
    }
    let folder = dataset.root.join("formats");
    fs::create_dir_all(&folder).map_err(|e| FormatError::io(&folder, e))?;
    let staging = Staging::new(&place)?;
    (format.write)(dataset, variant, staging.folder(), progress)?;
    Manifest::of(dataset, format, variant).write(staging.folder())?;
    // Another writer may have been faster: its form is as good as ours.
    staging.commit(true)
}

/// A stored form found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredForm {
    /// Format name.
    pub format: &'static str,
    /// Name of the stored form.
    pub stored: &'static str,
    /// Length of all its files together, in bytes.
    pub bytes: u64,
    /// Whether it holds this dataset; a stale one is written again when it is wanted.
    pub current: bool,
}

/// The stored forms that a dataset has on disk, in the order of [`FORMATS`].
pub fn list(dataset: &Dataset) -> Result<Vec<StoredForm>, FormatError> {
    let mut found: Vec<StoredForm> = Vec::new();
    for format in FORMATS {
        for variant in format.variants {
            let folder = dataset.stored_dir(format.name, variant);
            let known = found.iter().any(|form| form.format == format.name && form.stored == variant.stored);
            if !known && folder.is_dir() {
                let (bytes, current) = (tree_bytes(&folder)?, exists(dataset, format, variant));
                found.push(StoredForm { format: format.name, stored: variant.stored, bytes, current });
            }
        }
    }
    Ok(found)
}
