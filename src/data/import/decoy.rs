//! The decoy of an imported dataset: generated cells, stored like an import, so that reading source files can be
//! warmed up too.

use std::fs;
use std::path::{Path, PathBuf};

use pcb_formats::{
    ARROW_COLUMN, Dataset, DatasetInfo, Format, SourceFile, SourceKind, Variant, find, ome_zarr_arrays, site_digest,
};
use pcb_protocol::{Dtype, Layout};

use crate::data::make::Plate;
use crate::data::{DataError, Progress};

/// Bytes that writing the decoy of a dataset takes at most: raw pixels and source files beside each other, which may hold
/// every pixel twice.
pub fn bytes(info: &DatasetInfo) -> u64 {
    4 * plate(info, 0).site_bytes()
}

/// Writes the decoy of the dataset `info` into `folder`: one site whose channels lie in `source/`, in files of the kind that
/// the dataset was imported from.
pub fn write(info: &DatasetInfo, seed: u64, folder: &Path, progress: &mut Progress<'_>) -> Result<(), DataError> {
    plate(info, seed).write(folder, None, progress)?;
    let mut decoy = Dataset::open(folder)?;
    let (format, variant) = form(info)?;
    let source = folder.join("source");
    fs::create_dir(&source).map_err(|e| DataError::io(&source, e))?;
    (format.write)(&decoy, variant, &source, &mut |_, _| ())?;
    let names = || (format.files)(&decoy, variant);
    decoy.info.sites[0].source = match format.name {
        "ome-zarr" => channels(&decoy),
        "ome-arrow" => rows(&names()?, decoy.channels()),
        _ => sources(names()?),
    };
    check(&decoy)?;
    decoy.info.write(&folder.join("dataset.json"))?;
    let reference = folder.join("reference");
    fs::remove_dir_all(&reference).map_err(|e| DataError::io(&reference, e))
}

/// How the decoy of a dataset is stored.
fn form(info: &DatasetInfo) -> Result<(&'static Format, &'static Variant), DataError> {
    let (format, variant) = match info.source_format() {
        Some("ome-zarr") => ("ome-zarr", "v2-chunk1024-blosc"),
        // Lists hold no floats.
        Some("ome-arrow") if info.dtype == Dtype::F32 => ("ome-arrow", "bytes-zstd-tile128"),
        Some("ome-arrow") => ("ome-arrow", "list"),
        _ => ("tiff", "strip-lzw"),
    };
    Ok(find(format, variant, Layout::Site)?)
}

fn plate(info: &DatasetInfo, seed: u64) -> Plate {
    let like = Plate {
        name: info.name.clone(),
        origin: info.origin.clone(),
        seed,
        wells: Vec::new(),
        sites_per_well: 1,
        channels: info.channels.clone(),
        dtype: info.dtype,
        size: 0,
        objects_per_site: 0,
        record: info.record,
    };
    like.decoy()
}

/// The files in channel order, relative to the decoy's folder. They differ in the channel's number alone, so the
/// shorter name has the smaller number.
fn sources(mut names: Vec<PathBuf>) -> Vec<SourceFile> {
    names.sort_by_key(|name| (name.as_os_str().len(), name.clone()));
    let place = |name: &PathBuf| Path::new("source").join(name.file_name().unwrap_or_default());
    names.iter().map(|name| SourceFile::tiff(place(name), 0)).collect()
}

/// The channels of the only image of the decoy's plate.
fn channels(decoy: &Dataset) -> Vec<SourceFile> {
    let image = ome_zarr_arrays(decoy).into_iter().next().unwrap_or_default();
    let channel = |channel| SourceFile::ome_zarr(Path::new("source").join(&image), channel as u32);
    (0..decoy.channels()).map(channel).collect()
}

/// The channels of the one image in the table `names[0]`.
fn rows(names: &[PathBuf], channels: usize) -> Vec<SourceFile> {
    let table = names.first().and_then(|name| name.file_name()).unwrap_or_default();
    let channel = |page| SourceFile {
        path: Path::new("source").join(table),
        kind: SourceKind::OmeArrow,
        page,
        row: 0,
        column: Some(ARROW_COLUMN.to_owned()),
    };
    (0..channels as u32).map(channel).collect()
}

/// The pixels read by way of the sources are those that were generated.
fn check(decoy: &Dataset) -> Result<(), DataError> {
    if site_digest(&decoy.reference(0)?) == decoy.info.sites[0].digest {
        return Ok(());
    }
    Err(DataError::content(decoy.root.join("source"), "the files just written hold other pixels than were made"))
}
