//! The JSON documents of plates that we write: OME-Zarr 0.4 on Zarr 2, or 0.5 on Zarr 3.

use std::fs;
use std::path::Path;

use pcb_protocol::Dtype;
use serde_json::{Map, Value, json};

use crate::FormatError;

use super::place::{ARRAY, PlatePlace, WellPlace};

/// Version of Zarr, and with it of OME-Zarr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Zarr 2, OME-Zarr 0.4.
    V2,
    /// Zarr 3, OME-Zarr 0.5.
    V3,
}

impl Version {
    fn ome(self) -> &'static str {
        match self {
            Self::V2 => "0.4",
            Self::V3 => "0.5",
        }
    }
}

/// Writes a group with the OME metadata `part`, which are called `key`: `plate`, `well`.
pub fn write_group(folder: &Path, version: Version, key: &str, mut part: Value) -> Result<(), FormatError> {
    if let (Version::V2, Some(part)) = (version, part.as_object_mut()) {
        part.insert("version".to_owned(), version.ome().into());
    }
    write_attributes(folder, version, Map::from_iter([(key.to_owned(), part)]))
}

/// Writes a group without metadata of its own: a row of wells.
pub fn write_row(folder: &Path, version: Version) -> Result<(), FormatError> {
    write_attributes(folder, version, Map::new())
}

/// Writes the group of one field: an image of one resolution.
pub fn write_image(
    folder: &Path,
    version: Version,
    name: &str,
    channels: &[String],
    dtype: Dtype,
) -> Result<(), FormatError> {
    let mut scale = json!({
        "name": name,
        "axes": [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
        "datasets": [{"path": ARRAY, "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0, 1.0]}]}],
    });
    if version == Version::V2 {
        scale["version"] = version.ome().into();
    }
    let highest = match dtype {
        Dtype::U8 => 255,
        Dtype::U16 => 65_535,
        Dtype::F32 => 1,
    };
    let window = json!({"min": 0, "max": highest, "start": 0, "end": highest});
    let channel = |label: &String| json!({"label": label, "active": true, "color": "FFFFFF", "window": window});
    let channels: Vec<Value> = channels.iter().map(channel).collect();
    let attributes = json!({"multiscales": [scale], "omero": {"channels": channels}});
    let Value::Object(attributes) = attributes else { return Ok(()) };
    write_attributes(folder, version, attributes)
}

fn write_attributes(folder: &Path, version: Version, mut attributes: Map<String, Value>) -> Result<(), FormatError> {
    fs::create_dir_all(folder).map_err(|e| FormatError::io(folder, e))?;
    match version {
        Version::V2 => {
            write_json(&folder.join(".zgroup"), &json!({"zarr_format": 2}))?;
            if attributes.is_empty() {
                return Ok(());
            }
            write_json(&folder.join(".zattrs"), &Value::Object(attributes))
        }
        Version::V3 => {
            let mut outer = Map::new();
            if !attributes.is_empty() {
                attributes.insert("version".to_owned(), version.ome().into());
                outer.insert("ome".to_owned(), Value::Object(attributes));
            }
            let group = json!({"zarr_format": 3, "node_type": "group", "attributes": outer});
            write_json(&folder.join("zarr.json"), &group)
        }
    }
}

/// Writes a JSON document without a line end, so that a document cut off anywhere is none.
pub fn write_json(path: &Path, value: &Value) -> Result<(), FormatError> {
    let text = serde_json::to_vec_pretty(value).map_err(|e| FormatError::io(path, e.into()))?;
    fs::write(path, text).map_err(|e| FormatError::io(path, e))
}

/// The `plate` of a plate's group.
pub fn plate(plate: &PlatePlace) -> Value {
    let rows = distinct(plate.wells.iter().map(|well| well.row.as_str()));
    let columns = distinct(plate.wells.iter().map(|well| well.column.as_str()));
    let index = |names: &[&str], wanted: &str| names.iter().position(|name| *name == wanted);
    let named = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
    let wells: Vec<Value> = plate
        .wells
        .iter()
        .map(|well| {
            json!({
                "path": format!("{}/{}", well.row, well.column),
                "rowIndex": index(&rows, &well.row),
                "columnIndex": index(&columns, &well.column),
            })
        })
        .collect();
    let fields = plate.wells.iter().map(|well| well.sites.len()).max();
    json!({"name": plate.name, "rows": named(&rows), "columns": named(&columns), "wells": wells, "field_count": fields})
}

/// The `well` of a well's group.
pub fn well(well: &WellPlace) -> Value {
    let images: Vec<Value> = (0..well.sites.len()).map(|field| json!({"path": field.to_string()})).collect();
    json!({"images": images})
}

/// Names of rows or columns, each once, as people sort them: B before AA, 2 before 10.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| (name.trim_start_matches('0').len(), *name));
    names.dedup();
    names
}
