//! JSON of plates, wells, fields and arrays: what is written, and what of others' is read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::FormatError;

/// A field of a well of somebody's plate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Well, row and column together: `A01`.
    pub well: String,
    /// Field, as its path in the well says.
    pub field: String,
    /// Folder of the array of full resolution.
    pub array: PathBuf,
    /// Channel names, where the field tells them.
    pub channels: Vec<String>,
}

/// What a plate lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlateFields {
    /// The fields that are there, in the order of the metadata.
    pub fields: Vec<Field>,
    /// Folders of wells and fields that are listed but not there.
    pub missing: Vec<PathBuf>,
}

/// Versions of Zarr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zarr {
    /// Version 2, OME-Zarr 0.4.
    V2,
    /// Version 3, OME-Zarr 0.5.
    V3,
}

/// Writes a group with `attributes` (those of OME-Zarr) into `folder`, which is created.
pub fn write_group(folder: &Path, zarr: Zarr, attributes: Value) -> Result<(), FormatError> {
    fs::create_dir_all(folder).map_err(|e| FormatError::io(folder, e))?;
    match zarr {
        Zarr::V2 => {
            write_json(&folder.join(".zgroup"), &json!({ "zarr_format": 2 }))?;
            write_json(&folder.join(".zattrs"), &attributes)
        }
        Zarr::V3 => write_json(
            &folder.join("zarr.json"),
            &json!({ "zarr_format": 3, "node_type": "group", "attributes": { "ome": attributes } }),
        ),
    }
}

fn write_json(path: &Path, value: &Value) -> Result<(), FormatError> {
    fs::write(path, format!("{value:#}\n")).map_err(|e| FormatError::io(path, e))
}

/// Reads a JSON file; `None` where there is none.
pub fn read_json(path: &Path) -> Result<Option<Value>, FormatError> {
    let text = match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|e| FormatError::io(path, e))?,
    };
    if text.is_empty() {
        return Err(FormatError::corrupt(path, "empty file; expected JSON"));
    }
    serde_json::from_slice(&text).map(Some).map_err(|e| FormatError::corrupt(path, format!("not JSON: {e}")))
}

/// Files that the attributes of the group around an array are read from.
pub fn group_files(array: &Path) -> Vec<PathBuf> {
    let Some(group) = array.parent() else { return Vec::new() };
    ["zarr.json", ".zattrs"].map(|name| group.join(name)).into_iter().filter(|path| path.is_file()).collect()
}

/// The OME-Zarr attributes of the group in `folder`, and the file they stand in; `None` where there are none.
fn attributes(folder: &Path) -> Result<Option<(PathBuf, Value)>, FormatError> {
    let path = folder.join("zarr.json");
    if let Some(mut value) = read_json(&path)? {
        let ome = value.get_mut("attributes").and_then(|attributes| attributes.get_mut("ome")).map(Value::take);
        return Ok(ome.map(|ome| (path, ome)));
    }
    let path = folder.join(".zattrs");
    Ok(read_json(&path)?.map(|value| (path, value)))
}

/// Positions of the channel, row and column axes of an array of `dims` axes in `folder`: what its group's multiscales
/// say, else C, Y, X in this order, the last of T, C, Z, Y, X.
pub fn axes(array: &Path, dims: usize) -> Result<(Option<usize>, usize, usize), FormatError> {
    if !(2..=5).contains(&dims) {
        return Err(FormatError::Unsupported(format!("{}: {dims} axes; pcb reads 2 to 5", array.display())));
    }
    let group = array.parent().map(attributes).transpose()?.flatten();
    let named = group.as_ref().and_then(|(_, ome)| ome.get("multiscales")?.get(0)?.get("axes")?.as_array());
    let usual = || ["t", "c", "z", "y", "x"][5 - dims..].iter().map(|name| (*name).to_owned()).collect();
    let names: Vec<String> = match named {
        Some(axes) => axes.iter().map(axis_name).collect(),
        None if dims == 3 => ["c", "y", "x"].map(str::to_owned).to_vec(),
        None => usual(),
    };
    let at = |name: &str| names.iter().position(|found| found == name);
    match (at("y"), at("x")) {
        (Some(y), Some(x)) if names.len() == dims => Ok((at("c"), y, x)),
        _ => {
            let path = group.map_or_else(|| array.to_owned(), |(path, _)| path);
            Err(FormatError::corrupt(path, format!("axes {names:?} of an array of {dims} axes; expected y and x")))
        }
    }
}

/// `{"name": "c"}` since 0.4, plain text before.
fn axis_name(axis: &Value) -> String {
    axis.get("name").unwrap_or(axis).as_str().unwrap_or_default().to_lowercase()
}

/// The fields of the plate in `folder`; `None` when it is no plate.
pub fn plate_fields(folder: &Path) -> Result<Option<PlateFields>, FormatError> {
    let Some((file, plate)) = attributes(folder)?.and_then(|(file, ome)| Some((file, ome.get("plate")?.clone())))
    else {
        return Ok(None);
    };
    let wells = plate.get("wells").and_then(Value::as_array);
    let wells = wells.ok_or_else(|| FormatError::corrupt(&file, "its plate lists no wells"))?;
    let (mut fields, mut missing) = (Vec::new(), Vec::new());
    for well in wells {
        let path = well.get("path").and_then(Value::as_str);
        let path = path.filter(|path| is_inside(path));
        let path = path.ok_or_else(|| FormatError::corrupt(&file, format!("a well without a path: {well}")))?;
        let place = folder.join(path);
        let Some((file, ome)) = attributes(&place)? else {
            missing.push(place);
            continue;
        };
        let images = ome.get("well").and_then(|well| well.get("images")?.as_array());
        let images = images.ok_or_else(|| FormatError::corrupt(&file, "its well lists no images"))?;
        for image in images {
            let name = image.get("path").and_then(Value::as_str).filter(|path| is_inside(path));
            let name = name.ok_or_else(|| FormatError::corrupt(&file, format!("an image without a path: {image}")))?;
            match field(&place, &path.replace('/', ""), name)? {
                Some(field) => fields.push(field),
                None => missing.push(place.join(name)),
            }
        }
    }
    Ok(Some(PlateFields { fields, missing }))
}

/// Whether a path of somebody's metadata stays inside its folder.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn field(well_folder: &Path, well: &str, name: &str) -> Result<Option<Field>, FormatError> {
    let folder = well_folder.join(name);
    let Some((file, ome)) = attributes(&folder)? else { return Ok(None) };
    let path = || ome.get("multiscales")?.get(0)?.get("datasets")?.get(0)?.get("path")?.as_str();
    let path = path().filter(|path| is_inside(path));
    let path = path.ok_or_else(|| FormatError::corrupt(&file, "its multiscales name no dataset"))?;
    let label = |channel: &Value| channel.get("label").and_then(Value::as_str).map(str::to_owned);
    let channels = ome.get("omero").and_then(|omero| omero.get("channels")?.as_array());
    let channels = channels.and_then(|channels| channels.iter().map(label).collect::<Option<Vec<_>>>());
    Ok(Some(Field {
        well: well.to_owned(),
        field: name.to_owned(),
        array: folder.join(path),
        channels: channels.unwrap_or_default(),
    }))
}
