//! JSON documents of a Zarr hierarchy: what the folder of an array or a group says of itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::FormatError;

/// OME-Zarr versions whose metadata is understood.
const VERSIONS: [&str; 5] = ["0.1", "0.2", "0.3", "0.4", "0.5"];

const V3: &str = "zarr.json";
const V2_ARRAY: &str = ".zarray";
const V2_ATTRIBUTES: &str = ".zattrs";

/// Names of the documents of a group.
pub const NAMES: [&str; 2] = [V3, V2_ATTRIBUTES];

/// A file that holds one JSON value.
#[derive(Debug)]
pub struct Document {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub value: Value,
}

impl Document {
    /// Reads the file at `path`; `None` where nothing has that name.
    fn read(path: PathBuf) -> Result<Option<Self>, FormatError> {
        let text = match fs::read(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|e| FormatError::io(&path, e))?,
        };
        if text.is_empty() {
            return Err(FormatError::corrupt(&path, "empty file; expected JSON"));
        }
        match serde_json::from_slice(&text) {
            Ok(value) => Ok(Some(Self { path, value })),
            Err(e) => Err(FormatError::corrupt(&path, format!("not JSON: {e}"))),
        }
    }

    /// An error of this file.
    pub fn corrupt(&self, problem: impl Into<String>) -> FormatError {
        FormatError::corrupt(&self.path, problem)
    }

    /// An error that names this file and what pcb does not read in it.
    pub fn unsupported(&self, what: impl AsRef<str>) -> FormatError {
        FormatError::Unsupported(format!("{}: {}", self.path.display(), what.as_ref()))
    }

    /// An error unless the hierarchy has this version of Zarr.
    fn check_version(&self, expected: u64) -> Result<(), FormatError> {
        match self.value.get("zarr_format").and_then(Value::as_u64) {
            Some(found) if found == expected => Ok(()),
            Some(found) if found > 3 => Err(self.unsupported(format!("zarr_format {found}; pcb reads 2 and 3"))),
            Some(found) => Err(self.corrupt(format!("zarr_format {found}; expected {expected}"))),
            None => Err(self.corrupt(format!("no zarr_format; expected {expected}"))),
        }
    }

    /// Metadata of the array in `folder`.
    pub fn of_array(folder: &Path) -> Result<Self, FormatError> {
        if let Some(document) = Self::read(folder.join(V3))? {
            document.check_version(3)?;
            return match document.value.get("node_type").and_then(Value::as_str) {
                Some("array") => Ok(document),
                other => {
                    Err(document.corrupt(format!("node_type {:?}; expected \"array\"", other.unwrap_or_default())))
                }
            };
        }
        if let Some(document) = Self::read(folder.join(V2_ARRAY))? {
            document.check_version(2)?;
            return Ok(document);
        }
        let text = format!("no Zarr array: it does not exist, and neither does {}", folder.join(V2_ARRAY).display());
        Err(FormatError::io(folder.join(V3), io::Error::new(io::ErrorKind::NotFound, text)))
    }

    /// OME metadata of the group in `folder`; `None` where the folder has none.
    pub fn of_group(folder: &Path) -> Result<Option<Self>, FormatError> {
        let mut document = match Self::read(folder.join(V3))? {
            Some(mut document) => {
                document.check_version(3)?;
                let mut attributes = document.value.get_mut("attributes").map_or(Value::Null, Value::take);
                document.value = attributes.get_mut("ome").map_or(Value::Null, Value::take);
                document
            }
            None => match Self::read(folder.join(V2_ATTRIBUTES))? {
                Some(document) => document,
                None => return Ok(None),
            },
        };
        if document.value.is_null() {
            return Ok(None);
        }
        if !document.value.is_object() {
            let found = document.value.take();
            return Err(document.corrupt(format!("OME metadata are {found}; expected an object")));
        }
        document.check_ome_version()?;
        Ok(Some(document))
    }

    /// The version stands beside the metadata (0.5) or in each part of them (before).
    fn check_ome_version(&self) -> Result<(), FormatError> {
        let parts = ["/version", "/plate/version", "/well/version", "/multiscales/0/version"];
        let said = parts.iter().find_map(|part| self.value.pointer(part));
        match said {
            None => Ok(()),
            Some(Value::String(version)) if VERSIONS.contains(&version.as_str()) => Ok(()),
            Some(version) => Err(self.unsupported(format!("OME-Zarr version {version}; pcb reads 0.1 to 0.5"))),
        }
    }
}

/// `folder` and the path `below` it that a document names; `None` when that leads out of it.
pub fn below(folder: &Path, below: &str) -> Option<PathBuf> {
    let normal = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let path = Path::new(below);
    (!below.is_empty() && path.components().all(normal)).then(|| folder.join(path))
}
