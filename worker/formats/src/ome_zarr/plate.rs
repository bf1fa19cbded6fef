//! Plates of other writers: their wells, fields and channels.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::FormatError;

use super::document::{Document, below};
use super::whole;

/// A plate as its metadata describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmePlate {
    /// Its folder.
    pub folder: PathBuf,
    /// Its name; that of the folder without `.zarr` where it has none.
    pub name: String,
    /// Its fields, well by well in the order of the metadata.
    pub fields: Vec<OmeField>,
    /// Wells and fields that the metadata list and the folder lacks, in words.
    pub missing: Vec<String>,
}

/// One field of a well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmeField {
    /// Row and column, like `A01`.
    pub well: String,
    /// Name of the field within its well, like `0`.
    pub field: String,
    /// Folder of its array of full resolution.
    pub array: PathBuf,
    /// Number of channels.
    pub channels: usize,
    /// Names of the channels; empty unless the image names all.
    pub names: Vec<String>,
}

/// More channels than this no plate has.
const MOST_CHANNELS: u64 = 1_000;

/// The plate in `folder`, or `None` when the folder is no OME-Zarr plate. Reads the metadata of all its fields.
pub fn ome_zarr_plate(folder: &Path) -> Result<Option<OmePlate>, FormatError> {
    let Some(document) = Document::of_group(folder)? else { return Ok(None) };
    let Some(plate) = document.value.get("plate") else { return Ok(None) };
    let stem = folder.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = plate.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let mut found = OmePlate {
        folder: folder.to_owned(),
        name: name.map_or(stem, str::to_owned),
        fields: Vec::new(),
        missing: Vec::new(),
    };
    for path in paths(&document, plate, "wells")? {
        found.add_well(&document, &path)?;
    }
    Ok(Some(found))
}

impl OmePlate {
    fn add_well(&mut self, plate: &Document, path: &str) -> Result<(), FormatError> {
        let folder = inside(plate, &self.folder, path)?;
        let well: String = path.split('/').collect();
        if !folder.exists() {
            self.missing.push(format!("well {well}: no folder {path}"));
            return Ok(());
        }
        let document = Document::of_group(&folder)?;
        let Some((document, images)) = document.as_ref().and_then(|d| Some((d, d.value.get("well")?))) else {
            self.missing.push(format!("well {well}: folder {path} has no metadata of a well"));
            return Ok(());
        };
        for field in paths(document, images, "images")? {
            let folder = inside(document, &folder, &field)?;
            match open_field(&folder)? {
                Some((array, channels, names)) => {
                    self.fields.push(OmeField { well: well.clone(), field, array, channels, names });
                }
                None => self.missing.push(format!("well {well}, field {field}: no image in {path}/{field}")),
            }
        }
        Ok(())
    }
}

/// Array of full resolution, number of channels, and their names; `None` where the folder or its image is missing.
fn open_field(folder: &Path) -> Result<Option<(PathBuf, usize, Vec<String>)>, FormatError> {
    let Some(image) = Document::of_group(folder)? else { return Ok(None) };
    let Some(first) = image.value.pointer("/multiscales/0/datasets/0/path") else { return Ok(None) };
    let path = first.as_str().ok_or_else(|| image.corrupt(format!("path {first} of a dataset; expected text")))?;
    let array = inside(&image, folder, path)?;
    if !array.exists() {
        return Ok(None);
    }
    let channels = whole::channels(&array)?;
    if channels > MOST_CHANNELS {
        return Err(image.unsupported(format!("{channels} channels; pcb reads up to {MOST_CHANNELS}")));
    }
    let labels = image.value.pointer("/omero/channels").and_then(Value::as_array);
    let label = |channel: &Value| channel.get("label")?.as_str().filter(|label| !label.is_empty()).map(str::to_owned);
    let names: Option<Vec<String>> = labels.and_then(|labels| labels.iter().map(label).collect());
    let names = names.filter(|names| names.len() as u64 == channels).unwrap_or_default();
    Ok(Some((array, channels as usize, names)))
}

/// The `path` of each entry of the list called `key`.
fn paths(document: &Document, part: &Value, key: &str) -> Result<Vec<String>, FormatError> {
    let Some(entries) = part.get(key).and_then(Value::as_array) else {
        return Err(document.corrupt(format!("no list of {key}")));
    };
    let path = |entry: &Value| match entry.get("path").and_then(Value::as_str) {
        Some(path) => Ok(path.trim_matches('/').to_owned()),
        None => Err(document.corrupt(format!("an entry of {key} without a path: {entry}"))),
    };
    entries.iter().map(path).collect()
}

fn inside(document: &Document, folder: &Path, path: &str) -> Result<PathBuf, FormatError> {
    below(folder, path).ok_or_else(|| document.corrupt(format!("path {path:?} leads out of the plate")))
}
